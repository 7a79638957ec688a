"""What the rest of the program knows of control."""

from __future__ import annotations

from sigmastar.core.family import Family

HERE = "sigmastar.control"

FAMILY = Family(
    name="control",
    summary="Models of strings under constraints: exact probabilities, steering, samples.",
    exports={"ConstrainedDecoder": f"{HERE}.decoder:ConstrainedDecoder"},
    names={
        "Constraint": f"{HERE}.languages:Constraint",
        "as_constraint": f"{HERE}.constraints:as_constraint",
        "matches": f"{HERE}.constraints:matches",
        "contains": f"{HERE}.constraints:contains",
        "avoids": f"{HERE}.constraints:avoids",
        "length": f"{HERE}.constraints:length",
        "ConstrainedLogits": f"{HERE}.logits:ConstrainedLogits",
        "SteeredModel": f"{HERE}.steering:SteeredModel",
    },
    constrained=f"{HERE}.cli:constrained",
)

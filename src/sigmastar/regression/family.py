"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Family

FAMILY = Family(
    name="regression",
    summary="Numbers and classes of strings, as weighted automata.",
    estimators={
        "HankelRegressor": "sigmastar.regression.estimator:HankelRegressor",
        "HankelClassifier": "sigmastar.regression.estimator:HankelClassifier",
    },
    demo="sigmastar.regression.demo:RegressionFamily",
)

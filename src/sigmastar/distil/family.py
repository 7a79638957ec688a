"""What the rest of the program knows of distillation."""

from __future__ import annotations

from sigmastar.core.family import Command, Family

HERE = "sigmastar.distil"

FAMILY = Family(
    name="distil",
    summary="Stand-ins for black boxes that read sequences: automata from questions and answers.",
    exports={
        "DistilledAutomaton": f"{HERE}.estimator:DistilledAutomaton",
        "DistilledClassifier": f"{HERE}.classifier:DistilledClassifier",
    },
    names={
        "BlackBox": f"{HERE}.black_box:BlackBox",
        "ModelBox": f"{HERE}.black_box:ModelBox",
        "RecordedBox": f"{HERE}.answer_files:RecordedBox",
        "Questions": f"{HERE}.questions:Questions",
        "TorchBox": f"{HERE}.networks:TorchBox",
        "from_causal_model": f"{HERE}.networks:from_causal_model",
        "QueryReport": f"{HERE}.questions:QueryReport",
        "as_black_box": f"{HERE}.black_box:as_black_box",
        "from_function": f"{HERE}.black_box:from_function",
        "judged": f"{HERE}.judging:judged",
        "judged_labels": f"{HERE}.judging:judged_labels",
        "open_source": f"{HERE}.sources:open_source",
    },
    commands={
        "distil": Command(f"{HERE}.cli:command", "A stand-in for a network or another black box."),
    },
    metrics={
        "drawn_divergence": "divergence from a black box, nats per symbol, on strings it draws",
        "drawn_agreement": "share of gaps where the black box nearly prefers the same symbol",
        "drawn_mse": "mean squared difference of the probabilities of strings",
        "given_agreement": "share of strings with the answer of a black box",
        "gain": "how much more an n-gram of averaged answers diverges, nats per symbol",
    },
    judges={
        "black_box": f"{HERE}.judging:judged",
        "black_box_labels": f"{HERE}.judging:judged_labels",
    },
    laws=f"{HERE}.laws:DistilLaws",
)

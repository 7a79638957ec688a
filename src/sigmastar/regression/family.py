"""The record of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

HERE = "sigmastar.regression"
COMMANDS = {name: f"{HERE}.cli:{name}" for name in ("predict", "evaluate", "show", "convert")}

FAMILY = Family(
    name="regression",
    summary="Numbers and classes of strings, as weighted automata.",
    kinds={
        "string-function": Kind(f"{HERE}.model:StringFunction", COMMANDS),
        "string-classifier": Kind(f"{HERE}.model:StringClassifier", COMMANDS),
    },
    estimators={
        "HankelRegressor": f"{HERE}.estimator:HankelRegressor",
        "HankelClassifier": f"{HERE}.estimator:HankelClassifier",
    },
    names={
        "BilinearMeasure": f"{HERE}.data:BilinearMeasure",
        "MadeRegression": f"{HERE}.data:MadeRegression",
        "Order": f"{HERE}.data:Order",
        "StringClassifier": f"{HERE}.model:StringClassifier",
        "StringFunction": f"{HERE}.model:StringFunction",
        "make_regression": f"{HERE}.data:make_regression",
        "r_squared": f"{HERE}.metrics:r_squared",
        "read_table": f"{HERE}.data:read_table",
    },
    learn={"regression": Command(f"{HERE}.cli:learn_regression", "Numbers or labels of strings.")},
    formats={"table": f"{HERE}.data:read_table"},
    metrics={
        "r2": "Share of the variance of the values that is explained.",
        "rmse": "Root of the mean squared error.",
        "accuracy": "Share of strings with the right label.",
    },
    demo=f"{HERE}.demo:RegressionFamily",
    demo_seconds=7,
    explore=f"{HERE}.explore:open_exhibit",
    examples={
        "how often b follows a": f"{HERE}.explore:example_numbers",
        "even or odd numbers of a": f"{HERE}.explore:example_labels",
    },
    pictures={f"{HERE}.model:StringFunction": "sigmastar.automata.draw.graph:draw_inner"},
    laws=f"{HERE}.laws:RegressionLaws",
)

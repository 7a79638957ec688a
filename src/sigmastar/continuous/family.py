"""The record of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

HERE = "sigmastar.continuous"
COMMANDS = {
    name: f"{HERE}.cli:{name}" for name in ("score", "predict", "evaluate", "sample", "show", "convert")
}

FAMILY = Family(
    name="continuous",
    summary="Hidden Markov models of real-valued sequences.",
    kinds={"gaussian-hmm": Kind(f"{HERE}.model:GaussianHmm", COMMANDS)},
    estimators={"GaussianHMM": f"{HERE}.estimator:GaussianHMM"},
    names={
        "GaussianHmm": f"{HERE}.model:GaussianHmm",
        "Series": f"{HERE}.data:Series",
        "read_series": f"{HERE}.data:read_series",
    },
    learn={"series": Command(f"{HERE}.cli:learn_series", "A hidden Markov model of vectors, from numbers.")},
    formats={"series": f"{HERE}.data:read_series"},
    metrics={
        "log_density": "Mean natural log-density per row.",
        "aic": "Akaike's criterion, smaller is better.",
        "bic": "The Bayesian criterion, smaller is better.",
    },
    explore=f"{HERE}.explore:open_exhibit",
    examples={"a walk that rests in three places": f"{HERE}.explore:example"},
    laws=f"{HERE}.laws:ContinuousLaws",
)

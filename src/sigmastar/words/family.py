"""The record of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.words"
STRINGS = "sigmastar.automata.cli"
COMMANDS = {
    "evaluate": f"{STRINGS}.evaluate:evaluate",
    "score": f"{STRINGS}.models:score",
    "predict": f"{STRINGS}.models:predict",
    "sample": f"{STRINGS}.models:sample",
    "show": f"{STRINGS}.show:show_without_page",
    "convert": f"{STRINGS}.models:convert",
}
"""Word models are models of strings, and the commands are those of strings."""

FAMILY = Family(
    name="words",
    summary="Language models over large vocabularies: hidden states of words, n-grams beside them.",
    kinds={
        "word-states": Kind(f"{HERE}.model.hmm:WordHmm", COMMANDS),
        "word-mixture": Kind(f"{HERE}.model.mixture:WordMixture", COMMANDS),
    },
    estimators={"WordModel": f"{HERE}.estimator:WordModel"},
    names={
        "WordHmm": f"{HERE}.model.hmm:WordHmm",
        "WordMixture": f"{HERE}.model.mixture:WordMixture",
        "token_views": f"{HERE}.counts:token_views",
    },
    learn={
        "words": Command(f"{HERE}.cli.learn:command", "A language model of words from text."),
    },
    explore=f"{HERE}.explore:open_exhibit",
    examples={"next words of a little English": f"{HERE}.explore:example"},
    laws=f"{HERE}.laws:WordLaws",
    paces={"WordModel": Pace({"n_symbols": 2e-6, "n_symbols^2": 5e-11}, most=400.0)},
)

"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind, Pace

HERE = "sigmastar.treebanks."
COMMANDS = {
    name: f"{HERE}cli.models:{name}" for name in ("evaluate", "score", "predict", "sample", "convert")
}
COMMANDS["show"] = f"{HERE}cli.models:show"
NAMES = {
    "data.phrases": "Phrases phrases",
    "data.binarized": "Binarization",
    "counts": "INSIDE OUTSIDE",
    "model.parser": "TreebankParser Parse Chart",
    "metrics": "BracketScores Conventions EVALB paired_f1 score_brackets spans_of",
    "learn.methods": "BEST GrammarSpec learn_treebank SpanScorerSpec",
    "draw": "draw_chart",
    "gpu.dense": "RuleTensors",
    "gpu.grammar": "TorchGrammar RuleFactors exact_factors",
}

FAMILY = Family(
    name="treebanks",
    summary="Phrase structure parsers: latent-variable grammars of treebanks.",
    kinds={
        "treebank": Kind(f"{HERE}model.parser:TreebankParser", COMMANDS),
    },
    estimators={
        name: f"{HERE}estimator:{name}" for name in ("SpectralTreebankGrammar", "EMTreebankGrammar", "PCFG")
    },
    names={name: f"{HERE}{module}:{name}" for module, names in NAMES.items() for name in names.split()},
    learn={
        "treebank": Command(f"{HERE}cli.learn:command", "A phrase structure parser from trees in brackets."),
    },
    formats={"brackets": "sigmastar.trees.data.brackets:read_brackets"},
    metrics={
        "f1": "F1 of labelled brackets",
        "precision": "Share of brackets found that are right",
        "recall": "Share of right brackets that are found",
        "unlabelled_f1": "F1 of brackets without labels",
        "exact": "Share of sentences whose brackets are all right",
        "crossing": "Number of crossing brackets per sentence",
        "no_crossing": "Share of sentences without crossing brackets",
        "tagging": "Share of tags that are right",
    },
    demo=f"{HERE}demo:TreebankFamily",
    demo_seconds=54,
    explore=f"{HERE}explore:open_exhibit",
    examples={
        "parser of a little English": f"{HERE}explore:example",
    },
    pictures={f"{HERE}model.parser:Parse": f"{HERE}draw:draw_parse"},
    laws=f"{HERE}laws:TreebankLaws",
    paces={"SpectralTreebankGrammar": Pace({"n_words": 2.8e-4})},
)

"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Command, Family, Kind

COMMANDS = {
    "evaluate": "sigmastar.automata.cli.evaluate:command",
    "score": "sigmastar.automata.cli.score:command",
    "predict": "sigmastar.automata.cli.predict:command",
    "sample": "sigmastar.automata.cli.sample:command",
    "show": "sigmastar.automata.cli.show:command",
    "convert": "sigmastar.automata.cli.convert:command",
}

FAMILY = Family(
    name="treebanks",
    summary="Phrase structure parsers: latent-variable grammars of treebanks.",
    kinds={
        "treebank": Kind("sigmastar.treebanks.model.parser:TreebankParser", COMMANDS),
    },
    estimators={
        "SpectralTreebankGrammar": "sigmastar.treebanks.estimator:SpectralTreebankGrammar",
        "EMTreebankGrammar": "sigmastar.treebanks.estimator:EMTreebankGrammar",
        "PCFG": "sigmastar.treebanks.estimator:PCFG",
    },
    learn={
        "treebank": Command(
            "sigmastar.treebanks.cli.learn:command", "A phrase structure parser from trees in brackets."
        ),
    },
    demo="sigmastar.treebanks.demo:TreebankFamily",
)

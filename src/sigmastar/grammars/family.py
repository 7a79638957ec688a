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
    name="grammars",
    summary="Weighted context-free grammars, from brackets or from bare strings.",
    kinds={
        "grammar": Kind("sigmastar.grammars.model.grammar:WeightedGrammar", COMMANDS),
    },
    estimators={
        "SpectralGrammar": "sigmastar.grammars.estimator:SpectralGrammar",
        "CompletionGrammar": "sigmastar.grammars.estimator:CompletionGrammar",
        "EMGrammar": "sigmastar.grammars.estimator:EMGrammar",
    },
    exports={
        "WeightedGrammar": "sigmastar.grammars.model.grammar:WeightedGrammar",
    },
    learn={
        "grammar": Command(
            "sigmastar.grammars.cli.learn:command", "A weighted grammar from brackets, or from bare strings."
        ),
    },
    demo="sigmastar.grammars.demo:WeightedGrammarFamily",
)

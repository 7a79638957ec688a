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
    name="pcfg",
    summary="Probabilistic grammars on given rules: empirical risk minimization and its theory.",
    kinds={
        "pcfg": Kind("sigmastar.pcfg.model.pcfg:ProbabilisticCFG", COMMANDS),
        "hidden-markov": Kind("sigmastar.pcfg.model.hidden_markov:HiddenMarkovModel", COMMANDS),
    },
    estimators={
        "ERMGrammar": "sigmastar.pcfg.estimator:ERMGrammar",
    },
    learn={
        "pcfg": Command(
            "sigmastar.pcfg.cli.learn:command", "Probabilities of a grammar's rules, from trees or strings."
        ),
    },
    commands={
        "bound": Command("sigmastar.pcfg.cli.bound:command", "How many samples the theory asks for."),
    },
    demo="sigmastar.pcfg.demo:GrammarFamily",
)

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
    name="dependency",
    summary="Dependency parsers: head automata.",
    kinds={
        "dependency": Kind("sigmastar.dependency.model.parser:DependencyParser", COMMANDS),
    },
    estimators={
        "SpectralDependencyGrammar": "sigmastar.dependency.estimator:SpectralDependencyGrammar",
        "EMDependencyGrammar": "sigmastar.dependency.estimator:EMDependencyGrammar",
        "DeterministicDependencyGrammar": "sigmastar.dependency.estimator:DeterministicDependencyGrammar",
    },
    exports={
        "DependencyTreebank": "sigmastar.dependency.data.treebank:DependencyTreebank",
    },
    learn={
        "dependency": Command(
            "sigmastar.dependency.cli.learn:command", "A projective dependency parser from a treebank."
        ),
    },
    demo="sigmastar.dependency.demo:DependencyFamily",
)

"""What the rest of the program knows of this family."""

from __future__ import annotations

from sigmastar.core.family import Family, Kind

COMMANDS = {
    "evaluate": "sigmastar.automata.cli.evaluate:command",
    "score": "sigmastar.automata.cli.score:command",
    "predict": "sigmastar.automata.cli.predict:command",
    "sample": "sigmastar.automata.cli.sample:command",
    "show": "sigmastar.automata.cli.show:command",
    "convert": "sigmastar.automata.cli.convert:command",
}

FAMILY = Family(
    name="trees",
    summary="Tree automata and latent-variable PCFGs as operators on trees.",
    kinds={
        "tree-automaton": Kind("sigmastar.trees.model.automaton:TreeAutomaton", COMMANDS),
        "latent-pcfg": Kind("sigmastar.trees.model.latent_pcfg:LatentPCFG", COMMANDS),
    },
    estimators={
        "SpectralTreeAutomaton": "sigmastar.trees.estimator:SpectralTreeAutomaton",
    },
    exports={
        "Tree": "sigmastar.trees.data.tree:Tree",
        "TreeAutomaton": "sigmastar.trees.model.automaton:TreeAutomaton",
    },
)

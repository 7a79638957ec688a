"""The table of commands: the shell's own, those on model files, and those that families bring."""

from __future__ import annotations

from sigmastar.core.family import Command, families

ON_MODELS = {
    "evaluate": Command("sigmastar.cli.model_commands:evaluate", "Measure how good a model is on data."),
    "score": Command(
        "sigmastar.cli.model_commands:score", "The natural log-probability of each string, pair or sentence."
    ),
    "predict": Command("sigmastar.cli.model_commands:predict", "Next symbols, tags, trees, arcs or outputs."),
    "sample": Command("sigmastar.cli.model_commands:sample", "Draw strings, pairs or trees from a model."),
    "show": Command(
        "sigmastar.cli.model_commands:show",
        "What a model is and how it was learned; as a graph or a page too.",
    ),
    "convert": Command("sigmastar.cli.model_commands:convert", "Write a model in the format of other tools."),
    "compare": Command("sigmastar.cli.model_commands:compare", "How far two models are from each other."),
    "minimize": Command(
        "sigmastar.cli.model_commands:minimize",
        "The smallest automaton of the same function, or a smaller one near it.",
    ),
}
"""Commands on a model file; what they do is up to the family of the model."""

_FIRST = {
    "demo": Command("sigmastar.cli.demo:command", "Every family on data it generates: a table and a page."),
    "learn": Command("sigmastar.cli.learn:command", "Learn a model from data and write it to a file."),
}
_LAST = {
    "reproduce": Command("sigmastar.cli.reproduce:command", "Tables and figures of a paper beside our own.")
}


def commands() -> dict[str, Command]:
    """All commands by name, in the order of the help."""
    of_families = {name: entry for family in families().values() for name, entry in family.commands.items()}
    return {**_FIRST, **ON_MODELS, **of_families, **_LAST}

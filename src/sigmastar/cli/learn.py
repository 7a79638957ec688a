"""`sigmastar learn FAMILY`: one file a family."""

from __future__ import annotations

import click

from sigmastar.cli.lazy import Entry, LazyGroup

FAMILIES = {
    "automaton": Entry(
        "sigmastar.cli.learn_automaton", "A weighted automaton, or an n-gram model, from strings."
    ),
    "tagger": Entry("sigmastar.cli.learn_tagger", "A tagger of words, or of chunks, from tagged sentences."),
    "dependency": Entry("sigmastar.cli.learn_dependency", "A projective dependency parser from a treebank."),
    "bilexical": Entry(
        "sigmastar.cli.learn_bilexical", "Which modifiers fit a head, from pairs and vectors."
    ),
    "transducer": Entry("sigmastar.cli.learn_transducer", "Strings to strings, from pairs of them."),
    "attachment": Entry("sigmastar.cli.learn_attachment", "Where prepositional phrases attach."),
    "treebank": Entry("sigmastar.cli.learn_treebank", "A phrase structure parser from trees in brackets."),
    "grammar": Entry(
        "sigmastar.cli.learn_grammar", "A weighted grammar from brackets, or from bare strings."
    ),
    "pcfg": Entry("sigmastar.cli.learn_pcfg", "Probabilities of a grammar's rules, from trees or strings."),
}


@click.group(cls=LazyGroup, entries=FAMILIES)
def command() -> None:
    """Learn a model of some family from data and write it to a file."""

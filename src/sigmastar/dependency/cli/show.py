"""`sigmastar show` of dependency parsers: what they are, what decides, and automata as Graphviz text."""

from __future__ import annotations

import difflib
from typing import Any

import click
import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.cli.options import json_option, model_argument, output_option
from sigmastar.core.cli.printing import print_figures, write_lines
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import read_header
from sigmastar.dependency.cli.models import NO_PART, read_parser
from sigmastar.dependency.data.sequences import DIRECTIONS, ROOT
from sigmastar.dependency.learn.dfa import approximate_dfa
from sigmastar.dependency.model.parser import DependencyParser

_DRAWN = 2000  # sequences that a drawing is made from


@click.command()
@model_argument
@click.option("--dot", is_flag=True, help="Automaton of one head as Graphviz text.")
@click.option("--head", metavar="TAG", help="Head whose automaton --dot draws; * is the root.")
@click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default="right",
    show_default=True,
    help="Side of the modifiers that --dot draws.",
)
@json_option
@output_option
def show(model: str, dot: bool, head: str | None, direction: str, as_json: bool, output: str) -> None:
    """What the parser MODEL is, and what decides its parses; with --dot the automaton of one head."""
    parser = read_parser(model)
    if dot:
        if head is None:
            raise click.UsageError(
                "--dot of a dependency grammar needs --head, and --direction left or right"
            )
        sort = _sort(parser, head, direction)
        name = " ".join(_names(parser)[sort])
        if not parser.is_generative:
            name += f" (beside the {parser.decided_by} that decide)"
        drawn = _drawn(parser.automata.automaton(sort), name)
        write_lines(output, drawn.splitlines())
        return
    learned = read_header(model)["learned"]
    facts = _facts(parser, model, learned)
    if as_json:
        print_figures({**facts, "learned": learned}, as_json, output)
        return
    if not parser.is_generative:
        facts["decided_by"] = f"{parser.decided_by}; {NO_PART}"
    print_figures({name: value for name, value in facts.items() if value}, as_json, output)


def _facts(parser: DependencyParser, model: str, learned: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": model,
        "family": "dependency",
        "symbols": parser.vocabulary.symbols,
        "n_symbols": len(parser.alphabet),
        "n_automata": parser.automata.n_sorts,
        "max_states": int(parser.automata.n_states.max()),
        "decided_by": parser.decided_by,
        "n_words": len(parser.vocabulary.words),
        "n_labels": 0 if parser.labeller is None else len(parser.labeller.labels),
        "method": str(learned.get("method", "")),
    }


def _drawn(automaton: WeightedAutomaton, name: str) -> str:
    """The deterministic approximation, on sequences that the automaton itself draws."""
    strings = automaton.sample(_DRAWN, np.random.default_rng(0), 50)
    return approximate_dfa(automaton, strings, np.ones(len(strings))).to_dot(name)


def _names(parser: DependencyParser) -> list[tuple[str, str]]:
    symbols = map(str, parser.alphabet)
    return [*((symbol, direction) for symbol in symbols for direction in DIRECTIONS), (ROOT, DIRECTIONS[1])]


def _sort(parser: DependencyParser, head: str, direction: str) -> int:
    """The number of an automaton, by its head; a tag that one symbol alone begins or ends with will do."""
    symbols = [*map(str, parser.alphabet), ROOT]
    alike = [symbol for symbol in symbols if head in (symbol, *symbol.split("+"))]
    if head not in symbols and len(alike) != 1:
        near = alike or difflib.get_close_matches(head, symbols, 5) or symbols
        guess = "did you mean" if near is not symbols else "heads are"
        raise InputError(f"there is no head {head!r}; {guess} {' '.join(near)}")
    found = head if head in symbols else alike[0]
    return _names(parser).index((found, DIRECTIONS[1] if found == ROOT else direction))

"""`sigmastar convert`: models for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import StringIO
from typing import TextIO

import click

from sigmastar.automata.cli.inputs import load
from sigmastar.automata.model.att import write_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dot import write_dot
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.hmm_conversion import to_hmm
from sigmastar.automata.model.pautomac_machine import write_pautomac_model
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import model_argument, output_option
from sigmastar.core.cli.progress_bar import tell
from sigmastar.core.errors import InputError

Writer = Callable[[WeightedAutomaton, TextIO], None]


def write_hmm(automaton: WeightedAutomaton, stream: TextIO) -> None:
    """A hidden Markov model with stopping, as JSON."""
    hmm = to_hmm(automaton)
    arrays = {name: getattr(hmm, name).tolist() for name in ("initial", "transition", "emission", "stop")}
    _write_json({"symbols": _names(hmm.alphabet), **arrays}, stream)


def write_json(automaton: WeightedAutomaton, stream: TextIO) -> None:
    """The weights as JSON: initial, one matrix per symbol, final."""
    matrices = dict(zip(_names(automaton.alphabet), automaton.transitions.tolist(), strict=True))
    _write_json(
        {"initial": automaton.initial.tolist(), "transitions": matrices, "final": automaton.final.tolist()},
        stream,
    )


FORMATS: Mapping[str, Writer] = {
    "att": write_att,
    "pautomac": write_pautomac_model,
    "dot": write_dot,
    "hmm": write_hmm,
    "json": write_json,
}

"""To add a format of machines, write a writer and name it here."""


@click.command()
@model_argument
@click.option(
    "--to", "target", type=click.Choice(list(FORMATS)), required=True, help="Format of the automaton."
)
@click.option("--symbols", metavar="FILE", help="File for the table of symbols, with att.")
@output_option
def convert(model: str, target: str, symbols: str | None, output: str) -> None:
    """Write the automaton of MODEL: att is OpenFst's text, hmm a hidden Markov model in JSON."""
    if symbols is not None and target != "att":
        raise click.UsageError(f"--symbols is for --to att, not {target}")
    loaded = load(model)
    automaton = loaded.require_automaton()
    try:
        with atomic_write(output) as stream:
            FORMATS[target](automaton, stream)
        if symbols is not None:
            with atomic_write(symbols) as stream:
                write_att(automaton, StringIO(), stream)
    except ValueError as problem:
        if isinstance(problem, InputError) and problem.file is not None:
            raise
        raise InputError(f"{problem} (--method auto or em learns proper automata)", file=model) from None
    if isinstance(loaded.model, FilteredAutomaton):
        tell(f"note: {target} has no place for the filter of {model}; its automaton alone is written")


def _names(alphabet: Alphabet) -> list[str]:
    return [str(symbol) for symbol in alphabet]


def _write_json(value: object, stream: TextIO) -> None:
    json.dump(value, stream, allow_nan=False)
    stream.write("\n")

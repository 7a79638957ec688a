"""Pictures of grammars: the Hankel matrix before and after completion, and the operators of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.figures import MissingMatplotlibError, plot_matrices, to_svg
from sigmastar.core.page import Part, Picture, Section, Table, Text, render
from sigmastar.grammars.counts.closed_hankel import ClosedHankel
from sigmastar.grammars.learn.completion import CompletionFit
from sigmastar.grammars.model.grammar import WeightedGrammar

_SHOWN = 60  # rows and columns of the picture


def completion_picture(fit: CompletionFit, n_shown: int = _SHOWN) -> list[Part]:
    """The heaviest corner of the Hankel matrix: what strings alone show of it, and completed."""
    completed = fit.completed.triples
    rows = np.sort(np.argsort(-np.linalg.norm(completed.left * completed.singular_values, axis=1))[:n_shown])
    columns = np.sort(
        np.argsort(-np.linalg.norm(completed.right * completed.singular_values, axis=1))[:n_shown]
    )
    after = (completed.left[rows] * completed.singular_values) @ completed.right[columns].T
    matrices = {"seen in strings": observed_corner(fit.hankel, rows, columns), "completed": after}
    try:
        figure = plot_matrices(matrices)
    except MissingMatplotlibError as problem:
        return [Text(f"The picture is left out: {problem}.")]
    caption = (
        "The Hankel matrix before and after completion, its heaviest outsides and insides. Of a string only "
        "the whole is seen (one row, nothing around it); how its weight falls to cuts is grey, and completed."
    )
    return [Picture(to_svg(figure), caption, caption)]


def observed_corner(hankel: ClosedHankel, rows: Indices, columns: Indices) -> Floats:
    """Frequencies of whole strings, in the row of the bare hole; NaN elsewhere."""
    corner = np.full((len(rows), len(columns)), np.nan)
    whole = np.full(hankel.n_insides, np.nan)
    whole[hankel.table.string_node] = hankel.probabilities
    if len(at := np.flatnonzero(rows == 0)):
        inside = columns < hankel.n_insides
        corner[at[0], inside] = whole[columns[inside]]
    return corner


def _told(value: Any) -> str:
    """A setting in words, those of a group one after the other."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def grammar_page(grammar: WeightedGrammar, facts: Mapping[str, Any], learned: Mapping[str, Any]) -> str:
    """What a grammar is, as a page: its facts, its operators as pictures."""
    table = Table("What it is", ("", ""), [(name, str(value)) for name, value in facts.items()])
    history = [(name, _told(value)) for name, value in learned.items() if name != "call"]
    parts: list[Part] = [table, Table("How it was learned", ("", ""), history)]
    try:
        shown = {
            "words": grammar.words,
            "composition": grammar.composition.reshape(grammar.n_states, -1),
        }
        figure = plot_matrices(shown, "states, pairs of states", "symbols, states")
        caption = "Word vectors, and the bilinear composition with pairs of states as columns."
        parts.append(Picture(to_svg(figure), caption, caption))
    except MissingMatplotlibError as problem:
        parts.append(Text(f"The picture is left out: {problem}."))
    return render("A weighted grammar", [Section("Model", parts)], {"Seed": str(learned.get("seed", ""))})

"""How good grammars are: brackets against gold ones, values against frequencies or another grammar.

Brackets are compared without labels (Klein and Manning 2002): spans of one symbol and of a whole string
cannot be missed and are left out; each span counts once, and all strings are pooled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.grammars.data.bracketings import Bracketings, left_branching, right_branching
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to


class BracketScore(NamedTuple):
    """Precision, recall and F1 of spans, from 0 to 1."""

    precision: float
    recall: float
    f1: float


def bracket_score(found: Bracketings, gold: Bracketings) -> BracketScore:
    """Compare spans string by string.

    Parameters
    ----------
    found, gold
        Brackets of the same strings in the same order.

    Returns
    -------
    BracketScore
        Over the spans of all strings.
    """
    right, n_found, n_gold = bracket_counts(found, gold).sum(axis=0)
    precision, recall = right / max(n_found, 1.0), right / max(n_gold, 1.0)
    return BracketScore(float(precision), float(recall), float(2.0 * right / max(n_found + n_gold, 1.0)))


def bracket_counts(found: Bracketings, gold: Bracketings) -> Floats:
    """The numbers of spans that are right, found and gold: strings x 3."""
    if len(found) != len(gold) or (found.strings.lengths != gold.strings.lengths).any():
        raise ValueError(f"brackets of {len(found)} strings cannot be compared with those of {len(gold)}")
    ours, theirs = _keys(found), _keys(gold)
    right = np.intersect1d(ours, theirs)
    parts = [np.bincount(keys // _stride(gold), minlength=len(gold)) for keys in (right, ours, theirs)]
    return np.stack(parts, axis=1).astype(float)


def baselines(gold: Bracketings) -> dict[str, BracketScore]:
    """The scores of trees that branch to the right, and to the left, everywhere.

    Parameters
    ----------
    gold
        Brackets to compare with.

    Returns
    -------
    dict
        Scores by name: right-branching, left-branching.
    """
    return {
        "right-branching": bracket_score(right_branching(gold.strings), gold),
        "left-branching": bracket_score(left_branching(gold.strings), gold),
    }


def _stride(brackets: Bracketings) -> int:
    return (int(brackets.strings.lengths.max(initial=0)) + 1) ** 2


def _keys(brackets: Bracketings) -> Int64s:
    """Every span that counts as one number, sorted and distinct."""
    lengths = brackets.strings.lengths
    string = np.repeat(np.arange(len(brackets)), np.diff(brackets.span_offsets))
    widths = brackets.ends - brackets.begins
    counts = (widths > 1) & (widths < lengths[string])
    side = int(lengths.max(initial=0)) + 1
    return np.unique(((string * side + brackets.begins) * side + brackets.ends)[counts])


class Distances(NamedTuple):
    """Distances over all strings up to a length."""

    l1: float  # sum of |p - q|
    kl: float  # sum of p log(p / q), both made to sum to one there; infinite where q <= 0 < p
    mass: float  # of p on these strings


def empirical_l1(grammar: WeightedGrammar, strings: Strings) -> float:
    """The sum of |p - f| over the distinct strings of a sample, p their frequencies.

    Parameters
    ----------
    grammar
        The grammar that gives f.
    strings
        The sample.

    Returns
    -------
    float
        From 0 up.
    """
    distinct, counts = distinct_strings(strings, np.ones(len(strings)))
    return float(np.abs(counts / counts.sum() - grammar.value(distinct)).sum())


def grammar_distances(grammar: WeightedGrammar, truth: WeightedGrammar, max_length: int) -> Distances:
    """L1 and KL between two grammars on every string of up to `max_length` symbols.

    Parameters
    ----------
    grammar, truth
        Grammars over the same alphabet.
    max_length
        Strings of up to so many symbols are enumerated.

    Returns
    -------
    Distances
        With `truth` for p.
    """
    strings, p = grammar_values_up_to(truth, max_length)
    q = grammar.value(strings)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(np.maximum(q, 0.0))), 0.0)
    mass, kept = float(p.sum()), float(np.maximum(q, 0.0).sum())
    kl = float(terms.sum() / mass - np.log(mass) + np.log(kept)) if kept > 0.0 else float("inf")
    return Distances(float(np.abs(p - q).sum()), kl, mass)

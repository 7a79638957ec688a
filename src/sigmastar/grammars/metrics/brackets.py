"""How well brackets agree, without labels: precision, recall and F1 of spans (Klein and Manning 2002).

Spans of one symbol and of a whole string cannot be missed and are left out; each span counts once. All
strings are pooled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.grammars.data.bracketings import Bracketings, left_branching, right_branching

Array = NDArray[np.float64]


class BracketScore(NamedTuple):
    """Shares from 0 to 1."""

    precision: float
    recall: float
    f1: float


def bracket_score(found: Bracketings, gold: Bracketings) -> BracketScore:
    """Compare spans string by string."""
    right, n_found, n_gold = bracket_counts(found, gold).sum(axis=0)
    precision, recall = right / max(n_found, 1.0), right / max(n_gold, 1.0)
    return BracketScore(float(precision), float(recall), float(2.0 * right / max(n_found + n_gold, 1.0)))


def bracket_counts(found: Bracketings, gold: Bracketings) -> Array:
    """Of every string: how many spans are right, found and gold."""
    if len(found) != len(gold) or (found.strings.lengths != gold.strings.lengths).any():
        raise ValueError(f"brackets of {len(found)} strings cannot be compared with those of {len(gold)}")
    mine, theirs = _keys(found), _keys(gold)
    right = np.intersect1d(mine, theirs)
    parts = [np.bincount(keys // _stride(gold), minlength=len(gold)) for keys in (right, mine, theirs)]
    return np.stack(parts, axis=1).astype(float)


def baselines(gold: Bracketings) -> dict[str, BracketScore]:
    """What trees give that know nothing of the strings."""
    return {
        "right-branching": bracket_score(right_branching(gold.strings), gold),
        "left-branching": bracket_score(left_branching(gold.strings), gold),
    }


def _stride(brackets: Bracketings) -> int:
    return (int(brackets.strings.lengths.max(initial=0)) + 1) ** 2


def _keys(brackets: Bracketings) -> NDArray[np.int64]:
    """Every span that counts as one number, sorted and distinct."""
    lengths = brackets.strings.lengths
    string = np.repeat(np.arange(len(brackets)), np.diff(brackets.span_offsets))
    widths = brackets.ends - brackets.begins
    counts = (widths > 1) & (widths < lengths[string])
    side = int(lengths.max(initial=0)) + 1
    return np.unique(((string * side + brackets.begins) * side + brackets.ends)[counts])

"""The arrays of `parse_forest`: they are made once and serve for all strings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats

LONGEST = 61  # words: ends are bits of a signed integer


class Room(NamedTuple):
    """What is known of the string so far, and of the position whose spans are being filled."""

    ends: Array  # [begin, symbol]
    following: Array  # of a node: the positions where a symbol that can follow it begins
    seen: Array  # of a node, from this position: the ends where it is listed
    row_of: Array  # of a node, from this position: the place of its value at end 0
    listed: Array  # [end, number]: nodes
    n_listed: Array


class Forest(NamedTuple):
    """Values by place; items (a place that goes on) and their groups of edges, in the order of the passes."""

    values: Floats  # those of symbols, [begin, symbol, end], then those of nodes
    item_place: Array
    item_groups: Array  # where the groups of an item end
    group_right: Array  # the row of the symbol on the right
    group_target: Array  # the row of the longer node, or of the left side
    group_ends: Array
    group_event: Array  # the rule, or -1 where the right side is not at its end
    span_items: Array  # where the items of a span end, by visits: from the last word, short ones first


def new_room(n_nodes: int, n_symbols: int) -> Room:
    """Room for strings of up to `LONGEST` words."""
    return Room(
        np.zeros((LONGEST + 1, n_symbols), np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.empty((LONGEST + 1, n_nodes), np.int32),
        np.zeros(LONGEST + 1, np.int64),
    )


def new_forest() -> Forest:
    """An empty forest; the kernels make it larger where needed."""
    ends, spans = np.empty(1, np.int64), np.empty(LONGEST * (LONGEST + 1) // 2, np.int64)
    place, groups, right, target, event = (np.empty(1, np.int32) for _ in range(5))
    return Forest(np.empty(1), place, groups, right, target, ends, event, spans)


def word_scales(rules: Any, weights: Floats) -> Floats:
    """Of each word, a power of two that brings its largest value into [1, 2)."""
    largest = (rules.word_symbol >= 0).astype(float)
    words = np.repeat(np.arange(len(largest)), np.diff(rules.lexical_start))
    np.maximum.at(largest, words, weights[rules.lexical_event])
    largest[largest == 0] = 1.0
    return np.asarray(np.exp2(-np.floor(np.log2(largest))))

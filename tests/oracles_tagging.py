"""Brute-force twins for taggers: every tag sequence, every state sequence, one by one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np


def tag_sequences(candidates: list[list[int]]) -> list[tuple[int, ...]]:
    return list(product(*candidates))


def refined_value(tags, emissions, states, initial, transitions, final) -> float:
    """Sum over all state sequences of the tags; `emissions[i][t]` are those of token i's states of t."""
    total = 0.0
    for path in product(*(range(states[t], states[t + 1]) for t in tags)):
        value = initial[path[0]]
        for i, z in enumerate(path):
            value *= emissions[i][tags[i]][z - states[tags[i]]]
            value *= transitions[path[i - 1], z] if i else 1.0
        total += value * final[path[-1]]
    return total


def operator_value(tags, operators, initial, final) -> float:
    """initial A_1 .. A_L final; `operators[i][t]` is that of token i with tag t."""
    vector = np.asarray(initial)
    for i, t in enumerate(tags):
        vector = vector @ operators[i][t]
    return float(vector @ final)


def marginals_of(values: dict[tuple[int, ...], float], candidates: list[list[int]]) -> tuple[list, list]:
    """Unigram tables, and pair tables of tokens 1 on, by summing over sequences."""
    total = sum(values.values())
    ones = [
        [sum(v for y, v in values.items() if y[i] == a) / total for a in candidates[i]]
        for i in range(len(candidates))
    ]
    twos = [
        [
            [sum(v for y, v in values.items() if (y[i - 1], y[i]) == (a, b)) / total for b in candidates[i]]
            for a in candidates[i - 1]
        ]
        for i in range(1, len(candidates))
    ]
    return ones, twos


def chunk_set(tags: list[str]) -> set[tuple[int, int, str]]:
    """The chunks of one sentence, read from left to right as conlleval does."""
    chunks, start, kind = set(), None, None
    for i, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if kind is not None and (mark != "I" or name != kind):
            chunks.add((start, i, kind))
            kind = None
        if mark != "O" and kind is None:
            start, kind = i, name
    return chunks


def whole_sentence_weights(inputs, offsets) -> tuple[np.ndarray, np.ndarray]:
    """Weights of tokens and of gaps: q of all inputs of the sentence and of an end, over its frequency."""
    lengths, n = np.diff(offsets), len(offsets) - 1
    chances = np.append(np.bincount(inputs), n) / (len(inputs) + n)
    rows = [tuple(inputs[low:high]) for low, high in pairwise(offsets)]
    counts = Counter(rows)
    weights = np.array([chances[list(row)].prod() * chances[-1] * n / counts[row] for row in rows])
    return np.repeat(weights, lengths), np.repeat(weights, lengths + 1)


def hankel_score(tags, chances, features, left, right) -> float:
    """log p(y | x) of each word, and phi(prefix)^T L R^T psi(suffix) at every gap, edges padded.

    `features(side, place, tags)` are the codes of what stands before (0) or behind (1) the gap at `place`.
    """
    block = left @ right.T
    total = sum(np.log(chances[i][t]) for i, t in enumerate(tags))
    for place in range(len(tags) + 1):
        before, behind = features(0, place, tags), features(1, place, tags)
        total += sum(block[p, s] for p in before for s in behind)
    return float(total)

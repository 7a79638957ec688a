"""Hidden Markov models of many states whose posteriors are nearly all zero: a few states are kept per token.

    prior(z')   = sum of belief(z) T[z, z'] over the states kept      all states: rows of T are added up
    joint(z)    = prior(z) E[w, z]                                     its sum is the probability of w
    kept        = states with joint(z) > least . sum, at most so many
    behind(z)   = sum of T[z, z'] E[w', z'] behind(z') over the states kept of the next token

A forward step takes (states kept) x states, a backward step the square of what is kept. Where the model is
asked for probabilities, nothing but what underflows is dropped (`least` is 0 or tiny): they are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s
from sigmastar.core.jit import fast_kernel, part

_BLOCK = 16


class Text(NamedTuple):
    """Tokens, where a text begins, and where what is known of the state is wanted."""

    tokens: Int32s
    begins: Flags
    wanted: Flags


class Chain(NamedTuple):
    """Probabilities of first states, of moves, and of words (a row per word) in all states."""

    initial: Array
    moves: Array
    by_word: Array


class Kept(NamedTuple):
    """The states kept of each token of a piece, how many, and their shares."""

    states: Int32s
    numbers: Int32s
    shares: Array


def room_for(n_tokens: int, most: int, like: Array) -> Kept:
    """Room for the states kept of so many tokens."""
    return Kept(
        np.zeros((n_tokens, most), np.int32),
        np.zeros(n_tokens, np.int32),
        np.zeros((n_tokens, most), like.dtype),
    )


@part
def _keep(joint: Array, total: float, least: float, states: Int32s, shares: Array) -> int:
    """The states with more than the least share, or the best; at most as many as there is room for."""
    n, most, bound = len(joint), len(states), least * total
    while True:
        count, highest = 0, 0.0
        for begin in range(0, n, _BLOCK):
            end, top = min(begin + _BLOCK, n), joint[begin]
            for z in range(begin, end):
                top = max(top, joint[z])
            highest = max(highest, top)
            if top > bound:
                for z in range(begin, end):
                    if joint[z] > bound:
                        if count < most:
                            states[count] = z
                        count += 1
        if 0 < count <= most or highest <= 0.0:
            break
        if count == 0:  # as many states alike as there are: the best of them, or nothing would be left
            bound = 0.99 * highest
            continue
        if bound >= 0.99 * highest:  # more states alike than there is room for: the first of them
            count = most
            break
        bound = min(bound * 1.5 if bound > 0.0 else 1e-12 * total, 0.99 * highest)
    whole = 0.0
    for k in range(count):
        whole += joint[states[k]]
    for k in range(count):
        shares[k] = joint[states[k]] / whole
    return count


@fast_kernel
def walk(
    text: Text, chain: Chain, prior: Array, least: float, kept: Kept, probabilities: Floats, rows: Array
) -> int:
    """Go forward through a piece of text; the number of `rows` that were filled.

    `prior` is what is known of the state of the first token, and then of the one behind the last. Where
    `begins` is set a text begins, and nothing is known but the initial distribution. An unknown word
    (negative) has no probability, and teaches nothing. A row is what is known before a token that is wanted.
    """
    tokens, begins, wanted = text
    initial, moves, by_word = chain
    states, numbers, shares = kept
    n, n_rows = len(initial), 0
    joint = np.empty_like(prior)
    for at in range(len(tokens)):
        if begins[at]:
            for z in range(n):
                prior[z] = initial[z]
        if wanted[at]:
            for z in range(n):
                rows[n_rows, z] = prior[z]
            n_rows += 1
        token, total = tokens[at], 0.0
        if token >= 0:
            for z in range(n):
                joint[z] = prior[z] * by_word[token, z]
                total += joint[z]
        probabilities[at] = total
        if total <= 0.0:
            total = 0.0
            for z in range(n):
                joint[z] = prior[z]
                total += joint[z]
        numbers[at] = _keep(joint, total, least, states[at], shares[at])
        for z in range(n):
            prior[z] = 0.0
        for k in range(numbers[at]):
            state, share = states[at, k], shares[at, k]
            for z in range(n):
                prior[z] += share * moves[state, z]
    return n_rows


@fast_kernel
def count_back(text: Text, chain: Chain, kept: Kept, counts: Chain, next_behind: Array) -> None:
    """Add the expected counts of a piece that was walked through, with nothing known behind it."""
    tokens, begins, _ = text
    _, moves, by_word = chain
    states, numbers, shares = kept
    starts, pairs, words = counts
    here, there = (
        next_behind[0],
        next_behind[1],
    )  # of the states kept: what lies behind, times emissions
    for at in range(len(tokens) - 1, -1, -1):
        token, number = tokens[at], numbers[at]
        is_last = at + 1 == len(tokens) or begins[at + 1]
        total = 0.0
        for k in range(number):
            behind = 1.0
            if not is_last:
                state, behind = states[at, k], 0.0
                for j in range(numbers[at + 1]):
                    behind += moves[state, states[at + 1, j]] * there[j]
            here[k] = behind
            total += shares[at, k] * behind
        scale = 1.0 / total if total > 0.0 else 0.0
        for k in range(number):
            state, share = states[at, k], shares[at, k] * scale
            if not is_last:
                for j in range(numbers[at + 1]):
                    next_state = states[at + 1, j]
                    pairs[state, next_state] += share * moves[state, next_state] * there[j]
            words[token, state] += share * here[k]
            if begins[at]:
                starts[state] += share * here[k]
        for k in range(number):
            there[k] = here[k] * scale * by_word[token, states[at, k]]

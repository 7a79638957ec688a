"""Brute-force twins of the fast kernels: slow, short, and plainly right."""

from __future__ import annotations

import numpy as np


def occurrences(string: tuple, word: tuple, anchored_left: bool, anchored_right: bool) -> int:
    """How often `word` occurs in `string`, only at its start or end where anchored."""
    n = len(word)
    places = [k for k in range(len(string) - n + 1) if string[k : k + n] == word]
    if anchored_left:
        places = [k for k in places if k == 0]
    if anchored_right:
        places = [k for k in places if k + n == len(string)]
    return len(places)


def frequent_strings(strings: list, size: int | None, anchored_left: bool, anchored_right: bool) -> list:
    """The `size` most frequent prefixes, suffixes or substrings; ties by length, then by symbols."""
    counts: dict = {(): 0}
    for string in strings:
        for start in [0] if anchored_left else range(len(string) + 1):
            for end in [len(string)] if anchored_right else range(start, len(string) + 1):
                word = tuple(string[start:end])
                counts[word] = counts.get(word, 0) + 1

    def order(word: tuple) -> tuple:
        return -counts[word], len(word), word[::-1] if anchored_right else word

    return sorted(counts, key=order)[:size]


def string_value(initial, transitions, final, codes) -> float:
    """The value of one string: a product of operators, entry by entry; unknown symbols (-1) give zero."""
    vector = list(initial)
    for code in codes:
        n = len(vector)
        vector = [
            sum(vector[i] * transitions[code][i][j] for i in range(n)) if code >= 0 else 0.0 for j in range(n)
        ]
    return float(sum(v * f for v, f in zip(vector, final, strict=True)))


def words_up_to(n_symbols: int, max_length: int) -> list:
    """All words as tuples of codes, shorter ones first, then in the order of their codes."""
    words: list = [()]
    level: list = [()]
    for _ in range(max_length):
        level = [(*word, code) for word in level for code in range(n_symbols)]
        words += level
    return words


def dfa_accepts(start: int, next_state, accepting, codes) -> bool:
    """Whether the walk over `codes` ends in an accepting state and never dies."""
    state = start
    for code in codes:
        state = next_state[state][code] if code >= 0 else -1
        if state < 0:
            return False
    return bool(accepting[state])


def hankel_rank(initial, transitions, final, max_length: int) -> int:
    """The numerical rank of the Hankel matrix on all words up to a length."""
    words = words_up_to(len(transitions), max_length)
    matrix = np.array([[string_value(initial, transitions, final, u + v) for v in words] for u in words])
    return int(np.linalg.matrix_rank(matrix, tol=1e-9 * np.linalg.norm(matrix))) if matrix.any() else 0


def prefix_counts(words: list) -> dict:
    """For every distinct prefix (the empty one always) how many words end there, and how many pass."""
    counts: dict = {(): [0, 0]}
    for word in words:
        for end in range(len(word) + 1):
            counts.setdefault(tuple(word[:end]), [0, 0])[1] += 1
        counts[tuple(word)][0] += 1
    return counts


def gap_context(word: tuple, gap: int, direction: str, edge: int) -> tuple:
    """All that stands beside a gap, read away from it, with the edge of the string as last symbol."""
    beside = word[:gap][::-1] if direction == "past" else word[gap:]
    return (*beside, edge)


def frequent_contexts(
    words: list, direction: str, edge: int, max_classes: int | None, min_count: int, max_depth: int | None
) -> list:
    """The most frequent contexts, shorter ones first where counts are equal; in order of length, then symbols."""
    counts: dict = {(): 0}
    for word in words:
        for gap in range(len(word) + 1):
            whole = gap_context(word, gap, direction, edge)
            longest = len(whole) if max_depth is None else min(len(whole), max_depth)
            for length in range(longest + 1):
                counts[whole[:length]] = counts.get(whole[:length], 0) + 1
    wanted = [context for context in counts if counts[context] >= min_count or not context]
    wanted = sorted(wanted, key=lambda c: (-counts[c], len(c), c))[:max_classes]
    return sorted(wanted, key=lambda c: (len(c), c))


def longest_context(contexts: list, whole: tuple) -> int:
    """The position of the longest of `contexts` that `whole` begins with."""
    fitting = [k for k, context in enumerate(contexts) if whole[: len(context)] == context]
    return max(fitting, key=lambda k: len(contexts[k]))

"""Brute-force twins of the fast kernels: slow, short, and plainly right."""

from __future__ import annotations


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

"""Chunks: spans of words written as tags, B-X at the first word, I-X inside, O outside.

A chunk ends where O, a B, or an I of another kind comes; an I that no chunk of its kind precedes begins one,
as in the scoring of the CoNLL shared tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.core.arrays import Int64s


def is_chunk_tagging(tags: Sequence[str]) -> bool:
    """Whether all tags are O, B-X or I-X, with at least one chunk among them.

    >>> is_chunk_tagging(["B-NP", "I-NP", "O"]), is_chunk_tagging(["NOUN", "O"])
    (True, False)
    """
    return any(tag != "O" for tag in tags) and all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)


def chunk_spans(tags: Sequence[str], offsets: Int64s) -> Int64s:
    """Chunks as sorted rows (first word, word after the last, code of the kind); kinds coded by `kind_codes`.

    >>> chunk_spans(["B-NP", "I-NP", "O", "I-VP"], np.array([0, 4])).tolist()
    [[0, 2, 0], [3, 4, 1]]
    """
    kinds = kind_codes(tags)
    kind = np.array([kinds.get(tag[2:], -1) if tag != "O" else -1 for tag in tags], dtype=np.int64)
    begins = np.array([tag[:2] == "B-" for tag in tags], dtype=bool)
    first = np.zeros(len(tags), dtype=bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    before = np.where(first, -1, np.append(-1, kind[:-1]))
    starts = np.flatnonzero((kind >= 0) & (begins | (before != kind)))
    breaks = np.flatnonzero(first | begins | (before != kind))
    ends = np.append(breaks, len(tags))[np.searchsorted(breaks, starts, side="right")]
    return np.column_stack([starts, ends, kind[starts]])


def kind_codes(tags: Sequence[str]) -> dict[str, int]:
    """Codes of the kinds of chunks, in alphabetical order."""
    return {kind: code for code, kind in enumerate(sorted({tag[2:] for tag in set(tags) if tag != "O"}))}

"""Dependency treebanks: sentences whose every word has a head.

Columns are flat over all sentences; sentence i is `sentence_offsets[i]:sentence_offsets[i + 1]` of
each. Heads are counted as CoNLL-U counts them: from 1 within the sentence, 0 is the root, and -1
stands where none is given. Lines that hold no word (comments, multiword tokens, empty nodes) are kept
with their places, so that a file can be written back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Heads = NDArray[np.int32]
Offsets = NDArray[np.int64]

NO_HEAD = -1


@dataclass(frozen=True, eq=False)
class DependencyTreebank:
    """Words in columns. The rarer columns are None where every cell of them is `_`."""

    form: list[str]
    upos: list[str]
    xpos: list[str]
    head: Heads
    deprel: list[str]
    sentence_offsets: Offsets
    lemma: list[str] | None = None
    feats: list[str] | None = None
    deps: list[str] | None = None
    misc: list[str] | None = None
    other_lines: tuple[tuple[int, str], ...] = ()
    """Lines without a word, each with the number of words and sentence ends before it."""

    @classmethod
    def of(
        cls,
        forms: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str]],
        heads: Iterable[Sequence[int]] | None = None,
        deprels: Iterable[Sequence[str]] | None = None,
        xpos: Iterable[Sequence[str]] | None = None,
    ) -> DependencyTreebank:
        """From one sequence a sentence; without `xpos` the tags are used for both tag columns.

        >>> DependencyTreebank.of([["a", "dog"]], [["DET", "NOUN"]], [[2, 0]]).head.tolist()
        [2, 0]
        """
        rows = [list(sentence) for sentence in forms]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        n = int(offsets[-1])
        flat_tags = _flat(tags, n, "tags")
        return cls(
            form=_flat(rows, n, "forms"),
            upos=flat_tags,
            xpos=flat_tags if xpos is None else _flat(xpos, n, "xpos"),
            head=np.array(
                [NO_HEAD] * n if heads is None else [h for row in heads for h in row], dtype=np.int32
            ),
            deprel=["_"] * n if deprels is None else _flat(deprels, n, "deprels"),
            sentence_offsets=offsets,
        )

    def __len__(self) -> int:
        return len(self.sentence_offsets) - 1

    @property
    def n_words(self) -> int:
        return int(self.sentence_offsets[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.sentence_offsets)

    @property
    def has_heads(self) -> bool:
        return bool((self.head >= 0).all())

    def with_heads(self, head: Heads, deprel: list[str] | None = None) -> DependencyTreebank:
        """The same words under other heads, and other relations where they are given."""
        return replace(self, head=head, deprel=self.deprel if deprel is None else deprel)

    def select(self, sentences: Sequence[int] | NDArray[np.intp]) -> DependencyTreebank:
        """The sentences at these places, in that order, without the lines that hold no word."""
        chosen = np.asarray(sentences, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        words = np.arange(offsets[-1]) + np.repeat(self.sentence_offsets[chosen] - offsets[:-1], lengths)
        at = words.tolist()
        cells: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else [column[i] for i in at]
            for name in ("form", "upos", "xpos", "deprel", "lemma", "feats", "deps", "misc")
        }
        return replace(self, **cells, head=self.head[words], sentence_offsets=offsets, other_lines=())


def word_places(offsets: Offsets) -> NDArray[np.int64]:
    """For each word its place in its sentence, counted from 1."""
    lengths = np.diff(offsets)
    return np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], lengths)


def words_without_root(head: Heads, offsets: Offsets) -> NDArray[np.intp]:
    """Words from which the chain of heads never ends: those of cycles, and below cycles.

    Chains are doubled, so a treebank whose longest sentence has L words takes log2(L) steps.
    """
    n = int(offsets[-1])
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    up = np.append(np.where(head <= 0, n, starts + head - 1), n)  # n is the root of all sentences
    for _ in range(max(int(np.diff(offsets).max(initial=1)) - 1, 1).bit_length() + 1):
        up = up[up]
    return np.flatnonzero(up[:-1] != n)


def _flat(rows: Iterable[Sequence[str]], n: int, name: str) -> list[str]:
    cells = [cell for row in rows for cell in row]
    if len(cells) != n:
        raise ValueError(f"{name}: {len(cells)} cells for {n} words; give one to each word")
    return cells

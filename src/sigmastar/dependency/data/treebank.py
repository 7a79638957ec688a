"""Dependency treebanks: sentences whose every word has a head.

Columns are flat over all sentences; sentence i is `sentence_offsets[i]:sentence_offsets[i + 1]` of
each. Heads are counted as CoNLL-U counts them: from 1 within the sentence, 0 is the root, and -1
stands where none is given. Lines that hold no word (comments, multiword tokens, empty nodes) are kept
with their places, so that a file can be written back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sigmastar.core.arrays import Indices, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.notebook import Shown

Word = str | tuple[str, ...]
NO_HEAD = -1
_COLUMNS = ("form", "upos", "xpos", "deprel", "lemma", "feats", "deps", "misc")


@dataclass(frozen=True, eq=False)
class DependencyTreebank(Shown):
    """Words in columns. The rarer columns are None where every cell of them is `_`.

    Parameters
    ----------
    form, upos, xpos, deprel : list of str
        One cell per word, over all sentences.
    head : Int32s
        Heads within sentences, counted from 1; 0 is the root, -1 stands where none is given.
    sentence_offsets : Int64s
        Where sentences begin among the words, and the end of the last.
    lemma, feats, deps, misc : list of str or None
        The rarer columns.
    other_lines : tuple of pairs
        Lines without a word, each with the number of words and sentence ends before it.

    Examples
    --------
    >>> treebank = DependencyTreebank.of([["a", "dog"], ["no"]], [["DET", "NOUN"], ["X"]], [[2, 0], [0]])
    >>> len(treebank), treebank[0].form, treebank[1:].head.tolist()
    (2, ['a', 'dog'], [0])
    """

    form: list[str]
    upos: list[str]
    xpos: list[str]
    head: Int32s
    deprel: list[str]
    sentence_offsets: Int64s
    lemma: list[str] | None = None
    feats: list[str] | None = None
    deps: list[str] | None = None
    misc: list[str] | None = None
    other_lines: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        # Compiled code of trained arcs takes every sentence to have a word, and reads beside an empty one.
        if (np.diff(self.sentence_offsets) < 1).any():
            raise InputError("a sentence without words has no tree; leave it out")

    @classmethod
    def of(
        cls,
        forms: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str]],
        heads: Iterable[Sequence[int]] | None = None,
        deprels: Iterable[Sequence[str]] | None = None,
        xpos: Iterable[Sequence[str]] | None = None,
    ) -> DependencyTreebank:
        """From one sequence per sentence.

        Parameters
        ----------
        forms, tags : iterables of sequences of str
            The words, and their tags (`upos`).
        heads : iterable of sequences of int or None
            The heads; None: none is given.
        deprels : iterable of sequences of str or None
            The relations to the heads.
        xpos : iterable of sequences of str or None
            The finer tags; None: those of `tags`.

        Returns
        -------
        DependencyTreebank
            All sentences.

        Examples
        --------
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

    @classmethod
    def joined(cls, parts: Sequence[DependencyTreebank]) -> DependencyTreebank:
        """One treebank after the other, without the lines that hold no word."""
        starts = np.cumsum([0, *(part.n_words for part in parts)])
        ends = [part.sentence_offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        cells: dict[str, Any] = {name: _joined_column(name, parts) for name in _COLUMNS}
        return cls(
            **cells,
            head=np.concatenate([np.zeros(0, dtype=np.int32), *(part.head for part in parts)]),
            sentence_offsets=np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
        )

    def __len__(self) -> int:
        return len(self.sentence_offsets) - 1

    def __getitem__(self, sentences: int | slice | Sequence[int] | Indices) -> DependencyTreebank:
        """The treebank of one sentence, or of several."""
        if isinstance(sentences, (int, np.integer)):
            if not -len(self) <= sentences < len(self):
                raise IndexError(f"there is no sentence {sentences} among {len(self)}")
            return self.select([int(sentences) % len(self)])
        return self.select(np.arange(len(self))[sentences])

    @property
    def n_words(self) -> int:
        return int(self.sentence_offsets[-1])

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.sentence_offsets)

    @property
    def has_heads(self) -> bool:
        return bool((self.head >= 0).all())

    def with_heads(self, head: Int32s, deprel: list[str] | None = None) -> DependencyTreebank:
        """The same words under other heads, and other relations where they are given."""
        return replace(self, head=head, deprel=self.deprel if deprel is None else deprel)

    def select(self, sentences: Sequence[int] | Indices) -> DependencyTreebank:
        """The sentences at these places, in that order, without the lines that hold no word."""
        chosen = np.asarray(sentences, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        words = np.arange(offsets[-1]) + np.repeat(self.sentence_offsets[chosen] - offsets[:-1], lengths)
        at = words.tolist()
        cells: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else [column[i] for i in at]
            for name in _COLUMNS
        }
        return replace(self, **cells, head=self.head[words], sentence_offsets=offsets, other_lines=())


def word_places(offsets: Int64s) -> Int64s:
    """For each word its place in its sentence, counted from 1."""
    lengths = np.diff(offsets)
    return np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], lengths)


def multiword_tokens(treebank: DependencyTreebank) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tokens that stand for several words (ID `3-4`), each with its words."""
    lines = np.arange(treebank.n_words) + np.repeat(np.arange(len(treebank)), treebank.lengths)
    for slot, line in treebank.other_lines:
        numbers, _, rest = line.partition("\t")
        first, _, last = numbers.partition("-")
        if first.isdecimal() and last.isdecimal():
            at = int(np.searchsorted(lines, slot))
            yield rest.partition("\t")[0], tuple(treebank.form[at : at + int(last) - int(first) + 1])


def words_without_root(head: Int32s, offsets: Int64s) -> Indices:
    """Words from which the chain of heads never ends: those of cycles, and below cycles.

    Chains are doubled, so a treebank whose longest sentence has L words takes log2(L) steps.
    """
    n = int(offsets[-1])
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    up = np.append(np.where(head <= 0, n, starts + head - 1), n)  # n is the root of all sentences
    for _ in range(max(int(np.diff(offsets).max(initial=1)) - 1, 1).bit_length() + 1):
        up = up[up]
    return np.flatnonzero(up[:-1] != n)


def require_lengths(lengths: Int64s, most: int) -> None:
    """An error that names the first sentence of more words."""
    for number in np.flatnonzero(lengths > most)[:1].tolist():
        raise InputError(
            f"sentence {number + 1} has {lengths[number]} words, and time grows with the cube of "
            f"their number: at most {most}; cut it where sentences end"
        )


def _joined_column(name: str, parts: Sequence[DependencyTreebank]) -> list[str] | None:
    columns = [getattr(part, name) for part in parts]
    if parts and all(column is None for column in columns):
        return None
    blanks = (["_"] * part.n_words for part in parts)
    return [cell for column, blank in zip(columns, blanks, strict=True) for cell in column or blank]


def _flat(rows: Iterable[Sequence[str]], n: int, name: str) -> list[str]:
    cells = [cell for row in rows for cell in row]
    if len(cells) != n:
        raise ValueError(f"{name}: {len(cells)} cells for {n} words; give one to each word")
    return cells


def as_treebank(X: Any, y: Sequence[Sequence[int]] | None = None) -> DependencyTreebank:
    """Sentences, and heads where there are any, as a treebank.

    Parameters
    ----------
    X : sentences
        A treebank, several treebanks, or sequences of words, each a tag, `(form, tag)` or `(form, upos,
        xpos)`.
    y : sequence of sequences of int or None
        The heads, counted from 1; 0 is the root.

    Returns
    -------
    DependencyTreebank
        All sentences.
    """
    treebank = X if isinstance(X, DependencyTreebank) else _gathered(list(X))
    if y is None:
        return treebank
    rows = [list(heads) for heads in y]
    _require_heads(treebank.lengths.tolist(), rows)
    treebank = treebank.with_heads(np.array([head for row in rows for head in row], dtype=np.int32))
    for word in words_without_root(treebank.head, treebank.sentence_offsets)[:1].tolist():
        number = int(np.searchsorted(treebank.sentence_offsets, word, side="right"))
        raise InputError(f"sentence {number}: the heads form a cycle")
    return treebank


def _gathered(sentences: list[Any]) -> DependencyTreebank:
    if sentences and all(isinstance(part, DependencyTreebank) for part in sentences):
        return DependencyTreebank.joined(sentences)
    if sentences and all(hasattr(part, "nodes") and hasattr(part, "root") for part in sentences):
        return _of_graphs(sentences)
    words = [
        [(word,) if isinstance(word, str) else tuple(word) for word in sentence] for sentence in sentences
    ]
    if any(not 1 <= len(word) <= 3 for sentence in words for word in sentence):
        raise InputError("a word is a tag, (form, tag) or (form, upos, xpos)")
    return DependencyTreebank.of(
        [[word[0] for word in sentence] for sentence in words],
        [[word[min(1, len(word) - 1)] for word in sentence] for sentence in words],
        xpos=[[word[-1] for word in sentence] for sentence in words],
    )


def _of_graphs(graphs: list[Any]) -> DependencyTreebank:
    """Sentences of NLTK: `DependencyGraph`s, whose nodes by number are mappings; number 0 is no word."""
    rows = [[graph.nodes[at] for at in sorted(graph.nodes) if at] for graph in graphs]
    words, upos, xpos, labels = (
        [["_" if node[name] is None else str(node[name]) for node in row] for row in rows]
        for name in ("word", "ctag", "tag", "rel")
    )
    heads = [[int(node["head"]) for node in row] for row in rows]
    return DependencyTreebank.of(words, upos, heads, labels, xpos)


def _require_heads(lengths: list[int], y: Sequence[Sequence[int]]) -> None:
    if len(lengths) != len(y):
        raise InputError(f"{len(lengths)} sentences, but heads of {len(y)}")
    for number, (length, heads) in enumerate(zip(lengths, y, strict=True), 1):
        if len(heads) != length or not all(0 <= head <= length for head in heads):
            raise InputError(f"sentence {number}: {length} words need as many heads, from 0 to {length}")

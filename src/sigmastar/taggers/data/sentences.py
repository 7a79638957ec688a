"""Tagged sentences: words in a row, and a tag for each.

Columns are flat over all sentences; sentence i is `offsets[i]:offsets[i + 1]` of each. Beside the words other
columns may be given (the part of speech of a word whose chunk is predicted); a word and what is observed with
it make a symbol. Symbols are coded by their place among the distinct ones of the corpus (its types), so that
whatever depends on a symbol alone is done once per type and not once per token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.habits import no_words
from sigmastar.core.notebook import Shown
from sigmastar.taggers.data.feature_templates import SEPARATOR

Token = str | tuple[str, ...] | Mapping[str, Any]
WORD = "word"
"""The key of the word in a token that is given by its features."""


@dataclass(frozen=True, eq=False)
class TaggedSentences(Shown):
    """Words in a row, with their tags where these are known, and other columns that are given.

    Parameters
    ----------
    words : list of str
        The words of all sentences, one after the other.
    tags : list of str or None
        Their tags.
    offsets : array
        Where sentences begin: sentence i is `words[offsets[i]:offsets[i + 1]]`.
    observed : tuple of lists
        Columns that are given beside the words, such as parts of speech where chunks are predicted.
    own : list of tuples of str, or None
        Features of each token beside the built-in ones.
    """

    words: list[str]
    tags: list[str] | None
    offsets: Int64s
    observed: tuple[list[str], ...] = ()
    own: list[tuple[str, ...]] | None = None

    @classmethod
    def of(
        cls, sentences: Iterable[Sequence[Token]], tags: Iterable[Sequence[str]] | None = None
    ) -> TaggedSentences:
        """From one sequence per sentence, of words or of tuples: the word, and what is observed with it.

        Examples
        --------
        >>> TaggedSentences.of([["a", "dog"], ["runs"]], [["D", "N"], ["V"]]).tags
        ['D', 'N', 'V']
        >>> TaggedSentences.of([[("a", "D"), ("dog", "N")]]).observed
        (['D', 'N'],)
        >>> TaggedSentences.of([[{"word": "a", "case": "low", "last": True}]]).own
        [('case=low', 'last')]
        """
        sentences, own = _without_own(sentences)
        rows, observed = _split(sentences)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat_tags = None
        if tags is not None:
            tag_rows = _rows(tags, "tags")
            _require_alike(rows, tag_rows)
            flat_tags = [tag for row in tag_rows for tag in row]
        return cls([word for row in rows for word in row], flat_tags, offsets, observed, own)

    @classmethod
    def of_pairs(cls, sentences: Iterable[Sequence[tuple[str, ...]]]) -> TaggedSentences:
        """From tuples of a word and its tag; what stands between them is observed.

        Examples
        --------
        >>> TaggedSentences.of_pairs([[("a", "D"), ("dog", "N")], [("runs", "V")]]).tags
        ['D', 'N', 'V']
        """
        words, others = _split(sentences)
        offsets = np.append(0, np.cumsum([len(row) for row in words])).astype(np.int64)
        flat = [word for row in words for word in row]
        return cls(flat, others[-1] if others else None, offsets, others[:-1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_words(self) -> int:
        return int(self.offsets[-1])

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    @cached_property
    def symbols(self) -> list[str]:
        """Words, with what is observed behind them."""
        if not self.observed:
            return self.words
        return [SEPARATOR.join(cells) for cells in zip(self.words, *self.observed, strict=True)]

    @cached_property
    def types(self) -> list[str]:
        """The distinct symbols, in the order in which they occur."""
        return list(dict.fromkeys(self.symbols))

    @cached_property
    def type_codes(self) -> Int32s:
        """Of each symbol, its place in `types`."""
        places = {word: code for code, word in enumerate(self.types)}
        return np.fromiter(map(places.__getitem__, self.symbols), np.int32, count=len(self.words))

    def tag_codes(self, tags: Sequence[str]) -> Int32s:
        """Of each word, the place of its tag among `tags`; -1 for tags that are not there."""
        places = {tag: code for code, tag in enumerate(tags)}
        return np.fromiter((places.get(tag, -1) for tag in self.tags or ()), np.int32)

    def select(self, sentences: Sequence[int] | Array) -> TaggedSentences:
        """The sentences at these places, in that order."""
        chosen = np.asarray(sentences, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        at = (np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)).tolist()
        tags = None if self.tags is None else [self.tags[i] for i in at]
        observed = tuple([column[i] for i in at] for column in self.observed)
        own = None if self.own is None else [self.own[i] for i in at]
        return TaggedSentences([self.words[i] for i in at], tags, offsets, observed, own)

    def cut(self, column: Sequence[str]) -> list[list[str]]:
        """A flat column as one list per sentence."""
        ends = self.offsets.tolist()
        return [list(column[low:high]) for low, high in pairwise(ends)]


Sentences = Sequence[Sequence[Token]] | TaggedSentences
Tags = Sequence[Sequence[str]]


def as_sentences(X: Sentences, y: Tags | None = None) -> TaggedSentences:
    """Sentences, with tags where y gives any."""
    if isinstance(X, TaggedSentences):
        if y is None:
            return X
        return replace(TaggedSentences.of(X.cut(X.words), y), observed=X.observed, own=X.own)
    return TaggedSentences.of(X, y)


def as_tagged(X: Sentences, y: Tags | None = None) -> TaggedSentences:
    """Sentences with tags: those of y, those that X has, or else the last of each tuple."""
    if y is not None or isinstance(X, TaggedSentences):
        return as_sentences(X, y)
    first = next((token for sentence in X for token in sentence), "")
    return TaggedSentences.of_pairs(X) if isinstance(first, tuple) else TaggedSentences.of(X)  # type: ignore[arg-type]


def require_tagged(sentences: TaggedSentences) -> TaggedSentences:
    """Refuse sentences without tags, or none at all."""
    if not sentences.n_words:
        raise InputError("there are no words to learn from")
    if sentences.tags is None:
        raise InputError("the words have no tags; give those, as y or as a column of the file")
    return sentences


def _without_own(
    sentences: Iterable[Sequence[Token]],
) -> tuple[list[Sequence[Token]], list[tuple[str, ...]] | None]:
    """Sentences of words, and the features of each token where tokens are mappings."""
    if isinstance(sentences, str):
        raise InputError(no_words(sentences))
    given = [sentence if isinstance(sentence, str) else list(sentence) for sentence in sentences]
    first = next((token for sentence in given for token in sentence), "")
    if not isinstance(first, Mapping):
        return given, None  # type: ignore[return-value]  # what is no list of words is refused later
    words: list[Sequence[Token]] = []
    own = []
    for number, sentence in enumerate(given, 1):
        for token in sentence:
            if not isinstance(token, Mapping) or not isinstance(token.get(WORD), str):
                raise InputError(
                    f"sentence {number}: expected tokens of features with the word under {WORD!r}, as in "
                    f"{{'word': 'dog', 'ends': 'og'}}; found {token!r}"
                )
            others = (entry for entry in token.items() if entry[0] != WORD)
            own.append(tuple(name for key, value in others for name in _named(key, value)))
        words.append([token[WORD] for token in sentence])  # type: ignore[index, call-overload]
    return words, own


def _named(key: str, value: Any) -> Iterable[str]:
    """The features of one entry: `key=value` of text, the key of what is true, all of a collection."""
    if isinstance(value, str):
        return (f"{key}={value}",)
    if value is None or isinstance(value, (bool, np.bool_)) or value in (0, 1):
        return (str(key),) if value else ()
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in value):
        return (f"{key}={name}" for name in value)
    raise InputError(f"feature {key!r} is {value!r}; give text, true or false, or the bin of a number")


def _split(sentences: Iterable[Sequence[Token]]) -> tuple[list[list[str]], tuple[list[str], ...]]:
    """Words, one list per sentence, and what is observed, one flat list per column."""
    given = [sentence if isinstance(sentence, str) else list(sentence) for sentence in sentences]
    first = next((token for sentence in given for token in sentence), "")
    if not isinstance(first, tuple):
        return _rows(given, "words"), ()  # type: ignore[arg-type]  # refuses what is no string
    for number, sentence in enumerate(given, 1):
        for token in sentence:
            if not isinstance(token, tuple) or len(token) != len(first) or len(token) < 2:
                raise InputError(
                    f"sentence {number}: expected tuples of a word and {max(len(first) - 1, 1)} observed "
                    f"strings, as at the first word; found {token!r}"
                )
    columns = ([[token[k] for token in sentence] for sentence in given] for k in range(len(first)))  # type: ignore[index]
    words, *others = (_rows(column, "words") for column in columns)
    return words, tuple([cell for row in column for cell in row] for column in others)


def _rows(sequences: Iterable[Sequence[str]], name: str) -> list[list[str]]:
    rows = []
    for number, sequence in enumerate(sequences, 1):
        if isinstance(sequence, str):
            of_tags = f"{name} must be a list of strings, not one string"
            raise InputError(f"sentence {number}: {no_words(sequence) if name == 'words' else of_tags}")
        rows.append(list(sequence))
        for symbol in rows[-1]:
            if not isinstance(symbol, str):
                hint = _instead(symbol, name)
                raise InputError(f"sentence {number}: {name} must be strings, not {symbol!r}{hint}")
    return rows


def _instead(symbol: Any, name: str) -> str:
    """What to give in place of numbers of tags, and of features in a list, as CRFsuite has them."""
    if name == "tags" and isinstance(symbol, (int, np.integer)):
        return "; give names, as in [[names[tag] for tag in row] for row in y]"
    if name == "words" and isinstance(symbol, list) and all(isinstance(each, str) for each in symbol):
        return "; features stand beside the word, as in {'word': 'dog', 'own': ['ends=og']}"
    return ""


def _require_alike(words: list[list[str]], tags: list[list[str]]) -> None:
    if len(words) != len(tags):
        raise InputError(f"{len(words)} sentences, but tags of {len(tags)}")
    for number, (row, tag_row) in enumerate(zip(words, tags, strict=True), 1):
        if len(row) != len(tag_row):
            raise InputError(f"sentence {number}: {len(row)} words, but {len(tag_row)} tags")

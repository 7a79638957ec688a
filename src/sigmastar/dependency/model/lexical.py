"""Lexicalised deterministic grammars of section 5.2 of Luque et al. (2012): LEX, LEX+F, LEX+FCP.

    P(a | h, d, s) = PA(tag_a | h, d, s) PB(word_a | tag_a, h, d, s)
    PA backs off {word_h, d, s} -> {tag_h, d, s}
    PB backs off {tag_a, word_h, d, s} -> {tag_a, tag_h, d, s} -> {tag_a}
    P(x | fine) = l P_ml(x | fine) + (1 - l) P(x | coarse),   l = n / (n + 5 u)          (Collins 1999)

with n events seen after the fine context, u different ones. The deterministic state s is the class of the
last modifier: one class; first and rest; first, conjunction, punctuation, other. Weights and stops go into
the parsing kernel beside hidden-state automata: their product is the log-linear combination.

A context is one whole number, an event after it another; counts lie in sorted tables of those numbers, and
all arcs of a sentence are looked up at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.sequences import LEFT, RIGHT, ROOT, Codes, ModifierSequences
from sigmastar.dependency.data.treebank import DependencyTreebank

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

STATES = ("lex", "lex+f", "lex+fcp")
CONJUNCTIONS = frozenset({"CC", "CCONJ"})
PUNCTUATION = frozenset({",", ".", ":", "``", "''", "PUNCT", "-LRB-", "-RRB-"})
_N_CLASSES = {"lex": 1, "lex+f": 2, "lex+fcp": 4}
_UNSEEN = 1e-6


class Counts:
    """How often each of some numbers was seen."""

    def __init__(self, keys: Integers, counts: Integers) -> None:
        self.keys, inverse = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(inverse, counts, minlength=len(self.keys))

    def __getitem__(self, keys: Integers) -> Array:
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(np.shape(keys))
        found: Array = np.where(self.keys[at] == keys, self.counts[at], 0.0)
        return found


class BackOff:
    """Counts of events after contexts, from fine to coarse; events are numbers below `n_events`."""

    def __init__(
        self, contexts: tuple[Integers, ...], events: Integers, counts: Integers, n_events: int
    ) -> None:
        self.n_events = n_events
        pairs = [context * n_events + events for context in contexts]
        self.pairs = [Counts(keys, counts) for keys in pairs]
        self.totals = [Counts(keys, counts) for keys in contexts]
        self.kinds = [Counts(p.keys // n_events, np.ones(len(p.keys), dtype=np.int64)) for p in self.pairs]

    def probability(self, contexts: tuple[Integers, ...], events: Integers) -> Array:
        """From the coarsest context to the finest; contexts and events are broadcast together."""
        value: Array = np.full(np.broadcast_shapes(events.shape, *(c.shape for c in contexts)), _UNSEEN)
        for level in reversed(range(len(contexts))):
            context = contexts[level]
            n = self.totals[level][context]
            share = n / np.maximum(n + 5.0 * self.kinds[level][context], 1.0)
            hits = self.pairs[level][context * self.n_events + events]
            value = share * hits / np.maximum(n, 1.0) + (1.0 - share) * value
        return value


@dataclass(frozen=True, eq=False)
class LexicalGrammar:
    """PA and PB, as the counts of (head form, head tag, direction, class, tag, form) of all modifiers.

    Forms are words, or tags for words that are not known. The end of a sequence is a tag of its own.
    """

    states: str
    words: Alphabet  # known ones
    tags: Alphabet  # with the root
    events: NDArray[np.int32]
    counts: Integers

    def __post_init__(self) -> None:
        if self.states not in STATES:
            raise ValueError(f"states={self.states!r} must be one of {', '.join(map(repr, STATES))}")

    @property
    def n_classes(self) -> int:
        return _N_CLASSES[self.states]

    @property
    def stop(self) -> int:
        return len(self.tags)

    @property
    def _n_tags(self) -> int:
        return len(self.tags) + 2  # the end of sequences, and unknown tags

    @property
    def _n_forms(self) -> int:
        return len(self.words) + self._n_tags

    @cached_property
    def tag_model(self) -> BackOff:
        heads, tags = self._contexts(*self.events.T[:4].astype(np.int64)), self.events[:, 4].astype(np.int64)
        return BackOff(heads, tags, self.counts, self._n_tags)

    @cached_property
    def word_model(self) -> BackOff:
        moves = self.events[:, 4] < self.stop
        *heads, tags, forms = self.events[moves].T.astype(np.int64)
        contexts = self._word_contexts(self._contexts(*heads), tags)
        return BackOff(contexts, forms, self.counts[moves], self._n_forms)

    def _contexts(
        self, forms: Integers, tags: Integers, directions: Integers, classes: Integers
    ) -> tuple[Integers, Integers]:
        place = 4 * directions + classes
        return 8 * (forms * self._n_tags + tags) + place, 8 * tags + place

    def _word_contexts(
        self, heads: tuple[Integers, Integers], tags: Integers
    ) -> tuple[Integers, Integers, Integers]:
        return heads[0] * self._n_tags + tags, heads[1] * self._n_tags + tags, tags

    def class_of(self, tag: str) -> int:
        if self.states == "lex":
            return 0
        if self.states == "lex+f":
            return 1
        return 1 if tag in CONJUNCTIONS else 2 if tag in PUNCTUATION else 3

    def encode(self, words: list[str], tags: list[str]) -> tuple[Integers, Integers]:
        """The form and the tag of each word."""
        known, names, unknown = self.words.codes, self.tags.codes, len(self.tags) + 1
        kinds = np.array([names.get(tag, unknown) for tag in tags], dtype=np.int64)
        found = np.array([known.get(word, -1) for word in words], dtype=np.int64)
        return np.where(found < 0, len(known) + kinds, found), kinds

    def classes(self, tags: list[str]) -> Codes:
        table = {tag: self.class_of(tag) for tag in set(tags)}
        return np.array([table[tag] for tag in tags], dtype=np.int32)

    def weights(self, words: list[str], tags: list[str]) -> tuple[Array, Array, Codes]:
        """Weights [class, head, modifier], stops [class, direction, head] and classes of one sentence."""
        n = len(words)
        forms, kinds = self.encode(["", *words], [ROOT, *tags])
        forms[0] = len(self.words) + kinds[0]
        place, state = np.arange(n + 1), np.arange(self.n_classes)[:, None, None]
        direction = (place > place[:, None]).astype(np.int64)
        heads = self._contexts(forms[:, None], kinds[:, None], direction, state)
        weights = self.tag_model.probability(heads, kinds)
        weights *= self.word_model.probability(self._word_contexts(heads, kinds), forms)
        weights[:, :, 0] = weights[:, place, place] = 0.0
        ends = self._contexts(forms, kinds, np.array([LEFT, RIGHT])[:, None], state)
        stops = self.tag_model.probability(ends, np.array(self.stop))
        stops[:, LEFT, 0] = 1.0
        return weights, stops, np.append(0, self.classes(tags)).astype(np.int32)

    def multiplied(
        self, treebank: DependencyTreebank, low: int, high: int, weights: Array
    ) -> tuple[Array, Array]:
        """Weights of arcs by class for the sentences from low to high, and the stops of all their positions.

        `weights` holds what arcs weigh beside, flat, each sentence as [head, modifier]; what weighs nothing
        stays so. The result lies flat too, each sentence as [class, head, modifier].
        """
        part = slice(*treebank.sentence_offsets[[low, high]])
        lengths = treebank.lengths[low:high]
        forms, kinds = self._with_roots(treebank.form[part], treebank.xpos[part], lengths)
        begins = np.cumsum(lengths + 1) - lengths - 1  # of sentences, among positions
        squares = np.concatenate([[0], np.cumsum((lengths + 1) ** 2)])
        place = np.flatnonzero(weights)
        sentence = np.searchsorted(squares, place, side="right") - 1
        head, word = np.divmod(place - squares[sentence], lengths[sentence] + 1)
        real = (word > 0) & (word != head)
        place, sentence, head, word = place[real], sentence[real], head[real], word[real]
        top, below = begins[sentence] + head, begins[sentence] + word
        state = np.arange(self.n_classes)[:, None]
        heads = self._contexts(forms[top], kinds[top], (word > head).astype(np.int64), state)
        values = self.tag_model.probability(heads, kinds[below])
        values *= self.word_model.probability(self._word_contexts(heads, kinds[below]), forms[below])
        result, size = np.zeros(self.n_classes * len(weights)), (lengths[sentence] + 1) ** 2
        start = squares[sentence] * (self.n_classes - 1) + place
        result[start + state * size] = values * weights[place]
        ends = self._contexts(forms, kinds, np.array([LEFT, RIGHT])[:, None], state[:, None])
        stops = self.tag_model.probability(ends, np.array(self.stop))
        stops[:, LEFT, begins] = 1.0
        return result, stops

    def _with_roots(self, words: list[str], tags: list[str], lengths: Integers) -> tuple[Integers, Integers]:
        """Forms and tags of all positions, each sentence with its root first."""
        forms, kinds = self.encode(words, tags)
        root, at = self.tags.codes[ROOT], np.cumsum(lengths) - lengths
        return np.insert(forms, at, len(self.words) + root), np.insert(kinds, at, root)

    def log_probability(self, treebank: DependencyTreebank) -> Array:
        """log P(tree and sentence)."""
        sequence, rows = self.rows(treebank)
        columns = rows.T.astype(np.int64)
        heads, tags, moves = self._contexts(*columns[:4]), columns[4], columns[4] < self.stop
        logs = np.log(self.tag_model.probability(heads, tags))
        inner = tuple(context[moves] for context in self._word_contexts(heads, tags))
        logs[moves] += np.log(self.word_model.probability(inner, columns[5][moves]))
        owner = np.append(np.repeat(np.arange(len(treebank)), 2 * treebank.lengths), np.arange(len(treebank)))
        return np.bincount(owner[sequence], logs, minlength=len(treebank)).astype(np.float64)

    def rows(self, treebank: DependencyTreebank) -> tuple[Integers, NDArray[np.int32]]:
        """For every modifier and every end its sequence, and what `events` holds of it."""
        forms, kinds = self.encode(treebank.form, treebank.xpos)
        root = self.tags.codes[ROOT]
        forms, kinds = np.append(forms, len(self.words) + root), np.append(kinds, root)
        classes, n = self.classes(treebank.xpos), treebank.n_words
        found = ModifierSequences.of(
            treebank.head, treebank.sentence_offsets, kinds[:-1].astype(np.int32), len(self.tags)
        )
        sequence = np.arange(len(found))
        lengths = np.diff(found.offsets)
        # A place for each modifier and one for the end, sequence by sequence.
        owner = np.repeat(sequence, lengths + 1)
        last = np.cumsum(lengths + 1) - 1
        word = np.insert(found.words, found.offsets[1:], -1)
        state = np.zeros(len(word), dtype=np.int64)
        state[1:] = np.where(word[:-1] >= 0, classes[word[:-1]], 0)
        top = np.where(owner < 2 * n, owner // 2, n)
        direction = np.where(owner < 2 * n, owner % 2, RIGHT)
        tag, form = kinds[word], forms[word]
        tag[last], form[last] = self.stop, 0
        columns = [forms[top], kinds[top], direction, state, tag, form]
        return owner, np.stack(columns, axis=1).astype(np.int32)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        header = {"states": self.states, "words": list(self.words), "tags": list(self.tags)}
        return {"events": self.events, "counts": self.counts}, header

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> LexicalGrammar:
        words, tags = Alphabet(header["words"]), Alphabet(header["tags"])
        return cls(header["states"], words, tags, arrays["events"], arrays["counts"])

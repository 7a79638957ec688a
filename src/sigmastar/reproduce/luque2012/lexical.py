"""Figure 2 of Luque et al. (2012): lexicalized deterministic grammars, alone and with hidden states.

LEX, LEX+F and LEX+FCP of section 5.2 count words and tags:

    P(a | h, d, s) = PA(tag_a | h, d, s) PB(word_a | tag_a, h, d, s)
    PA backs off {word_h, d, s} -> {tag_h, d, s}
    PB backs off {tag_a, word_h, d, s} -> {tag_a, tag_h, d, s} -> {tag_a}
    P(x | fine) = l P_ml(x | fine) + (1 - l) P(x | coarse),   l = n / (n + 5 u)          (Collins 1999)

with n events seen after the fine context, u different ones. The deterministic state s is the class of the
last modifier: one class; first and rest; first, conjunction, punctuation, other. Multiplied with
hidden-state automata they are the log-linear combination of the paper: an automaton for every word of a
sentence, whose states are pairs of a class and a hidden state.

A context is one whole number, an event after it another; counts lie in sorted tables of those numbers, and
all arcs of a sentence are looked up at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.dependency.data.sequences import LEFT, RIGHT, ROOT, ModifierSequences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.eisner import best_tree
from sigmastar.dependency.kernels.inside_outside import Automata, sentence_marginals
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import DependencyParser

Scores = dict[tuple[str, int | None], tuple[float, ...]]
"""By grammar and number of hidden states (None: none): a number per sentence, whose mean is the UAS."""

STATES = ("lex", "lex+f", "lex+fcp")
LEAST_COUNT = 3  # of a word to be known by itself
CONJUNCTIONS = frozenset({"CC", "CCONJ"})
PUNCTUATION = frozenset({",", ".", ":", "``", "''", "PUNCT", "-LRB-", "-RRB-"})
_N_CLASSES = {"lex": 1, "lex+f": 2, "lex+fcp": 4}
_UNSEEN = 1e-6


class Counts:
    """How often each of some numbers was seen."""

    def __init__(self, keys: Int64s, counts: Int64s) -> None:
        self.keys, inverse = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(inverse, counts, minlength=len(self.keys))

    def __getitem__(self, keys: Int64s) -> Floats:
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(np.shape(keys))
        found: Floats = np.where(self.keys[at] == keys, self.counts[at], 0.0)
        return found


class BackOff:
    """Counts of events after contexts, from fine to coarse; events are numbers below `n_events`."""

    def __init__(self, contexts: tuple[Int64s, ...], events: Int64s, counts: Int64s, n_events: int) -> None:
        self.n_events = n_events
        pairs = [context * n_events + events for context in contexts]
        self.pairs = [Counts(keys, counts) for keys in pairs]
        self.totals = [Counts(keys, counts) for keys in contexts]
        self.kinds = [Counts(p.keys // n_events, np.ones(len(p.keys), dtype=np.int64)) for p in self.pairs]

    def probability(self, contexts: tuple[Int64s, ...], events: Int64s) -> Floats:
        """From the coarsest context to the finest; contexts and events are broadcast together."""
        value: Floats = np.full(np.broadcast_shapes(events.shape, *(c.shape for c in contexts)), _UNSEEN)
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
    events: Int32s
    counts: Int64s

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
        self, forms: Int64s, tags: Int64s, directions: Int64s, classes: Int64s
    ) -> tuple[Int64s, Int64s]:
        place = 4 * directions + classes
        return 8 * (forms * self._n_tags + tags) + place, 8 * tags + place

    def _word_contexts(self, heads: tuple[Int64s, Int64s], tags: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        return heads[0] * self._n_tags + tags, heads[1] * self._n_tags + tags, tags

    def class_of(self, tag: str) -> int:
        if self.states == "lex":
            return 0
        if self.states == "lex+f":
            return 1
        return 1 if tag in CONJUNCTIONS else 2 if tag in PUNCTUATION else 3

    def encode(self, words: list[str], tags: list[str]) -> tuple[Int64s, Int64s]:
        """The form and the tag of each word."""
        known, names, unknown = self.words.codes, self.tags.codes, len(self.tags) + 1
        kinds = np.array([names.get(tag, unknown) for tag in tags], dtype=np.int64)
        found = np.array([known.get(word, -1) for word in words], dtype=np.int64)
        return np.where(found < 0, len(known) + kinds, found), kinds

    def classes(self, tags: list[str]) -> Int32s:
        table = {tag: self.class_of(tag) for tag in set(tags)}
        return np.array([table[tag] for tag in tags], dtype=np.int32)

    def weights(self, words: list[str], tags: list[str]) -> tuple[Floats, Floats, Int32s]:
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

    def rows(self, treebank: DependencyTreebank) -> Int32s:
        """What `events` holds of every modifier and every end."""
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
        return np.stack(columns, axis=1).astype(np.int32)


def learn_lexical(
    treebank: DependencyTreebank, states: str = "lex+fcp", least_count: int = LEAST_COUNT
) -> LexicalGrammar:
    """Count the modifiers of every head; words rarer than `least_count` are known by their tags."""
    words = Alphabet(word for word, n in Counter(treebank.form).items() if n >= least_count)
    tags = Alphabet([ROOT, *sorted(set(treebank.xpos) - {ROOT})])
    nothing = np.zeros((0, 6), dtype=np.int32)
    empty = LexicalGrammar(states, words, tags, nothing, np.zeros(0, dtype=np.int64))
    events, counts = np.unique(empty.rows(treebank), axis=0, return_counts=True)
    return LexicalGrammar(states, words, tags, events, counts)


def lexical_scores(
    train: DependencyTreebank,
    dev: DependencyTreebank,
    parser: DependencyParser,
    hidden: Mapping[int, HeadAutomata],
) -> Scores:
    """Hits on dev of every grammar by itself and with every hidden-state model."""
    beside: dict[int | None, HeadAutomata] = {None: HeadAutomata.neutral(parser.alphabet)}
    beside |= {n: automata for n, automata in hidden.items()}  # noqa: C416, for mypy: keys of another type
    scores: Scores = {}
    for states in STATES:
        grammar = learn_lexical(train, states)
        right: dict[int | None, list[int]] = {n: [] for n in beside}
        for number, (low, high) in enumerate(pairwise(dev.sentence_offsets.tolist())):
            one = dev.select([number])
            tables = grammar.weights(one.form, one.xpos)
            for n, automata in beside.items():
                heads = parse_sentence(parser, automata, one, *tables)
                right[n].append(int((heads == dev.head[low:high]).sum()))
        share = len(dev) / dev.n_words
        scores |= {(grammar.states, n): tuple(share * hit for hit in hits) for n, hits in right.items()}
    return scores


def parse_sentence(
    parser: DependencyParser,
    automata: HeadAutomata,
    sentence: DependencyTreebank,
    weights: Floats,
    stops: Floats,
    classes: Int32s,
) -> Int32s:
    """Heads by the product of automata and of a lexicalized grammar; -1 where it has no weight."""
    codes = parser.vocabulary.codes(sentence)
    known = np.append(len(parser.alphabet), codes).astype(np.int32)
    both = product_automata(automata.arrays, known, weights, stops, classes)
    n, prior = len(codes), parser.prior
    places = np.append(n, np.arange(n)).astype(np.int32)
    scales = np.append(1.0, prior.scales[codes])
    sign, _, marginals = sentence_marginals(places, both, np.ones((n + 1, n + 1)), scales)
    return best_tree(marginals, prior.single_root) if sign > 0 else np.full(n, -1, dtype=np.int32)


def product_automata(
    automata: Automata, codes: Int32s, weights: Floats, stops: Floats, classes: Int32s
) -> Automata:
    """Automata whose symbols are the words of one sentence, and whose states are pairs of class and state.

    `codes` are the symbols of the root and the words; `weights` are [class, head, modifier], `stops` [class,
    direction, head], `classes` of the root and the words.
    """
    n, n_classes, m = len(codes) - 1, len(weights), automata.initial.shape[1]
    head = np.append(np.repeat(np.arange(1, n + 1), 2), 0)
    direction = np.append(np.tile([LEFT, RIGHT], n), RIGHT)
    sorts = 2 * codes[head] + np.where(head > 0, direction, 0)
    initial = np.zeros((2 * n + 1, n_classes, m))
    initial[:, 0] = automata.initial[sorts]
    final = automata.final[sorts][:, None] * stops[:, direction, head].T[:, :, None]
    operators = np.zeros((2 * n + 1, n, n_classes, m, n_classes, m))
    for word in range(1, n + 1):
        moves = automata.operators[sorts, codes[word]]
        weighed = weights[:, head, word].T[:, :, None, None] * moves[:, None]
        operators[:, word - 1, :, :, classes[word], :] = weighed
    size = n_classes * m
    return Automata(
        np.full(2 * n + 1, size, dtype=np.int32),
        initial.reshape(-1, size),
        final.reshape(-1, size),
        operators.reshape(2 * n + 1, n, size, size),
    )

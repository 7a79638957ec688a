"""Lexicalised deterministic grammars of section 5.2 of Luque et al. (2012): LEX, LEX+F, LEX+FCP.

    P(a | h, d, s) = PA(tag_a | h, d, s) PB(word_a | tag_a, h, d, s)
    PA backs off {word_h, d, s} -> {tag_h, d, s}
    PB backs off {tag_a, word_h, d, s} -> {tag_a, tag_h, d, s} -> {tag_a}
    P(x | fine) = l P_ml(x | fine) + (1 - l) P(x | coarse),   l = n / (n + 5 u)          (Collins 1999)

with n events seen after the fine context, u different ones. The deterministic state s is the class of the
last modifier: one class; first and rest; first, conjunction, punctuation, other. Weights and stops go into
the parsing kernel beside hidden-state automata: their product is the log-linear combination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.structures.dependencies import DependencyTreebank
from sigmastar.structures.heads import LEFT, RIGHT, ROOT

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Event = tuple[Hashable, ...]

STOP = "\0stop"
STATES = ("lex", "lex+f", "lex+fcp")
CONJUNCTIONS = frozenset({"CC", "CCONJ"})
PUNCTUATION = frozenset({",", ".", ":", "``", "''", "PUNCT", "-LRB-", "-RRB-"})
_UNSEEN = 1e-6


class BackOff:
    """Counts of events after contexts, from fine to coarse."""

    def __init__(self, events: Iterable[tuple[Hashable, tuple[Event, ...]]]) -> None:
        self.pairs: Counter[tuple[Event, Hashable]] = Counter()
        self.totals: Counter[Event] = Counter()
        self.kinds: Counter[Event] = Counter()
        for event, contexts in events:
            for context in contexts:
                self.kinds[context] += (context, event) not in self.pairs
                self.pairs[context, event] += 1
                self.totals[context] += 1

    def probability(self, event: Hashable, contexts: tuple[Event, ...]) -> float:
        """From the coarsest context to the finest."""
        value = _UNSEEN
        for context in reversed(contexts):
            n = self.totals.get(context, 0)
            if n:
                share = n / (n + 5.0 * self.kinds[context])
                value = share * self.pairs.get((context, event), 0) / n + (1.0 - share) * value
        return value


@dataclass(frozen=True, eq=False)
class LexicalGrammar:
    """PA and PB with the classes of modifiers."""

    states: str
    tags: BackOff
    words: BackOff
    known: frozenset[str]

    @property
    def n_classes(self) -> int:
        return {"lex": 1, "lex+f": 2, "lex+fcp": 4}[self.states]

    def class_of(self, tag: str) -> int:
        if self.states == "lex":
            return 0
        if self.states == "lex+f":
            return 1
        return 1 if tag in CONJUNCTIONS else 2 if tag in PUNCTUATION else 3

    def weights(self, words: list[str], tags: list[str]) -> tuple[Array, Array, Codes]:
        """Weights [class, head, modifier], stops [class, direction, head] and classes of one sentence."""
        forms = [ROOT, *(word if word in self.known else tag for word, tag in zip(words, tags, strict=True))]
        kinds, n = [ROOT, *tags], len(words)
        weights = np.zeros((self.n_classes, n + 1, n + 1))
        stops = np.ones((self.n_classes, 2, n + 1))
        for head in range(n + 1):
            for direction in (LEFT, RIGHT):
                if head == 0 and direction == LEFT:
                    continue
                for state in range(self.n_classes):
                    fine = (forms[head], kinds[head], direction, state)
                    stops[state, direction, head] = self.tags.probability(STOP, _tag_contexts(*fine))
                    chances = dict[str, float]()
                    for word in range(head + 1, n + 1) if direction == RIGHT else range(1, head):
                        tag = kinds[word]
                        if tag not in chances:
                            chances[tag] = self.tags.probability(tag, _tag_contexts(*fine))
                        lexical = self.words.probability(forms[word], _word_contexts(tag, *fine))
                        weights[state, head, word] = chances[tag] * lexical
        classes = np.array([0, *(self.class_of(tag) for tag in tags)], dtype=np.int32)
        return weights, stops, classes


def _tag_contexts(word: str, tag: str, direction: int, state: int) -> tuple[Event, ...]:
    return ("w", word, tag, direction, state), ("t", tag, direction, state)


def _word_contexts(tag: str, word: str, head_tag: str, direction: int, state: int) -> tuple[Event, ...]:
    return (tag, "w", word, head_tag, direction, state), (tag, "t", head_tag, direction, state), (tag,)


def learn_lexical(
    treebank: DependencyTreebank, states: str = "lex+fcp", least_count: int = 3
) -> LexicalGrammar:
    """Count the modifiers of every head; words rarer than `least_count` are known by their tags."""
    if states not in STATES:
        raise ValueError(f"states={states!r} must be one of {', '.join(map(repr, STATES))}")
    counts = Counter(treebank.form)
    known = frozenset(word for word, n in counts.items() if n >= least_count)
    empty = LexicalGrammar(states, BackOff([]), BackOff([]), known)
    tag_events, word_events = [], []
    for low, high in pairwise(treebank.sentence_offsets.tolist()):
        tags = [ROOT, *treebank.xpos[low:high]]
        pairs = zip(treebank.form[low:high], tags[1:], strict=True)
        forms = [ROOT, *(word if word in known else tag for word, tag in pairs)]
        heads = treebank.head[low:high].tolist()
        for head, direction, modifiers in _sequences(heads):
            state = 0
            for word in modifiers:
                fine = (forms[head], tags[head], direction, state)
                tag_events.append((tags[word], _tag_contexts(*fine)))
                word_events.append((forms[word], _word_contexts(tags[word], *fine)))
                state = empty.class_of(tags[word])
            tag_events.append((STOP, _tag_contexts(forms[head], tags[head], direction, state)))
    return LexicalGrammar(states, BackOff(tag_events), BackOff(word_events), known)


def _sequences(heads: list[int]) -> list[tuple[int, int, list[int]]]:
    """Head, direction and modifiers outwards, for every head of a sentence."""
    found: list[tuple[int, int, list[int]]] = []
    for head in range(len(heads) + 1):
        mine = [word for word in range(1, len(heads) + 1) if heads[word - 1] == head]
        if head:
            found.append((head, LEFT, [word for word in reversed(mine) if word < head]))
        found.append((head, RIGHT, [word for word in mine if word > head]))
    return found

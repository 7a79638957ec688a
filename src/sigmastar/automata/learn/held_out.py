"""Strings held out to choose by: sizes, ranks, mixing rates, and when to stop.

    many strings        a random tenth of them, 5,000 at most
    few long strings    the last tenth of each, judged by its probability given what stands before it
    neither             nothing is held out; the strings judge themselves, and no score is called held-out

A string that is cut for the sake of its last tenth is learnt from as far as the cut, as if it ended there.
Where so few strings end says nothing about models: of the last tenths the symbols are judged, not the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings, joined
from sigmastar.automata.kernels.values import trie_values
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Flags, Floats, Indices, Int64s
from sigmastar.core.held_out import ENOUGH, SHARE, split, tails
from sigmastar.core.mixture import likelihoods_of, mixture_weights

FEW = 10
"""Fewer strings than this are cut by position, where they are long enough."""
_LONG = 50  # symbols of all ends together that tell models apart


@dataclass(frozen=True, eq=False)
class Held:
    """Strings to choose by, and how many of their first symbols are only given, not judged."""

    strings: Strings
    heads: Int64s  # zero for whole strings
    is_held: bool  # False: they are learnt from as well

    @classmethod
    def whole(cls, strings: Strings) -> Held:
        """Strings apart from those that are learnt from."""
        return cls(strings, np.zeros(len(strings), np.int64), True)

    @property
    def are_whole(self) -> bool:
        """Whether they are strings apart from those that are learnt from."""
        return self.is_held and not self.heads.any()

    @property
    def judged_gaps(self) -> Flags:
        """Of each gap of the strings, whether it lies behind the head; of cut strings ends do not count."""
        gaps = self.strings.lengths + 1
        first = self.strings.offsets[:-1] + np.arange(len(self.strings))
        position = np.arange(self.strings.n_gaps) - np.repeat(first, gaps)
        is_judged = position >= np.repeat(self.heads, gaps)
        if self.heads.any():
            is_judged[self.strings.offsets[1:] + np.arange(len(self.strings))] = False
        return np.asarray(is_judged)

    def and_of(self, strings: Strings, rng: np.random.Generator) -> tuple[Held, Strings]:
        """With strings of a further batch, until there are enough; and those of the batch to learn from."""
        if self.are_whole and len(self.strings) >= ENOUGH:
            return self, strings
        kept, held = hold_out(strings, rng)
        if not held.are_whole:
            return self, strings
        return (Held.whole(joined(self.strings, held.strings)) if self.are_whole else held), kept


def hold_out(strings: Strings, rng: np.random.Generator, share: float = SHARE) -> tuple[Strings, Held]:
    """Strings to learn from, and those to choose by.

    Parameters
    ----------
    strings : Strings
        The corpus.
    rng : Generator
        Source of the random choice.
    share : float
        Share of the strings, or of their lengths, that is held out; with 0 nothing is.

    Returns
    -------
    tuple of Strings and Held
        Where nothing can be held out, both hold all strings.
    """
    held, kept = hold_apart(strings, rng, share)
    return kept(), held


def hold_apart(
    strings: Strings, rng: np.random.Generator, share: float = SHARE
) -> tuple[Held, Callable[[], Strings]]:
    """The strings to choose by, and what copies those to learn from, for learners that seldom read them."""
    if len(strings) < FEW and share > 0.0:
        found = tails(strings.offsets, share)
        if found is not None and found.lengths.sum() >= _LONG:
            heads = np.where(found.lengths > 0, found.cuts - strings.offsets[:-1], strings.lengths)
            kept = Strings(strings.alphabet, strings.codes[~found.is_held], found.kept_offsets)
            return Held(strings, heads.astype(np.int64), True), lambda: kept
    parts = split(len(strings), rng, share)
    if parts is None:
        return Held(strings, np.zeros(len(strings), np.int64), False), lambda: strings
    return Held.whole(strings.select(parts.held)), lambda: strings.select(parts.kept)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out strings as a trie, with how often each step in it is judged."""

    trie: PrefixTrie
    ending: Indices  # the nodes where strings end
    heads: Indices  # the nodes up to which they are given; the root for whole strings
    counts: Floats  # how many judged strings end there
    weights: Floats  # of the steps to all nodes but the first, then of the ends
    n_strings: float  # strings' worth of symbols that are judged
    is_held: bool

    @classmethod
    def of(cls, held: Held) -> HeldOut:
        trie = PrefixTrie.of(held.strings)
        if held.heads.any():
            return cls._of_tails(held, trie)
        ends, through = trie.end_counts(), trie.through_counts()
        ending = np.flatnonzero(ends)
        counts = ends[ending]
        weights = np.concatenate([through[1:], counts])
        return cls(trie, ending, np.zeros_like(ending), counts, weights, float(through[0]), held.is_held)

    @classmethod
    def _of_tails(cls, held: Held, trie: PrefixTrie) -> HeldOut:
        """Each string for itself: they are few, and a step may be judged in one and given in another."""
        through, heads, judged = np.zeros(trie.n_nodes), list[int](), list[bool]()
        for node, length, head in zip(
            trie.string_node.tolist(), held.strings.lengths.tolist(), held.heads.tolist(), strict=True
        ):
            for _ in range(length - head):
                through[node] += 1.0
                node = int(trie.parent[node])
            heads.append(node)
            judged.append(length > head)
        share = through.sum() / max(held.strings.n_symbols, 1)
        weights = np.concatenate([through[1:], np.zeros(len(heads))])
        nodes = trie.string_node.astype(np.intp), np.array(heads, dtype=np.intp)
        counts = np.array(judged, dtype=np.float64)
        return cls(trie, *nodes, counts, weights, float(share * len(held.strings)), held.is_held)

    @property
    def judges_ends(self) -> bool:
        """Whether ends of strings are judged: not those of last tenths."""
        return not self.heads.any()

    def log_probabilities(self, automaton: WeightedAutomaton) -> Floats:
        """Of the distinct held-out strings under a proper automaton, given their heads."""
        ends = np.column_stack([automaton.final, np.ones(automaton.n_states)])
        trie, initial, transitions = self.trie, automaton.initial, automaton.transitions
        mantissas, exponents = trie_values(
            trie.parent, trie.symbol, trie.level_starts, initial, transitions, ends
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(mantissas) + exponents[:, None] * np.log(2.0)
            given = np.where(self.heads > 0, logs[self.heads, 1], 0.0)
            return np.asarray(logs[self.ending, 0 if self.judges_ends else 1] - given)

    def mean_log_probability(self, automaton: WeightedAutomaton) -> float:
        """Log-probability per string under a proper automaton; -inf if a string has none."""
        judged = self.counts > 0
        logs = self.log_probabilities(automaton)[judged]
        return float(self.counts[judged] @ logs / self.n_strings)

    def mixture_weights(self, automata: Sequence[WeightedAutomaton]) -> list[float]:
        """The most likely weights of proper automata that are mixed."""
        logs: Floats = np.array([self.log_probabilities(automaton) for automaton in automata])
        likelihoods, known = likelihoods_of(logs)
        counts = self.counts[known]
        return list(map(float, mixture_weights(likelihoods, counts, strength=float(len(automata)))))

    def score_if_held(self, score: float) -> float | None:
        """A score on these strings, or None where they are no evidence: they were learnt from."""
        return score if self.is_held else None

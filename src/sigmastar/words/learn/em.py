"""EM of word models on a processor: posteriors of a few states per token, counts that back off.

Of the two ideas this is the second: tokens are clustered by two views, counted, shrunk, and climbed from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.progress import Measure, Point, Progress, report, silent
from sigmastar.words.kernels.beams import Chain, Text, count_back, walk
from sigmastar.words.kernels.tokens import count_labels
from sigmastar.words.learn.token_clusters import FirstStates
from sigmastar.words.model.emissions import BackedOffRows, sparse_rows
from sigmastar.words.model.hmm import NOTHING, pieces_of, run
from sigmastar.words.model.smoothing import BackedOff, Discounts, backed_off, fill


class Beam(NamedTuple):
    """States kept per token at most, and the least share of one."""

    most: int
    least: float


NARROW, WIDE = Beam(16, 1e-2), Beam(64, 1e-3)
"""Four states are kept on average, or seven. Rare moves are lost with the former, which is the quicker."""
FIRST = 12  # iterations with the narrow beam, before those with the wide one
TRAINING = Discounts(0.85, 0.85, 1.5, 1.5)
_GRIDS = {
    "moves": (0.05, 0.15, 0.3, 0.5, 0.85, 1.5),
    "words": (0.1, 0.2, 0.3, 0.5, 0.7, 0.85),
    "group_words": (0.3, 0.5, 0.7, 0.85, 0.95),
    "group_moves": (0.1, 0.5, 0.85, 1.5),
}
_LITTLE = 1e-4  # nats per token: a gain that is not worth going on for
_ENOUGH = 60_000  # held-out tokens that discounts are chosen on


@dataclass(frozen=True, eq=False)
class Smoother:
    """What is needed to make a model of counts: groups of states, and how frequent words are."""

    groups: Int32s
    unigram: Floats

    @property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    def chain(self, counts: Chain, discounts: Discounts) -> Chain:
        by_word = np.empty_like(counts.by_word)
        fill(counts.by_word, self.groups, discounts.words, self.of_words(counts, discounts), by_word)
        return Chain(*self.moves(counts, discounts), by_word)

    def moves(self, counts: Chain, discounts: Discounts) -> tuple[Reals, Reals]:
        """The probabilities of first states, and of moves."""
        back, dtype = np.ascontiguousarray(counts.moves.T), counts.by_word.dtype
        shares = back.sum(axis=1) + counts.initial
        shares /= shares.sum()
        found = self._backed_off(back, discounts.moves, discounts.group_moves, shares)
        filled = np.empty_like(back)
        fill(back, self.groups, discounts.moves, found, filled)
        own = np.maximum(counts.initial - discounts.moves, 0.0)
        initial = (own + (counts.initial.sum() - own.sum()) * shares) / counts.initial.sum()
        return initial.astype(dtype), np.ascontiguousarray(filled.T, dtype=dtype)

    def of_words(self, counts: Chain, discounts: Discounts) -> BackedOff:
        return self._backed_off(counts.by_word, discounts.words, discounts.group_words, self.unigram)

    def _backed_off(self, counts: Reals, discount: float, of_group: float, floor: Floats) -> BackedOff:
        return backed_off(counts, self.groups, self.n_groups, discount, of_group, floor)

    def emissions(self, counts: Chain, discounts: Discounts) -> BackedOffRows:
        """The words of the model of these counts, in the form in which they are kept."""
        back = self.of_words(counts, discounts)
        own = np.maximum(counts.by_word - np.float32(discounts.words), np.float32(0.0))
        own /= np.maximum(back.totals, 1e-30).astype(np.float32)
        starts, states, values = sparse_rows(own)
        return BackedOffRows(
            starts.astype(np.int64),
            states,
            values.astype(np.float32),
            back.left.astype(np.float32),
            self.groups,
            back.by_group,
        )


def first_counts(first: FirstStates, text: Text, n_words: int) -> Chain:
    """Counts of tokens whose states are given."""
    counts = no_counts(first.n_states, n_words)
    counts.initial[:] = np.bincount(first.labels[text.begins], minlength=first.n_states)
    count_labels(first.labels, text.tokens, counts.moves, counts.by_word, text.begins)
    return counts


def no_counts(n_states: int, n_words: int) -> Chain:
    """Room for counts."""
    pairs, words = np.zeros((n_states, n_states)), np.zeros((n_words, n_states), np.float32)
    return Chain(np.zeros(n_states), pairs, words)


def expect(chain: Chain, text: Text, line_starts: Int64s, beam: Beam = WIDE) -> tuple[Chain, float]:
    """Expected counts of a text, and its log-likelihood per token."""
    counts, total = no_counts(len(chain.initial), len(chain.by_word)), 0.0
    behind = np.zeros((2, beam.most), chain.initial.dtype)
    for piece, kept, prior, place in pieces_of(chain, text, beam.most):
        found = np.zeros(len(piece.tokens))
        walk(piece, chain, prior, beam.least, kept, found, NOTHING)
        count_back(piece, chain, kept, counts, behind)
        here = line_starts[(line_starts >= place.start) & (line_starts < place.stop)] - place.start
        starts = (
            kept.states[here],
            kept.shares[here] * (np.arange(kept.shares.shape[1]) < kept.numbers[here, None]),
        )
        np.add.at(counts.initial, *starts)
        total += float(np.log(np.maximum(found, 1e-300)).sum())
    return counts, total / max(len(text.tokens), 1)


@dataclass(frozen=True, eq=False)
class Climbed:
    """Expected counts, the discounts that suit them, and held-out log-likelihoods per token by iteration."""

    counts: Chain
    discounts: Discounts
    scores: list[float]


def climb(
    counts: Chain,
    smoother: Smoother,
    text: Text,
    line_starts: Int64s,
    held: Text | None,
    max_iter: int,
    progress: Progress = silent,
    n_done: int = 0,
) -> Climbed:
    """EM until held-out text gains little, with both beams; then the discounts that suit it best."""
    scores: list[float] = []
    curve, beam, since = object(), NARROW, 0
    for k in range(max_iter):
        if beam is NARROW and n_done + k >= FIRST:
            beam, since = WIDE, k
        chain = smoother.chain(counts, TRAINING)
        scores.append(score(chain, held) if held is not None else 0.0)
        told = f", held-out perplexity {np.exp(-scores[-1]):.1f}" if held is not None else ""
        if held is not None:
            report(Point(Measure.HELD_OUT, k + 1, scores[-1], curve, "EM"))
        progress(f"EM, iteration {k + 1}{told}", k / max_iter)
        if held is not None and k - since > 1 and scores[-1] - scores[-2] < _LITTLE:
            if beam is WIDE:
                break
            beam, since = WIDE, k
        counts, _ = expect(chain, text, line_starts, beam)
    return Climbed(counts, chosen_discounts(counts, smoother, held, progress), scores)


def chosen_discounts(
    counts: Chain, smoother: Smoother, held: Text | None, progress: Progress = silent
) -> Discounts:
    """The discounts that held-out text asks for, one after the other."""
    best = Discounts(0.3, 0.85, 0.3, 0.85)
    if held is None:
        return best
    some = Text(held.tokens[:_ENOUGH], held.begins[:_ENOUGH], held.wanted[:_ENOUGH])
    top = score(smoother.chain(counts, best), some)
    for name, values in _GRIDS.items():
        progress(f"discounts of {name}")
        for value in _around(getattr(best, name), values):
            trial = best._replace(**{name: value})
            if (found := score(smoother.chain(counts, trial), some)) > top:
                best, top = trial, found
    return best


def _around(value: float, values: Iterable[float]) -> list[float]:
    return [other for other in values if other != value]


def score(chain: Chain, text: Text) -> float:
    """The log-likelihood per token."""
    return float(np.log(np.maximum(run(chain, text, NARROW.least, most=WIDE.most), 1e-300)).mean())

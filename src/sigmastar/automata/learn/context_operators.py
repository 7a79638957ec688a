"""Automata from context classes: one decomposition, every rank.

    M = D_r^-1/2 C D_c^-1/2 ~ U S V^T          canonical correlations of pasts and futures
    Y = sqrt(T) D_r^-1/2 U S                   the state of each past class

The first correlation is 1, with vectors sqrt(d_r / T) and sqrt(d_c / T). In a basis where they come
first, scaled by sqrt(T), the first coordinate of a state is its mass: `one = e_1`, Y[:, 0] = 1, and
sum_a A_a one + final = one holds by construction. Every smaller rank is a leading block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts, correlation_scaled
from sigmastar.automata.data.contexts import ContextTrie, Direction, grow_contexts
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.held_out import HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NextCounts, NgramModel, witten_bell
from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.factors import Solver, constant_first, factorize_up_to
from sigmastar.core.rank import RankEvidence, count_above, noise_level
from sigmastar.core.recover import affordable_states, recover
from sigmastar.core.resources import thread_map

if TYPE_CHECKING:  # most corpora are in memory
    from sigmastar.automata.data.corpora import ShardedStrings

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Of the smoothing of the back-off model."""
USUAL_SIZES = (10, 20, 40)
LARGEST = 100
_WEIGHTS_PER_GAP, _FEW_WEIGHTS = 10, 1 << 20  # of iterative learners, where no number of states is given
_GAPS_ENOUGH = 250_000  # show which contexts are frequent
_FEW_PARTS = 4  # of so many gaps: larger corpora are left the room that a second thread takes


@dataclass(frozen=True, eq=False)
class ContextModel:
    """Operators recovered from counts on context classes, and the state of each past class."""

    counts: ContextCounts
    singular_values: Floats
    automaton: WeightedAutomaton
    states: Floats  # past classes x n; the first column is 1

    @property
    def n_states(self) -> int:
        return self.automaton.n_states

    @property
    def mass(self) -> Floats:
        unit = np.zeros(self.n_states)
        unit[0] = 1.0
        return unit

    def evidence(
        self, scores: Mapping[int, float], chosen: int, reason: str = "best held-out log-likelihood"
    ) -> RankEvidence:
        """Why a number of states was chosen, given the scores of all that were tried."""
        sizes = tuple(sorted(scores))
        found = tuple(scores[size] for size in sizes)
        noise = context_noise(self.counts)
        reason = reason if len(sizes) > 1 else "the only number that was tried"
        return RankEvidence(self.singular_values, noise, sizes, found, chosen, reason)

    def leading(self, n_states: int) -> ContextModel:
        """The model of a smaller rank: leading blocks, no new decomposition."""
        if not 1 <= n_states <= self.n_states:
            raise ValueError(
                f"n_states={n_states} exceeds block rank {self.n_states}; "
                f"use n_states<={self.n_states}, more data or more context classes"
            )
        whole, n = self.automaton, n_states
        part = WeightedAutomaton(
            whole.alphabet,
            whole.initial[:n].copy(),
            np.ascontiguousarray(whole.transitions[:, :n, :n]),
            whole.final[:n].copy(),
        )
        return ContextModel(self.counts, self.singular_values, part, np.ascontiguousarray(self.states[:, :n]))


def choose_classes(
    strings: Strings | ShardedStrings, max_classes: int, min_count: int | None = None
) -> tuple[ContextTrie, ContextTrie]:
    """The most frequent pasts and futures; small corpora use rarer ones.

    Of large corpora every second, third .. string will do: which contexts are frequent shows early.
    """
    if (every := -(-strings.n_gaps // _GAPS_ENOUGH)) > 1:
        strings = strings.select(np.arange(0, len(strings), every))
    strings = require_strings(strings if isinstance(strings, Strings) else strings.whole())
    if min_count is None:
        min_count = int(np.clip(strings.n_gaps // 500, 2, 10))
    directions: tuple[Direction, Direction] = ("past", "future")
    run: Callable[..., Iterable[ContextTrie]] = thread_map if every <= _FEW_PARTS else map
    pasts, futures = run(lambda way: grow_contexts(strings, way, max_classes, min_count), directions)
    return pasts, futures


def learn_contexts(counts: ContextCounts, max_states: int, solver: Solver | None = None) -> ContextModel:
    """Factorize and recover, with as many states as are asked for or as the counts bear."""
    if max_states < 1:
        raise ValueError(f"n_states={max_states}: an automaton has at least one state")
    max_states = affordable_states(len(counts.strings_like.alphabet), max_states)
    blocks = correlation_scaled(counts)
    total = counts.past_counts.sum()
    matrix = blocks.matrices["string"]
    factors = constant_first(
        factorize_up_to(matrix, max_states, solver), matrix, np.sqrt(counts.future_counts / total)
    )
    del matrix
    blocks = replace(blocks, matrices={})  # not needed any more, and large
    recovered = WeightedAutomaton.of_operators(recover(blocks, {"string": factors}))
    scale = np.sqrt(total)
    automaton = WeightedAutomaton(
        recovered.alphabet, recovered.initial * scale, recovered.transitions, recovered.final / scale
    )
    states = factors.outside * (scale / np.sqrt(np.maximum(counts.past_counts, 1)))[:, None]
    states[counts.past_counts == 0] = np.eye(
        1, factors.n_states
    )  # classes of the full corpus, unseen in this part
    return ContextModel(counts, factors.singular_values, automaton, states)


def largest_size(strings: Strings) -> int:
    """The most states that an iterative learner tries: its time grows with the weights, which should not
    outnumber the evidence by far. With alphabets of up to a hundred symbols that is no limit.
    """
    most_weights = max(_FEW_WEIGHTS, _WEIGHTS_PER_GAP * strings.n_gaps)
    return affordable_states(len(strings.alphabet), LARGEST, most_weights)


def context_noise(counts: ContextCounts) -> float:
    """The largest correlation, after the first, that chance alone would show on these classes."""
    return noise_level(counts.pasts.n_classes, counts.futures.n_classes, int(counts.counts.sum()))


def candidate_sizes(contexts: ContextModel) -> list[int]:
    """Numbers of states worth trying: usual ones, those above the noise, a little more; no near doubles.

    On deterministic machines the number of correlations above the noise is very nearly their size.
    """
    spectral = max(count_above(contexts.singular_values, context_noise(contexts.counts)), 1)
    wanted = sorted({min(n, contexts.n_states) for n in (*USUAL_SIZES, spectral, int(1.3 * spectral) + 2)})
    return [n for n, larger in zip(wanted, [*wanted[1:], 10**9], strict=True) if larger > 1.15 * n]


def backoff_of(counts: ContextCounts, strength: float = 1.0) -> NgramModel:
    """The back-off model of next symbols on the past classes of some counts, smoothed by Witten-Bell."""
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    return NgramModel.of_counts(
        counts.strings_like.alphabet, following, partial(witten_bell, strength=strength)
    )


def best_strength(counts: ContextCounts, held_out: HeldOut) -> float:
    """The strength of smoothing by which the back-off model alone is best on held-out strings.

    Strings that are nearly random need far more than what is usual: what follows a rare context is chance.
    """
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    contexts, outcomes = judged_steps(held_out, counts.pasts, len(counts.strings_like.alphabet))

    def score(strength: float) -> float:
        smoothing = partial(witten_bell, strength=strength)
        model = NgramModel.of_counts(counts.strings_like.alphabet, following, smoothing)
        return float(held_out.weights @ np.log(np.maximum(model.probabilities(contexts, outcomes), 1e-300)))

    best, highest = STRENGTHS[0], score(STRENGTHS[0])
    for strength in STRENGTHS[1:]:  # one hill: most corpora are done after the first step up
        if (found := score(strength)) <= highest:
            break
        best, highest = strength, found
    return best


def judged_steps(held_out: HeldOut, pasts: ContextTrie, end: int) -> tuple[Int32s, Int32s]:
    """The class before each held-out step, and its outcome."""
    classes = pasts.classify_prefixes(held_out.trie)
    contexts = np.concatenate([classes[held_out.trie.parent[1:]], classes[held_out.ending]])
    ends = np.full(len(held_out.ending), end, np.int32)
    return contexts, np.concatenate([held_out.trie.symbol[1:], ends])

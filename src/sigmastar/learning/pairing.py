"""From searches to a model: the best one, or the two best as one automaton.

Few classes are counted well, many see far: either errs in its own way, so the direct sum of the two

    initial = (w u, (1 - w) u'),    A_y = diag(A_y, A'_y),    f = w f_1 + (1 - w) f_2

is better than both. Coarse classes are unions of fine ones, so one filter on the fine classes serves both
halves: the restart state of a class is (w Y_r, (1 - w) Y'_r'), r' the coarse class that holds r. The share w
is the most likely one on held-out strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sigmastar.factorization.krylov import quick_svd
from sigmastar.factorization.rank import RankEvidence
from sigmastar.inference.mixing_rates import climb_rates
from sigmastar.learning.contexts import ContextModel, learn_contexts
from sigmastar.learning.holdout import HeldOut
from sigmastar.learning.mixing import Steps, fit_rates
from sigmastar.learning.rank_search import Classes, Mapper, RankSearch, filtered
from sigmastar.operators.algebra import mixture
from sigmastar.operators.filtered import FilteredAutomaton
from sigmastar.statistics.contexts import ContextCounts

Array = NDArray[np.float64]

_MIXING_ROUNDS = 2
_FINAL_ROUNDS = 1  # from singular vectors of nine tenths of the counts
_LEAST_SHARE = 0.1
_SHARE_STRENGTH, _SHARE_ROUNDS = 20.0, 50
_MOST_CELLS = 1 << 22  # of the operators of a pair: half of them are zero


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it (of a pair, the better)."""

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float


@dataclass(frozen=True, eq=False)
class Part:
    """All that is needed to recover operators again from other counts, and their share in the model."""

    classes: Classes
    n_states: int
    left: NDArray[np.float32]  # singular vectors to start from
    share: float

    def recovered(self, counts: ContextCounts) -> ContextModel:
        solver = partial(quick_svd, left=self.left, n_rounds=_FINAL_ROUNDS)
        return learn_contexts(counts.coarsened(*self.classes), self.n_states, solver)


@dataclass(frozen=True, eq=False)
class Choice:
    """All that is needed to learn the model again from other counts."""

    parts: tuple[Part, ...]  # finer classes first
    leader: int  # the better of them
    mixing: Array
    score: float
    evidence: RankEvidence

    @property
    def classes(self) -> Classes:
        """The finest: counts on them serve all parts."""
        return self.parts[0].classes

    def learnt_from(self, counts: ContextCounts, run: Mapper = map) -> FilteredFit:
        contexts = list(run(lambda part: part.recovered(counts), self.parts))
        model = joined([filtered(of) for of in contexts], [part.share for part in self.parts])
        return FilteredFit(model.with_mixing(self.mixing), self.evidence, contexts[self.leader], self.score)


def choose(searches: Sequence[RankSearch], held_out: HeldOut) -> Choice:
    """The best of all that were found, together with the second where held-out strings give both a share."""
    best, *others = sorted(searches, key=lambda search: -search.best.score)
    chosen = {best: 1.0}
    if others and _can_be_paired(best, others[0]):
        share = _share(best.best.logs, others[0].best.logs, held_out)
        if _LEAST_SHARE < share < 1.0 - _LEAST_SHARE:
            chosen = {best: share, others[0]: 1.0 - share}
    members = sorted(chosen, key=lambda search: -search.n_classes)
    shares = [chosen[member] for member in members]
    model = joined([member.model for member in members], shares)
    mixing, score = _fitted_rates(model.with_mixing(members[0].best.mixing), members[0], held_out)
    parts = tuple(Part(m.classes, m.best.n_states, m.left, s) for m, s in zip(members, shares, strict=True))
    return Choice(parts, members.index(best), mixing, score, best.evidence)


def joined(models: Sequence[FilteredAutomaton], shares: Sequence[float]) -> FilteredAutomaton:
    """The weighted sum of automata whose past classes are unions of those of the first, read in these."""
    first, *others = models
    if not others:
        return first
    classes = [first.backoff.contexts.classes_in(model.backoff.contexts) for model in models]
    pieces = zip(models, shares, classes, strict=True)
    return FilteredAutomaton(
        mixture([model.automaton for model in models], shares),
        np.concatenate([model.mass for model in models]),
        first.backoff,
        np.hstack([share * model.restarts[of] for model, share, of in pieces]),
        first.mixing,
    )


def _can_be_paired(first: RankSearch, second: RankSearch) -> bool:
    """Small corpora have no more classes to offer, large alphabets no room for another operator a symbol."""
    n_states = first.best.n_states + second.best.n_states
    fits = n_states**2 * len(first.model.alphabet) <= _MOST_CELLS
    return fits and first.n_classes != second.n_classes


def _share(first: Array, second: Array, held_out: HeldOut) -> float:
    """The most likely share of the first of two models in a mixture, given the logs of the strings."""
    best = np.maximum(first, second)
    likelihoods = np.exp(second - best), np.exp(first - best)
    cells, prior = np.zeros(len(best), np.int32), np.full(1, 0.5)
    return float(
        climb_rates(cells, held_out.end_counts, *likelihoods, prior, _SHARE_STRENGTH, _SHARE_ROUNDS)[0]
    )


def _fitted_rates(model: FilteredAutomaton, finest: RankSearch, held_out: HeldOut) -> tuple[Array, float]:
    """Mixing rates that are fitted to the end, and the score with them."""
    mixing, score, walk = model.mixing, -np.inf, model.walk(held_out.trie)
    for _ in range(_MIXING_ROUNDS):
        steps = Steps.of(model.with_mixing(mixing), held_out, walk, np.float32)
        mixing = fit_rates(steps, finest.class_counts)
        score = steps.score(mixing)
    return mixing, score

"""From searches to a model: the best one, or with it the second on coarser classes, as one automaton.

Many classes see far, few are counted well: each errs in its own way, so the direct sum of the two

    initial = ((1 - w) u, w u'),    A_y = diag(A_y, A'_y),    f = (1 - w) f_1 + w f_2

is better than both. Coarse classes are unions of fine ones, so one filter on the fine classes serves both
halves: the restart state of a class r is ((1 - w) Y_r, w Y'_r'), r' the coarse class that holds it. The
share w is the most likely one on held-out strings. Finer classes than those of the best are not joined:
what they add on rare strings, they take away on frequent ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.counts.ngram_smoothing import Smoothing, kneser_ney, witten_bell
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.kernels.mixing_rates import climb_rate
from sigmastar.automata.learn.context_model import ContextModel, learn_contexts
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.learn.mixing import Steps, fit_rates
from sigmastar.automata.learn.rank_search import Classes, Mapper, RankSearch, filtered
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats
from sigmastar.core.krylov import quick_svd
from sigmastar.core.rank import RankEvidence

_FIRST_ROUNDS, _LAST_ROUNDS = 10, 40  # of mixing rates: the states depend on them in turn
_FINAL_ROUNDS = 1  # from singular vectors of nine tenths of the counts
_LEAST_SHARE = 0.05
_SHARE_STRENGTH, _SHARE_ROUNDS = 20.0, 50
_MOST_CELLS = 1 << 22  # of the operators of a pair: half of them are zero


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it (of a pair, the first)."""

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

    parts: tuple[Part, ...]  # the best, and perhaps one on coarser classes
    smoothing: Smoothing
    mixing: Floats
    score: float
    evidence: RankEvidence

    @property
    def classes(self) -> Classes:
        """The finest: counts on them serve all parts."""
        return self.parts[0].classes

    def learnt_from(self, counts: ContextCounts, run: Mapper = map) -> FilteredFit:
        contexts = list(run(lambda part: part.recovered(counts), self.parts))
        models = [filtered(of, self.smoothing) for of in contexts]
        model = joined(models, [part.share for part in self.parts])
        return FilteredFit(model.with_mixing(self.mixing), self.evidence, contexts[0], self.score)


def leading(searches: Iterable[RankSearch], n_searches: int) -> list[RankSearch]:
    """The best of them, the others forgotten as they come."""
    kept: list[RankSearch] = []
    for search in searches:
        kept = sorted([*kept, search], key=lambda each: -each.best.score)[:n_searches]
    return kept


def choose(searches: Sequence[RankSearch], held_out: HeldOut) -> Choice:
    """The best of all that were found, and the second where it is coarser and has a share to give."""
    best = max(searches, key=lambda search: search.best.score)
    members, shares = [best], [1.0]
    if (second := _partner(best, searches)) is not None:
        share = _share(second.best.logs, best.best.logs, held_out)
        if share > _LEAST_SHARE:
            members, shares = [best, second], [1.0 - share, share]
    model = joined([member.model for member in members], shares).with_mixing(best.best.mixing)
    smoothing, mixing, score = _finished(model, best, held_out)
    parts = tuple(Part(m.classes, m.best.n_states, m.left, s) for m, s in zip(members, shares, strict=True))
    return Choice(parts, smoothing, mixing, score, best.evidence)


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


def _partner(best: RankSearch, searches: Sequence[RankSearch]) -> RankSearch | None:
    """The best of the others, if it is coarser; large alphabets have no room for more operators."""
    others = [search for search in searches if search is not best]
    second = max(others, key=lambda search: search.best.score, default=best)
    n_cells = (best.best.n_states + second.best.n_states) ** 2 * len(best.model.alphabet)
    return second if second.n_classes < best.n_classes and n_cells <= _MOST_CELLS else None


def _share(first: Floats, second: Floats, held_out: HeldOut) -> float:
    """The most likely share of the first of two models in a mixture, given the logs of the strings."""
    best = np.maximum(first, second)
    likelihoods = np.exp(second - best), np.exp(first - best)
    return float(climb_rate(held_out.end_counts, *likelihoods, 0.5, _SHARE_STRENGTH, _SHARE_ROUNDS))


def _finished(
    model: FilteredAutomaton, best: RankSearch, held_out: HeldOut
) -> tuple[Smoothing, Floats, float]:
    """The smoothing that held-out strings like better, and mixing rates fitted to the end."""
    kneser = NgramModel.of_counts(model.alphabet, best.following, kneser_ney)
    trials = []
    for smoothing, other in ((witten_bell, model), (kneser_ney, replace(model, backoff=kneser))):
        walk = other.walk(held_out.trie)
        steps = Steps.of(other, held_out, walk, np.float32)
        mixing = fit_rates(steps, best.class_counts, _FIRST_ROUNDS)
        trials.append((steps.score(mixing), smoothing, other.with_mixing(mixing), walk))
    _, smoothing, model, walk = max(trials, key=lambda trial: trial[0])
    steps = Steps.of(model, held_out, walk, np.float32)
    mixing = fit_rates(steps, best.class_counts, _LAST_ROUNDS)
    return smoothing, mixing, steps.score(mixing)

"""A start for EM from where spans occur: canonical correlation of what is inside and around them.

1. Every span of weight w has indicators of its inside (first and last symbols, length, itself if it is
   frequent) and of its outside (one and two neighbours on either side, the edges).
2. M = D_x^-1/2 (X^T w Y) D_y^-1/2 ~ U S V^T: what insides and outsides have in common (CCA, with the
   covariances taken as diagonal).
3. A span is the point [x D_x^-1/2 U; y D_y^-1/2 V] S, or its direction: how far out a point lies tells how
   rare its indicators are, not what it is like. Weighted k-means puts n states among the points, and the
   distance to each makes soft labels.
4. One M-step: count starts, words and pairs of labelled spans.

Seeds of k-means differ in what EM makes of them, and a few iterations tell: of some tries the start is
returned from which the training strings become most probable. So may priors on brackets race (`best`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.automata.data.strings import Strings
from sigmastar.core.factors import factorize_up_to
from sigmastar.dependency.learn.em import clustered
from sigmastar.grammars.counts.span_occurrences import PRIORS, SpanOccurrences, Tables, span_occurrences
from sigmastar.grammars.data.substrings import Substrings, distinct_strings
from sigmastar.grammars.learn.em_steps import GrammarCorpus, RuleCounts, RulePrior, em_steps, maximize
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

RACE, RACE_PRIOR = 10, RulePrior(0.1, 5.0)  # iterations that tell which start is best
LENGTH_BINS = np.array([1, 2, 3, 4, 6, 9])
_CELLS = 2_000_000
FREQUENT, FEW = 5.0, 200.0  # the least weight of an indicator; spans so few that every indicator counts


@dataclass(frozen=True)
class Clustering:
    """How spans become states."""

    least_dimensions: int  # of the space, however few states there are
    sharpness: float  # of the labels
    n_tries: int  # seeds of k-means that race
    by_direction: bool  # of the points, not by where they lie


FOR_LIKELIHOOD = Clustering(16, 2.0, 3, by_direction=True)
FOR_BRACKETS = Clustering(8, 1.0, 1, by_direction=False)
"""Where brackets are wanted, the likelihood is no guide: of more seeds it takes those that bracket worse."""


def cca_start(
    strings: Strings,
    weights: Array,
    n_states: int,
    rng: np.random.Generator,
    brackets: str | Tables = "right",
    clustering: Clustering | None = None,
) -> WeightedGrammar:
    """A proper grammar whose states are clusters of span occurrences under a prior on brackets."""
    if brackets == "best":
        tried = [cca_start(strings, weights, n_states, rng, name, clustering) for name in PRIORS]
        return most_promising(tried, GrammarCorpus.of(strings, weights))
    how = clustering or (FOR_LIKELIHOOD if brackets in ("uniform", "none") else FOR_BRACKETS)
    tables = PRIORS[brackets] if isinstance(brackets, str) else brackets
    if isinstance(brackets, str):  # the same string has the same spans everywhere
        strings, weights = distinct_strings(strings, weights)
    spans = span_occurrences(strings, weights, tables, equal=isinstance(brackets, str) and brackets == "none")
    points = span_points(strings, spans, max(how.least_dimensions, n_states), how.by_direction)
    tried = []
    for _ in range(how.n_tries):
        labels = soft_labels(points, spans.weight, n_states, rng, how.sharpness)
        tried.append(label_grammar(strings, weights, spans, labels))
    return most_promising(tried, GrammarCorpus.of(strings, weights))


def most_promising(starts: Sequence[WeightedGrammar], corpus: GrammarCorpus) -> WeightedGrammar:
    """The start from which a few iterations lead to the highest likelihood."""
    if len(starts) == 1:
        return starts[0]
    reached = [_after(corpus, start) for start in starts]
    return starts[int(np.argmax(reached))]


def _after(corpus: GrammarCorpus, start: WeightedGrammar) -> float:
    """The log-likelihood after a few iterations under a light prior."""
    return next(islice((log for _, log in em_steps(corpus, start, RACE_PRIOR)), RACE, None))


def span_points(
    strings: Strings, spans: SpanOccurrences, n_dimensions: int, by_direction: bool = False
) -> Array:
    """Coordinates of every span in the space that insides and outsides share."""
    inside = _indicators(_inside_views(strings, spans), spans.weight)
    outside = _indicators(_outside_views(strings, spans), spans.weight)
    heavy = sparse.diags_array(spans.weight)
    shared = sparse.csr_array(inside.T @ heavy @ outside)
    factors = factorize_up_to(shared, n_dimensions + 1)
    values = factors.singular_values / factors.singular_values[0]
    both = np.hstack([inside @ (factors.left * values), outside @ (factors.right * values)])
    if by_direction:
        both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-300)
    scale = np.sqrt(np.average(both**2, axis=0, weights=spans.weight).mean())
    return both / max(scale, 1e-300)  # type: ignore[no-any-return]


def _indicators(views: list[Integers], weights: Array) -> sparse.csr_array:
    """Columns of indicators, each divided by the square root of its weight; rare ones are left out."""
    parts, least = [], FREQUENT if weights.sum() > FEW else 0.0
    for view in views:
        values, inverse = np.unique(view, return_inverse=True)
        totals = np.bincount(inverse, weights)
        scale = np.where((totals >= least) & (values >= 0), 1.0 / np.sqrt(np.maximum(totals, 1e-300)), 0.0)
        parts.append(
            sparse.csr_array((scale[inverse], (np.arange(len(view)), inverse)), (len(view), len(values)))
        )
    return sparse.csr_array(sparse.hstack(parts))


def _inside_views(strings: Strings, spans: SpanOccurrences) -> list[Integers]:
    table, n = Substrings.of(strings), len(strings.alphabet)
    codes, last = strings.codes.astype(np.int64), spans.begin + spans.length - 1
    long = spans.length > 1
    first_two = np.where(long, codes[spans.begin] * n + codes[np.minimum(spans.begin + 1, last)], -1)
    last_two = np.where(long, codes[np.maximum(last - 1, spans.begin)] * n + codes[last], -1)
    ends = codes[spans.begin] * n + codes[last]
    bins = np.searchsorted(LENGTH_BINS, spans.length)
    return [
        codes[spans.begin],
        codes[last],
        bins,
        np.where(long, ends, -1),
        first_two,
        last_two,
        table.at(spans.begin, spans.length),
    ]


def _outside_views(strings: Strings, spans: SpanOccurrences) -> list[Integers]:
    n = len(strings.alphabet) + 1
    low, high = strings.offsets[spans.string], strings.offsets[spans.string + 1]
    codes = np.append(strings.codes.astype(np.int64), -1) + 1  # an edge is 0
    end = spans.begin + spans.length

    def at(places: Integers) -> Integers:
        return np.where((places >= low) & (places < high), codes[np.clip(places, 0, len(codes) - 1)], 0)

    before, after = at(spans.begin - 1), at(end)
    two_before, two_after = at(spans.begin - 2), at(end + 1)
    return [before, after, before * n + after, before * n + two_before, after * n + two_after]


def soft_labels(
    points: Array, weights: Array, n_states: int, rng: np.random.Generator, sharpness: float = 1.0
) -> Array:
    """Shares of each state in every point: closer centres have more."""
    hard = clustered(points, weights, n_states, rng, n_rounds=20)
    n_found = int(hard.max()) + 1
    masses = np.bincount(hard, weights, minlength=n_found)
    centres = np.stack(
        [np.bincount(hard, weights * column, minlength=n_found) / masses for column in points.T], axis=1
    )
    distances = ((points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T) + (centres**2).sum(axis=1)
    spread = np.average(distances[np.arange(len(points)), hard], weights=weights)
    shares = np.exp(-sharpness * (distances - distances.min(axis=1, keepdims=True)) / max(spread, 1e-12))
    shares = np.hstack([shares, np.full((len(points), n_states - n_found), 1e-3)])
    return shares / shares.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def label_grammar(strings: Strings, weights: Array, spans: SpanOccurrences, labels: Array) -> WeightedGrammar:
    """Count rules between labelled spans, and divide."""
    n = labels.shape[1]
    single = spans.length == 1
    words = np.zeros((len(strings.alphabet), n))
    np.add.at(words, strings.codes[spans.begin[single]], labels[single] * spans.weight[single, None])
    pairs = np.zeros((n, n * n))
    for low in range(0, len(spans.cuts), max(1, _CELLS // n**2)):
        part = slice(low, low + max(1, _CELLS // n**2))
        tops, lefts, rights = (labels[spans.cuts[part, k]] for k in range(3))
        both = (lefts[:, :, None] * rights[:, None, :]).reshape(len(lefts), n * n)
        pairs += (tops * spans.cut_weight[part, None]).T @ both
    unigram = np.bincount(strings.codes, np.repeat(weights, strings.lengths), len(strings.alphabet)) + 1e-6
    counts = RuleCounts(weights @ labels[spans.whole], words, pairs.reshape(n, n, n), 0.0)
    return maximize(strings.alphabet, counts, RulePrior(0.1, 1.0), unigram / unigram.sum())

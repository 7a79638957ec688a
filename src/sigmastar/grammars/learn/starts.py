"""Starts of EM for grammars: *states from two views* of every span, what is inside and what is around it.

    views      inside: first and last symbols, length, itself if it is frequent; outside: one and two
               neighbours on either side, the edges; spans are weighed by a prior on where constituents are
    correlate  X^T w Y, indicators divided by the square roots of their weights (`core.views`)
    cluster    weighted k-means of the points of spans, or of their directions: how far out a point lies tells
               how rare its indicators are, not its kind; distances make soft labels (`core.clusters`)
    count      starts, words and pairs of labelled spans, shrunk as in the M-step

Seeds of k-means differ in what EM makes of them, and a few iterations show it: of some tries the start is
returned from which the training strings become most probable (`core.race`). So may priors on brackets race
(`best`). The prior may also be given brackets, or those that a completed grammar finds probable.

A start of EM from brackets that several grammars agree on.

    members   small grammars by EM from clusters of spans under right-branching brackets, each with its own
              chance (and its own strings, where there are many)
    agree     the tree of each string that holds the most constituents by the mean of their posteriors
    start     clusters of spans under these trees

EM for brackets is noisy: members differ by more points of F1 than most settings do. Their mean is better than
each, and one larger grammar that begins at their trees is better than the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.clusters import k_means, soft_labels
from sigmastar.core.em import Climb
from sigmastar.core.race import Leg, leading, race
from sigmastar.core.resources import thread_map
from sigmastar.core.shrinkage import normalized
from sigmastar.core.views import (
    as_given,
    correlate,
    counts_together,
    damped,
    directions,
    indicator_matrix,
    unit_size,
)
from sigmastar.grammars.counts.span_occurrences import (
    PRIORS,
    SpanOccurrences,
    Tables,
    flat_table,
    span_occurrences,
)
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.data.substrings import ENOUGH, Substrings, distinct_strings, within_length
from sigmastar.grammars.kernels import best_spans
from sigmastar.grammars.learn.completion import CompletionPlan, learn_completion
from sigmastar.grammars.learn.em import (
    EMSettings,
    GrammarCorpus,
    RuleCounts,
    RulePrior,
    Start,
    from_chance,
    learn_grammar_em,
    maximize,
    seconds_of_em,
)
from sigmastar.grammars.model.grammar import WeightedGrammar

STARTS = ("random", "cca", "spectral")
BRACKETS = ("agreed", "right", "uniform", "none", "best")

RACE, RACE_PRIOR = 10, RulePrior(0.1, 5.0)  # iterations that decide which start is best
COUNT_PRIOR = RulePrior(0.1, 1.0)
LENGTH_BINS = np.array([1, 2, 3, 4, 6, 9])
FREQUENT, FEW = 5.0, 200.0  # the least weight of an indicator; spans so few that every indicator counts
_CELLS = 2_000_000
LONGEST = 10
"""Symbols of the strings that completed or agreed brackets are taken from."""
_QUICK = CompletionPlan(max_iter=30, refinement_max_iter=100)


@dataclass(frozen=True)
class Clustering:
    """How spans become states."""

    least_dimensions: int  # of the space, however few states there are
    sharpness: float  # of the labels
    n_tries: int  # seeds of k-means that race
    by_direction: bool  # of the points, not by where they lie


FOR_LIKELIHOOD = Clustering(16, 2.0, 3, by_direction=True)
FOR_BRACKETS = Clustering(8, 1.0, 1, by_direction=False)
"""For brackets: by likelihood, the best of several seeds would bracket worse."""


def named_start(start: str, brackets: str | Bracketings = "right") -> Start:
    """A start by its name; `brackets` are the prior of "cca", or given ones for "spectral"."""
    if start == "random":
        return from_chance
    if start == "cca" and isinstance(brackets, str):
        return partial(cca_start, brackets=brackets)
    return partial(_spectral, brackets=brackets if isinstance(brackets, Bracketings) else None)


def _spectral(
    strings: Strings, weights: Floats, n_states: int, rng: np.random.Generator, brackets: Bracketings | None
) -> WeightedGrammar:
    if brackets is not None:
        strings, weights = brackets.strings, np.ones(len(brackets))
        return cca_start(strings, weights, n_states, rng, bracket_tables(brackets))
    completed = learn_completion(strings, min(n_states, 8), _QUICK, weights=weights)
    return completed_start(strings, weights, n_states, rng, completed.grammar)


def completed_start(
    strings: Strings,
    weights: Floats,
    n_states: int,
    rng: np.random.Generator,
    completed: WeightedGrammar,
) -> WeightedGrammar:
    """A proper grammar by CCA of spans, weighed by where a completed grammar has constituents."""
    short, counts, _ = within_length(strings, weights, LONGEST)
    return cca_start(short, counts, n_states, rng, posterior_tables(completed, short))


def cca_start(
    strings: Strings,
    weights: Floats,
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
        labels = span_labels(points, spans.weight, n_states, rng, how.sharpness)
        tried.append(label_grammar(strings, weights, spans, labels))
    return most_promising(tried, GrammarCorpus.of(strings, weights))


def most_promising(starts: Sequence[WeightedGrammar], corpus: GrammarCorpus) -> WeightedGrammar:
    """The start from which a few iterations under a light prior lead to the highest likelihood."""
    if len(starts) == 1:
        return starts[0]
    problem = corpus.problem(RACE_PRIOR)
    ran = race([Climb.begin(problem, start) for start in starts], [Leg(RACE + 1, leading(1))])
    return starts[int(np.argmax([climb.score for climb in ran]))]


def span_points(
    strings: Strings, spans: SpanOccurrences, n_dimensions: int, by_direction: bool = False
) -> Floats:
    """Coordinates of every span in the space that insides and outsides share."""
    scale = damped(least=FREQUENT if spans.weight.sum() > FEW else 0.0)
    inside = indicator_matrix(_inside_views(strings, spans), spans.weight, scale)
    outside = indicator_matrix(_outside_views(strings, spans), spans.weight, scale)
    together = counts_together(inside, outside, spans.weight)
    found = correlate(together, n_dimensions + 1, as_given, total=1.0).relative()
    points = np.hstack([inside @ found.left(1.0), outside @ found.right(1.0)])
    return unit_size(directions(points) if by_direction else points, spans.weight)


def _inside_views(strings: Strings, spans: SpanOccurrences) -> list[Int64s]:
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


def _outside_views(strings: Strings, spans: SpanOccurrences) -> list[Int64s]:
    n = len(strings.alphabet) + 1
    low, high = strings.offsets[spans.string], strings.offsets[spans.string + 1]
    codes = np.append(strings.codes.astype(np.int64), -1) + 1  # an edge is 0
    end = spans.begin + spans.length

    def at(places: Int64s) -> Int64s:
        return np.where((places >= low) & (places < high), codes[np.clip(places, 0, len(codes) - 1)], 0)

    before, after = at(spans.begin - 1), at(end)
    two_before, two_after = at(spans.begin - 2), at(end + 1)
    return [before, after, before * n + after, before * n + two_before, after * n + two_after]


def span_labels(
    points: Floats, weights: Floats, n_states: int, rng: np.random.Generator, sharpness: float
) -> Floats:
    """Shares of each state in every span."""
    heaviest = int(np.argmax(weights))
    found = k_means(points, n_states, rng, weights=weights, first=heaviest, n_steps=20, little_change=0.0)
    return soft_labels(points, found, n_states, weights=weights, sharpness=sharpness)


def label_grammar(
    strings: Strings, weights: Floats, spans: SpanOccurrences, labels: Floats
) -> WeightedGrammar:
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
    return maximize(strings.alphabet, counts, COUNT_PRIOR, normalized(unigram))


def posterior_tables(grammar: WeightedGrammar, strings: Strings) -> Tables:
    """Posteriors of spans, cut to shares; flat where a grammar gives a string no weight."""
    found = grammar.span_posteriors(strings)
    return [
        np.clip(np.nan_to_num(table), 0.02, 1.0) if table.any() else flat_table(len(table) - 1)
        for table in found
    ]


def bracket_tables(brackets: Bracketings) -> Tables:
    """One at every span that is given, and at single symbols; next to nothing elsewhere."""
    tables = []
    for length, spans in zip(brackets.strings.lengths.tolist(), brackets.binary(), strict=True):
        table = np.full((length + 1, length + 1), 1e-6)
        table[np.arange(length), np.arange(1, length + 1)] = 1.0
        for begin, end in spans:
            table[begin, end] = 1.0
        tables.append(table)
    return tables


MEMBERS, MEMBER_STRINGS, MOST_STRINGS = 12, 2000, 10_000
MEMBER_STATES = 8
"""Of grammars that are to agree: few states leave phrases less room to differ; more come out worse."""
ELSEWHERE = 0.01
"""How probable a span is that is in no tree, beside one that is."""


def agreed_start(
    strings: Strings,
    weights: Floats,
    n_states: int,
    rng: np.random.Generator,
    settings: EMSettings,
) -> WeightedGrammar:
    """Clusters of spans under agreed brackets of short strings; right-branching ones where these are few."""
    short = np.flatnonzero((strings.lengths <= LONGEST) & (weights > 0.0))
    if len(short) < ENOUGH:
        return cca_start(strings, weights, n_states, rng, "right")
    short = _some(short, MOST_STRINGS, rng)
    part, counts = strings.select(short), weights[short]
    own = replace(settings, max_iter=_of_member(settings), n_seeds=1, held_out=0.0, max_length=None)
    start = partial(cca_start, brackets="right")

    def member(chance: np.random.Generator) -> WeightedGrammar:
        chosen = _some(np.arange(len(part)), MEMBER_STRINGS, chance)
        seen, of_seen = part.select(chosen), counts[chosen]
        return learn_grammar_em(seen, MEMBER_STATES, chance, start, own, weights=of_seen).grammar

    members = list(thread_map(member, rng.spawn(MEMBERS)))
    distinct, counts = distinct_strings(part, counts)
    return cca_start(distinct, counts, n_states, rng, agreed_tables(members, distinct))


def seconds_of_agreement(strings: Strings, weights: Floats | None, settings: EMSettings) -> float:
    """What the members of `agreed_start` will take of one core, about."""
    short = np.flatnonzero(strings.lengths <= LONGEST)
    if len(short) < ENOUGH:
        return 0.0
    chosen = _some(short, MEMBER_STRINGS, np.random.default_rng(0))
    counts = None if weights is None else weights[chosen]
    own = replace(settings, max_iter=_of_member(settings), n_seeds=MEMBERS, max_length=None)
    return seconds_of_em(strings.select(chosen), MEMBER_STATES, own, counts)


def _of_member(settings: EMSettings) -> int:
    return settings.max_iter + settings.max_iter // 2


def agreed_tables(members: list[WeightedGrammar], strings: Strings) -> list[Floats]:
    """Of each string: one at the spans of the tree that the members agree on, little elsewhere."""
    found = [member.span_posteriors(strings) for member in members]
    return [_table(np.mean(tables, axis=0)) for tables in zip(*found, strict=True)]


def _table(mean: Floats) -> Floats:
    length = len(mean) - 1
    table = np.full_like(mean, ELSEWHERE)
    table[np.arange(length), np.arange(1, length + 1)] = 1.0
    begins, ends = np.array(best_spans(mean), dtype=np.int64).reshape(-1, 2).T
    table[begins, ends] = 1.0
    return table


def _some(numbers: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return numbers if len(numbers) <= most else np.sort(rng.choice(numbers, most, replace=False))

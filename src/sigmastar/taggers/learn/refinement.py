"""Refined tags, states from two views: every tag is split into states.

    views, correlate, cluster    k-means of tokens by their pasts and futures (`clusters`)
    count      moves: state -> state shrinks to tag -> state, and this to p(t' | t) p(z' | t')
               words: p(z | x, t) shrinks to p(z | class(x), t), and this to p(z | t)
    climb      a few iterations of EM with the tags given

EM moves slowly away from states that are certain, so it begins from counts that are spread in part over all
states of the tag (`softened`), and takes steps longer than its own. Accuracy peaks after a few iterations,
while the likelihood still rises: EM is stopped early. `em` is the same from random states.

Expected counts where the tags are given are the E-step.

Token i has tag t_i, so only the states of t_i are in play: forward and backward run over those alone,

    alpha_i = (alpha_{i-1} P) o r(x_i, t_i),    E[z -> z'] = sum_i alpha_{i-1}[z] P[z, z'] r_i[z'] beta_i[z']

Row and column Z of the moves are the edge of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.em import NEVER, Climb, Problem, Step, extrapolation, hastened, plain
from sigmastar.core.engines import shared
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel, part
from sigmastar.core.progress import Progress, silent
from sigmastar.core.shrinkage import Level, chain, normalized, rows
from sigmastar.taggers.learn.clusters import clustered_states, state_starts, summed
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.model.lexicon import TagLexicon
from sigmastar.taggers.model.refined import Ratios, RefinedTags


class Tokens(NamedTuple):
    """Sentences of tokens with their tags, and their pairs of word and tag."""

    offsets: Int64s
    tags: Int32s
    pairs: Int32s


class GivenTags(NamedTuple):
    """A refined tagger where tags are given: moves with the edge last, and r of pairs x states."""

    states: Int64s
    moves: Floats
    ratios: Floats


@kernel
def refined_expectations(
    tokens: Tokens, low: int, high: int, model: GivenTags, expected: Floats, memberships: Floats
) -> float:
    """Add the counts of sentences low..high to `expected` (moves) and `memberships` (pairs x states)."""
    offsets, tags, pairs, ratios = tokens.offsets, tokens.tags, tokens.pairs, model.ratios
    edge, width = model.moves.shape[0] - 1, ratios.shape[1]
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    alpha, beta, later, total = np.zeros((longest, width)), np.zeros(width), np.zeros(width), 0.0
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        for i in range(first, last):
            tag_before = -1 if i == first else tags[i - 1]
            before = alpha[max(i - 1 - first, 0)]
            total += _forward(tag_before, tags[i], model, ratios[pairs[i]], before, alpha[i - first])
        total += _finish(tags[last - 1], model, alpha[last - 1 - first], beta, expected)
        for i in range(last - 1, first, -1):
            _remember(beta, alpha[i - first], memberships[pairs[i]])
            before = alpha[i - 1 - first]
            _backward(tags[i - 1], tags[i], model, ratios[pairs[i]], before, beta, later, expected)
        _remember(beta, alpha[0], memberships[pairs[first]])
        z0 = model.states[tags[first]]
        for j in range(model.states[tags[first] + 1] - z0):
            expected[edge, z0 + j] += alpha[0, j] * beta[j]
    return total


@part
def _forward(
    tag_before: int, tag: int, model: GivenTags, ratio: Floats, before: Floats, row: Floats
) -> float:
    """The next forward vector, summing to one; the logarithm of its mass. -1 is the edge."""
    states, moves = model.states, model.moves
    z0, n = states[tag], states[tag + 1] - states[tag]
    row[:] = 0.0
    if tag_before < 0:
        for j in range(n):
            row[j] = moves[moves.shape[0] - 1, z0 + j]
    else:
        w0 = states[tag_before]
        for h in range(states[tag_before + 1] - w0):
            value, arrow = before[h], moves[w0 + h, z0 : z0 + n]
            for j in range(n):
                row[j] += value * arrow[j]
    mass = 0.0
    for j in range(n):
        row[j] *= ratio[j]
        mass += row[j]
    for j in range(n):
        row[j] /= mass
    return float(np.log(mass))


@part
def _finish(tag: int, model: GivenTags, row: Floats, beta: Floats, expected: Floats) -> float:
    """The backward vector at the last token, and the end counted; the logarithm of its mass."""
    edge, z0, mass = model.moves.shape[0] - 1, model.states[tag], 0.0
    n = model.states[tag + 1] - z0
    beta[:] = 0.0
    for j in range(n):
        beta[j] = model.moves[z0 + j, edge]
        mass += row[j] * beta[j]
    for j in range(n):
        beta[j] /= mass
        expected[z0 + j, edge] += row[j] * beta[j]
    return float(np.log(mass))


@kernel
def _remember(beta: Floats, row: Floats, belief: Floats) -> None:
    """Add the posterior of a token to what is believed of its word and tag; beyond the states all is zero."""
    for j in range(len(beta)):
        belief[j] += row[j] * beta[j]


@part
def _backward(
    tag_before: int,
    tag: int,
    model: GivenTags,
    ratio: Floats,
    before: Floats,
    beta: Floats,
    later: Floats,
    expected: Floats,
) -> None:
    """The backward vector of the token before, in place, with the moves between both counted."""
    moves, z0, w0, mass = model.moves, model.states[tag], model.states[tag_before], 0.0
    n, m = model.states[tag + 1] - z0, model.states[tag_before + 1] - w0
    for j in range(n):
        later[j] = ratio[j] * beta[j]
    beta[:] = 0.0
    for h in range(m):
        value, arrow = 0.0, moves[w0 + h, z0 : z0 + n]
        for j in range(n):
            value += arrow[j] * later[j]
        beta[h] = value
        mass += before[h] * value
    for h in range(m):
        value = before[h] / mass
        arrow, counted = moves[w0 + h, z0 : z0 + n], expected[w0 + h, z0 : z0 + n]
        for j in range(n):
            counted[j] += value * arrow[j] * later[j]
        beta[h] /= mass


CERTAINTY = 0.35  # the share of the counts of clusters that EM starts from
PACE = 2.1  # EM diverges at 3
_UNSEEN = 1e-3  # added to counts that others are shrunk towards
_LEAST_PIECES, _PIECE = 2, 1 << 18  # and tokens of each: sums of floats are the same whoever takes them


@dataclass(frozen=True)
class Shrinkage:
    """How many tokens the coarser estimate counts for."""

    bigram: float = 5.0
    tag: float = 5.0
    state: float = 20.0
    word: float = 5.0
    word_class: float = 20.0

    def softer(self, times: float = 10.0) -> Shrinkage:
        """Stronger, but for pairs of tags: these are known. Leaves EM a choice where states are certain."""
        return Shrinkage(
            self.bigram, times * self.tag, times * self.state, times * self.word, times * self.word_class
        )


USUAL = Shrinkage()


@dataclass(frozen=True, eq=False)
class RefinedCounts:
    """Counts of moves, (Z + 1) x (Z + 1) with the edge last, and of states by pairs of word and tag."""

    states: Int64s
    moves: Floats
    memberships: Floats

    @property
    def tag_of(self) -> Int64s:
        """The tag of each state; the edge, the last one, is a tag of its own."""
        return np.repeat(np.arange(len(self.states)), np.append(np.diff(self.states), 1))

    def by_tag(self, table: Floats, axis: int) -> Floats:
        """Sums over the states of each tag."""
        return np.asarray(np.add.reduceat(table, self.states, axis=axis))


def count_states(corpus: TaggedCorpus, states: Int64s, state_of: Int64s) -> RefinedCounts:
    """Counts when every token has a state, by its place among the states of its tag."""
    z, edge = states[corpus.tags] + state_of, int(states[-1])
    firsts, lasts = corpus.sentences.offsets[:-1], corpus.sentences.offsets[1:] - 1
    before = np.append(edge, z[:-1])
    before[firsts] = edge
    keys = np.append(before * (edge + 1) + z, z[lasts] * (edge + 1) + edge)
    shape = (len(corpus.pair_keys), int(np.diff(states).max()))
    moves = np.bincount(keys, minlength=(edge + 1) ** 2).reshape(edge + 1, edge + 1).astype(float)
    places = corpus.pairs.astype(np.int64) * shape[1] + state_of
    memberships = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    return RefinedCounts(states, moves, memberships)


def estimate(corpus: TaggedCorpus, counts: RefinedCounts, shrinkage: Shrinkage = USUAL) -> RefinedTags:
    """The M-step: shrunk relative frequencies."""
    edge, moves = int(counts.states[-1]), shrunk_moves(counts, shrinkage)
    words, classes = shrunk_ratios(corpus, counts, shrinkage)
    transitions = np.ascontiguousarray(moves[:edge, :edge])
    return RefinedTags(
        counts.states, moves[edge, :edge].copy(), transitions, moves[:edge, edge].copy(), words, classes
    )


def shrunk_moves(counts: RefinedCounts, shrinkage: Shrinkage) -> Floats:
    """p(z' | z), with the edge as a tag of one state."""
    moves, tag_of = counts.moves, counts.tag_of
    from_tags = counts.by_tag(moves, 0)
    bigrams = counts.by_tag(from_tags, 1)
    arrivals, sizes = normalized(bigrams.sum(axis=0) + _UNSEEN), moves.sum(axis=0) + _UNSEEN
    within = sizes / np.bincount(tag_of, sizes)[tag_of]
    levels = [
        Level(bigrams, shrinkage.bigram),
        Level(from_tags, shrinkage.tag, lambda tags: tags[:, tag_of] * within),
        Level(moves, shrinkage.state, rows(tag_of)),
    ]
    return chain(arrivals, levels)[-1]


def shrunk_ratios(corpus: TaggedCorpus, counts: RefinedCounts, shrinkage: Shrinkage) -> tuple[Ratios, Ratios]:
    """p(z | x, t) / p(z | t) of words, and the same of classes of words."""
    memberships, tags = counts.memberships, corpus.pair_tags
    real = np.arange(memberships.shape[1]) < np.diff(counts.states)[:, None]
    keys, places = np.unique(corpus.class_keys, return_inverse=True)
    by_tag = normalized((summed(memberships, tags, len(real)) + _UNSEEN) * real)
    levels = [
        Level(summed(memberships, places, len(keys)), shrinkage.word_class, rows(keys % len(real))),
        Level(memberships, shrinkage.word, rows(places)),
    ]
    by_class, by_word = chain(by_tag, levels)
    floor = np.where(real, by_tag, 1.0)
    return (
        Ratios(corpus.pair_keys, by_word / floor[tags]),
        Ratios(keys, by_class / floor[keys % len(real)]),
    )


def expectations(corpus: TaggedCorpus, model: RefinedTags) -> tuple[RefinedCounts, float]:
    """The E-step: expected counts, and the log-likelihood of tags given words up to a constant."""
    edge = model.n_states
    moves = np.zeros((edge + 1, edge + 1))
    moves[:edge, :edge], moves[edge, :edge] = model.transitions, model.initial
    moves[:edge, edge] = model.final
    given = GivenTags(model.states, moves, model.by_word.values)
    expected, memberships, log = shared(partial(_expected, given), _pieces(corpus), _both)
    return RefinedCounts(model.states, expected, memberships), log


def _pieces(corpus: TaggedCorpus) -> list[Tokens]:
    """Whole sentences, of about as many tokens; how many pieces depends on the corpus alone."""
    offsets = corpus.sentences.offsets
    n_pieces = max(_LEAST_PIECES, -(-int(offsets[-1]) // _PIECE))
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], n_pieces + 1)[1:-1])
    ranges = pairwise([0, *cuts.tolist(), len(offsets) - 1])
    return [_some_tokens(corpus, offsets[low : high + 1]) for low, high in ranges]


def _some_tokens(corpus: TaggedCorpus, offsets: Int64s) -> Tokens:
    tokens = slice(offsets[0], offsets[-1])
    return Tokens(offsets - offsets[0], corpus.tags[tokens], corpus.pairs[tokens])


_Expected = tuple[Floats, Floats, float]


def _expected(given: GivenTags, tokens: Tokens) -> _Expected:
    expected, memberships = np.zeros_like(given.moves), np.zeros_like(given.ratios)
    log = refined_expectations(tokens, 0, len(tokens.offsets) - 1, given, expected, memberships)
    return expected, memberships, log


def _both(first: _Expected, second: _Expected) -> _Expected:
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]


def em_problem(corpus: TaggedCorpus, shrinkage: Shrinkage = USUAL) -> Problem[RefinedTags, RefinedCounts]:
    """EM of states with the tags given."""
    return Problem(
        lambda model: expectations(corpus, model),
        lambda counts: estimate(corpus, counts, shrinkage),
        n_items=corpus.sentences.n_words,
        name="refining tags",
    )


def climb(
    corpus: TaggedCorpus,
    start: RefinedTags,
    n_iterations: int,
    step: Step[RefinedTags, RefinedCounts] = plain,
    shrinkage: Shrinkage = USUAL,
    progress: Progress = silent,
) -> Climb[RefinedTags, RefinedCounts]:
    """So many iterations of EM."""
    begun = Climb.begin(em_problem(corpus, shrinkage), start, step)
    return begun.run(n_iterations, NEVER, progress=progress)


def over_relaxed(pace: float = PACE) -> Step[RefinedTags, RefinedCounts]:
    """Steps that go further than their own; the last model of a climb is not extrapolated."""
    return hastened(extrapolation(_probabilities, _rebuilt, np.inf), pace)


def _probabilities(model: RefinedTags) -> list[Floats]:
    return [model.initial, model.transitions, model.final, model.by_word.values]


def _rebuilt(model: RefinedTags, arrays: Sequence[Floats]) -> RefinedTags:
    initial, transitions, final, ratios = arrays
    mass = transitions.sum(axis=1) + final
    return replace(
        model,
        initial=initial / initial.sum(),
        transitions=transitions / mass[:, None],
        final=final / mass,
        by_word=Ratios(model.by_word.keys, ratios),
    )


def spectral_refinement(
    corpus: TaggedCorpus,
    n_states: int,
    n_iterations: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> RefinedTags:
    """Clusters, and a few over-relaxed iterations of EM from them."""
    counts = spectral_start(corpus, n_states, rng)
    start = estimate(corpus, softened(corpus, counts, CERTAINTY) if n_iterations else counts)
    return climb(corpus, start, n_iterations, over_relaxed(), progress=progress).latest


def random_refinement(
    corpus: TaggedCorpus,
    n_states: int,
    n_iterations: int,
    rng: np.random.Generator,
    progress: Progress = silent,
    last: RefinedTags | None = None,
) -> RefinedTags:
    """Random states, or those of a model of these words, and many iterations of EM."""
    start = last or estimate(corpus, random_start(corpus, n_states, rng), USUAL.softer())
    return climb(corpus, start, n_iterations, progress=progress).latest


def known_refinement(corpus: TaggedCorpus, last: RefinedTags, lexicon: TagLexicon) -> RefinedTags:
    """A model of other sentences, and of their lexicon, as EM on this corpus goes on from it.

    Words that are new to their tag begin with the ratios of their class.
    """
    tags = corpus.lexicon.tags
    if changed := set(tags) ^ set(lexicon.tags):
        names = ", ".join(sorted(changed)[:5])
        raise InputError(f"warm_start=True needs the tags of the last fit: {names} differ; fit without it")
    words = corpus.pair_keys // len(tags)
    found = last.ratios(lexicon, list(corpus.lexicon.words), words, corpus.pair_tags)
    return replace(last, by_word=Ratios(corpus.pair_keys, found))


def spectral_start(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> RefinedCounts:
    """Every token in the state of its cluster."""
    return count_states(corpus, *clustered_states(corpus, n_states, rng))


def random_start(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> RefinedCounts:
    """Every token in a random state of its tag."""
    states = state_starts(corpus, n_states)
    sizes = np.diff(states)[corpus.tags]
    return count_states(corpus, states, (rng.random(len(sizes)) * sizes).astype(np.int64))


def softened(corpus: TaggedCorpus, counts: RefinedCounts, certainty: float) -> RefinedCounts:
    """A share of the counts stays; the rest is spread over the states of each tag by their size."""
    states, tag_of = counts.states, counts.tag_of
    bigrams = counts.by_tag(counts.by_tag(counts.moves, 0), 1)
    sizes = counts.moves.sum(axis=0)
    within = sizes / np.bincount(tag_of, sizes)[tag_of]
    moves = bigrams[np.ix_(tag_of, tag_of)] * within[:, None] * within
    by_tag = np.zeros((corpus.lexicon.n_tags, counts.memberships.shape[1]))
    by_tag[tag_of[:-1], np.arange(len(within) - 1) - states[tag_of[:-1]]] = within[:-1]
    spread = counts.memberships.sum(axis=1, keepdims=True) * by_tag[corpus.pair_tags]
    return RefinedCounts(
        states,
        certainty * counts.moves + (1 - certainty) * moves,
        certainty * counts.memberships + (1 - certainty) * spread,
    )

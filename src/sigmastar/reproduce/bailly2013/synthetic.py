"""Figures 1 and 2 of Bailly et al. (2013): random grammars, the divergence against the number of strings.

A target has weights drawn from [0, 1], normalized to a PCFG that ends. Samples are exact: all strings of up
to `longest` symbols are enumerated with their probabilities, and counts drawn from the multinomial, so 10^9
strings cost what 10^3 do; EM gets every string, those beyond too. Of strings of three symbols the multinomial
runs over their two trees.

For strings of up to three symbols the matrix is the smallest of the paper (section 5.1):

    rows     <;>, <x;>, <;x>          columns  (y), (y, z)
    H(<;>, y) = p(y),   H(<;>, (y, z)) = H(<y;>, z) = H(<;z>, y) = p(yz),
    H(<x;>, (y, z)) = p(x (y z)),   H(<;z>, (x, y)) = p((x y) z)

Without brackets only the sum of the last two is known. The paper's scheme alternates between a projection on
what is known and a shrinkage of the singular values to the number of states, with the momentum of FISTA. The
grammar is read off by Lemma 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, composition_signature
from sigmastar.core.arrays import Floats
from sigmastar.core.progress import Progress
from sigmastar.core.recover import Blocks
from sigmastar.core.resources import thread_map
from sigmastar.grammars.learn.completion import CompletionPlan, learn_completion
from sigmastar.grammars.learn.em import EMSettings, RulePrior, learn_grammar_em
from sigmastar.grammars.learn.refinement import refine_grammar
from sigmastar.grammars.learn.spectral import grammar_of_blocks
from sigmastar.grammars.model.generators import random_grammar
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to
from sigmastar.optimise.proximal import singular_value_threshold
from sigmastar.reproduce.result import Unfinished

N_REFINEMENTS = 900
FLOOR = 1e-10
"""What a value of zero or below counts as: models by spectral methods are no distributions."""
COMPLETED = {2: 5, 6: 3}
"""By the size of the alphabet: completion sees strings of up to so many symbols, refinement all of them."""


@dataclass(frozen=True)
class Shape:
    """A figure: states and symbols of its targets, and how long the strings are that are compared."""

    figure: str
    n_states: int
    n_symbols: int
    longest: int
    em: bool


FIGURES = (Shape("figure 1", 2, 2, 10, True), Shape("figure 2", 3, 6, 5, False))


@dataclass(frozen=True, eq=False)
class Target:
    """A random grammar with the probabilities of all strings up to a length."""

    grammar: WeightedGrammar
    strings: Strings
    probabilities: Floats
    right: Floats  # of x (y z)
    left: Floats  # of (x y) z

    def divergence(self, model: WeightedGrammar) -> float:
        """KL between the two on the strings that are enumerated, each made to sum to one there."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.nan_to_num(model.value(self.strings), nan=0.0, posinf=0.0)
        found = np.maximum(values, FLOOR)
        p = self.probabilities / self.probabilities.sum()
        return float(p @ (np.log(p) - np.log(found / found.sum())))


class Sample(NamedTuple):
    """Counts of the strings that are enumerated, and frequencies of the short ones by tree."""

    n_strings: int
    counts: Floats
    short: ShortCounts


class Point(NamedTuple):
    """One learner on one sample of one target."""

    figure: str
    learner: str
    target: int
    n_strings: int
    divergence: float
    seconds: float


def make_target(shape: Shape, rng: np.random.Generator) -> Target:
    grammar = random_grammar(shape.n_states, shape.n_symbols, rng)
    strings, probabilities = grammar_values_up_to(grammar, shape.longest)
    return Target(grammar, strings, probabilities, *_trees_of_three(grammar))


def _trees_of_three(grammar: WeightedGrammar) -> tuple[Floats, Floats]:
    pairs = np.einsum("ijk,yj,zk->yzi", grammar.composition, grammar.words, grammar.words)
    right = np.einsum("i,ijk,xj,yzk->xyz", grammar.initial, grammar.composition, grammar.words, pairs)
    left = np.einsum("i,ijk,xyj,zk->xyz", grammar.initial, grammar.composition, pairs, grammar.words)
    return right, left


def draw(target: Target, n_strings: int, rng: np.random.Generator) -> Sample:
    """Counts of a sample of `n_strings`; what is longer than all that is enumerated is one cell more."""
    p = target.probabilities
    counts = rng.multinomial(n_strings, np.append(p, max(1.0 - p.sum(), 0.0)))[:-1].astype(float)
    n = len(target.grammar.alphabet)
    ones, twos = counts[:n], counts[n : n + n * n].reshape(n, n)
    threes = counts[n + n * n : n + n * n + n**3].reshape(n, n, n)
    share = target.right / np.maximum(target.right + target.left, 1e-300)
    right = rng.binomial(threes.astype(np.int64), share).astype(float)
    scaled = (part / n_strings for part in (ones, twos, right, threes - right))
    return Sample(n_strings, counts, ShortCounts(target.grammar.alphabet, *scaled))


Learner = Callable[[Target, Sample, int, np.random.Generator], WeightedGrammar]


def supervised(target: Target, sample: Sample, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    return grammar_of(bracketed_matrix(sample.short), target.grammar.alphabet, n_states)


def paper_scheme(target: Target, sample: Sample, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    """Alternating projections and shrinkage, fifty times, on strings of up to three symbols."""
    short = np.flatnonzero(target.strings.lengths <= 3)
    return learn_by_projections(target.strings.select(short), n_states, sample.counts[short])


def nuclear(target: Target, sample: Sample, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    """Completion on the closure of the short strings seen, without refinement."""
    longest = COMPLETED[len(target.grammar.alphabet)]
    seen = np.flatnonzero((sample.counts > 0) & (target.strings.lengths <= longest))
    plan = CompletionPlan(longest, refinement_max_iter=0, n_strings=float(sample.n_strings))
    strings = target.strings.select(seen)
    return learn_completion(strings, n_states, plan, weights=sample.counts[seen]).grammar


def refined(target: Target, sample: Sample, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    """Completion, then L-BFGS on the frequencies of all strings that are enumerated."""
    start = nuclear(target, sample, n_states, rng)
    n, seen = float(sample.n_strings), np.flatnonzero(sample.counts > 0)
    strings, frequencies = target.strings.select(seen), sample.counts[seen] / n
    return refine_grammar(start, strings, frequencies, n, N_REFINEMENTS)


def em(target: Target, sample: Sample, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    """Inside-outside on a sample of all lengths (200 iterations, the best of five starts)."""
    strings = target.grammar.sample(sample.n_strings, rng, max_length=200)
    settings = EMSettings(200, 5, RulePrior(), tolerance=1e-7)
    return learn_grammar_em(strings, n_states, rng, settings=settings).grammar


LEARNERS: Mapping[str, Learner] = {
    "supervised spectral": supervised,
    "the paper's scheme": paper_scheme,
    "nuclear norm": nuclear,
    "nuclear norm, refined": refined,
    "EM": em,
}


@dataclass(frozen=True)
class Plan:
    """How much of a figure to make: for each learner how many targets, and up to how many strings."""

    sizes: tuple[int, ...]
    n_targets: Mapping[str, int]
    most_strings: Mapping[str, int]


def points(
    shape: Shape,
    plan: Plan,
    seed: int,
    progress: Progress,
    kept: Unfinished,
) -> list[Point]:
    """Every learner on every sample that the plan asks for, targets side by side on all cores."""
    n_targets, done = max(plan.n_targets.values()), count(1)

    def of_target(number: int) -> list[Point]:
        key = f"{shape.figure}, target {number}"
        found = kept.rows(key, Point, lambda: _of_target(shape, plan, seed, number))
        progress(shape.figure, next(done) / n_targets)
        return found

    return list(chain.from_iterable(thread_map(of_target, range(n_targets))))


def _of_target(shape: Shape, plan: Plan, seed: int, number: int) -> Iterator[Point]:
    """All samples of one target; a sample is the same for all learners."""
    target = make_target(shape, np.random.default_rng([seed, shape.n_states, number]))
    for n_strings in plan.sizes:
        sample = draw(target, n_strings, np.random.default_rng([seed, number, n_strings]))
        for name in _asked(shape, plan, number, n_strings):
            yield _point(shape, name, number, target, sample, seed)


def _asked(shape: Shape, plan: Plan, number: int, n_strings: int) -> Sequence[str]:
    return [
        name
        for name in LEARNERS
        if number < plan.n_targets.get(name, 0)
        and n_strings <= plan.most_strings.get(name, n_strings)
        and (shape.em or name != "EM")
    ]


def _point(shape: Shape, name: str, number: int, target: Target, sample: Sample, seed: int) -> Point:
    rng = np.random.default_rng([seed, number, sample.n_strings, len(name)])
    begin = time.thread_time()
    try:
        model = LEARNERS[name](target, sample, shape.n_states, rng)
    except ValueError:  # a sample too small for its rank: there is no such grammar
        model = None
    seconds = time.thread_time() - begin
    divergence = float("inf") if model is None else target.divergence(model)
    return Point(shape.figure, name, number, sample.n_strings, divergence, seconds)


def geometric_means(points: Sequence[Point]) -> dict[tuple[str, str, int], tuple[float, int, float]]:
    """Of each figure, learner and size: the geometric mean, the number of targets, the mean seconds."""
    groups: dict[tuple[str, str, int], list[Point]] = {}
    for point in points:
        groups.setdefault((point.figure, point.learner, point.n_strings), []).append(point)
    return {
        key: (
            float(np.exp(np.mean(np.log([max(p.divergence, 1e-300) for p in group])))),
            len(group),
            float(np.mean([p.seconds for p in group])),
        )
        for key, group in groups.items()
    }


@dataclass(frozen=True, eq=False)
class ShortCounts:
    """Frequencies of strings of one, two and three symbols; of the last by tree: (x, yz) and (xy, z)."""

    alphabet: Alphabet
    ones: Floats  # symbols
    twos: Floats  # symbols x symbols
    right: Floats  # x (y z)
    left: Floats  # (x y) z


def bracketed_matrix(counts: ShortCounts) -> Floats:
    """The matrix where brackets are seen."""
    n = len(counts.ones)
    matrix = np.zeros((1 + 2 * n, n + n * n))
    _fill(matrix, counts.ones, counts.twos)
    matrix[1 : n + 1, n:] = counts.right.reshape(n, -1)
    matrix[n + 1 :, n:] = counts.left.transpose(2, 0, 1).reshape(n, -1)
    return matrix


def grammar_of(matrix: Floats, alphabet: Alphabet, n_states: int) -> WeightedGrammar:
    """Lemma 1 on a basis of single symbols, through the common core."""
    n, signature = len(alphabet), composition_signature(alphabet)
    word, compose = signature.operations
    block = matrix[:, :n]
    slices = {word: np.ascontiguousarray(block.T), compose: matrix[:, n:].reshape(1, -1, n, n)}
    return grammar_of_blocks(Blocks(signature, {"span": block}, slices, {"span": block[0]}), n_states)


def learn_by_projections(
    strings: Strings, n_states: int, weights: Floats | None = None, n_steps: int = 50
) -> WeightedGrammar:
    """Alternate projections and shrinkage, then recover a grammar."""
    frequencies = _frequencies(strings, np.ones(len(strings)) if weights is None else np.asarray(weights))
    n = len(strings.alphabet)
    before = now = _projected(np.zeros((1 + 2 * n, n + n * n)), *frequencies)
    momentum = 1.0
    for _ in range(n_steps):
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = now + (momentum - 1.0) / following * (now - before)
        before, now, momentum = now, _projected(_shrunk(ahead, n_states), *frequencies), following
    return grammar_of(now, strings.alphabet, n_states)


def _frequencies(strings: Strings, weights: Floats) -> list[Floats]:
    """Relative frequencies of strings of one, two and three symbols."""
    tables, n = [], len(strings.alphabet)
    for length in (1, 2, 3):
        chosen = np.flatnonzero(strings.lengths == length)
        codes = strings.codes[strings.offsets[chosen][:, None] + np.arange(length)]
        table = np.zeros((n,) * length)
        np.add.at(table, tuple(codes.T), weights[chosen] / weights.sum())
        tables.append(table)
    return tables


def _fill(matrix: Floats, ones: Floats, twos: Floats) -> None:
    """The entries that strings of one and two symbols determine."""
    n = len(ones)
    matrix[0, :n], matrix[0, n:] = ones, twos.ravel()
    matrix[1 : n + 1, :n], matrix[n + 1 :, :n] = twos, twos.T


def _projected(matrix: Floats, ones: Floats, twos: Floats, threes: Floats) -> Floats:
    """The nearest matrix that agrees with the frequencies."""
    n, known = len(ones), matrix.copy()
    _fill(known, ones, twos)
    right = known[1 : 1 + n, n:].reshape(n, n, n)  # x (y z), by x, y, z
    left = known[1 + n :, n:].reshape(n, n, n).transpose(1, 2, 0)  # (x y) z, by x, y, z
    gap = (threes - right - left) / 2.0
    known[1 : 1 + n, n:] = (right + gap).reshape(n, -1)
    known[1 + n :, n:] = (left + gap).transpose(2, 0, 1).reshape(n, -1)
    return known


def _shrunk(matrix: Floats, n_states: int) -> Floats:
    """Take the first singular value that is too many off all, and leave the states."""
    values = np.linalg.svd(matrix, compute_uv=False)
    threshold = float(values[n_states]) if len(values) > n_states else 0.0
    return singular_value_threshold(matrix, threshold).matrix

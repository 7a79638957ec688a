"""Tables 1 and 2 of Bailly et al. (2013): sizes of the problem on tag strings, and how well it is fitted.

The paper has the WSJ10 corpus; here there are the short sentences of the WSJ sample, and a larger corpus
drawn from a grammar learned on them. All rows are completed, where the paper stops after the sixth.

A basis (section 5.3) has the most frequent contexts of a sample for outsides and its most frequent substrings
for insides; a string is generated if it can be cut into such an outside around an inside, or around two.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.progress import Progress
from sigmastar.grammars.counts.closed_hankel import closed_hankel
from sigmastar.grammars.data.substrings import Substrings, distinct_strings
from sigmastar.grammars.learn.completion import CompletionPlan, complete_hankel, extract, learn_completion
from sigmastar.grammars.learn.em import EMSettings, RulePrior, learn_grammar_em
from sigmastar.grammars.learn.refinement import refine_grammar
from sigmastar.grammars.learn.starts import named_start
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import total_mass
from sigmastar.reproduce.corpora import read_wsj
from sigmastar.reproduce.result import Unfinished, timed

BASES = (
    (1, 11), (6, 14), (12, 18), (18, 22), (24, 26), (30, 29),
    (36, 34), (42, 37), (48, 41), (54, 45), (60, 48),
)  # fmt: skip
STATES = (5, 10, 15, 20)
N_SYNTHETIC = 7422  # sentences of the whole WSJ10
PENALTY = 0.02


class Corpus(NamedTuple):
    """Distinct strings with their frequencies."""

    name: str
    n_strings: int
    strings: Strings
    frequencies: Floats

    @classmethod
    def of(cls, name: str, strings: Strings) -> Corpus:
        distinct, counts = distinct_strings(strings)
        return cls(name, len(strings), distinct, counts / len(strings))


class Problem(NamedTuple):
    """A row of tables 1 and 2."""

    corpus: str
    basis: tuple[int, int]
    shape: tuple[int, int]
    n_observed: int
    n_constraints: int
    seconds: float  # of completion
    n_steps: int
    rank: int
    peak_gb: float  # of the whole process so far
    errors: dict[int, float]  # expected L1 on the training strings by number of states, nuclear norm alone
    refined: dict[int, float]


def corpora(folder: Path, quick: bool, seed: int) -> list[Corpus]:
    """The short sentences of the sample, and a corpus drawn from a grammar of them."""
    wsj = read_wsj(folder, ("train",)).strings
    rng = np.random.default_rng(seed)
    settings = EMSettings(15, prior=RulePrior(0.1, 5.0))
    fit = learn_grammar_em(wsj, 12, rng, named_start("cca"), settings)
    drawn = fit.grammar.sample(60_000, rng, max_length=60)
    short = np.flatnonzero(drawn.lengths <= 10)[: N_SYNTHETIC // (8 if quick else 1)]
    return [Corpus.of("WSJ sample", wsj), Corpus.of("drawn", drawn.select(short))]


def problems(
    corpus: Corpus, bases: Sequence[tuple[int, int]], refine: bool, progress: Progress, kept: Unfinished
) -> Iterator[Problem]:
    """Sizes, completion and errors for every basis."""
    for number, basis in enumerate(bases):
        progress(f"{corpus.name}, basis {basis[0]} x {basis[1]}", number / len(bases))
        make = partial(_problem, corpus, basis, refine and number == len(bases) - 1)
        yield from kept.rows(f"{corpus.name}, {basis}", _restored, lambda make=make: [make()])  # type: ignore[misc]


def _restored(corpus: str, basis: list[int], shape: list[int], *rest: Any) -> Problem:
    """A row as it was before it went through JSON."""
    *numbers, errors, refined = rest
    tables = [{int(n): value for n, value in table.items()} for table in (errors, refined)]
    return Problem(corpus, (basis[0], basis[1]), (shape[0], shape[1]), *numbers, *tables)


def _problem(corpus: Corpus, basis: tuple[int, int], refine: bool) -> Problem:
    kept = basis_yields(corpus.strings, corpus.frequencies, *basis)
    strings, frequencies = corpus.strings.select(kept), corpus.frequencies[kept]
    hankel = closed_hankel(strings, frequencies)
    largest = max(STATES)
    completed, seconds = timed(lambda: complete_hankel(hankel, min(largest, min(hankel.shape)), PENALTY))
    errors, refined = {}, {}
    for n_states in STATES:
        if n_states > completed.rank:
            continue
        try:
            grammar = extract(hankel, completed.triples, n_states)
        except ValueError:  # the block without open operations has a smaller rank
            continue
        errors[n_states] = _expected_l1(grammar, corpus)
        if refine:
            better = refine_grammar(grammar, corpus.strings, corpus.frequencies, corpus.n_strings, 600)
            refined[n_states] = _expected_l1(better, corpus)
    return Problem(
        corpus.name,
        basis,
        hankel.shape,
        len(kept),
        hankel.n_constraints,
        seconds,
        len(completed.objectives),
        completed.rank,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        errors,
        refined,
    )


def _expected_l1(grammar: WeightedGrammar, corpus: Corpus) -> float:
    """sum over training strings x of p(x) |p(x) - f(x)|."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.nan_to_num(grammar.value(corpus.strings), nan=0.0, posinf=1e6, neginf=-1e6)
    return float(corpus.frequencies @ np.abs(corpus.frequencies - values))


class HeldOut(NamedTuple):
    """How a model of the training sentences does on others."""

    learner: str
    mass: float  # of all strings; nan where it is infinite or was not found
    train: float | None  # mean log-probability of the strings that have one; None where the mass is not 1
    train_impossible: int
    held_out: float | None
    impossible: int
    n_held_out: int


def held_out(folder: Path, n_states: int, longest: int, seed: int) -> Iterator[HeldOut]:
    """Completion, which fits frequencies, and EM from a good start, on sentences not trained on."""
    train, test = read_wsj(folder, ("train",)).strings, read_wsj(folder, ("dev", "test")).strings
    plan = CompletionPlan(longest, max_iter=30, refinement_max_iter=100)
    fit = learn_completion(train, n_states, plan)
    yield _judged("completion, refined", fit.grammar, train, test)
    for start in ("random", "cca"):
        settings = EMSettings(20, prior=RulePrior(0.1, 5.0))
        em = learn_grammar_em(train, n_states, np.random.default_rng(seed), named_start(start), settings)
        yield _judged(f"EM, {start} start, 20 iterations", em.grammar, train, test)


def _judged(learner: str, grammar: WeightedGrammar, train: Strings, test: Strings) -> HeldOut:
    """Values of a grammar whose mass is not 1 are no probabilities, and are not set beside some."""
    mass = mass_of(grammar)
    logs = [grammar.log_probability(part) for part in (train, test)]
    proper = abs(mass - 1.0) < 1e-6
    means = [float(part[np.isfinite(part)].mean()) if proper else None for part in logs]
    lost = [int((~np.isfinite(part)).sum()) for part in logs]
    return HeldOut(learner, mass, means[0], lost[0], means[1], lost[1], len(test))


def mass_of(grammar: WeightedGrammar) -> float:
    """The sum over all strings, nan where there is none."""
    try:
        return total_mass(grammar)
    except ValueError:
        return float("nan")


def basis_yields(strings: Strings, counts: Floats, n_outsides: int, n_insides: int) -> Int64s:
    """The numbers of the distinct strings that the most frequent outsides and insides generate."""
    table = Substrings.of(strings)
    spans = [_spans(table, strings, length) for length in np.unique(strings.lengths).tolist()]
    inside = np.concatenate([part[1].ravel() for part in spans])
    outside = np.concatenate([part[2].ravel() for part in spans])
    weights = np.concatenate([np.repeat(counts[part[0]], part[1].shape[1]) for part in spans])
    good_inside = np.zeros(table.n_nodes, bool)
    good_inside[_heaviest(inside, weights, n_insides, np.arange(table.level_starts[1]))] = True
    outsides = np.sort(_heaviest(outside, weights, n_outsides, np.zeros(1, np.int64)))  # 0: the bare hole
    kept = []
    for chosen, _, contexts, whole in spans:
        length = whole.shape[1] - 1
        reached = good_inside[whole] & (whole >= 0)
        cut = reached.copy()  # span (i, j) is an inside, or two of them
        for i in range(length):
            for j in range(i + 2, length + 1):
                cut[:, i, j] |= (reached[:, i, i + 1 : j] & reached[:, i + 1 : j, j]).any(axis=1)
        first, last = np.triu_indices(length + 1, 1)
        known = np.isin(contexts, outsides)
        kept.append(chosen[(known & cut[:, first, last]).any(axis=1)])
    return np.sort(np.concatenate(kept))


def _spans(table: Substrings, strings: Strings, length: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Strings of a length; the insides and the keys of the outsides of their spans; insides by (i, j)."""
    chosen = np.flatnonzero(strings.lengths == length)
    i, j = np.triu_indices(length + 1, 1)
    whole = np.full((len(chosen), length + 1, length + 1), -1, dtype=np.int64)
    whole[:, i, j] = table.at(strings.offsets[chosen][:, None] + i, (j - i)[None, :])
    size = table.n_nodes + 1
    contexts = (whole[:, 0, i] + 1) * size + whole[:, j, length] + 1
    return chosen, whole[:, i, j], contexts, whole


def _heaviest(numbers: Int64s, weights: Floats, size: int, always: Int64s) -> Int64s:
    """The `size` heaviest of the numbers, those that always stand among them."""
    values, position = np.unique(numbers, return_inverse=True)
    totals = np.bincount(position, weights)
    totals[np.isin(values, always)] = np.inf
    return values[np.argsort(-totals, kind="stable")[: max(size, len(always))]]

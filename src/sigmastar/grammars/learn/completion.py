"""Weighted grammars from bare strings: complete the Hankel matrix, extract a grammar, refine it.

Bailly et al. (2013), section 4, with yields solved exactly and the matrix held as low rank: the programme
that the paper could run on 20,000 x 8,500 entries takes seconds at ten times that size. A grammar is read off
as `core.recover` does (Lemma 1), by least squares: with H ~ P S where nothing is open,

    initial = h S^+,  words[a] = P^+ h_a,  A = argmin sum over cuts |P^+ h_(y,z) - A (s_y (x) s_z)|^2 + ridge

A pair (y, z) has a column only where y z occurs, so A is a regression and not a product of inverses;
columns keep their sizes (dividing by them lets rare strings, which are noise, decide).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from sigmastar.automata.data.strings import Strings, joined
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.grammars.counts.closed_hankel import ClosedHankel, closed_hankel
from sigmastar.grammars.data.substrings import distinct_strings, held_counts, within_length
from sigmastar.grammars.learn.refinement import refine_grammar
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.optimise.completion import (
    AffineEntries,
    Completion,
    CompletionSettings,
    largest_penalty,
    proximal,
)
from sigmastar.optimise.factored import triples_of_product
from sigmastar.optimise.proximal import Thresholded
from sigmastar.optimise.solvers import SolverStep

TOLERANCE = 1e-5
"""Of the completion, relative to its objective."""
SMALLER = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Factors of the penalty that are tried until the rank allows the states."""
MOST_COMPLETED = 8
"""States that evidence is looked for, at most."""
_CELLS = 4_000_000


@dataclass(frozen=True)
class CompletionPlan:
    """How to complete and refine."""

    max_length: int = 10  # longer strings are left out
    penalty: float = 0.005  # weight of the nuclear norm, relative to the one that makes the matrix zero
    max_iter: int = 60  # steps of the completion
    refinement_max_iter: int = 600  # steps of L-BFGS on the grammar; 0: no refinement
    n_strings: float | None = None  # the size of the corpus, where its long strings were left out before


USUAL = CompletionPlan()


@dataclass(frozen=True, eq=False)
class CompletionFit:
    """The grammar, the matrix that it was read off, and what was seen of the corpus."""

    grammar: WeightedGrammar
    extracted: WeightedGrammar  # before refinement
    hankel: ClosedHankel
    completed: Completion
    cut_off: float  # the share of the strings that were too long

    @property
    def violation(self) -> float:
        """How far the completed matrix is from the equations, relative to its entries."""
        return _entries(self.hankel).violation(self.completed.triples)


def learn_completion(
    strings: Strings,
    n_states: int,
    plan: CompletionPlan = USUAL,
    *,
    weights: Floats | None = None,
    progress: Progress = silent,
) -> CompletionFit:
    """A grammar of signed weights; its states are fewer where the rank of the matrix allows no more."""
    seen, counts, cut_off = within_length(strings, weights, plan.max_length)
    distinct, counts = distinct_strings(seen, counts)
    total = plan.n_strings or counts.sum() / (1.0 - cut_off)
    cut_off = 1.0 - counts.sum() / total
    frequencies = counts / total
    hankel = closed_hankel(distinct, frequencies)
    completed = complete_hankel(hankel, n_states, plan.penalty, plan.max_iter, stage(progress, 0.0, 0.5))
    rank = closed_triples(hankel, completed.triples).rank
    if rank < n_states:
        progress(f"{rank} states in place of {n_states}: the completed matrix has no higher rank")
    extracted = grammar = extract(hankel, completed.triples, min(n_states, rank))
    if n_steps := plan.refinement_max_iter:
        rest = stage(progress, 0.5, 1.0)
        grammar = refine_grammar(extracted, distinct, frequencies, total, n_steps, rest)
    return CompletionFit(grammar, extracted, hankel, completed, cut_off)


def complete_hankel(
    hankel: ClosedHankel,
    n_states: int,
    penalty: float = USUAL.penalty,
    max_iter: int = USUAL.max_iter,
    progress: Progress = silent,
) -> Completion:
    """Solve the nuclear-norm programme, with smaller penalties until the rank allows the states."""
    entries = _entries(hankel)
    largest = largest_penalty(entries)

    def watch(step: SolverStep) -> bool:
        rank = step.weights[0].shape[1]
        message = f"completion, step {step.iteration}: objective {step.objective:.4g}, rank {rank}"
        progress(message, min(step.iteration / max_iter, 1.0))
        return False

    for factor in SMALLER:
        weight, most = factor * penalty * largest, max(60, 2 * n_states)
        settings = CompletionSettings(weight, most, max_iter, TOLERANCE, watch)
        found = proximal(entries, settings, np.random.default_rng(0))
        if found.rank >= n_states:
            break
    return found


def _entries(hankel: ClosedHankel) -> AffineEntries:
    return AffineEntries(hankel.shape, hankel.rows, hankel.columns, hankel.residual)


def closed_triples(hankel: ClosedHankel, matrix: Thresholded) -> Thresholded:
    """The singular triples of the part of a completed matrix where nothing is open."""
    if not matrix.rank:
        raise ValueError("nothing could be completed: all strings are alike, or the penalty is too large")
    outside = matrix.left[: hankel.n_outsides] * matrix.singular_values
    return triples_of_product(outside, matrix.right[: hankel.n_insides], relative=1e-12)


def extract(hankel: ClosedHankel, matrix: Thresholded, n_states: int, ridge: float = 1e-6) -> WeightedGrammar:
    """The grammar with `n_states` states whose Hankel matrix is closest to a completed one."""
    closed = closed_triples(hankel, matrix)
    if n_states > closed.rank:
        raise ValueError(
            f"n_states={n_states} exceeds the rank {closed.rank} of the completed matrix; "
            f"use n_states<={closed.rank} or a smaller penalty"
        )
    left, values = closed.left[:, :n_states], closed.singular_values[:n_states]
    right = closed.right[:, :n_states]
    outside = matrix.left[: hankel.n_outsides] * matrix.singular_values
    # P^+ of any column of the matrix is a linear map of that column's coordinates
    to_states = (left / values).T @ outside
    root = (outside[0] @ matrix.right[: hankel.n_insides].T) @ right
    n_words = int(hankel.table.level_starts[1])
    words = np.zeros((len(hankel.table.strings.alphabet), n_states))
    words[hankel.table.word_codes] = right[:n_words]
    cuts = matrix.right[hankel.n_insides :] @ to_states.T
    return WeightedGrammar(
        hankel.table.strings.alphabet, root, words, _composition(hankel, right, cuts, ridge)
    )


def _composition(hankel: ClosedHankel, insides: Floats, cuts: Floats, ridge: float) -> Floats:
    n = insides.shape[1]
    gram, target = np.zeros((n * n, n * n)), np.zeros((n * n, n))
    room = max(1, _CELLS // n**2)
    for low in range(0, len(cuts), room):
        part = slice(low, low + room)
        lefts, rights = insides[hankel.cut_left[part]], insides[hankel.cut_right[part]]
        pairs = (lefts[:, :, None] * rights[:, None, :]).reshape(len(lefts), n * n)
        gram += pairs.T @ pairs
        target += pairs.T @ cuts[part]
    gram += ridge * max(float(np.trace(gram)) / (n * n), 1e-300) * np.eye(n * n)
    solved = linalg.solve(gram, target, assume_a="pos")
    return solved.T.reshape(n, n, n)


def completed_or_none(
    strings: Strings, n_states: int, plan: CompletionPlan, weights: Floats | None, progress: Progress
) -> CompletionFit | None:
    """The completed grammar; None where all strings are too long or alike."""
    try:
        return learn_completion(strings, n_states, plan, weights=weights, progress=progress)
    except (InputError, ValueError) as problem:
        progress(f"no start by completion: {problem}")
        return None


def completion_evidence(
    strings: Strings, plan: CompletionPlan, rng: np.random.Generator, weights: Floats | None
) -> dict[int, float]:
    """By number of states: less the squared distance of completed values to held-out frequencies."""
    every = distinct_strings(*within_length(strings, weights, plan.max_length)[:2])
    kept, held = held_counts(*every, rng)
    if held is None:
        return {}
    fit = learn_completion(kept[0], MOST_COMPLETED, replace(plan, refinement_max_iter=0), weights=kept[1])
    union, counts = distinct_strings(
        joined(kept[0], held[0]), np.concatenate([np.zeros(len(kept[0])), held[1]])
    )
    frequencies = counts / counts.sum()
    grammars = {n: extract(fit.hankel, fit.completed.triples, n) for n in range(1, fit.grammar.n_states + 1)}
    return {n: -float(((g.value(union) - frequencies) ** 2).sum()) for n, g in grammars.items()}

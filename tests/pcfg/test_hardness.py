"""The reduction from 3-SAT against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.formulas import Formula
from sigmastar.pcfg.learn import Ascent, learn_em, random_start
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.theory.hardness import (
    THRESHOLD,
    assignment_of,
    best_likelihood,
    parameters_of,
    reduce_formula,
    satisfying_rows,
    search_rows,
)


def random_formula(rng, n_variables: int, n_clauses: int) -> Formula:
    literals = rng.integers(1, n_variables + 1, (n_clauses, 3)) * rng.choice([-1, 1], (n_clauses, 3))
    return Formula(n_variables, tuple(tuple(map(int, clause)) for clause in literals))


def brute_force(formula: Formula) -> list[bool] | None:
    """A satisfying assignment by trying all, or None."""
    trials = product((False, True), repeat=formula.n_variables)
    return next((list(trial) for trial in trials if formula.holds(trial)), None)


def formulas() -> list[Formula]:
    """Random ones of all sizes, and unsatisfiable ones, which are rare among them."""
    rng = np.random.default_rng(0)
    sizes = list(product(range(1, 6), range(1, 9))) * 25
    tight = [
        tuple(s * v for s, v in zip(signs, (1, 2, 3), strict=True)) for signs in product((1, -1), repeat=3)
    ]
    missing = [Formula(3, tuple(tight[:k] + tight[k + 1 :])) for k in range(8)]
    return [random_formula(rng, *size) for size in sizes] + [Formula(3, tuple(tight)), *missing]


def test_best_likelihood_decides_satisfiability():
    tried = formulas()
    assert len(tried) >= 1000
    answers = [brute_force(formula) is not None for formula in tried]
    assert 50 < sum(answers) < len(tried) - 50
    for formula, satisfiable in zip(tried, answers, strict=True):
        best = best_likelihood(formula)
        assert best == pytest.approx(1.0) if satisfiable else best <= 1 / 16


def test_satisfying_assignments_reach_the_threshold_and_are_read_back():
    for formula in formulas()[::10]:
        assignment = brute_force(formula)
        if assignment is None:
            continue
        reduction = reduce_formula(formula)
        string = Strings.of([reduction.string])
        for margin in (0.0, 1 / (20 * len(formula.clauses) + 1)):
            model = ProbabilisticCFG(reduction.grammar, parameters_of(reduction, assignment, margin))
            likelihood = np.exp(model.log_probability(string)[0])
            assert likelihood == pytest.approx(1) if margin == 0 else likelihood > 0.5 > THRESHOLD
            (tree,) = model.best_trees(string)
            assert tree is not None
            assert formula.holds(assignment_of(tree, formula.n_variables))


def test_no_ascent_passes_the_best_likelihood():
    """The formula for the optimum against EM on the real grammar, of an unsatisfiable formula."""
    formula = Formula(1, ((1, 1, 1), (-1, -1, -1), (1, 1, 1)))
    reduction = reduce_formula(formula)
    string, model = Strings.of([reduction.string]), ProbabilisticCFG.of_weights(reduction.grammar)
    best = best_likelihood(formula)
    reached = []
    for seed in range(6):
        start = random_start(model, np.random.default_rng(seed))
        fit = learn_em([start], string, 0.0, ascent=Ascent(max_iter=200, tolerance=1e-12))
        reached.append(np.exp(fit.objectives[-1]))
    assert max(reached) <= best * (1 + 1e-9)
    assert max(reached) == pytest.approx(best, rel=1e-4)
    assert best <= 1 / 16


def test_clauses_have_at_most_three_literals():
    assert len(satisfying_rows((1, 2, 3))) == 7
    assert satisfying_rows((1,)) == [((1, True), (1, True), (1, True))]
    assert len(satisfying_rows((1, -1, 2))) == 4
    with pytest.raises(InputError, match="one to three literals"):
        reduce_formula(Formula(4, ((1, 2, 3, 4),)))
    with pytest.raises(InputError, match="without clauses"):
        reduce_formula(Formula(1, ()))


def test_the_search_gives_an_assignment_or_says_that_it_was_ended():
    for formula in formulas()[::10]:
        found = search_rows(formula)
        assert found.is_best
        assert found.satisfiable == (brute_force(formula) is not None)
        if found.satisfiable:
            assert formula.holds(found.assignment(formula.n_variables))
    never = formulas()[-9]  # all eight clauses over three variables
    ended = search_rows(never, 20)
    assert (ended.satisfiable, ended.is_best) == (None, False)
    assert 0 < ended.likelihood <= best_likelihood(never) <= 1 / 16


def test_a_thousand_clauses_are_searched():
    """Depth is no matter of Python's stack."""
    found = search_rows(Formula(1200, tuple((v, -(v % 1200) - 1, v) for v in range(1, 1201))))
    assert found.satisfiable

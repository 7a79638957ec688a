from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.trees.counts import exact_tree_blocks, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.learn import learn_tree_automaton, tree_automaton
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.generators import make_tree_automaton


def draw(truth: TreeAutomaton, n: int, seed: int) -> RankedTrees:
    drawn = truth.sample(n, np.random.default_rng(seed))
    return RankedTrees.of(drawn, truth.alphabet)


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize(("seed", "ternary"), [(0, ""), (1, ""), (2, ""), (0, "t"), (1, "tv")])
def test_exact_statistics_give_the_automaton_back(anchored, seed, ternary):
    truth = make_tree_automaton(3, np.random.default_rng(seed), ternary=ternary)
    basis = frequent_trees(draw(truth, 500, seed), 60, 60, 3, anchored)
    counted = truth if anchored else truth.subtree_function()
    blocks = exact_tree_blocks(basis, counted.operators)
    whole = exact_tree_blocks(basis, truth.operators).roots["tree"]
    found = tree_automaton(blocks, 3, whole)
    fresh = draw(truth, 50, seed + 10)
    np.testing.assert_allclose(found.value(fresh), truth.value(fresh), rtol=1e-9)
    assert found.alphabet == truth.alphabet
    assert found.total_mass() == pytest.approx(1.0, abs=1e-8)


def test_more_trees_bring_the_automaton_nearer():
    truth = make_tree_automaton(2, np.random.default_rng(3))
    small = [Tree("f", (a, b)) for a in "abc" for b in "abc"]
    errors = []
    for n in (1_000, 15_000):
        found = learn_tree_automaton(draw(truth, n, 5), 2)
        errors.append(float(np.abs(found.value(small) - truth.value(small)).sum()))
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.1 * truth.value(small).sum()


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="no trees"):
        learn_tree_automaton(RankedTrees.of([]), 2)


def test_trees_with_three_children_are_learned():
    truth = make_tree_automaton(2, np.random.default_rng(0), ternary="t")
    threes = [Tree("t", (a, b, c)) for a in "abc" for b in "abc" for c in "abc"]
    found = learn_tree_automaton(draw(truth, 15_000, 1), 2)
    off = float(np.abs(found.value(threes) - truth.value(threes)).sum())
    assert off < 0.15 * truth.value(threes).sum()


def test_nodes_that_are_too_wide_for_so_many_states():
    wide = RankedTrees.of([Tree("f", tuple("ab" * 8))])
    with pytest.raises(InputError, match=r"16 children need 1 x 5\^17 numbers.*--states"):
        learn_tree_automaton(wide, 5)

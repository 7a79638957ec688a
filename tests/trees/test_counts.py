from __future__ import annotations

import numpy as np
import pytest

from oracles_trees import context_counts
from sigmastar.trees.counts import TreeBasis, count_trees, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.generators import make_tree_automaton


def sample(n: int, seed: int = 0) -> list[Tree | str]:
    rng = np.random.default_rng(seed)
    return make_tree_automaton(2, rng).sample(n, rng)


def named_insides(basis: TreeBasis) -> list[Tree | str]:
    built: list[Tree | str] = []
    for rank, symbol, left, right in basis.insides.tolist():
        name = basis.alphabet.ranks[rank].symbols[symbol]
        below = tuple(built[child] for child in (left, right) if child >= 0)
        built.append(Tree(name, below) if rank else name)
    return built


def named_outsides(basis: TreeBasis) -> list[tuple]:
    insides, built = named_insides(basis), [()]
    for side, symbol, outer, sibling in basis.outsides.tolist()[1:]:
        name = basis.alphabet.ranks[2 if side else 1].symbols[symbol]
        built.append(((name, side, insides[sibling] if side else None), *built[outer]))
    return built


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize("sizes", [(40, 30, 2), (1000, 1000, 3), (5, 4, 1)])
def test_counts_by_walking_over_all_trees(anchored, sizes):
    trees = sample(150)
    ranked = RankedTrees.of(trees)
    basis = frequent_trees(ranked, *sizes, anchored)
    insides, outsides = named_insides(basis), named_outsides(basis)
    assert len(set(insides)) == len(insides) <= sizes[1]
    assert len(set(outsides)) == len(outsides) <= sizes[0]
    met = context_counts(trees, sizes[2], anchored)
    blocks = count_trees(ranked, basis).blocks()
    expected = np.array([[met[o, i] for i in insides] for o in outsides]) / len(trees)
    np.testing.assert_allclose(blocks.matrices["tree"].toarray(), expected)
    np.testing.assert_allclose(blocks.roots["tree"], expected[0])
    binary = blocks.signature.operation("binary")
    found = blocks.slices[binary].toarray()
    rng = np.random.default_rng(0)
    for _ in range(300):
        code, o, a, b = (rng.integers(size) for size in found.shape)
        tree = Tree(binary.alphabet.symbols[code], (insides[a], insides[b]))
        assert found[code, o, a, b] == pytest.approx(met[outsides[o], tree] / len(trees))
    assert found.any()


def test_the_most_frequent_come_first_in_the_choice():
    ranked = RankedTrees.of(sample(300))
    small, large = frequent_trees(ranked, 10, 10), frequent_trees(ranked, 200, 200)
    assert set(named_insides(small)) <= set(named_insides(large))
    assert set(named_outsides(small)) <= set(named_outsides(large))
    mass = count_trees(ranked, small).blocks().matrices["tree"]
    assert mass.sum() > 0.2 * count_trees(ranked, large).blocks().matrices["tree"].sum()


def test_what_is_refused():
    ranked = RankedTrees.of(sample(20))
    with pytest.raises(ValueError, match="at least 1"):
        frequent_trees(ranked, 0, 5)
    one, other = frequent_trees(ranked, 5, 5), frequent_trees(ranked, 6, 5)
    with pytest.raises(ValueError, match="basis is the same"):
        count_trees(ranked, one) + count_trees(ranked, other)

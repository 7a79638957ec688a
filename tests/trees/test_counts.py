from __future__ import annotations

import numpy as np
import pytest

from oracles_trees import context_counts
from sigmastar.core.errors import InputError
from sigmastar.trees.counts import TreeBasis, count_trees, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.generators import make_tree_automaton


def sample(n: int, seed: int = 0, ternary: str = "") -> list[Tree | str]:
    rng = np.random.default_rng(seed)
    return make_tree_automaton(2, rng, ternary=ternary).sample(n, rng)


def named_insides(basis: TreeBasis) -> list[Tree | str]:
    built: list[Tree | str] = []
    for rank, symbol, *children in basis.insides.tolist():
        name = basis.alphabet.ranks[rank].symbols[symbol]
        below = tuple(built[child] for child in children[:rank])
        built.append(Tree(name, below) if rank else name)
    return built


def named_outsides(basis: TreeBasis) -> list[tuple]:
    insides, built = named_insides(basis), [()]
    sides = [(rank, position) for rank in range(1, 5) for position in range(rank)]
    for side, symbol, outer, *siblings in basis.outsides.tolist()[1:]:
        rank, position = sides[side]
        name = basis.alphabet.ranks[rank].symbols[symbol]
        beside = tuple(insides[sibling] for sibling in siblings[: rank - 1])
        built.append(((name, position, beside), *built[outer]))
    return built


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize("ternary", ["", "tv"])
@pytest.mark.parametrize("sizes", [(40, 30, 2), (1000, 1000, 3), (5, 4, 1)])
def test_counts_by_walking_over_all_trees(anchored, sizes, ternary):
    trees = sample(150, ternary=ternary)
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
    rng = np.random.default_rng(0)
    for operation in blocks.signature.operations:
        slices, rank = blocks.slices[operation], operation.arity
        met_here = [
            (c, o, *below) for c, o, *below in slices.coordinates.T[rng.permutation(slices.values.size)[:100]]
        ]
        random = [tuple(rng.integers(size) for size in slices.shape) for _ in range(100)]
        values = dict(zip(map(tuple, slices.coordinates.T.tolist()), slices.values, strict=True))
        for code, o, *below in met_here + random:
            name = operation.alphabet.symbols[code]
            tree = Tree(name, tuple(insides[a] for a in below)) if rank else name
            found = values.get((int(code), int(o), *map(int, below)), 0.0)
            assert found == pytest.approx(met[outsides[o], tree] / len(trees))
        assert len(values) or rank > 1


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


def test_nodes_that_are_too_wide_to_count():
    wide = Tree("f", tuple("abcdefgh" * 3))
    ranked = RankedTrees.of([wide] * 3)
    with pytest.raises(InputError, match=r"24 children over 9 subtrees.*--insides"):
        count_trees(ranked, frequent_trees(ranked))

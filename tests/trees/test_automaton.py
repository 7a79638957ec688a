from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_trees import inside_vector, subtrees, tree_value
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, ModelFileError, UnknownSymbolError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.generators import make_tree_automaton

ALPHABET = RankedAlphabet(Alphabet("xy"), Alphabet("u"), Alphabet("fg"), (Alphabet("t"), Alphabet("q")))
trees = st.recursive(
    st.sampled_from("xy"),
    lambda inner: st.one_of(
        st.builds(lambda a: Tree("u", (a,)), inner),
        st.builds(lambda name, a, b: Tree(name, (a, b)), st.sampled_from("fg"), inner, inner),
        st.builds(lambda a, b, c: Tree("t", (a, b, c)), inner, inner, inner),
        st.builds(lambda a, b, c, d: Tree("q", (a, b, c, d)), inner, inner, inner, inner),
    ),
    max_leaves=12,
).filter(lambda tree: not isinstance(tree, str))


def signed(seed: int, n: int = 3) -> TreeAutomaton:
    rng = np.random.default_rng(seed)
    shapes = ((n,), (2, n), (1, n, n), (2, n, n, n), (1, n, n, n, n), (1, n, n, n, n, n))
    root, *arrays = (rng.standard_normal(shape) / n for shape in shapes)
    return TreeAutomaton.of_ranks(ALPHABET, root, arrays)


@given(st.lists(trees, min_size=1, max_size=4), st.integers(0, 3))
def test_values_and_inside_vectors_by_recursion(many, seed):
    automaton = signed(seed)
    np.testing.assert_allclose(automaton.value(many), [tree_value(automaton, t) for t in many], rtol=1e-9)
    ranked = RankedTrees.of(many, ALPHABET)
    rows = automaton.inside(ranked)
    for number, root in enumerate(ranked.roots):
        found = np.ldexp(rows.mantissas[root], rows.exponents[root])
        np.testing.assert_allclose(found, inside_vector(automaton, many[number]), rtol=1e-9, atol=1e-15)


@given(st.lists(trees, min_size=1, max_size=3), st.integers(0, 3))
def test_outside_times_inside_is_the_value_at_every_node(many, seed):
    automaton, ranked = signed(seed), RankedTrees.of(many, ALPHABET)
    inside, outside = automaton.inside(ranked), automaton.outside(ranked)
    found = np.ldexp((inside.mantissas * outside.mantissas).sum(axis=1), inside.exponents + outside.exponents)
    sizes = np.diff(ranked.ends, prepend=0)
    np.testing.assert_allclose(found, np.repeat(automaton.value(ranked), sizes), rtol=1e-7, atol=1e-13)


@given(st.lists(trees, min_size=1, max_size=4))
def test_flat_trees_are_the_trees(many):
    ranked = RankedTrees.of(many)
    assert [ranked.tree(k) for k in range(len(many))] == many
    chosen = ranked.select([len(many) - 1, 0])
    assert [chosen.tree(k) for k in range(2)] == [many[-1], many[0]]
    np.testing.assert_allclose(signed(0).value(chosen), signed(0).value([many[-1], many[0]]))


def test_trees_of_any_size():
    tree: Tree | str = "x"
    for k in range(30_000):
        tree = Tree("f", (tree, "y")) if k % 2 else Tree("u", (tree,))
    automaton = signed(1)
    sign, log = automaton.log_value([tree])
    assert np.isfinite(log[0])
    assert abs(sign[0]) == 1
    assert log[0] < -10_000
    rows = automaton.outside([tree])
    assert np.isfinite(rows.mantissas).all()


def test_a_change_of_basis_changes_no_value():
    automaton, rng = signed(2), np.random.default_rng(0)
    many = [Tree("f", (Tree("u", ("x",)), "y")), Tree("g", ("x", "x"))]
    turned = automaton.change_basis(rng.standard_normal((3, 3)))
    np.testing.assert_allclose(turned.value(many), automaton.value(many), rtol=1e-9)
    assert not np.allclose(turned.root, automaton.root)


@pytest.mark.parametrize("ternary", ["", "t"])
def test_masses_and_expected_occurrences_of_a_stochastic_automaton(ternary):
    automaton = make_tree_automaton(3, np.random.default_rng(0), ternary=ternary)
    assert automaton.is_stochastic()
    assert automaton.total_mass() == pytest.approx(1.0, abs=1e-9)
    drawn = automaton.sample(20_000, np.random.default_rng(1))
    often = automaton.subtree_function()
    leaf = str(automaton.alphabet.leaves.symbols[0])
    name = str(automaton.alphabet.binary.symbols[0])
    wide = [Tree(symbol, (leaf, Tree(name, (leaf, leaf)), "b")) for symbol in ternary]
    for tree in (Tree(name, (leaf, leaf)), Tree(name, (Tree(name, (leaf, leaf)), leaf)), *wide):
        share = np.mean([sum(part == tree for part in subtrees(t)) for t in drawn])
        expected = float(often.value([tree])[0])
        assert share == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))
    np.testing.assert_allclose(often.of_subtrees().root, automaton.root, atol=1e-12)


def test_unknown_symbols_have_no_weight():
    automaton = signed(0)
    assert automaton.value([Tree("f", ("x", "z")), Tree("h", ("x", "y"))]).tolist() == [0.0, 0.0]
    with pytest.raises(UnknownSymbolError, match="'z'"):
        RankedTrees.of([Tree("f", ("x", "z"))], ALPHABET)


def test_what_is_refused():
    with pytest.raises(InputError, match="tree 2: 'S' has 3 children"):
        production_trees([Tree("S", ("a",)), Tree("S", ("a", "b", "c"))])
    low = RankedAlphabet(*ALPHABET.ranks[:3])
    with pytest.raises(ValueError, match="leaf of shape"):
        TreeAutomaton(low, np.ones(2), np.ones((1, 2)), np.ones((1, 2, 2)), np.ones((2, 2, 2, 2)))
    with pytest.raises(ValueError, match="where 2 are due"):
        TreeAutomaton(ALPHABET, np.ones(2), np.ones((2, 2)), np.ones((1, 2, 2)), np.ones((2, 2, 2, 2)))
    with pytest.raises(ValueError, match="infinite"):
        TreeAutomaton(
            low, np.ones(2), np.ones((2, 2)), np.ones((1, 2, 2)), np.ones((2, 2, 2, 2))
        ).total_mass()
    with pytest.raises(ValueError, match="hardly ever"):
        make_tree_automaton(2, np.random.default_rng(0), binary=(), unary=()).sample(
            1, np.random.default_rng(0), max_nodes=0
        )


@pytest.mark.parametrize("ternary", ["", "t"])
def test_draws_do_not_depend_on_the_basis(ternary):
    automaton = make_tree_automaton(3, np.random.default_rng(0), ternary=ternary)
    turned = automaton.change_basis(np.random.default_rng(1).standard_normal((3, 3)))
    assert not turned.is_stochastic()
    drawn, again = (model.sample(300, np.random.default_rng(2)) for model in (automaton, turned))
    assert drawn == again


def test_model_files(tmp_path):
    automaton, path = signed(3), tmp_path / "m"
    save_model(automaton, path, {"method": "none"})
    again = load_model(path, "tree-automaton")
    many = [Tree("f", ("x", "y")), Tree("t", ("x", "y", Tree("q", tuple("xyxx"))))]
    np.testing.assert_array_equal(again.value(many), automaton.value(many))
    with pytest.raises(ModelFileError):
        load_model(path, "automaton")


def test_operators_go_there_and_back():
    automaton = signed(1)
    again = TreeAutomaton.of_operators(automaton.to_operators())
    assert again.alphabet == automaton.alphabet
    np.testing.assert_array_equal(again.binary, automaton.binary)
    without = TreeAutomaton(
        RankedAlphabet(Alphabet("xy"), Alphabet(()), Alphabet("fg"), ()),
        automaton.root,
        automaton.leaf,
        np.zeros((0, 3, 3)),
        automaton.binary,
    )
    assert TreeAutomaton.of_operators(without.to_operators()).unary.shape == (0, 3, 3)

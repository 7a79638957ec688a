"""What the laws are tried on: a random tree automaton, its exact statistics, its learner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.trees.counts import exact_tree_blocks, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.estimator import SpectralLatentPCFG, SpectralTreeAutomaton
from sigmastar.trees.learn import tree_automaton
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.generators import make_latent_pcfg, make_tree_automaton

N_STATES = 2


class TreeLaws:
    """Tree automata seen by the laws."""

    sizes = (300, 5_000)

    def truth(self, rng: np.random.Generator) -> TreeAutomaton:
        return make_tree_automaton(N_STATES, rng)

    def exact(self, truth: TreeAutomaton) -> TreeAutomaton:
        basis = frequent_trees(
            RankedTrees.of(truth.sample(500, np.random.default_rng(0)), truth.alphabet), 60, 60
        )
        whole = exact_tree_blocks(basis, truth.operators).roots["tree"]
        return tree_automaton(exact_tree_blocks(basis, truth.subtree_function().operators), N_STATES, whole)

    def structures(self, truth: TreeAutomaton, rng: np.random.Generator) -> list[Tree | str]:
        return truth.sample(50, rng)

    def values(self, model: TreeAutomaton, structures: list[Tree | str]) -> Floats:
        return model.log_probability(structures)

    def learned(self, truth: TreeAutomaton, n_samples: int, seed: int, n_jobs: int = 1) -> TreeAutomaton:
        trees = truth.sample(n_samples, np.random.default_rng(seed))
        return (
            SpectralTreeAutomaton(N_STATES, 100, 100, random_state=seed, n_jobs=n_jobs).fit(trees).automaton_
        )

    def distance(self, model: TreeAutomaton, truth: TreeAutomaton) -> float:
        leaves = [str(leaf) for leaf in truth.alphabet.leaves]
        small = [Tree(str(name), (a, b)) for name in truth.alphabet.binary for a in leaves for b in leaves]
        return float(np.abs(model.value(small) - truth.value(small)).sum())

    def long(self, truth: TreeAutomaton) -> float:
        leaf, name = str(truth.alphabet.leaves.symbols[0]), str(truth.alphabet.binary.symbols[0])
        tree: Tree | str = leaf
        for _ in range(100_000):
            tree = Tree(name, (leaf, tree))
        return float(truth.log_probability([tree])[0])

    def examples(self) -> Mapping[str, Example]:
        rng = np.random.default_rng(0)
        trees = make_tree_automaton(N_STATES, rng).sample(200, rng)
        productions = make_latent_pcfg(rng).sample(300, rng, 20)
        return {
            "SpectralTreeAutomaton": Example(
                SpectralTreeAutomaton(2, 50, 50), trees, grid={"n_states": [1, 2], "height": [1, 2]}
            ),
            "SpectralLatentPCFG": Example(SpectralLatentPCFG(), productions, grid={"n_states": [1, 2]}),
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        rng = np.random.default_rng(1)
        trees = [tree for tree in make_tree_automaton(5, rng).sample(400, rng) if isinstance(tree, Tree)]
        path = folder / "trees.mrg"
        path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
        return {"trees": Call((str(path),), SpectralTreeAutomaton(), trees)}

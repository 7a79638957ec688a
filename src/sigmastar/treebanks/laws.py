"""What the laws are tried on: a parser with hidden states, its exact moments, its learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sigmastar.core.alphabet import Alphabet, Sort
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.estimator import PCFG, EMTreebankGrammar, SpectralTreebankGrammar
from sigmastar.treebanks.learn.spectral import spectral_fit
from sigmastar.treebanks.model.binarized_grammar import PruningPass
from sigmastar.treebanks.model.parser import TreebankParser
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.learn import Moments
from sigmastar.trees.model.generators import make_treebank

N_STATES = 2


class TreebankLaws:
    """Treebank parsers seen by the laws: latent PCFGs over the rules and words of a small treebank."""

    sizes = (100, 1_000)

    def truth(self, rng: np.random.Generator) -> TreebankParser:
        trees = make_treebank(300, rng, max_words=30).trees
        model = EMTreebankGrammar(N_STATES, "right", max_iter=5, random_state=rng).fit(trees).model_
        arrays, header = model.to_parts()  # in the precision of files, without backing off
        header["lexicon"]["strength"] = 0.0
        return TreebankParser.from_parts(arrays, header)

    def exact(self, truth: TreebankParser) -> TreebankParser:
        """The spectral learner on the moments of theorem 2, for features that are random and of full rank."""
        (member,), rng = truth.members, np.random.default_rng(0)
        step, symbols = member.passes[-1], range(len(member.symbols))
        grammar, lexicon, forest = step.grammar, step.lexicon, member.forest
        sizes = grammar.n_states.tolist()
        inside, outside = ({a: rng.standard_normal((3, sizes[a])) for a in symbols} for _ in range(2))
        rules = {
            (a, b, c): np.einsum("ox,yzx,py,qz->opq", outside[a], grammar.tensor(rule), inside[b], inside[c])
            for rule, (a, b, c) in enumerate(grammar.rules.tolist())
        }
        words = dict[Sort, tuple[Alphabet, Floats]]()
        for a in range(member.symbols.n_leaves):
            pairs = np.flatnonzero(forest.symbols == a)
            values = lexicon.values[lexicon.offsets[pairs][:, None] + np.arange(sizes[a])]
            words[a] = Alphabet(pairs.tolist()), values @ outside[a].T / forest.totals[-1]
        moments = Moments(
            {a: outside[a] @ inside[a].T for a in symbols},
            rules,
            words,
            {a: inside[a] @ grammar.root(a) for a in symbols},
        )
        fit = spectral_fit(member.symbols, grammar.rules, forest, moments, N_STATES)
        return replace(
            truth,
            members=(replace(member, passes=(member.passes[0], PruningPass(fit.grammar, fit.lexicon))),),
        )

    def structures(self, truth: TreebankParser, rng: np.random.Generator) -> list[Tree]:
        return truth.sample(40, rng)

    def values(self, model: TreebankParser, structures: list[Tree]) -> Floats:
        return model.tree_log_probabilities(phrases(structures))

    def learned(self, truth: TreebankParser, n_samples: int, seed: int, n_jobs: int = 1) -> TreebankParser:
        trees = truth.sample(n_samples, np.random.default_rng(seed))
        estimator = SpectralTreebankGrammar(
            "spectral+em", N_STATES, "right", random_state=seed, n_jobs=n_jobs
        )
        return estimator.fit(trees).model_

    def distance(self, model: TreebankParser, truth: TreebankParser) -> float:
        """The divergence of the model, estimated on trees of the truth that it can build."""
        trees = truth.sample(500, np.random.default_rng(99))
        ratio = self.values(truth, trees) - self.values(model, trees).clip(min=-100.0)
        return float(ratio.mean())

    def long(self, truth: TreebankParser) -> float:
        drawn = truth.sample(1_000, np.random.default_rng(0))
        tree, path = next(found for tree in drawn for node in tree.nodes() if (found := _repetition(node)))
        for _ in range(100_000):
            for label, left, right in reversed(path):
                tree = Tree(label, (*left, tree, *right))
        return float(self.values(truth, [tree])[0])

    def examples(self) -> Mapping[str, Example]:
        trees = make_treebank(120, random_state=2, max_words=15).trees
        best = SpectralTreebankGrammar(n_states=2, max_iter=1)
        return {
            "SpectralTreebankGrammar": Example(best, trees, grid={"method": ["spectral", "cluster"]}),
            "EMTreebankGrammar": Example(EMTreebankGrammar(2, max_iter=2), trees, grid={"n_states": [1, 2]}),
            "PCFG": Example(PCFG(), trees, grid={"direction": ["left", "right"]}),
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        trees = make_treebank(60, random_state=3, max_words=12).trees
        path = folder / "train.mrg"
        path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
        return {"treebank": Call((str(path),), SpectralTreebankGrammar(), trees)}


Step = tuple[str, tuple[Tree | str, ...], tuple[Tree | str, ...]]


def _repetition(node: Tree) -> tuple[Tree, list[Step]] | None:
    """A phrase of the label of `node` below it, and the way there: labels with what stands left and right."""
    waiting: list[tuple[Tree, list[Step]]] = [(node, [])]
    while waiting:
        here, path = waiting.pop()
        if path and here.label == node.label:
            return here, path
        for k, child in enumerate(here.children):
            if isinstance(child, Tree):
                step = here.label, here.children[:k], here.children[k + 1 :]
                waiting.append((child, [*path, step]))
    return None

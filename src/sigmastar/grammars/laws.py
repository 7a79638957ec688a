"""What the laws are tried on: random PCFGs, learned from the brackets of their strings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.grammars.counts.bracketings import BracketCounts, SpanBasis, single_symbols
from sigmastar.grammars.estimator.completion import CompletionGrammar
from sigmastar.grammars.estimator.learners import EMGrammar, SpectralGrammar
from sigmastar.grammars.learn.spectral import grammar_of_blocks
from sigmastar.grammars.metrics import grammar_distances
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to


class GrammarLaws:
    """Grammars with two states over two symbols."""

    sizes = (500, 20_000)

    def truth(self, rng: np.random.Generator) -> WeightedGrammar:
        words, pairs = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(4), 2).reshape(2, 2, 2)
        return WeightedGrammar(Alphabet("ab"), rng.dirichlet(np.ones(2)), 0.7 * words.T, 0.3 * pairs)

    def exact(self, truth: WeightedGrammar) -> WeightedGrammar:
        return grammar_of_blocks(exact_counts(truth, single_symbols(truth.alphabet)).blocks(), 2)

    def structures(self, truth: WeightedGrammar, rng: np.random.Generator) -> Strings:
        return grammar_values_up_to(truth, 6)[0]

    def values(self, model: WeightedGrammar, structures: Strings) -> Floats:
        return model.value(structures)

    def learned(self, truth: WeightedGrammar, n_samples: int, seed: int, n_jobs: int = 1) -> WeightedGrammar:
        drawn = truth.sample_brackets(n_samples, np.random.default_rng(seed))
        return SpectralGrammar(2, basis_factor=0.05, n_jobs=n_jobs).fit(drawn).model_

    def distance(self, model: WeightedGrammar, truth: WeightedGrammar) -> float:
        return grammar_distances(model, truth, 6).l1

    def long(self, truth: WeightedGrammar) -> float:
        """Of 5,000 symbols: the inside algorithm takes cubic time, 10,000 is its limit (10^5 take days)."""
        string = Strings.of([["a", "b"] * 2500], alphabet=truth.alphabet)
        return float(truth.log_probability(string)[0])

    def examples(self) -> Mapping[str, Example]:
        drawn = self.truth(np.random.default_rng(0)).sample_brackets(300, np.random.default_rng(0))
        short = drawn.select(np.flatnonzero(drawn.strings.lengths <= 2))
        strings = [list(string) for string in short.strings]
        completion = CompletionGrammar(2, 5, max_iter=10, em_max_iter=3)
        return {
            "SpectralGrammar": Example(
                SpectralGrammar(2), short.trees(), grid={"n_states": [1, 2]}, empty=[]
            ),
            "CompletionGrammar": Example(completion, strings, grid={"n_states": [1, 2]}, empty=[]),
            "EMGrammar": Example(EMGrammar(2, max_iter=3), strings, grid={"n_states": [1, 2]}, empty=[]),
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        drawn = self.truth(np.random.default_rng(0)).sample(60, np.random.default_rng(0))
        rows = [list(string) for string in drawn]
        (folder / "strings.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
        return {"grammar": Call((str(folder / "strings.txt"),), EMGrammar(), rows)}


def exact_counts(grammar: WeightedGrammar, basis: SpanBasis) -> BracketCounts:
    """What counting brackets comes to for all strings of a grammar: probabilities in place of frequencies."""
    alphabet = grammar.alphabet
    coded = [[alphabet.encode(string) for string in part] for part in (basis.lefts, basis.rights)]
    outsides = np.stack([grammar.outside(left, right) for left, right in zip(*coded, strict=True)])
    insides = np.stack([grammar.inside(alphabet.encode(string)) for string in basis.insides])
    cuts = np.einsum("oi,ijk,yj,zk->oyz", outsides, grammar.composition, insides, insides)
    pairs = {(int(o), int(y), int(z)): float(cuts[o, y, z]) for o, y, z in np.argwhere(cuts)}
    matrix, words = sparse.csr_array(outsides @ insides.T), sparse.csr_array(grammar.words @ outsides.T)
    return BracketCounts(basis, matrix, words, pairs, 1)

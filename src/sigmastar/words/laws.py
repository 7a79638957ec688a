"""What the laws of the tests are tried on: a hidden Markov model of words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.automata.data.formats import write_lines
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import kl_on
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.words.estimator import WordModel
from sigmastar.words.kernels.beams import Chain
from sigmastar.words.learn.em import Smoother
from sigmastar.words.model.emissions import Table
from sigmastar.words.model.hmm import WordHmm
from sigmastar.words.model.smoothing import Discounts

_LONG = 100_000


class WordLaws:
    """Strings from a chain of three states over six words."""

    sizes = (300, 6000)

    def truth(self, rng: np.random.Generator) -> WordHmm:
        by_word = rng.dirichlet(np.full(7, 0.3), size=3)
        by_word[:, -1] = (0.05, 0.1, 0.4)  # ends
        by_word[:, :-1] *= ((1.0 - by_word[:, -1]) / by_word[:, :-1].sum(axis=1))[:, None]
        moves = rng.dirichlet(np.full(3, 0.5), size=3)
        emissions = Table(np.ascontiguousarray(by_word.T))
        return WordHmm(Alphabet("abcdef"), rng.dirichlet(np.ones(3)), moves, emissions)

    def exact(self, truth: WordHmm) -> WordHmm:
        """Counts that all strings together are expected to give, each state visited as often as it is."""
        table = truth.emissions.by_word.T
        going = (1.0 - table[:, -1])[:, None] * truth.moves
        visits = np.linalg.solve(np.eye(truth.n_states) - going.T, truth.initial)
        words = np.ascontiguousarray((visits[:, None] * table).T)
        counts = Chain(truth.initial, visits[:, None] * going, words)
        smoother = Smoother(np.zeros(truth.n_states, np.int32), np.full(len(counts.by_word), 1 / 7))
        chain = smoother.chain(counts, Discounts(0.0, 0.0, 0.0, 0.0))
        return WordHmm(truth.alphabet, chain.initial, chain.moves, Table(chain.by_word))

    def structures(self, truth: WordHmm, rng: np.random.Generator) -> Strings:
        return truth.sample(60, rng)

    def values(self, model: SequenceModel, structures: Strings) -> Floats:
        return model.log_probability(structures)

    def learned(self, truth: WordHmm, n_samples: int, seed: int, n_jobs: int = 1) -> SequenceModel:
        strings = truth.sample(n_samples, np.random.default_rng(seed))
        return (
            WordModel(n_states=12, order=3, max_iter=20, random_state=seed, n_jobs=n_jobs).fit(strings).model_
        )

    def distance(self, model: SequenceModel, truth: WordHmm) -> float:
        return kl_on(model, truth, truth.sample(4000, np.random.default_rng(99))).value

    def long(self, truth: WordHmm) -> float:
        codes = truth.sample(_LONG, np.random.default_rng(0)).codes[:_LONG]
        string = Strings(truth.alphabet, codes, np.array([0, len(codes)]))
        return float(truth.log_probability(string)[0])

    def examples(self) -> Mapping[str, Example]:
        corpus = list(self.truth(np.random.default_rng(1)).sample(120, np.random.default_rng(2)))
        lines = ["".join(map(str, string)) for string in corpus]
        return {"WordModel": Example(WordModel(n_states=3, max_iter=3), lines, grid={"n_states": [2, 3]})}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        strings = self.truth(np.random.default_rng(1)).sample(200, np.random.default_rng(2))
        with open(folder / "text.txt", "w") as stream:
            write_lines(strings, stream)
        return {"words": Call((str(folder / "text.txt"),), WordModel(), strings)}

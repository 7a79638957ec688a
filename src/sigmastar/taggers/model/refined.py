"""Tags refined into states: a hidden Markov model whose every state belongs to one tag.

    p(x, z) = p(z_1) prod p(z_i | z_{i-1}) p(x_i | z_i) p(end | z_L)
    p(x | z) prop. to p(t | x) / p(t) r(x, z)

with t the tag of z and r(x, z) = p(z | x, t) / p(z | t). One state a tag is a bigram tagger; with the tag
before as the state it is a trigram tagger. What words say of states goes by word and tag, where both were
met together, else by the class of the word and the tag, else nothing (r = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.refined import refined_marginals
from sigmastar.taggers.model.lattice import GuidedLattice, TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon

Array = NDArray[np.float64]
Longs = NDArray[np.int64]
KIND = "refined"


@dataclass(frozen=True, eq=False)
class Ratios:
    """r by keys (row of the word or class) x n_tags + tag, sorted; a row of states each."""

    keys: Longs
    values: Array

    def find(self, keys: Longs) -> tuple[Longs, NDArray[np.bool_]]:
        """The place of each key, and whether it is there."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        return at, self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)


@dataclass(frozen=True, eq=False)
class RefinedTags:
    """Moves between states; states of tag t are `states[t]:states[t + 1]`."""

    states: Longs
    initial: Array
    transitions: Array
    final: Array
    by_word: Ratios
    by_class: Ratios
    least: float = 1e-4  # states below this share of the belief lead nowhere; 0 is exact, and slower

    @property
    def n_states(self) -> int:
        return int(self.states[-1])

    def emissions(self, lexicon: TagLexicon, types: list[str], lattice: TagLattice) -> Array:
        """p(t | x) / p(t) r(x, z) of every candidate of every type, candidates x states of its tag."""
        width, n_tags = int(np.diff(self.states).max()), lexicon.n_tags
        type_of = np.repeat(np.arange(len(types)), np.diff(lattice.starts))
        table = np.ones((len(type_of), width))
        at, known = self.by_class.find(
            lexicon.class_codes(types)[type_of].astype(np.int64) * n_tags + lattice.tags
        )
        if known.any():
            table[known] = self.by_class.values[at[known]]
        words = lexicon.codes(types)[type_of].astype(np.int64)
        at, known = self.by_word.find(np.where(words >= 0, words * n_tags + lattice.tags, -1))
        if known.any():
            table[known] = self.by_word.values[at[known]]
        table *= (lattice.chances / lexicon.prior[lattice.tags])[:, None]
        return table

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        emissions = self.emissions(lexicon, sentences.types, lattice)
        return self._marginals(lattice, emissions, np.arange(len(emissions)))

    def marginals_within(
        self, lexicon: TagLexicon, sentences: TaggedSentences, guide: GuidedLattice
    ) -> TagMarginals:
        """Marginals on the candidates that a guide leaves; the others keep the guide's."""
        emissions = self.emissions(lexicon, sentences.types, guide.whole.lattice)
        return guide.filled(self._marginals(guide.narrow, emissions, guide.rows))

    def _marginals(self, lattice: TagLattice, emissions: Array, rows: Longs) -> TagMarginals:
        found = lattice.empty()
        backwards = np.ascontiguousarray(self.transitions.T)

        def task(low: int, high: int) -> None:
            refined_marginals(
                lattice.offsets, low, high, lattice.types, lattice.starts, lattice.tags,
                lattice.token_starts, lattice.block_starts, emissions, rows, self.states,
                self.initial, self.transitions, backwards, self.final,
                found.unigrams, found.bigrams, found.logs, self.least,
            )  # fmt: skip

        lattice.each_shard(task)
        return found

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "states": self.states,
            "initial": self.initial,
            "transitions": self.transitions.astype(np.float32),
            "final": self.final,
            "word_keys": self.by_word.keys,
            "word_ratios": self.by_word.values.astype(np.float32),
            "class_keys": self.by_class.keys,
            "class_ratios": self.by_class.values.astype(np.float32),
        }
        return arrays, {"kind": KIND}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> RefinedTags:
        transitions = arrays["transitions"].astype(float)
        if transitions.shape != (int(arrays["states"][-1]),) * 2:
            raise ValueError("the moves of a refined tagger do not fit its states")
        return cls(
            arrays["states"],
            arrays["initial"],
            transitions,
            arrays["final"],
            Ratios(arrays["word_keys"], arrays["word_ratios"].astype(float)),
            Ratios(arrays["class_keys"], arrays["class_ratios"].astype(float)),
        )

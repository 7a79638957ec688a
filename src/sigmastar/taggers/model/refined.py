"""Tags refined into states: a hidden Markov model whose every state belongs to one tag.

    p(x, z) = p(z_1) prod p(z_i | z_{i-1}) p(x_i | z_i) p(end | z_L)
    p(x | z) prop. to p(t | x) / p(t) r(x, z)

with t the tag of z and r(x, z) = p(z | x, t) / p(z | t). One state per tag is a bigram tagger; with the tag
before as the state it is a trigram tagger. Ratios of states go by word and tag, where both were
seen together, else by the class of the word and the tag, else there are none (r = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np

from sigmastar.automata.model.att import EPSILON, cost_of, writable
from sigmastar.core.arrays import Array, Flags, Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.stored_parts import Parts, between, floats, rising, row_starts, singles
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.refined import Emissions, Moves, refined_marginals
from sigmastar.taggers.model.lattice import GuidedLattice, TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon

KIND = "refined"
LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class Ratios:
    """r by keys (row of the word or class) x n_tags + tag, sorted; one row of states per key."""

    keys: Int64s
    values: Floats

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], kind: str, width: int) -> Ratios:
        """The ratios of a model file, of words or of classes."""
        keys, values = (arrays[f"{kind}_{name}"] for name in ("keys", "ratios"))
        if len(keys) and values.shape[1] != width:
            raise ValueError(f"the ratios by {kind} of a refined tagger do not fit its states")
        return cls(keys, values.astype(np.float64))

    def find(self, keys: Int64s) -> tuple[Int64s, Flags]:
        """The place of each key, and whether it is there."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        return at, self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)


@dataclass(frozen=True, eq=False)
class RefinedTags:
    """Moves between states; states of tag t are `states[t]:states[t + 1]`."""

    states: Int64s
    initial: Floats
    transitions: Floats
    final: Floats
    by_word: Ratios
    by_class: Ratios
    least: float = LEAST  # states below this share of the belief lead nowhere; 0 is exact, and slower

    @property
    def n_states(self) -> int:
        return int(self.states[-1])

    def emissions(self, lexicon: TagLexicon, types: list[str], lattice: TagLattice) -> Floats:
        """p(t | x) / p(t) r(x, z) of every candidate of every type, candidates x states of its tag."""
        type_of = np.repeat(np.arange(len(types)), np.diff(lattice.starts))
        table = self.ratios(lexicon, types, type_of, lattice.tags)
        table *= (lattice.chances / lexicon.prior[lattice.tags])[:, None]
        return table

    def ratios(self, lexicon: TagLexicon, types: list[str], type_of: Int64s, tags: Array) -> Floats:
        """r(x, z) of pairs, each a number of a type and a tag: pairs x states of the tag."""
        width, n_tags = int(np.diff(self.states).max()), lexicon.n_tags
        table = np.ones((len(type_of), width))
        at, known = self.by_class.find(lexicon.class_codes(types)[type_of].astype(np.int64) * n_tags + tags)
        if known.any():
            table[known] = self.by_class.values[at[known]]
        words = lexicon.codes(types)[type_of].astype(np.int64)
        at, known = self.by_word.find(np.where(words >= 0, words * n_tags + tags, -1))
        if known.any():
            table[known] = self.by_word.values[at[known]]
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

    def _marginals(self, lattice: TagLattice, emissions: Floats, rows: Int64s) -> TagMarginals:
        found, words = lattice.empty(), Emissions(emissions, rows)
        backwards = np.ascontiguousarray(self.transitions.T)
        moves = Moves(self.states, self.initial, self.transitions, backwards, self.final, self.least)

        def task(low: int, high: int) -> None:
            refined_marginals(lattice.arrays, low, high, moves, words, found.arrays)

        lattice.each_shard(task)
        return found

    PARTS: ClassVar[Parts] = Parts(
        header={"least?": between(0.0, 1.0)},
        arrays={
            "initial": floats("states", least=0.0),
            "transitions": singles("states", "states", least=0.0),
            "final": floats("states", least=0.0),
            "states": row_starts("tags", of="states"),
            "word_keys": rising("word_keys", of="word_tags"),
            "word_ratios": singles("word_keys", "word_width", least=0.0),
            "class_keys": rising("class_keys", of="class_tags"),
            "class_ratios": singles("class_keys", "class_width", least=0.0),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {
            "states": self.states,
            "initial": self.initial,
            "transitions": self.transitions.astype(np.float32),
            "final": self.final,
            "word_keys": self.by_word.keys,
            "word_ratios": self.by_word.values.astype(np.float32),
            "class_keys": self.by_class.keys,
            "class_ratios": self.by_class.values.astype(np.float32),
        }
        return arrays, {"kind": KIND, "least": self.least}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any], lexicon: TagLexicon) -> RefinedTags:
        cls.PARTS.check(arrays, header, **lexicon.sizes)
        states, edges = arrays["states"], ("initial", "transitions", "final")
        if np.diff(states).min() < 1:
            raise ValueError("each tag of a refined tagger must have a state")
        initial, transitions, final = (arrays[name].astype(np.float64) for name in edges)
        width = int(np.diff(states).max())
        words, classes = (Ratios.from_parts(arrays, kind, width) for kind in ("word", "class"))
        return cls(states, initial, transitions, final, words, classes, float(header.get("least", LEAST)))


def write_att(model: RefinedTags, lexicon: TagLexicon, stream: TextIO) -> None:
    """Write a transducer from words to tags as AT&T text: the sum over its paths is P(words, tags).

    State 0 begins; state 1 + z stands behind a word of z, state 1 + n + z before it: moves and words have
    arcs of their own, and words are those of the lexicon with the tags that it allows.

    Parameters
    ----------
    model : RefinedTags
        The moves.
    lexicon : TagLexicon
        The words.
    stream : text stream
        Where to write.
    """
    words, n = list(lexicon.words), model.n_states
    sentences = TaggedSentences(words, None, np.arange(len(words) + 1)) if not lexicon.n_observed else None
    if sentences is None:
        raise InputError("words with observed columns have no place in AT&T text; learn from words alone")
    names, tags = [writable(word) for word in words], [writable(tag) for tag in lexicon.tags]
    lattice = lexicon.lattice(sentences)
    emissions = model.emissions(lexicon, words, lattice)
    counts = np.asarray(lexicon.counts.sum(axis=1)).ravel()
    shares = counts / counts.sum()
    behind, before = 1 + np.arange(n), 1 + n + np.arange(n)
    _write_moves(stream, 0, before, model.initial)
    for z in range(n):
        _write_moves(stream, int(behind[z]), before, model.transitions[z])
        if model.final[z]:
            stream.write(f"{behind[z]}\t{cost_of(float(model.final[z]))}\n")
    for x, word in enumerate(names):
        for c in range(lattice.starts[x], lattice.starts[x + 1]):
            tag = int(lattice.tags[c])
            for k, z in enumerate(range(model.states[tag], model.states[tag + 1])):
                if weight := float(emissions[c, k] * shares[x]):
                    arc = f"{before[z]}\t{behind[z]}\t{word}\t{tags[tag]}\t{cost_of(weight)}\n"
                    stream.write(arc)


def _write_moves(stream: TextIO, source: int, targets: Array, weights: Floats) -> None:
    for target, weight in zip(targets.tolist(), weights.tolist(), strict=True):
        if weight:
            stream.write(f"{source}\t{target}\t{EPSILON}\t{EPSILON}\t{cost_of(weight)}\n")

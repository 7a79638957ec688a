"""Max-margin taggers of Hankel blocks (Quattoni, Balle, Carreras and Globerson 2014).

    score(x, y) = sum_i log p(y_i | x_i)  +  sum over gaps  phi(prefix)^T H psi(suffix),        H = L R^T

A prefix is the two words before a gap with their tags, a suffix the two behind it: phi and psi hold the
bistrings of these that are frequent, the empty one among them. A word stands for itself where it is frequent,
else for its class. log p(y | x) is that of the lexicon: what else a tagging is worth comes from H alone.

Tags are those of the best tagging; marginals are of p(y | x) prop. to exp score(x, y).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s, Int64s
from sigmastar.core.stored_parts import Parts, floats, indices, integers, rises_within
from sigmastar.taggers.data.feature_templates import TemplateFeatures
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.max_margin import Bistrings, Factors, best_taggings, hankel_marginals
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon

KIND = "hankel-margin"
LEAST = 3e-3  # candidates below this chance are left out: states are of three tags
FREQUENT = 5  # tokens of a word that stands for itself
EDGES = 2  # on either side of a sentence
SIDES = ("prefix", "suffix")


@dataclass(frozen=True, eq=False)
class HankelTags:
    """The bistrings of prefixes and suffixes, and the factors of the block between them."""

    prefixes: TemplateFeatures
    suffixes: TemplateFeatures
    left: Floats
    right: Floats

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        """On a lattice of its own, of the likelier candidates."""
        whole = GapLattice.of(lexicon, sentences)
        nodes, bistrings, factors, found = *self._scoring(whole), whole.padded.empty()

        def task(low: int, high: int) -> None:
            hankel_marginals(whole.padded.arrays, low, high, nodes, bistrings, factors, found.arrays)

        whole.padded.each_shard(task)
        return whole.without_edges(found)

    def best(self, lexicon: TagLexicon, sentences: TaggedSentences) -> Int32s:
        """The tags of the best tagging of each sentence."""
        whole = GapLattice.of(lexicon, sentences)
        padded, (nodes, bistrings, factors) = whole.padded, self._scoring(whole)
        found = np.zeros(len(padded.types), dtype=np.int32)
        padded.each_shard(
            lambda low, high: best_taggings(padded.arrays, low, high, nodes, bistrings, factors, found)
        )
        tags: Int32s = padded.tags[padded.starts[padded.types] + found]
        return tags[whole.is_word]

    def _scoring(self, whole: GapLattice) -> tuple[Floats, Bistrings, Factors]:
        return whole.nodes, whole.bistrings(self.prefixes, self.suffixes), Factors(self.left, self.right)

    PARTS: ClassVar[Parts] = Parts(
        arrays={
            "left": floats("prefixes", "rank"),
            "right": floats("suffixes", "rank"),
            "prefix_keys": integers("prefixes", least=0, most=2**62),
            "prefix_counts": indices("kinds", of="prefixes+1", type="int64"),
            "suffix_keys": integers("suffixes", least=0, most=2**62),
            "suffix_counts": indices("kinds", of="suffixes+1", type="int64"),
        }
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {"left": self.left, "right": self.right}
        for side, known in zip(SIDES, (self.prefixes, self.suffixes), strict=True):
            arrays[f"{side}_keys"] = np.concatenate(known.keys)
            arrays[f"{side}_counts"] = np.array([len(keys) for keys in known.keys], dtype=np.int64)
        return arrays, {"kind": KIND}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any], lexicon: TagLexicon) -> HankelTags:
        sizes = cls.PARTS.check(arrays, header)
        if sizes["kinds"] != N_TEMPLATES:
            raise ValueError(f"a Hankel block has bistrings of {N_TEMPLATES} kinds, not {sizes['kinds']}")
        prefixes, suffixes = (_known(arrays, side) for side in SIDES)
        return cls(prefixes, suffixes, arrays["left"], arrays["right"])


def _known(arrays: dict[str, Array], side: str) -> TemplateFeatures:
    keys, ends = arrays[f"{side}_keys"], np.append(0, np.cumsum(arrays[f"{side}_counts"]))
    if ends[-1] != len(keys) or not rises_within(keys, ends):
        raise ValueError(f"the bistrings of each kind of {side} must be sorted")
    return TemplateFeatures(tuple(np.split(keys, ends[1:-1])))


@dataclass(frozen=True, eq=False)
class GapLattice:
    """Sentences with edges around them: candidates of words, and pairs of candidates of neighbours."""

    plain: TagLattice
    padded: TagLattice  # the edge is the last type, with the one tag n_tags
    words: Int64s  # of each type the word that it stands for, or its class; the edge last
    classes: Int64s
    n_tags: int

    @classmethod
    def of(cls, lexicon: TagLexicon, sentences: TaggedSentences, with_gold: bool = False) -> GapLattice:
        plain = replace(lexicon, least=LEAST).lattice(sentences, with_gold)
        lengths, edge = np.diff(plain.offsets), len(plain.starts) - 1
        offsets = plain.offsets + 2 * EDGES * np.arange(len(plain.offsets))
        types = np.full(int(offsets[-1]), edge, dtype=plain.types.dtype)
        types[_inside(offsets, lengths)] = plain.types
        padded = TagLattice(
            offsets,
            types,
            np.append(plain.starts, plain.starts[-1] + 1),
            np.append(plain.tags, np.int32(lexicon.n_tags)),
            np.append(plain.chances, 1.0),
        )
        codes, classes = lexicon.codes(sentences.types), lexicon.class_codes(sentences.types).astype(np.int64)
        totals = np.asarray(lexicon.counts.sum(axis=1)).ravel()
        own = (codes >= 0) & (totals[np.maximum(codes, 0)] >= FREQUENT)
        words = np.where(own, codes, len(lexicon.words) + classes).astype(np.int64)
        last = len(lexicon.words) + len(lexicon.classes)
        return cls(plain, padded, np.append(words, last), np.append(classes, last), lexicon.n_tags)

    @property
    def is_word(self) -> Flags:
        """Of every padded token, whether it is none of the edges."""
        return np.asarray(self.padded.types != len(self.padded.starts) - 2)

    @property
    def nodes(self) -> Floats:
        """log p(t | x) of the candidates of every padded token."""
        return np.log(np.maximum(self.padded.chances, 1e-9))[self.padded.candidate_of]

    def bistrings(self, prefixes: TemplateFeatures, suffixes: TemplateFeatures) -> Bistrings:
        """What every pair of candidates holds, as a prefix and as a suffix."""
        return Bistrings(
            _in_front(prefixes.codes(self.columns(True))), _in_front(suffixes.codes(self.columns(False)))
        )

    def columns(self, is_prefix: bool) -> list[Int64s]:
        """One number per kind of bistring and pair of candidates; the near word is the one at the gap."""
        lattice = self.padded
        sizes = np.diff(lattice.block_starts)
        token = np.repeat(np.arange(len(sizes)), sizes)
        inner = np.arange(len(token)) - lattice.block_starts[token]
        n = lattice.n_candidates[token]
        before, here = lattice.types[token - 1], lattice.types[token]
        tag_before = lattice.tags[lattice.starts[before] + inner // n].astype(np.int64)
        tag_here = lattice.tags[lattice.starts[here] + inner % n].astype(np.int64)
        far, near = ((before, tag_before), (here, tag_here))[:: 1 if is_prefix else -1]
        return self._templates(self._seen(*near), self._seen(*far))

    def _seen(self, types: Int32s, tags: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        return self.words[types], self.classes[types], tags

    def _templates(
        self, near: tuple[Int64s, Int64s, Int64s], far: tuple[Int64s, Int64s, Int64s]
    ) -> list[Int64s]:
        """Bistrings of one and two symbols, words or tags left out here and there."""
        (word, kind, tag), (word2, kind2, tag2) = near, far
        size, both = int(self.words[-1]) + 1, self.n_tags + 1
        tags = tag2 * both + tag
        return [
            np.zeros(len(tag), dtype=np.int64), tag, tags,
            word * both + tag, word * both**2 + tags, word2 * both**2 + tags,
            (word2 * size + word) * both + tag,
            kind * both + tag, kind2 * both**2 + tags, (kind2 * size + kind) * both + tag,
        ]  # fmt: skip

    def gold(self, tags: Int32s) -> Int32s:
        """The candidate of every padded token that is its gold tag; 0 at edges."""
        lattice = self.padded
        wanted = np.full(len(lattice.types), self.n_tags, dtype=np.int32)
        wanted[self.is_word] = tags
        hits = np.flatnonzero(lattice.tags[lattice.candidate_of] == wanted[lattice.token_of])
        found = np.zeros(len(lattice.types), dtype=np.int32)
        found[lattice.token_of[hits]] = hits - lattice.token_starts[lattice.token_of[hits]]
        return found

    def gold_pairs(self, gold: Int32s) -> Int64s:
        """The place of the gold pair of every padded token with the one before it, sentence by sentence."""
        lattice = self.padded
        later = np.flatnonzero(~lattice.is_first)
        rows = gold.astype(np.int64)[later - 1] * lattice.n_candidates[later]
        return np.asarray(lattice.block_starts[later] + rows + gold[later])

    def without_edges(self, found: TagMarginals) -> TagMarginals:
        """Marginals of words and of pairs of words alone."""
        lattice, is_word = self.padded, self.is_word
        kept = np.repeat(is_word, lattice.n_candidates)
        inner = is_word & np.append(False, is_word[:-1])
        pairs = np.repeat(inner, np.diff(lattice.block_starts))
        return TagMarginals(self.plain, found.unigrams[kept], found.bigrams[pairs], found.logs)


N_TEMPLATES = 10


def _in_front(codes: Int32s) -> Int32s:
    """What a pair holds stands in front; sums of its rows then take a third less time."""
    return np.ascontiguousarray(np.sort(codes, axis=1)[:, ::-1])


def _inside(offsets: Int64s, lengths: Int64s) -> Int64s:
    """The places of words among padded tokens."""
    first = np.repeat(offsets[:-1] + EDGES, lengths)
    return first + np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)

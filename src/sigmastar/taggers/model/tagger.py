"""Taggers: a lexicon, and one or more models of tags whose distributions are multiplied.

    p(y | x) prop. to prod_k p_k(y_1 | x)^w_k prod_i p_k(y_i | y_{i-1}, x)^w_k

Every member gives its own marginals of tags and of pairs of tags; the conditionals that they imply are the
potentials of a chain, whose marginals are those of the product. One member with weight one keeps its own.
Where features and refinements are multiplied, features come first, being fast: refinements leave out tags to
which these give almost no probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, check_header, lists, one_of, real, share, tables
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.chains import Chain, best_sequences
from sigmastar.taggers.model import feature_chain, max_margin, refined, weighted_tagger
from sigmastar.taggers.model.lattice import GuidedLattice, TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon

DECODINGS = ("marginals", "viterbi")
LEAST = 1e-2
_FLOOR = 1e-12
_SENTENCES_AT_ONCE = 4096

Tagging = tuple[list[str], float]
"""Tags of a sentence, and their probability."""


class AllTags(NamedTuple):
    """Probabilities of tags, words x tags; the tags chosen; of each sentence the most probable taggings."""

    shares: Floats
    tags: list[str]
    best: list[list[Tagging]]


class TagModel(Protocol):
    """A model of the tags of a sentence given its words."""

    def marginals(
        self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice
    ) -> TagMarginals: ...

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]: ...


KINDS: dict[str, Any] = {
    refined.KIND: refined.RefinedTags,
    feature_chain.KIND: feature_chain.MarginTags,
    feature_chain.FORMER_KIND: feature_chain.MarginTags,
    max_margin.KIND: max_margin.HankelTags,
    weighted_tagger.KIND: weighted_tagger.WeightedTagger,
}


@dataclass(frozen=True, eq=False)
class Tagger(Shown):
    """A lexicon, members with weights, and how sequences are chosen."""

    lexicon: TagLexicon
    members: tuple[TagModel, ...]
    weights: tuple[float, ...]
    decoding: str = "marginals"
    least: float = LEAST  # refinements leave out tags with less by the features, p^w; 0 is exact, and slower

    @property
    def tags(self) -> tuple[str, ...]:
        return self.lexicon.tags

    def state_features(self) -> dict[tuple[str, str], float]:
        """Weights of features with tags, where members train features; as sklearn-crfsuite has them."""
        found = self._chains
        return {
            (name, tag): value for chain in found for name, tag, value in chain.named_weights(self.lexicon)
        }

    def transition_features(self) -> dict[tuple[str, str], float]:
        """Weights of neighbouring tags, where members train features; `<edge>` is that of a sentence."""
        names = (*self.tags, "<edge>")
        return {
            (names[k], names[i]): float(chain.arrows[k, i])
            for chain in self._chains
            for k, i in np.argwhere(chain.arrows).tolist()
        }

    @property
    def _chains(self) -> list[feature_chain.MarginTags]:
        found = [member for member in self.members if isinstance(member, feature_chain.MarginTags)]
        if not found:
            raise InputError("the tagger has no features; --method chain and refined have some")
        return found

    def marginals(self, sentences: TaggedSentences) -> TagMarginals:
        """Marginals of tags and of pairs of neighbouring tags on the candidates of every word."""
        found = self._members_marginals(sentences, self.lexicon.lattice(sentences))
        return found[0] if self.weights == (1.0,) else product(found, self.weights)

    def _members_marginals(self, sentences: TaggedSentences, lattice: TagLattice) -> list[TagMarginals]:
        """Of every member; the first one of features guides refinements."""
        own = {
            number: member.marginals(self.lexicon, sentences, lattice)
            for number, member in enumerate(self.members)
            if not (self.guide and isinstance(member, refined.RefinedTags))
        }
        guided = None
        if self.guide:
            number = self.guide[0]
            guided = GuidedLattice.of(own[number], self.least ** (1.0 / max(self.weights[number], 1e-3)))
        for number, member in enumerate(self.members):
            if guided is not None and isinstance(member, refined.RefinedTags):
                own[number] = member.marginals_within(self.lexicon, sentences, guided)
        return [own[number] for number in range(len(self.members))]

    @property
    def guide(self) -> list[int]:
        """Members of features, where something may be left out."""
        if not self.least:
            return []
        return [k for k, member in enumerate(self.members) if isinstance(member, feature_chain.MarginTags)]

    def predict_proba(self, sentences: TaggedSentences) -> Floats:
        """mu(i, a) as a table, words x tags."""
        return self.marginals(sentences).dense(len(self.tags))

    def predict(self, sentences: TaggedSentences) -> list[str]:
        """The tags of all words, one flat list."""
        names: list[str] = []
        for piece in _pieces(sentences):
            names += self._decoded(piece)
        return names

    def _decoded(self, sentences: TaggedSentences, found: TagMarginals | None = None) -> list[str]:
        return [self.tags[code] for code in self._best(sentences, found).tolist()]

    def _best(self, sentences: TaggedSentences, found: TagMarginals | None) -> Int32s:
        """By marginals, which may be known; a Hankel block alone has a best tagging of its own."""
        only = self.members[0] if len(self.members) == 1 else None
        if isinstance(only, max_margin.HankelTags) and self.decoding == "viterbi":
            return only.best(self.lexicon, sentences)
        found = found or self.marginals(sentences)
        return by_marginals(found) if self.decoding == "marginals" else by_sequence(found)[0][0]

    def predict_nbest(self, sentences: TaggedSentences, n_best: int) -> list[list[Tagging]]:
        """Of each sentence the most probable taggings, with their probabilities."""
        return self._ranked(sentences, self.marginals(sentences), n_best)

    def predict_all(self, sentences: TaggedSentences, n_best: int) -> AllTags:
        """What `predict_proba`, `predict` and `predict_nbest` give, from one computation of marginals."""
        found = self.marginals(sentences)
        shares, tags = found.dense(len(self.tags)), self._decoded(sentences, found)
        return AllTags(shares, tags, self._ranked(sentences, found, n_best))

    def _ranked(self, sentences: TaggedSentences, found: TagMarginals, n_best: int) -> list[list[Tagging]]:
        codes, values = by_probability(found, n_best)
        ends, tags = sentences.offsets.tolist(), self.tags
        ranked = []
        for s in range(len(sentences)):
            rows = [
                codes[k, ends[s] : ends[s + 1]].tolist() for k in range(n_best) if np.isfinite(values[k, s])
            ]
            shares = np.exp(values[: len(rows), s]).tolist()
            ranked.append([([tags[code] for code in row], p) for row, p in zip(rows, shares, strict=True)])
        return ranked

    def log_probability(self, sentences: TaggedSentences) -> Floats:
        """log p(y | x) of the tags given, by sentence; -inf where a tag is no candidate of its word."""
        found = self.marginals(sentences)
        return gold_log_probability(found, sentences.tag_codes(self.tags))

    PARTS: ClassVar[Parts] = Parts(
        inner=("lexicon.",),
        members="members",
        header={
            "lexicon": dict,
            "members": tables,
            "weights": lists,
            "decoding": one_of(*DECODINGS),
            "least?": share,
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays, lexicon = self.lexicon.to_parts()
        headers = []
        for number, member in enumerate(self.members):
            parts, header = member.to_parts()
            arrays |= above(f"{number}.", parts)
            headers.append(header)
        return arrays, {
            "lexicon": lexicon,
            "members": headers,
            "weights": list(self.weights),
            "decoding": self.decoding,
            "least": self.least,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Tagger:
        cls.PARTS.check(arrays, header)
        described, weights = header["members"], tuple(header["weights"])
        if not described or len(described) != len(weights) or any(map(real, weights)):
            raise ValueError("members and weights of the tagger do not fit each other")
        lexicon, members = TagLexicon.from_parts(arrays, header["lexicon"]), []
        for k, of_member in enumerate(described):
            check_header(of_member, {"kind": one_of(*KINDS)})
            members.append(KINDS[of_member["kind"]].from_parts(below(f"{k}.", arrays), of_member, lexicon))
        least = float(header.get("least", LEAST))
        return cls(lexicon, tuple(members), tuple(map(float, weights)), header["decoding"], least)


def product(members: Sequence[TagMarginals], weights: Sequence[float]) -> TagMarginals:
    """The marginals of the weighted product of the chains that the members' marginals imply."""
    lattice = members[0].lattice
    firsts, arrows = np.zeros(len(members[0].unigrams)), np.zeros(len(members[0].bigrams))
    at_first = lattice.is_first[lattice.token_of]
    for member, weight in zip(members, weights, strict=True):
        firsts += weight * np.where(at_first, np.log(np.maximum(member.unigrams, _FLOOR)), 0.0)
        arrows += weight * _log_conditionals(member)
    return lattice.chain(firsts, arrows)


def _log_conditionals(member: TagMarginals) -> Floats:
    """log p(b | a) at every pair of candidates: rows of each block over their sums."""
    lattice = member.lattice
    sizes, counts = np.diff(lattice.block_starts), lattice.n_candidates
    n_rows = np.where(counts > 0, sizes // np.maximum(counts, 1), 0)
    widths = np.repeat(counts, n_rows)  # of every row of every block
    pairs: Floats = np.maximum(member.bigrams, _FLOOR)
    if not len(pairs):
        return pairs
    sums = np.add.reduceat(pairs, np.cumsum(widths) - widths)
    logs: Floats = np.log(pairs / np.repeat(sums, widths))
    return logs


def by_marginals(found: TagMarginals) -> Int32s:
    """The tag of largest marginal at every word."""
    lattice = found.lattice
    if not len(lattice.types):
        return np.zeros(0, dtype=np.int32)
    top = np.maximum.reduceat(found.unigrams, lattice.token_starts[:-1])
    hits = np.flatnonzero(found.unigrams == np.repeat(top, lattice.n_candidates))
    _, first = np.unique(lattice.token_of[hits], return_index=True)
    return lattice.tags[lattice.candidate_of[hits[first]]]


def by_sequence(found: TagMarginals, n_best: int = 1) -> tuple[Int32s, Floats]:
    """The sequences of largest sum of pair marginals, best first; -1 where there is none.

    Sentences of one word have no pair: their unigram marginals count.
    """
    lengths = np.diff(found.lattice.offsets)
    alone = np.repeat(lengths == 1, lengths)[found.lattice.token_of]
    return _best_of(found.lattice, Chain(np.where(alone, found.unigrams, 0.0), found.bigrams), n_best)


def by_probability(found: TagMarginals, n_best: int) -> tuple[Int32s, Floats]:
    """The most probable sequences of the chain that the marginals imply, best first; -1 where there is none.

    Sums of pair marginals would not tell sequences apart that differ in a place where both are unlikely.
    """
    at_first = found.lattice.is_first[found.lattice.token_of]
    with np.errstate(divide="ignore"):
        firsts = np.where(at_first, np.log(found.unigrams), 0.0)
    arrows = np.where(found.bigrams > 0.0, _log_conditionals(found), -np.inf)
    return _best_of(found.lattice, Chain(firsts, arrows), n_best)


def _best_of(lattice: TagLattice, chain: Chain, n_best: int) -> tuple[Int32s, Floats]:
    """The tags of the best sequences, and what they are worth."""
    codes = np.full((n_best, len(lattice.types)), -1, dtype=np.int32)
    values = np.full((n_best, lattice.n_sentences), -np.inf)
    lattice.each_shard(lambda low, high: best_sequences(lattice.arrays, low, high, chain, codes, values))
    places = lattice.starts[lattice.types] + codes
    return np.where(codes >= 0, lattice.tags[np.maximum(places, 0)], -1).astype(np.int32), values


def gold_log_probability(found: TagMarginals, gold: Int32s) -> Floats:
    """log p(y_1) + sum log p(y_i | y_{i-1}) from marginals of tags and of pairs."""
    lattice = found.lattice
    hits = np.flatnonzero(lattice.tags[lattice.candidate_of] == gold[lattice.token_of])
    place = np.full(len(gold), -1, dtype=np.int64)
    place[lattice.token_of[hits]] = hits - lattice.token_starts[lattice.token_of[hits]]
    is_first, before = lattice.is_first, np.append(-1, place[:-1])
    known = (place >= 0) & (is_first | (before >= 0))
    logs = np.full(len(gold), -np.inf)
    with np.errstate(divide="ignore"):
        begin = np.flatnonzero(is_first & known)
        logs[begin] = np.log(found.unigrams[lattice.token_starts[begin] + place[begin]])
        later = np.flatnonzero(~is_first & known)
        at = lattice.block_starts[later] + before[later] * lattice.n_candidates[later] + place[later]
        pair = np.log(found.bigrams[at])
        logs[later] = pair - np.log(found.unigrams[lattice.token_starts[later - 1] + before[later]])
    sentence_of = np.repeat(np.arange(lattice.n_sentences), np.diff(lattice.offsets))
    sums = np.zeros(lattice.n_sentences)
    np.add.at(sums, sentence_of, logs)
    return sums


def _pieces(sentences: TaggedSentences) -> list[TaggedSentences]:
    """Runs of sentences, so that the tables of all pairs are never held at once."""
    if len(sentences) <= _SENTENCES_AT_ONCE:
        return [sentences] if sentences.n_words else []
    edges = range(0, len(sentences), _SENTENCES_AT_ONCE)
    return [sentences.select(np.arange(low, min(low + _SENTENCES_AT_ONCE, len(sentences)))) for low in edges]

"""Treebank parsers: one binarised grammar, or several whose marginals are averaged.

    mu(chain, i, j) = mean over members of the posterior of (chain of labels, i, j)

Members differ in how trees were made binary, so they share chains of labels and nothing else. The first one
prunes for the others. A model of spans without a grammar may have a share in mu (`span_scorer`). Trees come
from mu by labelled recall (Goodman 1996). What no grammar can parse gets the tree of spans alone, or a flat
one, and the parse says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.parallel import limited_threads, thread_map
from sigmastar.treebanks.data.phrases import Ints, Longs, Phrases
from sigmastar.treebanks.kernels.labelled_recall import add_merged, allowed_table, decode, merged
from sigmastar.treebanks.kernels.max_rule import best_rules
from sigmastar.treebanks.model.binarized_grammar import Marginals, Member
from sigmastar.treebanks.model.coarse_to_fine import DEFAULT_PRUNING, Pruning
from sigmastar.treebanks.model.flat_trees import FlatTrees
from sigmastar.treebanks.model.lexicon import Leaves, LexicalForest
from sigmastar.treebanks.model.sampling import TreeSampler
from sigmastar.treebanks.model.scores import tree_log_probabilities
from sigmastar.treebanks.model.span_scorer import SpanScorer
from sigmastar.trees.data.tree import Tree

Array = NDArray[np.float64]
Sentence = tuple[Sequence[str], Sequence[str] | None]
Span = tuple[str, int, int]

_PIECE = 16  # sentences a thread takes at a time
DECODINGS = ("labels", "rules")
"""Trees of labels that are probable one by one, averaged over members; or of probable rules of the first."""
FULL, PARTLY, SPANS_ALONE, FLAT = "full", "pruned grammar", "spans", "flat"


@dataclass(frozen=True, eq=False)
class Chart:
    """mu over chains of labels: those of cell c stand at starts[c] .. starts[c + 1]; cells by width."""

    n_words: int
    starts: Longs
    labels: Ints
    values: Array
    log_total: float  # of the first member: log of sum over trees, over that of the words alone
    how: str  # FULL, or what had to stand in

    def cell(self, begin: int, end: int) -> slice:
        """Where the chains over words `begin` to `end` stand."""
        width = end - begin
        number = (width - 1) * self.n_words - (width - 1) * (width - 2) // 2 + begin
        return slice(int(self.starts[number]), int(self.starts[number + 1]))


@dataclass(frozen=True, eq=False)
class Parse:
    """A tree, the log-probability of its sentence, and how it was found; but for "full" a fallback."""

    tree: Tree
    log_probability: float
    how: str


@dataclass(frozen=True, eq=False)
class TreebankParser:
    """Members over one set of chains of labels and one forest of words."""

    labels: tuple[tuple[str, ...], ...]
    members: tuple[Member, ...]
    threshold: float = 0.4
    pruning: Pruning = DEFAULT_PRUNING
    decoding: str = DECODINGS[0]
    spans: SpanScorer | None = None  # has a share in mu, where there is one

    def __post_init__(self) -> None:
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")

    @property
    def forest(self) -> LexicalForest:
        return self.members[0].forest

    def parse(self, sentences: Sequence[Sentence], n_threads: int | None = 1) -> list[Parse]:
        """The tree of every sentence (words, and tags or None), in order."""
        pieces = [sentences[at : at + _PIECE] for at in range(0, len(sentences), _PIECE)]
        with limited_threads(n_threads):
            found = thread_map(lambda piece: [self.parse_one(*sentence) for sentence in piece], pieces)
        return [parse for piece in found for parse in piece]

    def parse_one(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Parse:
        """The tree of one sentence."""
        if self.decoding == "rules":
            return self._by_rules(words, tags)
        chart = self.chart(words, tags)
        if chart.how == FLAT:
            return self._fallback(words, tags)
        spans, _ = decode(
            chart.n_words,
            chart.starts,
            chart.labels,
            chart.values,
            *self._chains,
            self._n_names,
            self.threshold,
        )
        known = sum(self.forest.log_frequency(word) for word in words)
        return Parse(self._tree(spans.tolist(), words), chart.log_total + known, chart.how)

    def _by_rules(self, words: Sequence[str], tags: Sequence[str] | None) -> Parse:
        """The tree of probable rules, under the first member alone."""
        _require(words, tags)
        first = self._first(self.forest.leaves(words, tags), with_edges=True)
        spans, score = best_rules(
            len(words),
            first.starts,
            first.items,
            first.posteriors,
            first.edges,
            first.uses,
            self.members[0].symbols.base,
        )
        if np.isneginf(score):
            return self._fallback(words, tags)
        known = sum(self.forest.log_frequency(word) for word in words)
        how = FULL if first.is_full else PARTLY
        return Parse(self._tree(spans.tolist(), words), first.log_total + known, how)

    def chart(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Chart:
        """mu(chain, i, j), averaged over members, with the share of spans."""
        _require(words, tags)
        leaves = self.forest.leaves(words, tags)
        first = self._first(leaves)
        n, base = len(words), self.members[0].symbols.base
        starts, labels, values = merged(first.starts, first.items, first.posteriors, base, 1e-4)
        if np.isneginf(first.log_total):
            return Chart(n, starts, labels, values, first.log_total, FLAT)
        n_found, how = 1, FULL if first.is_full else PARTLY
        if len(self.members) > 1:
            allowed = allowed_table(starts, labels, values, self.pruning.labels, len(self.labels))
        for member in self.members[1:]:
            other = member.marginals(leaves, self.pruning, allowed)
            if not np.isneginf(other.log_total):
                add_merged(
                    starts, labels, values, other.starts, other.items, other.posteriors, member.symbols.base
                )
                n_found += 1
        values = values / n_found
        if self.spans is not None:
            values = self.spans.mixed(leaves.nodes, leaves.tags, starts, labels, values)
        return Chart(n, starts, labels, values, first.log_total, how)

    def marginals(self, words: Sequence[str], tags: Sequence[str] | None = None) -> dict[Span, float]:
        """mu(label, i, j) for every label that was not ruled out, tags included, over words i to j - 1."""
        chart = self.chart(words, tags)
        found: dict[Span, float] = {}
        for begin in range(chart.n_words):
            for end in range(begin + 1, chart.n_words + 1):
                cell = chart.cell(begin, end)
                pairs = zip(chart.labels[cell].tolist(), chart.values[cell].tolist(), strict=True)
                for chain, value in pairs:
                    for label in dict.fromkeys(self.labels[chain]):
                        found[label, begin, end] = found.get((label, begin, end), 0.0) + value
        return found

    def log_probability(self, words: Sequence[str], tags: Sequence[str] | None = None) -> float:
        """log P(words), all trees together, averaged over members; hardly anything is pruned.

        With tags, only trees with these tags count.
        """
        _require(words, tags)
        known = sum(self.forest.log_frequency(word) for word in words)
        leaves, pruning = self.forest.leaves(words, tags), self.pruning.relaxed()
        logs = [member.marginals(leaves, pruning).log_total for member in self.members]
        return float(np.logaddexp.reduce(logs)) - float(np.log(len(logs))) + known

    def tree_log_probabilities(self, bank: Phrases) -> Array:
        """log P(tree) of every tree, averaged over members; -inf where none of them can build it."""
        logs = np.stack([tree_log_probabilities(member, bank) for member in self.members])
        result: Array = np.logaddexp.reduce(logs, axis=0) - np.log(len(self.members))
        return result

    def sample(self, n_samples: int, rng: np.random.Generator) -> list[Tree]:
        """Trees drawn from members that are drawn evenly."""
        samplers = [TreeSampler(member) for member in self.members]
        return [samplers[rng.integers(len(samplers))].sample(rng) for _ in range(n_samples)]

    def _first(self, leaves: Leaves, with_edges: bool = False) -> Marginals:
        """Marginals of the first member, with less pruning where all was pruned away."""
        first = self.members[0]
        found = first.marginals(leaves, self.pruning, with_edges=with_edges)
        if np.isneginf(found.log_total):
            found = first.marginals(leaves, self.pruning.relaxed(), with_edges=with_edges)
        return found

    @cached_property
    def _chains(self) -> tuple[Longs, Ints]:
        """Names of the labels of every chain; the second NP of NP -> NP has another name than the first."""
        table: dict[tuple[str, int], int] = {}
        names = [
            table.setdefault((label, chain[:at].count(label)), len(table))
            for chain in self.labels
            for at, label in enumerate(chain)
        ]
        starts = np.concatenate([[0], np.cumsum([len(chain) for chain in self.labels])])
        return starts.astype(np.int64), np.array(names, dtype=np.int32)

    @cached_property
    def _n_names(self) -> int:
        return int(self._chains[1].max()) + 1

    def _tree(self, spans: list[list[int]], words: Sequence[str]) -> Tree:
        """The tree of spans in preorder, each with its chain of labels: built from the last to the first."""
        done: dict[int, tuple[int, Tree]] = {}  # by where a subtree begins: where it ends, and the subtree
        for begin, end, chain in reversed(spans):
            children: tuple[Tree | str, ...] = (words[begin],)
            if end - begin > 1:
                at, below = begin, []
                while at < end:
                    at, child = done.pop(at)
                    below.append(child)
                children = tuple(below)
            tree = Tree(self.labels[chain][-1], children)
            for label in reversed(self.labels[chain][:-1]):
                tree = Tree(label, (tree,))
            done[begin] = end, tree
        return done[0][1]

    def _fallback(self, words: Sequence[str], tags: Sequence[str] | None) -> Parse:
        """The tree of spans alone, where there is a model of them; else a flat one."""
        flat = FlatTrees(self.members[0])
        chosen = flat.tags(words, tags)
        if self.spans is not None:
            nodes = np.array([self.forest.node(word) for word in words], dtype=np.int64)
            chart = self.spans.alone(nodes, chosen)
            if chart is not None:
                spans, _ = decode(len(words), *chart, *self._chains, self._n_names, self.threshold)
                return Parse(self._tree(spans.tolist(), words), float("-inf"), SPANS_ALONE)
        return Parse(flat.tree(words, chosen), float("-inf"), FLAT)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        forest, words = self.forest.to_parts()
        arrays = {f"forest.{name}": array for name, array in forest.items()}
        headers = []
        for number, member in enumerate(self.members):
            parts, header = member.to_parts()
            arrays |= {f"{number}.{name}": array for name, array in parts.items()}
            headers.append(header)
        pruning = [getattr(self.pruning, name) for name in Pruning.__dataclass_fields__]
        spans, of_spans = self.spans.to_parts() if self.spans is not None else ({}, None)
        arrays |= {f"spans.{name}": array for name, array in spans.items()}
        return arrays, {
            "labels": [list(chain) for chain in self.labels],
            "lexicon": words,
            "members": headers,
            "threshold": self.threshold,
            "pruning": pruning,
            "decoding": self.decoding,
            "spans": of_spans,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> TreebankParser:
        def part(name: str) -> dict[str, NDArray[Any]]:
            return {k.removeprefix(name): array for k, array in arrays.items() if k.startswith(name)}

        labels = tuple(tuple(chain) for chain in header["labels"])
        forest = LexicalForest.from_parts(part("forest."), header["lexicon"])
        members = tuple(
            Member.from_parts(part(f"{number}."), mine, labels, forest)
            for number, mine in enumerate(header["members"])
        )
        pruning, decoding = Pruning(*header["pruning"]), header.get("decoding", DECODINGS[0])
        scored = header.get("spans")
        spans = SpanScorer.from_parts(part("spans."), scored, forest, labels) if scored else None
        return cls(labels, members, float(header["threshold"]), pruning, decoding, spans)


def _require(words: Sequence[str], tags: Sequence[str] | None) -> None:
    if not words:
        raise InputError("a sentence without words has no tree; leave it out")
    if tags is not None and len(tags) != len(words):
        raise InputError(f"{len(words)} words, but {len(tags)} tags; give every word one tag")

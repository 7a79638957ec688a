"""Treebank parsers: one binarized grammar, or several whose marginals are averaged; a span scorer beside
them.

    mu(chain, i, j) = (1 - share) mean over grammars of the posterior of (chain of labels, i, j)
                      + share P(chain over i .. j | span scorer)

Grammars differ in how trees were made binary, so they share chains of labels and nothing else. The first one
prunes for the others. The span scorer is a second model, without grammar (`span_scorer`); without one the
share is zero. Trees come from mu by labelled recall (Goodman 1996), or as `DECODINGS` says. What no
grammar can parse gets the tree of spans alone, or a flat one, and `Parse.how` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.resources import limited_threads, thread_map
from sigmastar.core.stored_parts import Parts, lists, lists_of_texts, share, tables
from sigmastar.treebanks.counts import HeadChoice
from sigmastar.treebanks.data.phrases import Phrases
from sigmastar.treebanks.data.sentences import Sentence, require_words
from sigmastar.treebanks.kernels.best_trees import best_labellings, cut_trees, distinct_trees
from sigmastar.treebanks.kernels.decoding import (
    ChainItems,
    Chains,
    add_merged,
    allowed_table,
    best_rules,
    decode,
    merged,
)
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar, Marginals
from sigmastar.treebanks.model.coarse_to_fine import DEFAULT_PRUNING, EVERYTHING, Pruning
from sigmastar.treebanks.model.lexicon import Leaves, LexicalForest
from sigmastar.treebanks.model.span_scorer import SpanScorer
from sigmastar.treebanks.model.tree_products import tree_products
from sigmastar.treebanks.model.whole_trees import TreeSampler, tree_log_probabilities
from sigmastar.trees.data.tree import Tree

if TYPE_CHECKING:
    from sigmastar.treebanks.model.tensor_parser import TensorParser

Span = tuple[str, int, int]

_PIECE = 16  # sentences a thread takes at a time
_PROPOSED = 10  # candidates for a whole tree, by the rules of each grammar; twice as many by labels
DECODINGS = ("labels", "rules", "trees")
"""Trees of labels that are probable one by one, averaged over grammars; of probable rules of the first; or
trees that are probable as wholes, by the product of all grammars, among the best of both other ways."""
FULL, PARTLY, SPANS_ALONE, FLAT = "full", "pruned grammar", "spans", "flat"


@dataclass(frozen=True, eq=False)
class Chart:
    """mu over chains of labels; cells by width."""

    n_words: int
    items: ChainItems
    log_total: float  # of the first grammar: log of sum over trees, over that of the words alone
    how: str  # FULL, or what had to stand in

    @property
    def labels(self) -> Array:
        """The numbers of the chains, cell by cell."""
        return self.items.labels

    @property
    def values(self) -> Floats:
        """mu of each."""
        return self.items.values

    def cell(self, begin: int, end: int) -> slice:
        """Where the chains over words `begin` to `end` stand."""
        width = end - begin
        number = (width - 1) * self.n_words - (width - 1) * (width - 2) // 2 + begin
        return slice(int(self.items.starts[number]), int(self.items.starts[number + 1]))


@dataclass(frozen=True, eq=False)
class Parse(Shown):
    """A tree, the log-probability of its sentence, and how it was found; but for "full" a fallback."""

    tree: Tree
    log_probability: float
    how: str


@dataclass(frozen=True, eq=False)
class TreebankParser(Shown):
    """Grammars over one set of chains of labels and one forest of words, and a span scorer.

    Parameters
    ----------
    labels : tuple of tuples
        Chains of labels, from the top down.
    members : tuple of BinarizedGrammar
        The grammars.
    threshold : float
        The marginal that a label must have to stand in a tree.
    pruning : Pruning
        What charts may drop.
    decoding : "labels", "rules" or "trees"
        Trees of labels that are probable one by one; of probable rules of the first grammar alone; or trees
        that are probable as wholes, by the product of all grammars.
    span_scorer : SpanScorer or None
        The second model, which has a share in the marginals.
    """

    labels: tuple[tuple[str, ...], ...]
    members: tuple[BinarizedGrammar, ...]
    threshold: float = 0.4
    pruning: Pruning = DEFAULT_PRUNING
    decoding: str = DECODINGS[0]
    span_scorer: SpanScorer | None = None

    at_once: ClassVar[int] = 64  # sentences per thread that are parsed within a few seconds

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
        if self.decoding == "trees":
            return self._by_trees(words, tags)
        return self._by_labels(words, tags, self.chart(words, tags))

    def parse_nbest(
        self, words: Sequence[str], tags: Sequence[str] | None = None, n_best: int = 5
    ) -> list[tuple[Tree, float]]:
        """The best trees of one sentence, each with its score: the first is that of `parse_one`.

        Parameters
        ----------
        words, tags : sequence of str, or None
            A sentence.
        n_best : int
            At most so many trees.

        Returns
        -------
        list of pairs
            Trees, best first, and what `decoding` maximizes: the number of right labels in expectation, less
            `threshold` for each; the logarithm of the product of the posteriors of rules; or the sum of the
            log-probabilities of the tree. A tree that a fallback found is alone, with a score of minus
            infinity.
        """
        require_words(words, tags)
        if self.decoding == "trees":
            trees = self._nbest_trees(words, tags, n_best)[0]
        elif self.decoding == "rules":
            first = self._first(self.forest.leaves(words, tags), with_edges=True)
            trees = self._nbest_rules(words, self.members[0], first, n_best)
        else:
            trees = self._nbest_labels(words, self.chart(words, tags), n_best)
        return trees or [(self._fallback(words, tags).tree, -np.inf)]

    def _nbest_labels(self, words: Sequence[str], chart: Chart, n_best: int) -> list[tuple[Tree, float]]:
        if chart.how == FLAT:
            return []
        found = best_labellings(chart.n_words, chart.items, self._chains, self.threshold, n_best)
        return [(self._tree(spans, words), score) for spans, score in cut_trees(*found)]

    def _nbest_rules(
        self, words: Sequence[str], member: BinarizedGrammar, found: Marginals, n_best: int
    ) -> list[tuple[Tree, float]]:
        trees = distinct_trees(
            len(words), found.graph, found.posteriors, found.uses, member.symbols.base, n_best
        )
        return [(self._tree(spans, words), score) for spans, score in trees]

    def _nbest_trees(
        self, words: Sequence[str], tags: Sequence[str] | None, n_best: int
    ) -> tuple[list[tuple[Tree, float]], Chart]:
        """The best trees of all grammars together, among the best by labels and by rules of each grammar."""
        leaves, others, n_proposed = (
            self.forest.leaves(words, tags),
            list[Marginals](),
            max(n_best, _PROPOSED),
        )

        def remaining(items: ChainItems) -> list[Marginals]:
            others.extend(self._others(leaves, items, with_edges=True))
            return others

        first = self._first(leaves, with_edges=True)
        chart = self._averaged(leaves, first, remaining)
        proposed = self._nbest_labels(words, chart, 2 * n_proposed)
        for member, found in zip(self.members, [first, *others], strict=False):
            if np.isfinite(found.log_total):
                proposed += self._nbest_rules(words, member, found, n_proposed)
        trees = list({str(tree): tree for tree, _ in proposed}.values())
        worth = tree_products(self.members, trees).tolist()
        return sorted(zip(trees, worth, strict=True), key=lambda pair: -pair[1])[:n_best], chart

    def on(self, device: str, precision: str | None = None) -> TensorParser:
        """The same parser with its charts on a device, by PyTorch; there nothing is pruned.

        Parameters
        ----------
        device : {"cuda", "auto", "cpu"}
            Where charts are; "auto": a GPU where there is one.
        precision : {"float32", "float64"} or None
            Type of their numbers; None: float32 on a GPU, else float64.

        Returns
        -------
        TensorParser
            With `parse` and `log_probabilities`.
        """
        from sigmastar.treebanks.model.tensor_parser import TensorParser

        return TensorParser(self, device, precision)

    def decoded(
        self, words: Sequence[str], tags: Sequence[str] | None, leaves: Leaves, found: Sequence[Marginals]
    ) -> Parse:
        """The tree of one sentence from the marginals of each grammar, however they were found."""
        if self.decoding == "rules":
            return self._of_rules(words, tags, found[0])
        chart = self._averaged(leaves, found[0], lambda _: found[1:])
        return self._by_labels(words, tags, chart)

    def _by_labels(self, words: Sequence[str], tags: Sequence[str] | None, chart: Chart) -> Parse:
        """The tree of probable labels."""
        tree = None if chart.how == FLAT else self._labelled(words, chart.items)
        if tree is None:
            return self._fallback(words, tags)
        return Parse(tree, chart.log_total + self._known(words), chart.how)

    def _labelled(self, words: Sequence[str], items: ChainItems) -> Tree | None:
        """The tree of probable labels; None where a word or the root can have none: numbers overflowed."""
        spans, score = decode(len(words), items, self._chains, self.threshold)
        return self._tree(spans.tolist(), words) if np.isfinite(score[0]) else None

    def _by_trees(self, words: Sequence[str], tags: Sequence[str] | None) -> Parse:
        """The tree that is most probable as a whole."""
        require_words(words, tags)
        trees, chart = self._nbest_trees(words, tags, 1)
        if not trees:
            return self._fallback(words, tags)
        return Parse(trees[0][0], chart.log_total + self._known(words), chart.how)

    def _by_rules(self, words: Sequence[str], tags: Sequence[str] | None) -> Parse:
        """The tree of probable rules, under the first grammar alone."""
        require_words(words, tags)
        return self._of_rules(words, tags, self._first(self.forest.leaves(words, tags), with_edges=True))

    def _of_rules(self, words: Sequence[str], tags: Sequence[str] | None, first: Marginals) -> Parse:
        base = self.members[0].symbols.base
        spans, score = best_rules(len(words), first.graph, first.posteriors, first.uses, base)
        if np.isneginf(score):
            return self._fallback(words, tags)
        how = FULL if first.is_full else PARTLY
        return Parse(self._tree(spans.tolist(), words), first.log_total + self._known(words), how)

    def _known(self, words: Sequence[str]) -> float:
        """log P of the words by themselves."""
        return sum(self.forest.log_frequency(word) for word in words)

    def chart(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Chart:
        """mu(chain, i, j), averaged over grammars, with the share of the span scorer."""
        require_words(words, tags)
        leaves = self.forest.leaves(words, tags)
        return self._averaged(leaves, self._first(leaves), lambda items: self._others(leaves, items))

    def _others(self, leaves: Leaves, items: ChainItems, with_edges: bool = False) -> Iterator[Marginals]:
        """Marginals of all grammars but the first, within what that one leaves."""
        bound, allowed = self.pruning.labels, EVERYTHING
        if len(self.members) > 1 and bound > 0.0:
            allowed = allowed_table(items, bound, len(self.labels))
        for member in self.members[1:]:
            yield member.marginals(leaves, self.pruning, allowed, with_edges)

    def _averaged(
        self, leaves: Leaves, first: Marginals, others: Callable[[ChainItems], Iterable[Marginals]]
    ) -> Chart:
        """mu from the marginals of grammars."""
        n, base, graph = len(leaves.nodes), self.members[0].symbols.base, first.graph
        items = merged(graph.starts, graph.items, first.posteriors, base, 1e-4)
        if np.isneginf(first.log_total):
            return Chart(n, items, first.log_total, FLAT)
        n_found, how = 1, FULL if first.is_full else PARTLY
        for member, other in zip(self.members[1:], others(items), strict=True):
            if not np.isneginf(other.log_total):
                add_merged(
                    items, other.graph.starts, other.graph.items, other.posteriors, member.symbols.base
                )
                n_found += 1
        items = items._replace(values=items.values / n_found)
        if self.span_scorer is not None:
            items = self.span_scorer.mixed(leaves.nodes, leaves.tags, items)
        return Chart(n, items, first.log_total, how)

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
        """log P(words), all trees together, averaged over grammars; hardly anything is pruned.

        With tags, only trees with these tags count.
        """
        require_words(words, tags)
        leaves, pruning = self.forest.leaves(words, tags), self.pruning.relaxed()
        logs = [member.marginals(leaves, pruning).log_total for member in self.members]
        return float(np.logaddexp.reduce(logs)) - float(np.log(len(logs))) + self._known(words)

    def log_probabilities(self, sentences: Sequence[Sentence]) -> Floats:
        """The same of every sentence (words, and tags or None)."""
        return np.array([self.log_probability(*sentence) for sentence in sentences])

    def tree_log_probabilities(self, bank: Phrases) -> Floats:
        """log P(tree) of every tree, averaged over grammars; -inf where none of them can build it."""
        logs = np.stack([tree_log_probabilities(member, bank) for member in self.members])
        result: Floats = np.logaddexp.reduce(logs, axis=0) - np.log(len(self.members))
        return result

    def sample(self, n_samples: int, rng: np.random.Generator) -> list[Tree]:
        """Trees drawn from grammars that are drawn evenly."""
        samplers = [TreeSampler(member) for member in self.members]
        return [samplers[rng.integers(len(samplers))].sample(rng) for _ in range(n_samples)]

    def _first(self, leaves: Leaves, with_edges: bool = False) -> Marginals:
        """Marginals of the first grammar, with less pruning where all was pruned away."""
        first = self.members[0]
        found = first.marginals(leaves, self.pruning, with_edges=with_edges)
        if np.isneginf(found.log_total):
            found = first.marginals(leaves, self.pruning.relaxed(), with_edges=with_edges)
        return found

    @cached_property
    def _chains(self) -> Chains:
        """Names of the labels of every chain; the second NP of NP -> NP has another name than the first."""
        table: dict[tuple[str, int], int] = {}
        names = [
            table.setdefault((label, chain[:at].count(label)), len(table))
            for chain in self.labels
            for at, label in enumerate(chain)
        ]
        starts = np.concatenate([[0], np.cumsum([len(chain) for chain in self.labels])])
        return Chains(starts.astype(np.int64), np.array(names, dtype=np.int32), len(table))

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
        """The tree of the span scorer alone, where there is one; else a flat one."""
        first = self.members[0]
        chosen = first.tags(words) if tags is None else list(tags)
        if self.span_scorer is not None:
            nodes = np.array([self.forest.node(word) for word in words], dtype=np.int64)
            items = self.span_scorer.alone(nodes, chosen)
            tree = None if items is None else self._labelled(words, items)
            if tree is not None:
                return Parse(tree, float("-inf"), SPANS_ALONE)
        return Parse(first.flat_tree(words, chosen), float("-inf"), FLAT)

    def flat(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Parse:
        """The tree of one phrase over tags: for sentences too long to parse."""
        first = self.members[0]
        return Parse(first.flat_tree(words, tags or first.tags(words)), float("-inf"), FLAT)

    PARTS: ClassVar[Parts] = Parts(
        inner=("forest.", "spans."),
        members="members",
        header={"labels": lists_of_texts, "members": tables, "pruning": lists, "threshold": share},
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        forest, words = self.forest.to_parts()
        arrays = above("forest.", forest)
        headers = []
        for number, member in enumerate(self.members):
            parts, header = member.to_parts()
            arrays |= above(f"{number}.", parts)
            headers.append(header)
        spans, of_spans = self.span_scorer.to_parts() if self.span_scorer is not None else ({}, None)
        return arrays | above("spans.", spans), {
            "labels": [list(chain) for chain in self.labels],
            "lexicon": words,
            "members": headers,
            "threshold": self.threshold,
            "pruning": [getattr(self.pruning, name) for name in Pruning.__dataclass_fields__],
            "decoding": self.decoding,
            "spans": of_spans,
            "heads": heads.to_header() if (heads := self.members[0].heads) else None,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> TreebankParser:
        cls.PARTS.check(arrays, header)
        labels = tuple(tuple(chain) for chain in header["labels"])
        forest = LexicalForest.from_parts(below("forest.", arrays), header["lexicon"])
        heads = HeadChoice.from_header(found) if (found := header.get("heads")) else None
        members = tuple(
            replace(
                BinarizedGrammar.from_parts(below(f"{number}.", arrays), own, labels, forest), heads=heads
            )
            for number, own in enumerate(header["members"])
        )
        scored = header.get("spans")
        spans = SpanScorer.from_parts(below("spans.", arrays), scored, forest, labels) if scored else None
        threshold, decoding = float(header["threshold"]), header.get("decoding", DECODINGS[0])
        return cls(labels, members, threshold, Pruning(*header["pruning"]), decoding, spans)

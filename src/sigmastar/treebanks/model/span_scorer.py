"""The span scorer: a log-linear model of labelled spans beside the grammars of a parser.

    mu(chain, i, j) = (1 - share) mean over grammars + share P(labels of the chain over i .. j | sentence)

The model is that of `kernels.span_features`. It has no states and rules, and depends on words and
tags that no rule depends on: its errors are others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s, Singles
from sigmastar.core.jit import kernel, part
from sigmastar.core.stored_parts import Parts, between, check_header, floats, lists_of_texts
from sigmastar.treebanks.kernels.decoding import ChainItems
from sigmastar.treebanks.kernels.span_features import N_ROWS, PAD, span_posteriors, span_scores
from sigmastar.treebanks.model.lexicon import LexicalForest

Chains = tuple[tuple[str, ...], ...]

KNOWN = 3  # words that occur less often stand for their signature
NO_LABEL, NOT_SCORED = -2, -1
_FORBIDDEN = -1e9
LEAST = 1e-2  # posterior of a label that stands in a chart without grammar


class _Columns(NamedTuple):
    """For each chain of a parser the tag at its end, and its column of weights over one word and over
    several.

    Columns are -1 for chains that are not scored, -2 for a tag alone.
    """

    tags: Int64s
    leaf: Int64s
    phrase: Int64s


@dataclass(frozen=True, eq=False)
class SpanScorer:
    """Weights of features, with a column for each chain of phrase labels, over the words of a forest.

    Parameters
    ----------
    forest : LexicalForest
        Of the parser.
    chains : tuple of tuples
        Those of the parser: they end in a tag at words.
    labels : tuple of tuples
        The chains of phrase labels that have a column.
    weights : array, rows of hashed features x labels
        In single precision.
    share : float
        Of the marginals of the parser that come from this model.
    """

    forest: LexicalForest
    chains: Chains
    labels: Chains
    weights: Singles
    share: float = 0.35

    def codes(self, nodes: Int64s, tags: Int64s) -> tuple[Int64s, Int64s]:
        """Words and tags of a sentence as features take them, between marks."""
        forest = self.forest
        rare = (nodes < len(forest.words)) & (forest.totals[nodes] < KNOWN)
        words = np.where(rare, forest.above[nodes], nodes)
        return _marked(words, len(forest.above)), _marked(tags, len(forest.tag_names))

    def mixed(self, nodes: Int64s, tags: Int64s, chart: ChainItems) -> ChainItems:
        """mu with this model in it; for tags of -1 stand those that the chart finds best."""
        n, columns = len(nodes), self._columns
        found = _best_tags(n, chart, columns.tags, len(self.forest.tag_names))
        words, tags = self.codes(nodes, np.where(tags >= 0, tags, found))
        alive = (np.diff(chart.starts) > 0).astype(np.uint8)
        scores = span_scores(words, tags, self.weights, alive)
        _forbid_others(n, chart, columns, scores)
        posteriors, log_total = span_posteriors(n, scores, alive)
        if np.isneginf(log_total):
            return chart
        spans = _onto_chains(n, chart, posteriors, columns)
        return chart._replace(values=(1.0 - self.share) * chart.values + self.share * spans)

    def alone(self, nodes: Int64s, tags: Sequence[str]) -> ChainItems | None:
        """A chart of this model without any grammar; None for tags it never saw."""
        n, columns = len(nodes), self._columns
        codes = np.array([self.forest.tag_codes.get(tag, -1) for tag in tags], dtype=np.int64)
        fitting = [np.flatnonzero((columns.tags == code) & (columns.leaf != NOT_SCORED)) for code in codes]
        if (
            n < 2
            or codes.min() < 0
            or not all((columns.leaf[chains] == NO_LABEL).any() for chains in fitting)
        ):
            return None
        alive = np.ones(n * (n + 1) // 2, dtype=np.uint8)
        posteriors, _ = span_posteriors(n, span_scores(*self.codes(nodes, codes), self.weights, alive), alive)
        phrases = np.flatnonzero(columns.phrase >= 0)
        cell, which = np.nonzero(posteriors[n:, columns.phrase[phrases]] > LEAST)
        counts = np.concatenate([[len(c) for c in fitting], np.bincount(cell, minlength=len(alive) - n)])
        if counts[-1] == 0:  # no label that phrases have is probable at the root
            return None
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        chains = np.concatenate([*fitting, phrases[which]]).astype(np.int32)
        even = ChainItems(starts, chains, np.repeat(1.0 / np.maximum(counts, 1), counts))
        return even._replace(values=_onto_chains(n, even, posteriors, columns))

    @cached_property
    def chain_tags(self) -> Int64s:
        """The tag at the end of every chain, -1 for those of phrases."""
        codes = self.forest.tag_codes
        return np.array([codes.get(chain[-1], -1) for chain in self.chains], dtype=np.int64)

    @cached_property
    def _columns(self) -> _Columns:
        column = {label: number for number, label in enumerate(self.labels)}
        leaves = [column.get(chain[:-1], NOT_SCORED) if chain[1:] else NO_LABEL for chain in self.chains]
        phrases = [column.get(chain, NOT_SCORED) for chain in self.chains]
        return _Columns(self.chain_tags, np.array(leaves, dtype=np.int64), np.array(phrases, dtype=np.int64))

    PARTS: ClassVar[Parts] = Parts(
        header={"labels": lists_of_texts, "share": between(0.0, 1.0)},
        arrays={"weights": floats(N_ROWS, "columns", types=("float16",))},
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        header = {"labels": [list(label) for label in self.labels], "share": self.share}
        return {"weights": self.weights.astype(np.float16)}, header

    @classmethod
    def from_parts(
        cls, arrays: dict[str, Array], header: dict[str, Any], forest: LexicalForest, chains: Chains
    ) -> SpanScorer:
        check_header(header, cls.PARTS.header)
        labels = tuple(tuple(label) for label in header["labels"])
        cls.PARTS.check(arrays, header, columns=max(len(labels), 1))
        return cls(forest, chains, labels, arrays["weights"].astype(np.float32), float(header["share"]))


def _marked(codes: Sequence[int] | Int64s, n_codes: int) -> Int64s:
    """With marks before and behind that no word has."""
    before, behind = np.full(PAD, n_codes), np.full(PAD, n_codes + 1)
    return np.concatenate([before, np.asarray(codes, dtype=np.int64), behind])


@kernel
def _best_tags(n: int, chart: ChainItems, chain_tags: Int64s, n_tags: int) -> Int64s:
    """The most probable tag of every word, all chains that end in it together; -1 where no chain has one."""
    starts, chains, values = chart
    best, mass = np.full(n, -1, np.int64), np.zeros(n_tags)
    for i in range(n):
        mass[:] = 0.0
        for at in range(starts[i], starts[i + 1]):
            tag = chain_tags[chains[at]]
            if tag >= 0:
                mass[tag] += values[at]
                if best[i] < 0 or mass[tag] > mass[best[i]]:
                    best[i] = tag
    return best


@kernel
def _forbid_others(n: int, chart: ChainItems, columns: _Columns, scores: Singles) -> None:
    """Take the labels that no chain of a cell has out of its scores."""
    starts, chains = chart.starts, chart.labels
    kept = np.zeros(scores.shape[1], np.bool_)
    for c in range(len(starts) - 1):
        kept[:] = False
        for at in range(starts[c], starts[c + 1]):
            column = columns.leaf[chains[at]] if c < n else columns.phrase[chains[at]]
            if column >= 0:
                kept[column] = True
        for label in range(len(kept)):
            if not kept[label]:
                scores[c, label] = _FORBIDDEN


@kernel
def _onto_chains(n: int, chart: ChainItems, posteriors: Singles, columns: _Columns) -> Floats:
    """The posteriors of labels as those of chains; over one word each tag keeps its share in `values`."""
    starts, chains, values = chart
    result = np.zeros(len(values))
    for c in range(len(starts) - 1):
        none = max(1.0 - posteriors[c].sum(), 0.0)
        for at in range(starts[c], starts[c + 1]):
            column = columns.leaf[chains[at]] if c < n else columns.phrase[chains[at]]
            if column >= 0:
                result[at] = posteriors[c, column]
            elif column == -2:
                result[at] = none
        if c < n:
            _keep_tags(starts[c], starts[c + 1], chart, columns.tags, result)
    return result


@part
def _keep_tags(low: int, high: int, chart: ChainItems, chain_tags: Int64s, result: Floats) -> None:
    """Scale the results of one word so that every tag has the sum that it has among the values."""
    _, chains, values = chart
    for at in range(low, high):
        tag, wanted, found, is_first = chain_tags[chains[at]], 0.0, 0.0, True
        for other in range(low, high):
            if chain_tags[chains[other]] == tag:
                wanted += values[other]
                found += result[other]
                is_first &= other >= at
        if is_first:  # all chains of a tag at once
            for other in range(at, high):
                if chain_tags[chains[other]] == tag:
                    result[other] = result[other] * wanted / found if found > 0.0 else values[other]

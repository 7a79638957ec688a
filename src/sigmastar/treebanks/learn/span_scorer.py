"""The span scorer from trees: a few passes of AdaGrad over log P(tree | sentence).

The first pass looks at all spans; from the second on those that are next to impossible are left out. Three
passes are enough: more fit the training trees better, and others not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Int64s
from sigmastar.core.progress import Progress, silent
from sigmastar.treebanks.data.phrases import Phrases
from sigmastar.treebanks.kernels.span_features import N_ROWS, PAD, SpanText, SpanWeights, learn_spans
from sigmastar.treebanks.model.lexicon import LexicalForest
from sigmastar.treebanks.model.span_scorer import Chains, SpanScorer

_FIRST_SQUARE = 0.01  # bounds the first steps
_LONGEST = 300  # words of a sentence that is learned from: it has half the square of it as spans
_MOST_LABELS = 127  # numbers of labels are kept in a byte


@dataclass(frozen=True)
class SpanScorerSpec:
    """How a span scorer is learned."""

    n_passes: int = 3
    rate: float = 0.1
    occurrences: int = 5  # of a chain of labels, to be scored at all
    least: float = 1e-4  # posterior of a span that is kept after the second pass
    share: float = 0.35  # of the marginals of a parser that come from it
    threshold: float = 0.44  # of the parser that it is part of: half the F1 to be expected


def learn_span_scorer(
    bank: Phrases,
    forest: LexicalForest,
    spec: SpanScorerSpec,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> SpanScorer:
    """Weights from the trees of a bank, whose words `forest` holds."""
    labels, column = _labels(bank, spec.occurrences)
    scorer = SpanScorer(
        forest, bank.labels, labels, np.zeros((N_ROWS, max(len(labels), 1)), np.float32), spec.share
    )
    if not labels:
        return scorer
    cell_starts, gold = _gold(bank, column)
    text = SpanText(*_marked_text(bank, scorer), cell_starts, gold, np.ones(len(gold), dtype=np.uint8))
    model = SpanWeights(scorer.weights, np.full_like(scorer.weights, _FIRST_SQUARE))
    for number in range(spec.n_passes):
        progress(f"spans, pass {number + 1}", number / spec.n_passes)
        learn_spans(
            rng.permutation(np.flatnonzero(np.diff(cell_starts))),
            text,
            model,
            (spec.rate, spec.least if number else 0.0),
        )
    return scorer


def _labels(bank: Phrases, occurrences: int) -> tuple[Chains, Int64s]:
    """Chains of phrase labels that are frequent, and the column of each row of the bank, -1 for none."""
    kinds, kind = np.unique(2 * bank.label + (bank.word >= 0), return_inverse=True)
    chains = [bank.labels[k // 2][:-1] if k % 2 else bank.labels[k // 2] for k in kinds.tolist()]
    table: dict[tuple[str, ...], int] = {}
    for chain, count in zip(chains, np.bincount(kind).tolist(), strict=True):
        table[chain] = table.get(chain, 0) + count
    frequent = sorted((-count, chain) for chain, count in table.items() if chain and count >= occurrences)
    labels = tuple(chain for _, chain in frequent[:_MOST_LABELS])
    column = {chain: number for number, chain in enumerate(labels)}
    return labels, np.array([_column(column, chain) for chain in chains], dtype=np.int64)[kind]


def _column(column: dict[tuple[str, ...], int], chain: tuple[str, ...]) -> int:
    """That of the chain; a rare chain counts as its first label, or as the most frequent one."""
    if not chain:
        return -1
    return column.get(chain, column.get(chain[:1], 0))


def _marked_text(bank: Phrases, scorer: SpanScorer) -> tuple[Int64s, Int64s, Int64s]:
    """Where each sentence begins, its words and tags as the scorer codes them."""
    rows, forest = bank.leaf_rows, scorer.forest
    ends = np.searchsorted(rows, bank.starts)
    nodes = np.array([forest.node(word) for word in bank.words], dtype=np.int64)[bank.word[rows]]
    tags = scorer.chain_tags[bank.label[rows]]
    pairs = [scorer.codes(nodes[low:high], tags[low:high]) for low, high in pairwise(ends.tolist())]
    starts = ends + 2 * PAD * np.arange(len(ends))
    return starts, np.concatenate([words for words, _ in pairs]), np.concatenate([tags for _, tags in pairs])


def _gold(bank: Phrases, column: Int64s) -> tuple[Int64s, NDArray[np.int8]]:
    """Where the cells of each sentence begin, and the column of every cell, -1 where no phrase stands.

    Sentences that are too long have none.
    """
    begin, end = bank.spans
    tree = np.repeat(np.arange(len(bank)), np.diff(bank.starts))
    n = end[bank.starts[:-1]]
    cell_starts = np.concatenate([[0], np.cumsum(np.where(n > _LONGEST, 0, n * (n + 1) // 2))])
    width = end - begin
    cell = (width - 1) * n[tree] - (width - 1) * (width - 2) // 2 + begin
    gold = np.full(int(cell_starts[-1]), -1, dtype=np.int8)
    short = n[tree] <= _LONGEST
    gold[(cell_starts[tree] + cell)[short]] = column[short]
    return cell_starts, gold

"""From trees to parsers: how the grammars of a parser are learned, by name.

    pcfg         one state per symbol: relative frequencies
    spectral     signed tensors recovered from shrunk moments (Cohen et al. 2012): the first idea
    cluster      states from two views, clustered, counted and shrunk: the second idea
    spectral+em  the same, followed by a few rounds of EM
    em           EM from a random start
    best         spectral+em for five binarizations, their marginals averaged, and a span scorer

To add a method, write a function from `_Prepared` to the passes after the plain one and name it in METHODS.

The span scorer is learned by a few passes of AdaGrad over log P(tree | sentence).

The first pass looks at all spans; from the second on those that are next to impossible are left out. Three
passes are enough: more fit the training trees better, and others not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.treebanks.counts import (
    INSIDE,
    OUTSIDE,
    HeadChoice,
    Template,
    choose_heads,
    indicators,
    nodes_of,
)
from sigmastar.treebanks.data.binarized import DIRECTIONS, Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.treebanks.kernels.span_features import N_ROWS, PAD, SpanText, SpanWeights, learn_spans
from sigmastar.treebanks.learn.clusters_and_em import (
    Embedding,
    LatentFit,
    LexicalCounts,
    Shrinkage,
    Statistics,
    cluster_states,
    count_lexicon,
    embed,
    from_states,
    joined_states,
    maximized,
    plain_lexicon,
    refine,
)
from sigmastar.treebanks.learn.em_starts import known_statistics, random_statistics
from sigmastar.treebanks.learn.spectral import shrunk_moments, spectral_fit
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar, PruningPass
from sigmastar.treebanks.model.coarse_to_fine import DEFAULT_PRUNING, THOROUGH
from sigmastar.treebanks.model.lexicon import LexicalForest, Lexicon
from sigmastar.treebanks.model.parser import TreebankParser
from sigmastar.treebanks.model.span_scorer import Chains, SpanScorer
from sigmastar.trees.data.tree import Tree

_FIRST_SQUARE = 0.01  # bounds the first steps
_LONGEST = 300  # words of a sentence that is learned from: it has half the square of it as spans
_MOST_LABELS = 127  # numbers of labels are kept in a byte


PLAIN_THRESHOLD, THRESHOLD = 0.4, 0.44
"""Marginals that labels must have in trees of plain PCFGs, and of others: half the F1 that those have."""


@dataclass(frozen=True)
class SpanScorerSpec:
    """How a span scorer is learned."""

    n_passes: int = 3
    rate: float = 0.1
    occurrences: int = 5  # of a chain of labels, to be scored at all
    least: float = 1e-4  # posterior of a span that is kept after the second pass
    share: float = 0.35  # of the marginals of a parser that come from it
    threshold: float = THRESHOLD  # of the parser that it is part of


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


SIGNED = Shrinkage(strength=80.0, backing=50.0, words=80.0)
"""Signed tensors need more: with less the totals of more than one sentence in a hundred are not positive."""

FEW = 4  # states of the grammar that prunes for the full one


@dataclass(frozen=True)
class GrammarSpec:
    """How one grammar is learned."""

    method: str = "spectral+em"
    binarization: Binarization = field(default_factory=Binarization)
    n_states: int = 16  # of a symbol, at most
    occurrences: int = 30  # of a symbol for each of its states
    max_iter: int = 4  # rounds of EM
    n_dimensions: int = 12  # of the embedding that clusters are made in
    shrinkage: Shrinkage | None = None  # None: what suits the method
    inside: Mapping[str, Template] = field(default_factory=lambda: INSIDE)
    outside: Mapping[str, Template] = field(default_factory=lambda: OUTSIDE)
    device: str = "cpu"  # where EM counts
    last: BinarizedGrammar | None = None  # that EM goes on from


BEST = (
    *(GrammarSpec(binarization=Binarization(direction), n_states=24) for direction in reversed(DIRECTIONS)),
    GrammarSpec(binarization=Binarization("head", vertical=2)),
    GrammarSpec(binarization=Binarization("left", horizontal=1)),
)
"""The grammars of the method "best": from the head, to the left, to the right; then two smaller ones whose
phrases remember their parent, or whose binary symbols a sibling.
"""


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A binarized treebank, and what methods need of it, made at first use."""

    bank: BinaryPhrases
    spec: GrammarSpec
    rng: np.random.Generator
    progress: Progress

    @property
    def shrinkage(self) -> Shrinkage:
        return self.spec.shrinkage or (SIGNED if self.spec.method == "spectral" else Shrinkage())

    @cached_property
    def lexical(self) -> LexicalCounts:
        return count_lexicon(self.bank)

    @cached_property
    def counts(self) -> Int64s:
        return np.bincount(self.bank.symbol, minlength=len(self.bank.symbols))

    @cached_property
    def n_states(self) -> Int64s:
        spec = self.spec
        usual = np.clip(self.counts // spec.occurrences, 1, spec.n_states).astype(np.int64)
        if spec.last is None:
            return usual
        return np.where(self.known < 0, usual, spec.last.grammar.n_states[self.known])

    @cached_property
    def known(self) -> Int64s:
        """The symbol of the last grammar that each symbol is, -1 for none."""
        last, bank = self.spec.last, self.bank
        names = {} if last is None else last.symbols.numbers(last.labels)
        return np.array([names.get(name, -1) for name in bank.symbols.numbers(bank.phrases.labels)])

    def embedding(self, most: int) -> Embedding:
        """Coordinates of every node, in up to so many dimensions."""
        nodes = nodes_of(self.bank)
        sizes = np.clip(self.counts // 10, 1, most).astype(np.int64)
        views = indicators(nodes, self.spec.inside), indicators(nodes, self.spec.outside)
        self.progress("correlating inside and outside", 0.1)
        return embed(nodes.symbol, *views, sizes, self.rng)

    def fitted(self, found: Statistics) -> LatentFit:
        return maximized(self.bank, self.lexical, self.n_states, found, self.shrinkage)

    def refined(self, fit: LatentFit, max_iter: int) -> LatentFit:
        progress = stage(self.progress, 0.4, 1.0)
        where = self.spec.device
        return refine(self.bank, self.lexical, fit, max_iter, self.shrinkage, progress, where).latest

    def plain(self) -> PruningPass:
        """Relative frequencies."""
        one = np.ones(len(self.bank.symbols), dtype=np.int64)
        found = from_states(self.bank, one, np.zeros(len(self.bank.symbol), dtype=np.int64))
        fit = maximized(self.bank, self.lexical, one, found, Shrinkage(0.0, 0.0, 0.0))
        return PruningPass(fit.grammar, plain_lexicon(self.lexical))

    def passes(self, fit: LatentFit) -> list[PruningPass]:
        """The full grammar, and before it one with its states joined to a few."""
        full = PruningPass(fit.grammar, fit.lexicon)
        if self.spec.n_states <= FEW:
            return [full]
        groups = joined_states(fit.grammar, FEW)
        small = fit.grammar.grouped(groups)
        values = fit.lexicon.grouped(groups, fit.grammar.frequencies, small.n_states, small.frequencies)
        return [PruningPass(small, values), full]


def _pcfg(prepared: _Prepared) -> list[PruningPass]:
    return []


def _spectral(prepared: _Prepared) -> list[PruningPass]:
    bank, lexical, spec = prepared.bank, prepared.lexical, prepared.spec
    embedding = prepared.embedding(max(spec.n_states, spec.n_dimensions))
    moments = shrunk_moments(bank, lexical, embedding, prepared.shrinkage)
    sizes = [FEW, spec.n_states] if spec.n_states > FEW else [spec.n_states]
    fits = [spectral_fit(bank.symbols, bank.rules, lexical.forest, moments, n) for n in sizes]
    return [PruningPass(fit.grammar, fit.lexicon) for fit in fits]


def _cluster(prepared: _Prepared) -> list[PruningPass]:
    return prepared.passes(_clustered(prepared))


def _spectral_em(prepared: _Prepared) -> list[PruningPass]:
    return prepared.passes(prepared.refined(_clustered(prepared), prepared.spec.max_iter))


def _clustered(prepared: _Prepared) -> LatentFit:
    bank, n_states, n_dimensions = prepared.bank, prepared.n_states, prepared.spec.n_dimensions
    embedding = prepared.embedding(n_dimensions)
    prepared.progress("clustering", 0.3)
    states = cluster_states(bank.symbol, embedding, n_states, prepared.rng, n_dimensions)
    return prepared.fitted(from_states(bank, n_states, states))


def _em(prepared: _Prepared) -> list[PruningPass]:
    bank, last = prepared.bank, prepared.spec.last
    start = random_statistics(bank, prepared.n_states, prepared.rng)
    if last is None:
        first = prepared.fitted(start)
    else:
        fit = LatentFit(last.grammar, last.passes[-1].lexicon)
        given = bank, fit, prepared.known, prepared.n_states, start
        first = fit if _is_of(bank, last) else prepared.fitted(known_statistics(*given))
    return prepared.passes(prepared.refined(first, prepared.spec.max_iter))


def _is_of(bank: BinaryPhrases, last: BinarizedGrammar) -> bool:
    """Whether a treebank has the words, symbols and rules of a grammar, in its order."""
    same = bank.phrases.words == tuple(last.forest.words) and np.array_equal(bank.rules, last.grammar.rules)
    return same and bank.symbols.numbers(bank.phrases.labels) == last.symbols.numbers(last.labels)


METHODS: Mapping[str, Callable[[_Prepared], list[PruningPass]]] = MappingProxyType(
    {"pcfg": _pcfg, "spectral": _spectral, "cluster": _cluster, "spectral+em": _spectral_em, "em": _em}
)


def learn_grammar(
    bank: Phrases,
    heads: HeadChoice,
    spec: GrammarSpec,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> BinarizedGrammar:
    """One grammar from phrases and the heads among their children."""
    if spec.method not in METHODS:
        raise ValueError(f"method={spec.method!r} must be one of {', '.join(map(repr, METHODS))}")
    prepared = _Prepared(binarize(bank, spec.binarization, heads.heads(bank)), spec, rng, progress)
    passes = (prepared.plain(), *METHODS[spec.method](prepared))
    return BinarizedGrammar(spec.binarization, prepared.bank.symbols, bank.labels, passes, heads)


def learn_treebank(
    trees: Iterable[Tree] | Phrases,
    specs: Sequence[GrammarSpec] = BEST,
    rng: np.random.Generator | None = None,
    progress: Progress = silent,
    spans: SpanScorerSpec | None = None,
) -> TreebankParser:
    """A parser.

    Parameters
    ----------
    trees : iterable of Tree, or Phrases
        The treebank.
    specs : sequence of GrammarSpec
        A grammar is learned for each.
    rng : Generator or None
        The source of chance; None: of seed 0.
    progress : callable
        Called with what is being done.
    spans : SpanScorerSpec or None
        How a span scorer is learned beside them.

    Returns
    -------
    TreebankParser
        With the threshold and pruning that suit it.
    """
    bank = trees if isinstance(trees, Phrases) else phrases(trees)
    if not len(bank):
        raise InputError("no tree has a word; give at least one tree like (S (NP (PRP she)) (VP (VBZ runs)))")
    heads, rng = choose_heads(bank), rng or np.random.default_rng(0)
    n_parts = len(specs) + (spans is not None)
    grammars = []
    for number, spec in enumerate(specs):
        part = stage(progress, number / n_parts, (number + 1) / n_parts)
        part(f"grammar {number + 1} of {len(specs)}", 0.0)
        grammars.append(learn_grammar(bank, heads, spec, rng, part))
    pruning = THOROUGH if len(specs) > 1 else DEFAULT_PRUNING
    members = tuple(_sharing_words(grammars))
    threshold = PLAIN_THRESHOLD if all(spec.method == "pcfg" for spec in specs) else THRESHOLD
    parser = TreebankParser(bank.labels, members, threshold, pruning)
    if spans is None:
        return parser
    scorer = learn_span_scorer(bank, parser.forest, spans, rng, stage(progress, len(specs) / n_parts, 1.0))
    return replace(parser, span_scorer=scorer, threshold=spans.threshold)


def _sharing_words(grammars: Sequence[BinarizedGrammar]) -> list[BinarizedGrammar]:
    """Grammars over the words of the first: they are the same, since leaves do not depend on binarization."""
    forest = grammars[0].forest

    def shared(step: PruningPass) -> PruningPass:
        return PruningPass(step.grammar, Lexicon(forest, step.lexicon.n_states, step.lexicon.values))

    return [replace(grammar, passes=tuple(map(shared, grammar.passes))) for grammar in grammars]

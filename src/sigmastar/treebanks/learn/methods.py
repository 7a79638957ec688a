"""From trees to parsers: how the members of a parser are learnt, by name.

    pcfg         one state a symbol: relative frequencies
    spectral     signed tensors from moments of features (Cohen et al. 2012)
    cluster      states are clusters of the spectral embedding, counted and shrunk
    spectral+em  the same, followed by a few rounds of EM
    em           EM from a random start
    best         spectral+em for several binarisations, their marginals averaged, and a model of spans

To add a method, write a function from `_Prepared` to the stages after the plain one and name it in METHODS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.treebanks.counts import INSIDE, OUTSIDE, Template, indicators, nodes_of
from sigmastar.treebanks.data.binary import Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.head_choice import head_children
from sigmastar.treebanks.data.phrases import Longs, Phrases, phrases
from sigmastar.treebanks.learn.clusters import cluster_states, joined_states
from sigmastar.treebanks.learn.em import (
    LatentFit,
    Shrinkage,
    Statistics,
    from_states,
    maximised,
    random_statistics,
    refine,
)
from sigmastar.treebanks.learn.embedding import Embedding, embed
from sigmastar.treebanks.learn.lexicon import LexicalCounts, count_lexicon, plain_lexicon
from sigmastar.treebanks.learn.span_scorer import SpanRecipe, learn_span_scorer
from sigmastar.treebanks.learn.spectral import spectral_fit
from sigmastar.treebanks.model.binarized_grammar import Member, Stage
from sigmastar.treebanks.model.coarse_to_fine import DEFAULT_PRUNING, THOROUGH
from sigmastar.treebanks.model.lexicon import Lexicon
from sigmastar.treebanks.model.parser import TreebankParser
from sigmastar.trees.data.tree import Tree

Array = NDArray[np.float64]
Watch = Callable[[int, int], None]

SIGNED = Shrinkage(strength=80.0, backing=50.0, words=80.0)
"""Signed tensors need more: with less the totals of more than one sentence in a hundred are not positive."""

FEW = 4  # states of the grammar that prunes for the full one


@dataclass(frozen=True)
class Recipe:
    """How one member is learnt."""

    method: str = "spectral+em"
    binarization: Binarization = field(default_factory=Binarization)
    n_states: int = 16  # of a symbol, at most
    occurrences: int = 30  # of a symbol for each of its states
    n_rounds: int = 4  # of EM
    n_dimensions: int = 12  # of the embedding that clusters are made in
    shrinkage: Shrinkage | None = None  # None: what suits the method
    inside: Mapping[str, Template] = field(default_factory=lambda: INSIDE)
    outside: Mapping[str, Template] = field(default_factory=lambda: OUTSIDE)


BEST: tuple[Recipe, ...] = (
    Recipe(binarization=Binarization("head"), n_states=24),
    Recipe(binarization=Binarization("right"), n_states=24),
    Recipe(binarization=Binarization("left"), n_states=24),
    Recipe(binarization=Binarization("head", vertical=2), n_states=16),
    Recipe(binarization=Binarization("left", horizontal=1), n_states=16),
)
"""The members of the method "best"; it has a model of spans too, `SPANS`."""

SPANS = SpanRecipe()


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A binarised treebank, and what methods may ask of it, made when asked for."""

    bank: BinaryPhrases
    recipe: Recipe
    rng: np.random.Generator

    @property
    def shrinkage(self) -> Shrinkage:
        return self.recipe.shrinkage or (SIGNED if self.recipe.method == "spectral" else Shrinkage())

    @cached_property
    def lexical(self) -> LexicalCounts:
        return count_lexicon(self.bank)

    @cached_property
    def counts(self) -> Longs:
        return np.bincount(self.bank.symbol, minlength=len(self.bank.symbols))

    @cached_property
    def n_states(self) -> Longs:
        recipe = self.recipe
        return np.clip(self.counts // recipe.occurrences, 1, recipe.n_states).astype(np.int64)

    @cached_property
    def embedding(self) -> Embedding:
        nodes, recipe = nodes_of(self.bank), self.recipe
        most = (
            max(recipe.n_states, recipe.n_dimensions) if recipe.method == "spectral" else recipe.n_dimensions
        )
        sizes = np.clip(self.counts // 10, 1, most).astype(np.int64)
        inside, outside = indicators(nodes, recipe.inside), indicators(nodes, recipe.outside)
        return embed(self.bank.symbol, inside, outside, sizes, self.rng)

    @cached_property
    def states(self) -> Longs:
        return cluster_states(
            self.bank.symbol, self.embedding, self.n_states, self.rng, self.recipe.n_dimensions
        )

    def fitted(self, found: Statistics) -> LatentFit:
        return maximised(self.bank, self.lexical, self.n_states, found, self.shrinkage)

    def plain(self) -> Stage:
        """Relative frequencies."""
        one = np.ones(len(self.bank.symbols), dtype=np.int64)
        found = from_states(self.bank, one, np.zeros(len(self.bank.symbol), dtype=np.int64))
        fit = maximised(self.bank, self.lexical, one, found, Shrinkage(0.0, 0.0, 0.0))
        return Stage(fit.grammar, plain_lexicon(self.lexical))


def _pcfg(prepared: _Prepared) -> list[Stage]:
    return []


def _spectral(prepared: _Prepared) -> list[Stage]:
    recipe = prepared.recipe
    few, full = (
        spectral_fit(prepared.bank, prepared.lexical, prepared.embedding, prepared.shrinkage, n)
        for n in (FEW, recipe.n_states)
    )
    return [Stage(fit.grammar, fit.lexicon) for fit in ([few, full] if recipe.n_states > FEW else [full])]


def _cluster(prepared: _Prepared) -> list[Stage]:
    return _with_states(prepared, 0)


def _spectral_em(prepared: _Prepared) -> list[Stage]:
    return _with_states(prepared, prepared.recipe.n_rounds)


def _with_states(prepared: _Prepared, n_rounds: int) -> list[Stage]:
    fit = prepared.fitted(from_states(prepared.bank, prepared.n_states, prepared.states))
    return _two_stages(prepared, _refined(prepared, fit, n_rounds))


def _em(prepared: _Prepared) -> list[Stage]:
    start = random_statistics(prepared.bank, prepared.n_states, prepared.rng)
    return _two_stages(prepared, _refined(prepared, prepared.fitted(start), prepared.recipe.n_rounds))


def _refined(prepared: _Prepared, fit: LatentFit, n_rounds: int) -> LatentFit:
    return refine(prepared.bank, prepared.lexical, fit, n_rounds, prepared.shrinkage)


def _two_stages(prepared: _Prepared, fit: LatentFit) -> list[Stage]:
    """The full grammar, and before it one with its states joined to a few."""
    full = Stage(fit.grammar, fit.lexicon)
    if prepared.recipe.n_states <= FEW:
        return [full]
    groups = joined_states(fit.grammar, FEW)
    small = fit.grammar.grouped(groups)
    values = fit.lexicon.grouped(groups, fit.grammar.frequencies, small.n_states, small.frequencies)
    return [Stage(small, values), full]


METHODS: Mapping[str, Callable[[_Prepared], list[Stage]]] = MappingProxyType(
    {"pcfg": _pcfg, "spectral": _spectral, "cluster": _cluster, "spectral+em": _spectral_em, "em": _em}
)


def learn_member(bank: Phrases, heads: NDArray[np.int32], recipe: Recipe, rng: np.random.Generator) -> Member:
    """One member from phrases and the heads among their children."""
    if recipe.method not in METHODS:
        raise ValueError(f"method={recipe.method!r} must be one of {', '.join(map(repr, METHODS))}")
    prepared = _Prepared(binarize(bank, recipe.binarization, heads), recipe, rng)
    stages = (prepared.plain(), *METHODS[recipe.method](prepared))
    return Member(recipe.binarization, prepared.bank.symbols, bank.labels, stages)


def learn_treebank(
    trees: Iterable[Tree] | Phrases,
    recipes: Sequence[Recipe] = BEST,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
    spans: SpanRecipe | None = None,
) -> TreebankParser:
    """A parser of one member for each recipe, with a model of spans where there is a recipe for it.

    `watch` is told how many of how many are done.
    """
    bank = trees if isinstance(trees, Phrases) else phrases(trees)
    if not len(bank):
        raise InputError("no tree has a word; give at least one tree like (S (NP (PRP she)) (VP (VBZ runs)))")
    heads, rng = head_children(bank), rng or np.random.default_rng(0)
    members, n_parts = [], len(recipes) + (spans is not None)
    for number, recipe in enumerate(recipes):
        if watch is not None:
            watch(number, n_parts)
        members.append(learn_member(bank, heads, recipe, rng))
    parser = _sharing_words(bank.labels, members)
    if spans is None:
        return parser
    if watch is not None:
        watch(len(recipes), n_parts)
    scorer = learn_span_scorer(bank, parser.forest, spans, rng)
    return replace(parser, spans=scorer, threshold=spans.threshold)


def _sharing_words(labels: tuple[tuple[str, ...], ...], members: list[Member]) -> TreebankParser:
    """Members over the words of the first: they are the same, since leaves do not depend on binarisation."""
    forest = members[0].forest
    shared = [
        replace(
            member,
            stages=tuple(
                Stage(stage.grammar, Lexicon(forest, stage.lexicon.n_states, stage.lexicon.values))
                for stage in member.stages
            ),
        )
        for member in members
    ]
    pruning = THOROUGH if len(shared) > 1 else DEFAULT_PRUNING
    return TreebankParser(labels, tuple(shared), pruning=pruning)

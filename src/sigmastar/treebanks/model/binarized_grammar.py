"""One binarized grammar of a treebank parser: from words to marginals, coarse to fine.

    1  the chart of the plain PCFG (`coarse_to_fine`); items and edges of small posterior go
    2  a grammar of few states, made by joining states of the full one; more items go
    3  the full grammar on what is left

The last pass whose total is positive decides. Non-negative grammars always are; of signed ones some are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.model_reading import above, below
from sigmastar.core.stored_parts import Parts, check_header, indices, lists, singles, whole
from sigmastar.treebanks.counts import HeadChoice
from sigmastar.treebanks.data.binarized import DIRECTIONS, OUTWARD, PHRASE, Binarization, Symbols
from sigmastar.treebanks.kernels.latent_chart import LeafVectors, counted_posteriors, latent_posteriors
from sigmastar.treebanks.kernels.plain_chart import Allowed, EdgeChart, allowed_parts, pruned
from sigmastar.treebanks.model.coarse_to_fine import (
    EVERYTHING,
    Bytes,
    CoarseGrammar,
    Groups,
    PlainChart,
    Pruning,
    chart_edges,
    groups,
    plain_chart,
    pruned_chart,
)
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves, LexicalForest, Lexicon
from sigmastar.trees.data.tree import Tree

Chains = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Posteriors of items: symbols over cells, cells by width; log of the total over that of the words."""

    graph: EdgeChart  # its edges are none where only the plain grammar was run
    posteriors: Floats
    log_total: float  # -inf where there is no parse
    is_full: bool  # whether the last pass gave it
    uses: Floats  # the posterior of each edge


@dataclass(frozen=True, eq=False)
class PruningPass:
    """A grammar and the vectors of leaves that go with it."""

    grammar: LatentGrammar
    lexicon: Lexicon


@dataclass(frozen=True, eq=False)
class BinarizedGrammar:
    """A binarized grammar with all its passes; the first has one state per symbol."""

    binarization: Binarization
    symbols: Symbols
    labels: Chains
    passes: tuple[PruningPass, ...]
    heads: HeadChoice | None = None  # of the treebank; older files lack it

    @property
    def forest(self) -> LexicalForest:
        return self.passes[0].lexicon.forest

    @property
    def grammar(self) -> LatentGrammar:
        """That of the last pass."""
        return self.passes[-1].grammar

    @cached_property
    def plain(self) -> CoarseGrammar:
        return CoarseGrammar(self.passes[0].grammar)

    @cached_property
    def groups(self) -> Groups:
        return groups(self.passes[0].grammar, self.symbols, self.labels)

    @cached_property
    def _part_keys(self) -> Int32s:
        """The column of each symbol in what `allowed_parts` makes."""
        kind = np.maximum(self.symbols.kind, PHRASE) - PHRASE
        return (kind * len(self.labels) + self.symbols.label).astype(np.int32)

    def marginals(
        self, leaves: Leaves, pruning: Pruning, allowed: Bytes = EVERYTHING, with_edges: bool = False
    ) -> Marginals:
        """Posteriors of symbols over cells; `allowed` [cell, chain of labels] may rule some out."""
        if len(allowed):
            parts = allowed_parts(len(leaves.nodes), allowed, DIRECTIONS.index(self.binarization.direction))
            keys = Allowed(self._part_keys, parts)
            chart = plain_chart(self.plain, leaves, pruning.beam, pruning.ignored, keys)
        else:
            chart = pruned_chart(self.plain, self.groups, leaves, pruning)
        if np.isneginf(chart.log2_total) or (len(self.passes) == 1 and not with_edges):
            return _of_plain(chart, len(self.passes) == 1)
        return self._with_states(chart, leaves, pruning)

    def _with_states(self, chart: PlainChart, leaves: Leaves, pruning: Pruning) -> Marginals:
        graph, found = chart_edges(self.plain, chart, pruning), _of_plain(chart, False)
        for step in self.passes[1:] or self.passes:
            vectors = LeafVectors(leaves.begin, leaves.symbols, *step.lexicon.candidate_vectors(leaves))
            posteriors, uses, log2_total = _posteriors(graph, vectors, step.grammar)
            if np.isnan(log2_total):  # then it prunes nothing either
                continue
            is_full = step is self.passes[-1]
            log_total = log2_total * float(np.log(2.0))
            found = Marginals(graph, posteriors, log_total, is_full, uses)
            if not is_full:
                graph = pruned(graph, posteriors, pruning.middle)
        return found

    def tags(self, words: Sequence[str]) -> list[str]:
        """The most probable tag of every word by itself."""
        leaves = self.forest.leaves(words)
        weights = leaves.scores * self.forest.frequencies[leaves.symbols]
        best = [
            leaves.symbols[low + int(np.argmax(weights[low:high]))] for low, high in pairwise(leaves.begin)
        ]
        return [self.labels[self.symbols.label[symbol]][-1] for symbol in best]

    def flat_tree(self, words: Sequence[str], tags: Sequence[str]) -> Tree:
        """The most frequent root over tags: for sentences that cannot be parsed."""
        phrase = np.where(self.symbols.base >= 0, self.passes[0].grammar.roots, -1.0)
        phrase[: self.symbols.n_leaves] = -1.0
        root = int(self.symbols.label[int(np.argmax(phrase))])
        children = [Tree(tag, (word,)) for tag, word in zip(tags, words, strict=True)]
        return Tree(self.labels[root][0], tuple(children))

    PARTS: ClassVar[Parts] = Parts(
        header={"binarization": lists, "n_stages": whole(1, 9)},
        arrays={
            "symbols.kind": indices("symbols", of="kinds"),
            "symbols.label": indices("symbols", of="labels"),
            "symbols.parent": indices("symbols", of="labels", least=-1),
            "symbols.siblings": indices("symbols", 2, of="labels", least=-1),
        },
    )
    VALUES: ClassVar[Parts] = Parts(arrays={"lexicon": singles("values")})

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        symbols, arrays = self.symbols, {}
        for name in ("kind", "label", "parent", "siblings"):
            arrays[f"symbols.{name}"] = getattr(symbols, name)
        for number, step in enumerate(self.passes):
            arrays |= above(f"{number}.", step.grammar.to_parts())
            arrays[f"{number}.lexicon"] = step.lexicon.values.astype(np.float32)
        how = self.binarization
        header = {"binarization": [how.direction, how.horizontal, how.vertical], "n_stages": len(self.passes)}
        return arrays, header

    @classmethod
    def from_parts(
        cls, arrays: dict[str, Array], header: dict[str, Any], labels: Chains, forest: LexicalForest
    ) -> BinarizedGrammar:
        check_header(header, cls.PARTS.header)
        stages = [f"{number}." for number in range(header["n_stages"])]
        cls.PARTS.check(arrays, header, stages, kinds=OUTWARD + 1, labels=len(labels))
        symbols = Symbols(*(arrays[f"symbols.{name}"] for name in ("kind", "label", "parent", "siblings")))
        symbols.check(len(labels), len(forest.tags))
        passes = []
        for stage in stages:
            parts = below(stage, arrays)
            own = {"lexicon": parts.pop("lexicon")}
            cls.VALUES.check(own, {})
            grammar = LatentGrammar.from_parts(parts, len(symbols))
            values = own["lexicon"].astype(np.float64)
            passes.append(PruningPass(grammar, Lexicon(forest, grammar.n_states[: symbols.n_leaves], values)))
        _check_passes(passes, len(symbols))
        return cls(Binarization(*header["binarization"]), symbols, labels, tuple(passes))


def _posteriors(
    graph: EdgeChart, vectors: LeafVectors, grammar: LatentGrammar
) -> tuple[Floats, Floats, float]:
    """By counts, where the grammar was made of them: few are not zero."""
    if grammar.counted is not None:
        return counted_posteriors(graph, vectors, grammar.counted)
    return latent_posteriors(graph, vectors, grammar.arrays)


def _check_passes(passes: Sequence[PruningPass], n_symbols: int) -> None:
    """Raise `ValueError` where charts would go out of bounds: files may be damaged."""
    if not passes or passes[0].grammar.n_states.max(initial=1) > 1:
        raise ValueError("the first pass of a grammar must have one state per symbol")
    rules = passes[0].grammar.rules.astype(np.int64)
    keys = (rules[:, 1] * n_symbols + rules[:, 2]) * n_symbols + rules[:, 0]
    if (np.diff(keys) <= 0).any():
        raise ValueError("rules must be sorted by their children")
    for step in passes:
        if step.grammar.n_symbols != n_symbols or not np.array_equal(step.grammar.rules, rules):
            raise ValueError("all passes of a grammar must have its symbols and rules")
        if step.lexicon.values.shape != (step.lexicon.offsets[-1],):
            raise ValueError("the values of a lexicon do not fit its states")


def _of_plain(chart: PlainChart, is_full: bool) -> Marginals:
    log_total = chart.log2_total * float(np.log(2.0))
    none = np.zeros((0, 4), dtype=np.int32)
    graph = EdgeChart(chart.items.starts, chart.items.symbols, none)
    return Marginals(graph, chart.posteriors, log_total, is_full, np.zeros(0))


TOP = "TOP"
_LEAST = 1e-12  # weights of rules that are left out


def rule_lines(member: BinarizedGrammar) -> Iterator[str]:
    """The rules of a grammar with their weights as text, one per state of each symbol, the start `TOP` first.

        TOP -> A_x           the root
        A_x -> B_y C_z       T_r[y, z, x]
        A_x -> "word"        P(word | A, x), of known words

    The weights of all trees of a sentence of known words sum up to its probability under the grammar.
    """  # fmt: skip
    grammar, names = member.grammar, _state_names(member)
    at, top = grammar.state_at, TOP
    while top in names:
        top += "'"
    for state in np.flatnonzero(np.abs(grammar.roots) > _LEAST).tolist():
        yield f"{top} -> {names[state]} {float(grammar.roots[state])!r}"
    for number, (parent, left, right) in enumerate(grammar.rules.tolist()):
        sizes = (grammar.n_states[left], grammar.n_states[right], grammar.n_states[parent])
        tensor = grammar.tensors[grammar.offsets[number] : grammar.offsets[number + 1]].reshape(sizes)
        for y, z, x in np.argwhere(np.abs(tensor) > _LEAST).tolist():
            children = f"{names[at[left] + y]} {names[at[right] + z]}"
            yield f"{names[at[parent] + x]} -> {children} {float(tensor[y, z, x])!r}"
    lexicon = member.passes[-1].lexicon
    for word in member.forest.words:
        leaves, share = member.forest.leaves([word]), float(np.exp(member.forest.log_frequency(word)))
        begin, vectors = lexicon.candidate_vectors(leaves)
        text = word.replace("\\", "\\\\").replace('"', '\\"')
        for place, symbol in enumerate(leaves.symbols.tolist()):
            for x, value in enumerate(vectors[begin[place] : begin[place + 1]].tolist()):
                if abs(value) > _LEAST:
                    yield f'{names[at[symbol] + x]} -> "{text}" {value * share!r}'


def _state_names(member: BinarizedGrammar) -> list[str]:
    """Of each state of each symbol: that of the symbol, with a number where it has several.

    A symbol of words that is written as one of phrases has a stroke behind it.
    """
    written = [member.symbols.name(symbol, member.labels) for symbol in range(len(member.symbols))]
    of_phrases = set(written[member.symbols.n_leaves :])
    written = [
        f"{name}'" if k < member.symbols.n_leaves and name in of_phrases else name
        for k, name in enumerate(written)
    ]
    names = []
    for name, size in zip(written, member.grammar.n_states.tolist(), strict=True):
        names += [name] if size == 1 else [f"{name}_{x}" for x in range(size)]
    return names

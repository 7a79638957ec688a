"""One binarised grammar of a treebank parser: from words to marginals, coarse to fine.

    1  the chart of the plain PCFG (`plain_levels`); items and edges of small posterior go
    2  a grammar of few states, made by joining states of the full one; more items go
    3  the full grammar on what is left

The last stage whose total is positive decides. Non-negative grammars always are; of signed ones some are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import DIRECTIONS, PHRASE, Binarization, Symbols
from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.edges import allowed_parts
from sigmastar.treebanks.kernels.fine import fine_posteriors, pruned
from sigmastar.treebanks.model.coarse_to_fine import (
    EVERYTHING,
    Groups,
    Level,
    PlainChart,
    Pruning,
    chart_edges,
    groups,
    plain_chart,
    pruned_chart,
)
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves, LexicalForest, Lexicon

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Posteriors of items: symbols over cells, cells by width; log of the total over that of the words."""

    starts: Longs
    items: Ints
    posteriors: Array
    log_total: float  # -inf where there is no parse
    is_full: bool  # whether the last stage gave it
    edges: Ints  # [parent, left, right, rule]; none where only the plain grammar was run
    uses: Array  # the posterior of each edge


@dataclass(frozen=True, eq=False)
class Stage:
    """A grammar and the vectors of leaves that go with it."""

    grammar: LatentGrammar
    lexicon: Lexicon


@dataclass(frozen=True, eq=False)
class Member:
    """A binarised grammar with all its stages; the first has one state a symbol."""

    binarization: Binarization
    symbols: Symbols
    labels: tuple[tuple[str, ...], ...]
    stages: tuple[Stage, ...]

    @property
    def forest(self) -> LexicalForest:
        return self.stages[0].lexicon.forest

    @property
    def grammar(self) -> LatentGrammar:
        """That of the last stage."""
        return self.stages[-1].grammar

    @cached_property
    def plain(self) -> Level:
        return Level(self.stages[0].grammar)

    @cached_property
    def groups(self) -> Groups:
        return groups(self.stages[0].grammar, self.symbols, self.labels)

    @cached_property
    def _part_keys(self) -> Ints:
        """The column of each symbol in what `allowed_parts` makes."""
        kind = np.maximum(self.symbols.kind, PHRASE) - PHRASE
        return (kind * len(self.labels) + self.symbols.label).astype(np.int32)

    def marginals(
        self,
        leaves: Leaves,
        pruning: Pruning,
        allowed: NDArray[np.uint8] = EVERYTHING,
        with_edges: bool = False,
    ) -> Marginals:
        """Posteriors of symbols over cells; `allowed` [cell, chain of labels] may rule some out."""
        if len(allowed):
            parts = allowed_parts(len(leaves.nodes), allowed, DIRECTIONS.index(self.binarization.direction))
            keys = self._part_keys
            chart = plain_chart(self.plain, leaves, pruning.beam, pruning.ignored, keys, parts)
        else:
            chart = pruned_chart(self.plain, self.groups, leaves, pruning)
        if np.isneginf(chart.log2_total) or (len(self.stages) == 1 and not with_edges):
            return _of_plain(chart, len(self.stages) == 1)
        return self._with_states(chart, leaves, pruning)

    def _with_states(self, chart: PlainChart, leaves: Leaves, pruning: Pruning) -> Marginals:
        starts, items, edges = chart_edges(self.plain, chart, pruning)
        found = _of_plain(chart, False)
        for stage in self.stages[1:] or self.stages:
            grammar = stage.grammar
            posteriors, uses, log2_total = fine_posteriors(
                starts,
                items,
                edges,
                leaves.begin,
                leaves.symbols,
                *stage.lexicon.candidate_vectors(leaves),
                grammar.n_states,
                grammar.single,
                grammar.offsets,
                grammar.roots,
                grammar.state_at,
            )
            if np.isnan(log2_total):  # then it prunes nothing either
                continue
            is_full = stage is self.stages[-1]
            log_total = log2_total * float(np.log(2.0))
            found = Marginals(starts, items, posteriors, log_total, is_full, edges, uses)
            if not is_full:
                starts, items, edges = pruned(starts, items, edges, posteriors, pruning.middle)
        return found

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        symbols, arrays = self.symbols, {}
        for name in ("kind", "label", "parent", "siblings"):
            arrays[f"symbols.{name}"] = getattr(symbols, name)
        for number, stage in enumerate(self.stages):
            for name, array in stage.grammar.to_parts().items():
                arrays[f"{number}.{name}"] = array
            arrays[f"{number}.lexicon"] = stage.lexicon.values.astype(np.float32)
        how = self.binarization
        header = {"binarization": [how.direction, how.horizontal, how.vertical], "n_stages": len(self.stages)}
        return arrays, header

    @classmethod
    def from_parts(
        cls,
        arrays: dict[str, NDArray[Any]],
        header: dict[str, Any],
        labels: tuple[tuple[str, ...], ...],
        forest: LexicalForest,
    ) -> Member:
        symbols = Symbols(*(arrays[f"symbols.{name}"] for name in ("kind", "label", "parent", "siblings")))
        stages = []
        for number in range(int(header["n_stages"])):
            mine = f"{number}."
            parts = {key.removeprefix(mine): array for key, array in arrays.items() if key.startswith(mine)}
            grammar = LatentGrammar.from_parts(parts)
            values = parts["lexicon"].astype(np.float64)
            stages.append(Stage(grammar, Lexicon(forest, grammar.n_states[: symbols.n_leaves], values)))
        return cls(Binarization(*header["binarization"]), symbols, labels, tuple(stages))


def _of_plain(chart: PlainChart, is_full: bool) -> Marginals:
    log_total = chart.log2_total * float(np.log(2.0))
    none = np.zeros((0, 4), dtype=np.int32)
    return Marginals(chart.starts, chart.items, chart.posteriors, log_total, is_full, none, np.zeros(0))

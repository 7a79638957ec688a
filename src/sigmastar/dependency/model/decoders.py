"""What decides the heads of sentences: head automata, or trained arcs.

    AutomataDecoder     weight(tree) = P_automata(tree) times d(arc) over arcs; heads from marginals of arcs
    BestTreeDecoder     the same; the one most probable tree of deterministic automata
    TrainedArcsDecoder  weight(tree) = exp(theta . indicators(tree)) times d(arc) over arcs

with d what distances weigh (`ArcPrior`). Heads come from the marginals of arcs by Eisner's algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.dependency.kernels.eisner import best_trees, viterbi_sentences
from sigmastar.dependency.kernels.inside_outside import Automata, all_marginals
from sigmastar.dependency.model.arcs import ArcPrior, score_arcs
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.vocabulary import Encoded

if TYPE_CHECKING:
    from sigmastar.dependency.gpu.heads import TorchHeads


AT_ONCE = 256  # sentences that a thread decodes at a time


class Decoded(NamedTuple):
    """Of some sentences: heads of words, signs and logarithms of weights, marginals of arcs (flat)."""

    heads: Int32s
    signs: Floats
    logs: Floats
    marginals: Floats


class Decoder(Protocol):
    """What decides the heads of sentences."""

    decided_by: str
    """In words, for `show`."""
    reads_words: bool
    """Whether sentences need their rows of tags and words; then trees are conditional on sentences."""
    at_once: int
    """Sentences that are decoded together."""

    def decode(self, sentences: Encoded, automata: HeadAutomata, prior: ArcPrior, keep: bool) -> Decoded:
        """Heads and weights, and where `keep`, the marginals of arcs under the same weights."""


@dataclass(frozen=True)
class AutomataDecoder:
    """The tree of the most probable arcs under head automata and distances (minimum Bayes risk)."""

    decided_by = "head automata"
    reads_words = False
    at_once = AT_ONCE

    def decode(self, sentences: Encoded, automata: HeadAutomata, prior: ArcPrior, keep: bool) -> Decoded:
        weights = prior.weights(sentences)
        return _by_marginals(sentences, automata.arrays, weights, prior)


@dataclass(frozen=True)
class TensorDecoder(AutomataDecoder):
    """`AutomataDecoder` with its marginals on a device, by PyTorch, where no arc is ruled out beforehand.

    Sentences whose Z is not positive there, or out of range, go through the compiled kernel.
    """

    device: str
    precision: str | None = None
    at_once = 1 << 14
    _there: WeakKeyDictionary[HeadAutomata, TorchHeads] = field(default_factory=WeakKeyDictionary)

    def decode(self, sentences: Encoded, automata: HeadAutomata, prior: ArcPrior, keep: bool) -> Decoded:
        weights, offsets = prior.weights(sentences, exact=True), sentences.offsets
        own = None if prior.distances is None else weights
        logs, tables = self._heads(automata).marginals(sentences.codes, offsets, prior.scales, own)
        arcs = np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
        signs = np.isfinite(logs).astype(np.float64)
        squares = sentences.squares
        for row in np.flatnonzero(signs == 0).tolist():
            one, here = sentences.part(row, row + 1), slice(squares[row], squares[row + 1])
            found = _by_marginals(one, automata.arrays, weights[here], prior)
            logs[row], signs[row], arcs[here] = found.logs[0], found.signs[0], found.marginals
        return Decoded(best_trees(arcs, offsets, signs > 0, prior.single_root), signs, logs, arcs)

    def _heads(self, automata: HeadAutomata) -> TorchHeads:
        from sigmastar.core.torch_device import chosen_device
        from sigmastar.dependency.gpu.heads import TorchHeads

        if automata not in self._there:
            on_gpu = chosen_device(self.device).type == "cuda"
            precision = self.precision or ("float32" if on_gpu else "float64")
            arrays = automata.initial, automata.final, automata.operators
            self._there[automata] = TorchHeads(*arrays, device=self.device, precision=precision)
        return self._there[automata]


@dataclass(frozen=True)
class BestTreeDecoder:
    """The most probable tree under deterministic head automata and distances (Viterbi)."""

    decided_by = "head automata, by the most probable tree"
    reads_words = False
    at_once = AT_ONCE

    def decode(self, sentences: Encoded, automata: HeadAutomata, prior: ArcPrior, keep: bool) -> Decoded:
        weights = prior.weights(sentences, exact=True)
        heads, logs = viterbi_sentences(
            sentences.codes,
            sentences.offsets,
            automata.logarithms,
            np.log(weights),
            sentences.squares,
            prior.single_root,
        )
        arcs = weights[:0]
        if keep:
            arcs = _by_marginals(sentences, automata.arrays, weights, prior).marginals
        return Decoded(heads, np.where(np.isneginf(logs), 0.0, 1.0), logs, arcs)


@dataclass(frozen=True, eq=False)
class TrainedArcsDecoder:
    """The tree of the most probable arcs under trained weights, without automata: of arcs,
    siblings, grandparents and stops."""

    theta: Floats
    decided_by = "trained arcs"
    reads_words = True
    at_once = AT_ONCE

    def __post_init__(self) -> None:
        if self.theta.ndim != 1 or not is_power_of_two(len(self.theta)):
            raise ValueError(f"arc_weights of shape {self.theta.shape} are no table of hashed weights")
        if not np.isfinite(self.theta).all():
            raise ValueError("arc_weights must be finite")

    def decode(self, sentences: Encoded, automata: HeadAutomata, prior: ArcPrior, keep: bool) -> Decoded:
        offsets = sentences.offsets
        found = score_arcs(sentences, prior.weights(sentences), self.theta).sums(offsets)
        has_tree = np.isfinite(found.logs)
        heads = best_trees(found.arcs, offsets, has_tree, prior.single_root)
        return Decoded(heads, has_tree.astype(np.float64), found.logs, found.arcs)

    def log_conditional(self, sentences: Encoded, heads: Int32s, prior: ArcPrior) -> Floats:
        """log P(tree | sentence) of given trees, whose arcs are not ruled out; -inf where arcs cross."""
        places = sentences.arc_places(heads)
        weights = prior.weights(sentences, places)
        alone = np.zeros_like(weights)
        alone[places] = weights[places]  # all trees of these arcs: the one that is given
        one, every = (
            score_arcs(sentences, table, self.theta).sums(sentences.offsets).logs
            for table in (alone, weights)
        )
        return np.where(np.isfinite(one), one - every, -np.inf)


def _by_marginals(sentences: Encoded, automata: Automata, weights: Floats, prior: ArcPrior) -> Decoded:
    codes, offsets = sentences.codes, sentences.offsets
    found = all_marginals(codes, offsets, automata, weights, prior.scales)
    heads = best_trees(found.arcs, offsets, found.signs > 0, prior.single_root)
    return Decoded(heads, found.signs, found.logs, found.arcs)


DECODERS: Mapping[str, type[AutomataDecoder] | type[BestTreeDecoder]] = {
    "mbr": AutomataDecoder,
    "viterbi": BestTreeDecoder,
}
"""Ways in which head automata decide: the tree of the most probable arcs, or the most probable tree."""


def is_power_of_two(size: int) -> bool:
    """Whether a table of this size can be reached by cutting hashes."""
    return size > 0 and size & (size - 1) == 0

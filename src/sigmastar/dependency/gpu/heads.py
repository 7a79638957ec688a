"""Inside-outside for head automata on tensors: all sentences of one length together, one width at a time.

The recursion is that of `kernels.inside_outside`: halves t, pairs S between siblings, vectors P just after a
modifier. A table holds the items of each width by the position that a sum needs them at, so that the terms of
all items of a width are slices, one of them turned round:

    by head: t[a][i] from i to i + a       by end: t[a][j] from j - a to j

The way back takes the derivative of log Z through the same sums. Every word has a factor that keeps values in
range. On a GPU the kernels of `fused` do this work for models of few states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.torch_device import (
    batch_budget,
    chosen_device,
    chosen_precision,
    import_torch,
    on_device,
    smaller_on_failure,
)

if TYPE_CHECKING:
    import torch

    from sigmastar.dependency.gpu.fused import FusedHeads

LEFT, RIGHT = 0, 1
_SHARE = 0.3  # of the free memory of a GPU


class TorchHeads:
    """Head automata on a device.

    Parameters
    ----------
    initial, final : arrays
        Sorts by states; sorts are 2 * symbol + direction, and the root last.
    operators : array
        Sorts by symbols by states by states.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    precision : {"float64", "float32"}
        Type of all numbers; sentences that leave the range of float32 are done again in float64.
    """

    def __init__(
        self,
        initial: Floats,
        final: Floats,
        operators: Floats,
        *,
        device: str = "auto",
        precision: str = "float64",
    ) -> None:
        torch = import_torch()
        self.device, self.dtype = chosen_device(device), chosen_precision(precision)
        if self.dtype == torch.bfloat16:
            raise ValueError("products of many probabilities need float32 or float64")
        self.arrays = (initial, final, operators)
        self.initial, self.final, self.operators = (
            on_device(array, self.device, self.dtype) for array in self.arrays
        )
        self.n_symbols, self.n_states = operators.shape[1:3]
        self.fused = _fused(self)

    def marginals(
        self, codes: Int32s, offsets: Int64s, scales: Floats | None = None, weights: Floats | None = None
    ) -> tuple[Floats, list[Floats]]:
        """Logarithms of Z, and the posterior probabilities of arcs.

        Parameters
        ----------
        codes, offsets : arrays of int
            The symbols of all words, and where sentences begin and end.
        scales : array or None
            A factor per symbol that keeps values in range; None: of its inverse mean probability.
        weights : array or None
            Factors of arcs, flat, sentence after sentence as heads by modifiers, 0 the root; None: all one.
            With weights every item is a tensor operation: the one kernel of `fused` has none.

        Returns
        -------
        tuple
            One logarithm per sentence, not finite where Z is not positive or not in range; of each sentence
            an array of heads by modifiers, 0 the root.
        """
        factors = self._factors() if scales is None else np.asarray(scales, dtype=np.float64)
        logs, found = np.empty(len(offsets) - 1), [np.empty(0)] * (len(offsets) - 1)
        for rows, length in self._batches(offsets):
            words = codes[offsets[rows][:, None] + np.arange(length)]
            tables = None if weights is None else _tables(weights, offsets, rows, length)
            z, arcs = smaller_on_failure(
                lambda size, w=words, t=tables: self._cut(w, factors, t, size),  # type: ignore[misc]
                len(rows),
            )
            logs[rows] = z
            for row, arc in zip(rows.tolist(), arcs, strict=True):
                found[row] = arc
        lost = np.flatnonzero(~np.isfinite(logs) & (np.diff(offsets) > 0))
        if self.dtype != import_torch().float64 and len(lost):  # which have the range of float64 at least
            wide = TorchHeads(*self.arrays, device=self.device.type, precision="float64")
            lengths = np.diff(offsets)[lost]
            some = np.concatenate([codes[offsets[row] : offsets[row + 1]] for row in lost])
            theirs = None
            if weights is not None:
                theirs = np.concatenate(
                    [_tables(weights, offsets, lost[[k]], n).ravel() for k, n in enumerate(lengths)]
                )
            logs[lost], again = wide.marginals(
                some, np.concatenate([[0], np.cumsum(lengths)]), factors, theirs
            )
            for row, arc in zip(lost.tolist(), again, strict=True):
                found[row] = arc
        return logs, found

    def _factors(self) -> Floats:
        """Per symbol the inverse of its mean weight as a modifier."""
        mass = np.abs(self.arrays[2]).sum(axis=3).mean(axis=2)
        mean = np.exp(np.log(np.maximum(mass, 1e-6)).mean(axis=0))
        return np.asarray(1.0 / np.maximum(mean, 1e-6))

    def _batches(self, offsets: Int64s) -> Iterator[tuple[Int64s, int]]:
        lengths = np.diff(offsets)
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            budget = batch_budget(self.device, _SHARE)
            size = max(int(budget // (6 * (length + 1) ** 2 * (self.n_states + 4) * self.dtype.itemsize)), 1)
            for start in range(0, len(rows), size):
                yield rows[start : start + size], length

    def _cut(
        self, words: Int32s, factors: Floats, weights: Floats | None, size: int
    ) -> tuple[Floats, Floats]:
        some = [slice(at, at + size) for at in range(0, len(words), size)]
        parts = [self._run(words[s], factors, None if weights is None else weights[s]) for s in some]
        return np.concatenate([z for z, _ in parts]), np.concatenate([arcs for _, arcs in parts])

    def _run(self, words: Int32s, factors: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        if self.fused is not None and weights is None and self.fused.takes(words):
            logs, arcs = self.fused.marginals(words, factors)
            return logs.double().cpu().numpy(), arcs.cpu().double().numpy()
        chart = chart_of(self, words, factors, weights)
        z = chart.inside()
        logs = z.log() - chart.scale[:, 1:].log().sum(dim=1)
        chart.outside(z)
        return logs.double().cpu().numpy(), chart.arcs.double().cpu().numpy()


@dataclass(eq=False)
class _Side:
    """The items of one direction, and the derivatives by them; width by sentence by position."""

    initial: torch.Tensor  # sentence, head, state
    final: torch.Tensor
    sorts: torch.Tensor  # sentence, head
    by_head: torch.Tensor  # t
    by_end: torch.Tensor
    states: torch.Tensor  # P, by head
    ended: torch.Tensor  # P . final, by head
    slopes: dict[str, torch.Tensor]


class Chart:
    """All items of a batch of sentences of one length.

    Parameters
    ----------
    heads : TorchHeads
        The automata.
    words : tensor
        Codes, sentence by position; position 0 is the root.
    scale : tensor
        Factor of each word as a modifier.
    weights : tensor or None
        Factors of arcs: sentence, head, modifier.
    """

    def __init__(
        self,
        heads: TorchHeads,
        words: torch.Tensor,
        scale: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> None:
        torch = import_torch()
        self.heads, self.words, self.scale, self.weights = heads, words, scale, weights
        self.n_rows, self.size = words.shape
        self.sides = [self._side(direction) for direction in (LEFT, RIGHT)]
        self.pairs = {"left": self._room(), "right": self._room()}  # S, by either end
        self.pair_slopes = {"left": self._room(), "right": self._room()}
        self.arcs = torch.zeros((self.n_rows, self.size, self.size), dtype=heads.dtype, device=heads.device)

    def _room(self, *more: int) -> torch.Tensor:
        heads, shape = self.heads, (self.size, self.n_rows, self.size, *more)
        return import_torch().zeros(shape, dtype=heads.dtype, device=heads.device)

    def _side(self, direction: int) -> _Side:
        heads = self.heads
        sorts = 2 * self.words + direction
        sorts[:, 0] = 2 * heads.n_symbols
        initial, final = heads.initial[sorts], heads.final[sorts]
        names = ("by_head", "by_end", "ended")
        slopes = {name: self._room() for name in names} | {"states": self._room(heads.n_states)}
        side = _Side(
            initial,
            final,
            sorts,
            self._room(),
            self._room(),
            self._room(heads.n_states),
            self._room(),
            slopes,
        )
        alone = (initial * final).sum(dim=2)
        if direction == LEFT:
            alone[:, 0] = 0.0  # nothing stands to the left of the root
        side.by_head[0] = side.by_end[0] = alone
        return side

    def _ends(self, direction: int, width: int) -> tuple[slice, slice]:
        """Positions of the heads and of the ends of all items of a width."""
        low, high = slice(0, self.size - width), slice(width, self.size)
        return (low, high) if direction == RIGHT else (high, low)

    def _operators(self, direction: int, width: int) -> torch.Tensor:
        """sentence, item, state, state: what the modifier does to its head, with the factor of the word."""
        head, end = self._ends(direction, width)
        words, scale = self.words[:, end].clone(), self.scale[:, end].clone()
        if direction == LEFT:
            words[:, 0], scale[:, 0] = 0, 0.0  # the root modifies nothing
        found = self.heads.operators[self.sides[direction].sorts[:, head], words]
        if self.weights is not None:
            scale = scale * self.weights.diagonal(width if direction == RIGHT else -width, 1, 2)
        return found * scale[:, :, None, None]

    def inside(self) -> torch.Tensor:
        """Z of every sentence."""
        left, right = self.sides
        for width in range(1, self.size):
            low, high = self._ends(RIGHT, width)
            pairs = (right.by_head[:width, :, low] * left.by_head[:width].flip(0)[:, :, high]).sum(dim=0)
            self.pairs["left"][width, :, low] = self.pairs["right"][width, :, high] = pairs
            for direction, near in ((LEFT, "left"), (RIGHT, "right")):
                self._fill(direction, width, self.pairs[near])
        return right.by_head[self.size - 1, :, 0]

    def _fill(self, direction: int, width: int, pairs: torch.Tensor) -> None:
        side, other = self.sides[direction], self.sides[1 - direction]
        head, end = self._ends(direction, width)
        mixed = side.initial[:, head] * other.by_head[width - 1, :, end, None]
        if width > 1:
            between = pairs[1:width].flip(0)[:, :, end, None]
            mixed = mixed + (side.states[1:width, :, head] * between).sum(dim=0)
        states = (mixed[:, :, None] @ self._operators(direction, width))[:, :, 0]
        side.states[width, :, head] = states
        side.ended[width, :, head] = (states * side.final[:, head]).sum(dim=2)
        inner = side.by_end[:width].flip(0)[:, :, end]
        half = (side.ended[1 : width + 1, :, head] * inner).sum(dim=0)
        side.by_head[width, :, head] = side.by_end[width, :, end] = half

    def outside(self, z: torch.Tensor) -> None:
        """Fill the posteriors of arcs; zeros where Z is not positive."""
        left, right = self.sides
        right.slopes["by_head"][self.size - 1, :, 0] = (z > 0) / z.where(z > 0, z.new_ones(()))
        for width in range(self.size - 1, 0, -1):
            low, high = self._ends(RIGHT, width)
            for direction, near in ((LEFT, "left"), (RIGHT, "right")):
                self._spread(direction, width, self.pairs[near], self.pair_slopes[near])
            slope = self.pair_slopes["left"][width, :, low] + self.pair_slopes["right"][width, :, high]
            right.slopes["by_head"][:width, :, low] += slope * left.by_head[:width].flip(0)[:, :, high]
            left.slopes["by_head"][:width, :, high] += (slope * right.by_head[:width, :, low]).flip(0)

    def _spread(self, direction: int, width: int, pairs: torch.Tensor, slopes: torch.Tensor) -> None:
        side, other = self.sides[direction], self.sides[1 - direction]
        head, end = self._ends(direction, width)
        half = side.slopes["by_head"][width, :, head] + side.slopes["by_end"][width, :, end]
        side.slopes["ended"][1 : width + 1, :, head] += half * side.by_end[:width].flip(0)[:, :, end]
        side.slopes["by_end"][:width, :, end] += (half * side.ended[1 : width + 1, :, head]).flip(0)
        ended = side.slopes["ended"][width, :, head, None] * side.final[:, head]
        states = side.slopes["states"][width, :, head] + ended
        arcs = (side.states[width, :, head] * states).sum(dim=2)
        self._arcs(direction, width).copy_(arcs)
        lifted = (self._operators(direction, width) @ states[:, :, :, None])[:, :, :, 0]
        other.slopes["by_head"][width - 1, :, end] += (side.initial[:, head] * lifted).sum(dim=2)
        if width > 1:
            between = pairs[1:width].flip(0)[:, :, end, None]
            side.slopes["states"][1:width, :, head] += lifted * between
            slopes[1:width, :, end] += (lifted * side.states[1:width, :, head]).sum(dim=3).flip(0)

    def _arcs(self, direction: int, width: int) -> torch.Tensor:
        """The cells [head, modifier] of all arcs of a width."""
        return self.arcs.diagonal(width if direction == RIGHT else -width, 1, 2)


def _fused(heads: TorchHeads) -> FusedHeads | None:
    """One kernel for everything, where there is a GPU that runs it."""
    from sigmastar.dependency.gpu.fused import FusedHeads, is_fusible

    return FusedHeads(heads) if is_fusible(heads) else None


def chart_of(heads: TorchHeads, words: Int32s, factors: Floats, weights: Floats | None = None) -> Chart:
    """The empty chart of sentences of one length."""
    torch: Any = import_torch()
    rooted = np.concatenate([np.full((len(words), 1), heads.n_symbols), words], axis=1).astype(np.int64)
    scale = np.concatenate([np.ones((len(words), 1)), factors[words]], axis=1)
    return Chart(
        heads,
        torch.as_tensor(rooted).to(heads.device),
        torch.as_tensor(scale).to(heads.device, heads.dtype),
        None if weights is None else on_device(weights, heads.device, heads.dtype),
    )


def _tables(weights: Floats, offsets: Int64s, rows: Int64s, length: int) -> Floats:
    """The weights of arcs of sentences of one length: sentence, head, modifier."""
    squares = (np.diff(offsets) + 1) ** 2
    begins = (np.cumsum(squares) - squares)[rows]
    size = length + 1
    return np.asarray(weights[begins[:, None] + np.arange(size * size)]).reshape(-1, size, size)

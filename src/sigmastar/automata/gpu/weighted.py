"""Weighted automata of any sign as products of matrices: values of strings, and expected moves.

At every step the strings of a batch that read the same symbol are multiplied by its operator together.
Vectors are scaled to size 1 at every step; a value is a sign and a logarithm. Numbers that leave the range
of their type are noticed where they arise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.automata.gpu.lanes import Lanes, lanes_of
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

_SHARE = 0.4  # of the free memory of a GPU that the vectors of a batch may take
_TINY = 1e-30


class TorchAutomaton:
    """A weighted automaton on a device.

    Parameters
    ----------
    initial : array
        One weight per state.
    transitions : array
        Symbols by states by states.
    final : array
        One weight per state.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    precision : {"float64", "float32"}
        Type of all numbers.
    """

    def __init__(
        self,
        initial: Floats,
        transitions: Floats,
        final: Floats,
        *,
        device: str = "auto",
        precision: str = "float64",
    ) -> None:
        torch = import_torch()
        self.device, self.dtype = chosen_device(device), chosen_precision(precision)
        if self.dtype == torch.bfloat16:
            raise ValueError("a signed automaton cancels digits; use float32 or float64")
        arrays = (initial, transitions, final)
        self.initial, self.transitions, self.final = (
            on_device(array, self.device, self.dtype) for array in arrays
        )
        self.n_states = len(initial)

    def log_value(self, codes: Int32s, offsets: Int64s) -> tuple[Floats, Floats]:
        """The value of every string.

        Parameters
        ----------
        codes, offsets : arrays of int
            The corpus.

        Returns
        -------
        tuple of arrays
            Logarithms of absolute values, minus infinity for 0, and signs.
        """

        def work(size: int) -> tuple[Floats, Floats]:
            logs, signs = np.empty(len(offsets) - 1), np.empty(len(offsets) - 1)
            for lanes in lanes_of(codes, offsets, self.device, size):
                state, scale = self._forward(lanes, None)
                value = state @ self.final
                logs[lanes.strings] = (scale + value.abs().log()).double().cpu().numpy()
                signs[lanes.strings] = value.sign().double().cpu().numpy()
            return logs, signs

        logs, signs = smaller_on_failure(work, self._piece())
        if np.isnan(logs).any():
            raise FloatingPointError("values left the range of their type; use precision='float64'")
        return logs, signs

    def vectors(self, codes: Int32s, offsets: Int64s) -> Floats:
        """The vector of states after every string, each scaled to size 1.

        Parameters
        ----------
        codes, offsets : arrays of int
            The strings, taken as prefixes.

        Returns
        -------
        array
            Strings by states; rows of zeros where nothing is left.
        """

        def work(size: int) -> Floats:
            found = np.empty((len(offsets) - 1, self.n_states))
            for lanes in lanes_of(codes, offsets, self.device, size):
                found[lanes.strings] = self._forward(lanes, None)[0].double().cpu().numpy()
            return found

        return smaller_on_failure(work, self._piece())

    def expect(
        self, codes: Int32s, offsets: Int64s, weights: Floats | None = None
    ) -> tuple[float, Floats, Floats, Floats]:
        """Expected starts, moves and stops of a probabilistic automaton on a corpus.

        Parameters
        ----------
        codes, offsets : arrays of int
            The corpus.
        weights : array or None
            How often each string is counted; None: once.

        Returns
        -------
        tuple
            The log-likelihood, and the counts as arrays of the shapes of the model.
        """
        return smaller_on_failure(lambda size: self._expect(codes, offsets, weights, size), self._piece())

    def _expect(
        self, codes: Int32s, offsets: Int64s, weights: Floats | None, size: int
    ) -> tuple[float, Floats, Floats, Floats]:
        torch = import_torch()
        counts = [torch.zeros_like(part) for part in (self.initial, self.transitions, self.final)]
        total = 0.0
        for lanes in lanes_of(codes, offsets, self.device, size):
            given = np.ones(lanes.n_lanes) if weights is None else weights[lanes.strings]
            weight = torch.as_tensor(given).to(self.device, self.dtype)
            vectors = [self.initial.repeat(lanes.n_lanes, 1)]
            state, scale = self._forward(lanes, vectors)
            ends = state * self.final
            mass = ends.sum(dim=1)
            total += float((weight * (scale + mass.log())).double().sum())
            self._backward(lanes, vectors, weight / mass.clamp_min(_TINY) * (mass > 0), counts)
            counts[2] += (ends * (weight / mass.clamp_min(_TINY))[:, None]).sum(dim=0)
        starts, pairs, stops = (part.double().cpu().numpy() for part in counts)
        return total, starts, pairs * self.transitions.double().cpu().numpy(), stops

    def _forward(self, lanes: Lanes, vectors: list[torch.Tensor] | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors at the ends of strings and the logarithms of their scales; those of all steps if wanted."""
        torch = import_torch()
        state = self.initial.repeat(lanes.n_lanes, 1)
        scale = torch.zeros(lanes.n_lanes, dtype=self.dtype, device=self.device)
        for step, k in enumerate(lanes.active):
            moved = torch.empty_like(state[:k])
            for symbol, rows in _by_symbol(lanes.symbols[step, :k]):
                moved[rows] = state[rows] @ self.transitions[symbol]
            size = moved.abs().sum(dim=1)
            state = state.clone() if vectors is not None else state
            state[:k] = moved / size.clamp_min(_TINY)[:, None]
            scale[:k] += size.log()
            if vectors is not None:
                vectors.append(state)
        return state, scale

    def _backward(
        self, lanes: Lanes, vectors: list[torch.Tensor], share: torch.Tensor, counts: list[torch.Tensor]
    ) -> None:
        """Pairs of vectors before and behind each operator, summed; and starts."""
        torch = import_torch()
        behind = share[:, None] * self.final  # so that vector . behind is the weight of the string
        for step in range(lanes.n_steps - 1, -1, -1):
            k = lanes.active[step]
            before, fresh = vectors[step][:k], torch.empty_like(behind[:k])
            wanted = (vectors[step + 1][:k] * behind[:k]).sum(dim=1)
            for symbol, rows in _by_symbol(lanes.symbols[step, :k]):
                fresh[rows] = behind[rows] @ self.transitions[symbol].T
            found = (before * fresh).sum(dim=1)
            scale = wanted / found.clamp_min(_TINY)
            for symbol, rows in _by_symbol(lanes.symbols[step, :k]):
                counts[1][symbol] += before[rows].T @ (behind[rows] * scale[rows, None])
            behind[:k] = fresh * scale[:, None]
        counts[0] += (self.initial * behind).sum(dim=0)

    def _piece(self) -> int:
        budget = batch_budget(self.device, _SHARE)
        return max(budget // (2 * self.n_states * int(self.dtype.itemsize)), 1)


def _by_symbol(symbols: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    """The rows that read each symbol that occurs."""
    torch = import_torch()
    order = symbols.argsort(stable=True)
    names, sizes = torch.unique_consecutive(symbols[order], return_counts=True)
    yield from zip(names.tolist(), order.split(sizes.tolist()), strict=True)

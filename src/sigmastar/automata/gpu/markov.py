"""Hidden Markov models as products of matrices: probabilities, beliefs, expected counts.

    f(x) = initial . (emission of x_1) T (emission of x_2) T .. stop

A step of all strings of a batch is one product with T. The expected transitions of a whole batch are one
more product, of all vectors before T, transposed, with all vectors behind it. Vectors are scaled to sum 1 at
every step, so that the length of strings does not matter; sums are in float32 at least, whatever the
products are in. On a GPU models of few states go through `fused`, which keeps T on the chip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.automata.gpu.fused import FusedMarkov, is_fusible
from sigmastar.automata.gpu.lanes import Lanes, LargePass, has_rows, lanes_of
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


@dataclass(frozen=True, eq=False)
class MarkovCounts:
    """Expected starts, moves, symbols and stops of a corpus, and its log-likelihood."""

    log_likelihood: float
    initial: Floats
    transition: Floats
    emission: Floats
    stop: Floats


class TorchMarkov:
    """A hidden Markov model on a device.

    Parameters
    ----------
    initial : array
        Probabilities of the first state.
    transition : array
        States by states: where a state goes once it has emitted.
    emission : array
        States by symbols.
    stop : array
        Probability of each state to end the string instead of emitting.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    precision : {"float64", "float32", "bfloat16"}
        Numbers of products; sums are in float32 at least.
    fused : bool or None
        Whether to walk through strings in one kernel; None: where that can be done.
    """

    def __init__(
        self,
        initial: Floats,
        transition: Floats,
        emission: Floats,
        stop: Floats,
        *,
        device: str = "auto",
        precision: str = "float32",
        fused: bool | None = None,
    ) -> None:
        torch = import_torch()
        self.device, self.dtype = chosen_device(device), chosen_precision(precision)
        self.sums = torch.float64 if self.dtype == torch.float64 else torch.float32
        self.initial = self._tensor(initial, self.sums)
        self.stop = self._tensor(stop, self.sums)
        self.transition = self._tensor(transition, self.dtype)
        going = self._tensor((1.0 - np.asarray(stop))[:, None] * emission, self.sums)
        self.by_symbol = going.T.to(self.dtype).contiguous()  # symbols x states
        self.n_states, self.n_symbols = emission.shape
        can = is_fusible(self.n_states, self.device) and self.dtype != torch.float64
        self.by_rows = has_rows(self.n_states, self.device) and self.dtype != torch.float64
        self.fused = (
            FusedMarkov(self.initial, self.transition, self.by_symbol, self.stop)
            if can and fused is not False
            else None
        )

    def _tensor(self, array: Floats, dtype: torch.dtype) -> torch.Tensor:
        return on_device(array, self.device, dtype)

    def log_probability(self, codes: Int32s, offsets: Int64s) -> Floats:
        """The logarithm of the probability of every string.

        Parameters
        ----------
        codes, offsets : arrays of int
            The corpus.

        Returns
        -------
        array
            One per string; minus infinity where a string is impossible.
        """

        def work(size: int) -> Floats:
            found = np.empty(len(offsets) - 1)
            for lanes in lanes_of(codes, offsets, self.device, size, even=self.fused is not None):
                if self.fused is not None and lanes.is_even:
                    logs = self.fused.log_probability(lanes.symbols)
                else:
                    logs = _Pass(self, lanes).forward()
                found[lanes.strings] = logs.double().cpu().numpy()
            return found

        return smaller_on_failure(work, self._piece(1))

    def beliefs(self, codes: Int32s, offsets: Int64s) -> Floats:
        """The distribution over states after every string, taken as a prefix.

        Parameters
        ----------
        codes, offsets : arrays of int
            The prefixes.

        Returns
        -------
        array
            Prefixes by states; rows of impossible prefixes are zero.
        """

        def work(size: int) -> Floats:
            found = np.empty((len(offsets) - 1, self.n_states))
            for lanes in lanes_of(codes, offsets, self.device, size):
                done = _Pass(self, lanes)
                done.forward()
                found[lanes.strings] = done.state.double().cpu().numpy()
            return found

        return smaller_on_failure(work, self._piece(1))

    def posteriors(self, codes: Int32s, offsets: Int64s) -> Floats:
        """How probable each state is at each symbol, given the whole string.

        Parameters
        ----------
        codes, offsets : arrays of int
            The corpus.

        Returns
        -------
        array
            Symbols of all strings by states; rows of impossible strings are zero.
        """
        return smaller_on_failure(lambda size: self._posteriors(codes, offsets, size), self._piece(4))

    def _posteriors(self, codes: Int32s, offsets: Int64s, size: int) -> Floats:
        found = np.empty((len(codes), self.n_states))
        for lanes in lanes_of(codes, offsets, self.device, size, even=self.fused is not None):
            begins = offsets[lanes.strings]
            is_long = lanes.n_cells > size
            if self.fused is not None and lanes.is_even and not is_long:
                steps, _ = self.fused.posteriors(lanes.symbols)
                found[begins + np.arange(lanes.n_steps)[:, None]] = steps.double().cpu().numpy()
                continue
            done = _MarkedPass(self, lanes) if is_long else _Pass(self, lanes, keep=True)
            for step, posterior, _ in done.steps_back(*done.ends(done.forward())):
                found[begins[: len(posterior)] + step] = posterior.double().cpu().numpy()
        return found

    def expect(self, codes: Int32s, offsets: Int64s) -> MarkovCounts:
        """Expected counts of a corpus: the first half of a round of EM.

        Parameters
        ----------
        codes, offsets : arrays of int
            The corpus.

        Returns
        -------
        MarkovCounts
            In float64; impossible strings count nothing, and make the log-likelihood minus infinity.
        """
        return smaller_on_failure(lambda size: self._expect(codes, offsets, size), self._piece(3))

    def _expect(self, codes: Int32s, offsets: Int64s, size: int) -> MarkovCounts:
        totals = _Totals(self)
        for lanes in lanes_of(codes, offsets, self.device, size, even=self.fused is not None):
            self.add_counts(lanes, totals, is_long=lanes.n_cells > size)
        return totals.counts(self)

    def add_counts(self, lanes: Lanes, totals: _Totals, is_long: bool = False) -> None:
        """Add the expected counts of a batch to the totals; a long one is a string that is more than fits."""
        if self.fused is not None and lanes.is_even and not is_long:
            self.fused.expect(lanes.symbols, totals)
            return
        done: Any
        if is_long:
            done = _MarkedPass(self, lanes)
        elif self.by_rows:
            done = LargePass(self, lanes)
        else:
            done = _Pass(self, lanes, keep=True)
        logs = done.forward()
        done.backward(logs, totals)
        totals.log_likelihood += logs.double().sum()

    def _piece(self, n_copies: int) -> int:
        """Cells of a batch, so that so many vectors per cell fit into the budget."""
        budget = batch_budget(self.device, _SHARE)
        return max(int(budget // (n_copies * self.n_states * self.dtype.itemsize)), 1)


class _Totals:
    """Sums over batches, on the device."""

    def __init__(self, model: TorchMarkov) -> None:
        torch, n = import_torch(), model.n_states
        new: Any = lambda *shape: torch.zeros(shape, dtype=model.sums, device=model.device)  # noqa: E731
        self.initial, self.stop, self.pairs = new(n), new(n), new(n, n)
        self.by_symbol = new(model.n_symbols, n)
        self.padded: Any = None  # the same sums, of kernels that need a power of two
        self.log_likelihood = torch.zeros((), dtype=torch.float64, device=model.device)

    def room(self, n: int) -> tuple[torch.Tensor, ...]:
        """Starts, stops, pairs and symbols with room for `n` states, for kernels that need a power of two."""
        if self.padded is None:
            pad: Any = import_torch().nn.functional.pad
            extra = n - len(self.initial)
            new = [pad(part, (0, extra)).clone() for part in (self.initial, self.stop, self.by_symbol)]
            pairs = pad(self.pairs, (0, extra, 0, extra)).clone()
            starts, stops, symbols = (part.zero_() for part in new)
            self.padded = (starts, stops, pairs.zero_(), symbols)
        return tuple(self.padded)

    def counts(self, model: TorchMarkov) -> MarkovCounts:
        n = model.n_states
        if self.padded is not None:
            starts, stops, pairs, symbols = self.padded
            self.initial, self.stop = self.initial + starts[:n], self.stop + stops[:n]
            self.pairs, self.by_symbol = self.pairs + pairs[:n, :n], self.by_symbol + symbols[:, :n]
            self.padded = None
        transition = self.pairs.double() * model.transition.double()
        plain = [t.double().cpu().numpy() for t in (self.initial, transition, self.by_symbol.T, self.stop)]
        return MarkovCounts(float(self.log_likelihood), *plain)


class _Pass:
    """One batch, forward and backward."""

    def __init__(self, model: TorchMarkov, lanes: Lanes, keep: bool = False) -> None:
        self.model, self.lanes, self.keep = model, lanes, keep
        self.state = model.initial.repeat(lanes.n_lanes, 1)
        self.emitted: torch.Tensor  # cells x states: the vectors before T

    def forward(self) -> torch.Tensor:
        """The log-probability of each lane; with `keep` the vectors before T stay for the way back."""
        return self.walk() + (self.state @ self.model.stop).log()

    def walk(self) -> torch.Tensor:
        """Go through all symbols; the log-probability of each lane before its end."""
        torch, model, lanes = import_torch(), self.model, self.lanes
        logs = torch.zeros(lanes.n_lanes, dtype=model.sums, device=model.device)
        if self.keep:
            self.emitted = torch.empty(
                (lanes.n_cells, model.n_states), dtype=model.dtype, device=model.device
            )
        done = 0
        for step, k in enumerate(lanes.active):
            emitted = self.state[:k].to(model.dtype) * model.by_symbol[lanes.symbols[step, :k]]
            if self.keep:
                self.emitted[done : done + k] = emitted
                done += k
            state = (emitted @ model.transition).to(model.sums)
            mass = state.sum(dim=1)
            self.state[:k] = state / mass.clamp_min(_TINY)[:, None]
            logs[:k] += mass.log()
        return logs

    def ends(self, logs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Which lanes are possible, and the vectors behind their last symbols, of which all else follows.

        They are scaled so that the posterior of the last state sums to 1.
        """
        model = self.model
        possible = import_torch().isfinite(logs).to(model.sums)
        share = possible / (self.state @ model.stop).clamp_min(_TINY)
        return possible, (model.stop * share[:, None]).contiguous()

    def steps_back(
        self, possible: torch.Tensor, behind: torch.Tensor
    ) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """From the last step on: its number, posteriors of the states before T, and vectors behind it.

        `behind` goes along: in the end it holds the vectors at the first symbols.
        """
        for begin, part in self.parts_back():
            for step, posterior, after in part.own_steps_back(possible, behind):
                yield begin + step, posterior, after

    def parts_back(self) -> Iterator[tuple[int, _Pass]]:
        """Passes that keep their vectors, with their first steps, the last one first."""
        yield 0, self

    def own_steps_back(
        self, possible: torch.Tensor, behind: torch.Tensor
    ) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """`steps_back` of what this pass keeps."""
        model, lanes = self.model, self.lanes
        done = len(self.emitted)
        for step in range(lanes.n_steps - 1, -1, -1):
            k = lanes.active[step]
            done -= k
            after = behind[:k].to(model.dtype)
            before = after @ model.transition.T
            posterior = (self.emitted[done : done + k] * before).to(model.sums)
            scale = (possible[:k] / posterior.sum(dim=1).clamp_min(_TINY))[:, None]
            scaled = after * scale.to(model.dtype)  # a tensor of its own: `after` may be `behind` itself
            wide = before.to(model.sums) * scale
            behind[:k] = wide * model.by_symbol[lanes.symbols[step, :k]].to(model.sums)
            yield step, posterior * scale, scaled

    def backward(self, logs: torch.Tensor, totals: _Totals) -> None:
        """Add the expected counts of the lanes to the totals."""
        possible, behind = self.ends(logs)
        totals.stop += (self.state * behind).sum(dim=0)
        for _, part in self.parts_back():
            part.add_moves(possible, behind, totals)
        first = self.model.initial * behind
        totals.initial += (first / first.sum(dim=1).clamp_min(_TINY)[:, None] * possible[:, None]).sum(dim=0)

    def add_moves(self, possible: torch.Tensor, behind: torch.Tensor, totals: _Totals) -> None:
        """Add the expected symbols and pairs of what this pass keeps."""
        vectors, done = import_torch().empty_like(self.emitted), len(self.emitted)
        for step, posterior, after in self.own_steps_back(possible, behind):
            done -= len(after)
            totals.by_symbol.index_add_(0, self.lanes.symbols[step, : len(after)], posterior)
            vectors[done : done + len(after)] = after
        totals.pairs += (self.emitted.T @ vectors).to(self.model.sums)


class _MarkedPass(_Pass):
    """One batch whose vectors are more than fit, as of a string of millions of symbols.

    States stay at every so manyth step, the root of their number; on the way back the steps from one to the
    next are walked again, and their vectors kept as long as they are needed.
    """

    def __init__(self, model: TorchMarkov, lanes: Lanes) -> None:
        super().__init__(model, lanes)
        length = math.isqrt(max(lanes.n_steps - 1, 0)) + 1
        self.pieces = [
            (begin, lanes.between(begin, begin + length)) for begin in range(0, lanes.n_steps, length)
        ]
        self.marks = list[Any]()

    def walk(self) -> torch.Tensor:
        logs = import_torch().zeros(self.lanes.n_lanes, dtype=self.model.sums, device=self.model.device)
        for _, piece in self.pieces:
            self.marks.append(self.state.clone())
            logs += self._part(piece, self.state, keep=False).walk()
        return logs

    def _part(self, piece: Lanes, state: torch.Tensor, keep: bool) -> _Pass:
        part = _Pass(self.model, piece, keep)
        part.state = state  # goes along
        return part

    def parts_back(self) -> Iterator[tuple[int, _Pass]]:
        for (begin, piece), mark in zip(reversed(self.pieces), reversed(self.marks), strict=True):
            part = self._part(piece, mark, keep=True)
            part.walk()
            yield begin, part


_TINY = 1e-30

"""Strings side by side: a batch is a table of steps by lanes, longest strings first.

At step t the strings that are longer than t are the first `active[t]` lanes, so that every step works on a
leading block of rows and no padding is ever multiplied.

Between two products of a large model stands one kernel per step, which takes a row of the batch at a time.
Forward: divide by the mass, keep it, multiply by the emissions of the next symbol. Backward: posteriors of
this step into the counts of symbols, and the vectors of the step before. Each number is read and written
once, so that the products remain what takes the time. `markov` has the plain version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Lanes:
    """Some strings of a corpus as a table.

    Parameters
    ----------
    symbols : tensor
        Steps by lanes; 0 after the end of a string.
    active : list of int
        How many lanes go on at each step; not increasing.
    strings : array
        Which string of the corpus each lane holds.
    """

    symbols: torch.Tensor
    active: list[int]
    strings: Int64s

    @property
    def n_steps(self) -> int:
        return len(self.active)

    @property
    def is_even(self) -> bool:
        """Whether all strings have one length, and one above 0."""
        return self.n_steps > 0 and self.active[-1] == self.n_lanes

    @property
    def n_lanes(self) -> int:
        return len(self.strings)

    @property
    def n_cells(self) -> int:
        """Symbols of all strings."""
        return sum(self.active)

    def between(self, begin: int, end: int) -> Lanes:
        """The steps from `begin` on, before `end`, of the same lanes."""
        return Lanes(self.symbols[begin:end], self.active[begin:end], self.strings)


def lanes_of(
    codes: Int32s, offsets: Int64s, device: Any, most_symbols: int, even: bool = False
) -> Iterator[Lanes]:
    """All strings of a corpus in batches of at most `most_symbols` cells, long strings first.

    Parameters
    ----------
    codes : array of int
        Symbols of all strings, one after another.
    offsets : array of int
        Where strings begin and end.
    device : torch.device
        Where the tables go.
    most_symbols : int
        Size of a table; a single longer string is a batch of its own.
    even : bool
        Whether the strings of a batch must be of one length.

    Yields
    ------
    Lanes
        Every string once.
    """
    torch, lengths = import_torch(), np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        strings = order[start : start + max(most_symbols // longest, 1)]
        if even:
            strings = strings[lengths[strings] == lengths[strings[0]]]
        start += len(strings)
        steps = np.arange(int(lengths[strings[0]]) if len(strings) else 0)
        inside = steps[:, None] < lengths[strings]
        places = np.where(inside, offsets[strings] + steps[:, None], 0)
        table = np.where(inside, codes[places] if len(codes) else 0, 0)
        yield Lanes(
            torch.from_numpy(table.astype(np.int64)).to(device),
            inside.sum(axis=1).tolist(),
            strings.astype(np.int64),
        )


if TYPE_CHECKING:
    import torch

MOST = 16_384
_PROGRAMS, _RUN = 1024, 32  # that fill a GPU; most lanes of one, which counts those of one symbol at once


def has_rows(n_states: int, device: torch.device) -> bool:
    """Whether this module can do the work of a model."""
    return device.type == "cuda" and n_states <= MOST


def _kernels() -> Any:
    """Imported late: Triton comes with PyTorch for GPUs."""
    from sigmastar.automata.gpu import triton_kernels

    return triton_kernels


class LargePass:
    """One batch of a large model, forward and backward.

    Parameters
    ----------
    model : TorchMarkov
        The model, on a GPU.
    lanes : Lanes
        The strings.
    """

    def __init__(self, model: Any, lanes: Lanes) -> None:
        torch = import_torch()
        self.model, self.lanes = model, lanes
        self.block = 1 << (model.n_states - 1).bit_length()
        self.warps = 4 if self.block <= 2048 else 8 if self.block <= 8192 else 16
        shape, where = (lanes.n_lanes, model.n_states), {"device": model.device}
        self.state = model.initial.repeat(lanes.n_lanes, 1)
        self.logs = torch.zeros(lanes.n_lanes, dtype=torch.float32, **where)
        self.starts = [0, *torch.tensor(lanes.active).cumsum(0).tolist()]
        self.emitted = torch.empty((self.starts[-1], shape[1]), dtype=model.dtype, **where)
        self.masses = torch.ones(self.starts[-1], dtype=torch.float32, **where)

    def _cells(self, table: torch.Tensor, step: int) -> torch.Tensor:
        return table[self.starts[step] : self.starts[step + 1]]

    def forward(self) -> torch.Tensor:
        """The log-probability of each lane."""
        model, lanes = self.model, self.lanes
        if lanes.n_steps:
            first = self._cells(self.emitted, 0)
            first.copy_(self.state[: len(first)] * model.by_symbol[lanes.symbols[0, : len(first)]])
        for step, k in enumerate(lanes.active):
            product = self._cells(self.emitted, step) @ model.transition
            last = step + 1 == lanes.n_steps
            going = 0 if last else lanes.active[step + 1]
            target = self.emitted if last else self._cells(self.emitted, step + 1)
            symbols = lanes.symbols[0] if last else lanes.symbols[step + 1]
            _kernels().go_on[(k,)](
                product, symbols, model.by_symbol, target, self.state, self.logs,
                self._cells(self.masses, step), going, model.n_states,
                block=self.block, num_warps=self.warps,
            )  # fmt: skip
        return self.logs + (self.state @ model.stop).log()

    def _by_symbol(self) -> torch.Tensor:
        """The active lanes of each step in the order of their symbols, then the others."""
        torch, lanes = import_torch(), self.lanes
        active = torch.tensor(lanes.active, device=self.model.device)[:, None]
        ended = torch.arange(lanes.n_lanes, device=self.model.device) >= active
        return lanes.symbols.masked_fill(ended, self.model.n_symbols).argsort(dim=1)

    def backward(self, logs: torch.Tensor, totals: Any) -> None:
        """Add the expected counts of the lanes to the totals."""
        torch, model, lanes = import_torch(), self.model, self.lanes
        possible = torch.isfinite(logs).float()
        ends = self.state * model.stop
        share = possible / ends.sum(dim=1).clamp_min(1e-30)
        totals.stop += (ends * share[:, None]).sum(dim=0)
        after = torch.empty_like(self.emitted)
        ones = torch.ones_like(self.logs)
        first = torch.empty((lanes.active[0] if lanes.active else 0, model.n_states), device=model.device)
        back = model.transition.T
        order = self._by_symbol()
        for step in range(lanes.n_steps - 1, -1, -1):
            k = lanes.active[step]
            going = lanes.active[step + 1] if step + 1 < lanes.n_steps else 0
            here = self._cells(after, step)
            if k > going:  # lanes whose last symbol this is
                mass = self._cells(self.masses, step)[going:].clamp_min(1e-30)
                here[going:] = (share[going:k] / mass)[:, None] * model.stop
            before = here @ back
            target = self._cells(after, step - 1) if step else first
            masses = self._cells(self.masses, step - 1) if step else ones
            run = min(1 << max((k // _PROGRAMS).bit_length() - 1, 0), _RUN)
            _kernels().go_back[(-(-k // run),)](
                before, self._cells(self.emitted, step), order[step], lanes.symbols[step], model.by_symbol,
                masses, possible, target, totals.by_symbol, k, model.n_states,
                block=self.block, run=run, num_warps=self.warps,
            )  # fmt: skip
        wide = {"out_dtype": torch.float32} if after.dtype == torch.bfloat16 else {}
        totals.pairs += torch.mm(self.emitted.T, after, **wide)
        rest = share[len(first) :, None] * model.stop  # strings without symbols
        begins = model.initial * torch.cat([first, rest])
        totals.initial += (begins * (possible / begins.sum(dim=1).clamp_min(1e-30))[:, None]).sum(dim=0)

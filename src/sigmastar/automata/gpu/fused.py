"""Forward and backward of hidden Markov models of few states, written in Triton.

A program holds T and the vectors of 16 or more strings of one length on the chip and walks through all steps,
so that a step costs a small product and one row of emissions per string instead of several launches. One half
of the programs goes forward and the other backward, side by side, since neither needs the other; what both
have found at a symbol is multiplied and counted for all symbols at once. `markov` is the plain version, and
the tests hold this one to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch

FEWEST, MOST = 16, 128
"""States that fit: fewer are filled up, more do not fit on the chip."""
_FEW, _MANY = 16, 64  # strings per program: the least that a tensor core takes, and what fills it best
_WAVE = 8192  # strings that fill the chip with programs of many
_ROWS, _PROGRAMS = 64, 1024  # cells that are counted at once, and programs that count


def is_fusible(n_states: int, device: torch.device) -> bool:
    """Whether this module can do the work of a model."""
    return device.type == "cuda" and n_states <= MOST


def padded(n_states: int) -> int:
    """The next power of two that a product takes."""
    return max(FEWEST, 1 << (n_states - 1).bit_length())


def _kernels() -> Any:
    """Imported late: Triton comes with PyTorch for GPUs."""
    from sigmastar.automata.gpu import triton_kernels

    return triton_kernels


class FusedMarkov:
    """The arrays of a model, filled up to a power of two.

    Parameters
    ----------
    initial, transition, by_symbol, stop : tensors
        As of `TorchMarkov`.
    """

    def __init__(
        self, initial: torch.Tensor, transition: torch.Tensor, by_symbol: torch.Tensor, stop: torch.Tensor
    ) -> None:
        torch = import_torch()
        self.n_states, self.n = len(initial), padded(len(initial))
        extra = self.n - self.n_states
        pad: Any = torch.nn.functional.pad
        self.initial, self.stop = pad(initial.float(), (0, extra)), pad(stop.float(), (0, extra))
        self.transition = pad(transition, (0, extra, 0, extra)).contiguous()
        self.by_symbol = pad(by_symbol, (0, extra)).contiguous()
        is_wide = transition.dtype == torch.float32
        self.precision = "tf32x3" if is_wide else "tf32"  # three products keep the digits of float32

    def _shape(self, n_lanes: int) -> dict[str, Any]:
        """How the work falls into programs: measured, see benchmarks/gpu.py."""
        lanes = _FEW if n_lanes < _WAVE or self.n > 64 else _MANY
        return {"n": self.n, "lanes": lanes, "precision": self.precision, "num_warps": 4}

    def log_probability(self, symbols: torch.Tensor) -> torch.Tensor:
        """Of strings of one length, steps by lanes."""
        n_steps, n_lanes = symbols.shape
        logs, shape = symbols.new_empty(n_lanes, dtype=self.initial.dtype), self._shape(n_lanes)
        _kernels().forward[(-(-n_lanes // shape["lanes"]),)](
            symbols, self.initial, self.by_symbol, self.transition, self.stop, logs,
            n_lanes, n_steps, **shape,
        )  # fmt: skip
        return logs

    def _both_ways(
        self, symbols: torch.Tensor, logs: torch.Tensor, log_total: torch.Tensor, stops: torch.Tensor | None
    ) -> list[torch.Tensor]:
        """Vectors before T by prefixes, before it by suffixes and, where stops are counted, behind it."""
        (n_steps, n_lanes), counts = symbols.shape, stops is not None
        vectors = [
            symbols.new_empty((*symbols.shape, self.n), dtype=self.transition.dtype)
            for _ in range(2 + counts)
        ]
        shape = self._shape(n_lanes)
        n_programs = -(-n_lanes // shape["lanes"])
        _kernels().both_ways[(2 * n_programs,)](
            symbols, self.initial, self.by_symbol, self.transition, self.stop, *vectors[:2], vectors[-1],
            logs, log_total, stops if counts else logs, n_lanes, n_steps, n_programs, counts=counts, **shape,
        )  # fmt: skip
        return vectors

    def posteriors(self, symbols: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of states at every symbol of strings of one length, steps by lanes by states; and logs."""
        logs = symbols.new_empty(symbols.shape[1], dtype=self.initial.dtype)
        emitted, before = self._both_ways(symbols, logs, logs, None)
        found = symbols.new_empty(emitted.shape, dtype=self.initial.dtype)
        n_cells = symbols.numel()
        _kernels().posteriors_of[(-(-n_cells // _ROWS),)](
            emitted, before, found, n_cells, n=self.n, rows=_ROWS
        )
        return found[:, :, : self.n_states], logs

    def expect(self, symbols: torch.Tensor, totals: Any) -> None:
        """Add the expected counts of strings of one length, and their log-likelihood, to the totals."""
        starts, stops, pairs, emissions = totals.room(self.n)
        logs = symbols.new_empty(symbols.shape[1], dtype=self.initial.dtype)
        vectors = self._both_ways(symbols, logs, totals.log_likelihood, stops)
        n_cells = symbols.numel()
        n_rounds = max(n_cells // (_ROWS * _PROGRAMS), 1)
        _kernels().count_cells[(-(-n_cells // (_ROWS * n_rounds)),)](
            symbols, *vectors, starts, pairs, emissions, symbols.shape[1], n_cells, n_rounds,
            n=self.n, rows=_ROWS, precision=self.precision,
        )  # fmt: skip

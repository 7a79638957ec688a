"""Forward and backward of hidden Markov models of few states in one kernel each, written in Triton.

A program holds T and the vectors of 16 or more strings of one length on the chip and walks through all steps,
so that a step costs a small product and one row of emissions per string instead of several launches. `markov`
is the plain version, and the tests hold this one to it.
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
_TINY = 1e-30


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
        self.is_wide = transition.dtype == torch.float32
        self.precision = "tf32x3" if self.is_wide else "tf32"  # three products keep the digits of float32

    def _shape(self, n_lanes: int) -> dict[str, Any]:
        """How the work falls into programs: measured, see benchmarks/gpu.py."""
        lanes = _FEW if n_lanes < _WAVE or self.n > 64 else _MANY
        warps = 8 if lanes == _FEW and not self.is_wide else 4
        return {"n": self.n, "lanes": lanes, "precision": self.precision, "num_warps": warps}

    def _room(self, symbols: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For the vectors before T of all steps, and the log-probabilities of all lanes."""
        new = import_torch().empty
        kind = self.transition.dtype
        return (
            new((*symbols.shape, self.n), dtype=kind, device=symbols.device),
            new(symbols.shape[1], dtype=self.initial.dtype, device=symbols.device),
        )

    def log_probability(self, symbols: torch.Tensor) -> torch.Tensor:
        """Of strings of one length, steps by lanes."""
        (n_steps, n_lanes), (emitted, logs) = symbols.shape, self._room(symbols)
        shape = self._shape(n_lanes)
        _kernels().forward[(-(-n_lanes // shape["lanes"]),)](
            symbols, self.initial, self.by_symbol, self.transition, self.stop, emitted, logs,
            n_lanes, n_steps, **shape,
        )  # fmt: skip
        return logs

    def expect(self, symbols: torch.Tensor, totals: Any) -> None:
        """Add the expected counts of strings of one length, and their log-likelihood, to the totals."""
        (n_steps, n_lanes), (emitted, logs) = symbols.shape, self._room(symbols)
        starts, stops, pairs, emissions = totals.room(self.n)
        shape = self._shape(n_lanes)
        _kernels().there_and_back[(-(-n_lanes // shape["lanes"]),)](
            symbols, self.initial, self.by_symbol, self.transition, self.stop, emitted, logs,
            totals.log_likelihood, starts, pairs, emissions, stops,
            n_lanes, n_steps, **shape,
        )  # fmt: skip

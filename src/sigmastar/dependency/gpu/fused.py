"""Inside-outside for head automata of few states in one kernel, written in Triton.

A program takes whole sentences and keeps their items in a room of its own, which all its sentences share, so
that the sums over splits are read from the cache and nothing between is written. `heads.Chart` is the plain
version, and the tests hold this one to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.torch_device import import_torch, on_device

if TYPE_CHECKING:
    import torch

    from sigmastar.dependency.gpu.heads import TorchHeads

MOST_STATES, LONGEST = 32, 255
"""What a program can hold: states of an automaton, words of a sentence."""
_STEP = 4  # numbers of float32 that a thread reads at once
_ROOM = 2 << 30  # bytes of all programs
_FARTHEST = 1 << 31  # places are of 32 bits


@dataclass(frozen=True)
class Shape:
    """How the work falls into programs: measured, see benchmarks/gpu.py."""

    block: int = 32  # items that a program does at once
    n_warps: int = 4
    n_programs: int = 8  # per multiprocessor
    n_registers: int | None = None  # per thread at most; fewer leave room for more programs

    @property
    def options(self) -> dict[str, int]:
        """Of a launch."""
        most = {} if self.n_registers is None else {"maxnreg": self.n_registers}
        return {"num_warps": self.n_warps, "num_stages": 1, **most}


def is_fusible(heads: TorchHeads) -> bool:
    """Whether this module can do the work of a model."""
    fits = heads.n_states <= MOST_STATES and heads.operators.numel() * 2 < _FARTHEST
    return heads.device.type == "cuda" and fits and find_spec("triton") is not None


def _kernels() -> Any:
    """Imported late: Triton comes with PyTorch for GPUs."""
    from sigmastar.dependency.gpu import triton_kernels

    return triton_kernels


class FusedHeads:
    """The arrays of a model with rows that can be read in steps.

    Parameters
    ----------
    heads : TorchHeads
        The automata.
    shape : Shape or None
        How the work falls into programs; None: as it was measured to be fastest.
    """

    def __init__(self, heads: TorchHeads, shape: Shape | None = None) -> None:
        pad: Any = import_torch().nn.functional.pad
        self.heads, self.shape = heads, shape or Shape()
        self.pitch = -(-heads.n_states // _STEP) * _STEP
        extra = self.pitch - heads.n_states
        self.initial, self.final, self.operators = (
            pad(array, (0, extra)).contiguous() for array in (heads.initial, heads.final, heads.operators)
        )

    def takes(self, words: Int32s) -> bool:
        """Whether the items of these sentences have room."""
        return bool(words.shape[1] <= LONGEST)

    def log_totals(self, words: Int32s, factors: Floats) -> torch.Tensor:
        """Logarithms of Z of sentences of one length."""
        return self._run(words, factors, is_back=False)[0]

    def marginals(self, words: Int32s, factors: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        """Logarithms of Z and posteriors of arcs, both on the device.

        Parameters
        ----------
        words : array
            Codes, sentence by position, all of one length.
        factors : array
            A factor per symbol that keeps values in range.

        Returns
        -------
        tuple
            One logarithm per sentence; sentences by heads by modifiers, zeros where Z is not positive.
        """
        return self._run(words, factors, is_back=True)

    def _run(self, words: Int32s, factors: Floats, *, is_back: bool) -> tuple[torch.Tensor, torch.Tensor]:
        torch, heads, (n_rows, length) = import_torch(), self.heads, words.shape
        size, scale = length + 1, on_device(factors, heads.device, heads.dtype)
        rooted = torch.full((n_rows, size), heads.n_symbols, dtype=torch.int32, device=heads.device)
        rooted[:, 1:] = on_device(words, heads.device, torch.int32)
        n_vectors, n_numbers = (4, 10) if is_back else (2, 5)
        most = _ROOM // (size * size * (n_vectors * self.pitch + n_numbers) * heads.dtype.itemsize)
        n_programs = max(min(n_rows, most, self.shape.n_programs * self._n_processors()), 1)
        room: Any = lambda *shape: torch.empty(shape, dtype=heads.dtype, device=heads.device)  # noqa: E731
        totals = room(n_rows)
        arcs = totals.new_zeros((n_rows, size, size) if is_back else (1, 1, 1))
        _kernels().walk[(n_programs,)](
            rooted, scale, self.initial, self.final, self.operators,
            room(n_programs, n_vectors, size, size, self.pitch),
            room(n_programs, n_numbers, size, size),
            totals, arcs, n_rows, size, heads.n_symbols,
            is_back=is_back, states=heads.n_states, pitch=self.pitch,
            m=max(_STEP, 1 << (heads.n_states - 1).bit_length()), block=self.shape.block,
            **self.shape.options,
        )  # fmt: skip
        return totals.log() - scale.log()[rooted[:, 1:].long()].sum(dim=1), arcs

    def _n_processors(self) -> int:
        if self.heads.device.type != "cuda":
            return 1
        return int(import_torch().cuda.get_device_properties(self.heads.device).multi_processor_count)

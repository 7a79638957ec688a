"""A sparse matrix on a device."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.torch_device import import_torch, on_device

if TYPE_CHECKING:
    import torch

_PIECE = 256  # numbers of a row that a program adds up


class SparseRows:
    """A sparse matrix on a device that multiplies blocks of columns; on a GPU by pieces of rows.

    Parameters
    ----------
    matrix : scipy sparse matrix
        Rows by columns.
    device : torch.device
        Where to work.
    """

    def __init__(self, matrix: Any, device: torch.device) -> None:
        torch, rows = import_torch(), matrix.tocsr()
        self.shape, self.device = matrix.shape, device
        starts, columns = (on_device(part.astype(np.int64), device) for part in (rows.indptr, rows.indices))
        values = on_device(rows.data.astype(np.float64), device)
        if device.type != "cuda":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # "support is in beta state"
                self.plain = torch.sparse_csr_tensor(
                    starts, columns, values, size=self.shape, check_invariants=False
                )
            return
        sizes = np.diff(rows.indptr)
        n_pieces = np.maximum(-(-sizes // _PIECE), 1)
        owner = np.repeat(np.arange(self.shape[0]), n_pieces)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
        begins = np.append(rows.indptr[owner] + _PIECE * place, rows.indptr[-1])
        self.pieces = (
            on_device(begins.astype(np.int32), device),
            on_device(owner.astype(np.int32), device),
            on_device((n_pieces == 1)[owner].astype(np.int32), device),
            columns.int(),
            values,
        )

    def __matmul__(self, block: torch.Tensor) -> torch.Tensor:
        torch, width = import_torch(), block.shape[1]
        if self.device.type != "cuda":
            return self.plain @ block
        from sigmastar.core.triton_kernels import pieces_times

        result = torch.zeros((self.shape[0], width), dtype=block.dtype, device=self.device)
        size = max(16, 1 << (width - 1).bit_length())
        pieces_times[(len(self.pieces[1]),)](
            *self.pieces, block.contiguous(), result, width,
            block=size, chunk=max(256 // size, 2), num_warps=1,
        )  # fmt: skip
        return result

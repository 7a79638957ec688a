"""PyTorch, imported when it is asked for: which device, which precision, and work in pieces that fit.

Nothing outside the `gpu` rooms imports torch, and those import it through here, so that the package works
without it and the message where it is lacking is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sigmastar.core.arrays import Array
from sigmastar.core.errors import InputError

if TYPE_CHECKING:
    import torch

Result = TypeVar("Result")
Model = TypeVar("Model")

DEVICES = ("cpu", "cuda", "auto")
_NEAR_PROCESSOR = 64 << 20  # bytes
PRECISIONS = ("float64", "float32", "bfloat16")


def import_torch() -> Any:
    """The module torch."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "this needs PyTorch, which is not installed: pip install 'sigmastar[gpu]', or use device='cpu'"
        ) from None
    return torch


def chosen_device(name: str = "auto") -> torch.device:
    """The device of a name.

    Parameters
    ----------
    name : {"cpu", "cuda", "auto"}
        "auto": the GPU where there is one.

    Returns
    -------
    torch.device
        Where tensors go.
    """
    torch = import_torch()
    if name not in DEVICES:
        raise ValueError(f"device is one of {', '.join(DEVICES)}, not {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no GPU that PyTorch can use; use device='cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def placed(model: Model, device: str, path: str | None = None) -> Model:
    """A model where it is to work: itself, or what its method `on` gives, which answers the same questions.

    Parameters
    ----------
    model : object
        The model.
    device : {"cpu", "cuda", "auto"}
        "cpu": the model itself, by compiled code.
    path : str, optional
        Its file, for the message where it has no way to a device.
    """
    if device == "cpu":
        return model
    on: Callable[[str], Model] | None = getattr(model, "on", None)
    if on is None:
        raise InputError(
            "is of a kind that works on the processor alone: leave the device out; bare automata, as of EM, "
            "and hidden states of words have a way on a GPU",
            file=path,
        )
    return on(device)


def require_precision(name: str) -> None:
    """Refuse a type of numbers that there is not."""
    if name not in PRECISIONS:
        raise ValueError(f"precision is one of {', '.join(PRECISIONS)}, not {name!r}")


def chosen_precision(name: str) -> torch.dtype:
    """The type of numbers of a name."""
    require_precision(name)
    dtype: torch.dtype = getattr(import_torch(), name)
    return dtype


def on_device(
    values: Array | torch.Tensor, device: torch.device, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """An array as a tensor on a device; what is there already, in the right type, is not copied."""
    made: Any = import_torch().as_tensor(
        np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
    )
    tensor: torch.Tensor = made.to(device, dtype or made.dtype)
    return tensor


def batch_budget(device: torch.device, share: float) -> int:
    """Bytes that a batch may take: a share of what a GPU has free, or what stays near a processor.

    Parameters
    ----------
    device : torch.device
        Where the batch goes.
    share : float
        Of the free memory of a GPU.

    Returns
    -------
    int
        Bytes.
    """
    if device.type != "cuda":
        return _NEAR_PROCESSOR
    cuda = import_torch().cuda
    kept = cuda.memory_reserved(device) - cuda.memory_allocated(device)  # by PyTorch, for what comes next
    return int(share * (cuda.mem_get_info(device)[0] + kept))


class DeviceMemoryError(InputError, MemoryError):
    """A single piece of the work does not fit into the memory of a GPU."""


def smaller_on_failure(work: Callable[[int], Result], size: int, least: int = 1) -> Result:
    """`work(size)`, and with half the size as often as the device runs out of memory.

    Parameters
    ----------
    work : callable
        From the size of a piece to a result; what it began must not matter when it begins again.
    size : int
        The size to begin with.
    least : int
        The smallest size worth trying.

    Returns
    -------
    object
        What `work` returns.
    """
    torch = import_torch()
    while True:
        try:
            return work(size)
        except torch.OutOfMemoryError:
            if size <= least:
                raise DeviceMemoryError(
                    "the GPU has too little memory for one piece of this; use fewer states, or device='cpu'"
                ) from None
        size = max(size // 2, least)  # what failed is let go of by now
        torch.cuda.empty_cache()

"""Work on tensors of fixed shapes, recorded once and played again: many small kernels cost one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch


class Replayed:
    """A function of tensors that is recorded as a CUDA graph the first time its shapes come twice.

    What it returns is overwritten by the next call of the same shapes. Elsewhere than on a GPU, and where
    recording fails, the function itself is called.

    Parameters
    ----------
    work : callable
        From tensors to anything that holds tensors; it waits for nothing that is on the device.
    """

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.recorded: dict[Any, Any] = {}
        self.met: dict[Any, int] = {}

    def __call__(self, *inputs: torch.Tensor) -> Any:
        key = tuple((tuple(part.shape), part.dtype) for part in inputs)
        if inputs[0].device.type != "cuda" or self.recorded.get(key, True) is None:
            return self.work(*inputs)
        if key not in self.recorded:
            self.met[key] = self.met.get(key, 0) + 1
            if self.met[key] < 3:  # shapes that are rare are not worth the room
                return self.work(*inputs)
            self.recorded[key] = self._record(inputs)
            if self.recorded[key] is None:
                return self.work(*inputs)
        graph, places, result = self.recorded[key]
        for place, part in zip(places, inputs, strict=True):
            place.copy_(part)
        graph.replay()
        return result

    def _record(self, inputs: tuple[torch.Tensor, ...]) -> Any:
        torch = import_torch()
        places = [part.clone() for part in inputs]
        try:
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                self.work(*places)
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = self.work(*places)
        except RuntimeError:
            torch.cuda.synchronize()
            return None
        return graph, places, result

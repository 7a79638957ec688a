"""Where arrays live: with NumPy, or as tensors on a device; the few operations on which the two differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.torch_device import (
    chosen_device,
    chosen_precision,
    import_torch,
    on_device,
    require_precision,
)


@dataclass(frozen=True)
class Backend:
    """NumPy, or a device of PyTorch."""

    device: str = "cpu"
    precision: str = "float64"

    def __post_init__(self) -> None:
        require_precision(self.precision)

    @property
    def is_tensor(self) -> bool:
        return self.device != "cpu"

    def array(self, values: Any) -> Any:
        """An array of numbers; what has the right type already is not copied."""
        if not self.is_tensor:
            return np.asarray(values, dtype=self.precision)
        return on_device(values, *self._place())

    def indices(self, values: Array) -> Any:
        if not self.is_tensor:
            return values
        return on_device(values, self._place()[0], import_torch().int64)

    def host(self, values: Any) -> Floats:
        """As an array of NumPy, of double precision unless it was one before."""
        return values if isinstance(values, np.ndarray) else values.double().cpu().numpy()

    def stack(self, rows: list[Any]) -> Any:
        return import_torch().stack(rows) if self.is_tensor else np.stack(rows)

    def rows(self, row: Any, size: int) -> Any:
        """The same row several times."""
        return row.repeat(size, 1) if self.is_tensor else np.tile(row, (size, 1))

    def like(self, values: Any) -> Any:
        return import_torch().empty_like(values) if self.is_tensor else np.empty_like(values)

    def tops(self, values: Any) -> Floats:
        """The largest entry of each row, on the host."""
        return self.host(values.amax(1)) if self.is_tensor else values.max(axis=1, initial=0.0)

    def divided(self, values: Any, totals: Any) -> Any:
        """Rows over their totals; rows of zeros stay."""
        if self.is_tensor:
            return values / totals.where(totals > 0, import_torch().ones_like(totals))[:, None]
        return values / np.where(totals > 0, totals, 1.0)[:, None]

    def log(self, values: Any) -> Any:
        if self.is_tensor:
            return values.log()
        with np.errstate(divide="ignore"):
            return np.log(values)

    def columns(self, parts: list[Any]) -> Any:
        """Arrays side by side."""
        return import_torch().cat(parts, 1) if self.is_tensor else np.concatenate(parts, axis=1)

    def below(self, parts: list[Any]) -> Any:
        """Arrays one below the other."""
        return import_torch().cat(parts) if self.is_tensor else np.concatenate(parts)

    def log_shares(self, parts: Any, wholes: Any) -> Any:
        """Differences of logarithms, none above 0; -inf where a part is zero."""
        if self.is_tensor:
            return (parts - wholes).nan_to_num(nan=-np.inf, neginf=-np.inf).clamp_max(0.0)
        with np.errstate(invalid="ignore"):
            found = np.minimum(parts - wholes, 0.0)
        return np.where(np.isneginf(parts), -np.inf, found)

    def _place(self) -> tuple[Any, Any]:
        return chosen_device(self.device), chosen_precision(self.precision)

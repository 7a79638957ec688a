"""What commands print: figures to be read, or as JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sigmastar.core.atomic import atomic_write

if TYPE_CHECKING:  # estimates need scipy, which most commands do without
    from sigmastar.core.intervals import Estimate


def print_figures(figures: Mapping[str, Any], as_json: bool, output: str = "-") -> None:
    """Names and values, one per line; in JSON, numbers that are not finite are null."""
    with atomic_write(output) as stream:
        if as_json:
            stream.write(to_json(figures) + "\n")
            return
        width = max(map(len, figures), default=0)
        stream.writelines(f"{name:<{width}}  {_shown(value)}\n" for name, value in figures.items())


def with_interval(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """A figure and the ends of its interval, under `name`, `name_low` and `name_high`.

    Examples
    --------
    >>> from sigmastar.core.intervals import Estimate
    >>> with_interval("accuracy", Estimate(0.9, 0.8, 0.95, 20))
    {'accuracy': 0.9, 'accuracy_low': 0.8, 'accuracy_high': 0.95}
    >>> with_interval("accuracy", None)
    {'accuracy': None}
    """
    if estimate is None:
        return {name: None}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def to_json(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

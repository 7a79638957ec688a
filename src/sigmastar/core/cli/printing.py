"""Figures on standard output: for eyes, or as JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from sigmastar.core.atomic import atomic_write


def print_figures(figures: Mapping[str, Any], as_json: bool) -> None:
    """Names and values, one a line; in JSON, numbers that are not finite are null."""
    with atomic_write("-") as stream:
        if as_json:
            stream.write(to_json(figures) + "\n")
            return
        width = max(map(len, figures), default=0)
        stream.writelines(f"{name:<{width}}  {_shown(value)}\n" for name, value in figures.items())


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

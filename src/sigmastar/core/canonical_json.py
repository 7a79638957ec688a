"""Python values as canonical JSON and back: what model files hold beside their arrays.

Text, integers, floats, booleans, None, lists and mappings from text are JSON already. Tuples, alphabets
and floats that are not finite carry a tag: {"$tuple": [...]}, {"$alphabet": [...]}, {"$float": "inf"}.
Canonical means one text for one value: keys sorted, no blanks, ASCII.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.core.alphabet import Alphabet


def to_json(value: object) -> str:
    """The canonical text of a value; a value of another type is a `TypeError` that names it."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def of_json(text: str) -> Any:
    """The value of a text; anything but the canonical text of a value is a `ValueError`."""
    try:
        value = json.loads(text, object_hook=_decoded)
        canonical = to_json(value)
    except (RecursionError, TypeError, AttributeError) as problem:
        raise ValueError(f"not a text of this library: {problem}") from None
    if canonical != text:
        raise ValueError("not in canonical form")
    return value


def _encoded(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Alphabet):
        return {"$alphabet": [_symbol(symbol) for symbol in value]}
    if type(value) is tuple:
        return {"$tuple": [_encoded(item) for item in value]}
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): _encoded(item) for key, item in value.items()}
    raise TypeError(
        f"{value!r} of type {type(value).__name__} cannot be stored; use text, numbers, booleans, None "
        "or tuples of them"
    )


def _symbol(symbol: object) -> object:
    try:
        return _encoded(symbol)
    except TypeError as problem:
        raise TypeError(f"the symbol {problem}") from None


def _key(key: object) -> str:
    if not isinstance(key, str) or key.startswith("$"):
        raise TypeError(
            f"the key {key!r} of type {type(key).__name__} cannot be stored; use text without a leading $"
        )
    return key


def _decoded(mapping: dict[str, Any]) -> Any:
    if len(mapping) == 1:
        ((key, content),) = mapping.items()
        if key == "$tuple":
            return tuple(content)
        if key == "$alphabet":
            return Alphabet(content)
        if key == "$float":
            return float(content)
    return mapping

"""Files with a right checksum and wrong content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.core.model_files import read_arrays, sealed

Arrays = dict[str, Any]
Header = dict[str, Any]
_BESIDE = ("sha256", "signature")


def forged(source: Path, target: Path, change: Callable[[Header, Arrays], object]) -> Path:
    """The model file `source` with its header and arrays changed, and a checksum that fits."""
    opened, arrays = read_arrays(str(source))
    header = {key: opened.header[key] for key in opened.header if key not in _BESIDE}
    own = {name: array.copy() for name, array in arrays.items()}
    change(header, own)
    target.write_bytes(b"".join(sealed(header, own, None)))
    return target


def with_array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Header, Arrays], object]:
    """A change of one array."""
    return lambda header, arrays: arrays.update({name: np.ascontiguousarray(change(arrays[name]))})

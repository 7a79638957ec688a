"""Files with a right checksum and wrong content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.model_reading import read_arrays, sealed

Arrays = dict[str, Any]
Header = dict[str, Any]
_BESIDE = ("sha256", "signature")


class Forge(NamedTuple):
    """A model file, read once: what it holds."""

    header: Header
    arrays: Arrays

    @classmethod
    def of(cls, source: Path) -> Forge:
        opened, arrays = read_arrays(str(source))
        header = {key: opened.header[key] for key in opened.header if key not in _BESIDE}
        return cls(deepcopy(header), {name: array.copy() for name, array in arrays.items()})

    def pieces(self, changed: Mapping[str, np.ndarray]) -> list[bytes | memoryview]:
        """The content of the file with other arrays and a checksum that fits; the header is the first."""
        return list(sealed(self.header, {**self.arrays, **changed}, None))


def forged(source: Path, target: Path, change: Callable[[Header, Arrays], object]) -> Path:
    """The model file `source` with its header and arrays changed, and a checksum that fits."""
    forge = Forge.of(source)
    change(forge.header, forge.arrays)
    target.write_bytes(b"".join(forge.pieces({})))
    return target


def with_array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Header, Arrays], object]:
    """A change of one array."""
    return lambda header, arrays: arrays.update({name: np.ascontiguousarray(change(arrays[name]))})

"""The writer of model files of version 1, as it was."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from safetensors.numpy import save

from sigmastar.core.model_reading import family_of, to_json


def bytes_of_version_1(model: Any, learned: dict[str, Any]) -> bytes:
    parts, description = model.to_parts()
    arrays = {name: np.ascontiguousarray(array) for name, array in parts.items()}
    header = {
        "family": family_of(model),
        "version": 1,
        "sigmastar": "0.1.0",
        "model": description,
        "learned": learned,
    }
    digest = hashlib.sha256(to_json(header).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name}\n{array.dtype.str}\n{array.shape}\n".encode())
        digest.update(array.data)
    content: bytes = save(arrays, metadata={"sigmastar": to_json({**header, "sha256": digest.hexdigest()})})
    return content

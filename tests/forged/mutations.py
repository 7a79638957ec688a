"""Two hundred ways to spoil an array, each the same in every run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Mutation = Callable[[np.ndarray, np.random.Generator], np.ndarray]
WILD = (-1, 0, 1, 2, 7, 10**6, -(10**6), 2**31 - 1, -(2**31), 2**62, 65535, 255)
REAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e150, -1e150, 1e-320, -1.0, 0.0, 2.0, 1e6)
TYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint16", "bool")


def mutated(array: np.ndarray, number: int) -> np.ndarray:
    """Mutation `number` of an array; it may happen to be the array itself."""
    rng = np.random.default_rng(number)
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_ALL[number % len(_ALL)](array, rng))


def _value(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    choices = REAL if array.dtype.kind == "f" else WILD
    return np.array(choices[rng.integers(len(choices))]).astype(array.dtype)


def _everywhere(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full_like(array, _value(array, rng))


def _somewhere(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    changed = array.copy()
    if changed.size:
        places = rng.integers(changed.size, size=rng.integers(1, 4))
        changed.reshape(-1)[places] = _value(array, rng)
    return changed


def _at_an_end(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    changed = array.copy()
    if changed.size:
        changed.reshape(-1)[-1 if rng.random() < 0.5 else 0] = _value(array, rng)
    return changed


def _shifted(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind == "b":
        return ~array
    return array + np.array(rng.integers(-3, 4)).astype(array.dtype)


def _scaled(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (array * rng.choice([-1, 2, 10, 1000])).astype(array.dtype)


def _shorter(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(max(array.ndim, 1)))
    return np.take(array, np.arange(rng.integers(array.shape[axis] + 1)), axis=axis) if array.ndim else array


def _longer(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(max(array.ndim, 1)))
    return np.repeat(array, rng.integers(1, 4), axis=axis) if array.ndim else array


def _permuted(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def _reshaped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array.reshape(-1)[None] if rng.random() < 0.5 else array.reshape(-1)


def _retyped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array.astype(TYPES[rng.integers(len(TYPES))])


def _flipped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind == "b":
        return ~array
    changed = array.copy()
    raw = changed.reshape(-1).view(np.uint8)
    if len(raw):
        raw[rng.integers(len(raw), size=3)] ^= np.uint8(1 << rng.integers(8))
    return changed


def _noisy(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind == "f":
        return (array + rng.standard_normal(array.shape)).astype(array.dtype)
    return rng.permuted(array.reshape(-1)).reshape(array.shape)


_ALL: tuple[Mutation, ...] = (
    _somewhere,
    _everywhere,
    _at_an_end,
    _shifted,
    _scaled,
    _shorter,
    _longer,
    _permuted,
    _reshaped,
    _retyped,
    _flipped,
    _noisy,
)

"""Numbers as mantissa and power of two, and the numbers of the cells of charts: parts of compiled kernels.

    value = mantissa * 2^exponent          the largest mantissa of a vector is kept near one

    by width:  cell(i, j) = (w - 1) n - (w - 1)(w - 2) / 2 + i,   w = j - i      spans of one width together
    by end:    cell(i, j) = j (j - 1) / 2 + i                                    the length n is not needed

for the span from i to j of a string of length n. Scaling by a power of two is exact. All functions here are
written into the kernels that call them.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array
from sigmastar.core.jit import part

LARGEST_POWER = 1000
"""Powers of two beyond this one, either way, are taken for it."""

_SMALL, _LARGE = 1e-60, 1e60


@part
def cell_by_end(i: int, j: int) -> int:
    """The number of the span from i to j, those with an early end first."""
    return j * (j - 1) // 2 + i


@part
def power_of_two(exponent: int) -> float:
    """2^exponent, put together from its bits; exponents beyond -1000 and 1000 are taken for these."""
    bits = (min(max(exponent, -LARGEST_POWER), LARGEST_POWER) + 1023) << 52
    return np.int64(bits).view(np.float64)


@part
def exponent_of(value: float) -> int:
    """The power of two that brings a positive value into [1, 2) when it is divided out; 0 of zero."""
    return int(np.floor(np.log2(value))) if value > 0.0 else 0


@part
def largest_size(vector: Array) -> float:
    """The largest absolute value."""
    largest = 0.0
    for k in range(len(vector)):
        largest = max(largest, abs(vector[k]))
    return largest


@part
def normalize(vector: Array) -> int:
    """Bring the largest entry into [1, 2), in place.

    Returns
    -------
    int
        The power of two that was taken out; 0 for a vector of zeros.
    """
    exponent = exponent_of(largest_size(vector))
    for k in range(len(vector)):
        vector[k] = np.ldexp(vector[k], -exponent)
    return exponent


@part
def rescale(vector: Array) -> int:
    """As `normalize`, but only where the largest entry has left the range from 1e-60 to 1e60.

    Returns
    -------
    int
        The power of two that was taken out, mostly 0.
    """
    largest, exponent = largest_size(vector), 0
    if largest > 0.0 and (largest < _SMALL or largest > _LARGE):
        exponent = exponent_of(largest)
        for k in range(len(vector)):
            vector[k] = np.ldexp(vector[k], -exponent)
    return exponent


@part
def add_scaled(target: Array, target_exponent: int, vector: Array, exponent: int) -> int:
    """Add 2^exponent vector to 2^target_exponent target, in place.

    Returns
    -------
    int
        The exponent of the sum: the larger of the two. What is 2^1000 times smaller is lost.
    """
    common = max(target_exponent, exponent)
    kept, added = power_of_two(target_exponent - common), power_of_two(exponent - common)
    for k in range(len(target)):
        target[k] = target[k] * kept + vector[k] * added
    return common


@part
def add_numbers(mantissa: float, exponent: int, other: float, other_exponent: int) -> tuple[float, int]:
    """The sum of two numbers; a zero has no exponent of its own.

    Returns
    -------
    tuple
        Its mantissa, and the larger of the two exponents.
    """
    if mantissa == 0.0:
        mantissa, exponent = other, other_exponent
    elif exponent >= other_exponent:
        mantissa += other * power_of_two(other_exponent - exponent)
    else:
        mantissa, exponent = mantissa * power_of_two(exponent - other_exponent) + other, other_exponent
    return mantissa, exponent


@part
def rescale_number(mantissa: float, exponent: int) -> tuple[float, int]:
    """As `rescale`, of one number."""
    size, power = abs(mantissa), 0
    if size > 0.0 and (size < _SMALL or size > _LARGE):
        power = exponent_of(size)
        mantissa = np.ldexp(mantissa, -power)
    return mantissa, exponent + power


@part
def grown(numbers: Array, size: int) -> Array:
    """An array with room for at least `size` numbers: the same one, or a copy with twice that room."""
    if size > len(numbers):
        larger = np.empty(2 * size, numbers.dtype)
        for place in range(len(numbers)):  # a slice that is assigned brings the code of its error message
            larger[place] = numbers[place]
    else:
        larger = numbers
    return larger

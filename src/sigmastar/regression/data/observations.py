"""What can be known of a function on strings without knowing its values everywhere.

    an entry             f(x) = y
    a bilinear measure   sum_ps u(p) f(p s) v(s) = y      (u^T H v; with one prefix, a row of H v)
    an order             f(x) >= f(x') + margin

All are statements on linear combinations of values of strings, c . f = y or c . f >= y, so one matrix of
combinations and one vector of targets hold them (Balle, Quattoni and Carreras 2014, part 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sigmastar.automata.data.strings import PrefixTrie, Strings, joined
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Flags, Floats, Indices, Int64s
from sigmastar.core.errors import InputError
from sigmastar.regression.data.losses import AT_LEAST, SQUARED, Loss

Word = Sequence[Symbol]
Combination = Mapping[tuple[Symbol, ...], float]


@dataclass(frozen=True)
class BilinearMeasure:
    """u^T H v = value, by the weights of prefixes and of suffixes."""

    prefixes: Mapping[Word, float]
    suffixes: Mapping[Word, float]
    value: float

    def combination(self) -> Combination:
        total: dict[tuple[Symbol, ...], float] = {}
        for prefix, u in self.prefixes.items():
            for suffix, v in self.suffixes.items():
                word = (*prefix, *suffix)
                total[word] = total.get(word, 0.0) + u * v
        return total


@dataclass(frozen=True)
class Order:
    """f(larger) >= f(smaller) + margin."""

    larger: Word
    smaller: Word
    margin: float = 0.0

    def combination(self) -> Combination:
        larger, smaller = tuple(self.larger), tuple(self.smaller)
        if larger == smaller:
            raise InputError(f"an order needs two strings, not {self.larger!r} twice")
        return {larger: 1.0, smaller: -1.0}


Statement = BilinearMeasure | Order


@dataclass(frozen=True, eq=False)
class Observations:
    """Statements `combinations @ f(strings)` equal to, or at least, their targets."""

    strings: Strings  # distinct
    combinations: sparse.csr_array  # statements x strings
    targets: Floats
    weights: Floats
    losses: tuple[tuple[Loss, Flags], ...]  # each with its statements

    @classmethod
    def of(
        cls,
        strings: Strings,
        values: Floats,
        loss: Loss = SQUARED,
        weights: Floats | None = None,
        statements: Iterable[Statement] = (),
    ) -> Observations:
        """Values of strings, which may repeat, and further statements on strings of the same alphabet."""
        further = list(statements)
        written = [one.combination() for one in further]
        words, columns = _numbered(strings, written, strings.alphabet)
        n, total = len(strings), len(strings) + len(written)
        sizes = [len(one) for one in written]
        row = np.concatenate([np.arange(n), np.repeat(np.arange(n, total), sizes)])
        data = np.concatenate([np.ones(n), [c for one in written for c in one.values()]])
        matrix = sparse.csr_array((data, (row, columns)), shape=(total, len(words)))
        bounds = [one.margin if isinstance(one, Order) else one.value for one in further]
        return cls(
            words,
            matrix,
            np.concatenate([values, np.array(bounds, dtype=float)]),
            np.concatenate([np.ones(n) if weights is None else weights, np.ones(len(written))]),
            _losses_of(loss, n, further),
        )

    def __len__(self) -> int:
        return len(self.targets)

    def select(self, chosen: Indices) -> Observations:
        """Some of the statements, and their strings."""
        matrix = self.combinations[chosen]
        used = np.unique(matrix.indices).astype(np.int64)
        losses = tuple((loss, mask[chosen]) for loss, mask in self.losses)
        return Observations(
            self.strings.select(used),
            matrix[:, used].tocsr(),
            self.targets[chosen],
            self.weights[chosen],
            losses,
        )

    def scaled(self, factor: float) -> Observations:
        """The same statements on the function times `factor`."""
        return replace(self, targets=self.targets * factor)

    @property
    def curvatures(self) -> Floats:
        result = np.zeros(len(self))
        for loss, mask in self.losses:
            result[mask] = loss.curvature
        return result

    def costs(self, values: Floats) -> tuple[Floats, Floats]:
        """The cost of each statement where the strings have these values, and its slope."""
        predicted = self.combinations @ values
        costs, slopes = np.zeros(len(self)), np.zeros(len(self))
        for loss, mask in self.losses:
            costs[mask], slopes[mask] = loss.at(predicted[mask], self.targets[mask])
        return costs, slopes

    def mean_cost(self, values: Floats) -> tuple[float, Floats]:
        """The weighted mean cost, and its derivative in the value of each string."""
        costs, slopes = self.costs(values)
        total = self.weights.sum()
        return float(self.weights @ costs / total), self.combinations.T @ (self.weights * slopes / total)


def _losses_of(loss: Loss, n: int, further: Sequence[Statement]) -> tuple[tuple[Loss, Flags], ...]:
    kinds = np.array([0] * n + [2 if isinstance(one, Order) else 1 for one in further])
    return tuple((kind, kinds == k) for k, kind in enumerate((loss, SQUARED, AT_LEAST)) if (kinds == k).any())


def _numbered(
    strings: Strings, combinations: Sequence[Combination], alphabet: Alphabet
) -> tuple[Strings, Int64s]:
    """The distinct strings, and the number of each one that occurs."""
    words = [word for one in combinations for word in one]
    everything = joined(strings, Strings.of(words, alphabet=alphabet)) if words else strings
    first, numbers = distinct(everything)
    return everything.select(first), numbers


def distinct(strings: Strings) -> tuple[Int64s, Int64s]:
    """Where each distinct string occurs first, and which of them each string is."""
    nodes = PrefixTrie.of(strings).string_node
    _, first, numbers = np.unique(nodes, return_index=True, return_inverse=True)
    return first, numbers


def finite_numbers(values: ArrayLike, what: str) -> Floats:
    """Numbers, one per string."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"expected one {what} per string, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(
            f"{what} {int(np.argmin(np.isfinite(array))) + 1} is not a finite number; leave it out"
        )
    return array


def sample_weights(weights: ArrayLike | None, n: int) -> Floats | None:
    """Weights, one per string, or none."""
    if weights is None:
        return None
    array = finite_numbers(weights, "weight")
    if len(array) != n or (array < 0).any() or not array.sum():
        raise InputError(f"sample_weight must hold {n} weights, none below 0 and not all 0")
    return array

"""Strings and what is known of a function on them.

    an entry             f(x) = y
    a bilinear measure   sum_ps u(p) f(p s) v(s) = y      (u^T H v; with one prefix, a row of H v)
    an order             f(x) >= f(x') + margin

All are statements on linear combinations of values of strings, c . f = y or c . f >= y, so one matrix of
combinations and one vector of targets hold them (Balle, Quattoni and Carreras 2014, part 4). What a predicted
number costs, given what was observed:

    squared    (z - y)^2 / 2
    logistic   log(1 + exp(-y z))                          y = -1 or 1
    hinge      max(0, 1 - y z), rounded below the corner:  (1 - y z)^2 / 2h for 0 < 1 - y z < h

The rounding (h = 1/2) makes the hinge smooth, as gradient methods need; away from the corner its slope is
that of the hinge. In files a string and its number or label stand on a line, `string TAB value`; functions
that are known are values of random signed automata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sigmastar.automata.data.strings import PrefixTrie, Strings, joined
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import values_up_to
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Flags, Floats, Indices, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips

ValueAndSlope = tuple[Floats, Floats]

ROUNDED = 0.5


@dataclass(frozen=True)
class Loss:
    """Values and slopes in the prediction, and how fast the slope changes at most."""

    name: str
    at: Callable[[Floats, Floats], ValueAndSlope]
    curvature: float


def _squared(predicted: Floats, observed: Floats) -> ValueAndSlope:
    error = predicted - observed
    return 0.5 * error**2, error


def _logistic(predicted: Floats, observed: Floats) -> ValueAndSlope:
    margin = observed * predicted
    return np.logaddexp(0.0, -margin), -observed * np.exp(-np.logaddexp(0.0, margin))


def _hinge(predicted: Floats, observed: Floats) -> ValueAndSlope:
    short = np.maximum(1.0 - observed * predicted, 0.0)
    rounded = np.minimum(short, ROUNDED)
    return rounded**2 / (2.0 * ROUNDED) + short - rounded, -observed * rounded / ROUNDED


def _at_least(predicted: Floats, bound: Floats) -> ValueAndSlope:
    """Nothing above the bound, squared below it."""
    short = np.maximum(bound - predicted, 0.0)
    return 0.5 * short**2, -short


SQUARED = Loss("squared", _squared, 1.0)
LOGISTIC = Loss("logistic", _logistic, 0.25)
HINGE = Loss("hinge", _hinge, 1.0 / ROUNDED)
AT_LEAST = Loss("at least", _at_least, 1.0)

LOSSES: Mapping[str, Loss] = {"squared": SQUARED, "logistic": LOGISTIC, "hinge": HINGE}


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


@dataclass(frozen=True)
class Table:
    """Strings and what stands behind them, as text; without values where the file has one column."""

    strings: list[tuple[str, ...]]
    values: list[str] | None

    @property
    def numbers(self) -> list[float]:
        """The values as numbers, of a table that was read with `numeric`."""
        return [float(value) for value in self.values or []]


@skips(by_line)
def read_table(
    path: TextPath, characters: bool = False, need_values: bool = True, numeric: bool = False
) -> Table:
    """Read a table of strings and values.

    Parameters
    ----------
    path : str or path
        A file, plain, gzip or zstandard; `-` is standard input.
    characters : bool
        Whether every character is a symbol; otherwise symbols are separated by blanks.
    need_values : bool
        Whether a line without a value is an error; otherwise values are left out.
    numeric : bool
        Whether a value that is no finite number is an error.

    Returns
    -------
    Table
        In the order of the file.
    """
    rows = [_cells(line, path, number, need_values) for number, line in enumerate(open_text(path), 1)]
    if numeric:
        for number, (_, value) in enumerate(rows, 1):
            _require_number(value or "", path, number)
    if not rows:
        raise InputError("the file is empty; expected lines of string TAB value", file=display_name(path))
    strings = [tuple(text) if characters else tuple(text.split()) for text, _ in rows]
    values = [value for _, value in rows]
    return Table(strings, None if None in values else [value for value in values if value is not None])


def _cells(line: str, path: TextPath, number: int, need_values: bool) -> tuple[str, str | None]:
    text, tab, value = line.rstrip("\r\n").rpartition("\t")
    if tab:
        return text, value.strip()
    if need_values:
        raise InputError(
            "the line has no value; write string TAB value", file=display_name(path), line=number
        )
    return value, None


def _require_number(value: str, path: TextPath, line: int) -> None:
    try:
        problem = "" if math.isfinite(float(value)) else "is not finite; leave the line out"
    except ValueError:
        problem = "is not a number; for labels use --task classification"
    if problem:
        raise InputError(f"{value!r} {problem}", file=display_name(path), line=line)


@dataclass(frozen=True, eq=False)
class MadeRegression:
    """All strings up to a length with their values, and the numbers of those that are seen."""

    automaton: WeightedAutomaton
    strings: Strings
    values: Floats
    seen: Int64s

    @property
    def seen_strings(self) -> Strings:
        return self.strings.select(self.seen)

    @property
    def seen_values(self) -> Floats:
        return self.values[self.seen]

    def relative_error(self, predicted: Floats) -> float:
        """|predicted - true| / |true| over all strings."""
        return float(np.linalg.norm(predicted - self.values) / np.linalg.norm(self.values))


def make_regression(
    rng: np.random.Generator, n_states: int = 3, n_symbols: int = 2, longest: int = 8, seen: float = 0.15
) -> MadeRegression:
    """Values of an automaton with Gaussian weights, its largest operator of spectral radius one.

    Parameters
    ----------
    rng : Generator
        Source of all random choices.
    n_states, n_symbols : int
        Size of the automaton and of its alphabet.
    longest : int
        All strings of up to so many symbols have a value.
    seen : float
        Share of the values that are seen.

    Returns
    -------
    MadeRegression
        The automaton, the strings, their values, and which are seen.
    """
    transitions = rng.standard_normal((n_symbols, n_states, n_states))
    transitions /= max(np.abs(np.linalg.eigvals(matrix)).max() for matrix in transitions)
    names = Alphabet("abcdefghijklmnopqrstuvwxyz"[:n_symbols])
    initial, final = rng.standard_normal((2, n_states))
    automaton = WeightedAutomaton(names, initial, transitions, final)
    strings, values = values_up_to(automaton, longest)
    chosen = np.sort(rng.choice(len(strings), max(int(seen * len(strings)), 1), replace=False))
    return MadeRegression(automaton, strings, values, chosen)

"""The spectral method for transducers as the tutorial has it: align, count, factorize, recover.

Alignments come from the EM aligner; operators of units from context classes of the aligned strings, by the
one formula (`core.recover`). The result is a weighted transducer, signed. The bag of units of the aligner, an
automaton of one state, has a small share in the probability of every output symbol: where signed operators go
wrong, it is what is left.

Transducers without an aligner: complete the Hankel matrix of aligned strings from unaligned pairs.

Rows and columns are strings of units up to a length; the cell (p, s) is f(p s), which is not observed. What
is observed is g(x, y), the sum of f over the alignments of a pair:

    min over H   1/2 sum over pairs (sum over alignments pi of (x, y) of h(pi) - g(x, y))^2
                 + rho/2 |H - h|^2 + rho/2 |min(H, 0)|^2 + weight |H|_*

where h(pi) is the mean of the cells that spell pi: cells of one string should agree (Bailly, Carreras and
Quattoni 2013, "Unsupervised spectral learning of finite state transducers"). Operators are recovered
from the completed matrix by the one formula. For small alphabets: a matrix has |units|^length rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol, string_signature
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.core.recover import Blocks, factorize_blocks, recover
from sigmastar.optimise.proximal import NuclearNorm
from sigmastar.optimise.solvers import fista
from sigmastar.transducers.data import SHAPES, Shape, StringPairs, Unit, Units, require_pairs
from sigmastar.transducers.learn.aligner import LONG_UNITS, learn_aligner
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

MIXING = 0.1


def learn_spectral_transducer(
    pairs: StringPairs,
    rng: np.random.Generator,
    n_states: int | None = None,
    shapes: Sequence[Shape] = SHAPES,
    long_units: float = LONG_UNITS,
) -> WeightedTransducer:
    """Operators of units from aligned pairs; `n_states=None` chooses by held-out likelihood."""
    aligner = learn_aligner(pairs, shapes, long_units=long_units).aligner
    strings = aligner.align(pairs).best()
    automaton = learn_fast(strings, rng, n_states).model.automaton
    return WeightedTransducer(aligner.units, automaton, bag_of_units(strings), MIXING)


def bag_of_units(strings: Strings) -> WeightedAutomaton:
    """An automaton of one state: how often each unit stands in aligned strings, and how often they end."""
    counts = np.bincount(strings.codes, minlength=len(strings.alphabet)) + 0.5
    total = counts.sum() + len(strings)
    moves = (counts / total).reshape(-1, 1, 1)
    return WeightedAutomaton(strings.alphabet, np.ones(1), moves, np.full(1, len(strings) / total))


Word = tuple[int, ...]
Spelt = tuple[tuple[Symbol, ...], tuple[Symbol, ...]]
Observed = dict[Spelt, float]

FEW_SHAPES: tuple[Shape, ...] = ((1, 1), (1, 0))
RHO = 1.0
WEIGHTS = (0.03, 0.01, 0.003, 0.001)  # of the nuclear norm, as shares of the largest singular value
RANKS = (1, 2, 3, 4, 5, 6)
MOST_CELLS = 200_000
"""Of the matrix: its decompositions, some thousands of them, take a minute."""


@dataclass(frozen=True, eq=False)
class CompletionFit:
    """A transducer from a completed matrix, with the error of each choice on held-out pairs."""

    transducer: WeightedTransducer
    matrix: Floats
    errors: dict[tuple[float, int], float]  # by weight and rank
    chosen: tuple[float, int]


@dataclass(frozen=True, eq=False)
class PairHankel:
    """The cells of the matrix as strings of units, and which strings align which pair."""

    units: Units
    rows: list[Word]  # strings up to one longer than the outsides: those of the slices
    columns: list[Word]
    n_outsides: int

    @classmethod
    def of(cls, units: Units, length: int) -> PairHankel:
        """Outsides of up to `length` units and insides of up to `length + 1`."""
        require_few_cells(len(units), length)
        rows, columns = (_words(len(units), length + 1) for _ in range(2))
        return cls(units, rows, columns, len(_words(len(units), length)))

    @cached_property
    def strings(self) -> dict[Word, int]:
        found: dict[Word, int] = {}
        for row, column in product(self.rows, self.columns):
            found.setdefault(row + column, len(found))
        return found

    @cached_property
    def string_of_cell(self) -> Int64s:
        return np.array([self.strings[row + column] for row, column in product(self.rows, self.columns)])

    @cached_property
    def pairs(self) -> tuple[list[Spelt], sparse.csr_array]:
        """Pairs all of whose alignments are among the strings, and the matrix pairs x strings of them."""
        spelt = [self._spelt(word) for word in self.strings]
        longest = max(len(word) for word in self.strings)
        shortest = {side: self._fewest(side) for side in (0, 1)}
        numbers: dict[Spelt, int] = {}
        rows, columns = [], []
        for number, pair in enumerate(spelt):
            if self._longest_alignment(pair, shortest) <= longest:
                rows.append(numbers.setdefault(pair, len(numbers)))
                columns.append(number)
        shape = (len(numbers), len(spelt))
        return list(numbers), sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def blocks(self, matrix: Floats) -> Blocks:
        """The blocks of strings of units that a completed matrix holds."""
        signature = string_signature(self.units.alphabet)
        stop, symbol = signature.operations
        place = {row: at for at, row in enumerate(self.rows)}
        outsides = self.rows[: self.n_outsides]
        slices = np.array(
            [[matrix[place[(*row, unit)]] for row in outsides] for unit in range(len(self.units))]
        )
        square, empty = matrix[: self.n_outsides], self.columns.index(())
        return Blocks(
            signature,
            {"string": square},
            {stop: square[None, :, empty], symbol: slices},
            {"string": matrix[0]},
        )

    def _spelt(self, word: Word) -> Spelt:
        chosen: list[Unit] = [self.units.alphabet.symbols[unit] for unit in word]  # type: ignore[misc]
        return tuple(s for unit in chosen for s in unit[0]), tuple(s for unit in chosen for s in unit[1])

    def _fewest(self, side: int) -> int:
        """The fewest symbols of a side that a unit may hold."""
        lengths = self.units.arrays.input_lengths if side == 0 else self.units.arrays.output_lengths
        return int(lengths.min())

    def _longest_alignment(self, pair: Spelt, fewest: dict[int, int]) -> int:
        """At most so many units align a pair: every unit holds at least so much of either side."""
        bounds = [len(side) // fewest[at] for at, side in enumerate(pair) if fewest[at]]
        return min(bounds, default=len(pair[0]) + len(pair[1]))


@dataclass(frozen=True, eq=False)
class _Loss:
    """The smooth part of the objective as a function of the matrix."""

    hankel: PairHankel
    target: Floats  # g of the pairs

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.hankel.rows), len(self.hankel.columns)

    @cached_property
    def _sizes(self) -> Floats:
        return np.bincount(self.hankel.string_of_cell).astype(np.float64)

    def value_and_gradient(self, matrix: Floats) -> tuple[float, Floats]:
        cell, cells = self.hankel.string_of_cell, matrix.ravel()
        means = np.bincount(cell, cells) / self._sizes
        aligns = self.hankel.pairs[1]
        residual = aligns @ means - self.target
        apart, below = cells - means[cell], np.minimum(cells, 0.0)
        value = 0.5 * (residual @ residual + RHO * (apart @ apart + below @ below))
        gradient = ((aligns.T @ residual) / self._sizes)[cell] + RHO * (apart + below)
        return float(value), gradient.reshape(self.shape)

    def value(self, matrix: Floats) -> float:
        return self.value_and_gradient(matrix)[0]


def learn_completion_transducer(
    pairs: StringPairs,
    rng: np.random.Generator,
    n_states: int | None = None,
    shapes: Sequence[Shape] = FEW_SHAPES,
    length: int = 1,
    n_iterations: int = 300,
    progress: Progress = silent,
) -> CompletionFit:
    """Complete, factorize, recover; the weight and the rank by pairs held out of the completion.

    Parameters
    ----------
    pairs : StringPairs
        To learn from.
    rng : Generator
        Source of random numbers.
    n_states : int or None
        None: chosen with the weight.
    shapes : sequence of pairs
        Numbers of symbols of either side of units.
    length : int
        Of the outsides, in units.
    n_iterations : int
        Of the proximal solver, per matrix.
    progress : Progress
        Called before every completion.

    Returns
    -------
    CompletionFit
        With the errors of all choices.
    """
    require_pairs(pairs)
    sizes = len(pairs.inputs.alphabet), len(pairs.outputs.alphabet)
    require_few_cells(sum(sizes[0] ** int(p) * sizes[1] ** int(q) for p, q in set(shapes)), length)
    units = all_units(pairs.inputs.alphabet, pairs.outputs.alphabet, shapes)
    hankel = PairHankel.of(units, length)
    errors: dict[tuple[float, int], float] = {}
    tried = [(seen, held, weight) for seen, held in _halves(pairs, rng) for weight in WEIGHTS]
    for number, (seen, held, weight) in enumerate(tried):
        progress("completing the Hankel matrix", number / (len(tried) + 1))
        matrix = _completed(hankel, seen, weight, n_iterations)
        for rank in (n_states,) if n_states is not None else RANKS:
            found = recovered(hankel, matrix, rank)
            error = np.inf if found is None else _distance(found, hankel, held)
            errors[weight, rank] = errors.get((weight, rank), 0.0) + error
    if not np.isfinite(min(errors.values())):
        raise InputError("the completed matrix has no rank to recover a transducer from; give more pairs")
    chosen = min(errors, key=errors.__getitem__)
    matrix = _completed(hankel, _frequencies(pairs), chosen[0], n_iterations)
    ranks = range(chosen[1], 0, -1)  # the matrix of all pairs may bear fewer states
    every = (recovered(hankel, matrix, rank) for rank in ranks)
    transducer = next((one for one in every if one is not None), None)
    if transducer is None:
        raise InputError("the completed matrix is empty; give more or shorter pairs")
    return CompletionFit(transducer, matrix, errors, chosen)


def require_few_cells(n_units: int, length: int) -> None:
    """Refuse a matrix that is too large, before any of its strings is made."""
    size = sum(n_units**k for k in range(length + 2))
    if size * size > MOST_CELLS:
        raise InputError(
            f"completion over {n_units} units needs {size} x {size} cells: too many; use fewer shapes of "
            "units, such as 1-1 and 1-0, smaller alphabets, or method 'spectral', which aligns first"
        )


def all_units(inputs: Alphabet, outputs: Alphabet, shapes: Sequence[Shape]) -> Units:
    """Every unit of the shapes over two alphabets."""
    sides = [(list(product(inputs, repeat=p)), list(product(outputs, repeat=q))) for p, q in shapes]
    return Units(Alphabet((x, y) for left, right in sides for x in left for y in right), inputs, outputs)


def _halves(pairs: StringPairs, rng: np.random.Generator) -> list[tuple[Observed, Observed]]:
    """Each half of the pairs to complete from, with the other to measure by; one pair is both."""
    order = rng.permutation(len(pairs))
    half = max(len(pairs) // 2, 1)
    parts = [np.sort(order[:half]), np.sort(order[half:] if half < len(pairs) else order)]
    first, second = (_frequencies(pairs.select(part)) for part in parts)
    return [(first, second), (second, first)]


def _frequencies(pairs: StringPairs) -> Observed:
    found: Observed = {}
    for pair in pairs:
        found[pair] = found.get(pair, 0.0) + 1.0 / len(pairs)
    return found


def _completed(hankel: PairHankel, observed: Observed, weight: float, n_iterations: int) -> Floats:
    listed, aligns = hankel.pairs
    loss = _Loss(hankel, np.array([observed.get(pair, 0.0) for pair in listed]))
    spread = aligns.T @ (loss.target / aligns.sum(axis=1))  # every alignment of a pair alike
    start = spread[hankel.string_of_cell].reshape(loss.shape)
    largest = float(np.linalg.norm(start, 2))
    return fista(loss, NuclearNorm(weight * largest), n_iterations, start=start, tolerance=1e-7).matrix


def recovered(hankel: PairHankel, matrix: Floats, rank: int) -> WeightedTransducer | None:
    """The transducer of a completed matrix by the one formula; None where it bears fewer states."""
    blocks = hankel.blocks(matrix)
    if rank > np.linalg.matrix_rank(np.asarray(blocks.matrices["string"]), tol=1e-10):
        return None
    automaton = WeightedAutomaton.of_operators(recover(blocks, factorize_blocks(blocks, rank)))
    return WeightedTransducer(hankel.units, automaton)


def _distance(transducer: WeightedTransducer, hankel: PairHankel, observed: Observed) -> float:
    """The sum over all pairs of the matrix of (g - frequency)^2; that of sizes would reward shrinkage."""
    listed = hankel.pairs[0]
    corpus = StringPairs.of(listed, transducer.units.inputs, transducer.units.outputs)
    sign, log = transducer.log_value(corpus)
    target = np.array([observed.get(pair, 0.0) for pair in listed])
    return float(((sign * np.exp(np.minimum(log, 50.0)) - target) ** 2).sum())


def _words(n_units: int, longest: int) -> list[Word]:
    """All strings of units of up to `longest`, shorter ones first."""
    return [word for length in range(longest + 1) for word in product(range(n_units), repeat=length)]

"""Pairs of strings of any two lengths: what transducers are learned from and judged on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import Split, folds

Pair = tuple[Sequence[Symbol], Sequence[Symbol]]


@dataclass(frozen=True, eq=False)
class StringPairs:
    """Pair `i` is `inputs[i]` with `outputs[i]`.

    Parameters
    ----------
    inputs, outputs : Strings
        Of equal number.
    """

    inputs: Strings
    outputs: Strings

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.outputs):
            raise ValueError(f"{len(self.inputs)} inputs cannot be paired with {len(self.outputs)} outputs")

    @classmethod
    def of(
        cls,
        pairs: Iterable[Pair] | StringPairs,
        inputs: Alphabet | None = None,
        outputs: Alphabet | None = None,
        allow_unknown: bool = False,
    ) -> StringPairs:
        """Code pairs of sequences.

        Parameters
        ----------
        pairs : iterable of pairs
            Each an input and an output, sequences of hashable symbols.
        inputs, outputs : Alphabet or None
            Symbols of either side; None: those that are met.
        allow_unknown : bool
            Whether symbols outside the alphabets are coded as unknown, and no error.

        Returns
        -------
        StringPairs
            The coded pairs.

        Examples
        --------
        >>> StringPairs.of([("ab", ["A", "B"]), ("b", ["B"])]).outputs.codes.tolist()
        [0, 1, 1]
        """
        if isinstance(pairs, StringPairs):
            return pairs.recoded(inputs, outputs, allow_unknown)
        rows = [_two(pair) for pair in pairs]
        return cls(
            Strings.of([row[0] for row in rows], alphabet=inputs, allow_unknown=allow_unknown),
            Strings.of([row[1] for row in rows], alphabet=outputs, allow_unknown=allow_unknown),
        )

    def recoded(
        self, inputs: Alphabet | None, outputs: Alphabet | None, allow_unknown: bool = False
    ) -> StringPairs:
        return StringPairs(
            self.inputs.recoded(inputs, allow_unknown), self.outputs.recoded(outputs, allow_unknown)
        )

    def __len__(self) -> int:
        return len(self.inputs)

    def __iter__(self) -> Iterator[tuple[tuple[Symbol, ...], tuple[Symbol, ...]]]:
        return zip(self.inputs, self.outputs, strict=True)

    def select(self, indices: Array | Sequence[int]) -> StringPairs:
        return StringPairs(self.inputs.select(indices), self.outputs.select(indices))

    def swapped(self) -> StringPairs:
        """The other direction."""
        return StringPairs(self.outputs, self.inputs)

    def references(self) -> dict[tuple[Symbol, ...], list[tuple[Symbol, ...]]]:
        """Every input once, in the order met, with all outputs that stand beside it."""
        found: dict[tuple[Symbol, ...], list[tuple[Symbol, ...]]] = {}
        for left, right in self:
            found.setdefault(left, []).append(right)
        return found

    def folds(self, share: float, n_folds: int, rng: np.random.Generator) -> list[Split]:
        """Random choices of pairs to hold out, none twice, by input: equal inputs are on one side."""
        numbers: dict[bytes, int] = {}
        codes, offsets = self.inputs.codes, self.inputs.offsets.tolist()
        keys = (codes[low:high].tobytes() for low, high in pairwise(offsets))
        groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        found = folds(len(self), rng, n_folds, share, groups)
        if not found:
            raise InputError("at least two different inputs are needed to hold some out")
        return found

    def split(self, share: float, rng: np.random.Generator) -> tuple[StringPairs, StringPairs]:
        """A random split into (kept, held out) by input."""
        (fold,) = self.folds(share, 1, rng)
        return self.select(fold.kept), self.select(fold.held)


def require_pairs(pairs: StringPairs, purpose: str = "learn from") -> StringPairs:
    """Refuse an empty corpus."""
    if len(pairs) == 0:
        raise InputError(f"there are no pairs to {purpose}")
    return pairs


def _two(pair: Pair) -> Pair:
    if isinstance(pair, str) or len(pair) != 2:
        raise InputError(f"expected pairs (input, output), got {pair!r}")
    return pair

"""Pairs of strings of any two lengths: what transducers are learned from and judged on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.errors import InputError

Pair = tuple[Sequence[Symbol], Sequence[Symbol]]


@dataclass(frozen=True, eq=False)
class StringPairs:
    """Pair `i` is `inputs[i]` with `outputs[i]`."""

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
        """Code pairs of sequences; without alphabets the symbols met become them.

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

    def select(self, indices: NDArray[np.intp] | Sequence[int]) -> StringPairs:
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

    def folds(self, share: float, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Random choices of pairs to hold out, none twice, by input: equal inputs are on one side."""
        numbers: dict[bytes, int] = {}
        codes, offsets = self.inputs.codes, self.inputs.offsets.tolist()
        group = np.array(
            [numbers.setdefault(codes[low:high].tobytes(), len(numbers)) for low, high in pairwise(offsets)],
            dtype=np.int64,
        )
        if len(numbers) < 2:
            raise InputError("at least two different inputs are needed to hold some out")
        size = min(max(round(share * len(numbers)), 1), len(numbers) - 1)
        place = rng.permutation(len(numbers))[group] // size
        return [place == fold for fold in range(min(n_folds, len(numbers) // size))]

    def split(self, share: float, rng: np.random.Generator) -> tuple[StringPairs, StringPairs]:
        """A random split into (kept, held out) by input."""
        (held,) = self.folds(share, 1, rng)
        return self.select(np.flatnonzero(~held)), self.select(np.flatnonzero(held))


def require_pairs(pairs: StringPairs, purpose: str = "learn from") -> StringPairs:
    """Refuse an empty corpus."""
    if len(pairs) == 0:
        raise InputError(f"there are no pairs to {purpose}")
    return pairs


def _two(pair: Pair) -> Pair:
    if isinstance(pair, str) or len(pair) != 2:
        raise InputError(f"expected pairs (input, output), got {pair!r}")
    return pair

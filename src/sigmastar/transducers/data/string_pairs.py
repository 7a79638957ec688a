"""Pairs of strings of any two lengths: what transducers are learned from and judged on.

As a file they are a table, `input TAB output`, each side characters or tokens between spaces; further columns
are left alone. The same input on several lines has several outputs, all of them right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import Split, folds
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips

Pair = tuple[Sequence[Symbol], Sequence[Symbol]]
Word = tuple[str, ...]

SIDES: Mapping[str, Callable[[str], Word]] = MappingProxyType(
    {"chars": tuple, "tokens": lambda text: tuple(text.split())}
)
"""How the text of a side becomes symbols."""


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
            Symbols of either side; None: those that occur.
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
        """Every input once, in the order of the data, with all its outputs."""
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


@skips(by_line)
def read_transductions(
    path: TextPath, inputs: str = "chars", outputs: str = "tokens"
) -> list[tuple[Word, Word]]:
    """Read pairs of strings; an empty side is an error.

    Parameters
    ----------
    path : str, path or stream
        The table; `-` is standard input.
    inputs, outputs : str
        Symbols of either side: "chars", or "tokens" between spaces.

    Returns
    -------
    list of pairs
        Inputs and outputs as tuples of symbols.
    """
    found = []
    left, right = SIDES[inputs], SIDES[outputs]
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        pair = (left(cells[0]), right(cells[1])) if len(cells) > 1 else ((), ())
        if not pair[0] or not pair[1]:
            raise InputError(
                f"expected 'input TAB output', both not empty, found {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        found.append(pair)
    if not found:
        raise InputError("the file holds no pairs", file=display_name(path))
    return found


def read_inputs(path: TextPath, side: str = "chars") -> list[Word]:
    """Read the first column alone, whether or not others follow.

    Parameters
    ----------
    path : str, path or stream
        The table; `-` is standard input.
    side : str
        Symbols: "chars", or "tokens" between spaces.

    Returns
    -------
    list of tuples
        Symbols of each input.
    """
    split = SIDES[side]
    found = [split(line.split("\t")[0]) for line in open_text(path) if line.strip()]
    if not found:
        raise InputError("the file holds no strings", file=display_name(path))
    return found


def joined(symbols: Iterable[object], side: str) -> str:
    """A side as text."""
    return ("" if side == "chars" else " ").join(map(str, symbols))

"""Strings side by side: a batch is a table of steps by lanes, longest strings first.

At step t the strings that are longer than t are the first `active[t]` lanes, so that every step works on a
leading block of rows and no padding is ever multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Lanes:
    """Some strings of a corpus as a table.

    Parameters
    ----------
    symbols : tensor
        Steps by lanes; 0 after the end of a string.
    active : list of int
        How many lanes go on at each step; not increasing.
    strings : array
        Which string of the corpus each lane holds.
    """

    symbols: torch.Tensor
    active: list[int]
    strings: Int64s

    @property
    def n_steps(self) -> int:
        return len(self.active)

    @property
    def is_even(self) -> bool:
        """Whether all strings have one length, and one above 0."""
        return self.n_steps > 0 and self.active[-1] == self.n_lanes

    @property
    def n_lanes(self) -> int:
        return len(self.strings)


def lanes_of(
    codes: Int32s, offsets: Int64s, device: Any, most_symbols: int, even: bool = False
) -> Iterator[Lanes]:
    """All strings of a corpus in batches of at most `most_symbols` cells, long strings first.

    Parameters
    ----------
    codes : array of int
        Symbols of all strings, one after another.
    offsets : array of int
        Where strings begin and end.
    device : torch.device
        Where the tables go.
    most_symbols : int
        Size of a table; a single longer string is a batch of its own.
    even : bool
        Whether the strings of a batch must be of one length.

    Yields
    ------
    Lanes
        Every string once.
    """
    torch, lengths = import_torch(), np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        strings = order[start : start + max(most_symbols // longest, 1)]
        if even:
            strings = strings[lengths[strings] == lengths[strings[0]]]
        start += len(strings)
        steps = np.arange(int(lengths[strings[0]]) if len(strings) else 0)
        inside = steps[:, None] < lengths[strings]
        places = np.where(inside, offsets[strings] + steps[:, None], 0)
        table = np.where(inside, codes[places] if len(codes) else 0, 0)
        yield Lanes(
            torch.from_numpy(table.astype(np.int64)).to(device),
            inside.sum(axis=1).tolist(),
            strings.astype(np.int64),
        )

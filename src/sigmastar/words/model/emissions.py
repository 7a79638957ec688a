"""Words given states, in three forms: a table, sparse rows that back off to groups of states, vectors.

    table          E[w, z]
    back-off       own[w, z] + left[z] G[w, group of z]             own is sparse
    log-bilinear   exp(word_w . state_z + bias_w) / Z_z

All of them give the table that inference reads, words x states, and the next words of contexts, which is a
product with the beliefs of contexts. The end of a string is the last of the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s, Reals, Singles
from sigmastar.core.stored_parts import ArrayPart, indices, rises_within, row_starts, singles
from sigmastar.words.kernels.queries import add_own, spread_own

_ONE = 1.0 + 1e-5  # probabilities, with what rounding adds
_FAR = 1e4  # of vectors: products of them stay finite


class Emissions(Protocol):
    """The probabilities of words in states."""

    PARTS: ClassVar[dict[str, ArrayPart]]

    @property
    def by_word(self) -> Reals:
        """Words x states."""
        ...

    def columns(self, beliefs: Reals) -> Reals:
        """Words x contexts, from contexts x states."""
        ...

    def to_arrays(self) -> dict[str, Array]: ...


@dataclass(frozen=True, eq=False)
class Table:
    """The table itself."""

    by_word: Reals
    PARTS: ClassVar[dict[str, ArrayPart]] = {"by_word": singles("words", "states", least=0.0, most=_ONE)}

    def columns(self, beliefs: Reals) -> Reals:
        return np.asarray(self.by_word @ beliefs.T)

    def to_arrays(self) -> dict[str, Array]:
        return {"by_word": self.by_word}


@dataclass(frozen=True, eq=False)
class BackedOffRows:
    """Sparse rows of words, what is left of states, and what their groups give."""

    starts: Int64s
    own_states: Int32s
    own: Singles
    left: Singles
    groups: Int32s
    by_group: Singles  # words x groups
    PARTS: ClassVar[dict[str, ArrayPart]] = {
        "starts": row_starts("words", of="entries"),
        "own_states": indices("entries", of="states"),
        "own": singles("entries", least=0.0, most=_ONE),
        "left": singles("states", least=0.0, most=_ONE),
        "groups": indices("states", of="groups"),
        "by_group": singles("words", "groups", least=0.0, most=_ONE),
    }

    def __post_init__(self) -> None:
        if not rises_within(self.own_states, self.starts):
            raise ValueError("the states of each word must be sorted")

    @cached_property
    def by_word(self) -> Singles:
        table = np.ascontiguousarray(self.by_group[:, self.groups])
        table *= self.left
        spread_own(self.starts, self.own_states, self.own, table)
        return table

    @cached_property
    def _left_in(self) -> Singles:
        """States x groups: what is left of each state, in the column of its group."""
        table = np.zeros((len(self.left), self.by_group.shape[1]), np.float32)
        table[np.arange(len(self.left)), self.groups] = self.left
        return table

    def columns(self, beliefs: Reals) -> Reals:
        known = np.asarray(beliefs, dtype=np.float32)
        found = self.by_group @ (known @ self._left_in).T
        add_own(self.starts, self.own_states, self.own, np.ascontiguousarray(known.T), found)
        return found

    def to_arrays(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in self.PARTS}


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of words and of states."""

    words: Singles
    bias: Singles
    states: Singles
    PARTS: ClassVar[dict[str, ArrayPart]] = {
        "word_vectors": singles("words", "features", least=-_FAR, most=_FAR),
        "word_bias": singles("words", least=-_FAR, most=_FAR),
        "state_vectors": singles("states", "features", least=-_FAR, most=_FAR),
    }

    @cached_property
    def by_word(self) -> Singles:
        scores = self.words @ self.states.T
        scores += self.bias[:, None]
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0, dtype=np.float64)
        return scores

    def columns(self, beliefs: Reals) -> Reals:
        return np.asarray(self.by_word @ beliefs.astype(np.float32, copy=False).T)

    def to_arrays(self) -> dict[str, Array]:
        return dict(zip(self.PARTS, (self.words, self.bias, self.states), strict=True))


FORMS: dict[str, Any] = {"table": Table, "back-off": BackedOffRows, "log-bilinear": Vectors}


def sparse_rows(table: Reals) -> tuple[Int64s, Int32s, Array]:
    """Where each row begins, the columns that are not zero, and what stands there."""
    rows, columns = np.nonzero(table)
    starts = np.searchsorted(rows, np.arange(len(table) + 1))
    return starts.astype(np.int64), columns.astype(np.int32), table[rows, columns]

"""Signatures: what the structures of a model are built from.

A signature has sorts and operations `sigma: s1 .. sk -> s`. An inside is a term; an outside is a
term with one hole. Operations of one type that differ only in a symbol form one `Operation` with an
alphabet, so that a vocabulary of 100,000 words is one array and not 100,000 objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sigmastar.core.alphabet import Alphabet

Sort = Hashable

NAMELESS = Alphabet([None])
"""The alphabet of an operation that is alone in its family."""


@dataclass(frozen=True)
class Operation:
    """A family of operations of one type, one for each symbol of `alphabet`."""

    name: Hashable
    arguments: tuple[Sort, ...]
    result: Sort
    alphabet: Alphabet = NAMELESS

    @property
    def arity(self) -> int:
        return len(self.arguments)


@dataclass(frozen=True)
class Signature:
    """Operations, and the sorts that whole structures may have."""

    operations: tuple[Operation, ...]
    roots: tuple[Sort, ...]

    def __post_init__(self) -> None:
        used = dict.fromkeys([*self.roots, *(sort for op in self.operations for sort in op.arguments)])
        for sort in used:
            if sort not in self.sorts:
                raise ValueError(f"no operation builds sort {sort!r}")

    @cached_property
    def sorts(self) -> tuple[Sort, ...]:
        return tuple(dict.fromkeys(operation.result for operation in self.operations))

    def operation(self, name: Hashable) -> Operation:
        for operation in self.operations:
            if operation.name == name:
                return operation
        raise KeyError(name)


def string_signature(alphabet: Alphabet) -> Signature:
    """Strings as terms `a(b(a(stop)))`. Pairs are strings over an alphabet of pairs."""
    stop = Operation("stop", (), "string")
    symbol = Operation("symbol", ("string",), "string", alphabet)
    return Signature((stop, symbol), ("string",))


RANKS = ("leaf", "unary", "binary")


def rank_name(rank: int) -> str:
    """The name of the operation that makes nodes with so many children."""
    return RANKS[rank] if rank < len(RANKS) else f"rank {rank}"


def tree_signature(leaves: Alphabet, unary: Alphabet, binary: Alphabet, *higher: Alphabet) -> Signature:
    """Trees over a ranked alphabet, `higher` from rank 3 on; ranks without symbols are left out."""
    operations = tuple(
        Operation(rank_name(rank), ("tree",) * rank, "tree", symbols)
        for rank, symbols in enumerate((leaves, unary, binary, *higher))
        if len(symbols)
    )
    return Signature(operations, ("tree",))


def composition_signature(words: Alphabet) -> Signature:
    """Bracketed strings: words, and one nameless binary composition."""
    word = Operation("word", (), "span", words)
    compose = Operation("compose", ("span", "span"), "span")
    return Signature((word, compose), ("span",))


def head_signature(modifiers: Mapping[Sort, Alphabet]) -> Signature:
    """Head automata: for each sort (head, direction) the strings of its modifiers."""
    operations = [
        operation
        for sort, alphabet in modifiers.items()
        for operation in (
            Operation(("stop", sort), (), sort),
            Operation(("modifier", sort), (sort,), sort, alphabet),
        )
    ]
    return Signature(tuple(operations), tuple(modifiers))

"""Alphabets: finite ordered sets of symbols, each with an integer code.

Signatures: what the structures of a model are built from.

A signature has sorts and operations `sigma: s1 .. sk -> s`. An inside is a term; an outside is a
term with one hole. Operations of one type that differ only in a symbol form one `Operation` with an
alphabet, so that a vocabulary of 100,000 words is one array and not 100,000 objects.

Operator models: what every learner returns.

The inside vector of a term is built bottom-up, `inside(sigma(t1, .., tk)) = A_sigma (v1, .., vk)`,
and the value of a whole structure of root sort s is `root_s . inside`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import UnknownSymbolError

Symbol = Hashable

UNKNOWN = -1
"""The code of a symbol outside the alphabet: every operator of it is zero."""


UNKNOWN_CLASS = "<unk>"
"""The symbol that stands for all that are not in the alphabet, where a model has one."""


@dataclass(frozen=True)
class Alphabet:
    """Symbols in a fixed order; the code of a symbol is its position.

    >>> Alphabet("ab").encode("abba")
    [0, 1, 1, 0]
    """

    symbols: tuple[Symbol, ...]

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        object.__setattr__(self, "symbols", tuple(symbols))
        if len(self.codes) != len(self.symbols):
            raise ValueError("an alphabet holds each symbol once")

    @cached_property
    def codes(self) -> dict[Symbol, int]:
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    def encode(self, symbols: Iterable[Symbol]) -> list[int]:
        try:
            return [self.codes[symbol] for symbol in symbols]
        except KeyError as missing:
            raise UnknownSymbolError(
                f"symbol {missing.args[0]!r} is not among the {len(self)} symbols of the alphabet"
            ) from None

    def decode(self, codes: Iterable[int]) -> tuple[Symbol, ...]:
        return tuple(self.symbols[code] for code in codes)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.codes


def written_codes(alphabet: Alphabet) -> dict[str, int]:
    """The code of each symbol by how it is written: the symbol 7 reads as "7"."""
    table = {str(symbol): code for code, symbol in enumerate(alphabet)}
    return table | {symbol: code for symbol, code in alphabet.codes.items() if isinstance(symbol, str)}


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


@dataclass(frozen=True)
class Term:
    """A structure: an operation, the code of its symbol, and the terms below it."""

    operation: Operation
    code: int = 0
    children: tuple[Term, ...] = ()


@dataclass(frozen=True, eq=False)
class OperatorModel:
    """Operators of every operation, with axes (symbol, result, argument 1, .., argument k)."""

    signature: Signature
    roots: Mapping[Sort, Floats]
    operators: Mapping[Operation, Floats]

    def n_states(self, sort: Sort) -> int:
        operation = next(op for op in self.signature.operations if op.result == sort)
        return int(self.operators[operation].shape[1])

    def inside(self, term: Term) -> Floats:
        """The vector of a term. The reference for every family's own, faster inference."""
        result: Floats = self.operators[term.operation][term.code]
        for child in reversed(term.children):
            result = result @ self.inside(child)
        return result

    def value(self, term: Term) -> float:
        return float(self.roots[term.operation.result] @ self.inside(term))

    def change_basis(self, bases: Mapping[Sort, Floats]) -> OperatorModel:
        """The same function with states `Q_s^-1 v` in place of `v`, for invertible Q_s."""
        inverses = {sort: np.linalg.inv(basis) for sort, basis in bases.items()}
        operators = {}
        for op, operator in self.operators.items():
            turned = np.einsum("ij,xj...->xi...", inverses[op.result], operator)
            for axis, sort in enumerate(op.arguments, 2):
                turned = np.moveaxis(np.tensordot(turned, bases[sort], axes=(axis, 0)), -1, axis)
            operators[op] = turned
        roots = {sort: root @ bases[sort] for sort, root in self.roots.items()}
        return OperatorModel(self.signature, roots, operators)


class _End:
    """There is one, `END`; it equals itself alone, copied and pickled too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "END"

    def __reduce__(self) -> str:
        return "END"


END = _End()
"""The end of the string among next symbols: no symbol of an alphabet is equal to it."""

"""The families that every law is tried on.

A family is a signature and numbers of states. Everything else follows from the signature: a random
model, insides (terms) and outsides (terms with one hole) by increasing size, and exact blocks by
brute force: plug, evaluate, write down. A new family registers with one line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, product

import numpy as np

from sigmastar.core.alphabet import (
    Alphabet,
    Operation,
    OperatorModel,
    Signature,
    Sort,
    Term,
    composition_signature,
    head_signature,
    string_signature,
    tree_signature,
)
from sigmastar.core.recover import Blocks


def hole(sort: Sort) -> Term:
    """The outside that is nothing but its hole."""
    return Term(Operation("hole", (), sort))


def plug(outside: Term, inside: Term) -> Term:
    """`o . i`: the inside in the place of the hole."""
    if outside.operation.name == "hole":
        assert outside.operation.result == inside.operation.result
        return inside
    children = tuple(plug(child, inside) for child in outside.children)
    return Term(outside.operation, outside.code, children)


@dataclass(frozen=True, eq=False)
class Family:
    """A signature, states for each sort, and how many outsides and insides a basis takes."""

    name: str
    signature: Signature
    n_states: Mapping[Sort, int]
    basis_size: int = 10

    def model(self, rng: np.random.Generator) -> OperatorModel:
        """Random signed operators, scaled so that values neither vanish nor explode."""
        n = self.n_states
        operators = {
            op: rng.standard_normal((len(op.alphabet), n[op.result], *(n[s] for s in op.arguments)))
            / np.sqrt(np.prod([n[s] for s in op.arguments], initial=1.0))
            for op in self.signature.operations
        }
        roots = {sort: rng.standard_normal(n[sort]) for sort in self.signature.roots}
        return OperatorModel(self.signature, roots, operators)

    @cached_property
    def insides(self) -> dict[Sort, list[Term]]:
        """The first terms of every sort, smaller ones first."""
        layers = _term_layers(self.signature)
        found: dict[Sort, list[Term]] = {sort: [] for sort in self.signature.sorts}
        while any(len(terms) < self.basis_size for terms in found.values()):
            for sort, terms in next(layers).items():
                found[sort] += terms
        return {sort: terms[: self.basis_size] for sort, terms in found.items()}

    @cached_property
    def outsides(self) -> dict[Sort, list[Term]]:
        """The first contexts of every sort: the bare hole, then one operation more at a time."""
        insides = {sort: terms[:4] for sort, terms in self.insides.items()}
        layer = {sort: [hole(sort)] for sort in self.signature.roots}
        found: dict[Sort, list[Term]] = {sort: [] for sort in self.signature.sorts}
        while any(len(terms) < self.basis_size for terms in found.values()):
            for sort, terms in layer.items():
                found[sort] += terms
            layer = _deeper(self.signature, layer, insides)
        return {sort: terms[: self.basis_size] for sort, terms in found.items()}

    def blocks(self, model: OperatorModel) -> Blocks:
        """Exact blocks: the value of every structure, one by one."""
        outsides, insides = self.outsides, self.insides
        matrices = {
            sort: np.array([[model.value(plug(o, i)) for i in insides[sort]] for o in outsides[sort]])
            for sort in self.signature.sorts
        }
        slices = {op: self._slices(model, op, outsides, insides) for op in self.signature.operations}
        roots = {sort: np.array([model.value(i) for i in insides[sort]]) for sort in self.signature.roots}
        return Blocks(self.signature, matrices, slices, roots)

    def _slices(
        self,
        model: OperatorModel,
        op: Operation,
        outsides: Mapping[Sort, list[Term]],
        insides: Mapping[Sort, list[Term]],
    ) -> np.ndarray:
        axes = [insides[sort] for sort in op.arguments]
        values = [
            model.value(plug(outside, Term(op, code, tuple(children))))
            for code, outside, *children in product(range(len(op.alphabet)), outsides[op.result], *axes)
        ]
        return np.reshape(values, (len(op.alphabet), len(outsides[op.result]), *map(len, axes)))

    def fresh(self, rng: np.random.Generator, n_terms: int = 30) -> list[Term]:
        """Random whole structures, larger than those whose values a basis holds."""
        known = self._known_terms
        draws = (
            random_term(self.signature, sort, size, rng)
            for size in range(6, 1000)
            for sort in self.signature.roots
        )
        return list(islice((term for term in draws if term not in known), n_terms))

    @cached_property
    def _known_terms(self) -> set[Term]:
        outsides, insides = self.outsides, self.insides
        plain = {(s, i) for s in self.signature.sorts for i in insides[s]}
        built = {
            (op.result, Term(op, code, tuple(children)))
            for op in self.signature.operations
            for code, *children in product(range(len(op.alphabet)), *(insides[s] for s in op.arguments))
        }
        return {plug(o, i) for sort, i in plain | built for o in outsides[sort]}


@dataclass(frozen=True, eq=False)
class Case:
    """A known model of a family, its exact blocks, and structures that the blocks do not hold."""

    truth: OperatorModel
    blocks: Blocks
    fresh: list[Term]


@cache
def case(family: Family, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    truth = family.model(rng)
    return Case(truth, family.blocks(truth), family.fresh(rng))


def random_term(signature: Signature, sort: Sort, size: int, rng: np.random.Generator) -> Term:
    """A random term of about `size` operations: recursive ones while there is room, then the shallowest."""
    operations = [op for op in signature.operations if op.result == sort]
    depths = [1 + max((_depths(signature)[s] for s in op.arguments), default=0) for op in operations]
    growing = [op for op in operations if op.arity] or operations
    op = growing[rng.integers(len(growing))] if size > 1 else operations[int(np.argmin(depths))]
    shares = (size - 1) // max(op.arity, 1)
    children = tuple(random_term(signature, s, min(shares, 8), rng) for s in op.arguments)
    return Term(op, int(rng.integers(len(op.alphabet))), children)


def _depths(signature: Signature) -> dict[Sort, int]:
    """The depth of the shallowest term of each sort."""
    depths: dict[Sort, int] = {}
    for depth in range(1, len(signature.sorts) + 1):
        ready = [op for op in signature.operations if all(s in depths for s in op.arguments)]
        depths = {op.result: depth for op in ready} | depths
    return depths


def _term_layers(signature: Signature) -> Iterator[dict[Sort, list[Term]]]:
    """Terms by depth; the children of a layer's terms come from the few smallest of earlier layers."""
    earlier: dict[Sort, list[Term]] = {sort: [] for sort in signature.sorts}
    seen: set[Term] = set()
    while True:
        layer: dict[Sort, list[Term]] = {sort: [] for sort in signature.sorts}
        for op in signature.operations:
            for code, *children in product(range(len(op.alphabet)), *(earlier[s][:8] for s in op.arguments)):
                term = Term(op, code, tuple(children))
                if term not in seen:
                    seen.add(term)
                    layer[op.result].append(term)
        for sort, terms in layer.items():
            earlier[sort] = earlier[sort] + terms
        yield layer


def _deeper(
    signature: Signature, layer: Mapping[Sort, list[Term]], insides: Mapping[Sort, list[Term]]
) -> dict[Sort, list[Term]]:
    """Outsides with one operation more around the hole."""
    deeper: dict[Sort, list[Term]] = {sort: [] for sort in signature.sorts}
    for op in signature.operations:
        for place, sort in enumerate(op.arguments):
            beside = [[hole(s)] if k == place else insides[s] for k, s in enumerate(op.arguments)]
            for outside, code, *children in product(
                layer.get(op.result, [])[:8], range(len(op.alphabet)), *beside
            ):
                deeper[sort].append(plug(outside, Term(op, code, tuple(children))))
    return deeper


def _pairs() -> Signature:
    return string_signature(Alphabet([("a", "x"), ("a", "y"), ("b", None)]))


def _units() -> Signature:
    """Alignment units of a transducer, epsilon on either side."""
    return string_signature(Alphabet([(("a",), ("x",)), (("a", "b"), ("x",)), (("b",), ()), ((), ("y",))]))


def _grammar() -> Signature:
    """Rules a -> b c and a -> x of a small grammar whose every sort is recursive."""
    rules = [("S", "NP", "VP"), ("NP", "NP", "VP"), ("VP", "VP", "NP"), ("VP", "VP", "S")]
    binary = [Operation(rule, rule[1:], rule[0]) for rule in rules]
    lexical = [
        Operation(("NP", "word"), (), "NP", Alphabet("mn")),
        Operation(("VP", "word"), (), "VP", Alphabet("uvw")),
    ]
    return Signature((*lexical, *binary), ("S",))


_HEADS = {
    ("verb", "left"): Alphabet("nd"),
    ("verb", "right"): Alphabet("npv"),
    ("noun", "left"): Alphabet("da"),
}

FAMILIES = [
    Family("strings", string_signature(Alphabet("ab")), {"string": 4}, 15),
    Family("pairs", _pairs(), {"string": 3}, 13),
    Family("units", _units(), {"string": 3}, 13),
    Family("trees", tree_signature(Alphabet("xy"), Alphabet("u"), Alphabet("fg")), {"tree": 3}, 12),
    Family("composition", composition_signature(Alphabet("abc")), {"span": 3}, 12),
    Family("heads", head_signature(_HEADS), dict(zip(_HEADS, (2, 4, 3), strict=True)), 15),
    Family("grammar", _grammar(), {"S": 2, "NP": 3, "VP": 4}, 14),
]

"""Operator models: what every learner returns.

The inside vector of a term is built bottom-up, `inside(sigma(t1, .., tk)) = A_sigma (v1, .., vk)`,
and the value of a whole structure of root sort s is `root_s . inside`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.signature import Operation, Signature, Sort

Array = NDArray[np.float64]


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
    roots: Mapping[Sort, Array]
    operators: Mapping[Operation, Array]

    def n_states(self, sort: Sort) -> int:
        operation = next(op for op in self.signature.operations if op.result == sort)
        return int(self.operators[operation].shape[1])

    def inside(self, term: Term) -> Array:
        """The vector of a term. The reference for every family's own, faster inference."""
        result: Array = self.operators[term.operation][term.code]
        for child in reversed(term.children):
            result = result @ self.inside(child)
        return result

    def value(self, term: Term) -> float:
        return float(self.roots[term.operation.result] @ self.inside(term))

    def change_basis(self, bases: Mapping[Sort, Array]) -> OperatorModel:
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

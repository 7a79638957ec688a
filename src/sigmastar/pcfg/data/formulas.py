"""Boolean formulas in conjunctive normal form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sigmastar.core.errors import InputError


@dataclass(frozen=True)
class Formula:
    """Clauses of literals: v is the variable v, from 1 on, and -v its negation."""

    n_variables: int
    clauses: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for number, clause in enumerate(self.clauses, 1):
            for literal in clause:
                if not 1 <= abs(literal) <= self.n_variables:
                    raise InputError(
                        f"clause {number}: {literal} is not a literal of {self.n_variables} variables"
                    )

    def holds(self, assignment: Sequence[bool]) -> bool:
        """Whether an assignment, of variable 1 first, satisfies every clause.

        >>> Formula(2, ((1, -2),)).holds([False, True])
        False
        """
        return all(
            any(assignment[abs(literal) - 1] == (literal > 0) for literal in clause)
            for clause in self.clauses
        )

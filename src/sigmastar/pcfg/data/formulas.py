"""Boolean formulas in conjunctive normal form, and DIMACS CNF, their usual form as text.

p cnf VARIABLES CLAUSES        then clauses as literals that end in 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text, whole_number


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


def read_dimacs(path: TextPath) -> Formula:
    """Read a formula in DIMACS form.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Formula
        The clauses.
    """
    return parse_dimacs(open_text(path), display_name(path))


def parse_dimacs(lines: Iterable[str], file: str | None = None) -> Formula:
    """A formula from lines.

    Parameters
    ----------
    lines
        In DIMACS form: lines that begin with c are comments, a line % ends the formula.
    file
        The name of the file, for messages.

    Returns
    -------
    Formula
        The clauses.

    Examples
    --------
    >>> parse_dimacs(["c two clauses", "p cnf 3 2", "1 -2 3 0 2", "-3 1 0"]).clauses
    ((1, -2, 3), (2, -3, 1))
    """
    header, clauses, clause, number = None, list[tuple[int, ...]](), list[int](), 0
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if fields[:1] == ["%"]:
            break
        if not fields or fields[0].startswith("c"):
            continue
        if fields[0] == "p":
            if header is not None:
                raise InputError("a second p line; keep one", file=file, line=number)
            header = _header(fields, file, number)
            continue
        if header is None:
            raise InputError("a clause before the line p cnf VARIABLES CLAUSES", file=file, line=number)
        for literal in (_literal(field, header[0], file, number) for field in fields):
            if literal:
                clause.append(literal)
            else:
                clauses.append(tuple(clause))
                clause = []
    return _formula(header, clauses, clause, file, number)


def _formula(
    header: tuple[int, int] | None,
    clauses: list[tuple[int, ...]],
    clause: list[int],
    file: str | None,
    line: int,
) -> Formula:
    if header is None:
        raise InputError("holds no line p cnf VARIABLES CLAUSES", file=file)
    if clause:
        raise InputError("the last clause does not end in 0", file=file, line=line)
    if len(clauses) != header[1]:
        raise InputError(f"holds {len(clauses)} clauses, its p line states {header[1]}", file=file)
    return Formula(header[0], tuple(clauses))


def _header(fields: list[str], file: str | None, line: int) -> tuple[int, int]:
    sizes = [size for field in fields[2:] if (size := whole_number(field)) is not None]
    if len(fields) != 4 or fields[1] != "cnf" or len(sizes) != 2:
        said = " ".join(fields)[:40]
        raise InputError(f"{said!r} should read p cnf VARIABLES CLAUSES", file=file, line=line)
    return sizes[0], sizes[1]


def _literal(field: str, n_variables: int, file: str | None, line: int) -> int:
    variable = whole_number(field.removeprefix("-"))
    if variable is None or variable > n_variables:
        raise InputError(
            f"{field[:40]!r} is not a literal of {n_variables} variables (or 0)", file=file, line=line
        )
    return -variable if field.startswith("-") else variable


def write_dimacs(formula: Formula, stream: TextIO) -> None:
    """Write a formula in the form that `read_dimacs` reads.

    Parameters
    ----------
    formula
        The clauses.
    stream
        Where to write.
    """
    stream.write(f"p cnf {formula.n_variables} {len(formula.clauses)}\n")
    stream.writelines(" ".join(map(str, (*clause, 0))) + "\n" for clause in formula.clauses)

"""`sigmastar hardness`: formulas in DIMACS form as grammars, and what learning from one string decides."""

from __future__ import annotations

import math
from typing import Any

import click

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import json_option, quiet_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError
from sigmastar.core.progress import watching
from sigmastar.core.text_files import display_name
from sigmastar.pcfg.data.formulas import Formula, read_dimacs
from sigmastar.pcfg.data.rules import write_rules
from sigmastar.pcfg.estimator import ERMGrammar
from sigmastar.pcfg.theory.hardness import THRESHOLD, Reduction, reduce_formula, search_rows

_TRIES = 100_000


@click.command()
@click.argument("formula", metavar="FORMULA")
@click.option("--rules", metavar="FILE", help="File that receives the rules of the grammar.")
@click.option("--strings", metavar="FILE", help="File that receives copies of the string, one per line.")
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=_TRIES,
    show_default=True,
    help="Largest number of choices in the search for the best likelihood; 0 for no search.",
)
@json_option
@quiet_option
def command(
    formula: str, rules: str | None, strings: str | None, tries: int, as_json: bool, quiet: bool
) -> None:
    """Satisfiability of FORMULA (DIMACS CNF, three literals per clause) as maximum likelihood.

    The formula becomes a grammar and one string. The best parameters of the grammar give the string a
    likelihood above 1/4 where the formula is satisfiable, and of at most 1/16 where it is not: learning from
    strings is as hard as 3-SAT. `sigmastar learn pcfg STRINGS --rules RULES` climbs to some likelihood.
    STRINGS holds as many copies of the string as make the margins of that learner small enough.
    """
    clauses = read_dimacs(formula)
    try:
        reduction = reduce_formula(clauses)
    except InputError as problem:
        raise InputError(problem.problem, file=display_name(formula)) from None
    if rules is not None:
        with atomic_write(rules) as stream:
            write_rules(reduction.grammar, stream)
    if strings is not None:
        with atomic_write(strings) as stream:
            stream.writelines(" ".join(reduction.string) + "\n" for _ in range(_n_copies(clauses)))
    with watching("searching", quiet):
        found = _decided(clauses, tries) if tries else {}
    print_figures({**_sizes(reduction), **found}, as_json)


def _n_copies(formula: Formula) -> int:
    """Copies n for which the margin n^-s of the learner is below 1 / (20 clauses)."""
    return math.ceil(math.pow(20 * len(formula.clauses), 1 / ERMGrammar.s)) + 1


def _sizes(reduction: Reduction) -> dict[str, Any]:
    return {
        "n_variables": reduction.formula.n_variables,
        "n_clauses": len(reduction.formula.clauses),
        "n_rules": len(reduction.grammar.rules),
        "length": len(reduction.string),
        "n_copies": _n_copies(reduction.formula),
        "threshold": THRESHOLD,
    }


def _decided(formula: Formula, tries: int) -> dict[str, Any]:
    """The best likelihood, what it says, and an assignment in the manner of solvers."""
    found = search_rows(formula, tries)
    answer = {"likelihood": found.likelihood, "is_best": found.is_best, "satisfiable": found.satisfiable}
    if not found.satisfiable:
        return answer
    values = enumerate(found.assignment(formula.n_variables), 1)
    return {**answer, "assignment": " ".join(str(number if value else -number) for number, value in values)}

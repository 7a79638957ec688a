"""Why learning from strings is hard: 3-SAT as maximum likelihood (Cohen and Smith, 2012, section 6.2.1).

A formula with m clauses becomes a grammar and the one string (10)^3m, which the grammar derives in as many
ways as there are choices of one satisfying row for every clause:

    S_j -> S_(j-1) A_j     A_j -> U_(a,y1) U_(b,y2) U_(c,y3)     for y1, y2, y3 that satisfy clause j
    U_(r,1) -> V_r W_r     U_(r,0) -> W_r V_r                    V_r -> 0 | 1,  W_r -> 0 | 1

Since every U stands over 10, U_(r,1) uses V_r -> 1 and W_r -> 0, and U_(r,0) uses V_r -> 0 and W_r -> 1. A
variable that is used n1 times as true and n0 times as false multiplies the probability of a derivation by
at most ((n1 / (n1 + n0))^n1 (n0 / (n1 + n0))^n0)^2, which is 1 if it is used one way only and at most
1/16 otherwise. So the best likelihood is

    1 if the formula is satisfiable,     at most 1/16 if it is not.

With a margin gamma < 1 / (20 m) on the binary normal form, a satisfiable formula still reaches
(1 - gamma)^(12 m) > 1/2 (six sticks for a rule of A_j, one for each of six V and W), and the other bound
stays. Hence the threshold 1/4 decides satisfiability with and without margin. The paper sets the
threshold to gamma, to which the likelihood of an unsatisfiable formula need not fall: both rules of V_r may
have probability 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import EventSystem
from sigmastar.pcfg.data.formulas import Formula
from sigmastar.pcfg.data.rules import Grammar, Rule, Word
from sigmastar.trees.data.tree import Tree

THRESHOLD = 0.25
Row = tuple[tuple[int, bool], ...]
"""A variable and its value, three times: a row of the truth table that satisfies a clause."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """The grammar and the string of a formula."""

    formula: Formula
    grammar: Grammar
    string: tuple[str, ...]


def reduce_formula(formula: Formula) -> Reduction:
    """Turn satisfiability into the question whether the string can have a likelihood above `THRESHOLD`.

    Parameters
    ----------
    formula
        Clauses of three literals.

    Returns
    -------
    Reduction
        The grammar and the string.
    """
    if not formula.clauses:
        raise InputError("a formula without clauses holds always; there is nothing to reduce")
    chain = range(len(formula.clauses), 1, -1)
    rules = [*(Rule(f"S{j}", (f"S{j - 1}", f"A{j}")) for j in chain), Rule("S1", ("A1",))]
    rows = [satisfying_rows(clause) for clause in formula.clauses]
    for j, choices in enumerate(rows, 1):
        rules += [Rule(f"A{j}", tuple(_pair(r, value) for r, value in row)) for row in choices]
    used = {literal for choices in rows for row in choices for literal in row}
    for r, value in sorted(used):
        rules.append(Rule(_pair(r, value), (f"V{r}", f"W{r}") if value else (f"W{r}", f"V{r}")))
    for r in sorted({r for r, _ in used}):
        rules += [Rule(f"{kind}{r}", (Word(digit),)) for kind in "VW" for digit in "01"]
    return Reduction(formula, Grammar.of(rules), tuple("10" * (3 * len(formula.clauses))))


def _pair(variable: int, value: bool) -> str:
    return f"U{variable}={int(value)}"


def satisfying_rows(clause: Sequence[int]) -> list[Row]:
    """The rows of the truth table that satisfy a clause; one with fewer literals repeats its last."""
    if not 1 <= len(clause) <= 3:
        raise InputError(f"the clause {tuple(clause)} must have one to three literals")
    literals = (*clause, *[clause[-1]] * (3 - len(clause)))
    rows = []
    for values in product((False, True), repeat=3):
        row = tuple((abs(literal), value) for literal, value in zip(literals, values, strict=True))
        agrees = all(a[1] == b[1] for a in row for b in row if a[0] == b[0])
        if agrees and any((literal > 0) == value for literal, value in zip(literals, values, strict=True)):
            rows.append(row)
    return rows


def parameters_of(reduction: Reduction, assignment: Sequence[bool], margin: float = 0.0) -> Floats:
    """Probabilities under which a satisfying assignment's derivation has probability 1, then truncated.

    Parameters
    ----------
    reduction
        The grammar of a formula.
    assignment
        One value per variable.
    margin
        The least probability.

    Returns
    -------
    array of float
        One probability per rule.
    """
    grammar = reduction.grammar
    weights = np.array([float(_agrees(rule, assignment)) for rule in grammar.rules])
    events = EventSystem.of(np.diff(grammar.offsets).tolist(), [[]] * len(weights))
    form = BinaryForm(events)
    return form.probabilities(form.truncated(form.sticks(events.normalized(weights)), margin))


def _agrees(rule: Rule, assignment: Sequence[bool]) -> bool:
    """Whether a derivation for the assignment uses the rule."""
    if rule.left[0] in "VW":
        word = rule.right[0]
        assert isinstance(word, Word)
        return (word.text == "1") == (assignment[int(rule.left[1:]) - 1] == (rule.left[0] == "V"))
    if rule.left[0] == "A":
        return all(
            assignment[int(r) - 1] == (value == "1")
            for r, _, value in (str(part)[1:].partition("=") for part in rule.right)
        )
    return True


def assignment_of(tree: Tree, n_variables: int) -> list[bool]:
    """The assignment that a parse of the string stands for.

    Parameters
    ----------
    tree
        The parse.
    n_variables
        The number of variables of the formula.

    Returns
    -------
    list of bool
        One value per variable; false where the parse does not use it.
    """
    assignment = [False] * n_variables
    for node in tree.nodes():
        if node.label[0] == "V":
            assignment[int(node.label[1:]) - 1] = node.children[0] == "1"
    return assignment


def best_likelihood(formula: Formula) -> float:
    """The largest likelihood of the string over all parameters.

    Parameters
    ----------
    formula
        A small formula.

    Returns
    -------
    float
        The likelihood.
    """
    return search_rows(formula).likelihood


@dataclass(frozen=True)
class BestRows:
    """One row of the truth table per clause, and the likelihood with the best parameters for them."""

    likelihood: float
    rows: tuple[Row, ...]
    is_best: bool  # not known to be where the search was ended

    @property
    def satisfiable(self) -> bool | None:
        """None where the search was ended before it could tell."""
        return True if self.likelihood > THRESHOLD else False if self.is_best else None

    def assignment(self, n_variables: int) -> list[bool]:
        """True where rows use a variable as true; rows of a likelihood above the threshold use it one way."""
        used = {literal for row in self.rows for literal in row}
        return [(variable, True) in used for variable in range(1, n_variables + 1)]


def search_rows(formula: Formula, most_tries: int | None = None) -> BestRows:
    """Branch and bound over rows of clauses.

    The likelihood is a product over clauses of weighted means over their rows, so that for any parameters one
    row per clause does at least as well; and for chosen rows the best parameters are known. The search ends
    where the likelihood is one, or where so many choices were tried.
    """
    rows = [satisfying_rows(clause) for clause in formula.clauses]
    uses = np.zeros((formula.n_variables + 1, 2), int)  # of each variable as false, as true
    found, chosen, n_tried = BestRows(0.0, (), True), list[Row](), 0
    open_choices = [_choices(rows, 0, 1.0, uses)]
    while open_choices:
        n_tried += 1
        value, row = open_choices[-1].pop() if open_choices[-1] else (0.0, None)
        if row is None or value <= found.likelihood * (1 + 1e-12):  # the others are no better
            open_choices.pop()
            if chosen:
                _use(chosen.pop(), uses, -1)
            continue
        _use(row, uses, 1)
        if len(chosen) + 1 == len(rows):
            found = BestRows(value, (*chosen, row), True)
            _use(row, uses, -1)
        else:
            chosen.append(row)
            open_choices.append(_choices(rows, len(chosen), value, uses))
        if found.likelihood >= 1 - 1e-12 or n_tried == most_tries:
            return replace(found, is_best=found.likelihood >= 1 - 1e-12)
    return found


def _use(row: Row, uses: Int64s, times: int) -> None:
    for variable, truth in row:
        uses[variable, int(truth)] += times


def _choices(rows: list[list[Row]], clause: int, value: float, uses: Int64s) -> list[tuple[float, Row]]:
    """The rows of a clause with the best likelihood that each leaves, the best one last."""
    reached = []
    for row in rows[clause]:
        touched = {variable for variable, _ in row}
        before = np.prod([_share(*uses[variable]) for variable in touched])
        _use(row, uses, 1)
        after = np.prod([_share(*uses[variable]) for variable in touched])
        _use(row, uses, -1)
        reached.append((value * float(after / before), row))
    return sorted(reached)


def _share(n_false: int, n_true: int) -> float:
    """The best contribution of a variable that is used so often each way."""
    total = n_false + n_true
    if not n_false or not n_true:
        return 1.0
    return float((n_false / total) ** n_false * (n_true / total) ** n_true) ** 2

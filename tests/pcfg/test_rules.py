from __future__ import annotations

import io

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.formulas import Formula, parse_dimacs, read_dimacs, write_dimacs
from sigmastar.pcfg.data.rules import Grammar, Rule, Word, parse_rules, read_rules, write_rules

TEXT = """# a comment
S -> NP VP 0.8
S -> VP 0.2

NP -> "S" 1
VP -> "0.5" 0.25
VP -> , NP 0.5
VP -> "a b" "q\\"" 0.25
# -> x 1
"""


def test_rules_round_trip():
    found = parse_rules(TEXT.splitlines())
    assert found.grammar.start == "S"
    assert found.grammar.nonterminals == ("S", "NP", "VP", "#")
    assert found.grammar.rules[2:4] == (Rule("NP", (Word("S"),)), Rule("VP", (Word("0.5"),)))
    assert found.grammar.words.symbols == (",", "0.5", "S", "a b", 'q"', "x")
    np.testing.assert_array_equal(found.weights, [0.8, 0.2, 1, 0.25, 0.5, 0.25, 1])
    stream = io.StringIO()
    write_rules(found.grammar, stream, found.weights)
    again = parse_rules(stream.getvalue().splitlines())
    assert again.grammar.rules == found.grammar.rules
    np.testing.assert_array_equal(again.weights, found.weights)


def test_rules_are_grouped_with_their_weights():
    found = parse_rules(["A -> B 0.5", "B -> x 1", "A -> y 0.5"], start="B")
    assert [str(rule) for rule in found.grammar.rules] == ["A -> B", 'A -> "y"', 'B -> "x"']
    assert found.grammar.start == "B"
    np.testing.assert_array_equal(found.weights, [0.5, 0.5, 1])
    assert parse_rules(["A -> x", "A -> y 1 z"]).weights is None


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("S -> a\nS = b", 2, "not a rule"),
        ("S -> a 0.5\nS -> b", 2, "some rules have weights"),
        ("S -> a -1", 1, "from 0 on"),
        ("S -> a\n\nS -> a", 3, "stands in line 1 too"),
        ("\n", None, "holds no rules"),
    ],
)
def test_bad_rules_are_told_with_their_line(tmp_path, text, line, what):
    path = tmp_path / "bad.rules"
    path.write_text(text)
    with pytest.raises(InputError, match=what) as problem:
        read_rules(path)
    assert problem.value.file == str(path)
    assert problem.value.line == line


def test_grammars_say_what_they_lack():
    with pytest.raises(InputError, match=r"'X' .* has no rules"):
        Grammar.of([Rule("S", ("X",))])
    with pytest.raises(InputError, match="start symbol 'T' has no rules"):
        Grammar.of([Rule("S", (Word("x"),))], "T")
    with pytest.raises(InputError, match="empty right side"):
        Grammar.of([Rule("S", ())])
    with pytest.raises(InputError, match="at least one rule"):
        Grammar.of([])
    with pytest.raises(InputError, match="given twice"):
        Grammar.of([Rule("S", (Word("x"),))] * 2)


def test_dimacs_round_trip(tmp_path):
    formula = Formula(4, ((1, -2, 3), (-4, 2, 1)))
    stream = io.StringIO()
    write_dimacs(formula, stream)
    (tmp_path / "f.cnf").write_text("c hello\n" + stream.getvalue() + "%\n0\n")
    assert read_dimacs(tmp_path / "f.cnf") == formula
    assert formula.holds([True, False, False, False])
    assert not formula.holds([False, True, False, True])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 2 0", "before the line p cnf"),
        ("p cnf 2 1\n1 3 0", "'3' is not a literal"),
        ("p cnf 2 1\n1 2", "does not end in 0"),
        ("p cnf 2 2\n1 2 0", "its p line states 2"),
        ("p dnf 2 2", "should read p cnf"),
        ("p cnf 1 0\np cnf 1 0", "second p line"),
        ("", "no line p cnf"),
    ],
)
def test_bad_dimacs_is_told(text, what):
    with pytest.raises(InputError, match=what):
        parse_dimacs(text.splitlines(), "f.cnf")


def test_formulas_know_their_variables():
    with pytest.raises(InputError, match="clause 1: 3 is not a literal of 2"):
        Formula(2, ((3,),))

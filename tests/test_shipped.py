"""What is measured is shipped: benchmarks learn through public estimators, headline rows by default."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
HEADLINES = {
    "learners": "SpectralAutomaton",
    "next_tags": "SpectralAutomaton",
    "splearn": "SpectralAutomaton",
    "tagging": "SpectralTagger",
    "treebank": "SpectralTreebankGrammar",
    "dependency": "SpectralDependencyGrammar",
    "transduction": "SpectralTransducer",
    "grammar_induction": "EMGrammar",
    "bilexical": "PPAttachment",
    "bilexical_relations": "BilexicalOperator",
}
"""The estimator behind the headline rows of each question."""
NEEDED = {"PPAttachment": 1, "BilexicalOperator": 1}  # vectors, without which there is nothing to learn from


def tree(name: str) -> ast.Module:
    return ast.parse((BENCHMARKS / f"{name}.py").read_text())


def is_default(node: ast.AST, estimator: str) -> bool:
    """A call of the class with a seed alone, or the class itself where it is called later."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == estimator:
        named = {keyword.arg for keyword in node.keywords}
        return len(node.args) == NEEDED.get(estimator, 0) and named <= {"random_state"}
    return isinstance(node, ast.Dict) and any(
        isinstance(value, ast.Name) and value.id == estimator for value in node.values
    )


@pytest.mark.parametrize(("name", "estimator"), HEADLINES.items())
def test_headline_rows_are_learned_by_default(name: str, estimator: str) -> None:
    assert any(is_default(node, estimator) for node in ast.walk(tree(name)))


@pytest.mark.parametrize("name", HEADLINES)
def test_no_learner_is_called_behind_its_estimator(name: str) -> None:
    imported = [
        alias.name
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ImportFrom) and ".learn" in (node.module or "")
        for alias in node.names
    ]
    assert not [function for function in imported if function.startswith("learn")]

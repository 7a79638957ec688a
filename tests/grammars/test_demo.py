"""Weighted grammars in the demo."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.page import Picture
from sigmastar.core.progress import silent
from sigmastar.grammars.demo import GrammarDemo
from sigmastar.grammars.draw import grammar_page
from sigmastar.grammars.model.generators import dyck
from sigmastar.grammars.model.grammar import WeightedGrammar


def test_the_target_is_the_dyck_language() -> None:
    strings = Strings.of(["ab", "aabb", "abab", "ba"], alphabet=dyck().alphabet)
    np.testing.assert_allclose(dyck().value(strings), [0.4, 0.16, 0.2 * 0.16, 0.0], atol=1e-12)


def test_all_learners_are_shown_and_the_matrix_before_and_after() -> None:
    result = GrammarDemo(n_strings=600, n_refinement_steps=300).run(0, silent)
    errors = {row.learner: row.measures["L1"] for row in result.rows}
    assert set(errors) == {"spectral, from brackets", "completion, from strings", "EM, from strings"}
    assert all(0.0 < error < 0.5 for error in errors.values())
    assert any(isinstance(part, Picture) for part in result.section.parts)


def test_a_page_shows_the_operators() -> None:
    grammar: WeightedGrammar = dyck()
    learned = {"method": "<by hand>", "settings": {"n_states": 4, "proper": True}, "call": {"options": {}}}
    page = grammar_page(grammar, {"states": grammar.n_states}, learned)
    assert "n_states 4, proper yes" in page
    assert "{" not in page.split("<main")[-1].split("<figure")[0]  # settings are words, not Python
    assert "<svg" in page
    assert "&lt;by hand&gt;" in page

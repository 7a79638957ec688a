"""Stand-ins for black boxes that say yes or no."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmastar
from cli.calls import fail, succeed
from sigmastar import DistilledClassifier
from sigmastar.automata import make_automaton
from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.control import as_constraint, matches
from sigmastar.distil import from_function
from sigmastar.distil.deterministic import Hypothesis, merged, repaired
from sigmastar.distil.kernels import SoftTrie, soft_gradient
from sigmastar.distil.labels import Labels, Padded, Pool
from sigmastar.distil.parametrizations import Linear
from sigmastar.distil.questions import Questions
from sigmastar.distil.signed import cross_entropy

ALL = ["".join(string) for n in range(8) for string in product("ab", repeat=n)]
LANGUAGES = {"even": "(b|ab*a)*", "begins": "aab.*", "no-bb": "a*(ba+)*b?", "third-last": ".*a.."}


def box(pattern: str, quirk: str = "\0") -> Any:
    """A regular language, but for strings that contain a quirk."""

    def score(strings: Any) -> list[float]:
        texts = ["".join(string) for string in strings]
        return [float((re.fullmatch(pattern, text) is not None) != (quirk in text)) for text in texts]

    return from_function(score, "ab", "scores")


@pytest.mark.parametrize("pattern", LANGUAGES.values(), ids=LANGUAGES)
def test_regular_languages_are_found_whatever_the_seed(pattern: str) -> None:
    smallest = as_constraint(~~matches(pattern)).dfa("ab")
    complete = smallest.n_states + int((smallest.next_state < 0).any())
    for seed in (0, 1):
        found = DistilledClassifier(max_queries=20_000, random_state=seed).fit(box(pattern))
        assert found.method_ == "dfa"
        assert found.dfa_.n_states == complete
        assert found.n_errors_ == 0
        truth = [re.fullmatch(pattern, text) is not None for text in ALL]
        np.testing.assert_array_equal(found.predict(ALL), truth)


def test_accidents_far_from_the_given_strings_make_no_states() -> None:
    rng = np.random.default_rng(0)
    given = ["".join(rng.choice(list("ab"), 12, p=[0.7, 0.3])) for _ in range(300)]
    found = DistilledClassifier(max_queries=40_000).fit(box("(b|ab*a)*", quirk="b" * 11), given)
    assert (found.method_, found.dfa_.n_states) == ("dfa", 2)


def test_scores_without_a_small_automaton_are_followed_by_a_signed_one() -> None:
    """More a than b, weighed by how long ago they came: a linear function of one state."""

    def score(strings: Any) -> list[float]:
        values = []
        for string in strings:
            value = 0.03
            for symbol in string:
                value = 0.8 * value + (0.3 if symbol == "a" else -0.25)
            values.append(0.5 + value)
        return values

    black_box = from_function(score, "ab", "scores")
    found = DistilledClassifier(n_states=6, max_queries=200_000).fit(black_box)
    assert found.method_ == "signed"
    with pytest.raises(AttributeError, match="no small deterministic automaton"):
        _ = found.dfa_
    truth = np.array(score(ALL)) > 0.5
    assert found.score(ALL, truth) > 0.995
    np.testing.assert_allclose(
        found.decision_function(["ab", "ba"]), np.array(score(["ab", "ba"])) - 0.5, atol=1e-6
    )


def test_it_survives_its_file(tmp_path: Path) -> None:
    found = DistilledClassifier(max_queries=10_000).fit(box("aab.*"))
    found.save(tmp_path / "model.sigma")
    loaded = sigmastar.load(tmp_path / "model.sigma")
    np.testing.assert_array_equal(loaded.predict(ALL), found.predict(ALL))
    np.testing.assert_array_equal(loaded.dfa_.next_state, found.dfa_.next_state)
    assert loaded.n_queries_ == found.n_queries_


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "boxes.py").write_text(
        "class Odd:\n"
        "    alphabet = 'ab'\n"
        "    def scores(self, strings):\n"
        "        return [list(s).count('a') % 2 for s in strings]\n"
        "odd = Odd()\n"
    )
    source, model = f"{tmp_path / 'boxes.py'}:odd", tmp_path / "odd.sigma"
    succeed("distil", source, "-o", model, "--task", "classify", "--max-queries", "20000", "-q")
    (tmp_path / "strings.txt").write_text("a b b\na a\n\n")
    assert succeed("predict", model, tmp_path / "strings.txt", "-q").split() == ["1", "0", "0"]
    agreed = json.loads(
        succeed("evaluate", model, tmp_path / "strings.txt", "--black-box", source, "--json", "-q")
    )
    assert {name: value for name, value in agreed.items() if name != "n_queries"} == {
        "given_strings": 3, "given_agreement": 1.0, "edited_strings": 1000, "edited_agreement": 1.0,
        "random_strings": 1000, "random_agreement": 1.0,
    }  # fmt: skip
    shown = succeed("show", model)
    assert source in shown
    assert "0 of" in shown
    page = succeed("show", model, "--html")
    assert "<svg" in page
    assert "says yes" in page
    assert "or a --black-box" in fail("evaluate", model, status=2)
    message = fail("distil", source, "-o", model, "--task", "classify", "--method", "ngram", status=2)
    assert "--method ngram is for --task next, not classify" in message


def test_symbols_that_are_numbers_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "boxes.py").write_text(
        "class Last:\n"
        "    alphabet_size = 12\n"
        "    def scores(self, strings):\n"
        "        return [len(s) > 0 and s[-1] > 9 for s in strings]\n"
    )
    source, model = f"{tmp_path / 'boxes.py'}:Last", tmp_path / "last.sigma"
    succeed("distil", source, "-o", model, "--task", "classify", "--max-queries", "5000", "-q")
    (tmp_path / "strings.txt").write_text("3 11\n10 2\n")
    assert succeed("predict", model, tmp_path / "strings.txt", "-q").split() == ["1", "0"]
    agreed = json.loads(succeed("evaluate", model, tmp_path / "strings.txt", "--black-box", source, "--json"))
    assert agreed["given_agreement"] == agreed["edited_agreement"] == 1.0


def test_errors_are_counted_until_there_are_too_many() -> None:
    rng = np.random.default_rng(4)
    words = [tuple(rng.integers(0, 3, rng.integers(0, 9)).tolist()) for _ in range(200)]
    made = Hypothesis(rng.integers(0, 4, (4, 3)), np.array([True, False, False, True]))
    ends = []
    for word in words:
        state = 0
        for symbol in word:
            state = made.table[state, symbol]
        ends.append(bool(made.accepting[state]))
    truth = rng.random(len(words)) < 0.5
    wrong = np.flatnonzero(np.array(ends) != truth)
    padded = Padded.of(words)
    np.testing.assert_array_equal(made.errors(padded, truth), wrong)
    assert made.n_errors(padded, truth, len(words)) == len(wrong)
    assert made.n_errors(padded, truth, 5) == 6


def pool_of(black_box: Any, n_words: int) -> Pool:
    pool = Pool(Labels(Questions(black_box), 0.5), [(0,) * n for n in range(30)], np.random.default_rng(0))
    pool.grow(0, n_words)
    return pool


def test_a_state_that_saves_no_more_errors_than_chance_is_given_up() -> None:
    """An even number of a; two labels are turned, and two more states have one of them right."""
    pool = pool_of(box("(b|ab*a)*"), 400)
    longest = max(range(len(pool.words)), key=lambda number: len(pool.words[number]))
    turned = pool.truth.copy()
    turned[[longest, 5]] ^= True
    pool.truth = turned
    smallest = Hypothesis(np.array([[1, 0], [0, 1]]), np.array([True, False]))
    assert repaired(smallest, pool).n_errors(pool.padded, pool.truth, 400) == 2
    table, word = [[1, 0], [0, 1]], pool.words[longest]
    chain = len(word)  # a path that reads the word alone, beside the two states
    for at, symbol in enumerate(word):
        parity = word[:at].count(0) % 2
        row = [1 - parity, parity]
        row[symbol] = 2 + at + 1 if at + 1 < chain else 2 + chain
        table.append(row)
    ends = word.count(0) % 2
    table.append([1 - ends, ends])
    accepting = [True, False, *(word[:at].count(0) % 2 == 0 for at in range(chain)), ends == 1]
    order = [2, *(state for state in range(len(table)) if state != 2)]
    place = {state: number for number, state in enumerate(order)}
    moves = np.array([[place[target] for target in table[state]] for state in order])
    larger = Hypothesis(moves, np.array([accepting[state] for state in order]))
    assert larger.n_errors(pool.padded, pool.truth, 400) == 1
    assert merged(larger, pool, 0).n_errors(pool.padded, pool.truth, 400) == 1
    assert merged(larger, pool, 1).n_states == 2


def test_slopes_of_scores_vanish_where_they_are_exact_and_are_those_of_the_loss_elsewhere() -> None:
    rng = np.random.default_rng(3)
    machine = make_automaton(3, 3, rng, density=1.0, stop=0.3)
    trie = PrefixTrie.of(machine.sample(8, rng, 6))
    form, states = Linear(1e3), [machine.initial]
    for node in range(1, trie.n_nodes):
        states.append(states[trie.parent[node]] @ machine.transitions[trie.symbol[node]])
    exact = (np.array(states) @ machine.final)[:, None].astype(np.float32)
    nodes = (trie.parent, trie.symbol, trie.level_starts)
    parameters, weights = form.parameters(machine), np.ones(trie.n_nodes, np.float32)

    def told(goals: Any) -> tuple[float, list[Any]]:
        arrays = form.arrays(parameters)
        loss = lambda soft, values: cross_entropy(0.1, soft, values)  # noqa: E731
        value, found = soft_gradient(SoftTrie(*nodes, goals, weights), arrays, loss)
        return value, form.slopes(arrays, found)

    assert max(np.abs(slope).max() for slope in told(exact)[1]) < 1e-4
    goals = rng.normal(size=exact.shape).astype(np.float32)
    slopes = told(goals)[1]
    for number, at in ((0, (1,)), (1, (0, 1, 2)), (2, (2,))):
        values = []
        for change in (1e-2, -1e-2):
            parameters[number][at] += change
            values.append(told(goals)[0])
            parameters[number][at] -= change
        assert slopes[number][at] == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2, abs=1e-2)

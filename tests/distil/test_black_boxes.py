"""Black boxes: what is taken for one, how it is asked, and what is remembered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sigmastar import SpectralAutomaton
from sigmastar.automata import make_automaton
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.model_format import save_model
from sigmastar.distil.answer_files import RecordedBox
from sigmastar.distil.black_box import ModelBox, as_black_box, from_function
from sigmastar.distil.judging import judged
from sigmastar.distil.questions import BudgetError, Questions, prefixes_of
from sigmastar.distil.sources import open_source

AUTOMATON = make_automaton(3, 4, np.random.default_rng(0))


class Counting:
    """The answers of an automaton, and how often they were given."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.inner, self.alphabet = ModelBox(AUTOMATON), AUTOMATON.alphabet
        self.n_asked, self.stop_after = 0, stop_after

    def next_distributions(self, prefixes: Any) -> Any:
        if self.stop_after is not None and self.n_asked >= self.stop_after:
            raise KeyboardInterrupt
        self.n_asked += len(prefixes)
        return self.inner.next_distributions(prefixes)


class Incremental(Counting):
    """An automaton that reads on: its states are rows, nested for good measure."""

    def start(self, n: int) -> Any:
        return self._told({"rows": [np.tile(AUTOMATON.initial, (n, 1))]})

    def step(self, states: Any, symbols: Any) -> Any:
        moved = np.einsum("ni,nij->nj", states["rows"][0], AUTOMATON.transitions[symbols])
        return self._told({"rows": [moved / moved.sum(axis=1, keepdims=True)]})

    def _told(self, states: Any) -> Any:
        rows = states["rows"][0] @ AUTOMATON.next_weights
        return states, rows / rows.sum(axis=1, keepdims=True)


def strings(n: int = 30) -> Strings:
    return AUTOMATON.sample(n, np.random.default_rng(1), 12)


@pytest.mark.parametrize("box", [ModelBox(AUTOMATON), Counting(), Incremental()])
def test_answers_along_a_trie_are_those_to_every_prefix(box: Any) -> None:
    questions = Questions(box)
    trie = PrefixTrie.of(strings())
    told = questions.along(trie)
    expected = ModelBox(AUTOMATON).next_distributions(list(prefixes_of(trie, questions)))
    assert np.allclose(told, expected, atol=1e-12)
    assert questions.n_queries == trie.n_nodes


def test_each_question_is_asked_once() -> None:
    box = Counting()
    questions = Questions(box)
    first = questions.next_distributions([(0,), (1,), (0,)])
    again = questions.next_distributions([(1,), (2,)])
    assert box.n_asked == questions.n_queries == 3
    assert questions.n_remembered == 2
    assert np.array_equal(first[1], again[0])
    assert np.array_equal(first[0], first[2])


def test_the_budget_is_kept() -> None:
    questions = Questions(Counting(), max_queries=2)
    with pytest.raises(BudgetError, match="max_queries=2"):
        questions.next_distributions([(0,), (1,), (2,)])
    assert questions.n_queries == 0


def test_a_cache_survives_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigmastar.distil.questions.BATCH", 4)
    asked = [(a, b) for a in range(3) for b in range(3)]
    with pytest.raises(KeyboardInterrupt):
        Questions(Counting(stop_after=8), cache=tmp_path / "answers").next_distributions(asked)
    with open(tmp_path / "answers", "ab") as stream:
        stream.write(b"\x03\x00\x00\x00half a piece")
    box = Counting()
    told = Questions(box, cache=tmp_path / "answers").next_distributions(asked)
    assert box.n_asked == 1
    assert np.allclose(told, ModelBox(AUTOMATON).next_distributions(asked))
    recorded = Questions(RecordedBox(tmp_path / "answers"))
    assert np.allclose(recorded.next_distributions(asked), told, atol=1e-15)
    with pytest.raises(InputError, match="no answer is recorded for 0"):
        recorded.next_distributions([(0,)])


def test_what_a_file_answered_counts_against_the_budget_once(tmp_path: Path) -> None:
    Questions(Counting(), cache=tmp_path / "answers").next_distributions([(0,), (1,)])
    box = Counting()
    questions = Questions(box, max_queries=3, cache=tmp_path / "answers")
    for _ in range(2):
        questions.next_distributions([(0,), (2,)])
    assert (questions.left, questions.n_queries, box.n_asked) == (1, 1, 1)
    with pytest.raises(BudgetError, match="max_queries=3, of which 2 are spent"):
        questions.next_distributions([(1,), (0, 0)])


def test_a_cache_of_another_black_box_is_refused(tmp_path: Path) -> None:
    Questions(Counting(), cache=tmp_path / "answers")
    other = from_function(lambda prefixes: [[0.5, 0.5]] * len(prefixes), "a")
    with pytest.raises(InputError, match="another black box"):
        Questions(other, cache=tmp_path / "answers")


def test_a_record_is_judged_on_strings_that_are_given(tmp_path: Path) -> None:
    asked = Strings.of([(), (0,), (1,)], alphabet=AUTOMATON.alphabet)
    Questions(Counting(), cache=tmp_path / "answers").next_distributions(asked)
    box = RecordedBox(tmp_path / "answers")
    assert judged(AUTOMATON, box, asked, 10, 0)["given_divergence"] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="draws no strings: give some"):
        judged(AUTOMATON, box, None, 10, 0)


def test_lines_of_json_are_a_black_box(tmp_path: Path) -> None:
    lines = [{"alphabet": ["a", "b"]}, {"string": ["a"], "score": 2.0}, {"string": [], "score": -1}]
    (tmp_path / "told.jsonl").write_text("\n".join(map(json.dumps, lines)))
    questions = Questions(RecordedBox(tmp_path / "told.jsonl"))
    assert questions.scores(["", "a"]).tolist() == [-1.0, 2.0]
    with pytest.raises(InputError, match="gives scores"):
        questions.next_distributions(["a"])
    (tmp_path / "told.jsonl").write_text('{"alphabet": ["a"]}\n{"score": 1}\n')
    with pytest.raises(InputError, match=r"told.jsonl:2: a line of JSON with 'string'"):
        RecordedBox(tmp_path / "told.jsonl")


def test_models_and_fitted_estimators_are_black_boxes() -> None:
    fitted = SpectralAutomaton(n_states=2).fit(strings(200))
    told = Questions(fitted).next_distributions([(0, 1)])
    assert np.allclose(told, fitted.predict_proba_next([(0, 1)]))
    assert as_black_box(AUTOMATON).alphabet == AUTOMATON.alphabet


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "int is no black box"),
        (len, "use from_function"),
        (type("Box", (), {"scores": lambda self, strings: strings})(), "neither alphabet nor alphabet_size"),
    ],
)
def test_what_is_no_black_box_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_black_box(source)


@pytest.mark.parametrize("answer", [[0.5, 0.5], [0.5, 0.5, 0.5], [np.nan, 0.5, 0.5], [-0.1, 0.6, 0.5]])
def test_wrong_answers_are_refused(answer: list[float]) -> None:
    box = from_function(lambda prefixes: [answer] * len(prefixes), Alphabet("ab"))
    with pytest.raises(InputError, match="black box"):
        Questions(box).next_distributions(["a"])


class Broken(Incremental):
    """Some method of it fails, or gives states without rows."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, self.fail if method != "step" else lambda states, symbols: states)

    def fail(self, *_: Any) -> Any:
        raise RuntimeError("the service is down")


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (Broken("start"), "the black box failed, in start: RuntimeError: the service is down"),
        (Broken("step"), r"must give \(states, rows\)"),
        (from_function(lambda prefixes: 1 / 0, range(4)), "in next_distributions: ZeroDivisionError"),
        (from_function(lambda strings: strings[5], range(4), "scores"), "in scores: IndexError"),
    ],
)
def test_what_fails_inside_a_black_box_is_told_as_its_own(box: Any, message: str) -> None:
    questions = Questions(box)
    with pytest.raises(InputError, match=message):
        questions.along(PrefixTrie.of(strings())) if questions.tells_next else questions.scores([(0,)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def network(:", "box.py: running it failed: SyntaxError: "),
        ("import nothing_there", "box.py: running it failed: ModuleNotFoundError: "),
        ("def network(prefixes): pass", r"box.py:network: a function .* use from_function\(f, alphabet\)"),
        ("class network:\n def __init__(self, path): 0", "box.py: running it failed: TypeError: .*'path'"),
        ("class Module:\n def forward(self): 0\n def __call__(self): 0\nnetwork = Module()", "use TorchBox"),
    ],
)
def test_a_file_that_cannot_be_run_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "box.py").write_text(text)
    with pytest.raises(InputError, match=message):
        open_source(f"{tmp_path}/box.py:network")


def test_sources_by_name(tmp_path: Path) -> None:
    save_model(AUTOMATON, tmp_path / "model.sigma")
    (tmp_path / "near.py").write_text("rows = [[0.25, 0.75]]\n")
    (tmp_path / "box.py").write_text(
        "from near import rows\n"
        "class Network:\n"
        "    alphabet_size = 1\n"
        "    def next_distributions(self, prefixes):\n"
        "        return rows * len(prefixes)\n"
        "network = Network()\n"
    )
    assert Questions(open_source(str(tmp_path / "model.sigma"))).alphabet == AUTOMATON.alphabet
    for name in ("network", "Network"):
        told = Questions(open_source(f"{tmp_path}/box.py:{name}")).next_distributions([(0, 0)])
        assert told.tolist() == [[0.25, 0.75]]
    for wrong, message in (
        ("box.py", "box.py:network"),
        ("box.py:other", "defines no 'other'"),
        ("x", "no such"),
    ):
        with pytest.raises(InputError, match=message):
            open_source(f"{tmp_path}/{wrong}")

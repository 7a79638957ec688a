"""Stand-ins: exact where that is possible, near where it is not, and as other estimators in manner."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import sigmastar
from cli.calls import fail, figures, invoke, succeed
from sigmastar import DistilledAutomaton
from sigmastar.automata import make_automaton
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, model_bytes, save_model
from sigmastar.core.progress import on_long_work
from sigmastar.distil.asked_strings import Asked, ask, possible
from sigmastar.distil.averaged_ngram import averaged_ngram
from sigmastar.distil.black_box import from_function
from sigmastar.distil.explain import state_lines, worst_strings
from sigmastar.distil.futures import MOST_COLUMNS, coarse
from sigmastar.distil.judging import judged
from sigmastar.distil.kernels import FilterArrays, SoftTrie, divergence, soft_gradient
from sigmastar.distil.learn import mean_divergence
from sigmastar.distil.parametrizations import Proper, Signed
from sigmastar.distil.pools import beginnings, draw, draw_gaps, edited
from sigmastar.distil.questions import Questions
from sigmastar.distil.refine import Adam


class Network:
    """A small network with random weights that reads on: no automaton of few states gives its answers."""

    alphabet = Alphabet("abc")

    def __init__(self, n: int = 6) -> None:
        rng = np.random.default_rng(7)
        self.inner, self.moves = 0.8 * rng.standard_normal((n, n)), rng.standard_normal((3, n))
        self.out, self.n = rng.standard_normal((n, 4)), n

    def start(self, n: int) -> Any:
        return self._told(np.zeros((n, self.n)))

    def step(self, states: Any, symbols: Any) -> Any:
        return self._told(np.tanh(states @ self.inner + self.moves[symbols]))

    def _told(self, states: Any) -> Any:
        raised = np.exp(states @ self.out)
        return states, raised / raised.sum(axis=1, keepdims=True)

    def next_distributions(self, prefixes: Any) -> Any:
        rows = []
        for prefix in prefixes:
            states, told = self.start(1)
            for symbol in prefix:
                states, told = self.step(states, np.array(self.alphabet.encode([symbol])))
            rows.append(told[0])
        return np.array(rows)


@pytest.fixture(scope="module")
def fitted() -> DistilledAutomaton:
    return DistilledAutomaton(n_states=20, max_queries=30_000).fit(Network())


def fresh(n: int = 100) -> Asked:
    return draw(Questions(Network()), n, np.random.default_rng(5), 50)


def trie_of(rng: np.random.Generator) -> tuple[SoftTrie, int]:
    strings = make_automaton(3, 3, rng).sample(8, rng, 6)
    trie = PrefixTrie.of(strings)
    targets = rng.dirichlet(np.ones(4), trie.n_nodes)
    weights = rng.random(trie.n_nodes)
    return SoftTrie(trie.parent, trie.symbol, trie.level_starts, targets, weights), trie.n_nodes


def loss_by_hand(trie: SoftTrie, arrays: FilterArrays) -> float:
    states = [np.asarray(arrays.initial, np.float64)]
    for node in range(1, len(trie.parent)):
        moved = states[trie.parent[node]] @ np.asarray(arrays.transitions, np.float64)[trie.symbol[node]]
        states.append(moved / (moved @ arrays.mass))
    told = np.log(np.array(states) @ arrays.readout)
    return float(-(trie.weights[:, None] * trie.targets * told).sum())


@pytest.mark.parametrize("form", [Proper(), Signed(np.full(3, 50.0), 1e-6)], ids=["proper", "signed"])
def test_slopes_are_those_of_the_loss(form: Any) -> None:
    rng = np.random.default_rng(3)
    trie, _ = trie_of(rng)
    trie = trie._replace(targets=trie.targets.astype(np.float32), weights=trie.weights.astype(np.float32))
    machine = make_automaton(3, 3, rng, density=1.0, stop=0.3)
    if isinstance(form, Signed):  # the same machine in a basis where the mass is the first coordinate
        machine = machine.change_basis(np.array([[1.0, 0.2, 0.3], [1.0, -0.4, 0.1], [1.0, 0.5, -0.6]]))
    parameters = form.parameters(machine)
    arrays = form.arrays(parameters)
    loss, found = soft_gradient(trie, arrays, divergence(1e-6))
    assert loss == pytest.approx(loss_by_hand(trie, arrays), rel=1e-5)
    slopes = form.slopes(arrays, found)
    for number, at in ((0, (1,)), (1, (1, 2)), (1, (0, 0))):
        at = (*at, 0) if parameters[number].ndim == 3 else at
        values = []
        for change in (1e-2, -1e-2):
            parameters[number][at] += change
            values.append(loss_by_hand(trie, form.arrays(parameters)))
            parameters[number][at] -= change
        assert slopes[number][at] == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2, abs=1e-3)


def test_a_batch_whose_slopes_strayed_moves_nothing() -> None:
    parameters = [np.ones(3, np.float32), np.ones((2, 2), np.float32)]
    adam = Adam(parameters, [0.1, 0.1])
    for strayed in (np.inf, np.nan, 1e30):
        adam.step([np.ones(3, np.float32), np.full((2, 2), strayed, np.float32)], 1.0)
    np.testing.assert_array_equal(parameters[0], 1.0)
    adam.step([np.ones(3, np.float32), np.ones((2, 2), np.float32)], 1.0)
    np.testing.assert_allclose(parameters[1], 0.9, atol=1e-6)


def test_a_machine_is_given_back() -> None:
    machine = make_automaton(5, 3, np.random.default_rng(1), density=0.7, stop=0.2)
    stand_in = DistilledAutomaton(max_queries=20_000).fit(machine)
    strings = machine.sample(50, np.random.default_rng(2))
    assert stand_in.method_ == "exact"
    assert stand_in.n_states_ == 5
    assert np.abs(stand_in.score_samples(strings) - machine.log_probability(strings)).max() < 1e-9


def test_a_stand_in_is_nearer_than_averages(fitted: DistilledAutomaton) -> None:
    asked = fresh()
    told = mean_divergence(fitted.model_, asked)
    assert fitted.n_queries_ <= 30_000
    assert set(fitted.divergences_) == {"ngram", "spectral", "clusters"}
    assert told < 0.6 * mean_divergence(averaged_ngram(fresh(400)), asked)
    assert fitted.divergences_[fitted.method_] == min(fitted.divergences_.values())


def test_it_behaves_as_other_estimators(fitted: DistilledAutomaton, tmp_path: Path) -> None:
    rows = fitted.predict_proba_next(["ab", ""])
    assert rows.shape == (2, 4)
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert fitted.sample(3) == fitted.sample(3)
    again = clone(fitted).fit(Network())
    assert model_bytes(again.model_) == model_bytes(fitted.model_)
    fitted.save(tmp_path / "model.sigma")
    loaded = sigmastar.load(tmp_path / "model.sigma")
    assert loaded.score(["ab"]) == fitted.score(["ab"]) == pickle.loads(pickle.dumps(fitted)).score(["ab"])


def test_given_strings_are_where_it_is_good() -> None:
    strings = ["abcabcabc"] * 30 + ["abcabc"] * 30
    given = DistilledAutomaton("ngram", max_queries=3000).fit(Network(), strings)
    plain = DistilledAutomaton("ngram", max_queries=3000).fit(Network())
    asked = Asked(
        s := Strings.of(strings[:1], alphabet=Network.alphabet),
        Network().next_distributions(["abcabcabc"[:n] for n in range(10)]),
    )
    assert len(s) == 1
    assert mean_divergence(given.model_, asked) < mean_divergence(plain.model_, asked)


def test_averages_are_means_of_answers() -> None:
    strings = Strings.of(["ab", "ab"], alphabet=Alphabet("ab"))
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]] * 2)
    told = averaged_ngram(Asked(strings, rows)).gap_distributions(strings)
    assert np.abs(told - rows).max() < 0.2
    assert told.argmax(axis=1).tolist() == rows.argmax(axis=1).tolist()


def test_strings_are_cut_before_what_is_impossible() -> None:
    strings = Strings.of(["aba", "bb", ""], alphabet=Alphabet("ab"))
    rows = np.full((8, 3), 1 / 3)
    rows[1] = [0.5, 0.0, 0.5]  # after "a" there is no "b"
    cut = possible(Asked(strings, rows))
    assert list(cut.strings) == [("a",), ("b", "b"), ()]
    assert len(cut.rows) == 6


def test_edits_change_one_symbol() -> None:
    strings = Strings.of(["abcabc"] * 50, alphabet=Alphabet("abc"))
    changed = edited(strings, np.random.default_rng(0))
    assert set(changed.lengths.tolist()) == {5, 6, 7}


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"method": "x"}, "method='x'"), ({"max_queries": 10}, "too small"), ({"n_states": 0}, "n_states=0")],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DistilledAutomaton(**settings).fit(Network())


def test_scores_are_no_distributions() -> None:
    box = type("Box", (), {"alphabet": "ab", "scores": lambda self, strings: np.zeros(len(strings))})()
    with pytest.raises(InputError, match="does not tell what comes next"):
        DistilledAutomaton().fit(box)


def test_the_command(tmp_path: Path) -> None:
    machine = make_automaton(3, 2, np.random.default_rng(0))
    save_model(machine, tmp_path / "machine.sigma")
    (tmp_path / "strings.txt").write_text("0 1 1\n1 0\n" * 10)
    arguments = ("--strings", tmp_path / "strings.txt", "--max-queries", 9000, "--json", "-o", tmp_path / "m")
    told = json.loads(succeed("distil", tmp_path / "machine.sigma", *arguments))
    assert told["chosen"] == "exact"
    assert told["n_queries"] <= 9000
    strings = machine.sample(20, np.random.default_rng(0))
    assert np.allclose(load_model(tmp_path / "m").log_probability(strings), machine.log_probability(strings))
    page = succeed("show", tmp_path / "m", "--html")
    assert "farthest from the black box" in page
    assert page.index("millinats per symbol") < page.index(">string")
    shown = succeed("show", tmp_path / "m")
    assert f"answers of {tmp_path / 'machine.sigma'}, 20 strings, 50 symbols" in shown
    assert "no such file" in fail("distil", tmp_path / "nothing", "-o", tmp_path / "m")


class Interrupted(Network):
    """Asked at whole prefixes, so that answers are kept; interrupted after so many."""

    def __init__(self, stop_after: float = np.inf) -> None:
        super().__init__()
        self.n_asked, self.stop_after = 0, stop_after

    def next_distributions(self, prefixes: Any) -> Any:
        if self.n_asked + len(prefixes) > self.stop_after:
            raise KeyboardInterrupt
        self.n_asked += len(prefixes)
        return super().next_distributions(prefixes)


def test_what_was_interrupted_ends_as_it_would_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(cache: str, stop_after: float = np.inf) -> DistilledAutomaton:
        stand_in = DistilledAutomaton("clusters", n_states=4, max_queries=4000, cache=tmp_path / cache)
        return stand_in.fit(Interrupted(stop_after))

    monkeypatch.setattr("sigmastar.core.progress.LONG", 0.0)
    announced: list[str] = []
    forget = on_long_work(lambda seconds, work: announced.append(work))
    straight = fit("straight")
    with pytest.raises(KeyboardInterrupt):
        fit("answers", stop_after=0.6 * straight.n_queries_)
    assert announced.count("asking") == 2
    again = fit("answers")
    forget()
    assert announced.count("asking") == 2  # how fast a file is read does not tell how fast the network is
    assert again.n_queries_ < 0.7 * straight.n_queries_
    assert model_bytes(again.model_) == model_bytes(straight.model_)


def test_the_summary_names_a_method_once(tmp_path: Path) -> None:
    save_model(make_automaton(3, 2, np.random.default_rng(0)), tmp_path / "machine.sigma")
    arguments = ("--max-queries", 2000, "--method", "ngram", "-o", tmp_path / "m")
    said = invoke("distil", tmp_path / "machine.sigma", *arguments).stderr
    assert said.count("ngram") == 1


def test_a_stand_in_is_judged_against_its_black_box(fitted: DistilledAutomaton, tmp_path: Path) -> None:
    fitted.save(tmp_path / "stand-in.sigma")
    (tmp_path / "strings.txt").write_text("a b c\na a\n" * 5)
    machine = make_automaton(3, 3, np.random.default_rng(0))
    save_model(machine, tmp_path / "machine.sigma")
    same = figures("evaluate", tmp_path / "machine.sigma", "--black-box", tmp_path / "machine.sigma")
    assert same["drawn_divergence"] == pytest.approx(0.0, abs=1e-12)
    assert same["drawn_agreement"] == 1.0
    assert same["gain_low"] > 0
    told = judged(fitted.model_, Network(), Strings.of(["abc", "aa"], alphabet=fitted.alphabet_), 200, 0)
    assert told["drawn_divergence_low"] < told["drawn_divergence"] < told["drawn_divergence_high"]
    assert told["drawn_divergence"] < told["ngram_divergence"]
    by_hand = [
        np.log(Network().next_distributions([text[:n]])[0] / fitted.predict_proba_next([text[:n]])[0])
        @ Network().next_distributions([text[:n]])[0]
        for text in ("abc", "aa")
        for n in range(len(text) + 1)
    ]
    assert told["given_divergence"] == pytest.approx(np.mean(by_hand), rel=1e-6)
    assert "other symbols" in fail(
        "evaluate", tmp_path / "stand-in.sigma", "--black-box", tmp_path / "machine.sigma"
    )


def test_states_are_explained_by_prefixes_and_futures() -> None:
    chances = np.array([[[0.0, 0.9], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]])  # a to state 1, then b back
    machine = WeightedAutomaton(Alphabet("ab"), np.array([1.0, 0.0]), chances, np.array([0.1, 0.5]))
    asked = ask(Questions(machine), Strings.of(["abab", "ab", "a"], alphabet=machine.alphabet))
    lines = state_lines(machine, asked)
    assert [line[0] for line in lines] == ["0", "1"]
    assert [line[2] for line in lines] == ["nothing, a b, a b a b", "a, a b a"]  # no prefix of another state
    assert lines[0][3].startswith("a 0.90")
    assert lines[1][3] in ("b 0.50, <end> 0.50, a 0.00", "<end> 0.50, b 0.50, a 0.00")
    assert worst_strings(machine, asked, 1)[0][1] == "0"


def test_strings_go_on_where_others_are_cut() -> None:
    rng, strings = np.random.default_rng(0), Strings.of(["abcabc", "", "ccc"], alphabet=Network.alphabet)
    begun = beginnings(strings, 200, rng)
    texts = {"".join(string) for string in begun}
    assert texts == {"abcabc"[:n] for n in range(7)} | {"c", "cc", "ccc"}
    told = draw(Questions(Network()), 200, rng, 8, begun=begun)
    pairs = list(zip(told.strings, begun, strict=True))
    assert all(string[: len(start)] == start for string, start in pairs)
    assert np.mean([len(string) for string, _ in pairs]) > np.mean([len(start) for _, start in pairs]) + 1
    again = ask(Questions(Network()), told.strings)
    assert np.allclose(again.rows, told.rows)
    some = draw_gaps(Questions(Network()), 300, rng, 8, 4.0, strings.select(np.array([2])))
    assert 270 <= some.strings.n_gaps < 600


def test_futures_of_large_alphabets_are_grouped_with_their_mass() -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(4000, 0.01), 5)
    grouped = coarse(rows, rng)
    assert grouped.shape[1] == MOST_COLUMNS
    assert np.allclose(grouped.sum(axis=1), 1.0)
    assert np.allclose(np.sort(grouped.mean(axis=0))[-3:], np.sort(rows.mean(axis=0))[-3:])
    assert coarse(rows[:, :100], rng).shape == (5, 100)


def test_ten_thousand_symbols_of_which_the_tops_are_told() -> None:
    """Three states in a ring, each with symbols of its own; one in twenty is any of the others."""
    n, shares = 10_000, np.array([0.3, 0.25, 0.2])

    def tops(prefixes: Any) -> tuple[np.ndarray, np.ndarray]:
        states = np.array([len(prefix) % 3 for prefix in prefixes])
        columns = np.column_stack([3 * states[:, None] + np.arange(3), np.full(len(states), n)])
        return columns, np.tile([*shares, 0.2], (len(states), 1))

    box = from_function(tops, range(n), "tops")
    assert np.allclose(box.next_distributions([(), (0,)]).sum(axis=1), 1.0)
    stand_in = DistilledAutomaton("clusters", n_states=3, max_queries=600).fit(box)
    assert stand_in.divergences_["clusters"] < 0.8 * stand_in.divergences_["ngram"]
    rows = stand_in.predict_proba_next([(), (0, 4)])
    assert np.allclose(rows[0, :3], shares, atol=0.02)
    assert np.allclose(rows[1, 6:9], shares, atol=0.02)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (([[0]], [[0.5, 0.5]]), "two arrays of one shape"),
        (([[0, 7]], [[0.5, 0.5]]), "not between 0 and 2"),
        (([[0, 1]], [[0.9, 0.5]]), "more than one"),
    ],
)
def test_tops_that_are_none(answer: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        from_function(lambda prefixes: answer, "ab", "tops").next_distributions([()])

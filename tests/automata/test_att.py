"""AT&T text: what is written reads back as the same function."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.att import read_att, write_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton, make_hmm
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError


def written(tmp_path: Path, content: str) -> Path:
    (tmp_path / "machine.att").write_text(content)
    return tmp_path / "machine.att"


def att_of(automaton: WeightedAutomaton) -> str:
    stream = io.StringIO()
    write_att(automaton, stream)
    return stream.getvalue()


def assert_same_function(first: WeightedAutomaton, second: WeightedAutomaton) -> None:
    size = len(first.alphabet)
    words = [
        [],
        *([a] for a in range(size)),
        *([a, b] for a in range(size) for b in range(size)),
        [0, 1, 1, 0, 1],
    ]
    strings = Strings.of(words, alphabet=Alphabet(range(size)))
    by_code = Strings(first.alphabet, strings.codes, strings.offsets)
    np.testing.assert_allclose(first.value(by_code), second.value(by_code), rtol=1e-12)


@pytest.mark.parametrize("deterministic", [False, True])
def test_round_trip(deterministic: bool, rng: np.random.Generator, tmp_path: Path) -> None:
    automaton = make_automaton(4, 3, rng, deterministic=deterministic)
    again = read_att(written(tmp_path, att_of(automaton)), automaton.alphabet)
    assert again.n_states == 4 + (not deterministic)  # several initial states ask for a new one
    assert_same_function(automaton, again)


def test_symbols_by_name_and_their_table(rng: np.random.Generator, tmp_path: Path) -> None:
    machine = make_hmm(2, 2, rng)
    machine = WeightedAutomaton(Alphabet(["no", "né"]), machine.initial, machine.transitions, machine.final)
    text, table = io.StringIO(), io.StringIO()
    write_att(machine, text, table)
    assert table.getvalue() == "<eps>\t0\nno\t1\nné\t2\n"
    again = read_att(written(tmp_path, text.getvalue()))
    assert again.alphabet == Alphabet(["no", "né"])
    assert_same_function(machine, again)


def test_the_text_itself() -> None:
    automaton = WeightedAutomaton(
        Alphabet("a"),
        np.array([0.0, 1.0]),
        np.array([[[0.0, 0.0], [1.0, 0.0]]]),
        np.array([np.exp(-2.0), 0.0]),
    )
    assert att_of(automaton) == "1\t0\ta\t0.0\n0\t2.0\n"


@pytest.mark.parametrize("initial", [[1.0, 0.0], [0.0, 0.0]])
def test_a_function_that_is_zero(initial: list[float], tmp_path: Path) -> None:
    automaton = WeightedAutomaton(Alphabet("a"), np.array(initial), np.zeros((1, 2, 2)), np.array([0.0, 1.0]))
    again = read_att(written(tmp_path, att_of(automaton)), automaton.alphabet)
    assert again.value(Strings.of(["", "a"])).tolist() == [0.0, 0.0]


def test_signed_weights_are_refused_with_the_remedy() -> None:
    automaton = WeightedAutomaton(Alphabet("a"), np.ones(1), -np.ones((1, 1, 1)), np.ones(1))
    stream = io.StringIO()
    with pytest.raises(InputError, match=r"negative weights.*repair the model"):
        write_att(automaton, stream)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("symbols", [["a b"], [""], ["<eps>"], ["1", 1]])
def test_symbols_that_cannot_be_labels(symbols: list[object]) -> None:
    n = len(symbols)
    automaton = WeightedAutomaton(Alphabet(symbols), np.ones(1), np.ones((n, 1, 1)), np.ones(1))
    with pytest.raises(InputError, match="rename"):
        write_att(automaton, io.StringIO())


def test_what_other_programs_write(tmp_path: Path) -> None:
    text = "5 5 a 0.6931471805599453\n5 5 a 1.3862943611198906\n5 7 b\n\n7\n5 Infinity\n"
    machine = read_att(written(tmp_path, text))
    strings = Strings.of(["b", "ab", "", "a"], alphabet=machine.alphabet)
    np.testing.assert_allclose(machine.value(strings), [1.0, 0.75, 0.0, 0.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0 1 a 0.5\n0 1 a b 0.5\n", ":2: five columns are a transducer, whose files end in .fst.txt here"),
        ("0 1 a 0.5\n0 1 a b\n", ":2: the weight 'b' is not a number"),
        ("0 1 a 0.5\n1 nan\n", ":2: the weight nan is not a cost"),
        ("0 1 a -Infinity\n", ":1: the weight -Infinity is not a cost"),
        ("0 x a 0.5\n", ":1: the state 'x' is not a number"),
        ("0 1 a\n", None),
        ("", "the file is empty"),
    ],
)
def test_wrong_files(content: str, words: str | None, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    if words is None:
        assert read_att(path).n_states == 2
        return
    with pytest.raises(InputError, match=words):
        read_att(path)


def test_epsilon_and_unknown_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "0 1 a 0.5\n0 1 <eps> 0.5\n")
    with pytest.raises(InputError, match=r":2: arcs on <eps> are not read"):
        read_att(path, Alphabet("a"))
    with pytest.raises(InputError, match="arcs on <eps> are not read"):
        read_att(path)
    with pytest.raises(UnknownSymbolError, match=":1: symbol 'a'"):
        read_att(written(tmp_path, "0 1 a 0.5\n"), Alphabet("b"))

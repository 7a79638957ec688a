"""The PAutomaC formats: corpora, solutions and machines."""

from __future__ import annotations

import gzip
import io
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.pautomac import (
    read_pautomac,
    read_solution,
    write_pautomac,
)
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model, write_pautomac_model
from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError

MACHINE = """I: (state)
\t(0) 1.0
F: (state)
\t(1) 0.5
S: (state,symbol)
\t(0,0) 0.25
\t(0,1) 0.75
\t(1,1) 1.0
T: (state,symbol,state)
\t(0,0,0) 1.0
\t(0,1,1) 1.0
\t(1,1,0) 1.0
"""


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "data.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_corpus(tmp_path: Path) -> None:
    strings = read_pautomac(written(tmp_path, "3 12\n2 0 11\n0\n1 3\n"))
    assert list(strings) == [(0, 11), (), (3,)]
    assert strings.alphabet == Alphabet(range(12))
    assert (strings.codes.dtype, strings.offsets.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize(
    "content",
    [
        b"2 3\r\n2 0 2\r\n0\r\n",
        b"2 3\n2 0 2 \n0  \n",
        b"2 3\n2\t0 2\n0",
        b" 2 3 \n2 0 2\n0\n\n\n",
        gzip.compress(b"2 3\n2 0 2\n0\n", mtime=0),
    ],
)
def test_line_ends_and_blanks_do_not_matter(content: bytes, tmp_path: Path) -> None:
    assert list(read_pautomac(written(tmp_path, content))) == [(0, 2), ()]


def test_one_string_and_a_corpus_of_empty_strings(tmp_path: Path) -> None:
    assert list(read_pautomac(written(tmp_path, "1 1\n1 0\n"))) == [(0,)]
    assert list(read_pautomac(written(tmp_path, "2 0\n0\n0\n"))) == [(), ()]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("", None, "the file is empty; expected a first line"),
        ("a b c\n", 1, "expected 'number-of-strings alphabet-size'"),
        ("3\n1 0\n", 1, "expected 'number-of-strings alphabet-size'"),
        ("-3 2\n1 0\n", 1, "expected 'number-of-strings alphabet-size'"),
        ("1 99999999999\n1 0\n", 1, "beyond the limit"),
        ("2 2\n1 0\n2 0\n", 3, "states length 2 but has 1 symbols"),
        ("2 2\n1 0\n1 0 1\n", 3, "states length 1 but has 2 symbols"),
        ("2 2\n1 0\n1 2\n", 3, r"symbol 2 is outside 0\.\.1"),
        ("2 2\n1 0\n1 -1\n", 3, r"symbol -1 is outside 0\.\.1"),
        ("2 2\n1 0\n1 99999999999999999999\n", 3, r"symbol 99999999999999999999 is outside"),
        ("2 2\n1 0\n-1\n", 3, "states length -1"),
        ("2 2\n1 0\n1 x\n", 3, "'x' is not an integer"),
        ("2 2\n1 0\n1 1.0\n", 3, r"'1\.0' is not an integer"),
        ("2 2\n1 0\n1 é\n", 3, "'é' is not an integer"),
        ("3 2\n1 0\n0\n", 1, "promises 3 strings, the file holds 2; is it cut short"),
        ("1 2\n1 0\n0\n", 1, "promises 1 strings, the file holds 2"),
        ("2 2\n1 0\n1 \x00\n", 3, "binary data"),
    ],
)
def test_what_is_wrong_is_told_by_line(content: str, line: int | None, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=words) as caught:
        read_pautomac(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_what_a_file_only_promises_takes_no_memory(tmp_path: Path) -> None:
    """Fuzzing met an alphabet of ten million symbols in nine bytes; such a machine took eight gigabytes."""
    machine = "I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.5\nS: (state,symbol)\n\t(0,{1}) 1.0\n"
    machine += "T: (state,symbol,state)\n\t(0,{1},{0}) 1.0\n"
    wrong: list[tuple[str, Callable[[Path], object], str]] = [
        ("0 9999999", read_pautomac, "alphabet of 9999999 symbols, the file holds 0 symbols; is it cut"),
        (machine.format(20000, 0), read_pautomac_model, "leave state 1 sum to 0, not to 1"),
        (machine.format(0, 9999999), read_pautomac_model, "names 1 symbols, with numbers up to 9999999"),
    ]
    for content, read, words in wrong:
        path = written(tmp_path, content)
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=words):
                read(path)
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()
    assert len(read_pautomac(written(tmp_path, "1 300000\n1 7\n")).alphabet) == 300_000
    assert read_pautomac_model(written(tmp_path, machine.format(0, 900))).n_states == 1


def test_the_line_is_right_far_into_the_file(tmp_path: Path) -> None:
    lines = ["2 0 1"] * 50_000
    lines[40_000] = "2 0 1 1"
    with pytest.raises(InputError, match=":40002: the line states length 2"):
        read_pautomac(written(tmp_path, "50000 2\n" + "\n".join(lines)))


def test_a_given_alphabet(tmp_path: Path) -> None:
    path = written(tmp_path, "2 3\n1 1\n2 0 2\n")
    assert list(read_pautomac(path, Alphabet([2, 1, 0]))) == [(1,), (0, 2)]
    assert list(read_pautomac(path, Alphabet("012"))) == [("1",), ("0", "2")]
    with pytest.raises(UnknownSymbolError, match=r"data\.txt:3: symbol 2 is not among the 2"):
        read_pautomac(path, Alphabet(range(2)))
    assert read_pautomac(path, Alphabet(range(2)), allow_unknown=True).codes.tolist() == [1, 0, UNKNOWN]


@given(st.lists(st.lists(st.integers(0, 120))))
def test_what_is_written_reads_back(rows: list[list[int]]) -> None:
    stream = io.StringIO()
    write_pautomac(Strings.of(rows, alphabet=Alphabet(range(121))), stream)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), stream.getvalue())
        again = read_pautomac(path)
    assert list(again) == [tuple(row) for row in rows]
    assert len(again.alphabet) == 121


def test_solutions(tmp_path: Path) -> None:
    assert read_solution(written(tmp_path, "2\r\n0.5\r\n7.5e-243\r\n")).tolist() == [0.5, 7.5e-243]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("", None, "the file is empty"),
        ("x\n", 1, "expected the number of probabilities"),
        ("9" * 5000, 1, "expected the number of probabilities"),
        ("\x1f3\n0.5\n", 1, "promises 3 probabilities, the file holds 1"),
        ("2\n0.5\n", 1, "promises 2 probabilities, the file holds 1"),
        ("2\n0.5\nhalf\n", 3, "'half' is not a number"),
        ("2\n0.5\n0.0\n", 3, "not a positive probability"),
        ("2\nnan\n0.5\n", 2, "not a positive probability"),
    ],
)
def test_wrong_solutions(content: str, line: int | None, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_solution(written(tmp_path, content))
    assert caught.value.line == line


def test_a_machine_is_an_exact_automaton(tmp_path: Path) -> None:
    machine = read_pautomac_model(written(tmp_path, MACHINE))
    assert machine.initial.tolist() == [1.0, 0.0]
    assert machine.final.tolist() == [0.0, 0.5]
    assert machine.transitions.tolist() == [[[0.25, 0.0], [0.0, 0.0]], [[0.0, 0.75], [0.5, 0.0]]]
    assert machine.alphabet == Alphabet(range(2))
    assert len(read_pautomac_model(tmp_path / "data.txt", n_symbols=5).alphabet) == 5


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("I: (state)\n", "", 1, "expected a section"),
        ("\t(1) 0.5\n", "\t(1) half\n", 4, "'half' is not a number"),
        ("\t(1) 0.5\n", "\t(1) 1.5\n", 4, "1.5 is not a probability"),
        ("\t(1) 0.5\n", "\t(1) nan\n", 4, "nan is not a probability"),
        ("\t(1) 0.5\n", "\t(1) -0.5\n", 4, "-0.5 is not a probability"),
        ("\t(0,1) 0.75\n", "\t(0,1,1) 0.75\n", 7, r"expected \(state,symbol\) and a probability"),
        ("\t(0,1) 0.75\n", "\t(0,1 0.75\n", 7, r"expected \(state,symbol\)"),
        ("\t(0,1) 0.75\n", "\t(0,\x1c1) 0.75\n", 7, r"expected \(state,symbol\)"),
        ("\t(0,1) 0.75\n", "\t(0,0) 0.75\n", 7, r"the entry \(0,0\) of section S was given before"),
        ("F: (state)", "I: (state)", 3, "section I was given before"),
        (
            MACHINE[MACHINE.index("T:") :],
            "",
            None,
            r"no section T: \(state,symbol,state\); is the file cut short",
        ),
        ("\t(0) 1.0\n", "", None, "no state has an initial probability"),
        ("\t(0,0,0) 1.0\n", "\t(0,0,999999999) 1.0\n", None, "too many for a dense automaton"),
        (MACHINE, "", None, "there is no section I"),
        ("\t(0) 1.0\n", "\t(0) 0.5\n", None, "initial weights sum to 0.5, not to 1; is the file cut short"),
        ("\t(1,1,0) 1.0\n", "", None, "leave state 1 sum to 0.5, not to 1; is the file cut short"),
        ("\t(0,1) 0.75\n", "", None, "leave state 0 sum to 0.25, not to 1; is the file cut short"),
    ],
)
def test_wrong_machines(old: str, new: str, line: int | None, words: str, tmp_path: Path) -> None:
    assert old in MACHINE
    with pytest.raises(InputError, match=words) as caught:
        read_pautomac_model(written(tmp_path, MACHINE.replace(old, new, 1)))
    assert caught.value.line == line


@pytest.mark.parametrize("deterministic", [False, True])
def test_machines_round_trip(deterministic: bool, rng: np.random.Generator, tmp_path: Path) -> None:
    automaton = make_automaton(5, 4, rng, deterministic=deterministic)
    stream = io.StringIO()
    write_pautomac_model(automaton, stream)
    again = read_pautomac_model(written(tmp_path, stream.getvalue()), n_symbols=4)
    for name in ("initial", "transitions", "final"):
        np.testing.assert_allclose(getattr(again, name), getattr(automaton, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("initial", "transition", "final", "words"),
    [
        ([1.0], [[[-0.5]]], [1.5], "negative weights"),
        ([0.5], [[[0.5]]], [0.5], "the initial weights sum to 0.5"),
        ([1.0], [[[0.5]]], [0.4], "leave state 0 sum to 0.9"),
    ],
)
def test_only_stochastic_machines_are_written(
    initial: list[float], transition: list[list[list[float]]], final: list[float], words: str
) -> None:
    automaton = WeightedAutomaton(Alphabet("a"), np.array(initial), np.array(transition), np.array(final))
    stream = io.StringIO()
    with pytest.raises(InputError, match=f"{words}.*repair"):
        write_pautomac_model(automaton, stream)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("problem", [1, 7, 14, 26, 40])
def test_real_machines_give_the_real_solutions(problem: int, data_folder: Path) -> None:
    place = data_folder / "pautomac"
    machine = read_pautomac_model(place / f"{problem}.pautomac_model.txt")
    logs = machine.log_probability(read_pautomac(place / f"{problem}.pautomac.test"))
    logs -= np.logaddexp.reduce(logs)
    solution = read_solution(place / f"{problem}.pautomac_solution.txt")
    np.testing.assert_allclose(np.expm1(logs - np.log(solution)), 0.0, atol=1e-8)


def test_a_real_corpus_has_the_counts_of_its_index(data_folder: Path) -> None:
    strings = read_pautomac(data_folder / "pautomac" / "1.pautomac.train.gz")
    assert (len(strings), strings.n_symbols, int(strings.lengths.max())) == (20_000, 151_241, 81)
    assert int((strings.lengths == 0).sum()) == 2694

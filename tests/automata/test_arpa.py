"""ARPA's format: what is written says what the model says, by a reader that knows nothing of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_corpora import corpora
from cli.calls import fail, succeed
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.arpa import read_arpa, write_arpa
from sigmastar.automata.model.ngram_smoothing import kneser_ney, modified_kneser_ney, witten_bell
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model

Grams = dict[tuple[str, ...], tuple[float, float]]


def listed(text: str) -> Grams:
    """The n-grams of a file with their two logarithms, as its lines have them."""
    found: Grams = {}
    for line in text.splitlines():
        columns = line.split("\t")
        if len(columns) > 1:
            found[tuple(columns[1].split())] = float(columns[0]), float((*columns, "0")[2])
    return found


def looked_up(grams: Grams, past: tuple[str, ...], word: str) -> float:
    """log10 p(word | past) by the definition of the format."""
    if (*past, word) in grams:
        return grams[*past, word][0]
    return grams.get(past, (0.0, 0.0))[1] + looked_up(grams, past[1:], word)


def written(model) -> str:
    stream = StringIO()
    write_arpa(model, stream)
    return stream.getvalue()


@given(
    corpora(min_strings=1), st.integers(1, 4), st.sampled_from([witten_bell, kneser_ney, modified_kneser_ney])
)
def test_a_reader_of_its_own_finds_the_probabilities(tmp_path_factory, corpus, order, smoothing):
    named = Strings(type(corpus.strings.alphabet)([f"w{s}" for s in corpus.strings.alphabet]),
                    corpus.strings.codes, corpus.strings.offsets)  # fmt: skip
    model = learn_ngram(named, order, smoothing)
    text = written(model)
    grams, rows, at = listed(text), model.gap_distributions(named), 0
    for string in named:
        padded = ("<s>", *map(str, string))
        for end in range(1, len(padded) + 1):
            past = padded[max(0, end - order + 1) : end] if order > 1 else ()
            row = [looked_up(grams, past, word) for word in (*map(str, named.alphabet), "</s>")]
            np.testing.assert_allclose(10.0 ** np.array(row), rows[at], rtol=1e-6, atol=1e-12)
            at += 1
    path = tmp_path_factory.mktemp("arpa") / "model.arpa"
    path.write_text(text)
    again = read_arpa(str(path))
    np.testing.assert_allclose(again.gap_distributions(named), rows, rtol=1e-6, atol=1e-12)
    assert listed(written(again)).keys() == grams.keys()


BACKING_OFF = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-99\t<s>\t-0.30103
-0.30103\t</s>
-0.60206\ta\t-0.1
-0.60206\tb

\\2-grams:
-0.2\t<s> a
-0.9\ta b

\\end\\
"""


def test_models_that_back_off_need_not_add(tmp_path: Path) -> None:
    """p(b | a) is less than what backing off would give: no interpolated model has that."""
    path = tmp_path / "small.arpa"
    path.write_text(BACKING_OFF)
    model = load_model(path)
    found = model.log_probability(Strings.of([["a", "b"], ["b"], ["a", "a"]])) / np.log(10)
    expected = [-0.2 - 0.9 - 0.30103, -0.30103 - 0.60206 - 0.30103, -0.2 - 0.1 - 0.60206 - 0.1 - 0.30103]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_commands(tmp_path: Path) -> None:
    text, model, arpa = tmp_path / "text.txt", tmp_path / "model", tmp_path / "model.arpa"
    text.write_text("the cat sat\nthe dog sat\na dog ran\n" * 5)
    call = ("learn", "automaton", text, "-o", model, "--method", "ngram", "--smoothing", "kneser-ney")
    succeed(*call)
    succeed("convert", model, "--to", "arpa", "-o", arpa)
    scores = [np.array(succeed("score", file, text).split(), float) for file in (model, arpa)]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)
    assert succeed("predict", arpa, text, "--top", "1").startswith("<end>")
    assert "symbol_perplexity" in succeed("evaluate", arpa, text)
    assert "contexts" in succeed("show", arpa)
    succeed("learn", "automaton", text, "-o", model, "--states", "2")
    assert "is no n-gram model" in fail("convert", model, "--to", "arpa")


def test_unknown_words_go_out_and_come_back(tmp_path: Path) -> None:
    text, model, arpa = tmp_path / "text.txt", tmp_path / "model", tmp_path / "model.arpa"
    text.write_text("the cat sat\nthe dog sat\na dog ran\nthe eel sat\n" * 3 + "an emu sat\n")
    succeed("learn", "automaton", text, "-o", model, "--method", "ngram", "--min-count", "2")
    succeed("convert", model, "--to", "arpa", "-o", arpa)
    assert ("<unk>",) in listed(arpa.read_text())
    fresh = "the gnu sat\ngnu\nthe dog ran\n"
    scores = [np.array(succeed("score", file, "-", stdin=fresh).split(), float) for file in (model, arpa)]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)
    capital = tmp_path / "capital.arpa"
    capital.write_text(arpa.read_text().replace("<unk>", "<UNK>"))
    again = np.array(succeed("score", capital, "-", stdin=fresh).split(), float)
    np.testing.assert_allclose(again, scores[1], rtol=1e-12)
    without = tmp_path / "without.arpa"
    without.write_text(BACKING_OFF)
    assert "'gnu' is not among" in fail("score", without, "-", stdin="a gnu\n")
    kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed: its files are read by a twin alone")
    theirs = [kenlm.Model(str(arpa)).score(line) * np.log(10) for line in fresh.splitlines()]
    np.testing.assert_allclose(theirs, scores[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("a b", "a c"), r"small\.arpa:13: the word 'c' is no unigram"),
        (("-0.9", "nine"), "no numbers of a usual size"),
        (("\\2-grams:", "\\3-grams:"), r"3-grams: after 1-grams"),
        (("\\data\\", "data"), "ARPA's format"),
        (("\t</s>", "\tc"), "none of </s>"),
        (("\tb\n", "\ta\n"), "listed twice"),
        (("\tb\n", "\n"), r"small\.arpa:\d+: no 1-gram"),
        (("-0.9", "1e3"), "no numbers of a usual size"),
        (("-0.9\ta b", "-0.9\ta"), r"small\.arpa:13: no 2-gram"),
    ],
)
def test_damaged_files_are_refused_by_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    path = tmp_path / "small.arpa"
    path.write_text(BACKING_OFF.replace(*change))
    with pytest.raises(InputError, match=said):
        read_arpa(str(path))


def test_symbols_that_are_no_words_are_refused() -> None:
    with pytest.raises(InputError, match="'</s>' has no place"):
        written(learn_ngram(Strings.of([["a", "</s>"]])))

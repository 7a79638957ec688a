"""Files of pairs, and transducers made at random."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.transducers.data import joined, read_inputs, read_transductions
from sigmastar.transducers.model.generators import make_transducer


def test_sides_are_characters_or_tokens(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("phone\tF OW N\textra\n\nné\tN EY\n", encoding="utf-8")
    assert read_transductions(file) == [(tuple("phone"), ("F", "OW", "N")), (("n", "é"), ("N", "EY"))]
    assert read_transductions(file, "tokens", "chars")[0] == (("phone",), tuple("F OW N"))
    assert read_inputs(file) == [tuple("phone"), ("n", "é")]
    assert joined(("F", "OW"), "tokens") == "F OW"
    assert joined(("a", "b"), "chars") == "ab"


@pytest.mark.parametrize("text", ["phone\n", "\tF\n", "phone\t\n", "phone\t \n"])
def test_a_line_without_two_sides_is_told(tmp_path, text):
    file = tmp_path / "pairs.tsv"
    file.write_text("a\tA\n" + text)
    with pytest.raises(InputError, match="input TAB output") as told:
        read_transductions(file)
    assert told.value.line == 2


def test_an_empty_file_is_told(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("")
    with pytest.raises(InputError, match="no pairs"):
        read_transductions(file)
    with pytest.raises(InputError, match="no strings"):
        read_inputs(file)


def test_made_transducers_are_proper_and_read_every_input_symbol():
    made = make_transducer(3, "abc", "XY", np.random.default_rng(0), n_units=5, density=0.3)
    assert made.automaton.is_stochastic()
    assert len(made.units) == 5
    assert {unit[0] for unit in made.units.alphabet} >= {("a",), ("b",), ("c",)}
    assert len(make_transducer(2, "ab", "XY", np.random.default_rng(0)).units) == 6
    with pytest.raises(ValueError, match="no units"):
        make_transducer(2, "", "XY", np.random.default_rng(0))


def test_real_pairs_are_read(data_folder):
    folder = data_folder / "transduction"
    if not folder.is_dir():
        pytest.skip("no transduction in SIGMASTAR_DATA")
    assert len(read_transductions(folder / "cmudict-dev.tsv.gz")) == 6531
    assert len(read_transductions(folder / "ar2en-dev.tsv", "chars", "chars")) == 1431

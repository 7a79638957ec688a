"""Model files: the same model comes back, and nothing else is ever taken for one."""

from __future__ import annotations

import json
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from core.version_1 import bytes_of_version_1
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core import model_reading
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_format import _parsed, views, written
from sigmastar.core.model_reading import load_model, model_bytes, of_json, read_header, save_model, to_json

SYMBOLS = ("a", "é", "", 'quote"', "\ud800", 1, 2.5, float("inf"), None, (1, ("x", None)), (), True)
LEARNED = {"method": "spectral", "seed": 3, "basis": (10, 20), "score": 1e-300}


def example(symbols: tuple[object, ...] = SYMBOLS[:3], n_states: int = 2) -> WeightedAutomaton:
    rng = np.random.default_rng(0)
    shapes = (n_states,), (len(symbols), n_states, n_states), (n_states,)
    return WeightedAutomaton(Alphabet(symbols), *(rng.standard_normal(shape) for shape in shapes))


def assert_same(first: WeightedAutomaton, second: WeightedAutomaton) -> None:
    assert first.alphabet == second.alphabet
    assert list(map(type, first.alphabet)) == list(map(type, second.alphabet))
    for name in ("initial", "transitions", "final"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.parametrize("symbols", [SYMBOLS[:5], SYMBOLS[6:], (1, "1", 1.5), ()])
def test_the_same_model_comes_back(symbols: tuple[object, ...], tmp_path: Path) -> None:
    save_model(example(symbols), tmp_path / "model", LEARNED)
    again = load_model(tmp_path / "model", family="automaton")
    assert_same(again, example(symbols))
    again.initial[0] = 1.0  # own memory, not a view of the file


def test_arrays_that_are_not_contiguous_are_stored_right(tmp_path: Path) -> None:
    class Turned(WeightedAutomaton):
        def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
            arrays, header = super().to_parts()
            return {**arrays, "transitions": np.asfortranarray(arrays["transitions"])}, header

    Turned.__module__, Turned.__qualname__ = WeightedAutomaton.__module__, WeightedAutomaton.__qualname__
    model = example()
    save_model(Turned(model.alphabet, model.initial, model.transitions, model.final), tmp_path / "model")
    assert_same(load_model(tmp_path / "model"), model)


def test_the_same_model_gives_the_same_bytes() -> None:
    assert model_bytes(example(), LEARNED) == model_bytes(example(), dict(reversed(LEARNED.items())))


def test_words_stand_in_order() -> None:
    content = model_bytes(example())
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert list(header["__metadata__"]) == ["sha256", "sigmastar"]


def test_an_alphabet_of_a_hundred_thousand(tmp_path: Path) -> None:
    model = example(tuple(f"w{number}" for number in range(100_000)), n_states=1)
    save_model(model, tmp_path / "model")
    assert_same(load_model(tmp_path / "model"), model)


def test_the_header_says_what_the_arrays_are(tmp_path: Path) -> None:
    save_model(example(), tmp_path / "model", LEARNED)
    content = (tmp_path / "model").read_bytes()
    header = read_header(tmp_path / "model")
    assert (header["family"], header["version"], header["learned"]) == ("automaton", 2, LEARNED)
    assert header["model"]["alphabet"] == Alphabet(SYMBOLS[:3])
    assert header["arrays"]["transitions"] == {"type": "F64", "shape": (3, 2, 2)}
    os.truncate(tmp_path / "model", len(content) - 1)
    with pytest.raises(ModelFileError, match="cut short"):
        read_header(tmp_path / "model")


class Colour:
    def __repr__(self) -> str:
        return "red"


@pytest.mark.parametrize("symbol", [Colour(), b"bytes", frozenset("a"), ("a", Colour())])
def test_other_symbols_are_refused(symbol: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"the symbol .* cannot be stored; use text, numbers"):
        save_model(example((symbol,)), tmp_path / "model")
    assert os.listdir(tmp_path) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text().filter(lambda key: not key.startswith("$")), inner)
    ),
)


@given(VALUES)
def test_values_survive_json(value: object) -> None:
    again = of_json(to_json(value))
    assert (again, repr_of(again)) == (value, repr_of(value))


def repr_of(value: object) -> str:
    """Tells 1 from 1.0 and True, and -0.0 from 0.0; keys in any order."""
    if isinstance(value, dict):
        return repr(sorted((key, repr_of(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return repr((type(value).__name__, [repr_of(item) for item in value]))
    return repr(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        '{"b":1,"a":2}',
        "NaN",
        '{"$float":"1.0"}',
        '{"$alphabet":[1,1]}',
        '{"$tuple":1}',
        '{"$other":1}',
    ],
)
def test_only_canonical_json_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        of_json(text)


def test_numpy_scalars_are_stored_as_numbers() -> None:
    assert (
        to_json({"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True)}) == '{"b":true,"n":3,"x":0.5}'
    )


def refused(path: Path, match: str) -> None:
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert caught.value.file == str(path)
    assert "\n" not in str(caught.value)


def test_a_header_that_is_no_json_is_told_as_a_sentence(tmp_path: Path) -> None:
    content = model_bytes(example(), LEARNED).replace(b'version\\":', b'version\\" ')
    (tmp_path / "bad").write_bytes(content)
    refused(tmp_path / "bad", "is damaged: its header cannot be read: Expecting ':' delimiter")


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = model_bytes(example(), LEARNED)
    for size in range(len(content)):
        (tmp_path / "cut").write_bytes(content[:size])
        refused(tmp_path / "cut", r"empty|not a model file|damaged")


def test_version_1_is_read(tmp_path: Path) -> None:
    content = bytes_of_version_1(example(), LEARNED)
    (tmp_path / "old").write_bytes(content)
    assert_same(load_model(tmp_path / "old"), example())
    header = read_header(tmp_path / "old")
    assert (header["version"], header["learned"]) == (1, LEARNED)
    for size in range(0, len(content), 7):
        (tmp_path / "cut").write_bytes(content[:size])
        refused(tmp_path / "cut", r"empty|not a model file|damaged")
    (tmp_path / "flipped").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(tmp_path / "flipped", "its checksum does not fit")


def test_other_readers_of_the_format_read_our_files(tmp_path: Path) -> None:
    arrays = load(model_bytes(example()))
    assert arrays["transitions"].tobytes() == example().transitions.tobytes()


def test_a_header_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(example(), tmp_path / "model", LEARNED)
    parsed = []
    monkeypatch.setattr(model_reading, "of_json", lambda text: parsed.append(1) or of_json(text))
    for read in (model_reading.kind_of, read_header, load_model, read_header):
        read(tmp_path / "model")
    assert len(parsed) == 1
    save_model(example(n_states=3), tmp_path / "model")
    assert load_model(tmp_path / "model").n_states == 3


def test_a_model_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(model_bytes(example(), LEARNED)))
    writer.start()
    assert read_header(tmp_path / "pipe")["learned"] == LEARNED
    assert_same(load_model(tmp_path / "pipe"), example())
    writer.join()


def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(example(n_states=99), tmp_path / "model")
    whole = model_reading.read_data

    def shortened(stream: Any, n_bytes: int) -> Any:
        os.truncate(tmp_path / "model", os.path.getsize(tmp_path / "model") - 8)
        return whole(stream, n_bytes)

    monkeypatch.setattr(model_reading, "read_data", shortened)
    refused(tmp_path / "model", "it was cut short")


def test_claims_are_held_against_the_size_of_the_file(tmp_path: Path) -> None:
    for shape in ([2**40, 2**20], [0, 2**62], [-1], [2**63], ["8"], [1] * 40):
        entry = {"dtype": "F64", "shape": shape, "data_offsets": [0, 8]}
        head = json.dumps({"__metadata__": {"sigmastar": "{}"}, "x": entry}).encode()
        (tmp_path / "claim").write_bytes(struct.pack("<Q", len(head)) + head + bytes(8))
        refused(tmp_path / "claim", "damaged")


def test_truth_values_are_two() -> None:
    head = next(iter(written({"x": np.zeros(2, dtype=bool)}, {})))
    container = _parsed(bytes(head))
    assert views(container, np.array([0, 1], dtype=np.uint8))["x"].tolist() == [False, True]
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        views(container, np.array([0, 2], dtype=np.uint8))


def test_trailing_bytes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(model_bytes(example()) + b"\n")
    refused(tmp_path / "long", "damaged")


def test_bits_flipped_anywhere_are_refused(tmp_path: Path) -> None:
    content = model_bytes(example(), LEARNED)
    path = tmp_path / "flipped"
    for position in range(len(content)):
        for bit in (0, position % 7 + 1):
            changed = bytearray(content)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            refused(path, r"empty|not a model|damaged|newer sigmastar")


def test_headers_with_flipped_bits_raise_nothing_else(tmp_path: Path) -> None:
    content = model_bytes(example(), LEARNED)
    path = tmp_path / "flipped"
    for position in range(8 + int.from_bytes(content[:8], "little")):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        try:
            read_header(path)
        except ModelFileError:
            continue


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "the file is empty; learn and write"),
        (b"I: (state)\n\t(0) 1.0\n", "not a model file"),
        (b"\x80\x04\x95pickle..........", "not a model file"),
        (save({"x": np.zeros(3)}), "not a model of sigmastar"),
        (save({"x": np.zeros(3)}, metadata={"format": "np"}), "not a model of sigmastar"),
        (save({"x": np.zeros(3)}, metadata={"sigmastar": "{}", "more": ""}), "not a model of sigmastar"),
        (save({"x": np.zeros(3)}, metadata={"sigmastar": "{}"}), "damaged: its header lacks a version"),
        (save({"x": np.zeros(3)}, metadata={"sigmastar": "[1]"}), "damaged: its header lacks a version"),
        (
            save({"x": np.zeros(3)}, metadata={"sigmastar": '{"version":1}'}),
            "damaged: its header lacks fields",
        ),
        (
            save({"x": np.zeros(3)}, metadata={"sigmastar": '{"version":9}'}),
            "format version 9.*newer sigmastar",
        ),
        (struct.pack("<Q", 2) + b"{}", "not a model of sigmastar"),
        (struct.pack("<Q", 8) + b"{" + b"[" * 7, "its header cannot be read"),
        (struct.pack("<Q", 100_000) + b"{" * 100_000, "its header cannot be read"),
    ],
)
def test_foreign_files_are_refused(content: bytes, match: str, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(content)
    refused(tmp_path / "foreign", match)
    with pytest.raises(ModelFileError, match=match):
        read_header(tmp_path / "foreign")


def forged(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """A file whose checksum is right and whose content is not."""
    arrays, description = example().to_parts()
    header: dict[str, Any] = {"family": "automaton", "version": 2, "sigmastar": "0", "model": description}
    header["learned"] = {}
    change(header, arrays)
    path.write_bytes(b"".join(model_reading.sealed(header, arrays, None)))
    return path


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda header, arrays: header.update(family="unheard"),
            "unknown kind 'unheard'; known are automaton",
        ),
        (lambda header, arrays: header.update(version=3), "newer sigmastar"),
        (lambda header, arrays: arrays.pop("initial"), "lacks 'initial'"),
        (lambda header, arrays: header["model"].pop("alphabet"), "lacks 'alphabet'"),
        (lambda header, arrays: header.update(model=[]), "does not describe a model"),
        (lambda header, arrays: arrays.update(final=np.zeros(3)), r"'final' of shape \(3,\) does not fit"),
        (lambda header, arrays: arrays.update(more=np.zeros(3)), "'more' is not one of this kind of model"),
        (lambda header, arrays: arrays.update(final=np.zeros(2, np.float32)), "of type float32, not float64"),
        (lambda header, arrays: arrays.update(final=np.array([0.0, 1e200])), "from -1e"),
        (lambda header, arrays: arrays.update(final=np.array(1.0)), "does not hold a model of its family"),
        (lambda header, arrays: arrays.update(final=np.array([0.0, np.nan])), "'final' holds NaN weights"),
        (lambda header, arrays: arrays.update(final=np.array([0.0, np.inf])), "from -1e"),
    ],
)
def test_wrong_content_is_refused(change: Callable[..., None], match: str, tmp_path: Path) -> None:
    refused(forged(tmp_path / "forged", change), match)


def test_a_forged_file_without_changes_loads(tmp_path: Path) -> None:
    assert_same(load_model(forged(tmp_path / "forged", lambda header, arrays: None)), example())


def test_another_family_is_refused(tmp_path: Path) -> None:
    save_model(example(), tmp_path / "model")
    with pytest.raises(ModelFileError, match="family 'automaton', not 'ngram'"):
        load_model(tmp_path / "model", family="ngram")


def test_nan_is_not_written(tmp_path: Path) -> None:
    model = example()
    model.initial[0] = np.nan
    with pytest.raises(ValueError, match="'initial' of the model holds NaN"):
        save_model(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_class_without_a_family_is_refused(tmp_path: Path) -> None:
    class Other(WeightedAutomaton):
        pass

    model = example()
    with pytest.raises(
        ValueError, match="models of class Other cannot be stored; kinds of models are automaton"
    ):
        save_model(Other(model.alphabet, model.initial, model.transitions, model.final), tmp_path / "model")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for read in (load_model, read_header):
        with pytest.raises(ModelFileError, match="there is no such file; check the name"):
            read(tmp_path / "nowhere")
        with pytest.raises(ModelFileError, match="is a folder"):
            read(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk() -> None:
    with pytest.raises(InputError, match="/dev/full: no space left on device"):
        save_model(example(), "/dev/full")

"""Bad input and bad calls: one line with the place and the remedy, the right status, nothing written."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from cli.calls import fail, invoke, succeed
from sigmastar.automata.cli import models
from sigmastar.cli import group
from sigmastar.cli.failures import Ended, _in_words
from sigmastar.core.model_reading import load_model, save_model


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lern",), "No such command 'lern'; did you mean 'learn'? see sigmastar --help"),
        (("train",), "No such command 'train'; did you mean 'learn'?"),
        (("learn", "hmm"), "No such command 'hmm'; did you mean 'automaton --method em'?"),
        (("learn", "poem"), "No such command 'poem'; see sigmastar learn --help"),
        (("learn", "automaton"), "Missing argument 'FILE...'"),
        (("learn", "automaton", "f"), "Missing option '--output'"),
        (("learn", "automaton", "f", "-o", "m", "--states", "0"), "'0' is neither 'auto' nor a whole number"),
        (("learn", "automaton", "f", "-o", "m", "--states", "many"), "neither 'auto' nor"),
        (("learn", "automaton", "f", "-o", "m", "--method", "magic"), "'magic' is not one of 'fast'"),
        (("learn", "automaton", "f", "-o", "m", "--seed", "-1"), "--seed"),
        (("learn", "automaton", "f", "-o", "m", "--threads", "0"), "--threads"),
        (("learn", "automaton", "f", "-o", "m", "--order", "2"), "--order is for --method ngram, not fast"),
        (("learn", "automaton", "f", "-o", "m", "--method", "em", "--repair", "em"), "--repair is for"),
        (("learn", "automaton", "f", "-o", "m", "--characters", "--separator", ","), "not both"),
        (("learn", "automaton", "f", "-o", "m", "--format", "spice", "--characters"), "for --format lines"),
        (("learn", "automaton", "-", "-", "-o", "m"), "can be read once only"),
        (("evaluate", "m"), "give a FILE to measure on, a --reference, or a --black-box"),
        (("evaluate", "m", "--reference", "r", "--targets", "t"), "--targets need the FILE"),
        (("predict", "m", "f", "--top", "0"), "--top"),
        (("show", "m", "--dot", "--html"), "one of --dot, --html and --json"),
        (("show", "m", "--svg"), "No such option '--svg'"),
        (("predict", "m", "f", "--nbest", "3"), "No such option '--nbest'"),
        (("evaluate", "m", "f", "--gold-tags"), "No such option '--gold-tags'"),
        (("compare", "m"), "Missing argument 'OTHER'"),
        (("minimize", "m"), "Missing option '--output'"),
        (("convert", "m", "--to", "poem"), "'poem' is not one of 'att'"),
        (("convert", "m", "--to", "dot", "--symbols", "s"), "--symbols is for --to att"),
        (("reproduce", "nothing2020"), "balle2014"),
        (("score", "m", "f", "--unknown", "maybe"), "--unknown"),
    ],
)
def test_a_wrong_call_has_status_2(folder: Path, words: tuple[str, ...], said: str) -> None:
    """Options of commands on models are those of the family of the model: m stands for one."""
    on_model = words[0] not in ("learn", "lern", "reproduce")
    line = fail(*(folder / "fast.model" if word == "m" and on_model else word for word in words), status=2)
    assert said in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("automaton", "lines.txt", "--method", "em"), ", or method 'fast', which chooses their number"),
        (("automaton", "lines.txt", "--method", "em", "--structure", "hmm"), ", or method 'fast', which"),
        (("pcfg", "lines.txt"), ""),
        (("grammar", "trees.mrg", "--method", "em"), ""),
    ],
)
def test_more_states_than_data_can_tell_are_refused(
    folder: Path, tmp_path: Path, words: tuple[str, ...], remedy: str
) -> None:
    (tmp_path / "lines.txt").write_text("a b a\nb\n" * 20)
    (tmp_path / "trees.mrg").write_text("(S (A a) (B b))\n" * 20)
    call = ("learn", words[0], tmp_path / words[1], *words[2:], "--states", "3000", "-o", tmp_path / "m")
    line = fail(*call)
    assert "which cannot tell so many states apart; use at most" in line
    assert f" states{remedy}" in line
    assert not (tmp_path / "m").exists()


def test_targets_need_a_format_that_has_them(folder: Path) -> None:
    call = ("evaluate", folder / "fast.model", folder / "lines.txt", "--targets", folder / "solution.txt")
    assert "for --format pautomac or spice, not lines" in fail(*call, status=2)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", (), ": the file is empty; "),
        (b"", ("--format", "pautomac"), ": the file is empty; "),
        (b"\x00\x01\xff" * 50, (), ":1: binary data"),
        (b"a b\n\xff\xfe\n", (), ":2: byte 0xff is not UTF-8"),
        (b"\x1f\x8b\x08junk", (), "compressed data"),
        (b"no header\n", ("--format", "pautomac"), ":1: the first line is"),
        (b"2 3\n1 0\n1 7\n", ("--format", "pautomac"), ":3: symbol 7 is outside 0..2"),
        (b"3 3\n1 0\n", ("--format", "spice"), ":1: the header promises 3 strings"),
    ],
    ids=["empty", "empty pautomac", "junk", "latin-1", "cut gzip", "no header", "bad symbol", "cut"],
)
def test_bad_data_is_named_by_file_and_line(
    tmp_path: Path, content: bytes, options: tuple[str, ...], said: str
) -> None:
    data, out = tmp_path / "data", tmp_path / "m"
    data.write_bytes(content)
    line = fail("learn", "automaton", data, "-o", out, *options)
    assert line.startswith(str(data))
    assert said in line
    assert not out.exists()


def test_what_is_not_there(tmp_path: Path, folder: Path) -> None:
    assert "no such file" in fail("learn", "automaton", tmp_path / "no", "-o", tmp_path / "m")
    assert "no such file" in fail("show", tmp_path / "no")
    call = ("evaluate", folder / "fast.model", "--reference", tmp_path / "no")
    assert "cannot be read" in fail(*call)
    line = fail("learn", "automaton", folder / "lines.txt", "-o", tmp_path / "no" / "m")
    assert "the folder" in line
    assert "does not exist; make it first" in line


def test_the_output_is_checked_before_the_work(tmp_path: Path) -> None:
    line = fail("learn", "automaton", tmp_path / "no data", "-o", tmp_path / "no" / "m")
    assert "does not exist; make it first" in line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk(folder: Path) -> None:
    for words in (
        ("learn", "automaton", folder / "lines.txt", "--method", "ngram", "-o", "/dev/full"),
        ("score", folder / "fast.model", folder / "lines.txt", "-o", "/dev/full"),
        ("convert", folder / "auto.model", "--to", "att", "-o", "/dev/full"),
    ):
        assert fail(*words) == "/dev/full: no space left on device; free some space or write elsewhere"


def test_states_above_the_rank(tmp_path: Path) -> None:
    for method in ("fast", "convex", "auto", "spectral"):
        call = ("learn", "automaton", "-", "--method", method, "--states", "40", "-o", tmp_path / "m")
        assert re.search(
            r"n_states=40 exceeds block rank \d+; use n_states<=\d+", fail(*call, stdin="a b\nb\n" * 9)
        )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("command", ["score", "predict", "evaluate"])
def test_an_unknown_symbol(folder: Path, command: str) -> None:
    line = fail(command, folder / "fast.model", "-", stdin="a b\nb zebra\n")
    assert line.startswith("standard input:2: symbol 'zebra' is not among the 3 symbols")
    assert "--unknown zero" in line


def test_an_unknown_symbol_in_pautomac(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("2 9\n1 0\n2 1 8\n")
    line = fail("score", folder / "p.model", tmp_path / "data")
    assert line.startswith(f"{tmp_path / 'data'}:3: symbol 8")
    assert "--unknown zero" in line


@pytest.mark.parametrize("data", ["a b c\n", "a b\n" * 40, "\n", "\n\n\na\n", "a b\r\nb a\r\n"])
def test_odd_corpora_are_legal(tmp_path: Path, data: str) -> None:
    for method in ("fast", "auto", "spectral", "ngram"):
        call = ("learn", "automaton", "-", "--method", method, "-o", tmp_path / "m")
        succeed(*call, stdin=data)
        lines = succeed("score", tmp_path / "m", "-", stdin=data).splitlines()
        assert len(lines) == len(data.splitlines())
        assert all(float(line) <= 1e-9 for line in lines)


def damaged(folder: Path, tmp_path: Path, change: str) -> Path:
    content = bytearray((folder / "auto.model").read_bytes())
    if change == "cut":
        content = content[:-100]
    elif change == "flipped":
        content[-20] ^= 1
    elif change == "empty":
        content.clear()
    elif change == "foreign":
        content = bytearray(save({"x": np.zeros(3)}))
    else:
        content = bytearray(b"what is this?\n" * 10)
    path = tmp_path / "damaged"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("change", ["cut", "flipped", "empty", "foreign", "text"])
def test_damaged_model_files_are_refused(folder: Path, tmp_path: Path, change: str) -> None:
    path = damaged(folder, tmp_path, change)
    for words in (
        ("show", path),
        ("score", path, folder / "lines.txt"),
        ("sample", path),
        ("convert", path, "--to", "dot"),
        ("evaluate", path, folder / "lines.txt"),
    ):
        assert fail(*words).startswith(f"{path}: ")


def test_nan_weights_are_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sigmastar.core import model_format as files

    model = load_model(folder / "auto.model")
    model.final[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        save_model(model, tmp_path / "m")
    monkeypatch.setattr(files, "has_nan", lambda array: False)
    save_model(model, tmp_path / "m")
    monkeypatch.undo()
    assert np.isnan(load((tmp_path / "m").read_bytes())["final"]).any()
    assert "NaN" in fail("score", tmp_path / "m", folder / "lines.txt")


def test_what_a_format_cannot_hold(folder: Path, tmp_path: Path) -> None:
    for target in ("att", "pautomac", "hmm"):
        line = fail("convert", folder / "fast.model", "--to", target, "-o", tmp_path / "out")
        assert line.startswith(f"{folder / 'fast.model'}: ")
        assert "--method auto" in line
        assert not (tmp_path / "out").exists()
    assert "no weighted automaton inside" in fail("convert", folder / "ngram.model", "--to", "dot")
    assert "no weighted automaton inside" in fail("show", folder / "ngram.model", "--dot")


def test_solutions_that_do_not_fit(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("1\n0.5\n")
    call = ("evaluate", folder / "p.model", folder / "train.pautomac", "--targets", tmp_path / "short")
    assert fail(*call) == f"{tmp_path / 'short'}: holds 1 probabilities for 300 strings"
    (tmp_path / "targets").write_text("1.0 0 1.0\n")
    line = fail(*call[:3], "--format", "spice", "--targets", tmp_path / "targets")
    assert line == f"{tmp_path / 'targets'}: holds 1 lines for 300 prefixes"


def test_a_bug_is_one_line_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(models, "load", broken)
    line = fail("score", folder / "fast.model", "-", stdin="a\n")
    assert (
        line
        == "unexpected KeyError: 'oops'; this is a bug, set SIGMASTAR_TRACEBACK=1 for the place and report it"
    )
    result = invoke("score", folder / "fast.model", "-", stdin="a\n", SIGMASTAR_TRACEBACK="1")
    assert "Traceback (most recent call last)" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("problem", "said", "status"),
    [
        (KeyboardInterrupt(), "interrupted; no unfinished file is left", 130),
        (MemoryError(), "out of memory; use fewer strings, states or symbols, or a larger --max-memory", 1),
        (OSError(5, "Input/output error", "some file"), "some file: Input/output error", 1),
        (ValueError("two\nlines"), "two lines", 1),
    ],
)
def test_every_error_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, said: str, status: int
) -> None:
    def broken(path: str) -> None:
        raise problem

    monkeypatch.setattr(models, "load", broken)
    assert fail("score", folder / "fast.model", "-", stdin="a\n", status=status) == said


def test_a_signal_that_spoils_a_lock_before_the_work_is_an_end_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where threads begin, an exception may leave a lock that is released once more."""

    def hear() -> None:
        try:
            raise Ended(128 + signal.SIGHUP)
        finally:
            threading.Lock().release()

    monkeypatch.setattr(group, "hear_signals", hear)
    with pytest.raises(SystemExit) as end:
        group.main()
    assert end.value.code == 128 + signal.SIGHUP
    assert capsys.readouterr().err == "sigmastar: ended by SIGHUP; no unfinished file is left\n"


def test_an_interrupt_inside_a_kernel_is_one_too():
    """Compiled code turns it into an error that it is the cause of."""
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("a kernel returned a result with an exception set") from interrupt
    except SystemError as problem:
        message, status = _in_words(problem)
    assert status == 130
    assert "interrupted" in message
    assert _in_words(SystemError("something else"))[1] == 1


@pytest.mark.parametrize(("words", "near"), [(("lern",), "learn"), (("learn", "autmaton"), "automaton")])
def test_a_mistyped_command_gets_a_suggestion(words: tuple[str, ...], near: str) -> None:
    assert f"did you mean {near!r}" in fail(*words, status=2)

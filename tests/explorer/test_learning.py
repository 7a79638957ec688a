"""A model that is learned before the user's eyes: the board, the server's answer, and the command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, succeed
from explorer.serving import echo_gallery, serving
from sigmastar.core.progress import Measure, Phase, Point, Saved, Spectrum
from sigmastar.explorer.gallery import Gallery
from sigmastar.explorer.learning import MOST_CURVES, MOST_POINTS, PICTURES, Board


def view(board: Board, title: str) -> Any:
    return next(each for each in board.to_json()["views"] if each["title"] == title)


def test_the_board_keeps_what_the_pictures_need() -> None:
    now = [0.0]
    board = Board("m.sigma", lambda: now[0])
    for k in range(1, 4):
        now[0] += 2.0
        board(Phase(f"EM, iteration {k}, log-likelihood -{k}.5e-3", k / 4))
        board(Point(Measure.CLIMB, k, -1.0 / k, "one", "EM"))
    board(Point(Measure.CLIMB, 2, -np.inf, "two", "EM"))
    told = board.to_json()
    assert (told["state"], told["done"], told["seconds"], told["seconds_left"]) == (
        "learning",
        0.75,
        6.0,
        2.0,
    )
    lines = view(board, "Objective")["data"]
    assert lines["x"] == [1, 2, 3]
    assert lines["series"] == [
        {"name": "EM", "y": [-1.0, -0.5, pytest.approx(-1 / 3)]},
        {"name": "EM (2)", "y": [None, None, None]},
    ]
    assert view(board, "What was done")["data"]["rows"] == [
        [2.0, "EM, iteration 3, log-likelihood -3.5e-3", 75]
    ]
    board(Saved("somewhere/m.sigma"))
    board.finish()
    now[0] = 99.0
    told = board.to_json()
    assert (told["state"], told["seconds"], told["file"]) == ("done", 6.0, "somewhere/m.sigma")


def test_starts_stand_in_the_order_of_their_scores() -> None:
    board = Board("m")
    for start, scores in enumerate(([-3.0], [-2.0, -1.5], [np.nan], [-2.5, -1.0])):
        for leg, score in enumerate(scores, 1):
            board(Point(Measure.START, leg, score, start, f"start {start + 1}"))
    rows = view(board, "Starts")["data"]["rows"]
    assert [row[0] for row in rows] == ["start 4", "start 2", "start 1", "start 3"]
    assert rows[1] == ["start 2", 2, -1.5, 0.5]


def test_a_chosen_number_of_states_outlives_later_spectra() -> None:
    board = Board("m")
    board(Spectrum(np.array([3.0, 2.0])))
    board(Spectrum(np.array([9.0])))
    assert view(board, "Spectrum")["data"]["series"][0]["y"] == [3.0, 2.0]  # the longest of many
    board(Spectrum(np.array([3.0, 1.0]), 0.5, 2))
    board(Spectrum(np.array([9.0])))
    data = view(board, "Spectrum")["data"]
    assert data["series"][0]["y"] == [3.0, 1.0]
    assert (data["levels"][0]["y"], data["marks"][0]["x"]) == (0.5, 2)


def test_long_work_fits_the_page() -> None:
    board = Board("m")
    for curve in range(2 * MOST_CURVES):
        for x in range(10 * MOST_POINTS if curve == 3 else 2):
            board(Point(Measure.CLIMB, x, float(x), curve))
    found = view(board, "Objective")
    assert len(found["data"]["series"]) == MOST_CURVES
    assert "12 shorter curves are not drawn" in found["note"]
    longest = found["data"]["series"][0]["y"]
    assert MOST_POINTS <= sum(y is not None for y in longest) <= MOST_POINTS + 2
    assert longest[-1] == 10 * MOST_POINTS - 1


def test_the_server_tells_of_learning_where_there_is_some() -> None:
    with serving(echo_gallery()[0]) as client:
        assert client.ask("api/models").json["is_watched"] is False
        assert "--watch" in client.ask("api/learning").json["error"]
        client.explorer.board = Board("m.sigma")
        client.explorer.gallery = Gallery(())
        client.explorer.board(Phase("<script>", None))
        assert client.ask("api/models").json == {
            **client.ask("api/models").json,
            "models": [],
            "is_watched": True,
        }
        assert client.ask("api/learning").json["phase"] == "<script>"
        assert client.ask("api/models/0").status == 404
        assert client.ask("api/learning", with_token=False).status == 404


def test_options_of_the_page_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("a b\n")
    call = ("learn", "automaton", tmp_path / "a.txt", "-o", tmp_path / "m.sigma")
    assert "--no-browser goes with --watch" in fail(*call, "--no-browser", status=2)
    assert "--port goes with --watch" in fail(*call, "--port", "8000", status=2)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'pip install "sigmastar[serve]"' in fail(*call, "--watch")
    assert not (tmp_path / "m.sigma").exists()


def test_every_measure_has_a_picture() -> None:
    assert set(PICTURES) == set(Measure)


@contextmanager
def ended(run: subprocess.Popen[str]) -> Iterator[None]:
    """A process that does not outlive a test that failed."""
    try:
        yield
    finally:
        run.kill()


def test_a_model_is_watched_then_explored_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a b a b\nb a\na b\n" * 20)
    words = ["learn", "automaton", "a.txt", "--method", "em", "--states", "2", "-o", "m.sigma"]
    with (
        subprocess.Popen(
            [sys.executable, "-m", "sigmastar", *words, "--watch", "--no-browser", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # whoever runs tests may ignore it
        ) as run,
        ended(run),
    ):
        assert run.stderr is not None
        address = run.stderr.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        end, told = time.monotonic() + 60, {"state": "learning"}
        while told["state"] != "done" and time.monotonic() < end:
            time.sleep(0.1)
            told = json.load(urllib.request.urlopen(f"{address}api/learning", timeout=20))
        assert {"Objective", "What was done"} <= {each["title"] for each in told["views"]}
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address.rstrip("/").rpartition("/")[0] + "/api/learning", timeout=20)
        body = json.dumps({"inputs": [{"text": "a"}]}).encode()
        with urllib.request.urlopen(f"{address}api/models/0/batch", body, timeout=30) as answer:
            assert len(json.load(answer)["outputs"][0]["next"]) == 3
        run.send_signal(signal.SIGINT)
        printed, errors = run.communicate(timeout=20)
    assert run.returncode == 0, errors
    assert "watch" not in json.loads(printed)["call"]["options"]
    succeed(*words[:-1], "alone.sigma", "-q")
    assert Path("m.sigma").read_bytes() == Path("alone.sigma").read_bytes()

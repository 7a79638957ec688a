"""Models that take long to open."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from explorer.serving import Echo, serving
from sigmastar.explorer import app
from sigmastar.explorer.gallery import Gallery, Shown
from sigmastar.explorer.openings import Openings

SECONDS = 30


def test_a_model_that_is_being_opened_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_OPENING", 0.05)
    gate, openings = threading.Event(), list[str]()

    def slowly() -> Any:
        openings.append("slow")
        gate.wait(SECONDS)
        return Echo()

    gallery = Gallery((Shown(0, "slow", "toys", slowly), Shown(1, "quick", "toys", Echo)))
    with serving(gallery) as client:
        try:
            for path, body in (("models/0", None), ("models/0/answer", {"inputs": {"text": "a"}})) * 20:
                found = client.ask(f"api/{path}", body)
                assert (found.status, found.json) == (
                    202,
                    {"message": "slow is being opened; ask again in a moment"},
                )
            assert client.ask("api/models/1").status == 200, "others are not kept waiting"
        finally:
            gate.set()
        client.explorer.openings.of(gallery.shown[0]).result(SECONDS)
        assert client.ask("api/models/0").status == 200
    assert openings == ["slow"]


def test_what_cannot_be_opened_is_told_and_tried_again() -> None:
    problems = iter([ValueError("no such\nfile"), None])

    def opener() -> Any:
        problem = next(problems)
        if problem:
            raise problem
        return Echo()

    with serving(Gallery((Shown(0, "late", "toys", opener),))) as client:
        found = client.ask("api/models/0")
        assert (found.status, found.json) == (422, {"error": "no such file"})
        assert client.ask("api/models/0").status == 200


def test_the_model_asked_for_last_is_opened_first() -> None:
    gate, order, begun = threading.Event(), list[int](), threading.Semaphore(0)

    def opener(number: int) -> Any:
        order.append(number)
        begun.release()
        gate.wait(SECONDS)
        return Echo()

    shown = [Shown(number, "toy", "toys", partial(opener, number)) for number in range(6)]
    openings = Openings()
    waited = []
    for each in shown[:2]:
        waited.append(openings.of(each))
        assert begun.acquire(timeout=SECONDS)
    waited += [openings.of(each) for each in shown[2:]]
    openings.of(shown[3])
    assert openings.of(shown[3]) is waited[3]
    gate.set()
    for future in waited:
        future.result(SECONDS)
    openings.end()
    assert order[:2] == [0, 1]
    assert set(order[2:4]) == {3, 5}
    assert set(order[4:]) == {2, 4}

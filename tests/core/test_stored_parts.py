"""What a class declares of its parts is what it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sigmastar.core import stored_parts
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.family import kinds, load
from sigmastar.core.stored_parts import Parts, floats, indices, parents, rises_within, rising, row_starts

PARTS = Parts(
    header={"alphabet": Alphabet, "share?": stored_parts.share, "members": stored_parts.tables},
    sizes={"symbols": "alphabet"},
    members="members",
    inner=("inner.",),
    arrays={
        "starts": row_starts("rows", of="entries"),
        "codes": indices("entries", of="symbols+1", least=-1),
        "chances": floats("rows", "columns", least=0.0, most=1.0, sums=True),
        "above": parents("nodes"),
        "keys": rising("keys", of="cells"),
        "extra": floats(2).or_none(),
    },
)


def right() -> tuple[dict[str, Any], dict[str, Any]]:
    arrays = {
        "starts": np.array([0, 2, 2, 3]),
        "codes": np.array([-1, 2, 0], dtype=np.int32),
        "chances": np.full((3, 4), 0.25),
        "above": np.array([0, 0, 1], dtype=np.int32),
        "keys": np.array([0, 4, 9]),
        "inner.x": np.zeros(1),
        "0.y": np.zeros(1),
    }
    return arrays, {"alphabet": Alphabet("ab"), "members": [{}]}


def test_right_parts_give_their_sizes() -> None:
    sizes = PARTS.check(*right(), cells=10)
    assert sizes == {"cells": 10, "symbols": 2, "rows": 3, "entries": 3, "columns": 4, "nodes": 3, "keys": 3}


WRONG: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "missing": (lambda a, h: a.pop("codes"), "codes"),
    "undeclared": (lambda a, h: a.update(more=a["keys"]), "'more' is not one"),
    "of no member": (lambda a, h: a.update({"1.y": a["keys"]}), "'1.y' is not one"),
    "type": (lambda a, h: a.update(codes=a["codes"].astype(np.int64)), "of type int64, not int32"),
    "dimensions": (lambda a, h: a.update(chances=a["chances"][0]), "'chances' of shape"),
    "length": (lambda a, h: a.update(chances=a["chances"][:2]), "'chances' of shape"),
    "fewer entries": (lambda a, h: a.update(codes=a["codes"][:2]), "'starts' must rise from 0 to 2"),
    "fixed length": (lambda a, h: a.update(extra=np.zeros(3)), "'extra' of shape"),
    "no starts": (lambda a, h: a.update(starts=a["starts"][:0]), "'starts' of shape"),
    "falling starts": (lambda a, h: a["starts"].__setitem__(1, 9), "'starts' must rise"),
    "starts of less": (lambda a, h: a["starts"].__setitem__(-1, 2), "'starts' must rise"),
    "too large": (lambda a, h: a["codes"].__setitem__(0, 3), "numbers from -1 to 2"),
    "too small": (lambda a, h: a["codes"].__setitem__(0, -2), "numbers from -1 to 2"),
    "NaN": (lambda a, h: a["chances"].__setitem__((0, 0), np.nan), "numbers from 0 to 1"),
    "sum": (lambda a, h: a["chances"].__setitem__((0, 0), 0.3), "sum to one"),
    "circle": (lambda a, h: a["above"].__setitem__(2, 2), "one before it"),
    "above the first": (lambda a, h: a["above"].__setitem__(0, 1), "one before it"),
    "order": (lambda a, h: a["keys"].__setitem__(1, 9), "must rise"),
    "alphabet": (lambda a, h: h.update(alphabet=["a"]), "'alphabet' must be of type Alphabet"),
    "share": (lambda a, h: h.update(share=2), "'share' must be a number from 0 to 1"),
    "no members": (lambda a, h: h.update(members=[]), "'members' must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parts_are_refused(name: str) -> None:
    change, words = WRONG[name]
    arrays, header = right()
    change(arrays, header)
    with pytest.raises((ValueError, KeyError), match=words):
        PARTS.check(arrays, header, cells=10)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (stored_parts.texts, ["a", "a"], ["a", 1]),
        (stored_parts.texts, [], "ab"),
        (stored_parts.distinct_texts, ["a", "b"], ["a", "a"]),
        (stored_parts.lists_of_texts, [["a"], ["b", "c"]], [["a"], []]),
        (stored_parts.tuples_of_texts(2), (("a", "b"),), (("a", "b", "c"),)),
        (stored_parts.real, -3.5, float("inf")),
        (stored_parts.real, 2, True),
        (stored_parts.between(0, 2), 2, 2.5),
        (stored_parts.whole(1, 3), 3, 3.0),
        (stored_parts.one_of("x", "y"), "x", ["x"]),
        (stored_parts.lists, [1], {}),
        (stored_parts.tables, [{}], [[]]),
        (stored_parts.text_alphabet, Alphabet("ab"), Alphabet([1])),
    ],
)
def test_entries(check: Callable[[Any], str], good: Any, bad: Any) -> None:
    assert check(good) == ""
    assert check(bad) != ""


def test_rows_rise_on_their_own() -> None:
    numbers = np.array([1, 3, 0, 2, 2])
    assert rises_within(numbers, np.array([0, 0, 2, 4, 5, 5]))
    assert not rises_within(numbers, np.array([0, 2, 5]))
    assert rises_within(numbers[:0], np.array([0, 0]))


def test_every_kind_of_file_declares_its_parts() -> None:
    """Those without a declaration of their own are another model under another name."""
    others = {"string-function", "weighted-transducer"}
    classes = {name: load(kind.model) for name, kind in kinds().items()}
    assert {name for name, found in classes.items() if not hasattr(found, "PARTS")} == others

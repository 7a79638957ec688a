"""The parts of the reproduction on a made relation: curves, tables, claims, pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sigmastar.bilexical import make_relation
from sigmastar.core.intervals import Estimate
from sigmastar.reproduce.madhyastha2014 import RANKS, measure
from sigmastar.reproduce.madhyastha2014.report import (
    ANY_MODELS,
    SMALL_MODELS,
    TEN,
    UNSUPERVISED,
    Measured,
    adjectives_table,
    attachment_table,
    claims,
    pictures,
    relation_table,
)


@pytest.fixture(scope="module")
def found() -> dict[str, Measured]:
    made = make_relation(np.random.default_rng(0), rank=2)
    rng = np.random.default_rng(0)
    return {"adjectives given noun": measure(made.pairs, made.vectors, {"made": made.vectors}, rng, 2, True)}


def test_curves_cost_more_with_each_dimension(found: dict[str, Measured]) -> None:
    one = found["adjectives given noun"]
    operations, accuracy = one.curves["nuclear"]
    assert operations[0] == 40 + len(one.model.modifiers)
    assert sorted(operations) == operations
    assert len(accuracy) == len(RANKS)
    assert found["adjectives given noun"].best("nuclear") > found["adjectives given noun"].popularity


def test_tables_claims_and_pictures(found: dict[str, Measured]) -> None:
    attached = {
        "all": {"linear": 80.0, "nuclear": 79.0, "linear + nuclear": 82.0, "n_items": 5, "p_value": 0.01}
    }
    assert relation_table(found).rows[0][4] is None  # quick: no l1
    assert relation_table(found).rows[0][-2:] == (2, "50-90")  # splits, the paper's axis
    assert attachment_table(attached).rows == [["all", 5, 80.0, 79.0, 82.0, 0.01]]
    assert adjectives_table(found["adjectives given noun"].model).rows == []
    holds = [claim.holds for claim in claims(found, attached)]
    assert holds[0]
    assert holds[2]
    assert set(pictures(found)) == {"adjectives-given-noun", "map"}


def test_verdicts_follow_their_tests(found: dict[str, Measured]) -> None:
    """The same claims on data that say the contrary, or that cannot tell."""
    one = found["adjectives given noun"]
    for low, high, p, gain, verdicts in (
        (0.01, 0.02, 0.01, 2.0, [True, True, True, True, True]),
        (-0.05, -0.04, 0.01, -2.0, [False, False, False, False, False]),
        (-0.01, 0.05, 0.2, 2.0, [None, None, None, None, None]),
    ):
        attached = {"all": {"linear": 80.0, "linear + nuclear": 80.0 + gain, "p_value": p}}
        gap = Estimate((low + high) / 2, low, high, 50)
        gaps = dict.fromkeys((UNSUPERVISED, TEN, SMALL_MODELS, ANY_MODELS), gap)
        holds = [claim.holds for claim in claims({"one": replace(one, gaps=gaps)}, attached)]
        assert holds == verdicts


def test_claims_on_capacity_need_all_penalties(found: dict[str, Measured]) -> None:
    made = make_relation(np.random.default_rng(0), rank=2)
    rng = np.random.default_rng(0)
    full = {"made": measure(made.pairs, made.vectors, {"made": made.vectors}, rng, 1, False)}
    attached = {"all": {"linear": 80.0, "linear + nuclear": 82.0, "p_value": 0.01}}
    assert len(claims(full, attached)) == len(claims(found, attached)) + 2
    one = full["made"]
    best = max(one.best("l1"), one.best("l2"))
    assert abs(100 * one.gaps[ANY_MODELS].value - (one.best("nuclear") - best)) < 1e-9
    ten, whole = (one.curves["nuclear"][1][at] for at in (RANKS.index(10), -1))
    assert abs(100 * one.gaps[TEN].value - (ten - whole)) < 1e-9

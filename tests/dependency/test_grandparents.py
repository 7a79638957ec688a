"""Sums over trees with weights of arcs, siblings, stops and grandparents, against all trees one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import projective_trees, stops_of, ways_of
from sigmastar.dependency.kernels.grandparents import Factors, Links, Sums, link_arcs, sum_trees
from sigmastar.dependency.model.arcs import lay_ways


def random_factors(
    rng: np.random.Generator, offsets: np.ndarray, kept: float, size: float = 1.0
) -> tuple[Links, Factors, np.ndarray]:
    """Weights of all parts of trees, some arcs ruled out; and the ways."""
    n_cells = int(((np.diff(offsets) + 1) ** 2).sum())
    weights = size * rng.random(n_cells) * (rng.random(n_cells) < kept)
    links = link_arcs(weights, offsets)
    starts, ways, _ = lay_ways(weights, offsets)
    n_grands = links.begins[-1]
    return (
        links,
        Factors(weights, starts, rng.random(len(ways)), rng.random(n_cells), rng.random(n_grands)),
        ways,
    )


def grand_numbers(links: Links, n: int) -> dict[tuple[int, int, int], int]:
    """Where the weight of each head of head, head and modifier of one sentence stands; -1: above the root."""
    table, numbers = links.numbers.reshape(n + 1, n + 1), {}
    for head, modifier in zip(*np.nonzero(table >= 0), strict=True):
        arc, first = table[head, modifier], links.firsts[head]
        for number, above in enumerate(links.heads[first : links.firsts[head + 1]].tolist()):
            numbers[above, int(head), int(modifier)] = int(links.begins[arc] + number)
    return numbers


def over_all_trees(n: int, links: Links, factors: Factors, ways: np.ndarray) -> tuple[float, Sums]:
    """Z, and what is expected of each part, from a list of all trees."""
    of_way = {tuple(way): number for number, way in enumerate(ways.tolist())}
    of_grand, total = grand_numbers(links, n), 0.0
    found = Sums(np.zeros(1), *(np.zeros(len(part)) for part in (factors.arcs, *factors[2:])))
    for heads in projective_trees(n):
        arcs = [(top, word) for word, top in enumerate(heads, 1)]
        if any(arc not in {way[::2] for way in of_way} for arc in arcs):
            continue
        places = (
            np.array([top * (n + 1) + word for top, word in arcs]),
            np.array([of_way[way] for way in ways_of(heads)]),
            np.array([head * (n + 1) + last for head, last in stops_of(heads)]),
            np.array([of_grand[heads[top - 1] if top else -1, top, word] for top, word in arcs]),
        )
        parts = (factors.arcs, factors.ways, factors.stops, factors.grands)
        weight = float(np.prod([part[place].prod() for part, place in zip(parts, places, strict=True)]))
        total += weight
        for part, place in zip(found[1:], places, strict=True):
            part[place] += weight
    return total, found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0.7, 1.0]))
def test_sums_are_those_of_all_trees(seed: int, n: int, kept: float) -> None:
    links, factors, ways = random_factors(np.random.default_rng(seed), np.array([0, n]), kept)
    total, exact = over_all_trees(n, links, factors, ways)
    found = sum_trees(np.array([0, n]), links, factors)
    assert np.exp(found.logs[0]) == pytest.approx(total, rel=1e-9)
    for part, expected in zip(found[1:], exact[1:], strict=True):
        np.testing.assert_allclose(part, expected / max(total, 1e-300), atol=1e-9)


def test_several_sentences_are_those_one_by_one() -> None:
    rng, offsets = np.random.default_rng(0), np.array([0, 3, 4, 9])
    links, factors, _ = random_factors(rng, offsets, 1.0)
    found = sum_trees(offsets, links, factors)
    assert len(found.grands) == links.begins[-1]
    assert found.ways.sum() == pytest.approx(len(found.logs) + 6)  # each word is reached in one way
    low = way = grand = 0
    for q, n in enumerate((3, 1, 5)):
        here, own = slice(low, low + (n + 1) ** 2), np.array([0, n])
        mine = link_arcs(factors.arcs[here], own)
        starts, own_ways, _ = lay_ways(factors.arcs[here], own)
        end, last = way + len(own_ways), grand + mine.begins[-1]
        parts = Factors(
            factors.arcs[here],
            starts,
            factors.ways[way:end],
            factors.stops[here],
            factors.grands[grand:last],
        )
        alone = sum_trees(own, mine, parts)
        assert alone.logs[0] == pytest.approx(found.logs[q])
        np.testing.assert_allclose(alone.arcs, found.arcs[here], atol=1e-12)
        np.testing.assert_allclose(alone.stops, found.stops[here], atol=1e-12)
        np.testing.assert_allclose(alone.grands, found.grands[grand:last], atol=1e-12)
        low, way, grand = low + (n + 1) ** 2, end, last


@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_expectations_sum_to_one_at_any_length_and_size(size: float) -> None:
    offsets = np.array([0, 120])
    weights = np.full(121**2, 0.0).reshape(121, 121)
    rng = np.random.default_rng(0)
    for word in range(1, 121):
        weights[[word - 1, min(word + 1, 120), 0], word] = size * rng.random(3)
    np.fill_diagonal(weights, 0.0)
    links = link_arcs(weights.ravel(), offsets)
    starts, ways, _ = lay_ways(weights.ravel(), offsets)
    factors = Factors(
        weights.ravel(), starts, rng.random(len(ways)), rng.random(121**2), rng.random(links.begins[-1])
    )
    found = sum_trees(offsets, links, factors)
    assert np.isfinite(found.logs).all()
    np.testing.assert_allclose(found.arcs.reshape(121, 121)[:, 1:].sum(axis=0), 1.0, atol=1e-9)
    assert found.grands.sum() == pytest.approx(120)


def test_sentences_without_a_tree_have_nothing() -> None:
    offsets = np.array([0, 2])
    weights = np.zeros(9)
    weights[5] = 1.0  # word 1 -> word 2: no word hangs on the root
    links = link_arcs(weights, offsets)
    starts, ways, _ = lay_ways(weights, offsets)
    found = sum_trees(offsets, links, Factors(weights, starts, np.ones(len(ways)), np.ones(9), np.ones(9)))
    assert np.isneginf(found.logs).all()
    assert not found.arcs.any()

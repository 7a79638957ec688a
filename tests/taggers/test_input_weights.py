"""Weights that make the inputs of tagged sentences independent."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sigmastar.taggers.counts.input_weights import InputWeights


@pytest.fixture
def corpus() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(1, 6, 200)))
    return rng.choice(3, offsets[-1], p=[0.6, 0.3, 0.1]).astype(np.int32), offsets


def test_weighed_gaps_and_tokens_are_those_of_independent_inputs(corpus: tuple) -> None:
    inputs, offsets = corpus
    weights = InputWeights.local(inputs, offsets, smoothing=0.0)
    edged, tokens = [3], []
    for low, high in pairwise(offsets):
        tokens += range(len(edged), len(edged) + high - low)
        edged += [*inputs[low:high], 3]
    share = {u: n / len(edged) for u, n in Counter(edged).items()}
    for events, values in (
        ([(u, v) for u, v in pairwise(edged)], weights.gaps),
        ([tuple(edged[i - 1 : i + 2]) for i in tokens], weights.tokens),
    ):
        for event in set(events):
            total = sum(w for e, w in zip(events, values, strict=True) if e == event)
            assert total == pytest.approx(len(events) * np.prod([share[u] for u in event]))


def test_smoothing_leads_from_independent_inputs_to_plain_counts(corpus: tuple) -> None:
    spread = [np.ptp(InputWeights.local(*corpus, smoothing=s).tokens) for s in (0.0, 1.0, 100.0, 1e9)]
    assert spread == sorted(spread, reverse=True)
    np.testing.assert_allclose(InputWeights.local(*corpus, smoothing=1e9).gaps, 1.0, atol=1e-6)


def test_weights_of_whole_sentences(corpus: tuple) -> None:
    inputs, offsets = corpus
    weights = InputWeights.whole(inputs, offsets)
    share = np.append(np.bincount(inputs), 200) / (len(inputs) + 200)
    rows = [tuple(inputs[low:high]) for low, high in pairwise(offsets)]
    for row in set(rows):
        total = sum(
            weights.tokens[low] for (low, _), x in zip(pairwise(offsets), rows, strict=True) if x == row
        )
        assert total == pytest.approx(200 * np.prod(share[list(row)]) * share[3])
    assert len(weights.gaps) == len(inputs) + 200

"""Classes of gaps, blocks on them, and weights that make the inputs of tagged sentences independent."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sigmastar.core.alphabet import Alphabet
from sigmastar.taggers.counts import InputWeights, TagContexts


def test_classes_refine_tags_by_words_then_by_tags_beyond() -> None:
    words, tags = np.array([0, 1, 0, 1, 2, 1], np.int32), np.array([0, 1, 0, 1, 0, 1], np.int32)
    offsets = np.array([0, 2, 4, 6])
    coarse = TagContexts.of(words, tags, offsets, least_word=99, least_class=99)
    assert coarse.shape == (3, 3)  # a start or an end, and the two tags
    fine = TagContexts.of(words, tags, offsets, least_word=2, least_class=99)
    assert fine.past[fine.token_gaps[0] + 1] == fine.past[fine.token_gaps[2] + 1]
    assert fine.past[fine.token_gaps[0] + 1] != fine.past[fine.token_gaps[4] + 1]  # a rare word
    assert int(fine.matrix.sum()) == len(words) + len(offsets) - 1


def test_blocks_are_counts() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 5, 30)
    offsets = np.append(0, np.cumsum(lengths))
    words, tags = (rng.integers(0, 3, offsets[-1]).astype(np.int32) for _ in range(2))
    contexts = TagContexts.of(words, tags, offsets, 3, 3)
    blocks = contexts.blocks(tags, Alphabet(range(3)))
    stop, symbol = blocks.signature.operations
    slices = blocks.slices[symbol].toarray()
    wanted = np.zeros_like(slices)
    ends = np.zeros(contexts.shape[0])
    for s, (low, high) in enumerate(pairwise(offsets)):
        for i in range(low, high):
            wanted[tags[i], contexts.past[i + s], contexts.future[i + s + 1]] += 1
        ends[contexts.past[high + s]] += 1
    np.testing.assert_array_equal(slices, wanted)
    np.testing.assert_array_equal(np.asarray(blocks.slices[stop])[0], ends)
    assert blocks.roots["string"].sum() == 1.0


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

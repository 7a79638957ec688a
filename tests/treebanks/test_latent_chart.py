"""Charts with states whose totals are far from those of the plain chart that they run on."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.treebanks.kernels.latent_chart import LeafVectors, latent_posteriors
from sigmastar.treebanks.kernels.plain_chart import Allowed
from sigmastar.treebanks.model.coarse_to_fine import (
    EVERYTHING,
    CoarseGrammar,
    Pruning,
    chart_edges,
    plain_chart,
)
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves


@pytest.mark.parametrize("factor", [2.0**10, 2.0**-10])
def test_single_precision_holds_totals_a_thousand_powers_of_two_apart(factor: float) -> None:
    n, one = 100, np.ones(2, dtype=np.int64)
    rules = np.array([[1, 0, 0], [1, 0, 1]], dtype=np.int32)
    grammar = LatentGrammar(rules, one, np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.ones(2))
    level, none = CoarseGrammar(grammar), np.full(n, -1, dtype=np.int64)
    leaves = Leaves(none, none, np.arange(n + 1), np.zeros(n, dtype=np.int32), np.ones(n))
    chart = plain_chart(level, leaves, 0.0, 0.0, Allowed(np.full(2, -1, dtype=np.int32), EVERYTHING))
    graph = chart_edges(level, chart, Pruning(coarse=1e-9, edges=1e-12))
    vectors = LeafVectors(leaves.begin, leaves.symbols, np.arange(n + 1), np.full(n, factor))
    posteriors, uses, log2_total = latent_posteriors(graph, vectors, grammar.arrays)
    assert log2_total == pytest.approx(n * np.log2(factor) - (n - 1))
    np.testing.assert_allclose(posteriors, 1.0, rtol=1e-5)  # one tree alone
    np.testing.assert_allclose(uses, 1.0, rtol=1e-5)

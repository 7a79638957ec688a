"""What distances weigh, and the training of arcs and siblings: probabilities, and a likelihood that rises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.core.model_files import load_model, save_model
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.distances import N_BINS
from sigmastar.dependency.learn.arcs import learn_arcs
from sigmastar.dependency.learn.distances import learn_distances, shrunk
from sigmastar.dependency.learn.methods import learn_parser
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.dependency.model.sampling import sample_trees


@pytest.fixture(scope="module")
def treebank() -> DependencyTreebank:
    rng = np.random.default_rng(0)
    return sample_trees(make_head_automata(["a", "b", "c"], 2, rng, n_modifiers=0.5), 150, rng, 12)


def test_shrunk_counts_are_probabilities_between_counts_and_what_is_known_coarsely() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (7, 3, N_BINS)).astype(np.float64)
    counts[2, 1] = 0.0
    found = shrunk(counts)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0)
    assert (found > 0).all()
    many = shrunk(1e6 * counts + 1e-9)
    np.testing.assert_allclose(many[0, 0], counts[0, 0] / counts[0, 0].sum(), atol=1e-3)


def test_distances_at_which_words_are_arcs_weigh_more() -> None:
    """From b leftwards to a there is an arc at two words, and none where they are neighbours."""
    tags, heads = [list("axb"), list("abx")] * 50, [[3, 3, 0], [3, 3, 0]] * 50
    treebank, codes = (
        DependencyTreebank.of(tags, tags, heads),
        np.array([0, 2, 1, 0, 1, 2] * 50, dtype=np.int32),
    )
    weights = learn_distances(treebank, codes, 3)
    assert weights[2, 0, 1] > 1.0 > weights[2, 0, 0]
    np.testing.assert_allclose(learn_distances(treebank, codes, 3, power=0.0), 1.0)


def test_distances_are_kept_in_files_and_left_out_if_asked(
    treebank: DependencyTreebank, tmp_path: Path
) -> None:
    parser = learn_parser(treebank, "det+f", symbols="upos", rng=np.random.default_rng(0))
    save_model(parser, tmp_path / "m")
    again: DependencyParser = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.parse(treebank).heads, parser.parse(treebank).heads)
    plain = learn_parser(treebank, "det+f", symbols="upos", rng=np.random.default_rng(0), distances=False)
    assert plain.distances is None
    bare = parser.with_parts(distances=None).parse(treebank, marginals=True)
    for one, two in zip(bare.marginals, plain.parse(treebank, marginals=True).marginals, strict=True):
        np.testing.assert_allclose(one, two)


def gold_share(parser: DependencyParser, treebank: DependencyTreebank) -> float:
    """The mean marginal of gold arcs."""
    tables = parser.parse(treebank, marginals=True).marginals
    ends = treebank.sentence_offsets
    shares = [
        table[treebank.head[ends[q] : ends[q + 1]], np.arange(1, len(table))].mean()
        for q, table in enumerate(tables)
    ]
    return float(np.mean(shares))


def test_training_raises_the_marginals_of_gold_arcs_epoch_by_epoch(treebank: DependencyTreebank) -> None:
    parser = learn_parser(treebank, "det+f", symbols="upos", rng=np.random.default_rng(0))
    shares = [
        gold_share(
            parser.with_parts(arc_weights=learn_arcs(parser, treebank, np.random.default_rng(0), n)), treebank
        )
        for n in (1, 4, 16)
    ]
    assert shares == sorted(shares)
    assert gold_share(parser, treebank) < shares[2]

"""Counts that grammars are stored as: what is dropped, and that tensors follow from what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar import SpectralTreebankGrammar
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.treebanks.model.latent_grammar import LEAST, LatentGrammar, RuleCounts, rule_states
from sigmastar.trees import make_treebank


def test_small_counts_are_dropped_and_others_rounded() -> None:
    counts = np.array([[100.0, 0.5 * LEAST, 2 * LEAST, 0.0], [0.02, 0.02, 0.02, 1e-5]])
    kept = RuleCounts.of(counts.ravel(), np.array([0, 4, 8]), 8.0, 5.0)
    assert kept.starts.tolist() == [0, 2, 5]
    assert kept.cells.tolist() == [0, 2, 0, 1, 2]  # flat rules keep what is small but even
    assert kept.values == pytest.approx([100.0, 0.02, 0.02, 0.02, 0.02], rel=2**-8)


@pytest.mark.parametrize("strength", [0.0, 8.0])
def test_tensors_are_mixtures_of_products_of_margins(strength: float) -> None:
    """The twin writes the formula with whole arrays."""
    rng = np.random.default_rng(1)
    rules = np.array([[0, 1, 2], [0, 2, 2], [1, 0, 0]], dtype=np.int32)
    n_states = np.array([2, 3, 4])
    states = rule_states(rules, n_states)
    frequencies = rng.uniform(0.1, 1.0, 9)
    counts = np.where(rng.random(int(states.offsets[-1])) < 0.5, rng.integers(1, 200, states.offsets[-1]), 0)
    kept = RuleCounts.of(counts.astype(np.float64), states.offsets, strength, 5.0)
    found = LatentGrammar.of_counts(states, kept, np.ones(9) / 9, frequencies)
    mixed, norms = [], [np.zeros(n) for n in n_states]
    shares = [part / part.sum() for part in np.split(frequencies, [2, 5])]
    for number, (a, b, c) in enumerate(rules.tolist()):
        low, high = states.offsets[number : number + 2]
        table = counts[low:high].reshape(n_states[b], n_states[c], n_states[a]).astype(float)
        n = table.sum()
        y, z, x = (
            (table.sum(axis=axes) + 5.0 * shares[symbol]) / (n + 5.0)
            for axes, symbol in (((1, 2), b), ((0, 2), c), ((0, 1), a))
        )
        pairs = (
            np.einsum("yz,x->yzx", table.sum(2), x)
            + np.einsum("yx,z->yzx", table.sum(1), z)
            + np.einsum("zx,y->yzx", table.sum(0), y)
        ) / 3.0
        mix = np.sqrt(n) / (strength + np.sqrt(n))
        triple = n * np.einsum("y,z,x->yzx", y, z, x)
        mixed.append(mix * table + (1 - mix) * (mix * pairs + (1 - mix) * triple))
        norms[a] += mixed[-1].sum(axis=(0, 1))
    for number, a in enumerate(rules[:, 0].tolist()):
        assert found.tensor(number) == pytest.approx(mixed[number] / norms[a], rel=1e-5, abs=1e-9)


def test_what_was_learned_and_what_was_read_are_the_same_numbers(tmp_path) -> None:  # type: ignore[no-untyped-def]
    trees = make_treebank(150, random_state=1, max_words=10).trees
    parser = SpectralTreebankGrammar("spectral+em", n_states=6).fit(trees).model_
    save_model(parser, tmp_path / "m")
    read = load_model(tmp_path / "m").members[0].grammar
    assert np.array_equal(read.tensors, parser.members[0].grammar.tensors)
    dense = sum(array.nbytes for array in parser.members[0].grammar.to_parts().values())
    assert dense < parser.members[0].grammar.tensors.nbytes

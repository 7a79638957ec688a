"""Grammars in files: those of many numbers take 16 bits for each."""

from __future__ import annotations

import numpy as np

from sigmastar.treebanks.model.latent_grammar import _MANY, LatentGrammar


def test_large_grammars_are_stored_in_half_the_room_and_nearly_the_same() -> None:
    k = int(np.ceil(_MANY ** (1 / 3)))
    values = np.random.default_rng(0).normal(size=k**3) * 10.0 ** np.random.default_rng(1).integers(
        -30, 3, k**3
    )
    values[:2] = 0.0, 1.0
    grammar = LatentGrammar(
        np.zeros((1, 3), np.int32), np.array([k]), values.astype(np.float32), np.ones(k), np.ones(k)
    )
    parts = grammar.to_parts()
    assert parts["tensors"].nbytes == 2 * k**3
    again = LatentGrammar.from_parts(parts, 1).tensors
    assert again.dtype == np.float32
    assert again[:2].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(again, grammar.tensors, rtol=2**-8)


def test_small_grammars_keep_single_precision() -> None:
    values = np.array([0.1], dtype=np.float64)
    grammar = LatentGrammar(np.zeros((1, 3), np.int32), np.array([1]), values, np.ones(1), np.ones(1))
    assert LatentGrammar.from_parts(grammar.to_parts(), 1).tensors[0] == np.float32(0.1)

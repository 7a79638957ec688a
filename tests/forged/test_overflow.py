"""Sizes whose products do not fit into 64 bits, claimed by arrays that are small."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.transducers.model.refined_chain import RefinedChain
from sigmastar.treebanks.model.latent_grammar import LatentGrammar


def test_tensors_of_more_numbers_than_there_are() -> None:
    n = 1 << 22  # n ** 3 is zero in 64 bits
    arrays = {
        "rules": np.zeros((1, 3), dtype=np.int32),
        "n_states": np.array([n]),
        "roots": np.zeros(n),
        "frequencies": np.zeros(n),
    }
    with pytest.raises(ValueError, match="do not fit the numbers of states"):
        LatentGrammar.from_parts({**arrays, "tensors": np.zeros(0, dtype=np.float32)}, 1)
    with pytest.raises(ValueError, match=r"more than .* counts can fill"):
        LatentGrammar.from_parts({**arrays, "counts.starts": np.zeros(2, dtype=np.int64)}, 1)


def test_offsets_beyond_what_there_is() -> None:
    arrays = {
        "context_parent": np.zeros(1, dtype=np.int32),
        "context_symbol": np.full(1, -1, dtype=np.int32),
        "row_starts": np.array([0, 2**31]),
        "outcomes": np.zeros(1, dtype=np.int32),
        "own": np.ones(1),
        "backoff": np.zeros(1),
    }
    with pytest.raises(ValueError, match="'row_starts' must rise from 0 to 1"):
        NgramModel.from_parts(arrays, {"alphabet": Alphabet("a")})
    arrays["row_starts"] = np.array([0, 1])
    chain = {f"bigram.{name}": array for name, array in arrays.items()}
    chain |= {
        "firsts": np.array([0, 2**32, 2**32 + 1]),
        "pair_keys": np.zeros(1, dtype=np.int64),
        "blocks": np.zeros(0),
        "spare": np.zeros(2),
        "shares": np.zeros(2),
    }
    with pytest.raises(ValueError, match="'firsts' must rise from 0 to 2"):
        RefinedChain.from_parts(chain, {"alphabet": Alphabet("a")})

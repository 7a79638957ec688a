"""Laws of recovery, each on every family."""

from __future__ import annotations

import numpy as np
import pytest

from core.families_of_laws import FAMILIES, Case, Family, case
from sigmastar.core.alphabet import OperatorModel
from sigmastar.core.factors import dense
from sigmastar.core.recover import Blocks, SparseTensor, factorize_blocks, recover

SEEDS = [0, 1, 2]

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def relative_error(model: OperatorModel, known: Case) -> float:
    """The worst error on structures that the blocks do not hold."""
    expected = np.array([known.truth.value(term) for term in known.fresh])
    found = np.array([model.value(term) for term in known.fresh])
    return float(np.max(np.abs(found - expected) / np.abs(expected)))


def well_conditioned(n: int, rng: np.random.Generator) -> np.ndarray:
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return left * rng.uniform(0.5, 2.0, n) @ right


def sparse(blocks: Blocks) -> Blocks:
    slices = {op: _sparse_tensor(dense) for op, dense in blocks.slices.items()}
    return Blocks(blocks.signature, blocks.matrices, slices, blocks.roots)


def _sparse_tensor(dense: np.ndarray) -> SparseTensor:
    keys = np.flatnonzero(dense)
    return SparseTensor.of_keys(dense.shape, keys, dense.ravel()[keys])


@every_family
@every_seed
def test_exact_statistics_give_the_model_back(family: Family, seed: int) -> None:
    known = case(family, seed)
    found = recover(known.blocks, factorize_blocks(known.blocks, family.n_states))
    assert len(known.fresh) == 30
    assert relative_error(found, known) < 1e-9


@every_family
@every_seed
def test_sparse_slices_give_the_same_model(family: Family, seed: int) -> None:
    known = case(family, seed)
    found = recover(sparse(known.blocks), factorize_blocks(known.blocks, family.n_states))
    assert relative_error(found, known) < 1e-9


@every_family
@every_seed
def test_a_change_of_basis_changes_no_value(family: Family, seed: int) -> None:
    known, rng = case(family, seed), np.random.default_rng(seed)
    bases = {sort: well_conditioned(n, rng) for sort, n in family.n_states.items()}
    turned = known.truth.change_basis(bases)
    assert relative_error(turned, known) < 1e-9
    root = family.signature.roots[0]
    assert not np.allclose(turned.roots[root], known.truth.roots[root])


@every_family
@every_seed
def test_weighted_blocks_give_the_same_function(family: Family, seed: int) -> None:
    known, rng = case(family, seed), np.random.default_rng(seed)
    outside, inside = (
        {s: rng.uniform(0.3, 3.0, m.shape[axis]) for s, m in known.blocks.matrices.items()} for axis in (0, 1)
    )
    weighted = known.blocks.weighted(outside, inside)
    found = recover(weighted, factorize_blocks(weighted, family.n_states))
    assert relative_error(found, known) < 1e-9


@every_family
@every_seed
def test_one_factorisation_serves_every_smaller_one(family: Family, seed: int) -> None:
    blocks = case(family, seed).blocks
    factors = factorize_blocks(blocks, family.n_states)
    leading = recover(blocks, {sort: f.leading(f.n_states - 1) for sort, f in factors.items()})
    direct = recover(blocks, factorize_blocks(blocks, {sort: n - 1 for sort, n in family.n_states.items()}))
    for op in family.signature.operations:
        np.testing.assert_allclose(leading.operators[op], direct.operators[op], rtol=1e-9, atol=1e-12)


@every_family
@every_seed
def test_the_rank_of_a_block_is_the_number_of_states(family: Family, seed: int) -> None:
    ranks = {
        sort: int(np.linalg.matrix_rank(dense(m))) for sort, m in case(family, seed).blocks.matrices.items()
    }
    assert ranks == dict(family.n_states)


@every_family
@every_seed
def test_more_states_than_the_rank_are_refused(family: Family, seed: int) -> None:
    with pytest.raises(ValueError, match="exceeds block rank"):
        factorize_blocks(case(family, seed).blocks, {sort: n + 1 for sort, n in family.n_states.items()})


@every_family
@every_seed
def test_fewer_states_than_the_rank_lose_something(family: Family, seed: int) -> None:
    known = case(family, seed)
    fewer = factorize_blocks(known.blocks, {sort: n - 1 for sort, n in family.n_states.items()})
    assert relative_error(recover(known.blocks, fewer), known) > 1e-3

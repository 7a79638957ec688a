"""Forward and backward through lanes of a text, a piece at a time, with what is known carried over.

    alpha_t = (prior_t o e_t) / mass_t,     prior_t+1 = alpha_t T
    back_t  = v_t+1 T^T,                    v_t = (e_t o back_t) / mass_t
    posterior of token t: alpha_t o back_t; expected moves: T o sum of alpha_t^T v_t+1

A text is cut into lanes that are read side by side; the tokens of a piece are steps x lanes. Nothing is known
behind a piece: its last tokens see no future.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch

_TINY = 1e-30
_SHORTEST = 8  # tokens of a lane: shorter ones would have no moves


def wide_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A product with sums, and a result, in float32 at least."""
    torch = import_torch()
    if a.dtype == torch.bfloat16 and a.device.type == "cuda":
        return torch.mm(a, b, out_dtype=torch.float32)
    return a @ b if a.dtype == torch.float64 else a.float() @ b.float()


def lanes(tokens: Array, n_lanes: int, device: Any, shift: int = 0) -> torch.Tensor:
    """A text as steps x lanes, after `shift` tokens were moved from its beginning to its end."""
    torch = import_torch()
    n_lanes = max(1, min(n_lanes, len(tokens) // _SHORTEST))
    length = len(tokens) // n_lanes
    turned = np.roll(tokens, -shift)[: n_lanes * length].reshape(n_lanes, length)
    return torch.from_numpy(np.ascontiguousarray(turned.T, dtype=np.int64)).to(device)


def pieces(table: torch.Tensor, n_steps: int) -> Iterator[torch.Tensor]:
    """Runs of steps."""
    for begin in range(0, len(table), n_steps):
        yield table[begin : begin + n_steps]


@dataclass(frozen=True, eq=False)
class Expected:
    """Of a piece: posteriors of its tokens (tokens x states), moves, log-likelihood, and the last alpha."""

    posterior: torch.Tensor
    moves: torch.Tensor
    log_likelihood: torch.Tensor
    last: torch.Tensor


def expected(prior: torch.Tensor, emitted: torch.Tensor, moves: torch.Tensor) -> Expected:
    """Expected counts of a piece.

    Parameters
    ----------
    prior : tensor
        Lanes x states: what is known of the state of the first token.
    emitted : tensor
        Steps x lanes x states: the probability of each token in each state.
    moves : tensor
        States x states, in the precision of products.

    Returns
    -------
    Expected
        Moves are multiplied by those of the model already.
    """
    torch = import_torch()
    n_steps, alphas = len(emitted), torch.empty_like(emitted)
    masses = torch.empty(emitted.shape[:2], dtype=prior.dtype, device=prior.device)
    for t in range(n_steps):
        joint = prior * emitted[t]
        masses[t] = joint.sum(dim=1)
        alphas[t] = joint / masses[t].clamp_min(_TINY)[:, None]
        if t + 1 < n_steps:
            prior = wide_product(alphas[t], moves)
    inverse = 1.0 / masses.clamp_min(_TINY)
    backwards, weights = moves.T.contiguous(), emitted  # the emissions are read once more, then written over
    posterior = torch.empty_like(emitted)
    posterior[-1] = alphas[-1]
    weights[-1] *= inverse[-1, :, None].to(weights.dtype)
    for t in range(n_steps - 2, -1, -1):
        back = wide_product(weights[t + 1], backwards)
        posterior[t] = alphas[t] * back
        weights[t] = weights[t] * (back * inverse[t, :, None])
    n = moves.shape[0]
    pairs = wide_product(alphas[:-1].reshape(-1, n).T, weights[1:].reshape(-1, n)) * moves
    return Expected(posterior.reshape(-1, n), pairs, masses.clamp_min(_TINY).log().sum(), alphas[-1])


def probabilities(
    tokens: Array, initial: torch.Tensor, moves: torch.Tensor, by_word: torch.Tensor, n_lanes: int, warm: int
) -> Floats:
    """The probability of each token given those before it.

    The text is read in lanes, each of which begins `warm` tokens early: what came before is forgotten by
    then. One lane is exact.
    """
    torch = import_torch()
    n_lanes = max(1, min(n_lanes, len(tokens) // max(warm, 1)))
    length = -(-len(tokens) // n_lanes)
    places = np.arange(n_lanes) * length + np.arange(-warm if n_lanes > 1 else 0, length)[:, None]
    inside = (places >= 0) & (places < len(tokens))
    table = torch.from_numpy(
        np.where(inside, tokens[np.clip(places, 0, len(tokens) - 1)], 0).astype(np.int64)
    )
    table, live = table.to(initial.device), torch.from_numpy(inside).to(initial.device)
    prior = initial.repeat(n_lanes, 1)
    found = torch.empty(table.shape, dtype=initial.dtype, device=initial.device)
    for t in range(len(table)):
        joint = prior * by_word[table[t]]
        found[t] = joint.sum(dim=1)
        behind = (joint / found[t].clamp_min(_TINY)[:, None]).to(moves.dtype) @ moves
        prior = torch.where(live[t][:, None], behind.to(initial.dtype), prior)
    result = np.empty(len(tokens))
    mine = inside & (np.arange(len(places)) >= len(places) - length)[:, None]
    result[places[mine]] = found.double().cpu().numpy()[mine]
    return result

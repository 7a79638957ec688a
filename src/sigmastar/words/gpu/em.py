"""The first states of words and EM with discounts, on tensors: thousands of states, dense.

The same steps as `learn.token_clusters` and `learn.em` take on a processor, without the pruning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sigmastar.core.arrays import Array
from sigmastar.core.torch_device import import_torch
from sigmastar.words.gpu.chains import expected, lanes, pieces
from sigmastar.words.gpu.replay import Replayed

if TYPE_CHECKING:
    import torch

GROUP = 16
LANES, STEPS = 1024, 32
_CELLS = 1 << 27  # numbers of a table at a time


@dataclass(frozen=True, eq=False)
class TensorChain:
    """Initial, moves (states x states) and words (words x states) of a model."""

    initial: torch.Tensor
    moves: torch.Tensor
    by_word: torch.Tensor


@dataclass(frozen=True, eq=False)
class TensorCounts:
    """Expected counts of moves and words, and the perplexity of the text they were taken on."""

    moves: torch.Tensor
    by_word: torch.Tensor
    perplexity: float


def cluster_tokens(
    past: Array, future: Array, pasts: Array, futures: Array, n_states: int, seed: int, n_steps: int = 12
) -> tuple[torch.Tensor, torch.Tensor]:
    """k-means of tokens given by their two classes (`counts.TokenViews`): labels, and centres."""
    torch = import_torch()
    device = pasts.device
    chance = torch.Generator(device=device).manual_seed(seed)
    chosen = torch.randperm(len(past), generator=chance, device=device)[:n_states]
    centres = torch.cat([pasts[past[chosen]], futures[future[chosen]]], dim=1)
    labels = torch.zeros(len(past), dtype=torch.int64, device=device)
    for _ in range(n_steps):
        left = (centres**2).sum(dim=1) - 2 * pasts @ centres[:, : pasts.shape[1]].T
        right = -2 * futures @ centres[:, pasts.shape[1] :].T
        size = max(_CELLS // len(centres), 1)
        for begin in range(0, len(past), size):
            here = slice(begin, begin + size)
            labels[here] = (left[past[here]] + right[future[here]]).argmin(dim=1)
        sums = torch.zeros_like(centres)
        for begin in range(0, len(past), 1 << 18):
            here = slice(begin, begin + (1 << 18))
            sums.index_add_(0, labels[here], torch.cat([pasts[past[here]], futures[future[here]]], dim=1))
        sizes = torch.bincount(labels, minlength=len(centres))[:, None]
        centres = torch.where(sizes > 0, sums / sizes.clamp_min(1), centres)
    return labels, centres


def group_states(centres: torch.Tensor, seed: int, n_steps: int = 12) -> torch.Tensor:
    """The group of every state: k-means of the centres."""
    torch = import_torch()
    n_groups = max(1, round(len(centres) / GROUP))
    chance = torch.Generator(device=centres.device).manual_seed(seed)
    middles = centres[torch.randperm(len(centres), generator=chance, device=centres.device)[:n_groups]]
    for _ in range(n_steps):
        groups = torch.cdist(centres, middles).argmin(dim=1)
        sums = torch.zeros_like(middles).index_add_(0, groups, centres)
        sizes = torch.bincount(groups, minlength=n_groups)[:, None]
        middles = torch.where(sizes > 0, sums / sizes.clamp_min(1), middles)
    return groups


def label_counts(labels: torch.Tensor, tokens: torch.Tensor, n_states: int, n_words: int) -> TensorCounts:
    """Counts of labelled tokens."""
    torch = import_torch()
    moves = torch.bincount(labels[:-1] * n_states + labels[1:], minlength=n_states**2)
    words = torch.bincount(tokens * n_states + labels, minlength=n_states * n_words)
    moves, words = moves.view(n_states, n_states).float(), words.view(n_words, n_states).float()
    return TensorCounts(moves, words, float("nan"))


def discounted(
    counts: torch.Tensor, groups: torch.Tensor, discount: float, group_discount: float, floor: torch.Tensor
) -> torch.Tensor:
    """Of counts of columns x states: probabilities that back off to groups of states, and to `floor`."""
    torch = import_torch()
    n_groups = int(groups.max()) + 1
    member = torch.zeros(len(groups), n_groups, dtype=counts.dtype, device=counts.device)
    member[torch.arange(len(groups), device=counts.device), groups] = 1.0
    totals, left = counts.sum(dim=0), counts.clamp_max(discount).sum(dim=0)
    by_group = counts @ member
    sums, spare = by_group.sum(dim=0), by_group.clamp_max(group_discount).sum(dim=0)
    shared = (by_group - group_discount).clamp_min(0.0) / sums.clamp_min(1e-30)
    shared += floor[:, None] * torch.where(sums > 0, spare / sums.clamp_min(1e-30), 1.0)
    rest = torch.where(totals > 0, left / totals.clamp_min(1e-30), 1.0)
    own = (counts - discount).clamp_min(0.0) / totals.clamp_min(1e-30)
    return own.add_(shared[:, groups] * rest)


def smoothed(
    counts: TensorCounts, groups: torch.Tensor, unigram: torch.Tensor, words: float, moves: float
) -> TensorChain:
    """A model from expected counts, with discounts of words and of moves."""
    shares = counts.moves.sum(dim=0)
    shares = shares / shares.sum()
    by_word = discounted(counts.by_word, groups, words, words, unigram)
    back = discounted(counts.moves.T.contiguous(), groups, moves, moves, shares)
    return TensorChain(shares, back.T.contiguous(), by_word)


def expect_text(chain: TensorChain, tokens: Array, dtype: Any, n_lanes: int = LANES) -> TensorCounts:
    """Expected counts of a text in lanes."""
    torch = import_torch()
    moves, words = chain.moves.to(dtype), chain.by_word.to(dtype)
    pairs, by_word = torch.zeros_like(chain.moves), torch.zeros_like(chain.by_word)
    table = lanes(tokens, n_lanes, moves.device)
    prior, total = chain.initial.repeat(table.shape[1], 1), 0.0
    expect = Replayed(expected)
    steps = max(1, min(STEPS, (1 << 30) // (table.shape[1] * len(moves))))
    for piece in pieces(table, steps):
        found = expect(prior, words[piece], moves)
        pairs += found.moves
        by_word.index_add_(0, piece.reshape(-1), found.posterior.to(by_word.dtype))
        prior = (found.last @ moves).to(prior.dtype)
        total += found.log_likelihood.double()
    return TensorCounts(pairs, by_word, float(torch.exp(-torch.as_tensor(total) / table.numel())))

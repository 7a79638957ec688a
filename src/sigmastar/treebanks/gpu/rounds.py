"""Rounds of EM of a treebank grammar that stay on a device: counts never leave it.

    expect     `trees`: expected counts of rules, roots and states of words
    maximize   l C + (1 - l) [l mean of pair x single products + (1 - l) triple product], per rule
               T[y, z, x] = P(rule, y, z | x);  score(a, z, w) by the way up from every word

as `learn.clusters_and_em.maximized` does with compiled kernels. What files keep of counts, those above a
least share with 7 bits of their mantissa, is what tensors are made of here too: each number is read twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.torch_device import batch_budget, import_torch, on_device
from sigmastar.treebanks.gpu.trees import Expectations, TensorExpectations, TorchTrees

if TYPE_CHECKING:
    import torch

_SHARE = 0.1  # of the free memory of a GPU
_AT_TOP = 1e-9  # of a count that every state of a word has
_OF_ROOTS = 0.01  # counts that are shared among the states of symbols that are roots


class Shrink(NamedTuple):
    """How counts are shrunk, and the share of the largest of a rule that is worth keeping."""

    strength: float
    backing: float
    across: float  # of the probability of a word, shared among the states of a symbol
    least: float


class WordRows(NamedTuple):
    """The words of a treebank with a leaf symbol each, and what they count for in a forest of pairs."""

    leaves: Int64s  # nodes of the treebank
    row: Int64s  # of each leaf
    counted: Int64s  # [row, level]: pairs that an occurrence counts for, -1 for none
    read: Int64s  # [row, level]: pairs that its vector is a sum over
    weights: Floats  # of each of these
    symbols: Int32s  # of each pair
    counts: Floats
    n_above: int  # pairs of the node of all words, which come last
    n_leaves: int  # symbols of leaves
    total: float  # of all words


class TorchFit(NamedTuple):
    """A grammar and its lexicon on a device, and the expected counts that it was made of."""

    tensors: torch.Tensor  # rule, left, right, parent
    roots: torch.Tensor  # symbol, state
    scores: torch.Tensor  # row of words, state
    frequencies: torch.Tensor | None  # of states of symbols, per tree
    values: torch.Tensor | None  # of states of pairs, as a `Lexicon` has them
    found: TensorExpectations | None


def kept(counts: torch.Tensor, least: float) -> torch.Tensor:
    """What files keep of counts [rule, ..]: the larger ones, with 7 bits of their mantissa."""
    torch, kind = import_torch(), counts.dtype
    bounds = (least * counts.amax(dim=(1, 2, 3), keepdim=True)).clamp(1e-30, least)
    bits = (counts.float().view(torch.int32) + 0x8000) & -0x10000
    return bits.view(torch.float32).to(kind).masked_fill_(counts < bounds, 0.0)


def smoothed(
    counts: torch.Tensor, shares: tuple[torch.Tensor, ...], strength: float, backing: float
) -> torch.Tensor:
    """Counts [rule, left, right, parent] mixed with products of their margins, shrunk towards `shares`.

    The shares are those of the states of the left child, the right child and the parent of each rule.
    """
    yz, yx, zx = (counts.sum(dim=axis) for axis in (3, 2, 1))
    total = yz.sum(dim=(1, 2))[:, None]
    norm = (total > 0) / (total + backing).clamp_min(1e-300)
    y, z, x = (
        (margin + backing * share) * norm
        for margin, share in zip((yz.sum(dim=2), yz.sum(dim=1), yx.sum(dim=1)), shares, strict=True)
    )
    root = total.sqrt()[:, :, None]
    mix = root / (strength + root).clamp_min(1e-300)
    pairs, triple = (1 - mix) * mix / 3.0, (1 - mix) ** 2 * total[:, :, None]
    result = mix[..., None] * counts
    result += (pairs * yz + triple * y[:, :, None] * z[:, None])[..., None] * x[:, None, None]
    result += (pairs * yx)[:, :, None] * z[:, None, :, None]
    result += (pairs * zx)[:, None] * y[:, :, None, None]
    return result


def conditional(
    counts: torch.Tensor, rules: torch.Tensor, shares: torch.Tensor, shrink: Shrink, least: float
) -> torch.Tensor:
    """T[y, z, x] = P(rule, y, z | x) of counts, some rules at a time; a least of 0 keeps them as they are.

    `shares` [symbol, state] are what margins are shrunk towards; rules are [rule, (parent, left, right)].
    """
    torch, m = import_torch(), counts.shape[1]
    size = max(int(batch_budget(counts.device, _SHARE) // (6 * m**3 * counts.dtype.itemsize)), 1)
    result = torch.empty_like(counts)
    outgoing = torch.zeros(shares.shape, dtype=torch.float64, device=counts.device)
    for low in range(0, len(rules), size):
        some = slice(low, low + size)
        parent, left, right = rules[some].unbind(1)
        mine = kept(counts[some], least) if least > 0 else counts[some]
        given = tuple(shares[side].to(counts.dtype) for side in (left, right, parent))
        result[some] = smoothed(mine, given, shrink.strength, shrink.backing)
        outgoing.index_add_(0, parent, result[some].sum(dim=(1, 2)).double())
    norms = ((outgoing > 0) / outgoing.where(outgoing > 0, 1.0)).to(counts.dtype)
    for low in range(0, len(rules), size):
        result[low : low + size] *= norms[rules[low : low + size, 0]][:, None, None]
    return result


class TorchRounds:
    """A treebank, its words and how counts are shrunk, on the device of the trees.

    Parameters
    ----------
    trees : TorchTrees
        The treebank.
    rules : array
        Parent, left and right of every rule.
    words : WordRows
        Its words.
    shrink : Shrink
        Of the counts.
    """

    def __init__(self, trees: TorchTrees, rules: Int32s, words: WordRows, shrink: Shrink) -> None:
        torch, where = import_torch(), trees.device
        self.trees, self.words, self.shrink = trees, words, shrink
        self.rules = on_device(rules, where, torch.int64)
        self.leaves, self.row, self.counted, self.read, self.symbols = (
            on_device(array, where, torch.int64)
            for array in (words.leaves, words.row, words.counted, words.read, words.symbols)
        )
        self.weights = on_device(words.weights, where, torch.float64) * (self.read >= 0)
        self.counts = on_device(words.counts, where, torch.float64)
        self.occurrences = torch.bincount(trees.symbol, minlength=trees.n_symbols).double()
        self.is_root = torch.bincount(trees.symbol[trees.tops], minlength=trees.n_symbols) > 0
        self.is_state = self._table(np.ones(len(trees.root_filled)))[: words.n_leaves] > 0

    def _table(self, flat: Floats) -> torch.Tensor:
        trees = self.trees
        return trees.filled_up(flat, trees.root_filled, trees.n_symbols, trees.m)

    def begin(self, tensors: Reals, roots: Floats, scores: Floats, sizes: Int64s) -> TorchFit:
        """A grammar as compiled kernels have it: flat tensors, roots and vectors of rows of words."""
        trees, m = self.trees, self.trees.m
        filled = trees.filled_up(tensors, trees.tensor_filled, trees.n_rules, m, m, m)
        table = np.zeros((len(sizes), m))
        table[np.arange(m) < sizes[:, None]] = scores
        return TorchFit(
            filled, self._table(roots), on_device(table, trees.device, trees.dtype), None, None, None
        )

    def expect(self, fit: TorchFit) -> tuple[TensorExpectations, float]:
        """Expected counts of the treebank, and its log-likelihood."""
        trees, torch = self.trees, import_torch()
        vectors = torch.zeros((len(trees.symbol), trees.m), device=trees.device, dtype=trees.dtype)
        vectors[self.leaves] = fit.scores[self.row]
        found = trees.expect_there(fit.tensors, fit.roots, vectors)
        return found, found.total

    def maximize(self, found: TensorExpectations) -> TorchFit:
        """The grammar and the lexicon of expected counts."""
        trees, torch = self.trees, import_torch()
        totals = torch.zeros((trees.n_symbols, trees.m), dtype=torch.float64, device=trees.device)
        totals.index_add_(0, trees.symbol, found.posteriors.double())
        shares = totals / self.occurrences.clamp_min(1.0)[:, None]
        roots = found.roots.double() + _OF_ROOTS * shares * self.is_root[:, None]
        margins = totals / totals.sum(dim=1, keepdim=True).clamp_min(1e-300)
        tensors = conditional(found.counts, self.rules, margins, self.shrink, self.shrink.least)
        values = self._values(found.posteriors)
        scores = torch.zeros((len(self.read), trees.m), dtype=torch.float64, device=trees.device)
        for level, weights in zip(self.read.unbind(1), self.weights.unbind(1), strict=True):
            scores += weights[:, None] * values[level.clamp_min(0)]
        return TorchFit(
            tensors,
            (roots / roots.sum()).to(trees.dtype),
            scores.to(trees.dtype),
            totals / len(trees.tops),
            values,
            found,
        )

    def _values(self, posteriors: torch.Tensor) -> torch.Tensor:
        """The values of the states of all pairs, [pair, state], as `state_lexicon` makes them."""
        torch, words, m = import_torch(), self.words, self.trees.m
        new: Any = lambda n: torch.zeros((n, m), dtype=torch.float64, device=self.trees.device)  # noqa: E731
        rows = new(len(self.counted)).index_add_(0, self.row, posteriors[self.leaves].double())
        sums = new(len(self.symbols) + 1)  # the last for what counts for none
        for level in self.counted.unbind(1):
            sums.index_add_(0, level.where(level >= 0, len(self.symbols)), rows)
        sums, above = sums[:-1], self.symbols[len(self.symbols) - words.n_above :]
        frequency = new(words.n_leaves)
        frequency[above] = (sums[len(sums) - words.n_above :] + _AT_TOP) * self.is_state[above]
        share = frequency / frequency.sum(dim=1, keepdim=True).clamp_min(1e-300)
        mixed = (1 - self.shrink.across) * sums
        mixed += self.shrink.across * self.counts[:, None] * share[self.symbols]
        inverse = (frequency > 0) / frequency.where(frequency > 0, 1.0)
        return mixed * words.total * inverse[self.symbols]

    def flat(self, found: TensorExpectations) -> Expectations:
        """Expected counts in NumPy, without the states that symbols were filled up with."""
        return self.trees.flat(found)

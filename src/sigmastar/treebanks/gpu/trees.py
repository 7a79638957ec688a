"""The states of given trees on tensors: inside, outside and expected counts of a whole treebank.

As `model.whole_trees`, one height after the other: nodes of one height have their children below, whatever
tree they are in. Counts are products of matrices, rules of about as many nodes together. All symbols are
filled up to the largest number of states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.torch_device import (
    batch_budget,
    chosen_device,
    chosen_precision,
    import_torch,
    on_device,
    smaller_on_failure,
)
from sigmastar.treebanks.gpu.layout import TreeArrays, groups, heights, places, tensor_places

if TYPE_CHECKING:
    import torch

_SHARE = 0.2  # of the free memory of a GPU
_SHARES = 64  # of that, the least that a piece may take is one
_MOST = 64  # states that a kernel of one node can have


class Expectations(NamedTuple):
    """What `model.whole_trees.expectations` gives."""

    counts: Reals
    roots: Floats
    posteriors: Floats
    total: float


class TensorExpectations(NamedTuple):
    """The same on a device, all symbols filled up to the largest number of states."""

    counts: torch.Tensor  # rule, left, right, parent
    roots: torch.Tensor  # symbol, state
    posteriors: torch.Tensor  # node, state
    total: float


class TorchTrees:
    """A treebank on a device, laid out once for all rounds.

    Parameters
    ----------
    trees : TreeArrays
        The nodes.
    rules : array
        Parent, left and right of every rule.
    n_states : array of int
        Of every symbol.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    precision : {"float64", "float32"}
        Type of all numbers; logarithms are summed in float64.
    """

    def __init__(
        self,
        trees: TreeArrays,
        rules: Int32s,
        n_states: Int64s,
        *,
        device: str = "auto",
        precision: str = "float32",
    ) -> None:
        self.device, self.dtype = chosen_device(device), chosen_precision(precision)
        self.m, self.n_rules, n_trees = int(n_states.max()), len(rules), len(trees.starts) - 1
        symbol, m = trees.symbol.astype(np.int64), self.m
        self.sizes = n_states[symbol]
        self.filled = self._whole(places(np.arange(len(symbol)) * m, self.sizes))
        self.root_filled = self._whole(places(np.arange(len(n_states)) * m, n_states))
        self.tensor_filled = self._whole(tensor_places(n_states[rules].astype(np.int64), m))
        self.symbol, self.left, self.right, self.rule = (self._whole(array) for array in (symbol, *trees[2:]))
        self.tops = self._whole(trees.starts[1:] - 1)
        self.tree = self._whole(np.repeat(np.arange(n_trees), np.diff(trees.starts)))
        height = heights(trees)
        order = np.lexsort((trees.rule, height))
        bounds = np.searchsorted(height[order], np.arange(height.max(initial=0) + 2))
        self.levels = [self._whole(part) for part in np.split(order, bounds[1:-1])]
        self.groups = [tuple(map(self._whole, group)) for group in groups(trees.rule)]
        self.n_symbols = len(n_states)
        self.way: type[_Pass] = _NodePass if self.device.type == "cuda" and self.m <= _MOST else _Pass
        self.share = _SHARES  # what a piece may take, less where memory did not suffice
        self.budget = batch_budget(self.device, _SHARE)  # bytes of a piece

    def _whole(self, array: Any) -> torch.Tensor:
        return on_device(array, self.device, import_torch().int64)

    def filled_up(self, values: Reals, places: torch.Tensor, *shape: int) -> torch.Tensor:
        """Flat numbers in tables of equal sizes, the rest zero."""
        torch = import_torch()
        result = torch.zeros(int(np.prod(shape)), device=self.device, dtype=self.dtype)
        result[places] = on_device(values, self.device, self.dtype)
        return result.view(shape)

    def expect(self, tensors: Reals, roots: Floats, vectors: Reals) -> Expectations:
        """Expected counts under a grammar.

        Parameters
        ----------
        tensors, roots : arrays
            Of all rules and of all symbols, flat.
        vectors : array
            Of all nodes, flat, of which those of leaves are read.

        Returns
        -------
        Expectations
            Flat as well; trees of probability zero count for nothing.
        """
        m = self.m
        found = self.expect_there(
            self.filled_up(tensors, self.tensor_filled, self.n_rules, m, m, m),
            self.filled_up(roots, self.root_filled, self.n_symbols, m),
            self.filled_up(vectors, self.filled, len(self.symbol), m),
        )
        return self.flat(found)

    def expect_there(
        self, tensors: torch.Tensor, roots: torch.Tensor, vectors: torch.Tensor
    ) -> TensorExpectations:
        """`expect` on the device, every symbol with m states: [rule, left, right, parent], [symbol, state].

        `vectors` [node, state] holds the scores of leaves.
        """

        def work(share: int) -> TensorExpectations:
            self.share = share
            self.budget = (
                batch_budget(self.device, _SHARE) * share // _SHARES
            )  # asked for once: it takes time
            done = self.way(self, tensors, roots, vectors.clone())
            total = done.inside()
            found = done.outside()
            return TensorExpectations(done.counts(), found, done.posteriors(), total)

        return smaller_on_failure(work, self.share)

    def flat(self, found: TensorExpectations) -> Expectations:
        """The same without the states that symbols were filled up with, in NumPy."""
        return Expectations(
            found.counts.view(-1)[self.tensor_filled].cpu().numpy(),
            found.roots.view(-1)[self.root_filled].cpu().numpy(),
            found.posteriors.view(-1)[self.filled].double().cpu().numpy(),
            found.total,
        )

    def pieces(self, nodes: torch.Tensor) -> Iterator[torch.Tensor]:
        """Nodes whose tensors fit into memory together."""
        yield from nodes.split(max(int(self.budget // (2 * self.m**3 * self.dtype.itemsize)), 1))


class _Pass:
    """The vectors of all nodes under one grammar."""

    def __init__(
        self, trees: TorchTrees, tensors: torch.Tensor, roots: torch.Tensor, vectors: torch.Tensor
    ) -> None:
        torch = import_torch()
        self.trees, self.tensors, self.roots, self.inner = trees, tensors, roots, vectors
        self.outer = torch.zeros_like(vectors)
        self.scales = torch.zeros(len(vectors), device=vectors.device, dtype=vectors.dtype)
        self.weights = torch.zeros_like(self.scales)  # of the terms of a node, in counts

    def _below(self, nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The tensor contracted with the left child, [node, right, parent], and both children."""
        trees, m = self.trees, self.trees.m
        left, right = self.inner[trees.left[nodes]], self.inner[trees.right[nodes]]
        tensors = self.tensors[trees.rule[nodes]].view(-1, m, m * m)
        return tensors, left, right

    def _rescale(self, nodes: torch.Tensor) -> None:
        values = self.inner[nodes]
        totals = values.abs().sum(dim=1)
        self.scales[nodes] = totals
        self.inner[nodes] = values / totals.where(totals > 0, 1.0)[:, None]

    def inside(self) -> float:
        """Fill the inside vectors; the log-likelihood of the trees that are possible."""
        torch, trees = import_torch(), self.trees
        self._rescale(trees.levels[0])
        for level in trees.levels[1:]:
            self._up(level)
        logs = torch.zeros(len(trees.tops), device=self.inner.device, dtype=torch.float64)
        logs.index_add_(0, trees.tree, self.scales.double().log())
        self.values = (self.roots[trees.symbol[trees.tops]] * self.inner[trees.tops]).sum(dim=1)
        self.is_possible = (self.values > 0) & logs.isfinite()
        return float((logs + self.values.double().log())[self.is_possible].sum())

    def _up(self, level: torch.Tensor) -> None:
        """The inside vectors of nodes whose children have theirs."""
        trees, m = self.trees, self.trees.m
        for nodes in trees.pieces(level):
            tensors, left, right = self._below(nodes)
            sums = (left[:, None] @ tensors).view(-1, m, m)
            self.inner[nodes] = (right[:, None] @ sums)[:, 0]
        self._rescale(level)

    def outside(self) -> torch.Tensor:
        """Fill the outside vectors; the expected counts of roots."""
        torch, trees = import_torch(), self.trees
        tops, symbols = trees.tops, trees.symbol[trees.tops]
        self.outer[tops] = self.roots[symbols] * self.is_possible[:, None]
        share = self.is_possible / self.values.where(self.is_possible, 1.0)
        counts = torch.zeros_like(self.roots, dtype=torch.float64)
        counts.index_add_(0, symbols, (self.outer[tops] * self.inner[tops] * share[:, None]).double())
        for level in reversed(trees.levels[1:]):
            self._down(level)
        self._rescale_outer(trees.levels[0])
        return counts

    def _rescale_outer(self, level: torch.Tensor) -> None:
        out = self.outer[level]
        norm = out.abs().sum(dim=1)
        self.outer[level] = out / norm.where(norm > 0, 1.0)[:, None]

    def _down(self, level: torch.Tensor) -> None:
        """The outside vectors of the children of nodes, and the weights of these nodes in counts."""
        trees, m = self.trees, self.trees.m
        self._rescale_outer(level)
        for nodes in trees.pieces(level):
            tensors, left, right = self._below(nodes)
            out = self.outer[nodes]
            value = (self.inner[nodes] * out).sum(dim=1)
            is_used = value > 0
            self.weights[nodes] = is_used / (value * self.scales[nodes]).where(is_used, 1.0)
            pairs = ((right * is_used[:, None])[:, :, None] * out[:, None]).view(-1, m * m, 1)
            self.outer[trees.left[nodes]] = (tensors @ pairs)[:, :, 0]
            sums = ((left * is_used[:, None])[:, None] @ tensors).view(-1, m, m)
            self.outer[trees.right[nodes]] = (sums @ out[:, :, None])[:, :, 0]

    def counts(self) -> torch.Tensor:
        """Expected counts of rules with their states, [rule, left, right, parent]."""
        torch, trees, m = import_torch(), self.trees, self.trees.m
        result = torch.zeros_like(self.tensors)
        for rules, nodes in trees.groups:
            width = nodes.shape[1]
            size = max(int(trees.budget // (8 * width * m * m * trees.dtype.itemsize)), 1)
            for some, below in zip(rules.split(size), nodes.split(size), strict=True):
                known = below.clamp_min(0)
                weights = self.weights[known] * (below >= 0)
                left, right = (self.inner[side[known].clamp_min(0)] for side in (trees.left, trees.right))
                pairs = right[..., None] * self.outer[known][..., None, :]
                flows = (left * weights[..., None]).mT @ pairs.view(len(some), width, m * m)
                result[some] = flows.view(-1, m, m, m) * self.tensors[some]
        return result

    def posteriors(self) -> torch.Tensor:
        found = self.inner * self.outer
        norm = found.sum(dim=1)
        return found / norm.where(norm > 0, 1.0)[:, None] * (norm > 0)[:, None]


class _NodePass(_Pass):
    """The same in one kernel per height, whose programs read the tensor of a node where it stands."""

    def _launch(self, kernel: str, level: torch.Tensor, *more: torch.Tensor) -> None:
        from sigmastar.treebanks.gpu import triton_kernels

        trees, block = self.trees, max(16, 1 << (self.trees.m - 1).bit_length())
        getattr(triton_kernels, kernel)[(len(level),)](
            level, trees.left, trees.right, trees.rule, self.tensors, self.inner, *more,
            m=trees.m, block=block, num_warps=1 if block <= 32 else 4,
        )  # fmt: skip

    def _up(self, level: torch.Tensor) -> None:
        self._launch("node_inside", level, self.scales)

    def _down(self, level: torch.Tensor) -> None:
        self._launch("node_outside", level, self.outer, self.scales, self.weights)

"""Inside and outside of a latent grammar with whole tensors, for a batch of sentences.

    sums over splits    S[u, v] = sum over k of first_k[u] second_k[v]        per pair of symbols and cell
    then each rule      parent   f[x] += S[y, z] T[y, z, x]
                        left     g[y] += S[x, z] T[y, z, x]       right    g[z] += S[x, y] T[y, z, x]

Splits are summed before any rule is looked at, once for all rules that share two symbols, so that a rule
costs m^3 per cell however many splits the cell has; both steps are batches of products of matrices. Nothing
is kept per rule, and tensors may be signed. `chart` has the form for rules that are short sums of products,
which need less where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s, Reals
from sigmastar.core.torch_device import batch_budget, import_torch
from sigmastar.treebanks.gpu.chart import Chart, powers

if TYPE_CHECKING:
    import torch

_SHARE = 0.1  # of the free memory of a GPU that the sums of some rules may take
_SUMS = {
    "parent": ("left", "right", "rcyz,ryzx->rcx"),
    "left": ("parent", "right", "rcxz,ryzx->rcy"),
    "right": ("parent", "left", "rcxy,ryzx->rcz"),
}


class RuleTensors(NamedTuple):
    """Rules a -> b c with a tensor each."""

    rules: Int32s  # [rule, 3]: parent, left, right; symbols of words come first
    tensors: Reals | torch.Tensor  # rule, left, right, parent


class Uses(NamedTuple):
    """Posteriors of rules at places: those of one width that are above a bound."""

    sentence: torch.Tensor
    begin: torch.Tensor
    split: torch.Tensor  # width of the left part
    rule: torch.Tensor
    value: torch.Tensor
    width: int


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Rules in the order of two of their symbols."""

    order: torch.Tensor
    of_rule: torch.Tensor  # the pair of each rule in this order
    first: torch.Tensor  # symbols of each pair
    second: torch.Tensor
    numbers: Any  # `of_rule` on the processor


@dataclass(frozen=True, eq=False)
class TensorSet:
    """The rules of one kind; symbols of words and of phrases each count from 0."""

    left: torch.Tensor
    right: torch.Tensor
    parent: torch.Tensor
    tensors: torch.Tensor  # rule, left, right, parent
    numbers: torch.Tensor  # of the rules in the grammar
    _known: dict[str, _Pairs] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.left)

    def pairs(self, into: str) -> _Pairs:
        """The rules by the two symbols that are not the one to add to."""
        if into not in self._known:
            torch = import_torch()
            first, second = (getattr(self, side) for side in _SUMS[into][:2])
            keys = first * (int(second.max()) + 1) + second
            names, of_rule = keys.unique(return_inverse=True)
            of_rule, order = of_rule.sort(stable=True)
            some = torch.empty_like(names)
            some[of_rule] = order  # one rule of each pair, whichever
            self._known[into] = _Pairs(order, of_rule, first[some], second[some], of_rule.cpu().numpy())
        return self._known[into]


class DenseChart(Chart):
    """A chart of rules with whole tensors.

    Parameters
    ----------
    rules, words, lengths
        As of `Chart`; the rules are of `TensorSet`.
    """

    rules: Any

    def make_room(self) -> None:
        torch, where = import_torch(), self.words.device
        self.begins = torch.tensor(self.starts, device=where)
        self.budget = batch_budget(where, _SHARE)

    def make_room_above(self) -> None:
        pass

    def project_phrases(self, width: int) -> None:
        pass

    def project_tops(self, width: int) -> None:
        pass

    def largest(self, values: torch.Tensor) -> torch.Tensor:
        return values.abs().amax(dim=2).amax(dim=0)

    def _kind(self, is_left: bool, is_right: bool) -> TensorSet:
        rules = self.rules
        words = (rules.phrases, rules.word_right), (rules.word_left, rules.words)
        found: TensorSet = words[is_left][is_right]
        return found

    def _numbers(self, values: Sequence[int]) -> torch.Tensor:
        return import_torch().tensor(values, device=self.words.device)[:, None]

    def _cells(self, width: int) -> torch.Tensor:
        return import_torch().arange(self.rows(width), device=self.words.device)

    def _below(self, width: int) -> Iterator[tuple[TensorSet, Sequence[int], torch.Tensor, torch.Tensor]]:
        """Rules, widths of left parts, and the vectors of both parts, [symbol, split, cell, state]."""
        cells = self._cells(width)
        every: list[Sequence[int]] = [[1], range(2, width - 1), [width - 1] if width > 2 else []]
        for splits in filter(len, every):
            k, words = self._numbers(splits), (splits[0] == 1, splits[-1] == width - 1)
            left, right = self.begins[k] + cells, self.begins[width - k] + k * self.n_rows + cells
            tables = [self.words if is_word else self.inner for is_word in words]
            yield self._kind(*words), splits, tables[0][:, left], tables[1][:, right]

    def widen(self, width: int, factors: torch.Tensor, result: torch.Tensor) -> None:
        for rules, splits, left, right in self._below(width):
            left = left * factors[splits[0] - 1 : splits[-1], :, None]
            self._flow(rules, "parent", left, right, result)

    def narrow(self, width: int) -> None:
        self._narrow(width, self.of(self.outer, width))

    def narrow_words(self) -> None:
        self._narrow(1, self.word_outer)

    def _narrow(self, width: int, result: torch.Tensor) -> None:
        """Add what flows from all wider cells to those of a width, as left and as right children."""
        cells, step, size = self._cells(width), self.n_rows, self.size
        as_left, as_right = self.as_left(width), self.as_right(width)
        every: list[Sequence[int]] = [[1] if width < size else [], range(2, size - width + 1)]
        for others in filter(len, every):
            k, some = self._numbers(others), slice(others[0] - 1, others[-1])
            table, words = (self.words if others[0] == 1 else self.inner), (width == 1, others[0] == 1)
            fits = cells < (size - width - k + 1) * step
            top, beside = self.begins[width + k] + cells, self.begins[k] + width * step + cells
            above = self.outer[:, top.where(fits, 0)] * as_left[some].where(fits, 0.0)[..., None]
            self._flow(self._kind(*words), "left", above, table[:, beside.where(fits, 0)], result)
            fits, before = cells >= k * step, cells - k * step
            top, beside = self.begins[width + k] + before, self.begins[k] + before
            above = self.outer[:, top.where(fits, 0)] * as_right[some].where(fits, 0.0)[..., None]
            self._flow(self._kind(*words[::-1]), "right", above, table[:, beside.where(fits, 0)], result)

    def _flow(
        self, rules: TensorSet, into: str, first: torch.Tensor, second: torch.Tensor, result: torch.Tensor
    ) -> None:
        """Add to one side of rules what the other two give, [symbol, split, cell, state], over splits."""
        if not len(rules):
            return
        torch, pairs, (_, _, equation) = import_torch(), rules.pairs(into), _SUMS[into]
        symbols = getattr(rules, into)
        for some in self._pieces(len(rules), first):
            low, high = int(pairs.numbers[some][0]), int(pairs.numbers[some][-1]) + 1
            sums = torch.einsum(
                "pkcu,pkcv->pcuv", first[pairs.first[low:high]], second[pairs.second[low:high]]
            )
            order = pairs.order[some]
            found = torch.einsum(equation, sums[pairs.of_rule[some] - low], rules.tensors[order])
            result.index_add_(0, symbols[order], found)

    def _pieces(self, n_rules: int, table: torch.Tensor) -> Iterator[slice]:
        """Rules whose sums fit into memory together."""
        n_splits, n_cells, m = table.shape[1:]
        numbers = n_cells * (3 * m * m + 3 * n_splits * m) + 2 * m**3
        size = max(int(self.budget // (numbers * table.dtype.itemsize)), 1)
        yield from (slice(low, min(low + size, n_rules)) for low in range(0, n_rules, size))

    def uses(self, least: float) -> Iterator[Uses]:
        """After `outside`: the rules of more posterior than a bound, narrow cells first."""
        torch = import_torch()
        for width in range(2, self.size + 1):
            above, rows = self.of(self.outer, width), self.rows(width)
            for rules, splits, left, right in self._below(width):
                k, cells = self._numbers(splits), self._cells(width)
                parts = self.exponents[k, cells] + self.exponents[width - k, k * self.n_rows + cells]
                factors = powers(parts - self.exponents[width, :rows])
                for some in self._pieces(len(rules), left):
                    squares = torch.einsum("rcx,ryzx->rcyz", above[rules.parent[some]], rules.tensors[some])
                    flows = torch.einsum("rkcy,rcyz->rkcz", left[rules.left[some]], squares)
                    found = (flows * right[rules.right[some]]).sum(dim=3) * factors
                    at = (found > least).nonzero()
                    rule, split, cell = at.unbind(1)
                    yield Uses(
                        cell % self.n_rows,
                        cell // self.n_rows,
                        k[split, 0],
                        rules.numbers[some][rule],
                        found[tuple(at.unbind(1))],
                        width,
                    )


def filled_tensors(values: Reals, sizes: Int64s, m: int) -> Reals:
    """Flat tensors of rules, [left, right, parent] of `sizes` [rule, 3], in tables of m states everywhere."""
    whole = np.zeros((len(sizes), m, m, m), dtype=values.dtype)
    below = (np.arange(m) < sizes[:, side, None] for side in range(3))
    left, right, parent = below
    whole[left[:, :, None, None] & right[:, None, :, None] & parent[:, None, None]] = values
    return whole

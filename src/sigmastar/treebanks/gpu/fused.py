"""Charts of latent grammars by kernels in Triton: sums over splits never leave the chip.

Every term of a sum over splits is read once and nothing between is written; that is what the plain `Chart`,
which the tests hold this one to, spends its time on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from sigmastar.core.torch_device import import_torch
from sigmastar.treebanks.gpu.chart import Chart, RuleSet

if TYPE_CHECKING:
    import torch

AS_PARENT, AS_LEFT, AS_RIGHT = 0, 1, 2

_orders: WeakKeyDictionary[RuleSet, dict[str, Any]] = WeakKeyDictionary()


def _kernels() -> Any:
    """Imported late: Triton comes with PyTorch for GPUs."""
    from sigmastar.treebanks.gpu import triton_kernels

    return triton_kernels


def _order(rules: RuleSet, side: str, n_symbols: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rules in the order of their symbols at a side, and where those of each symbol begin."""
    known = _orders.setdefault(rules, {})
    if side not in known:
        torch = import_torch()
        found = torch.sort(rules.side(side)[0], stable=True)
        numbers = torch.arange(n_symbols + 1, device=found.values.device)
        known[side] = found.indices, torch.searchsorted(found.values, numbers)
    order, starts = known[side]
    return order, starts


class FusedChart(Chart):
    """A chart of float32 on a GPU; states and components are 16, 32 or 64.

    Parameters
    ----------
    rules, words, lengths
        As of `Chart`.
    """

    tile: ClassVar[int] = 64  # cells per program
    shape: ClassVar[dict[str, int]] = {"num_warps": 4}

    def __init__(self, rules: Any, words: torch.Tensor, lengths: torch.Tensor) -> None:
        self.kernels = _kernels()
        super().__init__(rules, words, lengths)
        self.word_pairs = self.projected(self.words, rules.words, "left")
        self.n_cells = self.inner.shape[1]

    def _launch(self, kernel: str, n_cells: int, n_owners: int, *arguments: Any, **more: Any) -> None:
        factors = self.rules.phrases.u
        wide = factors.dtype == import_torch().float32
        if n_cells and n_owners:
            getattr(self.kernels, kernel)[(-(-n_cells // self.tile), n_owners)](
                *arguments,
                m=factors.shape[1],
                k=factors.shape[2],
                tile=self.tile,
                precision="tf32x3" if wide else "tf32",
                **more,
                **self.shape,
            )

    def projected(self, vectors: torch.Tensor, rules: RuleSet, side: str) -> torch.Tensor:
        (symbols, factors), n = rules.side(side), vectors.shape[1]
        result = factors.new_empty((len(symbols), n, factors.shape[2]))
        self._launch("project", n, len(symbols), vectors, symbols, factors, result, n, n, n, 0, 0)
        return result

    def _keep(self, vectors: torch.Tensor, side: str, result: torch.Tensor, width: int) -> None:
        (symbols, factors), rows, at = self.rules.phrases.side(side), self.rows(width), self.starts[width]
        counts = (rows, self.n_cells, self.n_cells, at, at)
        self._launch("project", rows, len(symbols), vectors, symbols, factors, result, *counts)

    def project_phrases(self, width: int) -> None:
        self._keep(self.inner, "left", self.lefts, width)
        self._keep(self.inner, "right", self.rights, width)

    def project_tops(self, width: int) -> None:
        self._keep(self.outer, "parent", self.tops, width)

    def _corners(
        self,
        rules: RuleSet,
        sides: tuple[str, str],
        tables: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        factors: torch.Tensor,
        places: tuple[int, int, int],
    ) -> None:
        """From the vectors of one side, with words beside them, to those of another side.

        Tables are the vectors, the components of words and the result; places are where cells begin in each.
        """
        vectors, beside, result = tables
        symbols, into = rules.side(sides[0])
        order, starts = _order(rules, sides[1], len(result))
        names = (symbols, into, beside, rules.side(sides[1])[1], factors, order, starts, result)
        sizes = (len(factors), vectors.shape[1], beside.shape[1], result.shape[1])
        self._launch("corners", len(factors), len(result), vectors, *names, *sizes, *places)

    def _sums(
        self, way: int, pair: tuple[torch.Tensor, torch.Tensor], width: int, factors: torch.Tensor
    ) -> None:
        rules, result = self.rules.phrases, self.inner if way == AS_PARENT else self.outer
        side = ("parent", "left", "right")[way]
        order, starts = _order(rules, side, len(result))
        sizes = (self.rows(width), self.n_cells, self.n_rows, self.size, width, self.starts[width])
        names = (*pair, rules.side(side)[1], factors, order, starts, result)
        self._launch("split_sums", self.rows(width), len(result), *names, *sizes, way=way)

    def widen(self, width: int, factors: torch.Tensor, result: torch.Tensor) -> None:
        rules, step, to = self.rules, self.n_rows, self.starts[width]
        if width == 2:
            tables = (self.words, self.word_pairs, self.inner)
            self._corners(rules.words, ("right", "parent"), tables, factors[0], (step, 0, to))
            return
        at, far = self.starts[width - 1], (width - 1) * step
        tables = (self.inner, self.word_lefts, self.inner)
        self._corners(rules.word_left, ("right", "parent"), tables, factors[0], (at + step, 0, to))
        tables = (self.inner, self.word_rights, self.inner)
        self._corners(rules.word_right, ("left", "parent"), tables, factors[-1], (at, far, to))
        if width > 3:
            self._sums(AS_PARENT, (self.lefts, self.rights), width, factors)

    def narrow(self, width: int) -> None:
        rules, step, to, rows = self.rules, self.n_rows, self.starts[width], self.rows(width + 1)
        left, right, at = self.as_left(width), self.as_right(width), self.starts[width + 1]
        if width < self.size - 1:
            self._sums(AS_LEFT, (self.tops, self.rights), width, left)
            self._sums(AS_RIGHT, (self.tops, self.lefts), width, right)
        tables, near = (self.outer, self.word_lefts, self.outer), right[0, step : step + rows]
        self._corners(rules.word_left, ("parent", "right"), tables, near, (at, 0, to + step))
        tables, near = (self.outer, self.word_rights, self.outer), left[0, :rows]
        self._corners(rules.word_right, ("parent", "left"), tables, near, (at, width * step, to))

    def narrow_words(self) -> None:
        rules, step, rows = self.rules, self.n_rows, self.rows(2)
        left, right, at = self.as_left(1), self.as_right(1), self.starts[2]
        beside = self.projected(self.words, rules.words, "right")
        tables, near = (self.outer, beside, self.word_outer), left[0, :rows]
        self._corners(rules.words, ("parent", "left"), tables, near, (at, step, 0))
        tables, near = (self.outer, self.word_pairs, self.word_outer), right[0, step : step + rows]
        self._corners(rules.words, ("parent", "right"), tables, near, (at, 0, step))
        if self.size > 2:
            self._word_sums(AS_LEFT, rules.word_left, ("left", "right"), left)
            self._word_sums(AS_RIGHT, rules.word_right, ("right", "left"), right)

    def _word_sums(self, way: int, rules: RuleSet, sides: tuple[str, str], factors: torch.Tensor) -> None:
        order, starts = _order(rules, sides[0], len(self.words))
        (_, back), (others, beside) = (rules.side(side) for side in sides)
        names = (self.outer, self.inner, rules.parent, others, rules.w, beside, back, factors)
        sizes = (self.rows(1), self.n_cells, self.n_rows, self.size)
        more = (order, starts, self.word_outer)
        self._launch("word_sums", self.rows(1), len(self.words), *names, *more, *sizes, way=way)

"""Inside and outside of a latent grammar whose rules are sums of products, for a batch of sentences.

    T_r[y, z, x] = sum over k of U_r[y, k] V_r[z, k] W_r[x, k]
    inside    f_p += ((U_r f_l) * (V_r f_r)) W_r        outside   g_l += ((W_r g_p) * (V_r f_r)) U_r

as Cohen and Collins (2012) parse. Symbols of words stand over one word and phrases over several, so that
only a rule of two phrases needs a sum over all splits. Its projections U f, V f and W g are kept for all
cells, rule by rule; rules with a word at one side project again, which takes less than to read what was kept.

Cells of one width come start by start, all sentences of the batch within a start: the left parts of a split
are then the first rows of their width, and the right parts follow from some row on without a gap. A cell has
a power of two beside it. Sentences that are shorter than the longest have cells of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch

_NEVER = -1e5  # the exponent of a cell of zeros
_MOST = 120.0  # that a factor of float32 may have


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The rules of one kind, sorted by parents; symbols of words and of phrases each count from 0."""

    left: torch.Tensor
    right: torch.Tensor
    parent: torch.Tensor
    u: torch.Tensor  # rule, state, component
    v: torch.Tensor
    w: torch.Tensor

    def __len__(self) -> int:
        return len(self.left)

    def side(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """The symbols and the factors of "left", "right" or "parent"."""
        factors = {"left": self.u, "right": self.v, "parent": self.w}
        return getattr(self, name), factors[name]


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules by what their children are, and the vectors of roots: symbol, state."""

    phrases: RuleSet  # two phrases
    word_left: RuleSet
    word_right: RuleSet
    words: RuleSet  # two words
    phrase_roots: torch.Tensor
    word_roots: torch.Tensor


def project(values: torch.Tensor, symbols: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """The components of rules, [rule, cell, component], of vectors [symbol, cell, state]."""
    return values.to(factors.dtype).index_select(0, symbols) @ factors


def gather(parts: torch.Tensor, factors: torch.Tensor, symbols: torch.Tensor, result: torch.Tensor) -> None:
    """Add what the components of rules give back to the vectors of symbols."""
    found = parts.to(factors.dtype) @ factors.mT
    result.index_add_(0, symbols, found.to(result.dtype))


class Chart:
    """All cells of a batch.

    Parameters
    ----------
    rules : Rules
        The grammar.
    words : tensor
        Vectors of words: symbol, position and sentence (position first), state.
    lengths : tensor
        Of the sentences, the longest first.
    """

    def __init__(self, rules: Rules, words: torch.Tensor, lengths: torch.Tensor) -> None:
        torch = import_torch()
        self.rules, self.lengths = rules, lengths
        self.size, self.n_rows = int(lengths[0]), len(lengths)
        where = {"device": words.device, "dtype": words.dtype}
        self.starts = [0, 0, 0]  # of the cells of each width above one
        for width in range(2, self.size + 1):
            self.starts.append(self.starts[-1] + self.rows(width))
        n_symbols, n_states = rules.phrase_roots.shape
        self.inner = torch.empty((n_symbols, self.starts[-1], n_states), **where)
        self.exponents = torch.full((self.size + 2, self.rows(1)), _NEVER, **where)
        self.turned = self.exponents.clone()  # widths the other way round
        self.words = self._rescaled(words, 1, torch.zeros(self.rows(1), **where))
        self.make_room()

    def make_room(self) -> None:
        """For what is kept of children, rule by rule."""
        torch, rules, kept = import_torch(), self.rules, self.rules.phrases
        shape, where = (len(kept), self.starts[-1], kept.u.shape[2]), self.words.device
        self.lefts, self.rights = (torch.empty(shape, device=where, dtype=kept.u.dtype) for _ in range(2))
        self.word_lefts = self.projected(self.words, rules.word_left, "left")
        self.word_rights = self.projected(self.words, rules.word_right, "right")

    def make_room_above(self) -> None:
        """For what is kept of parents."""
        self.tops = import_torch().empty_like(self.lefts)

    def projected(self, vectors: torch.Tensor, rules: RuleSet, side: str) -> torch.Tensor:
        """`project` of all cells of a table."""
        return project(vectors, *rules.side(side))

    def rows(self, width: int) -> int:
        return (self.size - width + 1) * self.n_rows

    def of(self, table: torch.Tensor, width: int) -> torch.Tensor:
        """The cells of a width."""
        return table[:, self.starts[width] : self.starts[width] + self.rows(width)]

    def largest(self, values: torch.Tensor) -> torch.Tensor:
        """The largest number of every cell."""
        return values.amax(dim=2).amax(dim=0)

    def _rescaled(self, values: torch.Tensor, width: int, exponents: torch.Tensor) -> torch.Tensor:
        """Bring the largest number of every cell near one, and keep the exponent."""
        torch = import_torch()
        top = self.largest(values)
        step = top.where(top > 0, torch.ones_like(top)).log2().ceil()
        rows = self.rows(width)
        kept = (exponents + step).where(top > 0, torch.full_like(top, _NEVER))
        self.exponents[width, :rows] = self.turned[self.size - width, :rows] = kept
        return values.mul_(torch.exp2(-step)[:, None])

    def _splits(self, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What terms are multiplied by, [split, cell], and the exponents of cells that this leaves."""
        torch, (stride, rows) = import_torch(), (self.exponents.shape[1], self.rows(width))
        right = self.turned.as_strided(
            (width - 1, rows),
            (stride + self.n_rows, 1),
            (self.size - width + 1) * stride + self.n_rows,
        )
        found = self.exponents[1:width, :rows] + right
        most = found.amax(dim=0).clamp_min(_NEVER)
        return torch.exp2(found - most), most

    def inside(self) -> torch.Tensor:
        """The logarithm of Z of every sentence; minus infinity where it is not positive."""
        torch = import_torch()
        for width in range(2, self.size + 1):
            factors, exponents = self._splits(width)
            cells = self.of(self.inner, width).zero_()
            self.widen(width, factors, cells)
            self._rescaled(cells, width, exponents)
            if width < self.size - 1:
                self.project_phrases(width)
        top, number = self._tops(self.inner, self.words)
        roots = self.rules
        self.z = (top * roots.phrase_roots[:, None]).sum(dim=(0, 2)).where(self.lengths > 1, 0.0)
        self.z += (number * roots.word_roots[:, None]).sum(dim=(0, 2)).where(self.lengths == 1, 0.0)
        rows = torch.arange(self.n_rows, device=self.z.device)
        exponents = self.exponents[self.lengths, rows].double()
        logs = self.z.double().clamp_min(0).log() + exponents * 0.6931471805599453
        return logs.where(self.z > 0, -torch.inf)

    def _tops(self, phrases: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The cells of whole sentences: of those of several words, and of those of one."""
        torch = import_torch()
        rows = torch.arange(self.n_rows, device=words.device)
        if self.size == 1:  # there are no cells of several words
            return phrases.new_zeros((len(phrases), self.n_rows, phrases.shape[2])), words[:, rows]
        return phrases[:, self._top_rows], words[:, rows]

    @cached_property
    def _top_rows(self) -> torch.Tensor:
        torch, where = import_torch(), self.lengths.device
        starts = torch.tensor(self.starts, device=where)
        rows = torch.arange(self.n_rows, device=where)
        return (starts[self.lengths] + rows).clamp_max(max(self.starts[-1] - 1, 0))

    def project_phrases(self, width: int) -> None:
        """Keep the components of phrases of a width as children."""
        kept, values = self.rules.phrases, self.of(self.inner, width)
        self.of(self.lefts, width).copy_(project(values, kept.left, kept.u))
        self.of(self.rights, width).copy_(project(values, kept.right, kept.v))

    def project_tops(self, width: int) -> None:
        """Keep the components of phrases of a width as parents."""
        found = project(self.of(self.outer, width), *self.rules.phrases.side("parent"))
        self.of(self.tops, width).copy_(found)

    def widen(self, width: int, factors: torch.Tensor, result: torch.Tensor) -> None:
        """Add sums over rules and splits to the cells of a width."""
        rows, step, rules = self.rows(width), self.n_rows, self.rules
        if width == 2:
            both, words = rules.words, self.words
            parts = project(words[:, :rows], both.left, both.u) * project(
                words[:, step : step + rows], both.right, both.v
            )
            gather(parts * factors[0][:, None], both.w, both.parent, result)
            return
        below, (first, last) = self.of(self.inner, width - 1), (rules.word_left, rules.word_right)
        parts = project(below[:, step : step + rows], first.right, first.v) * self.word_lefts[:, :rows]
        gather(parts * factors[0][:, None], first.w, first.parent, result)
        at = (width - 1) * step
        parts = project(below[:, :rows], last.left, last.u) * self.word_rights[:, at : at + rows]
        gather(parts * factors[-1][:, None], last.w, last.parent, result)
        sums = self.lefts.new_zeros((len(rules.phrases), rows, self.lefts.shape[2]), dtype=factors.dtype)
        for split in range(2, width - 1):
            left = self.of(self.lefts, split)[:, :rows]
            right = self.of(self.rights, width - split)[:, split * step : split * step + rows]
            sums.addcmul_(left * factors[split - 1][:, None], right)
        gather(sums, rules.phrases.w, rules.phrases.parent, result)

    def outside(self) -> tuple[torch.Tensor, torch.Tensor]:
        """After `inside`: the posteriors of phrases, [symbol, cell above words], and of symbols of words."""
        torch = import_torch()
        self.outer, self.word_outer = torch.zeros_like(self.inner), torch.zeros_like(self.words)
        self.make_room_above()
        share = (self.z > 0) / self.z.where(self.z > 0, torch.ones_like(self.z))
        long, short = share * (self.lengths > 1), share * (self.lengths == 1)
        if self.size > 1:
            self.outer.index_add_(1, self._top_rows, self.rules.phrase_roots[:, None] * long[:, None])
        self.word_outer[:, : self.n_rows] += self.rules.word_roots[:, None] * short[:, None]
        for width in range(self.size, 1, -1):
            if width < self.size:
                self.narrow(width)
            if width > 3:
                self.project_tops(width)
        if self.size > 1:
            self.narrow_words()
        return (self.inner * self.outer).sum(dim=2), (self.words * self.word_outer).sum(dim=2)

    def as_left(self, width: int) -> torch.Tensor:
        """[width of the right part from 1, cell]: what terms are multiplied by, zero where none is."""
        n, rows, at = self.size - width, self.rows(width), width * self.n_rows
        own, other = (
            self.exponents[width, :rows],
            self.exponents[1 : n + 1].as_strided(
                (n, rows), (self.exponents.shape[1], 1), self.exponents.shape[1] + at
            ),
        )
        return powers(own + other - self.exponents[width + 1 : self.size + 1, :rows])

    def as_right(self, width: int) -> torch.Tensor:
        """[width of the left part from 1, cell], alike."""
        torch, n, rows = import_torch(), self.size - width, self.rows(width)
        stride, shape = self.exponents.shape[1], (n, rows)
        steps = (stride - self.n_rows, 1)
        left = self.exponents.as_strided(shape, steps, stride - self.n_rows)
        above = self.exponents.as_strided(shape, steps, (width + 1) * stride - self.n_rows)
        cells = torch.arange(rows, device=left.device) // self.n_rows
        fits = cells >= torch.arange(1, n + 1, device=left.device)[:, None]
        return powers(self.exponents[width, :rows] + left - above) * fits

    def narrow(self, width: int) -> None:
        """Add what flows from all wider cells to those of a width above one."""
        rules, step, outer = self.rules, self.n_rows, self.of(self.outer, width)
        left, right = self.as_left(width), self.as_right(width)
        shape = (len(rules.phrases), self.rows(width), self.lefts.shape[2])
        lefts, rights = (self.lefts.new_zeros(shape, dtype=outer.dtype) for _ in range(2))
        for other in range(2, self.size - width + 1):
            rows, at = self.rows(width + other), other * step
            top = self.of(self.tops, width + other)
            beside = self.of(self.rights, other)[:, width * step : width * step + rows]
            lefts[:, :rows].addcmul_(top * left[other - 1, :rows, None], beside)
            before = self.of(self.lefts, other)[:, :rows]
            rights[:, at : at + rows].addcmul_(top * right[other - 1, at : at + rows, None], before)
        gather(lefts, rules.phrases.u, rules.phrases.left, outer)
        gather(rights, rules.phrases.v, rules.phrases.right, outer)
        above, rows = self.of(self.outer, width + 1), self.rows(width + 1)
        first, last = rules.word_left, rules.word_right
        parts = project(above, first.parent, first.w) * self.word_lefts[:, :rows]
        gather(parts * right[0, step : step + rows, None], first.v, first.right, outer[:, step : step + rows])
        at = width * step
        parts = project(above, last.parent, last.w) * self.word_rights[:, at : at + rows]
        gather(parts * left[0, :rows, None], last.u, last.left, outer[:, :rows])

    def narrow_words(self) -> None:
        """The same for words."""
        rules, step, outer = self.rules, self.n_rows, self.word_outer
        left, right = self.as_left(1), self.as_right(1)
        both, (first, last) = rules.words, (rules.word_left, rules.word_right)
        rows, words = self.rows(2), self.words
        above = project(self.of(self.outer, 2), both.parent, both.w)
        later, sooner = slice(step, step + rows), slice(0, rows)
        parts = above * project(words[:, later], both.right, both.v) * left[0, sooner, None]
        gather(parts, both.u, both.left, outer[:, sooner])
        parts = above * project(words[:, sooner], both.left, both.u) * right[0, later, None]
        gather(parts, both.v, both.right, outer[:, later])
        for other in range(2, self.size):
            rows, at = self.rows(other + 1), other * step
            above, below = self.of(self.outer, other + 1), self.of(self.inner, other)
            parts = project(above, first.parent, first.w)
            parts = parts * project(below[:, step : step + rows], first.right, first.v)
            gather(parts * left[other - 1, :rows, None], first.u, first.left, outer[:, :rows])
            parts = project(above, last.parent, last.w) * project(below[:, :rows], last.left, last.u)
            gather(
                parts * right[other - 1, at : at + rows, None], last.v, last.right, outer[:, at : at + rows]
            )


def powers(exponents: torch.Tensor) -> Any:
    """Powers of two; zero where a cell is zeros."""
    torch = import_torch()
    return torch.exp2(exponents.clamp_max(_MOST)) * (exponents.abs() < -_NEVER / 2)

"""Latent grammars on a device: logarithms of Z and posteriors of all items, for sentences of any lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
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
from sigmastar.treebanks.gpu.chart import Chart, Rules, RuleSet
from sigmastar.treebanks.gpu.dense import DenseChart, RuleTensors, TensorSet, Uses

if TYPE_CHECKING:
    import torch

_SHARE = 0.4  # of the free memory of a GPU
_USED = 0.85  # of the sums of a batch are of its sentences, and not of what makes them of one length
_MOST_ROWS = 2048  # sentences of a batch, more of which do not make it faster


class RuleFactors(NamedTuple):
    """Rules a -> b c whose tensors are sums over k of left[y, k] right[z, k] parent[x, k]."""

    rules: Int32s  # [rule, 3]: parent, left, right; symbols of words come first
    left: Reals  # rule, state, component
    right: Reals
    parent: Reals


class Posteriors(NamedTuple):
    """Of one sentence: [cell, symbol], cells by width and then by the first word; the symbols of words first.

    Attributes
    ----------
    words : array
        The cells of single words.
    phrases : array
        All wider cells.
    """

    words: Reals
    phrases: Reals


class RuleUses(NamedTuple):
    """Of one sentence: where rules stand, narrow cells first, and how probable each is there.

    Attributes
    ----------
    places : array
        [place, 4]: the first word, the width of the left part, the width, the rule.
    values : array
        Posteriors.
    """

    places: Int64s
    values: Reals


def exact_factors(
    rules: Int32s, n_states: Int64s, tensors: Reals, offsets: Int64s
) -> tuple[RuleFactors, int]:
    """The tensors of any grammar as sums of products, one for each pair of states of the children.

    `RuleTensors` are the same without so many products, for grammars of more than a few states.

    Parameters
    ----------
    rules, n_states, tensors, offsets : arrays
        As `LatentGrammar` has them: tensors flat, that of rule r from `offsets[r]` on, [left, right, parent].

    Returns
    -------
    RuleFactors, int
        The rules; and the number of states that all symbols are filled up to.
    """
    m = int(n_states.max())
    whole = np.zeros((len(rules), m, m, m))
    for number, (a, b, c) in enumerate(n_states[rules].tolist()):
        low, high = offsets[number : number + 2]
        whole[number, :b, :c, :a] = tensors[low:high].reshape(b, c, a)
    unit, shape = np.eye(m), (len(rules), m, m * m)
    left = np.broadcast_to(np.repeat(unit, m, axis=1), shape)
    right = np.broadcast_to(np.tile(unit, m), shape)
    return RuleFactors(rules, left, right, whole.reshape(shape[0], m * m, m).transpose(0, 2, 1)), m


class TorchGrammar:
    """A latent grammar on a device.

    Parameters
    ----------
    factors : RuleFactors or RuleTensors
        The rules: sums of products, or whole tensors, which may be signed.
    roots : array
        Symbols by states.
    emissions : array
        Words by symbols of words by states; `with_words` gives others.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    precision : {"float64", "float32", "bfloat16"}
        Type of the factors and of what is kept; sums and vectors have float32 at least, and so have whole
        tensors.

    Examples
    --------
    >>> rules = np.array([[1, 0, 0], [1, 1, 0]])  # S -> W W, S -> S W
    >>> ones = np.ones((2, 1, 1))
    >>> factors = RuleFactors(rules, ones, ones, np.array([0.5, 0.5])[:, None, None])
    >>> grammar = TorchGrammar(factors, np.array([[0.0], [1.0]]), np.ones((1, 1, 1)))  # doctest: +SKIP
    >>> grammar.log_totals(np.zeros(3, dtype=int), np.array([0, 3]))  # doctest: +SKIP
    array([-1.38629436])
    """

    def __init__(
        self,
        factors: RuleFactors | RuleTensors,
        roots: Reals,
        emissions: Reals,
        *,
        device: str = "auto",
        precision: str = "float64",
    ) -> None:
        torch = import_torch()
        self.device, self.dtype = chosen_device(device), chosen_precision(precision)
        self.wide = torch.float64 if self.dtype == torch.float64 else torch.float32
        self.n_leaves = emissions.shape[1]
        self.emissions = self._words(emissions)
        self.rules = self._rules(factors, self._tensor(roots))
        self.chart: Callable[..., Chart] = Chart
        if isinstance(factors, RuleTensors):
            self.chart = DenseChart
        elif self.device.type == "cuda" and self.wide == torch.float32 and _fits(factors):
            from sigmastar.treebanks.gpu.fused import FusedChart

            self.chart = FusedChart

    def with_words(self, emissions: Reals) -> TorchGrammar:
        """The same grammar with other words, by symbols of words by states."""
        found = copy(self)
        found.emissions = self._words(emissions)
        return found

    def _words(self, emissions: Reals) -> torch.Tensor:
        """symbol, word, state"""
        return self._tensor(emissions).transpose(0, 1).contiguous()

    def _tensor(self, array: Reals | Int64s, dtype: Any = None) -> torch.Tensor:
        return on_device(array, self.device, dtype or self.wide)

    def _rules(self, factors: RuleFactors | RuleTensors, roots: torch.Tensor) -> Rules:
        n, torch = self.n_leaves, import_torch()
        whole = isinstance(factors, RuleTensors)
        if whole and self.dtype == torch.bfloat16:
            raise ValueError("whole tensors of rules need float32 or float64")
        parent, left, right = (factors.rules[:, side].astype(np.int64) for side in range(3))
        if len(parent) and parent.min() < n:
            raise ValueError(f"the parent of a rule is a symbol of words, of which there are {n}")

        def of_kind(is_left: bool, is_right: bool) -> Any:
            chosen = np.flatnonzero(((left < n) == is_left) & ((right < n) == is_right))
            chosen = chosen[np.argsort(parent[chosen], kind="stable")]
            b, c = left[chosen] - (0 if is_left else n), right[chosen] - (0 if is_right else n)
            symbols = [self._tensor(array, torch.int64) for array in (b, c, parent[chosen] - n)]
            if isinstance(factors, RuleTensors):
                numbers = self._tensor(chosen, torch.int64)
                tensors = on_device(factors.tensors, self.device, self.dtype)[numbers]
                return TensorSet(symbols[0], symbols[1], symbols[2], tensors, numbers)
            return RuleSet(*symbols, *(self._tensor(side[chosen], self.dtype) for side in factors[1:]))

        mixed = of_kind(True, False), of_kind(False, True)
        return Rules(of_kind(False, False), *mixed, of_kind(True, True), roots[n:], roots[:n])

    def log_totals(self, codes: Int32s, offsets: Int64s) -> Floats:
        """Logarithms of Z.

        Parameters
        ----------
        codes, offsets : arrays of int
            The words of all sentences, and where sentences begin and end.

        Returns
        -------
        array
            One per sentence; minus infinity where there is no tree.
        """
        logs = np.full(len(offsets) - 1, -np.inf)
        for rows in self.batches(np.diff(offsets)):

            def work(size: int, rows: Int64s = rows) -> list[Floats]:
                parts = np.split(rows, range(size, len(rows), size))
                return [self.chart_of(codes, offsets, part).inside().cpu().numpy() for part in parts]

            logs[rows] = np.concatenate(smaller_on_failure(work, len(rows)))
        return logs

    def posteriors(self, codes: Int32s, offsets: Int64s) -> tuple[Floats, list[Posteriors]]:
        """Logarithms of Z, and how probable every symbol is over every span, all states together.

        Parameters
        ----------
        codes, offsets : arrays of int
            The words of all sentences, and where sentences begin and end.

        Returns
        -------
        tuple
            One logarithm and one `Posteriors` per sentence; zeros where there is no tree.
        """
        logs, found, _ = self._in_batches(codes, offsets, None)
        return logs, found

    def uses(
        self, codes: Int32s, offsets: Int64s, least: float
    ) -> tuple[Floats, list[Posteriors], list[RuleUses]]:
        """`posteriors`, and those of rules at their places; of whole tensors alone.

        Parameters
        ----------
        codes, offsets : arrays of int
            The words of all sentences, and where sentences begin and end.
        least : float
            Posterior that a rule must be above to be named.

        Returns
        -------
        tuple
            One logarithm, one `Posteriors` and one `RuleUses` per sentence.
        """
        if self.chart is not DenseChart:
            raise ValueError("posteriors of rules need a grammar of RuleTensors")
        return self._in_batches(codes, offsets, least)

    def _in_batches(
        self, codes: Int32s, offsets: Int64s, least: float | None
    ) -> tuple[Floats, list[Posteriors], list[RuleUses]]:
        n, empty = len(offsets) - 1, np.zeros((0, 0))
        logs, found = np.full(n, -np.inf), [Posteriors(empty, empty)] * n
        uses = [RuleUses(np.zeros((0, 4), dtype=np.int64), np.zeros(0))] * n
        for rows in self.batches(np.diff(offsets)):

            def work(size: int, rows: Int64s = rows) -> list[tuple[Any, ...]]:
                parts = np.split(rows, range(size, len(rows), size))
                return [self._posteriors(codes, offsets, part, least) for part in parts]

            done = smaller_on_failure(work, len(rows))
            logs[rows] = np.concatenate([part[0] for part in done])
            items = (item for part in done for item in zip(part[1], part[2], strict=True))
            for row, (item, use) in zip(rows.tolist(), items, strict=True):
                found[row], uses[row] = item, use
        return logs, found, uses

    def batches(self, lengths: Int64s) -> Iterator[Int64s]:
        """Sentences that are done together, the longest first, nearly of one length."""
        order = np.argsort(-lengths, kind="stable")
        order, at = order[lengths[order] > 0], 0
        while at < len(order):
            size = self.most_rows(int(lengths[order[at]]))
            work = lengths[order[at : at + size]].astype(np.float64) ** 3
            share = np.cumsum(work) / (work[0] * np.arange(1, len(work) + 1))
            taken = int(np.flatnonzero(share >= _USED)[-1]) + 1
            yield order[at : at + taken]
            at += taken

    def most_rows(self, length: int) -> int:
        """Sentences of a length whose chart fits into memory."""
        rules, cells = self.rules, length * (length + 1) // 2
        if self.chart is DenseChart:
            n_all = (rules.phrase_roots.numel() + rules.word_roots.numel()) * self.wide.itemsize
            most = batch_budget(self.device, _SHARE) // (n_all * (4 * cells + length * length))
            return min(max(int(most), 1), _MOST_ROWS)
        kept = 3 * rules.phrases.u.shape[2] * len(rules.phrases) * self.dtype.itemsize
        vectors = 4 * rules.phrase_roots.numel() * self.wide.itemsize
        one_width = 3 * length * sum(len(kind) for kind in (rules.word_left, rules.word_right, rules.phrases))
        of_width = one_width * rules.phrases.u.shape[2] * self.wide.itemsize
        most = batch_budget(self.device, _SHARE) // (cells * (kept + vectors) + of_width)
        return min(max(int(most), 1), _MOST_ROWS)

    def chart_of(self, codes: Int32s, offsets: Int64s, rows: Int64s) -> Chart:
        """The empty chart of sentences, the longest first."""
        torch = import_torch()
        lengths = np.diff(offsets)[rows]
        places = np.arange(lengths.max())[:, None]
        words = codes[np.minimum(offsets[rows] + places, len(codes) - 1)]
        inside = torch.as_tensor((places < lengths).ravel()).to(self.device)
        chosen = torch.as_tensor(words.ravel().astype(np.int64)).to(self.device)
        vectors = self.emissions.index_select(1, chosen) * inside[:, None]
        return self.chart(self.rules, vectors, torch.as_tensor(lengths).to(self.device))

    def _posteriors(
        self, codes: Int32s, offsets: Int64s, rows: Int64s, least: float | None
    ) -> tuple[Floats, list[Posteriors], list[RuleUses]]:
        chart = self.chart_of(codes, offsets, rows)
        logs = chart.inside()
        phrases, words = (table.mT.cpu().numpy() for table in chart.outside())
        n, size, found = len(rows), chart.size, list[Posteriors]()
        for row, length in enumerate(chart.lengths.tolist()):
            cells = [
                chart.starts[width] + np.arange(length - width + 1) * n + row
                for width in range(2, length + 1)
            ]
            wide = phrases[np.concatenate([*cells, np.zeros(0, dtype=np.int64)])]
            found.append(Posteriors(words[row : size * n : n][:length], wide))
        named = () if least is None or not isinstance(chart, DenseChart) else chart.uses(least)
        return logs.cpu().numpy(), found, _by_sentence(named, n)


def _by_sentence(uses: Iterable[Uses], n: int) -> list[RuleUses]:
    """Of each sentence of a batch, in the order in which they come."""
    parts = [
        [
            *(array.cpu().numpy() for array in (one.sentence, one.begin, one.split)),
            np.full(len(one.rule), one.width),
            *(array.cpu().numpy() for array in (one.rule, one.value)),
        ]
        for one in uses
    ]
    if not parts:
        return [RuleUses(np.zeros((0, 4), dtype=np.int64), np.zeros(0))] * n
    sentence, begin, split, width, rule, value = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    order = np.argsort(sentence, kind="stable")
    places = np.stack([begin, split, width, rule], axis=1)[order]
    bounds = np.searchsorted(sentence[order], np.arange(1, n))
    pairs = zip(np.split(places, bounds), np.split(value[order], bounds), strict=True)
    return [RuleUses(*pair) for pair in pairs]


def _fits(factors: RuleFactors) -> bool:
    """Whether the kernels of `fused` take the numbers of states and components."""
    return all(size in (16, 32, 64) for size in factors.left.shape[1:])

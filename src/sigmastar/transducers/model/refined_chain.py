"""Markov chains over symbols refined into substates: sparse, with a bigram behind them.

    p(a1 .. aT) = sum over z of prod_t p(a_t, z_t | a_t-1, z_t-1),      a_0 = start, a_T+1 = end

A symbol has as many substates as its data bears. Moves are stored where the pair of symbols was seen, a block
of substates x substates for each; elsewhere
    p(b, z' | a, z) = spare[a, z] p(b | a) p(z' | b).
As a weighted automaton it has one state per substate, thousands of them; as blocks it is small and fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.model_reading import above, below
from sigmastar.core.stored_parts import Parts, floats, rising, row_starts

_TABLES = ("firsts", "pair_keys", "blocks", "spare", "shares")


class ChainText(NamedTuple):
    """Strings in a row, each between two edges; where each begins and ends; pairs of neighbours."""

    symbols: Int32s
    ends: Int64s
    pairs: Int64s  # the block of each symbol with the next, -1 where there is none
    bigrams: Floats  # p(next symbol | symbol), looked at where there is no block


class ChainArrays(NamedTuple):
    """Substates firsts[a] .. firsts[a + 1] of symbol a, and the moves between them."""

    firsts: Int64s
    block_starts: Int64s
    blocks: Floats
    spare: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class RefinedChain:
    """Substates `firsts[a] .. firsts[a + 1]` belong to symbol a; the edge of strings is the last symbol."""

    bigram: NgramModel
    firsts: Int64s
    pair_keys: Int64s  # of the pairs of symbols that have blocks, a * (symbols + 1) + b, sorted
    blocks: Floats
    spare: Floats  # per substate
    shares: Floats  # p(z | a)

    @property
    def alphabet(self) -> Alphabet:
        return self.bigram.alphabet

    @property
    def n_substates(self) -> int:
        return int(self.firsts[-1])

    @cached_property
    def block_starts(self) -> Int64s:
        sizes = np.diff(self.firsts)
        before, after = np.divmod(self.pair_keys, len(self.alphabet) + 1)
        return np.concatenate([[0], np.cumsum(sizes[before] * sizes[after])])

    @property
    def arrays(self) -> ChainArrays:
        return ChainArrays(self.firsts, self.block_starts, self.blocks, self.spare, self.shares)

    def text(self, strings: Strings, with_bigrams: bool = True) -> ChainText:
        """Strings as kernels read them; unknown symbols are taken for the first one."""
        flat, ends = flat_with_edges(strings)
        symbols = np.maximum(flat, 0)
        bigrams = np.zeros(len(symbols))
        if with_bigrams:
            bigrams[:-1] = self.bigram.probabilities(self.after_symbol[symbols[:-1]], symbols[1:])
        return ChainText(symbols, ends, self._pairs_of(symbols), bigrams)

    def _pairs_of(self, symbols: Int32s) -> Int64s:
        """The number of the pair of each symbol with the next, -1 where it has no block."""
        width, keys = len(self.alphabet) + 1, self.pair_keys
        wanted = symbols[:-1].astype(np.int64) * width + symbols[1:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.append(np.where(keys[at] == wanted, at, -1), -1)

    def log_probability(self, strings: Strings) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(self.outcome_probabilities(strings))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def outcome_probabilities(self, strings: Strings) -> Floats:
        """p(what follows | what came before) at every gap; zero where either holds an unknown symbol."""
        strings = strings.recoded(self.alphabet, allow_unknown=True)
        text = self.text(strings)
        steps = chain_probabilities(text, self.arrays)
        symbols, _ = flat_with_edges(strings)
        steps[:-1][(symbols[:-1] < 0) | (symbols[1:] < 0)] = 0.0
        inner = np.ones(len(symbols), dtype=bool)
        inner[text.ends[1:] - 1] = False
        return steps[inner]

    def expected(self, text: ChainText) -> tuple[Floats, float]:
        """Expected counts of the moves, and the log-likelihood."""
        return chain_expectations(text, self.arrays)

    def with_moves(self, blocks: Floats, spare: Floats, shares: Floats) -> RefinedChain:
        return replace(self, blocks=blocks, spare=spare, shares=shares)

    @cached_property
    def after_symbol(self) -> Int32s:
        """The context of the bigram after each symbol, and after the edge."""
        contexts, n = self.bigram.contexts, len(self.alphabet)
        nothing = np.zeros(n, dtype=np.int32)
        return np.append(contexts.follow(nothing, np.arange(n)), np.int32(contexts.start))

    PARTS: ClassVar[Parts] = Parts(
        inner=("bigram.",),
        arrays={
            "spare": floats("substates", least=0.0),
            "shares": floats("substates", least=0.0),
            "firsts": row_starts("symbols", of="substates"),
            "pair_keys": rising("pairs", of="cells"),
            "blocks": floats("moves", least=0.0),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays, header = self.bigram.to_parts()
        return above("bigram.", arrays) | {name: getattr(self, name) for name in _TABLES}, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> RefinedChain:
        bigram = NgramModel.from_parts(below("bigram.", arrays), header)
        width = len(bigram.alphabet) + 1
        cls.PARTS.check(arrays, header, symbols=width, cells=width * width)
        chain = cls(bigram, *(arrays[name] for name in _TABLES))
        chain._require_fit()
        return chain

    def _require_fit(self) -> None:
        """Refuse tables that do not fit each other: each symbol has a substate, the edge one."""
        sizes = np.diff(self.firsts)
        if not len(self.pair_keys) or sizes.min() < 1 or sizes[-1] != 1:
            raise ValueError("the substates of a refined chain do not fit its symbols")
        before, after = np.divmod(self.pair_keys, len(sizes))
        if (sizes[before].astype(float) * sizes[after]).sum() != len(self.blocks):  # which cannot overflow
            raise ValueError("the blocks of a refined chain do not fit its pairs")


def flat_with_edges(strings: Strings) -> tuple[Int32s, Int64s]:
    """All strings in a row, each between two edge symbols, and where each begins and ends."""
    edge = len(strings.alphabet)
    ends = np.concatenate([[0], np.cumsum(strings.lengths + 2)])
    symbols = np.full(ends[-1], edge, dtype=np.int32)
    inner = np.ones(ends[-1], dtype=bool)
    inner[ends[:-1]] = False
    inner[ends[1:] - 1] = False
    symbols[inner] = strings.codes
    return symbols, ends


@part
def _widest(firsts: Int64s) -> int:
    widest = 1
    for a in range(len(firsts) - 1):
        widest = max(widest, firsts[a + 1] - firsts[a])
    return widest


@part
def _move(now: Floats, then: Floats, text: ChainText, at: int, chain: ChainArrays) -> float:
    """One step forward from position `at`, normalized; the sum before that."""
    a, b = text.symbols[at], text.symbols[at + 1]
    ka, kb = chain.firsts[a + 1] - chain.firsts[a], chain.firsts[b + 1] - chain.firsts[b]
    total, left = 0.0, 0.0
    for to in range(kb):
        then[to] = 0.0
    for of in range(ka):
        if text.pairs[at] >= 0:
            row = chain.block_starts[text.pairs[at]] + of * kb
            for to in range(kb):
                then[to] += now[of] * chain.blocks[row + to]
        else:
            left += now[of] * chain.spare[chain.firsts[a] + of]
    for to in range(kb):
        if text.pairs[at] < 0:
            then[to] = left * text.bigrams[at] * chain.shares[chain.firsts[b] + to]
        total += then[to]
    for to in range(kb):
        then[to] = then[to] / total if total > 0.0 else 0.0
    return total


@kernel
def chain_probabilities(text: ChainText, chain: ChainArrays) -> Floats:
    """p(next symbol | symbols so far) at every position but the ends, where it is one."""
    widest = _widest(chain.firsts)
    now, then, steps = np.empty(widest), np.empty(widest), np.ones(len(text.symbols))
    for string in range(len(text.ends) - 1):
        now[0] = 1.0
        for at in range(text.ends[string], text.ends[string + 1] - 1):
            steps[at] = _move(now, then, text, at, chain)
            now, then = then, now
    return steps


@kernel
def chain_expectations(text: ChainText, chain: ChainArrays) -> tuple[Floats, float]:
    """Expected counts of moves of substates, in blocks, and the log-likelihood; all pairs have blocks."""
    counts, log, longest = np.zeros(len(chain.blocks)), 0.0, 0
    for string in range(len(text.ends) - 1):
        longest = max(longest, text.ends[string + 1] - text.ends[string])
    before, scale = np.zeros((longest, _widest(chain.firsts))), np.zeros(longest)
    for string in range(len(text.ends) - 1):
        first, last = text.ends[string], text.ends[string + 1] - 1
        before[0, 0] = 1.0
        for at in range(first, last):
            scale[at - first] = _move(before[at - first], before[at - first + 1], text, at, chain)
            log += np.log(scale[at - first])
        _add_expected(text, first, last, chain, before, scale, counts)
    return counts, log


@kernel
def _add_expected(
    text: ChainText, first: int, last: int, chain: ChainArrays, before: Floats, scale: Floats, counts: Floats
) -> None:
    """Add the expected moves of one string."""
    after, earlier = np.zeros(before.shape[1]), np.zeros(before.shape[1])
    after[0] = 1.0
    for at in range(last - 1, first - 1, -1):
        a, b = text.symbols[at], text.symbols[at + 1]
        kb = chain.firsts[b + 1] - chain.firsts[b]
        for of in range(chain.firsts[a + 1] - chain.firsts[a]):
            earlier[of], row = 0.0, chain.block_starts[text.pairs[at]] + of * kb
            for to in range(kb):
                weight = chain.blocks[row + to] * after[to] / scale[at - first]
                counts[row + to] += before[at - first, of] * weight
                earlier[of] += weight
        after, earlier = earlier, after

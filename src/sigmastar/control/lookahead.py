"""The probability that a constraint will be met, from every state of a model and of the constraint.

Having read p symbols, in state q of the model and d of the constraint, an automaton with moves m,

    v_p[q, d] = final[q] accepting[d] [low <= p] + sum_a sum_q' A_a[q, q'] v_p+1[q', m(d, a)]

down from v_high, behind which no symbol may come. Without a largest length the recursion is run until it
stands still (from below, since all its terms are positive). A model that never stops is cut after `high`
symbols instead: v_high[q, d] = accepting[d]. Values of one state d have a common power of two beside them, so
that what is less likely than 1e-308 is still told from what is impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.model.dfa import DFA
from sigmastar.control.chains import Chain
from sigmastar.control.languages import Bounds
from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.errors import InputError

_NEVER = -(1 << 40)  # the exponent of zero
_CLOSE, _ROUNDING = 1e-14, 5e-16  # relative changes, all that are to come, and the last, at a stand
_MOST_STEPS = 200_000
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Level:
    """The values after some number of symbols: `values[d] * 2 ** exponents[d]`, the dead state last."""

    values: Any  # states of the constraint + 1, states of the model
    exponents: Int64s
    ahead: Any
    may_end: bool


@dataclass(frozen=True, eq=False)
class Lookahead:
    """Levels by the number of symbols that were read; the last one holds from there on."""

    chain: Chain
    accepting: Flags  # the dead state last
    levels: list[Level]
    bounds: Bounds
    is_endless: bool

    @classmethod
    def of(cls, chain: Chain, dfa: DFA, bounds: Bounds) -> Lookahead:
        accepting = np.append(dfa.accepting, False)
        is_endless = not chain.backend.host(chain.final).any()
        if is_endless and bounds.high is None:
            raise InputError("the model never stops; give a length, as by max_length")
        recursion = _Recursion(chain, accepting, bounds, is_endless)
        return cls(chain, accepting, recursion.levels(), bounds, is_endless)

    def level(self, position: int) -> Level:
        return self.levels[min(position, len(self.levels) - 1)]

    def may_go_on(self, position: int) -> bool:
        return self.bounds.high is None or position < self.bounds.high

    def ends(self, position: int) -> bool:
        """Whether a string of this many symbols may end."""
        return self.level(position).may_end and (self.bounds.high is None or position <= self.bounds.high)


@dataclass(frozen=True, eq=False)
class _Recursion:
    chain: Chain
    accepting: Flags
    bounds: Bounds
    is_endless: bool

    def levels(self) -> list[Level]:
        low, high = self.bounds.low, self.bounds.high
        if high is not None and high < low:
            raise InputError(f"no string has at least {low} and at most {high} symbols")
        last = self._last()
        levels = self._while_ending(last) if high is None else [last, *self._while_ending(last)]
        for _ in range(low if high is None or not self.is_endless else 0):
            levels.append(self._before(levels[-1], may_end=False))
        levels.reverse()
        return levels

    def _while_ending(self, level: Level) -> list[Level]:
        """The levels at which strings may end, but for the last; one alone where there is no last."""
        low, high = self.bounds.low, self.bounds.high
        n_steps = _MOST_STEPS if high is None else high if self.is_endless else high - low
        found, change = list[Level](), 1.0
        for number in range(n_steps):
            before, last = self._before(level, may_end=not self.is_endless), change
            change = _change(level, before, self.chain)
            if change < _ROUNDING or change < _CLOSE * (1.0 - change / last):
                return [before] if high is None else found + [before] * (n_steps - number)
            level = before
            if high is not None:
                found.append(before)
                self._require_room(len(found))
        if high is None:
            raise InputError("strings of this model are too long to look to their end; give a max_length")
        return found

    def _require_room(self, n_levels: int) -> None:
        n, m = len(self.chain.final), len(self.accepting)
        if 16 * n_levels * n * m > _MOST_BYTES * (16 if self.chain.backend.is_tensor else 1):
            raise InputError(
                f"{n} states of the model and {m - 1} of the constraint need too much room beyond {n_levels} "
                "symbols; lower max_length"
            )

    def _last(self) -> Level:
        final = np.ones(len(self.chain.final)) if self.is_endless else self.chain.final
        ends = self.chain.backend.array(self.accepting.astype(float))[:, None] * self.chain.backend.array(
            final
        )
        return self._level(ends, np.where(self.accepting, 0, _NEVER), may_end=True)

    def _before(self, after: Level, may_end: bool) -> Level:
        """The level one symbol earlier."""
        moves, n = self.chain.groups.moves, len(self.accepting) - 1
        of_moves = after.exponents[moves]
        ending = self.accepting[:n] & may_end
        tops = np.maximum(of_moves.max(axis=1, initial=_NEVER), np.where(ending, 0, _NEVER))
        factors = np.ldexp(1.0, np.clip(of_moves - tops[:, None], -2000, 0))
        array = self.chain.backend.array
        found = self.chain.pull(after.ahead, factors)
        if may_end:
            stops = np.where(ending, np.ldexp(1.0, np.clip(-tops, -2000, 0)), 0.0)
            found = found + array(stops)[:, None] * self.chain.final
        whole = self.chain.backend.stack([*found, array(np.zeros(len(self.chain.final)))])
        return self._level(whole, np.append(tops, _NEVER), may_end)

    def _level(self, values: Any, exponents: Int64s, may_end: bool) -> Level:
        backend = self.chain.backend
        tops = backend.tops(values)
        shifts = np.where(tops > 0, np.frexp(tops)[1], 0)
        scaled = values * backend.array(np.ldexp(1.0, -shifts))[:, None]
        exponents = np.where(tops > 0, exponents + shifts, _NEVER)
        return Level(scaled, exponents, self.chain.ahead(scaled), may_end)


def _change(old: Level, new: Level, chain: Chain) -> float:
    """The largest relative change of a value."""
    live = new.exponents > _NEVER
    if (old.exponents > _NEVER).sum() < live.sum():
        return 1.0
    backend = chain.backend
    shifts = np.ldexp(1.0, np.clip(old.exponents - new.exponents, -2000, 1000))
    before, after = backend.host(old.values) * shifts[:, None], backend.host(new.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(after > 0, 1.0 - before / after, 0.0), initial=0.0))

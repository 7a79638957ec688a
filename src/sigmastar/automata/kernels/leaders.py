"""The most probable outcome of many contexts, found without a table of all outcomes.

    p(w) = (1 - r) sum_z b_z E[w, z]  +  r (known[w] + left base[w])

with `known` from the contexts of an n-gram, and `base` from the empty one. Outcomes stand in lists, one of
each state and one of `base`, from the most probable on. The lists are read side by side: what none has shown
so far is at most as probable as where they stand, so that the best one found is the best of all as soon as
it is above that. Where they end before, all outcomes are looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.jit import fast_kernel, part

PLACES = 128
_SMALL = 0.01  # of the best so far: lists of states that add less to any outcome are not read


class Leaders(NamedTuple):
    """What all contexts choose from."""

    by_outcome: Reals  # outcomes x states
    totals: Floats  # states: sums over outcomes
    leading: Int64s  # states x places: outcomes of each state, the most probable first
    base: Floats  # outcomes, in the empty context
    base_order: Int64s  # places: outcomes, the most probable in the empty context first


def leaders_of(by_outcome: Reals, base: Floats, places: int = PLACES) -> Leaders:
    """The lists of states and of the empty context, each of so many places."""
    places = min(places, len(base))

    def first(table: Reals) -> Int64s:
        some = np.argpartition(np.negative(table), places - 1, axis=0)[:places]
        order = np.argsort(np.negative(np.take_along_axis(table, some, axis=0)), axis=0, kind="stable")
        return np.ascontiguousarray(np.take_along_axis(some, order, axis=0).T)

    totals = by_outcome.sum(axis=0, dtype=np.float64)
    return Leaders(by_outcome, totals, first(by_outcome), base, first(base))


class Room(NamedTuple):
    """One context: the parts of its sums with their shares, and what was looked at."""

    beliefs: Floats  # states
    known: Floats  # outcomes; zeros between contexts
    met: Int64s  # outcomes that are known
    seen: Int32s  # outcomes: the last context that looked at each
    listed: Int32s  # states whose lists are read


class Found(NamedTuple):
    """The best outcome so far, and its probability."""

    outcome: int
    value: float


@part
def _look_up(node: int, rate: float, tables: Any, room: Room) -> tuple[int, float]:
    """Fill what is known of outcomes; the number of these, and the share of the empty context."""
    weight, n_met = rate, 0
    while node:
        for at in range(tables.row_starts[node], tables.row_starts[node + 1]):
            outcome = tables.row_outcomes[at]
            if room.known[outcome] == 0.0:
                room.met[n_met] = outcome
                n_met += 1
            room.known[outcome] += weight * tables.own[at]
        weight *= tables.backoff[node]
        node = tables.parent[node]
    return n_met, weight


@part
def _weigh(beliefs: Reals, rate: float, leaders: Leaders, room: Room) -> None:
    """Fill the shares of the states."""
    mass = 0.0
    for z in range(len(beliefs)):
        mass += beliefs[z] * leaders.totals[z]
    for z in range(len(beliefs)):
        room.beliefs[z] = (1.0 - rate) * beliefs[z] / mass


@part
def _compared(context: int, outcome: int, best: Found, left: float, leaders: Leaders, room: Room) -> Found:
    """The better of an outcome and the best so far; of equals the first."""
    room.seen[outcome] = context
    row = leaders.by_outcome[outcome]
    value = room.known[outcome] + left * leaders.base[outcome]
    for z in range(len(row)):
        value += room.beliefs[z] * row[z]
    if value > best.value or (value == best.value and outcome < best.outcome):
        return Found(outcome, value)
    return best


@part
def _list_states(top: float, leaders: Leaders, room: Room) -> tuple[int, float]:
    """Fill the states whose lists are read; their number, and the most that the others add."""
    n_listed, others = 0, 0.0
    for z in range(len(room.beliefs)):
        most = room.beliefs[z] * leaders.by_outcome[leaders.leading[z, 0], z]
        if most > _SMALL * top:
            room.listed[n_listed] = z
            n_listed += 1
        else:
            others += most
    return n_listed, others


@part
def _read_lists(
    context: int, best: Found, left: float, n_allowed: int, leaders: Leaders, room: Room
) -> tuple[Found, float, bool]:
    """Read until the best is known; it, the most that states give to others, and whether that is sure."""
    n_listed, others = _list_states(best.value, leaders, room)
    bound = 1.0
    for place in range(len(leaders.base_order)):
        bound = others
        for i in range(n_listed):
            z = room.listed[i]
            outcome = leaders.leading[z, place]
            bound += room.beliefs[z] * leaders.by_outcome[outcome, z]
            if outcome < n_allowed and room.seen[outcome] != context:
                best = _compared(context, outcome, best, left, leaders, room)
        outcome = leaders.base_order[place]
        if outcome < n_allowed and room.seen[outcome] != context:
            best = _compared(context, outcome, best, left, leaders, room)
        if best.value > bound + left * leaders.base[outcome]:
            return best, bound, True
    return best, bound, False


@fast_kernel
def best_outcomes(
    beliefs: Reals, rates: Floats, contexts: Int32s, leaders: Leaders, tables: Any, n_allowed: int
) -> tuple[Int32s, int]:
    """The best of the first `n_allowed` outcomes in each context; for how many all were looked at.

    `tables` are those of an n-gram, `contexts` are its own, and `rates` its share in each.
    """
    n_outcomes, n_states = leaders.by_outcome.shape
    chosen, n_whole = np.zeros(len(rates), np.int32), 0
    met, seen = np.zeros(n_outcomes, np.int64), np.full(n_outcomes, -1, np.int32)
    room = Room(np.zeros(n_states), np.zeros(n_outcomes), met, seen, np.zeros(n_states, np.int32))
    for k in range(len(rates)):
        _weigh(beliefs[k], rates[k], leaders, room)
        n_met, left = _look_up(contexts[k], rates[k], tables, room)
        best, top = Found(0, -1.0), 0
        for i in range(n_met):
            if room.met[i] < n_allowed and room.known[room.met[i]] > room.known[top]:
                top = room.met[i]
        best = _compared(k, top, best, left, leaders, room)
        best, bound, is_sure = _read_lists(k, best, left, n_allowed, leaders, room)
        for i in range(n_met if is_sure else n_allowed):
            outcome = room.met[i] if is_sure else i
            if outcome < n_allowed and room.seen[outcome] != k:
                most = room.known[outcome] + left * leaders.base[outcome] + bound
                if not is_sure or most >= best.value:
                    best = _compared(k, outcome, best, left, leaders, room)
        for i in range(n_met):
            room.known[room.met[i]] = 0.0
        chosen[k], n_whole = best.outcome, n_whole + (not is_sure)
    return chosen, n_whole


class ClassLists(NamedTuple):
    """Symbols by their classes, the largest share first; the end is the outcome behind all symbols."""

    starts: Int64s  # classes + 1
    members: Int64s
    class_of: Int32s
    shares: Floats
    base: Floats  # outcomes, in the empty context
    most: Floats  # classes: the largest `base` of their symbols


def class_lists(class_of: Int32s, shares: Floats, base: Floats) -> ClassLists:
    """The lists of all classes."""
    n_classes = int(class_of.max(initial=-1)) + 1
    members = np.lexsort((-shares, class_of)).astype(np.int64)
    starts = np.searchsorted(class_of[members], np.arange(n_classes + 1)).astype(np.int64)
    most = np.zeros(n_classes)
    np.maximum.at(most, class_of, base[:-1])
    return ClassLists(starts, members, class_of, shares, base, most)


@part
def _value_of(outcome: int, rows: Floats, whole: float, left: float, lists: ClassLists, room: Room) -> float:
    """The probability of an outcome, from next classes with the weight `whole` and from the n-gram."""
    value = room.known[outcome] + left * lists.base[outcome]
    if outcome == len(lists.class_of):
        return value + whole * rows[len(rows) - 1]  # type: ignore[no-any-return]
    share = lists.shares[outcome]
    return value + whole * rows[lists.class_of[outcome]] * share  # type: ignore[no-any-return]


@part
def _better(best: Found, outcome: int, value: float) -> Found:
    """Of equals the first."""
    if value > best.value or (value == best.value and outcome < best.outcome):
        return Found(outcome, value)
    return best


@fast_kernel
def best_of_classes(
    rows: Floats, rates: Floats, contexts: Int32s, lists: ClassLists, tables: Any, n_allowed: int
) -> Int32s:
    """The best of the first `n_allowed` outcomes in each context, where `rows` give next classes and the end.

    What the n-gram knows is looked at, and of each class the symbols of so large a share that one of them may
    be the best.
    """
    n_outcomes, chosen = len(lists.base), np.zeros(len(rates), np.int32)
    none, few = np.zeros(0), np.zeros(0, np.int32)
    room = Room(none, np.zeros(n_outcomes), np.zeros(n_outcomes, np.int64), few, few)
    for k in range(len(rates)):
        whole = 1.0 - rates[k]
        n_met, left = _look_up(contexts[k], rates[k], tables, room)
        best = Found(n_outcomes, -1.0)
        for i in range(n_met + 1):
            outcome = room.met[i] if i < n_met else n_outcomes - 1
            if outcome < n_allowed:
                best = _better(best, outcome, _value_of(outcome, rows[k], whole, left, lists, room))
        for c in range(len(lists.most)):
            extra = left * lists.most[c]
            for at in range(lists.starts[c], lists.starts[c + 1]):
                outcome = lists.members[at]
                if whole * rows[k, c] * lists.shares[outcome] + extra < best.value:
                    break
                best = _better(best, outcome, _value_of(outcome, rows[k], whole, left, lists, room))
        for i in range(n_met):
            room.known[room.met[i]] = 0.0
        chosen[k] = best.outcome
    return chosen

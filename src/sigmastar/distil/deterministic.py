"""Deterministic automata from answers: rows of an observation table, counterexamples, repairs.

A state is a row: the labels of all tests after a prefix (Angluin 1987). States are found breadth first, a new
one for every new row. Where the automaton and the black box disagree on a string w, the label of

    access(state after w_1 .. w_i) w_i+1 .. w_n

changes somewhere between i = 0 and i = n, and what follows there is a new test (Rivest and Schapire 1993).
Networks are not regular everywhere, so that a test may split states by an accident far from the strings that
matter. So several tests are tried, the one with the fewest errors on a pool of strings is kept, and at the
end single moves are changed, and states made one, where that lowers the errors of the pool, or costs none.
Errors of one string in ten thousand hang on the draw of a small pool, and with them the automaton. So an
automaton that is nearly right is settled on a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sigmastar.automata.model.dfa import smallest_table
from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.jit import kernel
from sigmastar.distil.labels import Labels, Padded, Pool, Word

_TRIES = 6  # counterexamples per step
_PATIENCE = 5  # steps without fewer errors
_CLEAN = 2  # rounds of fresh strings without an error that end the search
_HOPELESS = 0.02  # share of errors at which there is no use in going on
_REPAIRED = 0.02  # share of errors below which moves are tried
_SETTLED = (32_000, 160_000)  # strings of the pool; the second where the first have errors
_NEARLY = 1e-3  # share of errors below which that is worth the questions


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A complete deterministic automaton that begins in state 0, and a string that leads to each state."""

    table: Int64s  # states x symbols
    accepting: Flags
    access: tuple[Word, ...] = ()

    @property
    def n_states(self) -> int:
        return len(self.accepting)

    def errors(self, words: Padded, truth: Flags) -> Int64s:
        """The numbers of words with another label."""
        return np.flatnonzero(self.accepting[words.ends(self.table)] != truth)

    def n_errors(self, words: Padded, truth: Flags, most: int) -> int:
        """How many words have another label; where more than `most` do, some number above it."""
        rows, right = (words.codes, words.lengths), truth[words.order]
        return count_errors(*rows, right, self.table, self.accepting, most)


@kernel
def count_errors(
    codes: Int64s, lengths: Int64s, truth: Flags, table: Int64s, accepting: Flags, most: int
) -> int:
    """How many rows of codes a deterministic automaton labels otherwise, counted until there are too many."""
    found = 0
    for row in range(len(lengths)):
        state = 0
        for position in range(lengths[row]):
            state = table[state, codes[row, position]]
        found += accepting[state] != truth[row]
        if found > most:
            break
    return found


def hypothesis(labels: Labels, tests: list[Word], max_states: int) -> Hypothesis | None:
    """The automaton of some tests, the empty one first; None where it has too many states."""
    rows = {_rows(labels, [()], tests)[0]: 0}
    access, table, frontier = list[Word]([()]), list[list[int]](), list[Word]([()])
    while frontier:
        reached = [(*prefix, symbol) for prefix in frontier for symbol in range(labels.n_symbols)]
        targets, fresh = list[int](), list[Word]()
        for prefix, row in zip(reached, _rows(labels, reached, tests), strict=True):
            if row not in rows:
                rows[row] = len(rows)
                access.append(prefix)
                fresh.append(prefix)
                if len(rows) > max_states:
                    return None
            targets.append(rows[row])
        table += np.reshape(targets, (len(frontier), labels.n_symbols)).tolist()
        frontier = fresh
    return Hypothesis(np.array(table), np.array([row[0] for row in rows], dtype=bool), tuple(access))


def _rows(labels: Labels, prefixes: list[Word], tests: list[Word]) -> list[bytes]:
    found = labels([prefix + test for prefix in prefixes for test in tests])
    return [row.tobytes() for row in found.reshape(len(prefixes), len(tests))]


def climb(pool: Pool, max_states: int) -> Hypothesis:
    """Tests one after the other, each the best of several, until the pool has no errors."""
    words, tests = pool.padded, list[Word]([()])
    current = best = hypothesis(pool.labels, tests, max_states)
    assert current is not None
    least, waited = (len(pool.words) + 1, 0), 0
    while True:
        errors = current.errors(words, pool.truth)
        waited += 1
        if (len(errors), current.n_states) < least:
            least, best, waited = (len(errors), current.n_states), current, 0
        step = _step(pool, words, current, errors, tests, max_states) if waited <= _PATIENCE else None
        if not len(errors) or step is None:
            assert best is not None
            return best
        current, tests = step


def _step(
    pool: Pool, words: Padded, current: Hypothesis, errors: Int64s, tests: list[Word], max_states: int
) -> tuple[Hypothesis, list[Word]] | None:
    """The automaton with more tests that has the fewest errors, then the fewest states."""
    found: tuple[tuple[int, int, int], Hypothesis, list[Word]] | None = None
    some = pool.rng.permutation(errors)[:_TRIES]
    tried = dict.fromkeys(more for number in some for more in _new_tests(pool, current, pool.words[number]))
    for more in tried:
        extended = tests + [test for test in more if test not in tests]
        made = hypothesis(pool.labels, extended, max_states) if len(extended) > len(tests) else None
        if made is None:
            continue
        key = (len(made.errors(words, pool.truth)), made.n_states, len(more))
        if found is None or key < found[0]:
            found = key, made, extended
    return None if found is None else (found[1], found[2])


def _new_tests(pool: Pool, current: Hypothesis, word: Word) -> Iterator[tuple[Word, ...]]:
    """Tests that a counterexample brings: one where the label changes, or all of its suffixes."""
    states = [0]
    for symbol in word:
        states.append(int(current.table[states[-1], symbol]))
    found = pool.labels([current.access[state] + word[at:] for at, state in enumerate(states)])
    changes = np.flatnonzero(found[1:] != found[:-1])
    for at in {int(changes[0]), int(changes[-1])} if len(changes) else ():
        yield (word[at + 1 :],)
    yield tuple(word[at:] for at in range(len(word)))


def repaired(made: Hypothesis, pool: Pool) -> Hypothesis:
    """Moves changed one by one, or all of one state to another, as long as the pool has fewer errors then."""
    words, truth = pool.padded, pool.truth
    errors = made.errors(words, truth)
    while 0 < len(errors) <= _REPAIRED * len(truth):
        wrong, least_errors, best = Padded.of([pool.words[number] for number in errors]), len(errors), made
        for other in _changes(made):
            if other.n_errors(wrong, truth[errors], len(errors) - 1) < len(errors):
                n_errors = other.n_errors(words, truth, least_errors - 1)
                least_errors, best = (n_errors, other) if n_errors < least_errors else (least_errors, best)
        if best is made:
            break
        made, errors = best, best.errors(words, truth)
    return merged(least(made), pool, 0)


def merged(made: Hypothesis, pool: Pool, n_more: int) -> Hypothesis:
    """States made one as long as the pool has no more errors than so many above those at first."""
    words, truth = pool.padded, pool.truth
    most, pairs = len(made.errors(words, truth)) + n_more, list(combinations(range(made.n_states), 2))
    while pairs:
        first, second = pairs.pop()
        table = np.where(made.table == second, first, made.table)
        smaller = least(Hypothesis(table, made.accepting))
        if smaller.n_states < made.n_states and smaller.n_errors(words, truth, most) <= most:
            made, pairs = smaller, list(combinations(range(smaller.n_states), 2))
    return made


def _changes(made: Hypothesis) -> Iterator[Hypothesis]:
    for state, row in enumerate(made.table):
        for target in np.unique(row):
            alike = np.flatnonzero(row == target)
            for symbols in [alike, *(alike[:, None] if 1 < len(alike) <= 32 else [])]:
                for other in range(made.n_states):
                    if other != target:
                        table = made.table.copy()
                        table[state, symbols] = other
                        yield Hypothesis(table, made.accepting)


def least(made: Hypothesis) -> Hypothesis:
    """The smallest automaton of the same language, states in the order in which they are met."""
    return Hypothesis(*smallest_table(made.table, made.accepting))


@dataclass(frozen=True)
class Evidence:
    """How well an automaton does on the strings that it was tried on.

    Parameters
    ----------
    n_strings : int
        Number of different strings.
    n_errors : int
        Number of those with another label.
    """

    n_strings: int
    n_errors: int

    @property
    def rate(self) -> float:
        """Share of errors."""
        return self.n_errors / max(self.n_strings, 1)


def deterministic(pool: Pool, max_states: int, n_rounds: int, per_round: int) -> tuple[Hypothesis, Evidence]:
    """The automaton with the fewest errors on a growing pool, then the fewest states.

    In each round a new one is built on all strings so far and repaired, if none is without errors; the best
    of all is then tried on fresh strings. It is done when these bring no error twice.
    """
    kept, n_clean = list[Hypothesis](), 0
    for _ in range(n_rounds):
        words = pool.padded
        kept = [repaired(made, pool) for made in kept] if n_clean == 0 else kept
        if all(len(made.errors(words, pool.truth)) for made in kept):
            kept.append(repaired(climb(pool, max_states), pool))
        kept.sort(key=lambda made: (len(made.errors(words, pool.truth)), made.n_states))
        kept = kept[:2]
        if len(kept[0].errors(words, pool.truth)) > _HOPELESS * len(pool.words):
            break
        pool.grow(per_round, per_round // 3)
        n_clean = n_clean + 1 if not len(kept[0].errors(pool.padded, pool.truth)) else 0
        if n_clean == _CLEAN:
            break
    return settled(kept[0], pool)


def settled(made: Hypothesis, pool: Pool) -> tuple[Hypothesis, Evidence]:
    """An automaton that is nearly right, repaired on a large pool.

    A state that saves fewer errors than their number varies by chance, its root, is given up.
    """
    evidence = _evidence(made, pool)
    for size in _SETTLED:
        n_more = int(min(size - len(pool.words), pool.labels.questions.left // 4))
        if evidence.rate > _NEARLY:
            break
        if n_more <= 0:
            continue
        pool.grow(n_more * 7 // 8, n_more // 8)
        if (evidence := _evidence(made, pool)).n_errors == 0:
            break
        made = repaired(made, pool)
        by_chance = int(np.sqrt(_evidence(made, pool).n_errors))
        made = repaired(merged(made, pool, by_chance), pool)
        evidence = _evidence(made, pool)
    return made, evidence


def _evidence(made: Hypothesis, pool: Pool) -> Evidence:
    return Evidence(len(pool.words), len(made.errors(pool.padded, pool.truth)))

"""Signed automata from scores: their signs are the labels, where no small deterministic automaton has them.

With score(u v) at prefixes u by suffixes v, the state of a prefix is a projection of its row:

    b(u) = row(u) P,    b(u a) ~ b(u) A_a,    score(u) ~ b(u) final

P by the singular value decomposition, A_a and final by least squares along strings. Then the same again with
the automaton's own states beside the exact ones, so that errors of earlier symbols are made up for; the
number of states and of such rounds are those with the fewest errors on strings that were held out. From
there all weights go down the slope of

    sum over prefixes u of  H(g(score(u)), g(b(u) final)),    g(v) = 1 / (1 + exp(-v / scale)),

H the cross-entropy: a value far from zero need not be exact, one near zero must. Exact values are a minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.kernels.values import gap_nodes
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Array, Flags, Floats, Int64s
from sigmastar.distil.asked_strings import Asked
from sigmastar.distil.kernels import SoftTrie
from sigmastar.distil.labels import Labels, Padded, Pool, Word
from sigmastar.distil.parametrizations import Linear
from sigmastar.distil.questions import prefixes_of
from sigmastar.distil.refine import refine

SIZES = (2, 4, 7, 10, 14, 20, 30, 40)
_N_STEPS, _N_SUFFIXES = 2000, 60
_KNOWN, _HELD_OUT = 800, 500  # strings of a kind
_PREFIXES = 300_000  # at which the values are refined
_EPOCHS = 30
_SCALE = 0.25  # of the usual score: where the sign of a value is nearly sure
_RIDGES = (1e-6, 1e-4)
_ROUNDS = 2
_FARTHEST = 1e3  # where states of strings that stray are held while fitting


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps along strings: the rows of a prefix and of the same with a symbol more."""

    prefixes: Padded
    symbols: Int64s
    before: Floats
    after: Floats
    start: Floats


def steps_of(pool: Pool, words: list[Word]) -> Steps:
    """Ask for the rows of prefixes of strings that are drawn from the pool."""
    labels, rng = pool.labels, pool.rng
    n_steps = int(min(_N_STEPS, labels.questions.left // (2 * _N_SUFFIXES + 1)))
    places = [(number, at) for number, word in enumerate(words) for at in range(len(word))]
    chosen = [places[k] for k in rng.permutation(len(places))[:n_steps]]
    tests: list[Word] = [(), *((symbol,) for symbol in range(min(labels.n_symbols, _N_SUFFIXES // 2)))]
    for number, at in (places[k] for k in rng.permutation(len(places))):
        if len(tests) >= _N_SUFFIXES:
            break
        tests.append(words[number][at:])
    tests = list(dict.fromkeys(tests))
    prefixes = [words[number][:at] for number, at in chosen]
    symbols = np.array([words[number][at] for number, at in chosen])
    following = [(*prefix, int(symbol)) for prefix, symbol in zip(prefixes, symbols, strict=True)]
    before, after = _rows(labels, prefixes, tests), _rows(labels, following, tests)
    return Steps(Padded.of(prefixes), symbols, before, after, _rows(labels, [()], tests)[0])


def _rows(labels: Labels, prefixes: list[Word], tests: list[Word]) -> Floats:
    found = labels.scores([prefix + test for prefix in prefixes for test in tests])
    return found.reshape(len(prefixes), len(tests))


@dataclass(frozen=True, eq=False)
class Signed:
    """initial, operators, final: the sign of the value is the label."""

    initial: Floats
    operators: Floats
    final: Floats

    def states(self, words: Padded) -> Floats:
        """The state after each word."""
        states = np.tile(self.initial, (len(words.lengths), 1))
        for position in range(words.codes.shape[1]):
            n = words.alive(position)
            for symbol in range(len(self.operators)):
                rows = np.flatnonzero(words.codes[:n, position] == symbol)
                states[rows] = np.clip(states[rows] @ self.operators[symbol], -_FARTHEST, _FARTHEST)
        found = np.empty_like(states)
        found[words.order] = states
        return found

    def errors(self, words: Padded, truth: Flags) -> int:
        """Number of words with another label."""
        return int(((self.states(words) @ self.final > 0) != truth).sum())


def candidates(steps: Steps, n_symbols: int, n_states: int) -> Iterator[Signed]:
    """Automata of a size: from exact states, then from their own states too."""
    rows = np.concatenate([steps.before, steps.after])
    scales = np.sqrt((rows**2).mean(axis=0)) + 1e-12
    _, values, right = np.linalg.svd(rows / scales, full_matrices=False)
    n_states = min(n_states, int((values > 1e-9 * values[0]).sum()))
    basis = (right[:n_states] / scales).T
    basis = basis / np.sqrt(((rows @ basis) ** 2).mean(axis=0))
    before, after, start = steps.before @ basis, steps.after @ basis, steps.start @ basis
    targets = np.concatenate([steps.before[:, 0], steps.after[:, 0]])
    for ridge in _RIDGES:
        final = _solved(np.concatenate([before, after]), targets, ridge)
        made = Signed(start, _operators(before, after, steps.symbols, n_symbols, ridge), final)
        yield made
        for _ in range(_ROUNDS):
            own = made.states(steps.prefixes)
            both, symbols = np.concatenate([before, own]), np.tile(steps.symbols, 2)
            operators = _operators(both, np.tile(after, (2, 1)), symbols, n_symbols, ridge)
            reached = np.einsum("ij,ijk->ik", own, operators[steps.symbols])
            ends = np.concatenate([after, np.clip(reached, -_FARTHEST, _FARTHEST)])
            made = Signed(start, operators, _solved(ends, np.tile(steps.after[:, 0], 2), ridge))
            yield made


def _operators(before: Floats, after: Floats, symbols: Int64s, n_symbols: int, ridge: float) -> Floats:
    n = before.shape[1]
    found = np.zeros((n_symbols, n, n))
    for symbol in np.unique(symbols):
        rows = symbols == symbol
        found[symbol] = _solved(before[rows], after[rows], ridge)
    return found


def _solved(left: Floats, right: Floats, ridge: float) -> Floats:
    square = left.T @ left + ridge * max(len(left), 1) * np.eye(left.shape[1])
    return np.asarray(np.linalg.solve(square, left.T @ right))


@dataclass(frozen=True, eq=False)
class Tried:
    """Strings that were held out, their labels, and the number of errors on them."""

    words: list[Word]
    truth: Flags
    n_errors: int


def signed(pool: Pool, n_states: int) -> tuple[Signed, Tried]:
    """The automaton with the fewest errors on strings that were held out, then the fewest states."""
    known, held = _shares(pool)
    truth, words = pool.labels(held), Padded.of(held)
    steps = steps_of(pool, known)
    sizes = [size for size in SIZES if size < n_states] + [n_states]
    found = [
        (made.errors(words, truth), size, number, made)
        for size in sizes
        for number, made in enumerate(candidates(steps, pool.labels.n_symbols, size))
    ]
    largest = [entry for entry in found if entry[1] == n_states]
    starts = {entry[1:3]: entry[3] for entry in (_fewest(found), _fewest(largest))}
    asked = values_along(pool, known)
    refined = [_refined(made, pool, asked, (words, truth)) for made in starts.values()]
    n_errors, _, _, best = _fewest(
        [(made.errors(words, truth), len(made.final), 0, made) for made in refined]
    )
    return best, Tried(held, truth, n_errors)


def _fewest(found: list[tuple[int, int, int, Signed]]) -> tuple[int, int, int, Signed]:
    return min(found, key=lambda entry: entry[:3])


def values_along(pool: Pool, known: list[Word]) -> Asked:
    """What the scores exceed the threshold by at every prefix of some strings."""
    lengths = np.cumsum([len(word) + 1 for word in known])
    n_words = int(np.searchsorted(lengths, min(_PREFIXES, pool.labels.questions.left)))
    some = [known[number] for number in np.sort(pool.rng.permutation(len(known))[: max(n_words, 1)])]
    coded, questions = pool.labels.coded(some), pool.labels.questions
    trie = PrefixTrie.of(coded)
    values = questions.scores(prefixes_of(trie, questions)) - pool.labels.threshold
    return Asked(coded, values[gap_nodes(trie.parent, trie.string_node, coded.offsets), None])


def _refined(made: Signed, pool: Pool, asked: Asked, held: tuple[Padded, Flags]) -> Signed:
    scale = _SCALE * float(np.sqrt(np.mean(asked.rows**2)))

    def n_errors(automaton: WeightedAutomaton) -> float:
        return float(Signed(automaton.initial, automaton.transitions, automaton.final).errors(*held))

    start, loss = as_automaton(made, pool), partial(cross_entropy, max(scale, 1e-12))
    best, _ = refine(Linear(_FARTHEST), start, asked, n_errors, pool.rng, _EPOCHS, loss)
    return Signed(best.initial, best.transitions, best.final)


def cross_entropy(scale: float, trie: SoftTrie, predictions: Array) -> float:
    """From the signs of what was told, as sure as it is far from zero; slopes take the predictions' place."""
    told, values = trie.targets / scale, predictions / scale
    goals, weights = expit(told), trie.weights[:, None]
    predictions[:] = weights * (expit(values) - goals) / scale
    return float((weights * (np.logaddexp(0.0, values) - goals * values)).sum())


def _shares(pool: Pool) -> tuple[list[Word], list[Word]]:
    """Strings to learn from and strings to judge by: given, edited and random ones."""
    order = pool.rng.permutation(len(pool.given))
    n_held = len(order) // 5
    held = [pool.given[number] for number in order[:n_held]]
    held += [pool.edited() for _ in range(_HELD_OUT)] + [pool.random() for _ in range(_HELD_OUT)]
    unseen = set(held)
    known = [pool.given[number] for number in order[n_held : n_held + _KNOWN]]
    known += [pool.edited() for _ in range(_KNOWN)] + [pool.random() for _ in range(2 * _KNOWN)]
    return [word for word in known if word and word not in unseen], list(dict.fromkeys(held))


def as_automaton(made: Signed, pool: Pool) -> WeightedAutomaton:
    """A weighted automaton of the same values."""
    return WeightedAutomaton(pool.labels.questions.alphabet, made.initial, made.operators, made.final)

"""Random machines and corpora from them.

Every machine stops in each state with a positive probability, so that its strings have a finite
expected length: at most 1 / min(stop).
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Floats, Int64s

_BRACKETS = ("()", "[]", "{}", "<>")


def make_automaton(
    n_states: int,
    n_symbols: int,
    rng: np.random.Generator,
    *,
    density: float = 0.3,
    stop: float = 0.1,
    deterministic: bool = False,
) -> WeightedAutomaton:
    """A random proper probabilistic automaton over 0 .. n_symbols - 1, every state within reach.

    Each state has the share `density` of its possible moves (symbol and next state; just symbols if
    `deterministic`) and stops with a probability between half and one and a half of `stop`.

    Parameters
    ----------
    n_states : int
        Number of states.
    n_symbols : int
        Number of symbols.
    rng : Generator
        Source of chance.
    density : float
        Share of the possible moves that a state has.
    stop : float
        Probability to stop in a state, about.
    deterministic : bool
        Whether a symbol leads from a state to one state at most.

    Returns
    -------
    WeightedAutomaton
        A distribution on strings.
    """
    _require(n_states, n_symbols, stop)
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density={density} is not a share; use 0 < density <= 1")
    moves = _deterministic_moves if deterministic else _moves
    weights = rng.exponential(size=(n_states, n_symbols, n_states)) * moves(n_states, n_symbols, density, rng)
    final = _stops(n_states, stop, rng)
    weights *= ((1.0 - final) / weights.sum(axis=(1, 2)))[:, None, None]
    initial = np.eye(n_states)[0] if deterministic else rng.dirichlet(np.ones(n_states))
    return WeightedAutomaton(Alphabet(range(n_symbols)), initial, _by_symbol(weights), final)


def make_hmm(
    n_states: int, n_symbols: int, rng: np.random.Generator, *, stop: float = 0.1, concentration: float = 0.5
) -> WeightedAutomaton:
    """A random hidden Markov model: A_a = diag((1 - stop) O[:, a]) T, rows of O and T from Dirichlets.

    The smaller the `concentration`, the sparser the rows of O and T.

    Parameters
    ----------
    n_states : int
        Number of states.
    n_symbols : int
        Number of symbols.
    rng : Generator
        Source of chance.
    stop : float
        Probability to stop in a state, about.
    concentration : float
        Of the Dirichlets.

    Returns
    -------
    WeightedAutomaton
        A distribution on strings.
    """
    _require(n_states, n_symbols, stop)
    if not concentration > 0.0:
        raise ValueError(f"concentration={concentration} is not positive")
    moves = rng.dirichlet(np.full(n_states, concentration), size=n_states)
    emissions = rng.dirichlet(np.full(n_symbols, concentration), size=n_states)
    final = _stops(n_states, stop, rng)
    weights = ((1.0 - final)[:, None] * emissions)[:, :, None] * moves[:, None, :]
    return WeightedAutomaton(
        Alphabet(range(n_symbols)), rng.dirichlet(np.ones(n_states)), _by_symbol(weights), final
    )


def make_strings(
    model: SequenceModel, n_strings: int, rng: np.random.Generator, max_length: int = 10_000
) -> Strings:
    """Draw a corpus from a model.

    Parameters
    ----------
    model : SequenceModel
        The distribution.
    n_strings : int
        Number of strings.
    rng : Generator
        Source of chance.
    max_length : int
        Number of symbols at which strings are cut.

    Returns
    -------
    Strings
        The corpus.
    """
    return model.sample(n_strings, rng, max_length)


def make_dyck(
    n_strings: int, rng: np.random.Generator, n_brackets: int = 1, open_probability: float = 0.4
) -> Strings:
    """Random well-bracketed words: S -> ( S ) S with `open_probability`, else S is empty.

    Read from left to right this is a walk that goes up with `open_probability` and down otherwise, and
    the word ends with the step below its start. So one long walk falls into words at its record lows.
    The expected number of bracket pairs is p / (1 - 2 p).

    Parameters
    ----------
    n_strings : int
        Number of strings.
    rng : Generator
        Source of chance.
    n_brackets : int
        Number of kinds of brackets.
    open_probability : float
        Probability of a bracket in place of an end, below one half.

    Returns
    -------
    Strings
        The words.
    """
    if n_strings < 0 or n_brackets < 1:
        raise ValueError(f"n_strings={n_strings} and n_brackets={n_brackets} make no corpus")
    if not 0.0 <= open_probability < 0.5:
        raise ValueError(
            f"open_probability={open_probability} gives words of infinite expected length; use < 0.5"
        )
    up, ends = _walk(n_strings, rng, open_probability)
    word: Int64s = np.cumsum(ends) - ends
    inside = np.flatnonzero(~ends)
    kinds = _kinds(up[inside], _levels(up)[inside], word[inside], n_brackets, rng)
    offsets = np.zeros(n_strings + 1, dtype=np.int64)
    np.cumsum(np.bincount(word[inside], minlength=n_strings), out=offsets[1:])
    return Strings(_bracket_alphabet(n_brackets), (2 * kinds + ~up[inside]).astype(np.int32), offsets)


def _walk(n_words: int, rng: np.random.Generator, open_probability: float) -> tuple[Flags, Flags]:
    """Steps of a walk (up or down) through `n_words` record lows, and which steps reach one."""
    steps = np.zeros(0, dtype=bool)
    while True:
        lows = np.minimum(np.minimum.accumulate(np.cumsum(np.where(steps, 1, -1))), 0)
        ends = np.diff(lows, prepend=0) < 0
        at = np.flatnonzero(ends)
        if len(at) >= n_words:
            length = int(at[n_words - 1]) + 1 if n_words else 0
            return steps[:length], ends[:length]
        more = int((n_words - len(at)) / (1.0 - 2.0 * open_probability) * 1.1) + 100
        steps = np.append(steps, rng.random(more) < open_probability)


def _levels(up: Flags) -> Int64s:
    """The height above which a bracket opens or closes: the same for the two of a pair."""
    height = np.cumsum(np.where(up, 1, -1))
    return height - up.astype(np.int64)


def _kinds(
    up: Flags,
    level: Int64s,
    word: Int64s,
    n_brackets: int,
    rng: np.random.Generator,
) -> Int64s:
    """A random kind for each pair: within a word and a level, opening and closing brackets alternate."""
    order = np.lexsort((level, word))  # stable: positions stay in order
    kinds = np.empty(len(up), dtype=np.int64)
    kinds[order] = np.repeat(rng.integers(n_brackets, size=len(up) // 2), 2)
    return kinds


def _bracket_alphabet(n_brackets: int) -> Alphabet:
    numbered = [(f"({kind}", f"){kind}") for kind in range(len(_BRACKETS), n_brackets)]
    return Alphabet(symbol for pair in [*_BRACKETS, *numbered][:n_brackets] for symbol in pair)


def _moves(n_states: int, n_symbols: int, density: float, rng: np.random.Generator) -> Flags:
    mask = rng.random((n_states, n_symbols, n_states)) < density
    states = np.arange(n_states)
    mask[states, rng.integers(n_symbols, size=n_states), (states + 1) % n_states] = True  # a ring reaches all
    return mask


def _deterministic_moves(n_states: int, n_symbols: int, density: float, rng: np.random.Generator) -> Flags:
    states = np.arange(n_states)
    target = rng.integers(n_states, size=(n_states, n_symbols))
    used = rng.random((n_states, n_symbols)) < density
    ring = rng.integers(n_symbols, size=n_states)
    target[states, ring] = (states + 1) % n_states
    used[states, ring] = True
    return np.asarray((target[:, :, None] == states) & used[:, :, None])


def _stops(n_states: int, stop: float, rng: np.random.Generator) -> Floats:
    return np.minimum(stop * rng.uniform(0.5, 1.5, size=n_states), 0.5 * (1.0 + stop))


def _by_symbol(weights: Floats) -> Floats:
    return np.ascontiguousarray(weights.swapaxes(0, 1))


def _require(n_states: int, n_symbols: int, stop: float) -> None:
    if n_states < 1 or n_symbols < 1:
        raise ValueError(
            f"n_states={n_states} and n_symbols={n_symbols} make no machine; use at least 1 of each"
        )
    if not 0.0 < stop < 1.0:
        raise ValueError(f"stop={stop} is not a probability that ends strings; use 0 < stop < 1")

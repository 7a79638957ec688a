"""Which models can be controlled: their arrays as chains, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dfa import DFA
from sigmastar.automata.model.hmm_conversion import to_pfa
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.control.chains import Chain, Contexts, Dense, Factored, Groups
from sigmastar.control.tensors import Backend
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError

_MOST_CELLS = 1 << 26  # of a table of contexts and symbols


def chain_of(model: Any, dfa: DFA, backend: Backend) -> Chain:
    """A model with states as a chain.

    Parameters
    ----------
    model : WeightedAutomaton, Hmm, NgramModel, or an object with the arrays of an Hmm
        A proper distribution on strings.
    dfa : DFA
        The constraint, over the alphabet of the model.
    backend : Backend
        Where the arrays go.

    Returns
    -------
    Chain
        Factored, dense, or of contexts.
    """
    groups = Groups.of(dfa)
    if isinstance(model, WeightedAutomaton):
        return _dense(model, groups, backend)
    if isinstance(model, NgramModel):
        return _contexts(model, groups)
    if all(hasattr(model, name) for name in ("initial", "transition", "emission", "stop")):
        return _factored(model, alphabet_of(model), groups, backend)
    raise _without_states(model)


def alphabet_of(model: Any) -> Alphabet:
    """The symbols of a model."""
    symbols = getattr(model, "alphabet", None)
    if symbols is None:
        raise _without_states(model)
    return symbols if isinstance(symbols, Alphabet) else Alphabet(symbols)


def _without_states(model: Any) -> InputError:
    part = ", or its part `states`" if hasattr(getattr(model, "states", None), "emission") else ""
    return InputError(
        f"{type(model).__name__} has no states that control can look ahead from; use a proper automaton "
        f"(method='auto' or 'em'), an n-gram model or a hidden Markov model{part}"
    )


def _dense(model: WeightedAutomaton, groups: Groups, backend: Backend) -> Dense:
    try:
        proper = to_pfa(model, tolerance=1e-6)
    except ValueError as problem:
        raise InputError(f"control needs a proper automaton: {problem}") from None
    arrays = (proper.initial, proper.transitions[groups.order], proper.final)
    return Dense(model.alphabet, groups, backend, *map(backend.array, arrays))


def _contexts(model: NgramModel, groups: Groups) -> Contexts:
    n_contexts, n_symbols = model.contexts.n_classes, len(model.alphabet)
    if n_contexts * n_symbols > _MOST_CELLS:
        raise InputError(
            f"{n_contexts} contexts of {n_symbols} symbols are too many to look ahead in; use a smaller order"
        )
    contexts = np.arange(n_contexts, dtype=np.int32)
    rows = model.distributions(contexts)
    symbols = np.tile(groups.order, n_contexts)
    follow = model.contexts.follow(np.repeat(contexts, n_symbols), symbols).reshape(n_contexts, n_symbols)
    return Contexts(
        model.alphabet,
        groups,
        Backend(),
        model.contexts.start,
        rows[:, groups.order],
        follow.astype(np.int64),
        rows[:, -1],
    )


def _factored(model: Any, alphabet: Alphabet, groups: Groups, backend: Backend) -> Factored:
    """An HMM stops before it emits: the weight of a symbol is (1 - stop) times its emission."""
    stop = np.asarray(model.stop)
    parts = {name: np.asarray(getattr(model, name)) for name in ("initial", "transition", "emission")}
    n = len(parts["initial"])
    if [rows.shape for rows in (*parts.values(), stop)] != [(n,), (n, n), (n, len(alphabet)), (n,)]:
        shapes = ", ".join(f"{name} {rows.shape}" for name, rows in {**parts, "stop": stop}.items())
        raise InputError(f"arrays of shapes {shapes} are no hidden Markov model of {len(alphabet)} symbols")
    if not ((stop >= 0.0) & (stop <= 1.0)).all():
        raise InputError("stop must be probabilities, between 0 and 1")
    for name, rows in parts.items():
        off = np.abs(rows.sum(axis=-1, dtype=np.float64) - 1.0).max(initial=0.0)
        if rows.min(initial=0.0) < 0.0 or not off <= 1e-4:
            raise InputError(
                f"{name} must be non-negative with rows that sum to 1; they are off by {off:.3g}"
            )
    emission = parts["emission"]
    if not np.array_equal(groups.order, np.arange(len(groups.order))):
        emission = np.take(emission, groups.order, axis=1)  # rows stay contiguous
    if stop.any():
        emission = emission * (1.0 - stop)[:, None]
    arrays = (parts["initial"], parts["transition"], emission, stop)
    return Factored(alphabet, groups, backend, *map(backend.array, arrays))

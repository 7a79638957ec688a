"""How many numbers a model of strings is free in: what `aic` and `bic` are counted by.

proper automaton          (n - 1) + n (n s)           rows sum to one; a hidden Markov model has fewer:
hidden Markov model       (n - 1) + n (n - 1) + n (s - 1) + n
signed automaton          2 n + s n^2 - n^2           n^2 of them are a choice of basis
n-gram                    what is stored: own probabilities and weights of backing off
filtered automaton        the automaton, the n-gram behind it, restarts and mixing
automaton over classes    the automaton, the n-gram beside it, rates, and shares of symbols in classes
"""

from __future__ import annotations

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.classed import ClassedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.hidden_states import as_hmm
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.automata.model.sequence import SequenceModel


def n_parameters(model: SequenceModel) -> int:
    """The number of free parameters.

    Parameters
    ----------
    model : SequenceModel
        An automaton, a filtered one, one over classes of symbols, or an n-gram.

    Returns
    -------
    int
        As the table of this module has it.
    """
    if isinstance(model, NgramModel):
        return len(model.rows.own) + len(model.rows.backoff)
    if isinstance(model, FilteredAutomaton):
        own = n_parameters(model.automaton) + n_parameters(model.backoff)
        return own + model.restarts.size + model.mixing.size
    if isinstance(model, ClassedAutomaton):
        shares = len(model.alphabet) - len(model.symbols.classes)
        return n_parameters(model.inner) + n_parameters(model.ngram) + model.rates.size + shares
    if not isinstance(model, WeightedAutomaton):
        raise TypeError(f"the free parameters of a {type(model).__name__} are not known")
    n, s = model.n_states, len(model.alphabet)
    if not model.is_stochastic():
        return 2 * n + s * n * n - n * n
    if as_hmm(model).n_states == n:
        return (n - 1) + n * (n - 1) + n * (s - 1) + n
    return (n - 1) + n * n * s

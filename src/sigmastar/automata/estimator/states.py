"""What users of hmmlearn look for: states of strings, and the arrays of a hidden Markov model."""

from __future__ import annotations

from typing import Any

from sigmastar.automata.data.strings import Corpus, Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.hidden_states import best_states, state_posteriors
from sigmastar.automata.model.hmm_conversion import Hmm, as_hmm
from sigmastar.core.arrays import Floats, Int32s


class HiddenStates:
    """State decoding of estimators that learn automata."""

    automaton_: WeightedAutomaton
    _coded: Any

    def decode(self, X: Corpus, lengths: Any = None) -> tuple[Floats, list[Int32s]]:
        """The most probable states of each string (Viterbi).

        Parameters
        ----------
        X, lengths
            As of `fit`.

        Returns
        -------
        tuple
            The log-probability of each path, and one array of states per string: one state per symbol.
        """
        paths = best_states(self.automaton_, self._flat_or_listed(X, lengths))
        return paths.log_probabilities, paths.states

    def predict(self, X: Corpus, lengths: Any = None) -> list[Int32s]:
        """The most probable states of each string, as `decode` has them.

        Parameters
        ----------
        X, lengths
            As of `fit`.

        Returns
        -------
        list of arrays
            One state per symbol.
        """
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Corpus, lengths: Any = None) -> list[Floats]:
        """How probable each state is at each symbol, given the whole string.

        Parameters
        ----------
        X, lengths
            As of `fit`.

        Returns
        -------
        list of arrays
            Symbols x states. Rows sum to one; with signed operators they may hold negative shares.
        """
        return state_posteriors(self.automaton_, self._flat_or_listed(X, lengths))

    def _flat_or_listed(self, X: Corpus, lengths: Any) -> Strings:
        strings: Strings = self._coded(X, lengths)
        return strings

    @property
    def startprob_(self) -> Floats:
        """The probability of each state to begin with."""
        return self._hmm.initial

    @property
    def transmat_(self) -> Floats:
        """The probability of each move from state to state, where the string goes on."""
        return self._hmm.transition

    @property
    def emissionprob_(self) -> Floats:
        """The probability of each symbol in each state, where the string goes on."""
        return self._hmm.emission

    @property
    def stopprob_(self) -> Floats:
        """The probability to stop in each state."""
        return self._hmm.stop

    @property
    def _hmm(self) -> Hmm:
        try:
            return as_hmm(self.automaton_)
        except ValueError as problem:
            raise AttributeError(str(problem)) from None  # which `_why_absent` puts into words

    def _why_absent(self, name: str) -> str:
        if name in ("startprob_", "transmat_", "emissionprob_", "stopprob_"):
            return ": its operators are signed; use method='auto' or EMAutomaton, which learn proper automata"
        return ""

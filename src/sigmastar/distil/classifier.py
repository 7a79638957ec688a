"""A stand-in for a black box that says yes or no."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sigmastar.automata.data.strings import Corpus, as_strings, require_strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dfa import DFA
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.estimator import Estimator, as_generator, chosen, positive
from sigmastar.core.progress import silent
from sigmastar.distil.deterministic import Evidence, Hypothesis, deterministic
from sigmastar.distil.labels import Labels, Padded, Pool, Word, some_strings
from sigmastar.distil.questions import QueryReport, Questions
from sigmastar.distil.signed import as_automaton, signed
from sigmastar.regression.model import StringClassifier

METHODS = ("auto", "dfa", "signed")
MAX_QUERIES = 2_000_000
_MOST_STATES = 12  # of the deterministic automaton: larger ones follow accidents of the black box
_GIVEN, _EDITED = 3000, 4000  # strings of the pool; a third as many random ones as edited
_ROUNDS = 8
_RARE = 1e-3  # share of errors below which a deterministic automaton stands


class _FittedClassifier:
    """What `fit` sets."""

    model_: StringClassifier
    automaton_: WeightedAutomaton
    dfa_: DFA
    alphabet_: Alphabet
    method_: str
    n_states_: int
    n_queries_: int
    queries_: QueryReport
    n_tried_: int
    n_errors_: int


@dataclass(eq=False, repr=False)
class DistilledClassifier(_FittedClassifier, Estimator):
    """An automaton that says yes where a black box scores above a threshold.

    The smallest deterministic automaton without errors on strings like those that are given, where there is
    one; else a weighted automaton, learned from the scores, whose sign is the answer.

    Parameters
    ----------
    method : {"auto", "dfa", "signed"}
        A deterministic automaton, a weighted one, or the one with fewer errors on strings that were held out.
    n_states : int
        Largest number of states.
    threshold : float
        Scores above it mean yes.
    max_queries : int or None
        Number of answers that may be asked for.
    cache : path or None
        A file that keeps answers, so that an interrupted run goes on where it was.
    random_state, n_jobs, progress
        As of all estimators.

    Attributes
    ----------
    model_ : StringClassifier
        The stand-in; its classes are 0 and 1.
    dfa_ : DFA
        The deterministic automaton, where that was chosen.
    automaton_ : WeightedAutomaton
        Above zero where the answer is yes.
    method_ : str
        "dfa" or "signed".
    n_queries_, n_states_ : int
        Number of answers that were asked for, and of states.
    n_tried_, n_errors_ : int
        The evidence: number of strings that the stand-in was tried on, and of other answers on them.

    Examples
    --------
    >>> from sigmastar.distil import from_function
    >>> even = from_function(lambda words: [word.count("a") % 2 == 0 for word in words], "ab", "scores")
    >>> stand_in = DistilledClassifier().fit(even)
    >>> stand_in.dfa_.n_states, stand_in.n_errors_
    (2, 0)
    """

    method: str = "auto"
    n_states: int = 40
    threshold: float = 0.5
    max_queries: int | None = MAX_QUERIES
    cache: str | os.PathLike[str] | None = None

    def fit(self, X: Any, strings: Corpus | None = None) -> Self:
        """Ask a black box, and learn from its answers.

        Parameters
        ----------
        X : object
            A black box with `scores(strings)` and `alphabet` or `alphabet_size`.
        strings : list of sequences, optional
            Strings that the stand-in should be right on, and near; random ones without.

        Returns
        -------
        Self
            The estimator itself.
        """
        chosen(dict.fromkeys(METHODS, 0), self.method, "method")
        limit = None if self.max_queries is None else positive(self.max_queries, "max_queries")
        questions = Questions(X, limit, self.cache, self.progress or silent)
        rng, labels = as_generator(self.random_state), Labels(questions, self.threshold)
        given = some_strings(labels.n_symbols, _GIVEN, rng) if strings is None else _codes(questions, strings)
        with self._working():
            found = self._distilled(Pool(labels, given, rng), positive(self.n_states, "n_states"))
        report = questions.report
        self._replace_fitted(**found, queries_=report, n_queries_=report.n_queries)
        return self

    def _distilled(self, pool: Pool, n_states: int) -> dict[str, Any]:
        left = pool.labels.questions.left
        size = int(min(_EDITED, left // 16))
        pool.add(pool.given[: max(size, 1)])
        pool.grow(size, size // 3)
        if self.method != "signed":
            made, evidence = deterministic(pool, min(n_states, _MOST_STATES), _ROUNDS, size)
            if self.method == "dfa" or evidence.rate <= _RARE:
                return self._of_dfa(made, evidence, pool)
        sign, tried = signed(pool, n_states)
        if self.method == "auto" and len(made.errors(Padded.of(tried.words), tried.truth)) <= tried.n_errors:
            return self._of_dfa(made, evidence, pool)
        model = StringClassifier((0, 1), (as_automaton(sign, pool),))
        evidence = Evidence(len(tried.words), tried.n_errors)
        return {**self._of_model(model), **_told("signed", evidence)}

    def _of_dfa(self, made: Hypothesis, evidence: Evidence, pool: Pool) -> dict[str, Any]:
        alphabet = pool.labels.questions.alphabet
        transitions = np.moveaxis(np.eye(made.n_states)[made.table], 1, 0)
        final = np.where(made.accepting, 1.0, -1.0)
        automaton = WeightedAutomaton(alphabet, np.eye(made.n_states)[0], transitions, final)
        return {**self._of_model(StringClassifier((0, 1), (automaton,))), **_told("dfa", evidence)}

    def _of_model(self, model: StringClassifier) -> dict[str, Any]:
        automaton = model.automata[0]
        return {
            "model_": model,
            "automaton_": automaton,
            "dfa_": _as_dfa(automaton),
            "alphabet_": model.alphabet,
            "n_states_": automaton.n_states,
        }

    def _why_absent(self, name: str) -> str:
        return "; no small deterministic automaton was found, see automaton_" if name == "dfa_" else ""

    def predict(self, X: Corpus) -> Array:
        """The answer for each string.

        Parameters
        ----------
        X : list of sequences, or Strings
            The strings.

        Returns
        -------
        array of shape (n_strings,)
            1 for yes, 0 for no.
        """
        return self.model_.predict(as_strings(X, alphabet=self.alphabet_, remedy="leave such strings out"))

    def decision_function(self, X: Corpus) -> Floats:
        """A number per string, above zero for yes.

        Parameters
        ----------
        X : list of sequences, or Strings
            The strings.

        Returns
        -------
        array of shape (n_strings,)
            1 and -1 of a deterministic automaton; else what the scores exceed the threshold by, nearly.
        """
        return self.model_.values(as_strings(X, alphabet=self.alphabet_, remedy="leave such strings out"))

    def score(self, X: Corpus, y: Any) -> float:
        """The share of strings with the right answer.

        Parameters
        ----------
        X : list of sequences, or Strings
            The strings.
        y : sequence
            The answers, 0 or 1.

        Returns
        -------
        float
            Larger is better.
        """
        return float((self.predict(X) == np.asarray(y)).mean())


def _codes(questions: Questions, strings: Corpus) -> list[Word]:
    coded = require_strings(questions.coded(strings))
    parts = np.split(coded.codes, coded.offsets[1:-1])
    return list(dict.fromkeys(tuple(part.tolist()) for part in parts))


def _told(method: str, evidence: Evidence) -> dict[str, Any]:
    return {"method_": method, "n_tried_": evidence.n_strings, "n_errors_": evidence.n_errors}


def _as_dfa(automaton: WeightedAutomaton) -> DFA | None:
    """The deterministic automaton that a weighted one is, if it is one."""
    moves = automaton.transitions
    if not (np.isin(moves, (0.0, 1.0)).all() and (moves.sum(axis=2) == 1.0).all()):
        return None
    return DFA(
        automaton.alphabet, int(automaton.initial.argmax()), moves.argmax(axis=2).T, automaton.final > 0
    )

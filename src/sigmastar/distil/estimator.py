"""A stand-in for a black box, in the manner of the other estimators of sequences."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sigmastar.automata.data.strings import Corpus, Strings
from sigmastar.automata.estimator.sequence import Found, SequenceEstimator
from sigmastar.core.estimator import as_generator, chosen, positive, positive_or_auto
from sigmastar.distil.asked_strings import together
from sigmastar.distil.explain import state_lines, worst_strings
from sigmastar.distil.gathering import gather, training
from sigmastar.distil.learn import METHODS, Distilled, Evidence, distil
from sigmastar.distil.questions import QueryReport, Questions

MAX_QUERIES = 1_000_000


class _FittedStandIn:
    """What `fit` sets beside what all estimators of sequences have."""

    method_: str
    n_queries_: int
    queries_: QueryReport
    divergences_: dict[str, float]
    worst_: list[list[str]]
    states_: list[list[str]]


@dataclass(eq=False, repr=False)
class DistilledAutomaton(_FittedStandIn, SequenceEstimator):
    """An automaton that stands in for a black box, learned from its exact answers.

    Parameters
    ----------
    method : str
        "spectral": operators from exact futures, behind a filter that falls back on an n-gram. "clusters": a
        proper automaton from clusters of futures. "ngram": averaged answers. "auto": the one that held-out
        answers prefer. Where the answers show a machine of low rank, all but "ngram" recover it exactly.
    n_states : int or "auto"
        Number of states; "auto" takes 100 to 130, fewer where few answers may be asked for.
    max_queries : int or None
        Number of answers that may be asked for, those that `cache` gives among them; more give a better
        stand-in.
    max_length : int
        Longer strings that the black box draws are cut.
    cache : path or None
        A file that keeps answers, so that an interrupted run goes on where it was.
    random_state, n_jobs, progress
        As of all estimators.

    Attributes
    ----------
    model_ : SequenceModel
        The stand-in.
    method_ : str
        The method that was chosen, or "exact".
    n_queries_ : int
        Number of answers that were asked for.
    queries_ : QueryReport
        With those that were remembered.
    divergences_ : dict
        Divergence from held-out answers in nats per symbol, by method.
    worst_ : list
        Held-out strings on which the stand-in diverges most, with millinats per symbol.
    states_ : list
        Of a proper automaton: states with the share of prefixes there, typical prefixes, and what follows.
    held_out_score_ : float
        That of the stand-in, negative: larger is better.
    automaton_, alphabet_, outcomes_, n_states_
        As of `SpectralAutomaton`.

    Examples
    --------
    >>> from sigmastar.automata import make_automaton
    >>> machine = make_automaton(3, 2, np.random.default_rng(0))
    >>> stand_in = DistilledAutomaton(max_queries=20_000).fit(machine)
    >>> stand_in.method_, stand_in.n_states_
    ('exact', 3)
    """

    method: str = "auto"
    n_states: int | str = "auto"
    max_queries: int | None = MAX_QUERIES
    max_length: int = 200
    cache: str | os.PathLike[str] | None = None

    def fit(self, X: Any, strings: Corpus | None = None) -> Self:  # type: ignore[override]
        """Ask a black box, and learn from its answers.

        Parameters
        ----------
        X : object
            A black box: an object with `next_distributions(prefixes)` and `alphabet` or `alphabet_size`, or
            a model of strings, see `sigmastar.distil.as_black_box`.
        strings : list of sequences, optional
            Strings that the stand-in should be good on; without them it is what the black box draws itself.

        Returns
        -------
        Self
            The estimator itself.
        """
        chosen(dict.fromkeys(METHODS, 0), self.method, "method")
        n_states = positive_or_auto(self.n_states, "n_states")
        limit = None if self.max_queries is None else positive(self.max_queries, "max_queries")
        questions = Questions(X, limit, self.cache, self._progress)
        rng = as_generator(self.random_state)
        given = None if strings is None else questions.coded(strings)
        with self._working():
            self._keep(self._distilled(questions, given, n_states, rng))
        return self

    def _distilled(
        self, questions: Questions, given: Strings | None, n_states: int | None, rng: np.random.Generator
    ) -> Found:
        questions.require_next()
        max_length = positive(self.max_length, "max_length")
        pools = gather(questions, given, rng, max_length, self._progress)
        evidence = Evidence(questions, pools, training(pools), rng, self._progress)
        distilled = distil(evidence, self.method, n_states)
        held = together([pool.held for pool in pools if pool.judges])
        return {
            **_found(distilled, questions.report),
            "worst_": worst_strings(distilled.model, held),
            "states_": state_lines(distilled.model, held),
        }

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        raise NotImplementedError("a stand-in is learned from a black box, by fit(black_box)")


def _found(distilled: Distilled, queries: QueryReport) -> Found:
    inner = getattr(distilled.model, "automaton", distilled.model)
    return {
        "model_": distilled.model,
        "method_": distilled.method,
        "n_queries_": queries.n_queries,
        "queries_": queries,
        "divergences_": dict(distilled.scores),
        "held_out_score_": -distilled.scores[distilled.method],
        "n_states_": getattr(inner, "n_states", None),
    }

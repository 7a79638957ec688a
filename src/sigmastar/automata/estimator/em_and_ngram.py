"""The rivals of the spectral method: expectation-maximization and n-grams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings, Unknown
from sigmastar.automata.estimator.sequence import Found, SequenceEstimator
from sigmastar.automata.estimator.states import HiddenStates
from sigmastar.automata.learn.em import (
    STARTS,
    STRUCTURES,
    EMFit,
    EMSettings,
    from_chance,
    learn_em,
)
from sigmastar.automata.learn.ngram import SMOOTHINGS, learn_ngram
from sigmastar.automata.model.ngram_smoothing import Smoothing
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.em import Monitor
from sigmastar.core.engines import engine_of
from sigmastar.core.estimator import (
    chosen,
    positive,
    positive_or_auto,
)
from sigmastar.core.torch_device import placed

DEVICES: Mapping[str, str] = {name: name for name in ("cpu", "cuda", "auto")}
PRECISIONS: Mapping[str, type] = {"float32": np.float32, "float64": np.float64}
EM_SIZES = (5, 10, 20, 40)
"""Numbers of states that `EMAutomaton(n_states="auto")` tries."""


@dataclass(eq=False, repr=False)
class EMAutomaton(HiddenStates, SequenceEstimator):
    """A probabilistic automaton by expectation-maximization, the rival of the spectral methods.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states; "auto": the best of 5, 10, 20 and 40 on held-out strings.
    n_seeds : int
        Number of ascents, of which the best on held-out strings is kept.
    max_iter : int
        Number of iterations of each ascent at most.
    start : str or function
        "random" or "spectral", or what makes the first automaton.
    structure : str or function
        "pfa": any probabilistic automaton; "hmm": a hidden Markov model.
    precision : str
        "float64", or "float32", which is faster.
    held_out : float
        Share of the strings to stop and to choose by; 0 uses the training likelihood.
    tolerance : float
        Gain per iteration and string, in nats, that is worth going on for.
    time_limit : float or None
        Seconds of processor time after which no further iteration is begun.
    device : str
        Where `fit`, scores and predictions work. "cpu": compiled kernels; "cuda": a GPU, by PyTorch; "auto":
        a GPU where there is one.
    warm_start : bool
        Whether `fit` goes on from the automaton of the last one, where there is one of the same alphabet.
    workers : int or None
        For corpora on disk: number of processes that count expected moves.
    client : str, distributed.Client or None
        For corpora on disk: a Dask cluster that counts them, or the address of its scheduler.
    alphabet, unknown, min_count, random_state, n_jobs, progress
        As of `SpectralAutomaton`.

    Attributes
    ----------
    model_, automaton_ : WeightedAutomaton
        The automaton.
    alphabet_, outcomes_, n_states_, held_out_score_
        As of `SpectralAutomaton`.
    log_likelihoods_ : list of float
        Log-likelihood per string before each iteration of the best ascent.
    n_iterations_ : int
        Iterations of all ascents.
    monitor_ : Monitor
        `log_likelihoods_` as hmmlearn has them: `history`, `iter` and `converged`.
    startprob_, transmat_, emissionprob_, stopprob_ : arrays
        The hidden Markov model of the same distribution, on the same states with `structure="hmm"`.

    Examples
    --------
    >>> model = EMAutomaton(n_states=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    n_states: int | str = 10
    n_seeds: int = 1
    max_iter: int = 100
    start: str | Callable[..., Any] = "random"
    structure: str | Callable[..., Any] = "pfa"
    precision: str = "float64"
    held_out: float = 0.1
    tolerance: float = 1e-4
    time_limit: float | None = None
    device: str = "cpu"
    warm_start: bool = False
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"
    min_count: int = field(default=1, kw_only=True)
    workers: int | None = field(default=None, kw_only=True)
    client: Any = field(default=None, kw_only=True)

    @property
    def _placed(self) -> SequenceModel:
        return placed(self.model_, self.device)

    def _learn_on_shards(self, strings: Any, rng: np.random.Generator) -> Found | None:
        from sigmastar.automata.learn.on_shards import TASK_GAPS, can_be_sharded, learn_em_on_shards

        is_large = strings.n_gaps > TASK_GAPS  # whoever works: a single task is not shared
        if self.device != "cpu" or not is_large or not can_be_sharded(strings):
            return None
        with closing(engine_of(self.workers, self.client)) as engine:
            return self._best(partial(learn_em_on_shards, engine=engine), strings, rng)

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        return self._best(learn_em, strings, rng)

    def _best(self, learn: Callable[..., EMFit], strings: Any, rng: np.random.Generator) -> Found:
        """With so many states as were asked for, or with as many as are best on held-out strings."""
        given = {"settings": self._settings(strings.alphabet), "progress": self._progress}
        n_states = positive_or_auto(self.n_states, "n_states")
        if n_states is not None:
            return _found_em(learn(strings, n_states, rng, **given))
        seed = int(rng.integers(2**63))  # one seed for all sizes: they see the same held-out strings
        sizes = {size: learn(strings, size, np.random.default_rng(seed), **given) for size in EM_SIZES}
        best = max(sizes, key=lambda size: sizes[size].score)
        scores = {size: fit.score for size, fit in sizes.items()}
        return {**_found_em(sizes[best]), "held_out_scores_": scores if sizes[best].is_held_out else None}

    def _settings(self, alphabet: Alphabet) -> EMSettings:
        return EMSettings(
            n_seeds=positive(self.n_seeds, "n_seeds"),
            max_iter=positive(self.max_iter, "max_iter"),
            start=self._last(alphabet) or chosen(STARTS, self.start, "start"),
            step=chosen(STRUCTURES, self.structure, "structure"),
            held_out=self.held_out,
            dtype=chosen(PRECISIONS, self.precision, "precision"),
            tolerance=self.tolerance,
            time_limit=self.time_limit,
            device=chosen(DEVICES, self.device, "device"),
        )

    def _last(self, alphabet: Alphabet) -> Callable[..., Any] | None:
        """The automaton to go on from, as a start."""
        known = self._last_model
        if known is None or known.alphabet != alphabet:
            return None
        return lambda strings, n_states, rng: (
            known if known.n_states == n_states else from_chance(strings, n_states, rng)
        )

    @property
    def monitor_(self) -> Monitor:
        """How the best ascent went."""
        return Monitor.of(self.log_likelihoods_, self.max_iter)

    def _why_absent(self, name: str) -> str:
        return "; EM has no spectrum" if name == "rank_evidence_" else ""


def _found_em(fit: EMFit) -> Found:
    return {
        "model_": fit.automaton,
        "automaton_": fit.automaton,
        "n_states_": fit.automaton.n_states,
        "held_out_score_": fit.held_out_score,
        "log_likelihoods_": fit.log_likelihoods,
        "n_iterations_": fit.n_iterations,
    }


@dataclass(eq=False, repr=False)
class NgramAutomaton(SequenceEstimator):
    """An n-gram model: the next symbol depends on the `order - 1` before it, smoothed.

    Parameters
    ----------
    order : int or "auto"
        Length of the n-grams; "auto": the best of 1 to 6 on held-out strings.
    smoothing : str or function
        "witten-bell", "kneser-ney" or "modified-kneser-ney" (both interpolated), or a function from counts
        to a back-off model.
    alphabet, unknown, min_count, random_state, n_jobs, progress
        As of `SpectralAutomaton`.

    Attributes
    ----------
    model_ : NgramModel
        The distribution.
    alphabet_, outcomes_
        As of `SpectralAutomaton`.

    Examples
    --------
    >>> model = NgramAutomaton(order=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    order: int | str = 3
    smoothing: str | Smoothing = "witten-bell"
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"
    min_count: int = field(default=1, kw_only=True)

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        order = positive_or_auto(self.order, "order")
        model = learn_ngram(strings, order, chosen(SMOOTHINGS, self.smoothing, "smoothing"), rng)
        return {"model_": model}

    def _why_absent(self, name: str) -> str:
        if name in ("automaton_", "n_states_", "rank_evidence_"):
            return ": an n-gram model has no weighted automaton inside; use model_"
        return ""

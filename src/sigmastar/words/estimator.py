"""`WordModel`: language models over large vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Corpus, Strings, Unknown, as_strings
from sigmastar.automata.estimator.em_and_ngram import DEVICES
from sigmastar.automata.estimator.sequence import Found, SequenceEstimator
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import chosen, positive, positive_or_auto
from sigmastar.words.learn.word_model import STARTS, WordFit, WordSettings, learn_words


class _FittedWords(SequenceEstimator):
    """What `fit` sets."""

    held_out_perplexity_: float | None
    states_perplexity_: float | None
    counted_: object | None


@dataclass(eq=False, repr=False)
class WordModel(_FittedWords):
    """A hidden Markov model of words whose operators are factored, mixed with n-grams by context.

    Parameters
    ----------
    n_states : int or "auto"
        Number of hidden states; "auto": one per 1,000 tokens, 4 at least and 2,048 at most.
    order : int
        Length of the n-grams that are mixed in (modified Kneser-Ney); 0: none.
    stream : bool
        Whether the strings are lines of one text, each of which goes on where the one before it ended.
    start : str
        "spectral": clusters of tokens by two views; "random": states by chance.
    max_iter : int
        Number of iterations of EM at most, of back-off models.
    held_out : float
        Share of the strings to stop and to choose by; of a stream the last ones.
    parameters : str
        "back-off": expected counts, smoothed, by compiled kernels. "log-bilinear": vectors of words and
        states, trained by stochastic gradient with PyTorch; for thousands of states on a GPU.
    device : str
        Of log-bilinear models: "cpu", "cuda", or "auto", a GPU where there is one.
    n_features : int
        Length of the vectors of log-bilinear models.
    n_epochs : int
        Number of times that log-bilinear models read the text, at most.
    validation : list of strings, Strings or None
        Strings to choose by instead of a share of those to learn from.
    warm_start : bool
        Whether `fit` goes on from the states of the last one, of back-off models; words may be new.
    alphabet, unknown, random_state, n_jobs, progress
        As of `SpectralAutomaton`.

    Attributes
    ----------
    model_ : WordMixture or WordHmm
        The distribution.
    alphabet_, outcomes_, n_states_
        As of `SpectralAutomaton`.
    held_out_perplexity_, states_perplexity_ : float
        Per token of the held-out strings, ends counted: of the whole model, and of its states alone.
    n_iterations_ : int
        Iterations of EM.
    counted_ : object
        With `warm_start` the expected counts that the next `fit` goes on from; files do not hold them.

    Examples
    --------
    >>> lines = [line.split() for line in ["the cat sat", "a dog ran", "the dog sat", "a cat ran"] * 20]
    >>> model = WordModel(n_states=4).fit(lines)
    >>> model.predict_next([["the", "cat"]], top=1)
    [('sat',)]
    """

    n_states: int | str = "auto"
    order: int = 5
    stream: bool = False
    start: str = "spectral"
    max_iter: int = 20
    held_out: float = 0.05
    parameters: str = "back-off"
    device: str = "auto"
    n_features: int = 256
    n_epochs: int = 145
    validation: Corpus | None = None
    warm_start: bool = False
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        if not len(strings.alphabet):
            raise InputError("there are no words to learn from: all strings are empty")
        settings = WordSettings(
            positive_or_auto(self.n_states, "n_states"),
            positive(self.order, "order") if self.order else 0,
            bool(self.stream),
            chosen(STARTS, self.start, "start"),
            positive(self.max_iter, "max_iter"),
            self.held_out,
        )
        given = None if self.validation is None else as_strings(self.validation, alphabet=strings.alphabet)
        fit = chosen(PARAMETERS, self.parameters, "parameters")(self, strings, settings, rng, given)
        return {
            "model_": fit.model,
            "n_states_": fit.model.n_states,
            "held_out_perplexity_": None if fit.score is None else float(np.exp(-fit.score)),
            "states_perplexity_": None if fit.states_score is None else float(np.exp(-fit.states_score)),
            "n_iterations_": len(fit.scores),
            "counted_": fit.counted if self.warm_start else None,
        }

    def _of_model(self, model: Any) -> Found:
        return {**super()._of_model(model), "n_states_": model.n_states}

    def _why_absent(self, name: str) -> str:
        return ": a word model has no table of weights per word; use model_" if name == "automaton_" else ""


Given = Strings | None
Learner = Callable[[WordModel, Strings, WordSettings, np.random.Generator, Given], WordFit]


def _by_counts(
    model: WordModel,
    strings: Strings,
    settings: WordSettings,
    rng: np.random.Generator,
    given: Strings | None,
) -> WordFit:
    if chosen(DEVICES, model.device, "device") == "cuda":
        raise InputError("device='cuda' is for parameters='log-bilinear': counts that back off are sparse")
    last = model._last_model and vars(model).get("counted_", model.model_)
    return learn_words(strings, settings, rng, given, model._progress, last)


def _by_vectors(
    model: WordModel,
    strings: Strings,
    settings: WordSettings,
    rng: np.random.Generator,
    given: Strings | None,
) -> WordFit:
    from sigmastar.words.learn.log_bilinear import TensorSettings, learn_on_tensors  # which needs PyTorch

    if model.warm_start:
        raise InputError("warm_start=True is for parameters='back-off': vectors begin anew")
    tensors = TensorSettings(
        chosen(DEVICES, model.device, "device"),
        positive(model.n_features, "n_features"),
        positive(model.n_epochs, "n_epochs"),
    )
    return learn_on_tensors(strings, settings, tensors, rng, given, model._progress)


PARAMETERS: Mapping[str, Learner] = {"back-off": _by_counts, "log-bilinear": _by_vectors}

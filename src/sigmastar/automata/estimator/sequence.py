"""What all estimators of distributions on strings share: everything but the learning.

`aic` and `bic` count how many numbers a model is free in:

    proper automaton          (n - 1) + n (n s)           rows sum to one; a hidden Markov model has fewer:
    hidden Markov model       (n - 1) + n (n - 1) + n (s - 1) + n
    signed automaton          2 n + s n^2 - n^2           n^2 of them are a choice of basis
    n-gram                    what is stored: own probabilities and weights of backing off
    filtered automaton        the automaton, the n-gram behind it, restarts and mixing
    automaton over classes    the automaton, the n-gram beside it, rates, and shares of symbols in classes
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.automata.data.rare import pooled
from sigmastar.automata.data.strings import (
    Corpus,
    Strings,
    Unknown,
    as_alphabet,
    as_strings,
    is_corpus,
    require_strings,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.classed import ClassedAutomaton
from sigmastar.automata.model.hmm_conversion import on_own_states
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel, next_distribution, next_pieces, top_columns
from sigmastar.core.alphabet import END, Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import RandomState, as_generator, positive
from sigmastar.core.likelihood import LikelihoodEstimator
from sigmastar.core.progress import Progress, silent
from sigmastar.core.rank import RankEvidence

Lengths = Sequence[int] | None
Found = dict[str, Any]
"""Names and values of the attributes that `fit` sets."""
_LARGER = "give an alphabet that holds every symbol, or none"


def lengths_of(X: Any, y: Any, lengths: Sequence[int] | None) -> Sequence[int] | None:
    """The lengths of a flat X: those given by name, or else in the second place, as hmmlearn has them.

    A flat X has no use for a y, so nothing but lengths can be meant by one beside it. An array of whole
    numbers without either is one string, as in hmmlearn; a list without either may be a slip, and is not.

    Examples
    --------
    >>> lengths_of([1, 2, 3, 1, 2], [3, 2], None)
    [3, 2]
    >>> lengths_of(np.array([[1], [2], [3]]), None, None)
    [3]
    >>> lengths_of(["ab", "b"], [0, 1], None)
    """
    if lengths is not None or isinstance(X, Strings):
        return lengths
    is_array = isinstance(X, np.ndarray) and (X.ndim == 1 or X.shape[1:] == (1,))
    if y is None:
        return [len(X)] if is_array and X.dtype.kind in "biu" and len(X) else None
    if isinstance(X, np.ndarray):
        is_flat = is_array and X.dtype.kind in "biuf"
    elif isinstance(X, (list, tuple)):
        is_flat = bool(X) and not isinstance(X[0], Iterable)
    else:
        is_flat = False
    return [int(length) for length in y] if is_flat else None


class _FittedSequence:
    """What `fit` sets."""

    model_: SequenceModel
    automaton_: WeightedAutomaton
    alphabet_: Alphabet
    outcomes_: tuple[Symbol, ...]
    n_states_: int
    rank_evidence_: RankEvidence
    held_out_score_: float
    log_likelihoods_: list[float]
    n_iterations_: int


@dataclass(eq=False, repr=False)
class SequenceEstimator(_FittedSequence, LikelihoodEstimator):
    """A distribution on strings, learned by `fit`.

    `X` is a list of strings, each a sequence of hashable symbols (text is a sequence of characters), or
    `Strings`; or, with `lengths`, one flat sequence of symbols to be cut. An array of whole numbers without
    `lengths` is one string, as in hmmlearn. `y` is there for pipelines and is not looked at, but for a flat
    `X`: then it is `lengths`.
    """

    _takes_columns: ClassVar[bool] = True

    @abstractmethod
    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        """The attributes that `fit` sets, with `model_` among them."""

    def _learn_on_shards(self, strings: Any, rng: np.random.Generator) -> Found | None:
        """The same from a corpus on disk; None where it has to be in memory."""
        return None

    def _learned_on_shards(self, corpus: str | os.PathLike[str]) -> Found | None:
        from sigmastar.automata.data.corpora import ShardedStrings  # most data are in memory
        from sigmastar.corpus.reading import StringCorpus

        strings = ShardedStrings(StringCorpus.open(corpus))
        with self._working():
            return self._learn_on_shards(strings, as_generator(self.random_state))

    @property
    def _symbols(self) -> Alphabet | None:
        return as_alphabet(getattr(self, "alphabet", None))

    @property
    def _progress(self) -> Progress:
        return self.progress or silent

    def fit(
        self, X: Corpus, y: object = None, lengths: Lengths = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from strings; whatever was learned before is replaced.

        Parameters
        ----------
        X : list of sequences, Strings, StringCorpus or its folder, or one flat sequence
            The strings.
        y : object
            Not used.
        lengths : sequence of int, optional
            Lengths of the strings in a flat `X`; an array of whole numbers without them is one string.
        sample_weight : sequence of int, optional
            How often each string counts; whole numbers.

        Returns
        -------
        Self
            The estimator itself.
        """
        lengths = lengths_of(X, y, lengths)
        least = positive(getattr(self, "min_count", 1), "min_count")
        is_whole = lengths is None and sample_weight is None and self._symbols is None and least == 1
        if is_whole and is_corpus(X):
            found = self._learned_on_shards(X)
            if found is not None:
                self._keep(found)
                return self
        unknown: Unknown = "error" if least == 1 else "zero"
        strings = require_strings(as_strings(X, lengths, self._symbols, unknown, _LARGER))
        if sample_weight is not None:
            strings = require_strings(strings.repeated(sample_weight))
        if least > 1:
            strings = pooled(strings, least)
        with self._working():
            found = self._learn(strings, as_generator(self.random_state))
        self._keep(found)
        return self

    @property
    def _placed(self) -> SequenceModel:
        """The model where it is to work."""
        return self.model_

    def score_samples(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Floats:
        """The natural log-probability of each string; -inf where it has none.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        array of shape (n_strings,)
            In nats.
        """
        return self._placed.log_probability(self._coded(X, lengths_of(X, y, lengths)))

    def score(self, X: Corpus, y: object = None, lengths: Lengths = None) -> float:
        """The mean log-probability per string: larger is better.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        float
            In nats.
        """
        strings = require_strings(self._coded(X, lengths_of(X, y, lengths)), "score")
        return float(self._placed.log_probability(strings).mean())

    def predict_next(
        self, prefixes: Corpus, top: int | None = None, lengths: Lengths = None
    ) -> list[tuple[Symbol, ...]]:
        """What comes after each prefix, most likely first; `END` is the end of the string.

        Parameters
        ----------
        prefixes, lengths
            Strings, as of `fit`.
        top : int, optional
            Number of symbols per prefix; all if left out.

        Returns
        -------
        list of tuples
            Equally likely symbols stand in the order of the alphabet.
        """
        names, rankings = self.outcomes_, list[tuple[Symbol, ...]]()
        top = None if top is None else positive(top, "top")
        for rows in self._next_rows(self._coded(prefixes, lengths)):
            order = top_columns(rows, top or rows.shape[1])
            rankings += [tuple(names[column] for column in row) for row in order.tolist()]
        return rankings

    def predict_proba_next(self, prefixes: Corpus, lengths: Lengths = None) -> Floats:
        """The probability of each of `outcomes_` after each prefix.

        Parameters
        ----------
        prefixes, lengths
            Strings, as of `fit`.

        Returns
        -------
        array of shape (n_prefixes, n_symbols + 1)
            Rows sum to one; the end of the string is last.
        """
        rows = list(self._next_rows(self._coded(prefixes, lengths)))
        return np.concatenate(rows) if rows else np.zeros((0, len(self.outcomes_)))

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, max_length: int = 10_000
    ) -> list[tuple[Symbol, ...]]:
        """Draw strings.

        Parameters
        ----------
        n_samples : int
            Number of strings.
        random_state : int, Generator or None
            Seed or source of chance; None: the estimator's own, so that calls repeat.
        max_length : int
            Longer strings are cut.

        Returns
        -------
        list of tuples
            The strings.
        """
        model = self.model_
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(model.sample(n_samples, rng, max_length))

    def _n_parameters(self) -> int:
        return n_parameters(self.model_)

    def _n_observed(self, X: Corpus, y: object, lengths: Lengths) -> int:
        return self._coded(X, lengths_of(X, y, lengths)).n_gaps

    def _keep(self, found: Found) -> None:
        self._replace_fitted(**{**self._of_model(found["model_"]), **found})

    def _of_model(self, model: SequenceModel) -> Found:
        alphabet, inner = model.alphabet, getattr(model, "automaton", model)
        automaton = {"automaton_": inner} if isinstance(inner, WeightedAutomaton) else {}
        return {"model_": model, "alphabet_": alphabet, "outcomes_": (*alphabet, END), **automaton}

    def _coded(self, X: Corpus, lengths: Lengths) -> Strings:
        self.check_fitted()
        unknown: Unknown = getattr(self, "unknown", "error")
        if unknown == "error" and getattr(self, "min_count", 1) > 1:
            unknown = "class"
        return as_strings(X, lengths_of(X, None, lengths), self.alphabet_, unknown)

    def _next_rows(self, prefixes: Strings) -> Iterable[Floats]:
        """Next-symbol distributions in pieces, so that tables at all gaps stay small."""
        model = self._placed
        for piece in next_pieces(model, prefixes):
            yield next_distribution(model, piece)


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
    if on_own_states(model) is not None:
        return (n - 1) + n * (n - 1) + n * (s - 1) + n
    return (n - 1) + n * n * s

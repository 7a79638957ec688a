"""A transducer in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError, warn_user
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive, positive_or_auto
from sigmastar.core.progress import silent
from sigmastar.transducers.data import SHAPES, Pair, Shape, StringPairs, Unit, require_pairs
from sigmastar.transducers.learn.aligner import LONG_UNITS
from sigmastar.transducers.learn.combined import ENSEMBLES, TransducerFit, learn_transducer
from sigmastar.transducers.learn.spectral import (
    FEW_SHAPES,
    learn_completion_transducer,
    learn_spectral_transducer,
)
from sigmastar.transducers.metrics import best_outputs
from sigmastar.transducers.model.joint_ngram import Ranking
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Inputs = Iterable[Sequence[Symbol]] | Strings
Pairs = Iterable[Pair] | StringPairs

METHODS = (*ENSEMBLES, "spectral", "completion")


class _Fitted(Estimator):
    model_: Transducer | WeightedTransducer
    fit_: TransducerFit


@dataclass(eq=False, repr=False)
class SpectralTransducer(_Fitted):
    """A transducer from pairs of strings.

    Pairs are (input, output), each a sequence of hashable symbols; an input may come with several outputs.

    Parameters
    ----------
    method : str
        "combined": joint n-grams, chains of substates from two views and spectral automata, over two
        inventories of alignment units, with a spectral automaton of outputs, weighed on held-out inputs: the
        most accurate. "ngram": a joint Kneser-Ney n-gram alone. "spectral": operators of units, recovered
        from aligned pairs, signed. "completion": operators recovered from a completed Hankel matrix, without
        an aligner, for few symbols.
    order : int or "auto"
        Order of n-grams; "auto": by held-out inputs, for "combined" 8 from 3,000 pairs on.
    n_states : int or "auto"
        Number of states for "spectral" and "completion"; "auto": by held-out data.
    shapes : sequence of pairs or "auto"
        Numbers of input and output symbols of alignment units, such as (1, 1) or (1, 0); "auto": (1, 1), (1,
        0), (1, 2) and (2, 1), the first two alone for "completion".
    long_units : float
        Factor by which the aligner multiplies units of more than two symbols.

    Attributes
    ----------
    model_ : Transducer or WeightedTransducer
        The latter for "spectral" and "completion".
    fit_ : TransducerFit
        Order, losses and error on held-out inputs, for "combined" and "ngram".

    Examples
    --------
    >>> pairs = [("ab", "AB"), ("ba", "BA"), ("aab", "AAB"), ("b", "B"), ("abb", "ABB"), ("a", "A")]
    >>> SpectralTransducer(method="ngram").fit(pairs * 3).predict(["bab"])
    [('B', 'A', 'B')]
    """

    method: str = "combined"
    order: int | str = "auto"
    n_states: int | str = "auto"
    shapes: Sequence[Shape] | str = "auto"
    long_units: float = LONG_UNITS

    def fit(self, X: Pairs, y: object = None) -> SpectralTransducer:
        """Learn from pairs.

        Parameters
        ----------
        X : iterable of pairs, or of inputs
            (input, output) pairs; with `y`, inputs alone.
        y : iterable of outputs or None
            One per input.

        Returns
        -------
        SpectralTransducer
            The estimator itself.
        """
        corpus = require_pairs(_as_pairs(X, y))
        rng, progress = as_generator(self.random_state), self.progress or silent
        n_states = positive_or_auto(self.n_states, "n_states")
        shapes = self._shapes()
        fit: TransducerFit | None = None
        model: Transducer | WeightedTransducer
        with self._working():
            if self.method in ENSEMBLES:
                spec = ENSEMBLES[self.method]
                order = positive_or_auto(self.order, "order") or spec.order
                inventories = (shapes, *spec.inventories[1:])
                spec = replace(spec, inventories=inventories, order=order, long_units=self.long_units)
                fit = learn_transducer(corpus, spec, rng, progress)
                model = fit.transducer
            elif self.method == "spectral":
                progress("aligning and recovering operators", 0.0)
                model = learn_spectral_transducer(corpus, rng, n_states, shapes, self.long_units)
            elif self.method == "completion":
                found = learn_completion_transducer(corpus, rng, n_states, shapes, progress=progress)
                model = found.transducer
            else:
                raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        self._replace_fitted(model_=model, fit_=fit)
        return self

    def _shapes(self) -> tuple[Shape, ...]:
        if isinstance(self.shapes, str):
            if self.shapes != "auto":
                raise ValueError(f"shapes={self.shapes!r} must be 'auto' or pairs such as (1, 1)")
            return FEW_SHAPES if self.method == "completion" else SHAPES
        return tuple((int(p), int(q)) for p, q in self.shapes)

    def predict(self, X: Inputs) -> list[tuple[Symbol, ...]]:
        """The best output of each input.

        Parameters
        ----------
        X : iterable of inputs
            Symbols that were not learned from are left out, with a warning.

        Returns
        -------
        list of tuples
            Empty where there is no output.
        """
        return best_outputs(self.predict_nbest(X, 1))

    def predict_nbest(self, X: Inputs, n_best: int = 10, inverse: bool = False) -> list[Ranking]:
        """The best outputs of each input with their probabilities given the input.

        Parameters
        ----------
        X : iterable of inputs
            Or of outputs, with `inverse`.
        n_best : int
            Number of outputs per input, at most.
        inverse : bool
            Whether inputs are predicted, given outputs.

        Returns
        -------
        list of lists of pairs
            Outputs and probabilities, best first; no pair where there is no output.
        """
        self.check_fitted()
        model = self.model_.inverse() if inverse else self.model_
        strings = _as_strings(X)
        _warn_of_unknown(strings, model.units.inputs)
        with self._working():
            return model.predict(strings, positive(n_best, "n_best"))

    def predict_inputs(self, outputs: Inputs) -> list[tuple[Symbol, ...]]:
        """The other direction: the best input for each output."""
        return best_outputs(self.predict_nbest(outputs, 1, inverse=True))

    def score_samples(self, X: Pairs, y: object = None, joint: bool = False) -> Floats:
        """The log-probability of each output given its input, as `predict_nbest` has it.

        Parameters
        ----------
        X, y : as of `fit`
            Pairs, or inputs and outputs.
        joint : bool
            Whether that of the input is added: the log-probability of the pair, which `sample` draws from.
            For "spectral" and "completion" it is the logarithm of the sum over alignments.

        Returns
        -------
        array
            -inf where a symbol is unknown or the units cannot spell the pair.
        """
        self.check_fitted()
        pairs = _as_pairs(X, y)
        return self.model_.log_probability(pairs) if joint else self.model_.log_conditional(pairs)

    def score(self, X: Pairs, y: object = None) -> float:
        """The share of inputs whose best output is among those given for it.

        Parameters
        ----------
        X, y : as of `fit`
            Pairs, or inputs and outputs.

        Returns
        -------
        float
            1 minus the word error rate.
        """
        self.check_fitted()
        references = require_pairs(_as_pairs(X, y), "score").references()
        found = self.predict(list(references))
        return float(np.mean([best in right for best, right in zip(found, references.values(), strict=True)]))

    def align(self, X: Pairs, y: object = None) -> list[tuple[Unit, ...]]:
        """The best alignment of each pair as a sequence of units; empty where there is none."""
        self.check_fitted()
        return self.model_.align(_as_pairs(X, y)).by_pair()

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, max_length: int = 1000
    ) -> list[tuple[tuple[Symbol, ...], tuple[Symbol, ...]]]:
        """Draw pairs.

        Parameters
        ----------
        n_samples : int
            Number of pairs.
        random_state : int, Generator or None
            None: that of the estimator, so that calls repeat.
        max_length : int
            Number of units per pair, at most.

        Returns
        -------
        list of pairs
            Inputs and outputs as tuples of symbols.
        """
        self.check_fitted()
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(self.model_.sample(n_samples, rng, max_length))


def _warn_of_unknown(inputs: Strings, alphabet: Alphabet) -> None:
    strange = [repr(symbol) for symbol in inputs.alphabet if symbol not in alphabet.codes]
    if strange:
        listed = ", ".join(strange[:10]) + (", .." if len(strange) > 10 else "")
        warn_user(f"input symbols that are not known are left out: {listed}")


def _as_strings(inputs: Inputs) -> Strings:
    if isinstance(inputs, str):
        raise InputError("inputs must be a list of strings, not one string; put it in a list")
    return Strings.of(inputs)


def _as_pairs(pairs: Pairs, y: object) -> StringPairs:
    if y is not None and not isinstance(pairs, StringPairs):
        pairs = list(zip(pairs, y, strict=True))  # type: ignore[call-overload]
    return StringPairs.of(pairs)

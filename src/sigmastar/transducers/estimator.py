"""A transducer in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Symbol
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive, positive_or_auto
from sigmastar.core.parallel import limited_threads
from sigmastar.transducers.data.string_pairs import Pair, StringPairs, require_pairs
from sigmastar.transducers.data.units import SHAPES, Shape, Unit
from sigmastar.transducers.learn.alignment import LONG_UNITS
from sigmastar.transducers.learn.combined import PANELS, Panel, Progress, TransducerFit, learn_transducer
from sigmastar.transducers.learn.completion import learn_completion_transducer
from sigmastar.transducers.learn.spectral import learn_spectral_transducer
from sigmastar.transducers.model.aligner import AlignedPairs
from sigmastar.transducers.model.decoding import TransducerDecoder
from sigmastar.transducers.model.n_best import Ranking
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Array = NDArray[np.float64]
Inputs = Iterable[Sequence[Symbol]] | Strings
Pairs = Iterable[Pair] | StringPairs

METHODS = (*PANELS, "spectral", "completion")


class SpectralTransducer(Estimator):
    """A transducer from pairs of strings.

    method      "combined" (default): joint n-grams, spectral operators and spectral substates over two
                inventories of alignment units, weighed on held-out inputs, the best; "ngram": a joint
                Kneser-Ney n-gram alone; "spectral": operators of units, signed, as the tutorial has it;
                "completion": without an aligner, by completing a Hankel matrix (small alphabets)
    order       of n-grams, or "auto": for "ngram" by held-out inputs, for "combined" 8
    n_states    for "spectral" and "completion": a number, or "auto"
    shapes      how many symbols of either side a unit may hold, as pairs such as (1, 1) or (1, 0)
    long_units  what the aligner multiplies units of more than two symbols by
    n_threads   threads to work with; None: one a core
    progress    a function that is told what is being done

    Pairs are (input, output), each a sequence of hashable symbols; an input may come with several outputs.

    >>> pairs = [("ab", "AB"), ("ba", "BA"), ("aab", "AAB"), ("b", "B"), ("abb", "ABB"), ("a", "A")]
    >>> SpectralTransducer(method="ngram").fit(pairs * 3).predict(["bab"])
    [('B', 'A', 'B')]
    """

    model_: Transducer | WeightedTransducer
    fit_: TransducerFit

    def __init__(
        self,
        method: str = "combined",
        order: int | str = "auto",
        n_states: int | str = "auto",
        shapes: Sequence[Shape] = SHAPES,
        long_units: float = LONG_UNITS,
        random_state: RandomState = 0,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.method = method
        self.order = order
        self.n_states = n_states
        self.shapes = shapes
        self.long_units = long_units
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, pairs: Pairs, y: object = None) -> SpectralTransducer:
        """Learn from (input, output) pairs; with `y`, from inputs and their outputs."""
        corpus = require_pairs(_as_pairs(pairs, y))
        rng = as_generator(self.random_state)
        with limited_threads(self.n_threads):
            if self.method in PANELS:
                fit = learn_transducer(corpus, self._panel(), rng, self.progress)
                self._replace_fitted(model_=fit.transducer, fit_=fit)
            else:
                self._replace_fitted(model_=self._weighted(corpus, rng))
        return self

    def predict(self, inputs: Inputs) -> list[tuple[Symbol, ...]]:
        """The best output of each input; empty where there is none."""
        return [ranking[0][0] if ranking else () for ranking in self.predict_nbest(inputs, 1)]

    def predict_nbest(self, inputs: Inputs, n_best: int = 10, inverse: bool = False) -> list[Ranking]:
        """The best outputs of each input with their shares; `inverse`: inputs for outputs."""
        self.check_fitted()
        model = self.model_.inverse() if inverse else self.model_
        strings = _as_strings(inputs)
        with limited_threads(self.n_threads):
            return best_outputs(model, strings, positive(n_best, "n_best"))

    def predict_inputs(self, outputs: Inputs) -> list[tuple[Symbol, ...]]:
        """The other direction: the best input for each output."""
        return [ranking[0][0] if ranking else () for ranking in self.predict_nbest(outputs, 1, inverse=True)]

    def score_samples(self, pairs: Pairs, y: object = None) -> Array:
        """log of the sum over alignments of each pair; -inf where it is not positive."""
        self.check_fitted()
        return self.model_.log_probability(_as_pairs(pairs, y))

    def score(self, pairs: Pairs, y: object = None) -> float:
        """The share of inputs whose best output is among those given for it."""
        references = require_pairs(_as_pairs(pairs, y), "score").references()
        found = self.predict(list(references))
        return float(np.mean([best in right for best, right in zip(found, references.values(), strict=True)]))

    def align(self, pairs: Pairs) -> list[tuple[Unit, ...]]:
        """The best alignment of each pair as a sequence of units; empty where there is none."""
        self.check_fitted()
        if not isinstance(self.model_, Transducer):
            raise InputError("a transducer without an aligner has no best alignment; see model_.marginals")
        corpus = _as_pairs(pairs, None)
        return alignments(self.model_.align(corpus))

    def sample(
        self, n_pairs: int = 1, random_state: RandomState = None, max_length: int = 1000
    ) -> list[tuple[tuple[Symbol, ...], tuple[Symbol, ...]]]:
        """Draw pairs; without `random_state` the estimator's own is used, so that calls repeat."""
        self.check_fitted()
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(self.model_.sample(n_pairs, rng, max_length))

    def _panel(self) -> Panel:
        panel, shapes = PANELS[self.method], tuple((int(p), int(q)) for p, q in self.shapes)
        order = positive_or_auto(self.order, "order") or panel.order
        inventories = (shapes, *panel.inventories[1:])
        return replace(panel, inventories=inventories, order=order, long_units=self.long_units)

    def _weighted(self, corpus: StringPairs, rng: np.random.Generator) -> WeightedTransducer:
        n_states = positive_or_auto(self.n_states, "n_states")
        if self.method == "spectral":
            return learn_spectral_transducer(corpus, rng, n_states, self.shapes, self.long_units)
        if self.method == "completion":
            return learn_completion_transducer(corpus, rng, n_states, self.shapes).transducer
        raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")


def best_outputs(model: Transducer | WeightedTransducer, inputs: Strings, n_best: int) -> list[Ranking]:
    """The best outputs of each input under a transducer of either kind."""
    if isinstance(model, Transducer):
        return model.predict(inputs, n_best)
    return TransducerDecoder(model).predict(inputs, n_best)


def alignments(aligned: AlignedPairs) -> list[tuple[Unit, ...]]:
    """A sequence of units for each pair, in the order of the pairs."""
    found: list[tuple[Unit, ...]] = [()] * aligned.n_pairs
    for at, pair in enumerate(aligned.pair.tolist()):
        found[pair] = found[pair] or aligned.strings[at]  # type: ignore[assignment]
    return found


def _as_strings(inputs: Inputs) -> Strings:
    if isinstance(inputs, str):
        raise InputError("inputs must be a list of strings, not one string; put it in a list")
    return Strings.of(inputs)


def _as_pairs(pairs: Pairs, y: object) -> StringPairs:
    if y is not None and not isinstance(pairs, StringPairs):
        pairs = list(zip(pairs, y, strict=True))  # type: ignore[call-overload]
    return StringPairs.of(pairs)

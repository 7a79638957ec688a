"""Steering: a generator without states of its own is led by what a model with states sees ahead.

    q(a | u)  ~  p(a | u) P(constraint | u a)

with p the generator, and P the lookahead of the other. All strings meet the constraint; they are distributed
as those of the generator that meet it as far as the two agree on how likely it is from each prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.control.decoder import ConstrainedDecoder
from sigmastar.control.reading import Prefixes
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.errors import InputError


@dataclass(frozen=True, eq=False)
class SteeredModel:
    """A generator of strings, and a decoder over the same symbols that steers it.

    Parameters
    ----------
    generator : object
        With `start_states(n)`, `distributions(states)` and `advance(states, rows, symbols)`, such as a
        `FilteredAutomaton`.
    decoder : ConstrainedDecoder
        What looks ahead.
    """

    generator: Any
    decoder: ConstrainedDecoder

    @property
    def alphabet(self) -> Alphabet:
        """The symbols."""
        return self.decoder.alphabet

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings that meet the constraint.

        Parameters
        ----------
        n_strings : int
            Number of strings.
        rng : Generator
            Source of chance.
        max_length : int
            Largest number of symbols; the decoder's own holds too.

        Returns
        -------
        Strings
            The strings.
        """
        most = self.decoder.max_length
        limit = max_length if most is None else min(most, max_length)
        return sample_lockstep(
            self.alphabet, n_strings, rng, limit, self._start, self._distributions, self._advance
        )

    def _start(self, size: int) -> tuple[Any, Prefixes]:
        return self.generator.start_states(size), self.decoder.start(size)

    def _distributions(self, states: tuple[Any, Prefixes]) -> Floats:
        own, read = self.generator.distributions(states[0]), states[1]
        logs = self.decoder.log_weights(read)
        weights = own * np.exp(logs - logs.max(axis=1, keepdims=True))
        totals = weights.sum(axis=1, keepdims=True)
        if not (totals > 0).all():
            raise InputError(
                "the model holds what the constraint asks for as impossible; it cannot be steered"
            )
        return np.asarray(weights / totals)

    def _advance(self, states: tuple[Any, Prefixes], rows: Indices, symbols: Indices) -> tuple[Any, Prefixes]:
        following = self.generator.advance(states[0], rows, symbols)
        return following, self.decoder.advance(self.decoder.chosen(states[1], rows), symbols)

"""Exact control: what a model of strings does under a constraint, and how it steers other generators.

After a prefix u the model believes in its states by b(u), and the constraint is in state d(u). With v, the
values of `lookahead`,

    P(constraint | u)    = b(u) v_|u|[., d(u)]
    P(constraint | u a)  = b(u) A_a v_|u|+1[., d(u a)] / b(u) A_a 1
    P(a | u, constraint) = b(u) A_a v_|u|+1[., d(u a)] / P(constraint | u)

The second are the weights that steer a generator, such as a neural network that the model stands in for
(Zhang et al. 2023, 2024); the third is the model itself under the constraint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Corpus, Strings
from sigmastar.automata.model.dfa import DFA
from sigmastar.control.constraints import as_constraint
from sigmastar.control.controllable_models import alphabet_of, chain_of
from sigmastar.control.languages import Bounds, Constraint
from sigmastar.control.lookahead import Level, Lookahead
from sigmastar.control.reading import Prefixes, PrefixReader
from sigmastar.control.sampling import draw_strings
from sigmastar.control.tensors import Backend
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Flags, Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import RandomState, as_generator

_LOG_2 = float(np.log(2.0))


class ConstrainedDecoder(PrefixReader):
    """A model of strings under a constraint.

    Parameters
    ----------
    model : WeightedAutomaton, NgramModel, Hmm, or an estimator with one of them
        A proper distribution on strings with states. Any object with `alphabet` and the arrays `initial`,
        `transition`, `emission` and `stop` of a hidden Markov model will do; operators are not formed.
    constraint : Constraint, DFA or str
        What strings must satisfy; a str is a regular expression, as `matches` reads it.
    max_length : int, optional
        Largest number of symbols of a string. A model that never stops is cut there.
    device : {"cpu", "cuda", "auto"}
        Where to work; "cpu" needs no PyTorch.
    precision : {"float64", "float32"}
        Type of the numbers.

    Examples
    --------
    >>> from sigmastar.automata import make_automaton
    >>> from sigmastar.control import contains
    >>> rng = np.random.default_rng(0)
    >>> decoder = ConstrainedDecoder(make_automaton(3, 4, rng), contains([2, 1]), max_length=12)
    >>> all("2, 1" in str(string) for string in decoder.sample(50, random_state=0))
    True
    """

    def __init__(
        self,
        model: Any,
        constraint: Constraint | DFA | str,
        max_length: int | None = None,
        *,
        device: str = "cpu",
        precision: str = "float64",
    ) -> None:
        model = getattr(model, "model_", model)
        self.alphabet: Alphabet = alphabet_of(model)
        rest, bounds = (as_constraint(constraint) & Bounds(0, max_length)).bounds()
        self.dfa = rest.dfa(self.alphabet)
        self.min_length, self.max_length = bounds.low, bounds.high
        if not self.dfa.accepting.any():
            raise InputError("the constraint excludes every string; is one part of it against another?")
        self._chain = chain_of(model, self.dfa, Backend(device, precision))
        self._ahead = Lookahead.of(self._chain, self.dfa, bounds)
        if not self.log_probability()[0] > -np.inf:
            within = "" if bounds.high is None else f" within {bounds.high} symbols"
            raise InputError(f"the constraint has probability zero: no string of the model meets it{within}")

    def log_probability(self, prefixes: Corpus | Prefixes = ((),)) -> Floats:
        """The natural logarithm of the probability that a continuation meets the constraint.

        Parameters
        ----------
        prefixes : list of sequences, Strings, or Prefixes
            What was read; the empty prefix if left out.

        Returns
        -------
        array of shape (n_prefixes,)
            -inf where no continuation does.
        """
        read = prefixes if isinstance(prefixes, Prefixes) else self.read(prefixes)
        backend, (stacked, number) = self._chain.backend, self._levels(read, 0)
        exponents = np.concatenate([level.exponents for level in stacked])
        states = read.states + number * (self.dfa.n_states + 1)
        rows = backend.below([level.values for level in stacked])[backend.indices(states)]
        values = backend.log((self._chain.spread(read.beliefs) * rows).sum(1))
        found = backend.host(values) + exponents[states] * _LOG_2
        late = False if self.max_length is None else read.lengths > self.max_length
        return np.where((read.states == self.dfa.n_states) | late, -np.inf, found)

    def probability(self, prefixes: Corpus | Prefixes = ((),)) -> Floats:
        """The probability that a continuation meets the constraint.

        Parameters
        ----------
        prefixes : list of sequences, Strings, or Prefixes
            What was read; the empty prefix if left out.

        Returns
        -------
        array of shape (n_prefixes,)
            Of continuations of any length that the constraint and `max_length` allow.
        """
        return np.exp(self.log_probability(prefixes))

    def log_weights(self, prefixes: Corpus | Prefixes) -> Floats:
        """The logarithms of `weights`, which are finite however unlikely the constraint is.

        Parameters
        ----------
        prefixes : list of sequences, Strings, or Prefixes
            What was read.

        Returns
        -------
        array of shape (n_prefixes, n_symbols + 1)
            -inf where the constraint cannot be met any more.
        """
        read = prefixes if isinstance(prefixes, Prefixes) else self.read(prefixes)
        return self._chain.backend.host(self.log_weights_there(read))

    def log_weights_there(self, read: Prefixes) -> Any:
        """`log_weights` on the device.

        Parameters
        ----------
        read : Prefixes
            What was read.

        Returns
        -------
        array or tensor
            Of the decoder's precision.
        """
        backend = self._chain.backend
        own = backend.log(self._chain.expect(read.beliefs))
        found = backend.log_shares(self._joint(read), own)[:, backend.indices(self.groups.place)]
        ends = np.where(self._may_end(read), 0.0, -np.inf)
        return backend.columns([found, backend.array(ends)[:, None]])

    def weights(self, prefixes: Corpus | Prefixes) -> Floats:
        """The probability that the constraint will be met, after each prefix and each next symbol.

        These steer a generator: its own probabilities of the next symbol, times these, made to sum to one.

        Parameters
        ----------
        prefixes : list of sequences, Strings, or Prefixes
            What was read.

        Returns
        -------
        array of shape (n_prefixes, n_symbols + 1)
            The end of the string is last. Zero for symbols that the model holds for impossible.
        """
        return np.exp(self.log_weights(prefixes))

    def next_distributions(self, prefixes: Corpus | Prefixes) -> Floats:
        """What comes next in strings of the model that meet the constraint.

        Parameters
        ----------
        prefixes : list of sequences, Strings, or Prefixes
            What was read.

        Returns
        -------
        array of shape (n_prefixes, n_symbols + 1)
            The end is last. A row of zeros where the constraint cannot be met any more.
        """
        read = prefixes if isinstance(prefixes, Prefixes) else self.read(prefixes)
        backend = self._chain.backend
        ends = backend.log(self._chain.stops(read.beliefs))
        ends = np.where(self._may_end(read), 0.0 if self._ahead.is_endless else backend.host(ends), -np.inf)
        joint = np.column_stack([backend.host(self._joint(read))[:, self.groups.place], ends])
        tops = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - np.where(np.isneginf(tops), 0.0, tops))
        return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0))

    def gap_distributions(self, strings: Strings) -> Floats:
        """`next_distributions` after every prefix of each string.

        Parameters
        ----------
        strings : Strings
            The strings.

        Returns
        -------
        array of shape (n_gaps, n_symbols + 1)
            As models of strings give them, so that the decoder can be drawn as one.
        """
        return self.next_distributions([string[:at] for string in strings for at in range(len(string) + 1)])

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> list[tuple[Symbol, ...]]:
        """Draw strings of the model that meet the constraint, each as likely as the model has it.

        Parameters
        ----------
        n_samples : int
            Number of strings.
        random_state : int, Generator or None
            Seed or source of chance.

        Returns
        -------
        list of tuples
            The strings.
        """
        return list(self.draw(n_samples, as_generator(random_state)))

    def draw(self, n_strings: int, rng: np.random.Generator) -> Strings:
        """Draw strings as a corpus.

        Parameters
        ----------
        n_strings : int
            Number of strings.
        rng : Generator
            Source of chance.

        Returns
        -------
        Strings
            All of them meet the constraint.
        """
        return draw_strings(self._ahead, self.dfa.start, n_strings, rng)

    def _levels(self, read: Prefixes, later: int) -> tuple[list[Level], Int64s]:
        """The levels of prefixes, or of what is `later`, and the number of each prefix's among them."""
        lengths, number = np.unique(read.lengths, return_inverse=True)
        return [self._ahead.level(length + later) for length in lengths.tolist()], number.reshape(-1)

    def _may_end(self, read: Prefixes) -> Flags:
        may = np.array([self._ahead.ends(length) for length in read.lengths.tolist()], dtype=bool)
        return may & self._ahead.accepting[read.states]

    def _joint(self, read: Prefixes) -> Any:
        """log b A_a v for all symbols a, in the order of their groups."""
        backend, (stacked, number) = self._chain.backend, self._levels(read, 1)
        ahead = backend.below([level.ahead for level in stacked])
        exponents = np.concatenate([level.exponents for level in stacked])
        dead, parts = self.dfa.n_states, []
        moves = np.vstack([self.groups.moves, np.full(self.groups.n_groups, dead)])
        goes_on = np.array([self._ahead.may_go_on(length) for length in read.lengths.tolist()], dtype=bool)
        for group in range(self.groups.n_groups):
            targets = np.where(goes_on, moves[read.states, group], dead) + number * (dead + 1)
            logs = backend.log(self._chain.weigh(read.beliefs, ahead, targets, group))
            parts.append(logs + backend.array(exponents[targets] * _LOG_2)[:, None])
        return backend.columns(parts)

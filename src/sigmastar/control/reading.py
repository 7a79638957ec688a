"""Prefixes that are read together: beliefs of a model, and where a constraint stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Corpus, as_strings
from sigmastar.automata.model.dfa import DEAD, DFA
from sigmastar.control.chains import Chain, Groups
from sigmastar.control.tensors import Backend
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Indices, Int64s


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What the model believes after some prefixes, where the constraint is, and how long they are."""

    beliefs: Any
    states: Int64s  # of the constraint; the number of its states stands for dead
    lengths: Int64s

    def __len__(self) -> int:
        return len(self.states)


class PrefixReader:
    """What a decoder does before it is asked anything."""

    alphabet: Alphabet
    dfa: DFA
    _chain: Chain

    @property
    def groups(self) -> Groups:
        """Symbols that move the constraint alike."""
        return self._chain.groups

    def start(self, n_prefixes: int = 1) -> Prefixes:
        """Empty prefixes.

        Parameters
        ----------
        n_prefixes : int
            How many.

        Returns
        -------
        Prefixes
            To be handed to `advance`.
        """
        states = np.full(n_prefixes, self.dfa.start, dtype=np.int64)
        return Prefixes(self._chain.begin(n_prefixes), states, np.zeros(n_prefixes, dtype=np.int64))

    def advance(self, prefixes: Prefixes, codes: Indices) -> Prefixes:
        """Prefixes with a symbol more each.

        Parameters
        ----------
        prefixes : Prefixes
            What was read.
        codes : array of int
            The code of the next symbol of each; a negative one is unknown, and nothing comes after it.

        Returns
        -------
        Prefixes
            Beliefs are computed once per symbol, whatever comes before.
        """
        known = np.maximum(codes, 0)
        beliefs, worth = self._chain.advance(prefixes.beliefs, self.groups.place[known])
        table = np.vstack([self.dfa.next_state, np.full(len(self.alphabet), DEAD)])
        states = np.where((codes >= 0) & (worth > 0), table[prefixes.states, known], DEAD)
        return Prefixes(beliefs, np.where(states == DEAD, self.dfa.n_states, states), prefixes.lengths + 1)

    def read(self, prefixes: Corpus | Sequence[Sequence[Symbol]]) -> Prefixes:
        """Read prefixes from their beginnings.

        Parameters
        ----------
        prefixes : list of sequences, or Strings
            Symbols that the model does not know are an error.

        Returns
        -------
        Prefixes
            In the same order.
        """
        strings = as_strings(prefixes, alphabet=self.alphabet, remedy="leave such strings out")
        order = np.argsort(-strings.lengths, kind="stable")
        lengths, begins = strings.lengths[order], strings.offsets[:-1][order]
        found, done = self.start(len(order)), list[Prefixes]()
        for position in range(int(lengths.max(initial=0)) + 1):
            n_longer = int((lengths > position).sum())
            done.append(_part(found, slice(n_longer, None)))
            if n_longer:
                going = _part(found, slice(0, n_longer))
                found = self.advance(going, strings.codes[begins[:n_longer] + position].astype(np.intp))
        return _joined(done[::-1], np.argsort(order, kind="stable"), self._chain.backend)

    def chosen(self, prefixes: Prefixes, rows: Indices) -> Prefixes:
        """Some of the prefixes, in the order asked for.

        Parameters
        ----------
        prefixes : Prefixes
            What was read.
        rows : array of int
            Their numbers.

        Returns
        -------
        Prefixes
            A prefix may stand there several times.
        """
        beliefs = prefixes.beliefs[self._chain.backend.indices(rows)]
        return Prefixes(beliefs, prefixes.states[rows], prefixes.lengths[rows])


def _part(prefixes: Prefixes, rows: slice) -> Prefixes:
    return Prefixes(prefixes.beliefs[rows], prefixes.states[rows], prefixes.lengths[rows])


def _joined(parts: list[Prefixes], order: Indices, backend: Backend) -> Prefixes:
    beliefs = backend.below([part.beliefs for part in parts])
    states = np.concatenate([part.states for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    return Prefixes(beliefs[backend.indices(order)], states[order], lengths[order])

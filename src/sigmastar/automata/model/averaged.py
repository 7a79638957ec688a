"""Restart filters that are averaged step by step: each reads the string on its own,

    p(y | x) = sum_m w_m p_m(y | x),

so next-symbol distributions are proper because those of the members are. A mixture of automata as whole
functions (`algebra.mixture`) comes to trust one member the more it reads; here none is ever given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton, FilterStates, log_products
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Indices


@dataclass(frozen=True, eq=False)
class AveragedFilters:
    """Filtered automata over one alphabet, and the weight of each in every step."""

    members: tuple[FilteredAutomaton, ...]
    weights: Floats

    def __post_init__(self) -> None:
        if not self.members or self.weights.shape != (len(self.members),):
            raise ValueError(f"weights of shape {self.weights.shape} for {len(self.members)} filters")
        if not (self.weights >= 0.0).all() or not np.isclose(self.weights.sum(), 1.0, rtol=0.0, atol=1e-9):
            raise ValueError(f"weights {self.weights.tolist()} must be non-negative and sum to 1")
        if any(member.alphabet != self.alphabet for member in self.members):
            raise ValueError("filters over different alphabets cannot be averaged")

    @property
    def alphabet(self) -> Alphabet:
        return self.members[0].alphabet

    @property
    def automaton(self) -> WeightedAutomaton:
        """That of the first member, to be looked at; the average itself is no weighted automaton."""
        return self.members[0].automaton

    def log_probability(self, strings: Strings) -> Floats:
        trie = PrefixTrie.of(strings.recoded(self.alphabet, allow_unknown=True))
        steps = [member.step_probabilities(trie) for member in self.members]
        return log_products(trie, *(self._average(parts) for parts in zip(*steps, strict=True)))

    def gap_distributions(self, strings: Strings) -> Floats:
        return self._average([member.gap_distributions(strings) for member in self.members])

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        return sample_lockstep(
            self.alphabet, n_strings, rng, max_length, self._start_states, self._distributions, self._advance
        )

    def to_parts(self) -> tuple[dict[str, Floats], dict[str, Any]]:
        arrays, header = {"weights": self.weights}, dict[str, Any]()
        for at, member in enumerate(self.members):
            own, header = member.to_parts()
            arrays |= {f"member{at}.{name}": array for name, array in own.items()}
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Floats], header: dict[str, Any]) -> AveragedFilters:
        members = []
        for at in range(len(arrays["weights"])):
            own = {name.split(".", 1)[1]: part for name, part in arrays.items() if _owner(name) == at}
            members.append(FilteredAutomaton.from_parts(own, header))
        return cls(tuple(members), arrays["weights"])

    def _average(self, parts: Sequence[Floats]) -> Floats:
        average: Floats = self.weights[0] * parts[0]
        for weight, part in zip(self.weights[1:], parts[1:], strict=True):
            average += weight * part
        return average

    def _start_states(self, size: int) -> list[FilterStates]:
        return [member.start_states(size) for member in self.members]

    def _distributions(self, states: list[FilterStates]) -> Floats:
        return self._average([m.distributions(of) for m, of in zip(self.members, states, strict=True)])

    def _advance(self, before: list[FilterStates], rows: Indices, symbols: Indices) -> list[FilterStates]:
        return [m.advance(of, rows, symbols) for m, of in zip(self.members, before, strict=True)]


def _owner(name: str) -> int | None:
    """Of `member3.mass` 3."""
    number = name.split(".", 1)[0].removeprefix("member")
    return int(number) if "." in name and number.isdecimal() else None

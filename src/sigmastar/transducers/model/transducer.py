"""Transducers that combine models of alignment units.

A reading is an inventory of units with an aligner and models of strings of units: a joint n-gram, spectral
operators behind the restart filter, a chain refined into substates. The n-gram of the first reading
proposes outputs for an input (or inputs for an output: units are read either way). Then every model of
every reading, and a model of outputs alone if there is one, judges each proposed pair:

    score(x, y) = sum over models m of weight_m log sum over alignments of p_m(alignment)

where each reading sums over its own best alignments of the pair. The probability of a pair is exact: the
sum over all alignments under the first n-gram, by the edit lattice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.ngram_lattice import ngram_lattice
from sigmastar.transducers.model.aligner import AlignedPairs, Aligner
from sigmastar.transducers.model.joint_ngram import BEAM, JointNgram
from sigmastar.transducers.model.n_best import Proposals, Ranking, ranked
from sigmastar.transducers.model.refined_chain import RefinedChain

Array = NDArray[np.float64]
Model = NgramModel | FilteredAutomaton | RefinedChain

KINDS: Mapping[str, type[Model]] = MappingProxyType(
    {"ngram": NgramModel, "spectral": FilteredAutomaton, "latent": RefinedChain}
)
N_PROPOSED = 20
N_ALIGNMENTS = 3


@dataclass(frozen=True, eq=False)
class Reading:
    """An inventory of units, and models of strings of them by kind."""

    aligner: Aligner
    models: Mapping[str, Model]

    def judged(self, pairs: StringPairs) -> list[Array]:
        """For each model log of the sum over the best alignments of every pair; -inf without alignment."""
        strings, owners, _ = self.aligner.best(pairs, N_ALIGNMENTS)
        return [
            _log_sums(model.log_probability(strings), owners, len(pairs)) for model in self.models.values()
        ]


@dataclass(frozen=True, eq=False)
class Transducer:
    """Readings, models of outputs alone, and the weights of all of them in that order."""

    readings: tuple[Reading, ...]
    outputs: tuple[FilteredAutomaton, ...]
    weights: Array
    n_proposed: int = N_PROPOSED
    inverted: bool = False

    def __post_init__(self) -> None:
        if not self.readings or not isinstance(self.readings[0].models.get("ngram"), NgramModel):
            raise ValueError("the first reading of a transducer needs an n-gram, which proposes")
        if self.weights.shape != (len(self.names),):
            raise ValueError(f"{len(self.names)} models need as many weights, not {self.weights.shape}")

    @property
    def names(self) -> list[str]:
        """Of the models, as `reading.kind`."""
        of_pairs = [f"{at + 1}.{kind}" for at, reading in enumerate(self.readings) for kind in reading.models]
        return of_pairs + ["output"] * len(self.outputs)

    @cached_property
    def units(self) -> Units:
        """Of the first reading, in the direction in which the transducer works."""
        units = self.readings[0].aligner.units
        return units.swapped() if self.inverted else units

    @property
    def input_alphabet(self) -> Alphabet:
        return self.units.inputs

    @property
    def output_alphabet(self) -> Alphabet:
        return self.units.outputs

    @cached_property
    def proposer(self) -> JointNgram:
        model = self.readings[0].models["ngram"]
        assert isinstance(model, NgramModel)
        if self.inverted:
            model = replace(model, alphabet=self.units.alphabet)
        return JointNgram(self.units, model)

    def inverse(self) -> Transducer:
        """From outputs to inputs, by the same models."""
        return replace(self, inverted=not self.inverted)

    def propose(self, inputs: Strings, beam: int = BEAM) -> Proposals:
        """Outputs for each input, by the n-gram."""
        return Proposals.of(self.proposer.paths(inputs, beam), inputs, self.units, self.n_proposed)

    def judge(self, proposals: Proposals) -> Array:
        """log-scores: proposals x models."""
        pairs = proposals.pairs.swapped() if self.inverted else proposals.pairs
        columns = [column for reading in self.readings for column in reading.judged(pairs)]
        columns += [model.log_probability(pairs.outputs) for model in self.outputs]
        return np.stack([proposals.floored(column) for column in columns], axis=1)

    def predict(self, inputs: Strings, n_best: int = 1) -> list[Ranking]:
        """The `n_best` outputs of each input with their shares among the proposed; none if none was."""
        proposals = self.propose(inputs)
        if len(self.names) == 1:
            return ranked(proposals, proposals.log_weights, n_best)
        return ranked(proposals, self.judge(proposals) @ self.weights, n_best)

    def log_probability(self, pairs: StringPairs) -> Array:
        """log g(x, y) under the n-gram of the first reading: the sum over all alignments."""
        aligner, plain = self.readings[0].aligner, self.inverse() if self.inverted else self
        pairs = pairs.swapped() if self.inverted else pairs
        pairs = pairs.recoded(aligner.units.inputs, aligner.units.outputs, allow_unknown=True)
        tables, table = plain.proposer.tables, aligner.table
        first, second = pairs.inputs, pairs.outputs
        return np.array(
            [
                ngram_lattice(table.edges(xs, ys), table.shapes, *tables)
                for xs, ys in zip(_rows(first), _rows(second), strict=True)
            ]
        )

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """The best alignments by the units of the first reading."""
        found = self.readings[0].aligner.align(pairs.swapped() if self.inverted else pairs, n_best)
        if not self.inverted:
            return found
        strings = Strings(self.units.alphabet, found.strings.codes, found.strings.offsets)
        return replace(found, units=self.units, strings=strings)

    def sample(self, n_pairs: int, rng: np.random.Generator, max_length: int = 1000) -> StringPairs:
        """Draw pairs from the n-gram of the first reading."""
        return self.units.spell(self.proposer.model.sample(n_pairs, rng, max_length))

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts: dict[str, NDArray[Any]] = {"weights": self.weights}
        readings = []
        for at, reading in enumerate(self.readings):
            arrays, header = reading.aligner.to_parts()
            parts |= _above(f"reading{at}.aligner.", arrays)
            for kind, model in reading.models.items():
                parts |= _above(f"reading{at}.{kind}.", model.to_parts()[0])
            readings.append({**header, "kinds": list(reading.models)})
        for at, output in enumerate(self.outputs):
            parts |= _above(f"output{at}.", output.to_parts()[0])
        alphabets = [model.alphabet for model in self.outputs]
        settings = {"n_proposed": self.n_proposed, "inverted": self.inverted}
        return parts, {"readings": readings, "outputs": alphabets, **settings}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Transducer:
        readings = []
        for at, described in enumerate(header["readings"]):
            aligner = Aligner.from_parts(_below(f"reading{at}.aligner.", arrays), described)
            alphabet = {"alphabet": aligner.units.alphabet}
            models = {
                kind: KINDS[kind].from_parts(_below(f"reading{at}.{kind}.", arrays), alphabet)
                for kind in described["kinds"]
            }
            readings.append(Reading(aligner, models))
        outputs = tuple(
            FilteredAutomaton.from_parts(_below(f"output{at}.", arrays), {"alphabet": alphabet})
            for at, alphabet in enumerate(header["outputs"])
        )
        settings = (int(header["n_proposed"]), bool(header["inverted"]))
        return cls(tuple(readings), outputs, arrays["weights"], *settings)


def _log_sums(logs: Array, owners: NDArray[np.int64], size: int) -> Array:
    """log of the sums of exp(logs) by owner; owners are sorted."""
    sums = np.full(size, -np.inf)
    starts = np.unique(owners, return_index=True)[1]
    if len(starts):
        sums[owners[starts]] = np.logaddexp.reduceat(logs, starts)
    return sums


def _rows(strings: Strings) -> list[NDArray[np.int32]]:
    return np.split(strings.codes, strings.offsets[1:-1]) if len(strings) else []


def _above(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {prefix + name: array for name, array in arrays.items()}


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

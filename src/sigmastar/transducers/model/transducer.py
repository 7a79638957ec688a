"""Transducers that combine models of alignment units.

An inventory of units has an aligner and models of strings of its units: a joint n-gram, a chain refined into
substates. The n-gram of the first inventory proposes outputs for an input (or inputs for an output: units are
read either way). Then every model of every inventory, and a model of outputs alone if there is one, scores
each proposed pair:

    score(x, y) = sum over models m of weight_m log sum over alignments of p_m(alignment)

where each inventory sums over its own best alignments of the pair. The probability of a pair is exact: the
sum over all alignments under the first n-gram, by the edit lattice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.model_files import above, below
from sigmastar.core.parts import Parts, check_header, distinct_texts, floats, lists, one_of, tables, whole
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.edit_lattice import ngram_lattice
from sigmastar.transducers.model.aligner import AlignedPairs, Aligner
from sigmastar.transducers.model.n_best import BEAM, JointNgram, Proposals, Ranking, where_read
from sigmastar.transducers.model.refined_chain import RefinedChain

Model: TypeAlias = NgramModel | RefinedChain | FilteredAutomaton

KINDS: Mapping[str, type[Model]] = MappingProxyType(
    {"ngram": NgramModel, "latent": RefinedChain, "spectral": FilteredAutomaton}
)
"""Models over units by the names that files give them; `spectral` ones are no longer learned."""
N_PROPOSED = 20
N_ALIGNMENTS = 3


@dataclass(frozen=True, eq=False)
class UnitModels:
    """An inventory of units, and models of strings of them by kind."""

    aligner: Aligner
    models: Mapping[str, Model]

    def scores(self, pairs: StringPairs) -> list[Floats]:
        """For each model log of the sum over the best alignments of every pair; -inf without alignment."""
        strings, owners, _ = self.aligner.best(pairs, N_ALIGNMENTS)
        return [
            _log_sums(model.log_probability(strings), owners, len(pairs)) for model in self.models.values()
        ]


@dataclass(frozen=True, eq=False)
class Transducer:
    """Models over inventories of units, models of outputs alone, and the weights of all in that order."""

    inventories: tuple[UnitModels, ...]
    outputs: tuple[FilteredAutomaton, ...]
    weights: Floats
    n_proposed: int = N_PROPOSED
    inverted: bool = False

    def __post_init__(self) -> None:
        if not self.inventories or not isinstance(self.inventories[0].models.get("ngram"), NgramModel):
            raise ValueError("the first inventory of a transducer needs an n-gram, which proposes")
        if self.weights.shape != (len(self.names),):
            raise ValueError(f"{len(self.names)} models need as many weights, not {self.weights.shape}")

    @property
    def names(self) -> list[str]:
        """Of the models, as `inventory.kind`."""
        of_pairs = [f"{at + 1}.{kind}" for at, one in enumerate(self.inventories) for kind in one.models]
        return of_pairs + ["output"] * len(self.outputs)

    @cached_property
    def units(self) -> Units:
        """Of the first inventory, in the direction in which the transducer works."""
        units = self.inventories[0].aligner.units
        return units.swapped() if self.inverted else units

    @cached_property
    def proposer(self) -> JointNgram:
        model = self.inventories[0].models["ngram"]
        assert isinstance(model, NgramModel)
        return JointNgram(self.units, replace(model, alphabet=self.units.alphabet))

    def inverse(self) -> Transducer:
        """From outputs to inputs, by the same models."""
        return replace(self, inverted=not self.inverted)

    def propose(self, inputs: Strings, beam: int = BEAM) -> Proposals:
        """Outputs for each input, by the n-gram."""
        return self.proposer.propose(inputs, self.n_proposed, beam)

    def scores(self, proposals: Proposals) -> Floats:
        """log-scores: proposals x models."""
        pairs = proposals.pairs.swapped() if self.inverted else proposals.pairs
        columns = [column for one in self.inventories for column in one.scores(pairs)]
        columns += [model.log_probability(pairs.outputs) for model in self.outputs]
        return np.stack([proposals.floored(column) for column in columns], axis=1)

    def predict(self, inputs: Strings, n_best: int = 1) -> list[Ranking]:
        """The best outputs of each input.

        Parameters
        ----------
        inputs : Strings
            Symbols that no unit reads are left out.
        n_best : int
            Number of outputs per input, at most.

        Returns
        -------
        list of rankings
            Outputs with their shares among the proposed, best first; none where no symbol is known.
        """
        proposals = self.propose(inputs)
        alone = len(self.names) == 1
        scores = proposals.log_weights if alone else self.scores(proposals) @ self.weights
        return where_read(proposals.ranked(scores, n_best), inputs, self.units.inputs)

    def log_probability(self, pairs: StringPairs) -> Floats:
        """log g(x, y) under the n-gram of the first inventory: the sum over all alignments."""
        table = self.inventories[0].aligner.table
        proposer = (self.inverse() if self.inverted else self).proposer
        pairs = pairs.swapped() if self.inverted else pairs
        pairs = pairs.recoded(proposer.units.inputs, proposer.units.outputs, allow_unknown=True)
        sides = zip(_rows(pairs.inputs), _rows(pairs.outputs), strict=True)
        return np.array([ngram_lattice(table.lattice(xs, ys), proposer.tables) for xs, ys in sides])

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """The best alignments by the units of the first inventory."""
        found = self.inventories[0].aligner.align(pairs.swapped() if self.inverted else pairs, n_best)
        if not self.inverted:
            return found
        strings = Strings(self.units.alphabet, found.strings.codes, found.strings.offsets)
        return replace(found, units=self.units, strings=strings)

    def sample(self, n_pairs: int, rng: np.random.Generator, max_length: int = 1000) -> StringPairs:
        """Draw pairs from the n-gram of the first inventory."""
        return self.units.spell(self.proposer.model.sample(n_pairs, rng, max_length))

    PARTS: ClassVar[Parts] = Parts(
        header={"readings": tables, "outputs": lists, "n_proposed": whole(1, 10_000), "inverted": bool},
        arrays={"weights": floats("models")},
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        parts: dict[str, Array] = {"weights": self.weights}
        inventories = []
        for at, one in enumerate(self.inventories):
            arrays, header = one.aligner.to_parts()
            parts |= above(f"reading{at}.aligner.", arrays)
            for kind, model in one.models.items():
                parts |= above(f"reading{at}.{kind}.", model.to_parts()[0])
            inventories.append({**header, "kinds": list(one.models)})
        for at, output in enumerate(self.outputs):
            parts |= above(f"output{at}.", output.to_parts()[0])
        alphabets = [model.alphabet for model in self.outputs]
        settings = {"n_proposed": self.n_proposed, "inverted": self.inverted}
        return parts, {"readings": inventories, "outputs": alphabets, **settings}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Transducer:
        check_header(header, cls.PARTS.header)
        inner = [f"reading{at}." for at in range(len(header["readings"]))]
        cls.PARTS.check(arrays, header, [*inner, *(f"output{at}." for at in range(len(header["outputs"])))])
        inventories = []
        for at, described in enumerate(header["readings"]):
            check_header(described, {"kinds": distinct_texts})
            for kind in described["kinds"]:
                check_header({"kind": kind}, {"kind": one_of(*KINDS)})
            aligner = Aligner.from_parts(below(f"reading{at}.aligner.", arrays), described)
            alphabet = {"alphabet": aligner.units.alphabet}
            models = {
                kind: KINDS[kind].from_parts(below(f"reading{at}.{kind}.", arrays), alphabet)
                for kind in described["kinds"]
            }
            inventories.append(UnitModels(aligner, models))
        outputs = tuple(
            FilteredAutomaton.from_parts(below(f"output{at}.", arrays), {"alphabet": alphabet})
            for at, alphabet in enumerate(header["outputs"])
        )
        settings = (int(header["n_proposed"]), bool(header["inverted"]))
        return cls(tuple(inventories), outputs, arrays["weights"], *settings)


def _log_sums(logs: Floats, owners: Int64s, size: int) -> Floats:
    """log of the sums of exp(logs) by owner; owners are sorted."""
    sums = np.full(size, -np.inf)
    starts = np.unique(owners, return_index=True)[1]
    if len(starts):
        sums[owners[starts]] = np.logaddexp.reduceat(logs, starts)
    return sums


def _rows(strings: Strings) -> list[Int32s]:
    return np.split(strings.codes, strings.offsets[1:-1]) if len(strings) else []

"""Transducers that combine models of alignment units.

An inventory of units has an aligner and models of strings of its units: a joint n-gram, a chain refined into
substates, a spectral automaton. The n-gram of the first inventory gives a pair the weight g(x, y), the sum
over all alignments, and an input the weight g(x), the sum over all outputs. Its twenty or so best outputs of
an input are proposed; every model of every inventory, and a model of outputs alone if there is one, scores
them:

    score(x, y) = sum over models m of weight_m log sum over alignments of p_m(alignment)

where n-grams sum over all alignments, and other models over the best of their inventory. Scores share out
what the n-gram gives the proposals as a whole; other outputs keep what they have:

    q(y | x) = exp(score(x, y)) / (sum over proposals y' of exp(score(x, y'))) sum over y' of g(x, y') / g(x)
    q(y | x) = g(x, y) / g(x)                                  where y is not proposed
    p(x, y)  = g(x) q(y | x)

Both are distributions. One n-gram alone is q(y | x) = g(x, y) / g(x) for all outputs. Units are read either
way, so outputs have inputs proposed as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from sigmastar.automata.data.strings import Strings, joined
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import (
    Parts,
    check_header,
    distinct_texts,
    floats,
    lists,
    one_of,
    tables,
    whole,
)
from sigmastar.transducers.data import StringPairs, Units, backward, distinct, known_symbols
from sigmastar.transducers.model.aligner import AlignedPairs, Aligner
from sigmastar.transducers.model.joint_ngram import BEAM, JointNgram, Proposals, Ranking, where_read
from sigmastar.transducers.model.refined_chain import RefinedChain

Model: TypeAlias = NgramModel | RefinedChain | FilteredAutomaton

KINDS: Mapping[str, type[Model]] = MappingProxyType(
    {
        "ngram": NgramModel,
        "latent": RefinedChain,
        "backward": RefinedChain,
        "spectral": FilteredAutomaton,
    }
)
"""Models over units by the names that files give them; `backward` reads from the last unit to the first."""
N_PROPOSED = 20
N_ALIGNMENTS = 3


@dataclass(frozen=True, eq=False)
class UnitModels:
    """An inventory of units, and models of strings of them by kind."""

    aligner: Aligner
    models: Mapping[str, Model]

    @cached_property
    def ngram(self) -> JointNgram | None:
        """The n-gram as a model of pairs."""
        model = self.models.get("ngram")
        return JointNgram(self.aligner.units, model) if isinstance(model, NgramModel) else None

    def scores(self, pairs: StringPairs) -> list[Floats]:
        """For each model log of the sum over alignments of every pair; -inf where there is none."""
        strings, owners = None, None
        found = []
        for kind, model in self.models.items():
            if kind == "ngram" and self.ngram is not None:
                found.append(self.ngram.log_sums(pairs))
                continue
            if strings is None or owners is None:
                strings, owners, _ = self.aligner.best(pairs, N_ALIGNMENTS)
            read = backward(strings) if kind == "backward" else strings
            found.append(_log_sums(model.log_probability(read), owners, len(pairs)))
        return found


class Judged(NamedTuple):
    """Proposals for inputs, log q(y | x) of each of them, and log g(x) of each input."""

    proposals: Proposals
    logs: Floats
    inputs: Floats


@dataclass(frozen=True, eq=False)
class Transducer(Shown):
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
        """log-scores: proposals x models; the first is log g(x, y)."""
        pairs = proposals.pairs.swapped() if self.inverted else proposals.pairs
        columns = [column for one in self.inventories for column in one.scores(pairs)]
        columns += [model.log_probability(pairs.outputs) for model in self.outputs]
        return np.stack([proposals.floored(column) for column in columns], axis=1)

    def judge(self, inputs: Strings) -> Judged:
        """Proposals for inputs of known symbols, with their probabilities."""
        proposals, sums = self.propose(inputs), self.proposer.log_input_sums(inputs)
        scores = self.scores(proposals)
        within = scores @ self.weights if len(self.names) > 1 else scores[:, 0]
        within = within - proposals.log_totals(within)
        of_input = sums[proposals.owner]
        readable = np.isfinite(of_input)  # others are read by leaving symbols out, and have no other outputs
        mass = proposals.log_totals(scores[:, 0]) - np.where(readable, of_input, 0.0)
        return Judged(proposals, within + np.where(readable, np.minimum(mass, 0.0), 0.0), sums)

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
            Outputs with their probabilities given the input, best first; none where no symbol is known.
        """
        judged = self.judge(known_symbols(inputs, self.units.inputs))
        return where_read(judged.proposals.ranked(judged.logs, n_best), inputs, self.units)

    def log_conditional(self, pairs: StringPairs) -> Floats:
        """log q(y | x) for each pair: the probability of the output given the input.

        Parameters
        ----------
        pairs : StringPairs
            Inputs and outputs.

        Returns
        -------
        array
            -inf where a symbol is unknown or nothing spells the pair.
        """
        return self._logs(pairs)[0]

    def log_probability(self, pairs: StringPairs) -> Floats:
        """log p(x, y) = log g(x) + log q(y | x) for each pair: what `sample` draws from."""
        if len(self.names) == 1:
            return self.proposer.log_sums(pairs)
        conditional, of_input = self._logs(pairs)
        return np.where(np.isfinite(of_input), conditional + of_input, -np.inf)

    def _logs(self, pairs: StringPairs) -> tuple[Floats, Floats]:
        """log q(y | x) and log g(x) of each pair."""
        pairs = pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True)
        first, owner = distinct(pairs.inputs)
        inputs = pairs.inputs.select(first)
        judged = None if len(self.names) == 1 else self.judge(inputs)
        sums = (self.proposer.log_input_sums(inputs) if judged is None else judged.inputs)[owner]
        readable = np.isfinite(sums)
        logs = np.where(readable, self.proposer.log_sums(pairs) - np.where(readable, sums, 0.0), -np.inf)
        if judged is not None:
            place = judged.proposals.places(pairs.outputs, owner)
            logs[place >= 0] = judged.logs[place[place >= 0]]
        unknown = np.diff(np.append(0, np.cumsum(pairs.inputs.codes < 0))[pairs.inputs.offsets]) > 0
        return np.where(unknown, -np.inf, logs), sums

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """The best alignments by the units of the first inventory."""
        found = self.inventories[0].aligner.align(pairs.swapped() if self.inverted else pairs, n_best)
        if not self.inverted:
            return found
        strings = Strings(self.units.alphabet, found.strings.codes, found.strings.offsets)
        return replace(found, units=self.units, strings=strings)

    def sample(self, n_pairs: int, rng: np.random.Generator, max_length: int = 1000) -> StringPairs:
        """Draw pairs.

        The n-gram draws pairs from g; where the output is one of those proposed for the input, one of them is
        drawn anew by q, which gives them the same mass together.
        """
        drawn = self.units.spell(self.proposer.model.sample(n_pairs, rng, max_length))
        if len(self.names) == 1 or not len(drawn):
            return drawn
        first, owner = distinct(drawn.inputs)
        judged = self.judge(drawn.inputs.select(first))
        at = np.flatnonzero(judged.proposals.places(drawn.outputs, owner) >= 0)
        anew = judged.proposals.draw(judged.logs, owner[at], rng)
        rows = np.arange(len(drawn))
        rows[at] = len(drawn) + np.arange(len(at))
        return StringPairs(drawn.inputs, joined(drawn.outputs, anew).select(rows))

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

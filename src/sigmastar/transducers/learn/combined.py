"""From pairs of strings to a transducer of one or several models of alignment units.

ngram      align by EM, count a joint Kneser-Ney n-gram of the units; its order by held-out words
combined   two inventories of units; for each the n-gram, chains of substates that read forward and backward
           (states from two views, see `refined_chain`) and a spectral automaton (`recover`, behind the
           restart filter); a spectral automaton of outputs; weights of all by held-out words
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.ngram_smoothing import kneser_ney
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.core.arrays import Array, Flags, Floats
from sigmastar.core.log_linear import fit_weights, worth_keeping
from sigmastar.core.progress import Progress, silent
from sigmastar.transducers.data import SHAPES, Shape, StringPairs, backward, require_pairs
from sigmastar.transducers.learn.aligner import LONG_UNITS, learn_aligner
from sigmastar.transducers.learn.refined_chain import learn_refined
from sigmastar.transducers.model.aligner import Aligner
from sigmastar.transducers.model.joint_ngram import Proposals
from sigmastar.transducers.model.transducer import Model, Transducer, UnitModels

Learner = Callable[[Strings, int, np.random.Generator], Model]


class ModelSlot(NamedTuple):
    """A model of an ensemble: the number of its inventory of units, -1 for outputs alone, and its kind."""

    inventory: int
    kind: str


OUTPUTS = ModelSlot(-1, "output")
LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "ngram": lambda strings, order, rng: learn_ngram(strings, order, kneser_ney),
        "latent": lambda strings, order, rng: learn_refined(strings, rng),
        "backward": lambda strings, order, rng: learn_refined(backward(strings), rng),
        "spectral": lambda strings, order, rng: learn_fast(strings, rng).model,
    }
)
ORDERS = (3, 4, 5, 6, 7, 8)
LONGEST = ORDERS[-1]
SINGLE: tuple[Shape, ...] = ((1, 1), (1, 0), (0, 1))
"""The second inventory: at most one symbol per side."""
HELD_OUT, ENOUGH, FOLDS = 0.1, 3000, 10
RIDGE = 5.0  # draws weights to equal ones
_WORST = 10.0  # nats lost where no right output is proposed


@dataclass(frozen=True)
class EnsembleSpec:
    """What is combined: inventories of unit shapes, kinds of models over each, a model of outputs or none."""

    inventories: tuple[tuple[Shape, ...], ...] = (SHAPES, SINGLE)
    kinds: tuple[str, ...] = ("ngram", "latent", "backward", "spectral")
    outputs: bool = True
    order: int | None = None  # by held-out inputs; in company the longest, from `ENOUGH` pairs on
    long_units: float = LONG_UNITS

    @property
    def slots(self) -> list[ModelSlot]:
        """All models, in the order of their weights."""
        of_pairs = [ModelSlot(at, kind) for at in range(len(self.inventories)) for kind in self.kinds]
        return [*of_pairs, OUTPUTS] if self.outputs else of_pairs


NGRAM = EnsembleSpec(inventories=(SHAPES,), kinds=("ngram",), outputs=False)
ENSEMBLES: Mapping[str, EnsembleSpec] = MappingProxyType({"combined": EnsembleSpec(), "ngram": NGRAM})


class OrderLoss(NamedTuple):
    """Mean -log of the share of right outputs, by which orders are chosen, and the share of wrong ones."""

    loss: float
    error: float


@dataclass(frozen=True, eq=False)
class TransducerFit:
    """A transducer, and what held-out inputs showed: order, losses by order, the error of the whole."""

    transducer: Transducer
    order: int
    order_losses: Mapping[int, OrderLoss]
    held_out_error: float | None
    n_unaligned: int


def learn_transducer(
    pairs: StringPairs,
    spec: EnsembleSpec = ENSEMBLES["combined"],
    rng: np.random.Generator | None = None,
    progress: Progress = silent,
) -> TransducerFit:
    """Align, learn every model of the ensemble, and weigh them on held-out inputs.

    Parameters
    ----------
    pairs : StringPairs
        To learn from.
    spec : EnsembleSpec
        What is combined.
    rng : Generator or None
        Source of random numbers.
    progress : Progress
        Called at every stage.

    Returns
    -------
    TransducerFit
        With models that are worth their weight.
    """
    rng = rng or np.random.default_rng(0)
    require_pairs(pairs)
    progress("aligning", 0.0)
    corpus, n_unaligned = _aligned(pairs, spec)
    slots = spec.slots
    if spec.order is None and len(slots) > 1 and len(corpus.pairs) >= ENOUGH:
        spec = replace(spec, order=LONGEST)
    if len(set(corpus.pairs.inputs)) < 2 or (spec.order is not None and len(slots) == 1):
        order = spec.order or min(ORDERS)
        return TransducerFit(_learned(corpus, slots, order, rng), order, {}, None, n_unaligned)
    splits = corpus.splits(rng)
    progress("choosing the order", 0.3)
    losses = _order_losses(splits, spec)
    order = min(losses, key=losses.__getitem__)
    if len(slots) == 1:
        whole = _learned(corpus, slots, order, rng)
        return TransducerFit(whole, order, losses, losses[order].error, n_unaligned)
    progress("learning the models without held-out inputs", 0.4)
    trials = [(_learned(kept, slots, order, rng), held) for kept, held in splits]
    progress("weighing the models", 0.7)
    chosen, weights, error = _weighed(trials, slots)
    progress("learning the models", 0.8)
    whole = replace(_learned(corpus, chosen, order, rng), weights=weights)
    return TransducerFit(whole, order, losses, error, n_unaligned)


def _aligned(pairs: StringPairs, spec: EnsembleSpec) -> tuple[_Aligned, int]:
    """Pairs that every inventory can align, with their alignments, and how many were left out."""
    fits = [learn_aligner(pairs, shapes, long_units=spec.long_units) for shapes in spec.inventories]
    aligned = [fit.aligner.align(pairs) for fit in fits]
    unaligned = np.unique(np.concatenate([one.unaligned for one in aligned]))
    usable = np.setdiff1d(np.arange(len(pairs)), unaligned)
    strings = [one.best().select(np.searchsorted(np.unique(one.pair), usable)) for one in aligned]
    return _Aligned(pairs.select(usable), [fit.aligner for fit in fits], strings), len(unaligned)


@dataclass(frozen=True, eq=False)
class _Aligned:
    """Pairs with one alignment each in every inventory."""

    pairs: StringPairs
    aligners: Sequence[Aligner]
    strings: Sequence[Strings]

    def select(self, indices: Array) -> _Aligned:
        strings = [one.select(indices) for one in self.strings]
        return _Aligned(self.pairs.select(indices), self.aligners, strings)

    def splits(self, rng: np.random.Generator) -> list[tuple[_Aligned, StringPairs]]:
        """(kept, held out), several times for small corpora: weights need a few thousand inputs."""
        share = min(HELD_OUT, ENOUGH / len(self.pairs))
        n_folds = int(np.clip(ENOUGH / (share * len(self.pairs)), 1, FOLDS))
        folds = self.pairs.folds(share, n_folds, rng)
        return [(self.select(fold.kept), self.pairs.select(fold.held)) for fold in folds]


def _learned(
    corpus: _Aligned, slots: Sequence[ModelSlot], order: int, rng: np.random.Generator
) -> Transducer:
    """The transducer of some models, equally weighed; inventories without a model are left out."""
    inventories = []
    for number, (aligner, strings) in enumerate(zip(corpus.aligners, corpus.strings, strict=True)):
        kinds = [slot.kind for slot in slots if slot.inventory == number]
        if kinds:
            models = {kind: LEARNERS[kind](strings, order, rng) for kind in kinds}
            inventories.append(UnitModels(aligner, models))
    outputs: tuple[FilteredAutomaton, ...] = ()
    if OUTPUTS in slots:
        outputs = (learn_fast(corpus.pairs.outputs, rng).model,)
    return Transducer(tuple(inventories), outputs, np.full(len(slots), 1.0 / len(slots)))


def _order_losses(splits: Sequence[tuple[_Aligned, StringPairs]], spec: EnsembleSpec) -> dict[int, OrderLoss]:
    """How the n-gram of each order does on held-out inputs."""
    losses = {}
    for order in (spec.order,) if spec.order is not None else ORDERS:
        found = []
        for kept, held in splits:
            model = learn_ngram(kept.strings[0], order, kneser_ney)
            alone = Transducer((UnitModels(kept.aligners[0], {"ngram": model}),), (), np.ones(1))
            proposals, right = _proposed(alone, held)
            found.append(_losses(proposals, proposals.log_weights, right))
        losses[order] = OrderLoss(*np.mean(found, axis=0).tolist())
    return losses


def _losses(proposals: Proposals, scores: Floats, right: Flags) -> tuple[float, float]:
    """Mean -log of the share of right outputs among the proposed, and the share of inputs gone wrong."""
    best = np.lexsort((-scores, proposals.owner))[proposals.starts]
    totals = np.logaddexp.reduceat(scores, proposals.starts)
    rights = np.logaddexp.reduceat(np.where(right, scores, -np.inf), proposals.starts)
    missing = proposals.n_inputs - len(best)
    loss = np.minimum(totals - rights, _WORST).sum() + _WORST * missing
    return float(loss / proposals.n_inputs), 1.0 - float(right[best].sum()) / proposals.n_inputs


def _weighed(
    trials: Sequence[tuple[Transducer, StringPairs]], slots: Sequence[ModelSlot]
) -> tuple[list[ModelSlot], Floats, float]:
    """The models worth keeping (the first proposes, and stays), their weights, and the error they leave."""
    proposed = [_proposed(transducer, held) for transducer, held in trials]
    scores = [trial.scores(proposals) for (trial, _), (proposals, _) in zip(trials, proposed, strict=True)]
    starts = np.cumsum([0, *(proposals.n_inputs for proposals, _ in proposed)])
    owner = np.concatenate([one.owner + start for (one, _), start in zip(proposed, starts, strict=False)])
    right = np.concatenate([right for _, right in proposed])
    every = np.concatenate(scores)
    kept = worth_keeping(fit_weights(every, owner, right, RIDGE))
    kept[0] = True
    weights = fit_weights(every[:, kept], owner, right, RIDGE)
    chosen = [slot for slot, stays in zip(slots, kept.tolist(), strict=True) if stays]
    errors = [
        _losses(proposals, part[:, kept] @ weights, good)[1]
        for (proposals, good), part in zip(proposed, scores, strict=True)
    ]
    return chosen, weights, float(np.mean(errors))


def _proposed(transducer: Transducer, held: StringPairs) -> tuple[Proposals, Flags]:
    """Proposals for every distinct input, and which of them are right."""
    references = held.references()
    inputs = Strings.of(list(references), alphabet=held.inputs.alphabet)
    proposals = transducer.propose(inputs)
    wanted = [set(outputs) for outputs in references.values()]
    owners = proposals.owner.tolist()
    right = [y in wanted[owner] for y, owner in zip(proposals.pairs.outputs, owners, strict=True)]
    return proposals, np.array(right, dtype=bool)

"""From pairs of strings to a transducer.

ngram      align by EM, count a joint Kneser-Ney n-gram of the units; its order by held-out words
combined   two inventories of units; for each the n-gram, spectral operators behind the restart filter
           (`fast`) and spectral substates with a few EM iterations; a spectral automaton of outputs;
           weights of all by held-out words
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.counts.ngram_smoothing import kneser_ney
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.transducers.data.string_pairs import StringPairs, require_pairs
from sigmastar.transducers.data.units import SHAPES, Shape
from sigmastar.transducers.learn.alignment import LONG_UNITS, learn_aligner
from sigmastar.transducers.learn.log_linear_weights import fit_weights, worth_keeping
from sigmastar.transducers.learn.refined_chain import learn_refined
from sigmastar.transducers.model.aligner import Aligner
from sigmastar.transducers.model.n_best import Proposals
from sigmastar.transducers.model.transducer import Model, Reading, Transducer

Array = NDArray[np.float64]
Progress = Callable[[str], None]
Learner = Callable[[Strings, int, np.random.Generator], Model]
Judge = tuple[int, str]
"""The number of an inventory, and the kind of a model over it."""
OUTPUTS: Judge = (-1, "output")

LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "ngram": lambda strings, order, rng: learn_ngram(strings, order, kneser_ney),
        "spectral": lambda strings, order, rng: learn_fast(strings, rng).model,
        "latent": lambda strings, order, rng: learn_refined(strings, rng),
    }
)
ORDERS = (3, 4, 5, 6, 7, 8)
LONGEST = ORDERS[-1]
SINGLE: tuple[Shape, ...] = ((1, 1), (1, 0), (0, 1))
"""The second inventory: one symbol a side at most."""
HELD_OUT, ENOUGH, FOLDS = 0.1, 3000, 4
_WORST = 10.0  # nats lost where no right output is proposed


@dataclass(frozen=True)
class Panel:
    """What judges: inventories of unit shapes, kinds of models over each, and whether outputs alone count."""

    inventories: tuple[tuple[Shape, ...], ...] = (SHAPES, SINGLE)
    kinds: tuple[str, ...] = ("ngram", "spectral", "latent")
    outputs: bool = True
    order: int | None = LONGEST  # with others to judge, the longest never loses; None: by held-out inputs
    long_units: float = LONG_UNITS

    @property
    def judges(self) -> list[Judge]:
        """All of them, in the order of their weights."""
        of_pairs = [(at, kind) for at in range(len(self.inventories)) for kind in self.kinds]
        return [*of_pairs, OUTPUTS] if self.outputs else of_pairs


NGRAM = Panel(inventories=(SHAPES,), kinds=("ngram",), outputs=False, order=None)
PANELS: Mapping[str, Panel] = MappingProxyType({"combined": Panel(), "ngram": NGRAM})


class OrderLoss(NamedTuple):
    """Mean -log of the share of right outputs, by which orders are chosen, and the share of wrong ones."""

    loss: float
    error: float


@dataclass(frozen=True, eq=False)
class TransducerFit:
    """A transducer, and what held-out inputs said: order, losses by order, the error of the whole."""

    transducer: Transducer
    order: int
    order_losses: Mapping[int, OrderLoss]
    held_out_error: float | None
    n_unaligned: int


def learn_transducer(
    pairs: StringPairs,
    panel: Panel = PANELS["combined"],
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> TransducerFit:
    """Align, learn every model of the panel, and weigh them on held-out inputs."""
    rng, say = rng or np.random.default_rng(0), progress or (lambda _: None)
    require_pairs(pairs)
    say("aligning")
    corpus, n_unaligned = _aligned(pairs, panel)
    judges = panel.judges
    if len(set(corpus.pairs.inputs)) < 2 or (panel.order is not None and len(judges) == 1):
        order = panel.order or min(ORDERS)
        return TransducerFit(_learned(corpus, judges, order, rng, say), order, {}, None, n_unaligned)
    splits = corpus.splits(rng)
    say("choosing the order")
    losses = _order_losses(splits, panel)
    order = min(losses, key=losses.__getitem__)
    if len(judges) == 1:
        whole = _learned(corpus, judges, order, rng, say)
        return TransducerFit(whole, order, losses, losses[order].error, n_unaligned)
    trials = [(_learned(kept, judges, order, rng, say), held) for kept, held in splits]
    say("weighing the models")
    chosen, weights, error = _weighed(trials, judges)
    whole = replace(_learned(corpus, chosen, order, rng, say), weights=weights)
    return TransducerFit(whole, order, losses, error, n_unaligned)


def _aligned(pairs: StringPairs, panel: Panel) -> tuple[_Aligned, int]:
    """Pairs that every inventory can align, with their alignments, and how many were left out."""
    fits = [learn_aligner(pairs, shapes, long_units=panel.long_units) for shapes in panel.inventories]
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

    def select(self, indices: NDArray[np.intp]) -> _Aligned:
        strings = [one.select(indices) for one in self.strings]
        return _Aligned(self.pairs.select(indices), self.aligners, strings)

    def splits(self, rng: np.random.Generator) -> list[tuple[_Aligned, StringPairs]]:
        """(kept, held out), several times for small corpora: weights need a few thousand inputs."""
        share = min(HELD_OUT, ENOUGH / len(self.pairs))
        n_folds = int(np.clip(ENOUGH / (share * len(self.pairs)), 1, FOLDS))
        return [
            (self.select(np.flatnonzero(~held)), self.pairs.select(np.flatnonzero(held)))
            for held in self.pairs.folds(share, n_folds, rng)
        ]


def _learned(
    corpus: _Aligned, judges: Sequence[Judge], order: int, rng: np.random.Generator, say: Progress
) -> Transducer:
    """The transducer of some judges, equally weighed; inventories without a judge are left out."""
    readings = []
    for number, (aligner, strings) in enumerate(zip(corpus.aligners, corpus.strings, strict=True)):
        models = {}
        for kind in (kind for at, kind in judges if at == number):
            say(f"learning: {kind} model of inventory {number + 1}")
            models[kind] = LEARNERS[kind](strings, order, rng)
        if models:
            readings.append(Reading(aligner, models))
    outputs: tuple[FilteredAutomaton, ...] = ()
    if OUTPUTS in judges:
        say("learning: model of outputs")
        outputs = (learn_fast(corpus.pairs.outputs, rng).model,)
    return Transducer(tuple(readings), outputs, np.full(len(judges), 1.0 / len(judges)))


def _order_losses(splits: Sequence[tuple[_Aligned, StringPairs]], panel: Panel) -> dict[int, OrderLoss]:
    """How the n-gram of each order does on held-out inputs."""
    losses = {}
    for order in (panel.order,) if panel.order is not None else ORDERS:
        found = []
        for kept, held in splits:
            model = learn_ngram(kept.strings[0], order, kneser_ney)
            alone = Transducer((Reading(kept.aligners[0], {"ngram": model}),), (), np.ones(1))
            proposals, right = _proposed(alone, held)
            found.append(_losses(proposals, proposals.log_weights, right))
        losses[order] = OrderLoss(*np.mean(found, axis=0).tolist())
    return losses


def _losses(proposals: Proposals, scores: Array, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean -log of the share of right outputs among the proposed, and the share of inputs gone wrong."""
    best = np.lexsort((-scores, proposals.owner))[proposals.starts]
    totals = np.logaddexp.reduceat(scores, proposals.starts)
    rights = np.logaddexp.reduceat(np.where(right, scores, -np.inf), proposals.starts)
    missing = proposals.n_inputs - len(best)
    loss = np.minimum(totals - rights, _WORST).sum() + _WORST * missing
    return float(loss / proposals.n_inputs), 1.0 - float(right[best].sum()) / proposals.n_inputs


def _weighed(
    trials: Sequence[tuple[Transducer, StringPairs]], judges: Sequence[Judge]
) -> tuple[list[Judge], Array, float]:
    """The judges worth keeping (the first proposes, and stays), their weights, and the error they leave."""
    proposed = [_proposed(transducer, held) for transducer, held in trials]
    scores = [trial.judge(proposals) for (trial, _), (proposals, _) in zip(trials, proposed, strict=True)]
    starts = np.cumsum([0, *(proposals.n_inputs for proposals, _ in proposed)])
    owner = np.concatenate([one.owner + start for (one, _), start in zip(proposed, starts, strict=False)])
    right = np.concatenate([right for _, right in proposed])
    every = np.concatenate(scores)
    kept = worth_keeping(fit_weights(every, owner, right))
    kept[0] = True
    weights = fit_weights(every[:, kept], owner, right)
    chosen = [judge for judge, stays in zip(judges, kept.tolist(), strict=True) if stays]
    errors = [
        _losses(proposals, part[:, kept] @ weights, good)[1]
        for (proposals, good), part in zip(proposed, scores, strict=True)
    ]
    return chosen, weights, float(np.mean(errors))


def _proposed(transducer: Transducer, held: StringPairs) -> tuple[Proposals, NDArray[np.bool_]]:
    """Proposals for every distinct input, and which of them are right."""
    references = held.references()
    inputs = Strings.of(list(references), alphabet=held.inputs.alphabet)
    proposals = transducer.propose(inputs)
    wanted = [set(outputs) for outputs in references.values()]
    owners = proposals.owner.tolist()
    right = [y in wanted[owner] for y, owner in zip(proposals.pairs.outputs, owners, strict=True)]
    return proposals, np.array(right, dtype=bool)

"""Madhyastha, Carreras and Quattoni (2014): figures 1 to 3 and table 1, on other data.

The paper learns on the Wall Street Journal with vectors of the BLLIP corpus; here the relations are of the
English web treebank, with vectors of 5 million words of other text: counted on the same sentences they would
hold the answers. Pairs with a word that the text lacks are left out. Under each penalty a model is learned,
then cut to fewer dimensions or weights: accuracy against the operations that scoring a head takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs, split_heads
from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.bilexical.data.relations import Pattern
from sigmastar.bilexical.draw import RANKS, WEIGHTS
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.estimator.word_vectors import WordVectors
from sigmastar.bilexical.learn.attachment import AttachmentSettings, interpolated, learn_judges
from sigmastar.bilexical.learn.vectors import RANKS as DIRECTIONS
from sigmastar.bilexical.learn.vectors import best_inner_product, inner_product, vector_forms
from sigmastar.bilexical.metrics import (
    PairwiseAccuracy,
    by_popularity,
    capacity_curve,
    cut_down,
    pairwise_accuracy,
)
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.errors import InputError
from sigmastar.core.intervals import Estimate, mcnemar
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.resources import one_blas_thread
from sigmastar.dependency.data.conllu import read_conllu
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.reproduce.madhyastha2014.report import (
    ANY_MODELS,
    FULL,
    LITTLE,
    NUCLEAR,
    SMALL_MODELS,
    TEN,
    UNSUPERVISED,
    Attached,
    Curve,
    Measured,
    reproduction,
)
from sigmastar.reproduce.result import Reproduction

PARTS = ("train", "dev", "test")
SMALL = 300
FEW: Mapping[str, Any] = {"similarity": (2.0, 4.0, 6.0, 8.0)}
FULL_PATH = (0.001,)  # best for l1 and l2 on validation heads; early stopping does the rest
AMOD, OBJ = Pattern("amod", "NOUN", "ADJ"), Pattern("obj", "VERB", "NOUN")
N_SPLITS_OF_FEW = 3
QUICK_FORMS: Mapping[str, Any] = {"windows": (2, 10), "weightings": ("ppmi", "sqrt")}
USUAL, WIDER = "ppmi, window 2", "ppmi, window 5"
ATTACHED = ("for", "from", "with")
Cut = Sequence[tuple[int, PairwiseAccuracy]]
"""A model cut down: operations per head, and how it did."""


@dataclass(frozen=True)
class Relation:
    """Pairs of a pattern, and whether the head of the arc is given or asked for."""

    pattern: Pattern
    head_given: bool


PREPOSITIONS = ("with", "for", "in", "on")

RELATIONS: Mapping[str, Relation] = {
    "adjectives given noun": Relation(AMOD, True),
    "nouns given adjective": Relation(AMOD, False),
    "objects given verb": Relation(OBJ, True),
    "verbs given object": Relation(OBJ, False),
    **{word: Relation(Pattern(f"prep:{word}"), False) for word in PREPOSITIONS},
}
"""For prepositions the word above is asked for, given the noun below."""


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Learn every relation under every penalty; with `quick` two relations and no l1 and l2."""
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad place is reported at once
    progress("counting words", 0.0)
    with one_blas_thread():
        chosen = QUICK_FORMS if quick else {}
        forms, parts = vector_forms(text_files(data_folder), **chosen), treebanks(data_folder)
        vectors = forms[USUAL]
        small = vectors if quick else small_vectors(forms[WIDER])
        names = list(RELATIONS)[: 2 if quick else None]
        found, pairs_used = {}, []
        for number, name in enumerate(names):
            progress(name, (number + 1) / (len(names) + 3))
            pairs = pairs_of(RELATIONS[name], parts, vectors)
            pairs_used.append(pairs)
            few = name in PREPOSITIONS
            used, n_splits, settings = (small, N_SPLITS_OF_FEW, FEW) if few else (vectors, 1, {})
            rng = np.random.default_rng([seed, number])
            found[name] = measure(pairs, used, forms, rng, n_splits, quick, settings)
        progress("attachment", (len(names) + 1) / (len(names) + 3))
        attached = attachment(data_folder, vectors, np.random.default_rng(seed), quick)
    origin = provenance(seed, hash_arrays(*(pairs.counts.data for pairs in pairs_used)))
    result = reproduction(found, attached, quick, origin)
    result.write(out)
    return result


def text_files(data_folder: Path) -> list[Path]:
    """The running text that vectors are counted on."""
    files = sorted((data_folder / "text").glob("*.txt.gz"))
    if not files:
        raise InputError(
            "there is no running text *.txt.gz; set SIGMASTAR_DATA", file=str(data_folder / "text")
        )
    return files


def text_vectors(data_folder: Path, **settings: Any) -> Vectors:
    """Vectors of the running text."""
    return WordVectors(**settings).fit(text_files(data_folder)).model_


def relation_vectors(data_folder: Path) -> Vectors:
    """Vectors that are best for relations, by validation heads: sided, with more contexts."""
    return text_vectors(data_folder, n_contexts=3000, sided=True)


def small_vectors(vectors: Vectors) -> Vectors:
    """For relations of few pairs, as those of prepositions: their leading directions, by validation heads.

    A thousand pairs cannot tell thousands of contexts apart; the text has already done so. The
    similarity of words counts then, too: of the weights in FEW the validation heads of each split choose.
    """
    return vectors.compressed(SMALL)


def treebanks(data_folder: Path) -> list[DependencyTreebank]:
    """All three parts: heads are split anew."""
    return [read_conllu(data_folder / "ud" / f"en_ewt-{part}.conllu.gz") for part in PARTS]


def pairs_of(relation: Relation, parts: list[DependencyTreebank], vectors: Vectors) -> Pairs:
    """The pairs of a relation whose words have vectors, the given word as the head."""
    found = Pairs.of(pair for part in parts for pair in relation.pattern.pairs(part))
    return (found if relation.head_given else found.swapped()).of_known(vectors)


def measure(
    pairs: Pairs,
    vectors: Vectors,
    forms: Mapping[str, Vectors],
    rng: np.random.Generator,
    n_splits: int,
    quick: bool,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Measured:
    """Learn under each penalty; curves and figures are means over splits of the heads.

    The rival without supervision is the best inner product of the `forms` by validation heads.
    """
    found = [_measure_split(pairs, vectors, forms, rng, quick, settings) for _ in range(n_splits)]
    curves = {name: _mean_curve([one.curves[name] for one in found]) for name in found[0].curves}
    popularity, matched = (float(np.mean([getattr(f, n) for f in found])) for n in ("popularity", "matched"))
    gaps = {name: _mean_gap([one.gaps[name] for one in found]) for name in found[0].gaps}
    return Measured(curves, popularity, matched, found[0].model, n_splits, gaps)


def _measure_split(
    pairs: Pairs,
    vectors: Vectors,
    forms: Mapping[str, Vectors],
    rng: np.random.Generator,
    quick: bool,
    settings: Mapping[str, Any],
) -> Measured:
    split = split_heads(pairs.heads, rng)
    train, test = pairs.select(split.train), pairs.select(split.test)

    def learned(**others: Any) -> BilexicalModel:
        operator = BilexicalOperator(vectors, random_state=rng, **{**settings, **others})
        return operator.fit(pairs, split=split).model_

    nuclear = learned()
    unsupervised, rival = _unsupervised_curve(pairs, forms, split, test, quick)
    cuts = {NUCLEAR: cut_down(nuclear, test, (*RANKS, vectors.dimension) if settings else RANKS)}
    for penalty in () if quick else FULL:
        model = learned(penalty=penalty, strengths=FULL_PATH, max_iter=60)
        cuts[penalty] = cut_down(model, test, WEIGHTS)
    popular = pairwise_accuracy(by_popularity(train.popularity), test).micro
    matched = pairwise_accuracy(nuclear.scores, test, train.popularity).micro
    curves = {"unsupervised": unsupervised, **{name: _curve(cut) for name, cut in cuts.items()}}
    return Measured(
        curves,
        100 * popular,
        100 * matched,
        nuclear,
        gaps=_gaps(cuts, rival, pairwise_accuracy(nuclear.scores, test)),
    )


def _curve(cut: Cut) -> Curve:
    return [operations for operations, _ in cut], [100 * found.micro for _, found in cut]


def _gaps(cuts: Mapping[str, Cut], rival: PairwiseAccuracy, whole: PairwiseAccuracy) -> dict[str, Estimate]:
    """What the operator is above, with intervals: the same heads for both."""
    rng = np.random.default_rng(0)
    nuclear = cuts[NUCLEAR]
    found = {UNSUPERVISED: whole.less(rival, rng), TEN: nuclear[RANKS.index(10)][1].less(nuclear[-1][1], rng)}
    rivals = [one for penalty in FULL for one in cuts.get(penalty, ())]
    if rivals:
        found[SMALL_MODELS] = _best(nuclear, LITTLE).less(_best(rivals, LITTLE), rng)
        found[ANY_MODELS] = _best(nuclear).less(_best(rivals), rng)
    return found


def _best(cut: Cut, operations: float = np.inf) -> PairwiseAccuracy:
    """The best at no more than so many operations; a coin if that is too few."""
    coin = replace(cut[0][1], won=cut[0][1].judged / 2)
    return max((found for n, found in cut if n <= operations), key=lambda found: found.micro, default=coin)


def _mean_gap(gaps: list[Estimate]) -> Estimate:
    """The mean over splits; its interval is the mean interval, since splits share their heads."""
    value, low, high = np.mean([(gap.value, gap.low, gap.high) for gap in gaps], axis=0).tolist()
    return Estimate(value, low, high, sum(gap.n for gap in gaps))


def _mean_curve(curves: list[Curve]) -> Curve:
    operations, accuracy = (np.mean([one[part] for one in curves], axis=0) for part in (0, 1))
    return [round(x) for x in operations.tolist()], accuracy.tolist()


def _unsupervised_curve(
    pairs: Pairs, forms: Mapping[str, Vectors], split: HeadSplit, test: Pairs, quick: bool
) -> tuple[Curve, PairwiseAccuracy]:
    """Of the form chosen on validation heads: equation 2 at each rank, and equation 1, in all dimensions.

    Beside the curve the accuracy of what was chosen, head by head.
    """
    chosen = best_inner_product(pairs, forms, split, (None,) if quick else DIRECTIONS)
    vectors = chosen.model.vectors
    operations, accuracy = capacity_curve(inner_product(pairs, vectors, split, max(RANKS)), test, RANKS)
    best = pairwise_accuracy(chosen.model.scores, test)
    whole = (chosen.rank or vectors.dimension) * (vectors.dimension + len(pairs.modifiers))
    points = sorted(zip([*operations, whole], [*accuracy, 100 * best.micro], strict=True))
    return ([x for x, _ in points], [y for _, y in points]), best


def attachment(data_folder: Path, vectors: Vectors, rng: np.random.Generator, quick: bool) -> Attached:
    """Accuracy on the test set by preposition: linear, bilinear, and their interpolation (equation 7)."""
    train, dev, test = (read_quadruples(data_folder / "ppattach" / n) for n in ("training", "devset", "test"))
    small = vectors.compressed(100)
    models = {
        penalty: learn_judges(train, small, rng, AttachmentSettings(penalty=penalty))
        for penalty in (("nuclear",) if quick else ("nuclear", "l1", "l2"))
    }
    return {word: _attached(models, _only(dev, word), _only(test, word)) for word in (*ATTACHED, "all")}


def _attached(models: Mapping[str, AttachmentModel], dev: Quadruples, test: Quadruples) -> dict[str, float]:
    linear = next(iter(models.values())).judgements(test)["linear"]
    right = {"linear": (linear > 0) == test.to_noun}
    for penalty, model in models.items():
        _, mixture = interpolated(model, dev)
        right[penalty] = (model.judgements(test)["bilinear"] > 0) == test.to_noun
        right[f"linear + {penalty}"] = (mixture(test) > 0.5) == test.to_noun
    shares = {name: 100 * float(values.mean()) for name, values in right.items()}
    tested = mcnemar(right["linear + nuclear"], right["linear"]).p_value
    return {**shares, "n_items": len(test), "p_value": tested}


def _only(items: Quadruples, preposition: str) -> Quadruples:
    if preposition == "all":
        return items
    return items.select(at for at, word in enumerate(items.preposition) if word.lower() == preposition)

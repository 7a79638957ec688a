"""The transduction part of the tutorial: g(x, y) by the edit lattice, decoding, and learning unaligned.

Two experiments. On pairs drawn from known transducers, completion of the Hankel matrix (no aligner, as in
Bailly et al. 2013b) beside operators from aligned pairs: the distance of g from the truth. On French words
and their sounds, where the data are there, operators decoded by minimum Bayes risk and by a beam, beside
joint n-grams and their combination. The slides hold the method and no figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.intervals import PairedComparison
from sigmastar.core.page import Table
from sigmastar.core.progress import Progress
from sigmastar.reproduce.result import Claim, Reproduction, above, gain, tabulated
from sigmastar.transducers.data import StringPairs, read_transductions
from sigmastar.transducers.learn.combined import ENSEMBLES, learn_transducer
from sigmastar.transducers.learn.spectral import learn_completion_transducer, learn_spectral_transducer
from sigmastar.transducers.metrics import TransductionScores, transduction_scores
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.joint_ngram import Ranking
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

SHAPES = ((1, 1), (1, 0))
SIZES = (300, 1000, 10_000)
SOUNDS = tuple(f"transduction/g2p2021-fre-{part}.tsv" for part in ("train", "test"))
N_QUICK = 1500
BEAM, RISK = "operators, by a beam", "operators, by minimum Bayes risk"

Decoder = Callable[[Strings], list[Ranking]]


@dataclass(frozen=True)
class Distances:
    """The sum of |g - truth| over short pairs, the mean over seeds."""

    n_pairs: int
    completion: float
    aligned: float
    counted: float
    runs: tuple[tuple[float, ...], ...] = ()
    """The same three, seed by seed."""


def with_transduction(
    result: Reproduction, folder: Path, quick: bool, seed: int, progress: Progress
) -> Reproduction:
    """The same result with the transduction part added."""
    progress("transducers: completion", 0.95)
    found = unaligned(1 if quick else 5, SIZES[:2] if quick else SIZES, seed)
    tables, figures = [_distance_table(found)], {"unaligned": [vars(row) for row in found]}
    claims, about = [_completion_claim(found, np.random.default_rng(seed))], [_ABOUT]
    if all((folder / part).is_file() for part in SOUNDS):
        progress("transducers: sounds of words", 0.97)
        scores = sounds(folder, quick, seed)
        tables.append(_sounds_table(scores))
        claims.append(_decoding_claim(scores))
        about.append(_ABOUT_SOUNDS)
        words = {name: score.word_error_rate.value for name, score in scores.items()}
        figures["sounds"] = [{"learner": name, "word_error_rate": value} for name, value in words.items()]
    return result.extended(about, tables, claims, {"transduction": figures})


def unaligned(n_seeds: int, sizes: Sequence[int], seed: int) -> list[Distances]:
    """Completion against the aligner, on pairs of random transducers."""
    rows = []
    for size in sizes:
        each = []
        for number in range(n_seeds):
            rng = np.random.default_rng([seed, size, number])
            truth = make_transducer(2, "ab", "AB", rng, density=0.6, stop=0.35)
            each.append(_distances(truth, truth.sample(size, rng), rng))
        completion, aligned, counted = np.mean(each, axis=0).tolist()
        rows.append(Distances(size, completion, aligned, counted, tuple(map(tuple, each))))
    return rows


def _distances(truth: WeightedTransducer, pairs: StringPairs, rng: np.random.Generator) -> list[float]:
    short = [
        (x, y)
        for n in range(4)
        for x in product("ab", repeat=n)
        for m in range(n + 1)
        for y in product("AB", repeat=m)
    ]
    coded = StringPairs.of(short, truth.units.inputs, truth.units.outputs)
    wanted = _values(truth, coded)
    spoken = pairs.select(np.flatnonzero(pairs.inputs.lengths > 0))
    completed = learn_completion_transducer(pairs, rng, shapes=SHAPES).transducer
    aligned = learn_spectral_transducer(spoken, rng, shapes=SHAPES)
    share = len(spoken) / len(pairs)
    drawn = Counter(pairs)
    counted = np.array([drawn[pair] / len(pairs) for pair in short])
    from_aligned = np.where(coded.inputs.lengths > 0, share * _values(aligned, coded), 1.0 - share)
    estimates = (_values(completed, coded), from_aligned, counted)
    return [float(np.abs(estimate - wanted).sum()) for estimate in estimates]


def _values(transducer: WeightedTransducer, pairs: StringPairs) -> Floats:
    sign, log = transducer.log_value(pairs)
    return np.asarray(sign * np.exp(np.minimum(log, 50.0)))


def sounds(folder: Path, quick: bool, seed: int) -> dict[str, TransductionScores]:
    """Word errors on French, by learner and decoder."""
    train, test = (StringPairs.of(read_transductions(folder / part)) for part in SOUNDS)
    if quick:
        rng = np.random.default_rng(seed)
        train = train.select(np.sort(rng.permutation(len(train))[:N_QUICK]))
        test = test.select(np.sort(rng.permutation(len(test))[: N_QUICK // 10]))
    references = test.references()
    inputs = Strings.of(list(references))
    found = {}
    for name, decode in _decoders(train, seed, quick).items():
        best = [ranking[0][0] if ranking else () for ranking in decode(inputs)]
        found[name] = transduction_scores(best, list(references.values()), np.random.default_rng(seed))
    return found


def _decoders(train: StringPairs, seed: int, quick: bool) -> dict[str, Decoder]:
    operators = learn_spectral_transducer(train, np.random.default_rng(seed))
    decoders: dict[str, Decoder] = {
        BEAM: operators.predict,
        RISK: lambda inputs: operators.predict(inputs, method="mbr"),
    }
    for name in ("ngram",) if quick else ("ngram", "combined"):
        decoders[name] = learn_transducer(
            train, ENSEMBLES[name], np.random.default_rng(seed)
        ).transducer.predict
    return decoders


_ABOUT = (
    "Transducers: pairs are drawn from random transducers of two states over two symbols a side, "
    "alignments hidden. Completion minimizes the nuclear norm of the Hankel matrix of aligned strings whose "
    "sums over alignments agree with the counted pairs; the other way aligns the pairs by EM first."
)
_ABOUT_SOUNDS = (
    "Sounds: operators of alignment units from French words and their transcriptions, as recovered, decoded "
    "in two ways; beside them a joint Kneser-Ney n-gram of the same units, and the combination."
)


def _distance_table(found: list[Distances]) -> Table:
    columns = {
        "pairs": "n_pairs",
        "completion, no aligner": "completion",
        "aligned by EM, then spectral": "aligned",
        "counted pairs": "counted",
    }
    return tabulated("Distance of g from the truth on inputs of up to three symbols", found, columns)


def _sounds_table(scores: dict[str, TransductionScores]) -> Table:
    rows = [
        (name, 100 * score.word_error_rate.value, 100 * score.symbol_error_rate.value)
        for name, score in scores.items()
    ]
    return Table("French words to sounds", ("learner", "word error, %", "symbol error, %"), rows)


def _completion_claim(found: list[Distances], rng: np.random.Generator) -> Claim:
    """Learned: nearer to the truth than the counted pairs are; one run per size and seed."""
    runs = np.log([run for row in found for run in row.runs])
    learned, aligned = (gain(runs[:, other], runs[:, 0], rng) for other in (2, 1))
    return Claim(
        "Transducers can be learned from unaligned pairs by Hankel completion",
        f"in {len(runs)} runs the distance of completion is {_times(learned)} that of the counted pairs, and "
        f"{_times(aligned)} that of what the aligner leads to",
        above(learned) if len(runs) > 2 else None,
    )


def _times(gap: PairedComparison) -> str:
    low, value, high = (float(np.exp(-x)) for x in (gap.high, gap.difference, gap.low))
    return f"{value:.2f} times (95% interval {low:.2f} to {high:.2f})"


def _decoding_claim(scores: dict[str, TransductionScores]) -> Claim:
    risk, beam = (100 * scores[name].word_error_rate.value for name in (RISK, BEAM))
    errors = f"word error {risk:.1f}% by minimum Bayes risk, {beam:.1f}% by a beam over output prefixes"
    return Claim("The most likely output is found by MBR decoding with marginals of edges", errors, None)

"""A stand-in beside the black box that it stands in for.

    divergence    KL from the answers, nats per symbol (the end of a string counted as one)
    mse           mean squared difference of the probabilities of whole strings
    agreement     share of gaps where the black box gives the stand-in's best symbol 0.9 of its maximum

on strings that are given and on strings that the black box draws itself; the divergence of an n-gram of
averaged answers, fitted to other drawn strings, stands beside it, with the interval of the paired difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.intervals import bootstrap, mean
from sigmastar.distil.asked_strings import Asked, ask
from sigmastar.distil.averaged_ngram import averaged_ngram
from sigmastar.distil.labels import Labels, Pool, Word, some_strings
from sigmastar.distil.learn import divergences
from sigmastar.distil.pools import draw
from sigmastar.distil.questions import Questions
from sigmastar.distil.sources import open_source
from sigmastar.regression.model import StringClassifier

NEAR = 0.9
_CELLS = 4_000_000
_LONGEST = 200


class Told(NamedTuple):
    """What two models tell along strings, summed by string."""

    divergence: Floats
    agreement: Floats
    log_box: Floats
    log_model: Floats
    lengths: Floats


def tell_apart(model: SequenceModel, asked: Asked) -> Told:
    """A stand-in against the answers, string by string."""
    strings = asked.strings
    parts, at = list[Floats](), 0
    for piece in strings.pieces(max(1, _CELLS // asked.rows.shape[1])):
        rows = asked.rows[at : at + piece.n_gaps]
        told = model.gap_distributions(piece)
        gaps, best = np.arange(len(rows)), told.argmax(axis=1)
        near = rows[gaps, best] >= NEAR * rows.max(axis=1)
        with np.errstate(divide="ignore"):
            logs = (np.log(table[gaps, piece.outcomes]) for table in (rows, told))
            parts.append(np.stack([divergences(rows, told), near, *logs]))
        at += piece.n_gaps
    begins = strings.offsets[:-1] + np.arange(len(strings))
    sums = np.add.reduceat(np.concatenate(parts, axis=1), begins, axis=1)
    return Told(sums[0], sums[1], sums[2], sums[3], (strings.lengths + 1).astype(np.float64))


def figures_on(model: SequenceModel, asked: Asked, name: str, rng: np.random.Generator) -> dict[str, Any]:
    """The figures of a stand-in on some strings, with 95% intervals over strings."""
    told = tell_apart(model, asked)
    found = ratio(told.divergence, told.lengths, rng)
    return {
        f"{name}_strings": len(asked),
        f"{name}_divergence": found[0],
        f"{name}_divergence_low": found[1],
        f"{name}_divergence_high": found[2],
        f"{name}_agreement": float(told.agreement.sum() / told.lengths.sum()),
        f"{name}_mse": float(np.mean((np.exp(told.log_box) - np.exp(told.log_model)) ** 2)),
    }


def ratio(sums: Floats, sizes: Floats, rng: np.random.Generator) -> tuple[float, float, float]:
    """A mean per symbol with its 95% interval; strings are drawn again with their symbols."""
    value = float(sums.sum() / sizes.sum())
    found = bootstrap(value + (sums - value * sizes) / sizes.mean(), rng, mean)
    return value, found.low, found.high


def judged(
    model: SequenceModel, source: Any, strings: Strings | None, n_samples: int, seed: int
) -> dict[str, Any]:
    """The figures of a stand-in against a black box.

    Parameters
    ----------
    model : SequenceModel
        The stand-in.
    source : object
        A black box, or its name, as `open_source` takes it.
    strings : Strings or None
        Strings to judge on beside those that are drawn.
    n_samples : int
        Number of strings that the black box draws.
    seed : int
        Of the draws.

    Returns
    -------
    dict
        Figures by name.
    """
    questions = Questions(open_source(source) if isinstance(source, str) else source)
    questions.require_next()
    _require_alike(questions, model.alphabet)
    _require_strings(questions, strings)
    rng, found = np.random.default_rng(seed), dict[str, Any]()
    if strings is not None:
        coded = Strings(questions.alphabet, strings.codes, strings.offsets)
        found |= figures_on(model, _known(ask(questions, coded), model), "given", rng)
    if not questions.is_recorded:
        others = draw(questions, n_samples, rng, _LONGEST)
        drawn = _known(draw(questions, n_samples, rng, _LONGEST), model)
        found |= figures_on(model, drawn, "drawn", rng) | _beside(model, others, drawn, rng)
    return {**found, "n_queries": questions.n_queries}


def _beside(model: SequenceModel, others: Asked, drawn: Asked, rng: np.random.Generator) -> dict[str, Any]:
    """The n-gram of averaged answers on the same strings, and how much more it diverges."""
    ngram = averaged_ngram(others)
    own, theirs = tell_apart(model, drawn), tell_apart(ngram, drawn)
    more = ratio(theirs.divergence - own.divergence, own.lengths, rng)
    told = float(theirs.divergence.sum() / theirs.lengths.sum())
    return {"ngram_divergence": told, "gain": more[0], "gain_low": more[1], "gain_high": more[2]}


def _known(asked: Asked, model: SequenceModel) -> Asked:
    """The same strings over the symbols of the model, which are written alike."""
    return Asked(Strings(model.alphabet, asked.strings.codes, asked.strings.offsets), asked.rows)


def judged_labels(
    model: StringClassifier, source: Any, strings: Strings | None, n_samples: int, seed: int
) -> dict[str, Any]:
    """How often a classifier gives the answer of a black box, by kinds of strings.

    Parameters
    ----------
    model : StringClassifier
        The stand-in.
    source : object
        A black box that scores, above 0.5 for yes; or its name, as `open_source` takes it.
    strings : Strings or None
        Strings to judge on, and near; random ones without.
    n_samples : int
        Number of edited and of random strings.
    seed : int
        Of the edits.

    Returns
    -------
    dict
        Figures by name.
    """
    questions = Questions(open_source(source) if isinstance(source, str) else source)
    _require_alike(questions, model.alphabet)
    _require_strings(questions, strings)
    rng, labels = np.random.default_rng(seed), Labels(questions, 0.5)
    if strings is None:
        given = some_strings(labels.n_symbols, n_samples, rng)
    else:
        given = [tuple(codes.tolist()) for codes in np.split(strings.codes, strings.offsets[1:-1])]
    pool, found = Pool(labels, given, rng), dict[str, Any]()
    kinds: dict[str, list[Word]] = {"given": [] if strings is None else given}
    if not questions.is_recorded:
        kinds["edited"] = [pool.edited() for _ in range(n_samples)]
        kinds["random"] = [pool.random() for _ in range(n_samples)]
    for kind, words in kinds.items():
        if words:
            coded = labels.coded(words)
            told = model.predict(Strings(model.alphabet, coded.codes, coded.offsets))
            right = (told == labels(words)).astype(np.float64)
            found |= {f"{kind}_strings": len(words), f"{kind}_agreement": float(right.mean())}
    return {**found, "n_queries": questions.n_queries}


def _require_alike(questions: Questions, alphabet: Alphabet) -> None:
    if tuple(map(str, questions.alphabet)) != tuple(map(str, alphabet)):
        raise InputError("the black box and the model have other symbols, or in another order")


def _require_strings(questions: Questions, strings: Strings | None) -> None:
    if strings is None and questions.is_recorded:
        raise InputError("a file of answers draws no strings: give some that it has all prefixes of")

"""The tagging part of the tutorial: weighted finite taggers on words and tags of the Penn Treebank sample.

Operators as they are recovered and tamed, decoded by unigram and by bigram marginals, beside hidden Markov
models, EM, and the learners that came later. The slides hold the method and no figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.core.arrays import Flags
from sigmastar.core.intervals import Estimate, mcnemar
from sigmastar.core.page import Cell, Table
from sigmastar.core.progress import Progress
from sigmastar.reproduce.result import Claim, Reproduction, percent, significant, tabulated, timed
from sigmastar.taggers.data.columns import read_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger, TaggerEstimator
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.learn.operators import RAW, Taming, learn_operators
from sigmastar.taggers.metrics import n_nonpositive, tagging_scores
from sigmastar.taggers.model.tagger import Tagger

PARTS = tuple(f"ptb_sample/wsj-{part}.dp" for part in ("train", "test"))
N_STATES = 40
RECOVERED, TAMED, BIGRAM = "operators A_x^y, as recovered", "operators A_x^y, tamed", "bigram HMM"
TAG_OPERATORS = "operators of tags, tamed"
CONDITIONAL = "operators of P(y | x), tamed"
MBR = ", by pairs (MBR)"


@dataclass(frozen=True, eq=False)
class Tagged:
    """What one tagger found on the test sentences."""

    learner: str
    accuracy: Estimate
    unknown: float
    nonpositive: float | None
    seconds: float
    right: Flags


def with_tagging(
    result: Reproduction, folder: Path, quick: bool, seed: int, progress: Progress
) -> Reproduction:
    """The same result with the tagging part added."""
    train, test = (read_tagged(folder / part, "columns", "2") for part in PARTS)
    found = tagging(train, test, quick, seed, progress)
    figures = {"tagging": [_figures(row) for row in found]}
    return result.extended([_about(train, test)], [_table(found)], _claims(found), figures)


def tagging(
    train: TaggedSentences, test: TaggedSentences, quick: bool, seed: int, progress: Progress
) -> list[Tagged]:
    """Every tagger, learned on one part and judged on the other."""
    rows = []
    learners = _learners(train, quick, seed)
    for number, (name, learn) in enumerate(learners.items()):
        progress(f"taggers: {name}", 0.9 + 0.1 * number / len(learners))
        tagger, seconds = timed(learn)
        rows.append(_judged(name, tagger, test, seconds, seed))
        if name in (TAMED, BIGRAM):
            rows.append(_judged(name + MBR, replace(tagger, decoding="viterbi"), test, seconds, seed))
    return rows


def _learners(train: TaggedSentences, quick: bool, seed: int) -> dict[str, Callable[[], Tagger]]:
    def method(learner: TaggerEstimator) -> Callable[[], Tagger]:
        return lambda: learner.set_params(random_state=seed).fit(train).model_

    def operators(lexicalized: bool, taming: Taming, conditional: bool = False) -> Callable[[], Tagger]:
        return lambda: _operators(train, lexicalized, taming, conditional)

    few = {
        BIGRAM: method(NgramTagger(2)),
        RECOVERED: operators(True, RAW),
        TAG_OPERATORS: operators(False, Taming()),
        TAMED: operators(True, Taming()),
        CONDITIONAL: operators(True, Taming(), conditional=True),
    }
    if quick:
        return few
    return {
        **few,
        "trigram HMM": method(NgramTagger(3)),
        "EM, random start, 40 iterations": method(EMTagger()),
        "refined, one seed": method(SpectralTagger(n_members=1, features=False)),
        "chain": method(SpectralTagger("chain")),
        "refined, times chain": method(SpectralTagger()),
    }


def _operators(train: TaggedSentences, lexicalized: bool, taming: Taming, conditional: bool) -> Tagger:
    corpus = TaggedCorpus.of(train)
    member = learn_operators(corpus, N_STATES, lexicalized, taming, conditional=conditional)
    return Tagger(corpus.lexicon, (member,), (1.0,))


def _judged(name: str, tagger: Tagger, test: TaggedSentences, seconds: float, seed: int) -> Tagged:
    found = tagger.predict(test)
    scores = tagging_scores(test, found, tagger.lexicon.word_codes, np.random.default_rng(seed))
    count = n_nonpositive(tagger, test)
    bad = None if count is None else count / len(test)
    right = np.array([a == b for a, b in zip(found, test.tags or [], strict=True)])
    unknown = scores.unknown_accuracy.value if scores.unknown_accuracy else float("nan")
    return Tagged(name, scores.accuracy, unknown, bad, seconds, right)


def _about(train: TaggedSentences, test: TaggedSentences) -> str:
    return (
        f"Taggers learn from words and tags of {len(train):,} sentences ({train.n_words:,} words) of the "
        f"same sample and tag {len(test):,} others. All share one lexicon. Operators of {N_STATES} states "
        "come from blocks on classes of bistrings; tamed ones are pulled towards the operators of their "
        "tags, restart from the mean state of a symbol and have a background, all of it linear. A sentence "
        "whose normalizer is not positive is tagged by its words alone."
    )


def _table(found: list[Tagged]) -> Table:
    columns: dict[str, str | Callable[[Tagged], Cell]] = {
        "tagger": "learner",
        "accuracy %": lambda row: 100 * row.accuracy.value,
        "95% interval": lambda row: f"{100 * row.accuracy.low:.2f} .. {100 * row.accuracy.high:.2f}",
        "unknown words %": lambda row: 100 * row.unknown,
        "non-positive %": lambda row: None if row.nonpositive is None else 100 * row.nonpositive,
        "seconds": "seconds",
    }
    return tabulated("Taggers on the Penn Treebank sample", found, columns)


def _claims(found: list[Tagged]) -> list[Claim]:
    at = {row.learner: row for row in found}
    bigram, tamed, raw = at[BIGRAM], at[TAMED], at[RECOVERED]
    test = mcnemar(tamed.right, bigram.right)
    pairs = at[TAMED + MBR]
    return [
        Claim(
            "Spectral methods apply naturally to tagging: the mechanics of automata over pairs",
            f"operators A_x^y as recovered reach {percent(raw.accuracy.value, 2)}, with no positive "
            f"normalizer for {percent(raw.nonpositive or 0, 2)} of the sentences; tamed "
            f"{percent(tamed.accuracy.value, 2)} and {percent(tamed.nonpositive or 0, 2)}, a bigram HMM "
            f"{percent(bigram.accuracy.value, 2)} (p = {test.p_value:.2g})",
            significant(tamed.accuracy.value - bigram.accuracy.value, test.p_value),
        ),
        Claim(
            "The best sequence is intractable; minimum Bayes risk over pairs of tags stands in",
            f"by pairs {percent(pairs.accuracy.value, 2)}, by single tags {percent(tamed.accuracy.value, 2)}",
            None,
        ),
    ]


def _figures(row: Tagged) -> dict[str, Any]:
    return {
        "tagger": row.learner,
        "accuracy": row.accuracy.value,
        "low": row.accuracy.low,
        "high": row.accuracy.high,
        "unknown_accuracy": row.unknown,
        "nonpositive": row.nonpositive,
        "seconds": row.seconds,
    }

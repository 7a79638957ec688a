"""Taggers in the demo: all learners on made sentences, and the posterior of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, learner_table, timed
from sigmastar.core.figures import MissingMatplotlibError, to_svg
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Part, Picture, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.draw import plot_tags
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger, TaggerEstimator
from sigmastar.taggers.metrics import tagging_scores
from sigmastar.taggers.model.tagger import Tagger

FAMILY = "tagger"
BEST = "refined, product of 4 seeds"
LEARNERS: dict[str, TaggerEstimator] = {
    "bigram HMM": NgramTagger(2),
    "trigram HMM": NgramTagger(3),
    "operators A_x^y": SpectralTagger("spectral"),
    "EM, random start, 40 iterations": EMTagger(n_states=6),
    "refined, 15 iterations": SpectralTagger(n_states=6, max_iter=15, n_members=1, features=False),
    BEST: SpectralTagger(n_states=6, max_iter=15, n_members=4, features=False),
    "chain": SpectralTagger("chain"),
}


@dataclass(frozen=True)
class TaggerFamily:
    """Taggers of made sentences."""

    name: str = FAMILY
    n_train: int = 2000
    n_fresh: int = 300

    def run(self, seed: int, progress: Progress) -> DemoResult:
        progress("tagger: sentences", 0.0)
        whole = make_tagged(np.random.default_rng(seed), self.n_train + self.n_fresh)
        train = whole.select(np.arange(self.n_train))
        fresh = whole.select(np.arange(self.n_train, len(whole)))
        rows, taggers = [], dict[str, Tagger]()
        for number, (label, learner) in enumerate(LEARNERS.items()):
            progress(f"tagger: {label}", number / len(LEARNERS))
            tagger = type(learner)(**learner.get_params() | {"random_state": seed})
            _, seconds = timed(partial(tagger.fit, train))
            rows.append(_judged(label, tagger, fresh, seconds))
            taggers[label] = tagger.model_
        section = Section("Taggers", [*_told(rows), *_posterior(taggers[BEST], fresh)])
        data_hash = hash_arrays(whole.type_codes, whole.tag_codes(taggers[BEST].tags))
        return DemoResult(tuple(rows), section, data_hash)


def _judged(label: str, tagger: TaggerEstimator, fresh: TaggedSentences, seconds: float) -> DemoRow:
    found = [tag for tags in tagger.predict(fresh) for tag in tags]
    accuracy = tagging_scores(fresh, found, (), np.random.default_rng(0)).accuracy
    return DemoRow(FAMILY, label, {"accuracy": accuracy.value}, seconds, accuracy)


def _told(rows: list[DemoRow]) -> list[Part]:
    about = (
        "A chain of hidden states, three per tag, draws sentences; most words belong to two tags, so that "
        "neighbours must decide. Accuracy is the share of fresh words with the right tag. Refined tags "
        "are clusters of tokens in a spectral space, followed by EM iterations: EM from a random start has "
        "states of the same kind, and comes level by more iterations."
    )
    return [Text(about), learner_table("Tags found in fresh sentences", rows)]


def _posterior(tagger: Tagger, fresh: TaggedSentences) -> list[Part]:
    one = fresh.select([int(np.argmin(np.abs(fresh.lengths - 10)))])
    table = tagger.predict_proba(one)
    try:
        figure = plot_tags(one.words, tagger.tags, table, one.tags, "The probability of tags")
    except MissingMatplotlibError as problem:
        return [Text(f"The heat map is left out: {problem}.")]
    caption = (
        "The probability of each tag at each word of a fresh sentence: see where a word has two dark "
        "cells, and whether the ring, its true tag, is in the darker one."
    )
    return [Picture(to_svg(figure), caption, caption)]

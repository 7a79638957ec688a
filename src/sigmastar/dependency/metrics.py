"""Attachment scores of dependency parses: the share of words with the right head (and the right label).

UAS counts heads, LAS heads with labels; both also without punctuation. Intervals come from drawing whole
sentences again: the words of one sentence stand or fall together.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.intervals import Estimate
from sigmastar.dependency.data.treebank import DependencyTreebank


@dataclass(frozen=True)
class Attachment:
    """Shares of words, from 0 to 1; `las` is None where the treebank has no labels."""

    uas: Estimate
    uas_no_punct: Estimate
    las: Estimate | None
    n_words: int


def attachment(
    gold: DependencyTreebank, found: DependencyTreebank, rng: np.random.Generator, n_resamples: int = 1000
) -> Attachment:
    """Compare two treebanks over the same words.

    Parameters
    ----------
    gold, found : DependencyTreebank
        The right heads and labels, and those to be judged.
    rng : Generator
        Source of chance of the intervals.
    n_resamples : int
        How often sentences are drawn again.

    Returns
    -------
    Attachment
        Shares of words, with 95% intervals.
    """
    if gold.form != found.form:
        raise ValueError("the treebanks hold different words: attachment scores need the same sentences")
    right = gold.head == found.head
    words = ~punctuation(gold)
    every = np.ones(len(right), dtype=bool)
    labelled = right & np.array([a == b for a, b in zip(gold.deprel, found.deprel, strict=True)], dtype=bool)
    offsets = gold.sentence_offsets
    return Attachment(
        share(right, every, offsets, rng, n_resamples),
        share(right, words, offsets, rng, n_resamples),
        share(labelled, every, offsets, rng, n_resamples) if set(gold.deprel) - {"_"} else None,
        len(right),
    )


def punctuation(treebank: DependencyTreebank) -> Flags:
    """Words that are tagged PUNCT, or, where no word is, that consist of punctuation alone."""
    tagged = np.array([tag == "PUNCT" for tag in treebank.upos], dtype=bool)
    if tagged.any():
        return tagged
    marks = {word: all(unicodedata.category(c)[0] == "P" for c in word) for word in set(treebank.form)}
    quotes = {"``", "''", "-LRB-", "-RRB-", "-LCB-", "-RCB-"}
    return np.array([marks[word] or word in quotes for word in treebank.form], dtype=bool)


def share(
    right: Flags, counted: Flags, offsets: Int64s, rng: np.random.Generator, n_resamples: int
) -> Estimate:
    """The share of right words among those counted, with the 95% interval over sentences."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    hits = np.bincount(sentence, right & counted, minlength=len(offsets) - 1)
    sizes = np.bincount(sentence, counted, minlength=len(offsets) - 1)
    drawn = rng.multinomial(len(hits), np.full(len(hits), 1.0 / len(hits)), size=n_resamples)
    with np.errstate(invalid="ignore"):
        shares = (drawn @ hits) / (drawn @ sizes)
        value = float(hits.sum() / sizes.sum())
    low, high = np.nanquantile(shares, (0.025, 0.975)) if sizes.sum() else (np.nan, np.nan)
    return Estimate(value, float(low), float(high), int(sizes.sum()))

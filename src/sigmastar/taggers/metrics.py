"""How good tags are: accuracy, on all words and on unknown ones, and the F1 of chunks.

    precision = right chunks / found chunks,   recall = right chunks / true chunks,   F1 = 2 P R / (P + R)

Chunks are spans of words written as tags: B-X at the first word, I-X inside, O outside. A chunk ends where O,
a B, or an I of another kind comes; an I that no chunk of its kind precedes begins one, as in the scoring of
the CoNLL shared tasks. A chunk is right if its first word, its last word and its kind are. Intervals draw
sentences, not words: words of one sentence are not independent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.intervals import Estimate, ratio_of_sums
from sigmastar.taggers.data.feature_templates import word_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.model.tagger import Tagger
from sigmastar.taggers.model.weighted_tagger import WeightedTagger


@dataclass(frozen=True)
class TaggingScores:
    """Figures with their 95% intervals; None where there is nothing to measure."""

    accuracy: Estimate
    unknown_accuracy: Estimate | None
    chunk_f1: Estimate | None
    n_words: int
    n_unknown: int


def tagging_scores(
    gold: TaggedSentences, found: Sequence[str], known: Collection[str], rng: np.random.Generator
) -> TaggingScores:
    """Compare found tags with true ones.

    Parameters
    ----------
    gold : TaggedSentences
        Sentences with their true tags.
    found : sequence of str
        The tags of all words, one flat list.
    known : collection of str
        The words that the tagger was learned from.
    rng : Generator
        Source of random numbers, for the intervals.

    Returns
    -------
    TaggingScores
        Accuracy on all and on unknown words, and the F1 of chunks.
    """
    right = np.array([a == b for a, b in zip(gold.tags or [], found, strict=True)], dtype=float)
    taught = set(map(word_of, known))
    strange = np.array([word_of(kind) not in taught for kind in gold.types], dtype=float)[gold.type_codes]
    words = _by_sentence(np.ones(len(right)), gold)
    return TaggingScores(
        ratio_of_sums(_by_sentence(right, gold), words, rng),
        ratio_of_sums(_by_sentence(right * strange, gold), _by_sentence(strange, gold), rng)
        if strange.any()
        else None,
        ratio_of_sums(*chunk_counts(gold, found), rng) if is_chunk_tagging(gold.tags or []) else None,
        len(right),
        int(strange.sum()),
    )


def n_nonpositive(tagger: Tagger, sentences: TaggedSentences) -> int | None:
    """Sentences whose normalizer is not positive.

    Parameters
    ----------
    tagger : Tagger
        The model of a fitted estimator.
    sentences : TaggedSentences
        Sentences; tags are not used.

    Returns
    -------
    int or None
        How many there are; None for taggers without signed operators.
    """
    signed = [member for member in tagger.members if isinstance(member, WeightedTagger)]
    if not signed:
        return None
    lattice = tagger.lexicon.lattice(sentences)
    logs = [member.raw_marginals(tagger.lexicon, sentences, lattice).logs for member in signed]
    return int(np.isnan(logs).any(axis=0).sum())


def chunk_counts(gold: TaggedSentences, found: Sequence[str]) -> tuple[Floats, Floats]:
    """Right, true and found chunks by sentence.

    Parameters
    ----------
    gold : TaggedSentences
        Sentences with their true tags.
    found : sequence of str
        The tags of all words, one flat list.

    Returns
    -------
    tuple of arrays
        Of each sentence twice the right chunks, and true + found chunks; F1 is the ratio of the sums.
    """
    true, guessed = (chunk_spans(tags, gold.offsets) for tags in (gold.tags or [], found))
    names = {(int(a), int(b), gold.tags[int(a)][2:]) for a, b, _ in true} if gold.tags else set()
    hits = np.array([(int(a), int(b), found[int(a)][2:]) in names for a, b, _ in guessed], dtype=float)
    sentence_of = np.repeat(np.arange(len(gold)), gold.lengths)
    n = len(gold)
    right = np.bincount(sentence_of[guessed[:, 0]], hits, n).astype(float)
    return 2 * right, (
        np.bincount(sentence_of[true[:, 0]], minlength=n)
        + np.bincount(sentence_of[guessed[:, 0]], minlength=n)
    ).astype(float)


def is_chunk_tagging(tags: Sequence[str]) -> bool:
    """Whether all tags are O, B-X or I-X, with at least one chunk among them.

    >>> is_chunk_tagging(["B-NP", "I-NP", "O"]), is_chunk_tagging(["NOUN", "O"])
    (True, False)
    """
    return any(tag != "O" for tag in tags) and all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)


def chunk_spans(tags: Sequence[str], offsets: Int64s) -> Int64s:
    """Chunks as sorted rows (first word, word after the last, code of the kind); kinds coded by `kind_codes`.

    >>> chunk_spans(["B-NP", "I-NP", "O", "I-VP"], np.array([0, 4])).tolist()
    [[0, 2, 0], [3, 4, 1]]
    """
    kinds = kind_codes(tags)
    kind = np.array([kinds.get(tag[2:], -1) if tag != "O" else -1 for tag in tags], dtype=np.int64)
    begins = np.array([tag[:2] == "B-" for tag in tags], dtype=bool)
    first = np.zeros(len(tags), dtype=bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    before = np.where(first, -1, np.append(-1, kind[:-1]))
    starts = np.flatnonzero((kind >= 0) & (begins | (before != kind)))
    breaks = np.flatnonzero(first | begins | (before != kind))
    ends = np.append(breaks, len(tags))[np.searchsorted(breaks, starts, side="right")]
    return np.column_stack([starts, ends, kind[starts]])


def kind_codes(tags: Sequence[str]) -> dict[str, int]:
    """Codes of the kinds of chunks, in alphabetical order."""
    return {kind: code for code, kind in enumerate(sorted({tag[2:] for tag in set(tags) if tag != "O"}))}


def _by_sentence(values: Floats, gold: TaggedSentences) -> Floats:
    sentence_of = np.repeat(np.arange(len(gold)), gold.lengths)
    return np.bincount(sentence_of, values, len(gold)).astype(float)

"""How well parses agree with a treebank, by the conventions of EVALB (Sekine and Collins 1997).

A bracket is the label and the span of a phrase. Tags are no brackets; an outermost node that only marks
the root is none either. Punctuation is taken out of the sentence first: spans are counted over the words that
are left, and phrases without any are gone. PRT and ADVP count as one label, functions and traces not at all.
Brackets are matched as multisets: a chain (NP (NP ..)) counts as two.

    precision = matched / found      recall = matched / gold      F1 = 2 matched / (found + gold)

Which words are punctuation is decided by the gold tags, so that a wrong tag does not shift all spans.
Intervals come from drawing whole sentences again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.intervals import Estimate
from sigmastar.trees.data.brackets import TRACE, plain_label
from sigmastar.trees.data.tree import Tree

Bracket = tuple[str, int, int]

COLUMNS = (
    "matched",
    "gold",
    "found",
    "spans",
    "crossing",
    "uncrossed",
    "exact",
    "tags",
    "words",
    "sentences",
)


@dataclass(frozen=True)
class Conventions:
    """What is left out, and which labels are the same; as EVALB's COLLINS.prm."""

    punctuation: Collection[str] = frozenset({",", ":", "``", "''", ".", "PUNCT", "PU", "$,", "$.", "$("})
    roots: Collection[str] = frozenset({"TOP", "ROOT", "S1", "VROOT", ""})
    same: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"PRT": "ADVP"}))

    def label(self, label: str) -> str:
        """The label that is compared."""
        plain = plain_label(label)
        return self.same.get(plain, plain)


EVALB = Conventions()


@dataclass(frozen=True, eq=False)
class BracketScores:
    """Shares from 0 to 1 with intervals, but `crossing` per sentence; `counts` has one row per sentence."""

    precision: Estimate
    recall: Estimate
    f1: Estimate
    unlabelled_precision: Estimate
    unlabelled_recall: Estimate
    unlabelled_f1: Estimate
    exact: Estimate
    crossing: Estimate
    no_crossing: Estimate
    tagging: Estimate
    n_sentences: int
    n_left_out: int
    counts: Floats


@dataclass(frozen=True)
class Spans:
    """The words of a tree, their tags, and its phrases."""

    words: list[str]
    tags: list[str]
    phrases: list[Bracket]


def score_brackets(
    gold: Sequence[Tree],
    found: Sequence[Tree | None],
    rng: np.random.Generator,
    conventions: Conventions = EVALB,
    max_length: int | None = None,
    n_resamples: int = 1000,
) -> BracketScores:
    """Compare parses with a treebank; sentences of more than `max_length` words are left out.

    Parameters
    ----------
    gold : sequence of Tree
        The trees of the treebank.
    found : sequence of Tree or None
        A parse of each sentence; None counts as one without brackets.
    rng : numpy.random.Generator
        The source of chance for the intervals.
    conventions : Conventions
        Which labels and which punctuation count.
    max_length : int, optional
        Of a sentence that is scored, in words; all are scored if none is given.
    n_resamples : int
        How often sentences are drawn anew for the intervals.

    Returns
    -------
    BracketScores
        Every score with its interval.
    """
    if len(gold) != len(found):
        raise ValueError(f"{len(gold)} gold trees have {len(found)} parses; give one to each")
    rows = [
        row
        for number, (right, parse) in enumerate(zip(gold, found, strict=True), 1)
        if (row := _sentence_counts(right, parse, conventions, max_length, number)) is not None
    ]
    if not rows:
        raise InputError("there are no sentences to score; raise the length limit or give other trees")
    counts = np.array(rows, dtype=np.float64)
    drawn = rng.multinomial(len(rows), np.full(len(rows), 1.0 / len(rows)), size=n_resamples) @ counts
    estimates = {
        name: _estimate(counts.sum(axis=0), drawn, statistic, len(rows))
        for name, statistic in STATISTICS.items()
    }
    return BracketScores(**estimates, n_sentences=len(rows), n_left_out=len(gold) - len(rows), counts=counts)


def paired_f1(
    a: BracketScores, b: BracketScores, rng: np.random.Generator, n_resamples: int = 10_000
) -> float:
    """How sure it is that parser `a` has a higher F1 than `b` on these sentences: the share of resamples.

    Parameters
    ----------
    a : BracketScores
        Of one parser.
    b : BracketScores
        Of the other parser, on the same sentences.
    rng : numpy.random.Generator
        The source of chance.
    n_resamples : int
        How often sentences are drawn anew.

    Returns
    -------
    float
        From 0 to 1; a tie counts one half.
    """
    if len(a.counts) != len(b.counts):
        raise ValueError("both parsers must have been scored on the same sentences")
    n = len(a.counts)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=n_resamples)
    better = STATISTICS["f1"](drawn @ a.counts) - STATISTICS["f1"](drawn @ b.counts)
    return float((better > 0).mean() + (better == 0).mean() / 2)


def spans_of(tree: Tree, conventions: Conventions = EVALB) -> Spans:
    """Words without traces, with their tags, and all phrases over them; punctuation is still there.

    Parameters
    ----------
    tree : Tree
        Of one sentence.
    conventions : Conventions
        Which labels count, and as which.

    Returns
    -------
    Spans
        Words, tags and phrases.
    """
    words, tags, phrases = list[str](), list[str](), list[Bracket]()
    waiting: list[tuple[Tree | str, int, str]] = [
        (tree, -1, "")
    ]  # node, where it began once seen, label above
    while waiting:
        node, begin, above = waiting.pop()
        if isinstance(node, str):
            if above != TRACE:
                words.append(node)
                tags.append(plain_label(above))
        elif begin < 0:
            if any(not isinstance(child, str) for child in node.children) or len(node.children) > 1:
                waiting.append((node, len(words), above))
            waiting.extend((child, -1, node.label) for child in reversed(node.children))
        elif len(words) > begin and node.label not in conventions.roots:
            phrases.append((conventions.label(node.label), begin, len(words)))
    return Spans(words, tags, phrases)


def _sentence_counts(
    gold: Tree, found: Tree | None, conventions: Conventions, max_length: int | None, number: int
) -> list[float] | None:
    right = spans_of(gold, conventions)
    if not right.words or (max_length is not None and len(right.words) > max_length):
        return None
    parse = Spans(right.words, [""] * len(right.words), []) if found is None else spans_of(found, conventions)
    if parse.words != right.words:
        raise InputError(
            f"sentence {number}: the parse has other words than the gold tree, as {_difference(right, parse)}"
        )
    kept = np.array([tag not in conventions.punctuation for tag in right.tags])
    place = np.concatenate([[0], np.cumsum(kept)]).tolist()
    true, guessed = _without_punctuation(right, place), _without_punctuation(parse, place)
    matched = sum((Counter(true) & Counter(guessed)).values())
    spans = sum((Counter(b[1:] for b in true) & Counter(b[1:] for b in guessed)).values())
    crossing = _n_crossing(true, guessed)
    n_tags = sum(a == b for a, b, k in zip(right.tags, parse.tags, kept.tolist(), strict=True) if k)
    exact = found is not None and matched == len(true) == len(guessed)
    counts = [matched, len(true), len(guessed), spans, crossing, crossing == 0, exact, n_tags, kept.sum(), 1]
    return [float(count) for count in counts]


def _without_punctuation(spans: Spans, place: list[int]) -> list[Bracket]:
    moved = ((label, place[begin], place[end]) for label, begin, end in spans.phrases)
    return [bracket for bracket in moved if bracket[1] < bracket[2]]


def _n_crossing(true: list[Bracket], guessed: list[Bracket]) -> int:
    """How many guessed brackets overlap a true one without one being inside the other."""
    if not true or not guessed:
        return 0
    a, b = np.array([x[1:] for x in guessed])[:, None], np.array([x[1:] for x in true])[None]
    one = (a[..., 0] < b[..., 0]) & (b[..., 0] < a[..., 1]) & (a[..., 1] < b[..., 1])
    other = (b[..., 0] < a[..., 0]) & (a[..., 0] < b[..., 1]) & (b[..., 1] < a[..., 1])
    return int((one | other).any(axis=1).sum())


def _difference(right: Spans, parse: Spans) -> str:
    pairs = zip(right.words, parse.words, strict=False)
    here = next((pair for pair in pairs if pair[0] != pair[1]), None)
    if here is None:
        return f"{len(right.words)} words against {len(parse.words)}"
    return f"{here[0]!r} against {here[1]!r}"


def _share(
    above: str, below: str, weight_above: float = 1.0, more: str | None = None
) -> Callable[[Floats], Floats]:
    """weight * above / (below + more), of sums by column."""
    top, bottom = COLUMNS.index(above), COLUMNS.index(below)

    def statistic(sums: Floats) -> Floats:
        size = sums[..., bottom] + (0.0 if more is None else sums[..., COLUMNS.index(more)])
        return np.asarray(weight_above * sums[..., top] / np.where(size > 0, size, 1.0))

    return statistic


STATISTICS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "precision": _share("matched", "found"),
        "recall": _share("matched", "gold"),
        "f1": _share("matched", "found", 2.0, "gold"),
        "unlabelled_precision": _share("spans", "found"),
        "unlabelled_recall": _share("spans", "gold"),
        "unlabelled_f1": _share("spans", "found", 2.0, "gold"),
        "exact": _share("exact", "sentences"),
        "crossing": _share("crossing", "sentences"),
        "no_crossing": _share("uncrossed", "sentences"),
        "tagging": _share("tags", "words"),
    }
)


def _estimate(total: Floats, drawn: Floats, statistic: Callable[[Floats], Floats], n: int) -> Estimate:
    low, high = np.quantile(statistic(drawn), (0.025, 0.975))
    return Estimate(float(statistic(total)), float(low), float(high), n)

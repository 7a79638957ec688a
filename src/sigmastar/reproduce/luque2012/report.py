"""The page of the reproduction of Luque et al. (2012): figures and tables beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sigmastar.core.page import Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.luque2012.lexical import Scores
from sigmastar.reproduce.result import Claim, Reproduction, above, all_of, curves, drawn, gain, points

TITLE = "Luque, Quattoni, Balle and Carreras (2012): spectral learning for dependency parsing"
BIGRAM, EM = "spectral (bigrams)", "EM"
VITERBI = "Viterbi"
DETERMINISTIC = ("DET", "DET+F")
PAPER_TEST = {"DET": 69.45, "DET+F": 75.91, BIGRAM: 80.44, f"{EM} (100)": 81.68}
PAPER_DEV = {
    "DET": 68.52,
    f"DET, {VITERBI}": 62.65,
    "DET+F": 74.80,
    f"DET+F, {VITERBI}": 72.72,
    BIGRAM: 79.75,
    f"{EM} (100)": 80.51,
}
"""Peaks of figure 1 (9 states, and 15 of EM) and footnote 7."""
FAST = 100  # times: "about 150"


@dataclass(frozen=True)
class Point:
    """One learner with one number of states."""

    learner: str
    n_states: int
    dev: float
    test: float
    seconds: float
    dev_hits: tuple[float, ...] = ()  # of each sentence; their mean is the UAS
    test_hits: tuple[float, ...] = ()


@dataclass(frozen=True)
class HeadResults:
    """Everything that was measured."""

    points: Sequence[Point]
    lexical: Scores
    dfa: str
    n_train: int
    n_dev: int
    n_test: int

    def best(self, learner: str) -> Point:
        """The number of states with the best UAS on dev."""
        return max((point for point in self.points if point.learner == learner), key=lambda point: point.dev)

    @property
    def learners(self) -> list[str]:
        return list(dict.fromkeys(point.learner for point in self.points))


def reproduction(name: str, found: HeadResults, web: HeadResults | None, origin: Provenance) -> Reproduction:
    """The page; `web` are the results on the English Web Treebank, if there are any."""
    result = Reproduction(
        name,
        TITLE,
        _about(found),
        _tables(found, ""),
        _claims(found),
        drawn(lambda: {"figure1": _picture(found, "")}),
        _figures(found),
        origin,
    )
    if web is None:
        return result
    place = ", English Web Treebank"
    about = (
        f"The English Web Treebank is beside it, with its tags (xpos) and trees: {web.n_train} sentences "
        f"for training, {web.n_dev} for development, {web.n_test} for the test. The paper has none of it."
    )
    return result.extended(
        [about],
        _tables(web, place),
        figures={"web": _figures(web)},
        pictures=drawn(lambda: {"figure1-web": _picture(web, place)}),
    )


def _figures(found: HeadResults) -> dict[str, Any]:
    return {
        "points": [_plain(point) for point in found.points],
        "lexical": [
            {"grammar": g, "states": n, "dev": float(np.mean(hits))} for (g, n), hits in found.lexical.items()
        ],
        "dfa": found.dfa,
    }


def _plain(point: Point) -> dict[str, Any]:
    return {name: value for name, value in asdict(point).items() if not name.endswith("hits")}


def _about(found: HeadResults) -> list[str]:
    return [
        "Automata stand alone here, as in the paper, without the weights of distances that parsers have.",
        f"The treebank is a sample of the paper's: {found.n_train} sentences for training where the paper "
        f"has about 39,800, {found.n_dev} for development, {found.n_test} for the test. Tags are given.",
        "Modifier sequences are counted once with their multiplicity and kernels are compiled, so EM is far "
        "from the minutes an iteration that the paper reports; times are of training alone, on one core.",
    ]


def _tables(found: HeadResults, where: str) -> list[Table]:
    papers = ({}, {}) if where else (PAPER_DEV, PAPER_TEST)
    rows = [
        (name, p.n_states, 100 * p.dev, papers[0].get(name), 100 * p.test, papers[1].get(name), p.seconds)
        for name in found.learners
        for p in [found.best(name)]
    ]
    head = ("learner", "states (dev)", "dev UAS", "paper's dev", "test UAS", "paper's test", "seconds")
    sizes = sorted({n for _, n in found.lexical if n is not None})
    columns = ("grammar", "alone", *(f"+ {n} states" for n in sizes))
    grammars = list(dict.fromkeys(grammar for grammar, _ in found.lexical))
    lexical: list[list[str | float]] = [
        [g, *(100 * float(np.mean(found.lexical[g, n])) for n in (None, *sizes))] for g in grammars
    ]
    return [
        Table(f"Table 1: tags alone, states chosen on dev{where}", head, rows),
        Table(f"Figure 2: lexicalized grammars, UAS on dev{where}", columns, lexical),
    ]


def _claims(found: HeadResults) -> list[Claim]:
    rng = np.random.default_rng(0)
    em, early = found.best(f"{EM} (100)"), found.best(f"{EM} (25)")
    first, spectral = found.best("DET+F"), found.best(BIGRAM)
    times = early.seconds / spectral.seconds
    return [
        _compared("DET+F largely outperforms DET (75.91 to 69.45)", first, found.best("DET"), rng, 0.02),
        _decoding_claim(found, rng),
        _compared("hidden states improve over DET+F (80.44 to 75.91)", spectral, first, rng),
        _compared(
            "EM is slightly better than the spectral method at its peak (81.68 to 80.44)", em, spectral, rng
        ),
        Claim(
            "the spectral method trains about 150 times faster than EM, after 25 iterations",
            f"{times:.1f} times ({spectral.seconds:.2f} s with {spectral.n_states} states, "
            f"{early.seconds:.2f} s with {early.n_states}; after 100 iterations "
            f"{em.seconds / spectral.seconds:.1f} times)",
            times >= FAST,
        ),
        _lexical_claim(found, rng),
    ]


def _compared(stated: str, one: Point, other: Point, rng: np.random.Generator, least: float = 0.0) -> Claim:
    """Two learners on the sentences of the test set."""
    gap = gain(one.test_hits, other.test_hits, rng)
    return Claim(stated, f"{100 * one.test:.2f} to {100 * other.test:.2f}: {points(gap)}", above(gap, least))


def _decoding_claim(found: HeadResults, rng: np.random.Generator) -> Claim:
    pairs = [(found.best(name), found.best(f"{name}, {VITERBI}")) for name in DETERMINISTIC]
    gaps = [gain(one.dev_hits, other.dev_hits, rng) for one, other in pairs]
    return Claim(
        "the tree of the best arcs (MBR) improves over the best tree on dev: DET 62.65 to 68.52, DET+F "
        "72.72 to 74.80 (footnote 7)",
        "; ".join(
            f"{one.learner} {100 * other.dev:.2f} to {100 * one.dev:.2f}: {points(gap)}"
            for (one, other), gap in zip(pairs, gaps, strict=True)
        ),
        all_of([above(gap) for gap in gaps]),
    )


def _lexical_claim(found: HeadResults, rng: np.random.Generator) -> Claim:
    """The number of states is chosen on every other sentence of dev, and judged on the rest."""
    gaps = {}
    for grammar in dict.fromkeys(grammar for grammar, _ in found.lexical):
        hits = {n: np.array(row) for (g, n), row in found.lexical.items() if g == grammar}
        chosen = max((n for n in hits if n is not None), key=lambda n: hits[n][::2].mean())
        gaps[grammar] = gain(hits[chosen][1::2], hits[None][1::2], rng)
    shown = "; ".join(f"{grammar} {points(gap)}" for grammar, gap in gaps.items())
    return Claim(
        "hidden states improve every lexicalized grammar",
        f"states chosen on one half of dev, judged on the other: {shown}",
        all_of([above(gap) for gap in gaps.values()]),
    )


def _picture(found: HeadResults, where: str) -> Picture:
    lines = {
        learner: np.array([(p.n_states, 100 * p.dev) for p in found.points if p.learner == learner]).T
        for learner in found.learners
        if not learner.startswith("DET")
    }
    about = "UAS on dev against the number of states, for spectral learners and EM after some iterations"
    labels = ("states", "UAS on dev", f"Figure 1: tags alone{where}")
    return curves(lines, *labels, f"{about}{where}.", log_x=False, log_y=False)

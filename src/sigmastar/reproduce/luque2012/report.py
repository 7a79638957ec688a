"""The page of the reproduction of Luque et al. (2012): figures and tables beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sigmastar.core.page import Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.luque2012.lexical import Scores
from sigmastar.reproduce.result import Claim, Reproduction, curves, drawn

TITLE = "Luque, Quattoni, Balle and Carreras (2012): spectral learning for dependency parsing"
BIGRAM, EM = "spectral (bigrams)", "EM"
PAPER_TEST = {"DET": 69.45, "DET+F": 75.91, BIGRAM: 80.44, f"{EM} (100)": 81.68}


@dataclass(frozen=True)
class Point:
    """One learner with one number of states."""

    learner: str
    n_states: int
    dev: float
    test: float
    seconds: float


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
        "points": [asdict(point) for point in found.points],
        "lexical": [{"grammar": g, "states": n, "dev": uas} for (g, n), uas in found.lexical.items()],
        "dfa": found.dfa,
    }


def _about(found: HeadResults) -> list[str]:
    return [
        "Automata stand alone here, as in the paper, without the weights of distances that parsers have.",
        f"The treebank is a sample of the paper's: {found.n_train} sentences for training where the paper "
        f"has about 39,800, {found.n_dev} for development, {found.n_test} for the test. Tags are given.",
        "Modifier sequences are counted once with their multiplicity and kernels are compiled, so EM is far "
        "from the minutes an iteration that the paper reports; times are of training alone, on one core.",
    ]


def _tables(found: HeadResults, where: str) -> list[Table]:
    paper = {} if where else PAPER_TEST
    rows = [
        (name, point.n_states, 100 * point.dev, 100 * point.test, paper.get(name), point.seconds)
        for name in found.learners
        for point in [found.best(name)]
    ]
    head = ("learner", "states (dev)", "dev UAS", "test UAS", "the paper's test UAS", "seconds")
    sizes = sorted({n for _, n in found.lexical if n is not None})
    columns = ("grammar", "alone", *(f"+ {n} states" for n in sizes))
    grammars = list(dict.fromkeys(grammar for grammar, _ in found.lexical))
    lexical: list[list[str | float]] = [
        [g, *(100 * found.lexical[g, n] for n in (None, *sizes))] for g in grammars
    ]
    return [
        Table(f"Table 1: tags alone, states chosen on dev{where}", head, rows),
        Table(f"Figure 2: lexicalized grammars, UAS on dev{where}", columns, lexical),
    ]


def _claims(found: HeadResults) -> list[Claim]:
    det, first = found.best("DET"), found.best("DET+F")
    spectral, em = found.best(BIGRAM), found.best(f"{EM} (100)")
    grammars = {grammar for grammar, _ in found.lexical}
    better = [
        max(uas for (g, n), uas in found.lexical.items() if g == grammar and n is not None)
        > found.lexical[grammar, None]
        for grammar in grammars
    ]
    return [
        Claim(
            "DET+F largely outperforms DET (75.91 to 69.45)",
            f"{100 * first.test:.2f} to {100 * det.test:.2f}",
            first.test > det.test + 0.02,
        ),
        Claim(
            "hidden states improve over DET+F (80.44 to 75.91)",
            f"{100 * spectral.test:.2f} to {100 * first.test:.2f}",
            spectral.test > first.test,
        ),
        Claim(
            "EM is slightly better than the spectral method at its peak (81.68 to 80.44)",
            f"{100 * em.test:.2f} to {100 * spectral.test:.2f}",
            em.test > spectral.test,
        ),
        Claim(
            "the spectral method trains about 150 times faster than EM",
            f"{em.seconds / spectral.seconds:.1f} times ({spectral.seconds:.2f} s and {em.seconds:.2f} s)",
            em.seconds > 100 * spectral.seconds,
        ),
        Claim(
            "hidden states improve every lexicalized grammar",
            f"they improve {sum(better)} of {len(better)}",
            all(better),
        ),
    ]


def _picture(found: HeadResults, where: str) -> Picture:
    lines = {
        learner: np.array([(p.n_states, 100 * p.dev) for p in found.points if p.learner == learner]).T
        for learner in found.learners
        if not learner.startswith("DET")
    }
    about = "UAS on dev against the number of states, for spectral learners and EM after some iterations"
    labels = ("states", "UAS on dev", f"Figure 1: tags alone{where}")
    return curves(lines, *labels, f"{about}{where}.", log_x=False, log_y=False)

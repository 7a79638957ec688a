"""Bailly, Carreras, Luque and Quattoni (2013), grammars as matrix completion: figures 1 to 3, tables 1, 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sigmastar import __version__
from sigmastar.core.model_format import hash_strings
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.resources import limited_threads
from sigmastar.reproduce import require_files
from sigmastar.reproduce.bailly2013.corpus import BASES, Problem, corpora, held_out, problems
from sigmastar.reproduce.bailly2013.dyck import dyck_points
from sigmastar.reproduce.bailly2013.report import Findings, reproduction
from sigmastar.reproduce.bailly2013.synthetic import FIGURES, LEARNERS, Plan, Point, points
from sigmastar.reproduce.corpora import wsj_files
from sigmastar.reproduce.result import Reproduction, Unfinished, part


@dataclass(frozen=True)
class Budget:
    """How much of everything to do."""

    plans: tuple[Plan, Plan]
    factors: tuple[float, ...]
    n_samples: int
    wsj: tuple[tuple[int, int], ...]
    drawn: tuple[tuple[int, int], ...]
    held_out: tuple[int, int] | None  # states, and symbols of the strings that completion sees


def _plan(sizes: tuple[int, ...], n_targets: int, n_refined: int, n_em: int, em_strings: int) -> Plan:
    each = dict.fromkeys(LEARNERS, n_targets) | {"nuclear norm, refined": n_refined, "EM": n_em}
    return Plan(sizes, each, {"EM": em_strings})


_QUICK_PLANS = (
    _plan((10**3, 10**5, 10**7), 4, 4, 4, 10**3),
    _plan((10**4, 10**6, 10**8), 4, 0, 0, 0),
)
_FULL_PLANS = (
    _plan(tuple(10**k for k in range(3, 9)), 50, 50, 4, 10**5),
    _plan(tuple(10**k for k in range(3, 10)), 50, 4, 0, 0),
)
QUICK = Budget(_QUICK_PLANS, (0.1,), 1, BASES[:4:3], BASES[:2], (5, 7))
FULL = Budget(_FULL_PLANS, (0.05, 0.2, 1.0), 3, BASES, BASES, (12, 10))


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read tag strings from `data_folder`, write pictures, figures and a page into `out`.

    A whole run takes an hour or more: one that was stopped goes on where it was, if `out` is the same.
    """
    require_files(data_folder, wsj_files(), "bailly2013")
    budget = QUICK if quick else FULL
    kept = Unfinished(out, f"{__version__}, seed {seed}, {budget}")
    found: list[Point] = []
    for number, (shape, plan) in enumerate(zip(FIGURES, budget.plans, strict=True)):
        with limited_threads(None):
            found += points(shape, plan, seed, part(progress, 0.3 * number, 0.3), kept)
    dyck = list(dyck_points(budget.factors, budget.n_samples, seed, part(progress, 0.6, 0.1), kept))
    wsj, drawn = corpora(data_folder, quick, seed)
    rows: list[Problem] = list(problems(wsj, budget.wsj, not quick, part(progress, 0.7, 0.1), kept))
    rows += problems(drawn, budget.drawn, False, part(progress, 0.8, 0.2), kept)
    others = tuple(held_out(data_folder, *budget.held_out, seed)) if budget.held_out else ()
    digest = hash_strings(wsj.strings, drawn.strings)
    findings = Findings(tuple(found), tuple(dyck), tuple(rows), others, (wsj.n_strings, drawn.n_strings))
    result = reproduction(findings, provenance(seed, digest))
    result.write(out)
    kept.finish()
    return result

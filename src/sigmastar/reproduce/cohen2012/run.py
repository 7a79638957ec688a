"""Cohen, Stratos, Collins, Foster and Ungar (2012): spectral learning of latent-variable PCFGs.

The paper proves and does not measure. Here: the error of recovered random grammars against the number of
trees, which theorem 3 says falls as 1 / sqrt(M); and the spectral method beside EM on the WSJ sample, in
likelihood, F1 and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sigmastar.core.demo import Progress, silent
from sigmastar.core.parallel import one_blas_thread
from sigmastar.core.provenance import hash_arrays, provenance
from sigmastar.reproduce.cohen2012.recovery import recover_grammars
from sigmastar.reproduce.cohen2012.report import Results, Trained, reproduction
from sigmastar.reproduce.papers import require_files
from sigmastar.reproduce.result import Reproduction, timed
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.estimator import PCFG, EMTreebankGrammar, SpectralTreebankGrammar, TreebankEstimator
from sigmastar.treebanks.metrics import score_brackets, spans_of
from sigmastar.treebanks.model.parser import FULL as PARSED
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree

NAME = "cohen2012"
PARTS = tuple(f"ptb_sample/wsj-{part}.mrg" for part in ("train", "dev", "test"))
MAX_LENGTH = 40


@dataclass(frozen=True)
class Scale:
    n_grammars: int
    sizes: tuple[int, ...]
    n_train: int | None
    n_parsed: int | None


FULL = Scale(5, tuple(500 * 2**k for k in range(8)), None, None)
QUICK = Scale(2, (500, 2000, 8000), 800, 60)


def learners(quick: bool, seed: int) -> dict[str, TreebankEstimator]:
    """Names and estimators; the states of EM and of the spectral method are those of one another."""
    sizes = (8,) if quick else (4, 8, 16)
    found: dict[str, TreebankEstimator] = {"PCFG": PCFG()}
    for n in sizes:
        found[f"spectral, {n} states"] = SpectralTreebankGrammar("spectral", n, random_state=seed)
        found[f"EM (40), {n} states"] = EMTreebankGrammar(n, random_state=seed)
        found[f"spectral clusters, EM (4), {n} states"] = SpectralTreebankGrammar(
            "spectral+em", n, random_state=seed
        )
    found["several binarizations"] = SpectralTreebankGrammar("best", random_state=seed)
    return found


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read `ptb_sample`, and write the page, figures and pictures into `out`."""
    require_files(data_folder, PARTS, NAME)
    train, dev, test = (read_brackets(data_folder / part) for part in PARTS)
    out.mkdir(parents=True, exist_ok=True)
    with one_blas_thread():
        found = experiment(train, dev, test, quick, seed, progress)
    lengths = [[sum(1 for _ in tree.nodes()) for tree in part] for part in (train, dev, test)]
    result = reproduction(NAME, found, provenance(seed, hash_arrays(*lengths)))
    result.write(out)
    progress("done", 1.0)
    return result


def experiment(
    train: list[Tree], dev: list[Tree], test: list[Tree], quick: bool, seed: int, progress: Progress
) -> Results:
    """Recovery, then the treebank."""
    scale = QUICK if quick else FULL
    first = [
        *recover_grammars(
            scale.n_grammars, 2, scale.sizes, seed, lambda text, done: progress(text, 0.5 * done)
        )
    ]
    used, trained = train[: scale.n_train], list[Trained]()
    table = learners(quick, seed)
    for number, (name, estimator) in enumerate(table.items()):
        progress(name, 0.5 + 0.5 * number / len(table))
        estimator.fit(used[:200])  # compiles, not timed
        estimator.predict([spans_of(used[0]).words])
        _, seconds = timed(lambda estimator=estimator: estimator.fit(used))  # type: ignore[misc]
        scored = [_scored(estimator, part[: scale.n_parsed], seed) for part in (dev, test)]
        logs = estimator.model_.tree_log_probabilities(phrases(dev[: scale.n_parsed]))
        trained.append(Trained(name, seconds, *scored[0], scored[1][0], tuple(logs.tolist())))
    return Results(first, trained, len(used), len(dev), len(test))


def _scored(estimator: TreebankEstimator, trees: Sequence[Tree], seed: int) -> tuple[float, int]:
    """F1 on sentences of up to 40 words, and how many were parsed by a fallback."""
    short = [tree for tree in trees if 0 < len(spans_of(tree).words) <= MAX_LENGTH]
    parses = estimator.parse([spans_of(tree).words for tree in short])
    found: list[Tree | None] = [parse.tree for parse in parses]
    scores = score_brackets(short, found, np.random.default_rng(seed), n_resamples=2)
    return scores.f1.value, sum(parse.how != PARSED for parse in parses)

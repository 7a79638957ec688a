"""Cohen, Stratos, Collins, Foster and Ungar (2012): spectral learning of latent-variable PCFGs.

The paper proves and does not measure. Here: the error of recovered random grammars against the number of
trees, which by theorem 3 falls as 1 / sqrt(M); and the spectral method beside EM on the WSJ sample, in
likelihood, F1 and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.resources import one_blas_thread
from sigmastar.pcfg.theory.latent_pcfg import TheoremConstants, expected_visits
from sigmastar.reproduce import require_files
from sigmastar.reproduce.cohen2012.report import (
    NODES,
    TREE_SIZE,
    Certified,
    Recovery,
    Results,
    Trained,
    reproduction,
)
from sigmastar.reproduce.result import Reproduction, part, timed
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.estimator import PCFG, EMTreebankGrammar, SpectralTreebankGrammar, TreebankEstimator
from sigmastar.treebanks.metrics import score_brackets, spans_of
from sigmastar.treebanks.model.parser import FULL as PARSED
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.learn import learn_latent_pcfg
from sigmastar.trees.model.generators import make_latent_pcfg

NAME = "cohen2012"
PARTS = tuple(f"ptb_sample/wsj-{part}.mrg" for part in ("train", "dev", "test"))
MAX_LENGTH = 40
N_STATES, N_FRESH = 2, 300  # of random grammars; trees that their recovery is judged on


@dataclass(frozen=True)
class Scale:
    n_grammars: int
    sizes: tuple[int, ...]
    n_train: int | None
    n_parsed: int | None


FULL = Scale(5, tuple(500 * 2**k for k in range(8)), None, None)
QUICK = Scale(2, (500, 2000, 8000), 800, 60)


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read `ptb_sample`, and write the page, figures and pictures into `out`."""
    require_files(data_folder, PARTS, NAME)
    train, dev, test = (read_brackets(data_folder / part) for part in PARTS)
    out.mkdir(parents=True, exist_ok=True)
    scale = QUICK if quick else FULL
    with one_blas_thread():
        recovery = list(recover_grammars(scale.n_grammars, scale.sizes, seed, part(progress, 0.0, 0.5)))
        used = train[: scale.n_train]
        parts = used, dev[: scale.n_parsed], test[: scale.n_parsed]
        trained = list(train_grammars(*parts, quick, seed, part(progress, 0.5, 0.5)))
    certified = [theorem(number, max(scale.sizes), seed) for number in range(scale.n_grammars)]
    found = Results(recovery, certified, trained, len(used))
    lengths = [[sum(1 for _ in tree.nodes()) for tree in trees] for trees in (train, dev, test)]
    result = reproduction(NAME, found, provenance(seed, hash_arrays(*lengths)))
    result.write(out)
    progress("done", 1.0)
    return result


def recover_grammars(
    n_grammars: int, sizes: tuple[int, ...], seed: int, progress: Progress
) -> Iterator[Recovery]:
    """Every way of choosing nodes, on growing samples of each of some random grammars.

    The error of a fitted grammar is the median over fresh trees of |p'(tree) / p(tree) - 1|.
    """
    for number in range(n_grammars):
        truth = make_latent_pcfg(np.random.default_rng([seed, number]), N_STATES)
        fresh = production_trees(truth.sample(N_FRESH, np.random.default_rng([seed, number, 1])))
        expected = truth.value(fresh)
        trees = truth.sample(max(sizes), np.random.default_rng([seed, number, 2]))
        for step, size in enumerate(sizes):
            done = (number + step / len(sizes)) / n_grammars
            progress(f"grammar {number + 1} of {n_grammars}, {size} trees", done)
            for name, nodes in NODES.items():
                rng = np.random.default_rng([seed, number, size])
                try:
                    found = learn_latent_pcfg(trees[:size], N_STATES, nodes, rng).value(fresh)
                    error = float(np.median(np.abs(found / expected - 1.0)))
                except ValueError:  # of some non-terminal no node was drawn
                    error = float("nan")
                yield Recovery(number, name, size, error)


def theorem(number: int, n_trees: int, seed: int) -> Certified:
    """What theorem 3 says of a random grammar; each tree gives one example, of one symbol or another."""
    constants = TheoremConstants(make_latent_pcfg(np.random.default_rng([seed, number]), N_STATES))
    visits = np.array([row.sum() for row in expected_visits(constants.grammar).values()])
    rarest = n_trees * visits[visits > 0].min() / visits.sum()
    required = np.log10(constants.samples(0.1, 0.05, TREE_SIZE))
    certified = constants.log_certified(rarest, 0.05, TREE_SIZE) / np.log(10)
    found = (constants.smallest, constants.conditioning, tuple(constants.problems()))
    return Certified(number, *found, float(required), float(certified))


def learners(quick: bool, seed: int) -> dict[str, TreebankEstimator]:
    """Names and estimators; the states of EM and of the spectral method are those of one another."""
    found: dict[str, TreebankEstimator] = {"PCFG": PCFG()}
    for n in (8,) if quick else (4, 8, 16):
        spectral, clusters = (
            SpectralTreebankGrammar(m, n, random_state=seed) for m in ("spectral", "spectral+em")
        )
        found[f"spectral, {n} states"] = spectral
        found[f"EM (40), {n} states"] = EMTreebankGrammar(n, random_state=seed)
        found[f"spectral clusters, EM (4), {n} states"] = clusters
    found["several binarizations"] = SpectralTreebankGrammar("best", random_state=seed)
    return found


def train_grammars(
    train: list[Tree], dev: list[Tree], test: list[Tree], quick: bool, seed: int, progress: Progress
) -> Iterator[Trained]:
    """Every learner of the treebank, timed."""
    table = learners(quick, seed)
    for number, (name, estimator) in enumerate(table.items()):
        progress(name, number / len(table))
        estimator.fit(train[:200])  # compiles, not timed
        estimator.predict([spans_of(train[0]).words])
        _, seconds = timed(lambda estimator=estimator: estimator.fit(train))  # type: ignore[misc]
        (dev_f1, n_fallback), (test_f1, _) = (_scored(estimator, trees, seed) for trees in (dev, test))
        logs = estimator.model_.tree_log_probabilities(phrases(dev))
        proper = not name.startswith(("spectral, ", "several"))
        yield Trained(name, seconds, dev_f1, n_fallback, test_f1, tuple(logs.tolist()), proper)


def _scored(estimator: TreebankEstimator, trees: Sequence[Tree], seed: int) -> tuple[float, int]:
    """F1 on sentences of up to 40 words, and how many were parsed by a fallback."""
    short = [tree for tree in trees if 0 < len(spans_of(tree).words) <= MAX_LENGTH]
    parses = estimator.parse([spans_of(tree).words for tree in short])
    found: list[Tree | None] = [parse.tree for parse in parses]
    scores = score_brackets(short, found, np.random.default_rng(seed), n_resamples=2)
    return scores.f1.value, sum(parse.how != PARSED for parse in parses)

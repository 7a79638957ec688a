"""Balle, Quattoni and Carreras (2014), tutorial on spectral learning: the experiment with PoS tags.

Next-symbol error on sequences of the 12 universal tags against the number of states, for spectral
automata from string and from substring statistics, n-grams and EM, with training times. The learners
that came later (`fast`, `convex`, `auto`) stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.automata.counts import bases
from sigmastar.automata.counts.bases import Basis, Statistic, most_frequent
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.em import EMSettings, learn_em
from sigmastar.automata.learn.ngram import ORDERS, learn_ngram
from sigmastar.automata.learn.repair import filter_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.model_format import hash_strings
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.resources import one_blas_thread
from sigmastar.reproduce import require_files
from sigmastar.reproduce.balle2014.report import reproduction
from sigmastar.reproduce.balle2014.tagging import with_tagging
from sigmastar.reproduce.balle2014.transduction import with_transduction
from sigmastar.reproduce.balle2014.trials import (
    BIGRAM,
    EM,
    FILTERED,
    STRING,
    SUBSTRING,
    UNIGRAM,
    Found,
    Split,
    Sweep,
    Trial,
    best_on_dev,
)
from sigmastar.reproduce.corpora import TAG_MAP, read_tag_map, read_tags
from sigmastar.reproduce.result import Reproduction, timed

NAME = "balle2014"
PARTS = tuple(f"ptb_sample/wsj-{part}.dp" for part in ("train", "dev", "test"))

N_WARM = 60  # sentences of fits that are not timed: they compile the kernels


@dataclass(frozen=True)
class Scale:
    """How much is tried."""

    sizes: tuple[int, ...]  # of spectral automata; one decomposition serves them all
    basis_sizes: tuple[int, ...]
    em_sizes: tuple[int, ...]
    n_seeds: int
    all_strings: bool  # string statistics on every prefix and suffix of the sample too


FULL = Scale(tuple(range(1, 51)), (100, 200, 300, 500), (2, 5, 10, 15, 20, 30, 40, 50), 5, True)
QUICK = Scale((1, 2, 3, 5, 7, 10, 13, 15, 20, 25, 30, 40, 50), (100, 500), (5, 10, 20), 2, False)


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read `ptb_sample` and `universal_tagset`, and write the page, figures and pictures into `out`."""
    split = read_split(data_folder)
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad place is reported at once
    with one_blas_thread():
        found = experiment(split, QUICK if quick else FULL, seed, progress)
    origin = provenance(seed, hash_strings(split.train, split.dev, split.test))
    result = reproduction(NAME, found, origin, np.random.default_rng(seed))
    with one_blas_thread():
        result = with_tagging(result, data_folder, quick, seed, progress)
        result = with_transduction(result, data_folder, quick, seed, progress)
    result.write(out)
    progress("done", 1.0)
    return result


def read_split(folder: Path) -> Split:
    """The tag sequences of the three parts of the treebank sample."""
    require_files(folder, (*PARTS, TAG_MAP), NAME)
    mapping = read_tag_map(folder / TAG_MAP)
    return Split(*(read_tags(folder / part, mapping) for part in PARTS))


def experiment(split: Split, scale: Scale, seed: int, progress: Progress) -> Found:
    progress("compiling", 0.0)
    _warm_up(split.train.select(np.arange(min(N_WARM, len(split.train)))))
    progress("n-grams", 0.05)
    ngrams = [_ngram(split, order) for order in ORDERS]
    sweeps, spectral = {}, list[Trial]()
    for learner, setting, statistic, choose in _bases(split.train, scale):
        progress(f"{learner} statistics, {setting}", 0.1)
        sweep = Sweep.of(split.train, choose, statistic, max(scale.sizes))
        sweeps[learner, setting] = sweep
        spectral += sweep.trials(split, learner, setting, scale.sizes)
    em = list(_em(split, scale, seed, progress))
    others = list(_others(split, spectral, seed, progress))
    return Found(split, ngrams, sweeps, spectral, em, others)


def _bases(strings: Strings, scale: Scale) -> Iterator[tuple[str, str, Statistic, Callable[[], Basis]]]:
    """Learner, setting, statistic and choice of basis of every curve."""
    short = partial(bases.all_up_to, strings.alphabet)
    yield SUBSTRING, "all strings up to length 1", bases.SUBSTRING, partial(short, 1)
    yield STRING, "all strings up to length 2", bases.STRING, partial(short, 2)
    for size in scale.basis_sizes:
        for learner, statistic in ((STRING, bases.STRING), (SUBSTRING, bases.SUBSTRING)):
            yield learner, f"K = {size}", statistic, partial(most_frequent, strings, size, size, statistic)
    if scale.all_strings:
        yield STRING, "all that occur", bases.STRING, partial(bases.all_occurring, strings)


def _ngram(split: Split, order: int) -> Trial:
    model, seconds = timed(lambda: learn_ngram(split.train, order))
    names = {1: UNIGRAM, 2: BIGRAM}
    return split.judge(names.get(order, f"{order}-gram"), "Witten-Bell", None, seconds, model)


def _em(split: Split, scale: Scale, seed: int, progress: Progress) -> Iterator[Trial]:
    work = sum(scale.em_sizes)
    done = 0
    for n_states in scale.em_sizes:
        for start in range(scale.n_seeds):
            progress(f"EM with {n_states} states, start {start + 1}", 0.2 + 0.6 * done / work)
            rng = np.random.default_rng([seed, n_states, start])
            fit, seconds = timed(lambda n=n_states, rng=rng: learn_em(split.train, n, rng))  # type: ignore[misc]
            setting = f"{n_states} states"
            yield split.judge(EM, setting, n_states, seconds, fit.automaton, start)
        done += n_states


def _others(split: Split, spectral: Sequence[Trial], seed: int, progress: Progress) -> Iterator[Trial]:
    """The best substring automaton behind the restart filter, and our own learners."""
    chosen = best_on_dev(trial for trial in spectral if trial.learner == SUBSTRING)
    assert isinstance(chosen.model, WeightedAutomaton)
    automaton = chosen.model
    rng = np.random.default_rng(seed)
    model, seconds = timed(lambda: filter_automaton(automaton, split.train, rng))
    yield split.judge(FILTERED, chosen.setting, chosen.n_states, chosen.seconds + seconds, model)
    for number, (name, learn) in enumerate(LEARNERS.items()):
        progress(name, 0.8 + 0.05 * number)
        (model, n_states), seconds = timed(lambda learn=learn: learn(split.train, seed))  # type: ignore[misc]
        yield split.judge(name, "own choice", n_states, seconds, model)


def _learner(method: str) -> Callable[[Strings, int], tuple[SequenceModel, int]]:
    """What the estimator learns with defaults, and its number of states."""

    def learn(strings: Strings, seed: int) -> tuple[SequenceModel, int]:
        model: Any = SpectralAutomaton(method, random_state=seed).fit(strings).model_
        return model, getattr(model, "automaton", model).n_states

    return learn


LEARNERS = {method: _learner(method) for method in ("fast", "convex", "auto")}


def _warm_up(strings: Strings) -> None:
    """Fit everything once on a few sentences, so that no time below is spent on compiling."""
    rng = np.random.default_rng(0)
    sweep = Sweep.of(strings, partial(most_frequent, strings, 300, 300, bases.SUBSTRING), bases.SUBSTRING, 3)
    filter_automaton(sweep.automaton(1), strings, rng)
    learn_em(strings, 2, rng, EMSettings(max_iter=4))
    learn_ngram(strings, 2)
    for learn in LEARNERS.values():
        learn(strings, 0)

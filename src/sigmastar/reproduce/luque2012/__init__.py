"""Luque, Quattoni, Balle and Carreras (2012): spectral learning for non-deterministic dependency parsing.

Figure 1 (UAS on dev against the number of states: spectral, and EM after 5, 10, 25 and 100 iterations),
table 1 (test), figure 2 (lexicalized grammars alone and with hidden states), training times and a DFA; on a
sample of the paper's treebank and, where it is there and time is no matter, on the English Web Treebank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.resources import one_blas_thread
from sigmastar.dependency.counts import bigram_views
from sigmastar.dependency.data.conllu import read_treebank
from sigmastar.dependency.data.projectivity import lift
from sigmastar.dependency.data.sequences import WeightedSequences, head_sorts
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.counting import learn_deterministic
from sigmastar.dependency.learn.dfa import approximate_dfa
from sigmastar.dependency.learn.em import climb, clustered_start, random_start
from sigmastar.dependency.learn.parser import Recipe, learn_parser, learn_vocabulary, modifier_sequences
from sigmastar.dependency.learn.spectral import learn_spectral
from sigmastar.dependency.model.decoders import BestTreeDecoder
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.reproduce import require_files
from sigmastar.reproduce.luque2012.lexical import lexical_scores
from sigmastar.reproduce.luque2012.report import (
    BIGRAM,
    DETERMINISTIC,
    EM,
    VITERBI,
    HeadResults,
    Point,
    reproduction,
)
from sigmastar.reproduce.result import Reproduction, timed

NAME = "luque2012"
PARTS = tuple(f"ptb_sample/wsj-{part}.dp" for part in ("train", "dev", "test"))
WEB_PARTS = tuple(f"ud/en_ewt-{part}.conllu.gz" for part in ("train", "dev", "test"))
ITERATIONS = (5, 10, 25, 100)


@dataclass(frozen=True)
class Scale:
    sizes: tuple[int, ...]
    lexical_sizes: tuple[int, ...]


FULL = Scale(tuple(range(2, 16)), tuple(range(2, 11)))
QUICK = Scale((2, 6, 10), (4,))
WEB = Scale((2, 6, 10, 14), (4, 8))


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read `ptb_sample`, and EWT where it is there, and write the page, figures and pictures into `out`."""
    require_files(data_folder, PARTS, NAME)
    with_web = not quick and all((data_folder / part).is_file() for part in WEB_PARTS)
    news = [read_treebank(data_folder / part) for part in PARTS]
    web = [read_treebank(data_folder / part) for part in WEB_PARTS] if with_web else []
    out.mkdir(parents=True, exist_ok=True)
    with one_blas_thread():
        found = experiment(news, QUICK if quick else FULL, seed, progress)
        other = experiment(_lifted(web), WEB, seed, progress) if with_web else None
    origin = provenance(seed, hash_arrays(*(part.head for part in [*news, *web])))
    result = reproduction(NAME, found, other, origin)
    result.write(out)
    progress("done", 1.0)
    return result


def _lifted(parts: list[DependencyTreebank]) -> list[DependencyTreebank]:
    """Training trees made projective; the others stay as they are."""
    train = parts[0]
    return [train.with_heads(lift(train.head, train.sentence_offsets)), *parts[1:]]


def experiment(
    parts: Sequence[DependencyTreebank], scale: Scale, seed: int, progress: Progress
) -> HeadResults:
    """From the parts for training, development and test. Automata parse alone, and no arc is ruled out."""
    train, dev, test = parts
    recipe = Recipe("det+f", symbols="xpos", distances=False)
    parser = learn_parser(train, recipe, np.random.default_rng(seed))
    parser = parser.with_parts(prior=replace(parser.prior, pruning=0.0))
    sequences = modifier_sequences(train, learn_vocabulary(train, "xpos", False))
    learn_spectral(sequences, 2)  # compiles, not timed
    climb(sequences, random_start(sequences, 2, np.random.default_rng(seed)), 1)
    points = []
    for number, (learner, n_states, seconds, automata) in enumerate(_automata(sequences, scale, seed)):
        progress(f"{learner}, {n_states} states", min(0.7, 0.01 * number))
        judged = parser.with_parts(automata=automata)
        points.append(_point(learner, n_states, seconds, judged, dev, test))
        if learner in DETERMINISTIC:
            judged = judged.with_parts(decoder=BestTreeDecoder())
            points.append(_point(f"{learner}, {VITERBI}", n_states, seconds, judged, dev, test))
    progress("lexicalized grammars", 0.7)
    hidden = {n: _from_spectrum(sequences, n, seed) for n in scale.lexical_sizes}
    lexical = lexical_scores(train, dev, parser, hidden)
    return HeadResults(points, lexical, _dfa(sequences, seed), len(train), len(dev), len(test))


def _automata(
    sequences: WeightedSequences, scale: Scale, seed: int
) -> Iterator[tuple[str, int, float, HeadAutomata]]:
    """Learner, states, seconds and automata of every point."""
    for learner, first in (("DET", False), ("DET+F", True)):
        automata, seconds = timed(partial(learn_deterministic, sequences, first))
        yield learner, 1 + first, seconds, automata
    for n in scale.sizes:
        learners = {
            BIGRAM: partial(learn_spectral, sequences, n, bigram_views),
            "spectral, longer views": partial(learn_spectral, sequences, n),
            "spectral start, EM (10)": partial(_from_spectrum, sequences, n, seed),
        }
        for learner, learn in learners.items():
            automata, seconds = timed(learn)
            yield learner, n, seconds, automata
        total, automata = 0.0, random_start(sequences, n, np.random.default_rng([seed, n]))
        for done, iterations in pairwise((0, *ITERATIONS)):
            fit, seconds = timed(partial(climb, sequences, automata, iterations - done, tolerance=0.0))
            total, automata = total + seconds, fit.latest
            yield f"{EM} ({iterations})", n, total, automata


def _from_spectrum(sequences: WeightedSequences, n_states: int, seed: int) -> HeadAutomata:
    return climb(sequences, clustered_start(sequences, n_states, np.random.default_rng(seed)), 10).latest


def _point(
    learner: str,
    n_states: int,
    seconds: float,
    parser: DependencyParser,
    dev: DependencyTreebank,
    test: DependencyTreebank,
) -> Point:
    on_dev, on_test = (sentence_hits(parser.parse(part).heads, part) for part in (dev, test))
    hits = (tuple(on_dev.tolist()), tuple(on_test.tolist()))
    return Point(learner, n_states, float(on_dev.mean()), float(on_test.mean()), seconds, *hits)


def sentence_hits(heads: Int32s, part: DependencyTreebank) -> Floats:
    """Right heads of each sentence over the mean length of a sentence, so that the mean is the UAS."""
    right = np.add.reduceat((heads == part.head).astype(float), part.sentence_offsets[:-1])
    return np.asarray(right * len(part) / part.n_words)


def _dfa(sequences: WeightedSequences, seed: int) -> str:
    """Left modifiers of NN, as figure 3, from nine spectral states."""
    sort = head_sorts(sequences.alphabet).index(("NN", "left"))
    automata = learn_spectral(sequences, 9, bigram_views, deterministic_share=0.0)
    return approximate_dfa(automata.automaton(sort), *sequences.of_sort(sort)).to_dot("NN left")

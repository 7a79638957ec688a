"""From a treebank to a parser: symbols, modifier sequences, automata, and where asked arcs and labels.

det, det+f       counted: one state, or another before the first modifier
spectral, bigram recover: blocks of long or of the paper's views, factors, operators
em               EM from a random start
spectral+em      states from two views: correlations, clusters, shrunk counts, EM

How many states each head automaton has, where that is not given: as many as held-out modifiers are most
probable with.

    n(sort) = argmax over candidates n of sum over held-out sequences x of the sort of log P_n(x | sort)

A fifth of all sequences is held out, and every candidate is learned from the rest. Fewer states win
ties. The amount of data stays a bound (`state_limits`): the numbers found here are what a learner may use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.counts import bigram_views
from sigmastar.dependency.data.projectivity import lift, lift_with_marks
from sigmastar.dependency.data.sequences import SYMBOLS, ModifierSequences, WeightedSequences
from sigmastar.dependency.data.treebank import DependencyTreebank, require_lengths
from sigmastar.dependency.learn.arcs import ARC_EPOCHS, learn_arcs, learn_labels
from sigmastar.dependency.learn.counting import learn_deterministic, learn_distances
from sigmastar.dependency.learn.em import clustered_start, learn_heads_em, random_start, sort_likelihoods
from sigmastar.dependency.learn.spectral import learn_spectral
from sigmastar.dependency.model.arcs import ArcPrior
from sigmastar.dependency.model.decoders import DECODERS
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import MOST_WORDS, DependencyParser
from sigmastar.dependency.model.vocabulary import N_COARSE, Vocabulary

Learner = Callable[[WeightedSequences, "int | Int64s", np.random.Generator], HeadAutomata]

CANDIDATES = (1, 2, 3, 5, 7, 10, 14)
_SHARE = 0.2  # held out


def choose_states(
    sequences: WeightedSequences,
    learner: Learner,
    rng: np.random.Generator,
    candidates: tuple[int, ...] = CANDIDATES,
    progress: Progress = silent,
) -> Int64s:
    """The best number of states of every sort."""
    scores = held_out_scores(sequences, learner, rng, candidates, progress)
    best: Int64s = np.array(candidates, dtype=np.int64)[np.argmax(scores, axis=0)]
    return best


def held_out_scores(
    sequences: WeightedSequences,
    learner: Learner,
    rng: np.random.Generator,
    candidates: tuple[int, ...],
    progress: Progress = silent,
) -> Floats:
    """The log-likelihood of what is held out, for every candidate and sort."""
    held = rng.binomial(sequences.counts.astype(np.int64), _SHARE).astype(np.float64)
    seen, unseen = sequences.with_counts(sequences.counts - held), sequences.with_counts(held)
    scores = []
    for number, n in enumerate(candidates):
        progress(f"number of states: {n}", number / len(candidates))
        scores.append(sort_likelihoods(learner(seen, n, rng), unseen))
    return np.array(scores)


LEAST_COUNT = 2  # of a word to be known by itself
MOST_SYMBOLS = 150  # operators grow with the square of their number
ARCS = ("none", "trained", "lexical")
PROJECTIVE = ("lift", "pseudo")
EM_ITERATIONS = 50
CLUSTERED_ITERATIONS = 30
CLUSTERED_STARTS = 4


AutomataLearner = Callable[..., HeadAutomata]
"""From sequences, a number of states, a source of chance, and options by name."""

METHODS: Mapping[str, AutomataLearner] = MappingProxyType(
    {
        "det": lambda sequences, n, rng, **_: learn_deterministic(sequences, first=False),
        "det+f": lambda sequences, n, rng, **_: learn_deterministic(sequences, first=True),
        "spectral": lambda sequences, n, rng, **_: learn_spectral(sequences, n),
        "bigram": lambda sequences, n, rng, **_: learn_spectral(sequences, n, bigram_views),
        "em": lambda sequences, n, rng, **options: learn_heads_em(
            sequences, n, rng, **{"start": random_start, "max_iter": EM_ITERATIONS, **options}
        ),
        "spectral+em": lambda sequences, n, rng, **options: learn_heads_em(
            sequences,
            n,
            rng,
            start=clustered_start,
            **{"max_iter": CLUSTERED_ITERATIONS, "n_seeds": CLUSTERED_STARTS, **options},
        ),
    }
)
"""Ways to learn head automata; `bigram` is algorithm 1 of Luque et al. (2012) as it stands there."""


@dataclass(frozen=True)
class Recipe:
    """How a parser is learned.

    Parameters
    ----------
    method : str
        One of `METHODS`: how the automata are learned.
    n_states : int or None
        Largest number of states per automaton; None: chosen by held-out likelihood.
    symbols : str
        What automata read: one of `SYMBOLS`.
    arcs : str
        "none": the automata decide; "trained": trained weights of arcs, siblings and grandparents, over
        tags; "lexical": the same over words too.
    distances : bool
        Whether arcs are weighed by how far they reach.
    decoding : str
        How automata decide: one of `DECODERS`.
    arc_epochs : int
        Passes over the trees when arcs are trained.
    projective : str
        Trees that are not projective: "lift": lifted; "pseudo": lifted, with relations that tell of it, so
        that parses can have crossing arcs.
    options : mapping
        Of the method: `max_iter`, and of "em" `start`.
    """

    method: str = "spectral+em"
    n_states: int | None = 10
    symbols: str = "upos+xpos"
    arcs: str = "none"
    distances: bool = True
    decoding: str = "mbr"
    arc_epochs: int = ARC_EPOCHS
    projective: str = "lift"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables: dict[str, Collection[str]] = {
            "method": METHODS,
            "symbols": SYMBOLS,
            "arcs": ARCS,
            "decoding": DECODERS,
            "projective": PROJECTIVE,
        }
        for name, known in tables.items():
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, known))}")
        if self.decoding != "mbr" and self.arcs != "none":
            raise ValueError(f"decoding={self.decoding!r} is for automata alone: arcs={self.arcs!r} decide")


def learn_parser(
    treebank: DependencyTreebank,
    recipe: Recipe,
    rng: np.random.Generator,
    progress: Progress = silent,
    classes: WordClasses | None = None,
) -> DependencyParser:
    """A parser from trees, made projective as the recipe says. Labels are learned if there are any.

    `classes` of words, from raw text, are read by arcs that read words.
    """
    if not len(treebank) or not treebank.has_heads:
        raise InputError("there are no trees to learn from: every word needs a head")
    require_lengths(treebank.lengths, MOST_WORDS)
    progress("head automata: counting", 0.0)
    marked = recipe.projective == "pseudo" and _is_labelled(treebank)
    treebank = lift_with_marks(treebank) if marked else _lifted(treebank)
    vocabulary = learn_vocabulary(treebank, recipe.symbols, lexical=recipe.arcs == "lexical")
    vocabulary = replace(vocabulary, classes=classes)
    sequences = modifier_sequences(treebank, vocabulary)
    of_automata, of_arcs, of_labels = _stages(recipe, treebank, progress)
    automata = _learn_automata(sequences, recipe, rng, of_automata)
    prior = learn_prior(treebank, vocabulary, sequences, recipe.distances)
    parser = DependencyParser(vocabulary, automata, prior, DECODERS[recipe.decoding]())
    if recipe.arcs != "none":
        trained = learn_arcs(vocabulary, prior, treebank, rng, recipe.arc_epochs, of_arcs)
        parser = parser.with_parts(decoder=trained)
    if _is_labelled(treebank):
        labeller = learn_labels(vocabulary, treebank, rng, progress=of_labels)
        parser = parser.with_parts(labeller=replace(labeller, marked=marked))
    return parser


def _lifted(treebank: DependencyTreebank) -> DependencyTreebank:
    return treebank.with_heads(lift(treebank.head, treebank.sentence_offsets))


def _stages(
    recipe: Recipe, treebank: DependencyTreebank, progress: Progress
) -> tuple[Progress, Progress, Progress]:
    """The parts of the whole that automata, arcs and labels take, roughly as their times go."""
    shares = np.array([1.0, 6.0 * (recipe.arcs != "none"), 2.0 * _is_labelled(treebank)])
    ends = [0.0, *(np.cumsum(shares) / shares.sum()).tolist()]
    first, second, third = (stage(progress, *ends[k : k + 2]) for k in range(3))
    return first, second, third


def _is_labelled(treebank: DependencyTreebank) -> bool:
    return bool(set(treebank.deprel) - {"_"})


def _learn_automata(
    sequences: WeightedSequences, recipe: Recipe, rng: np.random.Generator, progress: Progress
) -> HeadAutomata:
    learner = METHODS[recipe.method]
    if recipe.n_states is not None:
        return learner(sequences, recipe.n_states, rng, progress=progress, **recipe.options)
    options = {"n_seeds": 1, **recipe.options}  # one start tells how many states are worth their while
    chosen = choose_states(
        sequences, lambda *given: learner(*given, **options), rng, progress=stage(progress, 0.0, 0.8)
    )
    return learner(sequences, chosen, rng, progress=stage(progress, 0.8, 1.0), **recipe.options)


def learn_prior(
    treebank: DependencyTreebank, vocabulary: Vocabulary, sequences: WeightedSequences, distances: bool
) -> ArcPrior:
    """DET+F, the frequencies of symbols, distances where asked for, and whether roots are single."""
    codes, n = vocabulary.codes(treebank), len(vocabulary.alphabet)
    roots = np.bincount(np.repeat(np.arange(len(treebank)), treebank.lengths), treebank.head == 0)
    return ArcPrior(
        learn_deterministic(sequences, first=True),
        np.bincount(codes, minlength=n) / len(codes),
        learn_distances(treebank, codes, n) if distances else None,
        single_root=bool((roots == 1).all()),
    )


def modifier_sequences(treebank: DependencyTreebank, vocabulary: Vocabulary) -> WeightedSequences:
    """The distinct head-modifier sequences of projective trees."""
    codes = vocabulary.codes(treebank)
    sequences = ModifierSequences.of(
        treebank.head, treebank.sentence_offsets, codes, len(vocabulary.alphabet)
    )
    return WeightedSequences.of(sequences, codes, vocabulary.alphabet)


def learn_vocabulary(treebank: DependencyTreebank, symbols: str, lexical: bool) -> Vocabulary:
    """The most frequent symbols and coarse tags; with `lexical` the words seen twice or more.

    Symbols that are left out are taken for the most frequent one of their coarse tag, as unknown ones are.
    """
    names = SYMBOLS[symbols](treebank)
    kept = sorted(name for name, _ in Counter(names).most_common(MOST_SYMBOLS))
    counts = Counter(zip(treebank.upos, names, strict=True))
    known, likeness = set(kept), dict[str, str]()
    for (tag, name), _ in counts.most_common():
        if name in known:
            likeness.setdefault(tag, name)
    coarse = [tag for tag, _ in Counter(treebank.upos).most_common(N_COARSE)]
    words = (
        [word for word, n in Counter(map(str.lower, treebank.form)).items() if n >= LEAST_COUNT]
        if lexical
        else []
    )
    return Vocabulary(
        symbols,
        Alphabet(kept),
        likeness,
        Counter(names).most_common(1)[0][0],
        {tag: number for number, tag in enumerate(coarse)},
        {word: number for number, word in enumerate(words)},
    )

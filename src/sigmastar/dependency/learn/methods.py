"""From a treebank to a parser: symbols, modifier sequences, automata, and where asked arcs and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.dependency.counts import bigram_views
from sigmastar.dependency.data.projectivity import lift
from sigmastar.dependency.data.sequences import SYMBOLS, ModifierSequences, WeightedSequences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.arcs import N_EPOCHS, learn_arcs, learn_labels
from sigmastar.dependency.learn.counting import learn_deterministic
from sigmastar.dependency.learn.distances import learn_distances
from sigmastar.dependency.learn.em import learn_heads_em, random_start, spectral_start
from sigmastar.dependency.learn.lexical import STATES, learn_lexical
from sigmastar.dependency.learn.spectral import learn_spectral
from sigmastar.dependency.learn.states import AUTO, Learner, choose_states
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.dependency.model.vocabulary import N_COARSE, Vocabulary

METHODS: Mapping[str, Learner] = MappingProxyType(
    {
        "det": lambda sequences, n, rng: learn_deterministic(sequences, first=False),
        "det+f": lambda sequences, n, rng: learn_deterministic(sequences, first=True),
        "spectral": lambda sequences, n, rng: learn_spectral(sequences, n),
        "bigram": lambda sequences, n, rng: learn_spectral(sequences, n, bigram_views),
        "em": lambda sequences, n, rng: learn_heads_em(sequences, n, rng, start=random_start).automata,
        "spectral+em": lambda sequences, n, rng: (
            learn_heads_em(sequences, n, rng, start=spectral_start, n_iterations=30).automata
        ),
    }
)
"""Ways to learn head automata; `bigram` is algorithm 1 of Luque et al. (2012) as it stands there."""

LEAST_COUNT = 2  # of a word to be known by itself
MOST_SYMBOLS = 150  # operators grow with the square of their number


def learn_parser(
    treebank: DependencyTreebank,
    method: str | Learner = "spectral+em",
    n_states: int | str = 10,
    symbols: str = "upos+xpos",
    *,
    lexical: bool = False,
    arcs: bool = False,
    labels: bool = True,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    decoding: str = "mbr",
    counted: str | None = None,
    distances: bool = True,
) -> DependencyParser:
    """A parser from trees; those that are not projective are lifted.

    With `n_states` "auto" each automaton has as many states as say most of held-out sequences. `arcs` trains
    arc factors over tags, `lexical` over tags and words; `labels` learns labels where there are any.
    `counted` multiplies one of the lexicalised grammars `lex`, `lex+f`, `lex+fcp` in, which as a `method`
    stand alone. `distances` weighs arcs by how far they reach. `decoding` is "mbr", or "viterbi" where the
    automata are deterministic.
    """
    if not len(treebank) or not treebank.has_heads:
        raise InputError("there are no trees to learn from: every word needs a head")
    learner = _alone if method in STATES else METHODS[method] if isinstance(method, str) else method
    counted = method if isinstance(method, str) and method in STATES else counted
    if counted is not None and (arcs or lexical):
        raise ValueError(f"counted={counted!r} does not go with trained arcs: they know words better")
    if isinstance(n_states, str) and n_states != AUTO:
        raise ValueError(f"n_states={n_states!r} must be a number or {AUTO!r}")
    treebank = treebank.with_heads(lift(treebank.head, treebank.sentence_offsets))
    vocabulary = learn_vocabulary(treebank, symbols, lexical)
    codes = vocabulary.codes(treebank)
    sequences = modifier_sequences(treebank, vocabulary)
    wanted = choose_states(sequences, learner, rng) if isinstance(n_states, str) else n_states
    roots = np.bincount(np.repeat(np.arange(len(treebank)), treebank.lengths), treebank.head == 0)
    parser = DependencyParser(
        vocabulary,
        learner(sequences, wanted, rng),
        learn_deterministic(sequences, first=True),
        np.bincount(codes, minlength=len(vocabulary.alphabet)) / len(codes),
        single_root=bool((roots == 1).all()),
        decoding=decoding,
        counted=None if counted is None else learn_lexical(treebank, counted),
        distances=learn_distances(treebank, codes, len(vocabulary.alphabet)) if distances else None,
    )
    if arcs or lexical:
        parser = parser.with_parts(arc_weights=learn_arcs(parser, treebank, rng, n_epochs))
    if labels and set(treebank.deprel) - {"_"}:
        names, weights = learn_labels(vocabulary, treebank, rng)
        parser = parser.with_parts(labels=names, label_weights=weights)
    return parser


def _alone(sequences: WeightedSequences, n: object, rng: np.random.Generator) -> HeadAutomata:
    return HeadAutomata.neutral(sequences.alphabet)


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

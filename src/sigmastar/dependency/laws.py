"""What the laws are tried on: a random grammar of head automata over three tags."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.dependency.counts import exact_blocks
from sigmastar.dependency.data.conllu import read_treebank, write_conllu
from sigmastar.dependency.data.sequences import head_sorts
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.estimator import (
    DeterministicDependencyGrammar,
    EMDependencyGrammar,
    SpectralDependencyGrammar,
)
from sigmastar.dependency.learn.spectral import recover_heads
from sigmastar.dependency.model.arcs import ArcPrior
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.head_automata import HeadAutomata, sample_trees
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.dependency.model.vocabulary import Vocabulary

TAGS = ("DET", "NOUN", "VERB")
N_STATES = 2
SENTENCES = [["DET", "NOUN", "VERB"], ["NOUN", "VERB", "DET", "NOUN"], ["DET", "NOUN", "VERB", "NOUN"]] * 6
HEADS = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 6


class DependencyLaws:
    """The laws of dependency grammars."""

    sizes = (100, 1600)

    def truth(self, rng: np.random.Generator) -> DependencyParser:
        """A parser decided by random head automata."""
        return _parser(make_head_automata(TAGS, N_STATES, rng, n_modifiers=0.4, concentration=0.5))

    def exact(self, truth: DependencyParser) -> DependencyParser:
        """The automata that `recover` makes of the exact blocks of bigram views."""
        sorts = range(truth.automata.n_sorts)
        automata = [truth.automata.automaton(sort) for sort in sorts]
        blocks = exact_blocks(truth.alphabet, [(a.initial, a.transitions, a.final) for a in automata])
        limits = dict.fromkeys(head_sorts(truth.alphabet), N_STATES)
        return _parser(recover_heads(blocks, limits, truth.alphabet))

    def structures(self, truth: DependencyParser, rng: np.random.Generator) -> DependencyTreebank:
        """Trees of any size, and heads with six modifiers on a side."""
        wide = [list(rng.choice(TAGS, 8)) for _ in range(5)]
        wide_heads = [[2, 0, 2, 2, 2, 2, 2, 2]] * 5
        return DependencyTreebank.joined(
            [sample_trees(truth.automata, 40, rng, 30), DependencyTreebank.of(wide, wide, wide_heads)]
        )

    def values(self, model: DependencyParser, structures: DependencyTreebank) -> Floats:
        """P(tree), and P(sentence) over all trees: by sequences, and by inside-outside."""
        bare = structures.with_heads(np.full(structures.n_words, -1, dtype=np.int32))
        logs = [model.log_probability(structures), model.log_probability(bare)]
        return np.asarray(np.exp(np.concatenate(logs)))

    def learned(
        self, truth: DependencyParser, n_samples: int, seed: int, n_jobs: int = 1
    ) -> DependencyParser:
        """What the default method learns from drawn trees; arcs, which are no probabilities, are left out."""
        trees = sample_trees(truth.automata, n_samples, np.random.default_rng(seed), 1000)
        estimator = SpectralDependencyGrammar(
            n_states=4, symbols="upos", arcs="none", random_state=seed, n_jobs=n_jobs
        )
        return estimator.fit(trees).model_

    def distance(self, model: DependencyParser, truth: DependencyParser) -> float:
        """L1 distance of the probabilities of sequences of up to three modifiers, mean over the automata."""
        words = [word for n in range(4) for word in product(TAGS, repeat=n)]
        strings = [Strings.of(words, alphabet=parser.alphabet) for parser in (model, truth)]
        gaps = [
            model.automata.automaton(sort).value(strings[0])
            - truth.automata.automaton(sort).value(strings[1])
            for sort in range(truth.automata.n_sorts)
        ]
        return float(np.abs(gaps).sum(axis=1).mean())

    def long(self, truth: DependencyParser) -> float:
        """log P of one tree of 100,000 words: a word with all others to its right."""
        n = 100_000
        tags = [TAGS[k % 3] for k in range(n)]
        heads = [0, *[1] * (n - 1)]
        return float(truth.log_probability(DependencyTreebank.of([tags], [tags], [heads]))[0])

    def examples(self) -> Mapping[str, Example]:
        """Quick settings of the three estimators."""
        return {
            "SpectralDependencyGrammar": Example(
                SpectralDependencyGrammar(n_states=2, symbols="upos", arc_epochs=1),
                SENTENCES,
                HEADS,
                {"method": ["spectral", "spectral+em"]},
            ),
            "EMDependencyGrammar": Example(
                EMDependencyGrammar(n_states=2, symbols="upos"), SENTENCES, HEADS, {"n_states": [1, 2]}
            ),
            "DeterministicDependencyGrammar": Example(
                DeterministicDependencyGrammar(symbols="upos"),
                DependencyTreebank.of(SENTENCES, SENTENCES, HEADS),
                grid={"decoding": ["mbr", "viterbi"]},
                empty=DependencyTreebank.of([], []),
            ),
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        """`learn dependency` on a small labelled treebank."""
        labels = [["det" if head == 2 else "dep" for head in row] for row in HEADS]
        write_conllu(DependencyTreebank.of(SENTENCES, SENTENCES, HEADS, labels), folder / "train.conllu")
        treebank = read_treebank(folder / "train.conllu")
        return {"dependency": Call((str(folder / "train.conllu"),), SpectralDependencyGrammar(), treebank)}


def _parser(automata: HeadAutomata) -> DependencyParser:
    """A parser over tags that these automata decide."""
    alphabet = Alphabet(TAGS)
    numbers = {tag: number for number, tag in enumerate(TAGS)}
    vocabulary = Vocabulary("upos", alphabet, dict(zip(TAGS, TAGS, strict=True)), TAGS[0], numbers, {})
    n_sorts, k = 2 * len(TAGS) + 1, len(TAGS)
    halves = np.full((n_sorts, 2), 0.5)
    moves = np.zeros((n_sorts, k, 2, 2))
    moves[..., 1] = 0.5 / k
    det = HeadAutomata(
        alphabet, np.full(n_sorts, 2, dtype=np.int32), np.tile([1.0, 0.0], (n_sorts, 1)), moves, halves
    )
    return DependencyParser(vocabulary, automata, ArcPrior(det, np.full(k, 1.0 / k), pruning=0.0))

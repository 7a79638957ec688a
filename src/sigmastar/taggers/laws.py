"""Taggers as the laws see them: a weighted finite tagger whose every word and tag has an operator."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy import sparse

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, string_signature
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.core.recover import Blocks
from sigmastar.dependency.data.conllu import write_conllu
from sigmastar.dependency.data.treebank import Word, as_treebank
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger
from sigmastar.taggers.estimator.pipeline import Pipeline
from sigmastar.taggers.learn.operators import recover_from_blocks
from sigmastar.taggers.model.lexicon import TagLexicon
from sigmastar.taggers.model.tagger import Tagger
from sigmastar.taggers.model.weighted_tagger import WeightedTagger

TAGS, WORDS = ("A", "B"), ("u", "v", "w")
N_PAIRS = len(TAGS) * len(WORDS)
N_STATES = 4  # two per tag
LONG = 100_000
N_FRESH = 300


class TaggerLaws:
    """A hidden Markov model over pairs of word and tag, two states per tag, stored as operators A_x^y."""

    sizes = (60, 3000)

    def truth(self, rng: np.random.Generator) -> Tagger:
        """Each state has words of its own and leads to few others, so that context determines the tag."""
        moves = rng.dirichlet(np.full(N_STATES, 0.4), N_STATES) * 0.9
        chances = rng.dirichlet(np.full(len(WORDS), 0.7), N_STATES)
        operators = np.zeros((N_PAIRS, N_STATES, N_STATES))
        for (word, tag), state in product(np.ndindex(len(WORDS), len(TAGS)), range(N_STATES)):
            if state // 2 == tag:
                operators[word * len(TAGS) + tag, state] = chances[state, word] * moves[state]
        return _tagger(np.full(N_STATES, 1 / N_STATES), operators, np.full(N_STATES, 0.1))

    def exact(self, truth: Tagger) -> Tagger:
        """Operators from the exact block on pasts and futures of at most two pairs, by the learner."""
        automaton = _automaton(truth)
        pieces = [(), *((a,) for a in range(N_PAIRS)), *product(range(N_PAIRS), repeat=2)]
        pasts = np.stack([_after(automaton, past) for past in pieces])
        futures = np.stack([_before(automaton, future) for future in pieces], axis=1)
        signature = string_signature(automaton.alphabet)
        stop, symbol = signature.operations
        slices = np.einsum("ri,aij,jc->arc", pasts, automaton.transitions, futures)
        blocks = Blocks(
            signature,
            {"string": pasts @ futures},
            {stop: (pasts @ automaton.final)[None], symbol: slices},
            {"string": automaton.initial @ futures},
        )
        found = recover_from_blocks(blocks, N_STATES)[0]
        return _tagger(found.initial, found.transitions, found.final)

    def structures(self, truth: Tagger, rng: np.random.Generator) -> TaggedSentences:
        """Sentences drawn from the truth, with all tags that their words may have."""
        return _drawn(truth, 50, rng)

    def values(self, model: Tagger, structures: TaggedSentences) -> Floats:
        """log P(tags | words)."""
        return model.log_probability(structures)

    def learned(self, truth: Tagger, n_samples: int, seed: int, n_jobs: int = 1) -> Tagger:
        """Refined tags, two states per tag."""
        sample = _drawn(truth, n_samples, np.random.default_rng(seed))
        estimator = SpectralTagger(
            n_states=2, max_iter=30, n_members=1, features=False, random_state=seed, n_jobs=n_jobs
        )
        return estimator.fit(sample).model_

    def distance(self, model: Tagger, truth: Tagger) -> float:
        """The mean difference of the probabilities of tags on fresh sentences."""
        fresh = _drawn(truth, N_FRESH, np.random.default_rng(99))
        tables = [tagger.predict_proba(fresh)[:, : len(TAGS)] for tagger in (model, truth)]
        return float(np.abs(tables[0] - tables[1]).mean())

    def long(self, truth: Tagger) -> float:
        """The log-probability of a tagging of one sentence of many words."""
        codes = np.random.default_rng(0).integers(0, len(WORDS), LONG)
        words = [WORDS[code] for code in codes.tolist()]
        found = truth.predict(TaggedSentences.of([words]))
        return float(truth.log_probability(TaggedSentences.of([words], [found]))[0])

    def examples(self) -> Mapping[str, Example]:
        """Few made sentences."""
        sentences = make_tagged(np.random.default_rng(0), 60)
        X, y = sentences.cut(sentences.words), sentences.cut(sentences.tags or [])
        quick = SpectralTagger(n_states=2, max_iter=2, n_members=1)
        return {
            "SpectralTagger": Example(quick, X, y, {"method": ["refined", "spectral"], "n_states": [2, 3]}),
            "EMTagger": Example(EMTagger(n_states=2, max_iter=2), X, y, {"n_states": [2, 3]}),
            "NgramTagger": Example(NgramTagger(), X, y, {"order": [2, 3]}),
            "Pipeline": Example(Pipeline(tagger="chain", arc_epochs=1), *_trees(24), {"arc_epochs": [1, 2]}),
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        """A file of two columns."""
        sentences = make_tagged(np.random.default_rng(0), 60)
        X, y = sentences.cut(sentences.words), sentences.cut(sentences.tags or [])
        rows = [zip(words, tags, strict=True) for words, tags in zip(X, y, strict=True)]
        text = "\n".join("".join(f"{word} {tag}\n" for word, tag in row) for row in rows)
        (folder / "tagged.txt").write_text(text)
        trees, heads = _trees(40)
        treebank = as_treebank(trees, heads)
        write_conllu(treebank, folder / "trees.conllu")
        return {
            "tagger": Call((str(folder / "tagged.txt"),), SpectralTagger(), X, y),
            "pipeline": Call((str(folder / "trees.conllu"),), Pipeline(), treebank),
        }


def _trees(n_sentences: int) -> tuple[list[list[Word]], list[list[int]]]:
    """Sentences of three to five words with their heads."""
    rng = np.random.default_rng(0)
    words: list[list[Word]] = []
    heads = []
    for _ in range(n_sentences):
        noun, verb = (f"{kind}{rng.integers(6)}" for kind in ("n", "v"))
        subject: list[Word] = [("the", "DET", "DT"), (noun, "NOUN", "NN"), (verb, "VERB", "VB")]
        late = rng.random() < 0.5
        words.append([*subject, ("well", "ADV", "RB")] if late else subject)
        heads.append([2, 3, 0, 3] if late else [2, 3, 0])
    return words, heads


def _tagger(initial: Floats, operators: Floats, final: Floats) -> Tagger:
    """Every word may have every tag; operators of tags alone, which come first, are never used."""
    counts = sparse.csr_array(np.ones((len(WORDS), len(TAGS))))
    flat = np.full((len(WORDS), len(TAGS)), 1 / len(TAGS))
    classes = np.zeros(len(WORDS), dtype=np.int32)
    lexicon = TagLexicon(TAGS, WORDS, counts, (), np.zeros((1, len(TAGS))), ("",), flat, classes, 1.0, 1e-3)
    unused = np.zeros((len(TAGS), *operators.shape[1:]))
    pairs, shares = np.arange(N_PAIRS), np.ones(len(TAGS))
    member = WeightedTagger(initial, np.concatenate([unused, operators]), final, pairs, shares)
    return Tagger(lexicon, (member,), (1.0,))


def _automaton(tagger: Tagger) -> WeightedAutomaton:
    """The same function, of strings of pairs."""
    member = tagger.members[0]
    assert isinstance(member, WeightedTagger)
    return WeightedAutomaton(
        Alphabet(range(N_PAIRS)), member.initial, member.operators[len(TAGS) :], member.final
    )


def _drawn(truth: Tagger, n_sentences: int, rng: np.random.Generator) -> TaggedSentences:
    names = [(word, tag) for word in WORDS for tag in TAGS]
    drawn = _automaton(truth).sample(n_sentences, rng)
    rows = (drawn.codes[low:high].tolist() for low, high in pairwise(drawn.offsets))
    return TaggedSentences.of_pairs([[names[code] for code in row] for row in rows if row])


def _after(automaton: WeightedAutomaton, past: tuple[int, ...]) -> Floats:
    state = automaton.initial
    for symbol in past:
        state = state @ automaton.transitions[symbol]
    return state


def _before(automaton: WeightedAutomaton, future: tuple[int, ...]) -> Floats:
    state = automaton.final
    for symbol in reversed(future):
        state = automaton.transitions[symbol] @ state
    return state

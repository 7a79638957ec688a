"""Weighted finite taggers by the spectral method (Balle et al. 2014, "The Spectral Method for WFTaggers").

The joint alphabet is the pairs of a frequent word and its tag, and for the other words of a tag the tag
alone; blocks are those of strings over this alphabet on classes of bistrings, and `recover` does the rest.

Signed operators leave the hull of the states that were observed, and normalisers turn negative. A restart
keeps them near it and is linear, so the result is still a weighted finite tagger:

    A' = (1 - b) [(1 - e) A + e (A one) w] + b p one w,     final' = (1 - b) final + b p(end) one

after A_x^y has been pulled towards p(x | y) A^y. w is the mean state after the symbol, w one = 1, and p its
frequency: a share e of the mass forgets all but the last symbol, and a share b of the next symbols comes
from no state at all. With e = b = 0 and no pull the operators stay as they were recovered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.recover import recover
from sigmastar.taggers.counts.contexts import TagContexts
from sigmastar.taggers.counts.input_weights import InputWeights
from sigmastar.taggers.learn.margin import LEAST_PAIR, frequent_pairs, symbols_of_tokens
from sigmastar.taggers.learn.refinement import TaggedCorpus
from sigmastar.taggers.learn.starts import words_or_classes
from sigmastar.taggers.model.weighted_tagger import WeightedTagger

Array = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Taming:
    """How far operators are kept from leaving the hull of observed states; `RAW` leaves them alone."""

    restart: float = 0.3
    background: float = 0.4
    shrinkage: float = 500.0  # tokens that the operator of the tag counts for


RAW = Taming(0.0, 0.0, 0.0)


def learn_operators(
    corpus: TaggedCorpus,
    n_states: int = 80,
    lexicalised: bool = True,
    taming: Taming = Taming(),  # noqa: B008  (frozen)
    least_pair: int = LEAST_PAIR,
    conditional: bool = False,
) -> WeightedTagger:
    """Count, factorise, recover: operators of tags, and of frequent pairs if `lexicalised`.

    `conditional`: of q(x) P(y | x), with inputs made independent by weights, instead of P(x, y). Factors q(x)
    are the same for all tags of a word, and fall out of marginals.
    """
    n_tags = corpus.lexicon.n_tags
    pairs = frequent_pairs(corpus, least_pair) if lexicalised else np.zeros(0, dtype=np.int64)
    symbols = symbols_of_tokens(corpus, pairs)
    counts = np.bincount(symbols, minlength=n_tags + len(pairs))
    weights = local_weights(corpus) if conditional else None
    recovered = recover_operators(corpus, symbols, n_tags + len(pairs), n_states, weights)
    tag_of = np.append(np.arange(n_tags), pairs % n_tags)
    operators = shrunk(recovered.automaton.transitions, counts, tag_of, taming.shrinkage)
    automaton = replace(recovered.automaton, transitions=restarted(operators, recovered, taming.restart))
    automaton = with_background(automaton, recovered, counts, len(corpus.sentences), taming.background)
    of_tag = np.bincount(corpus.tags, minlength=n_tags)
    rest = np.maximum(counts[:n_tags], 0.5) / np.maximum(of_tag, 1)
    return WeightedTagger(automaton.initial, automaton.transitions, automaton.final, pairs, rest)


@dataclass(frozen=True, eq=False)
class Recovered:
    """Operators of symbols, the vector of mass, and the mean state after each symbol, of mass one."""

    automaton: WeightedAutomaton
    one: Array
    after: Array


def local_weights(corpus: TaggedCorpus) -> InputWeights:
    """Weights by frequent words, and by the classes of others."""
    _, inputs = np.unique(words_or_classes(corpus), return_inverse=True)
    return InputWeights.local(inputs.astype(np.int32), corpus.sentences.offsets)


def recover_operators(
    corpus: TaggedCorpus, symbols: Longs, n_symbols: int, n_states: int, weights: InputWeights | None = None
) -> Recovered:
    """The spectral method on correlations of context classes."""
    sentences = corpus.sentences
    contexts = TagContexts.of(sentences.type_codes, corpus.tags, sentences.offsets)
    blocks = contexts.blocks(symbols.astype(np.int32), Alphabet(range(n_symbols)), weights)
    matrix = blocks.matrices["string"]
    d_r, d_c = (np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    scaled = blocks.weighted({"string": 1 / np.sqrt(d_r)}, {"string": 1 / np.sqrt(d_c)})
    factors = factorize_up_to(scaled.matrices["string"], n_states)
    found = WeightedAutomaton.of_operators(recover(scaled, {"string": factors}))
    one = factors.inside @ np.sqrt(d_c)
    states = (factors.outside / np.sqrt(d_r)[:, None])[contexts.past[contexts.token_gaps + 1]]
    sums = np.zeros((n_symbols, factors.n_states))
    np.add.at(sums, symbols, states)
    masses = sums @ one
    return Recovered(found, one, sums / np.where(masses > 0, masses, 1.0)[:, None])


def shrunk(operators: Array, counts: Longs, tag_of: Longs, strength: float) -> Array:
    """A_x^y towards p(x | y) A^y, where A^y, the sum over the words of a tag, rests on more counts."""
    if not strength:
        return operators
    n_tags = int(tag_of.max()) + 1
    sums, totals = np.zeros((n_tags, *operators.shape[1:])), np.bincount(tag_of, counts, n_tags)
    np.add.at(sums, tag_of, operators)
    weight = (strength / (strength + counts))[:, None, None]
    shares = (counts / np.maximum(totals, 1)[tag_of])[:, None, None]
    return (1 - weight) * operators + weight * shares * sums[tag_of]


def restarted(operators: Array, recovered: Recovered, restart: float) -> Array:
    """(1 - e) A + e (A one) w for every symbol."""
    forgetful = (operators @ recovered.one)[:, :, None] * recovered.after[:, None, :]
    return (1 - restart) * operators + restart * forgetful


def with_background(
    automaton: WeightedAutomaton, recovered: Recovered, counts: Longs, n_ends: int, share: float
) -> WeightedAutomaton:
    """(1 - b) A + b p one w for every symbol, and the same for the end."""
    chances = counts / (counts.sum() + n_ends)
    drawn = recovered.one[:, None] * (chances[:, None] * recovered.after)[:, None, :]
    return replace(
        automaton,
        transitions=(1 - share) * automaton.transitions + share * drawn,
        final=(1 - share) * automaton.final + share * n_ends / (counts.sum() + n_ends) * recovered.one,
    )

"""Weighted finite taggers by `recover` (Balle et al. 2014, "The Spectral Method for WFTaggers").

The joint alphabet is the pairs of a frequent word and its tag, and for the other words of a tag the tag
alone; blocks are those of strings over this alphabet on classes of bistrings (`taggers.counts`).

Signed operators leave the hull of the states that were observed, and normalizers turn negative. A restart
keeps them near it and is linear, so the result is still a weighted finite tagger:

    A' = (1 - b) [(1 - e) A + e (A one) w] + b p one w,     final' = (1 - b) final + b p(end) one

after A_x^y has been pulled towards p(x | y) A^y. w is the mean state after the symbol, w one = 1, and p its
frequency: a share e of the mass depends on the last symbol alone, and a share b of the next symbols comes
from no state at all. With e = b = 0 and no pull the operators stay as they were recovered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.factors import Factors, factorize_up_to
from sigmastar.core.recover import Blocks, recover
from sigmastar.core.shrinkage import mean_towards
from sigmastar.core.views import UNDAMPED
from sigmastar.taggers.counts import LEAST_WORD, InputWeights, TagContexts
from sigmastar.taggers.learn.feature_chain import LEAST_PAIR
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.model.weighted_tagger import WeightedTagger


@dataclass(frozen=True)
class Taming:
    """How far operators are kept from leaving the hull of observed states; `RAW` leaves them alone."""

    restart: float = 0.3
    background: float = 0.4
    shrinkage: float = 500.0  # tokens that the operator of the tag counts for


USUAL, RAW = Taming(), Taming(0.0, 0.0, 0.0)


def learn_operators(
    corpus: TaggedCorpus,
    n_states: int = 80,
    lexicalized: bool = True,
    taming: Taming = USUAL,
    least_pair: int = LEAST_PAIR,
    conditional: bool = False,
) -> WeightedTagger:
    """Count, factorize, recover: operators of tags, and of frequent pairs if `lexicalized`.

    `conditional`: of q(x) P(y | x), with inputs made independent by weights, instead of P(x, y). Factors q(x)
    are the same for all tags of a word, and fall out of marginals.
    """
    n_tags = corpus.lexicon.n_tags
    pairs = corpus.frequent_pairs(least_pair) if lexicalized else np.zeros(0, dtype=np.int64)
    symbols = corpus.symbols(pairs)
    counts = np.bincount(symbols, minlength=n_tags + len(pairs))
    weights = local_weights(corpus) if conditional else None
    recovered = recover_operators(corpus, symbols, len(counts), n_states, weights)
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
    one: Floats
    after: Floats


def local_weights(corpus: TaggedCorpus) -> InputWeights:
    """Weights by frequent words, and by the classes of others."""
    _, inputs = np.unique(corpus.words_or_classes(LEAST_WORD), return_inverse=True)
    return InputWeights.local(inputs.astype(np.int32), corpus.sentences.offsets)


def recover_operators(
    corpus: TaggedCorpus, symbols: Int64s, n_symbols: int, n_states: int, weights: InputWeights | None = None
) -> Recovered:
    """Operators of symbols from the counts of a corpus."""
    sentences = corpus.sentences
    contexts = TagContexts.of(sentences.type_codes, corpus.tags, sentences.offsets)
    blocks = contexts.blocks(symbols.astype(np.int32), Alphabet(range(n_symbols)), weights)
    found, factors, (rows, columns) = recover_from_blocks(blocks, n_states)
    one = factors.inside @ np.sqrt(columns)
    states = (factors.outside * UNDAMPED(rows)[:, None])[contexts.past[contexts.token_gaps + 1]]
    sums = np.zeros((n_symbols, factors.n_states))
    np.add.at(sums, symbols, states)
    masses = sums @ one
    return Recovered(found, one, sums / np.where(masses > 0, masses, 1.0)[:, None])


def recover_from_blocks(
    blocks: Blocks, n_states: int
) -> tuple[WeightedAutomaton, Factors, tuple[Floats, Floats]]:
    """Operators from correlations of outsides and insides; the factors, and the counts of both."""
    matrix = blocks.matrices["string"]
    rows, columns = (np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    scaled = blocks.weighted({"string": UNDAMPED(rows)}, {"string": UNDAMPED(columns)})
    factors = factorize_up_to(scaled.matrices["string"], n_states)
    found = WeightedAutomaton.of_operators(recover(scaled, {"string": factors}))
    return found, factors, (rows, columns)


def shrunk(operators: Floats, counts: Int64s, tag_of: Int64s, strength: float) -> Floats:
    """A_x^y towards p(x | y) A^y, where A^y, the sum over the words of a tag, rests on more counts."""
    if not strength:
        return operators
    n_tags = int(tag_of.max()) + 1
    sums, totals = np.zeros((n_tags, *operators.shape[1:])), np.bincount(tag_of, counts, n_tags)
    np.add.at(sums, tag_of, operators)
    shares = counts / np.maximum(totals, 1)[tag_of]
    return mean_towards(operators, shares[:, None, None] * sums[tag_of], counts[:, None, None], strength)


def restarted(operators: Floats, recovered: Recovered, restart: float) -> Floats:
    """(1 - e) A + e (A one) w for every symbol."""
    forgetful = (operators @ recovered.one)[:, :, None] * recovered.after[:, None, :]
    return (1 - restart) * operators + restart * forgetful


def with_background(
    automaton: WeightedAutomaton, recovered: Recovered, counts: Int64s, n_ends: int, share: float
) -> WeightedAutomaton:
    """(1 - b) A + b p one w for every symbol, and the same for the end."""
    chances = counts / (counts.sum() + n_ends)
    drawn = recovered.one[:, None] * (chances[:, None] * recovered.after)[:, None, :]
    return replace(
        automaton,
        transitions=(1 - share) * automaton.transitions + share * drawn,
        final=(1 - share) * automaton.final + share * n_ends / (counts.sum() + n_ends) * recovered.one,
    )

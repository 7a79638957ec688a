"""Random tree automata and latent-variable PCFGs, and treebanks drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.trees.data.ranked import RankedAlphabet
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG


def make_tree_automaton(
    n_states: int,
    rng: np.random.Generator,
    leaves: Sequence[str] = ("a", "b", "c"),
    unary: Sequence[str] = ("u",),
    binary: Sequence[str] = ("f", "g"),
    branching: float = 0.35,
    chaining: float = 0.15,
    ternary: Sequence[str] = (),
) -> TreeAutomaton:
    """A stochastic automaton: nodes branch with probability `branching` and chain with `chaining`.

    Weights are drawn so that states differ.

    Parameters
    ----------
    n_states : int
        Of the automaton.
    rng : numpy.random.Generator
        The source of chance.
    leaves : sequence of str
        Symbols of leaves.
    unary : sequence of str
        Symbols of nodes with one child.
    binary : sequence of str
        Symbols of nodes with two children.
    branching : float
        How probable two children are.
    chaining : float
        How probable one child is.
    ternary : sequence of str
        Symbols of nodes with three children; where there are some, half of the children come in threes.

    Returns
    -------
    TreeAutomaton
        Its weights are probabilities.
    """
    if not (branching >= 0 and chaining >= 0 and 2 * branching + chaining < 1):
        raise ValueError("2 branching + chaining must be below 1, or trees never end")
    if not leaves:
        raise ValueError("there must be leaves for trees to end in")
    n = n_states
    shares: tuple[float, ...] = (1 - branching - chaining, chaining, branching)
    if not unary:
        shares = (1 - branching, 0.0, branching)
    if ternary and not binary:
        raise ValueError("where there are ternary symbols, there must be binary ones")
    if not binary:
        shares = (1 - shares[1], shares[1], 0.0)
    if ternary:
        shares = (1 - shares[1] - branching * 5 / 6, shares[1], branching / 2, branching / 3)
    arrays, ranks = [], (leaves, unary, binary, ternary)[: len(shares)]
    for rank, (share, symbols) in enumerate(zip(shares, ranks, strict=True)):
        width = n**rank
        drawn = rng.dirichlet(np.full(max(len(symbols) * width, 1), 0.3), size=n) * share
        of_symbols = drawn[:, : len(symbols) * width].reshape(n, len(symbols), width).transpose(1, 0, 2)
        arrays.append(of_symbols.reshape(len(symbols), *[n] * (rank + 1)))
    alphabet = RankedAlphabet.of([Alphabet(tuple(symbols)) for symbols in ranks])
    return TreeAutomaton.of_ranks(alphabet, rng.dirichlet(np.full(n, 1.0)), arrays)


class MadeTreebank(NamedTuple):
    """Trees and the grammar that they were drawn from."""

    trees: list[Tree]
    grammar: LatentPCFG


def make_latent_pcfg(
    rng: np.random.Generator,
    n_states: int = 2,
    n_phrases: int = 3,
    n_tags: int = 4,
    n_words: int = 3,
    n_rules: int = 4,
    branching: float = 0.45,
) -> LatentPCFG:
    """A random grammar: phrases X0 .. and tags T0 .., each tag with words of its own.

    A child of a rule is a phrase with probability about `branching`: below one half trees stay finite.
    Distributions are drawn sparsely, so that the hidden states of a symbol differ.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of chance.
    n_states : int
        Hidden states per symbol.
    n_phrases : int
        Labels of phrases.
    n_tags : int
        Labels of words.
    n_words : int
        Words per tag.
    n_rules : int
        Rules per phrase.
    branching : float
        How probable it is that a child is a phrase, from 0 to below 1/2.

    Returns
    -------
    LatentPCFG
        Its weights are probabilities.
    """
    if not 0 <= branching < 0.5:
        raise ValueError(f"branching={branching} must be from 0 to below 1/2, or trees never end")
    phrases, tags = [f"X{k}" for k in range(n_phrases)], [f"T{k}" for k in range(n_tags)]
    rules = [rule for phrase in phrases for rule in _rules(phrase, phrases, tags, n_rules, branching, rng)]
    lexical = [(tag, f"w{k}{j}") for k, tag in enumerate(tags) for j in range(n_words)]
    rule_weights = np.concatenate([_tempered(x, rules, branching, rng, n_states) for x in phrases])
    word_weights = np.concatenate([_columns(rng, n_words, n_states) for _ in tags])
    left, right = (np.stack([_columns(rng, n_states, n_states) for _ in rules]) for _ in range(2))
    pi = rng.dirichlet(np.ones(n_phrases * n_states)).reshape(n_phrases, n_states)
    names = tuple(rules), tuple(lexical), tuple(phrases)
    return LatentPCFG.of_probabilities(*names, pi, rule_weights, word_weights, left, right)


def make_treebank(
    n_trees: int = 1000,
    random_state: int | np.random.Generator = 0,
    max_words: int = 40,
    **grammar: float,
) -> MadeTreebank:
    """Trees from a random grammar; further arguments are those of `make_latent_pcfg`.

    Parameters
    ----------
    n_trees : int
        How many trees.
    random_state : int or numpy.random.Generator
        The source of chance, for the grammar and for the trees.
    max_words : int
        Of a tree, at most.
    **grammar : float
        Options of `make_latent_pcfg`.

    Returns
    -------
    MadeTreebank
        The trees and their grammar.

    Examples
    --------
    >>> bank = make_treebank(5)
    >>> len(bank.trees), bank.grammar.n_states
    (5, 2)
    """
    rng = np.random.default_rng(random_state)
    made = make_latent_pcfg(rng, **grammar)  # type: ignore[arg-type]
    return MadeTreebank(made.sample(n_trees, rng, max_words), made)


def _rules(
    phrase: str, phrases: list[str], tags: list[str], n_rules: int, branching: float, rng: np.random.Generator
) -> list[tuple[str, str, str]]:
    """Different right sides, the first of two tags: every phrase can end."""
    sides = {(str(rng.choice(tags)), str(rng.choice(tags))): None}
    for _ in range(100 * n_rules):
        if len(sides) >= n_rules:
            break
        first, second = (str(rng.choice(phrases if rng.random() < branching else tags)) for _ in range(2))
        sides.setdefault((first, second))
    return [(phrase, first, second) for first, second in sides]


def _tempered(
    phrase: str,
    rules: list[tuple[str, str, str]],
    branching: float,
    rng: np.random.Generator,
    n_states: int,
) -> Floats:
    """q(r | h) of the rules of a phrase with less than one phrase below it, in the mean of every state."""
    own = [rule for rule in rules if rule[0] == phrase]
    below = np.array([sum(child.startswith("X") for child in rule[1:]) for rule in own], dtype=float)
    weights = _columns(rng, len(own), n_states)
    ending = np.where(below == 0, 1.0, 0.0)[:, None]
    ending = ending / ending.sum()
    mean = below @ weights
    share = np.minimum(1.0, 2 * branching / np.maximum(mean, 1e-12))
    return np.asarray(share * weights + (1 - share) * ending)


def _columns(rng: np.random.Generator, n_outcomes: int, n_states: int) -> Floats:
    """A distribution for every state, as columns."""
    return rng.dirichlet(np.full(n_outcomes, 0.5), size=n_states).T

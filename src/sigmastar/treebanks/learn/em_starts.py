"""Where EM of a treebank begins without clusters: by chance, or from a grammar of another treebank."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.learn.clusters_and_em import LatentFit, Statistics, flat_ranges
from sigmastar.treebanks.model.latent_grammar import rule_states


def random_statistics(
    bank: BinaryPhrases, n_states: Int64s, rng: np.random.Generator, noise: float = 0.5
) -> Statistics:
    """Counts of rules split evenly over states, up to noise: the start of plain EM."""
    sizes = n_states[bank.rules].prod(axis=1)
    counts = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    rules = np.repeat(counts / sizes, sizes) * (1 + noise * rng.uniform(-1, 1, int(sizes.sum())))
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    tops = np.bincount(bank.symbol[bank.roots], minlength=len(n_states))
    roots = np.repeat(tops / n_states, n_states) * (1 + noise * rng.uniform(-1, 1, int(state_at[-1])))
    at = bank.nodes(n_states).at
    posteriors = 1 + noise * rng.uniform(-1, 1, int(at[-1]))
    posteriors /= np.repeat(np.add.reduceat(posteriors, at[:-1]), np.diff(at))
    return Statistics(rules, roots, posteriors)


def known_statistics(
    bank: BinaryPhrases, last: LatentFit, known: Int64s, n_states: Int64s, start: Statistics
) -> Statistics:
    """Counts of a treebank whose states are spread as a grammar of another one has them.

    Parameters
    ----------
    bank : BinaryPhrases
        The treebank.
    last : LatentFit
        The grammar.
    known : array
        Its symbol for each symbol of the treebank, -1 for none.
    n_states : array
        Of each symbol of the treebank; those that are known have as many as in the grammar.
    start : Statistics
        Counts that stay where symbols or rules are new.

    Returns
    -------
    Statistics
        What EM begins from.
    """
    grammar, offsets = last.grammar, rule_states(bank.rules, n_states).offsets
    counts = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    numbers = {tuple(rule): number for number, rule in enumerate(grammar.rules.tolist())}
    rules = start.rules.copy()
    for r, rule in enumerate(known[bank.rules].tolist()):
        if (old := numbers.get(tuple(rule))) is not None:
            used = grammar.frequencies[grammar.state_at[rule[0]] : grammar.state_at[rule[0] + 1]]
            table = grammar.tensor(old) * used
            rules[offsets[r] : offsets[r + 1]] = counts[r] * table.ravel() / max(float(table.sum()), 1e-300)
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    there = np.flatnonzero(known >= 0)
    into = flat_ranges(state_at[there], n_states[there])
    begins = flat_ranges(grammar.state_at[known[there]], n_states[there])
    roots, weights = start.roots.copy(), np.ones(int(state_at[-1]))
    roots[into], weights[into] = grammar.roots[begins] * start.roots.sum(), grammar.frequencies[begins]
    return Statistics(rules, roots, _known_posteriors(bank, last, known, n_states, weights))


def _known_posteriors(
    bank: BinaryPhrases, last: LatentFit, known: Int64s, n_states: Int64s, weights: Floats
) -> Floats:
    """The states of every node: as its symbol has them, of leaves as the word has them too."""
    at, forest = bank.nodes(n_states).at, last.lexicon.forest
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    found = weights[flat_ranges(state_at[bank.symbol], n_states[bank.symbol])]
    leaves = np.flatnonzero((bank.word >= 0) & (known[bank.symbol] >= 0))
    nodes = np.array([forest.node(word) for word in bank.phrases.words], dtype=np.int64)
    scores, _ = last.lexicon.vectors(nodes[bank.word[leaves]], known[bank.symbol[leaves]].astype(np.int32))
    found[flat_ranges(at[leaves], n_states[bank.symbol[leaves]])] *= scores
    found += 1e-12
    found /= np.repeat(np.add.reduceat(found, at[:-1]), np.diff(at))
    return found

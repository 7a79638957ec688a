"""Head automata by `recover`, the first idea: blocks, their factors, operators; one automaton per sort.

Algorithm 1 of Luque et al. (2012) is `views=bigram_views`. The number of states of a sort is at most one
for every `counts_per_state` of its modifiers, and at most the rank of its block. Recovered automata are
signed, and give nothing to modifiers that were never seen: they are mixed with deterministic ones.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.alphabet import Alphabet, Sort
from sigmastar.core.arrays import Int64s
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.recover import Blocks, recover
from sigmastar.core.resources import one_blas_thread
from sigmastar.dependency.counts import Views, count_heads, rich_views
from sigmastar.dependency.data.sequences import Gaps, WeightedSequences, head_sorts
from sigmastar.dependency.learn.counting import learn_deterministic
from sigmastar.dependency.model.head_automata import HeadAutomata

COUNTS_PER_STATE = 100.0
SHARE = 0.15  # chosen with the line above on the development parts of five treebanks


def learn_spectral(
    sequences: WeightedSequences,
    n_states: int | Int64s,
    views: Views = rich_views,
    counts_per_state: float = COUNTS_PER_STATE,
    deterministic_share: float = SHARE,
) -> HeadAutomata:
    """Automata of at most `n_states` states, mixed with a share of DET+F."""
    gaps = Gaps(sequences)
    limits = state_limits(gaps, n_states, counts_per_state)
    automata = recover_heads(count_heads(gaps, views), limits, sequences.alphabet)
    if deterministic_share == 0.0:
        return automata
    return automata.mixed_with(learn_deterministic(sequences, first=True), deterministic_share)


def recover_heads(blocks: Blocks, limits: dict[Sort, int], alphabet: Alphabet) -> HeadAutomata:
    """Automata from blocks, of as many states as the limits and the ranks of the blocks allow."""
    with one_blas_thread():  # many small decompositions: more threads only wait for each other
        factors = {sort: factorize_up_to(matrix, limits[sort]) for sort, matrix in blocks.matrices.items()}
    return HeadAutomata.of_operators(recover(blocks, factors), alphabet)


def state_limits(gaps: Gaps, n_states: int | Int64s, counts_per_state: float) -> dict[Sort, int]:
    """How many states the data of each sort pay for, at most `n_states` (of all, or of each)."""
    if np.min(n_states) < 1:
        raise ValueError(f"n_states={n_states}: an automaton has at least one state")
    moving = gaps.remaining > 0
    counts = np.bincount(gaps.sort[moving], gaps.weight[moving], minlength=gaps.sequences.n_sorts)
    limits = np.minimum(n_states, (counts / counts_per_state).astype(np.int64) + 1)
    return dict(zip(head_sorts(gaps.sequences.alphabet), limits.tolist(), strict=True))

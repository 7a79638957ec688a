"""Head automata by the spectral method: count, factorise, recover, one automaton a sort.

Algorithm 1 of Luque et al. (2012) is `views=bigram_views`. The number of states of a sort is at most one
for every `counts_a_state` of its modifiers, and at most the rank of its block. Recovered automata are
signed, and give nothing to modifiers that were never seen: they are mixed with deterministic ones.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.blocks import Blocks
from sigmastar.core.factors import Factors, factorize_up_to
from sigmastar.core.parallel import one_blas_thread
from sigmastar.core.recover import recover
from sigmastar.core.signature import Sort
from sigmastar.dependency.counts import Views, count_heads, rich_views
from sigmastar.dependency.data.gaps import Gaps, Integers
from sigmastar.dependency.data.sequences import WeightedSequences, head_sorts
from sigmastar.dependency.learn.counting import learn_deterministic
from sigmastar.dependency.model.head_automata import HeadAutomata

COUNTS_A_STATE = 100.0
SHARE = 0.15  # chosen with the line above on the development parts of five treebanks


def learn_spectral(
    sequences: WeightedSequences,
    n_states: int | Integers,
    views: Views = rich_views,
    counts_a_state: float = COUNTS_A_STATE,
    deterministic_share: float = SHARE,
) -> HeadAutomata:
    """Automata of at most `n_states` states, mixed with a share of DET+F."""
    gaps = Gaps(sequences)
    blocks = count_heads(gaps, views)
    factors = factorize_heads(blocks, state_limits(gaps, n_states, counts_a_state))
    automata = HeadAutomata.of_operators(recover(blocks, factors), sequences.alphabet)
    if deterministic_share == 0.0:
        return automata
    return automata.mixed_with(learn_deterministic(sequences, first=True), deterministic_share)


def state_limits(gaps: Gaps, n_states: int | Integers, counts_a_state: float) -> dict[Sort, int]:
    """How many states the data of each sort pay for, at most `n_states` (of all, or of each)."""
    if np.min(n_states) < 1:
        raise ValueError(f"n_states={n_states}: an automaton has at least one state")
    moving = gaps.remaining > 0
    counts = np.bincount(gaps.sort[moving], gaps.weight[moving], minlength=gaps.sequences.n_sorts)
    limits = np.minimum(n_states, (counts / counts_a_state).astype(np.int64) + 1)
    return dict(zip(head_sorts(gaps.sequences.alphabet), limits.tolist(), strict=True))


def factorize_heads(blocks: Blocks, limits: dict[Sort, int]) -> dict[Sort, Factors]:
    """Each sort's block with as many states as its limit and its rank allow."""
    with one_blas_thread():  # many small decompositions: more threads only wait for each other
        return {sort: factorize_up_to(matrix, limits[sort]) for sort, matrix in blocks.matrices.items()}

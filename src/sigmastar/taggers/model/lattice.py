"""A corpus as a lattice: the candidate tags of every word, and tables of marginals over them.

A fast model may guide a slow one: candidates to which it gives almost no probability are left out of the
lattice of the other, token by token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.resources import thread_map
from sigmastar.taggers.kernels.chains import Chain, Lattice, Marginals, chain_marginals, pairs_within

_TOKENS_PER_SHARD = 4096


@dataclass(frozen=True, eq=False)
class TagLattice:
    """Sentences over types of words; candidates of type x are `starts[x]:starts[x + 1]` of `tags`."""

    offsets: Int64s
    types: Int32s
    starts: Int64s
    tags: Int32s
    chances: Floats  # of each candidate, the probability that the word alone gives it

    @cached_property
    def n_candidates(self) -> Int64s:
        """Of every token."""
        return np.diff(self.starts)[self.types]

    @cached_property
    def token_starts(self) -> Int64s:
        return np.append(0, np.cumsum(self.n_candidates))

    @cached_property
    def block_starts(self) -> Int64s:
        """Where the pairs of candidates (of the token before, of this one) begin; first tokens have none."""
        counts = self.n_candidates
        sizes = np.append(0, counts[:-1]) * counts
        sizes[self.is_first] = 0
        return np.append(0, np.cumsum(sizes))

    @cached_property
    def candidate_of(self) -> Int64s:
        """Of every token and candidate, the number of the candidate among those of its type."""
        n = self.n_candidates
        return np.arange(self.token_starts[-1]) + np.repeat(
            self.starts[self.types] - self.token_starts[:-1], n
        )

    @cached_property
    def likeliest(self) -> Int32s:
        """Of each type the candidate of largest chance."""
        if len(self.starts) == 1:
            return np.zeros(0, dtype=np.int32)
        top = np.maximum.reduceat(self.chances, self.starts[:-1])
        hits = np.flatnonzero(self.chances == np.repeat(top, np.diff(self.starts)))
        types = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))[hits]
        return self.tags[hits[np.unique(types, return_index=True)[1]]]

    @property
    def token_of(self) -> Int64s:
        """Of every token and candidate, the token."""
        return np.repeat(np.arange(len(self.types)), self.n_candidates)

    @cached_property
    def is_first(self) -> Flags:
        """Of every token, whether it begins a sentence."""
        found = np.zeros(len(self.types), dtype=bool)
        found[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return found

    @cached_property
    def arrays(self) -> Lattice:
        """What kernels take."""
        return Lattice(self.offsets, self.types, self.starts, self.tags, self.token_starts, self.block_starts)

    @property
    def n_sentences(self) -> int:
        return len(self.offsets) - 1

    def shards(self) -> list[tuple[int, int]]:
        """Runs of sentences of a few thousand tokens."""
        cuts = np.searchsorted(self.offsets, np.arange(0, int(self.offsets[-1]), _TOKENS_PER_SHARD))
        ends = np.unique(np.append(cuts, self.n_sentences))
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))

    def empty(self) -> TagMarginals:
        n, m = int(self.token_starts[-1]), int(self.block_starts[-1])
        return TagMarginals(self, np.zeros(n), np.zeros(m), np.zeros(self.n_sentences))

    def each_shard(self, task: Callable[[int, int], None]) -> None:
        """Run a kernel that writes into shared tables on every shard, on all threads allowed."""
        thread_map(lambda shard: task(*shard), self.shards())

    def chain(self, firsts: Floats, arrows: Floats) -> TagMarginals:
        """Marginals of the chain whose log-weights are `firsts` at candidates and `arrows` between them."""
        found, chain = self.empty(), Chain(firsts, arrows)
        self.each_shard(lambda low, high: chain_marginals(self.arrays, low, high, chain, found.arrays))
        return found


@dataclass(frozen=True, eq=False)
class TagMarginals:
    """mu(i, a) and mu(i, a, b) on a lattice, flat, and the logarithm of each sentence's normalizer."""

    lattice: TagLattice
    unigrams: Floats
    bigrams: Floats
    logs: Floats

    @property
    def arrays(self) -> Marginals:
        """What kernels fill."""
        return Marginals(self.unigrams, self.bigrams, self.logs)

    def dense(self, n_tags: int) -> Floats:
        """Unigram marginals as a table, tokens x tags."""
        lattice = self.lattice
        table = np.zeros((len(lattice.types), n_tags))
        table[lattice.token_of, lattice.tags[lattice.candidate_of]] = self.unigrams
        return table


@dataclass(frozen=True, eq=False)
class GuidedLattice:
    """The candidates to which a guide gives at least some mass."""

    whole: TagMarginals  # of the guide
    kept: Int64s  # flat over tokens and candidates, those that are left
    narrow: TagLattice  # of these alone; every token is its own type
    rows: Int64s  # of each of them, the candidate of its type

    @classmethod
    def of(cls, guide: TagMarginals, least: float) -> GuidedLattice:
        lattice = guide.lattice
        kept = np.flatnonzero(guide.unigrams >= min(least, 1.0 / max(lattice.n_candidates.max(initial=1), 1)))
        rows = lattice.candidate_of[kept]
        starts = np.searchsorted(kept, lattice.token_starts)
        types = np.arange(len(lattice.types), dtype=np.int32)
        narrow = TagLattice(lattice.offsets, types, starts, lattice.tags[rows], lattice.chances[rows])
        return cls(guide, kept, narrow, rows)

    @cached_property
    def pairs(self) -> Int64s:
        """Flat over pairs of candidates of neighbours, those with both ends left."""
        lattice = self.whole.lattice
        is_kept = np.zeros(len(self.whole.unigrams), dtype=bool)
        is_kept[self.kept] = True
        found = np.empty(int(self.narrow.block_starts[-1]), dtype=np.int64)
        pairs_within(lattice.token_starts, lattice.block_starts, is_kept, found)
        return found

    def filled(self, found: TagMarginals) -> TagMarginals:
        """Marginals on the narrow lattice as ones on the whole: what was left out keeps the guide's share."""
        unigrams, bigrams = self.whole.unigrams.copy(), self.whole.bigrams.copy()
        unigrams[self.kept] = found.unigrams
        bigrams[self.pairs] = found.bigrams
        return TagMarginals(self.whole.lattice, unigrams, bigrams, found.logs)

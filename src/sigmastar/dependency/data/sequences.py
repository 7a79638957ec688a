"""Head-modifier sequences: what head automata generate.

A projective tree falls apart into one sequence of modifiers for each head and direction, read from the
head outwards: word w gives sequences 2w (left) and 2w + 1 (right), sentence s gives 2N + s, the
modifiers of its root, with N words in all. The sort of a sequence is its head's symbol and direction:

    sort = 2 * symbol + direction,   the root's is 2 * (number of symbols)        (left 0, right 1)

Gaps cut a sequence into a past (an outside) and a future (an inside). A sequence of T modifiers has T + 1
gaps; gap t lies after t modifiers. Gaps stand in the order of the sequences, so the gap after gap g is g +
1 unless g is the end of its sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.core.alphabet import Alphabet, Sort
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.dependency.data.treebank import DependencyTreebank

LEFT, RIGHT = 0, 1
DIRECTIONS = ("left", "right")
ROOT = "*"


def _joined(treebank: DependencyTreebank) -> list[str]:
    pairs = zip(treebank.upos, treebank.xpos, strict=True)
    return [upos if upos == xpos else f"{upos}+{xpos}" for upos, xpos in pairs]


SYMBOLS: Mapping[str, Callable[[DependencyTreebank], list[str]]] = MappingProxyType(
    {
        "upos": lambda treebank: treebank.upos,
        "xpos": lambda treebank: treebank.xpos,
        "upos+xpos": _joined,
    }
)
"""What automata read: a symbol for each word of a treebank."""


def head_sorts(alphabet: Alphabet) -> tuple[Sort, ...]:
    """The name (head, direction) of every sort, in the order of their numbers."""
    words = [(symbol, direction) for symbol in alphabet for direction in DIRECTIONS]
    return (*words, (ROOT, DIRECTIONS[RIGHT]))


@dataclass(frozen=True, eq=False)
class ModifierSequences:
    """Sequence q has sort `sorts[q]` and modifies by the words `words[offsets[q]:offsets[q + 1]]`."""

    sorts: Int32s
    words: Int64s
    offsets: Int64s

    @classmethod
    def of(cls, head: Int32s, offsets: Int64s, codes: Int32s, n_symbols: int) -> ModifierSequences:
        """All sequences of projective trees; `codes` are the symbols of the words."""
        n, n_sentences = int(offsets[-1]), len(offsets) - 1
        word = np.arange(n)
        sentence = np.repeat(np.arange(n_sentences), np.diff(offsets))
        top = offsets[sentence] + head - 1
        sequence = np.where(head == 0, 2 * n + sentence, 2 * top + (word > top))
        distance = np.where(head == 0, word, np.abs(word - top))
        ends = np.zeros(2 * n + n_sentences + 1, dtype=np.int64)
        np.cumsum(np.bincount(sequence, minlength=2 * n + n_sentences), out=ends[1:])
        sorts = np.concatenate(
            [
                (2 * codes[:, None] + np.arange(2, dtype=np.int32)).ravel(),
                np.full(n_sentences, 2 * n_symbols, dtype=np.int32),
            ]
        ).astype(np.int32)
        return cls(sorts, np.lexsort((distance, sequence)).astype(np.int64), ends)

    def __len__(self) -> int:
        return len(self.sorts)


@dataclass(frozen=True, eq=False)
class WeightedSequences:
    """Distinct sequences of modifiers with how often each occurs, sort by sort.

    Those of sort s are `sort_starts[s]:sort_starts[s + 1]`.
    """

    alphabet: Alphabet
    strings: Strings
    counts: Floats
    sort_starts: Int64s
    origin: Int64s  # which of them each sequence of the treebank is

    @classmethod
    def of(cls, sequences: ModifierSequences, codes: Int32s, alphabet: Alphabet) -> WeightedSequences:
        """Count equal sequences of one sort once: the sort is read as if it were a first symbol."""
        n_symbols, n_sorts = len(alphabet), 2 * len(alphabet) + 1
        modifiers = codes[sequences.words]
        places = sequences.offsets[:-1]
        marked = Strings(
            Alphabet(range(n_symbols + n_sorts)),
            np.insert(modifiers, places, sequences.sorts + n_symbols).astype(np.int32),
            sequences.offsets + np.arange(len(sequences) + 1),
        )
        node = PrefixTrie.of(marked).string_node
        _, first, inverse = np.unique(node, return_index=True, return_inverse=True)
        counts = np.bincount(inverse).astype(np.float64)
        order = np.argsort(sequences.sorts[first], kind="stable")
        chosen = first[order]
        starts = np.searchsorted(sequences.sorts[chosen], np.arange(n_sorts + 1))
        kept = Strings(alphabet, modifiers, sequences.offsets).select(chosen)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return cls(alphabet, kept, counts[order], starts, places[inverse])

    @property
    def n_sorts(self) -> int:
        return len(self.sort_starts) - 1

    @property
    def sort_of_sequence(self) -> Int64s:
        return np.repeat(np.arange(self.n_sorts), np.diff(self.sort_starts))

    def with_counts(self, counts: Floats) -> WeightedSequences:
        """Those with a count, which may be another one than before; they come from no treebank."""
        chosen = np.flatnonzero(counts > 0)
        starts = np.searchsorted(self.sort_of_sequence[chosen], np.arange(self.n_sorts + 1))
        kept = self.strings.select(chosen)
        return WeightedSequences(self.alphabet, kept, counts[chosen], starts, np.arange(len(chosen)))

    def of_sort(self, sort: int) -> tuple[Strings, Floats]:
        """The distinct sequences of one sort, and their counts."""
        chosen = np.arange(self.sort_starts[sort], self.sort_starts[sort + 1])
        return self.strings.select(chosen), self.counts[chosen]


@dataclass(frozen=True, eq=False)
class Gaps:
    """All gaps of distinct sequences, in order; the last gap of each sequence is its end."""

    sequences: WeightedSequences

    @cached_property
    def sequence(self) -> Int64s:
        return np.repeat(np.arange(len(self.sequences.strings)), self.sequences.strings.lengths + 1)

    @cached_property
    def sort(self) -> Int64s:
        return self.sequences.sort_of_sequence[self.sequence]

    @cached_property
    def weight(self) -> Floats:
        return self.sequences.counts[self.sequence]

    @cached_property
    def place(self) -> Int64s:
        """How many modifiers stand before the gap."""
        starts = self.sequences.strings.offsets[:-1] + np.arange(len(self.sequences.strings))
        return np.arange(len(self.sequence)) - starts[self.sequence]

    @cached_property
    def after(self) -> Int64s:
        """The symbol after each gap; the number of symbols at the end."""
        return self.symbols_after(1)

    def symbols_after(self, steps: int) -> Int64s:
        """The symbol `steps` places after each gap (0: just before it); the number of symbols outside."""
        strings, wanted = self.sequences.strings, self.place + steps - 1
        inside = (wanted >= 0) & (wanted < strings.lengths[self.sequence])
        at = np.where(inside, strings.offsets[self.sequence] + wanted, 0)
        symbols = strings.codes[at] if len(strings.codes) else np.zeros(len(at), dtype=np.int32)
        return np.where(inside, symbols, len(self.sequences.alphabet)).astype(np.int64)

    @property
    def remaining(self) -> Int64s:
        return self.sequences.strings.lengths[self.sequence] - self.place

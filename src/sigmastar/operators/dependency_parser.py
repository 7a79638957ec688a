"""A dependency parser: head automata over tags, with what turns sentences into their symbols and back.

    weight(tree) = P_automata(tree) * product over arcs of exp(theta . indicators(arc))

The second factor is there where arcs were trained (the log-linear combination of section 5.2 of Luque et
al. 2012, with trained in place of counted preferences). Heads come from the marginals of arcs by Eisner's
algorithm; where the weights of all trees of a sentence do not sum to something positive, deterministic
automata decide, and the sentence is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.arcs import fill_log_weights
from sigmastar.inference.eisner import parse_sentences
from sigmastar.inference.labels import predict_labels
from sigmastar.operators.head_automata import HeadAutomata
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.dependencies import DependencyTreebank, Heads
from sigmastar.structures.heads import SYMBOLS, Codes, ModifierSequences

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

_PIECE = 256  # sentences parsed at a time by one thread
N_COARSE = 30
NO_LABELS = Alphabet([])


@dataclass(frozen=True)
class Vocabulary:
    """How the words of a treebank become numbers."""

    symbols: str  # which of SYMBOLS
    alphabet: Alphabet
    likeness: Mapping[str, str]  # for each coarse tag the symbol that stands for unknown ones
    common: str  # the symbol for all else
    coarse: Mapping[str, int]
    words: Mapping[str, int]  # empty where words do not count

    @property
    def is_coarse(self) -> bool:
        """Whether the symbols are the coarse tags themselves."""
        return all(name == tag for tag, name in self.likeness.items()) and set(self.likeness) == set(
            self.alphabet
        )

    def codes(self, treebank: DependencyTreebank) -> Codes:
        """The symbol of every word; unknown ones are taken for the most frequent of their coarse tag."""
        table, names = self.alphabet.codes, SYMBOLS[self.symbols](treebank)
        codes = np.fromiter((table.get(name, -1) for name in names), np.int32, len(names))
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = table[self.likeness.get(treebank.upos[at], self.common)]
        return codes

    def rows(self, treebank: DependencyTreebank, codes: Codes) -> tuple[Codes, Longs]:
        """Tag, coarse tag and word of every position, each sentence with its root first; and the starts."""
        n, n_sentences = treebank.n_words, len(treebank)
        rows = np.empty((n + n_sentences, 3), dtype=np.int32)
        rows[:] = (len(self.alphabet), -1 if self.is_coarse else N_COARSE + 1, -1)
        places = word_positions(treebank.sentence_offsets)
        rows[places, 0] = codes
        rows[places, 1] = [self.coarse.get(tag, N_COARSE) for tag in treebank.upos]
        if self.words:
            rows[places, 2] = [self.words.get(word, -1) for word in treebank.form]
        return rows, treebank.sentence_offsets + np.arange(n_sentences + 1)


def word_positions(offsets: Longs) -> Longs:
    """Where the words stand when every sentence has its root before it."""
    return np.arange(offsets[-1]) + np.repeat(np.arange(1, len(offsets)), np.diff(offsets))


@dataclass(frozen=True, eq=False)
class Parse:
    """Heads of all words, the log of the total weight of every sentence, and how many needed the fallback."""

    heads: Heads
    log_weights: Array
    n_fallback: int
    marginals: list[Array] | None  # [head, modifier] of every sentence, the root is 0


@dataclass(frozen=True, eq=False)
class DependencyParser:
    """Head automata and all that surrounds them."""

    vocabulary: Vocabulary
    automata: HeadAutomata
    fallback: HeadAutomata
    frequencies: Array  # of symbols, for the scale
    single_root: bool = True
    arc_weights: Array | None = None  # theta
    label_weights: Array | None = None
    labels: Alphabet = NO_LABELS

    @property
    def alphabet(self) -> Alphabet:
        return self.vocabulary.alphabet

    def parse(self, treebank: DependencyTreebank, n_threads: int = 1, marginals: bool = False) -> Parse:
        """Heads by minimum Bayes risk."""
        codes = self.vocabulary.codes(treebank)
        found = self._run(treebank, codes, self.automata, n_threads, marginals)
        failed = np.flatnonzero(np.isneginf(found.log_weights))
        if not len(failed):
            return found
        again = self._run(
            treebank.select(failed), _part(codes, treebank, failed), self.fallback, 1, marginals
        )
        heads = found.heads.copy()
        heads[_words(treebank, failed)] = again.heads
        kept = found.marginals
        if kept is not None and again.marginals is not None:
            kept = list(kept)
            for at, table in zip(failed.tolist(), again.marginals, strict=True):
                kept[at] = table
        return Parse(heads, found.log_weights, len(failed), kept)

    def predict(self, treebank: DependencyTreebank, n_threads: int = 1) -> DependencyTreebank:
        """The treebank with the heads found, and their labels where labels were learnt."""
        parse = self.parse(treebank, n_threads)
        return treebank.with_heads(parse.heads, self.label(treebank, parse.heads))

    def label(self, treebank: DependencyTreebank, heads: Heads) -> list[str] | None:
        """The label of every word under given heads."""
        if self.label_weights is None:
            return None
        rows, starts = self.vocabulary.rows(treebank, self.vocabulary.codes(treebank))
        places = word_positions(treebank.sentence_offsets)
        tops = np.zeros(len(rows), dtype=np.int32)
        tops[places] = heads
        numbers = predict_labels(rows, tops, starts, self.label_weights)[places]
        return [str(self.labels.symbols[number]) for number in numbers.tolist()]

    def log_probability(self, treebank: DependencyTreebank) -> Array:
        """log P(tree and sentence) under the automata alone; -inf where it is not positive."""
        codes = self.vocabulary.codes(treebank)
        sequences = ModifierSequences.of(treebank.head, treebank.sentence_offsets, codes, len(self.alphabet))
        logs = self.automata.log_values(sequences, codes)
        n = treebank.n_words
        totals = np.zeros(len(treebank))
        sentence = np.repeat(np.arange(len(treebank)), 2 * treebank.lengths)
        np.add.at(totals, sentence, logs[: 2 * n])
        return totals + logs[2 * n :]

    def _run(
        self, treebank: DependencyTreebank, codes: Codes, automata: HeadAutomata, n_threads: int, keep: bool
    ) -> Parse:
        offsets = treebank.sentence_offsets
        pieces = [(low, min(low + _PIECE, len(treebank))) for low in range(0, len(treebank), _PIECE)]
        rows, starts = self.vocabulary.rows(treebank, codes)

        def parsed(piece: tuple[int, int]) -> tuple[Codes, Array, Array, Array]:
            low, high = piece
            weights, at = self.weights(rows, starts[low : high + 1])
            return parse_sentences(
                codes[offsets[low] : offsets[high]],
                np.zeros(offsets[high] - offsets[low], dtype=np.int32),
                offsets[low : high + 1] - offsets[low],
                automata.arrays,
                weights,
                at,
                np.ones((1, 2, starts[high] - starts[low])),
                self.scales,
                self.single_root,
                keep,
            )

        if n_threads > 1:
            with ThreadPoolExecutor(n_threads) as pool:
                parts = list(pool.map(parsed, pieces))
        else:
            parts = [parsed(piece) for piece in pieces]
        heads, signs, logs, kept = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Parse(
            heads, np.where(signs > 0, logs, -np.inf), 0, _tables(kept, treebank.lengths) if keep else None
        )

    @property
    def scales(self) -> Array:
        """A factor for each symbol that keeps the weights of sentences near one."""
        return 1.0 / np.maximum(self.frequencies, 1e-4)

    def weights(self, rows: Codes, starts: Longs) -> tuple[Array, Longs]:
        """The weights of all arcs of some sentences, flat, and where those of each begin."""
        at = np.concatenate([[0], np.cumsum(np.diff(starts) ** 2)])
        if self.arc_weights is None:
            return np.ones(at[-1]), at
        logs = np.zeros(at[-1])
        fill_log_weights(rows, starts, self.arc_weights, logs, at)
        return np.exp(logs), at

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts: dict[str, NDArray[Any]] = {"frequencies": self.frequencies}
        for name, automata in (("automata", self.automata), ("fallback", self.fallback)):
            parts |= {f"{name}.{key}": array for key, array in automata.to_parts()[0].items()}
        for name in ("arc_weights", "label_weights"):
            if (array := getattr(self, name)) is not None:
                parts[name] = array.astype(np.float32)
        known = self.vocabulary
        words = sorted(known.words, key=known.words.__getitem__)
        return parts, {
            "symbols": known.symbols,
            "alphabet": known.alphabet,
            "likeness": [list(pair) for pair in known.likeness.items()],
            "common": known.common,
            "coarse": sorted(known.coarse, key=known.coarse.__getitem__),
            "words": words,
            "labels": self.labels,
            "single_root": self.single_root,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> DependencyParser:
        def automata(name: str) -> HeadAutomata:
            mine = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if "." in key}
            start = {key: arrays[f"{name}.{key}"] for key in mine if f"{name}.{key}" in arrays}
            return HeadAutomata.from_parts(start, header)

        def doubles(name: str) -> Array | None:
            return arrays[name].astype(np.float64) if name in arrays else None

        if header["symbols"] not in SYMBOLS:
            raise ValueError(f"symbols {header['symbols']!r} are unknown")
        vocabulary = Vocabulary(
            header["symbols"],
            header["alphabet"],
            dict(header["likeness"]),
            header["common"],
            {tag: number for number, tag in enumerate(header["coarse"])},
            {word: number for number, word in enumerate(header["words"])},
        )
        return cls(
            vocabulary,
            automata("automata"),
            automata("fallback"),
            arrays["frequencies"],
            bool(header["single_root"]),
            doubles("arc_weights"),
            doubles("label_weights"),
            header["labels"],
        )

    def with_parts(self, **parts: Any) -> DependencyParser:
        return replace(self, **parts)


def _words(treebank: DependencyTreebank, sentences: NDArray[np.intp]) -> Longs:
    return np.concatenate([np.arange(*treebank.sentence_offsets[q : q + 2]) for q in sentences.tolist()])


def _part(codes: Codes, treebank: DependencyTreebank, sentences: NDArray[np.intp]) -> Codes:
    return codes[_words(treebank, sentences)]


def _tables(flat: Array, lengths: Longs) -> list[Array]:
    ends = np.cumsum((lengths + 1) ** 2)
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(n + 1, n + 1) for piece, n in zip(pieces, lengths.tolist(), strict=True)]

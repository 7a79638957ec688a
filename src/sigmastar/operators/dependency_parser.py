"""A dependency parser: head automata over tags, with what turns sentences into their symbols and back.

    weight(tree) = P_automata(tree) * P_counted(tree) * product over arcs of exp(theta . indicators(arc))

The second factor is a lexicalised grammar that was counted, the log-linear combination of section 5.2 of
Luque et al. (2012); the third is there where arcs were trained. Each may be left out. Heads come from the
marginals of arcs by Eisner's algorithm, or for deterministic automata, if asked, from the one most probable
tree. Where the weights of all trees of a sentence do not sum to something positive, deterministic automata
decide, and the sentence is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.arcs import fill_log_weights
from sigmastar.inference.eisner import parse_sentences
from sigmastar.inference.labels import predict_labels
from sigmastar.inference.viterbi import viterbi_sentences
from sigmastar.operators.head_automata import HeadAutomata
from sigmastar.operators.lexical_heads import LexicalGrammar
from sigmastar.operators.vocabulary import Vocabulary, word_positions
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.dependencies import DependencyTreebank, Heads
from sigmastar.structures.heads import Codes, ModifierSequences

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

_PIECE = 256  # sentences parsed at a time by one thread
DECODINGS = ("mbr", "viterbi")
NO_LABELS = Alphabet([])


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
    decoding: str = DECODINGS[0]
    counted: LexicalGrammar | None = None  # multiplied in

    def __post_init__(self) -> None:
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
        if self.decoding == "viterbi" and not self.automata.is_deterministic:
            raise ValueError("decoding='viterbi' needs deterministic automata: use method='det' or 'det+f'")
        if self.decoding == "viterbi" and self.counted is not None:
            raise ValueError("decoding='viterbi' is for automata over tags: leave it out with counted words")

    @property
    def alphabet(self) -> Alphabet:
        return self.vocabulary.alphabet

    def parse(self, treebank: DependencyTreebank, n_threads: int = 1, marginals: bool = False) -> Parse:
        """Heads by minimum Bayes risk, or those of the most probable tree where `decoding` says so.

        Weights are of the sentence, all trees together; of the best tree where that alone was sought.
        """
        codes = self.vocabulary.codes(treebank)
        if self.decoding == "viterbi" and not marginals:
            return self._best_trees(treebank, codes, n_threads)
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
        """log P(tree and sentence) under the automata; -inf where it is not positive.

        Counted words are multiplied in; trained arcs, which are no probabilities, are not.
        """
        codes = self.vocabulary.codes(treebank)
        sequences = ModifierSequences.of(treebank.head, treebank.sentence_offsets, codes, len(self.alphabet))
        logs = self.automata.log_values(sequences, codes)
        n = treebank.n_words
        totals = np.zeros(len(treebank))
        sentence = np.repeat(np.arange(len(treebank)), 2 * treebank.lengths)
        np.add.at(totals, sentence, logs[: 2 * n])
        counted = 0.0 if self.counted is None else self.counted.log_probability(treebank)
        return totals + logs[2 * n :] + counted

    def _run(
        self, treebank: DependencyTreebank, codes: Codes, automata: HeadAutomata, n_threads: int, keep: bool
    ) -> Parse:
        offsets = treebank.sentence_offsets
        rows, starts = self.vocabulary.rows(treebank, codes)

        classes = self._classes(treebank)

        def parsed(low: int, high: int) -> tuple[NDArray[Any], ...]:
            weights, at = self.log_weights(rows, starts[low : high + 1])
            weights, stops = np.exp(weights), np.ones((1, 2, starts[high] - starts[low]))
            if self.counted is not None and automata is self.automata:
                tables, stops = self.counted.tables(treebank, low, high)
                weights, at = _multiplied(weights, tables)
            return parse_sentences(
                codes[offsets[low] : offsets[high]],
                classes[offsets[low] : offsets[high]] * np.int32(len(stops) > 1),
                offsets[low : high + 1] - offsets[low],
                automata.arrays,
                weights,
                at,
                stops,
                self.scales,
                self.single_root,
                keep,
            )

        heads, signs, logs, kept = _in_pieces(parsed, len(treebank), n_threads)
        tables = _tables(kept, treebank.lengths) if keep else None
        return Parse(heads, np.where(signs > 0, logs, -np.inf), 0, tables)

    def _classes(self, treebank: DependencyTreebank) -> Codes:
        if self.counted is None:
            return np.zeros(treebank.n_words, dtype=np.int32)
        return self.counted.classes(treebank.xpos)

    def _best_trees(self, treebank: DependencyTreebank, codes: Codes, n_threads: int) -> Parse:
        offsets, logs = treebank.sentence_offsets, self.automata.logarithms
        rows, starts = self.vocabulary.rows(treebank, codes)

        def parsed(low: int, high: int) -> tuple[NDArray[Any], ...]:
            weights, at = self.log_weights(rows, starts[low : high + 1])
            words, ends = codes[offsets[low] : offsets[high]], offsets[low : high + 1] - offsets[low]
            return viterbi_sentences(words, ends, logs, weights, at, self.single_root)

        heads, weights = _in_pieces(parsed, len(treebank), n_threads)
        return Parse(heads, weights, 0, None)

    @property
    def scales(self) -> Array:
        """A factor for each symbol that keeps the weights of sentences near one."""
        return 1.0 / np.maximum(self.frequencies, 1e-4)

    def log_weights(self, rows: Codes, starts: Longs) -> tuple[Array, Longs]:
        """Logarithms of the weights of all arcs of some sentences, flat, and where those of each begin."""
        at = np.concatenate([[0], np.cumsum(np.diff(starts) ** 2)])
        logs = np.zeros(at[-1])
        if self.arc_weights is not None:
            fill_log_weights(rows, starts, self.arc_weights, logs, at)
        return logs, at

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts: dict[str, NDArray[Any]] = {"frequencies": self.frequencies}
        for name, automata in (("automata", self.automata), ("fallback", self.fallback)):
            parts |= {f"{name}.{key}": array for key, array in automata.to_parts()[0].items()}
        for name in ("arc_weights", "label_weights"):
            if (array := getattr(self, name)) is not None:
                parts[name] = array.astype(np.float32)
        counted = None
        if self.counted is not None:
            arrays, counted = self.counted.to_parts()
            parts |= {f"counted.{key}": array for key, array in arrays.items()}
        return parts, {
            **self.vocabulary.to_header(),
            "counted": counted,
            "labels": self.labels,
            "single_root": self.single_root,
            "decoding": self.decoding,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> DependencyParser:
        def part(name: str) -> dict[str, NDArray[Any]]:
            mine = {key.removeprefix(f"{name}."): array for key, array in arrays.items()}
            return {key: array for key, array in mine.items() if f"{name}.{key}" in arrays}

        def doubles(name: str) -> Array | None:
            return arrays[name].astype(np.float64) if name in arrays else None

        counted = header.get("counted")
        return cls(
            Vocabulary.from_header(header),
            HeadAutomata.from_parts(part("automata"), header),
            HeadAutomata.from_parts(part("fallback"), header),
            arrays["frequencies"],
            bool(header["single_root"]),
            doubles("arc_weights"),
            doubles("label_weights"),
            header["labels"],
            header.get("decoding", DECODINGS[0]),
            LexicalGrammar.from_parts(part("counted"), counted) if counted else None,
        )

    def with_parts(self, **parts: Any) -> DependencyParser:
        return replace(self, **parts)


def _in_pieces(
    parsed: Callable[[int, int], tuple[NDArray[Any], ...]], n_sentences: int, n_threads: int
) -> list[NDArray[Any]]:
    """What `parsed` gives for some hundred sentences at a time, on threads, put together."""
    lows = range(0, n_sentences, _PIECE)
    highs = [min(low + _PIECE, n_sentences) for low in lows]
    if n_threads > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            parts = list(pool.map(parsed, lows, highs))
    else:
        parts = list(map(parsed, lows, highs))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _multiplied(weights: Array, tables: list[Array]) -> tuple[Array, Longs]:
    """Weights of arcs times tables by class, flat, and where those of each sentence begin."""
    ends = np.cumsum([0, *(table[0].size for table in tables)]).tolist()
    parts = [
        (table * weights[low:high].reshape(table.shape[1:])).ravel()
        for table, low, high in zip(tables, ends, ends[1:], strict=False)
    ]
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)])


def _words(treebank: DependencyTreebank, sentences: NDArray[np.intp]) -> Longs:
    return np.concatenate([np.arange(*treebank.sentence_offsets[q : q + 2]) for q in sentences.tolist()])


def _part(codes: Codes, treebank: DependencyTreebank, sentences: NDArray[np.intp]) -> Codes:
    return codes[_words(treebank, sentences)]


def _tables(flat: Array, lengths: Longs) -> list[Array]:
    ends = np.cumsum((lengths + 1) ** 2)
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(n + 1, n + 1) for piece, n in zip(pieces, lengths.tolist(), strict=True)]

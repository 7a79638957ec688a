"""A dependency parser: head automata over tags, with what turns sentences into their symbols and back.

    weight(tree) = P_automata(tree) P_counted(tree) times d(arc) over arcs
    weight(tree) = exp(theta . indicators(tree)) times d(arc) over arcs, where arcs were trained

P_counted is a lexicalised grammar that was counted, the log-linear combination of section 5.2 of Luque et al.
(2012); d is what distances weigh; both may be left out. Heads come from the marginals of arcs by Eisner's
algorithm, or for deterministic automata, if asked, from the one most probable tree. Where the weights of all
trees of a sentence do not sum to something positive, deterministic automata decide, and the sentence is
counted. They also rule arcs out beforehand: those whose marginals under them are below `pruning`, unless
marginals are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.sequences import Codes, ModifierSequences
from sigmastar.dependency.data.treebank import DependencyTreebank, Heads
from sigmastar.dependency.kernels.arc_labels import predict_labels
from sigmastar.dependency.kernels.eisner import all_marginals
from sigmastar.dependency.kernels.projective import best_trees
from sigmastar.dependency.kernels.viterbi import viterbi_sentences
from sigmastar.dependency.model.arc_scores import Pruner, base_weights, score_arcs
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.lexical import LexicalGrammar
from sigmastar.dependency.model.vocabulary import Encoded, Vocabulary, gathered, word_positions

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

_PIECE = 256  # sentences parsed at a time by one thread
DECODINGS = ("mbr", "viterbi")
PRUNING = 3e-4
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
    distances: Array | None = None  # weights: sort, symbol, bin
    pruning: float = PRUNING

    def __post_init__(self) -> None:
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
        if self.decoding == "viterbi" and not self.automata.is_deterministic:
            raise ValueError("decoding='viterbi' needs deterministic automata: use method='det' or 'det+f'")
        if self.decoding == "viterbi" and (self.counted is not None or self.arc_weights is not None):
            raise ValueError("decoding='viterbi' is for automata alone: no counted words, no trained arcs")

    @cached_property
    def deciding(self) -> HeadAutomata:
        """The automata that parse: none in effect where trained arcs do."""
        return self.automata if self.arc_weights is None else HeadAutomata.neutral(self.alphabet)

    @property
    def alphabet(self) -> Alphabet:
        return self.vocabulary.alphabet

    def parse(self, treebank: DependencyTreebank, n_threads: int = 1, marginals: bool = False) -> Parse:
        """Heads by minimum Bayes risk, or those of the most probable tree where `decoding` says so.

        Weights are of the sentence, all trees together; of the best tree where that alone was sought.
        """
        sentences = self.vocabulary.encode(treebank, rows=self.arc_weights is not None)
        if self.decoding == "viterbi" and not marginals:
            return self._best_trees(sentences, n_threads)
        found = self._run(treebank, sentences, self.deciding, n_threads, marginals)
        failed = np.flatnonzero(np.isneginf(found.log_weights))
        if not len(failed):
            return found
        again = self._run(
            treebank.select(failed), sentences.select(failed), self.fallback, n_threads, marginals
        )
        heads = found.heads.copy()
        heads[gathered(sentences.offsets, failed)[0]] = again.heads
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
        rows = self.vocabulary.rows(treebank, self.vocabulary.codes(treebank))
        places = word_positions(treebank.sentence_offsets)
        tops = np.zeros(len(rows), dtype=np.int32)
        tops[places] = heads
        starts = treebank.sentence_offsets + np.arange(len(treebank) + 1)
        numbers = predict_labels(rows, tops, starts, self.label_weights)[places]
        return [str(self.labels.symbols[number]) for number in numbers.tolist()]

    def log_probability(self, treebank: DependencyTreebank) -> Array:
        """log P(tree and sentence) under the automata; -inf where it is not positive.

        Counted words are multiplied in; distances and trained arcs, which are no probabilities, are not.
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
        self,
        treebank: DependencyTreebank,
        sentences: Encoded,
        automata: HeadAutomata,
        n_threads: int,
        keep: bool,
    ) -> Parse:
        classes = self._classes(treebank)

        def parsed(low: int, high: int) -> tuple[NDArray[Any], ...]:
            part = sentences.part(low, high)
            base = base_weights(part, self.distances, None if keep else self.pruner)
            scores = score_arcs(part, base, self.arc_weights)
            weights, stops = scores.weights, np.ones((1, 2, part.starts[-1]))
            if self.counted is not None and automata is not self.fallback:
                weights, stops = self.counted.multiplied(treebank, low, high, weights)
            kinds = classes[sentences.offsets[low] : sentences.offsets[high]] * np.int32(len(stops) > 1)
            signs, logs, marginals, _ = all_marginals(
                part.codes, kinds, part.offsets, automata.arrays, weights, stops, self.scales, scores.ways
            )
            heads = best_trees(marginals, part.offsets, signs > 0, self.single_root)
            return heads, signs, logs, marginals if keep else marginals[:0]

        heads, signs, logs, kept = _in_pieces(parsed, len(treebank), n_threads)
        tables = _tables(kept, treebank.lengths) if keep else None
        return Parse(heads, np.where(signs > 0, logs, -np.inf), 0, tables)

    def _classes(self, treebank: DependencyTreebank) -> Codes:
        if self.counted is None:
            return np.zeros(treebank.n_words, dtype=np.int32)
        return self.counted.classes(treebank.xpos)

    def _best_trees(self, sentences: Encoded, n_threads: int) -> Parse:
        automata = self.automata.logarithms

        def parsed(low: int, high: int) -> tuple[NDArray[Any], ...]:
            part = sentences.part(low, high)
            weights = base_weights(part, self.distances, None)
            return viterbi_sentences(
                part.codes, part.offsets, automata, np.log(weights), part.squares, self.single_root
            )

        heads, weights = _in_pieces(parsed, len(sentences.offsets) - 1, n_threads)
        return Parse(heads, weights, 0, None)

    @property
    def scales(self) -> Array:
        """A factor for each symbol that keeps the weights of sentences near one."""
        return 1.0 / np.maximum(self.frequencies, 1e-4)

    @property
    def pruner(self) -> Pruner:
        return Pruner(self.fallback.first_and_rest, self.scales, self.pruning)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts: dict[str, NDArray[Any]] = {"frequencies": self.frequencies}
        for name, automata in (("automata", self.automata), ("fallback", self.fallback)):
            parts |= {f"{name}.{key}": array for key, array in automata.to_parts()[0].items()}
        for name in ("arc_weights", "label_weights", "distances"):
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
            "pruning": self.pruning,
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
            doubles("distances"),
            float(header.get("pruning", 0.0)),
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


def _tables(flat: Array, lengths: Longs) -> list[Array]:
    ends = np.cumsum((lengths + 1) ** 2)
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(n + 1, n + 1) for piece, n in zip(pieces, lengths.tolist(), strict=True)]

"""A dependency parser: head automata over tags, with what turns sentences into their symbols and back.

One decoder decides which tree a sentence has:

    AutomataDecoder     weight(tree) = P_automata(tree) times d(arc) over arcs; heads from marginals of arcs
    BestTreeDecoder     the same; the one most probable tree of deterministic automata
    TrainedArcsDecoder  weight(tree) = exp(theta . indicators(tree)) times d(arc) over arcs

with d what distances weigh (`ArcPrior`). **Where arcs were trained, they decide alone: the head automata
take no part in the parse**, nor in `log_probability`. `sample` draws from them, and `grammar` is theirs.

Heads come from the marginals of arcs by Eisner's algorithm. Where the weights of all trees of a sentence do
not sum to something positive, deterministic automata decide, and the sentence is counted. They also rule
arcs out beforehand: those whose marginals under them are below `pruning`. Marginals that are asked
for are those that heads come from: arcs that were ruled out have none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.resources import Mapper, thread_map
from sigmastar.core.stored_parts import Parts, floats, integers, one_of, share, singles, text_alphabet, texts
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.data.projectivity import undo_lifts
from sigmastar.dependency.data.sequences import ModifierSequences
from sigmastar.dependency.data.treebank import DependencyTreebank, require_lengths
from sigmastar.dependency.model.arcs import N_BARRIERS, N_BINS, ArcPrior, Distances
from sigmastar.dependency.model.decoders import (
    AT_ONCE,
    DECODERS,
    AutomataDecoder,
    BestTreeDecoder,
    Decoded,
    Decoder,
    TensorDecoder,
    TrainedArcsDecoder,
)
from sigmastar.dependency.model.head_automata import HeadAutomata, draw_tree
from sigmastar.dependency.model.labels import Labeller
from sigmastar.dependency.model.vocabulary import Encoded, Vocabulary, gathered

MOST_WORDS = 1500
"""Of a sentence: time grows with the cube of their number, a quarter of a minute here."""
MOST_EXACT = 200
"""The same where no arc is ruled out: grandparents then take memory with the cube, 0.6 GB here."""


@dataclass(frozen=True, eq=False)
class Parse:
    """Heads of all words, the log of the total weight of every sentence, and how many needed the fallback."""

    heads: Int32s
    log_weights: Floats
    n_fallback: int
    marginals: list[Floats] | None  # [head, modifier] of every sentence, the root is 0


@dataclass(frozen=True, eq=False)
class DependencyParser(Shown):
    """Head automata, and what decides the trees of sentences.

    Parameters
    ----------
    vocabulary : Vocabulary
        How words become numbers.
    automata : HeadAutomata
        A grammar: what trees and sentences are scored by, and drawn from. They decide the parse only if the
        decoder lets them.
    prior : ArcPrior
        Distances, arcs that are ruled out, automata for where nothing else decides.
    decoder : Decoder
        What decides: head automata, or trained arcs.
    labeller : Labeller or None
        Relations of arcs, where they were learned.
    """

    vocabulary: Vocabulary
    automata: HeadAutomata
    prior: ArcPrior
    decoder: Decoder = field(default_factory=AutomataDecoder)
    labeller: Labeller | None = None

    def __post_init__(self) -> None:
        if not self.automata.alphabet == self.prior.automata.alphabet == self.alphabet:
            raise ValueError("the automata of a parser and its vocabulary have different alphabets")
        if isinstance(self.decoder, BestTreeDecoder) and not self.automata.is_deterministic:
            raise ValueError("decoding='viterbi' needs deterministic automata: use method='det' or 'det+f'")

    @property
    def alphabet(self) -> Alphabet:
        return self.vocabulary.alphabet

    @property
    def decided_by(self) -> str:
        """What decides the parse, in words."""
        return self.decoder.decided_by

    @property
    def is_generative(self) -> bool:
        """Whether head automata decide, which give sentences too a probability."""
        return not isinstance(self.decoder, TrainedArcsDecoder)

    @property
    def grammar(self) -> DependencyParser:
        """The same parser with its head automata deciding."""
        return self if self.is_generative else replace(self, decoder=AutomataDecoder())

    def on(self, device: str, precision: str | None = None) -> DependencyParser:
        """The same parser with the marginals of its arcs on a device, by PyTorch; there no arc is ruled out.

        Parameters
        ----------
        device : {"cpu", "cuda", "auto"}
            Where to work; "auto": a GPU where there is one.
        precision : {"float32", "float64"} or None
            Type of all numbers; None: float32 on a GPU, else float64.

        Returns
        -------
        DependencyParser
            Parses and the probabilities of sentences are found there.
        """
        if type(self.decoder) not in (AutomataDecoder, TensorDecoder):
            raise InputError(
                f"{self.decided_by} decide the parses of this model, and they have no way on a device: leave "
                "the device out, or let head automata decide (arcs none, decoding mbr)"
            )
        return replace(self, decoder=TensorDecoder(device, precision))

    def parse(self, treebank: DependencyTreebank, marginals: bool = False) -> Parse:
        """The heads of all words.

        Parameters
        ----------
        treebank : DependencyTreebank
            Its heads are not looked at.
        marginals : bool
            Whether the marginals of arcs are kept, by which heads were chosen: arcs that are ruled out
            beforehand have none. (A prior with `pruning=0` rules none out.)

        Returns
        -------
        Parse
            Weights are of the sentence, all trees together; of the best tree where that alone was sought.
        """
        self.require_lengths(treebank.lengths)
        sentences = self.vocabulary.encode(treebank, rows=self.decoder.reads_words)
        found = self._decoded(self.decoder, self.automata, sentences, marginals)
        failed = np.flatnonzero(np.isneginf(found.log_weights))
        if not len(failed):
            return found
        again = self._decoded(AutomataDecoder(), self.prior.automata, sentences.select(failed), marginals)
        heads = found.heads.copy()
        heads[gathered(sentences.offsets, failed)[0]] = again.heads
        kept = found.marginals
        if kept is not None and again.marginals is not None:
            tables = dict(zip(failed.tolist(), again.marginals, strict=True))
            kept = [tables.get(number, table) for number, table in enumerate(kept)]
        return Parse(heads, found.log_weights, len(failed), kept)

    def require_lengths(self, lengths: Int64s) -> None:
        """Refuse sentences of more words than can be parsed, by the first of them."""
        all_siblings = not self.is_generative and not self.prior.pruning
        require_lengths(lengths, MOST_EXACT if all_siblings else MOST_WORDS)

    def predict(self, treebank: DependencyTreebank) -> DependencyTreebank:
        """The treebank with the heads found, and their labels where labels were learned."""
        return self.attached(treebank, self.parse(treebank).heads)

    def attached(self, treebank: DependencyTreebank, heads: Int32s) -> DependencyTreebank:
        """The treebank under heads that were found, with labels; lifts that labels tell of are undone."""
        labels = self.label(treebank, heads)
        if labels is not None and self.labeller is not None and self.labeller.marked:
            heads, labels = undo_lifts(heads, labels, treebank.sentence_offsets)
        return treebank.with_heads(heads, labels)

    def label(self, treebank: DependencyTreebank, heads: Int32s) -> list[str] | None:
        """The label of every word under given heads, where labels were learned."""
        return None if self.labeller is None else self.labeller.label(self.vocabulary, treebank, heads)

    def log_probability(self, treebank: DependencyTreebank) -> Floats:
        """Logarithms of probabilities under what decides; -inf where they are not positive.

        Of head automata: of sentence and tree, or of the sentence where heads are missing; distances, which
        are no probabilities, are left out. Of trained arcs: of the tree given the sentence.
        """
        if not self.is_generative:
            return self._log_trees(treebank)
        if not treebank.has_heads:
            return self._log_sentences(treebank)
        codes, n = self.vocabulary.codes(treebank), treebank.n_words
        sequences = ModifierSequences.of(treebank.head, treebank.sentence_offsets, codes, len(self.alphabet))
        logs = self.automata.log_values(sequences, codes)
        totals = np.zeros(len(treebank))
        np.add.at(totals, np.repeat(np.arange(len(treebank)), 2 * treebank.lengths), logs[: 2 * n])
        return totals + logs[2 * n :]

    def _log_trees(self, treebank: DependencyTreebank) -> Floats:
        if not treebank.has_heads:
            raise InputError(
                "trained arcs give trees a probability, not sentences: every word needs a head; "
                "sentences have one under the head automata (score --automata, or the parser's grammar)"
            )
        require_lengths(treebank.lengths, MOST_WORDS)
        sentences, decoder = self.vocabulary.encode(treebank), self.decoder
        assert isinstance(decoder, TrainedArcsDecoder)

        def piece(low: int) -> Floats:
            high = min(low + AT_ONCE, len(treebank))
            words = slice(*sentences.offsets[[low, high]])
            return decoder.log_conditional(sentences.part(low, high), treebank.head[words], self.prior)

        logs = thread_map(piece, range(0, len(treebank), AT_ONCE))
        return np.concatenate([np.zeros(0), *logs])

    def _log_sentences(self, treebank: DependencyTreebank) -> Floats:
        bare = replace(self.prior, distances=None, pruning=0.0)
        sentences = self.vocabulary.encode(treebank, rows=False)
        decoder = self.decoder if isinstance(self.decoder, TensorDecoder) else AutomataDecoder()
        return replace(self, prior=bare)._decoded(decoder, self.automata, sentences, False).log_weights

    def sample(self, n_trees: int, rng: np.random.Generator, max_words: int = 200) -> DependencyTreebank:
        """Trees drawn from the automata, over tags; `_` stands for words.

        Where every tree that was learned from has one root, so has every tree that is drawn.
        """
        single = self.prior.single_root
        drawn = [draw_tree(self.automata, rng, max_words, single) for _ in range(n_trees)]
        tags = [self.vocabulary.tags(codes) for codes, _ in drawn]
        forms = [["_"] * len(codes) for codes, _ in drawn]
        heads = [tops for _, tops in drawn]
        return DependencyTreebank.of(forms, [u for u, _ in tags], heads, xpos=[x for _, x in tags])

    def _decoded(self, decoder: Decoder, automata: HeadAutomata, sentences: Encoded, keep: bool) -> Parse:
        """What a decoder gives for some hundred sentences at a time, on threads, put together."""
        n_sentences, size = len(sentences.offsets) - 1, decoder.at_once

        def piece(low: int) -> Decoded:
            part = sentences.part(low, min(low + size, n_sentences))
            found = decoder.decode(part, automata, self.prior, keep)
            return found if keep else found._replace(marginals=found.marginals[:0])

        spread: Mapper = map if isinstance(decoder, TensorDecoder) else thread_map
        parts = spread(piece, range(0, max(n_sentences, 1), size))
        heads, signs, logs, kept = (np.concatenate(column) for column in zip(*parts, strict=True))
        tables = _tables(kept, np.diff(sentences.offsets)) if keep else None
        return Parse(heads, np.where(signs > 0, logs, -np.inf), 0, tables)

    def with_parts(self, **parts: Any) -> DependencyParser:
        """The same parser with other fields."""
        return replace(self, **parts)

    PARTS: ClassVar[Parts] = Parts(
        inner=("automata.", "fallback.", "word_classes."),
        header={
            "alphabet": text_alphabet,
            "labels": text_alphabet,
            "single_root": bool,
            "decoding?": one_of(*DECODERS),
            "pruning?": share,
            "grandparents?": bool,
            "marked?": bool,
            "word_features?": texts,
            "word_classes?": dict,
        },
        sizes={"symbols": "alphabet", "labels": "labels"},
        arrays={
            "frequencies": floats("symbols", least=0.0),
            "distances": singles("sorts", "symbols", N_BINS, least=0.0).or_none(),
            "barriers": integers("symbols", least=0, most=N_BARRIERS - 1).or_none(),
            "arc_weights": singles("arc_features").or_none(),
            "label_weights": singles("label_features", "labels").or_none(),
            "word_points": singles("word_features", "dimensions").or_none(),
            "word_centres": singles("word_states", "dimensions").or_none(),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        parts: dict[str, Array] = {"frequencies": self.prior.frequencies}
        for name, automata in (("automata", self.automata), ("fallback", self.prior.automata)):
            parts |= above(f"{name}.", automata.to_parts()[0])
        singles: dict[str, Floats | None] = {}
        if self.prior.distances is not None:
            singles["distances"] = self.prior.distances.table
            parts["barriers"] = self.prior.distances.barriers
        if isinstance(self.decoder, TrainedArcsDecoder):
            singles["arc_weights"] = self.decoder.theta
        if self.labeller is not None:
            singles |= self.labeller.to_arrays()
        parts |= {name: array.astype(np.float32) for name, array in singles.items() if array is not None}
        header: dict[str, Any] = {
            **self.vocabulary.to_header(),
            "labels": Alphabet([]) if self.labeller is None else self.labeller.labels,
            "single_root": self.prior.single_root,
            "decoding": "viterbi" if isinstance(self.decoder, BestTreeDecoder) else "mbr",
            "pruning": self.prior.pruning,
            "grandparents": isinstance(self.decoder, TrainedArcsDecoder),
            "marked": self.labeller is not None and self.labeller.marked,
            "word_features": [] if self.labeller is None else self.labeller.word_features,
        }
        if (classes := self.vocabulary.classes) is not None:
            numbers, header["word_classes"] = classes.to_parts()
            parts |= above("word_classes.", numbers)
        return parts, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> DependencyParser:
        if header.get("counted"):
            raise ValueError(
                "parsers with counted words (lex, lex+f, lex+fcp) are no longer read; learn anew"
            )
        if "arc_weights" in arrays and not header.get("grandparents"):
            raise ValueError("trained arcs without weights of grandparents are no longer read; learn anew")
        if "distances" in arrays and "barriers" not in arrays:
            raise ValueError("distances without barriers are no longer read; learn anew")
        cls.PARTS.check(arrays, header)
        decoding = header.get("decoding", "mbr")

        def automata(name: str) -> HeadAutomata:
            return HeadAutomata.from_parts(below(f"{name}.", arrays), header)

        def doubles(name: str) -> Floats | None:
            return arrays[name].astype(np.float64) if name in arrays else None

        theta, table = doubles("arc_weights"), doubles("distances")
        vocabulary = Vocabulary.from_header(header)
        if "word_classes" in header:
            classes = WordClasses.from_parts(below("word_classes.", arrays), header["word_classes"])
            vocabulary = replace(vocabulary, classes=classes)
        return cls(
            vocabulary,
            automata("automata"),
            ArcPrior(
                automata("fallback"),
                arrays["frequencies"].astype(np.float64),
                None if table is None else Distances(table, arrays["barriers"].astype(np.int64)),
                float(header.get("pruning", 0.0)),
                bool(header["single_root"]),
            ),
            DECODERS[decoding]() if theta is None else TrainedArcsDecoder(theta),
            Labeller.from_arrays(arrays, header),
        )


def _tables(flat: Floats, lengths: Int64s) -> list[Floats]:
    ends = np.cumsum((lengths + 1) ** 2)
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(n + 1, n + 1) for piece, n in zip(pieces, lengths.tolist(), strict=True)]

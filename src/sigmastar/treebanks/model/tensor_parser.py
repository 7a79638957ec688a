"""A treebank parser whose charts are on a device: marginals of many sentences at once, with nothing pruned.

    1  the words of all sentences, each once, as vectors of the states of their symbols
    2  inside and outside of every grammar, sentences of about one length together (`gpu.dense`)
    3  trees, as `TreebankParser` decodes them

Compiled charts drop what a plain grammar, and one of few states, find improbable; here every item is looked
at under the grammar with all states, so that trees may differ where that was wrong. What a grammar finds no
tree for goes the way of the compiled charts, to the same fallback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.errors import InputError
from sigmastar.core.resources import limited_threads, thread_map
from sigmastar.core.torch_device import chosen_device, chosen_precision, import_torch, on_device
from sigmastar.treebanks.data.sentences import Sentence, require_words
from sigmastar.treebanks.gpu.dense import RuleTensors, filled_tensors
from sigmastar.treebanks.gpu.grammar import Posteriors, RuleUses, TorchGrammar
from sigmastar.treebanks.gpu.rounds import Shrink, conditional
from sigmastar.treebanks.kernels.plain_chart import EdgeChart
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar, Marginals, PruningPass
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves, Lexicon

if TYPE_CHECKING:
    import torch

    from sigmastar.treebanks.model.parser import Parse, TreebankParser

_PIECE = 16  # sentences that a thread decodes at a time


@dataclass(frozen=True, eq=False)
class _Words:
    """The distinct words of some sentences, and the sentences as codes of them."""

    leaves: Leaves
    codes: Int32s
    offsets: Int64s

    @classmethod
    def of(cls, parser: TreebankParser, sentences: Sequence[Leaves]) -> _Words:
        pairs = [np.stack([one.nodes, one.tags], axis=1) for one in sentences]
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in pairs])])
        distinct, codes = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
        leaves = parser.forest.leaves_of(*np.ascontiguousarray(distinct.T))
        return cls(leaves, codes.ravel().astype(np.int32), offsets)

    def vectors(self, lexicon: Lexicon, m: int) -> Floats:
        """Words by symbols of words by states."""
        leaves, n_symbols = self.leaves, len(lexicon.n_states)
        at, values = lexicon.candidate_vectors(leaves)
        word = np.repeat(np.arange(len(leaves.nodes)), np.diff(leaves.begin))
        candidate = np.repeat(np.arange(len(word)), np.diff(at))
        result = np.zeros((len(leaves.nodes), n_symbols, m))
        state = np.arange(len(values)) - at[candidate]
        result[word[candidate], leaves.symbols[candidate], state] = values
        return result


class TensorParser:
    """The grammars of a parser on a device.

    Parameters
    ----------
    parser : TreebankParser
        The parser.
    device : {"cuda", "auto", "cpu"}
        Where charts are.
    precision : {"float32", "float64"} or None
        Type of their numbers; None: float32 on a GPU, else float64.
    """

    at_once = 512  # sentences whose words are brought to the device together

    def __init__(self, parser: TreebankParser, device: str, precision: str | None = None) -> None:
        where = chosen_device(device)
        self.parser = parser
        precision = precision or ("float32" if where.type == "cuda" else "float64")
        self.grammars = [_grammar(member, where.type, precision) for member in parser.members]

    def parse(self, sentences: Sequence[Sentence], n_threads: int | None = 1) -> list[Parse]:
        """The tree of every sentence (words, and tags or None), in order."""
        if self.parser.decoding == "trees":
            raise InputError("whole trees are found on the processor alone: choose labels, rules or cpu")
        found = list[Any]()
        for low in range(0, len(sentences), self.at_once):
            some = sentences[low : low + self.at_once]
            leaves = self._leaves(some)
            marginals = self.marginals(leaves, self.parser.decoding == "rules")
            items = list(zip(some, leaves, marginals, strict=True))
            pieces = [items[at : at + _PIECE] for at in range(0, len(items), _PIECE)]
            with limited_threads(n_threads):
                found += thread_map(lambda piece: [self._decoded(*one) for one in piece], pieces)
        return [parse for piece in found for parse in piece]

    def _decoded(self, sentence: Sentence, leaves: Leaves, found: Sequence[Marginals]) -> Parse:
        if np.isneginf(found[0].log_total):
            return self.parser.parse_one(*sentence)
        return self.parser.decoded(*sentence, leaves, found)

    def _leaves(self, sentences: Sequence[Sentence]) -> list[Leaves]:
        for sentence in sentences:
            require_words(*sentence)
        return [self.parser.forest.leaves(*sentence) for sentence in sentences]

    def marginals(self, sentences: Sequence[Leaves], with_edges: bool = False) -> list[list[Marginals]]:
        """Of every sentence the marginals of every grammar; with edges those of the first grammar alone."""
        if not sentences:
            return []
        words, found = _Words.of(self.parser, sentences), list[list[Marginals]]()
        members = self.parser.members[:1] if with_edges else self.parser.members
        for member, grammar in zip(members, self.grammars, strict=False):
            vectors = words.vectors(member.passes[-1].lexicon, grammar.rules.word_roots.shape[1])
            ready, given = grammar.with_words(vectors), (words.codes, words.offsets)
            if with_edges:
                logs, posteriors, uses = ready.uses(*given, self.parser.pruning.edges)
            else:
                logs, posteriors = ready.posteriors(*given)
                uses = [RuleUses(np.zeros((0, 4), dtype=np.int64), np.zeros(0))] * len(logs)
            rules, triples = member.grammar.rules, zip(logs.tolist(), posteriors, uses, strict=True)
            found.append([_marginals(rules, *triple) for triple in triples])
        return [list(column) for column in zip(*found, strict=True)]

    def log_probabilities(self, sentences: Sequence[Sentence]) -> Floats:
        """log P(words) of every sentence, all trees together, averaged over grammars.

        Parameters
        ----------
        sentences : sequence of (words, tags or None)
            The sentences; with tags, only trees with these tags count.

        Returns
        -------
        array
            One logarithm per sentence; minus infinity where no grammar has a tree.
        """
        parts = [np.zeros(0)]
        for low in range(0, len(sentences), self.at_once):
            some = sentences[low : low + self.at_once]
            words, logs = _Words.of(self.parser, self._leaves(some)), list[Floats]()
            for member, grammar in zip(self.parser.members, self.grammars, strict=True):
                vectors = words.vectors(member.passes[-1].lexicon, grammar.rules.word_roots.shape[1])
                logs.append(grammar.with_words(vectors).log_totals(words.codes, words.offsets))
            known = [sum(map(self.parser.forest.log_frequency, sentence[0])) for sentence in some]
            parts.append(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)) + known)
        return np.concatenate(parts)


def _grammar(member: BinarizedGrammar, device: str, precision: str) -> TorchGrammar:
    """The last pass of a grammar on a device, without words."""
    step, n_leaves = member.passes[-1], member.symbols.n_leaves
    m = int(step.grammar.n_states.max())
    roots = np.zeros((step.grammar.n_symbols, m))
    roots[np.arange(m) < step.grammar.n_states[:, None]] = step.grammar.roots
    tensors = RuleTensors(step.grammar.rules, _tensors(step, m, chosen_device(device), precision))
    return TorchGrammar(tensors, roots, np.zeros((0, n_leaves, m)), device=device, precision=precision)


def _tensors(step: PruningPass, m: int, device: torch.device, precision: str) -> Reals | torch.Tensor:
    """The tensors of all rules, [rule, left, right, parent]: made of counts there, where there are counts."""
    grammar: LatentGrammar = step.grammar
    if grammar.counts is None:
        return filled_tensors(grammar.tensors, grammar.n_states[grammar.rules[:, [1, 2, 0]]], m)
    torch, kept, states = import_torch(), grammar.counts, grammar.rule_states
    rule, places = kept.places(states)
    dtype = chosen_precision(precision)
    counts = torch.zeros((len(grammar.rules), m, m, m), device=device, dtype=dtype)
    at = (on_device(array, device) for array in (rule, *places.T))
    counts[tuple(at)] = on_device(kept.values, device, dtype)
    shares = np.zeros((grammar.n_symbols, m))
    shares[np.arange(m) < grammar.n_states[:, None]] = grammar.frequencies
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    shrink = Shrink(kept.strength, kept.backing, 0.0, 0.0)
    rules = on_device(grammar.rules, device, torch.int64)
    return conditional(counts, rules, on_device(shares, device), shrink, 0.0)


def _marginals(rules: Int32s, log: float, found: Posteriors, uses: RuleUses) -> Marginals:
    """What compiled charts give, of all items that are not impossible."""
    (n, n_leaves), n_phrases = found.words.shape, found.phrases.shape[1]
    values = np.concatenate([found.words.ravel(), found.phrases.ravel()]).astype(np.float64)
    symbols = np.concatenate(
        [np.tile(np.arange(n_leaves), n), np.tile(n_leaves + np.arange(n_phrases), len(found.phrases))]
    )
    first = np.concatenate(
        [np.arange(n) * n_leaves, n * n_leaves + np.arange(len(found.phrases) + 1) * n_phrases]
    )
    kept = np.flatnonzero(values)
    begin, split, width, rule = uses.places.T
    parent, left, right = rules[rule].astype(np.int64).T

    def entry(symbol: Int64s, start: Int64s, size: Int64s) -> Int64s:
        cell = (size - 1) * n - (size - 1) * (size - 2) // 2 + start
        return np.asarray(first[cell] + symbol - np.where(size > 1, n_leaves, 0))

    ends = entry(parent, begin, width), entry(left, begin, split), entry(right, begin + split, width - split)
    wanted = np.stack(ends, axis=1)
    items = np.minimum(np.searchsorted(kept, wanted), max(len(kept) - 1, 0))
    known = (kept[items] == wanted).all(axis=1)
    edges = np.concatenate([items, rule[:, None]], axis=1)[known].astype(np.int32)
    starts = np.searchsorted(kept, first)
    graph = EdgeChart(starts.astype(np.int64), symbols[kept].astype(np.int32), edges)
    return Marginals(graph, values[kept], log, True, np.asarray(uses.values, dtype=np.float64)[known])

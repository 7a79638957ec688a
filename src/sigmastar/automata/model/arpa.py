r"""Back-off models in ARPA's format, as KenLM, SRILM and others read and write it.

    \data\            ngram 1=N ..
    \k-grams:         log10 p(w | past) <tab> past w <tab> log10 of the weight of backing off from "past w"
    \end\

A k-gram that is listed has its probability; another one has that of its shorter past, times the weight of
the past. In the rows of `NgramModel` the shorter past is always added, `p = own + weight x shorter`: what is
listed is the sum, and the weights are the same. `<s>` is the start and `</s>` the end of strings. The class
of unknown words, `<unk>`, is a word like others; `<UNK>`, as some write it, is read as it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.model.ngram_smoothing import Backoff, NgramModel
from sigmastar.core.alphabet import UNKNOWN_CLASS, Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import open_text

START, END = "<s>", "</s>"
_UNKNOWN_IN_CAPITALS = UNKNOWN_CLASS.upper()
_NEVER = -99.0  # the logarithm of no probability
_LARGEST = 300.0  # the size of a logarithm whose power is a number
_CHUNK = 1 << 16  # lines written at a time


def write_arpa(model: NgramModel, stream: TextIO) -> None:
    """Write an n-gram model in ARPA's format.

    Parameters
    ----------
    model : NgramModel
        Over symbols that are words: no blanks in them, and none is `<s>` or `</s>`.
    stream : TextIO
        Where to write it.
    """
    names = [str(symbol) for symbol in model.alphabet]
    for name in names:
        if name in (START, END) or name.split() != [name]:
            raise InputError(f"the symbol {name!r} has no place in ARPA's format: rename it in the data")
    levels = [_of_level(model, level) for level in range(int(model.contexts.depth.max(initial=0)) + 1)]
    stream.write("\\data\\\n")
    stream.writelines(f"ngram {k}={len(level.log_p)}\n" for k, level in enumerate(levels, 1))
    texts: dict[int, str] = {0: ""}
    for k, level in enumerate(levels, 1):
        stream.write(f"\n\\{k}-grams:\n")
        for begin in range(0, len(level.log_p), _CHUNK):
            stream.writelines(level.lines(slice(begin, begin + _CHUNK), texts, [*names, END]))
        nodes = np.flatnonzero(model.contexts.depth == k)
        parents, symbols = model.contexts.parent[nodes].tolist(), model.contexts.symbol[nodes].tolist()
        pasts, older = zip(nodes.tolist(), parents, symbols, strict=True), [*names, START]
        texts = {node: f"{older[symbol]} {texts[parent]}" for node, parent, symbol in pasts}
    stream.write("\n\\end\\\n")


@dataclass(frozen=True, eq=False)
class _Level:
    """The k-grams of one k: pasts, last symbols, and logarithms; no weight (NaN) where nothing follows."""

    pasts: Int32s
    last: Int32s
    log_p: Floats
    log_weight: Floats

    def lines(self, part: slice, texts: dict[int, str], names: list[str]) -> Iterator[str]:
        columns = (a[part].tolist() for a in (self.pasts, self.last, self.log_p, self.log_weight))
        for past, last, p, weight in zip(*columns, strict=True):
            word = names[last] if last >= 0 else START
            backing = f"\t{weight:.8f}" if weight == weight else ""
            yield f"{p:.8f}\t{texts[past]}{word}{backing}\n"


def _of_level(model: NgramModel, depth: int) -> _Level:
    contexts, rows = model.contexts, model.rows
    if depth == 0:  # every symbol, whether it was met or not, and the start
        pasts, last = np.zeros(model.n_outcomes, np.int32), np.arange(model.n_outcomes, dtype=np.int32)
    else:
        owners = np.repeat(np.arange(contexts.n_classes, dtype=np.int32), np.diff(rows.row_starts))
        here = contexts.depth[owners] == depth
        pasts, last = owners[here], rows.outcomes[here]
    p = np.log10(np.maximum(model.probabilities(pasts, last), 10.0**_NEVER))
    nodes = contexts.follow(pasts, np.minimum(last, len(model.alphabet) - 1).astype(np.int32))
    is_past = (contexts.depth[nodes] == depth + 1) & (last < len(model.alphabet))
    n_wanted = int((contexts.depth == depth + 1).sum())
    with np.errstate(divide="ignore"):
        weights = np.maximum(np.log10(rows.backoff), _NEVER)
    found = _Level(pasts, last, p, np.where(is_past, weights[nodes], np.nan))
    if depth == 0 and contexts.start:
        ends = np.array([0], np.int32), np.array([-1], np.int32), np.array([_NEVER])
        columns = zip((pasts, last, p, found.log_weight), (*ends, weights[[contexts.start]]), strict=True)
        found, n_wanted = _Level(*(np.concatenate(pair) for pair in columns)), n_wanted - 1
    if int(is_past.sum()) != n_wanted:
        raise InputError("contexts of the model are no n-grams of it: ARPA's format has no place for them")
    return found


def read_arpa(path: str) -> NgramModel:
    """Read an n-gram model in ARPA's format.

    Parameters
    ----------
    path : str
        The file; it may be compressed.

    Returns
    -------
    NgramModel
        Its symbols are the unigrams but `<s>` and `</s>`, in the order of the file.
    """
    with_lines = _sections(path)
    first = next(with_lines, (0, [], []))
    words = [fields[1] for fields in first[2] if len(fields) > 1]  # the reader says which have none
    unknown = _UNKNOWN_IN_CAPITALS if UNKNOWN_CLASS not in words else UNKNOWN_CLASS
    kept = [word for word in words if word not in (START, END)]
    if not words or END not in words:
        raise InputError(r"no unigrams, or none of </s>, after \1-grams:", file=path)
    if len(set(words)) < len(words):
        raise InputError("a unigram is listed twice", file=path)
    codes = {word: code for code, word in enumerate(kept)} | {START: -1, END: len(kept)}
    reader = _Reader(path, codes)
    reader.add(*first)
    for section in with_lines:
        reader.add(*section)
    return reader.model(Alphabet(UNKNOWN_CLASS if word == unknown else word for word in kept))


def _sections(path: str) -> Iterator[tuple[int, list[int], list[list[str]]]]:
    """k, and of every k-gram the number of its line and its fields: each k in turn."""
    k, numbers, rows, is_arpa = 0, list[int](), list[list[str]](), False
    for number, line in enumerate(open_text(path), 1):
        fields = line.split()
        if len(fields) == 1 and fields[0].startswith("\\"):
            is_arpa = is_arpa or fields[0] == "\\data\\"
            if k:
                yield k, numbers, rows
            name = fields[0][1:].partition("-grams:")[0]
            k, numbers, rows = int(name) if name.isdecimal() and len(name) < 4 else 0, [], []
        elif fields and k:
            numbers.append(number)
            rows.append(fields)
        if fields and not is_arpa:
            raise InputError(r"is not in ARPA's format: \data\ comes first", file=path, line=number)


class _Reader:
    """Contexts and rows, level by level: the rows of one level need all probabilities of those before."""

    def __init__(self, path: str, codes: dict[str, int]) -> None:
        self.path, self.codes, self.order = path, codes, 0
        self.grams: list[tuple[Int64s, Floats, Floats]] = []

    def add(self, k: int, numbers: list[int], rows: list[list[str]]) -> None:
        if k != self.order + 1:
            raise InputError(rf"\{k}-grams: after {self.order}-grams", file=self.path)
        try:
            flat = [self.codes[word] for fields in rows for word in fields[1 : k + 1]]
            log_p = np.array([float(fields[0]) for fields in rows])
            weights = np.array([float(fields[k + 1]) if len(fields) == k + 2 else 0.0 for fields in rows])
            grams = np.array(flat, np.int64).reshape(len(rows), k)
        except (KeyError, ValueError, IndexError):
            raise self._problem(k, numbers, rows) from None
        if any(not k + 1 <= len(fields) <= k + 2 for fields in rows) or not (
            _are_logs(log_p) and _are_logs(weights)
        ):
            raise self._problem(k, numbers, rows)
        self.grams.append((grams, log_p, weights))
        self.order = k

    def _problem(self, k: int, numbers: list[int], rows: list[list[str]]) -> InputError:
        """What is wrong with the first line that is."""
        for number, fields in zip(numbers, rows, strict=True):
            unknown = [word for word in fields[1 : k + 1] if word not in self.codes]
            if not k + 1 <= len(fields) <= k + 2:
                return InputError(f"no {k}-gram with its logarithms", file=self.path, line=number)
            if unknown:
                return InputError(f"the word {unknown[0]!r} is no unigram", file=self.path, line=number)
        return InputError(f"logarithms of {k}-grams that are no numbers of a usual size", file=self.path)

    def model(self, alphabet: Alphabet) -> NgramModel:
        edge = len(alphabet)
        trie = _trie([np.where(grams < 0, edge, grams) for grams, _, _ in self.grams], edge)
        backoff, nodes_of = np.ones(trie.n_classes), _Nodes(trie)
        for grams, _, weights in self.grams[: self.order - 1]:
            ending = (grams[:, -1] < edge) & (grams >= -1).all(axis=1)
            nodes = nodes_of(np.where(grams[ending] < 0, edge, grams[ending]))
            backoff[nodes[nodes >= 0]] = 10.0 ** weights[ending][nodes >= 0]
        backoff[0] = 0.0  # every symbol is a unigram
        model = NgramModel(alphabet, trie, _no_rows(backoff))
        for grams, log_p, _ in self.grams:
            model = _with_rows(model, nodes_of, grams[grams[:, -1] >= 0], log_p[grams[:, -1] >= 0])
        return model


def _are_logs(values: Floats) -> bool:
    """Whether powers of ten with these exponents are numbers."""
    return bool((np.abs(values) < _LARGEST).all())


class _Nodes:
    """The node of each past, oldest symbol first; -1 where it has none."""

    def __init__(self, trie: ContextTrie) -> None:
        self.width = np.int64(trie.n_symbols + 1)
        starts, symbols, self.nodes = trie.children
        self.keys = (
            np.repeat(np.arange(trie.n_classes, dtype=np.int64), np.diff(starts)) * self.width + symbols
        )

    def __call__(self, pasts: Int64s) -> Int64s:
        found = np.zeros(len(pasts), np.int64)
        for symbols in pasts.T[::-1]:
            keys = found * self.width + symbols
            at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
            met = (found >= 0) & (self.keys[at] == keys) if len(self.keys) else np.zeros(len(keys), bool)
            found = np.where(met, self.nodes[at] if len(self.nodes) else -1, -1)
        return found


def _trie(grams: list[Int64s], edge: int) -> ContextTrie:
    """All pasts of n-grams, and what is left of them without their oldest symbols."""
    pasts = [np.unique(np.vstack([g[:, :-1][:, -k:] for g in grams[k:]]), axis=0) if k else None
             for k in range(len(grams))]  # fmt: skip
    parents, symbols = [np.zeros(1, np.int32)], [np.full(1, -1, np.int32)]
    for k, level in enumerate(pasts):
        if level is None:
            continue
        trie = ContextTrie(edge, "past", np.concatenate(parents), np.concatenate(symbols))
        above = _Nodes(trie)(level[:, 1:]) if k > 1 else np.zeros(len(level), np.int64)
        order = np.lexsort((level[:, 0], above))
        parents.append(above[order].astype(np.int32))
        symbols.append(level[order, 0].astype(np.int32))
    return ContextTrie(edge, "past", np.concatenate(parents), np.concatenate(symbols))


def _no_rows(backoff: Floats) -> Backoff:
    return Backoff(np.zeros(len(backoff) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), backoff)


def _with_rows(model: NgramModel, nodes_of: _Nodes, grams: Int64s, log_p: Floats) -> NgramModel:
    """With the rows of longer n-grams: of a probability, what shorter pasts give is taken away."""
    edge, rows, trie = len(model.alphabet), model.rows, model.contexts
    nodes = nodes_of(np.where(grams[:, :-1] < 0, edge, grams[:, :-1])) if grams.shape[1] > 1 else None
    nodes = np.zeros(len(grams), np.int64) if nodes is None else nodes
    outcomes = grams[:, -1].astype(np.int32)
    own = 10.0**log_p
    if grams.shape[1] > 1:
        own -= rows.backoff[nodes] * model.probabilities(trie.parent[nodes], outcomes)
    owners = np.concatenate([np.repeat(np.arange(trie.n_classes), np.diff(rows.row_starts)), nodes])
    every = np.concatenate([rows.outcomes, outcomes])
    order = np.lexsort((every, owners))
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=trie.n_classes))])
    values = np.concatenate([rows.own, own])[order]
    return NgramModel(model.alphabet, trie, Backoff(starts, every[order], values, rows.backoff))

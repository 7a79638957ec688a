"""Strings with brackets, and files of them: constituents are spans `begin:end` of at least two symbols.

The spans of string s are `begins[span_offsets[s]:span_offsets[s + 1]]` and the same of `ends`, counted from
the beginning of the string; each stands once. A binary tree over L symbols has L - 1 of them. A file holds
trees in brackets, whose labels are dropped, or strings, one per line (`read_sentences`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.corpora import read_corpus
from sigmastar.automata.data.strings import Strings, is_corpus
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Indices, Int64s
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.skipping import by_tree
from sigmastar.core.text_files import TextPath, display_name, open_text, skips
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Span = tuple[int, int]
Leaf = Callable[[str, str], str | None]
"""What a word below a label becomes; None leaves it out."""


def its_word(label: str, word: str) -> str | None:
    """Words themselves, without the traces of the Penn Treebank."""
    return None if label == "-NONE-" else word


def its_tag(label: str, word: str) -> str | None:
    """The label right above a word, without traces."""
    return None if label == "-NONE-" else label


LEAVES = {"words": its_word, "tags": its_tag}
"""What the leaves of trees may stand for."""


@dataclass(frozen=True, eq=False)
class Bracketings:
    """An immutable corpus of strings, each with a set of spans."""

    strings: Strings
    begins: Int64s
    ends: Int64s
    span_offsets: Int64s

    @classmethod
    def of_spans(cls, strings: Strings, spans: Sequence[Int64s | Sequence[Span]]) -> Bracketings:
        """One list of (begin, end) per string."""
        if len(spans) != len(strings):
            raise InputError(f"{len(strings)} strings, but spans of {len(spans)}")
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in spans])]).astype(np.int64)
        flat = [np.asarray(part, dtype=np.int64).reshape(-1, 2) for part in spans]
        both = np.concatenate([np.empty((0, 2), dtype=np.int64), *flat])
        return cls(strings, both[:, 0].copy(), both[:, 1].copy(), offsets)

    @classmethod
    def of_trees(
        cls, trees: Iterable[Tree], leaf: Leaf = its_word, alphabet: Alphabet | None = None
    ) -> Bracketings:
        """Trees without their labels; what is left of a tree without words is dropped.

        >>> from sigmastar.trees.data.tree import Tree
        >>> Bracketings.of_trees([Tree("S", ("a", Tree("X", ("b", "c"))))]).spans(0)
        [(0, 3), (1, 3)]
        """
        read = [found for found in (_read(tree, leaf) for tree in trees) if found[0]]
        strings = Strings.of([words for words, _ in read], alphabet=alphabet)
        return cls.of_spans(strings, [sorted(spans, key=lambda s: (s[0], -s[1])) for _, spans in read])

    def __len__(self) -> int:
        return len(self.strings)

    @property
    def n_symbols(self) -> int:
        """Number of symbols of all strings."""
        return self.strings.n_symbols

    @property
    def lengths(self) -> Int64s:
        """Number of symbols of each string."""
        return self.strings.lengths

    def spans(self, index: int) -> list[Span]:
        """The spans of a string, outer before inner where they were given so."""
        part = slice(self.span_offsets[index], self.span_offsets[index + 1])
        return list(zip(self.begins[part].tolist(), self.ends[part].tolist(), strict=True))

    def __iter__(self) -> Iterator[list[Span]]:
        return (self.spans(index) for index in range(len(self)))

    def select(self, indices: Indices | Sequence[int]) -> Bracketings:
        """The strings at `indices` with their spans."""
        chosen = np.asarray(indices, dtype=np.int64)
        counts = np.diff(self.span_offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(self.span_offsets[chosen] - offsets[:-1], counts)
        return Bracketings(self.strings.select(chosen), self.begins[places], self.ends[places], offsets)

    def over(self, alphabet: Alphabet) -> Bracketings:
        """The same over another alphabet."""
        return Bracketings(self.strings.recoded(alphabet), self.begins, self.ends, self.span_offsets)

    @property
    def is_binary(self) -> bool:
        """Whether every string of L symbols has L - 1 spans, as binary trees do."""
        return bool((np.diff(self.span_offsets) == self.strings.lengths - 1).all())

    def binary(self) -> Bracketings:
        """Binary trees with all these spans: what is flat branches to the right."""
        lengths = self.strings.lengths.tolist()
        found = [_binary(length, spans) for length, spans in zip(lengths, self, strict=True)]
        return Bracketings.of_spans(self.strings, found)

    def trees(self, label: str = "X") -> list[Tree]:
        """Trees whose nodes all have one label and whose leaves are the symbols."""
        return [_tree(list(map(str, self.strings[k])), self.spans(k), label) for k in range(len(self))]


def right_branching(strings: Strings) -> Bracketings:
    """Every symbol combines with all that follows."""
    return Bracketings.of_spans(strings, [[(i, n) for i in range(n - 1)] for n in strings.lengths.tolist()])


def left_branching(strings: Strings) -> Bracketings:
    """Every symbol combines with all that precedes."""
    return Bracketings.of_spans(
        strings, [[(0, j) for j in range(n, 1, -1)] for n in strings.lengths.tolist()]
    )


def _read(tree: Tree, leaf: Leaf) -> tuple[list[str], set[Span]]:
    words: list[str] = []
    spans: set[Span] = set()
    waiting: list[tuple[Tree | str | int, str]] = [(tree, "")]
    while waiting:  # not by recursion: trees may be deeper than Python's stack
        node, label = waiting.pop()
        if isinstance(node, str):
            word = leaf(label, node)
            words.extend([] if word is None else [word])
        elif isinstance(node, int):  # where a node began: here it ends
            spans.update([(node, len(words))] if len(words) - node > 1 else [])
        else:
            waiting.append((len(words), ""))
            waiting.extend((child, node.label) for child in reversed(node.children))
    return words, spans


def _binary(length: int, spans: Sequence[Span]) -> list[Span]:
    """Add to nested spans those that combine the first child of a node with the rest, from the left."""
    ordered = sorted({*spans, (0, length)}, key=lambda span: (span[0], -span[1]))
    found: list[Span] = []
    waiting = [(span, _children(span, ordered)) for span in ordered if span[1] - span[0] > 1]
    for (_, end), children in waiting:
        found.extend((begin, end) for begin, _ in children[:-1])
    return sorted(set(found), key=lambda span: (span[0], -span[1]))


def _children(span: Span, ordered: Sequence[Span]) -> list[Span]:
    """The largest spans within one, and the single symbols between them."""
    begin, end = span
    inner = [s for s in ordered if begin <= s[0] and s[1] <= end and s != span]
    children: list[Span] = []
    at = begin
    for low, high in inner:
        if low >= at:
            children.extend((k, k + 1) for k in range(at, low))
            children.append((low, high))
            at = high
    return [*children, *((k, k + 1) for k in range(at, end))]


def _tree(words: list[str], spans: Sequence[Span], label: str) -> Tree:
    ordered = sorted({*spans, (0, len(words))}, key=lambda span: (span[0] - span[1], span[0]))
    done: dict[Span, Tree] = {}
    for span in reversed(ordered):  # narrow ones first
        parts = _children(span, sorted(done, key=lambda s: (s[0], -s[1])))
        done[span] = Tree(label, tuple(done.get(part, words[part[0]]) for part in parts))
    return done[0, len(words)]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Strings, and their brackets if the file has them."""

    strings: Strings
    brackets: Bracketings | None = None
    lines: tuple[int, ...] | None = None  # of strings: which lines hold them, if some are empty
    n_lines: int = 0

    @property
    def n_empty(self) -> int:
        """Lines without symbols: no grammar gives them weight."""
        return 0 if self.lines is None else self.n_lines - len(self.lines)

    def by_line(self, values: Sequence[str], empty: str) -> list[str]:
        """One value per line of the file, with `empty` for lines without symbols."""
        if self.lines is None:
            return list(values)
        result = [empty] * self.n_lines
        for line, value in zip(self.lines, values, strict=True):
            result[line] = value
        return result

    def up_to(self, longest: int | None) -> Sentences:
        """Those of at most so many symbols."""
        if longest is None:
            return self
        kept = np.flatnonzero(self.strings.lengths <= longest)
        if not len(kept):
            raise InputError(f"there are no strings of up to {longest} symbols; use a larger --max-length")
        brackets = None if self.brackets is None else self.brackets.select(kept)
        return Sentences(self.strings.select(kept), brackets)

    def __len__(self) -> int:
        return len(self.strings)


def read_sentences(
    path: TextPath, leaves: str = "words", alphabet: Alphabet | None = None, unknown: str = "error"
) -> Sentences:
    """Trees if the first line begins with a bracket, else the symbols of each line.

    Parameters
    ----------
    path
        A file, a corpus on disk, or - for standard input.
    leaves
        The leaves of trees: "words" or "tags".
    alphabet
        The symbols of a model.
    unknown
        "error": symbols outside `alphabet` are refused; "zero": they are kept.

    Returns
    -------
    Sentences
        With brackets where the file holds trees.
    """
    if not is_corpus(path):
        return _of_text(path, leaves, alphabet, unknown)
    return _known(_of_rows(list(read_corpus(path))), alphabet, unknown, display_name(path))


@skips(by_tree)
def _of_text(path: TextPath, leaves: str, alphabet: Alphabet | None, unknown: str) -> Sentences:
    name, lines = display_name(path), list(open_text(path))
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("("):
        return _known(_of_trees(lines, leaves, name), alphabet, unknown, name)
    return _known(_of_rows([line.split() for line in lines]), alphabet, unknown, name)


def _known(found: Sentences, alphabet: Alphabet | None, unknown: str, name: str) -> Sentences:
    if not len(found):
        raise InputError("holds no trees or strings", file=name)
    if alphabet is not None and unknown == "error":
        _require_known(found.strings, alphabet, name)
    return found


def _of_trees(lines: list[str], leaves: str, name: str) -> Sentences:
    brackets = Bracketings.of_trees(parse_brackets("\n".join(lines), name), LEAVES[leaves])
    if not len(brackets):
        raise InputError("its trees have no words", file=name)
    return Sentences(brackets.strings, brackets)


def _of_rows(rows: Sequence[Sequence[Symbol]]) -> Sentences:
    filled = tuple(number for number, row in enumerate(rows) if row)
    return Sentences(Strings.of([rows[number] for number in filled]), None, filled, len(rows))


def _require_known(strings: Strings, alphabet: Alphabet, file: str) -> None:
    """A symbol that the grammar does not know is an error that names its sentence."""
    coded = strings.recoded(alphabet, allow_unknown=True).codes
    if (coded < 0).any():
        at = int(np.argmax(coded < 0))
        number = int(np.searchsorted(strings.offsets, at, side="right"))
        symbol = strings.alphabet.symbols[strings.codes[at]]
        raise UnknownSymbolError(
            f"sentence {number}: {symbol!r} is not a symbol of the grammar; leave such sentences out, or use "
            "--unknown zero to give them no probability",
            file=file,
        )

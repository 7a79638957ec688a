"""Tagged text: one token per line, columns between tabs or blanks, an empty line between sentences.

    columns   `word tag chunk`, as in the shared tasks of CoNLL: the word is the first column, the label the
              last one or any other, by its number from 1
    conllu    CoNLL-U: the word is FORM, the label a column by its name (upos, xpos, deprel, feats, lemma)
              or number; multiword tokens and empty nodes are left out
    sentences one sentence per line, words with blanks between: text to be tagged, which is written as columns

Other columns may be observed, that is given beside the words when tags are predicted. In `columns` these are
the ones between the word and the label unless others are named, as the shared tasks of CoNLL have it: tags
are given where chunks are predicted, but not chunks where tags are. In CoNLL-U there are none unless named.

Where a line holds a tab, columns stand between tabs alone, so that words may hold blanks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sigmastar.core.arrays import Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_blank_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips, whole_number
from sigmastar.dependency.data.conllu import format_conllu, read_conllu
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.taggers.data.sentences import TaggedSentences

TAGGED = ("columns", "conllu")
_NUMBERED = re.compile(r"\d+([-.]\d+)?")  # ranges of multiword tokens and empty nodes too
FORMATS = (*TAGGED, "sentences")
CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_LABELS = ("lemma", "upos", "xpos", "feats", "deprel")


@dataclass(frozen=True)
class TaggedLayout:
    """How tagged text stands in a file: which format, which column is the label, which ones are observed.

    `observed` are names or numbers of columns; None: those between the word and the label, in CoNLL-U none.
    """

    format: str = "columns"
    label: str | None = None
    observed: tuple[str, ...] | None = None
    own: str | None = None  # column of own features, with | between them

    def read(self, path: TextPath, need_labels: bool = True) -> TaggedFile:
        """Read a file; without `need_labels` one that holds words alone will do."""
        return _READERS[self.format](path, self, need_labels)


@dataclass(frozen=True, eq=False)
class TaggedFile:
    """Sentences, and what is needed to write the file again with other labels."""

    layout: TaggedLayout
    sentences: TaggedSentences
    rows: list[list[str]]
    treebank: DependencyTreebank | None = None

    def lines(self, labels: Sequence[str]) -> Iterator[str]:
        """The file with these labels: in CoNLL-U in their column, in columns as one more at the end."""
        if self.treebank is not None:
            column: dict[str, Any] = {conllu_label(self.layout.label): list(labels)}
            changed = replace(self.treebank, **column)
            yield from format_conllu(changed)
            return
        ends = set(self.sentences.offsets[1:].tolist())
        for number, (row, label) in enumerate(zip(self.rows, labels, strict=True), 1):
            yield ("\t" if any(" " in cell for cell in row) else " ").join([*row, label])
            if number in ends:
                yield ""

    @property
    def is_numbered(self) -> bool:
        """Whether rows are those of CoNLL-U, whose words stand second, behind their numbers."""
        first = self.rows[: int(self.sentences.offsets[1])] if self.rows else []
        words = [row for row in first if not row[0].startswith("#")]
        numbers = [row[0] for row in words if row[0].isdecimal()]
        return (
            bool(numbers)
            and numbers == [str(number) for number in range(1, len(numbers) + 1)]
            and all(len(row) == len(CONLLU_COLUMNS) and _NUMBERED.fullmatch(row[0]) for row in words)
        )


def read_tagged(
    path: TextPath,
    file_format: str | None = None,
    label: str | None = None,
    observed: Sequence[str] | None = None,
) -> TaggedSentences:
    """The tagged sentences of a file.

    Parameters
    ----------
    path : str, path or file
        Text, plain or compressed; "-" is standard input.
    file_format : {"columns", "conllu", "sentences"} or None
        None: by the name of the file.
    label : str or None
        Column of the tags, by its number from 1 or its name in CoNLL-U; None: the last one, or upos.
    observed : sequence of str or None
        Columns that are given beside the words; None: those between the word and the label, in CoNLL-U none.

    Returns
    -------
    TaggedSentences
        Words, tags and observed columns.
    """
    named = None if observed is None else tuple(observed)
    return TaggedLayout(file_format or format_of(path), label, named).read(path).sentences


def format_of(path: TextPath) -> str:
    """The format of a file by its name."""
    name = os.fspath(path).removesuffix(".gz").removesuffix(".zst")
    return "conllu" if name.endswith(".conllu") else "columns"


def conllu_label(label: str | None) -> str:
    """The name of a label column of CoNLL-U, given by name or by number from 1."""
    return _conllu_column("upos" if label is None else label, "--label")


def _conllu_column(given: str, option: str) -> str:
    name = given.lower()
    number = whole_number(name)
    if number is not None and 1 <= number <= len(CONLLU_COLUMNS):
        name = CONLLU_COLUMNS[number - 1]
    if name not in _LABELS:
        raise InputError(f"{option} {given} is not a column of labels; CoNLL-U has {', '.join(_LABELS)}")
    return name


def _read_conllu(path: TextPath, layout: TaggedLayout, need_labels: bool) -> TaggedFile:
    name = conllu_label(layout.label)
    treebank = read_conllu(path, need_heads=False)
    labels = getattr(treebank, name)
    if need_labels and (labels is None or labels.count("_") == len(labels)):
        raise InputError(f"the column {name} is empty; choose another with --label", file=display_name(path))
    names = tuple(_conllu_column(given, "--observed") for given in layout.observed or ())
    if name in names:
        raise InputError(f"--observed {name}: this column is the label")
    observed = tuple(getattr(treebank, column) or ["_"] * len(treebank.form) for column in names)
    own = None
    if layout.own is not None:
        cells = getattr(treebank, _conllu_column(layout.own, "--own-features")) or ["_"] * len(treebank.form)
        own = own_features(cells)
    sentences = TaggedSentences(treebank.form, labels, treebank.sentence_offsets, observed, own)
    return TaggedFile(replace(layout, observed=names), sentences, [], treebank)


def _read_sentences(path: TextPath, layout: TaggedLayout, need_labels: bool) -> TaggedFile:
    if need_labels or layout.observed:
        raise InputError("bare sentences hold words alone; give columns or CoNLL-U", file=display_name(path))
    lines = [words for line in open_text(path) if (words := line.split())]
    words = [word for line in lines for word in line]
    offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    return TaggedFile(layout, TaggedSentences(words, None, offsets), [[word] for word in words])


@skips(by_blank_line)
def _read_columns(path: TextPath, layout: TaggedLayout, need_labels: bool) -> TaggedFile:
    numbers, rows, offsets = _rows_of(path)
    column = None if layout.label is None else _column(layout.label, "--label")
    observed = _observed_columns(layout.observed, len(rows[0]) if need_labels else 0, column)
    place = None if layout.own is None else _column(layout.own, "--own-features")
    given = [k for k in observed if layout.observed is not None or k != place]
    observed, given = given, [*given, *([] if place is None else [place])]
    if need_labels or layout.label is not None or given:
        _require_columns(rows, numbers, path, column, need_labels, given)
    labelled = bool(rows) and all(len(row) >= (2 if column is None else column + 1) for row in rows)
    at = -1 if column is None else column
    tags = [row[at] for row in rows] if labelled else None
    columns = tuple([row[k] for row in rows] for k in observed)
    resolved = replace(layout, observed=tuple(str(k + 1) for k in observed))
    own = None if place is None else own_features([row[place] for row in rows])
    return TaggedFile(resolved, TaggedSentences([row[0] for row in rows], tags, offsets, columns, own), rows)


def own_features(cells: Sequence[str]) -> list[tuple[str, ...]]:
    """The features in the cells of a column: `Case=Nom|Number=Sing`, or `_` for none."""
    return [() if cell == "_" else tuple(cell.split("|")) for cell in cells]


def _column(given: str, option: str) -> int:
    number = whole_number(given)
    if number is None or number < 2:
        raise InputError(
            f"{option} {given}: columns are counted from 1, the first is the word; give 2 or more"
        )
    return number - 1


def _observed_columns(named: tuple[str, ...] | None, width: int, label: int | None) -> list[int]:
    """Places of the observed columns: those named, else what stands between the word and the label."""
    last = width - 1 if label is None else label
    if named is None:
        return list(range(1, last))
    found = [_column(given, "--observed") for given in named]
    if last in found:
        raise InputError(f"--observed {last + 1}: this column is the label")
    return found


def _rows_of(path: TextPath) -> tuple[list[int], list[list[str]], Int64s]:
    """The cells of every line with a word, the numbers of those lines, and where sentences end."""
    lines = list(open_text(path))
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    if not numbers:
        raise InputError("the file holds no sentence", file=display_name(path))
    rows = [_cells(lines[number - 1]) for number in numbers]
    gaps = np.flatnonzero(np.diff(numbers) > 1) + 1
    return numbers, rows, np.concatenate([[0], gaps, [len(rows)]]).astype(np.int64)


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def _require_columns(
    rows: list[list[str]],
    numbers: list[int],
    path: TextPath,
    column: int | None,
    need_labels: bool,
    observed: Sequence[int],
) -> None:
    least = max(2, (column or 0) + 1) if need_labels else 1
    least = max([least, *(k + 1 for k in observed)])
    width = len(rows[0])
    for number, row in zip(numbers, rows, strict=True):
        if len(row) < least or not row[0] or (need_labels and len(row) != width):
            wanted = width if len(row) >= least else least
            raise InputError(
                f"expected {wanted} columns, found {len(row)}; the first is the word, the label is "
                f"{'the last' if column is None else f'number {column + 1}'}"
                + (f", observed {', '.join(str(k + 1) for k in observed)}" if observed else ""),
                file=display_name(path),
                line=number,
            )


_READERS = {"columns": _read_columns, "conllu": _read_conllu, "sentences": _read_sentences}

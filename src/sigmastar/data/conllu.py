"""CoNLL-U treebanks, and the simpler `word TAG head` format; one word a line, a blank line between sentences.

    ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC        ten columns, split at tabs only

Multiword tokens (ID `3-4`), empty nodes (ID `8.1`) and comments (`#`) hold no word of the tree: they
are passed over on reading and written back in their places. Everything is done a column at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import compress, repeat

import numpy as np
from numpy.typing import NDArray

from sigmastar.data.files import TextPath, atomic_write, display_name, open_text
from sigmastar.errors import InputError
from sigmastar.structures.dependencies import NO_HEAD, DependencyTreebank, word_places, words_without_root

N_COLUMNS = 10


def read_treebank(path: TextPath, need_heads: bool = True) -> DependencyTreebank:
    """Read either format: `.dp` files hold `word TAG head`, all others CoNLL-U."""
    name = os.fspath(path).removesuffix(".gz").removesuffix(".zst")
    return (read_dp if name.endswith(".dp") else read_conllu)(path, need_heads)


def read_conllu(path: TextPath, need_heads: bool = True) -> DependencyTreebank:
    """Read a CoNLL-U file; with `need_heads` a word without a head (`_`) is an error."""
    lines = _Lines(path, N_COLUMNS, comments=True)
    ids = lines.column(0)
    is_word = list(map(str.isdecimal, ids))
    return _treebank(lines, np.array(is_word, dtype=bool), ids, need_heads)


def read_dp(path: TextPath, need_heads: bool = True) -> DependencyTreebank:
    """Read `word TAG head` lines; the tag stands for both tag columns."""
    lines = _Lines(path, 3, comments=False)
    words = lines.column(0)
    offsets = _sentence_offsets(lines, np.ones(len(words), dtype=bool))
    head = _checked_heads(lines, lines.column(2), lines.numbers, offsets, need_heads)
    tags = lines.column(1)
    return DependencyTreebank(words, tags, tags, head, ["_"] * len(words), offsets)


def format_conllu(treebank: DependencyTreebank) -> Iterator[str]:
    """The lines of a CoNLL-U file, with the lines that hold no word in their old places."""
    lines = _word_lines(treebank)
    slots = np.arange(treebank.n_words) + np.repeat(np.arange(len(treebank)), treebank.lengths)
    stream = [""] * (treebank.n_words + len(treebank))  # what is left blank ends a sentence
    for slot, line in zip(slots.tolist(), lines, strict=True):
        stream[slot] = line
    done = 0
    for slot, line in treebank.other_lines:
        yield from stream[done:slot]
        yield line
        done = slot
    yield from stream[done:]


def write_conllu(treebank: DependencyTreebank, path: TextPath) -> None:
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n" for line in format_conllu(treebank))


def format_dp(treebank: DependencyTreebank) -> Iterator[str]:
    """The lines of a `word TAG head` file."""
    rows = map("\t".join, zip(treebank.form, treebank.xpos, _head_cells(treebank), strict=True))
    for length in treebank.lengths.tolist():
        for _ in range(length):
            yield next(rows)
        yield ""


def write_dp(treebank: DependencyTreebank, path: TextPath) -> None:
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n" for line in format_dp(treebank))


class _Lines:
    """The lines of a file by kind: rows of cells, other lines, and where sentences end."""

    def __init__(self, path: TextPath, n_columns: int, comments: bool) -> None:
        self.file, self.n_columns = display_name(path), n_columns
        lines = list(open_text(path))
        blank = ~np.fromiter(map(bool, lines), bool, len(lines))
        comment = np.fromiter(map(str.startswith, lines, repeat("#")), bool, len(lines)) & comments
        row = ~(blank | comment)
        self.numbers = np.flatnonzero(row) + 1
        rows = list(compress(lines, row.tolist()))
        self._require_columns(rows)
        self.cells = "\t".join(rows).split("\t") if rows else []
        self.blank_numbers = np.flatnonzero(blank) + 1
        self.comments = [(int(at) + 1, lines[at]) for at in np.flatnonzero(comment).tolist()]
        self.rows = rows

    def column(self, number: int) -> list[str]:
        return self.cells[number :: self.n_columns]

    def error(self, problem: str, line: int) -> InputError:
        return InputError(problem, file=self.file, line=int(line))

    def _require_columns(self, rows: list[str]) -> None:
        if not rows:
            raise InputError("the file holds no sentence", file=self.file)
        tabs = np.fromiter(map(str.count, rows, repeat("\t")), np.int64, len(rows))
        for at in np.flatnonzero(tabs != self.n_columns - 1)[:1].tolist():
            raise self.error(
                f"expected {self.n_columns} columns with tabs between them, found {tabs[at] + 1}",
                self.numbers[at],
            )


def _treebank(
    lines: _Lines, is_word: NDArray[np.bool_], ids: list[str], need_heads: bool
) -> DependencyTreebank:
    numbers, keep = lines.numbers[is_word], None if is_word.all() else is_word.tolist()

    def column(number: int) -> list[str]:
        cells = lines.column(number)
        return cells if keep is None else list(compress(cells, keep))

    def rare(number: int) -> list[str] | None:
        cells = lines.column(number)
        return None if cells.count("_") == len(cells) else column(number)

    _require_kinds(lines, is_word, ids)
    offsets = _sentence_offsets(lines, is_word)
    _require_ids(lines, ids if keep is None else list(compress(ids, keep)), numbers, offsets)
    return DependencyTreebank(
        form=column(1), lemma=rare(2), upos=column(3), xpos=column(4), feats=rare(5),
        head=_checked_heads(lines, column(6), numbers, offsets, need_heads),
        deprel=column(7), deps=rare(8), misc=rare(9),
        sentence_offsets=offsets, other_lines=_other_lines(lines, is_word, numbers, offsets),
    )  # fmt: skip


def _sentence_offsets(lines: _Lines, is_word: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Sentences end at blank lines; blank lines without a word before them are passed over."""
    before = np.searchsorted(lines.numbers[is_word], lines.blank_numbers)
    ends = np.unique(np.append(before, int(is_word.sum())))
    return np.concatenate([[0], ends[ends > 0]]).astype(np.int64)


def _other_lines(
    lines: _Lines, is_word: NDArray[np.bool_], numbers: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[tuple[int, str], ...]:
    nodes = [(int(lines.numbers[at]), lines.rows[at]) for at in np.flatnonzero(~is_word).tolist()]
    others = sorted([*nodes, *lines.comments])
    places = np.array([number for number, _ in others], dtype=np.int64)
    words_before = np.searchsorted(numbers, places)
    # A sentence is over at the first blank line after its last word, not at that word.
    after_last = np.searchsorted(lines.blank_numbers, numbers[offsets[1:] - 1])
    ends = np.append(lines.blank_numbers, np.iinfo(np.int64).max)[after_last]
    slots = words_before + np.searchsorted(ends, places)
    return tuple((slot, line) for slot, (_, line) in zip(slots.tolist(), others, strict=True))


def _require_kinds(lines: _Lines, is_word: NDArray[np.bool_], ids: list[str]) -> None:
    for at in np.flatnonzero(~is_word).tolist():
        parts = ids[at].split("-" if "-" in ids[at] else ".")
        if len(parts) != 2 or not all(map(str.isdecimal, parts)):
            raise lines.error(f"ID {ids[at][:40]!r} is not 3, 3-4 or 8.1", lines.numbers[at])


def _require_ids(
    lines: _Lines, ids: list[str], numbers: NDArray[np.int64], offsets: NDArray[np.int64]
) -> None:
    expected = word_places(offsets)
    # Compared as text: the expected ones are few and shared, and no ID of any length can overflow.
    names = list(map(str, range(int(expected.max(initial=0)) + 1)))
    wanted = [names[place] for place in expected.tolist()]
    if ids == wanted:
        return
    at = next(i for i, (found, place) in enumerate(zip(ids, wanted, strict=True)) if found != place)
    raise lines.error(f"expected ID {wanted[at]}, found {ids[at][:40]}: words count 1, 2, ..", numbers[at])


def _checked_heads(
    lines: _Lines,
    cells: list[str],
    numbers: NDArray[np.int64],
    offsets: NDArray[np.int64],
    need_heads: bool,
) -> NDArray[np.int32]:
    head = _heads(lines, cells, numbers, need_heads)
    lengths = np.repeat(np.diff(offsets), np.diff(offsets))
    for at in np.flatnonzero(head > lengths)[:1].tolist():
        raise lines.error(f"head {head[at]} in a sentence of {lengths[at]} words", numbers[at])
    for at in words_without_root(head, offsets)[:1].tolist():
        raise lines.error("the heads of this word form a cycle: they never reach the root 0", numbers[at])
    return head


def _heads(
    lines: _Lines, cells: list[str], numbers: NDArray[np.int64], need_heads: bool
) -> NDArray[np.int32]:
    values = {cell: _head(cell) for cell in dict.fromkeys(cells)}
    head = np.fromiter(map(values.__getitem__, cells), np.int64, len(cells))
    for at in np.flatnonzero(head < (0 if need_heads else NO_HEAD))[:1].tolist():
        if cells[at] in ("_", ""):
            raise lines.error("this word has no head; give a number, 0 for the root", numbers[at])
        raise lines.error(f"head {cells[at][:40]!r} is not a number from 0 on", numbers[at])
    return head.astype(np.int32)


def _head(cell: str) -> int:
    if cell == "_":
        return NO_HEAD
    return int(cell) if cell.isdecimal() and len(cell) < 9 else NO_HEAD - 1


def _word_lines(treebank: DependencyTreebank) -> Iterator[str]:
    n = treebank.n_words
    blank = ["_"] * n
    return map(
        "\t".join,
        zip(
            map(str, word_places(treebank.sentence_offsets).tolist()),
            treebank.form, treebank.lemma or blank, treebank.upos, treebank.xpos, treebank.feats or blank,
            _head_cells(treebank), treebank.deprel, treebank.deps or blank, treebank.misc or blank,
            strict=True,
        ),
    )  # fmt: skip


def _head_cells(treebank: DependencyTreebank) -> list[str]:
    return ["_" if head < 0 else str(head) for head in treebank.head.tolist()]

"""CoNLL-U treebanks, and the simpler `word TAG head` format; one word a line, a blank line between sentences.

    ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC        ten columns, split at tabs only

Multiword tokens (ID `3-4`), empty nodes (ID `8.1`) and comments (`#`) hold no word of the tree: they
are passed over on reading and written back in their places.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.atomic import atomic_write
from sigmastar.core.skipping import by_blank_line
from sigmastar.core.text_files import TextPath, skips
from sigmastar.dependency.data.tab_rows import TabRows
from sigmastar.dependency.data.treebank import NO_HEAD, DependencyTreebank, word_places, words_without_root

N_COLUMNS = 10


def read_treebank(
    path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False
) -> DependencyTreebank:
    """Read a treebank: `.dp` files hold `word TAG head`, all others CoNLL-U.

    Parameters
    ----------
    path : path or file
        May be compressed (`.gz`, `.zst`).
    need_heads : bool
        Whether a word without a head (`_`) is an error.
    ignore_heads : bool
        Whether the column of heads is passed over, whatever stands in it.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    return (read_dp if is_dp(path) else read_conllu)(path, need_heads, ignore_heads=ignore_heads)


def is_dp(path: TextPath) -> bool:
    """Whether a file is by its name one of `word TAG head` lines."""
    return os.fspath(path).removesuffix(".gz").removesuffix(".zst").endswith(".dp")


@skips(by_blank_line)
def read_conllu(path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False) -> DependencyTreebank:
    """Read a CoNLL-U file.

    Parameters
    ----------
    path, need_heads, ignore_heads
        As of `read_treebank`.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    rows = TabRows(path, N_COLUMNS, numbered=True)
    _require_kinds(rows)
    offsets = _sentence_offsets(rows)
    _require_ids(rows, offsets)
    others = _other_lines(rows, offsets)  # many small tuples: before there are cells, see there
    head = _no_heads(offsets) if ignore_heads else _checked_heads(rows, 6, offsets, need_heads)
    return DependencyTreebank(
        form=rows.column(1), lemma=_rare(rows, 2), upos=rows.column(3), xpos=rows.column(4),
        feats=_rare(rows, 5), head=head, deprel=rows.column(7), deps=_rare(rows, 8), misc=_rare(rows, 9),
        sentence_offsets=offsets, other_lines=others,
    )  # fmt: skip


@skips(by_blank_line)
def read_dp(path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False) -> DependencyTreebank:
    """Read `word TAG head` lines; the tag stands for both tag columns.

    Parameters
    ----------
    path, need_heads, ignore_heads
        As of `read_treebank`.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    rows = TabRows(path, 3, numbered=False)
    words, tags, offsets = rows.column(0), rows.column(1), _sentence_offsets(rows)
    head = _no_heads(offsets) if ignore_heads else _checked_heads(rows, 2, offsets, need_heads)
    return DependencyTreebank(words, tags, tags, head, ["_"] * len(words), offsets)


def _no_heads(offsets: Int64s) -> Int32s:
    return np.full(offsets[-1], NO_HEAD, dtype=np.int32)


def format_conllu(treebank: DependencyTreebank) -> Iterator[str]:
    """The lines of a CoNLL-U file, with the lines that hold no word in their old places.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.

    Yields
    ------
    str
        One line, without its end.
    """
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
    """Write a treebank as CoNLL-U.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.
    path : path
        The file, written whole or not at all.
    """
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
    """Write a treebank as `word TAG head` lines.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.
    path : path
        The file, written whole or not at all.
    """
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n" for line in format_dp(treebank))


def _rare(rows: TabRows, number: int) -> list[str] | None:
    cells = rows.column(number)
    return None if cells.count("_") == len(cells) else cells


def _sentence_offsets(rows: TabRows) -> Int64s:
    """Sentences end at blank lines; blank lines without a word before them are passed over."""
    before = np.searchsorted(rows.numbers, rows.blank_numbers)
    ends = np.unique(np.append(before, len(rows.numbers)))
    return np.concatenate([[0], ends[ends > 0]]).astype(np.int64)


def _other_lines(rows: TabRows, offsets: Int64s) -> tuple[tuple[int, str], ...]:
    places = rows.other_numbers
    words_before = np.searchsorted(rows.numbers, places)
    # A sentence is over at the first blank line after its last word, not at that word.
    after_last = np.searchsorted(rows.blank_numbers, rows.numbers[offsets[1:] - 1])
    ends = np.append(rows.blank_numbers, np.iinfo(np.int64).max)[after_last]
    slots = words_before + np.searchsorted(ends, places)
    return tuple(zip(slots.tolist(), rows.others, strict=True))


def _require_kinds(rows: TabRows) -> None:
    for number in rows.wordless.tolist():
        identity = rows.line(number).partition("\t")[0]
        parts = identity.split("-" if "-" in identity else ".")
        if len(parts) != 2 or not all(map(str.isdecimal, parts)):
            raise rows.error(f"ID {identity[:40]!r} is not 3, 3-4 or 8.1", number)
    if not len(rows.numbers):
        raise rows.error("ranges and empty nodes alone are no sentence: there is no word", rows.wordless[0])


def _require_ids(rows: TabRows, offsets: Int64s) -> None:
    expected = word_places(offsets)
    for at in np.flatnonzero(rows.whole_numbers(0) != expected)[:1].tolist():
        found = rows.cells[N_COLUMNS * at]
        raise rows.error(
            f"expected ID {expected[at]}, found {found[:40]}: words count 1, 2, ..", rows.numbers[at]
        )


def _checked_heads(rows: TabRows, column: int, offsets: Int64s, need_heads: bool) -> Int32s:
    head = _heads(rows, column, need_heads)
    lengths = np.repeat(np.diff(offsets), np.diff(offsets))
    for at in np.flatnonzero(head > lengths)[:1].tolist():
        raise rows.error(f"head {head[at]} in a sentence of {lengths[at]} words", rows.numbers[at])
    for at in words_without_root(head, offsets)[:1].tolist():
        raise rows.error("the heads of this word form a cycle: they never reach the root 0", rows.numbers[at])
    return head


def _heads(rows: TabRows, column: int, need_heads: bool) -> Int32s:
    head = rows.whole_numbers(column)
    for at in np.flatnonzero(head < (0 if need_heads else NO_HEAD))[:1].tolist():
        cell = rows.cells[rows.n_columns * at + column]
        if cell in ("_", ""):
            raise rows.error("this word has no head; give a number, 0 for the root", rows.numbers[at])
        raise rows.error(f"head {cell[:40]!r} is not a number from 0 on", rows.numbers[at])
    return head.astype(np.int32)


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

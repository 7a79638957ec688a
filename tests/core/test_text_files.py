"""Text comes in whatever way users keep it; what cannot be read is told by file and line."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import line_blocks, open_text, text_blocks

TEXT = "a b\n\nc d é\n"
LINES = ["a b", "", "c d é"]


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


ENCODINGS = {
    "plain": TEXT.encode(),
    "gzip": gzip.compress(TEXT.encode()),
    "zstandard": zstd(TEXT.encode()),
    "two gzip members": gzip.compress(b"a b\n\nc") + gzip.compress(" d é\n".encode()),
    "two zstandard frames": zstd(b"a b\n\nc") + zstd(" d é\n".encode()),
    "padded gzip": gzip.compress(TEXT.encode()) + bytes(512),
    "carriage returns": TEXT.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "no last line end": TEXT.rstrip("\n").encode(),
}


@pytest.mark.parametrize("kind", ENCODINGS)
def test_all_kinds_of_files_read_alike_under_any_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"  # no suffix that tells the kind
    path.write_bytes(ENCODINGS[kind])
    assert list(open_text(path)) == LINES


@pytest.mark.parametrize("kind", ENCODINGS)
def test_standard_input(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ENCODINGS[kind])))
    assert list(open_text("-")) == LINES


def test_a_pipe_that_gives_one_byte_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(1)

    stream = Slow(ENCODINGS["gzip"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert list(open_text("-")) == LINES


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_lines(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(content)
    assert list(open_text(tmp_path / "empty")) == []


def test_blocks_hold_whole_lines_and_their_numbers(tmp_path: Path) -> None:
    lines = [f"{number} " + "x" * (number % 1000) for number in range(1, 2000)]
    lines[1000] = "y" * 300_000  # a line longer than what is read at once
    (tmp_path / "long").write_text("\n".join(lines) + "\n")
    met = list(text_blocks(tmp_path / "long"))
    assert len(met) > 3
    assert [line for _, batch in met for line in batch] == lines
    for first, batch in met:
        assert lines[first - 1] == batch[0]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes("a\u2028b\x0bc\x85d\n".encode())
    assert list(open_text(tmp_path / "odd")) == ["a\u2028b\x0bc\x85d"]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"a\nb\n\x00\x01\x02\n", 3, "binary data"),
        (b"a\nb \xff\xfe\n", 2, "0xff is not UTF-8"),
        (b"a\nb\n\nc \xc3", 4, "0xc3 is not UTF-8"),
        (b"ok\n" * 100_000 + b"\xe9t\xe9\n", 100_001, "0xe9 is not UTF-8"),
    ],
)
def test_binary_junk_is_told_by_line(content: bytes, line: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "junk"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        list(open_text(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)


@pytest.mark.parametrize("kind", ["gzip", "zstandard", "two gzip members", "two zstandard frames"])
def test_truncated_compressed_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    content = ENCODINGS[kind]
    boundary = {
        "two gzip members": len(gzip.compress(b"a b\n\nc")),
        "two zstandard frames": len(zstd(b"a b\n\nc")),
    }
    for size in range(4, len(content)):
        if size == boundary.get(kind):
            continue  # one whole member is a whole file
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"cut short|damaged"):
            list(open_text(path))


def test_bit_flips_in_gzip_are_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "flipped"
    content = gzip.compress(TEXT.encode() * 20, mtime=0)
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :])
        try:
            lines = list(open_text(path))
        except InputError:
            continue
        assert lines == LINES * 20


def test_missing_file_and_folder_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such file; check the name"):
        list(open_text(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="is a folder; give a file inside it"):
        list(open_text(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a")
    (tmp_path / "secret").chmod(0)
    with pytest.raises(InputError, match="no permission"):
        list(open_text(tmp_path / "secret"))


def test_a_reader_that_stops_early_closes_the_file(tmp_path: Path) -> None:
    (tmp_path / "some").write_text("a\n" * 100_000)
    blocks = line_blocks(tmp_path / "some")
    next(blocks)
    blocks.close()  # type: ignore[attr-defined]  # a leaked file would be a ResourceWarning, an error here

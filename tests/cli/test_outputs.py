"""An output that is also an input is refused before any work."""

from __future__ import annotations

from pathlib import Path

from cli.calls import fail


def test_a_corpus_is_not_overwritten_under_any_name(tmp_path: Path) -> None:
    data = tmp_path / "strings.txt"
    data.write_text("a b\na\n")
    (tmp_path / "link.txt").symlink_to(data)
    for output in (data, tmp_path / "link.txt", tmp_path / "." / "strings.txt"):
        assert "is read and written" in fail("learn", "automaton", data, "-o", output, status=2)
    assert data.read_text() == "a b\na\n"


def test_a_model_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"precious")
    assert "is read and written" in fail("score", tmp_path / "model", "-", "-o", tmp_path / "model", status=2)
    assert (tmp_path / "model").read_bytes() == b"precious"

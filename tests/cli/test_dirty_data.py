"""`--on-error skip` and `--encoding` on commands of all families."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import figures, invoke, succeed

TREE = "(S (NP (D the) (N dog)) (VP (V runs)))\n"
WORD = "{}\tw\t_\tN\tN\t_\t{}\tx\t_\t_\n"
GOOD_AND_BAD = {
    "automaton": ("a b\n", b"\xff\n"),
    "treebank": (TREE, b"(S (NP (D the)\n"),
    "pcfg": (TREE, b"(S (NP (D the)\n"),
    "dependency": (WORD.format(1, 0) + WORD.format(2, 1) + "\n", WORD.format(1, 1).encode() + b"\n"),
    "tagger": ("the D\ndog N\n\n", b"\xe9\n\n"),
    "transducer": ("ab\tA B\n", b"ab A B\n"),
}
EXTRA = {
    "transducer": ("--method", "ngram"),
    "treebank": ("--method", "pcfg"),
    "tagger": ("--method", "bigram"),
}


@pytest.mark.parametrize("family", GOOD_AND_BAD)
def test_a_bad_record_stops_a_command_or_is_left_out(tmp_path: Path, family: str) -> None:
    good, bad = GOOD_AND_BAD[family]
    data = tmp_path / "data.conllu" if family == "dependency" else tmp_path / "data.txt"
    data.write_bytes(good.encode() * 30 + bad + good.encode() * 5)
    words = ("learn", family, data, "-o", tmp_path / "m.sigma", "-q", *EXTRA.get(family, ()))
    stopped = invoke(*words)
    line = 30 * good.count("\n") + 1
    assert stopped.exit_code == 1
    assert f"{data.name}:{line}: " in stopped.stderr
    assert not (tmp_path / "m.sigma").exists()
    skipped = invoke(*words, "--on-error", "skip")
    assert skipped.exit_code == 0, skipped.stderr
    assert f"{data}: 1 record left out: line {line}: " in skipped.stderr


def test_the_model_file_holds_how_many_records_were_left_out(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(b"a b\n" * 30 + b"\xff\n")
    succeed(
        "learn", "automaton", tmp_path / "data.txt", "-o", tmp_path / "m.sigma", "-q", "--on-error", "skip"
    )
    assert figures("show", tmp_path / "m.sigma")["learned"]["n_left_out"] == 1


def test_an_unknown_encoding_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("a b\n")
    failed = invoke(
        "learn", "automaton", tmp_path / "data.txt", "-o", tmp_path / "m.sigma", "--encoding", "nix"
    )
    assert failed.exit_code == 2
    assert "there is no encoding 'nix'" in failed.stderr


def test_scores_of_a_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes("é a\na\n".encode("latin-1") * 20)
    succeed(
        "learn", "automaton", tmp_path / "data.txt", "-o", tmp_path / "m.sigma", "-q", "--encoding", "latin-1"
    )
    (tmp_path / "fresh.txt").write_text("é a\n", encoding="utf-16")
    assert float(succeed("score", tmp_path / "m.sigma", tmp_path / "fresh.txt")) < 0


def test_bare_words_get_a_tag(tmp_path: Path) -> None:
    (tmp_path / "t.mrg").write_text("(S (NP (D the) dog) (VP (V runs)))\n" * 10)
    words = ("learn", "treebank", tmp_path / "t.mrg", "-o", tmp_path / "m.sigma", "-q", "--method", "pcfg")
    assert invoke(*words).exit_code == 1
    done = invoke(*words, "--bare-words", "N")
    assert done.exit_code == 0, done.stderr
    assert "10 words without a tag got N" in done.stderr

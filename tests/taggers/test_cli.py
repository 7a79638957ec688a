"""Taggers on the command line: learn, evaluate, predict, score, show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences


def write(path: Path, sentences: TaggedSentences) -> None:
    rows = zip(sentences.cut(sentences.words), sentences.cut(sentences.tags or []), strict=True)
    path.write_text("\n".join("".join(f"{w} x {t}\n" for w, t in zip(*row, strict=True)) for row in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    whole = make_tagged(np.random.default_rng(0), 500)
    write(folder / "train.txt", whole.select(np.arange(400)))
    write(folder / "new.txt", whole.select(np.arange(400, 500)))
    succeed("learn", "tagger", folder / "train.txt", "--states", "4", "-o", folder / "m", "-q")
    return folder


def test_evaluate(folder: Path) -> None:
    found = figures("evaluate", folder / "m", folder / "new.txt")
    assert found["accuracy_low"] <= found["accuracy"] <= found["accuracy_high"]
    assert found["accuracy"] > 0.7
    assert found["n_sentences"] == 100
    assert "chunk_f1" not in found


def test_predict_adds_a_column(folder: Path) -> None:
    lines = succeed("predict", folder / "m", folder / "new.txt").splitlines()
    assert len(lines[0].split()) == 4
    assert lines.count("") == 100
    right = np.mean([len(set(line.split()[2:])) == 1 for line in lines if line])
    assert right == pytest.approx(figures("evaluate", folder / "m", folder / "new.txt")["accuracy"])


def test_words_alone_are_tagged(folder: Path) -> None:
    (folder / "words.txt").write_text("bakalu\nkamie\n\nunheard\n")
    options = ("--method", "bigram", "--observed", "none", "-q")
    succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / "alone")
    assert len(succeed("predict", folder / "alone", folder / "words.txt").splitlines()) == 5


def test_observed_columns_are_remembered_and_asked_for(folder: Path) -> None:
    assert figures("show", folder / "m")["learned"]["layout"]["observed"] == ["2"]
    (folder / "words.txt").write_text("bakalu\nkamie\n\nunheard\n")
    said = fail("predict", folder / "m", folder / "words.txt", status=1)
    assert "words.txt:1: expected 2 columns, found 1" in said
    (folder / "given.txt").write_text("bakalu x\nkamie new\n\nunheard x\n")
    assert succeed("predict", folder / "m", folder / "given.txt").splitlines()[0].startswith("bakalu x ")


def test_an_observed_column_tells_what_words_do_not(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"w{rng.integers(30)} {'ab'[k]} {'XY'[k]}\n" for k in rng.integers(2, size=900)]
    parts = ["".join(rows[i : i + 6]) for i in range(0, 900, 6)]
    (folder / "told.txt").write_text("\n".join(parts[:100]))
    (folder / "fresh.txt").write_text("\n".join(parts[100:]))
    for observed, least, most in (("2", 0.999, 1.0), ("none", 0.4, 0.75)):
        options = ("--method", "chain", "--observed", observed, "-q")
        succeed("learn", "tagger", folder / "told.txt", *options, "-o", folder / "told")
        assert least <= figures("evaluate", folder / "told", folder / "fresh.txt")["accuracy"] <= most


def test_predict_in_json_ranks_sequences(folder: Path) -> None:
    row = json.loads(
        succeed("predict", folder / "m", folder / "new.txt", "--json", "--top", "3").splitlines()[0]
    )
    assert len(row["words"]) == len(row["tags"]) == len(row["probabilities"])
    values = [best["probability"] for best in row["best"]]
    assert values == sorted(values, reverse=True)
    assert len(values) <= 3


def test_score_is_of_tags_given_words(folder: Path) -> None:
    values = [float(line) for line in succeed("score", folder / "m", folder / "new.txt").splitlines()]
    assert len(values) == 100
    assert max(values) <= 1e-9


def test_show(folder: Path) -> None:
    said = succeed("show", folder / "m")
    assert "refined tags of" in said
    assert "ADJ ADP DET NOUN VERB" in said
    assert figures("show", folder / "m")["learned"]["settings"]["n_states"] == 4
    facts = figures("show", folder / "m")
    assert facts["tags"] == ["ADJ", "ADP", "DET", "NOUN", "VERB"]
    assert [member["kind"] for member in facts["members"]] == ["refined", "refined", "chain"]
    assert facts["members"][0]["weight"] == 0.5
    assert facts["n_words"] > 100
    assert "seconds" not in facts["learned"]


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("spectral", ()),
        ("em", ("--iterations", "3")),
        ("bigram", ()),
        ("trigram", ()),
        ("chain", ("--iterations", "3")),
        ("hankel-margin", ("--iterations", "9", "--states", "3")),
    ],
)
def test_methods(folder: Path, method: str, more: tuple[str, ...]) -> None:
    options = ("--method", method, *more, "--label", "3", "--format", "columns", "-q")
    succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / method)
    assert figures("evaluate", folder / method, folder / "new.txt", "-q")["accuracy"] > 0.6


def test_figures_that_are_not_there_are_not_printed(folder: Path) -> None:
    """All words of the training file are known."""
    assert "unknown_accuracy" not in succeed("evaluate", folder / "m", folder / "train.txt", "-q")
    assert figures("evaluate", folder / "m", folder / "train.txt", "-q")["unknown_accuracy"] is None


def test_top_needs_json(folder: Path) -> None:
    said = fail("predict", folder / "m", folder / "new.txt", "--top", "3", status=2)
    assert "--top is for --json" in said


def test_operators_tell_their_bad_sentences(folder: Path) -> None:
    options = ("--method", "spectral", "--states", "60", "-q")
    succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / "signed")
    result = invoke("evaluate", folder / "signed", folder / "new.txt", "--json")
    n_bad = json.loads(result.stdout)["n_nonpositive"]
    assert ("non-positive normalizer" in result.stderr) == (n_bad > 0)


def test_chunks_and_conllu(folder: Path) -> None:
    (folder / "chunks.txt").write_text("the B-NP\ndog I-NP\nruns B-VP\n. O\n\n" * 6)
    succeed("learn", "tagger", folder / "chunks.txt", "-o", folder / "c", "-q")
    assert figures("evaluate", folder / "c", folder / "chunks.txt")["chunk_f1"] == 1.0
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    sentence = row.format(1, "the", "DET") + row.format(2, "dog", "NOUN") + "\n"
    (folder / "a.conllu").write_text(sentence * 6)
    succeed("learn", "tagger", folder / "a.conllu", "--label", "upos", "-o", folder / "u", "-q")
    assert succeed("predict", folder / "u", folder / "a.conllu").splitlines()[0].split("\t")[3] == "DET"
    assert figures("evaluate", folder / "u", folder / "a.conllu", "--format", "conllu")["accuracy"] == 1.0
    wrong = ("learn", "tagger", folder / "a.conllu", "--label", "pos", "-o", folder / "x")
    assert "--label pos is not a column of labels" in fail(*wrong, status=2)


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (["learn", "tagger", "none.txt", "-o", "m"], 1, "none.txt"),
        (["learn", "tagger", "train.txt", "-o", "nowhere/m"], 1, "does not exist"),
        (["learn", "tagger", "train.txt", "--label", "9", "-o", "m2"], 1, "expected 9 columns"),
        (["learn", "tagger", "train.txt", "--observed", "3", "-o", "m2"], 1, "--observed 3: this column is"),
        (["learn", "tagger", "train.txt", "--observed", "pos", "-o", "m2"], 1, "counted from 1"),
    ],
)
def test_wrong_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], status: int, problem: str
) -> None:
    monkeypatch.chdir(folder)
    assert problem in fail(*words, status=status)


def test_conditional_operators(folder: Path) -> None:
    options = ("--method", "spectral", "--conditional", "-q")
    succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / "conditional")
    assert figures("evaluate", folder / "conditional", folder / "new.txt")["accuracy"] > 0.6
    assert figures("show", folder / "conditional")["learned"]["settings"]["conditional"] is True
    said = fail("learn", "tagger", folder / "train.txt", "--conditional", "-o", folder / "x", status=2)
    assert "--conditional is for --method spectral, not refined" in said


@pytest.mark.parametrize(
    ("method", "options", "problem"),
    [
        ("trigram", ("--states", "3"), "--states is for --method refined or spectral or em or hankel-margin"),
        ("spectral", ("--iterations", "3"), "--iterations is for --method refined or em or chain"),
        ("em", ("--no-features",), "--features is for --method refined, not em"),
        ("refined", ("--order", "3"), "No such option"),
    ],
)
def test_options_of_other_methods_are_refused(
    folder: Path, method: str, options: tuple[str, ...], problem: str
) -> None:
    words = ("learn", "tagger", folder / "train.txt", "--method", method, *options, "-o", folder / "x")
    assert problem in fail(*words, status=2)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("predict", "--inverse"),
        ("predict", "--nbest=2"),
        ("evaluate", "--max-length=3"),
        ("score", "--unknown=zero"),
        ("show", "--dot"),
    ],
)
def test_options_of_other_families_are_refused(folder: Path, command: str, option: str) -> None:
    files = (folder / "m",) if command == "show" else (folder / "m", folder / "new.txt")
    assert "No such option" in fail(command, *files, option, status=2)


def test_two_equal_calls_write_equal_files(folder: Path) -> None:
    for name in ("first", "second"):
        options = ("--states", "2", "--iterations", "2", "-q")
        succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / name)
    assert (folder / "first").read_bytes() == (folder / "second").read_bytes()


def test_conllu_by_another_name_is_not_learned_from_as_columns(folder: Path) -> None:
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    (folder / "y.txt").write_text(
        20 * (row.format(1, "bakalu", "NOUN") + row.format(2, "kamie", "DET") + "\n")
    )
    command = ("learn", "tagger", folder / "y.txt", "-o", folder / "y", "-q")
    assert "y.txt looks like CoNLL-U" in fail(*command, status=2)
    succeed(*command, "--method", "bigram", "--format", "conllu")
    succeed(*command, "--method", "bigram", "--format", "columns", "--observed", "none")


def test_a_tagger_of_columns_does_not_take_conllu_for_columns(folder: Path) -> None:
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    (folder / "x.conllu").write_text(row.format(1, "bakalu", "NOUN") + row.format(2, "kamie", "DET") + "\n")
    options = ("--method", "bigram", "--observed", "none", "-q")
    succeed("learn", "tagger", folder / "train.txt", *options, "-o", folder / "columns")
    (folder / "x.txt").write_bytes((folder / "x.conllu").read_bytes())
    for command in ("predict", "evaluate", "score"):
        for name in ("x.conllu", "x.txt"):
            said = fail(command, folder / "columns", folder / name, status=2)
            assert f"{name} looks like CoNLL-U, the model reads columns" in said
    more = "# text = bakalu kamie\n" + row.format("1-2", "bakalukamie", "_")
    (folder / "more.txt").write_text(more + (folder / "x.txt").read_text())
    said = fail("predict", folder / "columns", folder / "more.txt", status=2)
    assert "more.txt looks like CoNLL-U" in said
    found = succeed("predict", folder / "columns", folder / "x.conllu", "--format", "conllu").splitlines()
    assert [line.split("\t")[1] for line in found[:2]] == ["bakalu", "kamie"]
    assert {line.split("\t")[3] for line in found[:2]} <= {"ADJ", "ADP", "DET", "NOUN", "VERB"}

"""What `predict`, `score` and `sample` write as JSONL and CSV."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from cli.calls import fail, succeed
from sigmastar.core.cli.printing import _records, _rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    (folder / "strings.txt").write_text("a b\na\nb a b\n")
    (folder / "strings.jsonl").write_text('{"text": "a b", "id": 1}\n{"text": "a", "id": 2}\n')
    (folder / "pairs.txt").write_text("ab\tA B\nba\tB A\nb\tB\n")
    (folder / "tagged.txt").write_text("the D\ndog N\n\na D\ncat N\n\n")
    learn = ("-q", "--method", "ngram", "-o")
    succeed("learn", "automaton", folder / "strings.txt", *learn, folder / "strings.sigma")
    succeed("learn", "transducer", folder / "pairs.txt", *learn, folder / "pairs.sigma")
    succeed("learn", "tagger", folder / "tagged.txt", "-q", "--method", "bigram", "-o", folder / "tags.sigma")
    return folder


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_scores_are_numbers(folder: Path) -> None:
    call = ("score", folder / "strings.sigma", folder / "strings.txt")
    plain = [float(line) for line in succeed(*call).splitlines()]
    assert [each["score"] for each in objects(succeed(*call, "--output-format", "jsonl"))] == plain
    assert [float(each["score"]) for each in rows(succeed(*call, "--output-format", "csv"))] == plain


def test_a_score_of_nothing_is_null_in_json(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("a z\n")
    call = ("score", folder / "strings.sigma", tmp_path / "new.txt", "--unknown", "zero", "--output-format")
    assert objects(succeed(*call, "jsonl")) == [{"score": None}]
    assert float(rows(succeed(*call, "csv"))[0]["score"]) == -math.inf


def test_the_ending_of_the_output_chooses(folder: Path, tmp_path: Path) -> None:
    call = (
        "predict",
        folder / "strings.sigma",
        folder / "strings.jsonl",
        "--field",
        "text",
        "--top",
        "2",
        "-o",
    )
    for name in ("a.jsonl", "a.csv", "a.txt"):
        assert succeed(*call, tmp_path / name) == ""
    found = objects((tmp_path / "a.jsonl").read_text())
    flat = rows((tmp_path / "a.csv").read_text())
    assert [(each["record"], each["symbol"]) for each in flat] == [
        (str(number), best["symbol"] or "") for number, each in enumerate(found, 1) for best in each["next"]
    ]
    assert "\t" in (tmp_path / "a.txt").read_text()
    succeed(*call, tmp_path / "b.csv", "--output-format", "text")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.txt").read_text()


def test_parquet_is_not_written_as_text(folder: Path, tmp_path: Path) -> None:
    call = ("score", folder / "strings.sigma", folder / "strings.txt", "-o", tmp_path / "a.parquet")
    assert "Parquet is read, not written; name a .jsonl or .csv file" in fail(*call, status=2)
    assert not (tmp_path / "a.parquet").exists()
    assert succeed(*call, "--output-format", "csv") == ""


def test_columns_have_their_names(folder: Path) -> None:
    drawn = objects(succeed("sample", folder / "pairs.sigma", "-n", "3", "--output-format", "jsonl"))
    assert len(drawn) == 3
    assert all(set(each) == {"input", "output"} for each in drawn)
    found = rows(succeed("predict", folder / "pairs.sigma", folder / "pairs.txt", "--output-format", "csv"))
    assert [(each["record"], each["input"], each["output"]) for each in found] == [
        ("1", "ab", "A B"),
        ("2", "ba", "B A"),
        ("3", "b", "B"),
    ]


def test_a_word_is_a_row_of_csv(folder: Path) -> None:
    call = ("predict", folder / "tags.sigma", folder / "tagged.txt", "--output-format", "csv")
    found = [(each["record"], each["words"], each["tags"]) for each in rows(succeed(*call))]
    assert found == [("1", "the", "D"), ("1", "dog", "N"), ("2", "a", "D"), ("2", "cat", "N")]


def test_a_folder_that_is_not_there_is_told_before_the_work(folder: Path) -> None:
    done = fail("score", folder / "strings.sigma", folder / "strings.txt", "-o", folder / "none" / "a.csv")
    assert "the folder" in done


def test_sentences_in_blocks_are_one_record_each() -> None:
    lines = ["# text", "1\tdog", "2\truns", "", "1\tcat", ""]
    assert list(_records(lines, False, ("text",))) == [
        {"text": "# text\n1\tdog\n2\truns"},
        {"text": "1\tcat"},
    ]
    assert list(_records(["(S a)", ""], False, ("text",))) == [{"text": "(S a)"}, {"text": ""}]


def test_lists_of_another_length_have_no_place_in_a_row() -> None:
    record = {"word": "a", "near": ["b", "c"], "scores": [1, {"x": 2}], "other": [1], "all": {"n": 2}}
    assert list(_rows(record, 4)) == [
        {"record": 4, "word": "a", "all": '{"n": 2}', "near": "b", "scores": 1},
        {"record": 4, "word": "a", "all": '{"n": 2}', "near": "c", "scores": '{"x": 2}'},
    ]

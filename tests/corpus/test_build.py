"""Corpora on disk: what was read comes back, whatever the file, and where a build was stopped."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.calls import fail, figures, invoke, succeed
from sigmastar import SpectralAutomaton, open_corpus
from sigmastar.automata.data.corpora import ShardedStrings, read_corpus
from sigmastar.automata.data.formats import read_lines
from sigmastar.cli import corpus as commands
from sigmastar.core.errors import InputError
from sigmastar.corpus import build as building
from sigmastar.corpus import ngrams, sources
from sigmastar.corpus.build import BuildSettings, build_corpus
from sigmastar.corpus.manifest import BUILD
from sigmastar.corpus.ngrams import count_ngrams
from sigmastar.corpus.reading import StringCorpus
from sigmastar.corpus.words import Words, WordTable

TEXT = "the cat sat\n\nthe dog  sat\tthere\u00a0now\r\nein kleiner B\u00e4r\u3000hier\nthe the end"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_bytes(TEXT.encode())
    return file


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of a few bytes, so that small files have many shards."""
    monkeypatch.setattr(sources, "UNIT_BYTES", 20)
    monkeypatch.setattr(building, "UNIT_BYTES", 20)


def strings_of(folder: Path) -> list[tuple[object, ...]]:
    return list(read_corpus(folder))


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("ab \u00e4\t\n\u00a0\u2003\u3000\x85\x1c\u2028\u20ac\U0001f600"), max_size=60))
def test_words_are_those_of_python(text: str) -> None:
    table = WordTable()
    codes, lengths = table.encode(text.encode())
    names = [table.words.spelled(k).decode() for k in range(len(table))]
    expected = [line.split() for line in (text if text.endswith("\n") else text + "\n").split("\n")[:-1]]
    assert lengths.tolist() == [len(line) for line in expected]
    assert [names[code] for code in codes] == [word for line in expected for word in line]
    letters = WordTable()
    codes, lengths = letters.encode(text.encode(), characters=True)
    assert sum(lengths) == len(text.replace("\n", ""))
    assert b"".join(letters.words.spelled(code) for code in codes).decode() == text.replace("\n", "")


def test_a_table_grows_and_counts() -> None:
    words = [b"w%d" % (k % 7000) * 3 for k in range(20_000)]
    table = WordTable()
    codes, _ = table.encode(b" ".join(words) + b"\n")
    found = table.words
    assert [found.spelled(code) for code in codes] == words
    assert found.counts.sum() == 20_000
    again = WordTable(found)
    assert again.add(Words.of([words[5], b"new"], [4, 1])).tolist() == [5, 7000]
    assert again.words.counts[5] == found.counts[5] + 4
    assert again.find(Words.of([b"none"], [0])).tolist() == [-1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["plain", "gzip", "zstandard", "utf-16", "jsonl", "stdin"])
def test_what_was_read_comes_back(text: Path, tmp_path: Path, kind: str) -> None:
    expected, content, file = list(read_lines(text)), text.read_bytes(), tmp_path / "other.txt"
    if kind == "gzip":
        file.write_bytes(gzip.compress(content))
    elif kind == "zstandard":
        file.write_bytes(zstandard.compress(content))
    elif kind == "utf-16":
        file.write_text(TEXT, encoding="utf-16", newline="")
    elif kind == "jsonl":
        file = tmp_path / "other.jsonl"
        lines = TEXT.replace("\r", "").split("\n")
        file.write_text("".join(json.dumps({"body": line}) + "\n" for line in lines))
    else:
        file.write_bytes(content)
    options = ["--field", "body"] if kind == "jsonl" else []
    name = "-" if kind == "stdin" else file
    succeed("corpus", "build", name, "-o", tmp_path / "c", *options, stdin=content)
    assert strings_of(tmp_path / "c") == expected
    assert open_corpus(tmp_path / "c").n_shards > (kind == "plain")


@pytest.mark.usefixtures("small")
def test_records_are_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "text.jsonl"
    lines = [json.dumps({"text": f"w{k} w"}) for k in range(12)]
    file.write_text("\n".join(lines))
    assert len(sources.units_of([str(file)])) > 4
    corpus = build_corpus([str(file)], tmp_path / "c", workers=2)
    assert strings_of(tmp_path / "c") == [(f"w{k}", "w") for k in range(12)]
    assert corpus.n_shards > 4
    lines[9] = "{"
    file.write_text("\n".join(lines))
    assert f"{file}:10: is no JSON" in fail("corpus", "build", file, "-o", tmp_path / "d")
    found = invoke("corpus", "build", file, "-o", tmp_path / "d", "--on-error", "skip")
    assert "1 record left out: line 10: is no JSON" in found.stderr
    assert len(strings_of(tmp_path / "d")) == 11


@pytest.mark.usefixtures("small")
def test_row_groups_of_parquet_are_read_side_by_side(tmp_path: Path) -> None:
    told = "pyarrow is not installed: pip install 'sigmastar[parquet]'"
    pyarrow, parquet = (pytest.importorskip(name, reason=told) for name in ("pyarrow", "pyarrow.parquet"))
    file, texts = tmp_path / "a.parquet", [f"w{k} w" for k in range(12)]
    parquet.write_table(pyarrow.table({"text": texts}), file, row_group_size=3)
    units = sources.units_of([str(file)])
    assert [(unit.begin, unit.end) for unit in units] == [(k, k + 1) for k in range(4)]
    build_corpus([str(file)], tmp_path / "c")
    assert strings_of(tmp_path / "c") == [tuple(text.split()) for text in texts]
    file.write_bytes(b"PAR1")
    assert "is no sound Parquet file" in fail("corpus", "build", file, "-o", tmp_path / "d")
    told = fail("corpus", "build", "-", "--format", "parquet", "-o", tmp_path / "d")
    assert "Parquet begins at the end of a file, which a pipe does not show; give the file" in told


@pytest.mark.usefixtures("small")
def test_units_that_were_cut_otherwise_are_read_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*rest: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "choose_words", stops)
        with pytest.raises(KeyboardInterrupt):
            build_corpus([str(text)], tmp_path / "c")
    monkeypatch.setattr(sources, "UNIT_BYTES", 33)
    build_corpus([str(text)], tmp_path / "c")
    assert strings_of(tmp_path / "c") == list(read_lines(text))


@pytest.mark.usefixtures("small")
def test_vocabulary_by_frequency_with_an_unknown_class(text: Path, tmp_path: Path) -> None:
    corpus = build_corpus([str(text)], tmp_path / "c", BuildSettings(min_count=2))
    assert list(corpus.vocabulary()) == [("<unk>", 9), ("the", 4), ("sat", 2)]
    assert strings_of(tmp_path / "c")[2] == ("the", "<unk>", "sat", "<unk>", "<unk>")
    corpus = build_corpus([str(text)], tmp_path / "d", BuildSettings(max_size=2, unknown="?"))
    assert list(corpus.vocabulary()) == [("?", 11), ("the", 4)]
    pruned = build_corpus([str(text)], tmp_path / "e", BuildSettings(most_words=4))
    assert pruned.manifest.found["n_pruned_words"] > 0
    assert sum(count for _, count in pruned.vocabulary()) == 15


@pytest.mark.usefixtures("small")
def test_a_build_that_was_stopped_goes_on(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, made, calls = build_corpus([str(text)], tmp_path / "c"), building._coded, list[str]()

    def dies(site: object, name: str, unit: object) -> object:
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return made(site, name, unit)

    monkeypatch.setattr(building, "_coded", dies)
    with pytest.raises(KeyboardInterrupt):
        build_corpus([str(text)], tmp_path / "d")
    with pytest.raises(InputError, match="unfinished; run the same"):
        open_corpus(tmp_path / "d")
    again = build_corpus([str(text)], tmp_path / "d")
    assert calls[:2] == ["00000", "00001"]
    assert calls[2:] == ["00002", *calls[3:]]
    assert set(calls[3:]).isdisjoint(calls[:2])
    assert again.manifest.digest == whole.manifest.digest
    assert not (tmp_path / "d" / BUILD).exists()
    assert "holds a corpus already" in fail("corpus", "build", text, "-o", tmp_path / "d")


def test_a_build_that_was_stopped_at_its_very_beginning_begins_again(text: Path, tmp_path: Path) -> None:
    (tmp_path / "c" / BUILD).mkdir(parents=True)
    assert len(build_corpus([str(text)], tmp_path / "c").manifest.shards) > 0


def test_a_build_that_was_stopped_at_its_very_end_is_done(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(folder: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(building.shutil, "rmtree", dies)
        with pytest.raises(KeyboardInterrupt):
            build_corpus([str(text)], tmp_path / "c")
    (tmp_path / "other").write_text("x y\n")
    shutil.copytree(tmp_path / "c", tmp_path / "d")
    with pytest.raises(InputError, match="holds a corpus already"):
        build_corpus([str(tmp_path / "other")], tmp_path / "c")
    assert not (tmp_path / "c" / BUILD).exists()
    build_corpus([str(text)], tmp_path / "d")
    assert not (tmp_path / "d" / BUILD).exists()


def test_a_build_that_is_stopped_while_it_clears_up_is_done(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever removal it is: what is left tells the next run that the corpus is its own."""
    usual = os.unlink
    for number in range(20):
        left, folder = [number], tmp_path / str(number)

        def dies(*given: Any, left: list[int] = left, **options: Any) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
            usual(*given, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", dies)
            with contextlib.suppress(KeyboardInterrupt):
                build_corpus([str(text)], folder)
        if left[0] >= 0:  # there were fewer removals
            break
        build_corpus([str(text)], folder)
        assert not (folder / BUILD).exists()
    assert number > 1
    assert left[0] >= 0


def test_damage_is_found(text: Path, tmp_path: Path) -> None:
    build_corpus([str(text)], tmp_path / "c")
    assert figures("corpus", "info", tmp_path / "c")["tokens"] == 15
    succeed("corpus", "check", tmp_path / "c")
    vocabulary = tmp_path / "c" / "vocabulary.tsv"
    whole = vocabulary.read_bytes()
    lines = whole.split(b"\n")
    vocabulary.write_bytes(b"\n".join([lines[1], *lines[1:]]))
    assert "has a word twice" in fail("learn", "automaton", tmp_path / "c", "-o", tmp_path / "m")
    vocabulary.write_bytes(whole)
    tokens = tmp_path / "c" / "00000.tokens"
    content = bytearray(tokens.read_bytes())
    content[2] ^= 1
    tokens.write_bytes(content)
    assert "00000.tokens: is damaged: its checksum" in fail("corpus", "check", tmp_path / "c")
    content[3] = 200
    tokens.write_bytes(content)
    assert "holds codes of no word" in fail("learn", "automaton", tmp_path / "c", "-o", tmp_path / "m")
    tokens.write_bytes(content[:-1])
    assert "has 29 bytes where 30 belong" in fail("corpus", "info", tmp_path / "c")


@pytest.mark.parametrize("command", ["info", "check", "count"])
def test_a_file_in_place_of_a_corpus_is_told_as_such(command: str, text: Path, tmp_path: Path) -> None:
    """And how to make a corpus of it; the message was one of a manifest below a file."""
    line = fail("corpus", command, text)
    assert f"{text}: is a file, and the folder of a corpus is expected; " in line
    assert f"sigmastar corpus build {text} -o DIR makes one" in line
    folder = build_corpus([str(text)], tmp_path / "c").folder
    for name in ("manifest.json", "vocabulary.tsv"):
        line = fail("corpus", command, folder / name)
        assert line.endswith(f"is a file of a corpus; give its folder, {folder}")
    assert "there is no such folder" in fail("corpus", command, text / "c")
    with pytest.raises(InputError, match="the folder of a corpus is expected"):
        open_corpus(text)


def test_a_corpus_is_not_made_where_a_file_is(text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file; choose another name" in fail("corpus", "build", text, "-o", tmp_path / "file")
    assert "cannot be made: Not a directory" in fail("corpus", "build", text, "-o", tmp_path / "file" / "c")


@pytest.mark.parametrize("name", ["../00000", "", "\ud8000000", "a\0b", "a\nb"])
def test_names_of_shards_that_no_build_gives_are_refused(name: str, text: Path, tmp_path: Path) -> None:
    corpus = build_corpus([str(text)], tmp_path / "c")
    manifest = json.loads((corpus.folder / "manifest.json").read_text())
    manifest["shards"][0]["name"] = name
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"manifest\.json: is damaged"):
        StringCorpus.open(corpus.folder)


def test_bad_lines_are_named_or_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "UNIT_BYTES", 6)
    (tmp_path / "t").write_bytes(b"a b\nc d\ne\xff f\ng\n")
    message = fail("corpus", "build", tmp_path / "t", "-o", tmp_path / "c")
    assert "t:3: byte 0xff is not UTF-8" in message
    result = invoke("corpus", "build", tmp_path / "t", "-o", tmp_path / "c", "--on-error", "skip")
    assert "1 record left out: line 3" in result.stderr
    assert strings_of(tmp_path / "c") == [("a", "b"), ("c", "d"), ("g",)]
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n{"body": "b"}\n')
    message = fail("corpus", "build", tmp_path / "x.jsonl", "-o", tmp_path / "d")
    assert "x.jsonl:2: has no text in field 'text'; there are: body" in message


@pytest.mark.usefixtures("small")
def test_commands_and_estimators_take_a_folder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abc"), rng.integers(0, 8))) for _ in range(60)]
    (tmp_path / "t").write_text("\n".join(lines) + "\n")
    folder = tmp_path / "c"
    succeed("corpus", "build", tmp_path / "t", "-o", folder)
    corpus = open_corpus(folder)
    strings = read_corpus(folder)
    sharded = ShardedStrings(corpus)
    assert corpus.n_shards > 5
    assert list(sharded.select([0, 3, 50, 59])) == [strings[k] for k in (0, 3, 50, 59)]
    model = SpectralAutomaton(n_states=2).fit(corpus)
    assert model.score(folder) == pytest.approx(model.score(list(strings)))
    succeed("learn", "automaton", folder, "-o", tmp_path / "m.sigma", "--states", "2", "-q")
    printed = succeed("score", tmp_path / "m.sigma", folder)
    assert printed == succeed("score", tmp_path / "m.sigma", tmp_path / "t")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_are_counted(text: Path, tmp_path: Path, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "_AT_ONCE", 3)
    corpus = build_corpus([str(text)], tmp_path / "c")
    strings = strings_of(tmp_path / "c")
    expected = Counter(s[k : k + order] for s in strings for k in range(len(s) - order + 1))
    printed = succeed("corpus", "count", tmp_path / "c", "--order", str(order))
    pairs = [line.split("\t") for line in printed.splitlines()]
    assert {tuple(words.split()): int(count) for count, words in pairs} == dict(expected)
    assert [int(count) for count, _ in pairs] == sorted(expected.values(), reverse=True)
    few = count_ngrams(corpus, order, budget=64 * 2)
    assert len(few.keys) <= 2
    assert few.counts.sum() + few.lost[1] == sum(expected.values())
    assert "order 40 over 11 words has no room" in fail("corpus", "count", tmp_path / "c", "--order", "40")


def test_a_long_list_of_ngrams_takes_no_room_beyond_its_table(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0).integers(0, 2000, (6000, 20))
    (tmp_path / "t").write_text("\n".join(" ".join(map(str, row)) for row in drawn) + "\n")
    corpus = build_corpus([str(tmp_path / "t")], tmp_path / "c")
    found = count_ngrams(corpus, 3)
    tracemalloc.start()
    lines = list(itertools.islice(commands.listed(corpus, found, 3), 3))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(lines) == 3
    assert len(found.keys) > 100_000
    assert peak < 10_000_000  # more than twice as much where all words are spelled at once

"""Vectors, bilexical operators and attachment on the command line, on small made data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, succeed
from sigmastar import WordVectors
from sigmastar.bilexical import read_word2vec
from sigmastar.core.model_reading import load_model, model_bytes

ADJECTIVES = {"red": "car", "green": "car", "old": "house", "new": "house", "kind": "aunt", "wise": "aunt"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nouns of three kinds, met in text with verbs of their kind, and with adjectives of it in pairs."""
    folder, rng = tmp_path_factory.mktemp("words"), np.random.default_rng(0)
    kinds = {"car": "drives fast", "house": "stands still", "aunt": "speaks softly"}
    nouns = [(f"{kind}{n}", kind) for kind in kinds for n in range(30)]
    text = [f"the {noun} {kinds[kind]} today" for noun, kind in nouns for _ in range(5)]
    text += [f"{word} {kinds[kind]}" for word, kind in ADJECTIVES.items() for _ in range(5)]
    (folder / "text").write_text("\n".join(text) + "\n")
    pairs = [
        (noun, word)
        for noun, kind in nouns
        for word in rng.choice([a for a, k in ADJECTIVES.items() if k == kind], 2)
    ]
    (folder / "pairs.tsv").write_text("".join(f"{noun}\t{word}\n" for noun, word in pairs))
    succeed("vectors", folder / "text", "-o", folder / "V", "--window", "3", "--contexts", "20", "-q")
    succeed("learn", "bilexical", folder / "pairs.tsv", "--vectors", folder / "V", "-o", folder / "M", "-q")
    return folder


def test_learning_says_what_it_did_and_test_heads_are_scored_alone(folder: Path) -> None:
    model = load_model(folder / "M")
    found = figures("evaluate", folder / "M", folder / "pairs.tsv")
    assert found["n_heads"] == len(model.split.test) == 27
    assert found["pairwise_accuracy"] > 0.9 > found["popularity_accuracy"]
    assert found["pairwise_accuracy_low"] <= found["pairwise_accuracy"] <= found["pairwise_accuracy_high"]
    assert 0 <= found["pairwise_accuracy_matched"] <= 1


def test_predictions_for_a_head(folder: Path) -> None:
    head = load_model(folder / "M").split.test[0]
    kind = head.rstrip("0123456789")
    line = succeed("predict", folder / "M", "-", "--top", "2", stdin=f"{head}\n").split("\t")
    assert {line[0], line[2]} == {word for word, of in ADJECTIVES.items() if of == kind}
    row = json.loads(succeed("predict", folder / "M", "-", "--top", "2", "--json", stdin=f"{head}\n"))
    assert row["head"] == head
    assert row["modifiers"][0]["modifier"] == line[0]


def test_scores_are_log_probabilities(folder: Path) -> None:
    lines = succeed("score", folder / "M", "-", stdin="car1\tred\ncar1\tunheard\n").split()
    assert float(lines[0]) < 0
    assert float(lines[1]) == -np.inf


def test_the_other_direction_and_other_penalties(folder: Path) -> None:
    common = (
        "learn",
        "bilexical",
        folder / "pairs.tsv",
        "--vectors",
        folder / "V",
        "-q",
        "--strength",
        "0.05",
    )
    succeed(*common, "--penalty", "l2", "-o", folder / "L2")
    assert figures("evaluate", folder / "L2", folder / "pairs.tsv")["pairwise_accuracy"] > 0.8
    succeed(*common, "--given", "modifier", "-o", folder / "back")
    assert "car1" in load_model(folder / "back").modifiers


def test_models_and_vectors_show_themselves(folder: Path) -> None:
    assert "rank" in succeed("show", folder / "M")
    assert "window 3" in succeed("show", folder / "V")
    assert succeed("predict", folder / "V", "-", "--top", "1", stdin="car1\n").startswith("car")


def test_vectors_are_learned_as_the_estimator_learns_them(folder: Path) -> None:
    succeed("vectors", folder / "text", "-o", folder / "default", "-q")
    expected = WordVectors().fit([folder / "text"]).model_
    assert model_bytes(load_model(folder / "default")) == model_bytes(expected)
    first = (folder / "default").read_bytes()
    succeed("vectors", folder / "text", "-o", folder / "default", "-q")
    assert (folder / "default").read_bytes() == first


def test_json_holds_numbers_and_lists(folder: Path) -> None:
    operator, vectors = figures("show", folder / "M"), figures("show", folder / "V")
    assert operator["n_modifiers"] == len(ADJECTIVES)
    assert sum(operator["n_heads"].values()) == 90
    assert set(operator["dimensions"][0]["high"]) <= set(ADJECTIVES)
    assert operator["given"] == "head"
    assert vectors["n_words"] == len(load_model(folder / "V"))
    assert vectors["learned"]["settings"]["window"] == 3


def test_options_of_other_families_are_refused(folder: Path) -> None:
    assert "No such option" in fail("predict", folder / "M", "-", "--nbest", "2", status=2)
    assert "No such option" in fail("evaluate", folder / "M", folder / "pairs.tsv", "--gold-tags", status=2)


def test_a_page_has_a_map_and_with_pairs_the_capacity_curve(folder: Path) -> None:
    plain = succeed("show", folder / "M", "--html")
    judged = succeed("show", folder / "M", "--html", "--pairs", folder / "pairs.tsv")
    assert plain.count("<svg") == 1
    assert judged.count("<svg") == 2
    assert "operations per head" in judged
    assert "No such option" in fail("show", folder / "M", "--dot", status=2)
    assert "--pairs is for --html" in fail("show", folder / "M", "--pairs", folder / "pairs.tsv", status=2)


def test_vectors_in_text_work_as_well(folder: Path) -> None:
    succeed("vectors", folder / "text", "-o", folder / "v.txt", "--word2vec", "--dimension", "4", "-q")
    assert (folder / "v.txt").read_text().split("\n")[0].endswith(" 4")
    succeed(
        "learn", "bilexical", folder / "pairs.tsv", "--vectors", folder / "v.txt", "-o", folder / "T", "-q"
    )
    assert figures("evaluate", folder / "T", folder / "pairs.tsv")["pairwise_accuracy"] > 0.8


def test_embeddings_are_written_for_other_tools(folder: Path) -> None:
    model = load_model(folder / "M")
    for target, words in (("word2vec", model.modifiers), ("word2vec-heads", model.split.test)):
        succeed("convert", folder / "M", "--to", target, "-o", folder / "embedding.txt")
        read = read_word2vec(folder / "embedding.txt")
        assert set(words) <= set(read.words)
        rows = model.head_embedding(["car1"]) if target.endswith("heads") else model.modifier_embedding()[:1]
        word = "car1" if target.endswith("heads") else model.modifiers[0]
        np.testing.assert_allclose(read.rows([word]), rows, rtol=1e-6, atol=1e-9)
    assert succeed("convert", folder / "V", "--to", "word2vec").endswith("\n")
    assert "word2vec-heads" in fail("convert", folder / "M", "--to", "att", status=2)


def test_attachment_from_quadruples_to_answers(folder: Path) -> None:
    rng = np.random.default_rng(1)
    rows = []
    for number in range(400):
        noun, second = (f"{rng.choice(['car', 'aunt'])}{rng.integers(30)}" for _ in range(2))
        rows.append(f"{number} see {noun} with {second} {'N' if noun[0] == second[0] else 'V'}\n")
    for name, part in (("train", rows[:250]), ("dev", rows[250:320]), ("test", rows[320:])):
        (folder / name).write_text("".join(part))
    learn = ("learn", "attachment", folder / "train", "--dev", folder / "dev", "--vectors", folder / "V")
    succeed(*learn, "-o", folder / "A", "-q")
    found = figures("evaluate", folder / "A", folder / "test")
    assert found["accuracy"] > 0.9
    assert found["accuracy_bilinear"] > 0.9
    assert found["accuracy_of_with"] == found["accuracy"]  # there is no other preposition
    assert found["p_value_against_linear"] < 0.05
    shown = figures("show", folder / "A")
    assert shown["bilinear"] == ["with"]
    assert set(shown["votes"]) == {"linear", "backed_off", "bilinear", "constant"}
    answer = succeed("predict", folder / "A", "-", stdin="see car1 with car2\n")
    assert answer.startswith("N\t")
    assert len(succeed("score", folder / "A", folder / "test").split()) == 80


def test_wrong_calls_are_told(folder: Path) -> None:
    assert "--relation is needed" in fail(
        "learn", "bilexical", folder / "x.conllu", "--vectors", folder / "V", "-o", folder / "X", status=2
    )
    assert "no sample for models" in fail("sample", folder / "M", status=2)
    assert "not 'vectors'" in fail(
        "learn", "bilexical", folder / "pairs.tsv", "--vectors", folder / "M", "-o", folder / "X"
    )
    assert "text is read twice" in fail("vectors", "-", "-o", folder / "X", stdin="a b\n")

"""Dependency parsers on the command line: learn, evaluate, predict, score, sample, show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sigmastar.cli.group import command
from sigmastar.core.model_reading import load_model
from sigmastar.dependency.cli.models import _parsed
from sigmastar.dependency.data.conllu import read_conllu, write_conllu, write_dp
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.decoders import BestTreeDecoder

SENTENCES = [
    ("the dog barks", "DET NOUN VERB", [2, 3, 0], "det nsubj root"),
    ("dogs see a cat", "NOUN VERB DET NOUN", [2, 0, 4, 2], "nsubj root det obj"),
    ("the cat sees dogs", "DET NOUN VERB NOUN", [2, 3, 0, 3], "det nsubj root obj"),
]


def run(*words: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dependency")
    forms, tags, heads, labels = zip(*(SENTENCES * 8), strict=True)
    split = [[text.split() for text in column] for column in (forms, tags, labels)]
    treebank = DependencyTreebank.of(split[0], split[1], heads, split[2])
    write_conllu(treebank, folder / "train.conllu")
    write_dp(treebank, folder / "train.dp")
    text = "# sent_id = 7\n1-2\tthedog\t_\t_\t_\t_\t_\t_\t_\t_\n"
    for number, (form, tag) in enumerate(
        [("the", "DET"), ("dog", "NOUN"), ("sees", "VERB"), ("cats", "NOUN")], 1
    ):
        text += f"{number}\t{form}\t_\t{tag}\t{tag}\t_\t_\t_\t_\t_\n"
    (folder / "new.conllu").write_text(text + "\n")
    settings = ("--states", 2, "--symbols", "upos", "-q")
    result = run("learn", "dependency", folder / "train.conllu", "-o", folder / "m", *settings)
    assert result.exit_code == 0, result.output
    return folder


def test_a_sentence_that_is_too_long_is_named_before_work_is_foretold(folder: Path) -> None:
    rows = "".join(f"{k}\tcat\t_\tNOUN\tNOUN\t_\t_\t_\t_\t_\n" for k in range(1, 1502))
    (folder / "long.conllu").write_text("1\tcat\t_\tNOUN\tNOUN\t_\t_\t_\t_\t_\n\n" * 1100 + rows + "\n")
    result = run("predict", folder / "m", folder / "long.conllu")
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("compiling")]
    assert line.startswith("sigmastar: sentence 1101 has 1501 words")


def test_evaluate(folder: Path) -> None:
    result = run("evaluate", folder / "m", folder / "train.conllu", "--json", "-q")
    figures = json.loads(result.output)
    assert figures["uas"] == figures["uas_no_punct"] == figures["las"] == 1.0
    assert figures["n_words"] == 88
    assert figures["n_fallback"] == 0


def test_batches_give_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [(what, folder / "m", folder / "train.conllu", "-q") for what in ("predict", "evaluate")]
    whole = [run(*call).output for call in calls]
    monkeypatch.setattr("sigmastar.dependency.cli.models.BATCH", 5)
    parser = load_model(folder / "m")
    told = list[float | None]()
    treebank = read_conllu(folder / "train.conllu")
    heads, _ = _parsed(parser, treebank, lambda message, done=None: told.append(done))
    assert told == [0.0, 5 / 24, 10 / 24, 15 / 24, 20 / 24]
    np.testing.assert_array_equal(heads, parser.parse(treebank).heads)
    assert [run(*call).output for call in calls] == whole


def test_predict_gives_a_whole_conllu(folder: Path) -> None:
    result = run("predict", folder / "m", folder / "new.conllu", "-o", folder / "out.conllu", "-q")
    assert result.exit_code == 0, result.output
    found = read_conllu(folder / "out.conllu")
    assert found.head.tolist() == [2, 3, 0, 3]
    assert found.deprel == ["det", "nsubj", "root", "obj"]
    given = (folder / "new.conllu").read_text().splitlines()
    assert (folder / "out.conllu").read_text().splitlines()[:2] == given[:2]


def test_score_and_sample(folder: Path) -> None:
    scores = [
        float(line) for line in run("score", folder / "m", folder / "train.conllu", "-q").output.split()
    ]
    assert len(scores) == 24
    assert np.isfinite(scores).all()
    assert max(scores) <= 0.0
    lone = run("score", folder / "m", folder / "new.conllu", "-q")
    assert lone.exit_code == 1
    assert "score --automata" in lone.stderr
    lone = run("score", folder / "m", folder / "new.conllu", "--automata", "-q")
    assert len(lone.output.split()) == 1
    noted = run("sample", folder / "m", "-n", 1)
    assert "drawn from the head automata; trained arcs decide" in noted.stderr
    drawn = run("sample", folder / "m", "-n", 3, "--seed", 4, "-q")
    (folder / "drawn.conllu").write_text(drawn.output)
    assert len(read_conllu(folder / "drawn.conllu")) == 3
    assert drawn.output == run("sample", folder / "m", "-n", 3, "--seed", 4, "-q").output


def test_show(folder: Path) -> None:
    assert "dependency" in run("show", folder / "m").output
    assert json.loads(run("show", folder / "m", "--json").output)["learned"]["method"] == "spectral+em"
    assert run("show", folder / "m", "--dot", "--head", "NOUN", "--direction", "left").output.startswith(
        "digraph"
    )
    wrong = run("show", folder / "m", "--dot", "--head", "XX")
    assert wrong.exit_code == 1
    assert "there is no head 'XX'" in wrong.stderr
    assert run("show", folder / "m", "--dot").exit_code == 2


@pytest.mark.parametrize("method", ["det", "det+f", "bigram", "spectral", "em"])
def test_methods_on_the_short_format(folder: Path, method: str, tmp_path: Path) -> None:
    learned = run(
        "learn", "dependency", folder / "train.dp", "-o", tmp_path / "m", "--method", method, "--json", "-q"
    )
    assert json.loads(learned.stdout)["settings"]["arcs"] == "none"
    figures = json.loads(run("evaluate", tmp_path / "m", folder / "train.dp", "--json", "-q").output)
    assert figures["uas"] > 0.9
    assert figures["las"] is None
    assert "las" not in run("evaluate", tmp_path / "m", folder / "train.dp", "-q").output
    predicted = run("predict", tmp_path / "m", folder / "train.dp", "-q").output.splitlines()
    assert predicted[0].split("\t")[:2] == ["the", "DET"]


def test_viterbi_is_kept_in_the_model(folder: Path, tmp_path: Path) -> None:
    options = ("--method", "det+f", "--symbols", "upos", "--decoding", "viterbi", "-q")
    result = run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "m", "dependency").decoder == BestTreeDecoder()
    figures = json.loads(run("evaluate", tmp_path / "m", folder / "train.conllu", "--json", "-q").output)
    assert figures["uas"] == 1.0
    lone = float(run("score", tmp_path / "m", folder / "new.conllu", "-q").output)
    options = (*options[:4], "-q")
    run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / "m", *options)
    assert lone == float(run("score", tmp_path / "m", folder / "new.conllu", "-q").output)
    hidden = ("--method", "em", "--decoding", "viterbi")
    refused = run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / "m", *hidden)
    assert refused.exit_code == 2
    assert "--decoding is for --method det or det+f, not em" in refused.stderr


def test_states_by_held_out_likelihood(folder: Path, tmp_path: Path) -> None:
    options = ("--states", "auto", "--method", "spectral", "--json", "-q")
    learned = run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / "m", *options)
    assert json.loads(learned.stdout)["settings"]["n_states"] == "auto"
    assert run("learn", "dependency", "f", "-o", "m", "--states", "some").exit_code == 2


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("predict", "--top"),
        ("predict", "--json"),
        ("evaluate", "--gold-tags"),
        ("sample", "--format"),
    ],
)
def test_options_of_other_families_are_refused(folder: Path, command: str, option: str) -> None:
    file = [folder / "train.conllu"] if command in ("predict", "evaluate") else []
    refused = run(command, folder / "m", *file, option)
    assert refused.exit_code == 2
    assert "No such option" in refused.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "det", "--states", 2),
        ("--method", "lex"),
        ("--counted", "lex"),
        ("--method", "det", "--decoding", "viterbi", "--arcs"),
        ("--method", "det", "--epochs", 2),
        ("--no-arcs", "--epochs", 2),
    ],
)
def test_options_that_a_method_does_not_have_are_refused(options: tuple) -> None:
    assert run("learn", "dependency", "f", "-o", "m", *options).exit_code == 2


def test_words_in_arcs(folder: Path, tmp_path: Path) -> None:
    options = ("--symbols", "lexical", "--method", "det", "--epochs", 1, "--json", "-q")
    learned = run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / "m", *options)
    assert json.loads(learned.stdout)["settings"]["arcs"] == "lexical"
    facts = json.loads(run("show", tmp_path / "m", "--json").output)
    assert facts["decided_by"] == "trained arcs"
    assert facts["n_words"] == 8
    assert "take no part in the parse" in run("show", tmp_path / "m").output


def test_equal_runs_give_equal_bytes(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("learn", "dependency", folder / "train.conllu", "-o", tmp_path / name, "--method", "em", "-q")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_heads_may_be_named_by_one_of_their_tags(tmp_path: Path) -> None:
    tags = [["DET", "NOUN", "VERB"]] * 8
    xpos = [["DT", "NN", "VBZ"], ["DT", "NNS", "VBP"]] * 4
    write_conllu(DependencyTreebank.of(tags, tags, [[2, 3, 0]] * 8, xpos=xpos), tmp_path / "t")
    run("learn", "dependency", tmp_path / "t", "-o", tmp_path / "m", "--method", "det", "-q")
    assert (
        'digraph "DET+DT left"'
        in run("show", tmp_path / "m", "--dot", "--head", "DET", "--direction", "left").output
    )
    assert 'digraph "NOUN+NNS right"' in run("show", tmp_path / "m", "--dot", "--head", "NNS").output
    asked = run("show", tmp_path / "m", "--dot", "--head", "NOUN")
    assert asked.exit_code == 1
    assert "there is no head 'NOUN'; did you mean NOUN+NN NOUN+NNS" in asked.stderr


def test_old_heads_are_passed_over_by_predict(folder: Path, tmp_path: Path) -> None:
    lines = [
        f"{k}\t{w}\t_\t{t}\t{t}\t_\t{h}\t_\t_\t_"
        for k, w, t, h in ((1, "the", "DET", 2), (2, "dog", "NOUN", 1))
    ]
    (tmp_path / "cycle.conllu").write_text("\n".join(lines) + "\n\n")
    assert run("predict", folder / "m", tmp_path / "cycle.conllu", "-q").exit_code == 0
    assert run("evaluate", folder / "m", tmp_path / "cycle.conllu", "-q").exit_code == 1


def test_crossing_arcs_and_several_roots_are_told(tmp_path: Path) -> None:
    words = [list("abcd"), list("ab")] * 5
    heads, relations = [[3, 4, 0, 3], [0, 0]] * 5, [["x", "y", "root", "z"], ["root", "root"]] * 5
    write_conllu(DependencyTreebank.of(words, words, heads, relations), tmp_path / "t")
    learn = ("learn", "dependency", tmp_path / "t", "-o", tmp_path / "m", "--method", "det")
    told = run(*learn).stderr
    assert "5 of 10 trees have crossing arcs, lifted: parses have none" in told
    assert "5 of 10 trees have several roots" in told
    marked = run(*learn, "--projective", "pseudo")
    assert "lifted and marked" in marked.stderr
    figures = json.loads(run("evaluate", tmp_path / "m", tmp_path / "t", "--json", "-q").output)
    assert figures["las"] == 1.0


def test_sentences_that_would_take_hours_are_refused(folder: Path, tmp_path: Path) -> None:
    words = [["dog"] * 5000]
    write_conllu(DependencyTreebank.of(words, [["NOUN"] * 5000]), tmp_path / "long")
    refused = run("predict", folder / "m", tmp_path / "long", "-q")
    assert refused.exit_code == 1
    assert "sentence 1 has 5000 words" in refused.stderr


def test_errors(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text("1\tw\t_\tX\tX\t_\t1\tdep\t_\t_\n")
    result = run("learn", "dependency", tmp_path / "bad.conllu", "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert "bad.conllu:1: " in result.stderr
    assert "cycle" in result.stderr
    assert not (tmp_path / "m").exists()
    lexical = ("--symbols", "lexical", "--no-arcs")
    assert run("learn", "dependency", folder / "train.dp", "-o", tmp_path / "m", *lexical).exit_code == 2
    nowhere = run("learn", "dependency", folder / "train.dp", "-o", tmp_path / "no" / "m")
    assert nowhere.exit_code == 1
    assert "does not exist" in nowhere.stderr


def test_the_automaton_of_a_head_goes_out(folder: Path, tmp_path: Path) -> None:
    model, head = folder / "m", ("--head", "VERB", "--direction", "left")
    done = run("convert", model, "--to", "automaton", *head, "-o", tmp_path / "a.sigma")
    assert done.exit_code == 0, done.output
    (tmp_path / "s.txt").write_text("NOUN\n\n")
    scores = [
        float(line) for line in run("score", tmp_path / "a.sigma", tmp_path / "s.txt", "-q").output.split()
    ]
    assert scores[0] > scores[1]  # a verb mostly has a noun before it
    assert "needs --head" in run("convert", model, "--to", "att").output
    done = run("convert", model, "--to", "att", *head, "-o", tmp_path / "a.att")
    assert done.exit_code == 0 or "--method em or det" in done.output
    assert run("convert", model, "--to", "npz", "-o", tmp_path / "a.npz").exit_code == 0

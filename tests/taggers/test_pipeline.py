"""Raw text to trees, in one object and one file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, succeed
from sigmastar import InputError, Pipeline, SpectralDependencyGrammar, load
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.dependency.data.conllu import read_treebank, write_conllu
from sigmastar.dependency.data.treebank import as_treebank, multiword_tokens
from sigmastar.taggers import Tokenizer
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator.pipeline import _cuts
from sigmastar.taggers.laws import TaggerLaws

TEXT = (
    "Mr. Smith doesn't care: it's 3.5 miles! \"Really?\" he said. See http://a.b/c.html, x@y.com... I can't."
)


def test_rules_of_text() -> None:
    found = list(Tokenizer(frozenset({"Mr."})).sentences(TEXT))
    assert [" ".join(words) for words in found] == [
        "Mr. Smith does n't care : it 's 3.5 miles !",
        '" Really ? " he said .',
        "See http://a.b/c.html , x@y.com ...",
        "I ca n't .",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line\nand another\n\nA paragraph", [["One", "line", "and", "another"], ["A", "paragraph"]]),
        ("Ёж Жив. Да;", [["Ёж", "Жив", "."], ["Да", ";"]]),
        ("", []),
        (" \n \n", []),
        ("J. Smith (2004).", [["J.", "Smith", "(", "2004", ")", "."]]),
    ],
)
def test_texts_of_all_kinds(text: str, expected: list[list[str]]) -> None:
    assert list(Tokenizer().sentences(text)) == expected


def test_a_treebank_tells_of_points_and_hyphens() -> None:
    parted = Tokenizer.of(["well", "-", "known", "-", "U.S.", "Dr."])
    assert parted.words("A well-known Dr. No") == ["A", "well", "-", "known", "Dr.", "No"]
    assert Tokenizer.of(["well-known", "-"]).words("well-known.") == ["well-known", "."]


def test_a_treebank_tells_of_words_that_stay_whole_and_of_those_that_do_not() -> None:
    words = [*["b/c", ":-)", "it", "/", "he"] * 2, "it/he"]
    told = Tokenizer.of(words, tokens=[("cant", ("ca", "nt")), ("Cant", ("Ca", "nt")), ("its", ("it", "s"))])
    assert told.whole == {"b/c", ":-)"}  # once is not enough, nor are parts as often
    assert told.words("(b/c it/he CANT :-).") == ["(", "b/c", "it", "/", "he", "CA", "NT", ":-)", "."]
    assert told.words("its") == ["its"]
    assert Tokenizer.of(["cant"] * 3, tokens=[("cant", ("ca", "nt"))] * 2).words("cant") == ["cant"]
    written = Tokenizer.of(["σε", "το"], tokens=[("στο", ("σε", "το"))] * 2)  # parts that are not its letters
    assert Tokenizer.from_header(written.to_header()).words("στο, Στο") == ["σε", "το", ",", "σε", "το"]


def test_a_treebank_tells_where_small_letters_begin_sentences() -> None:
    words = ["i", "see", ".", "you", "?", "no", "...", "well", ".", "he"]
    told = Tokenizer.of(words, begins=[0, 3, 5, 9])
    assert told.firm == {".", "?"}
    found = list(told.sentences('so it is. "it was." and... so on? yes'))
    assert [" ".join(sentence) for sentence in found] == [
        "so it is .",
        '" it was . "',
        "and ... so on ?",
        "yes",
    ]


def test_tokens_of_several_words(tmp_path: Path) -> None:
    rows = [
        "1\tHe",
        "2-3\tcannot",
        "2\tcan",
        "3\tnot",
        "",
        "# more",
        "1-2\tdont",
        "1\tdo",
        "2\tnt",
        "2.1\tx",
        "",
    ]
    file = tmp_path / "trees.conllu"
    heads = {"1": "0", "2": "1", "3": "1"}
    lines = [row + "\t_" * 4 + f"\t{heads.get(row[0], '_')}\t_\t_\t_" if "\t" in row else row for row in rows]
    file.write_text("\n".join(lines))
    found = list(multiword_tokens(read_treebank(file)))
    assert found == [("cannot", ("can", "not")), ("dont", ("do", "nt"))]


def test_blanks_alone() -> None:
    assert list(Tokenizer(has_rules=False).sentences("a b.\n\nc")) == [["a", "b."], ["c"]]


def test_one_object_and_one_file(tmp_path: Path) -> None:
    example = TaggerLaws().examples()["Pipeline"]
    model = Pipeline(tagger="chain", arc_epochs=2).fit(example.X, example.y)
    assert model.score(example.X, example.y) == 1.0
    parsed = model.predict(["the n1 v2 well\n\nthe n0 v0"])
    assert parsed.head.tolist() == [2, 3, 0, 3, 2, 3, 0]
    assert parsed.xpos[:4] == ["DT", "NN", "VB", "RB"]
    model.save(tmp_path / "pipeline.sigma")
    again = load(tmp_path / "pipeline.sigma").predict(["the n1 v2 well"])
    assert again.head.tolist() == [2, 3, 0, 3]
    assert len(model.predict([])) == 0
    assert len(model.model_.parse_words([[], ["the", "n1"], []])) == 1
    with pytest.raises(InputError, match="pass a list of texts"):
        model.predict("the n1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sentence 1102 has 1501 words"):
        model.model_.parse_words([["the", "n1"]] * 1101 + [["n1"] * 1501])


def test_raw_text_tells_of_words_that_the_treebank_lacks(tmp_path: Path) -> None:
    example = TaggerLaws().examples()["Pipeline"]
    told = "the n1 v2 well. the strange v2 well. the n0 moves well. the n1 moves well. the strange moves."
    text = [told] * 4
    model = Pipeline(tagger="chain", arc_epochs=2).fit(example.X, example.y, text=text)
    classes = model.model_.classes
    assert classes is not None
    assert {"strange", "moves", "n0"} <= set(classes.words)
    assert model.score(example.X, example.y) == 1.0
    model.save(tmp_path / "pipeline.sigma")
    again = load(tmp_path / "pipeline.sigma")
    for pipeline in (model, again):
        parsed = pipeline.predict(["the strange moves well"])
        assert parsed.upos == ["DET", "NOUN", "VERB", "ADV"]
        assert parsed.head.tolist() == [2, 3, 0, 3]
    assert any(name.startswith("raw") for name, _ in again.model_.tagger.state_features())
    sentences = TaggedSentences.of([["the", "strange", "moves", "well"]])
    for part in ("tagger", "parser"):  # taken out, each keeps the classes of words that it reads
        save_model(getattr(again.model_, part), tmp_path / part)
    tagger, parser = (load_model(tmp_path / part) for part in ("tagger", "parser"))
    expected = model.model_.tagger.predict_proba(sentences)
    np.testing.assert_array_equal(tagger.predict_proba(sentences), expected)
    without = replace(tagger, lexicon=replace(tagger.lexicon, raw=None))
    with pytest.raises(ValueError, match="templates"):
        without.predict_proba(sentences)
    np.testing.assert_array_equal(parser.predict(parsed).head, parsed.head)
    assert parser.vocabulary.classes.words == classes.words
    with pytest.raises(InputError, match="pass a list of texts"):
        model.fit(example.X, example.y, text="the n1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="give more text"):
        Pipeline(tokenizer="blanks").fit([[("a", "A")]], [[0]], text=["b c d"])


def test_the_parser_learns_from_tags_that_others_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags of each part come from taggers that have not seen it, in order; few sentences keep given ones."""
    odd = [("the", "X", "X"), ("n1", "X", "X"), ("v1", "X", "X")]  # nothing but its own part tells of X
    example = TaggerLaws().examples()["Pipeline"]
    X, y = [*(example.X * 2)[:39], odd], [*(example.y * 2)[:39], [2, 3, 0]]
    seen = []
    fit_with = SpectralDependencyGrammar._fit_with
    monkeypatch.setattr(
        SpectralDependencyGrammar, "_fit_with", lambda self, *given: fit_with(self, *seen_first(seen, given))
    )
    for n_sentences, folds, taggings in ((40, 2, 1), (40, 1, 3), (39, 2, 3), (40, 2, 3)):
        pipeline = Pipeline(tagger="chain", arc_epochs=1, folds=folds, taggings=taggings)
        pipeline.fit(X[-n_sentences:], y[-n_sentences:])
    found, given, few, thrice = seen
    assert found.form == given.form
    assert thrice.form == given.form * 3
    assert thrice.head.tolist() == given.head.tolist() * 3
    assert thrice.upos == found.upos * 3
    assert np.diff(thrice.sentence_offsets).tolist() == np.diff(given.sentence_offsets).tolist() * 3
    assert given.upos[-3:] == few.upos[-3:] == ["X", "X", "X"]
    assert found.upos[-3:] == ["DET", "NOUN", "VERB"]
    assert found.xpos[-3:] == ["DT", "NN", "VB"]
    assert found.upos[:-3] == given.upos[:-3]


def test_taggings_cut_the_treebank_at_other_sentences() -> None:
    cuts = _cuts(125, 5, 3)
    ends = [set(np.flatnonzero(np.diff(part_of)).tolist()) for part_of in cuts]
    assert len(set.union(*ends)) == sum(map(len, ends))
    for part_of in cuts:
        assert set(np.bincount(part_of, minlength=5).tolist()) <= {24, 25, 26}
    assert cuts[0].tolist() == [k for k in range(5) for _ in range(25)]
    assert _cuts(39, 5, 2) == _cuts(200, 1, 2) == []


def seen_first(seen: list[Any], given: tuple[Any, ...]) -> tuple[Any, ...]:
    seen.append(given[0])
    return given


def test_batches_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    example = TaggerLaws().examples()["Pipeline"]
    model = Pipeline(tagger="chain", arc_epochs=1).fit(example.X, example.y)
    text = ["the n1 v2 well", "the n0 v0", "the n2 v1"]
    whole, told = model.predict(text), list[float | None]()
    monkeypatch.setattr("sigmastar.taggers.model.pipeline.BATCH", 2)
    model.set_params(progress=lambda message, done=None: told.append(done))
    parted = model.predict(text)
    assert told == [0.0, 2 / 3]
    assert parted.head.tolist() == whole.head.tolist()
    assert (parted.form, parted.upos, parted.deprel) == (whole.form, whole.upos, whole.deprel)
    assert parted.sentence_offsets.tolist() == whole.sentence_offsets.tolist()


def test_commands(tmp_path: Path) -> None:
    example = TaggerLaws().examples()["Pipeline"]
    trees, model, text = tmp_path / "trees.conllu", tmp_path / "pipeline.sigma", tmp_path / "text.txt"
    write_conllu(as_treebank(example.X, example.y), trees)
    succeed("learn", "pipeline", trees, "--tagger", "chain", "--epochs", "2", "-q", "-o", model)
    text.write_text("The n1 v2.\n")
    rows = [line.split("\t") for line in succeed("predict", model, text, "-q").splitlines() if line]
    assert [(row[1], row[3], row[6]) for row in rows[:3]] == [
        ("The", "DET", "2"),
        ("n1", "NOUN", "3"),
        ("v2", "VERB", "0"),
    ]
    assert "uas_gold_tags 1" in " ".join(succeed("evaluate", model, trees).split())
    assert "abbreviations" in succeed("show", model)
    text.write_text("the n1 v2 well. the strange v2 well. the n0 moves well.\n" * 5)
    succeed(
        "learn", "pipeline", trees, "--text", text, "--tagger", "chain", "--epochs", "2", "-q", "-o", model
    )
    assert json.loads(succeed("show", model, "--json"))["words_of_raw_text"] > 4
    learned = json.loads(succeed("show", model, "--json"))["learned"]
    assert [Path(one["name"]).name for one in learned["data"]["files"]] == ["trees.conllu", "text.txt"]
    assert "there is no sample for models of kind 'pipeline'" in fail("sample", model, status=2)

"""Features that users give per token, and the weights of all features in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sigmastar.runtime
from cli.calls import fail, succeed
from sigmastar import NgramTagger, SpectralTagger, load
from sigmastar.core.errors import InputError
from sigmastar.taggers.data.feature_templates import TokenViews, View, template_name, templates_of
from sigmastar.taggers.model.feature_chain import own_codes

RNG = np.random.default_rng(0)
CUES = [RNG.choice(["up", "down"], size=4).tolist() for _ in range(60)]
TAGS = [["U" if cue == "up" else "D" for cue in row] for row in CUES]
TOKENS = [[{"word": f"w{RNG.integers(3)}", "cue": cue, "bias": 1.0} for cue in row] for row in CUES]


@pytest.fixture(scope="module")
def tagger() -> SpectralTagger:
    return SpectralTagger("chain").fit(TOKENS, TAGS)


def test_what_only_own_features_tell_is_learned(tagger: SpectralTagger) -> None:
    words = [[token["word"] for token in row] for row in TOKENS]
    assert SpectralTagger("chain").fit(words, TAGS).score(words, TAGS) < 0.8
    assert tagger.score(TOKENS, TAGS) == 1.0
    fresh = [{"word": "new", "cue": "down"}, {"word": "new", "cue": ["up", "never seen"], "last": True}]
    assert tagger.predict([fresh]) == [["D", "U"]]


def test_a_product_with_refined_tags_has_them_too() -> None:
    assert SpectralTagger(n_members=1).fit(TOKENS, TAGS).score(TOKENS, TAGS) == 1.0


def test_weights_in_words(tagger: SpectralTagger) -> None:
    state, moves = tagger.model_.state_features(), tagger.model_.transition_features()
    assert state["own:cue=up", "U"] > 0.5
    assert state["own:cue=up", "D"] < -0.5
    assert {("own:bias", "U"), ("word[0]=w1", "U"), ("shape=x9", "D")} <= set(state)
    assert ("U", "D") in moves
    assert ("<edge>", "D") in moves or ("<edge>", "U") in moves
    with pytest.raises(InputError, match="has no features"):
        NgramTagger().fit([[("a", "D")]] * 3).model_.state_features()


def test_what_is_no_feature_is_refused(tagger: SpectralTagger) -> None:
    with pytest.raises(InputError, match="learned with own features of tokens; give these"):
        tagger.predict([["w1"]])
    with pytest.raises(InputError, match="with the word under 'word'"):
        tagger.predict([[{"cue": "up"}]])
    with pytest.raises(InputError, match=r"'size' is 2\.5; give text"):
        tagger.predict([[{"word": "w1", "size": 2.5}]])
    for other in (NgramTagger(), SpectralTagger("spectral"), SpectralTagger(features=False)):
        with pytest.raises(InputError, match="has no features; own features of tokens are for"):
            other.fit(TOKENS, TAGS)


def test_files_and_the_runtime_keep_them(tagger: SpectralTagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "t.sigma")
    expected = np.concatenate(tagger.predict_proba(TOKENS[:5]))
    for again in (load(tmp_path / "t.sigma"), sigmastar.runtime.load(tmp_path / "t.sigma")):
        np.testing.assert_allclose(np.concatenate(again.predict_proba(TOKENS[:5])), expected, atol=1e-9)


def test_a_column_of_a_file(tmp_path: Path) -> None:
    rows = [
        "".join(f"{token['word']} cue={cue}|bias {tag}\n" for token, cue, tag in zip(*triple, strict=True))
        for triple in zip(TOKENS, CUES, TAGS, strict=True)
    ]
    (data := tmp_path / "train.txt").write_text("\n".join(rows))
    model = tmp_path / "t.sigma"
    succeed("learn", "tagger", data, "--method", "chain", "--own-features", "2", "-o", model)
    assert "accuracy       1\n" in succeed("evaluate", model, data)
    assert "own:cue=up\tU\t" in succeed("show", model, "--weights")
    (bare := tmp_path / "bare.txt").write_text("w1 cue=up\nw1 _\n")
    assert succeed("predict", model, bare).splitlines()[0] == "w1 cue=up U"
    assert "columns" in fail("predict", model, "-", stdin="w1\n")
    assert "has no features" in fail(
        "learn", "tagger", data, "--method", "bigram", "--own-features", "2", "-o", model
    )


def test_codes_of_own_features_by_definition() -> None:
    own = [("a", "b"), (), ("c",), ("a", "b"), ("b", "zz")]
    places = {"own:a": 0, "own:b": 4, "own:c": 2, "zz": 7}
    found = own_codes(own, places, 100)
    naive = [[100 + places[f"own:{name}"] for name in row if f"own:{name}" in places] for row in own]
    assert [sorted(code for code in row if code >= 0) for row in found.tolist()] == list(map(sorted, naive))


def test_names_of_features_say_what_templates_read() -> None:
    names = {"word": ["a", "b", "c"], "class": ["x", "y"], "guess": ["D", "N"], "1": ["p", "q", "r"]}
    offsets, rng = np.array([0, 3, 4]), np.random.default_rng(1)
    codes = {name: rng.integers(-1, len(known), 4) for name, known in names.items()}
    views = {name: View.of(codes[name], len(known), offsets) for name, known in names.items()}
    columns = TokenViews(views["word"], views["class"], views["guess"], (views["1"],)).templates()

    def at(name: str, place: int) -> str:
        inside = 0 <= place < 3 if token < 3 else place == 3
        code = codes[name][place] if inside else -2
        return "<edge>" if not inside else "<unknown>" if code < 0 else names[name][code]

    for template, column in zip(templates_of(1), columns, strict=True):
        for token in range(4):
            told = " ".join(f"{name}[{k}]={at(name, token + k)}" for name, k in template)
            assert template_name(template, int(column[token]), names) == told

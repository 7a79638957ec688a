"""What families show: numbers that agree with the models, found through their records alone."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toy_family
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.explore import StringsExhibit, graph_view
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_hmm
from sigmastar.bilexical.explore import OperatorExhibit, VectorsExhibit, example_operator
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.continuous.explore import SeriesExhibit
from sigmastar.continuous.model import GaussianHmm
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.family import families, load, register, unregister
from sigmastar.core.model_format import save_model
from sigmastar.core.plot_drawings import draw_strip
from sigmastar.core.signing import verified_with
from sigmastar.core.toy_english import sentences
from sigmastar.explorer.gallery import Gallery, of_file
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.explore import PCFGExhibit
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.regression.explore import FunctionExhibit
from sigmastar.regression.model import StringFunction
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.explore import trees_beside

RULES = ["S -> NP V 1", "NP -> the N 1", "N -> dog 0.75", "N -> cat 0.25", "V -> runs 1"]


@pytest.fixture(scope="module")
def machine() -> Any:
    return replace(make_hmm(3, 3, np.random.default_rng(0)), alphabet=Alphabet(("a", "b", "<script>")))


def views(exhibit: Any, **inputs: str) -> dict[str, Any]:
    found = [view.to_json() for view in [*exhibit.overview(), *exhibit.answer(inputs)]]
    json.dumps(found, allow_nan=False)
    return {view["title"]: view["data"] for view in found}


def test_families_with_views_have_a_model_to_begin_with() -> None:
    for family in families().values():
        if family.explore is not None:
            assert all(callable(load(place)) for place in (family.explore, *family.examples.values()))
            assert family.examples, family.name


def test_a_family_without_views_has_a_plain_page(tmp_path: Path) -> None:
    register(toy_family.FAMILY)
    try:
        save_model(toy_family.Coin(0.25), tmp_path / "coin.sigma", {"method": "throws"})
        gallery = Gallery.of_files([str(tmp_path / "coin.sigma")])
        arrays, settings = gallery.shown[0].about()["views"]
    finally:
        unregister("coins")
    assert arrays["data"]["rows"][0][0] == "heads"
    assert ["method", "throws"] in settings["data"]["rows"]


def test_states_of_a_series() -> None:
    means = np.array([[[0.0]], [[9.0]]])
    model = GaussianHmm(
        np.array([1.0, 0.0]), np.full((2, 2), 0.5), np.ones((2, 1)), means, np.ones((2, 1, 1, 1))
    )
    exhibit = SeriesExhibit(model, {})
    assert exhibit.predict({"text": "0.1; 8.8; 9.3"})["states"] == [0, 1, 1]
    assert [mark[0] for mark in views(exhibit, text="0.1; 8.8; 9.3")["States"]["marks"]] == [0, 1, 1]
    assert "The way through the plane" not in views(exhibit, text="0.1")  # of one number there is none
    with pytest.raises(InputError, match="1 numbers per row"):
        exhibit.answer({"text": "0.1 2; x"})


def test_the_way_of_a_series_through_the_plane() -> None:
    means = np.array([[[0.0, 0.0]], [[9.0, 5.0]]])
    covariances = np.tile(np.eye(2), (2, 1, 1, 1))
    model = GaussianHmm(np.array([1.0, 0.0]), np.full((2, 2), 0.5), np.ones((2, 1)), means, covariances)
    data = views(SeriesExhibit(model, {}), text="0.1 0; 8.8 5")["The way through the plane"]
    assert [(step["x"], step["y"]) for step in data["path"]] == [(0.1, 0.0), (8.8, 5.0)]
    assert {point["group"] for point in data["points"]} == {"state 0", "state 1"}


def test_what_comes_next_is_what_the_model_gives(machine: Any) -> None:
    seen = views(StringsExhibit(machine, {}), text="a b ")
    row = machine.gap_distributions(Strings.of([["a", "b"]], alphabet=machine.alphabet))[-1]
    told = {bar["name"]: bar["value"] for bar in seen["What comes next"]["bars"]}
    assert told["<script>"] == pytest.approx(row[2])
    assert told["end of string"] == pytest.approx(row[-1])
    assert len(seen["The way through states"]["path"]) == 3


def test_a_symbol_that_is_being_typed_is_completed(machine: Any) -> None:
    data = views(StringsExhibit(machine, {}), text="a <scr")["What comes next"]
    assert [bar["name"] for bar in data["bars"]] == ["<script>"]
    assert data["begun"] == "<scr"
    with pytest.raises(ValueError, match="zz"):
        StringsExhibit(machine, {}).answer({"text": "zz a"})


def test_strings_that_are_too_long_are_refused(machine: Any) -> None:
    with pytest.raises(InputError, match="at most"):
        StringsExhibit(machine, {}).answer({"text": "a " * 5000})


def test_strings_beside_a_model(machine: Any, tmp_path: Path) -> None:
    data = tmp_path / "strings.txt"
    data.write_text("a b\nb\n")
    save_model(machine, tmp_path / "m.sigma")
    gallery = Gallery.of_files([str(tmp_path / "m.sigma")], str(data))
    judged = gallery.shown[0].judged()
    strings = Strings.of([["a", "b"], ["b"]], alphabet=machine.alphabet)
    assert [row.loss for row in judged.rows] == pytest.approx(list(-machine.log_probability(strings)))
    best = machine.gap_distributions(strings).argmax(axis=1)
    assert sum(row.error or 0 for row in judged.rows) == (best != strings.outcomes).sum()
    assert sum(judged.confusion.values()) == 5


def test_the_best_tree_of_a_grammar() -> None:
    read = parse_rules(RULES)
    exhibit = PCFGExhibit(ProbabilisticCFG(read.grammar, np.asarray(read.weights)), {})
    seen = views(exhibit, text="the dog runs")
    assert seen["The best tree"]["trees"][0]["tree"]["children"][1]["label"] == "V"
    assert exhibit.predict({"text": "the cat runs"})["log_probability"] == pytest.approx(np.log(0.25))


def test_a_bound_stands_beside_what_is_measured() -> None:
    read = parse_rules(RULES)
    exhibit = PCFGExhibit(ProbabilisticCFG(read.grammar, np.asarray(read.weights)), {})
    data = views(exhibit, text="the dog runs")["Bound against samples"]
    measured, certified = (series["y"] for series in data["series"])
    known = [(x, a, b) for x, a, b in zip(data["x"], measured, certified, strict=True)]
    assert {sum(value is not None for value in row[1:]) for row in known} == {1}
    assert min(x for x, _, b in known if b is not None) > max(x for x, a, _ in known if a is not None)


def test_alike_states_are_drawn_as_one() -> None:
    hmm = make_hmm(20, 5, np.random.default_rng(0))
    view = graph_view(hmm)
    assert len(view.data["nodes"]) == 14
    assert "14 groups of alike states" in view.note
    assert "not drawn" not in view.note
    assert sum(node["initial"] for node in view.data["nodes"]) == pytest.approx(1.0)
    assert "groups" not in graph_view(make_hmm(14, 5, np.random.default_rng(0))).note


def test_a_state_of_no_weight_is_not_drawn_and_signs_are_told() -> None:
    flips = WeightedAutomaton(
        Alphabet("ab"),
        np.array([1.0, 0.0]),
        np.array([np.diag([-1.0, 0.0]), np.diag([0.9, 0.0])]),
        np.eye(2)[0],
    )
    view = graph_view(flips)
    assert [node["label"] for node in view.data["nodes"]] == ["0"]
    assert [edge["label"] for edge in view.data["edges"]] == ["-a b"]
    assert "1 of hardly any weight is not drawn" in view.note


def test_trees_of_the_data_stand_beside_those_found() -> None:
    gold, found = parse_brackets("(S (NP (D a) (N b)) (V c)) (S (D a) (VP (N b) (V c)))")
    view = trees_beside(gold, found)

    def marked(node: Any) -> list[str]:
        own = [node["label"]] if node.get("mark") else []
        return own + [label for child in node.get("children", ()) for label in marked(child)]

    assert [marked(entry["tree"]) for entry in view.data["trees"]] == [["NP"], ["VP"]]
    assert view.data["together"]
    assert "same" in trees_beside(gold, gold, said="F1 1").note
    assert trees_beside(gold, None).data["trees"][1]["tree"] is None


def test_what_hardly_surprises_is_hardly_marked(machine: Any) -> None:
    assert views(StringsExhibit(machine, {}), text="a b ")["Surprise"]["least"] == 4.0
    sure, unsure = (
        draw_strip({"tokens": [{"text": "a", "value": v}], "least": 0.5}, "") for v in (1e-9, 0.5)
    )
    assert sure != unsure == draw_strip({"tokens": [{"text": "a", "value": 0.5}]}, "")


def test_values_of_a_function(machine: Any) -> None:
    exhibit = FunctionExhibit(StringFunction(machine), {})
    value = machine.value(Strings.of([["a", "b"]], alphabet=machine.alphabet))[0]
    assert exhibit.predict({"text": "a b"})["values"]["value"] == pytest.approx(value)
    assert views(exhibit, text="a b")["The value of each beginning"]["series"][0]["y"][-1] == pytest.approx(
        value
    )


def test_neighbours_of_a_word() -> None:
    points = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    seen = views(VectorsExhibit(Vectors(("dog", "cat", "tea"), points), {}), text="dog")
    assert [bar["name"] for bar in seen["Nearest words"]["bars"]] == ["cat", "tea"]


def test_pairs_of_a_treebank_are_judged_as_they_were_learned(tmp_path: Path) -> None:
    treebank, words = tmp_path / "dev.conllu", ("girls", "eat", "bread", "zzz")
    relations = {"girls": (2, "nsubj"), "eat": (0, "root"), "bread": (2, "obj"), "zzz": (3, "obj")}
    lines = [
        f"{k}\t{word}\t_\tX\t_\t_\t{relations[word][0]}\t{relations[word][1]}\t_\t_"
        for k, word in enumerate(words, 1)
    ]
    treebank.write_text("\n".join(lines) + "\n\n")
    model = example_operator().model
    learned = {"layout": {"relation": "obj", "given": "modifier"}}
    rows = OperatorExhibit(model, learned).judge(str(treebank)).rows
    assert [row.text for row in rows] == ["bread eat"]  # zzz has no vector
    assert rows[0].loss == pytest.approx(-float(model.pair_log_probabilities([("bread", "eat")])[0]))
    with pytest.raises(InputError, match="a treebank needs a relation"):
        OperatorExhibit(model, {}).judge(str(treebank))


def test_tags_are_told_by_their_words() -> None:
    found = load("sigmastar.taggers.explore:example")()
    exhibit: Any = load("sigmastar.taggers.explore:open_exhibit")(found.model, found.learned)
    (table,) = [view for view in exhibit.overview() if view.title == "Tags"]
    rows = table.data["rows"]
    words = {row[0]: row[3].split(" · ") for row in rows}
    assert set(words["D"]) == {"a", "the", "some"}
    assert words["P"] == ["with"]
    assert sum(row[1] for row in rows) == pytest.approx(1.0)


def test_rules_of_a_parser_are_shown_without_states() -> None:
    found = load("sigmastar.treebanks.explore:example")()
    exhibit: Any = load("sigmastar.treebanks.explore:open_exhibit")(found.model, found.learned)
    rules, states = exhibit.overview()[:2]
    shares: dict[str, float] = {}
    for phrase, _, value in rules.data["rows"]:
        shares[phrase] = shares.get(phrase, 0.0) + value
    assert shares["NP"] == pytest.approx(1.0, abs=1e-3)
    assert {bar["name"] for bar in states.data["bars"]} > {"S", "NP", "VP", "N"}


def test_a_little_english_is_consistent() -> None:
    for node in sentences(50):
        (tree,) = parse_brackets(node.bracketed())
        assert list(tree.words()) == node.words
        heads = node.heads()
        assert heads.count(0) == 1
        assert node.relations().index("root") == heads.index(0)
        assert node.tags[heads.index(0)] == "V"


def test_a_key_counts_on_other_threads_too(machine: Any, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    public = ed25519.Ed25519PrivateKey.generate().public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pem").write_bytes(public.public_bytes(serialization.Encoding.PEM, form))
    save_model(machine, tmp_path / "m.sigma")
    with verified_with(tmp_path / "key.pem"), pytest.raises(ModelFileError, match="sign"):
        Gallery.of_files([str(tmp_path / "m.sigma")])
    with verified_with(tmp_path / "key.pem"):
        opener = of_file(str(tmp_path / "m.sigma"), "sigmastar.automata.explore:open_exhibit")
    with ThreadPoolExecutor(1) as pool, pytest.raises(ModelFileError, match="sign"):
        pool.submit(opener).result()


def test_what_a_stand_in_fails_on_is_told(machine: Any) -> None:
    exhibit = StringsExhibit(machine, {"worst_strings": [["a b", "12.5"], ["nothing", "3"]]})
    assert views(exhibit, text="a")["Where the stand-in fails"]["rows"] == [["a b", 12.5], ["nothing", 3.0]]
    assert "Where the stand-in fails" not in views(StringsExhibit(machine, {}), text="a")


def test_symbols_that_are_not_known_are_not_taken_for_others(machine: Any, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("a zebra b\n")
    (row,) = StringsExhibit(machine, {}).judge(str(tmp_path / "data.txt")).rows
    assert (row.text, row.length) == ("a ? b", 3)


def test_words_are_shown_with_their_states(tmp_path: Path) -> None:
    found = load("sigmastar.words.explore:example")()
    exhibit: Any = load("sigmastar.words.explore:open_exhibit")(found.model, found.learned)
    seen = views(exhibit, text="the girl ")
    told = {bar["name"]: bar["value"] for bar in seen["What comes next"]["bars"]}
    row = found.model.next_distribution(Strings.of([["the", "girl"]], alphabet=found.model.alphabet))[0]
    assert told["sees"] == pytest.approx(row[found.model.alphabet.codes["sees"]])
    assert sum(probability for _, probability, _ in seen["Hidden states now"]["rows"]) <= 1.0 + 1e-6
    nouns = [line for line in seen["States by their words"]["rows"] if "girl" in line[2] and "dog" in line[2]]
    assert nouns  # nouns share a state
    strange = views(exhibit, text="the blick sees ")["Surprise"]["tokens"]
    assert [token["below"] for token in strange] == [None, "?", None, None]
    (tmp_path / "data.txt").write_text("the girl sees a dog\n")
    (judged,) = exhibit.judge(str(tmp_path / "data.txt")).rows
    assert judged.loss == pytest.approx(-found.model.log_probability(exhibit.coded(judged.text.split()))[0])

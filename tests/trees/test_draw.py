"""Trees and charts as SVG, and trees in lines."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sigmastar.treebanks.draw import draw_chart
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.draw import draw_tree, tree_text

NAMESPACE = "{http://www.w3.org/2000/svg}"
GOLD, FOUND = parse_brackets(
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (DT a) (NN <man>)) (PP (IN in) (NP (NN rain))))))"
    "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN <man>)) (PP (IN in) (XP (NN rain)))))"
)


def texts(svg: str) -> list[str | None]:
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_every_node_and_word_is_drawn_once() -> None:
    names = texts(draw_tree(GOLD))
    assert sorted(names) == sorted([*GOLD.words(), *(node.label for node in GOLD.nodes())])


def test_words_stand_from_left_to_right_below_all() -> None:
    drawn = [
        (text.text, float(text.attrib["x"]), float(text.attrib["y"]))
        for text in ElementTree.fromstring(draw_tree(GOLD)).iter(f"{NAMESPACE}text")
    ]
    places = {name: (x, y) for name, x, y in drawn if name in set(GOLD.words())}
    xs = [places[word][0] for word in GOLD.words()]
    assert xs == sorted(xs)
    assert max(y for _, _, y in drawn) == places["dog"][1] == places["rain"][1]


def test_wrong_phrases_are_dashed() -> None:
    lines = list(ElementTree.fromstring(draw_tree(FOUND, GOLD)).iter(f"{NAMESPACE}path"))
    assert sum("stroke-dasharray" in line.attrib for line in lines) == 1  # from XP to its tag
    assert "stroke-dasharray" not in draw_tree(GOLD, GOLD)


def test_lines_for_the_terminal() -> None:
    assert tree_text(parse_brackets("(S (NP (DT the) (NN dog)) runs)")[0], {("NP", 0, 2)}) == (
        "S\n├─ NP *\n│  ├─ DT the\n│  └─ NN dog\n└─ runs"
    )


def test_deep_trees() -> None:
    tree = Tree("X", ("w",))
    for _ in range(3000):
        tree = Tree("X", (tree, "v"))
    assert tree_text(tree).count("\n") == 6000
    assert len(texts(draw_tree(tree))) == 3001 + 3001


def test_charts_say_what_is_likely_where() -> None:
    svg = draw_chart(
        ["a", "b"], [("NP", 0, 2, 0.9), ("VP", 0, 2, 0.05), ("DT", 0, 1, 1.0), ("X", 1, 2, 0.01)]
    )
    assert set(texts(svg)) == {"NP", "DT", "a", "b"}
    assert "NP 0.900, VP 0.050" in svg
    with pytest.raises(ValueError, match="does not fit"):
        draw_chart(["a"], [("NP", 0, 2, 0.9)])

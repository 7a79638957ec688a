from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.errors import InputError
from sigmastar.trees.data.brackets import (
    _parsed_by_pieces,
    _parsed_by_tokens,
    _parsed_quickly,
    as_trees,
    parse_brackets,
    read_brackets,
    write_brackets,
)
from sigmastar.trees.data.tree import Tree, bracketed, to_nltk

labels = st.text("ABZ-=*$,.|'\\", min_size=1, max_size=4)
trees = st.recursive(
    labels.map(lambda word: Tree("T", (word,))),
    lambda inner: st.builds(
        lambda label, below: Tree(label, tuple(below)),
        labels,
        st.lists(st.one_of(inner, labels), min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@given(st.lists(trees, max_size=4))
def test_what_is_written_is_read(many):
    stream = io.StringIO()
    write_brackets(many, stream)
    assert parse_brackets(stream.getvalue()) == many


usual = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, st.text("abé(漢", min_size=1, max_size=3)),
    lambda inner: st.builds(
        lambda label, below: Tree(label, tuple(below)), labels, st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(usual, max_size=5), st.sampled_from([" ", "\n", "\r\n  ", "\t"]))
def test_both_readers_agree(many, blank):
    text = blank.join(bracketed(tree).replace("((", "(X(").replace(" ", blank) for tree in many)
    if all("(" not in word for tree in many for word in tree.words()):
        assert _parsed_by_pieces(text.encode()) == many
    assert _told(_parsed_quickly, text) == _told(_parsed_by_tokens, text)


@given(st.text("(()) ab\n\té", max_size=30))
def test_any_text_is_read_alike_or_refused(text):
    assert _told(_parsed_quickly, text) == _told(_parsed_by_tokens, text)


def _told(reader, text: str) -> object:
    try:
        return reader(text, None)
    except InputError as problem:
        return str(problem)


def test_many_different_pieces_and_blanks_inside_words():
    many = [
        Tree("S", tuple(Tree(f"T{k % 7}", (f"w{k}\u00a0x",)) for k in range(n, n + 9))) for n in range(4000)
    ]
    assert _parsed_by_pieces("".join(map(bracketed, many)).encode()) == many
    assert parse_brackets("".join(map(bracketed, many))) == many
    assert parse_brackets("") == []


def test_trees_over_lines_and_outer_labels(tmp_path):
    text = "( (S (NP-SBJ (-NONE- *T*-1))\n   (VP (VBZ runs))) )\n(FRAG (NN x)) ((X y) (X z))\n"
    (tmp_path / "t.gz").write_bytes(gzip.compress(text.encode()))
    found = read_brackets(tmp_path / "t.gz")
    assert [str(tree) for tree in found] == [
        "(S (NP-SBJ (-NONE- *T*-1)) (VP (VBZ runs)))",
        "(FRAG (NN x))",
        "( (X y) (X z))",
    ]
    assert list(found[0].words()) == ["*T*-1", "runs"]
    assert [node.label for node in found[0].nodes()] == ["S", "NP-SBJ", "-NONE-", "VP", "VBZ"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("(S (NP x))\n(S\n (NP y)", 2, "lacks 1 closing"),
        ("(S x)\n)", 2, "without an opening"),
        ("(S x)\n\nword", 3, "outside of all brackets"),
        ("(S (NP) x)", 1, "without children"),
    ],
)
def test_unbalanced_brackets_are_told_with_their_line(tmp_path, text, line, what):
    path = tmp_path / "bad.mrg"
    path.write_text(text)
    with pytest.raises(InputError, match=what) as problem:
        read_brackets(path)
    assert (problem.value.file, problem.value.line) == (str(path), line)


def test_deep_trees_and_bad_words():
    tree: Tree = Tree("X", ("w",))
    for _ in range(20_000):
        tree = Tree("X", (tree,))
    assert bracketed(tree).count("(") == 20_001
    (again,) = parse_brackets(bracketed(tree))
    assert sum(1 for _ in again.nodes()) == 20_001
    with pytest.raises(InputError, match="cannot be written"):
        write_brackets([Tree("X", ("a b",))], io.StringIO())
    del tree, again


def test_real_treebank(data_folder):
    found = read_brackets(data_folder / "ptb_sample" / "wsj-train.mrg")
    assert len(found) == 3396


def test_trees_of_nltk_go_in_and_come_out() -> None:
    nltk = pytest.importorskip("nltk.tree", reason="nltk is not installed: make bench installs it")
    text = "(S (NP (D the) (N dog)) (VP barks))"
    (ours,) = as_trees([nltk.Tree.fromstring(text)])
    assert str(ours) == text
    assert to_nltk(ours) == nltk.Tree.fromstring(text)
    assert to_nltk("word") == "word"

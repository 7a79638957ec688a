"""How fast is EM with a treebank grammar? An iteration over the WSJ sample, sentences of up to 40 words.

The grammar is read off the training trees: functions and traces are taken off, and chains of unary rules
are collapsed to their top, since cycles of them would give a sentence infinitely many derivations.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target, timed
from sigmastar import ERMGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree

LONGEST, N_QUICK = 40, 100


def plain(tree: Tree) -> Tree | None:
    """A tree without traces, functions and unary chains; None where nothing is left."""
    if tree.label == "-NONE-":
        return None
    below = [child if isinstance(child, str) else plain(child) for child in tree.children]
    children = [child for child in below if child is not None]
    if not children:
        return None
    label = tree.label if tree.label.startswith("-") else tree.label.split("-")[0].split("=")[0]
    if len(children) == 1 and isinstance(children[0], Tree) and isinstance(children[0].children[0], Tree):
        children = list(children[0].children)
    return Tree(label, tuple(children))


def treebank(settings: Settings) -> Path:
    if settings.data is None:
        raise Skip("needs data: let SIGMASTAR_DATA name the folder")
    return settings.data / "ptb_sample" / "wsj-train.mrg"


def units(settings: Settings) -> list[str]:
    treebank(settings)
    return ["WSJ sample"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    found = (plain(tree) for tree in read_brackets(treebank(settings)))
    trees = [Tree("TOP", (tree,)) for tree in found if tree is not None]
    model = ERMGrammar().fit(trees).model_
    sentences = [words for words in (list(tree.words()) for tree in trees) if len(words) <= LONGEST]
    strings = Strings.of(sentences, alphabet=model.alphabet)
    if settings.quick:
        strings = strings.select(np.arange(N_QUICK))
    model.expected_counts(strings.select([0]))  # compiles the kernels
    (logs, _), timing = timed(lambda: model.expected_counts(strings))
    yield {
        "rules": model.events.n_events,
        "sentences": len(strings),
        "sentences a second": len(strings) / timing.seconds,
        "sentences a cpu second": len(strings) / timing.cpu_seconds,
        "log-likelihood": float(logs.mean()),
    }


def conclude(rows: list[Row]) -> list[Finding]:
    target = Target(">=", 300.0)
    return [Finding("sentences a second of one core", row["sentences a cpu second"], target) for row in rows]


def files(unit: str, settings: Settings) -> list[Path]:
    return [treebank(settings)]


QUESTION = Question(
    name="grammar_em",
    title="One EM iteration with a treebank grammar",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("rules", "sentences", "sentences a second", "sentences a cpu second", "log-likelihood"),
    files=files,
)

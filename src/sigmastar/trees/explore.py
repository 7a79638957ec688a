"""Models of trees in the explorer: the value of a typed tree, and of every subtree in its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import Example, Field, Inputs, Judged, Row, View, learned_facts, table
from sigmastar.core.toy_english import sentences
from sigmastar.trees.data.brackets import parse_brackets, read_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.estimator import SpectralTreeAutomaton
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG

Span = tuple[str, int, int]
_MOST_NODES, _MOST_ROWS, _DEEPEST = 400, 2000, 120


def tree_json(
    tree: Tree | str, wrong: Collection[Span] = (), titles: Mapping[Span, str] | None = None
) -> Any:
    """A tree as the page draws it; phrases in `wrong` (label, begin, end) are marked."""

    def build(node: Tree | str, begin: int, depth: int) -> tuple[dict[str, Any], int]:
        if isinstance(node, str):
            return {"label": node}, begin + 1
        if depth > _DEEPEST:
            raise InputError(f"a tree deeper than {_DEEPEST} nodes cannot be drawn")
        children, end = [], begin
        for child in node.children:
            drawn, end = build(child, end, depth + 1)
            children.append(drawn)
        span = (node.label, begin, end)
        found: dict[str, Any] = {"label": node.label, "children": children}
        if span in wrong:
            found["mark"] = True
        if titles and span in titles:
            found["title"] = titles[span]
        return found, end

    return build(tree, 0, 0)[0]


def tree_view(title: str, trees: Sequence[tuple[str, Any]], note: str = "") -> View:
    """Trees by name, of which one is seen at a time."""
    return View("tree", title, {"trees": [{"name": name, "tree": tree} for name, tree in trees]}, note)


def trees_beside(
    gold: Tree, found: Tree | None, missed: Collection[Span] | None = None, said: str = ""
) -> View:
    """The tree of the data beside the one that was found; phrases that the other one lacks are framed."""
    if missed is None:
        missed = set() if found is None else _phrases(gold) ^ _phrases(found)
    drawn = None if found is None else tree_json(found, missed)
    trees = [{"name": "in the data", "tree": tree_json(gold, missed)}, {"name": "found", "tree": drawn}]
    told = "phrases that the other tree lacks are framed." if missed else "the two are the same."
    note = "No tree was found." if found is None else f"{said}; {told}" if said else told.capitalize()
    return View("tree", "In the data, and found", {"trees": trees, "together": True}, note)


def _phrases(tree: Tree) -> set[Span]:
    """Labels over words, with where they begin and end."""
    found, waiting = set[Span](), [(tree, 0)]
    while waiting:
        node, begin = waiting.pop()
        found.add((node.label, begin, begin + len(list(node.words()))))
        for child in node.children:
            if isinstance(child, str):
                begin += 1
            else:
                waiting.append((child, begin))
                begin += len(list(child.words()))
    return found


class TreesExhibit:
    """A function on trees."""

    def __init__(self, model: TreeAutomaton | LatentPCFG, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @property
    def fields(self) -> Sequence[Field]:
        text = str(self.learned.get("example") or self._drawn())
        return (Field("text", "A tree", text, hint="in brackets, such as (S (N dogs) (V bark))"),)

    def _drawn(self) -> str:
        try:
            return str(self.model.sample(1, np.random.default_rng(0), 30)[0])
        except ValueError:  # a signed function draws no trees
            return self._made()

    def _made(self) -> str:
        """A tree of the first symbol of each rank."""
        if isinstance(self.model, LatentPCFG):
            return ""
        built: Tree | str = ""
        for rank, symbols in enumerate(self.model.alphabet.ranks):
            if symbols and rank == 0:
                built = str(symbols.symbols[0])
            elif symbols:
                built = Tree(str(symbols.symbols[0]), (built,) * rank)
        return str(built) if isinstance(built, Tree) else ""

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "latent PCFG" if isinstance(self.model, LatentPCFG) else "tree automaton",
            "states": self.model.n_states,
            "total mass": self._mass(),
            **learned_facts(self.learned),
        }

    def _mass(self) -> Any:
        try:
            return float(self.model.total_mass())
        except ValueError:
            return "infinite"

    def overview(self) -> list[View]:
        if isinstance(self.model, LatentPCFG):
            rules = [
                (" ".join((rule[0], "→", *rule[1:])), float(np.abs(weights).max()))
                for rule, weights in zip(self.model.rules, self.model.binary, strict=True)
            ]
            rules += [
                (f"{left} → {word}", float(np.abs(weights).max()))
                for (left, word), weights in zip(self.model.lexical, self.model.leaf, strict=True)
            ]
        else:
            rules = [
                (f"{symbol} / {rank}", float(np.abs(weights[k]).max()))
                for rank, (symbols, weights) in enumerate(
                    zip(self.model.alphabet.ranks, self.model.by_rank, strict=True)
                )
                for k, symbol in enumerate(symbols)
            ]
        rules.sort(key=lambda row: -row[1])
        return (
            [table("What trees are made of", ("operation", "largest weight"), rules[:500])] if rules else []
        )

    def tree(self, text: str) -> Tree:
        found = parse_brackets(text)
        if len(found) != 1 or not isinstance(found[0], Tree):
            raise InputError(f"give one tree in brackets; there are {len(found)}")
        if sum(1 for _ in found[0].nodes()) > _MOST_NODES:
            raise InputError(f"the tree has more than {_MOST_NODES} nodes")
        return found[0]

    def answer(self, inputs: Inputs) -> list[View]:
        tree = self.tree(inputs.get("text", ""))
        value = float(self.model.value([tree])[0])
        log = float(self.model.log_probability([tree])[0])
        below = [
            node
            for node in tree.nodes()
            if node is not tree and any(isinstance(c, Tree) for c in node.children)
        ]
        views = [
            tree_view("The tree", [("the tree", tree_json(tree))]),
            table("Its value", ("figure", "value"), [("value", value), ("log-probability", log)]),
        ]
        if below and isinstance(self.model, TreeAutomaton):
            logs = self.model.log_probability(below).tolist()
            rows = [(str(node), value) for node, value in zip(below, logs, strict=True)]
            views.append(table("Subtrees as trees of their own", ("subtree", "log-value"), rows))
        return views

    def predict(self, inputs: Inputs) -> Any:
        tree = self.tree(inputs.get("text", ""))
        return {
            "value": float(self.model.value([tree])[0]),
            "log_probability": float(self.model.log_probability([tree])[0]),
        }

    def judge(self, path: str) -> Judged:
        trees = [tree for tree in read_brackets(path) if isinstance(tree, Tree)][:_MOST_ROWS]
        losses = -self.model.log_probability(trees)
        rows = [
            Row(str(tree), {"text": str(tree)}, len(list(tree.words())), float(loss))
            for tree, loss in zip(trees, losses.tolist(), strict=True)
        ]
        return Judged(rows, "loss, nats")


def open_exhibit(model: TreeAutomaton | LatentPCFG, learned: Mapping[str, Any]) -> TreesExhibit:
    return TreesExhibit(model, learned)


_TYPED = "(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat))))"


def example_automaton() -> Example:
    """Trees of a little English."""
    trees = parse_brackets(" ".join(node.bracketed() for node in sentences(500)))
    model = SpectralTreeAutomaton(n_states=32, random_state=0).fit(trees).model_
    return Example(model, {"method": "spectral", "example": _TYPED})

"""Treebank parsers in the explorer: the tree of a sentence, and the chart of marginals that it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    bars,
    learned_facts,
    limited,
    table,
)
from sigmastar.core.toy_english import sentences
from sigmastar.treebanks.data.sentences import Input
from sigmastar.treebanks.estimator import SpectralTreebankGrammar
from sigmastar.treebanks.metrics import score_brackets, spans_of
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar
from sigmastar.treebanks.model.parser import DECODINGS, TreebankParser
from sigmastar.trees.data.brackets import parse_brackets, read_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.explore import tree_json, tree_view, trees_beside

_LONGEST, _LEAST, _MOST_ROWS, _BEST = 60, 0.01, 500, 5
_RULES, _SYMBOLS = 200, 16
_SCORES = {
    "labels": "Scores: the number of right labels in expectation, less the threshold for each.",
    "rules": "Scores: the logarithm of the product of the posteriors of rules.",
    "trees": "Scores: the sum over grammars of the log-probability of the tree.",
}
Span = tuple[str, int, int]


class TreebankExhibit:
    """A phrase structure parser."""

    def __init__(self, model: TreebankParser, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or self._drawn())
        decodings = (self.model.decoding, *(name for name in DECODINGS if name != self.model.decoding))
        return (
            Field("text", "A sentence", example, hint="words"),
            Field("decoding", "Trees are chosen by", decodings[0], decodings),
        )

    def parser(self, inputs: Inputs) -> TreebankParser:
        """The parser with the way of choosing that was asked for."""
        name = inputs.get("decoding") or self.model.decoding
        known = name in DECODINGS and name != self.model.decoding
        return replace(self.model, decoding=name) if known else self.model

    def _drawn(self) -> str:
        drawn = [list(tree.words()) for tree in self.model.sample(20, np.random.default_rng(0))]
        chosen: list[str] = min(drawn, key=lambda words: abs(len(words) - 9))
        return " ".join(chosen)

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "phrase structure parser",
            "grammars": len(self.model.members),
            "words": sum(1 for _ in self.model.forest.words),
            "span scorer": "none" if self.model.span_scorer is None else "yes",
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        rows = [
            (
                member.binarization.direction,
                len(member.grammar.rules),
                len(member.symbols),
                int(member.grammar.n_states.max()),
            )
            for member in self.model.members
        ]
        columns = ("binarization", "rules", "symbols", "most states of a symbol")
        note = "Their marginals are averaged." if len(rows) > 1 else ""
        return [
            _rules(self.model.members[0]),
            _states(self.model.members[0]),
            table("Grammars", columns, rows, note),
        ]

    def words(self, text: str) -> list[str]:
        found = limited(list(Input.of_line(text, False, self.model.forest.words).words), _LONGEST)
        if not found:
            raise InputError("type a sentence")
        return found

    def marginals(self, words: Sequence[str]) -> dict[Span, float]:
        return {span: value for span, value in self.model.marginals(words).items() if value >= _LEAST}

    def answer(self, inputs: Inputs) -> list[View]:
        words = self.words(inputs.get("text", ""))
        shares = self.marginals(words)
        parser = self.parser(inputs)
        parse = parser.parse_one(words)
        titles = {span: f"{span[0]}: {value:.3f}" for span, value in shares.items()}
        note = f"Log-probability of the sentence {parse.log_probability:.4g}."
        note += "" if parse.how == "full" else f" Found by a fallback: {parse.how}."
        best = parser.parse_nbest(words, n_best=_BEST)
        drawn = [
            (f"{rank}: score {score:.4g}", tree_json(tree, titles=titles))
            for rank, (tree, score) in enumerate(best, 1)
        ]
        ranked = [(rank, score, str(tree)) for rank, (tree, score) in enumerate(best, 1)]
        views = [tree_view("The tree", drawn, note), self.chart(words, shares, parse.tree)]
        return [*views, table("Best trees", ("rank", "score", "tree"), ranked, _SCORES[parser.decoding])]

    def chart(self, words: Sequence[str], shares: Mapping[Span, float], tree: Tree) -> View:
        """Spans with the likeliest phrase of each, and all others when pointed at."""
        cells: dict[tuple[int, int], list[tuple[float, str]]] = {}
        for (label, begin, end), value in shares.items():
            if end - begin > 1 or label not in self.model.forest.tag_codes:
                cells.setdefault((begin, end), []).append((value, label))
        chosen = {(begin, end) for _, begin, end in spans_of(tree).phrases}
        drawn = [
            {
                "begin": begin,
                "end": end,
                "label": max(found)[1],
                "value": min(1.0, max(found)[0]),
                "best": (begin, end) in chosen,
                "title": ", ".join(
                    f"{label} {value:.3f}" for value, label in sorted(found, reverse=True)[:6]
                ),
            }
            for (begin, end), found in cells.items()
        ]
        note = "How probable a phrase over each span is; frames are phrases of the tree."
        return View("chart", "Chart of marginals", {"words": list(words), "cells": drawn}, note)

    def predict(self, inputs: Inputs) -> Any:
        parse = self.parser(inputs).parse_one(self.words(inputs.get("text", "")))
        return {"tree": str(parse.tree), "log_probability": parse.log_probability, "found_by": parse.how}

    def judge(self, path: str) -> Judged:
        trees = [
            tree for tree in read_brackets(path) if 0 < len(Input.of_tree(tree, False).words) <= _LONGEST
        ]
        trees = trees[:_MOST_ROWS]
        given = [Input.of_tree(tree, False).words for tree in trees]
        parses = self.model.parse([(words, None) for words in given])
        rows, confusion = [], Counter[tuple[str, str]]()
        for gold, words, parse in zip(trees, given, parses, strict=True):
            one = score_brackets([gold], [parse.tree], np.random.default_rng(0), n_resamples=2)
            right, found = (spans_of(each) for each in (gold, parse.tree))
            confusion.update(zip(right.tags, found.tags, strict=False))
            missed = set(right.phrases) ^ set(found.phrases)
            beside = trees_beside(gold, parse.tree, missed, f"F1 {one.f1.value:.3f}")
            text = " ".join(words)
            error = 1.0 - one.f1.value if np.isfinite(one.f1.value) else 0.0
            rows.append(Row(text, {"text": text}, len(words), -parse.log_probability, error, (beside,)))
        return Judged(rows, "-log p of the sentence", "1 - F1", confusion)


def _rules(member: BinarizedGrammar) -> View:
    """The likeliest rules, without hidden states."""
    plain = member.passes[0].grammar
    order = np.argsort(-plain.tensors, kind="stable")[:_RULES]
    named = [
        [member.symbols.name(symbol, member.labels) for symbol in plain.rules[k]] for k in order.tolist()
    ]
    rows = [
        (parent, f"{left} {right}", float(plain.tensors[k]))
        for (parent, left, right), k in zip(named, order.tolist(), strict=True)
    ]
    note = "Of the first grammar, hidden states summed: what a phrase consists of, two parts at a time."
    return table("Rules", ("phrase", "parts", "probability"), rows, note)


def _states(member: BinarizedGrammar) -> View:
    """The symbols with the most hidden states."""
    sizes = member.grammar.n_states
    order = np.argsort(-sizes, kind="stable")[:_SYMBOLS].tolist()
    pairs = [(member.symbols.name(symbol, member.labels), float(sizes[symbol])) for symbol in order]
    note = "How many kinds of each symbol the first grammar tells apart."
    return bars("Hidden states of symbols", pairs, note, top=float(sizes.max()))


def open_exhibit(model: TreebankParser, learned: Mapping[str, Any]) -> TreebankExhibit:
    return TreebankExhibit(model, learned)


def example() -> Example:
    """Trees of a little English."""
    trees = parse_brackets(" ".join(node.bracketed() for node in sentences(800)))
    model = SpectralTreebankGrammar("spectral+em", 4, random_state=0).fit(trees).model_
    return Example(model, {"method": "spectral+em", "example": "the girl sees a dog with a telescope"})

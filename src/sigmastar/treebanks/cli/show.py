"""`sigmastar show` of treebank parsers: their parts, a tree, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import json_option, model_argument, output_option
from sigmastar.core.cli.printing import print_figures, write_lines
from sigmastar.core.model_files import read_header
from sigmastar.core.page import Part, Picture, Section, Table, render
from sigmastar.treebanks.cli.models import loaded
from sigmastar.treebanks.data.sentences import Input
from sigmastar.treebanks.draw import draw_chart
from sigmastar.treebanks.model.parser import TreebankParser
from sigmastar.trees.draw import draw_tree, tree_text

_LEAST = 0.01  # marginal that is worth drawing


@click.command()
@model_argument
@click.option("--sentence", metavar="TEXT", help="Sentence to parse and to show the tree of.")
@click.option("--svg", is_flag=True, help="Drawing of the tree of --sentence.")
@click.option("--html", is_flag=True, help="Page with a tree and the chart that it comes from.")
@json_option
@output_option
def show(model: str, sentence: str | None, svg: bool, html: bool, as_json: bool, output: str) -> None:
    """The grammars and the span scorer of MODEL; with --sentence the tree of one."""
    parser = loaded(model)
    if svg and sentence is None:
        raise click.UsageError('--svg draws a tree: give --sentence "the dog barks"')
    facts = _facts(parser, model)
    if as_json:
        print_figures({**facts, "learned": read_header(model)["learned"]}, as_json, output)
        return
    words = None if sentence is None else Input.of_line(sentence, False, parser.forest.words).words
    if words is not None and not words:
        raise click.UsageError("--sentence has no words")
    if html:
        with atomic_write(output) as stream:
            stream.write(_page(parser, model, _in_words(facts), words or _example(parser)))
    elif words is None:
        print_figures(_in_words(facts), as_json, output)
    else:
        tree = parser.parse_one(words).tree
        write_lines(output, [draw_tree(tree) if svg else tree_text(tree)])


def _facts(parser: TreebankParser, path: str) -> dict[str, Any]:
    """The parts of a parser, in the order to show them."""
    learned, scorer = read_header(path)["learned"], parser.span_scorer
    grammars = [
        {
            "binarization": member.binarization.direction,
            "horizontal": member.binarization.horizontal,
            "vertical": member.binarization.vertical,
            "rules": len(member.grammar.rules),
            "symbols": len(member.symbols),
            "states": int(member.grammar.n_states.max()),
        }
        for member in parser.members
    ]
    return {
        "file": path,
        "family": "treebank",
        "method": learned.get("method"),
        "grammars": grammars,
        "span scorer": None if scorer is None else {"labels": len(scorer.labels), "share": scorer.share},
        "labels": len({label for chain in parser.labels for label in chain}),
        "words": len(parser.forest.words),
        "threshold": parser.threshold,
        "trees": learned.get("data", {}).get("n_trees"),
    }


def _in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same as text, one line per grammar."""
    found = dict[str, str]()
    for name, value in facts.items():
        if name == "grammars":
            for number, grammar in enumerate(value, 1):
                shape = "{rules} rules, {symbols} symbols of up to {states} states".format(**grammar)
                found[f"grammar {number}"] = f"{_binarization(grammar)}, {shape}"
        elif name == "span scorer" and value is not None:
            found[name] = f"{value['labels']} labels, {value['share']} of every marginal"
        elif value is not None:
            found[name] = str(value)
    return found


def _binarization(grammar: Mapping[str, Any]) -> str:
    with_parents = " with parents" if grammar["vertical"] > 1 else ""
    with_siblings = f" with {grammar['horizontal']} siblings" if grammar["horizontal"] else ""
    return f"{grammar['binarization']} binarization{with_parents}{with_siblings}"


def _page(parser: TreebankParser, path: str, facts: Mapping[str, str], words: Sequence[str]) -> str:
    """One HTML page: the facts, a tree, and the chart it comes from."""
    items = [
        (label, begin, end, value)
        for (label, begin, end), value in parser.marginals(words).items()
        if value >= _LEAST and (end - begin > 1 or label not in parser.forest.tag_codes)
    ]
    tree = "The tree of a sentence, from the marginals below."
    chart = "The darker a span, the likelier a phrase over it; a cell names the likeliest label."
    parts: list[Part] = [
        Table("The parser", ("", ""), list(facts.items())),
        Picture(draw_tree(parser.parse_one(words).tree), tree, tree),
        Picture(draw_chart(words, items), chart, chart),
    ]
    seed = str(read_header(path)["learned"].get("seed", ""))
    return render(f"treebank: {path}", [Section("Parser", parts)], {"Seed": seed})


def _example(parser: TreebankParser) -> list[str]:
    """The words of a drawn tree of a good length."""
    drawn = [list(tree.words()) for tree in parser.sample(20, np.random.default_rng(0))]
    return min(drawn, key=lambda words: abs(len(words) - 9))

"""What the commands do with treebank parsers: sentences or trees in, brackets out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.cli.progress import Say, tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.page import Part, Picture, Section, Table, render
from sigmastar.core.text_files import display_name
from sigmastar.treebanks.cli.sentences import Input, read_inputs, sentences_of
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.draw import draw_chart
from sigmastar.treebanks.metrics import score_brackets
from sigmastar.treebanks.model.parser import FULL, Parse, Sentence, TreebankParser
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.draw import draw_tree, tree_text

Parameters = Mapping[str, Any]

_AT_ONCE = 64  # sentences between two looks at the bar
_METRICS = ("f1", "precision", "recall", "unlabelled_f1", "exact", "crossing", "no_crossing", "tagging")
_LEAST = 0.01  # marginal that is worth drawing


def evaluate(parameters: Parameters) -> None:
    """Labelled brackets by EVALB's conventions, with 95% intervals over sentences."""
    if parameters["file"] is None or parameters["targets"] or parameters["reference"]:
        raise click.UsageError("a treebank parser is evaluated on a FILE of trees, without other data")
    parser, path = _parser(parameters), parameters["file"]
    with watching("reading", parameters["quiet"]) as say:
        trees = read_brackets(path)
        inputs = [Input.of_tree(tree, parameters["gold_tags"]) for tree in trees]
        most = parameters["max_length"] or max((len(one.words) for one in inputs), default=0)
        chosen = [k for k, one in enumerate(inputs) if 0 < len(one.words) <= most]
        if not chosen:
            raise InputError("holds no trees to measure on, or none so short", file=display_name(path))
        begin = time.perf_counter()
        parses = _parsed(parser, [inputs[k].sentence for k in chosen], parameters, say)
        seconds = time.perf_counter() - begin
        found: list[Tree | None] = [parse.tree for parse in parses]
        scores = score_brackets([trees[k] for k in chosen], found, np.random.default_rng(0))
    figures: dict[str, Any] = {
        "n_sentences": scores.n_sentences,
        "n_left_out": len(trees) - scores.n_sentences,
        "tags": "gold" if parameters["gold_tags"] else "found",
    }
    for name in _METRICS:
        estimate = getattr(scores, name)
        figures |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    figures |= _fallbacks(parses)
    print_figures({**figures, "sentences_per_second": len(parses) / seconds}, parameters["as_json"])


def predict(parameters: Parameters) -> None:
    """The tree of every sentence, a line each; with --json also its probability and how it was found."""
    parser, quiet = _parser(parameters), parameters["quiet"]
    with watching("reading", quiet) as say:
        inputs = read_inputs(parameters["file"], parameters["tags"], parser.forest.words)
        full = [one for one in inputs if one.words]
        _warn_of_tags(parser, full, quiet)
        parses = _parsed(parser, sentences_of(full), parameters, say)
    found = iter(parses)
    written = [_written(next(found), parameters["as_json"]) if one.words else "" for one in inputs]
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{line}\n" for line in written)
    if others := _fallbacks(parses)["n_fallback"]:
        tell(f"{others} of {len(parses)} sentences were parsed by a fallback", quiet)


def score(parameters: Parameters) -> None:
    """log P of every tree, or of every sentence over all its trees."""
    parser = _parser(parameters)
    with watching("scoring", parameters["quiet"]) as say:
        inputs = read_inputs(parameters["file"], False, parser.forest.words)
        logs = list[float]()
        for number, one in enumerate(inputs):
            say("scoring", number / len(inputs))
            if one.tree is None:
                logs.append(parser.log_probability(one.words) if one.words else float("-inf"))
        if any(one.tree is not None for one in inputs):
            bank = phrases(one.tree for one in inputs if one.tree is not None)
            if len(bank) != len(inputs):
                raise InputError("some trees have no words; leave them out", file=parameters["file"])
            logs = parser.tree_log_probabilities(bank).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def sample(parameters: Parameters) -> None:
    """Trees drawn from the grammar, a line each; longer ones than --max-length are drawn again."""
    parser, rng = _parser(parameters), np.random.default_rng(parameters["seed"])
    most, n = parameters["max_length"], parameters["n_strings"]
    trees = list[Tree]()
    with watching("sampling", parameters["quiet"]) as say:
        for _ in range(100 * n + 1000):
            if len(trees) == n:
                break
            (tree,) = parser.sample(1, rng)
            if sum(1 for _ in tree.words()) <= most:
                trees.append(tree)
                say("sampling", len(trees) / n)
        else:
            raise InputError(f"trees of at most {most} words hardly ever come; raise --max-length")
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{tree}\n" for tree in trees)


def show(parameters: Parameters) -> None:
    """What a parser is; with --sentence the tree of one, in lines, as SVG, or on a page."""
    if parameters["dot"] or parameters["head"]:
        raise click.UsageError("a treebank parser is shown as text, --svg, --html or --json")
    parser, text = _parser(parameters), parameters["sentence"]
    if parameters["svg"] and text is None:
        raise click.UsageError('--svg draws a tree: give --sentence "the dog barks"')
    said = facts(parser, parameters["model"])
    if parameters["as_json"]:
        print_figures({**said, "learned": read_header(parameters["model"])["learned"]}, as_json=True)
        return
    words = None if text is None else Input.of_line(text, False, parser.forest.words).words
    if words is not None and not words:
        raise click.UsageError("--sentence has no words")
    with atomic_write(parameters["output"]) as stream:
        if parameters["html"]:
            stream.write(page(parser, parameters["model"], said, words or _example(parser)))
        elif words is None:
            stream.writelines(f"{name:<12}  {value}\n" for name, value in said.items())
        else:
            tree = parser.parse_one(words).tree
            stream.write((draw_tree(tree) if parameters["svg"] else tree_text(tree)) + "\n")


def facts(parser: TreebankParser, path: str) -> dict[str, str]:
    """What there is to say of a parser, in the order to say it."""
    learned = read_header(path)["learned"]
    grammars = [
        f"{member.binarization.direction} binarisation, {len(member.grammar.rules)} rules, "
        f"{len(member.symbols)} symbols of up to {int(member.grammar.n_states.max())} states"
        for member in parser.members
    ]
    data = learned.get("data", {})
    said = {
        "file": path,
        "family": "treebank",
        "method": str(learned.get("method", "")),
        **{f"grammar {number}": text for number, text in enumerate(grammars, 1)},
        "spans": f"{len(parser.spans.labels)} labels, share {parser.spans.share}" if parser.spans else "",
        "labels": str(len({label for chain in parser.labels for label in chain})),
        "words": str(len(parser.forest.words)),
        "threshold": str(parser.threshold),
        "trees": str(data.get("n_trees", "")),
        "seconds": str(learned.get("seconds", "")),
    }
    return {name: value for name, value in said.items() if value}


def page(parser: TreebankParser, path: str, said: Mapping[str, str], words: Sequence[str]) -> str:
    """One HTML page: the facts, a tree, and the chart it comes from."""
    items = [
        (label, begin, end, value)
        for (label, begin, end), value in parser.marginals(words).items()
        if value >= _LEAST and (end - begin > 1 or label not in parser.forest.tag_codes)
    ]
    tree = "The tree of a sentence, from the marginals below."
    chart = "How probable phrases over each span are; a cell names the likeliest label."
    parts: list[Part] = [
        Table("The parser", ("", ""), list(said.items())),
        Picture(draw_tree(parser.parse_one(words).tree), tree, tree),
        Picture(draw_chart(words, items), chart, chart),
    ]
    return render(f"treebank: {path}", [Section("Parser", parts)], {})


def _example(parser: TreebankParser) -> list[str]:
    """The words of a drawn tree of a good length."""
    drawn = [list(tree.words()) for tree in parser.sample(20, np.random.default_rng(0))]
    return min(drawn, key=lambda words: abs(len(words) - 9))


def _parser(parameters: Parameters) -> TreebankParser:
    parser: TreebankParser = load_model(parameters["model"], "treebank")
    return parser


def _parsed(
    parser: TreebankParser, sentences: Sequence[Sentence], parameters: Parameters, say: Say
) -> list[Parse]:
    """Parses in order, with the bar moving on."""
    found = list[Parse]()
    size = _AT_ONCE * parameters["threads"]
    for first in range(0, len(sentences), size):
        say("parsing", first / len(sentences))
        found += parser.parse(sentences[first : first + size], parameters["threads"])
    return found


def _fallbacks(parses: Sequence[Parse]) -> dict[str, Any]:
    kinds = Counter(parse.how for parse in parses if parse.how != FULL)
    return {"n_fallback": sum(kinds.values()), "fallbacks": dict(kinds)}


def _warn_of_tags(parser: TreebankParser, inputs: Sequence[Input], quiet: bool) -> None:
    strange = {tag for one in inputs for tag in one.tags or () if tag not in parser.forest.tag_codes}
    if strange:
        named = ", ".join(sorted(strange)[:5])
        tell(f"the treebank has no tags {named}: words with them get the tags they would have", quiet)


def _written(parse: Parse, as_json: bool) -> str:
    if not as_json:
        return str(parse.tree)
    return to_json({"tree": str(parse.tree), "log_probability": parse.log_probability, "found_by": parse.how})

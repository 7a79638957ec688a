"""Commands on treebank parsers: sentences or trees in, brackets out.

Sentences are words on a line, `word_TAG` on a line, or trees in brackets. `show` prints the parts of a
parser, a tree or a page.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.options import (
    device_option,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.page import Part, Picture, Section, Table, render
from sigmastar.core.progress import Say, tell, watching
from sigmastar.core.resources import limited_threads
from sigmastar.core.text_files import display_name
from sigmastar.core.time_estimates import foretell
from sigmastar.core.torch_device import placed
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.data.sentences import Input, Sentence, read_inputs
from sigmastar.treebanks.draw import draw_chart
from sigmastar.treebanks.metrics import score_brackets
from sigmastar.treebanks.model.binarized_grammar import rule_lines
from sigmastar.treebanks.model.parser import DECODINGS, FULL, Parse, TreebankParser
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.draw import draw_tree, tree_text

_METRICS = ("f1", "precision", "recall", "unlabelled_f1", "exact", "crossing", "no_crossing", "tagging")
_LONG = 300  # words that are parsed within a few seconds
_SHORT, _POWER = 80, 2.5  # words that are parsed at once; of these the time grows so with the length
_decoding_option = click.option(
    "--decoding", type=click.Choice(DECODINGS), help="What trees are chosen by  [default: as learned]"
)


@click.command()
@model_argument
@click.argument("file")
@click.option("--gold-tags", is_flag=True, help="Tags of the trees given to the parser.")
@click.option(
    "--max-length", type=click.IntRange(1), metavar="N", help="Largest number of words per sentence."
)
@_decoding_option
@threads_option
@device_option
@json_option
@quiet_option
def evaluate(
    model: str,
    file: str,
    gold_tags: bool,
    max_length: int | None,
    decoding: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Labelled brackets on the trees in FILE by EVALB's conventions, with 95% intervals over sentences."""
    parser = loaded(model, decoding)
    parse = _parser(parser, **options)
    with watching("reading", quiet) as say:
        trees = read_brackets(file)
        inputs = [Input.of_tree(tree, gold_tags) for tree in trees]
        most = max_length or max((len(one.words) for one in inputs), default=0)
        chosen = [k for k, one in enumerate(inputs) if 0 < len(one.words) <= most]
        if not chosen:
            raise InputError("holds no trees to measure on, or none so short", file=display_name(file))
        sentences = [inputs[k].sentence for k in chosen]
        _foretell("parsing", sentences, parser.parse_one, options["device"], quiet)
        begin = time.perf_counter()
        parses = parse(sentences, say)
        seconds = time.perf_counter() - begin
        found: list[Tree | None] = [parse.tree for parse in parses]
        scores = score_brackets([trees[k] for k in chosen], found, np.random.default_rng(0))
    figures: dict[str, Any] = {
        "n_sentences": scores.n_sentences,
        "n_left_out": len(trees) - scores.n_sentences,
        "tags": "gold" if gold_tags else "found",
    }
    for name in _METRICS:
        figures |= with_interval(name, getattr(scores, name))
    figures |= _fallbacks(parses)
    print_figures({**figures, "sentences_per_second": len(parses) / seconds}, as_json)


@click.command()
@model_argument
@click.argument("file")
@click.option("--tags", is_flag=True, help="Words with their tags, as word_TAG.")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    metavar="N",
    help="Largest number of words per sentence that is parsed; longer ones get a flat tree.",
)
@click.option(
    "--top",
    "--nbest",
    "n_best",
    type=click.IntRange(1),
    metavar="N",
    help="Best trees per sentence, each on a line behind its score, with a blank line between sentences.",
)
@_decoding_option
@threads_option
@device_option
@json_option
@output_option
@quiet_option
def predict(
    model: str, file: str, tags: bool, as_json: bool, output: str, quiet: bool, **options: Any
) -> None:
    """The tree of every sentence in FILE, one per line; with --json its probability and how it was found."""
    parser, most = loaded(model, options.pop("decoding")), options.pop("max_length")
    if (n_best := options.pop("n_best")) is not None:
        _predict_nbest(parser, file, tags, as_json, output, quiet, n_best, most, **options)
        return
    parse = _parser(parser, **options)
    with watching("reading", quiet) as say:
        inputs = read_inputs(file, tags, parser.forest.words)
        full = [one for one in inputs if one.words]
        _warn_of_tags(parser, full, quiet)
        short = [one.sentence for one in full if most is None or len(one.words) <= most]
        _foretell("parsing", short, parser.parse_one, options["device"], quiet)
        parsed = iter(parse(short, say))
        parses = [
            next(parsed) if most is None or len(one.words) <= most else parser.flat(*one.sentence)
            for one in full
        ]
    found = iter(parses)
    written = [_written(next(found), as_json) if one.words else "" for one in inputs]
    write_lines(output, written)
    if others := _fallbacks(parses)["n_fallback"]:
        tell(f"{others} of {len(parses)} sentences were parsed by a fallback", quiet)


def _predict_nbest(
    parser: TreebankParser, file: str, tags: bool, as_json: bool, output: str, quiet: bool, n_best: int,
    most: int | None, threads: int | None, device: str,
) -> None:  # fmt: skip
    if device != "cpu":
        raise click.UsageError("--top is found on the processor: leave --device out")
    with watching("reading", quiet) as say, limited_threads(threads):
        inputs = read_inputs(file, tags, parser.forest.words)
        _warn_of_tags(parser, inputs, quiet)
        some = [one.sentence for one in inputs if most is None or len(one.words) <= most]
        _foretell("parsing", some, partial(parser.parse_nbest, n_best=n_best), device, quiet)
        found = list[list[tuple[Tree, float]]]()
        for number, one in enumerate(inputs):
            say("parsing", number / len(inputs))
            short = most is None or len(one.words) <= most
            flat = [] if short or not one.words else [(parser.flat(*one.sentence).tree, -np.inf)]
            found.append(parser.parse_nbest(*one.sentence, n_best) if short and one.words else flat)
    if as_json:
        write_lines(output, (to_json({"trees": _ranked(best)}) for best in found))
    else:
        lines = ("".join(f"{score:.6g}\t{tree}\n" for tree, score in best) for best in found)
        write_lines(output, lines)


def _ranked(best: Sequence[tuple[Tree, float]]) -> list[dict[str, Any]]:
    return [{"tree": str(tree), "score": score} for tree, score in best]


@click.command()
@model_argument
@click.argument("file")
@device_option
@output_option
@quiet_option
def score(model: str, file: str, device: str, output: str, quiet: bool) -> None:
    """The natural log-probability of every tree in FILE, or of every sentence over all its trees.

    A tree with a rule or a label that the treebank did not have is given -inf: rules are not smoothed.
    Sentences may be scored on a GPU.
    """
    parser = loaded(model)
    with watching("scoring", quiet) as say:
        inputs = read_inputs(file, False, parser.forest.words)
        has_trees = any(one.tree is not None for one in inputs)
        if has_trees and device != "cpu":
            raise InputError(
                "holds trees, which the processor scores: leave --device out", file=display_name(file)
            )
        if not has_trees:
            sentences = [(one.words, None) for one in inputs if one.words]
            _foretell("scoring", sentences, parser.log_probability, device, quiet)
        logs = [] if has_trees else _sentence_logs(parser, inputs, device, say)
        if has_trees:
            bank = phrases(one.tree for one in inputs if one.tree is not None)
            if len(bank) != len(inputs):
                raise InputError("some trees have no words; leave them out", file=display_name(file))
            logs = parser.tree_log_probabilities(bank).tolist()
    write_lines(output, map(repr, logs))
    if has_trees and (n_unseen := logs.count(float("-inf"))):
        tell(f"{n_unseen} of {len(logs)} trees have a rule or label that was never seen: -inf", quiet)


def _sentence_logs(parser: TreebankParser, inputs: Sequence[Input], device: str, say: Say) -> list[float]:
    """Logarithms of sentences, all trees together; minus infinity of those without words."""
    logs, full = np.full(len(inputs), -np.inf), [k for k, one in enumerate(inputs) if one.words]
    there = placed(parser, device)
    for first in range(0, len(full), there.at_once):
        say("scoring", first / len(full))
        some = full[first : first + there.at_once]
        logs[some] = there.log_probabilities([(inputs[k].words, None) for k in some])
    return logs.tolist()


@click.command()
@sample_options("trees", "Largest number of words per tree.")
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Trees drawn from the grammars, one per line; longer ones than --max-length are drawn again."""
    parser, rng = loaded(model), np.random.default_rng(seed)
    trees = list[Tree]()
    with watching("sampling", quiet) as say:
        for _ in range(100 * n_samples + 1000):
            if len(trees) == n_samples:
                break
            (tree,) = parser.sample(1, rng)
            if sum(1 for _ in tree.words()) <= max_length:
                trees.append(tree)
                say("sampling", len(trees) / n_samples)
        else:
            raise InputError(f"trees of at most {max_length} words hardly ever come; raise --max-length")
    write_lines(output, map(str, trees))


def loaded(model: str, decoding: str | None = None) -> TreebankParser:
    """The parser of a file, with another way of choosing trees where one is given."""
    parser: TreebankParser = load_model(model, "treebank")
    return parser if decoding is None else replace(parser, decoding=decoding)


def _parser(
    parser: TreebankParser, threads: int | None, device: str
) -> Callable[[Sequence[Sentence], Say], list[Parse]]:
    """What gives parses in order, with the bar moving on: by compiled charts, or by charts on a device."""
    there = placed(parser, device)
    size = max(there.at_once, parser.at_once * (threads or os.cpu_count() or 1))

    def parsed(sentences: Sequence[Sentence], say: Say) -> list[Parse]:
        found = list[Parse]()
        for first in range(0, len(sentences), size):
            say("parsing", first / len(sentences))
            found += there.parse(sentences[first : first + size], threads)
        return found

    return parsed


def _fallbacks(parses: Sequence[Parse]) -> dict[str, Any]:
    kinds = Counter(parse.how for parse in parses if parse.how != FULL)
    return {"n_fallback": sum(kinds.values()), "fallbacks": dict(kinds)}


def _warn_of_tags(parser: TreebankParser, inputs: Sequence[Input], quiet: bool) -> None:
    strange = {tag for one in inputs for tag in one.tags or () if tag not in parser.forest.tag_codes}
    if strange:
        named = ", ".join(sorted(strange)[:5])
        tell(f"the treebank has no tags {named}: words with them get the tags they would have", quiet)


def _foretell(
    work: str, sentences: Sequence[Sentence], one: Callable[..., object], device: str, quiet: bool
) -> None:
    """Tell how long parsing takes on the processor; `one` takes words and tags of a sentence."""

    def run(numbers: Iterable[int], most: int) -> None:
        for number in numbers:
            words, tags = sentences[number]
            one(words[:most], None if tags is None else tags[:most])

    remedy = f"--max-length {_LONG} gives it a flat tree" if work == "parsing" else ""
    lengths = [len(words) for words, _ in sentences]
    foretell(work, lengths, run, _POWER, _SHORT, remedy=remedy, quiet=quiet or device != "cpu")


def _written(parse: Parse, as_json: bool) -> str:
    if not as_json:
        return str(parse.tree)
    return to_json({"tree": str(parse.tree), "log_probability": parse.log_probability, "found_by": parse.how})


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


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["rules"]), required=True, help="Format to write.")
@click.option(
    "--grammar",
    "number",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of the grammar, of a parser that has several.",
)
@output_option
def convert(model: str, target: str, number: int, output: str) -> None:
    """Rules of MODEL with their weights, `NP_0 -> DT_1 NN_2 0.3`, a symbol per state, the start TOP first.

    They are those of its binary trees, where @NP is a part of NP, and of the words that were learned from;
    `learn pcfg --rules` reads them. The weights of all trees of a sentence sum up to its probability.
    """
    parser = loaded(model)
    if number > len(parser.members):
        raise click.UsageError(f"--grammar {number}: the parser has {len(parser.members)}")
    write_lines(output, rule_lines(parser.members[number - 1]))
    if len(parser.members) > 1 or parser.span_scorer is not None:
        of = f"grammar {number} of {len(parser.members)}"
        tell(f"note: {of} is written; {target} has no place for what judges trees beside it")


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

"""Commands of pipelines: raw text in, CoNLL-U out."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import click
import numpy as np

from sigmastar.core.arrays import Indices
from sigmastar.core.atomic import write_lines
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import (
    json_option,
    model_argument,
    output_option,
    quiet_option,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import Say, counted, tell, watching
from sigmastar.core.resources import limited_threads
from sigmastar.core.text_files import described_file, open_text
from sigmastar.core.time_estimates import foretell
from sigmastar.dependency.data.conllu import format_conllu, read_treebank
from sigmastar.taggers.estimator import SPECTRAL_METHODS
from sigmastar.taggers.estimator.pipeline import TOKENIZERS, Pipeline
from sigmastar.taggers.model.pipeline import TextPipeline

PARAMETERS = ("tokenizer", "tagger", "arcs", "arc_epochs", "folds", "taggings")
_SHORT, _POWER = 100, 2.0  # words that are parsed at once; of these the time grows so with the length
METHODS = {"pipeline": Method(Pipeline, PARAMETERS)}
ONLY = METHODS["pipeline"]


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="TREEBANK")
@parameter("tokenizer", "--tokenizer", ONLY, type=click.Choice(TOKENIZERS), help="Way from text to words.")
@parameter("tagger", "--tagger", ONLY, type=click.Choice(SPECTRAL_METHODS), help="Method of the tagger.")
@parameter(
    "arcs", "--arcs", ONLY, type=click.Choice(["trained", "lexical"]), help="Arcs that decide the parse."
)
@parameter("arc_epochs", "--epochs", ONLY, type=click.IntRange(1), help="Passes over the trees for arcs.")
@parameter(
    "folds",
    "--folds",
    ONLY,
    type=click.IntRange(1),
    help="Parts of the treebank, each with tags by a tagger of the others for the parser; 1: given tags.",
)
@parameter(
    "taggings",
    "--taggings",
    ONLY,
    type=click.IntRange(1),
    help="Times that the treebank is cut so, at other sentences each time.",
)
@click.option(
    "--text",
    multiple=True,
    type=click.Path(),
    help="Raw text that classes of words come from, some millions of words; may be given again.",
)
@learn_options
def learn_pipeline(file: str, text: tuple[str, ...], **options: Any) -> None:
    """Learn tokenizer, tagger and parser from TREEBANK, a file in CoNLL-U; `predict` then takes raw text."""
    estimator = built(METHODS, "pipeline", {name: options.pop(name) for name in PARAMETERS})

    def work(estimator: Any, say: Say) -> Learned:
        treebank = read_treebank(file)
        estimator.fit(treebank, text=["".join(open_text(name)) for name in text] or None)
        data = {
            "files": [described_file(name) for name in (file, *text)],
            "n_sentences": len(treebank),
            "n_words": treebank.n_words,
        }
        size = f"{counted(len(treebank), 'sentence')} of {counted(treebank.n_words, 'word')}"
        return Learned(data, f"from {size}")

    learn(estimator, "pipeline", work, **options)


def _foretell(
    work: str,
    pipeline: TextPipeline,
    sentences: list[list[str]],
    run: Callable[[list[list[str]]], object],
    quiet: bool,
) -> None:
    """Tell how long work on sentences takes; those that are too long are refused before."""
    lengths = np.array([len(words) for words in sentences], dtype=np.int64)
    pipeline.parser.require_lengths(lengths)

    def on_begins(numbers: Indices, most: int) -> None:
        with limited_threads(1):
            run([sentences[number][:most] for number in numbers])

    foretell(work, lengths, on_begins, _POWER, _SHORT, quiet=quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@threads_option
@output_option
@quiet_option
def predict(model: str, file: str, threads: int | None, output: str, quiet: bool) -> None:
    """The sentences of FILE, raw text, as CoNLL-U with tags, heads and relations."""
    pipeline = load_model(model)
    with watching("parsing", quiet) as say, limited_threads(threads):
        text = "\n".join(line.rstrip("\n") for line in open_text(file))
        sentences = list(pipeline.tokenizer.sentences(text))
        _foretell("parsing", pipeline, sentences, pipeline.parse_words, quiet)
        begin = time.perf_counter()
        parsed = pipeline.parse_words(sentences, say)
        seconds = time.perf_counter() - begin
    write_lines(output, format_conllu(parsed))
    size = f"{counted(len(parsed), 'sentence')}, {counted(parsed.n_words, 'word')}"
    tell(f"{size} in {seconds:.1f} s", quiet)


@click.command()
@model_argument
@click.argument("file", metavar="TREEBANK")
@threads_option
@json_option
@quiet_option
def evaluate(model: str, file: str, threads: int | None, as_json: bool, quiet: bool) -> None:
    """How well MODEL tags and parses TREEBANK from its words alone, and parses its given tags."""
    pipeline, gold = load_model(model), read_treebank(file)

    def parse_twice(sentences: list[list[str]]) -> None:
        pipeline.parser.predict(pipeline.parse_words(sentences))

    with watching("evaluating", quiet), limited_threads(threads):
        words = [gold.form[a:b] for a, b in pairwise(gold.sentence_offsets)]
        _foretell("evaluating", pipeline, words, parse_twice, quiet)
        found, given = pipeline.parse(gold), pipeline.parser.predict(gold)
    same = found.head == gold.head
    labels = np.array([a == b for a, b in zip(found.deprel, gold.deprel, strict=True)])
    figures = {
        "n_sentences": len(gold),
        "n_words": gold.n_words,
        "upos": float(np.mean([a == b for a, b in zip(found.upos, gold.upos, strict=True)])),
        "uas": float(same.mean()),
        "las": float((same & labels).mean()),
        "uas_gold_tags": float((given.head == gold.head).mean()),
    }
    print_figures(figures, as_json)


@click.command()
@model_argument
@json_option
@output_option
def show(model: str, as_json: bool, output: str) -> None:
    """What MODEL is and how it was learned."""
    pipeline, header = load_model(model), read_header(model)
    facts: dict[str, Any] = {
        "file": model,
        "kind": header["family"],
        "tokenizer": "rules" if pipeline.tokenizer.has_rules else "blanks",
        "abbreviations": len(pipeline.tokenizer.abbreviations),
        "tags": len(pipeline.tagger.tags),
        "words": len(pipeline.tagger.lexicon.words),
        "parser": pipeline.parser.decided_by,
        "words_of_raw_text": 0 if pipeline.classes is None else len(pipeline.classes.words),
    }
    print_figures(facts | ({"learned": header["learned"]} if as_json else {}), as_json, output)

"""Commands on files of bilexical operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
import numpy as np

from sigmastar.bilexical.data.pairs import Pairs, WordPairs
from sigmastar.bilexical.data.relations import layout_of, pattern_of, read_relation
from sigmastar.bilexical.metrics import by_popularity, pairwise_accuracy
from sigmastar.bilexical.model.operator import BilexicalModel, FullWeights
from sigmastar.bilexical.model.vectors import Vectors, write_word2vec
from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.options import json_option, model_argument, output_option, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import tell, watching
from sigmastar.core.text_files import open_text

_SHOWN, _DIMENSIONS, _ENDS = 8, 3, 5

file_argument = click.argument("file", metavar="FILE")


@click.command()
@model_argument
@file_argument
@seed_option
@json_option
@quiet_option
def evaluate(model: str, file: str, seed: int, as_json: bool, quiet: bool) -> None:
    """Pairwise accuracy on heads that were not trained on: the test heads of the split, and new ones."""
    operator = _operator(model)
    with watching("evaluating", quiet):
        judged = _judged(operator, model, file)
        plain = pairwise_accuracy(operator.scores, judged)
        matched = pairwise_accuracy(operator.scores, judged, operator.popularity)
        popular = pairwise_accuracy(by_popularity(operator.popularity), judged)
    figures = {
        "n_heads": len(judged.heads),
        "n_modifiers": len(operator.modifiers),
        **with_interval("pairwise_accuracy", plain.interval(np.random.default_rng(seed))),
        "pairwise_accuracy_matched": matched.micro,
        "pairwise_accuracy_by_head": plain.by_head,
        "popularity_accuracy": popular.micro,
        "operations": operator.n_operations,
    }
    print_figures(figures, as_json)


@click.command()
@model_argument
@file_argument
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Number of modifiers.")
@output_option
@json_option
@quiet_option
def predict(model: str, file: str, top: int, output: str, as_json: bool, quiet: bool) -> None:
    """The likeliest modifiers of each head of FILE, one head per line."""
    operator = _operator(model)
    heads = [line.strip() for line in open_text(file) if line.strip()]
    write_lines(output, (_modifiers(head, operator.top(head, top), as_json) for head in heads))
    if unknown := [head for head in heads if head not in operator.vectors]:
        names = ", ".join(unknown[:3])
        tell(f"{len(unknown)} heads have no vector ({names} ..): popular modifiers are given", quiet)


def _modifiers(head: str, best: list[tuple[str, float]], as_json: bool) -> str:
    if as_json:
        rows = [{"modifier": word, "probability": value} for word, value in best]
        return to_json({"head": head, "modifiers": rows})
    return "\t".join(f"{word}\t{value:.6g}" for word, value in best)


@click.command()
@model_argument
@file_argument
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """log Pr(modifier | head) of each pair of FILE, -inf where the modifier is unknown."""
    values = _operator(model).pair_log_probabilities(_relation(model, file))
    write_lines(output, map(repr, values.tolist()))


@click.command()
@model_argument
@click.option(
    "--to",
    "target",
    type=click.Choice(["word2vec", "word2vec-heads"]),
    required=True,
    help="Format to write: the embedding of the modifiers, or of the heads, as word2vec's text.",
)
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Write embeddings for other tools; inner products of the two are the scores."""
    operator = _operator(model)
    if target == "word2vec":
        embedding = Vectors(operator.modifiers, operator.modifier_embedding())
    else:
        split = operator.split
        every = tuple(sorted({*split.train, *split.validation, *split.test}))
        embedding = Vectors(every, operator.head_embedding(every))
    with atomic_write(output) as stream:
        write_word2vec(embedding, stream)


@click.command()
@model_argument
@click.option("--html", is_flag=True, help="Page with a map of the words.")
@click.option("--pairs", metavar="FILE", help="Pairs for the capacity curve on the page.")
@output_option
@json_option
def show(model: str, html: bool, pairs: str | None, output: str, as_json: bool) -> None:
    """Sizes of an operator, and the modifiers at the ends of its first dimensions."""
    if html and as_json:
        raise click.UsageError("give one of --html and --json")
    if pairs is not None and not html:
        raise click.UsageError("--pairs is for --html")
    operator, learned = _operator(model), read_header(model)["learned"]
    if as_json:
        print_figures({**_operator_facts(operator), **_layout(model), "learned": learned}, as_json=True)
        return
    rows = _operator_rows(operator, _layout(model))
    lines = [f"{name:<12}  {value}" for name, value in rows.items()]
    if html:
        from sigmastar.bilexical.draw import operator_page

        judged = None if pairs is None else _judged(operator, model, pairs)
        lines = [operator_page(operator, rows, learned, judged).rstrip("\n")]
    write_lines(output, lines)


def _operator_facts(model: BilexicalModel) -> dict[str, Any]:
    """Numbers and lists."""
    popular = np.argsort(-model.popularity, kind="stable")[:_SHOWN]
    split, weights = model.split, model.weights
    is_full = isinstance(weights, FullWeights)
    return {
        "family": "bilexical",
        "n_modifiers": len(model.modifiers),
        "popular": [model.modifiers[m] for m in popular],
        "n_heads": {name: len(getattr(split, name)) for name in ("train", "validation", "test")},
        "vectors": {"n_words": len(model.vectors), "dimension": model.vectors.dimension},
        "rank": None if is_full else weights.rank,
        "n_weights": weights.n_weights if isinstance(weights, FullWeights) else None,
        "operations": model.n_operations,
        "dimensions": [{"high": high, "low": low} for high, low in _ends(model)],
    }


def _operator_rows(model: BilexicalModel, layout: Mapping[str, Any]) -> dict[str, str]:
    """The same for eyes."""
    facts = _operator_facts(model)
    heads = facts["n_heads"]
    size = f"rank {facts['rank']}" if facts["n_weights"] is None else f"{facts['n_weights']} weights"
    rows = {
        "family": "bilexical",
        "modifiers": f"{facts['n_modifiers']}: {' '.join(facts['popular'])} ..",
        "heads": f"{heads['train']} train, {heads['validation']} validate, {heads['test']} test",
        "vectors": f"{len(model.vectors)} words, {model.vectors.dimension} dimensions",
        "weights": f"{size}, {model.n_operations:,} operations per head",
        **{name: str(layout[name]) for name in ("relation", "given") if layout[name] is not None},
    }
    for number, (high, low) in enumerate(_ends(model), 1):
        rows[f"dimension {number}"] = f"{' '.join(high)} | {' '.join(low)}"
    return rows


def _ends(model: BilexicalModel) -> Iterator[tuple[list[str], list[str]]]:
    """The modifiers at either end of the first dimensions."""
    for column in model.modifier_embedding(min(_DIMENSIONS, model.weights.rank)).T:
        order = np.argsort(column, kind="stable")
        high, low = ([model.modifiers[m] for m in part] for part in (order[-_ENDS:][::-1], order[:_ENDS]))
        yield high, low


def _judged(operator: BilexicalModel, model: str, file: str) -> Pairs:
    """The pairs of a file whose heads were not trained on."""
    pairs = Pairs.of(_relation(model, file), operator.modifiers)
    seen = {*operator.split.train, *operator.split.validation}
    judged = pairs.select(head for head in pairs.heads if head not in seen and head in operator.vectors)
    if judged.heads:
        return judged
    raise InputError("every head was trained on or has no vector; give pairs with other heads", file=file)


def _relation(model: str, file: str) -> WordPairs:
    """The pairs of a file, read as those that the model was learned from."""
    layout = _layout(model)
    return read_relation([file], pattern_of(layout), layout["given"])


def _layout(model: str) -> dict[str, Any]:
    return layout_of(read_header(model)["learned"])


def _operator(path: str) -> BilexicalModel:
    model: BilexicalModel = load_model(path, "bilexical")
    return model

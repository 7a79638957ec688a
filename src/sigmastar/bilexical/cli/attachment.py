"""Commands on files of attachment models."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.core.arrays import Flags
from sigmastar.core.atomic import write_lines
from sigmastar.core.cli.options import json_option, model_argument, output_option, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.intervals import bootstrap, mcnemar
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import watching

PREPOSITIONS = ("for", "from", "with")

file_argument = click.argument("file", metavar="FILE")


@click.command()
@model_argument
@file_argument
@seed_option
@json_option
@quiet_option
def evaluate(model: str, file: str, seed: int, as_json: bool, quiet: bool) -> None:
    """The share of right answers of the pool, and of each judge alone."""
    attachment = _attachment(model)
    with watching("evaluating", quiet):
        items = read_quadruples(file)
        right = (attachment.log_odds(items) > 0) == items.to_noun
        alone = {name: (odds > 0) == items.to_noun for name, odds in attachment.judgements(items).items()}
    figures = {
        "n_items": len(items),
        **with_interval("accuracy", bootstrap(right.astype(float), np.random.default_rng(seed))),
        **{f"accuracy_{name}": float(values.mean()) for name, values in alone.items()},
        "p_value_against_linear": mcnemar(alone["linear"], right).p_value,
        **_by_preposition(items, right),
    }
    print_figures(figures, as_json)


def _by_preposition(items: Quadruples, right: Flags) -> dict[str, float]:
    """For the three prepositions of the paper, where they occur."""
    words = np.array([word.lower() for word in items.preposition])
    return {f"accuracy_of_{w}": float(right[words == w].mean()) for w in PREPOSITIONS if (words == w).any()}


@click.command()
@model_argument
@file_argument
@output_option
@json_option
@quiet_option
def predict(model: str, file: str, output: str, as_json: bool, quiet: bool) -> None:
    """V or N for each quadruple of FILE, with its probability."""
    items = read_quadruples(file, need_labels=False)
    noun = _attachment(model).probabilities(items).tolist()
    rows = [("N", value) if value > 0.5 else ("V", 1.0 - value) for value in noun]
    as_text = (f"{label}\t{value:.6g}" for label, value in rows)
    objects = (to_json({"attachment": label, "probability": value}) for label, value in rows)
    write_lines(output, objects if as_json else as_text)


@click.command()
@model_argument
@file_argument
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """log Pr(answer | quadruple) of each line of FILE."""
    values = _attachment(model).label_log_probabilities(read_quadruples(file))
    write_lines(output, map(repr, values.tolist()))


@click.command()
@model_argument
@output_option
@json_option
def show(model: str, output: str, as_json: bool) -> None:
    """Sizes of an attachment model, and the votes of its judges."""
    attachment, learned = _attachment(model), read_header(model)["learned"]
    facts: dict[str, Any] = {
        "family": "attachment",
        "n_features": len(attachment.features.places),
        "n_prepositions": len(attachment.prepositions),
        "bilinear": list(attachment.bilinear),
        "vectors": {"n_words": len(attachment.vectors), "dimension": attachment.vectors.dimension},
        "votes": attachment.pool,
        "pooling": attachment.pooling,
    }
    if as_json:
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    rows = {
        "family": "attachment",
        "features": facts["n_features"],
        "prepositions": f"{facts['n_prepositions']}, {len(facts['bilinear'])} with matrices of their own",
        "vectors": f"{len(attachment.vectors)} words, {attachment.vectors.dimension} dimensions",
        "votes": ", ".join(f"{name} {weight:.3f}" for name, weight in attachment.pool.items()),
        "pooling": attachment.pooling,
    }
    write_lines(output, (f"{name:<12}  {value}" for name, value in rows.items()))


def _attachment(path: str) -> AttachmentModel:
    model: AttachmentModel = load_model(path, "attachment")
    return model

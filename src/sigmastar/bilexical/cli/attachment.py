"""What the commands do with attachment models: quadruples in, V or N out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from sigmastar.bilexical.data.quadruple_files import read_quadruples
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.cli.progress import watching
from sigmastar.core.intervals import bootstrap, mcnemar
from sigmastar.core.model_files import load_model, read_header

Parameters = Mapping[str, Any]

PREPOSITIONS = ("for", "from", "with")


def evaluate(parameters: Parameters) -> None:
    """The share of right answers of the pool, and of each judge alone."""
    if parameters["file"] is None:
        raise click.UsageError("give quadruples to measure on")
    model = _model(parameters)
    with watching("evaluating", parameters["quiet"]):
        items = read_quadruples(parameters["file"])
        right = (model.log_odds(items) > 0) == items.to_noun
        alone = {name: (odds > 0) == items.to_noun for name, odds in model.judgements(items).items()}
    sure = bootstrap(right.astype(float), np.random.default_rng(parameters["seed"]))
    figures = {
        "n_items": len(items),
        "accuracy": sure.value,
        "accuracy_low": sure.low,
        "accuracy_high": sure.high,
    }
    figures |= {f"accuracy_{name}": float(values.mean()) for name, values in alone.items()}
    figures["p_value_against_linear"] = mcnemar(alone["linear"], right).p_value
    figures |= _by_preposition(items, right)
    print_figures(figures, parameters["as_json"])


def _by_preposition(items: Quadruples, right: NDArray[np.bool_]) -> dict[str, float]:
    """For the three that the paper looks at, where they occur."""
    words = np.array([word.lower() for word in items.preposition])
    return {f"accuracy_of_{w}": float(right[words == w].mean()) for w in PREPOSITIONS if (words == w).any()}


def predict(parameters: Parameters) -> None:
    """V or N for each quadruple, with its probability."""
    model = _model(parameters)
    items = read_quadruples(parameters["file"], need_labels=False)
    noun = model.probabilities(items).tolist()
    rows = [("N", value) if value > 0.5 else ("V", 1.0 - value) for value in noun]
    with atomic_write(parameters["output"]) as stream:
        for label, value in rows:
            line = {"attachment": label, "probability": value}
            stream.write((to_json(line) if parameters["as_json"] else f"{label}\t{value:.6g}") + "\n")


def score(parameters: Parameters) -> None:
    """log Pr(answer | quadruple), one a line."""
    model, items = _model(parameters), read_quadruples(parameters["file"])
    odds = model.log_odds(items)
    logs = -np.logaddexp(0.0, np.where(items.to_noun, -odds, odds))
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs.tolist())


def show(parameters: Parameters) -> None:
    """What the model is."""
    if parameters["dot"] or parameters["html"]:
        raise click.UsageError("an attachment model has no graph; show it as text or --json")
    model, learned = _model(parameters), read_header(parameters["model"])["learned"]
    facts = {
        "family": "attachment",
        "features": len(model.features.places),
        "prepositions": f"{len(model.prepositions)}, {len(model.bilinear)} with matrices of their own",
        "vectors": f"{len(model.vectors)} words, {model.vectors.dimension} dimensions",
        "votes": ", ".join(f"{name} {weight:.3f}" for name, weight in model.pool.items()),
    }
    if parameters["as_json"]:
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in facts.items())


def _model(parameters: Parameters) -> AttachmentModel:
    model: AttachmentModel = load_model(parameters["model"], "attachment")
    return model

"""What the commands do with bilexical models: pairs in; modifiers, probabilities and accuracies out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import click
import numpy as np

from sigmastar.bilexical.cli.inputs import read_relation
from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.learn.bilexical import popularity_scores
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.bilexical import BilexicalModel, FullWeights
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.bilexical.model.word2vec import write_word2vec
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.text_files import open_text

Parameters = Mapping[str, Any]
_SHOWN = 8


def evaluate(parameters: Parameters) -> None:
    """Pairwise accuracy on heads that were not trained on: the test heads of the split, and new ones."""
    if parameters["file"] is None:
        raise click.UsageError("give pairs to measure on")
    model = _model(parameters)
    with watching("evaluating", parameters["quiet"]):
        judged = _judged(model, parameters, parameters["file"])
        plain = pairwise_accuracy(model.scores, judged)
        matched = pairwise_accuracy(model.scores, judged, model.popularity)
        train = Pairs((), model.modifiers, judged.counts[:0])
        train.__dict__["popularity"] = model.popularity
        popular = pairwise_accuracy(partial(popularity_scores, train), judged)
    sure = plain.interval(np.random.default_rng(parameters["seed"]))
    figures = {
        "n_heads": len(judged.heads),
        "n_modifiers": len(model.modifiers),
        "pairwise_accuracy": sure.value,
        "pairwise_accuracy_low": sure.low,
        "pairwise_accuracy_high": sure.high,
        "pairwise_accuracy_matched": matched.micro,
        "pairwise_accuracy_by_head": plain.by_head,
        "popularity_accuracy": popular.micro,
        "operations": model.n_operations,
    }
    print_figures(figures, parameters["as_json"])


def predict(parameters: Parameters) -> None:
    """The likeliest modifiers of each head, one head a line."""
    model = _model(parameters)
    heads = [line.strip() for line in open_text(parameters["file"]) if line.strip()]
    unknown = [head for head in heads if head not in model.vectors]
    with atomic_write(parameters["output"]) as stream:
        for head in heads:
            best = model.top(head, parameters["top"])
            stream.write((_in_json(head, best) if parameters["as_json"] else _in_text(best)) + "\n")
    if unknown:
        names = ", ".join(unknown[:3])
        tell(
            f"{len(unknown)} heads have no vector ({names} ..): popular modifiers are given",
            parameters["quiet"],
        )


def score(parameters: Parameters) -> None:
    """log Pr(modifier | head) of each pair, -inf where the modifier is unknown."""
    model, settings = _model(parameters), _settings(parameters)
    pairs = read_relation([parameters["file"]], settings)
    place = {word: column for column, word in enumerate(model.modifiers)}
    heads = sorted({head for head, _ in pairs})
    row = {head: number for number, head in enumerate(heads)}
    logs = model.log_probabilities(heads)
    values = [logs[row[h], place[m]] if m in place else -np.inf for h, m in pairs]
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{float(value)!r}\n" for value in values)


def convert(parameters: Parameters) -> None:
    """The embedding of the modifiers, or of the heads with vectors, in word2vec's text format."""
    if parameters["target"] not in ("word2vec", "word2vec-heads"):
        raise click.UsageError("a bilexical model is written --to word2vec (its modifiers) or word2vec-heads")
    model = _model(parameters)
    if parameters["target"] == "word2vec":
        found = Vectors(model.modifiers, model.modifier_embedding())
    else:
        every = sorted({*model.split.train, *model.split.validation, *model.split.test})
        found = Vectors(tuple(every), model.head_embedding(every))
    with atomic_write(parameters["output"]) as stream:
        write_word2vec(found, stream)


def show(parameters: Parameters) -> None:
    """What the model is, and what its first dimensions tell apart; --html adds pictures."""
    if parameters["dot"] or parameters["svg"]:
        raise click.UsageError("a bilexical model has no graph; show it as text, --html or --json")
    model, learned = _model(parameters), read_header(parameters["model"])["learned"]
    facts: dict[str, Any] = {
        "family": "bilexical",
        "modifiers": f"{len(model.modifiers)}: {' '.join(_popular(model))} ..",
        "heads": f"{len(model.split.train)} train, {len(model.split.validation)} validate, "
        f"{len(model.split.test)} test",
        "vectors": f"{len(model.vectors)} words, {model.vectors.dimension} dimensions",
        "weights": _size(model),
        "relation": (learned.get("settings") or {}).get("relation"),
        "given": (learned.get("settings") or {}).get("given"),
        "seconds": learned.get("seconds"),
    }
    facts |= {f"dimension {d + 1}": text for d, text in enumerate(_dimensions(model))}
    facts = {name: value for name, value in facts.items() if value is not None}
    if parameters["as_json"]:
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    judged = _judged(model, parameters, parameters["pairs"]) if parameters["pairs"] else None
    with atomic_write(parameters["output"]) as stream:
        if parameters["html"]:
            from sigmastar.bilexical.cli.page import bilexical_page

            stream.write(bilexical_page(model, facts, learned, judged))
        else:
            stream.writelines(f"{name:<12}  {value}\n" for name, value in facts.items())


def _judged(model: BilexicalModel, parameters: Parameters, file: str) -> Pairs:
    """The pairs of a file whose heads were not trained on."""
    pairs = Pairs.of(read_relation([file], _settings(parameters)), model.modifiers)
    seen = {*model.split.train, *model.split.validation}
    judged = pairs.select(head for head in pairs.heads if head not in seen and head in model.vectors)
    if judged.heads:
        return judged
    raise InputError("every head was trained on or has no vector; give pairs with other heads", file=file)


def _dimensions(model: BilexicalModel) -> Iterable[str]:
    """The modifiers at either end of the first dimensions."""
    rows = model.modifier_embedding(min(3, model.weights.rank))
    for column in rows.T:
        order = np.argsort(column, kind="stable")
        low, high = ([model.modifiers[m] for m in part] for part in (order[:5], order[-5:][::-1]))
        yield f"{' '.join(high)} | {' '.join(low)}"


def _size(model: BilexicalModel) -> str:
    if isinstance(model.weights, FullWeights):
        return f"{model.weights.n_weights} weights, {model.n_operations:,} operations a head"
    return f"rank {model.weights.rank}, {model.n_operations:,} operations a head"


def _popular(model: BilexicalModel) -> list[str]:
    return [model.modifiers[m] for m in np.argsort(-model.popularity, kind="stable")[:_SHOWN]]


def _settings(parameters: Parameters) -> dict[str, Any]:
    """How the model's own pairs were made: a treebank is read the same way."""
    learned = read_header(parameters["model"])["learned"]
    known = learned.get("settings") if isinstance(learned, Mapping) else None
    names = {"relation": None, "head_tag": None, "modifier_tag": None, "given": "head"}
    return {name: (known or {}).get(name, default) for name, default in names.items()}


def _model(parameters: Parameters) -> BilexicalModel:
    model: BilexicalModel = load_model(parameters["model"], "bilexical")
    return model


def _in_text(best: list[tuple[str, float]]) -> str:
    return "\t".join(f"{word}\t{value:.6g}" for word, value in best)


def _in_json(head: str, best: list[tuple[str, float]]) -> str:
    rows = [{"modifier": word, "probability": value} for word, value in best]
    return to_json({"head": head, "modifiers": rows})

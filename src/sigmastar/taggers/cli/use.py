"""What the commands do with taggers: tagged text in, tagged text out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.dependency.cli.use import _with_interval
from sigmastar.taggers.data.columns import FORMATS, TaggedFile, TaggedLayout, format_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.metrics import tagging_scores
from sigmastar.taggers.model.tagger import Tagger
from sigmastar.taggers.model.weighted_tagger import WeightedTagger

Parameters = Mapping[str, Any]


def evaluate(parameters: Parameters) -> None:
    """Accuracy on all words and on unknown ones; the F1 of chunks where tags are B-X, I-X, O."""
    if parameters["file"] is None:
        raise click.UsageError("give tagged sentences to measure on")
    tagger = _tagger(parameters)
    with watching("tagging", parameters["quiet"]):
        gold = _read(parameters, need_labels=True).sentences
        found = tagger.predict(gold)
        scores = tagging_scores(gold, found, tagger.lexicon.word_codes, np.random.default_rng(0))
        bad = nonpositive(tagger, gold)
    figures: dict[str, Any] = {
        "n_sentences": len(gold), "n_words": scores.n_words, "n_unknown": scores.n_unknown
    }  # fmt: skip
    figures |= _with_interval("accuracy", scores.accuracy)
    figures |= _with_interval("unknown_accuracy", scores.unknown_accuracy)
    if scores.chunk_f1 is not None:
        figures |= _with_interval("chunk_f1", scores.chunk_f1)
    if bad is not None:
        figures["n_nonpositive"] = bad
        _warn(bad, len(gold), parameters["quiet"])
    print_figures(figures, parameters["as_json"])


def predict(parameters: Parameters) -> None:
    """The file with the tags found; with --json an object a sentence, with the probability of each tag."""
    tagger, output = _tagger(parameters), parameters["output"]
    with watching("tagging", parameters["quiet"]):
        file = _read(parameters, need_labels=False)
        lines = (
            [to_json(row) for row in _in_json(tagger, file.sentences, parameters.get("top") or 5)]
            if parameters["as_json"]
            else list(file.lines(tagger.predict(file.sentences)))
        )
        bad = nonpositive(tagger, file.sentences)
    with atomic_write(output) as stream:
        stream.writelines(f"{line}\n" for line in lines)
    if bad is not None:
        _warn(bad, len(file.sentences), parameters["quiet"])


def score(parameters: Parameters) -> None:
    """log P(tags | words), a line a sentence."""
    tagger = _tagger(parameters)
    with watching("scoring", parameters["quiet"]):
        logs = tagger.log_probability(_read(parameters, need_labels=True).sentences).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def show(parameters: Parameters) -> None:
    """What a tagger is."""
    if parameters["dot"] or parameters["html"]:
        raise click.UsageError("--dot and --html are for models of strings")
    tagger, header = _tagger(parameters), read_header(parameters["model"])
    learned, tags = header["learned"], tagger.tags
    facts = {
        "file": parameters["model"],
        "family": "tagger",
        "tags": f"{len(tags)}: {' '.join(tags[:20])}{' ..' if len(tags) > 20 else ''}",
        "observed": ", ".join(learned.get("layout", {}).get("observed", ())),
        "words": f"{len(tagger.lexicon.words)} known, in {len(tagger.lexicon.classes)} classes",
        "members": ", ".join(
            f"{_described(m)} (weight {w:g})" for m, w in zip(tagger.members, tagger.weights, strict=True)
        ),
        "decoding": tagger.decoding,
        "method": str(learned.get("method", "")),
        "seconds": str(learned.get("seconds", "")),
    }
    said = {name: value for name, value in facts.items() if value}
    if parameters["as_json"]:
        print_figures({**said, "learned": learned}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in said.items())


def nonpositive(tagger: Tagger, sentences: TaggedSentences) -> int | None:
    """Sentences whose normaliser is not positive, of taggers with signed operators; None for others."""
    signed = [member for member in tagger.members if isinstance(member, WeightedTagger)]
    if not signed:
        return None
    lattice = tagger.lexicon.lattice(sentences)
    logs = [member.raw_marginals(tagger.lexicon, sentences, lattice).logs for member in signed]
    return int(np.isnan(logs).any(axis=0).sum())


def _warn(bad: int, n_sentences: int, quiet: bool) -> None:
    if bad:
        tell(
            f"{bad} of {n_sentences} sentences have a non-positive normaliser: tags that words alone give "
            "stand in; --method refined has none",
            quiet,
        )


def _in_json(tagger: Tagger, sentences: TaggedSentences, n_best: int) -> list[dict[str, Any]]:
    tables = np.split(tagger.predict_proba(sentences), sentences.offsets[1:-1])
    tags = sentences.cut(tagger.predict(sentences))
    ranked = tagger.predict_nbest(sentences, n_best)
    return [
        {
            "words": words,
            "tags": found,
            "probabilities": [
                {
                    tagger.tags[code]: round(float(row[code]), 6)
                    for code in np.argsort(-row)[:3]
                    if row[code] > 0
                }
                for row in table
            ],
            "best": [{"tags": names, "value": value} for names, value in best],
        }
        for words, found, table, best in zip(
            sentences.cut(sentences.words), tags, tables, ranked, strict=True
        )
    ]


def _described(member: object) -> str:
    if isinstance(member, WeightedTagger):
        return f"operators of {member.n_states} states, {len(member.pairs)} of word and tag"
    n_states = getattr(member, "n_states", None)
    if n_states is not None:
        return f"refined tags of {n_states} states"
    left = getattr(member, "left", np.zeros((0, 0)))
    return f"features {len(getattr(member, 'weights', ()))}, Hankel block of rank {left.shape[1]}"


def _read(parameters: Parameters, need_labels: bool) -> TaggedFile:
    learned = read_header(parameters["model"])["learned"]
    said = learned.get("layout") if isinstance(learned, dict) else None
    known = said if isinstance(said, dict) else {}
    chosen = parameters.get("file_format") or known.get("format")
    if chosen is not None and chosen not in FORMATS:
        raise click.UsageError(f"taggers read {' and '.join(FORMATS)}")
    observed = tuple(known.get("observed", ()))
    layout = TaggedLayout(chosen or format_of(parameters["file"]), known.get("label"), observed)
    file = layout.read(parameters["file"], need_labels)
    if not file.sentences.n_words:
        raise InputError("there are no words in the file", file=parameters["file"])
    return file


def _tagger(parameters: Parameters) -> Tagger:
    tagger: Tagger = load_model(parameters["model"], "tagger")
    return tagger

"""What is done with taggers: `evaluate`, `predict`, `score`, `show`, `convert`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.options import json_option, model_argument, output_option, quiet_option
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import tell, watching
from sigmastar.core.text_files import hold
from sigmastar.core.time_estimates import foretell
from sigmastar.taggers.data.columns import FORMATS, TaggedFile, TaggedLayout, format_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.metrics import n_nonpositive, tagging_scores
from sigmastar.taggers.model.feature_chain import MarginTags
from sigmastar.taggers.model.max_margin import HankelTags
from sigmastar.taggers.model.refined import RefinedTags, write_att
from sigmastar.taggers.model.tagger import Tagger, TagModel
from sigmastar.taggers.model.weighted_tagger import WeightedTagger

N_BEST = 5

format_option = click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="Format of the data  [default: the model's]",
)


def _foretell(
    work: str, sentences: TaggedSentences, run: Callable[[TaggedSentences], object], quiet: bool
) -> None:
    """Tell how long work on sentences takes: as long as they are."""
    longest = int(sentences.lengths.max(initial=0))
    foretell(work, sentences.lengths, lambda at, _: run(sentences.select(at)), 1.0, longest, quiet=quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@format_option
@json_option
@quiet_option
def evaluate(model: str, file: str, file_format: str | None, as_json: bool, quiet: bool) -> None:
    """Accuracy of MODEL on the tagged FILE, on all words and on unknown ones, with 95% intervals.

    Where tags are B-X, I-X and O, the F1 of chunks too.
    """
    tagger = _tagger(model)
    with watching("tagging", quiet):
        gold = _read(model, file, file_format, need_labels=True).sentences
        _foretell("tagging", gold, tagger.predict, quiet)
        found = tagger.predict(gold)
        scores = tagging_scores(gold, found, tagger.lexicon.word_codes, np.random.default_rng(0))
        bad = n_nonpositive(tagger, gold)
    figures: dict[str, Any] = {
        "n_sentences": len(gold),
        "n_words": scores.n_words,
        "n_unknown": scores.n_unknown,
        **with_interval("accuracy", scores.accuracy),
    }
    if as_json or scores.unknown_accuracy is not None:
        figures |= with_interval("unknown_accuracy", scores.unknown_accuracy)
    if scores.chunk_f1 is not None:
        figures |= with_interval("chunk_f1", scores.chunk_f1)
    if bad is not None:
        figures["n_nonpositive"] = bad
        _warn(bad, len(gold), quiet)
    print_figures(figures, as_json)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option(
    "--top",
    type=click.IntRange(1),
    help=f"Number of best sequences per sentence, with --json  [default: {N_BEST}]",
)
@format_option
@json_option
@output_option
@quiet_option
def predict(
    model: str, file: str, top: int | None, file_format: str | None, as_json: bool, output: str, quiet: bool
) -> None:
    """FILE with the tags that MODEL finds: in their column of CoNLL-U, or as one more column.

    Bare sentences will do too, one per line, words with blanks between, where they cannot be taken for
    columns; --format sentences says so.

    With --json one object per sentence, with the probabilities of tags and the best sequences.
    """
    if top is not None and not as_json:
        raise click.UsageError("--top is for --json, which has the best sequences; tags alone have one")
    tagger = _tagger(model)
    with watching("tagging", quiet):
        text = _read(model, file, file_format, need_labels=False, quiet=quiet)
        n_best = top or N_BEST
        run = (lambda some: _in_json(tagger, some, n_best)) if as_json else tagger.predict
        _foretell("tagging", text.sentences, run, quiet)
        lines = (
            [to_json(row) for row in _in_json(tagger, text.sentences, n_best)]
            if as_json
            else list(text.lines(tagger.predict(text.sentences)))
        )
        bad = n_nonpositive(tagger, text.sentences)
    write_lines(output, lines)
    _warn(bad or 0, len(text.sentences), quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@format_option
@output_option
@quiet_option
def score(model: str, file: str, file_format: str | None, output: str, quiet: bool) -> None:
    """log P(tags | words) of each sentence of the tagged FILE, one per line."""
    tagger = _tagger(model)
    with watching("scoring", quiet):
        sentences = _read(model, file, file_format, need_labels=True).sentences
        _foretell("scoring", sentences, tagger.log_probability, quiet)
        logs = tagger.log_probability(sentences)
    write_lines(output, map(repr, logs.tolist()))


@click.command()
@model_argument
@click.option("--weights", is_flag=True, help="Features and pairs of tags with their weights, largest first.")
@json_option
@output_option
def show(model: str, weights: bool, as_json: bool, output: str) -> None:
    """What MODEL is, and how it was learned.

    With --weights lines of feature, tag and weight; of neighbouring tags, the first stands as `tag[-1]`.
    """
    if weights and as_json:
        raise click.UsageError("give one of --weights and --json")
    if weights:
        write_lines(output, _weights(_tagger(model)))
        return
    tagger, learned = _tagger(model), read_header(model)["learned"]
    members = [_described(*pair) for pair in zip(tagger.members, tagger.weights, strict=True)]
    facts: dict[str, Any] = {
        "file": model,
        "family": "tagger",
        "tags": list(tagger.tags),
        "observed": list(learned.get("layout", {}).get("observed", ())),
        "n_words": len(tagger.lexicon.words),
        "n_classes": len(tagger.lexicon.classes),
        "members": [facts for _, facts in members],
        "decoding": tagger.decoding,
    }
    if as_json:
        print_figures({**facts, "learned": learned}, as_json, output)
        return
    shown = {
        **{name: facts[name] for name in ("file", "family", "decoding")},
        "tags": f"{len(tagger.tags)}: {' '.join(tagger.tags[:20])}{' ..' if len(tagger.tags) > 20 else ''}",
        "observed": ", ".join(facts["observed"]),
        "words": f"{facts['n_words']} known, in {facts['n_classes']} classes",
        "members": ", ".join(text for text, _ in members),
        "method": learned.get("method", ""),
    }
    print_figures({name: value for name, value in shown.items() if value}, as_json, output)


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["att"]), required=True, help="Format of the tagger.")
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Write MODEL as AT&T text, a transducer from words to tags for OpenFst: from, to, word, tag, cost.

    Taggers of hidden states alone are such machines: those by bigram, trigram and em. Words are those that
    were learned from, and sums over paths are P(words, tags) as the tagger has them.
    """
    tagger = _tagger(model)
    only = tagger.members[0]
    if len(tagger.members) > 1 or not isinstance(only, RefinedTags):
        raise InputError(
            "features, products of models and signed operators are no transducer; learn one by --method "
            "bigram, trigram or em, or take the arrays, --to npz, or the features, show --weights",
            file=model,
        )
    with atomic_write(output) as stream:
        write_att(only, tagger.lexicon, stream)


def _weights(tagger: Tagger) -> list[str]:
    pairs = {(f"tag[-1]={a}", b): value for (a, b), value in tagger.transition_features().items()}
    rows = sorted({**tagger.state_features(), **pairs}.items(), key=lambda row: (-abs(row[1]), row[0]))
    return [f"{name}\t{tag}\t{value:.6g}" for (name, tag), value in rows]


def _described(member: TagModel, weight: float) -> tuple[str, dict[str, Any]]:
    """A member in words, and in figures."""
    figures: dict[str, Any]
    if isinstance(member, WeightedTagger):
        kind, figures = "operators", {"n_states": member.n_states, "n_pairs": len(member.pairs)}
        text = f"operators of {member.n_states} states, {len(member.pairs)} of word and tag"
    elif isinstance(member, RefinedTags):
        kind, figures = "refined", {"n_states": member.n_states}
        text = f"refined tags of {member.n_states} states"
    elif isinstance(member, HankelTags):
        kind, figures = "hankel-margin", {"shape": [len(member.left), len(member.right)]}
        figures["rank"] = member.left.shape[1]
        text = f"Hankel block of {len(member.left)} x {len(member.right)} bistrings, rank {figures['rank']}"
    else:
        assert isinstance(member, MarginTags)
        kind, figures = "chain", {"n_features": len(member.weights), "rank": member.left.shape[1]}
        text = f"chain of {len(member.weights)} features, block of rank {member.left.shape[1]}"
    return f"{text} (weight {weight:g})", {"kind": kind, "weight": weight, **figures}


def _warn(bad: int, n_sentences: int, quiet: bool) -> None:
    if bad:
        tell(
            f"{bad} of {n_sentences} sentences have a non-positive normalizer: tags that words alone give "
            "stand in; --method refined has none",
            quiet,
        )


def _in_json(tagger: Tagger, sentences: TaggedSentences, n_best: int) -> list[dict[str, Any]]:
    rows = zip(
        sentences.cut(sentences.words),
        sentences.cut(tagger.predict(sentences)),
        np.split(tagger.predict_proba(sentences), sentences.offsets[1:-1]),
        tagger.predict_nbest(sentences, n_best),
        strict=True,
    )
    return [
        {
            "words": words,
            "tags": found,
            "probabilities": [
                {tagger.tags[k]: round(float(row[k]), 6) for k in np.argsort(-row)[:3] if row[k] > 0}
                for row in table
            ],
            "best": [{"tags": names, "probability": share} for names, share in best],
        }
        for words, found, table, best in rows
    ]


def _is_raw(content: bytes, known: Mapping[str, Any]) -> bool:
    """Whether a file can be no other than raw text: it has no tabs, and columns would end somewhere."""
    if b"\t" in content:
        return False
    if known.get("format") == "conllu":
        return True
    if known.get("format") != "columns" or known.get("label") or known.get("observed") or known.get("own"):
        return False
    lines = content.strip().splitlines()
    return all(line.strip() for line in lines) and any(len(line.split()) > 2 for line in lines)


def _read(
    model: str, file: str, file_format: str | None, need_labels: bool, quiet: bool = False
) -> TaggedFile:
    """The file, in the layout that the model was learned from unless another format is asked for."""
    known = read_header(model)["learned"].get("layout", {})
    own = known.get("format")
    guess = file_format is None and own == "columns"
    mistaken = f"{file} looks like CoNLL-U, the model reads columns; choose one with --format"
    if guess and format_of(file) == "conllu":
        raise click.UsageError(mistaken)
    chosen, content = file_format or own or format_of(file), hold(file)
    if file_format is None and not need_labels and _is_raw(content.content, known):
        chosen = "sentences"
        tell(f"note: {file} is read as one sentence per line; --format {own} reads one word per line", quiet)
    layout = TaggedLayout(chosen, None, ())
    if chosen == own:
        layout = TaggedLayout(chosen, known.get("label"), tuple(known.get("observed", ())), known.get("own"))
    found = layout.read(content, need_labels)
    if guess and found.is_numbered:
        raise click.UsageError(mistaken)
    if not found.sentences.n_words:
        raise InputError("there are no words in the file", file=file)
    return found


def _tagger(model: str) -> Tagger:
    tagger: Tagger = load_model(model, "tagger")
    return tagger

"""`sigmastar corpus`: corpora on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import write_lines
from sigmastar.core.cli.options import json_option, output_option, quiet_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.engines import engine_of
from sigmastar.core.progress import tell, watching
from sigmastar.core.resources import parsed_size, written_size
from sigmastar.corpus.build import BuildSettings, build_corpus
from sigmastar.corpus.ngrams import NgramCounts, count_ngrams, spelled
from sigmastar.corpus.reading import StringCorpus
from sigmastar.corpus.sources import FORMATS

_USUAL = BuildSettings()
_AT_ONCE = 1 << 14  # n-grams
workers_option = click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Number of processes on this machine  [default: 1]"
)
scheduler_option = click.option(
    "--scheduler",
    "client",
    metavar="ADDRESS",
    help="Scheduler of a Dask cluster that sees the same files, such as tcp://host:8786.",
)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="DIR", help="Folder to make.")
@click.option("--characters", is_flag=True, help="One symbol per character  [default: words between blanks]")
@click.option(
    "--min-count", type=click.IntRange(1), default=1, show_default=True, help="Least count of a known word."
)
@click.option(
    "--max-words", type=click.IntRange(1), metavar="N", help="Size of the vocabulary at most  [default: any]"
)
@click.option(
    "--unknown", default=_USUAL.unknown, show_default=True, metavar="WORD", help="Class of all other words."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="Format of the files  [default: by their names, or lines]",
)
@click.option(
    "--field", metavar="NAME", help="Field of JSONL, or column of Parquet, with the text  [default: text]"
)
@workers_option
@scheduler_option
@json_option
@quiet_option
def build(files: tuple[str, ...], output: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Make a corpus from FILE... in the folder DIR: shards of integers, and a vocabulary by frequency.

    Text, gzip, zstandard, JSONL and Parquet are read, and standard input (-). A line, or a record, is a
    string. A build that was stopped goes on where it was when the same command is run again.
    """
    if files.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only")
    if not options["unknown"] or len(options["unknown"].split()) != 1:
        raise click.UsageError("--unknown is one word without blanks")
    settings = BuildSettings(
        options["characters"],
        options["min_count"],
        options["max_words"],
        options["unknown"],
        options["file_format"],
        options["field"],
    )
    with watching("reading", quiet) as say:
        corpus = build_corpus(files, output, settings, options["workers"], options["client"], say)
    if as_json:
        print_figures(_figures(corpus), as_json)
    found = corpus.manifest.found
    lost = f", {found['n_unknown_tokens']} tokens unknown" if found["n_unknown_words"] else ""
    if found["n_pruned_words"]:
        lost += f" ({found['n_pruned_tokens']} of them of words that were too many to count)"
    tell(f"{output}: {_sizes(corpus)}{lost}", quiet)


def _sizes(corpus: StringCorpus) -> str:
    shards = f"{corpus.n_shards} shard{'s' if corpus.n_shards > 1 else ''}"
    return f"{len(corpus)} strings, {corpus.n_symbols} tokens, {corpus.manifest.n_words} words, {shards}"


def _figures(corpus: StringCorpus) -> dict[str, Any]:
    manifest = corpus.manifest
    files = [file for file in corpus.folder.iterdir() if file.is_file()]
    return {
        "strings": len(corpus),
        "tokens": corpus.n_symbols,
        "words": manifest.n_words,
        "shards": corpus.n_shards,
        "bytes per token": {"<u2": 2, "<i4": 4}[manifest.token_type],
        "size on disk": written_size(sum(file.stat().st_size for file in files)),
        "unknown words": manifest.found["n_unknown_words"],
        "unknown tokens": manifest.found["n_unknown_tokens"],
        "minimum count": manifest.settings["min_count"],
        "symbols": "characters" if manifest.settings["characters"] else "words between blanks",
        "sources": ", ".join(source["name"] for source in manifest.sources),
        "sha256": manifest.digest,
    }


_folder = click.argument("folder", metavar="DIR")


@click.command()
@_folder
@click.option(
    "--top", type=click.IntRange(0), default=0, metavar="N", help="Number of frequent words to list."
)
@json_option
def info(folder: str, top: int, as_json: bool) -> None:
    """What the corpus DIR holds."""
    corpus = StringCorpus.open(folder)
    figures = _figures(corpus)
    if top:
        words = [pair for pair, _ in zip(corpus.vocabulary(), range(top), strict=False)]
        figures["frequent words"] = dict(words) if as_json else " ".join(f"{w}:{n}" for w, n in words)
    print_figures(figures, as_json)


@click.command()
@_folder
@quiet_option
def check(folder: str, quiet: bool) -> None:
    """Read all files of the corpus DIR and hold them against their checksums; exit 1 where one is damaged."""
    corpus = StringCorpus.open(folder)
    problems = list(corpus.problems())
    for problem in problems[1:]:
        tell(f"sigmastar: {problem}")
    if problems:
        raise problems[0]
    tell(f"{folder}: sound, {_sizes(corpus)}", quiet)


@click.command()
@_folder
@click.option(
    "--order", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Length of n-grams."
)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Number of n-grams to list  [default: all]")
@click.option(
    "--memory",
    type=parsed_size,
    default="1G",
    show_default=True,
    metavar="SIZE",
    help="Room for the table of counts; the rarest n-grams are pruned beyond it.",
)
@workers_option
@scheduler_option
@output_option
@quiet_option
def count(
    folder: str, order: int, top: int | None, memory: int, output: str, quiet: bool, **engine: Any
) -> None:
    """The n-grams of the corpus DIR with their counts, the most frequent first."""
    corpus = StringCorpus.open(folder)
    with watching("counting", quiet) as say, closing(engine_of(**engine)) as where:
        found = count_ngrams(corpus, order, where, memory, say)
    write_lines(output, listed(corpus, found, order, top))
    if found.lost[0]:
        share = found.lost[1] / max(found.lost[1] + found.counts.sum(dtype=np.int64), 1)
        tell(
            f"{found.lost[0]} n-grams were pruned, {share:.2%} of all that were met; --memory keeps more",
            quiet,
        )


def listed(corpus: StringCorpus, found: NgramCounts, order: int, top: int | None = None) -> Iterator[str]:
    """A line per n-gram, some at a time: a table that fits into memory may have none left for its words."""
    words, n_words = corpus.alphabet.symbols, max(corpus.manifest.n_words, 2)
    ranked = np.argsort(-found.counts.astype(np.int64), kind="stable")[:top]
    for begin in range(0, len(ranked), _AT_ONCE):
        chosen = ranked[begin : begin + _AT_ONCE]
        rows = spelled(found.keys[chosen], order, n_words).tolist()
        for n, row in zip(found.counts[chosen].tolist(), rows, strict=True):
            yield f"{n}\t{' '.join(str(words[code]) for code in row)}"

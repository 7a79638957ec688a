"""`sigmastar learn automaton`: from strings to a model file, through the estimators.

With `--every` it follows an endless pipe: the model is written again and again (`Stream`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from sigmastar import __version__
from sigmastar.automata.cli.inputs import string_options
from sigmastar.automata.data.formats import FORMATS, Layout, read_or_open, splitter
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.em_and_ngram import DEVICES, PRECISIONS, EMAutomaton, NgramAutomaton
from sigmastar.automata.estimator.spectral import METHODS as SPECTRAL_METHODS
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.em import STARTS, STRUCTURES
from sigmastar.automata.learn.ngram import SMOOTHINGS
from sigmastar.automata.learn.repair import REPAIRS
from sigmastar.automata.learn.spectral import STATISTICS, WEIGHTINGS
from sigmastar.core.cli.learning import (
    Learned,
    Method,
    built,
    learn,
    learn_options,
    method_option,
    parameter,
    spread_options,
)
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.errors import InputError
from sigmastar.core.model_format import hash_strings, save_model
from sigmastar.core.progress import Say, counted, tell
from sigmastar.core.rank import RankEvidence
from sigmastar.core.resources import parsed_size
from sigmastar.core.text_files import described_file, display_name, open_text

if TYPE_CHECKING:  # most calls read files
    from sigmastar.corpus.reading import StringCorpus

_OF_ALL = ("n_states", "min_count")
_OF_SPECTRAL = ("statistic", "basis_size", "block_smoothing", "weighting", "repair")
_PARAMETERS = {"spectral": _OF_SPECTRAL, "fast": ("workers", "client", "memory", "half_life")}
METHODS = {
    name: Method(
        SpectralAutomaton,
        (*_OF_ALL, *_PARAMETERS.get(name, ())),
        {} if name == SpectralAutomaton().method else {"method": name},
    )
    for name in SPECTRAL_METHODS
} | {
    "em": Method(
        EMAutomaton,
        (*_OF_ALL, "n_seeds", "max_iter", "start", "structure", "precision", "device", "workers", "client"),
    ),
    "ngram": Method(NgramAutomaton, ("order", "smoothing", "min_count")),
}
SPECTRAL, EM, NGRAM = METHODS["spectral"], METHODS["em"], METHODS["ngram"]

_LARGE_FILE = 100_000_000  # bytes
_MANY_SHARDS = 8  # counting them is worth a ledger


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@method_option(METHODS, SpectralAutomaton().method)
@parameter(
    "n_states",
    "--states",
    METHODS["fast"],
    EM,
    type=auto_or_number,
    metavar="auto|N",
    help="Number of states; auto: chosen on held-out strings.",
)
@parameter(
    "statistic",
    "--statistic",
    SPECTRAL,
    type=click.Choice(list(STATISTICS)),
    help="Statistic that --method spectral counts.",
)
@parameter(
    "basis_size",
    "--basis-size",
    SPECTRAL,
    type=click.IntRange(1),
    help="Number of outsides and of insides of --method spectral.",
)
@parameter(
    "block_smoothing",
    "--block-smoothing",
    SPECTRAL,
    type=click.FloatRange(0),
    metavar="N",
    help="Number of strings of a unigram model that --method spectral adds to its counts.",
)
@parameter(
    "weighting",
    "--weighting",
    SPECTRAL,
    type=click.Choice(list(WEIGHTINGS)),
    help="Weights of rows and columns in the decomposition of --method spectral.",
)
@parameter(
    "repair",
    "--repair",
    SPECTRAL,
    type=click.Choice(list(REPAIRS)),
    help="Way to a distribution after --method spectral.",
)
@parameter(
    "precision",
    "--precision",
    EM,
    type=click.Choice(list(PRECISIONS)),
    help="Numbers that --method em works with.",
)
@parameter(
    "device",
    "--device",
    EM,
    type=click.Choice(list(DEVICES)),
    help="Place where --method em works: the processor, or a GPU by PyTorch.",
)
@parameter(
    "n_seeds",
    "--seeds",
    EM,
    type=click.IntRange(1),
    help="Number of ascents of --method em, of which the best is kept.",
)
@parameter(
    "max_iter", "--max-iter", EM, type=click.IntRange(1), help="Number of iterations per ascent at most."
)
@parameter("start", "--start", EM, type=click.Choice(list(STARTS)), help="First automaton of --method em.")
@parameter(
    "structure",
    "--structure",
    EM,
    type=click.Choice(list(STRUCTURES)),
    help="Any probabilistic automaton, or a hidden Markov model, by --method em.",
)
@parameter(
    "order",
    "--order",
    NGRAM,
    type=auto_or_number,
    metavar="auto|N",
    help="Length of n-grams; auto: chosen on held-out strings.",
)
@parameter(
    "smoothing",
    "--smoothing",
    NGRAM,
    type=click.Choice(list(SMOOTHINGS)),
    help="Smoothing of --method ngram.",
)
@parameter(
    "min_count",
    "--min-count",
    *METHODS.values(),
    type=click.IntRange(1),
    metavar="N",
    help="Occurrences that a symbol needs; rarer ones, and unknown ones later, become <unk>",
)
@spread_options(" a corpus folder, by --method fast or em")
@click.option(
    "--memory",
    type=parsed_size,
    metavar="SIZE",
    help="Room for the counts of a corpus folder, by --method fast; rare ones go beyond it  [default: 1G]",
)
@click.option(
    "--every",
    type=click.IntRange(1),
    metavar="N",
    help="Number of strings after which the model is learned and written anew, of an endless pipe.",
)
@click.option(
    "--half-life",
    "half_life",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Number of strings after which a string counts half, with --every  [default: all count alike]",
)
@string_options
@learn_options
def command(
    files: tuple[str, ...],
    method: str,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    every: int | None,
    **options: Any,
) -> None:
    """Learn a distribution on strings from FILE... (- is standard input).

    fast: spectral, seconds. convex: non-negative, no EM. auto: spectral start, then EM, the best. spectral:
    the classic method on a basis. em: expectation-maximization. ngram: smoothed n-grams.
    """
    if files.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only")
    try:
        layout = Layout.chosen(file_format, characters, separator)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None

    def work(estimator: Any, say: Say) -> Learned:
        strings = read_or_open(files, layout)
        if not isinstance(strings, Strings) and method == "fast" and strings.n_shards >= _MANY_SHARDS:
            estimator.set_params(ledger=f"{shared['output']}.ledger")
        say("learning")
        estimator.fit(strings)
        return Learned(
            _described(files, strings), _summary(estimator, strings), layout.to_header(), _findings(estimator)
        )

    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    if every is not None:
        stream = Stream(files, layout, every, shared["output"], method, shared["quiet"])
        stream.check()
        work = stream.learn
    elif options["half_life"] is not None:
        raise click.UsageError("--half-life goes with --every")
    learn(built(METHODS, method, options), method, work, **shared)
    _tell_size(shared["output"], options["min_count"], shared["quiet"])


def _tell_size(output: str, min_count: int | None, quiet: bool) -> None:
    """What to do about a large file: operators are dense, and rare symbols have as many numbers as others."""
    size = os.path.getsize(output) if os.path.isfile(output) else 0
    if size > _LARGE_FILE:
        more = f"--min-count {2 * (min_count or 1)} puts rare symbols into one class, <unk>"
        tell(f"note: {output} takes {size / 1e6:.0f} MB; {more}", quiet)


def _findings(estimator: Any) -> dict[str, Any]:
    fitted = vars(estimator)
    names = ("n_states", "n_symbol_classes", "held_out_score", "n_iterations", "pruned")
    findings = {name: fitted[f"{name}_"] for name in names if f"{name}_" in fitted}
    evidence = fitted.get("rank_evidence_")
    return findings if evidence is None else {**findings, "rank": _evidence_header(evidence)}


def _evidence_header(evidence: RankEvidence) -> dict[str, Any]:
    return {
        "singular_values": [float(value) for value in evidence.singular_values],
        "noise_level": evidence.noise_level,
        "candidates": list(evidence.candidates),
        "scores": [float(score) for score in evidence.scores],
        "chosen": evidence.chosen,
        "reason": evidence.reason,
    }


def _described(paths: tuple[str, ...], strings: Strings | StringCorpus) -> dict[str, Any]:
    """What a model file holds of the data it was learned from."""
    return {
        "files": [described_file(path) for path in paths],
        "n_strings": len(strings),
        "n_symbols": strings.n_symbols,
        "sha256": hash_strings(strings) if isinstance(strings, Strings) else strings.manifest.digest,
    }


def _summary(estimator: Any, strings: Any) -> str:
    fitted = vars(estimator)
    states = f"{counted(fitted['n_states_'], 'state')}, " if "n_states_" in fitted else ""
    score = fitted.get("held_out_score_")
    held = "" if score is None else f" (held-out log-likelihood {score:.4f} per string)"
    n_pruned = fitted.get("pruned_", (0, 0))[1]
    lost = f", {n_pruned} of {strings.n_symbols} symbols pruned from the counts" if n_pruned else ""
    n_classes = fitted.get("n_symbol_classes_")
    by = "" if n_classes is None else f" in {n_classes} classes, with trigrams"
    size = f"{counted(len(strings), 'string')} over {counted(len(estimator.alphabet_), 'symbol')}"
    return f"{states}from {size}{by}{held}{lost}"


@dataclass(frozen=True)
class Stream:
    """Where strings come from, how often a model is written, and where to."""

    files: tuple[str, ...]
    layout: Layout
    every: int
    output: str
    method: str
    quiet: bool

    def check(self) -> None:
        """Refuse what cannot be followed."""
        if self.method not in ("fast", "spectral"):
            raise click.UsageError(f"--every is for --method fast or spectral, not {self.method}")
        if len(self.files) != 1 or not FORMATS[self.layout.format].is_plain:
            raise click.UsageError("--every follows one file of lines, or standard input (-)")
        if self.output == "-":
            raise click.UsageError("--every writes a model again and again; give -o a file")

    def learn(self, estimator: Any, say: Say) -> Learned:
        """Count every string as it comes; learn and write after every so many, and at the end."""
        n_strings, n_models = 0, 0
        for batch in self._batches():
            estimator.update(batch)
            n_strings += len(batch)
            say(f"{n_strings} strings")
            estimator.decompose()
            n_models += 1
            save_model(estimator.model_, self.output, self._header(estimator, n_strings))
            tell(f"{self.output}: {n_strings} strings, {_told(estimator)}", self.quiet)
        if not n_models:
            raise InputError("there are no strings to learn from", file=display_name(self.files[0]))
        data = {"files": [{"name": display_name(self.files[0])}], "n_strings": n_strings}
        summary = f"{estimator.n_states_} states, model {n_models} of {n_strings} strings"
        return Learned(data, summary, self.layout.to_header(), {"n_states": estimator.n_states_})

    def _batches(self) -> Iterator[list[list[str]]]:
        split = splitter(self.layout.separator, self.layout.characters)
        lines = open_text(self.files[0])
        while batch := [list(split(line)) for line in islice(lines, self.every)]:
            yield batch

    def _header(self, estimator: Any, n_strings: int) -> dict[str, Any]:
        return {
            "method": self.method,
            "estimator": type(estimator).__name__,
            "layout": self.layout.to_header(),
            "data": {"n_strings": n_strings},
            "n_states": estimator.n_states_,
            "sigmastar": __version__,
        }


def _told(estimator: Any) -> str:
    """The size of the model, and how far the last batch was from what the one before expected."""
    words = [counted(estimator.n_states_, "state"), counted(len(estimator.alphabet_), "symbol")]
    drift = vars(estimator).get("drift_")
    if drift is not None:
        change = f", {drift.change:+.4f} since the batch before" if np.isfinite(drift.change) else ""
        new = f", {counted(drift.n_new_symbols, 'new symbol')}" if drift.n_new_symbols else ""
        score = f"{drift.score:.4f} per symbol by the last model{change} (+-{drift.error:.4f})"
        impossible = "no string of the batch was possible by the last model"
        words.append((f"batch {score}" if np.isfinite(drift.score) else impossible) + new)
    return ", ".join(words)

"""`sigmastar learn grammar`: a weighted context-free grammar from brackets or from bare strings."""

from __future__ import annotations

from typing import Any
from warnings import catch_warnings, simplefilter

import click
import numpy as np

from sigmastar.core.arrays import Int64s
from sigmastar.core.cli.learning import (
    SPREAD,
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
from sigmastar.core.progress import Say, tell
from sigmastar.core.text_files import described_file
from sigmastar.grammars.counts.closed_hankel import LONGEST
from sigmastar.grammars.data.bracketings import LEAVES, Sentences, read_sentences
from sigmastar.grammars.estimator.base import GrammarEstimator
from sigmastar.grammars.estimator.completion import CompletionGrammar
from sigmastar.grammars.estimator.learners import EMGrammar, SpectralGrammar
from sigmastar.grammars.learn.starts import BRACKETS, STARTS
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import length_masses

_FAR = 10  # lengths whose mass is looked at, if no string is longer
_OFF = 0.1  # by which the mass of a length may differ from the data's

_COMPLETION = ("n_states", "max_length", "penalty", "max_iter")
SPECTRAL = Method(SpectralGrammar, ("n_states", "basis_factor", *SPREAD))
COMPLETION = Method(CompletionGrammar, _COMPLETION)
SIGNED = Method(CompletionGrammar, _COMPLETION, {"em": False})
EM = Method(EMGrammar, ("n_states", "start", "bracket_prior", "max_length", "max_iter", "n_seeds"))
METHODS = {"spectral": SPECTRAL, "completion": COMPLETION, "em": EM, "completion-only": SIGNED}


@click.command()
@click.argument("file", metavar="TREES|STRINGS")
@method_option(METHODS, "em")
@parameter(
    "n_states",
    "--states",
    *METHODS.values(),
    type=auto_or_number,
    metavar="auto|N",
    help="Number of states; auto, of completion: chosen on held-out strings.",
)
@parameter("start", "--start", EM, type=click.Choice(STARTS), help="Start of em.")
@parameter(
    "bracket_prior", "--brackets", EM, type=click.Choice(BRACKETS), help="Prior on brackets of the cca start."
)
@parameter(
    "basis_factor",
    "--basis-factor",
    SPECTRAL,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of insides and outsides that spectral counts on.",
)
@parameter(
    "max_length",
    "--max-length",
    COMPLETION,
    EM,
    type=click.IntRange(1),
    help=f"Length of the longest strings that are seen: by em all, by completion at most {LONGEST}.",
)
@parameter(
    "penalty",
    "--penalty",
    COMPLETION,
    type=click.FloatRange(0, 1, min_open=True),
    help="Weight of the nuclear norm in completion.",
)
@parameter(
    "max_iter", "--iterations", COMPLETION, EM, type=click.IntRange(1), help="Number of iterations, at most."
)
@parameter("n_seeds", "--seeds", EM, type=click.IntRange(1), help="Number of starts of em; the best is kept.")
@click.option(
    "--leaves", type=click.Choice(list(LEAVES)), default="words", help="Symbols of trees  [default: words]"
)
@spread_options()
@learn_options
def command(file: str, method: str, leaves: str, **options: Any) -> None:
    """Learn a weighted grammar from trees in brackets, or from strings, one per line.

    spectral: from the brackets of trees. completion: from strings alone, a proper grammar by EM whose
    number of states and start are chosen on held-out strings; one start is the Hankel matrix of smallest
    nuclear norm that agrees with the strings. completion-only: this matrix, then refined; signed weights,
    which fit frequencies. em: inside-outside on strings of all lengths from a random start, from clusters of
    spans (cca), or from those under given or completed brackets (spectral).
    """
    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    estimator = built(METHODS, method, options)
    _require_fitting(method, options)
    warnings: list[str] = []

    def work(estimator: Any, say: Say) -> Learned:
        data = read_sentences(file, leaves)
        if method == "spectral" and data.brackets is None:
            raise InputError("holds strings; spectral needs trees: use --method em or completion", file=file)
        say("learning")
        with catch_warnings(record=True) as told:
            simplefilter("always")
            try:
                estimator.fit(data.strings if data.brackets is None else data.brackets)
            except (InputError, ValueError) as problem:
                raise InputError(str(problem), file=file) from None
        warnings.extend(f"warning: {warning.message}" for warning in told)
        warnings.extend(_explosion(estimator.model_, data.strings.lengths))
        return _learned(estimator, file, data, leaves)

    learn(estimator, method, work, **shared)
    for warning in warnings:
        tell(warning, shared["quiet"])


def _require_fitting(method: str, options: dict[str, Any]) -> None:
    """Refuse before the work what has no meaning together."""
    if options["bracket_prior"] is not None and options["start"] not in (None, "cca"):
        raise click.UsageError(f"--brackets is for --start cca, not {options['start']}")
    if options["n_states"] == "auto" and not method.startswith("completion"):
        raise click.UsageError(f"--states auto is for --method completion, not {method}")
    if method.startswith("completion") and (longest := options["max_length"] or 1) > LONGEST:
        raise click.UsageError(f"--max-length {longest} is too long for completion; use {LONGEST} or less")


def _explosion(grammar: WeightedGrammar, lengths: Int64s) -> list[str]:
    """Signed weights fit the strings that were seen; others may weigh anything."""
    observed = np.bincount(lengths, minlength=_FAR + 1)[1:] / len(lengths)
    masses = length_masses(grammar, len(observed))
    worst = int(np.argmax(np.abs(masses - observed)))
    if grammar.is_probabilistic() or abs(masses[worst] - observed[worst]) <= _OFF:
        return []
    return [
        f"warning: strings of length {worst + 1} weigh {masses[worst]:.3g} together where the data have "
        f"{observed[worst]:.3g}: values of strings that were not seen are no probabilities; --method "
        "completion or em gives a proper grammar"
    ]


def _learned(estimator: GrammarEstimator, file: str, data: Sentences, leaves: str) -> Learned:
    """What the model file holds of how it came about."""
    logs = estimator.model_.log_probability(data.strings)
    possible = logs[np.isfinite(logs)]
    is_trees, fitted = data.brackets is not None, vars(estimator)
    found: dict[str, Any] = {
        "n_states": estimator.model_.n_states,
        "log_likelihood_possible": float(possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
    }
    if "cut_off_" in fitted:
        found["cut_off"] = float(fitted["cut_off_"])
    if "start_" in fitted:
        found |= {"start": fitted["start_"], "exact": fitted["exact_"]}
        found["evidence"] = {str(n): score for n, score in fitted["evidence_"].items()}
    if fit := fitted.get("completion_"):
        completed = fit.completed
        found |= {"objective": completed.objective, "rank": completed.rank, "violation": fit.violation}
        found["matrix"] = list(fit.hankel.shape)
    source = {**described_file(file), "n_strings": len(data), "trees": is_trees, "n_empty": data.n_empty}
    kind = "trees" if is_trees else "strings"
    return Learned(source, f"{_summary(found)}, {len(data)} {kind}", {"leaves": leaves}, found)


def _summary(found: dict[str, Any]) -> str:
    parts = [f"{found['n_states']} states"]
    if "matrix" in found:
        rows, columns = found["matrix"]
        parts.append(
            f"matrix {rows} x {columns}, objective {found['objective']:.4g}, rank {found['rank']}, "
            f"violation {found['violation']:.2g}"
        )
    if found.get("evidence"):
        tried = ", ".join(found["evidence"])
        parts.append(f"chosen on held-out strings among {tried}, start: {found['start']}")
    if found["log_likelihood_possible"] is not None:
        parts.append(f"{found['log_likelihood_possible']:.4f} nats per string")
    if found["n_impossible"]:
        parts.append(f"strings without probability: {found['n_impossible']}")
    if found.get("cut_off"):
        whom = " to be completed" if "start" in found else ""
        parts.append(f"{100 * found['cut_off']:.1f}% of the strings were too long{whom}")
    return ", ".join(parts)

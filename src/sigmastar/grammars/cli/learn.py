"""`sigmastar learn grammar`: a weighted context-free grammar from brackets or from bare strings."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from sigmastar import __version__
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import save_model
from sigmastar.grammars.cli.bracketed import LEAVES, Sentences, read_bracketed
from sigmastar.grammars.counts.closed_hankel import LONGEST
from sigmastar.grammars.estimator import CompletionGrammar, EMGrammar, GrammarEstimator, SpectralGrammar
from sigmastar.grammars.learn.starts import BRACKETS, STARTS
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import length_masses

METHODS = ("spectral", "completion", "em", "completion+em")
_FAR = 10  # lengths whose mass is looked at, if no string is longer
_OFF = 0.1  # by which the mass of a length may differ from the data's


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="TREES|STRINGS")
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--method", type=click.Choice(METHODS), default="em", help="How to learn.")
@click.option("--start", type=click.Choice(STARTS), help="Of em.  [default: cca]")
@click.option("--states", type=click.IntRange(1), default=10, metavar="N", help="Of the grammar.")
@click.option("--brackets", type=click.Choice(BRACKETS), help="Prior of the cca start.  [default: right]")
@click.option("--leaves", type=click.Choice(list(LEAVES)), default="words", help="Of trees: the symbols.")
@click.option(
    "--basis-factor",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Of spectral: the share of insides and outsides to count on.",
)
@click.option(
    "--max-length",
    type=click.IntRange(1),
    help=f"Longer strings are left out.  [default: none for em, 10 for completion, at most {LONGEST}]",
)
@click.option(
    "--penalty", type=click.FloatRange(0, 1, min_open=True), default=0.005, help="Of the nuclear norm."
)
@click.option("--iterations", type=click.IntRange(1), help="At most.  [default: 50 of em, 60 of completion]")
@click.option("--seeds", type=click.IntRange(1), default=1, help="Starts of em; the best is kept.")
@seed_option
@json_option
@quiet_option
def command(
    file: str,
    output: str,
    method: str,
    start: str | None,
    states: int,
    brackets: str | None,
    leaves: str,
    basis_factor: float,
    max_length: int | None,
    penalty: float,
    iterations: int | None,
    seeds: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a weighted grammar from trees in brackets, or from strings, one a line.

    spectral: from the brackets of trees. completion: from strings alone, the Hankel matrix of smallest
    nuclear norm that agrees with them, then refined; fits frequencies. em: inside-outside on strings of all
    lengths from a random start, from clusters of spans (cca), or from those under given or completed
    brackets (spectral). completion+em: a proper grammar started from completed brackets.
    """
    require_folder(output)
    _require_fitting(method, start, brackets, max_length, basis_factor, seeds)
    begin = time.perf_counter()
    with watching("reading", quiet) as say:
        data = read_bracketed(file, leaves)
        if method == "spectral" and data.brackets is None:
            raise InputError(
                "holds strings; --method spectral needs trees in brackets: use --method em or completion",
                file=file,
            )
        say("learning")
        settings = {"n_states": states, "random_state": seed}
        if method == "spectral":
            estimator: GrammarEstimator = SpectralGrammar(basis_factor=basis_factor, **settings)
        elif method == "em":
            estimator = EMGrammar(start=start or "cca", bracket_prior=brackets or "right", n_seeds=seeds)
            estimator.set_params(n_iterations=iterations or 50, max_length=max_length, **settings)
        else:
            estimator = CompletionGrammar(penalty=penalty, em=method == "completion+em", **settings)
            estimator.set_params(max_length=max_length or 10, n_iterations=iterations or 60)
        try:
            estimator.fit(data.strings if data.brackets is None else data.brackets, say=say)
        except (InputError, ValueError) as problem:
            raise InputError(str(problem), file=file) from None
    learned = _learned(estimator, method, file, data, leaves, seed, time.perf_counter() - begin)
    save_model(estimator.grammar_, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    kind = "strings" if data.brackets is None else "trees"
    tell(f"{output}: {_summary(learned)}, {len(data)} {kind}, {learned['seconds']:.1f} s", quiet)
    if warning := _explosion(estimator.grammar_, data.strings.lengths):
        tell(warning, quiet)


def _explosion(grammar: WeightedGrammar, lengths: NDArray[np.int64]) -> str | None:
    """Signed weights fit the strings that were seen; others may weigh anything."""
    observed = np.bincount(lengths, minlength=_FAR + 1)[1:] / len(lengths)
    masses = length_masses(grammar, len(observed))
    worst = int(np.argmax(np.abs(masses - observed)))
    if grammar.is_probabilistic() or abs(masses[worst] - observed[worst]) <= _OFF:
        return None
    return (
        f"warning: strings of length {worst + 1} weigh {masses[worst]:.3g} together where the data have "
        f"{observed[worst]:.3g}: values of strings that were not seen are no probabilities; --method "
        "completion+em or em gives a proper grammar"
    )


def _require_fitting(
    method: str,
    start: str | None,
    brackets: str | None,
    max_length: int | None,
    basis_factor: float,
    seeds: int,
) -> None:
    """Tell before the work which options have no meaning together."""
    if method != "em" and (start is not None or brackets is not None or seeds != 1):
        raise click.UsageError(f"--start, --brackets and --seeds are for --method em, not {method}")
    if brackets is not None and start not in (None, "cca"):
        raise click.UsageError(f"--brackets is for --start cca, not {start}")
    if method != "spectral" and basis_factor != 1.0:
        raise click.UsageError(f"--basis-factor is for --method spectral, not {method}")
    if method == "spectral" and max_length is not None:
        raise click.UsageError("--max-length is for strings; --method spectral counts all trees")
    if method.startswith("completion") and (max_length or 1) > LONGEST:
        raise click.UsageError(f"--max-length {max_length} is too long for completion; use {LONGEST} or less")


def _learned(
    estimator: GrammarEstimator,
    method: str,
    file: str,
    data: Sentences,
    leaves: str,
    seed: int,
    seconds: float,
) -> dict[str, Any]:
    """What the model file says of how it came about."""
    found, grammar = vars(estimator), estimator.grammar_
    source: dict[str, Any] = {**described_file(file), "n_strings": len(data)}
    source |= {"trees": data.brackets is not None, "n_empty": data.n_empty}
    logs = grammar.log_probability(data.strings)
    possible = logs[np.isfinite(logs)]
    learned: dict[str, Any] = {
        "method": method,
        "n_states": grammar.n_states,
        "leaves": leaves,
        "seed": seed,
        "data": source,
        "log_likelihood_possible": float(possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
        "sigmastar": __version__,
        "seconds": round(seconds, 3),
    }
    if "cut_off_" in found:
        learned["cut_off"] = float(found["cut_off_"])
    if method == "em":
        learned["start"] = found["start"]
    if "completion_" in found:
        fit = found["completion_"]
        learned |= {
            "objective": fit.completed.objective,
            "rank": fit.completed.rank,
            "violation": fit.violation,
        }
        learned["matrix"] = list(found["completion_"].hankel.shape)
    return learned


def _summary(learned: dict[str, Any]) -> str:
    parts = [f"{learned['method']}, {learned['n_states']} states"]
    if "matrix" in learned:
        rows, columns = learned["matrix"]
        parts.append(
            f"matrix {rows} x {columns}, objective {learned['objective']:.4g}, rank {learned['rank']}, "
            f"violation {learned['violation']:.2g}"
        )
    if learned["log_likelihood_possible"] is not None:
        parts.append(f"{learned['log_likelihood_possible']:.4f} nats a string")
    if learned["n_impossible"]:
        parts.append(f"strings without probability: {learned['n_impossible']}")
    if learned.get("cut_off"):
        parts.append(f"{100 * learned['cut_off']:.1f}% of the strings were too long")
    return ", ".join(parts)

"""`sigmastar learn automaton`: from strings to a model file, through the estimators."""

from __future__ import annotations

from typing import Any

import click

from sigmastar.automata.cli.inputs import describe, layout_of, read_all, string_options
from sigmastar.automata.estimator.em_and_ngram import DEVICES, PRECISIONS, EMAutomaton, NgramAutomaton
from sigmastar.automata.estimator.spectral import METHODS as SPECTRAL_METHODS
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.em_starts import STARTS, STRUCTURES
from sigmastar.automata.learn.ngram import SMOOTHINGS
from sigmastar.automata.learn.repair import REPAIRS
from sigmastar.automata.learn.spectral import STATISTICS, WEIGHTINGS
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.cli.progress_bar import Say
from sigmastar.core.rank import RankEvidence

_OF_SPECTRAL = ("statistic", "basis_size", "block_smoothing", "weighting", "repair")
METHODS = {
    name: Method(
        SpectralAutomaton,
        ("n_states", *(_OF_SPECTRAL if name == "spectral" else ())),
        {} if name == SpectralAutomaton().method else {"method": name},
    )
    for name in SPECTRAL_METHODS
} | {
    "em": Method(
        EMAutomaton, ("n_states", "n_seeds", "max_iter", "start", "structure", "precision", "device")
    ),
    "ngram": Method(NgramAutomaton, ("order", "smoothing")),
}
SPECTRAL, EM, NGRAM = METHODS["spectral"], METHODS["em"], METHODS["ngram"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default=SpectralAutomaton().method,
    show_default=True,
    help="Way to learn.",
)
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
@string_options
@learn_options
def command(
    files: tuple[str, ...],
    method: str,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    **options: Any,
) -> None:
    """Learn a distribution on strings from FILE... (- is standard input).

    fast: spectral, seconds. convex: non-negative, no EM. auto: spectral start, then EM, the best. spectral:
    the classic method on a basis. em: expectation-maximization. ngram: smoothed n-grams.
    """
    layout = layout_of(file_format, characters, separator)

    def work(estimator: Any, say: Say) -> Learned:
        strings = read_all(files, layout)
        say("learning")
        estimator.fit(strings)
        return Learned(
            describe(files, strings), _summary(estimator, strings), layout.to_header(), _findings(estimator)
        )

    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    learn(built(METHODS, method, options), method, work, **shared)


def _findings(estimator: Any) -> dict[str, Any]:
    fitted = vars(estimator)
    names = ("n_states", "held_out_score", "n_iterations")
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


def _summary(estimator: Any, strings: Any) -> str:
    fitted = vars(estimator)
    states = f"{fitted['n_states_']} states, " if "n_states_" in fitted else ""
    score = fitted.get("held_out_score_")
    held = "" if score is None else f" (held-out log-likelihood {score:.4f} per string)"
    return f"{states}from {len(strings)} strings over {len(estimator.alphabet_)} symbols{held}"

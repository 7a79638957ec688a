"""`sigmastar bound`: the number of samples that the theory requires."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.core.cli.options import json_option, model_argument, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import watching
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.data.sentences import read_sentences
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    derivation_entropy,
    log_probability_of,
    sample_derivations,
)
from sigmastar.pcfg.theory.assumptions import estimate_assumptions
from sigmastar.pcfg.theory.bounds import LOOSE, Complexity, describe
from sigmastar.trees.data.tree import Tree

_DRAWN = 2000  # derivations from the grammar itself, where there is no treebank


@click.command()
@model_argument
@click.option(
    "--epsilon", type=click.FloatRange(min=0, min_open=True), required=True, help="Precision in nats."
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    required=True,
    help="Probability of failure.",
)
@click.option(
    "--s",
    type=click.FloatRange(min=1, min_open=True),
    help="Exponent of the margin n^-s  [default: the model's]",
)
@click.option("--treebank", metavar="FILE", help="Trees that the constants are estimated from.")
@seed_option
@json_option
@quiet_option
def command(
    model: str,
    epsilon: float,
    delta: float,
    s: float | None,
    treebank: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Number of samples that give the risks of MODEL's grammar to 2 epsilon with probability 1 - delta.

    The constants of the distribution come from the treebank, or from derivations that the grammar draws.
    The measured deviation is that of the log-loss of drawn derivations from its expectation, the entropy;
    with a treebank, whose distribution is not known, the difference between the log-losses on two halves.
    """
    grammar = _load(model)
    with watching("estimating", quiet):
        derivations = _derivations(grammar, treebank, seed)
        losses, entropy = -log_probability_of(grammar, derivations), derivation_entropy(grammar)
        halves = float(losses[::2].mean() - losses[1::2].mean())
        measured = abs(float(losses.mean()) - entropy if treebank is None else halves)
        figures = {
            **bound_figures(grammar, derivations, epsilon, delta, s or _exponent(model)),
            "measured_deviation": measured,
            "entropy": entropy,
            "note": LOOSE,
        }
    print_figures(figures, as_json)


def bound_figures(
    grammar: ProbabilisticGrammar, derivations: Derivations, epsilon: float, delta: float, s: float
) -> dict[str, Any]:
    """The bounds from derivations and from strings, and what they rest on."""
    assumptions = estimate_assumptions(grammar, derivations)
    n_events = BinaryForm(grammar.events).binary.n_events
    supervised, unsupervised = (Complexity(n_events, s, assumptions, kind) for kind in (True, False))
    from_strings = unsupervised.bound(epsilon, delta)
    return {
        **describe(supervised.bound(epsilon, delta)),
        "samples_from_strings": from_strings.samples,
        "log10_samples_from_strings": from_strings.log_samples / float(np.log(10)),
        "guarantee": supervised.guarantee(len(derivations), delta),
        "n_derivations": len(derivations),
        "n_events": n_events,
        "s": s,
        **assumptions.to_dict(),
    }


def _load(model: str) -> ProbabilisticGrammar:
    loaded = load_model(model)
    if not isinstance(loaded, (ProbabilisticCFG, HiddenMarkovModel)):
        raise ModelFileError("is not a probabilistic grammar or a hidden Markov model", file=model)
    return loaded


def _derivations(grammar: ProbabilisticGrammar, treebank: str | None, seed: int) -> Derivations:
    if treebank is None:
        return sample_derivations(grammar, _DRAWN, np.random.default_rng(seed))
    if not isinstance(grammar, ProbabilisticCFG):
        raise InputError("holds trees, which a hidden Markov model has none of", file=treebank)
    trees = [tree for tree in read_sentences(treebank) if isinstance(tree, Tree)]
    if len(trees) < 2:
        raise InputError("holds fewer than two trees", file=treebank)
    try:
        return grammar.derivations(trees)
    except InputError as problem:
        raise InputError(problem.problem, file=treebank) from None


def _exponent(model: str) -> float:
    learned = read_header(model)["learned"]
    s = learned.get("s") if isinstance(learned, dict) else None
    return float(s) if isinstance(s, float) and s > 1 else 1.5

"""`sigmastar compare` and `minimize`: how far two models of strings are apart, and a smaller one near one."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.automata.cli.inputs import Loaded, load
from sigmastar.automata.metrics import kl_by_sampling
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import equivalent, l1_up_to, l2_distance
from sigmastar.automata.model.minimize import TOLERANCE, SingularValueAutomaton
from sigmastar.automata.model.minimize import minimize as minimized
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.atomic import require_folder
from sigmastar.core.cli.options import json_option, model_argument, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures, with_interval
from sigmastar.core.model_format import save_model
from sigmastar.core.progress import tell, watching

_MANY = 200_000  # strings that are enumerated where no length is given
_IS_ONE = 1e-6


@click.command()
@model_argument
@click.argument("other", metavar="OTHER")
@click.option(
    "--max-length",
    type=click.IntRange(0),
    metavar="N",
    help="Length up to which the L1 distance is summed  [default: as long as it is quick]",
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    default=2000,
    show_default=True,
    help="Number of strings drawn from each for the divergences.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=1e-9,
    show_default=True,
    help="Relative size of differences that are taken for rounding.",
)
@seed_option
@json_option
@quiet_option
def compare(
    model: str,
    other: str,
    max_length: int | None,
    samples: int,
    tolerance: float,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """How far MODEL and OTHER are from each other, as functions on strings.

    Of two weighted automata: whether they are the same function (equivalent), a shortest string on which they
    differ (witness), and the root of the sum of squared differences over all strings (l2). Of any two models:
    the sum of differences over all strings up to a length (l1), and, of distributions, the Kullback-Leibler
    divergences both ways on strings drawn from each (kl from MODEL to OTHER, and kl_back).
    """
    first, second = load(model), load(other)
    with watching("comparing", quiet):
        figures = {
            **_as_automata(first.model, second.model, tolerance),
            **_enumerated(first.model, second.model, max_length),
            **_drawn(first, second, samples, seed),
        }
    print_figures(figures, as_json)


def _as_automata(first: SequenceModel, second: SequenceModel, tolerance: float) -> dict[str, Any]:
    if not (isinstance(first, WeightedAutomaton) and isinstance(second, WeightedAutomaton)):
        return {}
    found = equivalent(first, second, tolerance)
    witness = None if found.witness is None else [str(symbol) for symbol in found.witness]
    try:
        distance: float | None = l2_distance(first, second)
    except ValueError:  # squares of one of them sum to infinity
        distance = None
    return {"equivalent": found.equal, "witness": witness, "l2": distance}


def _enumerated(first: SequenceModel, second: SequenceModel, max_length: int | None) -> dict[str, Any]:
    if max_length is None:
        n_symbols = len({*first.alphabet, *second.alphabet})
        sizes = [sum(n_symbols**k for k in range(length + 1)) for length in range(13)]
        max_length = max(length for length, size in enumerate(sizes) if length == 0 or size <= _MANY)
    return {"l1": l1_up_to(first, second, max_length), "l1_length": max_length}


def _drawn(first: Loaded, second: Loaded, samples: int, seed: int) -> dict[str, Any]:
    if samples < 2 or not (_is_distribution(first.model) and _is_distribution(second.model)):
        return {}
    pairs = {"kl": (second.model, first.model), "kl_back": (first.model, second.model)}
    figures: dict[str, Any] = {}
    for name, (model, reference) in pairs.items():
        found = kl_by_sampling(model, reference, samples, np.random.default_rng(seed))
        figures |= with_interval(name, found)
    return figures


def _is_distribution(model: SequenceModel) -> bool:
    """Filters and n-grams are distributions by construction; an automaton if its weights sum to one."""
    return not isinstance(model, WeightedAutomaton) or model.is_stochastic(_IS_ONE)


@click.command()
@model_argument
@click.option("--output", "-o", required=True, metavar="OUT", help="Model file to write.")
@click.option(
    "--states",
    "n_states",
    type=click.IntRange(1),
    metavar="N",
    help="Number of states to keep; fewer than the function needs give one near it.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=TOLERANCE,
    show_default=True,
    help="Relative size of directions that are taken for rounding, without --states.",
)
@json_option
@quiet_option
def minimize(
    model: str, output: str, n_states: int | None, tolerance: float, as_json: bool, quiet: bool
) -> None:
    """Write the automaton of MODEL with the fewest states that compute the same function.

    With --states N the states of the N largest singular values of its Hankel matrix are kept; error_bound is
    an upper bound on the root of the sum of squared differences over all strings.
    """
    require_folder(output)
    loaded = load(model)
    automaton = loaded.require_automaton()
    if n_states is None:
        smaller, bound = minimized(automaton, tolerance), 0.0
    else:
        canonical = SingularValueAutomaton.of(automaton)
        smaller, bound = canonical.cut(n_states), canonical.error_bound(n_states)
    figures = {"states_before": automaton.n_states, "states": smaller.n_states, "error_bound": bound}
    save_model(smaller, output, {**loaded.learned, "minimized": figures})
    if as_json:
        print_figures(figures, as_json=True)
    if isinstance(loaded.model, FilteredAutomaton):
        tell(f"note: the filter of {model} is not part of its automaton, which alone is written", quiet)
    error = f", l2 distance at most {bound:.3g}" if n_states is not None else ""
    tell(f"{output}: {smaller.n_states} states in place of {automaton.n_states}{error}", quiet)

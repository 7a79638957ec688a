"""`sigmastar minimize`: the smallest automaton of the same function, or a smaller one near it."""

from __future__ import annotations

import click

from sigmastar.automata.cli.inputs import load
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.minimize import TOLERANCE, SingularValueAutomaton
from sigmastar.automata.model.minimize import minimize as minimized
from sigmastar.core.atomic import require_folder
from sigmastar.core.cli.options import json_option, model_argument, quiet_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress_bar import tell
from sigmastar.core.model_files import save_model


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

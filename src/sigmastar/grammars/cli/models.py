"""Commands on weighted grammars. Data are trees in brackets, or strings, one per line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np

from sigmastar.automata.data.formats import write_lines as write_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.options import (
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
    unknown_option,
)
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import is_model_file, load_model, read_header
from sigmastar.core.progress import watching
from sigmastar.core.time_estimates import foretell
from sigmastar.grammars.data.bracketings import Sentences, read_sentences
from sigmastar.grammars.draw import grammar_page
from sigmastar.grammars.metrics import baselines, bracket_score, empirical_l1, grammar_distances
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import expected_length, length_masses, total_mass
from sigmastar.grammars.model.rules import of_rules, to_rules
from sigmastar.pcfg.data.rules import read_rules, write_rules

KIND = "grammar"
_SHOWN, _LENGTHS = 15, 10  # rules shown; lengths whose mass is shown
_MOST = 2_000_000  # symbols or numbers of all strings of the longest length
_SHORT = 60  # symbols of a string whose chart takes no time
_ENUMERATED = 10  # symbols of the strings that two grammars are compared on, where --max-length is left out


def _learned(path: str) -> dict[str, Any]:
    learned = read_header(path)["learned"]
    return learned if isinstance(learned, dict) else {}


def _read(path: str, model: str, grammar: WeightedGrammar, unknown: str) -> Sentences:
    learned = _learned(model)
    layout = learned.get("layout") or learned  # version 0.1 wrote `leaves` beside the method
    return read_sentences(path, str(layout.get("leaves", "words")), grammar.alphabet, unknown)


@click.command()
@model_argument
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--reference", metavar="FILE", help="True grammar: a model file, or rules.")
@click.option(
    "--max-length", type=click.IntRange(1), metavar="N", help="Largest number of symbols per string."
)
@unknown_option
@json_option
@quiet_option
def evaluate(
    model: str,
    file: str | None,
    reference: str | None,
    max_length: int | None,
    unknown: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """How good a grammar is.

    On strings: log-likelihood (of grammars whose total_mass is not 1 the mean of log-values, which are no
    probabilities), perplexity of proper grammars alone, l1 to their frequencies. On trees: bracket_f1 beside.
    Against --reference: l1 and kl on all short strings.
    """
    if file is None and reference is None:
        raise click.UsageError("nothing to evaluate on; give a FILE, or --reference")
    grammar, figures = load_model(model, KIND), dict[str, Any]()
    with watching("evaluating", quiet) as say:
        if file is not None:
            data = _read(file, model, grammar, unknown).up_to(max_length)
            run = grammar.log_probability if data.brackets is None else grammar.brackets
            _foretell("evaluating", data.strings, run, quiet)
            figures |= _on_data(grammar, data)
        if reference is not None:
            say("comparing with the reference")
            figures |= _against(grammar, _reference(reference), max_length or _ENUMERATED)
    print_figures(figures, as_json)


def _foretell(work: str, strings: Strings, run: Callable[[Strings], object], quiet: bool) -> None:
    """Tell how long charts of strings take."""
    foretell(work, strings.lengths, lambda at, most: run(strings.select(at, most)), 3.0, _SHORT, quiet=quiet)


def _on_data(model: WeightedGrammar, data: Sentences) -> dict[str, Any]:
    logs = model.log_probability(data.strings)
    possible = logs[np.isfinite(logs)]
    figures: dict[str, Any] = {
        "n_strings": len(data),
        "log_likelihood": float(logs.mean()),
        "log_likelihood_possible": float(possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
        "perplexity": float(np.exp(-logs.sum() / data.strings.n_gaps)) if _is_proper(model) else None,
        "total_mass": _or_none(total_mass, model),
        "l1": empirical_l1(model, data.strings),
    }
    if data.brackets is not None:
        found = bracket_score(model.brackets(data.strings), data.brackets)
        figures |= {f"bracket_{name}": getattr(found, name) for name in ("f1", "precision", "recall")}
        for name, score in baselines(data.brackets).items():
            figures[f"{name.replace('-', '_')}_f1"] = score.f1
    return figures


def _is_proper(model: WeightedGrammar) -> bool:
    """Whether values are probabilities: else a perplexity means nothing."""
    lowest = min(part.min(initial=0.0) for part in (model.initial, model.words, model.composition))
    if lowest < 0.0:
        return False
    return model.is_probabilistic(1e-6) or (_or_none(total_mass, model) or 2.0) <= 1.0 + 1e-6


def _against(model: WeightedGrammar, truth: WeightedGrammar, longest: int) -> dict[str, Any]:
    while longest > 1 and len(truth.alphabet) ** longest * max(longest, truth.n_states) > _MOST:
        longest -= 1
    found = grammar_distances(model, truth, longest)
    return {"l1": found.l1, "kl": found.kl, "max_length": longest, "reference_mass": found.mass}


def _reference(path: str) -> WeightedGrammar:
    """A model file, or rules as text."""
    if is_model_file(path):
        found: WeightedGrammar = load_model(path, KIND)
        return found
    rules = read_rules(path)
    return of_rules(rules.grammar, rules.weights)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@unknown_option
@output_option
@quiet_option
def score(model: str, file: str, unknown: str, output: str, quiet: bool) -> None:
    """The log-probability of each string; -inf where the grammar gives it none, or a negative value."""
    grammar = load_model(model, KIND)
    with watching("scoring", quiet):
        data = _read(file, model, grammar, unknown)
        _foretell("scoring", data.strings, grammar.log_probability, quiet)
        logs = grammar.log_probability(data.strings).tolist()
    write_lines(output, data.by_line([repr(log) for log in logs], "-inf"))


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@unknown_option
@output_option
@quiet_option
def predict(model: str, file: str, unknown: str, output: str, quiet: bool) -> None:
    """The binary tree with the most expected constituents of each string, one per line."""
    grammar = load_model(model, KIND)
    with watching("parsing", quiet):
        data = _read(file, model, grammar, unknown)
        _foretell("parsing", data.strings, grammar.brackets, quiet)
        trees = grammar.brackets(data.strings).trees()
    write_lines(output, data.by_line([str(tree) for tree in trees], ""))


@click.command()
@sample_options("strings", "Number of symbols at which a string is cut.", 10_000)
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Strings drawn from a proper grammar, one per line."""
    try:
        strings = load_model(model, KIND).sample(n_samples, np.random.default_rng(seed), max_length)
    except ValueError as problem:
        raise InputError(f"{problem}, as with --method em or completion", file=model) from None
    with atomic_write(output) as stream:
        write_strings(strings, stream, " ")


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["rules"]), required=True, help="Format to write.")
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Rules in classic form, as `learn pcfg --rules` reads them if none is negative."""
    try:
        grammar, weights = to_rules(load_model(model, KIND), 1e-12)
    except ValueError as problem:
        raise InputError(str(problem), file=model) from None
    with atomic_write(output) as stream:
        write_rules(grammar, stream, weights)


@click.command()
@model_argument
@click.option("--html", is_flag=True, help="Page with pictures of the operators.")
@json_option
@output_option
def show(model: str, html: bool, as_json: bool, output: str) -> None:
    """What the grammar is, what its strings weigh, and its heaviest rules."""
    grammar, learned = load_model(model, KIND), _learned(model)
    facts, rules = facts_of(grammar), heaviest_rules(grammar)
    if as_json:
        shown = [{"rule": str(rule), "weight": weight} for rule, weight in rules]
        print_figures({**facts, "rules": shown, "learned": learned}, as_json=True)
        return
    rows = {name.replace("_", " "): _shown(value) for name, value in facts.items()}
    if html:
        write_lines(output, [grammar_page(grammar, rows, learned).rstrip("\n")])
        return
    lines = [f"{name:<17}  {value}" for name, value in rows.items()]
    write_lines(output, lines + [f"{weight:<17.6g}  {rule}" for rule, weight in rules])


def facts_of(model: WeightedGrammar) -> dict[str, Any]:
    """Sizes, and masses where they are finite."""
    return {
        "family": "grammar",
        "states": model.n_states,
        "words": len(model.alphabet),
        "probabilistic": model.is_probabilistic(1e-6),
        "total_mass": _or_none(total_mass, model),
        "expected_length": _or_none(expected_length, model),
        "mass_by_length": length_masses(model, _LENGTHS).tolist(),
    }


def _or_none(measure: Any, model: WeightedGrammar) -> float | None:
    try:
        return float(measure(model))
    except (ValueError, np.linalg.LinAlgError):
        return None


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{item:.3g}" for item in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "infinite or not found" if value is None else str(value)


def heaviest_rules(model: WeightedGrammar, n_rules: int = _SHOWN) -> list[tuple[Any, float]]:
    """Rules by the size of their weights, the largest first."""
    try:
        grammar, weights = to_rules(model)
    except ValueError:
        return []
    order = np.argsort(-np.abs(weights), kind="stable")[:n_rules]
    return [(grammar.rules[number], float(weights[number])) for number in order]

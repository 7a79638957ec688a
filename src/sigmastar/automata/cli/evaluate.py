"""`sigmastar evaluate`: how good a model is.

plain                           log_likelihood (mean per string), symbol_perplexity, next_symbol_error
--format pautomac --targets     perplexity, target_perplexity, ratio: the score of the competition
--format spice --targets        ndcg5: the score of the competition
--reference                     kl: divergence from a known model on fresh strings, nats per string
--black-box                     divergence per symbol, agreement and mse, on FILE and on strings it draws
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np

from sigmastar.automata.cli.inputs import layout_of, load, string_options, unknown_option
from sigmastar.automata.cli.models import foretell_strings
from sigmastar.automata.data.pautomac import read_solution
from sigmastar.automata.data.spice import read_spice_targets
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.metrics import (
    competition_perplexity,
    kl_by_sampling,
    log_likelihood,
    next_symbol_error,
    rank_next,
    score_rankings,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet, Symbol, written_codes
from sigmastar.core.cli.options import json_option, model_argument, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError
from sigmastar.core.family import judge
from sigmastar.core.progress import Say, silent, tell, watching

Figures = dict[str, Any]
Judge = Callable[[SequenceModel, Strings, str], Figures]


@click.command()
@model_argument
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--targets", metavar="FILE", help="Solution of PAutomaC, or targets of SPiCe.")
@click.option("--reference", metavar="FILE", help="True model: PAutomaC's text, or a model file.")
@click.option(
    "--black-box", metavar="SOURCE", help="Black box the model stands in for: a model file or FILE.py:NAME."
)
@click.option(
    "--samples",
    type=click.IntRange(2),
    help="Number of fresh strings for the divergence  [default: 20000, of a black box 1000]",
)
@seed_option
@string_options
@unknown_option
@json_option
@quiet_option
def evaluate(
    model: str,
    file: str | None,
    targets: str | None,
    reference: str | None,
    black_box: str | None,
    samples: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Measure MODEL on the strings of FILE, or against the true model.

    Without more: log_likelihood (mean per string), symbol_perplexity and next_symbol_error. With --targets
    the score of the competition: perplexity, target_perplexity and ratio, or ndcg5. With --reference the
    Kullback-Leibler divergence kl on fresh strings, in nats per string, with its 95% interval. With
    --black-box the divergence from its answers, in nats per symbol, on FILE and on strings that it draws.
    """
    if file is None and reference is None and black_box is None:
        raise click.UsageError("give a FILE to measure on, a --reference, or a --black-box")
    if file is None and targets is not None:
        raise click.UsageError("--targets need the FILE they belong to")
    loaded = load(model)
    unknown = reading.pop("unknown")
    layout = layout_of(**reading, learned=loaded.learned)
    if targets is not None and layout.format not in JUDGES:
        raise click.UsageError(f"--targets are for --format {' or '.join(JUDGES)}, not {layout.format}")
    figures, strings = Figures(), None
    with watching("evaluating", quiet) as say:
        if file is not None:
            strings = require_strings(loaded.read(file, layout, unknown), "evaluate on")
            if targets is None:
                run = partial(plain, loaded.model, _="")
                foretell_strings("evaluating", strings, run, quiet)
            judging = partial(plain, say=say) if targets is None else JUDGES[layout.format]
            figures |= {"n_strings": len(strings), **judging(loaded.model, strings, targets or "")}
        if reference is not None:
            say("comparing with the reference")
            figures |= divergence(loaded.model, reference, samples or 20_000, seed)
        if black_box is not None:
            say("asking the black box")
            figures |= judge("black_box")(loaded.model, black_box, strings, samples or 1000, seed)
    print_figures(figures, as_json)


def plain(model: SequenceModel, strings: Strings, _: str, say: Say = silent) -> Figures:
    logs = log_likelihood(model, strings)
    return {
        "log_likelihood": float(logs.mean()),
        "symbol_perplexity": float(np.exp(-logs.sum() / strings.n_gaps)),
        "next_symbol_error": next_symbol_error(model, strings, progress=say),
        "n_impossible": int(np.isneginf(logs).sum()),
    }


def competition(model: SequenceModel, strings: Strings, targets: str) -> Figures:
    solution = read_solution(targets)
    if len(solution) != len(strings):
        raise InputError(f"holds {len(solution)} probabilities for {len(strings)} strings", file=targets)
    score = competition_perplexity(model, strings, solution)
    return {
        "perplexity": score.perplexity,
        "target_perplexity": score.target_perplexity,
        "ratio": score.ratio,
        "n_impossible": score.n_impossible,
    }


def ranking(model: SequenceModel, strings: Strings, targets: str) -> Figures:
    expected = read_spice_targets(targets)
    if len(expected) < len(strings):
        raise InputError(f"holds {len(expected)} lines for {len(strings)} prefixes", file=targets)
    rankings = [[_number(symbol) for symbol in row] for row in rank_next(model, strings, 5)]
    return {"ndcg5": float(score_rankings(rankings, expected.first(len(strings))).mean())}


JUDGES: Mapping[str, Judge] = {"pautomac": competition, "spice": ranking}


def divergence(model: SequenceModel, reference: str, n_strings: int, seed: int) -> Figures:
    truth = _renamed(read_reference(reference, len(model.alphabet)), model.alphabet)
    kl = kl_by_sampling(model, truth, n_strings, np.random.default_rng(seed))
    if kl.high < 0:
        tell("note: kl is below 0, as between probabilities it cannot be: one of the models has none")
    return {
        "kl": kl.value,
        "kl_low": kl.low,
        "kl_high": kl.high,
        "kl_strings": kl.n,
        "kl_impossible": kl.n_impossible,
        "kl_possible": kl.value_possible,
    }


def read_reference(path: str, n_symbols: int) -> SequenceModel:
    """A model file, or the text of a PAutomaC machine: told apart by the first bytes."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(9)
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}", file=path) from None
    return load(path).model if head[8:] == b"{" else read_pautomac_model(path, n_symbols)


def _renamed(truth: SequenceModel, alphabet: Alphabet) -> SequenceModel:
    """A machine with the model's symbols for those written alike: 7 may be "7" there."""
    codes = written_codes(alphabet)
    if not isinstance(truth, WeightedAutomaton) or set(truth.alphabet) <= set(alphabet):
        return truth
    names = [alphabet.symbols[codes[str(s)]] if str(s) in codes else s for s in truth.alphabet]
    return replace(truth, alphabet=Alphabet(names)) if len(set(names)) == len(names) else truth


def _number(symbol: Symbol) -> Symbol:
    """SPiCe's symbols are numbers, however the model came to know them."""
    return int(symbol) if isinstance(symbol, str) and symbol.isdecimal() else symbol

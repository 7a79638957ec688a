"""`sigmastar learn pcfg`: probabilities of the rules of a grammar, from trees or strings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from sigmastar import __version__
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import save_model
from sigmastar.pcfg.cli.use import read_sentences
from sigmastar.pcfg.data.rules import read_rules
from sigmastar.pcfg.estimator import METHODS, SUPERVISED, ERMGrammar
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="TREES|STRINGS")
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--rules", metavar="FILE", help="The grammar, a rule a line; those of the trees if left out.")
@click.option("--start", metavar="SYMBOL", help="The start symbol; the first left side if left out.")
@click.option("--method", type=click.Choice(METHODS), help="erm on trees, em on strings if left out.")
@click.option("--s", type=click.FloatRange(min=0, min_open=True), default=1.5, help="The margin is n^-s.")
@click.option("--alpha", type=click.FloatRange(min=1), default=1.1, help="Of the Dirichlet prior of map.")
@click.option("--trees", metavar="FILE", help="Trees beside the strings.")
@click.option("--hmm", type=click.IntRange(1), metavar="N", help="A hidden Markov model of N states instead.")
@click.option("--states", metavar="FILE", help="The states of the strings, for a hidden Markov model.")
@click.option("--string-weight", type=click.FloatRange(min=0), default=1.0, help="Of a string beside a tree.")
@click.option(
    "--seeds", type=click.IntRange(1), default=1, help="Starts of em and viterbi; the best is kept."
)
@click.option("--iterations", type=click.IntRange(0), default=50, help="Of em and viterbi, at most.")
@seed_option
@json_option
@quiet_option
def command(
    file: str,
    output: str,
    rules: str | None,
    start: str | None,
    method: str | None,
    s: float,
    alpha: float,
    trees: str | None,
    hmm: int | None,
    states: str | None,
    string_weight: float,
    seeds: int,
    iterations: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn the probabilities of a grammar's rules from trees in brackets, or from strings, one a line.

    erm: truncated maximum likelihood, as the theory of empirical risk minimisation asks for. mle: relative
    frequencies. map: with a Dirichlet prior. em: on strings, in the same truncated space. viterbi: em on
    best derivations. With --hmm N a hidden Markov model is learned from strings, with --states, a line for
    each line of strings, from both.
    """
    require_folder(output)
    begin = time.perf_counter()
    with watching("reading", quiet) as say:
        grammar = None if rules is None else read_rules(rules, start).grammar
        sentences = read_sentences(file)
        if not sentences:
            raise InputError("holds no trees or strings to learn from", file=file)
        on_trees = isinstance(sentences[0], Tree)
        chosen = method or ("erm" if on_trees or states else "em")
        if hmm or states:
            _require_hidden_markov(chosen, on_trees, bool(rules or trees or start), states is not None)
        else:
            _require_fitting(chosen, on_trees, rules, trees, file)
        say("learning")
        estimator = ERMGrammar(
            grammar, chosen, s, alpha, hmm, start, seeds, iterations, string_weight=string_weight
        )
        estimator.set_params(random_state=seed, progress=say)
        try:
            known = read_sentences(states) if states else None
            estimator.fit(sentences, known, read_brackets(trees) if trees else ())
        except InputError as problem:
            raise InputError(problem.problem, file=problem.file or file, line=problem.line) from None
    learned = _learned(estimator, file, sentences, on_trees, seed, time.perf_counter() - begin)
    save_model(estimator.model_, output, learned)  # type: ignore[arg-type]
    if as_json:
        print_figures(learned, as_json=True)
    kind, events = "trees" if on_trees else "strings", "events" if hmm or states else "rules"
    summary = f"{output}: {chosen}, {estimator.model_.events.n_events} {events}, {len(sentences)} {kind}"
    tell(f"{summary}, margin {estimator.margin_:.3g}, {learned['seconds']:.1f} s", quiet)


def _require_fitting(method: str, on_trees: bool, rules: str | None, trees: str | None, file: str) -> None:
    """Tell before the work what cannot be."""
    if not on_trees and rules is None and trees is None:
        raise click.UsageError("strings do not tell the rules: give --rules FILE, or --hmm N")
    if not on_trees and method in ("mle", "map"):
        raise click.UsageError(f"--method {method} needs trees, {file} holds strings; use --method em")
    if on_trees and method in ("em", "viterbi"):
        raise click.UsageError(f"--method {method} learns from strings, {file} holds trees; use --method erm")


def _require_hidden_markov(method: str, on_trees: bool, grammar: bool, supervised: bool) -> None:
    if on_trees or grammar:
        raise click.UsageError("--hmm and --states learn from strings, without rules and trees")
    fitting = SUPERVISED if supervised else ("em", "erm", "viterbi")
    if method not in fitting:
        which = "with" if supervised else "without"
        raise click.UsageError(
            f"--method {method} is not for a hidden Markov model {which} --states; use {', '.join(fitting)}"
        )


def _learned(
    estimator: ERMGrammar, file: str, sentences: Sequence[Any], on_trees: bool, seed: int, seconds: float
) -> dict[str, Any]:
    objectives = vars(estimator).get("objectives_")
    data: dict[str, Any] = {**described_file(file), "n_sentences": len(sentences), "trees": on_trees}
    if isinstance(estimator.model_, HiddenMarkovModel):  # as models of strings say it
        data |= {"files": [{"name": data["name"]}], "n_strings": len(sentences)}
        data["n_symbols"] = sum(map(len, sentences))
    learned = {
        "method": estimator.method,
        "s": float(estimator.s),
        "alpha": float(estimator.alpha),
        "margin": estimator.margin_,
        "n_samples": estimator.n_samples_,
        "seed": seed,
        "data": data,
        "assumptions": estimator.assumptions_.to_dict(),
        "sigmastar": __version__,
        "seconds": round(seconds, 3),
    }
    if states := vars(estimator).get("states_"):
        learned["states"] = list(states)
    return learned if objectives is None else {**learned, "log_likelihoods": list(objectives)}

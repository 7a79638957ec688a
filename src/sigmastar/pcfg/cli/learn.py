"""`sigmastar learn pcfg`: probabilities of the rules of a grammar, from trees or strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from sigmastar.core.atomic import require_folder
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, method_option, parameter
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Say
from sigmastar.core.text_files import described_file
from sigmastar.pcfg.data.rules import read_rules
from sigmastar.pcfg.data.sentences import Sentences, read_sentences
from sigmastar.pcfg.estimator import CLIMBED, COUNTED, MARGINS, ERMGrammar
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree

_OF_ALL = ("start", "n_states")
_OF_STRINGS = ("n_seeds", "max_iter", "string_weight")
METHODS = {
    "erm": Method(ERMGrammar, (*_OF_ALL, "s", "margin", *_OF_STRINGS), {"method": "erm"}),
    "mle": Method(ERMGrammar, _OF_ALL, {"method": "mle"}),
    "map": Method(ERMGrammar, (*_OF_ALL, "alpha"), {"method": "map"}),
    "em": Method(ERMGrammar, (*_OF_ALL, "s", *_OF_STRINGS), {"method": "em"}),
    "viterbi": Method(ERMGrammar, (*_OF_ALL, "s", *_OF_STRINGS), {"method": "viterbi"}),
}
_ERM, _MAP, _EM = METHODS["erm"], METHODS["map"], METHODS["em"]


@click.command()
@click.argument("file", metavar="TREES|STRINGS")
@method_option(METHODS, None, help="Way to learn  [default: erm on trees, em on strings]")
@click.option(
    "--rules",
    metavar="FILE",
    help="Grammar, one rule per line; a word that is a number stands in quotation marks  "
    "[default: the rules of the trees]",
)
@click.option("--start", metavar="SYMBOL", help="Start symbol  [default: the left side of the first rule]")
@click.option("--trees", metavar="FILE", help="Trees beside the strings.")
@click.option(
    "--states",
    "--hmm",
    "n_states",
    type=click.IntRange(1),
    metavar="N",
    help="Number of states of a hidden Markov model, in place of a grammar.",
)
@click.option(
    "--state-file",
    metavar="FILE",
    help="States of the strings, one line per string, empty where not known, for a hidden Markov model.",
)
@parameter(
    "s",
    "--s",
    _ERM,
    type=click.FloatRange(min=0, min_open=True),
    help="Exponent of the margin: n^-s for n samples.",
)
@parameter(
    "margin",
    "--margin",
    _ERM,
    type=click.Choice(MARGINS),
    help="Numbers that the margins of erm are made of: visits to each choice, or samples, as in the paper.",
)
@parameter(
    "alpha", "--alpha", _MAP, type=click.FloatRange(min=1), help="Parameter of the Dirichlet prior of map."
)
@parameter(
    "string_weight",
    "--string-weight",
    _EM,
    type=click.FloatRange(min=0),
    help="Weight of a string beside a tree, or beside a string with states.",
)
@parameter("n_seeds", "--seeds", _EM, type=click.IntRange(1), help="Number of starts on strings.")
@parameter(
    "max_iter", "--iterations", _EM, type=click.IntRange(0), help="Number of iterations on strings, at most."
)
@learn_options
def command(
    file: str, method: str | None, rules: str | None, trees: str | None, state_file: str | None, **given: Any
) -> None:
    """Learn the probabilities of a grammar's rules from trees in brackets, or from strings, one per line.

    erm: truncated maximum likelihood, as the theory of empirical risk minimization requires. mle: relative
    frequencies. map: with a Dirichlet prior. em: on strings, in the same truncated space. viterbi: em on
    best derivations. With --states N a hidden Markov model is learned from strings, with --state-file from
    strings and their states; where some lines of that file are empty, by em from both kinds of strings.
    """
    options = {name: given.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    require_folder(options["output"])
    sentences = read_sentences(file)
    if not sentences:
        raise InputError("holds no trees or strings to learn from", file=file)
    on_trees = isinstance(sentences[0], Tree)
    states = read_sentences(state_file) if state_file else None
    counted = on_trees or (states is not None and all(states))
    chosen = method or ("erm" if counted else "em")
    hidden = given["n_states"] is not None or state_file is not None
    _require_data(on_trees, hidden, bool(rules or trees), bool(rules or trees or given["start"]))
    _require_method(chosen, counted, on_trees, state_file is not None, hidden)
    _require_options(given, counted, trees is not None or bool(states))

    def work(estimator: Any, say: Say) -> Learned:
        say("learning")
        if rules is not None:
            estimator.set_params(rules=read_rules(rules, given["start"]).grammar)
        try:
            estimator.fit(sentences, states, read_brackets(trees) if trees else ())
        except InputError as problem:
            raise InputError(problem.problem, file=problem.file or file, line=problem.line) from None
        beside = {"rules": rules, "trees_beside": trees, "state_file": state_file}
        return _learned(estimator, file, sentences, {name: path for name, path in beside.items() if path})

    learn(built(METHODS, chosen, given), chosen, work, **options)


def _require_data(on_trees: bool, hidden: bool, known: bool, grammar: bool) -> None:
    """Refuse before the work what has no meaning together."""
    if hidden and (on_trees or grammar):
        raise click.UsageError("--states and --state-file learn from strings, without rules and trees")
    if not (hidden or on_trees or known):
        raise click.UsageError("the rules of strings are not known; give --rules FILE, or --states N")


def _require_method(method: str, counted: bool, on_trees: bool, states: bool, hidden: bool) -> None:
    fitting = COUNTED if counted else CLIMBED
    if method in fitting:
        return
    if hidden:
        which = ("with" if counted else "with an incomplete") if states else "without"
        what = f"is not for a hidden Markov model {which} --state-file"
    else:
        what = "learns from strings, not from trees" if on_trees else "needs trees, not strings"
    raise click.UsageError(f"--method {method} {what}; use {', '.join(fitting)}")


def _require_options(given: Mapping[str, Any], counted: bool, beside: bool) -> None:
    flags = {"n_seeds": "--seeds", "max_iter": "--iterations", "string_weight": "--string-weight"}
    for name, flag in flags.items():
        if given[name] is not None and counted:
            raise click.UsageError(f"{flag} is for strings whose derivations are hidden")
    if given["string_weight"] is not None and not beside:
        raise click.UsageError("--string-weight is for strings with --trees or --state-file beside them")


def _learned(estimator: ERMGrammar, file: str, sentences: Sentences, beside: Mapping[str, str]) -> Learned:
    on_trees = isinstance(sentences[0], Tree)
    data = {
        **described_file(file),
        "n_sentences": len(sentences),
        "trees": on_trees,
        **{name: described_file(path) for name, path in beside.items()},
    }
    if not on_trees:  # as for other models of strings
        data |= {"n_strings": len(sentences), "n_symbols": sum(map(len, sentences))}
    fitted = vars(estimator)
    found = {
        "s": float(estimator.s),
        "margin": estimator.margin_,
        "n_samples": estimator.n_samples_,
        "assumptions": estimator.assumptions_.to_dict(),
    }
    if "states_" in fitted:
        found["states"] = list(estimator.states_)
    if "objectives_" in fitted:
        found["log_likelihoods"] = list(estimator.objectives_)
    events = "events" if isinstance(estimator.model_, HiddenMarkovModel) else "rules"
    kind = "trees" if on_trees else "strings"
    summary = f"{estimator.model_.events.n_events} {events}, {len(sentences)} {kind}"
    return Learned(data, f"{summary}, margin {estimator.margin_:.3g}", found=found)

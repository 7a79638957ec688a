"""Commands on model files of grammars and hidden Markov models.

Data is trees in brackets, or strings, one per line with blanks between words. A hidden Markov model takes the
words of trees.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import click
import numpy as np

from sigmastar.automata.data.formats import write_lines as write_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import next_symbol_error
from sigmastar.automata.model.att import write_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dot import write_dot
from sigmastar.automata.model.pautomac_machine import write_pautomac_model
from sigmastar.core.arrays import Indices
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
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.model_reading import load_model, read_header, save_model
from sigmastar.core.progress import watching
from sigmastar.core.text_files import display_name
from sigmastar.core.time_estimates import foretell
from sigmastar.pcfg.data.rules import Grammar, write_rules
from sigmastar.pcfg.data.sentences import Sentences, read_sentences, words_of
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG, score_data
from sigmastar.pcfg.model.probabilistic_grammar import derivation_entropy
from sigmastar.trees.data.tree import Tree

Model = ProbabilisticCFG | HiddenMarkovModel

_SHOWN = 20  # rules
_SHORT, _LONG_STRING = 100, 100_000  # words that charts take, and hidden Markov models, within a second
_EMITTED = 5  # symbols of a state

file_argument = click.argument("file", metavar="FILE")


def known_sentences(model: Model, path: str, unknown: str) -> Sentences:
    """Sentences of which every word is the grammar's, unless unknown ones may have no probability."""
    sentences = read_sentences(path)
    if unknown == "error":
        for number, words in enumerate(map(words_of, sentences), 1):
            if strange := [word for word in words if word not in model.alphabet]:
                raise UnknownSymbolError(
                    f"sentence {number}: {strange[0]!r} is not a word of the grammar; leave such sentences "
                    "out, or use --unknown zero to give them no probability",
                    file=display_name(path),
                )
    return sentences if isinstance(model, ProbabilisticCFG) else [words_of(each) for each in sentences]


def _coded(model: Model, sentences: Sentences) -> Strings:
    return Strings.of([words_of(each) for each in sentences], alphabet=model.alphabet, allow_unknown=True)


@click.command()
@model_argument
@file_argument
@unknown_option
@json_option
@quiet_option
def evaluate(model: str, file: str, unknown: str, as_json: bool, quiet: bool) -> None:
    """Measure MODEL on the trees or strings of FILE.

    log_loss is the mean of -log p, in nats per sentence, log_loss_possible that of the sentences which have a
    probability. For a hidden Markov model also symbol_perplexity and next_symbol_error.
    """
    grammar: Model = load_model(model)
    with watching("evaluating", quiet):
        sentences = known_sentences(grammar, file, unknown)
        if not sentences:
            raise InputError("holds no sentences to evaluate on", file=display_name(file))
        _foretell_scores("evaluating", grammar, sentences, quiet)
        logs = score_data(grammar, sentences)
        of_strings = _string_figures(grammar, _coded(grammar, sentences), float(logs.sum()))
    possible = logs[np.isfinite(logs)]
    figures = {
        "n_sentences": len(logs),
        "data": "trees" if isinstance(sentences[0], Tree) else "strings",
        "log_loss": float(-logs.mean()),
        "log_loss_possible": float(-possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
    }
    print_figures({**figures, **of_strings}, as_json)


def _string_figures(model: Model, strings: Strings, total: float) -> dict[str, float]:
    if isinstance(model, ProbabilisticCFG):
        return {}
    return {
        "log_likelihood": total / len(strings),
        "symbol_perplexity": float(np.exp(-total / strings.n_gaps)),
        "next_symbol_error": next_symbol_error(model, strings),
    }


@click.command()
@model_argument
@file_argument
@unknown_option
@output_option
@quiet_option
def score(model: str, file: str, unknown: str, output: str, quiet: bool) -> None:
    """The natural log-probability of each tree or string of FILE under MODEL; -inf where it has none."""
    grammar: Model = load_model(model)
    with watching("scoring", quiet):
        sentences = known_sentences(grammar, file, unknown)
        _foretell_scores("scoring", grammar, sentences, quiet)
        logs = score_data(grammar, sentences).tolist()
    write_lines(output, map(repr, logs))


@click.command()
@model_argument
@file_argument
@unknown_option
@output_option
@quiet_option
def predict(model: str, file: str, unknown: str, output: str, quiet: bool) -> None:
    """The best tree of each string of FILE, or its best states under a hidden Markov model, one per line.

    The line is empty where there is none. States without names are numbers from 0.
    """
    grammar: Model = load_model(model)
    with watching("parsing", quiet):
        strings = _coded(grammar, known_sentences(grammar, file, unknown))
        if isinstance(grammar, ProbabilisticCFG):
            _foretell("parsing", grammar, strings, grammar.best_derivations, quiet)
            lines = ["" if tree is None else str(tree) for tree in grammar.best_trees(strings)]
        else:
            names = _state_names(model)
            _foretell("parsing", grammar, strings, lambda some: grammar.best_paths(some, names), quiet)
            paths = grammar.best_paths(strings, names)
            lines = [" ".join(map(str, path)) for path in paths]
    write_lines(output, lines)


def _foretell(
    work: str, model: Model, strings: Strings, run: Callable[[Strings], object], quiet: bool
) -> None:
    """Tell how long work on strings takes: of a grammar by charts, of a hidden Markov model by symbols."""
    power, short = (3.0, _SHORT) if isinstance(model, ProbabilisticCFG) else (1.0, _LONG_STRING)

    def on_begins(numbers: Indices, most: int) -> None:
        run(strings.select(numbers, most))

    foretell(work, strings.lengths, on_begins, power, short, power, quiet=quiet)


def _foretell_scores(work: str, model: Model, sentences: Sentences, quiet: bool) -> None:
    if sentences and not isinstance(sentences[0], Tree):  # of trees rules are counted
        _foretell(work, model, _coded(model, sentences), model.log_probability, quiet)


def _learned(model: str) -> Mapping[str, Any]:
    learned = read_header(model)["learned"]
    return learned if isinstance(learned, Mapping) else {}


def _state_names(model: str) -> Sequence[str]:
    names = _learned(model).get("states")
    return names if isinstance(names, list) else ()


@click.command()
@sample_options("strings", "Length at which longer strings are cut.", 10_000, 0)
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Draw strings from MODEL and write them one per line."""
    grammar: Model = load_model(model)
    with watching("sampling", quiet):
        strings = grammar.sample(n_samples, np.random.default_rng(seed), max_length)
    with atomic_write(output) as stream:
        write_strings(strings, stream, " ")


@click.command()
@model_argument
@json_option
@output_option
def show(model: str, as_json: bool, output: str) -> None:
    """What MODEL is and how it was learned, with its most probable rules or emissions."""
    grammar: Model = load_model(model)
    learned = _learned(model)
    facts = {**_facts(grammar, _state_names(model)), "learned": learned}
    if as_json:
        print_figures(facts, as_json=True)
        return
    data = learned.get("data", {})
    facts["learned"] = ", ".join(str(part) for part in (learned.get("method"), _counted(data)) if part)
    best = _best_rules(grammar) if isinstance(grammar, ProbabilisticCFG) else _best_emissions(grammar, model)
    known = {name: value for name, value in facts.items() if value not in ([], "")}
    write_lines(output, [*(f"{name:<12}  {_short(value)}" for name, value in known.items()), *best])


def _facts(grammar: Model, names: Sequence[str]) -> dict[str, Any]:
    system = grammar.events
    sizes: dict[str, Any] = {
        "words": len(grammar.alphabet),
        "rules" if isinstance(grammar, ProbabilisticCFG) else "events": system.n_events,
        "degree": system.degree,
        "parameters": system.n_parameters,
        "entropy": derivation_entropy(grammar),
    }
    if isinstance(grammar, ProbabilisticCFG):
        nonterminals = len(grammar.grammar.nonterminals)
        return {"family": "pcfg", "start": grammar.grammar.start, "nonterminals": nonterminals, **sizes}
    return {"family": "hidden-markov", "n_states": grammar.n_states, "states": list(names), **sizes}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counted(data: Mapping[str, Any]) -> str:
    if "n_sentences" not in data:
        return ""
    return f"{data['n_sentences']} {'trees' if data.get('trees') else 'strings'} of {data.get('name')}"


def _best_rules(grammar: ProbabilisticCFG) -> list[str]:
    best = np.argsort(-grammar.parameters, kind="stable")[:_SHOWN]
    return [f"{grammar.parameters[rule]:<12.6g}  {grammar.grammar.rules[rule]}" for rule in best]


def _best_emissions(hidden: HiddenMarkovModel, path: str) -> list[str]:
    """Of each state its most probable symbols."""
    names, symbols = dict(enumerate(_state_names(path))), hidden.alphabet.symbols
    lines = []
    for state, row in enumerate(hidden.emissions[:_SHOWN]):
        best = np.argsort(-row, kind="stable")[:_EMITTED]
        shown = ", ".join(f"{symbols[code]} {row[code]:.3g}" for code in best if row[code] > 0)
        lines.append(f"{names.get(state, state)!s:<12}  {shown}")
    return lines


@click.command()
@model_argument
@click.option("--to", type=click.Choice(["rules"]), required=True, help="Format of the file.")
@output_option
def convert_grammar(model: str, to: str, output: str) -> None:
    """Write the rules of MODEL with their probabilities, as `learn pcfg --rules` reads them.

    Those of the start symbol come first.
    """
    grammar: ProbabilisticCFG = load_model(model)
    rules, start = grammar.grammar.rules, grammar.grammar.start
    order = sorted(range(len(rules)), key=lambda number: rules[number].left != start)
    with atomic_write(output) as stream:
        write_rules(Grammar.of([rules[k] for k in order], start), stream, grammar.parameters[order])


WRITERS: Mapping[str, Callable[[WeightedAutomaton, TextIO], None]] = {
    "att": write_att,
    "pautomac": write_pautomac_model,
    "dot": write_dot,
}


@click.command()
@model_argument
@click.option(
    "--to", type=click.Choice(["hmm", "automaton", *WRITERS]), required=True, help="Format of the file."
)
@output_option
def convert_hidden_markov(model: str, to: str, output: str) -> None:
    """Write the hidden Markov model MODEL: its arrays, or the automaton of the same function.

    hmm is JSON: initial, moves, whose last column is the end of the string, and emissions. automaton is a
    model file, att OpenFst's text, and pautomac and dot are text too.
    """
    hidden: HiddenMarkovModel = load_model(model)
    if to == "automaton":
        if output == "-":
            raise click.UsageError("a model file needs --output FILE")
        learned = {**_learned(model), "estimator": None, "converted": "hidden-markov"}
        save_model(hidden.automaton, output, learned)
        return
    with atomic_write(output) as stream:
        if to == "hmm":
            symbols, states = [str(symbol) for symbol in hidden.alphabet], list(_state_names(model))
            arrays = {name: array.tolist() for name, array in hidden.to_parts()[0].items()}
            json.dump({"symbols": symbols, "states": states, **arrays}, stream, allow_nan=False)
            stream.write("\n")
        else:
            WRITERS[to](hidden.automaton, stream)

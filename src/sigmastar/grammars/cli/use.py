"""Commands on weighted grammars. Data is trees in brackets, or strings, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.automata.data.lines import write_lines
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import watching
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.grammars.cli.bracketed import Sentences, read_bracketed
from sigmastar.grammars.metrics.brackets import baselines, bracket_score
from sigmastar.grammars.metrics.distances import empirical_l1, grammar_distances
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import expected_length, length_masses, total_mass
from sigmastar.grammars.model.rules import of_rules, to_rules
from sigmastar.pcfg.data.rules import read_rules, write_rules

Parameters = Mapping[str, Any]
_SHOWN, _LENGTHS = 15, 10  # rules shown; lengths whose mass is shown
_MOST = 2_000_000  # symbols or numbers of all strings of the longest length
_ENUMERATED = 10  # symbols of the strings that two grammars are compared on, if nothing else is said


def load_grammar(path: str) -> WeightedGrammar:
    model = load_model(path)
    if not isinstance(model, WeightedGrammar):
        raise ModelFileError("is not a weighted grammar", file=path)
    return model


def _learned(path: str) -> dict[str, Any]:
    learned = read_header(path)["learned"]
    return learned if isinstance(learned, dict) else {}


def _read(parameters: Parameters, model: WeightedGrammar) -> Sentences:
    leaves = str(_learned(parameters["model"]).get("leaves", "words"))
    return read_bracketed(parameters["file"], leaves, model.alphabet, parameters["unknown"])


def evaluate(parameters: Parameters) -> None:
    """perplexity and l1 on strings, bracket_f1 on trees, l1 and kl against a reference."""
    model, figures = load_grammar(parameters["model"]), dict[str, Any]()
    if parameters["targets"]:
        raise InputError("a grammar is evaluated on a FILE or a --reference, without --targets")
    with watching("evaluating", parameters["quiet"]) as say:
        if parameters["file"] is not None:
            figures |= _on_data(model, _read(parameters, model).up_to(parameters["max_length"]))
        if parameters["reference"] is not None:
            say("comparing with the reference")
            longest = parameters["max_length"] or _ENUMERATED
            figures |= _against(model, _reference(parameters["reference"]), longest)
    print_figures(figures, parameters["as_json"])


def _on_data(model: WeightedGrammar, data: Sentences) -> dict[str, Any]:
    strings = data.strings
    logs = model.log_probability(strings)
    possible = logs[np.isfinite(logs)]
    gaps = strings.n_gaps
    figures: dict[str, Any] = {
        "n_strings": len(strings),
        "log_likelihood": float(logs.mean()),
        "log_likelihood_possible": float(possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
        "perplexity": float(np.exp(-logs.sum() / gaps)),
        "l1": empirical_l1(model, strings),
    }
    if data.brackets is not None:
        found = bracket_score(model.brackets(strings), data.brackets)
        figures |= {
            "bracket_f1": found.f1,
            "bracket_precision": found.precision,
            "bracket_recall": found.recall,
        }
        figures |= {
            f"{name.replace('-', '_')}_f1": score.f1 for name, score in baselines(data.brackets).items()
        }
    return figures


def _against(model: WeightedGrammar, truth: WeightedGrammar, longest: int) -> dict[str, Any]:
    while longest > 1 and len(truth.alphabet) ** longest * max(longest, truth.n_states) > _MOST:
        longest -= 1
    found = grammar_distances(model, truth, longest)
    return {"l1": found.l1, "kl": found.kl, "max_length": longest, "reference_mass": found.mass}


def _reference(path: str) -> WeightedGrammar:
    """A model file, or rules as text: told apart by the first bytes."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(9)
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}", file=path) from None
    if head[8:] == b"{":
        return load_grammar(path)
    rules = read_rules(path)
    return of_rules(rules.grammar, rules.weights)


def score(parameters: Parameters) -> None:
    """The log-probability of each string; -inf where the grammar gives it none, or a negative value."""
    model = load_grammar(parameters["model"])
    with watching("scoring", parameters["quiet"]):
        data = _read(parameters, model)
        logs = model.log_probability(data.strings).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value}\n" for value in data.by_line([repr(log) for log in logs], "-inf"))


def predict(parameters: Parameters) -> None:
    """The binary tree with the most expected constituents of each string, a line each."""
    model = load_grammar(parameters["model"])
    with watching("parsing", parameters["quiet"]):
        data = _read(parameters, model)
        trees = model.brackets(data.strings).trees()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{tree}\n" for tree in data.by_line([str(tree) for tree in trees], ""))


def sample(parameters: Parameters) -> None:
    """Strings, a line each."""
    model = load_grammar(parameters["model"])
    try:
        strings = model.sample(
            parameters["n_strings"], np.random.default_rng(parameters["seed"]), parameters["max_length"]
        )
    except ValueError as problem:
        raise InputError(
            f"{problem}, as with --method em or completion+em", file=parameters["model"]
        ) from None
    with atomic_write(parameters["output"]) as stream:
        write_lines(strings, stream, " ")


def convert(parameters: Parameters) -> None:
    """Rules in classic form, as `learn pcfg --rules` reads them if none is negative."""
    if parameters["target"] != "rules":
        raise InputError("a weighted grammar is written --to rules", file=parameters["model"])
    try:
        grammar, weights = to_rules(load_grammar(parameters["model"]), 1e-12)
    except ValueError as problem:
        raise InputError(str(problem), file=parameters["model"]) from None
    with atomic_write(parameters["output"]) as stream:
        write_rules(grammar, stream, weights)


def show(parameters: Parameters) -> None:
    """What the grammar is, what its strings weigh, and its heaviest rules; --html adds pictures."""
    if parameters["dot"] or parameters["svg"]:
        raise InputError(
            "a weighted grammar is shown as text, with --html or with --json", file=parameters["model"]
        )
    model, learned = load_grammar(parameters["model"]), _learned(parameters["model"])
    facts = facts_of(model)
    if parameters["as_json"]:
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        if parameters["html"]:
            from sigmastar.grammars.demo import grammar_page

            stream.write(grammar_page(model, facts, learned))
            return
        stream.writelines(f"{name:<17}  {value}\n" for name, value in facts.items())
        stream.writelines(f"{weight:<17.6g}  {rule}\n" for rule, weight in heaviest_rules(model))


def facts_of(model: WeightedGrammar) -> dict[str, Any]:
    """Sizes, and masses where they are finite."""
    facts: dict[str, Any] = {
        "family": "grammar",
        "states": model.n_states,
        "words": len(model.alphabet),
        "probabilistic": model.is_probabilistic(1e-6),
    }
    for name, measure in (("total mass", total_mass), ("expected length", expected_length)):
        try:
            facts[name] = round(measure(model), 6)
        except (ValueError, np.linalg.LinAlgError):
            facts[name] = "infinite or not found"
    facts["mass by length"] = ", ".join(f"{mass:.3g}" for mass in length_masses(model, _LENGTHS))
    return facts


def heaviest_rules(model: WeightedGrammar, n_rules: int = _SHOWN) -> list[tuple[Any, float]]:
    try:
        grammar, weights = to_rules(model)
    except ValueError:
        return []
    order = np.argsort(-np.abs(weights), kind="stable")[:n_rules]
    return [(grammar.rules[number], float(weights[number])) for number in order]

"""Commands on probabilistic context-free grammars. Data is trees in brackets, or strings, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.automata.data.lines import write_lines
from sigmastar.automata.data.strings import Strings
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import watching
from sigmastar.core.errors import InputError, ModelFileError, UnknownSymbolError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.text_files import display_name, open_text
from sigmastar.pcfg.data.rules import Grammar, write_rules
from sigmastar.pcfg.estimator import score_data
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import derivation_entropy
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Parameters = Mapping[str, Any]
_SHOWN = 20  # rules


def read_sentences(path: str) -> list[Tree] | list[list[str]]:
    """Trees, if the first line begins with a bracket, else the words of each line."""
    lines = list(open_text(path))
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("("):
        return parse_brackets("\n".join(lines), display_name(path))
    return [line.split() for line in lines]


def load_grammar(path: str) -> ProbabilisticCFG:
    model = load_model(path)
    if not isinstance(model, ProbabilisticCFG):
        raise ModelFileError("is not a probabilistic context-free grammar", file=path)
    return model


def known_sentences(model: ProbabilisticCFG, path: str, unknown: str) -> list[Tree] | list[list[str]]:
    """Sentences of which every word is the grammar's, unless unknown ones may have no probability."""
    sentences = read_sentences(path)
    if unknown == "error":
        for number, sentence in enumerate(sentences, 1):
            words = sentence.words() if isinstance(sentence, Tree) else sentence
            if strange := [word for word in words if word not in model.alphabet]:
                raise UnknownSymbolError(
                    f"sentence {number}: {strange[0]!r} is not a word of the grammar; leave such sentences "
                    "out, or use --unknown zero to give them no probability",
                    file=display_name(path),
                )
    return sentences


def evaluate(parameters: Parameters) -> None:
    """log_loss: the mean of -log p, in nats a sentence."""
    model, path = load_grammar(parameters["model"]), parameters["file"]
    if path is None or parameters["targets"] or parameters["reference"]:
        raise InputError("a grammar is evaluated on a FILE of trees or strings, without other options")
    with watching("evaluating", parameters["quiet"]):
        sentences = known_sentences(model, path, parameters["unknown"])
        if not sentences:
            raise InputError("holds no sentences to evaluate on", file=display_name(path))
        logs = score_data(model, sentences)
    possible = logs[np.isfinite(logs)]
    figures = {
        "n_sentences": len(logs),
        "data": "trees" if isinstance(sentences[0], Tree) else "strings",
        "log_loss": float(-logs.mean()),
        "log_loss_possible": float(-possible.mean()) if len(possible) else None,
        "n_impossible": int(len(logs) - len(possible)),
    }
    print_figures(figures, parameters["as_json"])


def score(parameters: Parameters) -> None:
    """The log-probability of each tree or string."""
    model = load_grammar(parameters["model"])
    with watching("scoring", parameters["quiet"]):
        logs = score_data(model, known_sentences(model, parameters["file"], parameters["unknown"])).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def predict(parameters: Parameters) -> None:
    """The best tree of each string, a line each; an empty line where there is none."""
    model = load_grammar(parameters["model"])
    with watching("parsing", parameters["quiet"]):
        sentences = known_sentences(model, parameters["file"], parameters["unknown"])
        words = [list(s.words()) if isinstance(s, Tree) else s for s in sentences]
        trees = model.best_trees(Strings.of(words, alphabet=model.alphabet, allow_unknown=True))
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{'' if tree is None else tree}\n" for tree in trees)


def sample(parameters: Parameters) -> None:
    """Strings, a line each."""
    model = load_grammar(parameters["model"])
    strings = model.sample(
        parameters["n_strings"], np.random.default_rng(parameters["seed"]), parameters["max_length"]
    )
    with atomic_write(parameters["output"]) as stream:
        write_lines(strings, stream, " ")


def convert(parameters: Parameters) -> None:
    """Rules with their probabilities, those of the start symbol first, as `learn pcfg --rules` reads them."""
    if parameters["target"] != "rules":
        raise InputError("a grammar is written --to rules", file=parameters["model"])
    model = load_grammar(parameters["model"])
    rules, start = model.grammar.rules, model.grammar.start
    order = sorted(range(len(rules)), key=lambda number: rules[number].left != start)
    grammar = Grammar.of([rules[number] for number in order], start)
    with atomic_write(parameters["output"]) as stream:
        write_rules(grammar, stream, model.parameters[order])


def show(parameters: Parameters) -> None:
    """What the grammar is, and its most probable rules; as JSON its size and how it was learned."""
    model, header = load_grammar(parameters["model"]), read_header(parameters["model"])
    if parameters["dot"] or parameters["html"]:
        raise InputError("a grammar is shown as text or with --json", file=parameters["model"])
    system = model.events
    facts = {
        "family": "pcfg",
        "start": model.grammar.start,
        "nonterminals": len(model.grammar.nonterminals),
        "words": len(model.alphabet),
        "rules": system.n_events,
        "degree": system.degree,
        "parameters": system.n_parameters,
        "entropy": derivation_entropy(model),
        "learned": header["learned"],
    }
    if parameters["as_json"]:
        print_figures(facts, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in facts.items() if name != "learned")
        best = np.argsort(-model.parameters, kind="stable")[:_SHOWN]
        stream.writelines(f"{model.parameters[rule]:<12.6g}  {model.grammar.rules[rule]}\n" for rule in best)

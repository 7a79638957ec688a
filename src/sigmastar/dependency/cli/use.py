"""What the commands do with dependency parsers: CoNLL-U in, CoNLL-U out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.intervals import Estimate
from sigmastar.core.model_files import load_model, read_header
from sigmastar.dependency.data.conllu import format_conllu, format_dp, read_treebank
from sigmastar.dependency.data.sequences import DIRECTIONS, ROOT, head_sorts
from sigmastar.dependency.learn.dfa import approximate_dfa
from sigmastar.dependency.metrics import attachment
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.dependency.model.sampling import sample_trees

Parameters = Mapping[str, Any]

_DRAWN = 2000  # sequences that a drawing is made from


def evaluate(parameters: Parameters) -> None:
    """UAS with and without punctuation, and LAS."""
    if parameters["file"] is None:
        raise click.UsageError("give a treebank to measure on")
    parser = _parser(parameters)
    with watching("parsing", parameters["quiet"]):
        gold = read_treebank(parameters["file"])
        parse = parser.parse(gold)
        found = gold.with_heads(parse.heads, parser.label(gold, parse.heads))
        scores = attachment(gold, found, np.random.default_rng(0))
    figures: dict[str, Any] = {"n_sentences": len(gold), "n_words": scores.n_words}
    for name, estimate in (
        ("uas", scores.uas),
        ("uas_no_punct", scores.uas_no_punct),
        ("las", scores.las if parser.label_weights is not None else None),
    ):
        figures |= _with_interval(name, estimate)
    print_figures({**figures, "n_fallback": parse.n_fallback}, parameters["as_json"])


def predict(parameters: Parameters) -> None:
    """The treebank with the heads and labels found, in the format it came in."""
    parser, quiet, output = _parser(parameters), parameters["quiet"], parameters["output"]
    with watching("parsing", quiet):
        treebank = read_treebank(parameters["file"], need_heads=False)
        parse = parser.parse(treebank)
        found = treebank.with_heads(parse.heads, parser.label(treebank, parse.heads))
    written = format_dp(found) if _is_dp(parameters["file"]) else format_conllu(found)
    with atomic_write(output) as stream:
        stream.writelines(f"{line}\n" for line in written)
    if parse.n_fallback:
        tell(f"{parse.n_fallback} sentences were parsed by the deterministic automata", quiet)


def score(parameters: Parameters) -> None:
    """log P(sentence and tree) under the automata; of the sentence alone where heads are missing."""
    parser, quiet, output = _parser(parameters), parameters["quiet"], parameters["output"]
    with watching("scoring", quiet):
        treebank = read_treebank(parameters["file"], need_heads=False)
        plain = parser.with_parts(arc_weights=None, distances=None, pruning=0.0, decoding="mbr")
        logs = (
            parser.log_probability(treebank) if treebank.has_heads else plain.parse(treebank).log_weights
        ).tolist()
    with atomic_write(output) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def sample(parameters: Parameters) -> None:
    """Trees over tags, as CoNLL-U."""
    parser, quiet, output = _parser(parameters), parameters["quiet"], parameters["output"]
    _require_no_words(parser)
    with watching("sampling", quiet):
        rng, longest = np.random.default_rng(parameters["seed"]), min(parameters["max_length"], 1000)
        trees = sample_trees(parser.automata, parameters["n_strings"], rng, longest)
    with atomic_write(output) as stream:
        stream.writelines(f"{line}\n" for line in format_conllu(trees))


def show(parameters: Parameters) -> None:
    """What a parser is; with --head and --dot the automaton of one head."""
    parser, header, output = _parser(parameters), read_header(parameters["model"]), parameters["output"]
    if parameters["html"]:
        raise click.UsageError("--html is for models of strings")
    if parameters["dot"]:
        _require_no_words(parser)
        sort = _sort(parser, parameters["head"], parameters["direction"])
        name = f"{parameters['head']} {parameters['direction']}"
        with atomic_write(output) as stream:
            stream.write(_drawn(parser.automata.automaton(sort), name))
        return
    facts = {
        "file": parameters["model"],
        "family": "dependency",
        "symbols": f"{parser.vocabulary.symbols}: {len(parser.alphabet)}",
        "automata": f"{parser.automata.n_sorts} of at most {int(parser.automata.n_states.max())} states",
        "counted": "" if parser.counted is None else parser.counted.states,
        "arcs": "trained" if parser.arc_weights is not None else "",
        "words": str(len(parser.vocabulary.words) or ""),
        "labels": str(len(parser.labels) or ""),
        "method": str(header["learned"].get("method", "")),
    }
    said = {name: value for name, value in facts.items() if value}
    if parameters["as_json"]:
        print_figures({**said, "learned": header["learned"]}, as_json=True)
        return
    with atomic_write(output) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in said.items())


def _drawn(automaton: WeightedAutomaton, name: str) -> str:
    """The deterministic approximation, on sequences that the automaton itself draws."""
    strings = automaton.sample(_DRAWN, np.random.default_rng(0), 50)
    return approximate_dfa(automaton, strings, np.ones(len(strings))).to_dot(name)


def _parser(parameters: Parameters) -> DependencyParser:
    parser: DependencyParser = load_model(parameters["model"], "dependency")
    return parser


def _require_no_words(parser: DependencyParser) -> None:
    """Automata that words are multiplied into are half a grammar, or none: nothing can be drawn from them."""
    if parser.counted is not None:
        raise InputError(f"a parser with words counted ({parser.counted.states}) cannot be drawn from")


def _sort(parser: DependencyParser, head: str | None, direction: str) -> int:
    if head is None:
        raise click.UsageError("--dot of a dependency grammar needs --head, and --direction left or right")
    names = head_sorts(parser.alphabet)
    wanted = (head, DIRECTIONS[1] if head == ROOT else direction)
    if wanted not in names:
        raise InputError(f"there is no head {head!r}; heads are {' '.join(map(str, parser.alphabet))} {ROOT}")
    return names.index(wanted)


def _is_dp(file: str) -> bool:
    return os.fspath(file).removesuffix(".gz").removesuffix(".zst").endswith(".dp")


def _with_interval(name: str, estimate: Estimate | None) -> dict[str, Any]:
    if estimate is None:
        return {name: None}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}

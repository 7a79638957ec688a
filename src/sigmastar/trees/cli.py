"""Commands on tree automata and latent PCFGs: trees in brackets, one per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from sigmastar.core.alphabet import rank_name
from sigmastar.core.atomic import write_lines
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, method_option, parameter
from sigmastar.core.cli.options import (
    auto_or_number,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
)
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import counted, watching
from sigmastar.core.text_files import described_file, display_name
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.productions import TOP
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.estimator import NODES, SpectralLatentPCFG, SpectralTreeAutomaton
from sigmastar.trees.learn import AUTO_STATES
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG

METHODS = {
    "spectral": Method(SpectralTreeAutomaton, ("n_states", "n_outsides", "n_insides", "height")),
    "latent-pcfg": Method(SpectralLatentPCFG, ("n_states", "nodes")),
}
_AUTOMATON, _GRAMMAR = METHODS.values()
_COUNT = click.IntRange(1)


@click.command()
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@method_option(METHODS, "spectral")
@parameter(
    "n_states",
    "--states",
    _AUTOMATON,
    _GRAMMAR,
    type=auto_or_number,
    metavar="N|auto",
    help="Number of states; auto, for spectral: at most 5, fewer where the counts have a lower rank.",
)
@parameter(
    "n_outsides", "--outsides", _AUTOMATON, type=_COUNT, metavar="N", help="Number of contexts counted."
)
@parameter("n_insides", "--insides", _AUTOMATON, type=_COUNT, metavar="N", help="Number of subtrees counted.")
@parameter("height", "--height", _AUTOMATON, type=_COUNT, metavar="N", help="Largest height of a context.")
@parameter("nodes", "--nodes", _GRAMMAR, type=click.Choice(list(NODES)), help="Nodes that are counted.")
@learn_options
def learn_trees(files: tuple[str, ...], method: str, **options: Any) -> None:
    """Learn a model of trees from FILES of brackets, with any number of children per node.

    spectral: a weighted tree automaton from counts of contexts and subtrees; nodes with k children cost
    states^(k + 1) numbers per label, so trees with many should be binarized. latent-pcfg: a latent-variable
    PCFG by the method of Cohen et al. 2012, from binary trees over tagged words, with so many states per
    non-terminal.
    """
    given = {name: options.pop(name) for name in ("n_states", "n_outsides", "n_insides", "height", "nodes")}

    def work(estimator: Any, say: Any) -> Learned:
        trees = [tree for file in files for tree in _trees(file)]
        say("learning")
        estimator.fit(trees)
        data = {"files": [described_file(file) for file in files], "n_trees": len(trees)}
        n_states = estimator.model_.n_states
        is_fewer = estimator.n_states == "auto" and n_states < AUTO_STATES
        why = f", all that the counts have rank for (at most {AUTO_STATES})" if is_fewer else ""
        return Learned(data, f"{counted(n_states, 'state')}{why}, from {counted(len(trees), 'tree')}")

    learn(built(METHODS, method, given), method, work, **options)


@click.command()
@model_argument
@click.argument("file")
@json_option
@quiet_option
def evaluate(model: str, file: str, as_json: bool, quiet: bool) -> None:
    """Mean log-probability of the trees in FILE, and how many of them have none."""
    with watching("scoring", quiet):
        logs = load_model(model).log_probability(_trees(file))
    finite = np.isfinite(logs)
    mean = float(logs[finite].mean()) if finite.any() else float("-inf")
    figures = {"n_trees": len(logs), "n_without_probability": int((~finite).sum()), "log_probability": mean}
    print_figures(figures, as_json)


@click.command()
@model_argument
@click.argument("file")
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """The natural log-probability of each tree in FILE, one per line."""
    with watching("scoring", quiet):
        logs = load_model(model).log_probability(read_brackets(file)).tolist()
    write_lines(output, map(repr, logs))


@click.command()
@sample_options("trees", "Largest number of words per tree, for automata of nodes.")
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Trees drawn from MODEL, one per line; larger ones than --max-length are drawn again."""
    with watching("sampling", quiet):
        trees = load_model(model).sample(n_samples, np.random.default_rng(seed), max_length)
    write_lines(output, map(str, trees))


@click.command()
@model_argument
@json_option
@output_option
def show(model: str, as_json: bool, output: str) -> None:
    """The kind and size of MODEL, and how it was learned."""
    found, header = load_model(model), read_header(model)
    automaton = found.automaton if isinstance(found, LatentPCFG) else found
    facts: dict[str, Any] = {"file": model, "family": header["family"], "states": found.n_states}
    if isinstance(found, LatentPCFG):
        facts["symbols"] = len(found.symbols)
    names = ["leaves", *(rank_name(rank) for rank in range(1, len(automaton.alphabet.ranks)))]
    facts |= dict(zip(names, map(len, automaton.alphabet.ranks), strict=True))
    print_figures({**facts, "learned": header["learned"]} if as_json else facts, as_json, output)


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["rules"]), required=True, help="Format to write.")
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Rules of MODEL with their weights, a symbol per state, the start TOP first; read_rules reads them.

    Of a latent PCFG `NP_0 -> DT_1 NN_0 0.3`. The rules of a tree automaton are `q0 -> "f" q1 q2 0.3`: their
    strings are its trees with each label before its children. Weights are as learned, and may be negative.
    """
    found = load_model(model)
    write_lines(output, _pcfg_rules(found) if isinstance(found, LatentPCFG) else _node_rules(found))


def _pcfg_rules(grammar: LatentPCFG) -> Iterator[str]:
    for root, row in zip(grammar.roots, grammar.top, strict=True):
        yield from (f"{TOP} -> {root}_{x} {weight!r}" for x, weight in enumerate(row.tolist()) if weight)
    for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True):
        for x, y, z in np.argwhere(tensor).tolist():
            yield f"{a}_{x} -> {b}_{y} {c}_{z} {float(tensor[x, y, z])!r}"
    for (tag, word), row in zip(grammar.lexical, grammar.leaf, strict=True):
        yield from (
            f"{tag}_{x} -> {_quoted(word)} {weight!r}" for x, weight in enumerate(row.tolist()) if weight
        )


def _node_rules(automaton: TreeAutomaton) -> Iterator[str]:
    yield from (f"{TOP} -> q{x} {weight!r}" for x, weight in enumerate(automaton.root.tolist()) if weight)
    for labels, arrays in zip(automaton.alphabet.ranks, automaton.by_rank, strict=True):
        for label, array in zip(labels, arrays, strict=True):
            for x, *children in np.argwhere(array).tolist():
                right = " ".join([_quoted(str(label)), *(f"q{child}" for child in children)])
                yield f"q{x} -> {right} {float(array[(x, *children)])!r}"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _trees(file: str) -> list[Tree]:
    trees = read_brackets(file)
    if not trees:
        raise InputError("holds no trees; one looks like (f (g a b) c)", file=display_name(file))
    return trees

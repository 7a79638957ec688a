"""Commands on tree automata and latent PCFGs: trees in brackets, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import watching
from sigmastar.core.model_files import load_model, read_header
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG

Parameters = Mapping[str, Any]


def score(parameters: Parameters) -> None:
    """The log-probability of each tree."""
    model = _model(parameters)
    with watching("scoring", parameters["quiet"]):
        logs = model.log_probability(read_brackets(parameters["file"])).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def sample(parameters: Parameters) -> None:
    """Trees, a line each; those with more words, or for an automaton nodes, than --max-length come not."""
    model, rng = _model(parameters), np.random.default_rng(parameters["seed"])
    with watching("sampling", parameters["quiet"]):
        trees = model.sample(parameters["n_strings"], rng, parameters["max_length"])
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{tree}\n" for tree in trees)


def show(parameters: Parameters) -> None:
    """What a model is."""
    if parameters["dot"] or parameters["html"] or parameters["svg"]:
        raise click.UsageError("a model of trees is shown as text or with --json")
    model, header = _model(parameters), read_header(parameters["model"])
    automaton = model.automaton if isinstance(model, LatentPCFG) else model
    facts = {
        "file": parameters["model"],
        "family": header["family"],
        "states": automaton.n_states,
        "leaves": len(automaton.alphabet.leaves),
        "unary": len(automaton.alphabet.unary),
        "binary": len(automaton.alphabet.binary),
    }
    if parameters["as_json"]:
        print_figures({**facts, "learned": header["learned"]}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in facts.items())


def _model(parameters: Parameters) -> TreeAutomaton | LatentPCFG:
    model: TreeAutomaton | LatentPCFG = load_model(parameters["model"])
    return model

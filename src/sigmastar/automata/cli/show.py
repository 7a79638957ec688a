"""`sigmastar show`: what a model is, in words, as a graph, or as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click
import numpy as np

from sigmastar.automata.cli.inputs import Loaded, load
from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.draw.plots import plot_spectrum
from sigmastar.automata.model.diagnosis import Diagnosis, diagnose
from sigmastar.automata.model.dot import write_dot
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import json_option, model_argument, output_option
from sigmastar.core.cli.printing import to_json
from sigmastar.core.figures import MissingMatplotlibError, to_svg
from sigmastar.core.page import Part, Picture, Section, Table, Text, render
from sigmastar.core.progress import counted

_SHOWN, _LONG_NAME = 12, 40  # symbols named, and characters of each
_CELLS = 2_000_000  # next-symbol weights that the diagnosis looks at
_DRAWN, _LONGEST = 200, 1000  # strings that the diagnosis is made on


@click.command()
@model_argument
@click.option("--dot", is_flag=True, help="The automaton as Graphviz text.")
@click.option("--html", is_flag=True, help="A page with the automaton and the choice of its states.")
@json_option
@output_option
def show(model: str, dot: bool, html: bool, as_json: bool, output: str) -> None:
    """What MODEL is, how it was learned, and how far it is from a distribution."""
    if dot + html + as_json > 1:
        raise click.UsageError("give one of --dot, --html and --json")
    loaded = load(model)
    with atomic_write(output) as stream:
        if dot:
            write_dot(loaded.require_automaton(), stream)
        elif html:
            stream.write(page(loaded))
        elif as_json:
            stream.write(to_json(figures(loaded)) + "\n")
        else:
            stream.writelines(f"{name:<12}  {value}\n" for name, value in facts(loaded).items())


@click.command("show")
@model_argument
@click.option("--dot", is_flag=True, help="The automaton as Graphviz text.")
@json_option
@output_option
def show_without_page(model: str, dot: bool, as_json: bool, output: str) -> None:
    """What MODEL is, and how it was learned."""
    assert show.callback is not None
    show.callback(model=model, dot=dot, html=False, as_json=as_json, output=output)


def figures(loaded: Loaded) -> dict[str, Any]:
    """What is known of a model, as numbers and lists."""
    model, automaton = loaded.model, loaded.automaton
    found: dict[str, Any] = {
        "file": loaded.path,
        "family": loaded.header["family"],
        "n_symbols": len(model.alphabet),
        "symbols": list(model.alphabet),
    }
    if isinstance(model, NgramModel):
        found |= {"n_contexts": model.contexts.n_classes, "longest_context": int(model.contexts.depth.max())}
    if (n_states := getattr(automaton or model, "n_states", None)) is not None:
        found["n_states"] = n_states
    if (diagnosis := diagnosed(loaded)) is not None:
        found["diagnosis"] = asdict(diagnosis)
    return {**found, "learned": loaded.learned}


def facts(loaded: Loaded) -> dict[str, str]:
    """What is known of a model, as text, in the order of the page."""
    known = {
        "file": loaded.path,
        "family": str(loaded.header["family"]),
        "size": _size(loaded),
        "alphabet": _symbols(loaded),
        **_learned(loaded.learned),
    }
    diagnosis = diagnosed(loaded)
    if diagnosis is not None:
        known["automaton"] = str(diagnosis)
    return {name: value for name, value in known.items() if value}


def diagnosed(loaded: Loaded) -> Diagnosis | None:
    """On strings drawn from the model itself, no more than are looked at in a moment."""
    automaton = loaded.automaton
    if automaton is None:
        return None
    drawn = loaded.model.sample(_DRAWN, np.random.default_rng(0), _LONGEST)
    cells = np.cumsum((drawn.lengths + 1) * (len(drawn.alphabet) + 1))
    return diagnose(automaton, drawn.select(np.arange(max(1, int(np.searchsorted(cells, _CELLS))))))


def _size(loaded: Loaded) -> str:
    if isinstance(loaded.model, NgramModel):
        depth = int(loaded.model.contexts.depth.max())
        return (
            f"{loaded.model.contexts.n_classes} contexts of up to {depth} symbols, the start counted as one"
        )
    n_states = getattr(loaded.automaton or loaded.model, "n_states", None)
    if n_states is None:
        return ""
    rank = loaded.learned.get("rank")
    chosen = rank.get("chosen") if isinstance(rank, Mapping) else None
    size = counted(n_states, "state")
    if loaded.learned.get("method") != "auto" or not isinstance(chosen, int) or n_states <= chosen:
        return size
    return f"{size}: a mixture of automata, the best of {counted(chosen, 'state')}"


def _cut(name: str) -> str:
    return name if len(name) <= _LONG_NAME else f"{name[:_LONG_NAME]}.."


def _symbols(loaded: Loaded) -> str:
    alphabet = loaded.model.alphabet
    names = " ".join(_cut(str(symbol)) for symbol in alphabet.symbols[:_SHOWN])
    return f"{counted(len(alphabet), 'symbol')}: {names}{' ..' if len(alphabet) > _SHOWN else ''}"


def _learned(learned: Mapping[str, Any]) -> dict[str, str]:
    """How it was learned, as far as the file holds it."""
    data = learned.get("data")
    known = {
        "method": learned.get("method"),
        "settings": _listed(learned.get("settings")),
        "seed": learned.get("seed"),
        "data": _data(data) if isinstance(data, Mapping) else None,
        "sha256": data.get("sha256") if isinstance(data, Mapping) else None,
        "held-out": _held_out(learned.get("held_out_score")),
        "states": _choice(learned.get("rank")),
        "sigmastar": learned.get("sigmastar"),
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}


def _listed(settings: object) -> str:
    return (
        ", ".join(f"{name} {value}" for name, value in settings.items())
        if isinstance(settings, Mapping)
        else ""
    )


def _data(data: Mapping[str, Any]) -> str:
    asked = [f"answers of {data['source']}"] if "source" in data else []
    if "n_strings" not in data:
        return ", ".join(asked)
    names = ", ".join(str(file.get("name")) for file in data.get("files", []))
    return ", ".join([*asked, f"{data['n_strings']} strings, {data.get('n_symbols')} symbols, of {names}"])


def _held_out(score: object) -> str:
    return f"log-likelihood {score:.6g} per string" if isinstance(score, float) else ""


def _choice(rank: object) -> str:
    if not isinstance(rank, Mapping):
        return ""
    values, noise = rank["singular_values"], rank["noise_level"]
    known = f"{rank['chosen']}, {rank['reason']}"
    if noise is None:
        return known
    return f"{known}; {sum(v > noise for v in values)} of {len(values)} singular values are above the noise"


def page(loaded: Loaded) -> str:
    """One HTML page: the facts, the spectrum, the graph."""
    known = facts(loaded)
    parts: list[Part] = [Table("The model", ("", ""), list(known.items()))]
    rank, automaton = loaded.learned.get("rank"), loaded.automaton
    if isinstance(rank, Mapping):
        parts.append(_spectrum(rank))
    if automaton is not None:
        caption = f"The automaton, {automaton.n_states} states: the heaviest moves. Rings: where strings end."
        parts.append(Picture(draw_automaton(automaton), caption, f"Graph: {caption}"))
    parts += _explained(loaded.learned)
    origin = {"Data (SHA-256)": known.get("sha256", ""), "Seed": known.get("seed", "")}
    title = f"{loaded.header['family']}: {loaded.path}"
    return render(title, [Section("Model", parts)], {name: value for name, value in origin.items() if value})


def _explained(learned: Mapping[str, Any]) -> list[Part]:
    """What a stand-in holds of its states, and of where it fails."""
    states, worst = learned.get("states_explained"), learned.get("worst_strings")
    parts: list[Part] = []
    if states:
        parts.append(Table("The states", ("state", "share", "typical prefixes", "what follows"), states))
    if worst:  # strings may be wider than the page: figures come first
        rows = [(parting, string) for string, parting in worst]
        parts.append(
            Table("Where it is farthest from the black box", ("millinats per symbol", "string"), rows)
        )
    return parts


def _spectrum(rank: Mapping[str, Any]) -> Part:
    try:
        figure = plot_spectrum(
            np.array(rank["singular_values"]),
            rank["noise_level"],
            rank["chosen"],
            rank["candidates"],
            rank["scores"],
        )
    except MissingMatplotlibError as problem:
        return Text(f"The spectrum is left out: {problem}.")
    caption = (
        f"Singular values, the level of noise, and held-out scores; {rank['chosen']} states were chosen."
    )
    return Picture(to_svg(figure), caption, caption)

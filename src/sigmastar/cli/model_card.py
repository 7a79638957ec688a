"""`sigmastar show MODEL --markdown`, `--config`, `--html`: a model for readers, and for a further run.

A card is Markdown in the manner of model hubs: what the model is, how and from what it was learned, what was
measured, and how to use it. All of it stands in the header of the file; what a model is for, and where it
should not be used, is for people to write.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from sigmastar import __version__
from sigmastar.cli import model_page
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import KEY, as_toml
from sigmastar.core.errors import InputError
from sigmastar.core.family import families
from sigmastar.core.model_reading import read_header

_KNOWN = {"method", "estimator", "seed", "settings", "layout", "data", "sigmastar", KEY}
_FORMS = ("as_json", "html", "dot", "weights")
_LONG = 80  # characters of a value in a table
_USES = {
    "predict": "sigmastar predict {name} FILE",
    "score": "sigmastar score {name} FILE",
    "evaluate": "sigmastar evaluate {name} FILE",
    "sample": "sigmastar sample {name}",
}


def with_card(command: click.Command, model: str) -> click.Command:
    """The `show` of a family with the options that all families have."""
    shown, inner = copy.copy(command), command.callback
    assert inner is not None
    is_plain = not any(parameter.name == "html" for parameter in command.params)
    page = click.Option(["--html", "as_page"], is_flag=True, help="Page with what the explorer shows.")
    shown.params = [
        *command.params,
        *([page] if is_plain else []),
        click.Option(["--markdown"], is_flag=True, help="A model card in Markdown."),
        click.Option(
            ["--config", "as_config"], is_flag=True, help="Options of the call that learned MODEL, as TOML."
        ),
    ]

    def callback(markdown: bool, as_config: bool, as_page: bool = False, **options: Any) -> Any:
        if not (markdown or as_config or as_page):
            return inner(**options)
        flags = [markdown, as_config, as_page, *(options.get(flag) is True for flag in _FORMS)]
        if sum(flags) > 1:
            raise click.UsageError("give one of --markdown, --config, --html, --json and --dot")
        with atomic_write(options["output"]) as stream:
            if as_page:
                stream.write(model_page.page(model))
            else:
                stream.write(
                    as_toml(_learned(model), model) if as_config else card(model, _plainly(inner, options))
                )
        return None

    shown.callback = callback
    return shown


def _learned(model: str) -> Mapping[str, Any]:
    learned = read_header(model)["learned"]
    return learned if isinstance(learned, Mapping) else {}


def _plainly(show: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """What `show` prints without options."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show(**{**options, "output": "-"})
    return printed.getvalue()


def card(model: str, facts: str) -> str:
    """A model card.

    Parameters
    ----------
    model : str
        The model file.
    facts : str
        What the family says of it, lines of names and values.
    """
    kind, learned, name = str(read_header(model)["family"]), _learned(model), Path(model).name
    family = next((family for family in families().values() if kind in family.kinds), None)
    commands = family.kinds[kind].commands if family else {}
    about = f" ({family.summary[:1].lower()}{family.summary[1:].rstrip('.')})" if family else ""
    data = learned.get("data") if isinstance(learned.get("data"), Mapping) else {}
    assert isinstance(data, Mapping)
    settings = learned.get("settings") if isinstance(learned.get("settings"), Mapping) else {}
    run = {key: learned.get(key) for key in ("method", "estimator", "seed", "sigmastar")}
    files = [(file.get("name"), file.get("sha256", "")) for file in data.get("files", ())]
    counts = {key: value for key, value in data.items() if key not in ("files", "sha256")}
    found = {key: value for key, value in learned.items() if key not in _KNOWN and _is_short(value)}
    parts = [
        f"---\nlibrary_name: sigmastar\ntags:\n- sigmastar\n- {kind}\n---\n",
        f"# {Path(model).stem}\n",
        f"A model of kind `{kind}`{about}, made with Sigmastar {learned.get('sigmastar', __version__)}.\n",
        "What it is for, whose data it was learned from, and where it should not be used: to be written.\n",
        f"## The model\n\n```text\n{facts.rstrip()}\n```\n",
        _table("## How it was learned", ("", ""), {**run, **dict(settings or {})}.items()),
        _table("## Data", ("file", "SHA-256"), files),
        _table("### How much", ("", ""), counts.items()),
        _table("## Found while learning", ("", ""), found.items()),
        _use(name, [line for command, line in _USES.items() if command in commands]),
        _again(learned, name),
    ]
    return "\n".join(part for part in parts if part)


def _is_short(value: object) -> bool:
    return isinstance(value, (str, int, float, bool)) and len(str(value)) <= _LONG


def _table(title: str, head: tuple[str, str], rows: Iterable[tuple[Any, Any]]) -> str:
    shown = [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows if value is not None]
    if not shown:
        return ""
    return "\n".join([f"{title}\n", f"| {head[0]} | {head[1]} |", "| --- | --- |", *shown, ""])


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= _LONG else f"{text[:_LONG]}.."


def _use(name: str, lines: list[str]) -> str:
    shell = "\n".join(line.format(name=name) for line in lines)
    python = f'import sigmastar\n\nmodel = sigmastar.load("{name}")'
    return f"## Use\n\n```sh\n{shell}\n```\n\n```python\n{python}\n```\n"


def _again(learned: Mapping[str, Any], name: str) -> str:
    try:
        return f"## Learned by\n\n```toml\n{as_toml(learned, name)}```\n"
    except InputError:  # in Python
        return ""

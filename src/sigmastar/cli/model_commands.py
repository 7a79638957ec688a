"""Commands on a model file: what they do, and which options they have, is up to the family of the model.

    sigmastar predict MODEL ..    ->    the header of MODEL names its kind    ->    what the family does

So options that a family does not know are refused, and `sigmastar predict MODEL --help` lists those it knows.
"""

from __future__ import annotations

import copy
import inspect
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from sigmastar.cli.group import ON_MODELS
from sigmastar.core.atomic import atomic_write_bytes, refuse_terminal
from sigmastar.core.cli.options import model_argument, output_option, verify_key_option
from sigmastar.core.cli.reading import reads_data
from sigmastar.core.errors import ModelFileError
from sigmastar.core.family import commands_of, load
from sigmastar.core.model_files import kind_of, read_arrays, read_header, to_json

_ABOUT = """{summary}

The options are those of the family that MODEL belongs to:
`sigmastar {name} MODEL --help` lists them. MODEL may be of kind {kinds}."""


NPZ = "npz"
_ON_DATA = ("evaluate", "score", "predict")


class ModelCommand(click.Command):
    """A command that becomes the command of its model's family as soon as the model is known."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        model = _model_among(args)
        if model is None:
            return super().make_context(info_name, args, parent, **extra)
        context = _with_key(self.of_model(model)).make_context(info_name, args, parent, **extra)
        first = context.params.get("model", model)
        if first != model and _is_model(model) and not _is_model(first):
            raise click.UsageError(f"{model} is the model, not {first}: the model comes first", context)
        return context

    def of_model(self, path: str) -> click.Command:
        """What the family of a model file does under this command."""
        kind = kind_of(path)
        places = dict(commands_of(str(self.name)))
        if self.name == "convert":
            return with_arrays(load(places[kind]) if kind in places else None, path)
        if kind not in places:
            raise click.UsageError(
                f"there is no {self.name} for models of kind {kind!r}; it is for {', '.join(places)}"
            )
        found = load(places[kind])
        assert isinstance(found, click.Command)
        if self.name == "show":
            from sigmastar.cli.model_card import with_card  # most calls show nothing

            return with_card(found, path)
        return reads_data(found) if self.name in _ON_DATA else found

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        kinds = ", ".join(kind for kind, _ in commands_of(str(self.name)))
        self.help = _ABOUT.format(summary=ON_MODELS[str(self.name)].summary, name=self.name, kinds=kinds)
        super().format_help_text(ctx, formatter)


def with_arrays(command: click.Command | None, model: str) -> click.Command:
    """The `convert` of a family with a format that all models have: their arrays for NumPy."""
    if command is None:
        command = click.Command("convert", params=[], callback=None, help="Write the arrays of MODEL.")
        for decorate in (model_argument, output_option, click.option("--to", "target", required=True)):
            decorate(command)
    found, inner = copy.copy(command), command.callback
    (to,) = (option for option in command.params if "--to" in option.opts)
    chosen = copy.copy(to)
    chosen.type = click.Choice([*getattr(to.type, "choices", ()), NPZ])
    found.params = [chosen if option is to else option for option in command.params]
    about = f"{NPZ} holds the arrays of the file, and its header as JSON, for numpy.load."
    found.help = f"{inspect.cleandoc(command.help or '')}\n\n{about}"

    def callback(**options: Any) -> Any:
        if options[str(to.name)] != NPZ:
            assert inner is not None
            return inner(**options)
        refuse_terminal(options["output"])
        opened, arrays = read_arrays(model)
        content = io.BytesIO()
        parts: dict[str, Any] = {**arrays, "header": np.array(to_json(opened.header))}
        np.savez(content, **parts)
        atomic_write_bytes(options["output"], content.getvalue())
        return None

    found.callback = callback
    return found


def _with_key(command: click.Command) -> click.Command:
    """The command with an option more, which all commands on models have."""
    keyed = copy.copy(command)
    keyed.params = [*command.params]
    return verify_key_option(keyed)


def _model_among(args: Sequence[str]) -> str | None:
    """The model file among the words of a call: the first that is one, else the first that could be.

    Values of options may stand before it, and only the family of the model knows which options have values.
    """
    words = list(_positional(args))
    return next((word for word in words if _is_model(word)), words[0] if words else None)


def _positional(args: Sequence[str]) -> Iterator[str]:
    for number, word in enumerate(args):
        if word == "--":
            yield from args[number + 1 :]
            return
        if not word.startswith("-") or word == "-":
            yield word


def _is_model(word: str) -> bool:
    if not os.path.isfile(word):
        return False
    try:
        read_header(word)
    except ModelFileError:
        return False
    return True


def _command(name: str) -> ModelCommand:
    argument = click.Argument(["model"], metavar="MODEL")
    return ModelCommand(name, params=[argument], help=ON_MODELS[name].summary)


evaluate, score, predict, sample = map(_command, ("evaluate", "score", "predict", "sample"))
show, convert, compare, minimize = map(_command, ("show", "convert", "compare", "minimize"))

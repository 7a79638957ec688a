"""`sigmastar convert MODEL --to npz`: the arrays of a model of any family, for NumPy."""

from __future__ import annotations

import copy
import inspect
import io
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write_bytes, refuse_terminal
from sigmastar.core.cli.options import model_argument, output_option
from sigmastar.core.model_reading import read_arrays, to_json

NPZ = "npz"


def with_arrays(command: click.Command | None, model: str) -> click.Command:
    """The `convert` of a family with a format that all models have: their arrays for NumPy."""
    if command is None:
        command = click.Command("convert", params=[], callback=None, help="Write the arrays of MODEL.")
        for decorate in (
            model_argument,
            output_option,
            click.option("--to", "target", required=True, help="Format of the file."),
        ):
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

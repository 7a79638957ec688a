"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

FORMATS = ("lines", "pautomac", "spice", "columns", "conllu")


def auto_or_number(value: str | int) -> int | str:
    """The type of an option: `auto`, or a whole number above zero."""
    if value == "auto":
        return "auto"
    if not str(value).isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} is neither 'auto' nor a whole number above 0")
    return int(value)


model_argument = click.argument("model", metavar="MODEL")
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all chance."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No progress bar, no messages.")
threads_option = click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True, help="Treebank parsers: to work with."
)
output_option = click.option(
    "--output", "-o", default="-", metavar="FILE", help="Where to write; standard output if left out."
)


def data_options(function: Function) -> Function:
    """How a file of strings is read."""
    return reduce(
        lambda wrapped, option: option(wrapped),
        [
            click.option(
                "--separator", metavar="TEXT", help="What stands between symbols; blanks if left out."
            ),
            click.option("--characters", is_flag=True, default=None, help="Every character is a symbol."),
            click.option(
                "--format",
                "file_format",
                type=click.Choice(FORMATS),
                help="Of the data; as the model's, or lines. Columns and conllu are for taggers.",
            ),
        ],
        function,
    )


def unknown_option(function: Function) -> Function:
    return click.option(
        "--unknown",
        type=click.Choice(["error", "zero"]),
        default="error",
        show_default=True,
        help="A symbol that the model does not know: an error, or of no probability.",
    )(function)

"""Options that commands share, and the options of a model as a file for `--config` (`core.cli.learning`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeVar

import click

from sigmastar.core.errors import InputError
from sigmastar.core.resources import parsed_size

Function = TypeVar("Function", bound=Callable[..., Any])

KEY = "call"
"""Where the header of a model has its configuration, below `learned`."""


def auto_or_number(value: str | int) -> int | str:
    """The type of an option: `auto`, or a whole number above zero."""
    if value == "auto":
        return "auto"
    if not str(value).isdecimal() or len(str(value)) > 18 or int(value) < 1:
        raise click.BadParameter(f"{str(value)[:40]!r} is neither 'auto' nor a whole number above 0")
    return int(value)


class _KeyFile(click.ParamType):  # type: ignore[type-arg]
    """A key, used to the end of the command by one of the blocks of `core.signing`."""

    name = "key"

    def __init__(self, block: str) -> None:
        self.block = block

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from sigmastar.core import signing  # most calls have no key

        assert ctx is not None
        ctx.with_resource(getattr(signing, self.block)(value))
        return str(value)


class _Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, written with a unit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parsed_size(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


model_argument = click.argument("model", metavar="MODEL")
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Figures as JSON.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No progress bar and no messages.")
output_option = click.option(
    "--output", "-o", default="-", metavar="FILE", help="File to write; standard output if left out."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Number of threads  [default: one per core]"
)
device_option = click.option(
    "--device",
    type=click.Choice(("cpu", "cuda", "auto")),  # torch_device.DEVICES, without NumPy
    default="cpu",
    show_default=True,
    help="Place of the work: the processor, by compiled kernels; or a GPU, by PyTorch.",
)
verify_key_option = click.option(
    "--verify-key",
    metavar="KEY",
    expose_value=False,
    type=_KeyFile("verified_with"),
    help="Public Ed25519 key, a PEM file: models that its owner did not sign are refused.",
)
sign_key_option = click.option(
    "--sign-key",
    metavar="KEY",
    expose_value=False,
    type=_KeyFile("signed_with"),
    help="Private Ed25519 key, a PEM file, that signs the model.",
)


def sample_options(
    what: str, cut: str, max_length: int = 1000, least: int = 1
) -> Callable[[Function], Function]:
    """The options that all `sample` commands of structures of any length have: parameters of the command.

    Parameters
    ----------
    what : str
        What is drawn, such as "strings"; its number is the parameter `n_samples`.
    cut : str
        Help text of the largest length.
    max_length : int
        Its default.
    least : int
        The smallest that can be asked for.
    """
    number, length = click.IntRange(0), click.IntRange(least)
    options = [
        model_argument,
        click.option(
            "-n", "n_samples", type=number, default=10, show_default=True, help=f"Number of {what}."
        ),
        click.option("--max-length", type=length, default=max_length, show_default=True, help=cut),
        seed_option,
        output_option,
        quiet_option,
    ]
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "zero"]),
    default="error",
    show_default=True,
    help="Treatment of symbols that the model does not know: an error, or probability zero.",
)


DATA_OPTIONS = (
    click.Option(
        ["--encoding"],
        metavar="NAME",
        help="Encoding of the data files  [default: utf-8, or that of a byte order mark]",
    ),
    click.Option(
        ["--on-error"],
        type=click.Choice(["stop", "skip"]),
        default="stop",
        show_default=True,
        help="Treatment of records that cannot be read: an error, or leaving them out.",
    ),
    click.Option(
        ["--max-memory"],
        type=_Size(),
        metavar="SIZE",
        help="Most memory to take, such as 2G  [default: what the machine has free]",
    ),
    click.Option(
        ["--field", "fields"],
        metavar="NAME",
        help="Field of the records of a JSONL, CSV or Parquet file whose text is read; several, with commas "
        "between, are columns.",
    ),
)
"""Options of all commands on data files; the group of commands reads files by them."""

bare_words_option = click.option(
    "--bare-words",
    metavar="TAG",
    help="Tag for words that stand beside phrases in a tree  [default: such trees are an error]",
)

WATCH_OPTIONS = (
    click.Option(
        ["--watch"],
        is_flag=True,
        help="Page in the browser that shows learning live, and then the model; Ctrl-C ends it.",
    ),
    click.Option(["--port"], type=click.IntRange(0, 65535), help="Port of the page  [default: any free one]"),
    click.Option(
        ["--no-browser"],
        is_flag=True,
        help="No browser window for the page; its address is printed.",
    ),
)
"""Options of all `learn` commands; the group of commands opens the page."""

output_format_option = click.Option(
    ["--output-format"],
    type=click.Choice(["text", "jsonl", "csv"]),
    help="Format of the output  [default: jsonl or csv by the ending of --output, else text]",
)


def as_toml(learned: Mapping[str, Any], model: str) -> str:
    """The configuration in the header of a model, as a file that `--config` reads.

    Examples
    --------
    >>> call = {"command": "automaton", "options": {"method": "em", "states": 10, "characters": True}}
    >>> print(as_toml({"call": call, "data": {"files": [{"name": "a.txt"}]}}, "m.sigma"))
    # sigmastar learn automaton a.txt --config run.toml -o m.sigma
    [learn.automaton]
    method = "em"
    states = 10
    characters = true
    <BLANKLINE>
    """
    call, data = learned.get(KEY), learned.get("data")
    if not isinstance(call, Mapping) or not isinstance(call.get("options"), Mapping):
        raise InputError("was not learned by a command; show --json has its settings", file=model)
    files = data.get("files", ()) if isinstance(data, Mapping) else ()
    names = " ".join(str(file.get("name")) for file in files) or "FILE"
    lines = [
        f"# sigmastar learn {call['command']} {names} --config run.toml -o {model}",
        f"[learn.{call['command']}]",
        *(f"{name} = {_value(value)}" for name, value in call["options"].items()),
    ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A value of TOML: strings of JSON, numbers, booleans and lists of them are such values."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class TableCommand(click.Command):
    """A command whose lines are columns, with tabs between."""

    def __init__(self, *args: Any, columns: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.columns = columns

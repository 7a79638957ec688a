"""Options that commands share; those of data, of runs as files and of records are added to them.

Options of `learn` come from TOML too (`--config run.toml`), and go back to it from a model (`show --config`):

    [learn.automaton]
    method = "em"
    states = 10

A model holds the options that it was learned with, in its header beside the hashes of its data: nothing is
written beside it, and no copy or renaming can part the two. Options that change no result, such as the number
of threads, are left out; keys and outputs belong to the call, not to the model.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import reduce
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from sigmastar.core.errors import InputError
from sigmastar.core.resources import limited, parsed_size
from sigmastar.core.text_files import ReadingPolicy, hold, reading_policy, use_policy

_SHOWN = 5
_OF_POLICY = ("encoding", "on_error", "bare_words", "fields")
Function = TypeVar("Function", bound=Callable[..., Any])

KEY = "call"
"""Where the header of a model has its configuration, below `learned`."""

_OF_THE_CALL = {
    *("output", "as_json", "quiet", "threads", "max_memory", "sign_key", "config"),
    *("workers", "client"),  # how the work is spread, which changes no result
    *("watch", "port", "no_browser"),
}
_ALWAYS = {"method", "seed"}  # whatever their defaults will be
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)


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


def reads_data(command: click.Command) -> click.Command:
    """A command with the options that all commands on data files have; adding them twice changes nothing."""
    if all(option.name != "on_error" for option in command.params):
        command.params += [
            click.Option(
                ["--encoding"],
                metavar="NAME",
                expose_value=False,
                callback=_remember,
                help="Encoding of the data files  [default: utf-8, or that of a byte order mark]",
            ),
            click.Option(
                ["--on-error"],
                type=click.Choice(["stop", "skip"]),
                default="stop",
                show_default=True,
                expose_value=False,
                callback=_remember,
                help="Treatment of records that cannot be read: an error, or leaving them out.",
            ),
            click.Option(
                ["--max-memory"],
                metavar="SIZE",
                expose_value=False,
                callback=_limit_memory,
                help="Most memory to take, such as 2G  [default: what the machine has free]",
            ),
        ]
        if not any("--field" in option.opts for option in command.params):  # corpus build has its own
            command.params.append(
                click.Option(
                    ["--field", "fields"],
                    metavar="NAME",
                    expose_value=False,
                    callback=_remember,
                    help="Field of the records of a JSONL or CSV file whose text is read; several, with "
                    "commas between, are columns.",
                )
            )
    return command


def bare_words_option(command: Function) -> Function:
    """The option of commands that learn from trees."""
    return click.option(
        "--bare-words",
        metavar="TAG",
        expose_value=False,
        callback=_remember,
        help="Tag for words that stand beside phrases in a tree  [default: such trees are an error]",
    )(command)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Read by what was given from now to the end of the command."""
    given: dict[str, Any] = context.meta.setdefault(__name__, {})
    given[str(option.name)] = value
    if len(given) < sum(other.name in _OF_POLICY for other in context.command.params):
        return  # every option comes here, given or not
    try:
        policy = context.with_resource(use_policy(ReadingPolicy(**given)))
    except ValueError as problem:
        raise click.BadParameter(str(problem), context, param_hint="--encoding") from None
    context.call_on_close(lambda: _tell(policy))


def _limit_memory(context: click.Context, option: click.Parameter, value: str | None) -> None:
    try:
        context.with_resource(limited(None if value is None else parsed_size(value)))
    except ValueError as problem:
        raise click.BadParameter(str(problem), context, option) from None


def _tell(policy: ReadingPolicy) -> None:
    """What was changed, and the number of records that were left out with the places of the first ones."""
    left_out = policy.left_out
    if policy.n_bare_words:
        click.echo(f"sigmastar: {policy.n_bare_words} words without a tag got {policy.bare_words}", err=True)
    for file in dict.fromkeys(item.file for item in left_out):
        here = [item for item in left_out if item.file == file]
        first = "; ".join(f"line {item.line}: {item.problem}" for item in here[:_SHOWN])
        more = f"; and {len(here) - _SHOWN} more" if len(here) > _SHOWN else ""
        what = "record" if len(here) == 1 else "records"
        click.echo(f"sigmastar: {file}: {len(here)} {what} left out: {first}{more}", err=True)


def configured(command: click.Command) -> click.Command:
    """A command with the option `--config`, whose values stand in where options are left out."""
    if any(option.name == "config" for option in command.params):
        return command
    found = copy.copy(command)
    option = click.Option(
        ["--config"],
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_configure,
        help="TOML file of options; those of the command line come first.",
    )
    found.params = [*command.params, option]
    return found


def _configure(context: click.Context, option: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    known = {_long(other): str(other.name) for other in _settable(context.command)}
    values = {}
    for name, value in _section(path, str(context.info_name)).items():
        key = name.replace("_", "-")
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"sigmastar learn {context.info_name} has no option {name}{hint}", file=path)
        values[known[key]] = value
    context.default_map = values


def _section(path: str, command: str) -> dict[str, Any]:
    """The table `learn.COMMAND` of a file, or what stands outside of tables."""
    import tomllib  # few calls have a file

    try:
        content = tomllib.loads(hold(path).content.decode())
    except ValueError as problem:  # of TOML, and of UTF-8
        raise InputError(f"is not TOML: {problem}", file=path) from None
    tables = content.get("learn")
    if not isinstance(tables, Mapping):
        return {name: value for name, value in content.items() if not isinstance(value, Mapping)}
    if command not in tables:
        raise InputError(f"has no table [learn.{command}]; it has {', '.join(tables)}", file=path)
    if not isinstance(tables[command], Mapping):
        raise InputError(f"[learn.{command}] is no table of options", file=path)
    return dict(tables[command])


def _settable(command: click.Command) -> list[click.Option]:
    return [
        option
        for option in command.params
        if isinstance(option, click.Option) and option.name not in ("config", "help")
    ]


def _long(option: click.Option) -> str:
    """The name of an option in a file: its long form, without hyphens before it."""
    return max(option.opts, key=len).lstrip("-")


def configuration() -> dict[str, Any]:
    """The command that runs, and its options as far as they make a difference; empty outside of commands."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    policy = vars(reading_policy())
    options = {}
    for option in _settable(context.command):
        name = str(option.name)
        given = name in _ALWAYS or context.get_parameter_source(name) in _GIVEN
        value = context.params.get(name, policy.get(name))
        if given and name not in _OF_THE_CALL and value is not None:
            options[_long(option)] = value
    return {KEY: {"command": str(context.info_name), "options": options}}


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


ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


class TableCommand(click.Command):
    """A command whose lines are columns, with tabs between."""

    def __init__(self, *args: Any, columns: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.columns = columns


def writes_records(command: click.Command, name: str) -> click.Command:
    """A command with the option `--output-format`, whose default is the ending of the output."""
    if not any(option.name == "output" for option in command.params):
        return command
    found, inner = copy.copy(command), command.callback
    assert inner is not None
    option = click.Option(
        ["--output-format"],
        type=click.Choice(["text", "jsonl", "csv"]),
        help="Format of the output  [default: jsonl or csv by the ending of --output, else text]",
    )
    found.params = [*command.params, option]
    found.help = inspect.cleandoc(command.help or "")
    has_json = any(option.name == "as_json" for option in command.params)

    def callback(output_format: str | None, **options: Any) -> Any:
        wanted = output_format or ENDINGS.get(os.path.splitext(options["output"])[1].lower(), "text")
        if wanted == "text":
            return inner(**options)
        from sigmastar.core.cli.printing import FIELDS, write_records  # few calls ask for records

        if has_json:
            options["as_json"] = True
        return write_records(inner, options, wanted, getattr(command, "columns", (FIELDS[name],)), has_json)

    found.callback = callback
    return found

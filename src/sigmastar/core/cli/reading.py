"""What all commands on data have: how files are read, and how much memory may be taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sigmastar.core.memory import limited, parsed_size
from sigmastar.core.text_files import ReadingPolicy, use_policy

_SHOWN = 5
_OF_POLICY = ("encoding", "on_error", "bare_words")
Function = TypeVar("Function", bound=Callable[..., Any])


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

"""What every `sigmastar learn` command does: an estimator from the options, fit, a model file, one line.

    options that were given  ->  Estimator(**given)  ->  fit(data)  ->  model file

An option that is left out is not passed on: the default is the estimator's own, and the command and the class
cannot drift apart. An option that the chosen method has no parameter for is a wrong call.

Options come from TOML too (`--config run.toml`), and go back to it from a model (`show --config`):

    [learn.automaton]
    method = "em"
    states = 10

A model holds the options that it was learned with, in its header beside the hashes of its data: nothing is
written beside it, and no copy or renaming can part the two. Options that change no result, such as the number
of threads, are left out; keys and outputs belong to the call, not to the model.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial, reduce
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from sigmastar import __version__
from sigmastar.core.atomic import refuse_terminal, require_folder
from sigmastar.core.cli.options import (
    KEY,
    json_option,
    quiet_option,
    seed_option,
    sign_key_option,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, is_plain, plain
from sigmastar.core.jit import cache_problem
from sigmastar.core.model_format import save_model
from sigmastar.core.progress import (
    Saved,
    Say,
    compilation,
    in_words,
    on_long_work,
    report,
    tell,
    watching,
)
from sigmastar.core.text_files import hold, reading_policy

Function = TypeVar("Function", bound=Callable[..., Any])

_OF_THE_CALL = {
    *("output", "as_json", "quiet", "threads", "max_memory", "sign_key", "config"),
    *("workers", "client"),  # how the work is spread, which changes no result
    *("watch", "port", "no_browser"),
}
_ALWAYS = {"method", "seed"}  # whatever their defaults will be
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)


@dataclass(frozen=True)
class Method:
    """A value of `--method`.

    Parameters
    ----------
    estimator : type
        The class that learns.
    parameters : tuple of str
        The parameters of the class that options may set.
    fixed : mapping
        Parameters that the method itself sets.
    """

    estimator: type[Estimator]
    parameters: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


def parameter(
    name: str, flag: str, *methods: Method, help: str, **extra: Any
) -> Callable[[Function], Function]:
    """An option that sets the parameter `name` of estimators; its help holds their defaults.

    Parameters
    ----------
    name : str
        The parameter of the constructor.
    flag : str
        The option, such as `--states`.
    *methods : Method
        The methods that have it.
    help : str
        A noun phrase that can be read alone.
    **extra
        What `click.option` takes.
    """
    defaults = {method.estimator.parameter_defaults()[name] for method in methods if name not in method.fixed}
    shown = sorted({_shown(default) for default in defaults})
    default = shown[0] if len(shown) == 1 else f"{' or '.join(shown)}, by method"
    text = (
        f"{help}  [default: {default}]" if default not in ("", "False") else help
    )  # a flag left out, or nothing given
    return click.option(flag, name, default=None, help=text, **extra)


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return " ".join(map(str, default))
    return "chosen by the learner" if default is None else str(default)


def built(methods: Mapping[str, Method], method: str, given: Mapping[str, Any]) -> Estimator:
    """The estimator of a method, made with the options that were given.

    Parameters
    ----------
    methods : mapping
        The methods of the command by name.
    method : str
        The one that was asked for.
    given : mapping
        Values of options by parameter; None where an option was left out.

    Returns
    -------
    Estimator
        Not fitted yet.
    """
    chosen = methods[method]
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if name not in chosen.parameters:
            _refuse(name, method, [other for other in methods if name in methods[other].parameters])
    return chosen.estimator(**{**chosen.fixed, **settings})


def _refuse(name: str, method: str, others: list[str]) -> None:
    context = click.get_current_context()
    flags = {option.name: option.opts[-1] for option in context.command.params}
    flag = flags.get(name, f"--{name}")
    raise click.UsageError(f"{flag} is for --method {' or '.join(others)}, not {method}", context)


def method_option(
    methods: Mapping[str, Method], default: str | None, *, help: str = "Way to learn."
) -> Callable[[Function], Function]:
    """The option `--method` of a command that learns.

    Parameters
    ----------
    methods : mapping
        The methods of the command by name.
    default : str, optional
        The one of a call without the option; none where the data decide.
    help : str
        A noun phrase that can be read alone.
    """
    choice = click.Choice(list(methods))
    return click.option("--method", type=choice, default=default, show_default=default is not None, help=help)


SPREAD = ("workers", "client")
"""Parameters that `spread_options` set."""


def spread_options(counted: str = "") -> Callable[[Function], Function]:
    """Options of `learn` commands whose estimators count in pieces.

    Parameters
    ----------
    counted : str
        What is counted, and by which methods, where that is not all data by all of them.
    """
    options = [
        click.option(
            "--workers",
            type=click.IntRange(1),
            metavar="N",
            help=f"Number of processes that count{counted}; it changes no result  [default: 1]",
        ),
        click.option(
            "--scheduler",
            "client",
            metavar="ADDRESS",
            help=f"Scheduler of a Dask cluster that counts{counted}.",
        ),
    ]
    return partial(reduce, lambda wrapped, option: option(wrapped), reversed(options))


def learn_options(function: Function) -> Function:
    """The options that all `learn` commands have."""
    options = [
        click.option("--output", "-o", required=True, metavar="MODEL", help="Model file to write."),
        sign_key_option,
        threads_option,
        seed_option,
        json_option,
        quiet_option,
    ]
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), function)


@dataclass(frozen=True)
class Learned:
    """What a command reports of its data and result beside the model itself.

    Parameters
    ----------
    data : mapping
        The files and their hashes, and how much they hold.
    summary : str
        What was learned from what, for one line on standard error.
    layout : mapping
        How the files are to be read, for the commands that come after.
    found : mapping
        What the learner chose or measured.
    """

    data: Mapping[str, Any]
    summary: str
    layout: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)


def learn(
    estimator: Estimator,
    method: str,
    work: Callable[[Estimator, Say], Learned],
    *,
    output: str,
    threads: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read, fit and write.

    Parameters
    ----------
    estimator : Estimator
        As `built` made it.
    method : str
        Its name, for the model file.
    work : callable
        Reads the data, fits the estimator, and returns what was learned.
    output, threads, seed, as_json, quiet
        The values of `learn_options`.
    """
    require_folder(output)
    refuse_terminal(output)
    settings = {name: _written(value) for name, value in estimator.get_params().items()}
    begin, compiled = time.perf_counter(), compilation.seconds()
    with watching("reading", quiet) as say, _waiting_told(quiet):
        estimator.set_params(random_state=seed, n_jobs=threads or -1, progress=say)
        found = work(estimator, say)
    compiled = compilation.seconds() - compiled
    seconds = round(time.perf_counter() - begin - compiled, 3)
    learned = {
        "method": method,
        "estimator": type(estimator).__name__,
        "seed": seed,
        "settings": {name: value for name, value in settings.items() if name not in _OF_ALL},
        "layout": dict(found.layout),
        "data": dict(found.data),
        **found.found,
        **configuration(),
        **({"n_left_out": len(left_out)} if (left_out := reading_policy().left_out) else {}),
        "sigmastar": __version__,
    }
    save_model(estimator.model_, output, learned)
    if as_json:
        print_figures({**learned, "seconds": seconds}, as_json=True)
    beside = f", and {compiled:.1f} s of compiling kernels, once" if compiled > 0.1 else ""
    tell(f"{output}: {method}, {found.summary} in {seconds:.1f} s{beside}", quiet)
    report(Saved(output))
    if compiled and (problem := cache_problem()) is not None:
        tell(problem, quiet)


@contextmanager
def _waiting_told(quiet: bool) -> Iterator[None]:
    """A line before work that takes long, once."""
    forget = on_long_work(lambda seconds, work: tell(f"{work}: about {in_words(seconds)} on one core", quiet))
    try:
        yield
    finally:
        forget()


_OF_ALL = ("random_state", "n_jobs", "progress", "verbose", "workers", "client", "ledger")


def _written(value: Any) -> Any:
    """A parameter as JSON can hold it; functions by their names."""
    return plain(value) if is_plain(value) else getattr(value, "__name__", str(value))


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

    held = hold(path)
    try:
        content = tomllib.loads(held.content.decode())
    except ValueError as problem:  # of TOML, and of UTF-8
        remedy = 'text stands in quotes, as in method = "em"'
        raise InputError(f"is not TOML: {problem}; {remedy}", file=path) from None
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
    options = {}
    for option in _settable(context.command):
        name = str(option.name)
        given = name in _ALWAYS or context.get_parameter_source(name) in _GIVEN
        value = context.params.get(name)
        if given and name not in _OF_THE_CALL and value is not None:
            options[_long(option)] = value
    return {KEY: {"command": str(context.info_name), "options": options}}

"""`sigmastar`: the table of commands, and what becomes of errors.

exit 0    done
exit 1    the work failed: one line on standard error: where, why, and what to do
exit 2    the call was wrong
exit 141  whoever read the output left, as head does: the status of a process that SIGPIPE ended
exit 130  interrupted; files appear whole or not at all, so nothing partial is left
exit 143  ended by SIGTERM (129 by SIGHUP), likewise
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from difflib import get_close_matches
from typing import Any

import click

from sigmastar import __version__
from sigmastar.cli.signals import Ended, hear_signals
from sigmastar.core.cli.reading import configured, reads_data
from sigmastar.core.errors import InputError
from sigmastar.core.family import Command, families, load

TRACEBACK = "SIGMASTAR_TRACEBACK"
VERIFY_KEY = "SIGMASTAR_VERIFY_KEY"

# click before 8.2 prints the help itself
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


ON_MODELS = {
    "evaluate": Command("sigmastar.cli.model_commands:evaluate", "Measure how good a model is on data."),
    "score": Command(
        "sigmastar.cli.model_commands:score", "The natural log-probability of each string, pair or sentence."
    ),
    "predict": Command("sigmastar.cli.model_commands:predict", "Next symbols, tags, trees, arcs or outputs."),
    "sample": Command("sigmastar.cli.model_commands:sample", "Draw strings, pairs or trees from a model."),
    "show": Command(
        "sigmastar.cli.model_commands:show",
        "What a model is and how it was learned; as a graph or a page too.",
    ),
    "convert": Command("sigmastar.cli.model_commands:convert", "Write a model in the format of other tools."),
    "compare": Command("sigmastar.cli.model_commands:compare", "How far two models are from each other."),
    "minimize": Command(
        "sigmastar.cli.model_commands:minimize",
        "The smallest automaton of the same function, or a smaller one near it.",
    ),
}
"""Commands on a model file; what they do is up to the family of the model."""

_FIRST = {
    "demo": Command("sigmastar.cli.demo:command", "Every family on data it generates: a table and a page."),
    "learn": Command("sigmastar.cli.group:learn", "Learn a model from data and write it to a file."),
    "corpus": Command("sigmastar.cli.group:corpus", "Corpora on disk, for data larger than memory."),
}
_OF_CORPORA = {
    "build": Command("sigmastar.cli.corpus:build", "Make a corpus from text, JSONL or Parquet."),
    "info": Command("sigmastar.cli.corpus:info", "What a corpus holds."),
    "check": Command("sigmastar.cli.corpus:check", "Whether the files of a corpus are sound."),
    "count": Command("sigmastar.cli.corpus:count", "The n-grams of a corpus with their counts."),
}
_LAST = {
    "explore": Command(
        "sigmastar.cli.explore:explore", "Models in the browser: type, and see their answers."
    ),
    "serve": Command("sigmastar.cli.explore:serve_models", "Answers of models in JSON, for local programs."),
    "check": Command("sigmastar.cli.check_and_sign:check", "Whether a model file is sound."),
    "sign": Command("sigmastar.cli.check_and_sign:sign", "Sign a model file with a private key."),
    "reproduce": Command("sigmastar.cli.reproduce:command", "Tables and figures of a paper beside our own."),
}


_READ_NO_TEXT = [entry for name, entry in _OF_CORPORA.items() if name != "build"]
_WITHOUT_DATA = (*ON_MODELS.values(), *_FIRST.values(), *_LAST.values(), *_READ_NO_TEXT)


def commands() -> dict[str, Command]:
    """All commands by name, in the order of the help."""
    of_families = {name: entry for family in families().values() for name, entry in family.commands.items()}
    return {**_FIRST, **ON_MODELS, **of_families, **_LAST}


def learners() -> dict[str, Command]:
    """The commands below `learn`, of all families."""
    return {name: entry for family in families().values() for name, entry in family.learn.items()}


class LazyGroup(click.Group):
    """A group by a function that gives its table of commands: help and wrong calls load none of them."""

    def __init__(
        self, *args: Any, entries: Callable[[], Mapping[str, Command]] = dict, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries().get(cmd_name)
        if entry is None:
            return None
        found = load(entry.place)
        assert isinstance(found, click.Command)
        if isinstance(found, click.Group) or entry in _WITHOUT_DATA:
            return found
        return configured(reads_data(found)) if self.entries is learners else reads_data(found)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            if not near:
                raise
            raise click.UsageError(f"{problem.message.rstrip('.')}; did you mean {near[0]!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries().items()])


def _as_options(words: list[str]) -> list[str]:
    """`help predict` and `version` as many tools have them, for `predict --help` and `--version`."""
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words == ["version"] else words


class RootGroup(LazyGroup):
    """The outermost group: every error becomes one line and an exit status."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        words = _as_options(list(sys.argv[1:] if args is None else args))
        try:
            _refuse_overwriting(words)
            with _verified_with(os.environ.get(VERIFY_KEY)), warnings.catch_warnings():
                warnings.showwarning = _warn  # type: ignore[assignment]
                status = super().main(words, *rest, **extra)
            sys.stdout.flush()  # a full disk shows here
        except BaseException as problem:
            sys.exit(_report(problem))
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # before click prints an empty line for it
            raise _Interrupted from None
        except BrokenPipeError:  # before click makes an exit of its own of it
            raise _Unread from None


def _warn(message: Warning | str, *_: object) -> None:
    """A line of our own: where in the program numbers became too large is of no use to its users."""
    click.echo(f"sigmastar: warning: {' '.join(str(message).split())}", err=True)


def _verified_with(key: str | None) -> AbstractContextManager[None]:
    if not key:
        return nullcontext()
    from sigmastar.core.signing import verified_with

    return verified_with(key)


def _refuse_overwriting(words: Sequence[str]) -> None:
    """Refuse a call whose output is also one of its inputs, under any name: reading it would empty it."""
    for number, word in enumerate(words[:-1]):
        if word in ("-o", "--output") and os.path.isfile(words[number + 1]):
            others = [*words[:number], *words[number + 2 :]]
            if any(os.path.isfile(other) and os.path.samefile(other, words[number + 1]) for other in others):
                raise click.UsageError(f"{words[number + 1]} is read and written; give {word} another file")


class _Interrupted(Exception):
    """Ctrl-C."""


class _Unread(Exception):
    """Whoever read standard output left."""


def _report(problem: BaseException) -> int:
    """Print what went wrong, in one line; the exit status."""
    if isinstance(problem, (BrokenPipeError, _Unread)):
        _silence_output()
        return 141
    if isinstance(problem, SystemExit) and not isinstance(problem, Ended):
        return problem.code if isinstance(problem.code, int) else 1
    if isinstance(problem, OSError) and problem.errno == errno.EBADF and problem.filename is None:
        _silence_output()
        problem = InputError("is closed; give a file with -o", file="standard output")
    if isinstance(problem, _NO_ARGUMENTS):  # the message is the whole help
        problem.show()
        return problem.exit_code
    if os.environ.get(TRACEBACK):
        traceback.print_exception(problem)
    message, status = _in_words(problem)
    click.echo(f"sigmastar: {' '.join(message.split())}", err=True)
    return status


def _cause(problem: BaseException | None, kinds: Any) -> BaseException | None:
    """The error of some kind that this one came from: inside a compiled kernel Ctrl-C is a SystemError."""
    while problem is not None and not isinstance(problem, kinds):
        problem = problem.__cause__ or problem.__context__
    return problem


def _in_words(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, click.UsageError):
        return _usage(problem), problem.exit_code
    if isinstance(problem, click.ClickException):
        return problem.format_message(), problem.exit_code
    if (ended := _cause(problem, Ended)) is not None:
        name = signal.Signals(int(str(ended)) - 128).name
        return f"ended by {name}; no unfinished file is left", int(str(ended))
    if _cause(problem, (_Interrupted, KeyboardInterrupt, click.Abort)) is not None:
        return "interrupted; no unfinished file is left", 130
    if isinstance(problem, MemoryError):
        return "out of memory; use fewer strings, states or symbols, or a larger --max-memory", 1
    if isinstance(problem, (InputError, ImportError)):
        return str(problem), 1
    if isinstance(problem, OSError):
        place = f"{problem.filename}: " if problem.filename else ""
        return f"{place}{problem.strerror or problem}", 1
    if isinstance(problem, ValueError):
        return str(problem), 1
    kind = type(problem).__name__
    return f"unexpected {kind}: {problem}; this is a bug, set {TRACEBACK}=1 for the place and report it", 1


def _usage(problem: click.UsageError) -> str:
    path = problem.ctx.command_path if problem.ctx else "sigmastar"
    text = problem.format_message().rstrip(".")
    return f"{text}{'' if text.endswith('?') else ';'} see {path} --help"


def _silence_output() -> None:
    """The reader of our output is gone: let the interpreter's last flush go nowhere."""
    with suppress(OSError, ValueError):  # where standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    "sigmastar", cls=RootGroup, entries=commands, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="sigmastar")
def command() -> None:
    """Learn models of strings, pairs of strings, trees and sentences by linear algebra.

    Data comes from files, plain, gzip or zstandard, or from standard input (-). Results go to standard
    output, messages to standard error.
    """


@click.group(cls=LazyGroup, entries=learners)
def learn() -> None:
    """Learn a model of some family from data and write it to a file."""


@click.group(cls=LazyGroup, entries=lambda: _OF_CORPORA)
def corpus() -> None:
    """Corpora on disk: shards of integers, which commands on strings take in place of a file."""


def _open_closed_streams() -> None:
    """Services run commands without streams: no file may take their places, and no message may fail."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            flags = os.O_RDWR if name == "stderr" else os.O_RDONLY if mode == "w" else os.O_WRONLY
            handle = os.open(os.devnull, flags)  # the wrong way round: what is asked of it is an error
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def main() -> None:
    """The entry point of the command `sigmastar`."""
    try:
        _open_closed_streams()
        hear_signals()
        command(prog_name="sigmastar")
    except KeyboardInterrupt as problem:  # before the work, or after it
        sys.exit(_report(problem))

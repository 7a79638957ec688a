"""`sigmastar`: the table of commands, and how a call finds its own.

Commands on a model file are those of the family that the model belongs to:

    sigmastar predict MODEL ..    ->    the header of MODEL names its kind    ->    what the family does

So options that a family does not know are refused, and `sigmastar predict MODEL --help` lists those it knows.
"""

from __future__ import annotations

import copy
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from typing import Any

import click

from sigmastar import __version__
from sigmastar.cli.failures import OF_MODEL, Interrupted, Unread, hear_signals, open_closed_streams, report
from sigmastar.core.cli.options import (
    DATA_OPTIONS,
    WATCH_OPTIONS,
    output_format_option,
    verify_key_option,
)
from sigmastar.core.errors import ModelFileError
from sigmastar.core.family import Command, commands_of, families, load
from sigmastar.core.progress import tell
from sigmastar.core.resources import limited
from sigmastar.core.text_files import ReadingPolicy, use_policy

VERIFY_KEY = "SIGMASTAR_VERIFY_KEY"
COMPLETE = "_SIGMASTAR_COMPLETE"
_ABOUT = """{summary}

The options are those of the family that MODEL belongs to:
`sigmastar {name} MODEL --help` lists them. MODEL may be of kind {kinds}."""

_SUMMARIES = {
    "evaluate": "Measure how good a model is on data.",
    "score": "The natural log-probability of each string, pair or sentence.",
    "predict": "Next symbols, tags, trees, arcs or outputs.",
    "sample": "Draw strings, pairs or trees from a model.",
    "show": "What a model is and how it was learned; as a graph or a page too.",
    "convert": "Write a model in the format of other tools.",
    "compare": "How far two models are from each other.",
    "minimize": "The smallest automaton of the same function, or a smaller one near it.",
}
ON_MODELS = {name: Command(f"{__name__}:{name}", summary) for name, summary in _SUMMARIES.items()}
"""Commands on a model file; what they do is up to the family of the model."""
_ON_DATA = ("evaluate", "score", "predict")
_RECORDS = ("predict", "score", "sample")
_OF_POLICY = ("encoding", "on_error", "bare_words", "fields")
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}  # of outputs, and their formats
_SHOWN = 5  # records that were left out

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
        if self.entries is not learners:
            return reads_data(found)
        from sigmastar.core.cli.learning import configured  # which commands that learn have loaded

        return watchable(configured(reads_data(found)))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            from sigmastar.core.habits import command_meant  # wrong calls alone need it

            meant = command_meant(args[0], self.list_commands(ctx))
            if meant is None:
                raise
            raise click.UsageError(f"{problem.message.rstrip('.')}; did you mean {meant!r}?", ctx) from None

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
        if COMPLETE in os.environ:
            _complete_file_names()
        try:
            _refuse_overwriting(words)
            with _verified_with(os.environ.get(VERIFY_KEY)), warnings.catch_warnings():
                warnings.showwarning = _warn  # type: ignore[assignment]
                status = super().main(words, *rest, **extra)
            sys.stdout.flush()  # a full disk shows here
        except BaseException as problem:
            sys.exit(report(problem))
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # before click prints an empty line for it
            raise Interrupted from None
        except BrokenPipeError:  # before click makes an exit of its own of it
            raise Unread from None


def _warn(message: Warning | str, *_: object) -> None:
    """A line of our own: where in the program numbers became too large is of no use to its users."""
    tell(f"sigmastar: warning: {' '.join(str(message).split())}")


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


def _complete_file_names() -> None:
    """Let shells complete names of files wherever commands and options have no proposal."""
    from click import shell_completion as shells  # which calls of a user do without

    def with_files(plain: type[shells.ShellComplete]) -> type[shells.ShellComplete]:
        class WithFiles(plain):  # type: ignore[valid-type, misc]
            def get_completions(self, args: list[str], incomplete: str) -> list[Any]:
                found = super().get_completions(args, incomplete)
                return found or [shells.CompletionItem(incomplete, type="file")]

        return WithFiles

    for plain in (shells.BashComplete, shells.ZshComplete, shells.FishComplete):
        shells.add_completion_class(with_files(plain), plain.name)


class ModelCommand(click.Command):
    """A command that becomes the command of its model's family as soon as the model is known."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        model = _model_among(args)
        if model is None:
            return super().make_context(info_name, args, parent, **extra)
        command = _with_key(self.of_model(model))
        if parent is not None:
            parent.meta[OF_MODEL] = True
        try:
            context = command.make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as problem:
            from sigmastar.core.model_reading import kind_of  # help and wrong calls read no model

            message = f"{problem.message.rstrip('.')} for models of kind {kind_of(model)!r}."
            near, where = problem.possibilities, problem.ctx
            raise click.NoSuchOption(problem.option_name, message, near, where) from None
        first = context.params.get("model") or model  # none while a shell completes the call
        if first != model and _is_model(model) and not _is_model(first):
            raise click.UsageError(f"{model} is the model, not {first}: the model comes first", context)
        return context

    def of_model(self, path: str) -> click.Command:
        """What the family of a model file does under this command."""
        from sigmastar.core.model_reading import kind_of  # help and wrong calls read no model

        kind = kind_of(path)
        places = dict(commands_of(str(self.name)))
        if self.name == "convert":
            from sigmastar.cli.npz import with_arrays  # most calls convert nothing

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
        found = reads_data(found) if self.name in _ON_DATA else found
        if self.name not in _RECORDS:
            return found
        return writes_records(found, str(self.name))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        kinds = ", ".join(kind for kind, _ in commands_of(str(self.name)))
        self.help = _ABOUT.format(summary=ON_MODELS[str(self.name)].summary, name=self.name, kinds=kinds)
        super().format_help_text(ctx, formatter)


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
        is_output = number > 0 and args[number - 1] in ("-o", "--output")  # which may be a model of before
        if not is_output and (not word.startswith("-") or word == "-"):
            yield word


def _is_model(word: str) -> bool:
    if not os.path.isfile(word):
        return False
    from sigmastar.core.model_reading import read_header

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


@click.group(
    "sigmastar", cls=RootGroup, entries=commands, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="sigmastar")
def command() -> None:
    """Learn models of strings, pairs of strings, trees and sentences by linear algebra.

    Data comes from files, plain, gzip or zstandard, or from standard input (-). Results go to standard
    output, messages to standard error.
    """


def reads_data(command: click.Command) -> click.Command:
    """A command with the options that all commands on data files have; it reads files by them."""
    assert command.callback is not None
    own = {flag for option in command.params for flag in option.opts}
    found = copy.copy(command)
    found.params = [*command.params, *(option for option in DATA_OPTIONS if own.isdisjoint(option.opts))]
    found.callback = _by_policy(command.callback)
    return found


def _by_policy(work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def run(*words: Any, max_memory: int | None, **options: Any) -> Any:
        given = {name: options.pop(name) for name in _OF_POLICY if name in options}
        try:
            policy = ReadingPolicy(**given)
        except ValueError as problem:
            raise click.BadParameter(str(problem), param_hint="--encoding") from None
        with limited(max_memory), use_policy(policy):
            try:
                return work(*words, **options)
            finally:
                _tell(policy)

    return run


def _tell(policy: ReadingPolicy) -> None:
    """What was changed, and the number of records that were left out with the places of the first ones."""
    left_out = policy.left_out
    if policy.n_bare_words:
        tell(f"sigmastar: {policy.n_bare_words} words without a tag got {policy.bare_words}")
    for file in dict.fromkeys(item.file for item in left_out):
        here = [item for item in left_out if item.file == file]
        first = "; ".join(f"line {item.line}: {item.problem}" for item in here[:_SHOWN])
        more = f"; and {len(here) - _SHOWN} more" if len(here) > _SHOWN else ""
        what = "record" if len(here) == 1 else "records"
        tell(f"sigmastar: {file}: {len(here)} {what} left out: {first}{more}")


def writes_records(command: click.Command, name: str) -> click.Command:
    """A command with the option `--output-format`, whose default is the ending of the output."""
    if not any(option.name == "output" for option in command.params):
        return command
    found, inner = copy.copy(command), command.callback
    assert inner is not None
    found.params = [*command.params, output_format_option]
    found.help = inspect.cleandoc(command.help or "")
    has_json = any(option.name == "as_json" for option in command.params)

    def callback(output_format: str | None, **options: Any) -> Any:
        wanted = _format_of_output(options["output"], output_format)
        if wanted == "text":
            return inner(**options)
        from sigmastar.core.cli.printing import FIELDS, write_records  # few calls ask for records

        if has_json:
            options["as_json"] = True
        return write_records(inner, options, wanted, getattr(command, "columns", (FIELDS[name],)), has_json)

    found.callback = callback
    return found


def _format_of_output(name: str, given: str | None) -> str:
    """The format that is given, else that of the ending of a name."""
    ending = os.path.splitext(name)[1].lower()
    if given is None and ending == ".parquet":
        raise click.UsageError(
            f"{name}: Parquet is read, not written; name a .jsonl or .csv file in its place"
        )
    return given or _ENDINGS.get(ending, "text")


def watchable(command: click.Command) -> click.Command:
    """A `learn` command with the options of the page."""
    assert command.callback is not None
    found = copy.copy(command)
    found.params = [*command.params, *WATCH_OPTIONS]
    found.callback = _with_page(command.callback)
    return found


def _with_page(work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def run(*words: Any, watch: bool, port: int | None, no_browser: bool, **options: Any) -> None:
        if watch:
            from sigmastar.cli.explore import watched  # few calls have a page

            learning = partial(work, *words, **options)
            watched(learning, str(options["output"]), port or 0, not no_browser, bool(options["quiet"]))
            return
        if port is not None or no_browser:
            raise click.UsageError(f"{'--no-browser' if no_browser else '--port'} goes with --watch")
        work(*words, **options)

    return run


@click.group(cls=LazyGroup, entries=learners)
def learn() -> None:
    """Learn a model of some family from data and write it to a file."""


@click.group(cls=LazyGroup, entries=lambda: _OF_CORPORA)
def corpus() -> None:
    """Corpora on disk: shards of integers, which commands on strings take in place of a file."""


def main() -> None:
    """The entry point of the command `sigmastar`."""
    try:
        open_closed_streams()
        hear_signals()
        command(prog_name="sigmastar")
    except BaseException as problem:  # a signal before the work or after it, or what it made of a lock there
        sys.exit(report(problem))

"""`sigmastar explore`, `serve` and `learn --watch`: models in the browser, and for other programs.

What `learn --watch` learns is shown by the same page:

    command  --events-->  Board  --JSON-->  page;     model file  -->  the explorer's gallery

The work is done where it is always done, on the main thread; the server has a thread of its own. Kernels
release the interpreter, so that the page is answered while they run.
"""

from __future__ import annotations

import os
import re
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from sigmastar.core.cli.options import quiet_option, verify_key_option
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import is_model_file
from sigmastar.core.progress import listening, tell
from sigmastar.explorer.server import need_packages, serve

if TYPE_CHECKING:
    from sigmastar.explorer.app import Explorer

TOKEN = "SIGMASTAR_TOKEN"
_PATIENCE = 600.0  # seconds: a first model is learned, and kernels are compiled, while the page waits
_LAST_WORDS = 6.0  # seconds that a server on a thread has to end

_port_option = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of this machine.",
)


@click.command()
@click.argument("files", nargs=-1, metavar="[MODEL]... [DATA]")
@_port_option
@click.option("--no-browser", is_flag=True, help="No browser window; the address is printed.")
@verify_key_option
@quiet_option
def explore(files: tuple[str, ...], port: int, no_browser: bool, quiet: bool) -> None:
    """Models in the browser, with DATA beside them: type, and see what they make of it.

    Without a MODEL every family shows a small one that it learns from generated data. The page is served by
    this machine to itself alone, and loads nothing from elsewhere. Ctrl-C ends it.
    """
    need_packages()
    from sigmastar.explorer.app import Explorer, application
    from sigmastar.explorer.gallery import Gallery
    from sigmastar.explorer.guard import Limits

    models, data = split_files(files)
    gallery = Gallery.of_files(models, data) if models else Gallery.of_examples()
    explorer = Explorer(gallery, Limits(seconds=_PATIENCE))
    served = serve(lambda token, number: application(explorer, token, number), port)
    click.echo(served.address)
    tell("Ctrl-C ends it", quiet)
    if not no_browser:
        threading.Timer(0.3, webbrowser.open, [served.address]).start()
    served.run()


@click.command("serve")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@_port_option
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="Most bytes of a request.",
)
@click.option(
    "--max-batch", type=click.IntRange(1), default=1000, show_default=True, help="Most inputs of a batch."
)
@click.option(
    "--max-waiting", type=click.IntRange(1), default=64, show_default=True, help="Most questions at once."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.001),
    default=30.0,
    show_default=True,
    help="Seconds until an answer is given up.",
)
@verify_key_option
@quiet_option
def serve_models(
    models: tuple[str, ...],
    port: int,
    max_body: int,
    max_batch: int,
    max_waiting: int,
    timeout: float,
    quiet: bool,
) -> None:
    """Answers of models in JSON, for programs on this machine.

    The address holds a token; SIGMASTAR_TOKEN in the environment sets it. ADDRESS/openapi.json describes what
    can be asked, /health and ADDRESS/metrics how the server does. SIGTERM and Ctrl-C end it; answers under
    way are finished.
    """
    need_packages()
    from sigmastar.explorer.app import Explorer, application
    from sigmastar.explorer.gallery import Gallery
    from sigmastar.explorer.guard import Limits

    limits = Limits(max_body, max_batch, max_waiting, timeout)
    explorer = Explorer(Gallery.of_files(models), limits)
    served = serve(lambda token, number: application(explorer, token, number), port, _token())
    for shown in explorer.gallery:
        shown.exhibit()  # the first question is not the one that waits
    click.echo(served.address)
    tell("SIGTERM or Ctrl-C ends it", quiet)
    served.run()


def split_files(files: Sequence[str]) -> tuple[list[str], str | None]:
    """Models, and the file of data behind them if there is one."""
    models = [path for path in files if os.path.isfile(path) and is_model_file(path)]
    others = [path for path in files if path not in models]
    for path in others:
        if not os.path.isfile(path):
            raise InputError("there is no such file; check the name", file=path)
    if others and not models:
        raise InputError("is not a model file; give a model before the data", file=others[0])
    if len(others) > 1:
        raise InputError("is a second file of data; give one", file=others[1])
    return models, others[0] if others else None


def _token() -> str | None:
    given = os.environ.get(TOKEN)
    if given is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        raise InputError(f"{TOKEN} must be at least 16 letters, digits, - and _")
    return given


def watched(work: Callable[[], Any], output: str, port: int, has_window: bool, quiet: bool) -> None:
    """Learn, with a page that shows it, until a signal ends the page."""
    with _page(output, port, has_window) as explorer:
        work()
        _stay(explorer, quiet)


@contextmanager
def _page(output: str, port: int, has_window: bool) -> Iterator[Explorer]:
    """A server on a thread, which shows what is reported while the block runs."""
    need_packages()
    from sigmastar.explorer.app import Explorer, application
    from sigmastar.explorer.gallery import Gallery
    from sigmastar.explorer.guard import Limits
    from sigmastar.explorer.learning import Board

    board = Board(os.path.basename(output))
    explorer = Explorer(Gallery(()), Limits(seconds=_PATIENCE), board=board)
    served = serve(lambda token, number: application(explorer, token, number), port)
    thread = threading.Thread(target=served.run, name="page", daemon=True)
    thread.start()
    tell(served.address)  # standard output may be for figures
    if has_window:
        threading.Timer(0.3, webbrowser.open, [served.address]).start()
    try:
        with listening(board):
            yield explorer
    finally:
        served.stop()
        thread.join(_LAST_WORDS)


def _stay(explorer: Explorer, quiet: bool) -> None:
    """The page goes on with the model, until a signal ends it: that is how it is meant to end."""
    from sigmastar.explorer.gallery import Gallery

    assert explorer.board is not None
    file = explorer.board.file
    if not os.path.isfile(file):  # it went into a pipe
        return
    explorer.gallery = Gallery.of_files([file])
    explorer.board.finish()
    tell("the page shows the model now; Ctrl-C ends it, and the model stays", quiet)
    with suppress(KeyboardInterrupt, SystemExit):
        threading.Event().wait()

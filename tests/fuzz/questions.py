"""Fuzzing of what users type: arguments, regular expressions of constraints, requests to the server.

Arguments may give a context or an error of use, expressions an automaton or an `InputError` in one line,
requests any answer but one that says that the server is at fault.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from fuzz.mutating import SEEDS, mutated
from fuzz.trials import Case, Target
from sigmastar.cli import command
from sigmastar.control.constraints import matches
from sigmastar.core.errors import InputError
from sigmastar.explorer.app import Explorer, application
from sigmastar.explorer.gallery import Gallery

ALPHABETS = (("a", "b", "U.S.", "."), tuple("ab c.*"), ())
TOKEN, PORT = "token", 8000
PATHS = (
    *("models/0/answer", "models/0/batch", "models/1/answer", "models/1/batch", "models/0/data?sort=loss"),
    *(
        "models/0/data/0",
        "models/0",
        "models",
        "models/0/summary",
        "learning",
        "models/1/data?first=0&count=2",
    ),
)
METHODS = ("GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS")


def arguments() -> Target:
    """Random words for every command, parsed and not run."""
    commands = dict(_commands(command, ()))
    paths = list(commands)
    nothing = TextIOWrapper(BytesIO())  # `--config -` reads what stands there

    def draw(rng: random.Random) -> Case:
        path = rng.choice(paths)
        words = [_word(commands[path], rng) for _ in range(rng.randint(0, 6))]
        return Case(b"", {"command": path, "words": words})

    def problem(case: Case) -> str:
        path = tuple(case.how["command"])
        try:
            with (
                patch("sys.stdin", nothing),
                commands[path].make_context(" ".join(path), list(case.how["words"])),
            ):
                return ""
        except (click.ClickException, click.exceptions.Exit, click.Abort, InputError):
            return ""
        except Exception as problem:
            return repr(problem)

    return Target("arguments", draw, problem, Case(b"", {"command": paths[0], "words": []}))


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from _commands(found, (*path, name))
        else:
            yield (*path, name), found


def _word(found: click.Command, rng: random.Random) -> str:
    options = [name for option in found.params for name in option.opts if name.startswith("-")]
    values = [
        "-",
        "--",
        "",
        "0",
        "-1",
        "1e400",
        "nan",
        "x" * 1000,
        "\udc80",
        "auto",
        "é",
        "--nonsense",
        "=",
        "1-1,2-2",
    ]
    if options and rng.random() < 0.6:
        option = rng.choice(options)
        return f"{option}={rng.choice(values)}" if rng.random() < 0.5 else option
    return rng.choice(values)


def patterns() -> Target:
    """Regular expressions of constraints, over symbols and over characters."""

    def draw(rng: random.Random) -> Case:
        content = mutated(SEEDS["pattern"], rng)
        return Case(
            content, {"alphabet": rng.choice(ALPHABETS), "characters": rng.choice((None, True, False))}
        )

    def problem(case: Case) -> str:
        text = case.content.decode("utf-8", "replace")
        try:
            matches(text, case.how["characters"]).dfa(tuple(case.how["alphabet"]))
        except InputError as problem:
            return f"not one line: {problem}" if "\n" in str(problem) else ""
        except Exception as problem:
            return repr(problem)
        return ""

    return Target("patterns", draw, problem, Case(b"ab*", {"alphabet": ALPHABETS[0], "characters": None}))


def requests(models: Sequence[Path], data: Path) -> Target:
    """Requests to the explorer: paths, methods, bodies. No answer may be the server's own fault."""
    explorer = Explorer(Gallery.of_files([str(path) for path in models], str(data)))
    app = application(explorer, TOKEN, PORT)
    for shown in explorer.gallery:
        shown.answer({"text": "a"})  # the first question compiles
    runner = asyncio.Runner()

    def problem(case: Case) -> str:
        method, path = case.how["method"], case.how["path"]
        try:
            status = runner.run(_asked(app, method, path, case.content))
        except Exception as problem:
            return f"{method} {path!r}: {problem!r}"
        return f"{method} {path!r}: {status}" if status >= 500 else ""

    def close() -> None:
        runner.close()
        explorer.pool.shutdown()

    right = Case(SEEDS["request"], {"method": "POST", "path": PATHS[0]})
    return Target("requests", _request, problem, right, close)


def _request(rng: random.Random) -> Case:
    path = rng.choice(PATHS)
    body = SEEDS["batch" if path.endswith("batch") else "request"]
    if rng.random() < 0.3:
        path = mutated(path.encode(), rng).decode("utf-8", "replace")
    how = {"method": rng.choice(METHODS), "path": path}
    return Case(mutated(body, rng) if rng.random() < 0.9 else body, how)


async def _asked(app: Any, method: str, path: str, body: bytes) -> int:
    """The status of an answer, without a socket."""
    statuses, (where, _, query) = list[int](), f"/{TOKEN}/api/{path}".partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode("utf-8", "replace"),
        "query_string": query.encode("utf-8", "replace"),
        "headers": [(b"host", f"127.0.0.1:{PORT}".encode())],
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]

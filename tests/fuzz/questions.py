"""Fuzzing of what users type: arguments, regular expressions of constraints, requests to the server.

Arguments may give a context or an error of use, expressions an automaton or an `InputError` in one line,
requests any answer but one that says that the server is at fault.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from fuzz.mutating import SECONDS, SEEDS, Finding, TooSlow, alarms, limited, mutated
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


def fuzz_arguments(n_inputs: int, seed: int, until: float) -> tuple[int, list[Finding]]:
    """Random words for every command, parsed and not run."""
    rng = random.Random(seed)
    commands = list(_commands(command, ()))
    findings: list[Finding] = []
    nothing = TextIOWrapper(BytesIO())  # `--config -` reads what stands there
    with alarms(), patch("sys.stdin", nothing):
        for number in range(n_inputs):
            if number and time.monotonic() > until:
                return number, findings
            path, found = commands[rng.randrange(len(commands))]
            words = [_word(found, rng) for _ in range(rng.randint(0, 6))]
            try:
                with limited(SECONDS), found.make_context(" ".join(path), list(words)):
                    pass
            except (click.ClickException, click.exceptions.Exit, click.Abort, InputError):
                pass
            except TooSlow:
                findings.append(Finding("arguments", "too slow", repr((path, words)).encode()))
            except Exception as problem:
                findings.append(Finding("arguments", repr(problem), repr((path, words)).encode()))
    return n_inputs, findings


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


def fuzz_patterns(n_inputs: int, seed: int, until: float) -> tuple[int, list[Finding]]:
    """Regular expressions of constraints, over symbols and over characters."""
    rng, findings = random.Random(f"patterns {seed}"), list[Finding]()
    with alarms():
        for number in range(n_inputs):
            if number and time.monotonic() > until:
                return number, findings
            pattern, alphabet = (
                mutated(SEEDS["pattern"], rng).decode("utf-8", "replace"),
                rng.choice(ALPHABETS),
            )
            try:
                with limited(SECONDS):
                    matches(pattern, rng.choice((None, True, False))).dfa(alphabet)
            except InputError as problem:
                if "\n" in str(problem):
                    findings.append(Finding("patterns", f"not one line: {problem}", pattern.encode()))
            except TooSlow:
                findings.append(Finding("patterns", f"longer than {SECONDS} s", pattern.encode()))
            except Exception as problem:
                findings.append(Finding("patterns", repr(problem), pattern.encode()))
    return n_inputs, findings


def fuzz_requests(
    models: Sequence[Path], data: Path, n_inputs: int, seed: int, until: float
) -> tuple[int, list[Finding]]:
    """Requests to the explorer: paths, methods, bodies. No answer may be the server's own fault."""
    rng, findings = random.Random(f"requests {seed}"), list[Finding]()
    explorer = Explorer(Gallery.of_files([str(path) for path in models], str(data)))
    app = application(explorer, TOKEN, PORT)
    for shown in explorer.gallery:
        shown.answer({"text": "a"})  # the first question compiles

    async def ask_all() -> int:
        for number in range(n_inputs):
            if number and time.monotonic() > until:
                return number
            method, path, body = _request(rng)
            try:
                with limited(SECONDS):
                    status = await _asked(app, method, path, body)
            except Exception as problem:
                findings.append(Finding("requests", f"{method} {path!r}: {problem!r}", body))
                continue
            if status >= 500:
                findings.append(Finding("requests", f"{method} {path!r}: {status}", body))
        return n_inputs

    with alarms():
        try:
            n_asked = asyncio.run(ask_all())
        except TooSlow:
            n_asked = 0
            findings.append(Finding("requests", f"longer than {SECONDS} s", b""))
    explorer.pool.shutdown()
    return n_asked, findings


def _request(rng: random.Random) -> tuple[str, str, bytes]:
    path = rng.choice(PATHS)
    body = SEEDS["batch" if path.endswith("batch") else "request"]
    if rng.random() < 0.3:
        path = mutated(path.encode(), rng).decode("utf-8", "replace")
    return rng.choice(METHODS), path, mutated(body, rng) if rng.random() < 0.9 else body


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

"""Does `sigmastar serve` keep up with 200 requests a second, and does it ever fail on what is malformed?

Requests for next symbols leave on time, whether or not earlier ones were answered, over connections that stay
open; the time of an answer counts from when its request was due. Malformed requests follow one another.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target
from sigmastar.automata.model.generators import make_hmm
from sigmastar.core.model_format import save_model

RATE, SECONDS, SECONDS_QUICK, N_CONNECTIONS = 200, 60, 3, 20
N_MALFORMED, N_MALFORMED_QUICK = 10_000, 300
Timed = tuple[int, float]  # status, seconds


def units(settings: Settings) -> list[str]:
    return ["next symbols", "malformed"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    with _server(settings.seed) as address:
        _ask_once(address)
        processor = processor_seconds(address)
        if unit == "next symbols":
            answers = asyncio.run(
                _steady(address, SECONDS_QUICK if settings.quick else SECONDS, settings.seed)
            )
        else:
            n_requests = N_MALFORMED_QUICK if settings.quick else N_MALFORMED
            answers = asyncio.run(_malformed(address, n_requests, settings.seed))
        processor = processor_seconds(address) - processor
    times = np.array([seconds for _, seconds in answers])
    statuses = np.array([status for status, _ in answers])
    failed = statuses >= 500 if unit == "malformed" else statuses != 200
    yield {
        "requests": len(answers),
        "failed": int(failed.sum()),
        "median_ms": 1000 * float(np.median(times)),
        "p99_ms": 1000 * float(np.quantile(times, 0.99)),
        "processor_ms": 1000 * processor / len(answers),
        "a second": len(answers) / float(times.sum()) if unit == "malformed" else float(RATE),
    }


@contextmanager
def _server(seed: int) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model.sigma"
        save_model(make_hmm(20, 20, np.random.default_rng(seed)), model)
        words = [sys.executable, "-m", "sigmastar", "serve", str(model), "--quiet"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def processor_seconds(address: str) -> float:
    """What the server has taken of the processor so far, by its own account."""
    with urllib.request.urlopen(f"{address}metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds_total "))


def _ask_once(address: str) -> None:
    """The first answer compiles."""
    asyncio.run(_over(address, [_request(address, _body([0, 1]))], [0.0]))


async def _steady(address: str, seconds: int, seed: int) -> list[Timed]:
    rng = np.random.default_rng(seed)
    due = np.arange(RATE * seconds) / RATE
    requests = [_request(address, _body(rng.integers(0, 20, rng.integers(0, 30)).tolist())) for _ in due]
    lanes = [
        _over(address, requests[k::N_CONNECTIONS], due[k::N_CONNECTIONS].tolist())
        for k in range(N_CONNECTIONS)
    ]
    return [answer for lane in await asyncio.gather(*lanes) for answer in lane]


async def _malformed(address: str, n_requests: int, seed: int) -> list[Timed]:
    rng = np.random.default_rng(seed)
    return await _over(address, [_broken(address, rng) for _ in range(n_requests)], [0.0] * n_requests)


async def _over(address: str, requests: list[bytes], due: list[float]) -> list[Timed]:
    """Send requests over one connection, each when it is due; a connection that is closed is opened again."""
    place, began, found = urlsplit(address), time.perf_counter(), list[Timed]()
    streams = None
    for request, when in zip(requests, due, strict=True):
        await asyncio.sleep(max(0.0, began + when - time.perf_counter()))
        start = max(began + when, began) if when else time.perf_counter()
        streams = streams or await asyncio.open_connection(place.hostname, place.port)
        streams[1].write(request)
        status, is_open = await _answer(streams[0])
        found.append((status, time.perf_counter() - start))
        if not is_open:
            streams[1].close()
            streams = None
    if streams:
        streams[1].close()
    return found


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bool]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    sizes = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
    await reader.readexactly(sizes[0] if sizes else 0)
    return int(lines[0].split()[1]), "connection: close" not in lines


def _body(symbols: list[int]) -> bytes:
    return json.dumps({"inputs": [{"text": " ".join(map(str, symbols))}]}).encode()


def _request(address: str, body: bytes, path: str = "api/models/0/batch", method: str = "POST") -> bytes:
    place = urlsplit(address)
    head = (
        f"{method} {place.path}{path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _broken(address: str, rng: np.random.Generator) -> bytes:
    paths = (
        "api/models/0/batch",
        "api/models/0/answer",
        "api/models/9/answer",
        "api/models/0/data?sort=x",
        "%ff",
    )
    bodies = (
        rng.bytes(40),
        b"[" * 2000,
        b"{",
        b'{"inputs": 3}',
        b'{"inputs": [[]]}',
        b'{"inputs": {"text": "zz"}}',
    )
    path, body = paths[rng.integers(len(paths))], bodies[rng.integers(len(bodies))]
    return _request(address, body, path, ("POST", "PUT", "GET")[rng.integers(3)])


def conclude(rows: list[Row]) -> list[Finding]:
    findings = []
    for row in rows:
        findings.append(Finding(f"{row['unit']}: requests that failed", row["failed"], Target("<=", 0)))
        if row["unit"] == "next symbols":
            findings.append(Finding("next symbols: p99, milliseconds", row["p99_ms"], Target("<", 250)))
            findings.append(Finding("next symbols: processor, milliseconds per request", row["processor_ms"]))
    return findings


QUESTION = Question(
    name="serving",
    title="Serving: 200 requests a second, and malformed ones",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("requests", "failed", "median_ms", "p99_ms", "processor_ms", "a second"),
    modules=("starlette", "uvicorn"),
)

"""A server on a thread, and requests to it as any client would send them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sigmastar.core.exhibit import Field, Inputs, Judged, Row, View, bars
from sigmastar.explorer.app import Explorer, application
from sigmastar.explorer.gallery import Gallery, Shown
from sigmastar.explorer.guard import Limits
from sigmastar.explorer.server import serve


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client(NamedTuple):
    host: str
    port: int
    token: str
    explorer: Explorer

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}/{self.token}/"

    def ask(
        self,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
        with_token: bool = True,
    ) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        where = f"/{self.token}/{path}" if with_token else f"/{path}"
        try:
            connection.request(method or ("GET" if raw is None else "POST"), where, raw, dict(headers or {}))
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()


class Echo:
    """An exhibit that gives back what is typed, in its own time."""

    fields = (Field("text", "Text", "a b"),)

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()

    def facts(self) -> dict[str, Any]:
        return {"kind": "echo"}

    def overview(self) -> list[View]:
        return []

    def answer(self, inputs: Inputs) -> list[View]:
        self.gate.wait(10)
        return [bars("Echo", [(inputs.get("text", ""), float("nan"))])]

    def predict(self, inputs: Inputs) -> Any:
        if inputs.get("text") == "bad":
            raise ValueError("a bad text")
        return {"length": len(inputs.get("text", ""))}

    def judge(self, path: str) -> Judged:
        rows = [
            Row(text, {"text": text}, len(text), float(k), None) for k, text in enumerate(("aa", "b", "ab"))
        ]
        return Judged(rows, confusion={("a", "b"): 2, ("a", "a"): 5})


def echo_gallery(name: str = "echo") -> tuple[Gallery, Echo]:
    exhibit = Echo()
    return Gallery((Shown(0, name, "toys", lambda: exhibit, "some data"),)), exhibit


@contextmanager
def serving(gallery: Gallery, limits: Limits | None = None) -> Iterator[Client]:
    """A server that is stopped at the end."""
    explorer = Explorer(gallery, limits or Limits(seconds=60.0))
    served = serve(lambda token, port: application(explorer, token, port))
    thread = threading.Thread(target=served.server.run, kwargs={"sockets": [served.socket]}, daemon=True)
    thread.start()
    place = urlsplit(served.address)
    try:
        yield Client(str(place.hostname), int(place.port or 0), place.path.strip("/"), explorer)
    finally:
        served.stop()
        thread.join(10)
        explorer.pool.shutdown()
        explorer.openings.end()
        served.socket.close()

"""What stands before the server's answers: who may ask, how much, and what browsers may do with the page.

1. `Host` must be this machine's own name with the port: foreign pages whose names point here are refused.
2. `Origin`, where a browser sends one, must be the server itself.
3. The path begins with a random token, or a header carries it; without it nothing but `/health` is answered.
4. Bodies, answers at once and seconds per answer are limited; the page may load nothing from elsewhere.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from sigmastar.explorer.metering import Meter

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_OWN = {name.encode(): value.encode() for name, value in HEADERS.items()}
NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Limits:
    """How much may be asked: bytes of a body, inputs of a batch, answers at once, seconds per answer."""

    body: int = 1_000_000
    batch: int = 1000
    at_once: int = 16
    seconds: float = 30.0


class Refused(Exception):
    """A request that is not answered: its status, and one line that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Guard:
    """An application around another: refuses, counts, and adds the headers that keep the page to itself."""

    def __init__(self, app: App, token: str, port: int, meter: Meter, limits: Limits) -> None:
        self.app, self.token, self.meter, self.limits = app, token, meter, limits
        self.hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, seen = time.perf_counter(), {"status": 500, "is_open": False}

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                seen.update(status=message["status"], is_open=True)
                kept = [pair for pair in message["headers"] if pair[0].lower() not in _OWN]
                message["headers"] = [*kept, *_OWN.items()]
            await send(message)

        try:
            inner = self.admitted(scope)
            await self.app(inner, _limited(receive, scope, self.limits.body), with_headers)
        except Refused as refused:
            if not seen["is_open"]:
                await _refuse(refused, with_headers)
        finally:
            route = scope.get("sigmastar.route", "other")
            self.meter.add(route, int(seen["status"]), time.perf_counter() - began)

    def admitted(self, scope: Scope) -> Scope:
        """The request without the token in its path, or a refusal."""
        headers = {name.lower(): value for name, value in scope["headers"]}
        if headers.get(b"host", b"").decode("latin-1").lower() not in self.hosts:
            raise Refused(421, "the Host header names another server; use the address that was printed")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self.origins:
            raise Refused(403, "requests from other pages are refused")
        if scope["path"] == "/health":
            return scope
        given, _, rest = scope["path"].removeprefix("/").partition("/")
        bearer = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ").strip()
        if _same(given, self.token):
            if scope["path"] == f"/{given}":
                raise Refused(404, "the address ends with a slash behind the token")
            scope["path"], scope["raw_path"] = f"/{rest}", f"/{rest}".encode()
            return scope
        if _same(bearer, self.token):
            return scope
        raise Refused(404, "there is nothing here without the token; use the address that was printed")


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def _limited(receive: Receive, scope: Scope, most: int) -> Receive:
    """The body of a request, refused as soon as it is too long."""
    for name, value in scope["headers"]:
        if name.lower() == b"content-length" and (
            not value.isdigit() or len(value) > 18 or int(value) > most
        ):
            raise Refused(413, f"the body is larger than {most} bytes")
    taken = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise Refused(413, f"the body is larger than {most} bytes")
        return message

    return limited


async def _refuse(refused: Refused, send: Send) -> None:
    body = json.dumps({"error": refused.why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

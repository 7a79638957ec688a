"""A server on this machine alone: a socket of 127.0.0.1, a token that only its address holds."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sigmastar.core.errors import InputError

HOST = "127.0.0.1"
_KEPT_OPEN, _LAST_WORDS = (
    15,
    5,
)  # seconds that idle connections stay open, and that answers under way get at the end


def need_packages() -> None:
    """Refuse to start without what the extra `serve` brings."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError('the explorer needs packages more: pip install "sigmastar[serve]"') from None


@dataclass(eq=False)
class Served:
    """A bound socket, and the server that will answer on it."""

    server: Any
    socket: socket.socket
    address: str

    def run(self) -> None:
        """Answer until SIGINT or SIGTERM; what is under way is finished."""
        with suppress(KeyboardInterrupt, SystemExit), self.socket:  # signals are how it ends
            self.server.run(sockets=[self.socket])

    def stop(self) -> None:
        self.server.should_exit = True


def bound(port: int) -> socket.socket:
    """A socket of this machine alone; port 0 takes a free one."""
    # Named TCP, so that asyncio turns Nagle's delay off: it would cost every answer 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)  # who comes before the server runs waits
    except OSError as problem:
        found.close()
        why = problem.strerror or str(problem)
        raise InputError(f"port {port} cannot be used ({why}); give another --port, or 0 for any") from None
    return found


def serve(make_app: Callable[[str, int], Any], port: int = 0, token: str | None = None) -> Served:
    """Bind, and make the server of an application that is told its token and port."""
    import uvicorn

    listening = bound(port)
    number, word = listening.getsockname()[1], token or secrets.token_urlsafe(18)
    config = uvicorn.Config(
        make_app(word, number),
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEPT_OPEN,
        timeout_graceful_shutdown=_LAST_WORDS,
        limit_concurrency=500,
        h11_max_incomplete_event_size=32_768,
        ws="none",
        lifespan="off",
    )
    return Served(uvicorn.Server(config), listening, f"http://{HOST}:{number}/{word}/")

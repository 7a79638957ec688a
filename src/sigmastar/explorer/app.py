"""The application: pages and answers in JSON, the same for the page itself and for programs.

GET  /                          the page              GET  /api/models              all models
GET  /api/models/N              a model itself        POST /api/models/N/answer     views of what is typed
POST /api/models/N/batch        values for many       GET  /api/models/N/data       items of data, sorted
GET  /api/models/N/data/K       one item              GET  /api/models/N/summary    pictures of all items
GET  /api/learning              a fit under way, where `learn --watch` shows one
GET  /openapi.json, /health, /metrics
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sigmastar import __version__
from sigmastar.core.exhibit import plain
from sigmastar.explorer.data_views import SORTS, selected
from sigmastar.explorer.gallery import Gallery, Shown, in_json
from sigmastar.explorer.guard import Guard, Limits, Refused
from sigmastar.explorer.learning import Board
from sigmastar.explorer.metering import Meter
from sigmastar.explorer.openapi import document
from sigmastar.explorer.openings import Openings

Result = TypeVar("Result")
Handler = Callable[["Explorer", Request], Awaitable[Response]]
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
NOT_YET = 202  # no error: browsers would report one for every time that the page asks again
_LONGEST_TEXT = 20_000  # characters of one input
_SLOW_CLIENT = 20.0  # seconds that a body may take to arrive
_OPENING = 2.0  # seconds until who asks for a model that is being opened is told to ask again


@dataclass(eq=False)
class Explorer:
    """Models, and what it takes to answer questions about them side by side."""

    gallery: Gallery
    limits: Limits = field(default_factory=Limits)
    meter: Meter = field(default_factory=Meter)
    has_page: bool = True
    board: Board | None = None  # what is heard of a model that is being learned

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(4, "answers")
        self.openings = Openings()
        self.waiting = 0

    async def ask(self, shown: Shown, task: Callable[[], Result]) -> Result:
        """What a thread finds of a model, once the model is open."""
        if not shown.is_open:
            opening = asyncio.wrap_future(self.openings.of(shown))
            try:
                async with asyncio.timeout(min(self.limits.seconds, _OPENING)):
                    await opening
            except TimeoutError:
                raise Refused(NOT_YET, f"{shown.name} is being opened; ask again in a moment") from None
            except (ValueError, MemoryError, RecursionError) as problem:
                raise _unanswered(problem) from None
        return await self.work(task)

    async def work(self, task: Callable[[], Result]) -> Result:
        """What a thread finds; refused where too many wait already, given up where it takes too long."""
        if self.waiting >= self.limits.at_once:
            raise Refused(503, "too many questions at once; ask again in a moment")
        self.waiting += 1
        future = self.pool.submit(task)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise Refused(504, f"no answer within {self.limits.seconds:g} seconds; give less") from None
        except (ValueError, MemoryError, RecursionError) as problem:
            raise _unanswered(problem) from None

    def _done(self) -> None:
        self.waiting -= 1

    def shown(self, request: Request) -> Shown:
        found = self.gallery.find(request.path_params["number"])
        if found is None:
            raise Refused(404, f"there is no such model; there are {len(self.gallery.shown)}, counted from 0")
        return found


def _unanswered(problem: BaseException) -> Refused:
    return Refused(422, " ".join(str(problem).split()) or "too large to answer")


async def models(explorer: Explorer, request: Request) -> Response:
    entries = [shown.entry() for shown in explorer.gallery]
    watched = explorer.board is not None
    return JSONResponse({"version": __version__, "models": entries, "is_watched": watched})


async def learning(explorer: Explorer, request: Request) -> Response:
    if explorer.board is None:
        raise Refused(404, "no model is learned here; learn with --watch to see it")
    return _json(explorer.board.to_json())


async def about(explorer: Explorer, request: Request) -> Response:
    shown = explorer.shown(request)
    return _json(await explorer.ask(shown, shown.about))


async def answer(explorer: Explorer, request: Request) -> Response:
    shown, inputs = explorer.shown(request), _inputs((await _body(request)).get("inputs"))
    return _json(await explorer.ask(shown, lambda: shown.answer(inputs)))


async def batch(explorer: Explorer, request: Request) -> Response:
    shown, given = explorer.shown(request), (await _body(request)).get("inputs")
    if not isinstance(given, list) or len(given) > explorer.limits.batch:
        raise Refused(422, f"inputs must be a list of at most {explorer.limits.batch} objects")
    checked = [_inputs(each) for each in given]
    return _json({"outputs": await explorer.ask(shown, lambda: shown.predict(checked))})


async def data(explorer: Explorer, request: Request) -> Response:
    shown, asked = explorer.shown(request), request.query_params
    sort, text = asked.get("sort", "loss"), asked.get("filter", "")
    if sort not in SORTS:
        raise Refused(422, f"sort must be one of {', '.join(SORTS)}")
    first, count = _whole(asked.get("first", "0")), _whole(asked.get("count", "200"))
    return _json(await explorer.ask(shown, lambda: selected(shown.judged(), sort, text, first, count)))


async def item(explorer: Explorer, request: Request) -> Response:
    shown, number = explorer.shown(request), _whole(request.path_params["row"])
    judged = await explorer.ask(shown, shown.judged)
    if number >= len(judged.rows):
        raise Refused(404, f"there is no such item; there are {len(judged.rows)}, counted from 0")
    row = judged.rows[number]
    return _json({"text": row.text, "inputs": plain(row.inputs), "gold": in_json(row.gold)})


async def summary(explorer: Explorer, request: Request) -> Response:
    shown = explorer.shown(request)
    return _json({"views": await explorer.ask(shown, shown.data_summary)})


async def health(explorer: Explorer, request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__, "uptime": round(explorer.meter.uptime, 1)})


async def metrics(explorer: Explorer, request: Request) -> Response:
    return PlainTextResponse(explorer.meter.text())


async def openapi(explorer: Explorer, request: Request) -> Response:
    return JSONResponse(document(explorer.limits))


async def page(explorer: Explorer, request: Request) -> Response:
    """A file of the page: those that there are, by their plain names."""
    name = request.path_params.get("name", "index.html")
    place = files("sigmastar.explorer").joinpath("static")
    known = {each.name: each for each in place.iterdir()} if explorer.has_page else {}
    if name not in known:
        raise Refused(404, "there is no such page")
    kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    return Response(known[name].read_bytes(), media_type=kind)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/", page),
    ("GET", "/static/{name}", page),
    ("GET", "/api/models", models),
    ("GET", "/api/learning", learning),
    ("GET", "/api/models/{number}", about),
    ("POST", "/api/models/{number}/answer", answer),
    ("POST", "/api/models/{number}/batch", batch),
    ("GET", "/api/models/{number}/data", data),
    ("GET", "/api/models/{number}/data/{row}", item),
    ("GET", "/api/models/{number}/summary", summary),
    ("GET", "/openapi.json", openapi),
    ("GET", "/health", health),
    ("GET", "/metrics", metrics),
)


def application(explorer: Explorer, token: str, port: int) -> Guard:
    """The application behind its guard."""
    routes = [
        Route(path, _endpoint(explorer, handler, path), methods=[method]) for method, path, handler in ROUTES
    ]
    known: dict[Any, Any] = {Refused: _refused, HTTPException: _http, ClientDisconnect: _gone}
    return Guard(
        Starlette(routes=routes, exception_handlers=known), token, port, explorer.meter, explorer.limits
    )


def _endpoint(explorer: Explorer, handler: Handler, path: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        request.scope["sigmastar.route"] = path
        return await handler(explorer, request)

    return endpoint


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Refused)
    again = {"retry-after": "1"} if problem.status in (NOT_YET, 503) else None
    said = "message" if problem.status == NOT_YET else "error"
    return JSONResponse({said: problem.why}, problem.status, headers=again)


async def _http(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"error": problem.detail}, problem.status_code, headers=problem.headers)


async def _gone(request: Request, problem: Exception) -> Response:
    return JSONResponse({"error": "the client went away"}, 400)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that was sent."""
    try:
        async with asyncio.timeout(_SLOW_CLIENT):
            text = await request.body()
        found = json.loads(text)
    except TimeoutError:
        raise Refused(408, "the body did not arrive in time") from None
    except (ValueError, RecursionError):
        raise Refused(400, "the body must be one JSON object in UTF-8") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body must be one JSON object")
    return found


def _inputs(given: object) -> dict[str, str]:
    """The fields of one question."""
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Refused(422, 'inputs must be an object of texts by field, such as {"text": "a b"}')
    for value in given.values():
        if len(value) > _LONGEST_TEXT:
            raise Refused(422, f"a text has {len(value)} characters; give at most {_LONGEST_TEXT}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refused(422, "a text holds half a character") from None
    return given


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refused(422, f"{text[:20]!r} is not a whole number from 0 on")
    return int(text)


def _json(value: Any) -> Response:
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False), media_type="application/json")

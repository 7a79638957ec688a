"""The server: who is answered, what is refused, and that no question brings it down."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pytest

from explorer.serving import Client, Echo, echo_gallery, serving
from sigmastar.explorer.app import ROUTES
from sigmastar.explorer.guard import Limits
from sigmastar.explorer.server import bound


@pytest.fixture(scope="module")
def toys() -> Iterator[tuple[Client, Echo]]:
    gallery, exhibit = echo_gallery("<script>alert(1)</script>")
    with serving(gallery, Limits(body=5000, batch=5, at_once=2, seconds=0.3)) as client:
        yield client, exhibit


def test_answers_need_the_token_and_our_own_name(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    assert client.ask("api/models").status == 200
    assert client.ask("api/models", with_token=False).status == 404
    bearer = {"Authorization": f"Bearer {client.token}"}
    assert client.ask("api/models", headers=bearer, with_token=False).status == 200
    assert client.ask("api/models", headers={"Host": "evil.example:80"}).status == 421
    assert client.ask("api/models", headers={"Host": f"localhost:{client.port}"}).status == 200
    assert client.ask("api/models", headers={"Origin": "http://evil.example"}).status == 403
    assert client.ask("api/models", headers={"Origin": "null"}).status == 403
    assert client.ask("health", with_token=False).json["status"] == "ok"


def test_only_this_machine_is_listened_to() -> None:
    with bound(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert listening.proto == socket.IPPROTO_TCP  # or Nagle's algorithm delays every answer


def test_the_page_may_load_nothing_from_elsewhere(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    for path in ("", "static/app.js", "api/models", "nowhere"):
        policy = client.ask(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "unsafe" not in policy
    page = client.ask("").body.decode()
    assert "://" not in page
    assert client.ask("static/..%2fapp.py").status == 404
    assert client.ask("static/app.js").headers["content-type"].startswith("text/javascript")


def test_names_that_look_like_markup_travel_as_text(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    answer = client.ask("api/models")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json["models"][0]["name"] == "<script>alert(1)</script>"


def test_views_and_batches(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    (view,) = client.ask("api/models/0/answer", {"inputs": {"text": "a b"}}).json["views"]
    assert view["data"]["bars"] == [{"name": "a b", "value": None}]  # not a number is no JSON
    outputs = client.ask("api/models/0/batch", {"inputs": [{"text": "abc"}, {"text": "bad"}]}).json["outputs"]
    assert outputs == [{"length": 3}, {"error": "a bad text"}]
    assert client.ask("api/models/0/batch", {"inputs": [{}] * 6}).status == 422


def test_data_are_sorted_and_filtered(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    found = client.ask("api/models/0/data?filter=A").json
    assert [row["text"] for row in found["rows"]] == ["ab", "aa"]
    assert [row["text"] for row in client.ask("api/models/0/data?sort=number").json["rows"]] == [
        "aa",
        "b",
        "ab",
    ]
    assert client.ask("api/models/0/data/1").json["inputs"] == {"text": "b"}
    assert client.ask("api/models/0/data/3").status == 404
    kinds = [view["kind"] for view in client.ask("api/models/0/summary").json["views"]]
    assert kinds == ["lines", "heat"]


def test_too_much_is_refused(toys: tuple[Client, Echo]) -> None:
    client, exhibit = toys
    assert client.ask("api/models/0/answer", b"x" * 5001).status == 413
    chunked = {"Transfer-Encoding": "chunked"}
    pieces = b"1388\r\n" + b"x" * 5000 + b"\r\n10\r\n" + b"y" * 16 + b"\r\n0\r\n\r\n"
    assert client.ask("api/models/0/answer", pieces, chunked).status == 413
    exhibit.gate.clear()
    try:
        statuses: list[int] = []
        ask = {"inputs": {"text": "slow"}}
        threads = [
            threading.Thread(target=lambda: statuses.append(client.ask("api/models/0/answer", ask).status))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [503, 503, 504, 504]
        assert client.ask("health", with_token=False).status == 200  # and the others are not kept waiting
    finally:
        exhibit.gate.set()
    time.sleep(0.1)
    assert client.ask("api/models/0/answer", {"inputs": {"text": "fast"}}).status == 200


def test_a_slow_client_blocks_nobody(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    with socket.create_connection((client.host, client.port)) as slow:
        slow.sendall(f"POST /{client.token}/api/models/0/answer HTTP/1.1\r\nHost: {client.host}".encode())
        begin = time.perf_counter()
        assert client.ask("api/models").status == 200
        assert time.perf_counter() - begin < 2.0


def _malformed(rng: np.random.Generator) -> bytes:
    whole = json.dumps({"inputs": {"text": "a b"}}).encode()
    way = rng.integers(6)
    if way == 0:
        return rng.bytes(int(rng.integers(0, 60)))
    if way == 1:
        return whole[: int(rng.integers(len(whole)))]
    if way == 2:
        return b"[" * int(rng.integers(1, 3000))
    values = [
        None,
        1,
        1e999,
        [],
        {},
        "x",
        {"text": 1},
        {"text": None},
        {"text": "\ud800"},
        [{"text": []}],
        [[]],
    ]
    inner = values[int(rng.integers(len(values)))]
    return json.dumps({"inputs": inner} if way < 5 else inner).encode()


def test_malformed_requests_are_never_our_fault(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    rng = np.random.default_rng(0)
    paths = [
        "api/models/0/answer",
        "api/models/0/batch",
        "api/models/9/answer",
        "api/models/-1",
        "api/models/٣",
    ]
    paths += [
        "api/models/0/data?sort=x",
        "api/models/0/data?first=-1",
        "api/models/0/data/1e9",
        "%00",
        "a/../b",
    ]
    statuses = set()
    for number in range(400):
        path = paths[number % len(paths)]
        method = ("POST", "GET", "PUT", "DELETE")[int(rng.integers(4))]
        statuses.add(client.ask(quote(path, safe="/?=%"), _malformed(rng), method=method).status)
    assert all(status < 500 for status in statuses), statuses
    assert client.ask("api/models").status == 200


def test_raw_rubbish_on_the_socket(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    rng = np.random.default_rng(1)
    for _ in range(20):
        with socket.create_connection((client.host, client.port), timeout=5) as raw:
            raw.sendall(rng.bytes(200) + b"\r\n\r\n")
            assert b" 500 " not in raw.recv(200)
    assert client.ask("api/models").status == 200


def test_the_description_names_every_path(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    described = client.ask("openapi.json").json
    assert described["openapi"].startswith("3.1")
    own = ("/", "/static/{name}", "/openapi.json")
    assert set(described["paths"]) == {path for _, path, _ in ROUTES if path not in own}
    for method, path, _ in ROUTES:
        assert path in own or method.lower() in described["paths"][path]


def test_figures_of_the_server(toys: tuple[Client, Echo]) -> None:
    client, _ = toys
    client.ask("api/models")
    text = client.ask("metrics").body.decode()
    assert 'sigmastar_requests_total{route="/api/models",status="200"}' in text
    within = [int(line.split()[1]) for line in text.splitlines() if "seconds_bucket" in line]
    total = next(int(line.split()[1]) for line in text.splitlines() if "seconds_count " in line)
    assert within == sorted(within)  # each bound counts all that is below it
    assert within[-1] == total > 0
    assert "process_cpu_seconds_total 0.0000" not in text
    assert "process_cpu_seconds_total" in text
    assert client.token not in text

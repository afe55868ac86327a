"""A local HTTP server that speaks OpenAI's chat completions, well or badly, as a script tells it.

A script is a function from the :class:`Asked` to a behaviour; :func:`in_turn` makes one of a list. A behaviour writes
the answer. The server counts what it was asked and what it would have been paid.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

KEY = "sk-test-0123456789abcdef"
PROMPT_TOKENS = 1000
CHUNK = 7  # characters of a streamed piece


@dataclass(frozen=True)
class Asked:
    """One request: its number from 0, its body and its headers (names in lower case)."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """All messages together."""
        return "\n".join(message["content"] for message in self.body["messages"])


Behaviour: TypeAlias = Callable[["Handler", Asked], None]
Script: TypeAlias = Callable[[Asked], Behaviour]


def in_turn(*behaviours: Behaviour) -> Script:
    """Return the script that uses each behaviour once, and then the last one for good."""
    return lambda asked: behaviours[min(asked.number, len(behaviours) - 1)]


def always(behaviour: Behaviour) -> Script:
    return lambda _asked: behaviour


class Handler(BaseHTTPRequestHandler):
    """Serves one connection."""

    protocol_version = "HTTP/1.1"
    server: _Server
    asked: Asked

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        owner = self.server.owner
        with owner.lock:
            asked = Asked(len(owner.asked), body, {name.lower(): value for name, value in self.headers.items()})
            owner.asked.append(asked)
        self.asked = asked
        try:
            if self.path != "/v1/chat/completions":
                self.fail(404, f"no such path {self.path}")
            else:
                owner.script(asked)(self, asked)
        except (BrokenPipeError, ConnectionResetError):
            owner.hung_up += 1
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def send(self, status: int, content_type: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.write(data)

    def begin_stream(self, content_type: str = "text/event-stream") -> None:
        """Begin an answer that ends with its connection."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, part: dict[str, Any]) -> None:
        self.write(f"data: {json.dumps(part)}\n\n".encode())

    def write(self, data: bytes) -> None:
        self.wfile.write(data)
        with self.server.owner.lock:
            self.server.owner.written += len(data)

    def fail(self, status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> None:
        error = {"error": {"message": message, **fields}}
        self.send(status, "application/json", json.dumps(error).encode(), headers)

    def answer(self, text: str, finish: str = "stop", usage: bool = True, **fields: Any) -> None:
        """Answer as the request wants it, streamed or whole."""
        asked = self.asked.body
        tokens = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": max(len(text) // 4, 1)}
        base = {"id": "chatcmpl-1", "created": 1, "model": asked["model"]}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text, **fields}
            whole = {**base, "object": "chat.completion", "choices": [_choice(0, finish, message=message)]}
            self.send(200, "application/json", json.dumps({**whole, "usage": tokens} if usage else whole).encode())
            return
        self.begin_stream()
        self.write(b": keep-alive\n\n")
        base["object"] = "chat.completion.chunk"
        self.event({**base, "choices": [_choice(0, None, delta={"role": "assistant", "content": "", **fields})]})
        for at in range(0, len(text), CHUNK):
            self.event({**base, "choices": [_choice(0, None, delta={"content": text[at : at + CHUNK]})]})
        self.event({**base, "choices": [_choice(0, finish, delta={})]})
        if usage and asked.get("stream_options", {}).get("include_usage"):
            self.event({**base, "choices": [], "usage": tokens})
        self.write(b"data: [DONE]\n\n")


def _choice(index: int, finish: str | None, **fields: Any) -> dict[str, Any]:
    return {"index": index, "finish_reason": finish, **fields}


# -- behaviours -------------------------------------------------------------------------------------------


def says(text: str, **options: Any) -> Behaviour:
    return lambda handler, _asked: handler.answer(text, **options)


def refuses() -> Behaviour:
    return says("", refusal="I cannot help with that.")


def html(status: int = 200) -> Behaviour:
    page = b"<!doctype html><html><body>502 Bad Gateway</body></html>"
    return lambda handler, _asked: handler.send(status, "text/html; charset=utf-8", page)


def plain_page() -> Behaviour:
    return lambda handler, _asked: handler.send(200, "application/json", b"<html>a proxy that lies</html>")


def half_a_stream() -> Behaviour:
    def behave(handler: Handler, _asked: Asked) -> None:
        handler.begin_stream()
        handler.event({"choices": [_choice(0, None, delta={"content": "impl: |-\n  E2 = step.Zi"})]})
        handler.write(b'data: {"choices": [{"index": 0, "del')

    return behave


def half_a_body() -> Behaviour:
    """Promise more than is sent."""

    def behave(handler: Handler, _asked: Asked) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.write(b'{"choices": [{"message": {"content": "impl: ')
        handler.close_connection = True

    return behave


def huge(size: int = 10_000_000, status: int = 200, content_type: str = "application/json") -> Behaviour:
    def behave(handler: Handler, _asked: Asked) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(size))
        handler.end_headers()
        for _ in range(size // 10_000):
            handler.write(b"x" * 10_000)

    return behave


def huge_stream(size: int = 10_000_000) -> Behaviour:
    def behave(handler: Handler, _asked: Asked) -> None:
        handler.begin_stream()
        for _ in range(size // 10_000):
            handler.event({"choices": [_choice(0, None, delta={"content": "x" * 10_000})]})

    return behave


def hangs(begin: bool = False) -> Behaviour:
    """Say nothing (or begin an answer) until the server is closed."""

    def behave(handler: Handler, _asked: Asked) -> None:
        if begin:
            handler.begin_stream()
            handler.event({"choices": [_choice(0, None, delta={"content": "impl"})]})
        handler.server.owner.closing.wait()
        handler.close_connection = True

    return behave


def hangs_up() -> Behaviour:
    def behave(handler: Handler, _asked: Asked) -> None:
        handler.close_connection = True

    return behave


def fails(status: int, message: str = "something went wrong", **fields: Any) -> Behaviour:
    return lambda handler, _asked: handler.fail(status, message, **fields)


def limits_rate(retry_after: str | None = "0.01") -> Behaviour:
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return lambda handler, _asked: handler.fail(429, "too many requests", headers, code="rate_limit_exceeded")


def wrong_key() -> Behaviour:
    """Quote the key, as real endpoints do."""

    def behave(handler: Handler, asked: Asked) -> None:
        key = asked.headers["authorization"].removeprefix("Bearer ")
        handler.fail(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")

    return behave


def picky(then: Behaviour, *refused: str) -> Behaviour:
    """Refuse requests with any of the parameters ``refused``, one after the other; ``system`` stands for that role."""

    def behave(handler: Handler, asked: Asked) -> None:
        roles = {message["role"] for message in asked.body["messages"]}
        for name in refused:
            if name in asked.body:
                handler.fail(400, f"Unsupported parameter: '{name}' is not supported with this model.", param=name)
                return
            if name in roles:
                text = f"Unsupported value: 'messages[0].role' does not support '{name}' with this model."
                handler.fail(400, text, param="messages[0].role")
                return
        then(handler, asked)

    return behave


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: FakeModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep what went wrong in a script: the test has to fail with it. A client may hang up between requests."""
        error = sys.exc_info()[1]
        if isinstance(error, ConnectionError):
            self.owner.hung_up += 1
        else:
            self.owner.defects.append(error)


class FakeModelServer:
    """The server; a context manager. ``base_url`` is what a client gets."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.written = 0
        self.hung_up = 0
        self.defects: list[BaseException | None] = []
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FakeModelServer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        assert not self.defects, self.defects

    def bodies(self) -> Sequence[dict[str, Any]]:
        """Return the bodies of all requests so far."""
        return [asked.body for asked in self.asked]

"""A small client of the language server. Every wait has a limit; every answer has to have its type of LSP."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter

from processes import PATIENCE

ROOT = Path(__file__).parents[1]
LIMIT = PATIENCE
_CONVERTER = get_converter()

PUSH: dict[str, Any] = {
    "textDocument": {
        "completion": {"completionItem": {"snippetSupport": True, "tagSupport": {"valueSet": [1]}}},
        "rename": {"prepareSupport": True},
        "publishDiagnostics": {"relatedInformation": True},
    },
    "workspace": {"codeLens": {"refreshSupport": True}, "workspaceEdit": {"documentChanges": True}},
}
PULL: dict[str, Any] = {
    "textDocument": {"diagnostic": {"dynamicRegistration": False}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}


class Client:
    """A server process and the messages that it sent. Requests of the server are answered at once."""

    def __init__(
        self, command: Sequence[str] = (), env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
        self.process = subprocess.Popen(
            list(command) or [sys.executable, "-m", "stepserver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": libraries} if env is None else dict(env),
            cwd=cwd,
        )
        self.received: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}  # to requests of the server, by method; functions of the parameters, too
        self.errors: list[str] = []
        self.encoding = "utf-16"
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._numbers = 0
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._read_messages, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            if error is None:
                self.shutdown()
            self.process.kill()
        self.process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    # -- messages -----------------------------------------------------------------------------------------------

    def send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def start_request(self, method: str, params: Any) -> int:
        self._numbers += 1
        self.send({"id": self._numbers, "method": method, "params": params})
        return self._numbers

    def answer(self, number: int) -> dict[str, Any]:
        """Return the whole answer to a request."""

        def is_it(message: dict[str, Any]) -> bool:
            return message.get("id") == number and "method" not in message

        return next(filter(is_it, self.received), None) or self.wait(is_it)

    def request(self, method: str, params: Any) -> Any:
        """Return the result of a request, which has to have the right type."""
        message = self.answer(self.start_request(method, params))
        assert "error" not in message, message
        kind = types.METHOD_TO_TYPES.get(method, (None, None))[1]
        if kind is not None:
            _CONVERTER.structure(message, kind)
        return message["result"]

    def refusal(self, method: str, params: Any) -> dict[str, Any]:
        """Return the error of a request that cannot be met."""
        error: dict[str, Any] = self.answer(self.start_request(method, params))["error"]
        return error

    def wait(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = LIMIT) -> dict[str, Any]:
        """Return the next message that is ``wanted``; all are kept in ``received``."""
        end = time.monotonic() + seconds
        while True:
            try:
                message = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                shown = "\n".join(str(item)[:300] for item in self.received[-8:])
                raise AssertionError(f"nothing came in {seconds} s; before:\n{shown}\n{self.stderr()}") from None
            assert message is not None, f"the server ended: {self.stderr()}"
            self.received.append(message)
            if "method" in message and "id" in message:
                answer = self.answers.get(message["method"])
                self.send({"id": message["id"], "result": answer(message["params"]) if callable(answer) else answer})
            if wanted(message):
                return message

    def notification(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        """Return the parameters of the next notification that is ``wanted``."""
        return self.wait(lambda message: message.get("method") == method and wanted(message["params"]))["params"]

    def requested(self, method: str) -> int:
        """Return how often the server has asked ``method`` of the client."""
        return sum(message.get("method") == method for message in self.received)

    def stderr(self) -> str:
        return "\n".join(self.errors)

    # -- a session -----------------------------------------------------------------------------------------------

    def initialize(
        self,
        capabilities: Mapping[str, Any] = PUSH,
        *,
        trusted: bool = False,
        settings: Mapping[str, Any] | None = None,
        folder: Path | None = None,
        encodings: Sequence[str] = (),
        **options: Any,
    ) -> dict[str, Any]:
        general = {"general": {"positionEncodings": list(encodings)}} if encodings else {}
        folders = [] if folder is None else [{"uri": folder.as_uri(), "name": folder.name}]
        result: dict[str, Any] = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "capabilities": {**capabilities, **general},
                "workspaceFolders": folders,
                "initializationOptions": {"trusted": trusted, "settings": settings or {}, **options},
            },
        )
        self.encoding = result["capabilities"]["positionEncoding"]
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, language: str = "python", version: int = 1) -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def open_notebook(self, book: str, texts: Sequence[str]) -> list[str]:
        """Open a notebook of Python cells with these texts; returns the URIs of the cells."""
        cells = [f"{book}#cell{number}" for number in range(len(texts))]
        documents = [
            {"uri": uri, "languageId": "python", "version": 1, "text": text}
            for uri, text in zip(cells, texts, strict=True)
        ]  # fmt: skip
        notebook = {
            "uri": book, "notebookType": "jupyter-notebook", "version": 1,
            "cells": [{"kind": 2, "document": uri} for uri in cells],
        }  # fmt: skip
        self.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents})
        return cells

    def change(self, uri: str, version: int, *changes: Mapping[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def findings(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """Return the next pushed findings of a document (of a version)."""
        params = self.notification(
            "textDocument/publishDiagnostics",
            lambda params: params["uri"] == uri and version in (None, params.get("version")),
        )
        found: list[dict[str, Any]] = params["diagnostics"]
        return found

    def programs(self, uri: str, *states: str) -> list[dict[str, Any]]:
        """Wait until every program of a document is in one of ``states``, and to stay there; return their rows."""
        params = self.notification(
            "stepsmith/simulation",
            lambda params: (
                params["uri"] == uri
                and all(row["state"] in states and not row.get("provisional") for row in params["programs"])
            ),
        )
        rows: list[dict[str, Any]] = params["programs"]
        return rows

    def worker_pids(self) -> list[int]:
        status = self.request("stepsmith/status", {})
        return [pid for simulator in status["simulators"] for pid in simulator["pids"]]

    def position(self, text: str, offset: int) -> dict[str, int]:
        """Return the position of an offset, counted in a way of its own."""
        lines = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return {"line": len(lines) - 1, "character": units(lines[-1], self.encoding)}

    def shutdown(self) -> int:
        assert self.answer(self.start_request("shutdown", None))["result"] is None
        self.notify("exit", None)
        return self.process.wait(LIMIT)

    def _read_messages(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self._queue.put(None)
                return
            self._queue.put(json.loads(stream.read(length)))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace").rstrip())


def units(text: str, encoding: str) -> int:
    """Return the length of ``text`` as LSP counts it."""
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    return len(text.encode({"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding])) // width

"""What is no frame ends the server, so that its client starts another; a whole frame without a message is answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lsp_client import LIMIT, ROOT, Client
from processes import alive, eventually
from server_texts import GOOD, HEAD, OVERUSED
from stepserver.transport import MOST_BODY, MOST_HEAD, BrokenFrame, Framing

BROKEN = {
    "larger than anything": b"Content-Length: 99999999999999\r\n\r\n{}",
    "more digits than a number has": b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n{}",
    "over the limit": b"Content-Length: %d\r\n\r\n{}" % (MOST_BODY + 1),
    "no length": b"Content-Type: application/vscode-jsonrpc\r\n\r\n{}",
    "no number": b"Content-Length: two\r\n\r\n{}",
    "nothing": b"Content-Length:\r\n\r\n{}",
    "negative": b"Content-Length: -2\r\n\r\n{}",
    "signed": b"Content-Length: +2\r\n\r\n{}",
    "a fraction": b"Content-Length: 2.0\r\n\r\n{}",
    "underscores": b"Content-Length: 1_0\r\n\r\n{}",
    "digits of another script": "Content-Length: ٢\r\n\r\n{}".encode(),
    "two lengths": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a line that is no field": b"Content-Length 2\r\n\r\n{}",
    "a head of 2 MB": b"X: " + b"x" * (2 << 20) + b"\r\nContent-Length: 2\r\n\r\n{}",
    "a head without an end": b"Content-Length: 2\r\n" + b"X: x\r\n" * MOST_HEAD,
    "nothing but line breaks": b"\r\n" * MOST_HEAD,
    "a body without a head": b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}' + b"\r\n\r\n",
    "zeros": bytes(MOST_HEAD),
}
PARSE, REQUEST = -32700, -32600
DEEP = 100_000
UNREADABLE: dict[str, tuple[bytes, Any, int]] = {  # the body, the id of the answer, and its code
    "empty": (b"", None, PARSE),
    "no JSON": (b"Hello", None, PARSE),
    "half of a message": (b'{"jsonrpc": "2.0", "id": 7', None, PARSE),
    "two messages": (b"{}{}", None, PARSE),
    "no UTF-8": (b'{"jsonrpc": "2.0", "id": "\xff", "method": "shutdown"}', None, PARSE),
    "UTF-16": ('{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}'.encode("utf-16"), None, PARSE),
    "deep lists": (b"[" * DEEP + b"]" * DEEP, None, PARSE),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, None, PARSE),
    "not a number": (b'{"jsonrpc": "2.0", "id": NaN, "method": "shutdown"}', None, PARSE),
    "a number of 900,000 digits": (b'{"jsonrpc": "2.0", "id": ' + b"1" * 900_000 + b"}", None, PARSE),
    "a batch": (b'[{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}]', None, REQUEST),
    "a text": (b'"shutdown"', None, REQUEST),
    "null": (b"null", None, REQUEST),
    "no version": (b'{"id": 7, "method": "shutdown"}', 7, REQUEST),
    "version 1": (b'{"jsonrpc": "1.0", "id": 7, "method": "shutdown"}', 7, REQUEST),
    "a version that is a number": (b'{"jsonrpc": 2.0, "id": 7, "method": "shutdown"}', 7, REQUEST),
    "an id that is a list": (b'{"jsonrpc": "2.0", "id": [7], "method": "shutdown"}', None, REQUEST),
    "an id that is an object": (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', None, REQUEST),
    "an id that is a fraction": (b'{"jsonrpc": "2.0", "id": 1e999, "method": "shutdown"}', None, REQUEST),
    "an id that is true": (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', None, REQUEST),
    "a method that is a list": (b'{"jsonrpc": "2.0", "id": 7, "method": ["shutdown"]}', 7, REQUEST),
    "a method that is null": (b'{"jsonrpc": "2.0", "id": 7, "method": null}', 7, REQUEST),
    "params that are a text": (b'{"jsonrpc": "2.0", "id": 7, "method": "stepsmith/status", "params": "x"}', 7, REQUEST),
    "neither question nor answer": (b'{"jsonrpc": "2.0", "id": 7}', 7, REQUEST),
    "result and error": (b'{"jsonrpc": "2.0", "id": 7, "result": 1, "error": {}}', 7, REQUEST),
    "nothing at all": (b"{}", None, REQUEST),
}
IGNORED = {  # notifications and answers get no answer, whatever they hold
    "cancels a list": b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": [1]}}',
    "cancels an object": b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": {}}}',
    "cancels nothing": b'{"jsonrpc": "2.0", "method": "$/cancelRequest"}',
    "cancels in a list": b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": [1]}',
    "answers what nobody asked": b'{"jsonrpc": "2.0", "id": "nobody", "result": 1}',
    "fails what nobody asked": b'{"jsonrpc": "2.0", "id": "nobody", "error": {"code": "x", "message": 1}}',
    "unknown": b'{"jsonrpc": "2.0", "method": "no/such", "params": {"a": 1}}',
    "an open without a document": b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}',
    "a change of nothing": b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": []}',
}


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def send(client: Client, data: bytes) -> None:
    assert client.process.stdin is not None
    client.process.stdin.write(data)
    client.process.stdin.flush()


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("piece", [7, 65_536])
def test_a_broken_frame_is_noticed_after_what_came_before(name: str, piece: int) -> None:
    data = framed(b"{}") + BROKEN[name]
    framing = Framing()
    bodies: list[bytes] = []
    with pytest.raises(BrokenFrame):
        for start in range(0, len(data), piece):
            bodies.extend(framing.feed(data[start : start + piece]))
    assert bodies == [b"{}"]


def test_a_head_up_to_the_limit_is_read() -> None:
    head = b"Content-Length: 2\r\nX: "
    data = head + b"x" * (MOST_HEAD - len(head) - 4) + b"\r\n\r\n{}"
    assert list(Framing().feed(data)) == [b"{}"]


@pytest.mark.parametrize("name", ["larger than anything", "no length", "no number", "a head of 2 MB", "two lengths"])
@pytest.mark.parametrize("tcp", [False, True])
def test_the_server_ends_at_a_broken_frame(name: str, tcp: bool) -> None:
    """It answers what came before, says what was wrong, and ends with an exit code that is none of success."""
    before = framed(b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}')
    if tcp:
        code, answer, error = talk_over_tcp(before + BROKEN[name])
    else:
        code, answer, error = talk(before + BROKEN[name])
    assert code == 1
    assert b'"id":1' in answer and b"-32601" in answer
    assert "unreadable input, the server ends" in error and "Traceback" not in error


def talk(data: bytes) -> tuple[int, bytes, str]:
    """Send bytes and keep the pipe open, as a client does that waits for an answer."""
    with serving() as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        try:
            process.stdin.write(data)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it had read enough
        try:
            code = process.wait(LIMIT)
        finally:
            process.kill()
        return code, process.stdout.read(), process.stderr.read().decode()


def talk_over_tcp(data: bytes) -> tuple[int, bytes, str]:
    import socket

    with serving("--tcp", "0") as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        try:
            port = int(process.stderr.readline().rsplit(b":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), LIMIT) as connection:
                answer = b""
                try:
                    connection.sendall(data)
                    while piece := connection.recv(65_536):
                        answer += piece
                except ConnectionError:
                    pass  # it had read enough
                code = process.wait(LIMIT)
        finally:
            process.kill()
        return code, answer, process.stderr.read().decode()


def serving(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "stepserver", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "server")))},
    )


def test_whole_frames_are_answered_and_the_server_goes_on() -> None:
    with Client() as client:
        client.initialize()
        for name, (body, number, code) in UNREADABLE.items():
            send(client, framed(body))
            answer = client.wait(lambda message: "id" in message and "method" not in message)
            assert (answer["id"], answer["error"]["code"]) == (number, code), name
            assert answer["error"]["message"], name
        for body in IGNORED.values():
            send(client, framed(body))
        found = client.answer(client.start_request("stepsmith/status", {}))
        assert "result" in found
        client.open("file:///p/x.py", HEAD + OVERUSED)
        assert [found["code"] for found in client.findings("file:///p/x.py")] == ["STEP101"]
        assert "Traceback" not in client.stderr()


MISTYPED: dict[str, Any] = {
    # A text where a list belongs has as many mistakes as characters, and each had a traceback: minutes for 100 KB.
    "textDocument/selectionRange": {"textDocument": {"uri": "file:///p/x.py"}, "positions": "a" * 100_000},
    "textDocument/codeAction": {
        "textDocument": {"uri": "file:///p/x.py"},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "context": {"diagnostics": "a" * 100_000},
    },
    "textDocument/hover": {"textDocument": {"uri": "file:///p/x.py"}, "position": {"line": "x", "character": []}},
    "textDocument/rename": {"textDocument": [], "position": None, "newName": 5},
}


MISPLACED: tuple[Any, ...] = ([], {"uri": 5}, 5, "\ud800")


def test_wrong_types_are_answered_at_once_and_named() -> None:
    with Client() as client:
        client.initialize()
        for method, params in MISTYPED.items():
            error = client.answer(client.start_request(method, params))["error"]
            assert (error["code"], method in error["message"]) == (-32602, True), error
            assert len(error["message"]) <= 300
        for command in ("time", "simulate", "cancel", "analyze"):
            for uri in MISPLACED:
                order = {"command": f"stepsmith.server.{command}", "arguments": [{"uri": uri, "program": []}]}
                client.answer(client.start_request("workspace/executeCommand", order))
        assert "Traceback" not in client.stderr()


def test_an_id_that_waits_for_its_answer_is_not_taken_again() -> None:
    with Client() as client:
        client.initialize()
        client.open("file:///p/x.py", HEAD + GOOD)
        place = {"textDocument": {"uri": "file:///p/x.py"}, "position": {"line": 0, "character": 0}}
        twice = json.dumps({"jsonrpc": "2.0", "id": 77, "method": "textDocument/hover", "params": place}).encode()
        forged = b'{"jsonrpc": "2.0", "id": 77, "result": "mine"}'
        send(client, framed(twice) + framed(forged) + framed(twice))
        answers = [client.wait(lambda message: message.get("id") == 77) for _ in range(2)]
        assert sorted("error" in answer for answer in answers) in ([False, True], [False, False])
        assert all(answer.get("result") != "mine" for answer in answers)
        assert "result" in client.answer(client.start_request("stepsmith/status", {}))
        assert "Traceback" not in client.stderr()


def test_the_workers_end_with_a_server_that_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(HEAD + GOOD, encoding="utf-8")
    with Client() as client:
        client.initialize(trusted=True, folder=tmp_path)
        client.open(file.as_uri(), HEAD + GOOD)
        client.save(file.as_uri())
        client.programs(file.as_uri(), "passed")
        pids = client.worker_pids()
        assert pids
        send(client, b"Content-Length: x\r\n\r\n")
        assert client.process.wait(LIMIT) == 1
        assert eventually(lambda: not any(alive(pid) for pid in pids))
    assert "Traceback" not in client.stderr()  # all of it is there once the client has ended

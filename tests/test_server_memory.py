"""What is forgotten to save memory comes back when it is asked for."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from lsp_client import PULL, PUSH, ROOT, Client
from server_texts import HEAD, OVERUSED
from stepcore.frontend.syntax import parse_suite
from stepcore.ide.analysis import analyze
from stepcore.ide.lasting import lasting
from stepcore.ops import BY_NAME
from stepserver import memory
from stepserver.convert import explanation_uri
from stepserver.giving_back import GivingBack
from stepserver.guard import Reporter

if TYPE_CHECKING:
    from stepserver.loop import Loop

PADDING = f"# {'x' * 96}\n" * 900  # with two such files open, one analysis at most is kept
FILES = 4


def uri(number: int) -> str:
    return f"file:///project/memory{number}.py"


def text(number: int) -> str:
    return HEAD + OVERUSED + PADDING + f"# {number}\n"


def pulled(client: Client, number: int) -> list[str]:
    report: dict[str, Any] = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri(number)}})
    return [item["code"] for item in report["items"]]


def test_documents_beyond_those_that_are_kept_answer_as_ever() -> None:
    with Client() as client:
        client.initialize(PUSH)
        for number in range(FILES):
            client.open(uri(number), text(number))
            assert [item["code"] for item in client.findings(uri(number), 1)] == ["STEP101"]
        for number in range(FILES):
            document = {"textDocument": {"uri": uri(number)}}
            assert len(client.request("textDocument/documentSymbol", document)) > 0
            start = client.position(text(number), 0)
            client.change(uri(number), 2, {"range": {"start": start, "end": start}, "text": "\n"})
            assert [item["code"] for item in client.findings(uri(number), 2)] == ["STEP101"]
        assert "Traceback" not in client.stderr()


def test_documents_are_as_before_when_they_are_opened_again() -> None:
    with Client() as client:
        client.initialize(PULL)
        for _ in range(2):
            for number in range(FILES):
                client.open(uri(number), text(number))
                assert pulled(client, number) == ["STEP101"]
            for number in range(FILES):
                client.notify("textDocument/didClose", {"textDocument": {"uri": uri(number)}})
        assert "Traceback" not in client.stderr()


@pytest.mark.usefixtures("nothing_kept_out")
def test_release_empties_the_caches_of_texts() -> None:
    before = analyze(text(0), "memory.py")
    assert parse_suite.cache_info().currsize > 0
    assert explanation_uri("STEP101") is not None
    was_enabled = gc.isenabled()
    try:
        memory.release()
    finally:
        gc.unfreeze()
    assert parse_suite.cache_info().currsize == explanation_uri.cache_info().currsize == 0
    assert gc.isenabled() == was_enabled
    assert analyze(text(0), "memory.py", previous=before).diagnostics == before.diagnostics


def test_documents_leave_nothing_with_operators_that_the_start_has_not_made() -> None:
    parts = [part for each in BY_NAME.imported for part in (each.calling, each.calling.inputs, each.calling.outputs)]
    for part in parts:
        for name in [name for name, value in vars(type(part)).items() if isinstance(value, cached_property)]:
            vars(part).pop(name, None)  # what other tests have asked for
    fresh = [set(vars(part)) for part in parts]
    lasting()
    made = [set(vars(part)) for part in parts]
    assert all(before < after for before, after in zip(fresh, made, strict=True))
    for task in sorted((ROOT / "benchmarks" / "tasks").glob("*.step.yaml"))[::4]:
        analyze(task.read_text(encoding="utf-8"), task.name)
    assert [set(vars(part)) for part in parts] == made


def test_garbage_of_edits_is_swept_when_nobody_waits() -> None:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        gc.collect()
        memory.sweep()  # there is nothing to do
        assert gc.get_count()[1] == 0
        state = analyze(text(0), "memory.py")
        for number in range(20):
            state = analyze(text(0).replace("apply(E0)", f"apply(E0)  # {number}"), "memory.py", previous=state)
        young = gc.get_count()[0]
        memory.sweep()
        assert gc.get_count()[0] < young / 10
    finally:
        if was_enabled:
            gc.enable()


# -- the limit ---------------------------------------------------------------------------------------------------------


def limited(mebibytes: int) -> Client:
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    return Client(env={**os.environ, "PYTHONPATH": libraries, memory.VARIABLE: str(mebibytes)})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what the limit is about")
def test_a_text_that_needs_too_much_memory_gets_a_finding_and_the_server_goes_on() -> None:
    hungry = HEAD + "def program(E0):\n    x = [" + "E0, " * 600_000 + "]\n    return E0\n"
    with limited(96) as client:
        client.initialize(PUSH)
        client.open(uri(0), text(0))
        assert [item["code"] for item in client.findings(uri(0), 1)] == ["STEP101"]
        client.open(uri(1), hungry)
        (found,) = client.findings(uri(1), 1)
        assert found["code"] == "STEP912"
        assert "memory" in found["message"]
        start = client.position(text(0), 0)
        client.change(uri(0), 2, {"range": {"start": start, "end": start}, "text": "\n"})
        assert [item["code"] for item in client.findings(uri(0), 2)] == ["STEP101"]
        assert client.request("textDocument/hover", {"textDocument": {"uri": uri(1)}, "position": start}) is None
        assert "Traceback" not in client.stderr()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what the limit is about")
def test_a_worker_returns_to_the_limit_that_its_owner_was_given() -> None:
    code = (
        "import os, resource, subprocess, sys\n"
        "from stepcore.system.data_limit import OUTER_VARIABLE, leave_limit_of_owner, limit_beyond_now\n"
        "show = lambda: print(resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)\n"
        "if len(sys.argv) > 1:\n"
        "    show(); leave_limit_of_owner(); show()\n"
        "    assert OUTER_VARIABLE not in os.environ\n"
        "else:\n"
        "    show(); assert limit_beyond_now(64 << 20); show()\n"
        "    try: bytearray(256 << 20)\n"
        "    except MemoryError: print('refused', flush=True)\n"
        "    subprocess.run([sys.executable, __file__, 'child'], check=True)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "limits.py")
        script.write_text(code, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    before, limit, refused, inherited, after = run.stdout.split()
    assert before != limit == inherited
    assert (refused, after) == ("refused", before)


class _Clock:
    """A loop that calls later only when it is told to, and ``quiet`` of the one who woke it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.quiet: Callable[[], None] = lambda: None

    def later(self, _seconds: float, function: Callable[[], None]) -> None:
        self.waiting.append(function)

    def wake(self) -> None:
        self.waiting.append(self.quiet)

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            due, self.waiting = self.waiting, []
            for function in due:
                function()


def _giving_back(monkeypatch: pytest.MonkeyPatch) -> tuple[_Clock, list[str], dict[str, int], GivingBack]:
    done: list[str] = []
    monkeypatch.setattr(memory, "release", lambda: done.append("release"))
    monkeypatch.setattr(memory, "tidy", lambda: done.append("tidy"))
    state = {"kept": 0, "awaited": 0}
    clock, reporter = _Clock(), Reporter(lambda _params: None, lambda _what: None)
    giving = GivingBack(cast("Loop", clock), reporter, lambda: state["kept"], lambda: bool(state["awaited"]))
    clock.quiet = giving.quiet
    return clock, done, state, giving


def test_memory_is_given_back_once_enough_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done, state, giving = _giving_back(monkeypatch)
    giving.forgot(2_000, 1.0)
    clock.tick(9)
    assert done == []  # not worth a look through all objects
    giving.forgot(8_000)
    clock.tick()
    assert done == []  # until it is quiet
    clock.tick()
    assert done == ["release"]
    clock.tick(9)
    assert done == ["release", "tidy"]
    state["kept"] = 30_000
    giving.forgot(20_000)
    clock.tick(9)
    assert done == ["release", "tidy"]  # what is kept would have to be parsed again
    giving.forgot(20_000)
    clock.tick(9)
    assert done == ["release", "tidy"] * 2
    assert clock.waiting == []


def test_memory_is_not_given_back_while_somebody_waits_for_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done, state, giving = _giving_back(monkeypatch)
    state["awaited"] = 1
    giving.forgot(50_000)
    clock.tick(9)
    assert done == []
    state["awaited"] = 0
    clock.tick(9)
    assert done == ["release", "tidy"]


def test_memory_of_much_is_given_back_where_it_is_never_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done, state, giving = _giving_back(monkeypatch)
    clock.quiet = lambda: None
    state["kept"] = 1_000_000
    giving.forgot(20_000)
    clock.tick(9)
    assert done == []
    giving.forgot(20_000)
    clock.tick(9)
    assert done == ["release", "tidy"]

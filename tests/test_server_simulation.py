"""Simulation in the server: one status for each program, verdicts as findings, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock, call

import pytest

from lsp_client import PULL, PUSH, ROOT, Client
from processes import PATIENCE, alive, children, descendants, eventually
from server_texts import FIXED, GOOD, HEAD, IMPL, OVERUSED, TASK
from stepserver.handlers.programs import did_save

WRONG = GOOD.replace("good", "wrong").replace("reference=doubled", "reference=quadrupled")
NOT_FINITE = """
@step.fn(input=step.f32, output=step.f32)
def divide(input):
    return [input[0] / (input[0] - input[0])]


@step.program(reference=doubled, dims={M: 3, N: 2})
def endless(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    E1 = step.Map(fn=divide).apply(E0)
    E2 = step.Map(fn=double).apply(E1)
    return E2

"""
SLEEP = """    import time
    from pathlib import Path

    Path(__file__).with_suffix(".asleep").touch()
    time.sleep(600)
    return x * 2"""
SLEEPING = HEAD.replace("    return x * 2", SLEEP) + GOOD
DONE = ("passed", "failed", "error", "cancelled")


@pytest.fixture
def alone() -> Iterator[Client]:
    """A server, with its worker, of one test: it is changed, or something is counted since its start."""
    with Client() as client:
        client.initialize(trusted=True)
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    """One server for all tests that leave it as it was: a start imports torch in a worker."""
    with Client() as client:
        client.initialize(trusted=True)
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


@pytest.fixture
def trusted(shared: Client, tmp_path: Path) -> Iterator[Client]:
    """The shared server without messages about other tests; documents of this one are closed behind it."""
    shared.request("stepsmith/status", {})  # what was on its way has come
    shared.received.clear()
    yield shared
    for file in tmp_path.iterdir():
        shared.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})


def opened(client: Client, folder: Path, text: str, name: str = "file.py") -> str:
    file = folder / name
    file.write_text(text)
    client.open(file.as_uri(), text, "python" if name.endswith(".py") else "yaml")
    return file.as_uri()


def test_save_simulates_and_an_edit_makes_stale(trusted: Client, tmp_path: Path) -> None:
    text = HEAD + GOOD + WRONG
    uri = opened(trusted, tmp_path, text)
    idle = trusted.programs(uri, "idle")
    assert [(row["name"], row["stale"], row["seconds"]) for row in idle] == [
        ("good", False, None),
        ("wrong", False, None),
    ]
    trusted.save(uri)
    good, wrong = trusted.programs(uri, *DONE)
    assert (good["state"], wrong["state"]) == ("passed", "failed")
    news = [m["params"]["programs"] for m in trusted.received if m.get("method") == "stepsmith/simulation"]
    early = {row["name"]: row["state"] for rows in news for row in rows if row.get("provisional")}
    assert early == {"good": "passed", "wrong": "failed"}, "verdicts are told before their runs end"
    assert good["seconds"] > 0
    assert (wrong["mismatch"]["output"], wrong["mismatch"]["index"]) == (0, [0, 0])
    (found,) = trusted.findings(uri)
    assert found["code"] == "STEP401"
    line = text.split("\n").index(
        "    return E1", text.split("\n").index("def wrong(" + WRONG.split("def wrong(")[1].split("\n")[0])
    )
    assert found["range"]["start"] == {"line": line, "character": 11}
    assert "output 0 differs at [0, 0]" in found["message"]
    assert wrong["mismatch"]["range"] == found["range"]
    lenses = trusted.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert "passed" in lenses[0]["command"]["title"]
    assert lenses[1]["command"]["command"] == "stepsmith.server.simulate"
    hover = trusted.request(
        "textDocument/hover",
        {"textDocument": {"uri": uri}, "position": trusted.position(text, text.index("E1 = "))},
    )
    assert "Last run" in hover["contents"]["value"]
    # An edit of one program: the other's verdict stays, and moves.
    edited = "# a line above\n" + text.replace("return E1", "return  E1", 1)
    trusted.change(uri, 2, {"text": edited})
    (moved,) = trusted.findings(uri, 2)
    assert moved["range"]["start"]["line"] == line + 1
    rows = trusted.programs(uri, "stale", "failed")
    assert [(row["state"], row["stale"]) for row in rows] == [("stale", True), ("failed", False)]
    # Back to the old text, the old verdict holds again and a save has nothing to do.
    trusted.change(uri, 3, {"text": text})
    rows = trusted.programs(uri, "passed", "failed")
    before = len(trusted.received)
    trusted.save(uri)
    trusted.request("stepsmith/status", {})
    assert not any(m.get("method") == "stepsmith/simulation" for m in trusted.received[before:])


def test_the_origin_of_nan_and_a_failing_reference(trusted: Client, tmp_path: Path) -> None:
    text = HEAD.replace("    return x * 4", "    raise ValueError('no')") + NOT_FINITE + WRONG
    uri = opened(trusted, tmp_path, text)
    trusted.save(uri)
    endless, wrong = trusted.programs(uri, *DONE)
    assert endless["state"] == "failed"
    trusted.request("stepsmith/status", {})
    pushed = [m["params"] for m in trusted.received if m.get("method") == "textDocument/publishDiagnostics"]
    by_code = {item["code"]: item for item in pushed[-1]["diagnostics"]}
    assert {"STEP403", "STEP408"} == by_code.keys()
    assert by_code["STEP403"]["range"]["start"] == trusted.position(text, text.index("step.Map(fn=divide)"))
    assert "ValueError: no" in by_code["STEP408"]["message"]
    assert (wrong["state"], "ValueError: no" in wrong["message"]) == ("error", True)


def test_pulled_verdicts_ask_the_client_to_pull(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(PULL, trusted=True)
        uri = opened(client, tmp_path, HEAD + WRONG)
        client.programs(uri, "idle")
        client.save(uri)
        client.programs(uri, "failed")
        client.wait(lambda message: message.get("method") == "workspace/diagnostic/refresh")
        report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert [item["code"] for item in report["items"]] == ["STEP401"]


def test_tasks_and_answers(trusted: Client, tmp_path: Path) -> None:
    task = opened(trusted, tmp_path, TASK + IMPL, "whole.step.yaml")
    trusted.save(task)
    assert trusted.programs(task, *DONE)[0]["state"] == "passed"
    (tmp_path / "parted.step.yaml").write_text(TASK.replace("['E0'] * 2", "['E0'] * 3"))
    answer = opened(trusted, tmp_path, IMPL, "parted.impl.yaml")
    trusted.save(answer)
    assert trusted.programs(answer, *DONE)[0]["state"] == "failed"
    assert [item["code"] for item in trusted.findings(answer)] == ["STEP401"]


def test_on_demand_and_off(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, settings={"simulation": {"run": "onDemand"}})
        uri = opened(client, tmp_path, HEAD + GOOD + OVERUSED)
        client.programs(uri, "idle")
        client.save(uri)
        run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri, "program": "good"}]}
        assert client.request("workspace/executeCommand", run)["started"]
        rows = client.programs(uri, "passed", "idle")
        assert [row["state"] for row in rows] == ["passed", "idle"]
        off = {"simulation": {"run": "off"}, "timing": {"enabled": False}}  # cycles have a lens of their own
        client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": off}})
        client.notification("stepsmith/simulator", lambda params: params["state"] == "off")
        assert not client.request("workspace/executeCommand", run)["started"]
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) is None
        assert client.worker_pids() == []


def test_programs_with_errors_are_not_run(trusted: Client, tmp_path: Path) -> None:
    uri = opened(trusted, tmp_path, HEAD + GOOD.replace("fn=double", "fn=add"))
    (row,) = trusted.programs(uri, "norun")
    assert row["message"]
    run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri}]}
    answer = trusted.request("workspace/executeCommand", run)
    assert (answer["started"], "errors" in answer["message"]) == (False, True)


@pytest.mark.parametrize("how", ["command", "save", "close"])
def test_what_cancels_a_run(alone: Client, tmp_path: Path, how: str) -> None:
    uri = opened(alone, tmp_path, SLEEPING)
    alone.save(uri)
    alone.programs(uri, "running")
    assert eventually((tmp_path / "file.asleep").exists)
    (worker,) = alone.worker_pids()
    if how == "command":
        lens, *_ = alone.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        stop = {name: lens["command"][name] for name in ("command", "arguments")}
        assert stop == {"command": "stepsmith.server.cancel", "arguments": [{"uri": uri, "program": "good"}]}
        assert alone.request("workspace/executeCommand", stop) == {"cancelled": 1}
        assert alone.programs(uri, *DONE)[0]["state"] == "cancelled"
    elif how == "save":
        alone.change(uri, 2, {"text": HEAD + GOOD})
        alone.save(uri)
        assert alone.programs(uri, "passed")[0]["stale"] is False
    else:
        alone.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert eventually(lambda: not alive(worker)), "a program that does not listen is killed"


def test_a_cancelled_run_takes_what_was_found_before_with_it(trusted: Client, tmp_path: Path) -> None:
    """One model: lens, findings and values of streams say that nothing is known; the next save runs it again."""
    slow = f"    while Path({str(tmp_path / 'slow')!r}).exists():\n        pass\n    return x * 4"
    text = HEAD.replace("    return x * 4", slow).replace(
        "import torch\n", "from pathlib import Path\n\nimport torch\n", 1
    )
    uri = opened(trusted, tmp_path, text + WRONG)
    trusted.save(uri)
    trusted.programs(uri, "failed")
    assert [item["code"] for item in trusted.findings(uri)] == ["STEP401"]
    (tmp_path / "slow").touch()
    run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri}]}
    assert trusted.request("workspace/executeCommand", run)["started"]
    stop = {"command": "stepsmith.server.cancel", "arguments": [{"uri": uri}]}
    assert trusted.request("workspace/executeCommand", stop) == {"cancelled": 1}
    (row,) = trusted.programs(uri, "cancelled")
    assert "mismatch" not in row
    assert trusted.findings(uri) == []
    (tmp_path / "slow").unlink()
    trusted.save(uri)
    assert trusted.programs(uri, "failed")


def test_the_time_limit_ends_a_run(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, settings={"simulation": {"seconds": 0.5}})
        uri = opened(client, tmp_path, SLEEPING)
        client.save(uri)
        (row,) = client.programs(uri, *DONE)
        assert row["state"] == "error"
        assert "STEP405" in row["message"]
        assert [item["code"] for item in client.findings(uri)] == ["STEP405"]


@pytest.mark.parametrize("moment", ["idle", "running"])
def test_a_killed_worker_is_replaced(alone: Client, tmp_path: Path, moment: str) -> None:
    uri = opened(alone, tmp_path, SLEEPING if moment == "running" else HEAD + GOOD)
    if moment == "running":
        alone.save(uri)
        assert eventually((tmp_path / "file.asleep").exists)
    else:
        alone.notification("stepsmith/simulator", lambda params: params["state"] == "ready")
    (worker,) = alone.worker_pids()
    os.kill(worker, signal.SIGKILL)
    if moment == "running":
        (row,) = alone.programs(uri, *DONE)
        assert (row["state"], "SIGKILL" in row["message"]) == ("error", True)
        alone.change(uri, 2, {"text": HEAD + GOOD})
    alone.save(uri)
    assert alone.programs(uri, "passed")
    assert alone.worker_pids() != [worker]


def test_a_file_is_imported_once_for_all_programs_of_a_save(alone: Client, tmp_path: Path) -> None:
    noting = """
with open(__file__ + ".imported", "a") as file:
    file.write("x")
"""
    text = HEAD + noting + GOOD + GOOD.replace("good", "better") + WRONG
    uri = opened(alone, tmp_path, text)
    imported = tmp_path / "file.py.imported"
    alone.programs(uri, "idle")
    alone.save(uri)
    alone.programs(uri, "passed", "failed")
    assert imported.read_text() == "x"
    position = alone.position(text, text.index("* 2]"))
    alone.change(uri, 2, {"range": {"start": position, "end": position}, "text": "* 1 "})
    alone.programs(uri, "stale")
    alone.save(uri)
    alone.programs(uri, "passed", "failed")
    assert imported.read_text() == "xx"


def test_whoever_asks_is_told_why_nothing_is_simulated(tmp_path: Path) -> None:
    """Our extension shows the answer of the command; other clients drop it and get a message to the user."""
    cell = {"uri": "cell:1", "languageId": "python", "version": 1, "text": HEAD + GOOD}
    notebook = {
        "uri": (tmp_path / "book.ipynb").as_uri(),
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [{"kind": 2, "document": "cell:1"}],
    }
    reasons = {
        "file:///project/closed.py": "not open",
        "untitled:Untitled-1": "save this document",
        "cell:1": "notebook",
        notebook["uri"]: "notebook",
    }
    with Client() as client:
        client.initialize({**PUSH, "notebookDocument": {"synchronization": {}}}, trusted=True)
        client.open("untitled:Untitled-1", HEAD + GOOD)
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": [cell]})
        for uri, reason in reasons.items():
            run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri}]}
            answer = client.request("workspace/executeCommand", run)
            assert (answer["started"], reason in answer["message"]) == (False, True), answer
            shown = [m["params"]["message"] for m in client.received if m.get("method") == "window/showMessage"]
            assert shown[-1] == f"Stepsmith: {answer['message']}"
        started = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(client.process.pid)]
        assert [line for line in started if b"stepcore.timer" not in line] == []  # cycles of untitled files are counted


def test_a_switched_off_simulation_says_so_and_shows_no_message_in_our_extension(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, settings={"simulation": {"run": "off"}}, client={"name": "ours"})
        uri = opened(client, tmp_path, HEAD + GOOD)
        run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri}]}
        answer = client.request("workspace/executeCommand", run)
        assert (answer["started"], "switched off" in answer["message"]) == (False, True)
        assert not [message for message in client.received if message.get("method") == "window/showMessage"]


# -- trust and set-up --------------------------------------------------------------------------------------------


def test_without_trust_no_worker_is_started(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(PUSH, folder=tmp_path)
        uri = opened(client, tmp_path, HEAD + GOOD)
        client.programs(uri, "idle")
        client.save(uri)
        run = {"command": "stepsmith.server.simulate", "arguments": [{"uri": uri}]}
        answer = client.request("workspace/executeCommand", run)
        assert (answer["started"], "trust" in answer["message"]) == (False, True)
        states = [m["params"]["state"] for m in client.received if m.get("method") == "stepsmith/simulator"]
        assert set(states) == {"untrusted"}
        assert children(client.process.pid) == []
        client.notify("stepsmith/trust", {"trusted": True})
        client.notification("stepsmith/simulator", lambda params: params["state"] == "ready")
        client.save(uri)
        assert client.programs(uri, "passed")
        client.notify("stepsmith/trust", {"trusted": False})
        client.notification("stepsmith/simulator", lambda params: params["state"] == "untrusted")
        assert eventually(lambda: children(client.process.pid) == [])


def test_a_python_without_torch_and_one_that_is_none(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(python))
        uri = opened(client, tmp_path, HEAD + GOOD)
        missing = client.notification("stepsmith/simulator", lambda params: params["state"] == "missing")
        assert missing["action"] == "install"
        assert "torch" in missing["message"]
        client.save(uri)
        (row,) = client.programs(uri, *DONE)
        assert (row["state"], "PyTorch" in row["message"]) == ("error", True)
        client.notify("stepsmith/interpreter", {"path": str(tmp_path / "nothing")})
        missing = client.notification(
            "stepsmith/simulator", lambda params: params["state"] == "missing" and "nothing" in params["message"]
        )
        assert missing["action"] == "select"
        client.notify("stepsmith/interpreter", {"path": sys.executable})
        client.notification("stepsmith/simulator", lambda params: params["state"] == "ready")
        client.save(uri)
        assert client.programs(uri, "passed")


@pytest.mark.parametrize("how", ["shutdown", "end of input", "killed"])
def test_no_orphan_is_left(tmp_path: Path, how: str) -> None:
    with Client() as client:
        client.initialize(trusted=True)
        uri = opened(client, tmp_path, SLEEPING)
        client.save(uri)
        client.programs(uri, "running")
        assert eventually((tmp_path / "file.asleep").exists)
        server, workers = client.process.pid, client.worker_pids()
        assert set(workers) <= set(descendants(server))
        if how == "shutdown":
            assert client.shutdown() == 0
        elif how == "end of input":
            assert client.process.stdin is not None
            client.process.stdin.close()
            assert client.process.wait(PATIENCE) == 1
        else:
            client.process.kill()
            client.process.wait(PATIENCE)
        assert eventually(lambda: not any(map(alive, workers)))


# -- the bundle ----------------------------------------------------------------------------------------------------

BUNDLED = (
    "pygls",
    "lsprotocol",
    "attr",
    "attrs",
    "cattrs",
    "typing_extensions.py",
    "ruamel",
    "watchdog",
    "platformdirs",
)


def test_the_bundled_server_in_an_environment_with_an_old_pygls(tmp_path: Path) -> None:
    """With -S and PYTHONPATH, as an extension starts it: neither the server nor its worker meets the user's pygls."""
    import pygls

    bundle, site = tmp_path / "bundle", Path(pygls.__file__).parents[1]
    bundle.mkdir()
    for name in BUNDLED:
        (bundle / name).symlink_to(site / name)
    (bundle / "stepcore").symlink_to(ROOT / "stepcore")
    (bundle / "stepserver").symlink_to(ROOT / "server" / "stepserver")
    venv.create(tmp_path / "env", with_pip=False)
    old = next((tmp_path / "env").glob("lib/python*/site-packages")) / "pygls"
    old.mkdir()
    (old / "__init__.py").write_text("raise ImportError('the old pygls')\n")
    python = tmp_path / "env" / "bin" / "python"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(bundle)}
    with Client([str(python), "-S", "-m", "stepserver"], env, tmp_path) as client:
        client.initialize(trusted=True, interpreter=sys.executable)
        uri = opened(client, tmp_path, HEAD + GOOD + OVERUSED)
        assert [item["code"] for item in client.findings(uri)] == ["STEP101"]
        client.save(uri)
        rows = client.programs(uri, *DONE)
        assert [row["state"] for row in rows] == ["passed", "failed"]
        status: dict[str, Any] = client.request("stepsmith/status", {})
        assert status["server"]["executable"].startswith(str(tmp_path))
        assert status["simulator"]["interpreter"] == sys.executable
        assert FIXED


@pytest.mark.parametrize("folders", [False, True])
def test_settings_that_are_pulled_cost_no_worker(tmp_path: Path, folders: bool) -> None:
    """Clients answer with the settings right after the start, while the worker warms."""
    path = tmp_path / "good.py"
    path.write_text(HEAD + GOOD, encoding="utf-8")
    capabilities = {**PUSH, "workspace": {**PUSH["workspace"], "configuration": True}}
    with Client() as client:
        client.answers["workspace/configuration"] = [{}, {}] if folders else [{}]
        client.initialize(capabilities, trusted=True, folder=tmp_path if folders else None)
        client.open(path.as_uri(), path.read_text(encoding="utf-8"))
        client.notification("stepsmith/simulator", lambda params: params["state"] == "ready")
        (before,) = client.request("stepsmith/status", {})["simulators"]
        assert before["pids"]
        client.answers["workspace/configuration"] = [{"inlayHints": {"enabled": False}}] * (2 if folders else 1)
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        client.wait(lambda message: message.get("method") == "workspace/configuration")
        client.wait(lambda message: message.get("method") == "workspace/codeLens/refresh")
        (after,) = client.request("stepsmith/status", {})["simulators"]
        assert after["pids"] == before["pids"]
        assert after["state"] == "ready"


def test_what_a_run_depends_on_outside_of_its_text_outdates_it(alone: Client, tmp_path: Path) -> None:
    """A neighbour, one of its data, a module of another folder, a setting: fresh runs would give other verdicts."""
    text, neighbour, data, faraway = depending(tmp_path)
    uri = opened(alone, tmp_path / "project", text, "importing.py")
    alone.save(uri)
    (row,) = alone.programs(uri, *DONE)
    assert row["state"] == "passed", row
    for file, factor in ((neighbour, "2"), (data, "1"), (faraway, "1")):
        right = file.read_text()
        wrong = right.replace(factor, "3")
        file.write_text(wrong)
        (row,) = alone.programs(uri, "stale")
        assert (row["was"], row["because"]) == ("passed", f"{file.name} changed")
        alone.save(uri)
        alone.programs(uri, "queued", "running")
        (row,) = alone.programs(uri, *DONE)
        assert row["state"] == "failed", (file, row)
        assert alone.findings(uri)
        file.write_text(right)
        assert alone.programs(uri, "stale")
        alone.save(uri)
        (row,) = alone.programs(uri, "passed")
    alone.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {"simulation": {"seconds": 30}}}})
    (row,) = alone.programs(uri, "stale")
    assert "setting" in row["because"]
    alone.change(uri, 2, {"text": text.replace("import faraway", "raise ValueError('no')\nimport faraway")})
    (row,) = alone.programs(uri, "stale")
    assert row["because"] == "the text changed"
    alone.save(uri)
    (row,) = alone.programs(uri, "error")
    assert "ValueError: no" in row["message"]


def test_what_comes_into_a_folder_that_a_run_has_listed_or_searched_outdates_it(alone: Client, tmp_path: Path) -> None:
    """Green would be wrong: of a module that a package came to have, and of data of which there is one more file."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("1")
    body = (
        "def doubled(x: torch.Tensor) -> torch.Tensor:\n"
        "    from pathlib import Path\n"
        "    try:\n"
        "        from parts import factor\n"
        "    except ImportError:\n"
        "        return x * 2 * len(list(Path(__file__).parent.joinpath('data').glob('*.txt')))\n"
        "    return x * factor.FACTOR\n"
    )
    text = HEAD.replace("def doubled(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n", body) + GOOD
    uri = opened(alone, tmp_path, text)
    for comes, content, because in (("data/b.txt", "1", "data"), ("parts/factor.py", "FACTOR = 3\n", "factor.py")):
        alone.save(uri)
        (row,) = alone.programs(uri, *DONE)
        assert row["state"] == "passed", row
        (tmp_path / comes).write_text(content)
        (row,) = alone.programs(uri, "stale")
        assert (row["was"], row["because"]) == ("passed", f"{because} changed")
        alone.save(uri)
        alone.programs(uri, "queued", "running")
        (row,) = alone.programs(uri, *DONE)
        assert row["state"] == "failed", (comes, row)
        (tmp_path / comes).unlink()
        assert alone.programs(uri, "stale")


def test_the_client_watches_what_runs_have_read_where_there_is_no_watchdog(tmp_path: Path) -> None:
    """As in the extension, which packages pure Python: a run that reads a neighbour ends, and that outdates it."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "watchdog.py").write_text("raise ImportError('not packaged')\n")
    paths = os.pathsep.join(map(str, (tmp_path / "none", ROOT, ROOT / "server")))
    watching = {"didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True}}
    with Client(env={**os.environ, "PYTHONPATH": paths}) as client:
        client.initialize({**PUSH, "workspace": {**PUSH["workspace"], **watching}}, trusted=True)
        text, neighbour, *_ = depending(tmp_path)
        uri = opened(client, tmp_path / "project", text, "importing.py")
        client.save(uri)
        (row,) = client.programs(uri, *DONE)
        assert row["state"] == "passed", row

        def follows(message: dict[str, Any]) -> bool:
            is_it = message.get("method") == "client/registerCapability"
            return is_it and neighbour.parent.as_uri() in str(message["params"])

        assert any(map(follows, client.received)) or client.wait(follows)
        neighbour.write_text("def twice(x):\n    return x * 3\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": neighbour.as_uri(), "type": 2}]})
        (row,) = client.programs(uri, "stale")
        assert row["because"] == "neighbour.py changed"
        assert "Traceback" not in client.stderr(), client.stderr()


def depending(folder: Path) -> tuple[str, Path, Path, Path]:
    """Return a text with a program that is right, and files on which that depends: one of a folder beside."""
    project, elsewhere = folder / "project", folder / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    files = project / "neighbour.py", project / "factor.txt", elsewhere / "faraway.py"
    files[0].write_text("def twice(x):\n    return x * 2\n")
    files[1].write_text("1")
    files[2].write_text("ONE = 1\n")
    body = (
        "def doubled(x: torch.Tensor) -> torch.Tensor:\n"
        "    from neighbour import twice\n"
        f"    with open({str(files[1])!r}) as file:\n"
        "        return twice(x) * int(file.read()) * faraway.ONE\n"
    )
    head = HEAD.replace(
        "import torch\n", f"import sys\n\nsys.path.append({str(elsewhere)!r})\nimport faraway\nimport torch\n", 1
    )
    text = head.replace("def doubled(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n", body) + GOOD
    assert "neighbour" in text
    return text, *files


@pytest.mark.parametrize("fails", [False, True])
def test_a_save_sends_its_run_off_before_anything_else_is_looked_at(fails: bool) -> None:
    parts, done = MagicMock(), MagicMock()
    parts.workspace.settings_of.return_value.run = "onSave"
    parts.simulation = MagicMock(start=AsyncMock(side_effect=RuntimeError if fails else None))
    parts.loop.later = lambda _seconds, function: function()
    parts.reporter.run = lambda _what, function: function()
    for name in ("simulation", "timing"):
        done.attach_mock(getattr(parts, name), name)
    module = parts.documents.module_of.return_value
    module.revision = 7
    try:
        asyncio.run(did_save(parts, MagicMock()))
    except RuntimeError:
        assert fails
    start = call.simulation.start(module, on_save=True)
    rest = [call.simulation.look_again(), call.timing.saved(module, 7)]
    assert done.mock_calls == [call.simulation.forget_marks(), start, *rest]

"""*Write impl* over the wire: jobs start, tell, end and are stopped; a model is asked through the client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_client import PUSH, Client
from stepcore.frontend.yaml.tasks import read_task

TASKS = Path(__file__).parents[1] / "benchmarks" / "tasks"
TEXT = (TASKS / "norm_rms_scalars.step.yaml").read_text(encoding="utf-8")
IMPL = TEXT[TEXT.index("impl:") :]
BARE = TEXT[: TEXT.index("impl:")]
URI = "file:///project/norm.step.yaml"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """One trusted server with an open task."""
    with Client() as client:
        client.initialize(PUSH, trusted=True)
        client.open(URI, BARE, "yaml")
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


def command(client: Client, name: str, **argument: Any) -> dict[str, Any]:
    subject = {} if name == "stopWriting" else {"uri": URI}
    params = {"command": f"stepsmith.server.{name}", "arguments": [{**subject, **argument}]}
    result: dict[str, Any] = client.request("workspace/executeCommand", params)
    return result


def end(client: Client, number: int) -> dict[str, Any]:
    """Wait for the last news of an order."""
    params: dict[str, Any] = client.notification(
        "stepsmith/writing", lambda params: params["id"] == number and params["state"] != "running"
    )
    return params


def test_the_search_writes_programs_that_can_be_put_in(client: Client) -> None:
    started = command(client, "write", solutions=2, seconds=120)
    assert started["message"] == ""
    told = end(client, started["id"])
    assert (told["state"], told["uri"], told["message"]) == ("done", URI, "")
    assert 1 <= len(told["solutions"]) <= 2
    for solution in told["solutions"]:
        assert solution["operators"] > 0
        text = command(client, "withImpl", impl=solution["impl"])["text"]
        assert text.startswith(BARE.rstrip("\n"))
        task = read_task(text, "norm.step.yaml")
        assert task.impl is not None
        assert task.impl.source.text.strip() == solution["impl"].strip()
        assert "cycle" in solution["timing"]
    cycles = [solution.get("cycles") for solution in told["solutions"]]
    assert cycles == sorted(cycles, key=lambda each: (each is None, each or 0)), "the fastest first, then what stops"


def test_a_clients_model_is_asked_and_its_answer_judged(client: Client) -> None:
    client.answers["stepsmith/model"] = {"text": f"```yaml\n{IMPL}\n```", "model": "tiny"}
    started = command(client, "write", proposer="model", samples=1, seconds=120, asker="order 7")
    told = end(client, started["id"])
    assert told["state"] == "done", told
    assert len(told["solutions"]) == 1, told
    (question, *_) = [m["params"] for m in client.received if m.get("method") == "stepsmith/model"]
    assert (question["kind"], question["asker"]) == ("model", "order 7")
    assert "RepeatRef" in question["messages"][0]["content"]
    news = [m["params"] for m in client.received if m.get("method") == "stepsmith/writing" and "answer" in m["params"]]
    assert "## 1. answer: accepted" in news[0]["answer"]["section"]
    assert news[-1]["spent"].endswith("tokens, cost not known")
    assert "price" in command(client, "write", proposer="model", price=5)["message"]


def test_a_client_without_a_model_gets_a_reason(client: Client) -> None:
    client.answers["stepsmith/model"] = None
    started = command(client, "write", proposer="model", samples=1, seconds=60)
    told = end(client, started["id"])
    assert told["solutions"] == []
    assert told["message"]


def test_stopping_ends_the_job_and_says_so(client: Client) -> None:
    started = command(client, "write", solutions=10, seconds=600)
    told = {"stopped": 0, "message": "the option id: a whole number or null was expected, not a text"}
    assert command(client, "stopWriting", id="all") == told  # and nothing was stopped
    assert command(client, "stopWriting", id=started["id"]) == {"stopped": 1}
    assert end(client, started["id"])["state"] in ("cancelled", "done")
    assert command(client, "stopWriting", id=started["id"]) == {"stopped": 0}


def test_what_cannot_be_written_is_refused(client: Client) -> None:
    client.open("file:///project/a.py", "import stepcore as step\n")
    client.open("file:///project/broken.step.yaml", "inputs: [\n", "yaml")
    assert "task file" in command(client, "write", uri="file:///project/a.py")["message"]
    assert "not open" in command(client, "write", uri="file:///project/nowhere.yaml")["message"]
    assert "seconds" in command(client, "write", seconds="long")["message"]
    assert "not open" in command(client, "withImpl", uri="file:///project/nowhere.yaml", impl="return E0")["message"]
    assert "impl" in command(client, "withImpl")["message"]
    started = command(client, "write", uri="file:///project/broken.step.yaml")
    if started["id"]:
        told = end(client, started["id"])
        assert told["state"] == "failed"
        assert told["message"]


def test_nothing_is_written_without_trust() -> None:
    with Client() as client:
        client.initialize(PUSH)
        client.open(URI, BARE, "yaml")
        assert "not trusted" in command(client, "write")["message"]


def test_a_client_without_a_choice_gets_the_program_put_in(client: Client) -> None:
    client.answers["workspace/applyEdit"] = {"applied": True}
    started = command(client, "write", apply=True, solutions=1, seconds=120)
    assert end(client, started["id"])["state"] == "done"
    asked = client.wait(lambda message: message.get("method") == "workspace/applyEdit")
    (change,) = asked["params"]["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == URI
    assert read_task(change["edits"][0]["newText"], "norm.step.yaml").impl is not None


def test_a_task_without_a_program_offers_to_write_one(client: Client) -> None:
    def offered(uri: str, line: int, **context: Any) -> list[dict[str, Any]]:
        area = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
        params = {"textDocument": {"uri": uri}, "range": area, "context": {"diagnostics": [], **context}}
        found = client.request("textDocument/codeAction", params) or []
        return [action for action in found if action.get("kind") == "refactor.rewrite.stepsmith"]

    full = "file:///project/full.step.yaml"
    client.open(full, TEXT, "yaml")
    (action,) = offered(URI, 0)
    assert action["command"]["arguments"] == [{"uri": URI, "apply": True}]
    assert offered(full, 0) == []
    assert offered(full, TEXT[: TEXT.index("impl:")].count("\n") + 2, only=["refactor"])
    assert offered(full, TEXT[: TEXT.index("impl:")].count("\n") + 2, only=["quickfix"]) == []

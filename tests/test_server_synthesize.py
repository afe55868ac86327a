"""*Synthesize* over the wire: from a function in an open Python file to a verified program, or to a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from llm_answers import fenced
from lsp_client import PUSH, Client
from processes import alive, children, eventually
from stepcore.check import check_text
from stepcore.text.span import SourceFile
from stepserver.synthesis import is_offered

PLACES = json.loads((Path(__file__).parent / "synthesis_places.json").read_text(encoding="utf-8"))
TEXT = '''import torch


def scaled(x, gamma):
    """stepsmith: x[M, K], gamma[K]"""
    return torch.relu(x * gamma)


def unknown(x):
    return x * 2


def determinant(x, y):  # x[b, 4, 4], y[b]
    return torch.linalg.det(x) * y


def refused(x):  # x[M, K]
    return torch.linalg.svd(x)[1]


def gated(x, w, v):  # x[M, K], w[K, F], v[K, F]
    return torch.nn.functional.silu(x @ w) * (x @ v)


def ordered(x):  # x[M, N]
    return torch.sort(x * 2, -1).values


def endless(x):  # x[M, K]
    while True:
        x = x + 1
'''
DETERMINANT = """\
tile = step.Bufferize(a=2).apply(x)
det = step.Map(fn=fn_linalg_det).apply(tile)
return step.Map(fn=fn_mul).apply((det, y))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file whose text on the disk is older than the one that is open."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "layers.py").write_text("import torch\n")
    return folder


@pytest.fixture(scope="module")
def uri(folder: Path) -> str:
    return (folder / "layers.py").as_uri()


@pytest.fixture(scope="module")
def client(folder: Path, uri: str) -> Iterator[Client]:
    """One trusted server with the open file."""
    with Client() as client:
        client.initialize(PUSH, trusted=True, folder=folder)
        client.open(uri, TEXT)
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


def command(client: Client, name: str, **argument: Any) -> dict[str, Any]:
    params = {"command": f"stepsmith.server.{name}", "arguments": [argument]}
    result: dict[str, Any] = client.request("workspace/executeCommand", params)
    return result


def line_of(name: str) -> int:
    return TEXT[: TEXT.index(f"def {name}")].count("\n")


def synthesize(client: Client, uri: str, name: str, **options: Any) -> dict[str, Any]:
    """Start an order for a function and return its last news."""
    started = command(client, "synthesize", uri=uri, line=line_of(name), **options)
    assert started["message"] == ""
    return end(client, started["id"])


def end(client: Client, number: int) -> dict[str, Any]:
    params: dict[str, Any] = client.notification(
        "stepsmith/writing", lambda params: params["id"] == number and params["state"] != "running"
    )
    return params


def stages(client: Client, number: int) -> list[str]:
    return [params["stage"] for params in progress(client, number)]


def progress(client: Client, number: int) -> list[dict[str, Any]]:
    news = [message["params"] for message in client.received if message.get("method") == "stepsmith/writing"]
    return [params for params in news if params["id"] == number and params["state"] == "running"]


def test_a_function_of_the_unsaved_text_becomes_a_program(client: Client, uri: str, folder: Path) -> None:
    first = line_of("scaled")
    area = {"start": {"line": first, "character": 0}, "end": {"line": first + 3, "character": 0}}
    started = command(client, "synthesize", uri=uri, range=area, dims={"M": 6}, emit="python")
    told = end(client, started["id"])
    assert (told["state"], told["uri"], told["message"], told["unsupported"]) == ("done", uri, "", [])
    assert list(dict.fromkeys(stages(client, started["id"]))) == ["trace", "check", "lower", "write"]
    assert (told["name"], told["line"]) == ("scaled", first + 1)
    assert told["file"] == (folder / "scaled.step.py").as_uri()
    assert told["verdict"].startswith("computes the same as scaled at ")
    assert "M=6" in told["verdict"]
    for solution in told["solutions"]:
        assert "from layers import scaled as scaled_reference" in solution["text"]
        assert check_text(solution["text"], str(folder / "scaled.step.py")).diagnostics == []
        assert solution["operators"] > 0
        assert solution["off_chip_bytes"] > 0
        assert solution["timing"] == f"{solution['cycles']:,} cycles on default"
    cycles = [solution["cycles"] for solution in told["solutions"]]
    assert cycles == sorted(cycles)


def test_programs_over_tiles_come_with_what_each_takes_on_the_chip(client: Client, uri: str, folder: Path) -> None:
    """The default: what the command line writes, with cycles, their bound and bytes of each program to choose from."""
    dims = {"M": 32, "K": 16, "F": 32}
    started = command(client, "synthesize", uri=uri, line=line_of("gated"), dims=dims)
    told = end(client, started["id"])
    assert (told["state"], told["message"], told["file"]) == ("done", "", (folder / "gated.step.py").as_uri())
    assert list(dict.fromkeys(stages(client, started["id"]))) == ["trace", "check", "schedule", "verify"]
    programs = told["solutions"]
    assert len(programs) > 1
    for program in programs:
        assert program["form"] == "tiled" and "step.Tile(" in program["text"]
        assert check_text(program["text"], str(folder / "gated.step.py")).diagnostics == []
        assert program["timing"] == f"{program['cycles']:,} cycles on default" and program["ratio"] >= 1
    cycles, kept = ([program[key] for program in programs] for key in ("cycles", "on_chip_bytes"))
    assert cycles == sorted(cycles) and kept == sorted(kept, reverse=True) and len(set(kept)) == len(kept)
    assert any(note.startswith("schedule: ") for note in told["notes"])
    assert not any("--explain" in note for note in told["notes"])


def test_what_has_no_tiles_is_of_single_numbers_and_says_why(client: Client, uri: str) -> None:
    told = synthesize(client, uri, "ordered", dims={"M": 4, "N": 8})
    assert {program.get("form", "scalar") for program in told["solutions"]} == {"scalar"}
    line = line_of("ordered") + 2
    why = f"a program of single numbers, as there is none over tiles: line {line}: a result of sort has no form"
    assert any(note.startswith(why) for note in told["notes"])
    told = synthesize(client, uri, "ordered", dims={"M": 4, "N": 8}, emit="tiled")
    assert (told["state"], told["solutions"]) == ("done", [])
    assert [found["line"] for found in told["unsupported"]] == [line]
    assert "stepsmith.synthesize.emit" in told["message"]


def test_tiles_are_chosen_for_the_chip_of_the_status_bar(client: Client, uri: str, folder: Path) -> None:
    (folder / "small.toml").write_text('base = "default"\n[onchip]\ncapacity = 250000\n')
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {"timing.hw": "small.toml"}}})
    told = synthesize(client, uri, "gated", dims={"M": 32, "K": 16, "F": 32}, emit="tiled")
    assert told["solutions"], told["message"]
    assert all(program["on_chip_bytes"] <= 250_000 for program in told["solutions"])
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {"timing.hw": "nosuch"}}})
    refused = command(client, "synthesize", uri=uri, line=line_of("gated"))
    assert refused["id"] == 0 and refused["message"].startswith("the chip cannot be used: ")
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {}}})


def test_a_task_file_can_be_asked_for(client: Client, uri: str, folder: Path) -> None:
    told = synthesize(client, uri, "scaled", emit="task")
    assert told["file"] == (folder / "scaled.step.yaml").as_uri()
    assert "impl:" in told["solutions"][0]["text"]
    assert told["solutions"][0]["cycles"] > 0


def test_sizes_are_tried_out_before_they_are_taken(client: Client, uri: str) -> None:
    def asked(*inputs: str) -> dict[str, Any]:
        started = command(client, "sizes", uri=uri, line=line_of("determinant"), inputs=list(inputs))
        assert started["message"] == ""
        found: dict[str, Any] = end(client, started["id"])["sizes"]
        return found

    assert asked()["problem"] == ""
    assert asked()["note"] == "x[b, 4, 4], y[b]"
    assert "must be batches of square matrices" in asked("x=b 4 5", "y=b")["problem"]


def test_missing_sizes_come_with_a_guess_that_helps(client: Client, uri: str) -> None:
    told = synthesize(client, uri, "unknown")
    assert (told["state"], told["code"], told["solutions"]) == ("failed", "STEP602", [])
    assert told["detail"]["line"] == line_of("unknown") + 1
    inputs = [f"{name}={sizes}" for name, sizes in told["detail"]["guess"].items()]
    assert inputs == ["x=m k"]
    assert synthesize(client, uri, "unknown", inputs=inputs)["solutions"]


def test_what_has_no_lowering_is_said_at_its_line(client: Client, uri: str) -> None:
    told = synthesize(client, uri, "refused")
    assert (told["state"], told["solutions"]) == ("done", [])
    assert told["message"]
    assert told["verdict"] == ""
    (item, *_) = told["unsupported"]
    assert item["line"] == line_of("refused") + 2
    assert item["operation"]
    assert item["message"]
    assert told["task"] is False


def test_a_clients_model_writes_what_has_no_lowering(client: Client, uri: str, folder: Path) -> None:
    told = synthesize(client, uri, "determinant", proposer="lower")
    assert (told["solutions"], told["task"]) == ([], True)
    client.answers["stepsmith/model"] = {"text": fenced(DETERMINANT)}
    told = synthesize(client, uri, "determinant", proposer="model", model="tiny", samples=1, repair=0, seconds=90)
    assert (told["state"], told["message"], told["task"]) == ("done", "", True)
    (solution,) = told["solutions"]
    assert solution["proposer"] == "tiny"
    assert "Map(fn=fn_linalg_det)" in solution["text"]
    assert check_text(solution["text"], str(folder / "determinant.step.py")).diagnostics == []
    assert client.requested("stepsmith/model") == 1
    texts = [params["text"] for params in progress(client, told["id"]) if not params["stage"]]
    assert texts
    assert all(texts)


def test_a_client_without_a_model_gets_no_program_but_a_reason(client: Client, uri: str) -> None:
    client.answers["stepsmith/model"] = None
    told = synthesize(client, uri, "determinant", proposer="model", samples=1)
    assert (told["state"], told["solutions"], told["task"]) == ("done", [], True)
    assert told["message"]


def test_stopping_ends_the_job_and_its_worker_works_on(client: Client, uri: str) -> None:
    started = command(client, "synthesize", uri=uri, line=line_of("endless"))
    client.notification("stepsmith/writing", lambda params: params["id"] == started["id"])
    assert command(client, "stopWriting", id=started["id"]) == {"stopped": 1}
    assert end(client, started["id"])["state"] == "cancelled"
    assert synthesize(client, uri, "scaled")["solutions"]


def test_the_server_leaves_no_worker_behind(uri: str) -> None:
    with Client() as client:
        client.initialize(PUSH, trusted=True)
        client.open(uri, TEXT)
        started = command(client, "synthesize", uri=uri, line=line_of("endless"))
        client.notification("stepsmith/writing", lambda params: params["id"] == started["id"])
        workers = children(client.process.pid)
        assert workers
        client.shutdown()
    assert eventually(lambda: not any(alive(pid) for pid in workers))


def test_what_cannot_be_done_is_refused(client: Client, uri: str) -> None:
    client.open("file:///project/a.step.yaml", "inputs: []\n", "yaml")
    client.open("untitled:Untitled-1", TEXT)
    line = line_of("scaled")
    cases: dict[str, dict[str, Any]] = {
        "not open": {"uri": "file:///project/nowhere.py", "line": 0},
        "Python": {"uri": "file:///project/a.step.yaml", "line": 0},
        "save": {"uri": "untitled:Untitled-1", "line": line},
        "line or a range": {"uri": uri},
        "dims": {"uri": uri, "line": line, "dims": {"M": "many"}},
        "inputs": {"uri": uri, "line": line, "inputs": "x=m"},
        "emit": {"uri": uri, "line": line, "emit": "poem"},
        "one of auto, lower, search, model": {"uri": uri, "line": line, "proposer": "oracle"},
        "the option proposer": {"uri": uri, "line": line, "proposer": ["model"]},
        "the option samples": {"uri": uri, "line": line, "proposer": "model", "samples": "many"},
        "programs over tiles are written by lower": {"uri": uri, "line": line, "proposer": "search", "emit": "tiled"},
        "seconds has to be": {"uri": uri, "line": line, "seconds": 0},
        "the option second: is unknown here": {"uri": uri, "line": line, "second": 3},
    }
    for expected, options in cases.items():
        answer = command(client, "synthesize", **options)
        assert answer["id"] == 0
        assert expected in answer["message"]


def test_a_place_without_a_function_is_said(client: Client, uri: str) -> None:
    started = command(client, "synthesize", uri=uri, line=0)
    told = end(client, started["id"])
    assert (told["state"], told["code"]) == ("failed", "STEP601")


def test_nothing_is_run_or_offered_without_trust(uri: str) -> None:
    with Client() as client:
        client.initialize(PUSH)
        client.open(uri, TEXT)
        assert "not trusted" in command(client, "synthesize", uri=uri, line=line_of("scaled"))["message"]
        assert offered(client, uri, line_of("scaled")) == []
        assert children(client.process.pid) == []


def test_a_client_without_a_choice_gets_a_file_or_a_message(client: Client, uri: str, folder: Path) -> None:
    client.answers["workspace/applyEdit"] = {"applied": True}
    (action,) = offered(client, uri, line_of("scaled"))
    assert action["title"] == "Synthesize STeP Program"
    client.request("workspace/executeCommand", action["command"])
    asked = client.wait(lambda message: message.get("method") == "workspace/applyEdit")
    create, change = asked["params"]["edit"]["documentChanges"]
    assert (create["kind"], create["uri"]) == ("create", (folder / "scaled.step.py").as_uri())
    text = change["edits"][0]["newText"]
    assert check_text(text, str(folder / "scaled.step.py")).diagnostics == []
    (folder / "scaled.step.py").write_text("mine")
    (folder / "scaled_2.step.py").write_text(text)
    client.request("workspace/executeCommand", action["command"])
    asked = client.wait(lambda message: message.get("method") == "workspace/applyEdit")
    assert asked["params"]["edit"]["documentChanges"][0]["uri"] == (folder / "scaled_2.step.py").as_uri()
    (action,) = offered(client, uri, line_of("refused"))
    client.request("workspace/executeCommand", action["command"])
    assert client.notification("window/showMessage")["message"].startswith("Stepsmith: ")


def test_the_action_is_offered_on_heads_of_files_that_stepsmith_does_not_analyse(client: Client, uri: str) -> None:
    assert offered(client, uri, line_of("scaled"), only=["refactor"])
    assert offered(client, uri, line_of("scaled"), only=["quickfix"]) == []
    assert offered(client, uri, line_of("scaled") + 2)
    assert offered(client, uri, 1) == []


@pytest.mark.parametrize("case", PLACES, ids=lambda case: case["why"])
def test_where_the_action_is_offered(case: dict[str, Any]) -> None:
    first, last = case["lines"]
    area = types.Range(types.Position(first, 0), types.Position(last, 1 if last > first else 0))
    assert is_offered(SourceFile("a.py", case["text"]), area) is case["offered"]


def offered(client: Client, uri: str, line: int, **context: Any) -> list[dict[str, Any]]:
    area = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": area, "context": {"diagnostics": [], **context}}
    found: list[dict[str, Any]] = client.request("textDocument/codeAction", params) or []
    return [action for action in found if action.get("kind") == "refactor.rewrite.stepsmith"]

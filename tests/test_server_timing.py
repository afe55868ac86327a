"""Timing in the server: one status for each program, figures that follow the text, and a chip that somebody chose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_client import PUSH, Client
from processes import children, eventually
from server_texts import FIXED, GOOD, HEAD, OVERUSED

ROOT = Path(__file__).parents[1]
OFF = {"simulation": {"run": "off"}}  # no worker that imports torch is needed here


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client() as client:
        client.initialize(trusted=True, settings=OFF, folder=tmp_path)
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


def opened(client: Client, folder: Path, text: str) -> str:
    file = folder / "file.py"
    file.write_text(text)
    client.open(file.as_uri(), text)
    return file.as_uri()


def timed(client: Client, uri: str, *states: str, **wanted: Any) -> dict[str, Any]:
    """Wait until all programs of a document are in one of the states; return what was told."""

    def is_it(params: dict[str, Any]) -> bool:
        rows = params["programs"]
        fits = all(row["state"] in states and row["engine"] == wanted.get("engine", row["engine"]) for row in rows)
        return bool(params["uri"] == uri and rows and fits and params["chip"] == wanted.get("chip", params["chip"]))

    found: dict[str, Any] = client.notification("stepsmith/timing", is_it)
    return found


def test_an_edit_is_estimated_and_a_save_is_exact(client: Client, tmp_path: Path) -> None:
    text = HEAD + GOOD + FIXED.replace("overused", "fixed")
    uri = opened(client, tmp_path, text)
    told = timed(client, uri, "timed", engine="exact")
    good, fixed = told["programs"]
    assert (told["chip"], told["problem"], good["name"], good["stale"]) == ("default", "", "good", False)
    assert good["cycles"] > 0
    head, *figures = good["figures"]
    assert head["mark"] == "program"
    assert head["label"].startswith(f"{good['cycles']:,} cycles | ")
    line = text[: text.index("E1 = step.Map")].count("\n")
    (figure,) = [each for each in figures if each["position"]["line"] == line]
    assert "cycles" in figure["label"]
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    titles = [lens["command"]["title"] for lens in lenses]
    assert len(titles) == 2
    assert titles[0].startswith(f"{good['cycles']:,} cycles | ")
    assert "of the bound (" in titles[0]
    area = {"start": {"line": 0, "character": 0}, "end": {"line": text.count("\n"), "character": 0}}
    hints = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": area})
    assert any(hint["position"] == figure["position"] and hint["label"] == figure["label"] for hint in hints)
    spot = {"line": line, "character": text.split("\n")[line].index("Map") + 1}
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": spot})
    assert "**Timing**: busy" in hover["contents"]["value"]
    assert "A call takes max(" in hover["contents"]["value"]
    drawn = client.request("stepsmith/graph", {"textDocument": {"uri": uri}, "program": "fixed"})
    assert drawn["timing"] == {"headline": fixed["headline"], "chip": "default", "stale": False, "stopped": False}
    heats = {node["id"]: node["timing"]["share"] for node in drawn["nodes"] if "timing" in node}
    assert heats.keys() >= {"n0", "n1", "n2"}
    assert all(0 <= share <= 1 for share in heats.values())
    assert all(0 < edge["timing"]["fill"] <= edge["timing"]["depth"] == 2 for edge in drawn["edges"])
    # An edit of one program: the other's figures stay, and the edited one's are estimated.
    edited = text.replace("    return E1", "    E9 = step.Map(fn=double).apply(E1)\n    return E9", 1)
    client.change(uri, 2, {"text": edited})
    good, fixed_now = timed(client, uri, "timed")["programs"]
    assert (good["engine"], fixed_now["engine"], good["stale"]) == ("fluid", "exact", False)
    assert fixed_now["cycles"] == fixed["cycles"]
    assert good["headline"].startswith("~")
    client.save(uri)
    good, _ = timed(client, uri, "timed", engine="exact")["programs"]
    assert not good["headline"].startswith("~")


def test_a_program_with_errors_keeps_grey_figures_and_one_that_never_ran_says_why(
    client: Client, tmp_path: Path
) -> None:
    uri = opened(client, tmp_path, HEAD + GOOD)
    before = timed(client, uri, "timed")["programs"][0]
    client.change(uri, 2, {"text": HEAD + GOOD.replace("fn=double", "fn=add")})
    (row,) = timed(client, uri, "outdated")["programs"]
    assert (row["stale"], row["because"], row["cycles"]) == (True, "the text changed", before["cycles"])
    client.change(uri, 3, {"text": HEAD + GOOD})
    assert timed(client, uri, "timed")["programs"][0]["cycles"] == before["cycles"]
    client.change(uri, 4, {"text": HEAD + GOOD + OVERUSED})
    rows = timed(client, uri, "timed", "untimed")["programs"]
    assert [(row["state"], row["message"]) for row in rows] == [("timed", ""), ("untimed", "the program has errors")]


def test_a_program_that_stops_says_what_cures_it(client: Client) -> None:
    task = Path(__file__).parents[1] / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml"
    client.open(task.as_uri(), task.read_text(), "yaml")
    (row,) = timed(client, task.as_uri(), "stopped")["programs"]
    found = next(item for item in client.findings(task.as_uri()) if item["code"] == "STEP502")
    assert row["cycles"] is None
    assert "cures it" in row["message"]
    waits = [figure["label"] for figure in row["figures"] if figure["mark"] == "waiting"]
    assert len(waits) > 1
    assert all(label.startswith("waits: ") for label in waits)
    drawn = client.request("stepsmith/graph", {"textDocument": {"uri": task.as_uri()}})
    assert drawn["timing"]["stopped"] is True
    assert sum(node.get("timing", {}).get("mark") == "waiting" for node in drawn["nodes"]) == len(waits)
    assert {edge["timing"]["waits"] for edge in drawn["edges"] if "timing" in edge} == {"", "full", "empty"}
    assert found["message"].startswith("stopped at cycle ")
    asked = {"textDocument": {"uri": task.as_uri()}, "range": found["range"], "context": {"diagnostics": [found]}}
    offered = client.request("textDocument/codeAction", asked)
    (fix,) = [
        action for action in offered if action["title"].startswith("Write depth=") and found in action["diagnostics"]
    ]
    (edit,) = fix["edit"]["documentChanges"][0]["edits"]
    client.change(task.as_uri(), 2, {"range": edit["range"], "text": edit["newText"]})
    assert timed(client, task.as_uri(), "timed")["programs"][0]["cycles"] > 0


def test_the_chip_comes_from_the_setting_then_from_the_project(client: Client, tmp_path: Path) -> None:
    (tmp_path / "stepsmith.toml").write_text('[timing]\nhw = "validation"\n')
    (tmp_path / "slow.toml").write_text('base = "paper"\nmemory.latency = 500\n')
    uri = opened(client, tmp_path, HEAD + GOOD)
    project = timed(client, uri, "timed", chip="validation")["programs"][0]
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {**OFF, "timing.hw": "slow.toml"}}})
    slow = timed(client, uri, "timed", chip="slow")["programs"][0]
    assert slow["cycles"] > project["cycles"]
    (tmp_path / "slow.toml").write_text('base = "paper"\nmemory.latenzy = 500\n')
    client.save(uri)
    broken = client.notification("stepsmith/timing", lambda params: params["problem"] != "")
    assert "did you mean memory.latency?" in broken["problem"]
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {**OFF, "timing.hw": "nosuch"}}})
    missing = client.notification("stepsmith/timing", lambda params: "nosuch" in params["problem"])
    assert "preset" in missing["problem"]
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {**OFF, "timing.enabled": False}}})
    assert client.notification("stepsmith/timing", lambda params: params["uri"] == uri)["programs"] == []


def test_without_trust_nothing_is_timed_and_no_process_is_left(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(PUSH, settings=OFF, folder=tmp_path)
        uri = opened(client, tmp_path, HEAD + GOOD)
        client.notification("stepsmith/simulation")
        client.notify("stepsmith/trust", {"trusted": True})
        timed(client, uri, "timed")
        assert children(client.process.pid) != []
        client.notify("stepsmith/trust", {"trusted": False})
        assert client.notification("stepsmith/timing", lambda params: not params["programs"])
        assert eventually(lambda: children(client.process.pid) == [])


def test_a_timeline_tells_what_each_unit_does_when(client: Client, tmp_path: Path) -> None:
    text = HEAD + GOOD
    uri = opened(client, tmp_path, text)
    cycles = timed(client, uri, "timed")["programs"][0]["cycles"]
    found = client.request("stepsmith/timeline", {"textDocument": {"uri": uri}, "program": "good"})
    assert (found["cycles"], found["stopped"], found["problem"]) == (cycles, False, "")
    names = [event["args"]["name"] for event in found["trace"]["traceEvents"] if event["name"] == "thread_name"]
    line = text[: text.index("step.Map(fn=double)")].count("\n") + 1
    assert f"Map (line {line})" in names
    assert found["lines"][names.index(f"Map (line {line})")] == line
    spans = [event for event in found["trace"]["traceEvents"] if event["ph"] == "X"]
    assert max(event["ts"] + event["dur"] for event in spans) == cycles
    client.change(uri, 2, {"text": HEAD + GOOD.replace("fn=double", "fn=add")})
    broken = client.request("stepsmith/timeline", {"textDocument": {"uri": uri}, "program": "good"})
    assert "has errors" in broken["problem"]
    assert broken["trace"] is None


CONSISTS = """
@step.composition(reference=quadrupled, dims={M: 30, N: 2})
def twice(x):
    h = good.apply(x)
    y = good.apply(h)
    return y
"""


def lenses(client: Client, uri: str) -> list[tuple[int, str]]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or []
    return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found]


def test_a_script_stands_under_a_line_with_its_cycles(client: Client, tmp_path: Path) -> None:
    """A script is timed when it is saved; one of which only a run tells what it does keeps the figures of before."""
    task = ROOT / "tests" / "published" / "attention_single_accum.py"
    text = task.read_text(encoding="utf-8")
    uri = opened(client, tmp_path, text)
    assert eventually(lambda: lenses(client, uri) != [])
    ((line, title),) = lenses(client, uri)
    assert text.splitlines()[line].lstrip().startswith("E0 = step.Stream(")
    assert re.match(r"726 cycles \| .* of the bound \(.*\) \| load E1 rules, busy ", title), title
    client.change(uri, 2, {"text": text.replace("M_value = 5", "M_value = 9")})
    client.save(uri)
    assert eventually(lambda: any("726" not in title and "cycles" in title for _, title in lenses(client, uri)))
    assert len(lenses(client, uri)) == 1
    lost = text.replace("S0 = prog(", "S0 = jit(prog)(")
    assert lost != text
    client.change(uri, 3, {"text": lost})
    client.save(uri)
    assert eventually(lambda: all(title.startswith("outdated: ") for _, title in lenses(client, uri)))


def test_a_script_has_all_that_a_program_has(client: Client, tmp_path: Path) -> None:
    """Figures behind its operators while one types, too, in hovers and in its picture, and a timeline."""
    text = (ROOT / "tests" / "published" / "attention_single_accum.py").read_text(encoding="utf-8")
    uri = opened(client, tmp_path, text)
    (row,) = timed(client, uri, "timed", engine="exact")["programs"]
    head, *figures = row["figures"]
    assert (row["cycles"], head["mark"], head["label"].split(" | ")[0]) == (726, "program", "726 cycles")
    lines = text.splitlines()
    fold = next(number for number, line in enumerate(lines) if "step.Accum(" in line)
    assert fold in {each["position"]["line"] for each in figures}
    assert "bottleneck" in {each["mark"] for each in figures}
    at = {"line": fold, "character": lines[fold].index("Accum")}
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
    assert "**Timing**: busy " in hover["contents"]["value"]
    drawn = client.request("stepsmith/graph", {"textDocument": {"uri": uri}, "position": at})
    assert (drawn["program"], drawn["timing"]["headline"].split(" | ")[0]) == (row["name"], "726 cycles")
    (node,) = [node for node in drawn["nodes"] if node["label"] == "Accum"]
    assert node["id"] == drawn["activeNode"] and node["timing"]["text"]
    assert any(edge["timing"] for edge in drawn["edges"])
    shown = client.request("stepsmith/timeline", {"textDocument": {"uri": uri}, "program": row["name"]})
    assert shown["cycles"] == 726 and shown["trace"]["traceEvents"]
    client.change(uri, 2, {"text": text.replace("M_value = 5", "M_value = 9")})
    (typed,) = timed(client, uri, "timed", engine="fluid")["programs"]
    assert typed["cycles"] > 726 and typed["figures"][0]["label"].startswith("~")


STOPS = """
import torch
import stepcore as step

class Add(step.Fn):
    def __init__(self):
        super().__init__("Add", step.Scalar("float"), step.Scalar("float"))

    def getInit(self):
        return [torch.tensor(0.0)]

    def apply(self, state, input):
        return [state[0] + input[0]]

E0 = step.Stream("E0", step.Scalar("float"), 1, [6, 3])
E0.ctx = {}
one, direct = step.Copy().apply(E0)
back = step.Repeat(n=6).apply(step.Accum(fn=Add(), b=1).apply(one))
both = step.Zip().apply((direct, back))
"""


def test_a_script_that_stops_shows_its_ring_and_the_fix_cures_it(client: Client, tmp_path: Path) -> None:
    uri = opened(client, tmp_path, STOPS)
    (row,) = timed(client, uri, "stopped", engine="exact")["programs"]
    assert "cures it" in row["message"]
    assert [each["label"] for each in row["figures"] if each["mark"] == "waiting"]
    drawn = client.request("stepsmith/graph", {"textDocument": {"uri": uri}, "program": row["name"]})
    assert {edge["timing"]["waits"] for edge in drawn["edges"] if edge["timing"]} >= {"full", "empty"}
    line = STOPS[: STOPS.index("step.Copy")].count("\n")
    here = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 40}}
    asked = {"textDocument": {"uri": uri}, "range": here, "context": {"diagnostics": []}}
    (action,) = [each for each in client.request("textDocument/codeAction", asked) if "depth" in each["title"]]
    (edit,) = (
        action["edit"]["changes"][uri] if "changes" in action["edit"] else action["edit"]["documentChanges"][0]["edits"]
    )
    assert "depth=" in edit["newText"]
    cured = STOPS.replace("step.Copy()", f"step.Copy({edit['newText']})")
    client.change(uri, 2, {"text": cured})
    client.save(uri)
    (row,) = timed(client, uri, "timed", engine="exact")["programs"]
    assert row["cycles"] > 0


def test_what_is_on_no_disk_is_timed_exactly_when_nobody_types(client: Client) -> None:
    """A composition stands above its function with the cycles of its lines; while one types it is outdated."""
    uri, text = "untitled:Untitled-1", HEAD + GOOD + CONSISTS
    client.open(uri, text)
    good = timed(client, uri, "timed", engine="exact")["programs"][0]
    line = text[: text.index("@step.composition")].count("\n")
    (first, title), (above, whole) = lenses(client, uri)
    assert first < above == line
    assert title.startswith(f"{good['cycles']:,} cycles | ")
    assert re.fullmatch(r"[\d,]+ cycles \| 2 programs one after the other \| good at M=30 takes 100 %", whole)
    assert int(whole.split(" ")[0].replace(",", "")) > 2 * good["cycles"]
    client.change(uri, 2, {"text": text.replace("return E1", "E2 = step.Map(fn=double).apply(E1)\n    return E2")})
    assert timed(client, uri, "timed")["programs"][0]["engine"] == "fluid"
    assert lenses(client, uri)[1][1] == f"outdated: {whole}"
    timed(client, uri, "timed", engine="exact")  # nobody types, and nothing is saved
    assert lenses(client, uri)[1][1] not in (whole, f"outdated: {whole}")


def test_cells_of_a_notebook_have_the_figures_of_their_programs(client: Client, tmp_path: Path) -> None:
    cells = client.open_notebook((tmp_path / "book.ipynb").as_uri(), (HEAD, GOOD, CONSISTS))
    (good,) = timed(client, cells[1], "timed", engine="exact")["programs"]
    assert good["figures"][1]["position"]["line"] == GOOD[: GOOD.index("E1 = ")].count("\n")
    assert lenses(client, cells[0]) == []
    assert lenses(client, cells[1])[0][0] == good["range"]["start"]["line"] == 1
    ((line, title),) = lenses(client, cells[2])
    assert (line, title.split(" | ")[1]) == (1, "2 programs one after the other")
    found = client.request("stepsmith/timeline", {"textDocument": {"uri": cells[1]}, "program": "good"})
    at = GOOD[: GOOD.index("step.Map")].count("\n") + 1
    assert at in found["lines"]
    assert f"Map (line {at})" in str(found["trace"])


def test_above_what_cannot_be_timed_stands_why(client: Client, tmp_path: Path) -> None:
    large = re.sub(r"dims=\{M: \d+, N: 2\}", "dims={M: 1000000000, N: 1000000000}", HEAD + GOOD + CONSISTS)
    uri = opened(client, tmp_path, large)
    timed(client, uri, "untimed")
    (_, title), (_, whole) = lenses(client, uri)
    assert title.startswith("not timed: it takes more than ")
    assert whole.startswith("not timed: good: it takes more than ")
    client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {**OFF, "timing.hw": "nosuch"}}})
    client.notification("stepsmith/timing", lambda params: "nosuch" in params["problem"])
    assert all(title.startswith("not timed: no chip is called 'nosuch'") for _, title in lenses(client, uri))

"""*Make it faster* over the wire: verified points, an end in any case, and only the text that they were made for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from fake_model_server import FakeModelServer, always, says
from lsp_client import PUSH, Client
from optimize_replay import SLOW, replay
from processes import PATIENCE, alive, children, eventually
from server_texts import GOOD, HEAD, OVERUSED
from stepcore.rewrites import REWRITES

ROOT = Path(__file__).parents[1]
OFF = {"simulation": {"run": "off"}}
EXPERT = (ROOT / "examples" / "swiglu_tiles.py").read_text()
CYCLES = 27502  # of it
CHIP = {"timing.hw": "validation"}
SCRIPT = (ROOT / "tests" / "published" / "attention_single_accum.py").read_text(encoding="utf-8")
_PATIENCE = 5 * PATIENCE  # a whole search with its verifications


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    """One trusted server, which keeps what searches work out in a folder of the test."""
    store = folder / "kept" / "experience.sqlite3"
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    env = {**os.environ, "PYTHONPATH": libraries, "STEPSMITH_STORE": str(store)}
    with Client(env=env) as client:
        client.initialize(PUSH, trusted=True, settings={**OFF, **CHIP}, folder=folder, client={"gutter": True})
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


def opened(client: Client, folder: Path, name: str, text: str, language: str = "python") -> str:
    file = folder / name
    file.write_text(text)
    client.open(file.as_uri(), text, language)
    return file.as_uri()


def command(client: Client, name: str, **argument: Any) -> dict[str, Any]:
    params = {"command": f"stepsmith.server.{name}", "arguments": [argument]}
    result: dict[str, Any] = client.request("workspace/executeCommand", params)
    return result


def optimize(client: Client, uri: str, **options: Any) -> int:
    started = command(client, "optimize", uri=uri, **options)
    assert started["message"] == "", started
    number: int = started["id"]
    return number


def end(client: Client, number: int) -> dict[str, Any]:
    def is_it(message: dict[str, Any]) -> bool:
        params = message.get("params")
        told = message.get("method") == "stepsmith/optimizing"
        return told and params["id"] == number and params["state"] != "running"  # type: ignore[index]

    params: dict[str, Any] = client.wait(is_it, _PATIENCE)["params"]
    return params


def progress(client: Client, number: int) -> list[dict[str, Any]]:
    news = [message["params"] for message in client.received if message.get("method") == "stepsmith/optimizing"]
    return [params for params in news if params["id"] == number and params["state"] == "running"]


def lenses(client: Client, uri: str) -> list[dict[str, Any]]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or []
    return [lens["command"] for lens in found]


def applied(client: Client) -> dict[str, Any]:
    """Return the edit that the server asked the client to apply last."""
    asked = [each for each in client.received if each.get("method") == "workspace/applyEdit"]
    edit: dict[str, Any] = asked[-1]["params"]["edit"]
    return edit


def edited(text: str, edit: dict[str, Any]) -> str:
    """Return a text after the edits of its document, which all are of whole lines."""
    lines = text.splitlines(keepends=True)
    for each in reversed(edit["documentChanges"][0]["edits"]):
        start, stop = each["range"]["start"], each["range"]["end"]
        assert start["character"] == stop["character"] == 0
        lines[start["line"] : stop["line"]] = [each["newText"]]
    return "".join(lines)


def test_the_expert_becomes_faster_and_is_taken_as_one_edit(client: Client, folder: Path) -> None:
    uri = opened(client, folder, "expert.py", EXPERT)
    timed = [("expert", "timed")]
    client.notification(
        "stepsmith/timing",
        lambda params: params["uri"] == uri and [(row["name"], row["state"]) for row in params["programs"]] == timed,
    )
    (faster,) = [each for each in lenses(client, uri) if each["title"] == "Make it faster"]
    assert (faster["command"], faster["arguments"]) == ("stepsmith.makeFaster", [uri, "expert"])
    number = optimize(client, uri, program="expert", seconds=600)
    running = client.notification("stepsmith/optimizing", lambda params: params.get("cycles") is not None)
    assert running["ratio"] > 1
    (stop,) = [each for each in lenses(client, uri) if each["command"] == "stepsmith.stopMakingFaster"]
    assert "cycles so far" in stop["title"]
    assert command(client, "optimize", uri=uri, program="expert")["message"].startswith("expert is being made faster")
    told = end(client, number)
    assert (told["state"], told["message"], told["before"]) == ("done", "", EXPERT)
    result = told["result"]
    assert (result["chip"], result["bound"], result["bound_by"]) == ("validation", 6656, "off-chip bandwidth")
    assert result["before"]["cycles"] == CYCLES
    (best,) = [point for point in result["points"] if point["is_best"]]
    assert best["cycles"] < 9275
    assert best["ratio"] == pytest.approx(best["cycles"] / 6656)
    assert best["steps"][-1]["cycles"] == best["cycles"]
    assert all(step["what"] and step["brought"] for step in best["steps"])
    assert [point["cycles"] for point in result["points"]] == sorted(point["cycles"] for point in result["points"])
    # It is taken while the document has the text that it was made for, and leaves the rest alone.
    client.answers["workspace/applyEdit"] = {"applied": True}
    order = {"uri": uri, "before": told["before"], "text": best["text"]}
    assert command(client, "takeFaster", **order) == {"taken": True, "message": ""}
    assert edited(EXPERT, applied(client)) == best["text"]
    client.answers["workspace/applyEdit"] = {"applied": False, "failureReason": "it is read-only"}
    assert "it is read-only" in command(client, "takeFaster", **order)["message"]
    client.change(uri, 2, {"text": EXPERT + "\n# changed\n"})
    refused = command(client, "takeFaster", **order)
    assert refused["taken"] is False
    assert "the text has changed" in refused["message"]
    client.change(uri, 3, {"text": EXPERT})  # the same order goes on from what is known
    again = optimize(client, uri, program="expert", seconds=600)
    assert end(client, again)["result"]["points"] == result["points"]
    assert any("candidates are known from before" in str(news.get("text")) for news in progress(client, again))
    assert {each["title"] for each in lenses(client, uri)} >= {"Make it faster"}


def test_stopping_keeps_the_best_and_cancelling_nothing_and_edits_go_on(client: Client, folder: Path) -> None:
    text = EXPERT.replace("expert", "other")
    uri = opened(client, folder, "other.py", text)
    number = optimize(client, uri, line=text[: text.index("def other")].count("\n"), goal="front")
    client.notification(
        "stepsmith/optimizing", lambda params: params["id"] == number and params.get("cycles") is not None
    )
    client.change(uri, 2, {"text": text + OVERUSED})  # an edit is answered while the search goes on
    assert client.findings(uri, 2)
    assert command(client, "stopOptimizing", id=number) == {"stopped": 1}
    told = end(client, number)
    assert (told["state"], told["result"]["unfinished"], told["before"]) == ("done", "stopped", text)
    assert any(point["is_best"] for point in told["result"]["points"])
    client.change(uri, 3, {"text": text})
    number = optimize(client, uri, program="other")
    client.notification("stepsmith/optimizing", lambda params: params["id"] == number)
    assert command(client, "stopOptimizing", keep=False) == {"stopped": 1}
    told = end(client, number)
    assert (told["state"], "result" in told) == ("cancelled", False)


def test_where_several_programs_are_the_editor_can_have_one_chosen(client: Client, folder: Path) -> None:
    """With cycles and their ratio to the bound, as the lines above them say, and why one cannot be made faster."""
    text = HEAD + GOOD.replace("good", "first") + GOOD + OVERUSED
    uri = opened(client, folder, "several.py", text)
    timed = {"first": "timed", "good": "timed", "overused": "untimed"}
    client.notification(
        "stepsmith/timing",
        lambda params: params["uri"] == uri and {row["name"]: row["state"] for row in params["programs"]} == timed,
    )
    line = text[: text.index("def good")].count("\n")
    started = command(client, "optimize", uri=uri, line=line, choose=True)
    assert (started["id"], started["message"]) == (0, "")
    first, good, broken = started["choices"]
    assert [row["name"] for row in (first, good, broken)] == ["first", "good", "overused"]
    assert [row["here"] for row in (first, good, broken)] == [False, True, False]
    assert text.split("\n")[good["line"]].startswith("@step.program")
    assert re.match(r"\d+ cycles \| [\d.]+x of the bound \(", first["figures"])
    assert first["figures"] in [each["title"] for each in lenses(client, uri)]
    assert "problem" not in first
    assert broken["problem"] == "overused cannot be timed: the program has errors"
    # Who names a program has chosen, and without the word an order is for the program around its line.
    number = optimize(client, uri, program="good", choose=True)
    assert "good is being made faster" in command(client, "optimize", uri=uri, line=line, choose=True)["message"]
    assert command(client, "stopOptimizing", id=number, keep=False) == {"stopped": 1}
    assert end(client, number)["state"] == "cancelled"


@pytest.mark.parametrize(("text", "why"), [(HEAD + GOOD, ""), (HEAD, "there is no program here")])
def test_where_there_is_no_choice_none_is_asked_for(client: Client, folder: Path, text: str, why: str) -> None:
    uri = opened(client, folder, "alone.py", text)
    started = command(client, "optimize", uri=uri, choose=True)
    assert "choices" not in started
    assert started["message"].startswith(why)
    if started["id"]:
        command(client, "stopOptimizing", id=started["id"], keep=False)
        assert end(client, started["id"])["state"] == "cancelled"
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_marks_line_ends_tabs_and_names_of_a_text_stay(client: Client, folder: Path) -> None:
    """A byte order mark, CRLF, tabs, letters of two units, a name of other letters: the edit leaves all else alone."""
    text = "\ufeff" + EXPERT.replace("    ", "\t").replace('"""An', '"""\U0001f600 An').replace("expert", "専門家")
    text = text.replace("\n", "\r\n")
    uri = opened(client, folder, "専門家.py", "")
    client.change(uri, 2, {"text": text})
    number = optimize(client, uri, program="専門家", goal="front")
    # The first cycles that are told may be those of the program as it is.
    client.notification(
        "stepsmith/optimizing", lambda told: told["id"] == number and 0 < (told.get("cycles") or 0) < CYCLES
    )
    command(client, "stopOptimizing", id=number)
    told = end(client, number)
    assert told["before"] == text
    client.answers["workspace/applyEdit"] = {"applied": True}
    faster = [point["text"] for point in told["result"]["points"] if point["steps"]]
    assert faster
    for made in faster:
        assert made.startswith('\ufeff"""\U0001f600 An')
        assert made.count("\n") == made.count("\r\n")
        assert "\f" not in made
        assert command(client, "takeFaster", uri=uri, before=text, text=made)["taken"]
        assert edited(text, applied(client)) == made


@pytest.mark.parametrize(
    ("name", "text", "options", "why"),
    [
        ("script.py", SCRIPT, {}, "this is a script"),
        ("broken.py", HEAD + OVERUSED, {}, "overused cannot be timed: the program has errors"),
        ("none.py", HEAD + GOOD, {"program": "nosuch"}, "there is no program nosuch in this file; there are good"),
        ("forged.py", HEAD, {"program": "no\nsuch"}, "there is no program no\\nsuch in this file; there are none"),
        ("above.py", HEAD, {"line": 0}, "there is no program here: put the cursor into one"),
        ("wide.py", HEAD + GOOD, {"capacity": 0}, "capacity has to lie"),
        ("long.py", HEAD + GOOD, {"seconds": -1}, "seconds has to lie"),
        ("goal.py", HEAD + GOOD, {"goal": "speed"}, "goal: one of 'cycles', 'memory', 'front'"),
        ("typed.py", HEAD + GOOD, {"compute": "much"}, "compute: a whole number or null was expected"),
    ],
)
def test_what_cannot_be_optimized_says_why(
    client: Client, folder: Path, name: str, text: str, options: dict[str, Any], why: str
) -> None:
    uri = opened(client, folder, name, text)
    started = command(client, "optimize", uri=uri, **options)
    assert started["id"] == 0
    assert why in started["message"]


MOE = (ROOT / "examples" / "moe_static_tiles.py").read_text(encoding="utf-8")


def explain(client: Client, uri: str, program: str = "moe", **options: Any) -> dict[str, Any]:
    return command(client, "explainRewrites", uri=uri, program=program, **options)


def test_the_editor_is_told_why_rewrites_do_not_apply_and_where(client: Client, folder: Path) -> None:
    text = MOE.replace("\n", "\r\n", 5)  # what editors count as lines, whatever ends them
    uri = opened(client, folder, "moe.py", text)
    told = explain(client, uri)
    assert (told["message"], told["before"]) == ("", text)
    assert {each["rewrite"] for each in told["reasons"]} == {rewrite.name for rewrite in REWRITES}
    assert any(each["applies"] for each in told["reasons"])
    (share,) = [each for each in told["reasons"] if each["rewrite"] == "share-region"]
    assert (share["applies"], share["sentence"]) == (False, "its branches end in Partition, not in a Map")
    start, stop = share["range"]["start"], share["range"]["end"]
    assert start["line"] == stop["line"] == 61
    line = MOE.split("\n")[61]
    assert line[start["character"] : stop["character"]] == share["operator"] == "step.Reassemble"
    (join,) = [each for each in told["reasons"] if each["rewrite"] == "join-folds"]
    assert (join["applies"], "range" in join) == (False, False)
    assert "one behind the other" in join["sentence"]


def test_reasons_count_characters_as_the_editor_does(client: Client, folder: Path) -> None:
    text = MOE.replace("step.Accum(fn=add, b=1)", "step.Accum(fn=add, b=len('\U0001f600'))")
    told = explain(client, opened(client, folder, "wide_moe.py", text))
    (share,) = [each for each in told["reasons"] if each["rewrite"] == "share-region"]
    start = share["range"]["start"]
    assert start["character"] == text.split("\n")[start["line"]].index("step.Reassemble") + 1  # two units of UTF-16


@pytest.mark.parametrize(
    ("name", "text", "options", "why"),
    [
        ("script_reasons.py", SCRIPT, {}, "this is a script"),
        ("broken_reasons.py", HEAD + OVERUSED, {"program": "overused"}, "the program has errors"),
        ("forged_reasons.py", HEAD, {"program": "no\nsuch"}, "there is no program no\\nsuch in this file"),
        ("compute_reasons.py", MOE, {"compute": 0}, "compute has to lie between"),
        ("typed_reasons.py", MOE, {"compute": "much"}, "compute: a whole number or null was expected"),
    ],
)
def test_what_has_no_reasons_says_why(
    client: Client, folder: Path, name: str, text: str, options: dict[str, Any], why: str
) -> None:
    told = explain(client, opened(client, folder, name, text), **options)
    assert why in told["message"]
    assert "reasons" not in told


def test_reasons_of_a_closed_document_say_that_it_is_closed(client: Client, folder: Path) -> None:
    assert "not open" in explain(client, (folder / "nowhere.py").as_uri())["message"]


def test_a_program_that_is_wrong_is_told_at_the_end(client: Client, folder: Path) -> None:
    text = EXPERT.replace("expert", "wrong").replace("return ((torch", "return 2 * ((torch")
    uri = opened(client, folder, "wrong.py", text)
    told = end(client, optimize(client, uri, program="wrong"))
    assert told["state"] == "done"
    assert told["message"].startswith("it is not right as it is")
    assert "points" not in told["result"]  # what holds its default is left out


def test_the_light_bulb_offers_it_on_a_program_and_nowhere_else(client: Client, folder: Path) -> None:
    uri = opened(client, folder, "bulb.py", HEAD + GOOD + OVERUSED)
    client.findings(uri)

    def offered(line: int) -> list[str]:
        spot = {"line": line, "character": 0}
        asked = {"textDocument": {"uri": uri}, "range": {"start": spot, "end": spot}, "context": {"diagnostics": []}}
        found = client.request("textDocument/codeAction", asked) or []
        return [each["kind"] for each in found if each["title"] == "Make it faster"]

    lines = (HEAD + GOOD + OVERUSED).split("\n")
    assert offered(next(number for number, line in enumerate(lines) if "def good" in line)) == [
        "refactor.rewrite.stepsmith"
    ]
    assert offered(0) == []
    assert offered(next(number for number, line in enumerate(lines) if "def overused" in line)) == []


def test_above_a_program_it_stands_only_where_a_click_begins_it(client: Client, folder: Path) -> None:
    """Cells of notebooks and programs that have errors by now have cycles, and nothing that only tells why not."""
    cells = client.open_notebook((folder / "book.ipynb").as_uri(), (HEAD, GOOD))
    uri = opened(client, folder, "erring.py", HEAD + GOOD)
    for each in (cells[1], uri):
        client.notification("stepsmith/timing", partial(is_timed, each))
    titles = [each["title"] for each in lenses(client, cells[1])]
    assert len(titles) == 1
    assert " cycles | " in titles[0]
    assert command(client, "optimize", uri=cells[1], program="good")["message"] == (
        "programs are made faster in Python and task files: put the cell's program into one"
    )
    assert "Make it faster" in [each["title"] for each in lenses(client, uri)]
    client.change(uri, 2, {"text": (HEAD + GOOD).replace(".apply(E0)", ".apply(E7)")})
    assert client.findings(uri, 2)
    assert "Make it faster" not in [each["title"] for each in lenses(client, uri)]


def is_timed(uri: str, told: dict[str, Any]) -> bool:
    return told["uri"] == uri and [row["state"] for row in told["programs"]] == ["timed"]


def test_where_nothing_is_timed_the_light_bulb_loads_nothing_that_times(tmp_path: Path) -> None:
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    env = {**os.environ, "PYTHONPATH": libraries, "PYTHONPROFILEIMPORTTIME": "1"}  # each import is a line of stderr
    with Client(env=env) as client:
        client.initialize(PUSH, trusted=True, settings={**OFF, "timing.enabled": False}, folder=tmp_path)
        uri = opened(client, tmp_path, "bulb.py", HEAD + GOOD)
        line = (HEAD + GOOD).split("def good")[0].count("\n")
        spot = {"line": line, "character": 0}
        asked = {"textDocument": {"uri": uri}, "range": {"start": spot, "end": spot}, "context": {"diagnostics": []}}
        found = client.request("textDocument/codeAction", asked) or []
        assert "Make it faster" in [each["title"] for each in found]
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        lenses(client, uri)
        client.shutdown()
        loaded = {line.rpartition("|")[2].strip() for line in client.stderr().splitlines() if "import time:" in line}
    assert "stepserver.offering" in loaded
    assert not {"stepserver.timing", "stepserver.optimizing", "stepserver.timers", "stepcore.chips.chosen"} & loaded


def test_without_trust_nothing_is_run(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(PUSH, folder=tmp_path)
        uri = opened(client, tmp_path, "file.py", HEAD + GOOD)
        started = command(client, "optimize", uri=uri)
        assert (started["id"], started["message"]) == (0, "this workspace is not trusted: nothing is run in it")
        assert children(client.process.pid) == []


def asking(base_url: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what answers questions to a model as our extension does: from an endpoint."""

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        body = {"model": "tiny", "messages": question["messages"], **question["options"]}
        request = Request(
            f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urlopen(request) as response:
            told = json.load(response)
        used = told["usage"]
        text = told["choices"][0]["message"]["content"]
        return {"text": text, "input_tokens": used["prompt_tokens"], "output_tokens": used["completion_tokens"]}

    return answer


def test_a_model_proposes_what_is_verified_and_memory_helps_the_next_search(tmp_path: Path) -> None:
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    env = {**os.environ, "PYTHONPATH": libraries, "STEPSMITH_STORE": str(tmp_path / "kept" / "store")}
    with Client(env=env) as client, FakeModelServer(replay) as model:
        client.initialize(PUSH, trusted=True, settings={**OFF, "timing.hw": "default"}, folder=tmp_path)
        client.answers["stepsmith/model"] = asking(model.base_url)
        uri = opened(client, tmp_path, "gemm.py", SLOW)
        told = end(client, optimize(client, uri, proposer="llm", model="tiny", price=[1.0, 2.0], seconds=600))
        result = told["result"]
        kept = [each["what"] for each in result["proposals"] if each.get("kept")]
        assert "rewritten by a model: Give the products more of the chip's compute, they rule." in kept
        outcomes = [each["outcome"] for each in result["proposals"]]
        assert any(outcome.startswith("not admitted: ") for outcome in outcomes)
        assert any(outcome.startswith("not right: ") for outcome in outcomes), outcomes
        best = next(point for point in result["points"] if point["is_best"])
        assert "bw=32768" in best["text"] and "import os" not in best["text"]
        answers = len(model.asked)
        assert answers > 0 and result["spent"].startswith("tiny: ") and "$" in result["spent"]
        assert any(params.get("spent") for params in progress(client, told["id"]))
        assert result["learned"] > 0 and not result.get("remembered")

        other = opened(client, tmp_path, "other.py", SLOW.replace("bw=64", "bw=128"))
        result = end(client, optimize(client, other, model="tiny", proposer="search", seconds=600))["result"]
        assert result["remembered"] > 0 and not result.get("proposals")
        alone = end(client, optimize(client, other, seconds=600, remember=False))["result"]
        assert not alone.get("remembered") and not alone.get("learned")
        assert len(model.asked) == answers, "without a model, and with the search alone, nobody is asked"
        client.shutdown()


def test_what_a_model_proposes_that_is_known_is_told_with_its_cycles(tmp_path: Path) -> None:
    answer = json.dumps({"plans": ["Take larger tiles."], "rewrites": [1], "strategies": []})
    with Client() as client, FakeModelServer(always(says(answer))) as model:
        client.initialize(PUSH, trusted=True, settings={**OFF, "timing.hw": "default"}, folder=tmp_path)
        client.answers["stepsmith/model"] = asking(model.base_url)
        uri = opened(client, tmp_path, "gemm.py", SLOW)
        result = end(client, optimize(client, uri, model="tiny", seconds=600, remember=False))["result"]
        outcomes = [each["outcome"] for each in result["proposals"]]
        assert outcomes and all("known already" in outcome for outcome in outcomes), outcomes
        assert any(re.match(r"(about )?[\d,]+ cycles, known already$", outcome) for outcome in outcomes), outcomes
        client.shutdown()


def test_the_budget_and_a_refusal_end_the_questions_and_keep_what_is_known(tmp_path: Path) -> None:
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    env = {**os.environ, "PYTHONPATH": libraries, "STEPSMITH_STORE": str(tmp_path / "kept" / "store")}
    with Client(env=env) as client:
        client.initialize(PUSH, trusted=True, settings={**OFF, "timing.hw": "default"}, folder=tmp_path)
        uri = opened(client, tmp_path, "gemm.py", SLOW)
        client.answers["stepsmith/model"] = {"text": "unused"}
        poor = end(client, optimize(client, uri, proposer="llm", budget_tokens=100, seconds=600))["result"]
        assert "budget of 100 tokens" in poor["unasked"] and client.requested("stepsmith/model") == 0
        client.answers["stepsmith/model"] = {"fault": "not sent", "message": "you did not let the task be sent"}
        refused = end(client, optimize(client, uri, proposer="llm", seconds=600))
        assert refused["state"] == "done" and client.requested("stepsmith/model") == 1
        result = refused["result"]
        assert "did not let" in result["unasked"] and [point["text"] for point in result["points"]] == [SLOW]
        client.answers["stepsmith/model"] = None
        nobody = end(client, optimize(client, uri, proposer="llm", seconds=600))["result"]
        assert any("offers no language model" in remark for remark in nobody["refused"])
        wrong = end(client, optimize(client, uri, proposer="llm", price=[1.0], seconds=600))
        assert (wrong["state"], wrong["code"]) == ("failed", "STEP907")
        bad = command(client, "optimize", uri=uri, budget_tokens=0)
        assert bad["id"] == 0 and "budget_tokens" in bad["message"]
        client.shutdown()


def test_other_editors_get_the_best_put_into_the_text_and_no_process_is_left(tmp_path: Path) -> None:
    libraries = os.pathsep.join((str(ROOT), str(ROOT / "server")))
    env = {**os.environ, "PYTHONPATH": libraries, "STEPSMITH_STORE": str(tmp_path / "kept" / "store")}
    with Client(env=env) as client:
        client.answers["workspace/applyEdit"] = {"applied": True}
        client.initialize(PUSH, trusted=True, settings={**OFF, **CHIP}, folder=tmp_path)
        uri = opened(client, tmp_path, "expert.py", EXPERT)
        line = EXPERT[: EXPERT.index("def expert")].count("\n")
        spot = {"line": line, "character": 0}
        asked = {"textDocument": {"uri": uri}, "range": {"start": spot, "end": spot}, "context": {"diagnostics": []}}
        (action,) = [
            each for each in client.request("textDocument/codeAction", asked) if each["title"] == "Make it faster"
        ]
        assert action["command"]["command"] == "stepsmith.server.optimize"
        order = {**action["command"]["arguments"][0], "seconds": 600}
        client.request("workspace/executeCommand", {"command": "stepsmith.server.optimize", "arguments": [order]})
        client.wait(lambda message: message.get("method") == "workspace/applyEdit", _PATIENCE)
        assert edited(EXPERT, applied(client)) != EXPERT
        number = optimize(client, uri)
        client.notification("stepsmith/optimizing", lambda params: params["id"] == number)
        left = children(client.process.pid)
        client.shutdown()
    assert eventually(lambda: not any(alive(pid) for pid in left))


def test_the_job_needs_nothing_of_the_users_python_but_torch() -> None:
    """It runs in the Python that a user chose, with our packages and ruamel.yaml beside it and nothing else."""
    script = """
import sys
LACKING = {"pydantic", "annotated_types", "openai", "httpx", "platformdirs", "typer", "rich", "pygls", "filelock"}
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LACKING:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Lacking())
import stepagents.jobs.optimize, stepagents.optimize.worker
print("loaded")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "loaded\n", done.stderr

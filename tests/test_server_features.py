"""The language features over the wire: each answers sanely, in every encoding, and one that crashes stays alone."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from lsp_client import PULL, PUSH, Client
from processes import eventually
from server_texts import FIXED, GOOD, HEAD, IMPL, OVERUSED, TASK
from stepcore.text.span import SourceFile
from stepserver.convert import explanation, plain, section

URI = "file:///project/file.py"
DOCUMENT = {"textDocument": {"uri": URI}}


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    """One server for all tests that only ask; documents are opened under names of their own."""
    with Client() as client:
        client.initialize()
        yield client
        assert "Traceback" not in client.stderr(), client.stderr()


def apply(text: str, edit: dict[str, Any], uri: str, client: Client) -> str:
    """Apply a workspace edit to the text of one document."""
    changes = edit.get("changes") or {item["textDocument"]["uri"]: item["edits"] for item in edit["documentChanges"]}
    assert list(changes) == [uri]
    places = {offset: client.position(text, offset) for offset in range(len(text) + 1)}
    offsets = {(place["line"], place["character"]): offset for offset, place in reversed(places.items())}

    def at(place: dict[str, int]) -> int:
        return offsets[place["line"], place["character"]]

    for item in sorted(changes[uri], key=lambda item: at(item["range"]["start"]), reverse=True):
        start, end = at(item["range"]["start"]), at(item["range"]["end"])
        text = text[:start] + item["newText"] + text[end:]
    return text


def cut(text: str, area: dict[str, Any]) -> str:
    """Return what stands at a range; for texts that count the same in every encoding."""
    source = SourceFile("", text)
    start, end = (source.offset(area[key]["line"], area[key]["character"]) for key in ("start", "end"))
    return text[start:end]


# -- start -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_encodings(encoding: str) -> None:
    """Columns behind emoji and CJK are those of the negotiated encoding, in findings, hovers and edits."""
    text = HEAD + OVERUSED.replace("    return step", '    "😀語"; return step')
    with Client() as client:
        result = client.initialize(encodings=[encoding, "utf-16"])
        assert result["capabilities"]["positionEncoding"] == encoding
        client.open(URI, text)
        (found,) = client.findings(URI, 1)
        second = text.index("E1)", text.index("(E1,"))
        assert found["code"] == "STEP101"
        assert found["range"] == {
            "start": client.position(text, second),
            "end": client.position(text, second + 2),
        }
        hover = client.request("textDocument/hover", {**DOCUMENT, "position": client.position(text, second + 1)})
        assert hover["range"] == found["range"]
        actions = client.request(
            "textDocument/codeAction", {**DOCUMENT, "range": found["range"], "context": {"diagnostics": [found]}}
        )
        fix = next(action for action in actions if action["kind"] == "quickfix")
        client.change(URI, 2, {"text": apply(text, fix["edit"], URI, client)})
        assert client.findings(URI, 2) == []


def test_utf16_is_the_default(shared: Client) -> None:
    assert shared.encoding == "utf-16"


def test_a_client_without_markdown_reads_how_to_find_the_rule() -> None:
    assert plain("`E1`\n\nRule: [Affine rule](language:affine-rule)") == (
        "E1\n\nRule: Affine rule (stepsmith explain affine-rule)"
    )


# -- findings --------------------------------------------------------------------------------------------------


def test_pushed_findings_carry_everything(shared: Client) -> None:
    uri, text = "file:///project/pushed.py", HEAD + OVERUSED
    shared.open(uri, text, version=7)
    (found,) = shared.findings(uri, 7)
    assert (found["code"], found["severity"], found["source"]) == ("STEP101", 1, "stepsmith")
    page = Path(found["codeDescription"]["href"].removeprefix("file://"))
    assert page.read_text(encoding="utf-8").startswith("# STEP101")
    command, _, arguments = (explanation("STEP101", rendered=True) or "").partition("?")
    assert command == "command:stepsmith.explain"
    assert json.loads(unquote(arguments)) == ["STEP101", found["codeDescription"]["href"]]
    (related,) = found["relatedInformation"]
    assert cut(text, related["location"]["range"]) == cut(text, found["range"]) == "E1"
    assert found["data"]["fix"]["edits"]
    unused = HEAD + GOOD.replace("    return E1", "    E2, E3 = step.Copy().apply(E1)\n    return E2")
    shared.change(uri, 8, {"text": unused})
    (hint,) = shared.findings(uri, 8)
    assert (hint["code"], hint["severity"], hint["tags"], cut(unused, hint["range"])) == ("STEP103", 4, [1], "E3")
    shared.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert shared.findings(uri) == []


def test_pulled_findings_are_not_pushed() -> None:
    with Client() as client:
        result = client.initialize(PULL)
        assert result["capabilities"]["diagnosticProvider"]["identifier"] == "stepsmith"
        client.open(URI, HEAD + OVERUSED)
        report = client.request("textDocument/diagnostic", DOCUMENT)
        assert [item["code"] for item in report["items"]] == ["STEP101"]
        again = client.request("textDocument/diagnostic", {**DOCUMENT, "previousResultId": report["resultId"]})
        assert again == {"kind": "unchanged", "resultId": report["resultId"]}
        client.change(URI, 2, {"text": HEAD + FIXED})
        after = client.request("textDocument/diagnostic", {**DOCUMENT, "previousResultId": report["resultId"]})
        assert (after["kind"], after["items"]) == ("full", [])
        assert not client.requested("textDocument/publishDiagnostics")


def test_a_client_that_does_not_pull_is_offered_nothing_to_pull() -> None:
    with Client() as client:
        assert "diagnosticProvider" not in client.initialize(PUSH)["capabilities"]


def test_documents_of_others_are_left_alone(shared: Client) -> None:
    for uri, language, text in (
        ("file:///project/plain.py", "python", "def broken(:\n"),
        ("file:///project/compose.yaml", "yaml", "services: [\n"),
    ):
        shared.open(uri, text, language)
        for method in ("hover", "completion", "definition"):
            place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 3}}
            assert shared.request(f"textDocument/{method}", place) is None
        assert not any(
            message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri
            for message in shared.received
        )


def test_edits_that_arrive_together_are_analysed_together(shared: Client) -> None:
    uri = "file:///project/burst.py"
    text = HEAD + OVERUSED
    shared.open(uri, text)
    shared.findings(uri, 1)
    end = shared.position(text, len(text))
    for number in range(200):
        shared.change(uri, number + 2, {"range": {"start": end, "end": end}, "text": "#" if number else "\n#"})
        end = end if number else {"line": end["line"] + 1, "character": 1}
    assert [item["code"] for item in shared.findings(uri, 201)] == ["STEP101"]
    pushed = [
        message["params"]["version"]
        for message in shared.received
        if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri
    ]
    assert pushed == sorted(pushed), "no result of an older text comes after that of a newer one"


def test_random_edits_over_the_wire() -> None:
    """What 200 random edits leave behind gives the findings of the same text opened at once."""
    rng = random.Random(7)
    text = "# 😀 語\n" + HEAD + GOOD + OVERUSED
    with Client() as client:
        client.initialize(PULL)
        client.open(URI, text)
        for version in range(2, 202):
            start = rng.randrange(len(text))
            end = min(len(text), start + rng.choice((0, 0, 1, 3)))
            new = rng.choice(("", "x", "\n", "😀", ")", "E1", "    ", "'"))
            area = {"start": client.position(text, start), "end": client.position(text, end)}
            client.change(URI, version, {"range": area, "text": new})
            text = text[:start] + new + text[end:]
            if rng.random() < 0.1:
                client.request("textDocument/hover", {**DOCUMENT, "position": client.position(text, start)})
        edited = client.request("textDocument/diagnostic", DOCUMENT)["items"]
        other = "file:///project/other.py"
        client.open(other, text)
        fresh = client.request("textDocument/diagnostic", {"textDocument": {"uri": other}})["items"]
        assert [(item["code"], item["range"]) for item in edited] == [(item["code"], item["range"]) for item in fresh]
        assert "Traceback" not in client.stderr(), client.stderr()


def test_configuration_and_exclusion(tmp_path: Path) -> None:
    (tmp_path / "stepsmith.toml").write_text('exclude = ["old"]\n[severity]\nSTEP101 = "information"\n')
    inside, excluded = tmp_path / "a.py", tmp_path / "old" / "a.py"
    with Client() as client:
        client.initialize(folder=tmp_path)
        client.open(inside.as_uri(), HEAD + OVERUSED)
        assert [item["severity"] for item in client.findings(inside.as_uri())] == [3]
        client.open(excluded.as_uri(), HEAD + OVERUSED)
        client.request("textDocument/documentSymbol", {"textDocument": {"uri": excluded.as_uri()}})
        assert not any(
            message.get("params", {}).get("uri") == excluded.as_uri() and message["params"].get("diagnostics")
            for message in client.received
            if message.get("method") == "textDocument/publishDiagnostics"
        )
        # The client cannot watch files, so the server does.
        (tmp_path / "stepsmith.toml").write_text('ignore = ["STEP1"]\n')
        assert client.findings(inside.as_uri()) == []
        (tmp_path / "stepsmith.toml").write_text("ignore = 3\n")
        assert {item["code"] for item in client.findings(inside.as_uri())} == {"STEP101", "STEP907"}


def test_settings_arrive_later() -> None:
    with Client() as client:
        client.initialize(settings={"affine": "paper"})
        client.open(URI, HEAD + OVERUSED)
        assert [item["code"] for item in client.findings(URI)] == ["STEP104"]
        client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": {"affine": "strict"}}})
        assert [item["code"] for item in client.findings(URI)] == ["STEP101"]


def test_an_answer_in_a_file_of_its_own(tmp_path: Path) -> None:
    task, answer = tmp_path / "doubled.step.yaml", tmp_path / "doubled.impl.yaml"
    task.write_text(TASK)
    wrong = IMPL.replace("fn=fn_double", "fn=fn_doubled")
    with Client() as client:
        client.initialize(folder=tmp_path)
        client.open(answer.as_uri(), wrong, "yaml")
        (found,) = client.findings(answer.as_uri())
        assert cut(wrong, found["range"]) == "fn_doubled"
        task.write_text(TASK.replace("fn_double", "fn_doubled"))
        assert client.findings(answer.as_uri()) == []
        client.open(task.as_uri(), TASK, "yaml")  # an open document counts before its file
        assert len(client.findings(answer.as_uri())) == 1


def test_a_large_document_waits_until_it_is_asked_for(shared: Client) -> None:
    uri = "file:///project/large.py"
    text = HEAD + OVERUSED + "#\n" * 100_001
    shared.open(uri, text)
    (found,) = shared.findings(uri, 1)
    assert (found["code"], found["severity"]) == ("STEP908", 3)
    shared.request("workspace/executeCommand", {"command": "stepsmith.server.analyze", "arguments": [{"uri": uri}]})
    assert [item["code"] for item in shared.findings(uri, 1)] == ["STEP101"]
    shared.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_a_document_that_is_closed_while_it_is_analysed(shared: Client) -> None:
    """More than 200,000 characters are analysed in a thread; who waits for that gets an answer all the same."""
    uri = "file:///project/aside.py"
    document = {"textDocument": {"uri": uri}}
    text = HEAD + OVERUSED + f"# {'x' * 96}\n" * 2_500
    for version in (1, 2):  # opened again with another text while the first one may be in work
        shared.open(uri, text.replace("(E1, E1)", "(E1, E0)") if version == 1 else text, version=version)
        number = shared.start_request("textDocument/documentSymbol", document)
        if version == 1:
            shared.notify("textDocument/didClose", document)
            assert "result" in shared.answer(number)
    found = shared.findings(uri, 2)
    assert [(item["code"], cut(text, item["range"])) for item in found] == [("STEP101", "E1")]
    shared.notify("textDocument/didClose", document)


# -- features --------------------------------------------------------------------------------------------------


def opened(client: Client, name: str, text: str) -> dict[str, Any]:
    uri = f"file:///project/{name}.py"
    client.open(uri, text)
    return {"textDocument": {"uri": uri}}


def test_hover_definition_references_highlight(shared: Client) -> None:
    text = HEAD + FIXED
    document = opened(shared, "names", text)
    place = {**document, "position": shared.position(text, text.index("apply(E1)") + 7)}
    hover = shared.request("textDocument/hover", place)
    assert "fp32" in hover["contents"]["value"]
    assert cut(text, hover["range"]) == "E1"
    page, _, anchor = re.findall(r"Rule: \[Affine rule\]\(file://(.+)\)", hover["contents"]["value"])[0].partition("#")
    assert "\n## Affine rule\n" in Path(page).read_text(encoding="utf-8")
    command, _, arguments = section(anchor, rendered=True).partition("?")
    assert (command, json.loads(unquote(arguments))) == ("command:stepsmith.explain", ["affine-rule", f"file://{page}"])
    (definition,) = shared.request("textDocument/definition", place)
    assert definition["range"]["start"] == shared.position(text, text.index("E1 = "))
    references = shared.request("textDocument/references", {**place, "context": {"includeDeclaration": True}})
    assert [cut(text, item["range"]) for item in references] == ["E1", "E1"]
    assert len(shared.request("textDocument/documentHighlight", place)) == 2
    beyond = {**document, "position": {"line": 10_000, "character": 3}}
    assert shared.request("textDocument/hover", beyond) is None


def test_rename(shared: Client) -> None:
    text = HEAD + FIXED
    document = opened(shared, "rename", text)
    place = {**document, "position": shared.position(text, text.index("E1 = "))}
    area = shared.request("textDocument/prepareRename", place)
    assert cut(text, area) == "E1"
    edit = shared.request("textDocument/rename", {**place, "newName": "doubles"})
    assert edit["documentChanges"][0]["textDocument"]["version"] == 1
    renamed = apply(text, edit, document["textDocument"]["uri"], shared)
    assert renamed == text.replace("E1", "doubles")
    error = shared.refusal("textDocument/rename", {**place, "newName": "E2"})
    assert error["code"] == -32803
    assert "E2" in error["message"]


def test_completion_and_signature(shared: Client) -> None:
    text = HEAD + GOOD.replace("step.Map(fn=double).apply(E0)", "step.").replace("return E1", "return step.Map(fn=")
    document = opened(shared, "completion", text)
    after_dot = shared.position(text, text.index("E1 = step.") + len("E1 = step."))
    found = shared.request("textDocument/completion", {**document, "position": after_dot})
    labels = [item["label"] for item in found["items"]]
    assert {"Map", "Accum", "Partition"} <= set(labels)
    inside = shared.position(text, text.index("return step.Map(fn=") + len("return step.Map(fn="))
    functions = shared.request("textDocument/completion", {**document, "position": inside})
    assert "double" in [item["label"] for item in functions["items"]]
    signature = shared.request("textDocument/signatureHelp", {**document, "position": inside})
    assert "fn" in signature["signatures"][0]["label"]


def test_inlay_hints_tokens_symbols_folding(shared: Client) -> None:
    text = HEAD + GOOD + FIXED
    document = opened(shared, "outline", text)
    whole = {"start": {"line": 0, "character": 0}, "end": shared.position(text, len(text))}
    hints = shared.request("textDocument/inlayHint", {**document, "range": whole})
    assert len(hints) >= 4
    first = shared.request("textDocument/inlayHint", {**document, "range": {**whole, "end": whole["start"]}})
    assert len(first) < len(hints)
    full = shared.request("textDocument/semanticTokens/full", document)["data"]
    part = shared.request("textDocument/semanticTokens/range", {**document, "range": whole})["data"]
    assert full == part
    assert len(full) % 5 == 0
    assert min(full[::5]) >= 0
    symbols = shared.request("textDocument/documentSymbol", document)
    assert {"good", "overused"} <= {symbol["name"] for symbol in symbols}
    folds = shared.request("textDocument/foldingRange", document)
    assert all(fold["startLine"] < fold["endLine"] for fold in folds)
    found = shared.request("workspace/symbol", {"query": "OVERU"})
    assert {item["name"] for item in found} == {"overused"}


def test_code_actions_of_one_place_and_of_the_file(shared: Client) -> None:
    text = HEAD + OVERUSED + OVERUSED.replace("overused", "second")
    document = opened(shared, "actions", text)
    uri = document["textDocument"]["uri"]
    found = shared.findings(uri)
    assert len(found) == 2
    params = {**document, "range": found[0]["range"], "context": {"diagnostics": found[:1]}}
    actions = shared.request("textDocument/codeAction", params)
    quick = [action for action in actions if action["kind"] == "quickfix"]
    assert quick[0]["diagnostics"] == found[:1]
    one = apply(text, quick[0]["edit"], uri, shared)
    shared.change(uri, 2, {"text": one})
    assert len(shared.findings(uri, 2)) == 1
    shared.change(uri, 3, {"text": text})
    params["context"] = {"diagnostics": [], "only": ["source.fixAll"]}
    (everything,) = shared.request("textDocument/codeAction", params)
    assert everything["kind"] == "source.fixAll.stepsmith"
    shared.change(uri, 4, {"text": apply(text, everything["edit"], uri, shared)})
    assert shared.findings(uri, 4) == []
    params["context"] = {"diagnostics": [], "only": ["refactor.extract"]}
    assert shared.request("textDocument/codeAction", params) == []


def test_graph(shared: Client) -> None:
    text = HEAD + GOOD + OVERUSED
    document = opened(shared, "graph", text)
    first = shared.request("stepsmith/graph", document)
    assert (first["program"], first["programs"], first["version"]) == ("good", ["good", "overused"], 1)
    assert {node["kind"] for node in first["nodes"]} == {"input", "operator", "output"}
    inside = shared.position(text, text.index("step.Map(fn=add)") + 6)
    second = shared.request("stepsmith/graph", {**document, "position": inside})
    assert second["program"] == "overused"
    active = next(node for node in second["nodes"] if node["id"] == second["activeNode"])
    assert active["label"] == "Map"
    assert cut(text, active["range"]).startswith("step.Map(fn=add)")
    assert any(edge["overused"] for edge in second["edges"])
    assert shared.request("stepsmith/graph", {**document, "program": "good"})["program"] == "good"
    assert shared.request("stepsmith/graph", {"textDocument": {"uri": "file:///nowhere.py"}}) is None


@pytest.mark.parametrize("capabilities", [PUSH, PULL], ids=["push", "pull"])
def test_notebook_cells(capabilities: dict[str, Any]) -> None:
    """Findings of cells are pushed to every client: VS Code's asks for those of whole documents alone."""
    cells = ["cell:1", "cell:2", "cell:3"]
    texts = ["%pip list\n" + HEAD, "# prose", OVERUSED.lstrip()]
    with Client() as client:
        result = client.initialize({**capabilities, "notebookDocument": {"synchronization": {}}})
        assert result["capabilities"]["notebookDocumentSync"]
        items = [
            {"uri": uri, "languageId": "python", "version": 1, "text": text}
            for uri, text in zip(cells, texts, strict=True)
        ]
        notebook = {
            "uri": "file:///project/book.ipynb",
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 1 if uri == "cell:2" else 2, "document": uri} for uri in cells],
        }
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": items})
        (found,) = client.findings("cell:3")
        assert found["code"] == "STEP101"
        assert cut(texts[2], found["range"]) == "E1"
        if capabilities is PULL:
            assert client.request("textDocument/diagnostic", {"textDocument": {"uri": "cell:3"}})["items"] == []
        place = {"textDocument": {"uri": "cell:3"}, "position": client.position(texts[2], texts[2].index("double") + 1)}
        (definition,) = client.request("textDocument/definition", place)
        assert definition["uri"] == "cell:1"
        change = {"document": {"uri": "cell:3", "version": 2}, "changes": [{"text": FIXED}]}
        version = {"uri": notebook["uri"], "version": 2}
        client.notify(
            "notebookDocument/didChange",
            {"notebookDocument": version, "change": {"cells": {"textContent": [change]}}},
        )
        assert client.findings("cell:3", 2) == []
        gone = {"array": {"start": 0, "deleteCount": 1}, "didClose": [{"uri": "cell:1"}]}
        client.notify(
            "notebookDocument/didChange",
            {"notebookDocument": {**version, "version": 3}, "change": {"cells": {"structure": gone}}},
        )
        closing = {"notebookDocument": {"uri": notebook["uri"]}, "cellTextDocuments": [{"uri": "cell:3"}]}
        client.notify("notebookDocument/didClose", closing)
        assert client.request("stepsmith/status", {})["server"]["documents"] == 0
        assert "Traceback" not in client.stderr(), client.stderr()


# -- robustness ------------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_answered(shared: Client) -> None:
    assert "error" in shared.answer(shared.start_request("textDocument/hover", {"position": "here"}))
    assert "error" in shared.answer(shared.start_request("no/such/method", {}))
    shared.send({"id": 9_999, "method": "stepsmith/status"})  # without params
    assert shared.answer(9_999)["result"]["server"]["pid"] == shared.process.pid
    shared.notify("textDocument/didChange", {"textDocument": {"uri": "file:///unopened.py", "version": 2},
                                             "contentChanges": [{"text": "x"}]})  # fmt: skip
    assert shared.request("stepsmith/graph", None) is None
    refused = shared.answer(
        shared.start_request("workspace/executeCommand", {"command": "stepsmith.unheard.of", "arguments": []})
    )
    assert "error" in refused


def test_a_cancelled_request_is_answered(shared: Client) -> None:
    document = opened(shared, "cancel", HEAD + GOOD)
    numbers = [shared.start_request("textDocument/semanticTokens/full", document) for _ in range(30)]
    for number in numbers[10:]:
        shared.notify("$/cancelRequest", {"id": number})
    answers = [shared.answer(number) for number in numbers]
    assert all("result" in answer or answer["error"]["code"] == -32800 for answer in answers)
    assert all("result" in answer for answer in answers[:1])


CRASHING = """
import sys
import stepcore.ide.features as features
def broken(*arguments, **options):
    raise ZeroDivisionError("broken on purpose")
features.hover = features.symbols = broken
from stepserver.__main__ import main
sys.exit(main())
"""


def test_a_crash_in_one_feature_leaves_the_others_alive() -> None:
    import sys

    text = HEAD + OVERUSED
    with Client([sys.executable, "-c", CRASHING]) as client:
        client.initialize()
        client.open(URI, text)
        place = {**DOCUMENT, "position": client.position(text, text.index("E1 = "))}
        for _ in range(3):
            assert client.request("textDocument/hover", place) is None
        assert client.request("textDocument/documentSymbol", DOCUMENT) is None
        assert client.request("textDocument/definition", place)
        told = [m["params"]["message"] for m in client.received if m.get("method") == "window/logMessage"]
        assert sum("hover" in text for text in told) == 1, "told once"
        assert not client.requested("window/showMessage")
        assert eventually(lambda: "broken on purpose" in client.stderr())

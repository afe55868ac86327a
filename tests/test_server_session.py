"""The server as a program: its table, what it loads and when, settings, command line, end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

import stepcore.version
from lsp_client import ROOT, Client
from processes import PATIENCE
from server_texts import HEAD, OVERUSED
from stepcore.ide.model import Kind
from stepcore.jobdata.editor import PlainPosition, PlainRange, ProgramState, ProgramStatus
from stepserver.app import COMMANDS, FEATURES, PULL, Server, find_handler
from stepserver.client import Client as Abilities
from stepserver.client import read_client, users_python_path
from stepserver.handlers.programs import lens_title
from stepserver.legend import LEGEND, token_type
from stepserver.settings import Settings, read_settings
from stepserver.version import VERSION

LIBRARIES = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "server")))}


def loaded_by(script: str) -> set[str]:
    report = "\nimport sys\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", script + report]
    done = subprocess.run(command, env=LIBRARIES, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_nothing_of_the_language_is_loaded_before_initialize() -> None:
    loaded = loaded_by("from stepserver import start, app\napp.Server()")
    assert "pygls" in loaded
    assert not {"stepcore", "torch", "numpy", "ruamel", "watchdog", "typer", "rich"} & loaded


def test_the_first_findings_wait_for_no_job() -> None:
    """Records of jobs take milliseconds to make, and only runs need them."""
    modules = "analyses, convert, documents, editor, findings, notebooks, parts, projects, watch"
    script = f"from stepserver import {modules}\nimport sys\nassert 'stepcore.jobdata.editor' not in sys.modules"
    assert "stepcore" in loaded_by(script)


def test_the_server_never_loads_torch() -> None:
    modules = [
        ".".join(path.relative_to(ROOT / "server").with_suffix("").parts)
        for path in (ROOT / "server" / "stepserver").rglob("*.py")
        if path.stem not in ("__main__", "__init__", "worker_launch")
    ]
    loaded = loaded_by(f"import importlib\nfor name in {modules!r}: importlib.import_module(name)")
    assert "stepcore" in loaded
    assert not {"torch", "numpy", "stepagents"} & loaded


def test_every_entry_of_the_table_has_its_handler() -> None:
    names = [feature.handler for feature in (*FEATURES, PULL)] + list(COMMANDS.values())
    for name in [*names, PULL.otherwise]:
        assert callable(find_handler(name))
    for feature in (*FEATURES, PULL):
        assert feature.method in types.METHOD_TO_TYPES or feature.method.startswith("stepsmith/")


def test_every_kind_has_a_token_type() -> None:
    assert {LEGEND.token_types[token_type(kind.value)] for kind in Kind} == set(LEGEND.token_types)


def test_the_version_is_that_of_the_language() -> None:
    assert stepcore.version.VERSION == VERSION


def test_capabilities_and_end() -> None:
    with Client() as client:
        result = client.initialize()
        offered = {key for key, value in result["capabilities"].items() if value}
        assert {
            "codeActionProvider", "codeLensProvider", "completionProvider", "definitionProvider",
            "documentHighlightProvider", "documentSymbolProvider", "executeCommandProvider", "foldingRangeProvider",
            "hoverProvider", "inlayHintProvider", "positionEncoding", "referencesProvider", "renameProvider",
            "semanticTokensProvider", "signatureHelpProvider", "textDocumentSync", "workspace",
            "workspaceSymbolProvider",
        } == offered  # fmt: skip
        assert result["serverInfo"] == {"name": "stepsmith", "version": VERSION}
        assert client.shutdown() == 0


def test_a_request_in_plain_json_is_what_the_protocol_has() -> None:
    """The server asks in it for files to be watched; what it makes of the protocol's types is the same message."""
    protocol = Server().protocol
    watchers = [types.FileSystemWatcher("**/*.toml"), types.FileSystemWatcher(types.RelativePattern("file:///a", "*"))]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    typed = types.RegistrationParams([types.Registration("a", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)])
    watched = [{"globPattern": "**/*.toml"}, {"globPattern": {"baseUri": "file:///a", "pattern": "*"}}]
    asked = {"id": "a", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watched}}
    params: list[Any] = [typed, {"registrations": [asked]}]
    sent = [json.loads(protocol.serialize(types.RegistrationRequest(id=1, params=each))) for each in params]
    assert sent[0] == sent[1]


def test_exit_without_shutdown_is_no_success() -> None:
    with Client() as client:
        client.initialize()
        client.notify("exit", None)
        assert client.process.wait(PATIENCE) == 1


def test_what_names_no_file_stops_nothing(tmp_path: Path) -> None:
    """A URI that is none, and an interpreter that is no text: the document was never checked, workers never started."""
    config = tmp_path / "stepsmith.toml"
    changes = [{"uri": uri, "type": 1} for uri in ("file://[::1/a.py", "file://[a", config.as_uri())]
    file = (tmp_path / "a.py").as_uri()
    with Client(cwd=tmp_path) as client:
        client.initialize(trusted=True, folder=tmp_path)
        client.open("file://[a/b.py", HEAD + OVERUSED)
        assert len(client.findings("file://[a/b.py")) == 1
        client.save("file://[a/b.py")
        client.open(file, HEAD + OVERUSED)
        assert len(client.findings(file)) == 1
        for wrong in map(json.loads, ("[]", "{}", "1", "true")):
            client.notify("stepsmith/interpreter", {"folder": wrong, "path": "/bin/false"})
            client.notify("stepsmith/interpreter", {"folder": None, "path": wrong})
        config.write_text("select = ['STEP1']\n" * 2, encoding="utf-8")  # no TOML
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        client.wait(lambda message: "stepsmith.toml" in str(message.get("params")))
        status = client.request("stepsmith/status", {})
        assert {simulator["interpreter"] for simulator in status["simulators"]} == {status["server"]["executable"]}
        assert "Traceback" not in client.stderr(), client.stderr()


def test_requests_after_shutdown_are_refused() -> None:
    with Client() as client:
        client.initialize()
        client.answer(client.start_request("shutdown", None))
        assert "error" in client.answer(client.start_request("stepsmith/status", {}))
        client.notify("exit", None)
        assert client.process.wait(PATIENCE) == 0


def test_the_command_line_has_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stepserver", "--help"], env=LIBRARIES, capture_output=True, text=True, check=True
    )
    assert "--tcp" in done.stdout
    script = "import sys; from stepcore.cli import main; sys.exit(main(['lsp', '--help']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "language server" in done.stdout


def test_tcp() -> None:
    import socket

    command = [sys.executable, "-m", "stepserver", "--tcp", "0"]
    with subprocess.Popen(command, env=LIBRARIES, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        with (
            socket.create_connection(("127.0.0.1", port), PATIENCE) as connection,
            connection.makefile("rwb") as stream,
        ):
            connection.settimeout(PATIENCE)
            for message in (
                {"id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None, "rootUri": None}},
                {"id": 2, "method": "shutdown"},
                {"method": "exit"},
            ):
                body = json.dumps({"jsonrpc": "2.0", **message}).encode()
                stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            stream.flush()
            assert stream.readline().startswith(b"Content-Length")
            assert process.wait(PATIENCE) == 0


# -- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (None, Settings()),
        ({"affine": "paper", "simulation": {"run": "off", "seconds": 3}}, Settings("paper", "off", 3.0)),
        ({"simulation.memory": 10, "stepsmith.simulation.run": "onDemand"}, Settings(memory=64, run="onDemand")),
        ({"inlayHints.enabled": False}, Settings(inlay_hints=False)),
        ({"affine": "loose", "simulation": {"seconds": -1, "memory": "much"}, "interpreter": " "}, Settings()),
        ({"interpreter": "/usr/bin/python3", "unknown": {"deep": [1]}}, Settings(interpreter="/usr/bin/python3")),
    ],
)  # fmt: skip
def test_settings(section: object, expected: Settings) -> None:
    assert read_settings(section) == expected


def test_a_client_that_pulls_but_cannot_be_told_to_is_pushed_to() -> None:
    from lsprotocol.converters import get_converter

    def read(workspace: object) -> Abilities:
        capabilities = {"textDocument": {"diagnostic": {}}, "workspace": workspace}
        params = {"capabilities": capabilities, "processId": None, "rootUri": None}
        return read_client(get_converter().structure(params, types.InitializeParams))

    assert not read({}).pulls
    assert read({"diagnostics": {"refreshSupport": True}}).pulls


def test_the_workers_python_path_is_the_users(tmp_path: Path) -> None:
    for name in ("stepcore", "pygls"):
        (tmp_path / "bundle" / name).mkdir(parents=True)
    path = os.pathsep.join((str(tmp_path / "bundle"), str(tmp_path / "own"), str(ROOT / "server"), ""))
    assert users_python_path(path) == str(tmp_path / "own")


@pytest.mark.parametrize(
    ("state", "message", "seconds", "title"),
    [
        ("idle", "", None, "Simulate"),
        ("passed", "equal to the reference", 0.0123, "Simulate | passed"),
        ("failed", "output 0 at [1]", 0.5, "Simulate | failed: output 0 at [1]"),
        ("running", "", None, "Cancel | simulating"),
        ("queued", "", None, "Cancel | waiting"),
        ("stale", "equal to the reference", 0.5, "Simulate | outdated, it was: passed"),
        ("norun", "the program has errors", None, "Cannot simulate: the program has errors"),
    ],
)
def test_code_lens_titles(state: ProgramState, message: str, seconds: float | None, title: str) -> None:
    place = PlainPosition(0, 0)
    row = ProgramStatus("p", "p", PlainRange(place, place), True, state, message, seconds, stale=False, was="passed")
    assert lens_title(row) == title

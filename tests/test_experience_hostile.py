"""Experience stores and exports of strangers: one message with a way out, and nothing of one's own is lost."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stepagents.cli.experience as command
from learning_models import IMPL, OTHER, TASK, experience
from stepagents.experience import database
from stepagents.experience.database import StoreError
from stepagents.experience.optimizations import Bottleneck, Change, OptimizationItem, add_items, stored_items
from stepagents.experience.store import Store
from stepagents.experience.transfer import export_lines, import_lines
from stepcore.cli import main

ITEM = OptimizationItem(Bottleneck("compute", "Map"), Change("lanes", ("N=2",)), 10, 5)
WRONG_VALUES = {
    "text as a date": "earned = 'x'",
    "no finite date": "earned = 9e999",
    "bytes as a program": "impl = x'ff00fe'",
    "text as numbers": "success_rate = 'z'",
    "part of a token": "tokens = 0.5",
    "no UTF-8": "task = cast(x'ff41' AS TEXT)",
}
WRONG_TABLES = {
    "none": "DROP TABLE results; DROP TABLE runs; DROP TABLE experiences; DROP TABLE tasks; DROP TABLE optimizations",
    "fewer columns": "DROP TABLE experiences; CREATE TABLE experiences (id INTEGER PRIMARY KEY, workspace TEXT)",
    "a view that never ends": (
        "DROP TABLE experiences; CREATE VIEW experiences AS WITH RECURSIVE c(x) AS "
        "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x id, 'w' workspace FROM c"
    ),
    "a trigger": "CREATE TRIGGER t AFTER DELETE ON experiences BEGIN DELETE FROM optimizations; END",
    "one more": "CREATE TABLE mine (x)",
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "store.sqlite3"
    monkeypatch.setenv("STEPSMITH_STORE", str(path))
    with Store(path) as store:
        store.add(experience("first"))
        add_items(store, [ITEM])
    return path


def changed(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that ends with one message."""
    assert main(["experience", *words]) == 2
    text = capsys.readouterr().err
    assert text.startswith("stepsmith: ") and text.count("\n") == 1 and "STEP911" not in text, text
    return text


@pytest.mark.parametrize("wrong", WRONG_VALUES)
def test_values_of_other_types_are_named(path: Path, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed(path, f"UPDATE experiences SET {WRONG_VALUES[wrong]}")
    for words in (["list"], ["show", "1"], ["list", "--format", "json"], ["export"], ["prune", "--older-than", "1"]):
        assert "--store" in refused(capsys, *words)


def test_dates_that_no_calendar_has_are_shown_and_pruned(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(path, "UPDATE experiences SET earned = 1e14")  # imports took that in
    assert main(["experience", "list"]) == 0
    assert "at no date" in capsys.readouterr().out
    changed(path, "UPDATE experiences SET earned = -1e14")
    assert main(["experience", "prune", "--older-than", "1"]) == 0
    assert capsys.readouterr().out == "1 removed\n"


@pytest.mark.parametrize("value", ["'{}'", "x'ff'", "7", f"'{'[' * 50_000}'"])
def test_items_of_other_types_are_named(path: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed(path, f"UPDATE optimizations SET item = {value}")
    assert "cannot be read" in refused(capsys, "list", "--kind", "optimization")
    with Store(path) as store, pytest.raises(StoreError, match="cannot be read"):
        add_items(store, [ITEM])
    changed(path, "UPDATE optimizations SET seen = 'x'")
    with Store(path) as store, pytest.raises(StoreError, match="cannot be read"):
        stored_items(store)


@pytest.mark.parametrize("tables", WRONG_TABLES)
def test_other_tables_are_no_store(path: Path, tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed(path, WRONG_TABLES[tables])
    before = path.read_bytes()
    assert "--store" in refused(capsys, "list", "--all-workspaces")
    refused(capsys, "prune", "--keep", "1")
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [-1, 1])
def test_a_version_that_its_tables_are_not_of(path: Path, version: int, capsys: pytest.CaptureFixture[str]) -> None:
    changed(path, f"PRAGMA user_version = {version}")
    assert "--store" in refused(capsys, "list")


def test_texts_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(database, "_MOST_BYTES", 100_000)
    changed(path, "UPDATE tasks SET text = cast(zeroblob(200000) AS TEXT)")
    assert "too big" in refused(capsys, "list")


def test_only_a_busy_file_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleeps(_seconds: float) -> None:
        raise AssertionError("nothing here changes by waiting")

    monkeypatch.setattr("time.sleep", sleeps)
    with pytest.raises(StoreError, match="--store"):  # there is room for the name, but for no journal beside it
        Store(path.with_name("x" * 255), "w")


def test_a_store_is_a_file_whatever_its_name(path: Path) -> None:
    with Store(Path(":memory:"), "w") as store:
        assert store.add(experience("second"))
    assert Path(":memory:").is_file()


def test_messages_name_a_strange_path_on_one_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = "a\nstepsmith: accepted\x1b[2J"
    Path(strange).write_bytes(b"no database" * 100)
    assert "a\\nstepsmith: accepted\\x1b[2J" in refused(capsys, "list", "--store", strange)
    refused(capsys, "list", "--store", f"{strange}/below a file")


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_no_experience_has_a_number_that_sqlite_has_not(
    path: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("synthesis", "optimization"):
        assert "stepsmith experience list" in refused(capsys, "show", str(number), "--kind", kind)


# -- exports -----------------------------------------------------------------------------------------------------------


def test_an_export_does_not_replace_the_store(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link").symlink_to(path)
    Path("other").hardlink_to(path)
    for name in (str(path), "link", "other"):
        assert "store itself" in refused(capsys, "export", name)
    with Store(path) as store:
        assert len(store.all()) == 1


def test_an_export_is_ascii(tmp_path: Path) -> None:
    with Store(tmp_path / "store", "w") as store:
        store.add(experience("a\u2028b\u202e\x1b[2J ü", text=f"{TASK}constraints: 'a\u2028b'\n"))
        (line,) = export_lines(store.all())
    assert line.isascii() and line.isprintable()
    with Store(tmp_path / "other", "w") as other:
        assert import_lines(other, [line], None).added == 1
        assert other.all()[0].experience.task == "a\u2028b\u202e\x1b[2J ü"


# -- imports -----------------------------------------------------------------------------------------------------------


def row(**values: Any) -> str:
    found = {"stepsmith": 1, "task": "a", "task_text": TASK, "impl": IMPL, "proposer": "x", "success_rate": 0.5}
    return json.dumps({**found, "tokens": 1, "cost": 0, "seconds": 0, "earned": 1000.0, **values}, ensure_ascii=False)


@pytest.mark.parametrize(
    "line",
    [
        row(earned=1e14), row(earned=float("inf")), row(task="x" * 100_000), row(proposer="x" * 100_000),
        row(stepsmith=True), row().replace("1000.0", "1" * 5_000), row(tokens=int("1" * 4_000)),
    ],
    ids=["date", "infinity", "task", "proposer", "true", "number", "tokens"],
)  # fmt: skip
def test_extreme_values_are_refused(path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.jsonl").write_text(line, encoding="utf-8")
    assert main(["experience", "import", "in.jsonl", "--no-verify"]) == 1
    told = capsys.readouterr()
    assert "in.jsonl:1: " in told.err and "sys." not in told.err and len(told.err) < 300


def from_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> int:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    return main(["experience", "import", "-", "--no-verify"])


def test_standard_input_has_the_lines_of_a_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "\n".join([row(task_text=f"{TASK}constraints: 'a\u2028b'\n"), row(impl=OTHER)])
    assert from_stdin(monkeypatch, b"\xef\xbb\xbf" + lines.encode()) == 0
    assert "2 added" in capsys.readouterr().out
    assert from_stdin(monkeypatch, b"\xff\n") == 2
    assert "no text in UTF-8 (byte 0)" in capsys.readouterr().err


@pytest.mark.parametrize("bound", ["_MOST_BYTES", "_MOST_LINES"])
def test_imports_are_bounded(
    path: Path, bound: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, bound, 3)
    Path("in.jsonl").write_bytes(b"\n" * 4)
    assert "split the file" in refused(capsys, "import", "in.jsonl")
    assert from_stdin(monkeypatch, b"\n" * 4) == 2
    assert "split the file" in capsys.readouterr().err

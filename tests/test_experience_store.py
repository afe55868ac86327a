"""The experience store: what it keeps, what it refuses, and that kills and crowds do it no harm."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tasks import ROOT, TASKS
from learning_models import IMPL, OTHER, TASK, experience, order
from processes import PATIENCE
from stepagents.experience.database import SCHEMA, HoldsSecret, StoreError
from stepagents.experience.identity import UnusableProgram, program_key, task_key, without_impl
from stepagents.experience.journal import Journal, RunStart
from stepagents.experience.pruning import DAY, Rules, superfluous
from stepagents.experience.store import Store
from stepagents.sampling import Sampled
from stepcore.frontend.yaml.tasks import read_task
from stepcore.settings.data_folder import store_path as default_path

RENAMED = IMPL.replace("E1", "doubled").replace("E2", "total")
COMMENTED = f"# a remark\n{RENAMED}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite3", "here")


def test_keeps_experience_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "store.sqlite3"
    given = replace(experience(rate=0.25), tokens=1234, cost=0.5, seconds=2.5)
    with Store(path, "here") as first:
        assert first.add(given, "tasks/a.step.yaml", earned=1000.0)
    with Store(path, "here") as again:
        (found,) = again.all()
        assert again.get(found.number) == found
        assert again.get(found.number + 1) is None
    assert (found.experience, found.path, found.earned, found.workspace) == (given, "tasks/a.step.yaml", 1000.0, "here")


def test_equal_programs_for_equal_tasks_are_one(store: Store) -> None:
    assert store.add(experience(impl=COMMENTED))
    assert not store.add(experience(impl=RENAMED))
    assert [item.experience.impl for item in store.all()] == [RENAMED], "the shorter text stays"
    assert not store.add(experience(impl=COMMENTED, text=TASK.replace("\n", "  \n")))
    assert [item.experience.impl for item in store.all()] == [RENAMED]
    assert store.add(experience(impl=OTHER))
    assert store.add(experience(text=TASK.replace("scaled_sum", "another")))
    assert len(store.all()) == 3


def test_workspaces_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, "a") as a, Store(path, "b") as b, Store(path, None) as every:
        assert a.add(experience())
        assert b.add(experience())
        assert [len(s.all()) for s in (a, b, every)] == [1, 1, 2]
        number = b.all()[0].number
        assert a.get(number) is None
        assert a.remove([number]) == 0
        assert every.remove([number]) == 1
        with pytest.raises(ValueError, match="for reading"):
            every.add(experience())


@pytest.mark.parametrize(
    ("impl", "why"),
    [
        ("return E0", "STEP21"),
        ("E1 = step.Nothing().apply(E0)\nreturn E1", "STEP2"),
        ("E1 = (", "STEP902"),
        ("", "the program is"),
    ],
)
def test_programs_that_do_not_pass_the_checks_are_refused(store: Store, impl: str, why: str) -> None:
    with pytest.raises(UnusableProgram, match=why):
        store.add(experience(impl=impl))
    with pytest.raises(UnusableProgram, match="no usable task"):
        store.add(experience(text="inputs: ["))
    assert store.all() == []


def test_never_holds_a_key(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-1234567890abcdef")
    monkeypatch.setenv("OTHER_TOKEN", "fn_sum")  # too short for a key
    with pytest.raises(HoldsSecret, match="SOME_API_KEY") as raised:
        store.add(experience(impl=f"# sk-1234567890abcdef\n{IMPL}"))
    assert "sk-1234567890abcdef" not in str(raised.value)
    with pytest.raises(HoldsSecret):
        store.add(experience(text=f"{TASK}constraints: sk-1234567890abcdef\n"))
    secret = replace(order("a"), text="sk-1234567890abcdef")
    with pytest.raises(HoldsSecret):
        Journal.begin(store, "kind", RunStart((secret,), ()))
    with pytest.raises(HoldsSecret):
        Journal.begin(store, "kind", RunStart((), ())).record(0, "a", Sampled("a", reason=secret.text), True)
    assert store.add(experience())
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"sk-1234567890abcdef" not in store.path.read_bytes()


def test_stores_no_answer_with_the_task(store: Store) -> None:
    path = TASKS / "bmm_inner_product.step.yaml"
    text = path.read_text(encoding="utf-8")
    impl = read_task(text, str(path)).impl
    assert impl is not None
    assert store.add(experience("bmm_inner_product", impl=impl.source.text, text=text))
    assert "impl:" not in store.all()[0].experience.task_text
    assert store.all()[0].task_key == task_key(without_impl(text, "x"))


def test_answers_are_cut_out_wherever_they_stand() -> None:
    indented = "".join(f"  {line}\n" for line in IMPL.split("\n"))
    plain = without_impl(TASK, "t")
    assert without_impl(f"{TASK}impl: |-\n{indented}", "t") == plain
    assert without_impl(f"impl: |-\n{indented}{TASK}", "t") == plain
    for text in (f"{TASK}impl: |-\n{indented}", plain):
        assert program_key(without_impl(text, "t"), "t", IMPL) == program_key(TASK, "t", RENAMED)
    assert without_impl("no task", "t") == "no task"


def test_the_file_is_the_users_or_what_was_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("STEPSMITH_STORE", raising=False)
    assert default_path().name == "experience.sqlite3"
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "named"))
    assert default_path() == tmp_path / "named"


def test_refuses_files_of_others_and_of_newer_versions(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no database, but long enough to be looked at" * 30)
    with pytest.raises(StoreError, match="--store"):
        Store(text, "w")
    foreign = tmp_path / "foreign"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="another program"):
        Store(foreign, "w")
    newer = tmp_path / "newer"
    with Store(newer, "w") as store:
        store.connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    with pytest.raises(StoreError, match=rf"schema {SCHEMA + 1}.*newer.*--store"):
        Store(newer, "w")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(text / "below a file", "w")
    assert text.read_text().startswith("no database")


# What a process does in the crowd: it adds programs for tasks of its own, and says which are stored.
WRITER = """
import sys
sys.path[:0] = [{agents!r}, {tests!r}]
from dataclasses import replace
from pathlib import Path
from learning_models import experience, TASK
from stepagents.experience.store import Store
with Store(Path(sys.argv[1]), "crowd") as store:
    for number in range(int(sys.argv[3])):
        name = f"w{{sys.argv[2]}}_{{number}}"
        assert store.add(experience(name, text=TASK.replace("scaled_sum", name)))
        print(name, flush=True)
"""


def test_what_was_reported_survives_a_crowd_and_kills(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    script = WRITER.format(agents=str(ROOT / "agents"), tests=str(ROOT / "tests"))
    logs = [tmp_path / f"log{number}" for number in range(6)]
    processes: list[subprocess.Popen[bytes]] = []
    for number, log in enumerate(logs):
        count = "15" if number % 2 else "100000"
        with log.open("wb") as output:
            command = [sys.executable, "-c", script, str(path), str(number), count]
            processes.append(subprocess.Popen(command, stdout=output, cwd=ROOT))
    for process, log in list(zip(processes, logs, strict=True))[::2]:
        while log.read_bytes().count(b"\n") < 5:  # then it is in the middle of its work
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert [process.wait(PATIENCE) for process in processes] == [-signal.SIGKILL, 0] * 3
    reported = {line for log in logs for line in log.read_text().split("\n")[:-1]}
    with Store(path, "crowd") as store:
        stored = {item.experience.task for item in store.all()}
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert store.connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert store.add(experience("afterwards"))
    assert len(reported) >= 3 * 15 + 3 * 5
    assert reported <= stored
    # A program that was stored in the moment of the kill may not have been reported: one for each killed process.
    assert len(stored - reported) <= 3


def test_prunes_by_age_number_and_lost_task(store: Store, tmp_path: Path) -> None:
    kept, changed = tmp_path / "kept.step.yaml", tmp_path / "changed.step.yaml"
    kept.write_text(f"{TASK}impl: |-\n  return E0\n")
    changed.write_text(TASK.replace("[N]", "[K]"))
    now = 100 * DAY
    store.add(experience("old"), earned=now - 40 * DAY)
    store.add(experience("kept", impl=OTHER), str(kept), earned=now)
    store.add(experience("changed", text=f"{TASK}constraints: was here\n"), str(changed), earned=now)
    store.add(experience("gone", text=f"{TASK}constraints: gone\n"), str(tmp_path / "gone.step.yaml"), earned=now)

    def names(rules: Rules) -> list[str]:
        return [item.experience.task for item in superfluous(store.all(), rules, now)]

    assert names(Rules()) == []
    assert names(Rules(days=30)) == ["old"]
    assert names(Rules(gone=True)) == ["changed", "gone"]
    assert names(Rules(keep=1)) == ["kept"], "the shorter program, or the earlier of equally long ones, stays"
    assert names(Rules(days=30, keep=1)) == ["old"], "what is given up anyway does not count"
    assert store.remove([item.number for item in superfluous(store.all(), Rules(gone=True), now)]) == 2
    assert store.connection.execute("SELECT count(*) FROM tasks").fetchone() == (1,)

"""The hostile corpus: a sample of it here, all of it with ``STEPSMITH_HOSTILE=all`` and in ``make soak``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hostile.corpus import DRAWN, HERE, INPUTS, KINDS, Input, load, pending, read_input, sample, task_file
from hostile.frames import run_frame
from hostile.runner import CPU, MEMORY, WORKER_MEMORY, environment, judged, run

IS_WHOLE = os.environ.get("STEPSMITH_HOSTILE") == "all"
CORPUS = load()


def test_every_input_follows_the_format() -> None:
    assert {item.kind for item in CORPUS} == set(KINDS)
    for item in CORPUS:
        assert not item.task or task_file(item.task).exists(), item.name
        assert item.path.stat().st_size < 300_000, f"{item.name} is too large to be kept"
    assert {path.name for path in INPUTS.iterdir()} == set(KINDS)


def test_what_is_pending_exists_and_has_a_reason() -> None:
    names = {item.name for item in CORPUS} | {DRAWN}
    for name, reason in pending().items():
        assert name in names, f"{name} is in {HERE.name}/pending.txt only"
        assert reason, name


def test_the_sample_holds_every_topic() -> None:
    chosen = sample(CORPUS)
    assert {(item.kind, item.topic) for item in chosen} == {(item.kind, item.topic) for item in CORPUS}
    assert sample(list(reversed(CORPUS))) == chosen


def test_the_corpus_holds() -> None:
    known = pending()
    chosen = CORPUS if IS_WHOLE else [item for item in sample(CORPUS) if item.name not in known]
    outcomes = run(chosen)
    wrong = [outcome for outcome in outcomes if not outcome.holds and outcome.input.name not in known]
    assert not wrong, "\n".join(map(str, wrong))
    healed = [outcome.input.name for outcome in outcomes if outcome.holds and outcome.input.name in known]
    assert not healed, f"these hold now; take them out of pending.txt: {healed}"


# -- the runner itself -------------------------------------------------------------------------------------------------

WAYS = """\
import os; os.system("true")
import subprocess; subprocess.run(["true"])
import subprocess, sys; subprocess.run([sys.executable, "-c", "pass"])
import os; os.posix_spawn("/bin/true", ["true"], {})
import os; os.execv("/bin/true", ["true"])
import os; os.fork()
import os; os.popen("true")
import pty; pty.spawn("true")
open("/dev/shm/stepsmith-owned", "w")
open("stepsmith-owned", "w")
import os; os.open("../outside", os.O_WRONLY | os.O_CREAT)
open("/etc/passwd")
import os; os.remove("../trapped")
import os; os.mkdir("/dev/shm/stepsmith-owned")
import socket; socket.create_connection(("127.0.0.1", 9))
import socket; socket.socket()
import urllib.request; urllib.request.urlopen("http://127.0.0.1:9/")
import ctypes; ctypes.CDLL(None)
import antigravity
import pickle; pickle.loads(b"cos\\nsystem\\n(S'true'\\ntR.")
breakpoint()
input()"""
HARMLESS = ["import torch", "open('inside', 'w').close()", "import asyncio; asyncio.run(asyncio.sleep(0))"]


def caught(lines: list[str], folder: Path) -> list[str]:
    """Run each line in one trapped process; the lines that ended in anything but the trap's own error."""
    loop = (
        "import sys\nfor line in sys.argv[1:]:\n    try:\n        exec(compile(line, 'foreign', 'exec'), {})\n"
        "    except PermissionError as error:\n        print('trapped' if 'trapped: ' in str(error) else repr(error))\n"
        "    except BaseException as error:\n        print('trapped' if 'trapped: ' in str(error) else repr(error))\n"
        "    else:\n        print('went through')\n"
    )
    scratch = folder / "scratch"
    scratch.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", loop, *lines],
        env=environment(scratch, "trap"), cwd=scratch, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout.splitlines()


def test_the_trap_catches_every_way(tmp_path: Path) -> None:
    ways = WAYS.splitlines()
    assert dict(zip(ways, caught(ways, tmp_path), strict=True)) == dict.fromkeys(ways, "trapped")


def test_the_trap_lets_our_own_doings_pass(tmp_path: Path) -> None:
    assert caught(HARMLESS, tmp_path) == ["went through"] * len(HARMLESS)


GOOD: dict[str, Any] = {
    "codes": ["STEP302"], "told": False, "exits": {}, "accepted": False, "output": "", "problems": [],
    "trapped": [], "memory": 0, "worker_memory": 0, "cpu": 1.0, "owned": [], "connections": 0,
}  # fmt: skip
BAD: list[dict[str, Any]] = [
    {"accepted": True}, {"codes": []}, {"codes": ["STEP302", "STEP911"]}, {"codes": ["STEP302", "STEP407"]},
    {"output": "Traceback (most recent call last):"}, {"trapped": ["os.system ..."]}, {"owned": ["stepsmith-owned"]},
    {"connections": 1}, {"cpu": CPU + 1}, {"memory": MEMORY + 1}, {"worker_memory": WORKER_MEMORY + 1},
    {"problems": ["no report"]},
]  # fmt: skip


@pytest.mark.parametrize("change", BAD, ids=lambda change: next(iter(change)))
def test_each_broken_promise_is_noticed(change: dict[str, Any]) -> None:
    item = Input(INPUTS / "task" / "m_none_01.step.yaml", "task", "none", "refused", "")
    assert judged(item, GOOD).holds
    assert not judged(item, GOOD | change).holds


def test_an_expectation_that_is_not_met_is_noticed() -> None:
    wanted = Input(INPUTS / "task" / "m_none_01.step.yaml", "task", "none", "STEP310", "")
    assert not judged(wanted, GOOD).holds
    harmless = Input(wanted.path, "task", "none", "accepted", "")
    assert not judged(harmless, GOOD).holds
    assert judged(harmless, GOOD | {"accepted": True, "codes": []}).holds


ATTACKS = {
    "task/m_none_01.step.yaml": "inputs: []\n# expect: accepted\n",
    "impl/m_none_01.yaml": "# task: double\nimpl: |-\n  return step.Map(fn=fn_twice).apply(E0)\n",
    "answer/m_none_01.md": "<!-- task: double -->\n```\nreturn step.Map(fn=fn_twice).apply(E0)\n```\n",
    "config/m_none_01.toml": "affine = 'strict'\n",
}


def test_what_does_not_hold_is_reported(tmp_path: Path) -> None:
    """Each of these is no attack, or expects too much, so a runner that finds nothing wrong would be blind."""
    inputs = []
    for name, text in ATTACKS.items():
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
        inputs.append(read_input(file, file.parent.name))
    assert [outcome.holds for outcome in run(inputs)] == [False] * len(inputs)


# A server that answers everything, and makes a mistake that costs only what is done in the background.
STUMBLES = """\
from stepserver import start

begin = start.Server.start

def stumble(server, inbox):
    begin(server, inbox)
    server.parts.reporter.run("counting", lambda: 1 / 0)

start.Server.start = stumble
raise SystemExit(start.serve())
"""


def test_a_server_that_logs_its_mistakes_and_goes_on_is_noticed() -> None:
    item = next(item for item in CORPUS if item.name == "frame/m_serv_ignored_03.bin")
    assert run_frame(item).problems == []
    found = run_frame(item, (sys.executable, "-c", STUMBLES)).problems
    assert [problem.partition(":")[0] for problem in found] == ["a traceback", "an error in the client's log"]
    assert all("ZeroDivisionError" in problem for problem in found)

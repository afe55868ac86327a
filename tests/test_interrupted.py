"""Whoever waits for a worker can stop waiting: by a signal, by a closed output, whatever the worker does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from escape_checks import marked_processes
from lsp_client import Client
from processes import PATIENCE, eventually
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.proof import Judges
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits
from stepagents.optimize.trials import SpreadTrials
from stepcore.cli.terminal import awaited, output_is_closed
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Job, JobCancelled, Pool
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.settings.limits import InForce
from stepcore.timing.hardware import PRESETS

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "rms_norm.py"
# What it starts leaves its session, is nobody's child, and hears no signal that can be ignored.
LEAVES = """\
import os, signal, subprocess, sys, time
import torch
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen(["sleep", "1000"], start_new_session=True)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(1000)
    os._exit(0)
open(BEGUN, "w").close()
time.sleep(1000)


def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
"""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def after(looks: int) -> Callable[[], bool]:
    """Somebody who wants an end from the look on that has this number."""
    numbers = count()
    return lambda: next(numbers) >= looks


class Stuck:
    """A pool whose workers never answer."""

    def __init__(self) -> None:
        self.worker_pids: list[int] = []
        self.jobs: list[Job[Any]] = []

    def submit(self, *_arguments: Any, **_options: Any) -> Job[Any]:
        self.jobs.append(Job(len(self.jobs) + 1, untyped("none"), None, None))
        return self.jobs[-1]


def example() -> RewriteSubject:
    found = subject_of(EXAMPLE.read_text(), str(EXAMPLE), "rms_norm")
    assert found is not None
    return found


def judges(pool: Stuck, is_stopped: Callable[[], bool]) -> Judges:
    limits = InForce(60.0, 4096, network=False)
    return Judges(example(), PRESETS["validation"], limits, cast("Pool", pool), is_stopped)


# -- waiting ---------------------------------------------------------------------------------------------------


def test_a_job_is_waited_for_until_its_owner_wants_an_end() -> None:
    job: Job[Any] = Job(1, untyped("none"), None, None)
    with pytest.raises(JobCancelled):
        job.result_unless(after(2))
    assert job.cancelled
    assert job.future.cancelled()


def test_what_is_there_is_taken_although_an_end_is_wanted() -> None:
    job: Job[Any] = Job(1, untyped("none"), None, None)
    job.finish("value")
    assert job.result_unless(lambda: True) == "value"


def test_judges_give_up_what_nobody_waits_for() -> None:
    pool = Stuck()
    first = judges(pool, after(2)).begin()
    assert (first.accepted, first.stopped) == (False, True)
    assert pool.jobs
    assert all(job.cancelled for job in pool.jobs)


def test_what_was_found_has_a_last_second_to_be_verified() -> None:
    pool = Stuck()
    stopped = judges(pool, lambda: True)
    found = list(stopped.prove([example().text] * 3))
    assert [(each.accepted, each.stopped) for each in found] == [(False, True)] * 3
    assert all(job.cancelled for job in pool.jobs)
    assert stopped.begin().stopped


def test_a_search_keeps_what_it_has_when_its_workers_are_not_waited_for(tmp_path: Path) -> None:
    """What no worker worked out is not kept as if it could not be timed, so the next search asks again."""
    subject, pool = example(), Stuck()
    target = OptimizeTarget(PRESETS["validation"], 1 << 20)
    spread = SpreadTrials(cast("Pool", pool), subject, target, lambda: True)
    with SearchRecord(tmp_path / "record") as record:
        search = Search(subject, target, record, SearchLimits(is_over=after(1)), spread=spread)
        search.run()
        assert search.best is search.old
        assert search.old is not None
        assert record.known == 0
    assert pool.jobs
    assert all(job.cancelled for job in pool.jobs)


@linux_only
def test_a_closed_output_is_noticed_without_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert not output_is_closed()
        os.close(reading)
        assert output_is_closed()
        job: Job[Any] = Job(1, untyped("none"), None, None)
        with pytest.raises(BrokenPipeError):
            awaited(job)
        assert job.cancelled


# -- the commands ------------------------------------------------------------------------------------------------

COMMANDS = {
    "verify": ["verify", "--time-limit", "100000", "leaving.py"],
    "simulate": ["simulate", "--time-limit", "100000", "leaving.py"],
    "optimize": ["optimize", "leaving.py"],
    "improve": ["improve", "--kind", "optimization", "leaving.py"],
    "synth": ["synth", "leaving.py::twice"],
}
WAYS = [
    ("optimize", signal.SIGINT, 130),
    ("optimize", None, 2),
    ("verify", None, 2),
    ("improve", signal.SIGKILL, -signal.SIGKILL),
    *(
        pytest.param(*way, marks=pytest.mark.slow)
        for way in (
            ("optimize", signal.SIGTERM, 130),
            ("optimize", signal.SIGHUP, -signal.SIGHUP),
            ("improve", signal.SIGINT, 130),
            ("synth", signal.SIGTERM, -signal.SIGTERM),
            ("synth", None, 2),
            ("simulate", None, 2),
        )
    ),
]


def leaving(folder: Path) -> Path:
    """Write a program whose file leaves processes behind and sleeps; returns what tells that it does."""
    begun = folder / "begun"
    text = LEAVES.replace("BEGUN", repr(str(begun))) + "\n\n" + EXAMPLE.read_text().partition('"""\n\n')[2]
    (folder / "leaving.py").write_text(text, encoding="utf-8")
    return begun


def marked(mark: str) -> dict[str, str]:
    libraries = [str(ROOT), str(ROOT / "server"), str(ROOT / "agents")]
    return {**os.environ, "ESCAPE_MARK": mark, "PYTHONPATH": os.pathsep.join(libraries)}


@linux_only
@pytest.mark.parametrize(("command", "number", "code"), WAYS)
def test_a_command_ends_and_nothing_outlives_it(
    command: str, number: signal.Signals | None, code: int, tmp_path: Path
) -> None:
    """``number`` None: nobody reads its output any more. A run that was waited for would have another exit code."""
    begun, mark = leaving(tmp_path), os.urandom(8).hex()
    env = {**marked(mark), "STEPSMITH_STORE": str(tmp_path / "store.sqlite3"), "XDG_CACHE_HOME": str(tmp_path)}
    words = [sys.executable, "-P", "-m", "stepcore.cli", *COMMANDS[command]]
    # Shells let what they start in the background ignore SIGINT, and that is inherited: these tests may be run so.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(words, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, ignored)
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert eventually(lambda: begun.exists() or process.poll() is not None)
        if number is None:
            process.stdout.close()
        else:
            process.send_signal(number)
        process.wait(PATIENCE)
        told = process.stderr.read()
    assert process.returncode == code, told
    assert "STEP405" not in told, "it ended by its limit of time"
    assert "Traceback" not in told
    assert eventually(lambda: marked_processes(mark) == [])


@linux_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, None])
def test_nothing_outlives_the_server(number: signal.Signals | None, tmp_path: Path) -> None:
    """``number`` None: the client is gone without a word."""
    begun, mark = leaving(tmp_path), os.urandom(8).hex()
    file = tmp_path / "leaving.py"
    with Client(env=marked(mark), cwd=tmp_path) as client:
        client.initialize(trusted=True, folder=tmp_path)
        client.open(file.as_uri(), file.read_text())
        client.save(file.as_uri())
        assert eventually(begun.exists)
        if number is None:
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(number)
        client.process.wait(PATIENCE)
        assert eventually(lambda: marked_processes(mark) == [])

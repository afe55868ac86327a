"""Whoever waits for a worker can stop waiting: by a signal, by a closed output, whatever the worker does."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from escape_checks import marked_processes
from learning_models import TASK, experience
from lsp_client import Client
from processes import PATIENCE, catches, eventually, worked
from stepagents.executors import opening
from stepagents.executors.executor import Executor
from stepagents.experience.verifying import verified
from stepagents.llm.answering import Answering
from stepagents.llm.judging import TaskJudge
from stepagents.optimize import proof
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.clock import SearchClock
from stepagents.optimize.model.asker import ModelAsker
from stepagents.optimize.model.search import ModelSearch
from stepagents.optimize.proof import Judges
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.run import Watch, optimized
from stepagents.optimize.search import Search, SearchLimits
from stepagents.optimize.trials import SpreadTrials
from stepcore.cli import main
from stepcore.cli.terminal import awaited, output_is_closed
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Job, JobCancelled, JobError, Pool
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
# A task whose worker is in torch for longer than anybody waits, and looks at no message there.
LONG = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {name: F, func_name: fn_f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform:
  - |-
    x = torch.ones(2048, 2048)
    for i in range(2000):
        x = torch.matmul(x, x) * 0
    return input_data['E0'] * 2 + x[0, 0]
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

    def __enter__(self) -> Stuck:
        return self

    def __exit__(self, *_error: object) -> None:
        """Its jobs are never there."""


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
    assert (first.accepted, first.ended, first.reason) == (False, "stopped", "interrupted")
    assert pool.jobs
    assert all(job.cancelled for job in pool.jobs)


def test_what_was_found_has_a_last_second_to_be_verified() -> None:
    pool = Stuck()
    stopped = judges(pool, lambda: True)
    found = list(stopped.prove([example().text] * 3))
    assert [(each.accepted, each.ended) for each in found] == [(False, "stopped")] * 3
    assert all(job.cancelled for job in pool.jobs)
    assert stopped.begin().ended == "stopped"


def test_what_is_verified_when_its_time_is_over_has_a_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_LATE_SECONDS", 0.2)
    pool = Stuck()
    late = judges(pool, lambda: False)
    late.is_late = lambda: True
    assert (late.begin().reason, [each.ended for each in late.prove([example().text])]) == (
        "its time was over", ["time"]
    )  # fmt: skip
    assert all(job.cancelled for job in pool.jobs)


def test_a_program_that_nothing_can_run_is_not_called_wrong(tmp_path: Path) -> None:
    class Torchless(Stuck):
        def submit(self, *arguments: Any, **options: Any) -> Job[Any]:
            job = super().submit(*arguments, **options)
            job.finish(error=JobError("STEP410", "simulation needs PyTorch, which this Python does not have"))
            return job

    subject = example()
    target = OptimizeTarget(PRESETS["validation"])
    watch = Watch(lambda _text: None, lambda: False, 60.0)
    with SearchRecord(tmp_path / "record") as record:
        found = optimized(subject, target, record, judges(Torchless(), lambda: False), watch)
    assert found.best is None
    assert found.problem == (
        "it could not be verified as it is, so nothing can be compared with it: "
        "STEP410 simulation needs PyTorch, which this Python does not have"
    )


def test_of_the_time_of_a_search_a_part_is_for_verification() -> None:
    now = [0.0]
    clock = SearchClock(100.0, lambda: 7.0, lambda: now[0])
    for once, end in ((0.0, 107.0), (3.0, 95.0), (60.0, 82.0)):  # a quarter at most
        clock.keep_for_verification(once)
        now[0] = end - 1
        assert not clock.is_search_over()
        now[0] = end + 1
        assert clock.is_search_over()
        assert clock.is_late() is (end > 100)
    assert not SearchClock(None, clock=lambda: 1e9).is_late()


def test_a_model_search_keeps_what_it_has_when_its_workers_are_not_waited_for() -> None:
    subject, pool = example(), Stuck()
    target = OptimizeTarget(PRESETS["validation"], 1 << 20)
    spread = SpreadTrials(cast("Pool", pool), subject, target, lambda: True)
    asker = ModelAsker(cast("Answering", None), "")
    search = ModelSearch(subject, target, SearchRecord(), SearchLimits(is_over=after(1)), spread=spread, asker=asker)
    search.run()
    assert search.best is search.old is not None
    assert pool.jobs
    assert all(job.cancelled for job in pool.jobs)


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


def test_imported_programs_are_not_waited_for_when_an_end_is_wanted() -> None:
    pool = Stuck()
    found = list(verified(cast("Executor", pool), [experience("a"), experience("b")], after(2)))
    assert found == ["interrupted"] * 2
    assert [job.cancelled for job in pool.jobs] == [True] * 2


def test_an_import_ends_when_nobody_reads_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, file = Stuck(), tmp_path / "experience.jsonl"
    file.write_text(json.dumps({"stepsmith": 1, **asdict(experience()), "earned": 5.0}) + "\n", encoding="utf-8")
    monkeypatch.setattr(opening, "open_executor", lambda: pool)
    monkeypatch.setattr("stepagents.cli.experience.output_is_closed", after(2))
    assert main(["experience", "import", str(file), "--store", str(tmp_path / "store.sqlite3")]) == 1
    assert [job.cancelled for job in pool.jobs] == [True]


def test_an_answer_that_nobody_waits_for_any_more_is_not_judged() -> None:
    pool = Stuck()

    async def give_up(threads: ThreadPoolExecutor) -> None:
        judging = asyncio.create_task(
            TaskJudge(cast("Executor", pool), threads, "a.step.yaml", TASK, 60.0).judge("answer", guarded=False)
        )
        while not pool.jobs:
            await asyncio.sleep(0)
        judging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging

    with ThreadPoolExecutor(1) as threads:  # leaving it waits for its thread, which must not wait for the worker
        asyncio.run(give_up(threads))
    assert [job.cancelled for job in pool.jobs] == [True]


def waits_without_end(text: str) -> int:
    """Count the calls ``result()`` of a text: waits that only an answer ends."""
    if ".result()" not in text:  # most are not worth reading
        return 0
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "result"
        and not node.args
        and not node.keywords
        for node in ast.walk(ast.parse(text))
    )


def test_nobody_waits_for_a_worker_without_a_way_to_stop() -> None:
    """Each of these has its way: the answer is there already, the event loop cancels the job, or the start is short."""
    files = [
        path
        for folder in ("stepcore", "agents/stepagents", "server/stepserver")
        for path in (ROOT / folder).rglob("*.py")
    ]
    found = {path.name: waits for path in files if (waits := waits_without_end(path.read_text(encoding="utf-8")))}
    assert found == {
        "sampler.py": 1, "run.py": 1, "asker.py": 1, "protocol.py": 1,  # of what is done
        "judging.py": 1,  # cancelled by the loop that waits for its thread, see above
        "probe.py": 1, "doctor.py": 1,  # a worker's start, whose time is limited
        "writing.py": 1, "optimizing.py": 1,  # answers of a client, which end with the server's loop
    }  # fmt: skip


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
    "optimize": ["optimize", "leaving.py"],
    "improve": ["improve", "--kind", "optimization", "leaving.py"],
    "synth": ["synth", "leaving.py::twice"],
    "task": ["synth", "--budget-seconds", "100000", "long.step.yaml"],
}
# Each starts torch in a worker, which takes three seconds of processor time, so no two of them hold the same:
# `simulate` waits as `verify` does, and what catches no SIGHUP (and SIGTERM) is ended by it as by SIGKILL, which is
# asserted.
WAYS = [
    ("verify", None, 2),
    ("optimize", signal.SIGINT, 130),
    ("task", signal.SIGINT, 130),
    *(
        pytest.param(*way, marks=pytest.mark.slow)
        for way in (
            ("optimize", None, 2),
            ("improve", signal.SIGTERM, 130),
            ("improve", signal.SIGHUP, -signal.SIGHUP),
            ("synth", None, 2),
            ("task", signal.SIGKILL, -signal.SIGKILL),
        )
    ),
]
WORK = 5.0  # seconds of processor time after which a worker has started and is busy with its task


def leaving(folder: Path) -> Path:
    """Write a program whose file leaves processes behind and sleeps; returns what tells that it does."""
    begun = folder / "begun"
    text = LEAVES.replace("BEGUN", repr(str(begun))) + "\n\n" + EXAMPLE.read_text().partition('"""\n\n')[2]
    (folder / "leaving.py").write_text(text, encoding="utf-8")
    return begun


def is_busy(command: str, pid: int, begun: Path) -> bool:
    """Whether the worker of a command does what it is to be interrupted in."""
    return worked(pid) > WORK if command == "task" else begun.exists()


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
    (tmp_path / "long.step.yaml").write_text(LONG, encoding="utf-8")
    env = {**marked(mark), "STEPSMITH_STORE": str(tmp_path / "store.sqlite3"), "XDG_CACHE_HOME": str(tmp_path)}
    words = [sys.executable, "-P", "-m", "stepcore.cli", *COMMANDS[command]]
    # Shells let what they start in the background ignore SIGINT, as nohup does SIGHUP, and that is inherited.
    ignored = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)}
    process = subprocess.Popen(words, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for each, handler in ignored.items():
        signal.signal(each, handler)
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert eventually(lambda: is_busy(command, process.pid, begun) or process.poll() is not None)
        assert catches(process.pid, signal.SIGTERM) == (command in ("optimize", "improve", "task"))
        assert not catches(process.pid, signal.SIGHUP)
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
@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_nothing_outlives_the_server(number: signal.Signals | None, tmp_path: Path) -> None:
    """``number`` None: the client is gone without a word."""
    begun, mark = leaving(tmp_path), os.urandom(8).hex()
    file = tmp_path / "leaving.py"
    with Client(env=marked(mark), cwd=tmp_path) as client:
        client.initialize(trusted=True, folder=tmp_path)
        client.open(file.as_uri(), file.read_text())
        client.save(file.as_uri())
        assert eventually(begun.exists)
        assert not any(catches(client.process.pid, each) for each in (signal.SIGTERM, signal.SIGHUP))
        if number is None:
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(number)
        client.process.wait(PATIENCE)
        assert eventually(lambda: marked_processes(mark) == [])

"""The pool of worker processes: limits, crashes, cancellation, and what must not leak."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE, alive, descendants, eventually
from stepcore.isolation import Isolation
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import JobCancelled, JobError, Limits, Pool, effort, importing, process
from stepcore.jobs.messages import HOME, PROTOCOL, decode, encode
from stepcore.jobs.process import clean_environment, last_words

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "job_worker")


def make_pool(*arguments: str, size: int = 1, limits: Limits | None = None, env: dict[str, str] | None = None) -> Pool:
    return Pool((*COMMAND, *arguments), size, limits or Limits(seconds=20, memory=256 << 20), env)


@pytest.fixture
def pool() -> Iterator[Pool]:
    with make_pool() as opened:
        yield opened


def failure(pool: Pool, kind: str, payload: Any, **options: Any) -> JobError:
    with pytest.raises(JobError) as caught:
        pool.submit(untyped(kind), payload, **options).result(PATIENCE)
    return caught.value


@pytest.mark.parametrize("work", ["program", "sleep", "compute"])
def test_a_worker_that_closes_its_pipe_and_goes_on_is_ended(
    work: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end was waited for without any limit: by closing the pipe a function got out of its time limit."""
    monkeypatch.setattr(process, "_ENDING_SECONDS", 0.5)
    before = pool.submit(untyped("pid"), None).result(PATIENCE)
    error = failure(pool, "mute", work)
    assert (error.code, error.message) == ("STEP407", "the worker was stopped: it closed its pipe and went on")
    assert eventually(lambda: not alive(before))
    assert pool.submit(untyped("echo"), "next").result(PATIENCE) == "next"


def test_messages_are_one_line_each() -> None:
    message = {"type": "result", "value": "a\nb\u2028c \U0001d11e"}
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message
    for broken in (b"[]\n", b"{}\n", b"nonsense\n", b"\xff\n"):
        with pytest.raises(ValueError):
            decode(broken)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ((), ""),
        (("", " "), ""),
        (("loading", "killed", ""), "killed"),
        (("Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 'a'"), "KeyError: 'a'"),
        (("torch.a.LogError: ", "Invalid log: x", "", "known: a", ""), "torch.a.LogError: Invalid log: x known: a"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_worker_are_its_error(output: tuple[str, ...], said: str) -> None:
    assert last_words(output) == said


def test_values_come_back_and_the_worker_stays(pool: Pool) -> None:
    assert pool.submit(untyped("echo"), {"a": [1, None, "ä"]}).result(PATIENCE) == {"a": [1, None, "ä"]}
    collects, kept = pool.submit(untyped("garbage"), None).result(PATIENCE)
    assert collects and kept > 1000  # what it imported is not searched again
    first, second = (
        pool.submit(untyped("pid"), None).result(PATIENCE),
        pool.submit(untyped("pid"), None).result(PATIENCE),
    )
    assert [first] == [second] == pool.worker_pids


def test_a_worker_that_starts_ahead_takes_the_first_job_and_what_fails_is_told_to_that(pool: Pool) -> None:
    pool.start_worker()
    assert eventually(lambda: bool(pool.worker_pids))
    assert [pool.submit(untyped("pid"), None).result(PATIENCE)] == pool.worker_pids
    with make_pool("--broken") as broken:
        broken.start_worker()
        assert "cannot start today" in failure(broken, "echo", 1).message


@pytest.mark.usefixtures("nothing_kept_out")
def test_imports_are_searched_for_garbage_before_and_never_again() -> None:
    class Ring:
        def __init__(self) -> None:
            self.itself = self

    garbage = weakref.ref(Ring())
    try:
        with importing():
            assert garbage() is None and not gc.isenabled()
            made = weakref.ref(Ring())
        assert gc.isenabled()
        gc.collect()
        assert made() is not None
    finally:
        gc.unfreeze()
    gc.collect()
    assert made() is None
    with importing("gc"):
        assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_jobs_wait_for_their_turn_in_order(pool: Pool) -> None:
    jobs = [pool.submit(untyped("echo"), number) for number in range(20)]
    assert [job.result(PATIENCE) for job in jobs] == list(range(20))


def test_two_workers_work_at_once() -> None:
    with make_pool(size=2) as pool:
        started: queue.SimpleQueue[Any] = queue.SimpleQueue()
        jobs = [pool.submit(untyped("polite"), 30, on_progress=started.put) for _ in range(2)]
        assert [started.get(timeout=PATIENCE) for _ in jobs] == ["asleep"] * 2
        assert len(pool.worker_pids) == 2


@pytest.mark.parametrize(("kind", "payload"), [("sleep", 60), ("spin", None)])
def test_a_job_over_its_time_is_killed_and_the_next_runs(
    pool: Pool, kind: str, payload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort, "CEILING", 1e6)  # or a machine that grants it nothing is told instead
    before = pool.submit(untyped("pid"), None).result(PATIENCE)
    error = failure(pool, kind, payload, seconds=0.2)
    assert error.code == "STEP405"
    assert "0.2 s" in error.message
    assert pool.submit(untyped("pid"), None).result(PATIENCE) != before
    assert eventually(lambda: not alive(before))


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_crash_costs_only_its_job(pool: Pool, name: str) -> None:
    error = failure(pool, "die", int(signal.Signals[name]))
    assert error.code == "STEP407"
    assert name in error.message
    assert pool.submit(untyped("echo"), "well").result(PATIENCE) == "well"


def test_kill_from_outside_in_the_middle() -> None:
    with make_pool(size=2) as pool:
        started: queue.SimpleQueue[Any] = queue.SimpleQueue()
        job = pool.submit(untyped("sleep"), 60, on_progress=started.put)
        assert started.get(timeout=PATIENCE) == "asleep"
        os.kill(pool.worker_pids[0], signal.SIGKILL)
        with pytest.raises(JobError, match="SIGKILL"):
            job.result(PATIENCE)
        assert pool.submit(untyped("echo"), 1).result(PATIENCE) == 1


def test_a_worker_that_died_between_two_jobs_costs_nothing(pool: Pool) -> None:
    for wait in (False, True):
        before = pool.submit(untyped("pid"), None).result(PATIENCE)
        os.kill(before, signal.SIGKILL)
        assert not wait or eventually(lambda pid=before: not alive(pid))
        assert pool.submit(untyped("pid"), None).result(PATIENCE) != before


def test_exit_in_a_job_is_a_crash(pool: Pool) -> None:
    error = failure(pool, "leave", 3)
    assert (error.code, error.detail) == ("STEP407", {"ending": "exit code 3"})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
def test_the_memory_limit_is_an_error_and_the_worker_lives(pool: Pool) -> None:
    before = pool.submit(untyped("pid"), None).result(PATIENCE)
    assert failure(pool, "hoard", 1 << 30).code == "STEP406"
    assert pool.submit(untyped("hoard"), 64 << 20).result(PATIENCE) == 64 << 20
    assert pool.submit(untyped("pid"), None).result(PATIENCE) == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
@pytest.mark.parametrize(("workers", "told"), [(0, "STEP406"), (3, "")])
def test_workers_that_a_job_starts_itself_have_their_limits_besides(workers: int, told: str) -> None:
    isolation = Isolation(workers=workers)
    with make_pool() as opened:
        job = opened.submit(untyped("hoard_apart"), [3, 160 << 20], isolation=isolation)
        if told:
            with pytest.raises(JobError) as caught:
                job.result(PATIENCE)
            assert caught.value.code == told
        else:
            assert job.result(PATIENCE) == 3


def test_cancelling_a_job_that_listens_keeps_the_worker(pool: Pool) -> None:
    started: queue.SimpleQueue[Any] = queue.SimpleQueue()
    job = pool.submit(untyped("polite"), 60, on_progress=started.put)
    started.get(timeout=PATIENCE)
    before = pool.worker_pids
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(PATIENCE)
    assert pool.submit(untyped("pid"), None).result(PATIENCE) == before[0]


def test_cancelling_a_deaf_job_kills_its_worker(pool: Pool) -> None:
    started: queue.SimpleQueue[Any] = queue.SimpleQueue()
    job = pool.submit(untyped("sleep"), 60, on_progress=started.put)
    started.get(timeout=PATIENCE)
    before = pool.worker_pids[0]
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(PATIENCE)
    assert eventually(lambda: not alive(before))
    assert pool.submit(untyped("echo"), 1).result(PATIENCE) == 1


def test_cancelling_a_job_that_waits(pool: Pool) -> None:
    release = threading.Event()
    first = pool.submit(untyped("ask"), [1], on_ask=lambda _question: release.wait(PATIENCE))
    waiting = pool.submit(untyped("echo"), 1)
    waiting.cancel()
    with pytest.raises(JobCancelled):
        waiting.result(PATIENCE)
    release.set()
    assert first.result(PATIENCE) == [True]
    assert pool.submit(untyped("echo"), 2).result(PATIENCE) == 2


def test_a_worker_of_another_version_is_refused() -> None:
    with make_pool("--version", "9.9.9") as pool:
        error = failure(pool, "echo", 1)
    assert error.code == "STEP410"
    assert "9.9.9" in error.message


def test_a_worker_of_another_build_of_the_same_version_is_refused_with_what_differs() -> None:
    with make_pool("--protocol", "2") as pool:
        error = failure(pool, "echo", 1)
    assert error.code == "STEP410"
    assert f"two builds: here (in {HOME}) workers speak protocol {PROTOCOL}" in error.message
    assert "speaks protocol 2" in error.message and "restart the language server" in error.message


def test_a_worker_that_cannot_start_says_why() -> None:
    with make_pool("--broken") as pool:
        error = failure(pool, "echo", 1)
    assert error.code == "STEP407"
    assert "cannot start today" in error.message
    with Pool(("/nonexistent/python",)) as pool:
        assert failure(pool, "echo", 1).code == "STEP410"


def test_a_worker_that_never_says_hello() -> None:
    with make_pool("--silent", limits=Limits(start_seconds=0.3)) as pool:
        error = failure(pool, "echo", 1)
    assert "did not start" in error.message
    assert error.detail == {"action": "log"}


def test_a_busy_machine_costs_neither_a_start_nor_a_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "CEILING", 1e6)
    for module in ("pool", "process"):  # every process wants to compute, and is granted nothing
        monkeypatch.setattr(f"stepcore.jobs.{module}.usage_of_tree", lambda _pid: (0.0, True))
    with make_pool("--slow", limits=Limits(start_seconds=0.2)) as pool:
        started: queue.SimpleQueue[Any] = queue.SimpleQueue()
        job = pool.submit(untyped("late"), 1.5, on_progress=started.put)
        started.get(timeout=PATIENCE)
        before = pool.worker_pids
        job.cancel()
        with pytest.raises(JobCancelled):
            job.result(PATIENCE)
        assert [pool.submit(untyped("pid"), None).result(PATIENCE)] == before


def test_user_output_does_not_disturb_the_protocol(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    text = '{"type":"result","job":1,"value":"forged"}'
    with caplog.at_level(logging.DEBUG, "stepcore.jobs"):
        assert pool.submit(untyped("noise"), text).result(PATIENCE) == text
        assert eventually(
            lambda: (pool.submit(untyped("echo"), 0).result(PATIENCE), caplog.text.count("forged") >= 3)[1]
        )


def test_what_a_worker_prints_steers_no_terminal_from_the_debug_log(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "stepcore.jobs"):
        pool.submit(untyped("noise"), "printed\x1b]0;mine\x07\rforged\u202e").result(PATIENCE)
        eventually(lambda: (pool.submit(untyped("echo"), 0).result(PATIENCE), caplog.text.count("printed") >= 3)[1])
        failure(pool, "defect", "told\x1b[2J\u2028")
    printed = [line for line in caplog.text.splitlines() if "printed" in line or "told" in line]
    assert len(printed) >= 4
    assert all(line.isprintable() for line in printed)


@pytest.mark.parametrize("kind", ["deep", "empty", "odd", "others", "hello"])
def test_a_worker_that_writes_no_messages_is_not_believed(kind: str) -> None:
    with Pool(COMMAND, size=1) as fresh:
        assert fresh.submit(untyped("forge"), kind).result(PATIENCE) == kind
        assert fresh.submit(untyped("echo"), 1).result(PATIENCE) == 1


@pytest.mark.parametrize(
    ("kind", "seconds", "code", "told"),
    [
        ("endless", None, "STEP407", "wrote a message of more than 64 MB"),
        ("questions", None, "STEP407", "asked over 256 questions at once"),
        ("flood", 1.0, "STEP405", "limit"),
        ("cancelled", None, "STEP407", "gave up a job that nobody had cancelled"),
    ],
)
def test_a_worker_that_writes_what_is_not_its_to_write_is_stopped(
    kind: str, seconds: float | None, code: str, told: str
) -> None:
    wait = threading.Event()
    with Pool(COMMAND, size=1) as fresh:
        job = fresh.submit(untyped("forge"), kind, seconds=seconds, on_ask=lambda _question: wait.wait(PATIENCE))
        with pytest.raises(JobError, match=told) as failed:
            job.result(PATIENCE)
        wait.set()
        assert failed.value.code == code
        assert fresh.submit(untyped("echo"), 1).result(PATIENCE) == 1


def test_questions_are_answered_and_stop_the_clock(pool: Pool) -> None:
    def answer(question: Any) -> Any:
        if question == "bad":
            raise ValueError("no answer to that")
        if question == 1:
            time.sleep(3)
        return question * 2

    assert pool.submit(untyped("ask"), [1, "a"], on_ask=answer, seconds=2.0).result(PATIENCE) == [2, "aa"]
    assert "no answer to that" in failure(pool, "ask", ["bad"], on_ask=answer).message
    assert "answers no questions" in failure(pool, "ask", ["x"]).message


def test_cancelling_during_a_question(pool: Pool) -> None:
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    release = threading.Event()

    def answer(question: Any) -> Any:
        asked.put(question)
        release.wait()

    job = pool.submit(untyped("ask"), [1], on_ask=answer)
    asked.get(timeout=PATIENCE)
    before = pool.worker_pids[0]
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(PATIENCE)
    release.set()
    assert pool.submit(untyped("pid"), None).result(PATIENCE) == before


def test_errors_keep_their_code_and_defects_show_no_traceback(pool: Pool) -> None:
    error = failure(pool, "fail", "not today")
    assert (error.code, error.message, error.detail) == ("STEP404", "not today", {"line": 3})
    for kind in ("defect", "no_json"):
        error = failure(pool, kind, None)
        assert error.code == "STEP911"
        assert "Traceback" not in error.message
        assert "Traceback" in error.trace
    assert failure(pool, "unheard_of", None).code == "STEP911"


def test_credentials_stay_out_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOME_API_KEY", "my_token", "CLIENT_SECRET_2"):
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("HARMLESS", "1")
    with make_pool(env={"ADDED": "2"}) as pool:
        seen = pool.submit(untyped("environment"), None).result(PATIENCE)
    assert "hidden" not in seen.values()
    assert (seen["HARMLESS"], seen["ADDED"]) == ("1", "2")
    assert clean_environment({"A_KEY": "x", "B": "y"}, {"C_KEY": "z"}) == {"B": "y", "C_KEY": "z"}


@pytest.mark.parametrize(
    "variable",
    [
        "DB_PASS=x", "MYSQL_PWD=x", "GH_PAT=x", "AWS_CREDS=x", "SENTRY_DSN=x", "SLACK_WEBHOOK=x", "github_token=x",
        "DATABASE_URL=postgres://me:hunter2@host/db", "HTTPS_PROXY=http://me:hunter2@proxy:3128", "PIP_INDEX_URL=https://:x@host/simple",
        "MODEL=sk-0123456789abcdef", "CI=ghp_0123456789abcdef", "CERTIFICATE=-----BEGIN RSA PRIVATE",
    ],
)  # fmt: skip
def test_variables_that_hold_keys_reach_no_worker(variable: str) -> None:
    assert clean_environment(dict([variable.split("=", 1)]), {}) == {}


def test_other_variables_reach_workers() -> None:
    plain = {
        "LS_COLORS": "*.pat=1", "PATH": "/bin", "PWD": "/a", "OLDPWD": "/b", "PATTERN": "x", "NO_PROXY": "a@b",
        "HTTP_PROXY": "http://proxy:3128", "REPOSITORY": "https://user@host/x", "TASK": "task-sk-short", "XPC": "hf_",
    }  # fmt: skip
    assert clean_environment(plain, {}) == plain


def test_close_ends_everything() -> None:
    started: queue.SimpleQueue[Any] = queue.SimpleQueue()
    pool = make_pool()
    running = pool.submit(untyped("child"), None, on_progress=started.put)
    waiting = pool.submit(untyped("echo"), 1)
    assert started.get(timeout=PATIENCE) == "started"
    worker = pool.worker_pids[0]
    below = descendants(worker)
    assert below
    pool.close()
    pool.close()
    for job in (running, waiting):
        with pytest.raises(JobCancelled):
            job.result(PATIENCE)
    assert eventually(lambda: not any(map(alive, [worker, *below])))
    with pytest.raises(RuntimeError):
        pool.submit(untyped("echo"), 1)


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_no_orphans_when_the_owner_goes(how: str) -> None:
    script = f"""
import sys, time
from stepcore.isolation import Isolation
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Pool
pool = Pool({COMMAND!r}, 1)
print(pool.submit(untyped("pid"), None).result(300), flush=True)
job = pool.submit(untyped("spin"), None, on_progress=lambda _: print("spinning", flush=True))
sys.stdin.readline()
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    owner = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
    )
    assert owner.stdout is not None and owner.stdin is not None
    with owner.stdin, owner.stdout:
        worker = int(owner.stdout.readline())
        assert owner.stdout.readline() == "spinning\n"
        assert alive(worker)
        if how == "killed":
            owner.kill()
        else:
            owner.stdin.write("\n")
            owner.stdin.flush()
        owner.wait(PATIENCE)
    assert eventually(lambda: not alive(worker))


def test_asyncio_owners_wait_without_blocking(pool: Pool) -> None:
    async def main() -> list[Any]:
        jobs = [pool.submit(untyped("echo"), number) for number in range(3)]
        return await asyncio.gather(*(asyncio.wrap_future(job.future) for job in jobs))

    assert asyncio.run(main()) == [0, 1, 2]

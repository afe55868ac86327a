"""How workers are isolated: the layers one by one, the fallbacks, and that nothing survives an owner."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cli_inputs import PYTHON
from escape_checks import ATTEMPTS, Attempt, isolations, marked_processes, run_attempt, surroundings
from processes import PATIENCE, eventually
from stepcore.cli import doctor
from stepcore.isolation import LAYERS, TEXT, Isolation, Report, isolation_for, unprotected
from stepcore.isolation.enter import kept_places
from stepcore.isolation.kernel import CLONE_NEWUSER, CLONE_THREAD
from stepcore.isolation.seccomp import numbers, program
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Limits, Pool, probe
from stepcore.jobs.probe import isolation_in_force

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")
ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "job_worker")


# -- plain data ----------------------------------------------------------------------------------------------------


def test_what_a_worker_may_do_survives_the_environment() -> None:
    for isolation in (TEXT, Isolation(), Isolation("user", ("/a b", "/c"), True, "/c/d.py", 3)):
        assert Isolation.decode(isolation.encode()) == isolation
    forged = Isolation("text", ("/home",), network=True).encode()
    assert Isolation.decode(forged) == TEXT
    for broken in ("[]", "{}", '{"profile": "none"}', "nonsense"):
        with pytest.raises(ValueError):
            Isolation.decode(broken)


def test_reports_say_what_is_in_force_and_what_is_not() -> None:
    report = Report("text")
    report.add("files", "one")
    report.add("files", "two")
    report.lack("files", "a gap")
    assert Report.from_json(report.as_json()) == report
    assert report.layers["files"].by == ("one", "two")
    nothing = unprotected(Isolation())
    assert set(nothing.layers) == set(LAYERS)
    assert all(not layer.by and "the limit on time remains" in layer.gap for layer in nothing.layers.values())


def test_the_folder_of_the_run() -> None:
    assert isolation_for(Path("/a/b.step.yaml"), [Path("/c/d.py")]) == TEXT
    found = isolation_for(Path("/a/b.py"), [Path("/c/d.py"), Path("/e/f.yaml")])
    assert found == Isolation("user", ("/a", "/c"), file="/a/b.py")


def test_what_is_started_or_obeyed_outside_is_kept_in_a_folder_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "venv").mkdir()  # nothing says that it is one
    (tmp_path / "tools" / "env").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "tools" / "env"))
    assert kept_places([str(tmp_path)]) == (str(tmp_path / ".git"), str(tmp_path / "tools" / "env"))
    assert kept_places([str(tmp_path / "tools" / "env"), str(tmp_path / "other")]) == ()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    assert str(tmp_path / "venv") in kept_places([str(tmp_path)])


def test_links_to_what_is_kept_are_kept_with_all_they_lead_through(tmp_path: Path) -> None:
    (tmp_path / "envs" / "main").mkdir(parents=True)
    (tmp_path / "envs" / "main" / "pyvenv.cfg").touch()
    (tmp_path / ".venv").symlink_to("env")
    (tmp_path / "env").symlink_to(tmp_path / "envs" / "main")
    (tmp_path / ".vscode").symlink_to(tmp_path.parent)  # its end is no place that may be written
    (tmp_path / ".git").symlink_to(".git")
    names = {".venv", "env", "envs/main", ".vscode"}
    assert kept_places([str(tmp_path)]) == tuple(sorted(str(tmp_path / name) for name in names))


@linux_only
def test_without_namespaces_what_gets_out_is_told(tmp_path: Path) -> None:
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_file_chmod")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--no-namespaces")
        assert outcome.in_force is not None
        assert outcome.escapes  # so what is said is true
        gaps = {name: layer.gap for name, layer in outcome.in_force.layers.items()}
        assert "modes, times" in gaps["files"] and f"{made.run}/.git" in gaps["files"]
        assert "listed in /proc" in gaps["processes"] and "not limited" in gaps["scratch"]


@linux_only
@pytest.mark.parametrize("profile", ["text", "user"])
def test_each_layer_is_told_where_the_system_offers_none(profile: str, tmp_path: Path) -> None:
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_net_tcp")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)[profile], made, "--no-namespaces", "--no-filters")
        assert outcome.escapes  # so what is said is true
        assert outcome.in_force is not None
        assert set(outcome.in_force.layers) == set(LAYERS)
        layer = outcome.in_force.layers["network"]
        assert not layer.by and "can use it" in layer.gap
        assert "but not what they hold" not in outcome.in_force.layers["files"].gap


@linux_only
def test_doctor_says_the_gaps_of_both_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_force(isolation: Isolation) -> Report:
        found = unprotected(isolation)
        if isolation.profile == "user":
            found.lack("files", "and more")
        found.lack("network", f"for {isolation.profile}")
        return found

    monkeypatch.setattr(probe, "isolation_in_force", in_force)
    rows = {row.name: row for row in doctor._isolation()}
    assert rows.keys() == LAYERS.keys() and not any(row.ok for row in rows.values())
    assert rows["files"].found.count("this system offers nothing") == 1
    assert "and more" in rows["files"].found
    assert "for text" in rows["network"].found and "for user" in rows["network"].found


# -- the filter of calls ---------------------------------------------------------------------------------------------


def decide(steps: list[tuple[int, int, int, int]], words: dict[int, int]) -> int:
    """Run a filter on a call as the kernel does; ``words`` are the 32-bit words at offsets."""
    at, accumulator = 0, 0
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        match code:
            case 0x20:
                accumulator = words.get(value, 0)
            case 0x54:
                accumulator &= value
            case 0x06:
                return value
            case _:
                holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
                at += then if holds else otherwise


ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


@pytest.mark.parametrize("machine", list(ARCHITECTURES))
@pytest.mark.parametrize(
    ("name", "arguments", "text", "user", "online"),
    [
        ("execve", {}, EPERM, ALLOW, ALLOW),
        ("clone", {0: CLONE_THREAD}, ALLOW, ALLOW, ALLOW),
        ("clone", {0: signal.SIGCHLD}, EPERM, ALLOW, ALLOW),
        ("clone", {0: CLONE_NEWUSER | signal.SIGCHLD}, EPERM, EPERM, EPERM),
        ("clone3", {}, ENOSYS, ENOSYS, ENOSYS),
        ("socket", {0: 2, 1: 1}, EPERM, EPERM, ALLOW),
        ("socket", {0: 1, 1: 1}, EPERM, EPERM, EPERM),
        ("socket", {0: 17, 1: 3}, EPERM, EPERM, EPERM),
        ("socketpair", {0: 1, 1: 1 | 0o2000000}, ALLOW, ALLOW, ALLOW),
        ("socketpair", {0: 1, 1: 2}, EPERM, EPERM, EPERM),
        ("connect", {}, EPERM, EPERM, ALLOW),
        ("kill", {0: 4711}, ALLOW, ALLOW, ALLOW),
        ("kill", {0: -4711 & 0xFFFFFFFF}, ALLOW, ALLOW, ALLOW),
        ("kill", {0: 1}, EPERM, ALLOW, ALLOW),
        ("kill", {0: 0xFFFFFFFF}, EPERM, ALLOW, ALLOW),
        ("ioctl", {1: 0x5412}, EPERM, EPERM, EPERM),
        ("ioctl", {1: 0x5401}, ALLOW, ALLOW, ALLOW),
        ("fcntl", {1: 8}, EPERM, EPERM, EPERM),
        ("fcntl", {1: 1024}, EPERM, EPERM, EPERM),  # a lease
        ("fcntl", {1: 4}, ALLOW, ALLOW, ALLOW),
        ("prlimit64", {0: 0}, ALLOW, ALLOW, ALLOW),
        ("prlimit64", {0: 1}, EPERM, EPERM, EPERM),
        ("ptrace", {}, EPERM, EPERM, EPERM),
        ("unshare", {}, EPERM, EPERM, EPERM),
        ("io_uring_setup", {}, EPERM, EPERM, EPERM),
        ("fchmod", {}, EPERM, ALLOW, ALLOW),
        ("shmget", {}, EPERM, EPERM, EPERM),
        ("memfd_create", {}, ENOSYS, ENOSYS, ENOSYS),
        ("vmsplice", {}, ENOSYS, ENOSYS, ENOSYS),
        ("mmap", {3: 0x21}, EPERM, EPERM, EPERM),  # shared, anonymous
        ("mmap", {3: 0x4023}, EPERM, EPERM, EPERM),  # the same, validated
        ("mmap", {3: 0x122}, EPERM, EPERM, EPERM),  # private, but it grows down
        ("mmap", {3: 0x22}, ALLOW, ALLOW, ALLOW),
        ("mmap", {3: 0x01}, ALLOW, ALLOW, ALLOW),  # of a file
    ],
)
def test_the_filter_decides(
    machine: str, name: str, arguments: dict[int, int], text: int, user: int, online: int
) -> None:
    words = {0: numbers(machine)[name], 4: ARCHITECTURES[machine]}
    words |= {16 + 8 * index: value for index, value in arguments.items()}
    for isolation, expected in ((TEXT, text), (Isolation(), user), (Isolation(network=True), online)):
        steps = program(isolation, machine, 4711)
        assert all(0 <= then < 256 and 0 <= otherwise < 256 for _code, then, otherwise, _value in steps)
        assert decide(steps, words) == expected, isolation


@pytest.mark.parametrize("machine", list(ARCHITECTURES))
def test_other_tables_of_calls_end_the_process_and_unknown_calls_pass(machine: str) -> None:
    steps = program(TEXT, machine, 4711)
    assert decide(steps, {0: 0, 4: 0x40000003}) == KILL  # i386
    assert decide(steps, {0: 0, 4: ARCHITECTURES[machine]}) == ALLOW
    if machine == "x86_64":
        assert decide(steps, {0: 0x40000000 | 59, 4: ARCHITECTURES[machine]}) == KILL


# -- processes ----------------------------------------------------------------------------------------------------


@linux_only
def test_jobs_that_may_do_different_things_never_meet_in_one_worker(tmp_path: Path) -> None:
    ways = [TEXT, Isolation(), Isolation("user", (str(tmp_path),)), Isolation(network=True)]
    with Pool(COMMAND, 1, Limits(seconds=20, memory=256 << 20)) as pool:
        seen = [pool.submit(untyped("pid"), None, isolation=way).result(PATIENCE) for way in ways[:3]]
        assert len(set(seen)) == 3
        assert [pool.submit(untyped("pid"), None, isolation=way).result(PATIENCE) for way in ways[:3]] == seen
        assert sorted(pool.worker_pids) == sorted(seen)
        pool.submit(untyped("pid"), None, isolation=ways[3]).result(PATIENCE)
        assert len(pool.worker_pids) == 3  # the one that was idle for the longest time is gone
        assert seen[0] not in pool.worker_pids


def test_functions_of_one_file_never_meet_those_of_another(tmp_path: Path) -> None:
    """What a file did to its worker (``builtins.__import__ = ...``) decides about no other file; a task has no file."""
    paths = [tmp_path / "a.py", tmp_path / "b.py", tmp_path / "a.step.yaml", tmp_path / "b.step.yaml"]
    with Pool(COMMAND, 1, Limits(seconds=20, memory=256 << 20)) as pool:
        a, b, first, second = (
            pool.submit(untyped("pid"), None, isolation=isolation_for(path, paths)).result(30) for path in paths
        )
        assert len({a, b, first}) == 3
        assert first == second
        again = [
            pool.submit(untyped("pid"), None, isolation=isolation_for(paths[i], paths)).result(30) for i in (0, 0, 1)
        ]
        assert again == [a, a, b]  # an editor's saves find their worker warm


_STAYING = [attempt for attempt in ATTEMPTS if attempt.path.stem.startswith("m_stay") and not attempt.needs]


@linux_only
@pytest.mark.parametrize("attempt", _STAYING, ids=lambda attempt: attempt.path.stem)
def test_without_namespaces_the_guardian_ends_what_the_worker_started(attempt: Attempt, tmp_path: Path) -> None:
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--no-namespaces")
        assert outcome.escapes == [], outcome.shown
        assert outcome.in_force is None or "subreaper" in outcome.in_force.layers["processes"].by


@linux_only
def test_without_namespaces_and_scopes_the_filter_keeps_the_guardian_alive(tmp_path: Path) -> None:
    if "seccomp" not in isolation_in_force(Isolation()).layers["calls"].by:
        pytest.skip("this kernel has no filters of calls")
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_stay_guardian_killed")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--no-namespaces", "--no-scopes")
        assert outcome.escapes == [], outcome.shown


@pytest.mark.parametrize("machine", list(ARCHITECTURES))
def test_the_filter_lets_no_signal_reach_a_guardian_that_is_seen(machine: str) -> None:
    steps = program(Isolation(), machine, 4711, guardian=4700)
    for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"):
        words = {0: numbers(machine)[name], 4: ARCHITECTURES[machine]}
        refused = [decide(steps, words | {16: to & 0xFFFFFFFF}) for to in (4700, -4700, -1)]
        assert refused == [EPERM] * 3, name
        assert decide(steps, words | {16: 4712}) == ALLOW


_MEMORY = [attempt for attempt in ATTEMPTS if attempt.path.stem[1:].startswith("_memory_")]


@linux_only
@pytest.mark.parametrize("attempt", _MEMORY, ids=lambda attempt: attempt.path.stem)
def test_without_namespaces_the_guardian_counts_the_memory(attempt: Attempt, tmp_path: Path) -> None:
    if "seccomp" not in isolation_in_force(Isolation()).layers["calls"].by:
        pytest.skip("this kernel has no filters of calls")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--no-namespaces")
        assert outcome.escapes == [], outcome.shown


@linux_only
def test_files_that_lie_in_memory_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without namespaces the scratch folder lies where the user's temporary files do: on many systems in memory."""
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_memory_files")
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("there is no file system in memory to write to")
    with tempfile.TemporaryDirectory(dir=shared) as folder, surroundings(tmp_path) as made:
        monkeypatch.setenv("TMPDIR", folder)
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--no-namespaces")
        assert outcome.shown.startswith("STEP406"), outcome.shown
        assert not list(Path(folder).iterdir())


@linux_only
def test_the_memory_of_a_worker_that_rests_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepcore.isolation import memory

    code = "import sys\nfor line in sys.stdin: print(sum(range(10**6)), flush=True)"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        watched = [worker.pid]
        looks: list[int] = []

        def counted() -> list[int]:
            looks.append(len(watched))
            return watched

        monkeypatch.setattr(memory, "_watched", counted)
        watch = memory.GroupMemory([], 2)

        def looked() -> bool:
            before = len(looks)
            watch._next = 0.0  # it is time to
            assert not watch.over()
            return len(looks) > before

        def rests() -> bool:
            return not looked()

        worker.stdin.write("go\n")
        worker.stdin.flush()
        assert worker.stdout.readline()
        assert eventually(rests)  # once it waits for its next line
        assert not looked()
        worker.stdin.write("go\n")
        worker.stdin.flush()
        assert worker.stdout.readline()
        assert looked()
        assert eventually(rests)
        watched.append(os.getpid())  # of two the first alone tells nothing
        worker.stdin.write("go\n")
        worker.stdin.flush()
        assert worker.stdout.readline()
        assert looked() and looked() and looked()
        worker.stdin.close()


@linux_only
def test_a_folder_of_the_run_in_shared_memory_is_not_hidden_by_a_private_one(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("there is no file system in memory to write to")
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_file_user_writes_beside")
    with tempfile.TemporaryDirectory(dir=shared) as folder, surroundings(Path(folder)) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made)
        assert outcome.escapes and outcome.escapes[0].startswith("it returned"), outcome.shown
        usual = isolation_in_force(Isolation("user", (str(tmp_path),))).layers["files"]
        assert outcome.in_force is not None
        assert outcome.in_force.layers["files"] == usual


@linux_only
@pytest.mark.parametrize("options", [(), ("--no-namespaces",)], ids=["namespaces", "subreaper"])
def test_memory_that_processes_take_together_is_told_as_what_it_is(options: tuple[str, ...], tmp_path: Path) -> None:
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == "m_memory_children")
    with surroundings(tmp_path) as made:
        shown = run_attempt(attempt, isolations(made)["user"], made, *options).shown
        assert shown == "STEP406 the memory limit was reached by all processes of the run together"


@linux_only
@pytest.mark.parametrize("name", ["file_write", "file_rename_in", "net_tcp", "net_unix", "ptrace", "file_read_text"])
def test_without_namespaces_the_other_layers_hold(name: str, tmp_path: Path) -> None:
    found = isolation_in_force(TEXT).layers
    if "seccomp" not in found["calls"].by or not any("Landlock" in means for means in found["files"].by):
        pytest.skip("this kernel has neither Landlock nor filters of calls")
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == f"m_{name}")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["text"], made, "--no-namespaces")
        assert outcome.escapes == [], outcome.shown
    assert outcome.guardian, "the worker was still there when the attempt had ended"
    assert not list(Path(tempfile.gettempdir()).glob(f"stepsmith-scratch-{outcome.guardian}-*"))


@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_outlives_verify(number: signal.Signals, tmp_path: Path) -> None:
    started = tmp_path / "started"
    leave = (
        "import os, subprocess, time\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "if not os.fork():\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\n"
        f"open({str(started)!r}, 'w').close()\n"
        "time.sleep(60)\n"
    )
    file = tmp_path / "leaving.py"
    file.write_text(PYTHON + leave, encoding="utf-8")
    mark = os.urandom(8).hex()
    env = {**os.environ, "ESCAPE_MARK": mark, "PYTHONPATH": str(ROOT)}
    # Shells let what they start in the background ignore SIGINT, and that is inherited: these tests may be run so.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    verify = subprocess.Popen([sys.executable, "-m", "stepcore.cli", "verify", str(file)], env=env, cwd=tmp_path)
    signal.signal(signal.SIGINT, ignored)
    assert eventually(started.exists)
    assert len(marked_processes(mark)) >= 5  # verify, guardian, worker, sleep, the child
    verify.send_signal(number)
    verify.wait(PATIENCE)
    assert eventually(lambda: marked_processes(mark) == [])


@linux_only
@pytest.mark.parametrize("blocks", [8, 2000])
def test_a_lower_limit_on_files_of_whoever_runs_this_stays(blocks: int, tmp_path: Path) -> None:
    file = tmp_path / "limited.py"
    file.write_text(PYTHON, encoding="utf-8")
    verify = f"ulimit -f {blocks}; exec {sys.executable} -m stepcore.cli verify limited.py | cat"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", verify], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 of 1 accepted" in done.stdout, done.stderr

"""Jobs on a Ray cluster of two nodes on this machine: the results, limits and losses of a cluster."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_tasks import TASKS
from llm_answers import JUDGED, PATH
from processes import PATIENCE, alive, eventually
from stepagents.cli.orders import read_orders
from stepagents.executors.executor import Executor
from stepagents.executors.opening import ExecutorChoice, open_executor
from stepagents.executors.ray import cluster
from stepagents.executors.ray import executor as executor_module
from stepagents.executors.ray.cluster import ClusterWatch, connect, missing
from stepagents.executors.ray.executor import RayExecutor, RayUnusable
from stepagents.executors.ray.output import apart
from stepagents.judge import Stage
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits
from stepagents.optimize.trials import SpreadTrials
from stepagents.optimize.worker import OPTIMIZE_WORKER
from stepagents.runs import WorkerSampler
from stepcore.cli import main
from stepcore.jobdata.judging import JUDGE, JudgeRequest
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Job, JobCancelled, JobError, Limits
from stepcore.rewrites import subject_of
from stepcore.timing.hardware import PRESETS

ray: Any = pytest.importorskip("ray")

TESTS = Path(__file__).parent
LIMITS = Limits(seconds=600, memory=1 << 30)
SECRET = "sk-not-for-workers"
STORE = 80 << 20
SOME = ("index_score_filter", "rope_gptj", "norm_rms_scalars")


def ray_processes() -> set[int]:
    """Processes of this user's Ray clusters."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(name in words[0] for name in (b"raylet", b"gcs_server", b"ray::")) and alive(int(path.parent.name)):
            found.add(int(path.parent.name))
    return found


class SlowClock:
    """The clock for Ray, which gives a node 30 seconds to start; these last as long as anything here may take."""

    _start = time.time()
    sleep = staticmethod(time.sleep)

    @classmethod
    def time(cls) -> float:
        return cls._start + (time.time() - cls._start) * 30 / PATIENCE

    @staticmethod
    def monotonic() -> float:
        return time.monotonic() * 30 / PATIENCE


class Nodes:
    """A cluster whose nodes have two CPUs and one CPU."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster: Any = Cluster(initialize_head=True, head_node_args=self.options(2))
        self.second = self.cluster.add_node(**self.options(1))
        self.cluster.wait_for_nodes()

    @staticmethod
    def options(cpus: int) -> dict[str, Any]:
        return {"num_cpus": cpus, "object_store_memory": STORE, "include_dashboard": False}

    @property
    def address(self) -> str:
        return str(self.cluster.address)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    before = ray_processes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("PYTHONPATH", str(TESTS))  # of the nodes' processes
        patch.setenv("SOME_API_KEY", SECRET)
        for module in ("ray._private.node", "ray._private.services", "ray.cluster_utils"):
            patch.setattr(f"{module}.time", SlowClock)
        found = Nodes()
        yield found
        ray.shutdown()
        found.cluster.shutdown()
    assert eventually(lambda: ray_processes() <= before)


@pytest.fixture
def executor(nodes: Nodes) -> Iterator[RayExecutor]:
    with RayExecutor(nodes.address, limits=LIMITS, module="job_worker") as opened:
        yield opened


@pytest.fixture(scope="class")
def calm(nodes: Nodes) -> Iterator[RayExecutor]:
    """The same, for tests that leave its slots as they are."""
    with RayExecutor(nodes.address, limits=LIMITS, module="job_worker") as opened:
        yield opened


@pytest.fixture(scope="class")
def places(nodes: Nodes) -> Iterator[tuple[Executor, Executor]]:
    """The cluster and this machine."""
    with (
        RayExecutor(nodes.address, size=2, limits=LIMITS) as far,
        open_executor(ExecutorChoice(workers=2), LIMITS) as near,
    ):
        yield far, near


class Progress:
    """Waits for the first report of a job."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.data: list[Any] = []

    def __call__(self, data: Any) -> None:
        self.data.append(data)
        self.came.set()


def failure(job: Job[Any]) -> JobError:
    with pytest.raises(JobError) as caught:
        job.result(PATIENCE)
    return caught.value


class TestJobs:
    """What leaves the slots as they are: starting three takes long, so these share them."""

    def test_jobs_run_on_all_nodes(self, calm: RayExecutor) -> None:
        assert calm.size == 3
        reports = [Progress() for _ in range(3)]
        jobs = [calm.submit(untyped("polite"), 3600.0, on_progress=report) for report in reports]
        assert all(report.came.wait(PATIENCE) for report in reports)  # three at a time need both nodes
        for job in jobs:
            job.cancel()
        for job in jobs:
            with pytest.raises(JobCancelled):
                job.result(PATIENCE)
        assert [calm.submit(untyped("echo"), number).result(PATIENCE) for number in range(8)] == list(range(8))

    def test_limits_failures_and_questions_are_those_of_the_local_pool(self, calm: RayExecutor) -> None:
        assert failure(calm.submit(untyped("sleep"), 60.0, seconds=0.5)).code == "STEP405"
        assert failure(calm.submit(untyped("hoard"), 2 << 30)).code == "STEP406"
        assert failure(calm.submit(untyped("leave"), 3)).code == "STEP407"
        failed = failure(calm.submit(untyped("fail"), "no"))
        assert (failed.code, failed.message, failed.detail) == ("STEP404", "no", {"line": 3})
        assert calm.submit(untyped("ask"), ["a", "b"], on_ask=lambda question: question * 2).result(PATIENCE) == [
            "aa",
            "bb",
        ]
        assert failure(calm.submit(untyped("ask"), ["a"])).message == "this owner answers no questions"

    def test_credentials_do_not_reach_jobs(self, calm: RayExecutor) -> None:
        found = calm.submit(untyped("environment"), None).result(PATIENCE)
        assert os.environ["SOME_API_KEY"] == SECRET
        assert SECRET not in found.values()


def test_a_search_for_faster_programs_finds_there_what_it_finds_here(nodes: Nodes) -> None:
    path = TESTS.parent / "examples" / "swiglu_tiles.py"
    subject = subject_of(path.read_text(), str(path), "expert")
    assert subject is not None
    target = OptimizeTarget(PRESETS["validation"])
    alone = Search(subject, target, SearchRecord(), SearchLimits(8))
    with RayExecutor(nodes.address, limits=LIMITS, module=OPTIMIZE_WORKER) as executor:
        spread = SpreadTrials(executor, subject, target)
        far = Search(subject, target, SearchRecord(), SearchLimits(8), spread=spread)
        for search in (alone, far):
            search.run()
    assert (far.archive.front, spread.problem) == (alone.archive.front, "")


def slot_processes() -> set[int]:
    return {pid for pid in ray_processes() if b"Slot" in command_of(pid)}


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:  # it has just ended
        return b""


class Question:
    """Answers the questions of a job once it may."""

    def __init__(self, release: threading.Event) -> None:
        self.release = release
        self.came = threading.Event()
        self.asked = 0

    def __call__(self, _question: Any) -> str:
        self.asked += 1
        self.came.set()
        self.release.wait(PATIENCE)
        return "there"


def test_a_lost_node_costs_one_attempt_of_its_jobs(nodes: Nodes, executor: RayExecutor) -> None:
    release = threading.Event()
    questions = [Question(release) for _ in range(3)]
    jobs = [executor.submit(untyped("ask"), ["?"], on_ask=question) for question in questions]
    assert all(question.came.wait(PATIENCE) for question in questions)
    slots = slot_processes()
    nodes.cluster.remove_node(nodes.second, allow_graceful=False)
    assert eventually(lambda: slot_processes() < slots)  # before its job could end
    release.set()
    assert [job.result(PATIENCE) for job in jobs] == [["there"]] * 3
    assert sorted(question.asked for question in questions) == [1, 1, 2]  # one ran twice


def test_a_job_that_loses_its_slot_again_is_given_up(executor: RayExecutor) -> None:
    def kill_the_slot(_question: Any) -> None:
        for pid in ray_processes():
            if b"Slot" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    lost = failure(executor.submit(untyped("ask"), ["?"], on_ask=kill_the_slot))
    assert (lost.code, lost.message) == ("STEP407", "its node or worker was lost 2 times")
    assert executor.submit(untyped("echo"), "still here").result(PATIENCE) == "still here"


def test_the_cluster_has_no_room(nodes: Nodes) -> None:
    patient = Limits(seconds=60, memory=1 << 30, start_seconds=1.0)
    with (
        RayExecutor(nodes.address, size=2, limits=LIMITS, module="job_worker") as first,
        RayExecutor(nodes.address, size=2, limits=patient, module="job_worker") as second,
    ):
        reports = [Progress() for _ in range(first.size)]
        for report in reports:
            first.submit(untyped("polite"), 3600.0, on_progress=report)
        assert all(report.came.wait(PATIENCE) for report in reports)
        assert "had a free CPU" in failure(second.submit(untyped("echo"), 1)).message
        assert "had a free CPU" in failure(second.submit(untyped("echo"), 2)).message


class TestAgents:
    """The same orders on the cluster and on this machine."""

    def test_the_search_gives_what_it_gives_locally(self, places: tuple[Executor, Executor]) -> None:
        orders = read_orders([str(TASKS / f"{name}.step.yaml") for name in SOME], 200_000, 120.0).orders
        results = [sorted(WorkerSampler(place).sample(orders), key=lambda item: item.task) for place in places]
        assert [(item.task, item.solutions, item.answers) for item in results[0]] == [
            (item.task, item.solutions, item.answers) for item in results[1]
        ]
        assert all(item.solved for item in results[0])

    def test_judging_gives_what_it_gives_locally(self, places: tuple[Executor, Executor]) -> None:
        text = PATH.read_text(encoding="utf-8")
        orders = [JudgeRequest(str(PATH), text, answer=answer, guarded=True) for answer, _stage in JUDGED.values()]
        jobs = [[place.submit(JUDGE, order, seconds=60) for order in orders] for place in places]
        rows = [[job.result(PATIENCE) for job in row] for row in jobs]
        found = [[(verdict.stage, verdict.impl) for (verdict,) in row] for row in rows]
        assert found[0] == found[1]
        assert Stage.ACCEPTED in dict(found[0])
        assert len(dict(found[0])) > 4  # and every other kind of verdict


def test_the_command_uses_the_cluster(nodes: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = str(TASKS / f"{SOME[0]}.step.yaml")
    words = ["--experience", "none", "--output", str(tmp_path), "--workers", "1"]
    assert main(["synth", task, *words, "--executor", "ray", "--ray-address", nodes.address]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"solved  {SOME[0]}")
    assert main(["verify", task, "--impl", str(tmp_path)]) == 0


def test_what_ray_prints_of_its_nodes_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with apart():
        ray = threading.Thread(target=print, args=("a node is lost",), name="ray_listen_error_messages")
        ray.start()
        ray.join()
        print("solved")
    assert sys.stdout is before
    assert capsys.readouterr() == ("solved\n", "a node is lost\n")


@pytest.mark.parametrize(
    ("address", "message"),
    [("nowhere", "no HOST:PORT"), ("ray://host:1", "no HOST:PORT"), ("127.0.0.1:1", "cannot be reached")],
)
def test_an_address_where_nothing_is(address: str, message: str) -> None:
    with pytest.raises(RayUnusable, match=message):
        open_executor(ExecutorChoice(ray=True, ray_address=address))


def test_a_node_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_options: Any) -> None:
        raise Exception("The current node timed out during startup. The machine is busy.")  # as Ray raises it

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(RayUnusable, match="Ray cannot be started here: The current node timed out"):
        connect(None, 3)
    monkeypatch.setattr(ray, "init", lambda: None)  # a mistake of ours: it takes no options
    with pytest.raises(TypeError):
        connect(None, 3)


def test_ray_is_started_here_without_credentials_and_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[dict[str, str], dict[str, Any]]] = []
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: seen.append((dict(os.environ), options)))
    assert connect(None, 3)
    ((environment, options),) = seen
    assert SECRET not in environment.values()
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert (options["address"], options["num_cpus"], options["include_dashboard"]) == ("local", 3, False)
    assert os.environ["SOME_API_KEY"] == SECRET


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepagents.executors.ray.cluster.find_spec", lambda _name: None)
    with pytest.raises(RayUnusable, match=r"pip install ray"):
        open_executor(ExecutorChoice(ray=True))


def test_a_cluster_that_is_gone_ends_its_jobs(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself waits for minutes, and then ends the process, with all that was found."""
    gone = threading.Event()
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.05)
    watch = partial(ClusterWatch, look=lambda: "the cluster is gone" if gone.is_set() else missing())
    monkeypatch.setattr(executor_module, "ClusterWatch", watch)
    with RayExecutor(nodes.address, size=1, limits=LIMITS, module="job_worker") as opened:
        came = Progress()
        running = opened.submit(untyped("polite"), 600.0, on_progress=came)
        assert came.came.wait(PATIENCE)
        waiting = opened.submit(untyped("echo"), 1)
        gone.set()
        for job in (running, waiting, opened.submit(untyped("echo"), 2) if eventually(lambda: opened.closed) else None):
            assert job is not None
            with pytest.raises(JobError, match="the cluster is gone") as raised:
                job.result(PATIENCE)
            assert raised.value.code == "STEP407"
        (driver,) = opened._drivers
        driver.thread.join(PATIENCE)
        assert not driver.thread.is_alive()
    ray.shutdown()


def test_a_cluster_is_gone_when_it_is_missing_several_times_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.001)
    for looks in (["no", "no", "no", "no", "", "no", "no", "", "no", "no", "no"], ["", "no", "no", "no"]):
        told: queue.SimpleQueue[str] = queue.SimpleQueue()
        asked = iter(looks)
        ClusterWatch(told.put, lambda asked=asked: next(asked))  # type: ignore[misc]
        assert told.get(timeout=PATIENCE) == "no"
        assert next(asked, None) is None  # no sooner

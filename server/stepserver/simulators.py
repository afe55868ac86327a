"""Worker processes for the open folders: which Python, which limits, and in which state they are.

One pool of one worker for each pair of interpreter and memory limit that a folder asks for. A pool is made only in a
trusted workspace; without trust nothing here starts a process.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ruamel.yaml

import stepcore
from stepcore.findings.codes import Phase, about
from stepcore.isolation import Isolation, isolation_for
from stepcore.jobdata.editor import SimulatorAction, SimulatorParams, SimulatorState
from stepcore.jobdata.kinds import JobKind, Request, Result
from stepcore.jobdata.programs import ABOUT, SIMULATE, Decided, SimulateNews, SimulateRequest, SimulateResult
from stepcore.jobs import JobCancelled, JobError, Limits, Pool
from stepcore.jobs.effort import CEILING
from stepcore.system.file_marks import mark_of
from stepserver.client import Client
from stepserver.documents import Module
from stepserver.editor import Editor
from stepserver.guard import Reporter
from stepserver.pools import OwnedPool, answer_of
from stepserver.projects import Projects
from stepserver.reads import kept
from stepserver.settings import limits_of
from stepserver.workspace import Workspace

STATUS: Final = "stepsmith/simulator"
START_SECONDS: Final = 120.0
_STARTS: Final = 2  # of a worker that a job may have to wait for
_GRACE: Final = 10.0  # beyond all limits, until the server stops waiting for a pool: that would be a defect
LAUNCHER: Final = Path(__file__).with_name("worker_launch.py")


@dataclass(frozen=True, slots=True)
class Status:
    """What the client shows about the simulator. ``action`` is what would help: "install", "select" or "log"."""

    state: SimulatorState
    message: str = ""
    action: SimulatorAction | None = None
    interpreter: str = ""
    version: str = ""
    torch: str = ""


_UNTRUSTED: Final = Status("untrusted", "this workspace is not trusted: programs are checked, but not simulated")
_OFF: Final = Status("off", "simulation is switched off (stepsmith.simulation.run)")


class Simulator:
    """One pool. Jobs run one at a time, in the order in which they came."""

    def __init__(self, owner: Simulators, interpreter: str, memory: int, network: bool) -> None:
        self._owner = owner
        self.interpreter = interpreter
        self.memory = memory
        self._network = network
        self.status = Status("starting", "the simulator starts", interpreter=interpreter)
        self._pool = OwnedPool(self._make_pool)
        self._turn = asyncio.Lock()
        self._warming: asyncio.Task[Any] | None = None
        self._is_warmed = False
        self._kept: dict[str, str] = {}  # modules of the user that the worker keeps, and their marks

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of its workers."""
        return self._pool.worker_pids

    def warm(self, module: Module) -> None:
        """Start the worker for a module in the background, once: the first simulation need not wait for torch."""
        if not self._is_warmed:
            self._is_warmed = True
            about = self._about(isolation_for(Path(module.path), network=self._network))
            self._warming = self._owner.reporter.start("the simulator", about)

    async def run(
        self,
        request: SimulateRequest,
        seconds: float,
        started: Callable[[], None],
        decided: Callable[[Decided], None],
    ) -> SimulateResult:
        """Simulate one program; calls ``started()`` when its turn comes, and ``decided`` with a verdict on the way.

        Ends in any case.

        Raises:
            JobError: it failed, or its limits were reached.
            CancelledError: the task that waits here was cancelled; then the job is stopped, too.
        """
        async with self._turn:
            if self._warming is not None:
                await asyncio.shield(self._warming)  # or its start would count as time of this job
            started()
            if any(mark_of(path) != mark for path, mark in self._kept.items()):
                await self.close()  # it would run what it imported before
            isolation = isolation_for(Path(request.path), network=self._network)
            try:
                result = await self._submit(SIMULATE, request, seconds, isolation, verdicts_for(decided))
            except JobError as error:
                self._kept |= kept(error.detail.get("reads"))
                raise
            self._kept |= kept(result.reads)
            return result

    async def close(self) -> None:
        """Kill what runs; does not block the loop."""
        self._kept = {}
        await self._pool.close()

    def close_now(self) -> None:
        """Kill what runs, and wait for it."""
        self._pool.close_now()

    async def _submit(
        self,
        kind: JobKind[Request, Any, Result],
        request: Request,
        seconds: float,
        isolation: Isolation,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Result:
        patience = CEILING * (seconds + _STARTS * START_SECONDS) + _GRACE  # limits count work, not this clock
        try:
            problem = unusable_interpreter(self.interpreter)
            if problem:
                raise JobError("STEP410", problem, {"action": "select"})
            pool = self._pool.started()
            job = pool.submit(kind, request, seconds=seconds, isolation=isolation, on_progress=on_progress)
            value = await answer_of(job, patience)
        except TimeoutError:
            raise JobError(
                "STEP405", f"the simulator gave no answer within {patience:g} s; the simulation was given up"
            ) from None
        except JobError as error:
            self._note(error)
            if about(error.code).phase is Phase.SET_UP:
                await self.close()  # a worker that lacks something does not notice when it is installed
            raise
        if self.status.state != "ready":
            self._set(Status("ready", "the simulator is ready", None, self.interpreter))
        return value

    async def _about(self, isolation: Isolation) -> None:
        try:
            self._set(Status("starting", "the simulator starts", interpreter=self.interpreter))
            found = await self._submit(ABOUT, None, 30.0, isolation)
        except (JobError, JobCancelled):
            return  # the status says it
        finally:
            self._warming = None
        text = f"the simulator is ready: PyTorch {found.torch}, Python {found.python}"
        self._set(Status("ready", text, None, self.interpreter, found.python, found.torch))

    def _note(self, error: JobError) -> None:
        """Let the status say what is wrong with the simulator itself; failures of programs are none of it."""
        if about(error.code).phase is Phase.SET_UP:
            action = error.detail.get("action", "install")
            text = error.message
            if "PyTorch" in text:
                text = f"simulation needs PyTorch, which {self.interpreter} does not have: pip install torch numpy"
            self._set(Status("missing", f"{text}. Static checks go on without it.", action, self.interpreter))
        elif error.detail.get("action") == "log":  # it did not start
            self._set(Status("failed", error.message, "log", self.interpreter))

    def _set(self, status: Status) -> None:
        self.status = status
        self._owner.changed()

    def _make_pool(self) -> Pool:
        limits = Limits(memory=self.memory << 20, start_seconds=START_SECONDS)
        environment = worker_environment(self._owner.workspace.client)
        return Pool(worker_command(self.interpreter, "stepcore.sim.worker"), 1, limits, environment)


class Simulators:
    """All simulators, and what the client was told about them."""

    def __init__(self, workspace: Workspace, projects: Projects, editor: Editor, reporter: Reporter) -> None:
        self.workspace = workspace
        self.reporter = reporter
        self._projects = projects
        self._editor = editor
        # Each folder of a workspace has its own: modules of one name in two folders must not meet in one process.
        self._simulators: dict[tuple[str, str, int, bool], Simulator] = {}
        self._told: Status | None = None

    def __iter__(self) -> Iterator[Simulator]:
        return iter(list(self._simulators.values()))

    def of(self, module: Module) -> Simulator | None:
        """Return the simulator for a module; None where simulation is off or not trusted."""
        workspace = self.workspace
        settings = workspace.settings_of(module.uri)
        if not workspace.is_trusted or settings.run == "off":
            return None
        interpreter = workspace.interpreter_of(module.uri)
        held = limits_of(settings, self._projects.project(module).config)
        key = (workspace.folder_of(module.uri), interpreter, held.memory, held.network)
        if key not in self._simulators:
            self._simulators[key] = Simulator(self, interpreter, held.memory, held.network)
        return self._simulators[key]

    @property
    def hindrance(self) -> Status:
        """Why :meth:`of` has nothing for a module."""
        return _OFF if self.workspace.is_trusted else _UNTRUSTED

    @property
    def status(self) -> Status:
        """The state of the whole: the worst of those that are in use."""
        if not self.workspace.is_trusted:
            return _UNTRUSTED
        if self.workspace.settings.run == "off":
            return _OFF
        states: list[Status] = [simulator.status for simulator in self]
        if not states:
            return Status("off", "no program is open; the simulator starts with the first")
        order = ("missing", "failed", "starting", "ready")
        return min(states, key=lambda status: order.index(status.state))

    def changed(self) -> None:
        """Tell the client about a new state."""
        status = self.status
        if status != self._told:
            self._told = status
            self._editor.tell(STATUS, SimulatorParams(status.state, status.message, status.action))

    async def reset(self) -> None:
        """Close all workers; the next use starts them as the settings then say."""
        old, self._simulators = list(self._simulators.values()), {}
        await asyncio.gather(*(simulator.close() for simulator in old))
        self.changed()

    def close(self) -> None:
        """Kill all workers and wait for it; for the end of the process."""
        for simulator in self:
            simulator.close_now()


def verdicts_for(decided: Callable[[Decided], None]) -> Callable[[SimulateNews], None]:
    """Return what a pool's thread tells of a simulation: verdicts go to ``decided``, in the loop that runs now."""
    loop = asyncio.get_running_loop()

    def progress(news: SimulateNews) -> None:
        if isinstance(news, Decided) and not loop.is_closed():
            loop.call_soon_threadsafe(decided, news)

    return progress


def worker_command(interpreter: str, module: str) -> tuple[str, ...]:
    """Return what starts the worker ``module`` in an interpreter, with our libraries wherever they are installed.

    The agents' are in a folder of their own while they are developed; the server must not import them to find it.
    """
    core = Path(stepcore.__file__).parents[1]
    folders = [core, core / "agents", Path(ruamel.yaml.__file__).parents[2]]
    return (interpreter, str(LAUNCHER), module, *dict.fromkeys(map(str, folders)))


def worker_environment(client: Client) -> dict[str, str]:
    """Return what is added to the environment of workers.

    Where the server's own libraries are bundled, its PYTHONPATH leads to them and is not the user's.
    """
    return {"PYTHONPATH": client.python_path}


def unusable_interpreter(path: str) -> str:
    """Return why no worker can be started with this Python; empty where nothing speaks against it."""
    if shutil.which(path) is not None:
        return ""
    reason = "cannot be run" if os.path.exists(path) else "does not exist"  # noqa: PTH110 - it may be a bare name
    return f"the Python {path} {reason}: choose another (setting stepsmith.interpreter)"

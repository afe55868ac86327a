"""The judge: candidates a second at published sizes, where the checker rejects them and where all are simulated."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

from benchmarks.harness import TASKS, BenchReport
from stepcore.records import Record

WORKERS: Final = 2
_COUNT: Final = 60  # candidates of each kind and task
_WARM: Final = 5
_PUBLISHED: Final = 8.0
_GOALS: Final = {"rejected": 1500.0, "simulated": 600.0}

_barrier: Any = None


class Speed(Record):
    """What one process judged of one kind: wall-clock and processor seconds, and where the candidates stopped."""

    kind: str
    count: int
    wall: float
    cpu: float
    stages: Counter[str]


def run() -> BenchReport:
    """Judge distinct candidates for the 26 tasks in two processes at once."""
    context = get_context("spawn")
    barrier = context.Barrier(WORKERS)
    paths = sorted(str(path) for path in TASKS.glob("*.step.yaml"))
    with ProcessPoolExecutor(WORKERS, mp_context=context, initializer=_prepare, initargs=(barrier,)) as pool:
        jobs = [pool.submit(_judge, paths[number::WORKERS]) for number in range(WORKERS)]
        speeds = [speed for job in jobs for speed in job.result()]
    columns = ("candidates", "distinct", "per second", "per CPU second, both processes", "stopped at")
    report = BenchReport("judge", "Judge: candidates at published sizes, two processes, each candidate once", columns)
    for kind, least in _GOALS.items():
        mine = [speed for speed in speeds if speed.kind == kind]
        count = sum(speed.count for speed in mine)
        wall = count / max(speed.wall for speed in mine)
        cpu = sum(speed.count / speed.cpu for speed in mine)
        stages = sum((speed.stages for speed in mine), Counter[str]())
        told = ", ".join(f"{stage} {number}" for stage, number in stages.most_common())
        report.rows.append([kind, str(count), f"{wall:,.0f}", f"{cpu:,.0f}", told])
        report.figures[kind] = {"count": count, "per second": wall, "per cpu second": cpu, "stages": dict(stages)}
        report.goal(f"{kind}, per second", wall, least, at_least=True)
        report.goal(f"{kind}, per second of both processes' CPU time", cpu, least, at_least=True)
        report.goals.append(
            f"        {kind}: {wall / _PUBLISHED:.0f} times the published system's {_PUBLISHED:g} a second"
        )
    return report


def _prepare(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603 - pools hand what is shared to their processes in no other way
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    _barrier = barrier


def _judge(paths: list[str]) -> list[Speed]:
    """Judge the candidates of some tasks; the clock starts when each task's data and references exist."""
    from benchmarks.candidates import candidates
    from stepagents.judge import Judge
    from stepcore.frontend.yaml.tasks import read_task

    work: dict[str, list[tuple[Judge, list[str]]]] = {kind: [] for kind in _GOALS}
    for path in paths:
        task = read_task(Path(path).read_text(encoding="utf-8"), path)
        assert task.impl is not None
        judge = Judge(task)
        judge.judge_program(task.impl.source.text)
        rejected, simulated = candidates(task, _COUNT)
        _warm(judge, simulated)
        work["rejected"].append((judge, rejected))
        work["simulated"].append((judge, simulated))
    return [_timed(kind, pairs) for kind, pairs in work.items()]


def _warm(judge: Any, texts: list[str]) -> None:
    """Take a few programs out and judge them, until one had wrong values: that makes the task's data in fp64."""
    for _ in range(min(_WARM, len(texts) - 1)):
        if judge.judge_program(texts.pop(0)).stage.value == "values":
            break


def _timed(kind: str, pairs: list[tuple[Any, list[str]]]) -> Speed:
    stages: Counter[str] = Counter()
    _barrier.wait()
    start, cpu = perf_counter(), process_time()
    for judge, texts in pairs:
        for text in texts:
            found = judge.judge_program(text)
            stages["repeated" if found.repeated else found.stage.value] += 1
    return Speed(kind, sum(stages.values()), perf_counter() - start, process_time() - cpu, stages)

"""Verification of what a search found, by the judge of `stepsmith verify`: on data of several seeds and at other sizes.

All programs of the file are verified, because they may share what was rewritten; none of them may take more cycles.
Those that were wrong before say nothing of a rewrite, and hinder none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from stepagents.executors.executor import available_cpus
from stepagents.optimize.candidates import STEPS
from stepagents.optimize.outcome import Ended
from stepcore.check import check_text
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.isolation import isolation_for
from stepcore.jobdata.programs import VERIFY, VerdictRow, VerifyRequest
from stepcore.jobs import Job, JobCancelled, JobError, Limits, Pool
from stepcore.jobs.effort import Effort, usage_of_tree
from stepcore.records import Record
from stepcore.rewrites import RewriteSubject
from stepcore.settings.limits import InForce
from stepcore.timing.hardware import Hardware

_LAST_SECONDS: Final = 1.0  # of work, see stepcore.jobs.effort, after its user wanted an end
_LATE_SECONDS: Final = 10.0  # of work, after its time was over
_ENDINGS: Final[Mapping[Ended, str]] = {"stopped": "interrupted", "time": "its time was over"}
SEEDS: Final = (42, 7, 20_011)
_Verification: TypeAlias = Job[tuple[VerdictRow, ...]]


class TextVerdict(Record):
    """Whether a text is right; ``reason`` says why not.

    Nobody knows where there was an end before (``ended``), or where it could not be run (``failed``).
    """

    accepted: bool
    reason: str = ""
    ended: Ended = ""
    failed: bool = False


@dataclass
class Judges:
    """Verifies texts of one file. ``others`` are cycles of its other programs as they are, which must not grow.

    ``wrong`` names those of them that do not verify as they are.

    Once its user wants an end a verification of the program as it is is given up; those of what was found, which are to
    be kept, have a last second of work together, whatever the functions of the file do. Once ``is_late``, all of them
    have ten seconds of work together.
    """

    subject: RewriteSubject
    chip: Hardware
    limits: InForce
    pool: Pool | None = None  # of its owner, who closes it; else one is started
    is_stopped: Callable[[], bool] = lambda: False  # whether its user wants an end
    is_late: Callable[[], bool] = lambda: False  # whether its time is over
    others: Mapping[str, int] = field(init=False)
    bigger: Mapping[str, int] = field(init=False, default_factory=dict)
    wrong: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self.others = self._cycles(self.subject.text)
        self._last: Effort | None = None  # what may be done after an end
        self._ended: Ended = ""
        self._pool = self.pool or Pool(size=available_cpus(), limits=Limits(memory=self.limits.memory << 20))

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *error: object) -> None:
        if self.pool is None:
            self._pool.close()

    def begin(self) -> TextVerdict:
        """Verify the program as it is; where it is right at twice its sizes, what comes of it has to be so, too."""
        bigger = self._twice()
        jobs = self._verify(self.subject.text, [(SEEDS[0], {})])
        larger = self._verify(self.subject.text, [(SEEDS[0], bigger)]) if bigger else []
        self.wrong = _wrong(jobs, self._is_given_up) - {self.subject.name}
        found = self._verdict(jobs, self._is_given_up)
        if larger and found.accepted and self._verdict(larger, self._is_given_up).accepted:
            self.bigger = bigger
        _end(larger)
        return found

    def prove(self, texts: Sequence[str]) -> Iterator[TextVerdict]:
        """Verify texts on several seeds, and at other sizes where the old one was right there; yield in their order."""
        runs: list[tuple[int, Mapping[str, int]]] = [(seed, {}) for seed in SEEDS]
        runs += [(SEEDS[0], self.bigger)] if self.bigger else []
        begun = [("" if self._is_over() else self._slower(text), text) for text in texts]
        jobs = [[] if slower else self._verify(text, runs) for slower, text in begun]
        try:
            for (slower, _text), asked in zip(begun, jobs, strict=True):
                yield TextVerdict(False, slower) if slower else self._verdict(asked, self._is_over)
        finally:
            for asked in jobs:
                _end(asked)

    def _is_given_up(self) -> bool:
        """Whether the program as it is is waited for no longer; where its user wants an end, nothing of it is kept."""
        return self._is_over() or self.is_stopped()

    def _is_over(self) -> bool:
        """Whether its user wanted an end or its time is over, and what workers may do after that is done."""
        if self._ended != "stopped" and self.is_stopped():
            self._ended, self._last = "stopped", Effort(_LAST_SECONDS, self._usage)
        elif not self._ended and self.is_late():
            self._ended, self._last = "time", Effort(_LATE_SECONDS, self._usage)
        return self._last is not None and bool(self._last.over())

    def _usage(self) -> tuple[float, bool]:
        """Return what the workers have used together, and whether one wants more."""
        found = [usage for pid in self._pool.worker_pids if (usage := usage_of_tree(pid)) is not None]
        return sum(used for used, _wants in found), any(wants for _used, wants in found)

    def _slower(self, text: str) -> str:
        """Return what is wrong with the other programs of the file, "" for nothing."""
        found = self._cycles(text) if self.others else {}
        for name, before in self.others.items():
            cycles = found.get(name)
            if cycles is None:  # it ran to its end before
                return f"{name}, which shares its file, would stop"
            if cycles > before:
                return f"{name}, which shares its file, would take more cycles"
        return ""

    def _verdict(self, jobs: Sequence[_Verification], is_over: Callable[[], bool]) -> TextVerdict:
        """Wait until a verification of a text says that it is wrong, all say that it is right, or it is over."""
        try:
            reasons = (_outcome(job, self.wrong, is_over) for job in jobs)
            wrong = next((reason for reason in reasons if reason is not None), None)
        except JobCancelled:
            ended = self._ended or "stopped"
            return TextVerdict(False, _ENDINGS[ended], ended)
        except JobError as error:
            return TextVerdict(False, f"{error.code} {error.message}", failed=True)
        finally:
            _end(jobs)
        return TextVerdict(wrong is None, wrong or "")

    def _twice(self) -> dict[str, int]:
        """Return all sizes that may be bound otherwise, doubled."""
        spec = self.subject.checked.spec
        fixed, bound = dict(spec.fixed), spec.bindings()
        return {name: 2 * bound[name] for name in sorted(spec.symbols()) if name in bound and name not in fixed}

    def _verify(self, text: str, runs: Sequence[tuple[int, Mapping[str, int]]]) -> list[_Verification]:
        path = Path(self.subject.path)
        place, isolation = str(path.absolute()), isolation_for(path, [path], network=self.limits.network)
        jobs: list[_Verification] = []
        for seed, dims in runs:
            program = self.subject.name if dims else None  # other programs may not stand the same sizes
            request = VerifyRequest(str(path), text, place, program, None, dict(dims), seed, self.subject.affine)
            jobs.append(self._pool.submit(VERIFY, request, seconds=self.limits.seconds, isolation=isolation))
        return jobs

    def _cycles(self, text: str) -> dict[str, int]:
        """Return the cycles of the other programs of the file that run to their end, as far as they can be timed."""
        found: dict[str, int] = {}
        for program in check_text(text, self.subject.path, affine=self.subject.affine, with_fixes=False).programs:
            if program.name != self.subject.name:
                try:
                    cycles = time_program(program, self.chip, budget=STEPS).cycles
                except NotTimed:
                    continue
                if cycles is not None:
                    found[program.name] = cycles
        return found


def _wrong(jobs: Sequence[_Verification], is_over: Callable[[], bool]) -> frozenset[str]:
    """Return the names of the programs that a verification rejects; none where it has no result."""
    try:
        return frozenset(row.task for job in jobs for row in job.result_unless(is_over) if not row.accepted)
    except (JobError, JobCancelled):
        return frozenset()  # which the verdict tells


def _end(jobs: Sequence[_Verification]) -> None:
    for job in jobs:
        job.cancel()


def _outcome(job: _Verification, known: frozenset[str], is_over: Callable[[], bool]) -> str | None:
    """Return why what a job verified is wrong; None where it is right.

    Raises:
        JobCancelled: it was over first.
        JobError: there is no verdict.
    """
    rows = [row for row in job.result_unless(is_over) if row.task not in known]
    wrong = next((row for row in rows if not row.accepted), None)
    if wrong is None:
        return None if rows else "there is no program in it"
    parts = (part.detail for part in (wrong.shape, wrong.functional, wrong.affine) if not part.ok)
    return next(parts, "it was rejected")

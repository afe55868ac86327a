"""The judge: text from any proposer -> program -> checks -> simulation -> a verdict that can go back to a model.

Nothing that a model wrote is executed: programs are parsed into the graph and interpreted. torch is loaded when the
first judge is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, Final

from stepagents.extract import MAX_ANSWER, extract
from stepagents.guardian import guard
from stepcore.check.elsewhere import elsewhere
from stepcore.check.files import task_faults
from stepcore.check.programs import Checked, ImplChecker
from stepcore.findings.codes import Phase, Subject, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.printing.task import canonical_key
from stepcore.records import Record
from stepcore.text.span import Embedded

if TYPE_CHECKING:
    from stepcore.findings.verdict import Verdict

_MOST_FINDINGS: Final = 5  # told to a model at once
_MEMORY: Final = 1 << 30


class Stage(StrEnum):
    """How far a candidate got. Each name says what stopped it, the last that nothing did."""

    NO_PROGRAM = "no program"
    SYNTAX = "syntax"
    NAMES = "names and operators"
    TYPES = "types"
    AFFINE = "affine"
    OUTPUTS = "outputs"
    RUN = "run"
    VALUES = "values"
    FRESH = "fresh data"
    ACCEPTED = "accepted"


class Judgement(Record):
    """The verdict on one answer.

    ``impl`` is the program that was judged (after the guardian, if it took part), empty where none was found.
    ``message`` explains the stop to whoever wrote it; ``note`` says what the verdict on a right program is not worth.
    ``key`` is equal for equal programs; ``repeated`` tells that an equal one was judged before, whose verdict this is.
    """

    stage: Stage
    message: str = ""
    code: str = ""
    impl: str = ""
    key: str = ""
    repeated: bool = False
    seconds: float = 0.0
    note: str = ""
    verdict: Verdict | None = None

    @property
    def accepted(self) -> bool:
        """Whether the program is right."""
        return self.stage is Stage.ACCEPTED


class Judge:
    """Judges answers to one task; what does not depend on the answer is done once.

    Args:
        task: the task; its own ``impl`` is never looked at.
        dims: sizes of the run, the published ones by default.
        seed: of the test data.
        guarded: insert missing copies before judging.
        fresh: judge accepted programs again on other seeds and other sizes.

    Raises:
        ValueError: the file describes no task.
        stepcore.findings.errors.SimError: its functions or its reference have errors, its data cannot be drawn or its
            reference fails.
    """

    def __init__(
        self,
        task: TaskFile,
        dims: Mapping[str, int] | None = None,
        seed: int = 42,
        *,
        guarded: bool = False,
        fresh: bool = True,
    ) -> None:
        from stepagents.worlds import TaskSessions
        from stepcore.findings.errors import SimError

        self._task = replace(task, impl=None)
        self._checker = ImplChecker(self._task, dict(dims or {}))
        for fault in task_faults(task):
            raise SimError(fault.code, fault.message, span=fault.span)
        self._checks = TaskSessions(self._checker.spec, dict(dims or {}), seed, _MEMORY)
        self._guarded = guarded
        self._fresh = fresh
        self._known: dict[str, Judgement] = {}

    def prepare(self) -> None:
        """Compute the references now.

        Raises:
            stepcore.findings.errors.SimError: they cannot be computed, so no program could be right.
        """
        self._checks.main.world.references()

    def remember(self, judged: Judgement) -> None:
        """Take the verdict on ``judged.key`` from elsewhere: an equal program is not judged again here."""
        self._known.setdefault(judged.key, judged)

    def judge(self, answer: str) -> Judgement:
        """Judge one answer. Never raises for what the answer holds."""
        start = perf_counter()
        found = self._judge(answer)
        return replace(found, seconds=perf_counter() - start)

    def _judge(self, answer: str) -> Judgement:
        extracted = extract(answer)
        if extracted is None:
            long = f" in its first {MAX_ANSWER:,} characters" if len(answer) > MAX_ANSWER else ""
            text = f"There is no program in the answer{long}. Write it under `impl: |-` in one fenced block."
            return Judgement(Stage.NO_PROGRAM, text)
        return self.judge_program(extracted.text)

    def judge_program(self, text: str) -> Judgement:
        """Judge a program that needs no extraction."""
        try:
            if self._guarded:
                guarded = guard(self._checker, text)
                text, checked = guarded.text, guarded.checked
            else:
                checked = self._checker.check(Embedded.whole(text))
        except (RecursionError, MemoryError):
            return Judgement(Stage.SYNTAX, "The program is nested too deeply to be read.", "STEP902", text)
        key = _key(checked, text)
        if key and key in self._known:
            return replace(self._known[key], impl=text, repeated=True)
        judged = replace(self._verdict(checked, text), impl=text, key=key)
        if key:
            self._known[key] = judged
        return judged

    def _verdict(self, checked: Checked, text: str) -> Judgement:
        errors = [item for item in checked.diagnostics if item.severity is Severity.ERROR]
        for stage in _STAGES:
            mine = [item for item in errors if _stage(item) is stage]
            if mine:
                return Judgement(stage, _told(mine, text), mine[0].code)
        if not checked.runnable:
            return Judgement(Stage.TYPES, "The program is incomplete: end it with `return STREAM`.", "STEP220")
        verdict = self._checks.main.verify(checked)
        if not verdict.accepted:
            return _stopped(verdict)
        if self._fresh:
            failed = self._wrong_elsewhere(checked, text)
            if failed is not None:
                return failed
        untested = self._checks.untested(verdict.untested) if self._fresh else verdict.untested
        note = "" if untested is None else untested.coded
        return Judgement(Stage.ACCEPTED, note=note, verdict=verdict)

    def _wrong_elsewhere(self, checked: Checked, text: str) -> Judgement | None:
        """Judge a program that was right on other data; where its graph follows sizes, what it is at other sizes."""
        for session, where in self._checks.fresh():
            there = checked if checked.followed is None else self._sized(session.spec, text)
            errors = [item for item in there.diagnostics if item.severity is Severity.ERROR]
            again = session.verify(there)
            if errors or not again.accepted:
                failed = Judgement(Stage.FRESH, _told(errors, text), errors[0].code) if errors else _stopped(again)
                return replace(failed, stage=Stage.FRESH, message=f"{_NOT_HERE} {where}: {failed.message}")

        def at(sizes: Mapping[str, int]) -> Checked | None:
            spec = self._checks.sized(sizes)
            return None if spec is None else self._sized(spec, text)

        from stepcore.sim.everywhere import wrong_there

        for sizes, there in elsewhere(checked, at):
            wrong = wrong_there(there, self._checks.make)
            if wrong is not None:
                where = ", ".join(f"{name}={size}" for name, size in sizes.items())
                return Judgement(Stage.FRESH, f"{_NOT_HERE} with {where}: {wrong[1]}", wrong[0])
        return None

    def _sized(self, spec: ProgramSpec, text: str) -> Checked:
        return ImplChecker(replace(self._task, spec=spec)).check(Embedded.whole(text))


_NOT_HERE: Final = "The program is right on the first data, but not"


def _key(checked: Checked, text: str) -> str:
    """Return what equal programs share.

    A graph that follows sizes is only that of the first ones, and one of a text with errors what that is taken for: the
    text counts.
    """
    if not checked.runnable:
        return ""
    key = canonical_key(checked.graph)
    if checked.followed is None and not any(item.severity is Severity.ERROR for item in checked.diagnostics):
        return key
    return f"{key}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


_STAGES: Final = (Stage.SYNTAX, Stage.NAMES, Stage.TYPES, Stage.AFFINE, Stage.OUTPUTS)
_OF_PHASES: Final = {
    Phase.SYNTAX: Stage.SYNTAX,
    Phase.NAMES: Stage.NAMES,
    Phase.FUNCTIONS: Stage.NAMES,
    Phase.AFFINE: Stage.AFFINE,
    Phase.OUTPUTS: Stage.OUTPUTS,
}


def _stage(found: Diagnostic) -> Stage:
    """Return how far a program with this error gets; one that does not end is a piece of text only."""
    info = about(found.code)
    return Stage.SYNTAX if info.subject is Subject.END else _OF_PHASES.get(info.phase, Stage.TYPES)


def _told(found: list[Diagnostic], text: str) -> str:
    """Return findings with the lines that they are about."""
    lines = text.split("\n")
    told: list[str] = []
    for item in found[:_MOST_FINDINGS]:
        number = text.count("\n", 0, max(item.span.start, 0))
        line = lines[min(number, len(lines) - 1)].strip()
        told.append(f"Line {number + 1} (`{line[:120]}`): {item.code} {item.message}")
    if len(found) > _MOST_FINDINGS:
        told.append(f"... and {len(found) - _MOST_FINDINGS} more.")
    return "\n".join(told)


def _stopped(verdict: Verdict) -> Judgement:
    """Return the judgement on a program that ran, or could not."""
    functional = verdict.functional
    if not functional.ok and verdict.mismatch is None and functional.max_abs_error is None:
        return Judgement(Stage.RUN, f"{functional.code} {functional.detail}", functional.code, verdict=verdict)
    if not functional.ok:
        text = f"The types are right, but not the values: {functional.detail}"
        return Judgement(Stage.VALUES, text, functional.code, verdict=verdict)
    if not verdict.shape.ok:
        return Judgement(Stage.OUTPUTS, verdict.shape.detail, "STEP214", verdict=verdict)
    return Judgement(Stage.AFFINE, verdict.affine.detail, "STEP101", verdict=verdict)

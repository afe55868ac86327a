"""The samples of one task: ask, judge, let the guardian or the model itself mend, count. For one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, TypeAlias

from stepagents.judge import Stage
from stepagents.llm import prompts
from stepagents.llm.answering import Answering, MakeMessages
from stepagents.llm.faults import FATAL, Fault
from stepagents.llm.judging import TaskJudge
from stepagents.llm.ledger import StoredAnswer
from stepagents.llm.options import Guardian, SamplingOptions
from stepagents.llm.restraint import Restraint
from stepagents.llm.transcript import Answered, Heard
from stepagents.llm.transport import FaultError, Message
from stepagents.sampling import Sampled
from stepagents.task_text import task_text
from stepcore.graph.task import TaskFile
from stepcore.jobdata.judging import JudgeResult
from stepcore.jobdata.writing import Experience

_QUOTED: Final = 4000  # characters of an answer without a program that go back to the model
_TOLD_OUTCOMES: Final = 5

# A wrong answer and what the judge said about it, for a structured conversation or not.
Turn: TypeAlias = Callable[[bool], tuple[Message, Message]]


class Tries:
    """Everything that is tried for one task; ``sampled`` is kept up to date, so that it may end at any moment."""

    def __init__(
        self,
        answering: Answering,
        options: SamplingOptions,
        judge: TaskJudge,
        task: TaskFile,
        demonstrations: Sequence[Experience],
        sampled: Sampled,
        tell: Callable[[], None],
        heard: Heard,
        seed: int = 0,
    ) -> None:
        self._answering = answering
        self._options = options
        self._judge = judge
        self._text, self._dialect = task_text(task), task.dialect
        self._demonstrations = demonstrations
        self._sampled = sampled
        self._tell = tell
        self._heard = heard
        self._count_heard = 0
        self._seed = seed
        self.restraint = Restraint(options.answers_without_program if options.early_stop else None)
        self._output_tokens = options.output_tokens or answering.transport.output_tokens
        self._solutions: dict[str, str] = {}  # by canonical key
        self._prompts: dict[bool, list[Message]] = {}
        self._why = ""
        self._closed = False  # nothing more can be asked
        self._is_late = False
        self.over = asyncio.Event()  # no more samples are wanted
        self.judging: set[asyncio.Task[None]] = set()  # what is paid for, and not counted yet
        self.began: float | None = None

    @property
    def solved_early(self) -> bool:
        """Whether it ended because one right program is enough."""
        return self._options.early_stop and self._sampled.solved

    def begin(self, seconds: float) -> None:
        """Start the task's clock."""
        self.began = perf_counter()
        asyncio.get_running_loop().call_later(seconds, self._expire, seconds)

    def _expire(self, seconds: float) -> None:
        self._why = self._why or f"no right program within {seconds:g} s"
        self._is_late = True
        self.over.set()

    def reason(self) -> str:
        """Say why nothing was found."""
        outcomes = self._sampled.outcomes.most_common(_TOLD_OUTCOMES)
        counts = ", ".join(f"{name} {count}" for name, count in outcomes)
        answers = self._sampled.answers
        why = self._why or (f"none of {answers} answers was right" if answers else "no answer came")
        told = next((self._answering.faults[name] for name, _ in outcomes if name in self._answering.faults), "")
        return f"{why}{f' ({counts})' if counts else ''}{f'; {told}' if told and told != why else ''}"

    async def sample(self, number: int) -> None:
        """Get one answer and everything that follows from it. Whoever calls this has entered the restraint."""
        temperatures = self._options.temperatures
        temperature = temperatures[number % len(temperatures)] if temperatures else None
        turns: list[Turn] = []
        for attempt in range(self._options.repair + 1):
            if attempt and not self.restraint.enter_at_once():
                return
            turn = await self._attempt(number, turns, temperature)
            if turn is None or attempt == self._options.repair or self.over.is_set():
                return
            turns.append(turn)

    async def _attempt(self, number: int, turns: Sequence[Turn], temperature: float | None) -> Turn | None:
        """Ask and judge once; return what a correction needs, None where there is to be none."""
        holds_program: bool | None = None
        try:
            stored = await self._ask(number, self._conversation(turns), temperature, _role(len(turns)))
            if stored is None:
                holds_program = None if self._closed or self.over.is_set() else False
                return None
            verdict = await self._judged(stored, number, _role(len(turns)))
            holds_program = verdict is None or verdict.stage != Stage.NO_PROGRAM
            return None if verdict is None or verdict.accepted else _turn(stored.text, verdict)
        finally:
            await self.restraint.leave(holds_program)
            if self.restraint.is_exhausted:
                self._give_up()

    def _give_up(self) -> None:
        """Ask no further: this model writes no programs."""
        most = self.restraint.most
        self._why = self._why or (
            f"stopped at the limit answers_without_program = {most}: none of the first {most} answers held a program"
        )
        self._closed = True
        self.over.set()

    def _conversation(self, turns: Sequence[Turn]) -> MakeMessages:
        """Return the prompt and what followed it until now."""
        so_far = tuple(turns)
        return lambda structured: [*self._prompt(structured), *(m for turn in so_far for m in turn(structured))]

    def _prompt(self, structured: bool) -> list[Message]:
        if structured not in self._prompts:
            self._prompts[structured] = prompts.proposer_messages(
                self._text,
                self._demonstrations,
                structured=structured,
                context=self._answering.transport.context,
                output_tokens=self._output_tokens,
                dialect=self._dialect,
            )
        return self._prompts[structured]

    async def _ask(self, number: int, make: MakeMessages, temperature: float | None, role: str) -> StoredAnswer | None:
        """Return an answer, or None where none came; that is counted."""
        sampled = self._sampled
        if self._closed or self.over.is_set():
            return None
        try:
            stored, retried = await self._answering.answer(
                sampled.task, number, make, temperature, self._output_tokens, self._options.structured, self._seed
            )
        except FaultError as error:
            self._fault(error.fault, error.message, role)
            return None
        except asyncio.CancelledError:
            if self._is_late:
                self._fault(Fault.TIMEOUT, "the task's time was over before an answer came", role)
            raise
        sampled.retried.update({fault.value: count for fault, count in retried.items()})
        sampled.input_tokens += stored.input_tokens
        sampled.output_tokens += stored.output_tokens
        sampled.cost += stored.cost or 0.0
        sampled.cost_known &= stored.cost is not None
        sampled.tokens_counted &= stored.counted
        if stored.fault is not None:
            self._fault(stored.fault, stored.message, role, stored)
            return None
        return stored

    def _fault(self, fault: Fault, message: str, role: str, stored: StoredAnswer | None = None) -> None:
        if fault in FATAL:
            if self._closed:
                return  # counted once: all other samples end with it
            self._closed = True
            if fault is Fault.BUDGET:
                self._why = message
            elif not self._sampled.answers:
                self._sampled.problem = message
        self._sampled.outcomes[fault.value] += 1
        self._hear(role, fault.value, message, stored)

    async def _judged(self, stored: StoredAnswer, number: int, role: str) -> JudgeResult | None:
        """Judge an answer, and count and tell the verdict; with a guardian, that on what it made of the answer."""
        guardian = self._options.guardian
        verdict = await self._verdict(stored.text, guarded=guardian is Guardian.DETERMINISTIC)
        if guardian is Guardian.LLM and verdict.stage == Stage.AFFINE:
            # What has other faults is beyond a guardian, and what has none needs none.
            self._hear(role, verdict.stage, verdict.message, stored, verdict.impl)
            unguarded, role = verdict.impl, "guardian's answer"

            def make(structured: bool) -> list[Message]:
                return prompts.guardian_messages(unguarded, structured=structured)

            mended = await self._ask(number, make, 0.0, role)
            if mended is None:
                return None
            stored, verdict = mended, await self._verdict(mended.text, guarded=False)
        self._count(verdict)
        self._hear(role, verdict.stage, verdict.message or verdict.note, stored, verdict.impl)
        return verdict

    def _hear(self, role: str, outcome: str, message: str, stored: StoredAnswer | None, impl: str = "") -> None:
        """Tell of an answer, or of none."""
        self._count_heard += 1
        self._heard(Answered(self._sampled, self._count_heard, role, outcome, message, stored, impl))
        self._tell()

    async def _verdict(self, answer: str, guarded: bool) -> JudgeResult:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None, "samples are tasks"
        self.judging.add(task)
        try:
            return await self._judge.judge(prompts.unwrap(answer), guarded=guarded)
        finally:
            self.judging.discard(task)

    def _count(self, verdict: JudgeResult) -> None:
        sampled = self._sampled
        sampled.answers += 1
        sampled.outcomes[verdict.stage] += 1
        if verdict.accepted:
            sampled.accepted += 1
            sampled.note = sampled.note or verdict.note
            self._solutions.setdefault(verdict.key, verdict.impl)
            sampled.solutions = sorted(self._solutions.values(), key=_length)
            if self._options.early_stop:
                self.over.set()


def _role(corrections: int) -> str:
    return f"correction {corrections}" if corrections else "answer"


def _turn(answer: str, verdict: JudgeResult) -> Turn:
    """Return the model's wrong answer and what the judge said about it."""

    def make(structured: bool) -> tuple[Message, Message]:
        given = prompts.answer(verdict.impl, structured) if verdict.impl else answer[:_QUOTED] or "(nothing)"
        return Message("assistant", given), prompts.repair_message(verdict.stage, verdict.message)

    return make


def _length(impl: str) -> tuple[int, int]:
    """Order programs by operators, roughly, then by text."""
    return impl.count("\n"), len(impl)

"""Questions to a model about one program: several at once, each answer paid for once and kept in the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from stepagents.llm.answering import Answering
from stepagents.llm.background import LoopThread
from stepagents.llm.faults import FATAL, Fault
from stepagents.llm.ledger import StoredAnswer
from stepagents.llm.transport import FaultError, Message
from stepagents.spending import spending
from stepcore.records import Record

TEMPERATURES: Final = (0.4, 0.7, 1.0)
_POLL: Final = 0.1
_AT_ONCE: Final = 8


class Question(Record):
    """A prompt of one role; ``number`` tells apart the answers to one prompt."""

    role: str
    messages: tuple[Message, ...]
    number: int = 0


class Heard(Record):
    """One answer, or the fault that came instead of it, with what became of it; ``stored`` says what it took."""

    question: Question
    text: str
    outcome: str
    stored: StoredAnswer | None = None


@dataclass
class ModelAsker:
    """Asks one model for one run. A context manager. ``heard`` gets every answer with its outcome.

    ``problem`` says why no more is asked: the budget is spent, or the endpoint refuses. ``asks_user``: whoever answers
    may ask a user first what may be sent, which is no time of the search.
    """

    answering: Answering
    about: str
    heard: Callable[[Heard], None] = lambda _heard: None
    is_stopped: Callable[[], bool] = lambda: False
    asks_user: bool = False
    problem: str = field(default="", init=False)
    answers: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    cost: float | None = field(default=0.0, init=False)
    counted: bool = field(default=True, init=False)
    first_wait: float = field(default=0.0, init=False)  # seconds of the first answers, where a user may be asked
    _loop: LoopThread | None = field(default=None, init=False)
    _untold: dict[Question, StoredAnswer] = field(default_factory=dict, init=False)

    def __enter__(self) -> ModelAsker:
        return self

    def __exit__(self, *_error: object) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close_after(self.answering.transport.close)

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.answering.transport.name

    @property
    def spent(self) -> str:
        """What all answers took, in words."""
        return spending(self.tokens, self.cost, is_counted=self.counted)

    def ask(self, questions: Sequence[Question], is_over: Callable[[], bool] = lambda: False) -> list[str]:
        """Return the answers in the order of the questions; an empty text where none came.

        ``is_over`` says when nobody waits for them any more: an endpoint may take longer than the whole search has.

        Raises:
            LedgerError: the ledger cannot be written, so that answers could be paid for twice.
        """
        if self.problem or self.is_stopped() or not questions:
            return [""] * len(questions)
        if self._loop is None:
            self._loop = LoopThread("stepsmith-model")
        began = monotonic()
        future = self._loop.start(self._all(questions))
        while not wait([future], _POLL).done:
            is_with_user = self.asks_user and not self.first_wait
            if self.is_stopped() or (is_over() and not is_with_user):
                future.cancel()
                return [""] * len(questions)
        found = future.result()
        if self.asks_user:
            self.first_wait = self.first_wait or monotonic() - began
        return [self._counted(question, each) for question, each in zip(questions, found, strict=True)]

    def tell(self, question: Question, text: str, outcome: str) -> None:
        """Say what became of the answer to a question."""
        self.heard(Heard(question, text, outcome, self._untold.pop(question, None)))

    async def _all(self, questions: Sequence[Question]) -> list[StoredAnswer | FaultError]:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(question: Question) -> StoredAnswer | FaultError:
            temperature = TEMPERATURES[question.number % len(TEMPERATURES)]
            output = self.answering.transport.output_tokens
            async with slots:
                try:
                    stored, _retried = await self.answering.answer(
                        f"{self.about} {question.role}", question.number, lambda _structured: list(question.messages),
                        temperature, output, structured=False,
                    )  # fmt: skip
                except FaultError as error:
                    return error
                return stored

        return await asyncio.gather(*(one(question) for question in questions))

    def _counted(self, question: Question, found: StoredAnswer | FaultError) -> str:
        fault = found.fault
        if isinstance(found, StoredAnswer):
            self.answers += 1
            self.counted &= found.counted
            self.tokens += found.input_tokens + found.output_tokens
            self.cost = None if self.cost is None or found.cost is None else self.cost + found.cost
        if fault is None:
            assert isinstance(found, StoredAnswer)
            self._untold[question] = found
            return found.text
        if fault in FATAL or fault is Fault.CONNECTION:
            self.problem = self.problem or f"{self.name}: {found.message}"
        self.heard(Heard(question, "", f"{fault.value}: {found.message}"))
        return ""

"""A model that the owner of a job provides, such as the editor with its own language models: no key, no network here.

The job asks ``{"kind": "model", "messages": [{"role", "content"}], "options": {"temperature", "max_tokens"}}`` and gets
``{"text", ["model", "input_tokens", "output_tokens"]}``, or ``{"fault", "message"}`` with a name of
:class:`stepagents.llm.faults.Fault`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final, TypeAlias

from stepagents.llm.budget import Purse, SpendingBudget
from stepagents.llm.faults import FATAL, MAYBE_PAID, Fault
from stepagents.llm.providers import Price
from stepagents.llm.reading import MAX_TEXT
from stepagents.llm.transport import CompletionOptions, FaultError, Message, ModelCompletion, estimated_tokens
from stepcore.jobs import JobCancelled, JobError

Ask: TypeAlias = Callable[[Any], Any]
KIND: Final = "model"
_CONTEXT: Final = 32_000
_PATIENCE: Final = 900.0  # seconds: before the first question is sent its user may read it and be asked
_OUTPUT: Final = 4096
_MOST_TOKENS: Final = 1_000_000_000


class AskingTransport:
    """Asks whoever owns the job. ``ask`` blocks, and may be called by several threads at once.

    Owners know no roles for instructions, which are merged into the first question. ``price`` is what the owner's user
    says that its model costs, None where nobody said so; ``purse`` keeps a budget.
    """

    structured: Final = False
    output_tokens: Final = _OUTPUT

    def __init__(
        self, ask: Ask, name: str = "editor", *, timeout: float = _PATIENCE, at_once: int = 4, context: int = _CONTEXT,
        price: Price | None = None, purse: Purse | None = None,
    ) -> None:  # fmt: skip
        self._ask = ask
        self._name = name
        self._timeout = timeout
        self._slots = asyncio.Semaphore(at_once)
        self._context = context
        self._price = price
        self._purse = purse or Purse(SpendingBudget(), price)
        self._fatal: FaultError | None = None

    @property
    def name(self) -> str:
        """The owner's name for its model."""
        return self._name

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together."""
        return self._context

    async def complete(self, messages: Sequence[Message], options: CompletionOptions) -> ModelCompletion:
        """Return the owner's answer; whatever is wrong with it is a ``FaultError``."""
        question = {"kind": KIND, "messages": _merged(messages), "options": _options(options)}
        async with self._slots:
            if self._fatal is not None:
                raise self._fatal
            reservation = await self._purse.reserve(messages, options.output_tokens)
            completion, is_billed, start = None, True, perf_counter()
            try:
                answer = await self._answer(question)
                completion = self._priced(_completion(answer, messages, perf_counter() - start))
                return completion
            except FaultError as error:
                self._fatal = error if error.fault in FATAL else None
                is_billed = error.fault in MAYBE_PAID
                if error.completion is not None:
                    completion = error.completion = self._priced(error.completion)
                raise
            finally:
                used = None if completion is None else (completion.input_tokens, completion.output_tokens)
                await self._purse.settle(reservation, used or (None if is_billed else (0, 0)), messages)

    async def _answer(self, question: dict[str, Any]) -> Any:
        try:
            async with asyncio.timeout(self._timeout):
                return await _in_thread(self._ask, question)
        except TimeoutError:
            raise FaultError(Fault.TIMEOUT, f"the editor did not answer within {self._timeout:g} s") from None
        except JobCancelled:
            raise FaultError(Fault.OTHER, "the job was cancelled") from None
        except JobError as error:
            raise FaultError(Fault.OTHER, error.message) from None

    def _priced(self, completion: ModelCompletion) -> ModelCompletion:
        price = self._price
        cost = None if price is None else price.cost(completion.input_tokens, completion.output_tokens)
        return replace(completion, cost=cost)

    async def close(self) -> None:
        """Nothing to release."""


def _merged(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the conversation in two roles, each turn of one in one message."""
    from stepagents.llm.dialect import EndpointDialect

    request = EndpointDialect(system="user").request("", messages, CompletionOptions())
    merged: list[dict[str, str]] = request["messages"]
    return merged


def _options(options: CompletionOptions) -> dict[str, Any]:
    return {"temperature": options.temperature, "max_tokens": options.output_tokens}


def _completion(answer: Any, messages: Sequence[Message], seconds: float) -> ModelCompletion:
    if not isinstance(answer, dict):
        raise FaultError(Fault.NOT_JSON, "the editor sent something else than an answer")
    if "fault" in answer:
        named = answer["fault"]
        fault = Fault(named) if named in list(Fault) else Fault.OTHER
        raise FaultError(fault, str(answer.get("message") or "the editor's model failed")[:300])
    text = answer.get("text")
    if not isinstance(text, str):
        raise FaultError(Fault.NOT_JSON, "the editor's answer holds no text")
    if len(text) > MAX_TEXT:
        raise FaultError(Fault.TOO_LONG, f"the answer is longer than {MAX_TEXT >> 20} MiB")
    counts = [answer.get("input_tokens"), answer.get("output_tokens")]
    counted = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _MOST_TOKENS for n in counts)
    prompt = "".join(message.text for message in messages)
    completion = ModelCompletion(
        text=text,
        input_tokens=counts[0] or 0 if counted else estimated_tokens(prompt),
        output_tokens=counts[1] or 0 if counted else estimated_tokens(text),
        counted=counted,
        seconds=seconds,
        model=str(answer.get("model") or "")[:200],
    )
    if not text.strip():
        raise FaultError(Fault.EMPTY, "the answer holds no text", completion)
    return completion


async def _in_thread(ask: Ask, question: Any) -> Any:
    """Call ``ask`` in a thread that nobody has to wait for: an owner may never answer."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[bool, Any]] = loop.create_future()

    def tell(ok: bool, value: Any) -> None:
        if not answer.done():
            answer.set_result((ok, value))

    def run() -> None:
        try:
            found: tuple[bool, Any] = True, ask(question)
        except (JobCancelled, JobError) as error:
            found = False, error
        except Exception as error:  # noqa: BLE001 - an owner's defect costs one answer
            found = False, JobError("STEP911", f"the editor's model failed: {type(error).__name__}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, *found)

    threading.Thread(target=run, name="stepsmith-ask", daemon=True).start()
    ok, value = await answer
    if not ok:
        raise value
    return value

"""One answer to one prompt: from the ledger where it was paid for already, from the model otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stepagents.llm.faults import ANSWERED, Fault
from stepagents.llm.ledger import Key, Ledger, StoredAnswer, prompt_key
from stepagents.llm.transport import CompletionOptions, FaultError, Message, Transport, estimated_tokens

MakeMessages = Callable[[bool], list[Message]]


@dataclass(slots=True)
class Answering:
    """Asks one model for one run. Answers are stored before they are returned; ``ledger`` None stores nothing."""

    transport: Transport
    ledger: Ledger | None
    run: str
    faults: dict[str, str] = field(default_factory=dict)  # the last message of each kind

    async def answer(
        self,
        task: str,
        sample: int,
        make: MakeMessages,
        temperature: float | None,
        output_tokens: int,
        structured: bool = True,
        seed: int = 0,
    ) -> tuple[StoredAnswer, dict[Fault, int]]:
        """Return the answer to a prompt, and the faults that were overcome for it.

        ``make`` gives the messages, for a structured answer or not; ``structured`` wants one where it is offered.
        Answers to the same prompt with another ``seed`` are other answers; the model does not get to know it. A fault
        of an answer that was paid for comes back as :attr:`StoredAnswer.fault`.

        Raises:
            FaultError: there is no answer.
        """
        key = Key(self.run, task, prompt_key(self.transport.name, make(False), temperature, seed), sample)
        stored = self.ledger.get(key) if self.ledger is not None else None
        if stored is not None:
            return stored, {}
        structured = structured and self.transport.structured
        try:
            messages = make(structured)
            self._need_room(messages, output_tokens)
            found = await self.transport.complete(messages, CompletionOptions(temperature, output_tokens, structured))
            completion, fault, message = found, None, ""
        except FaultError as error:
            self.faults[error.fault] = error.message
            if error.completion is None:
                raise
            completion, fault, message = error.completion, error.fault, error.message
        stored = StoredAnswer(
            text=completion.text,
            fault=fault,
            message=message,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            cost=completion.cost,
            counted=completion.counted,
            seconds=completion.seconds,
            model=completion.model,
            temperature=temperature,
        )
        if self.ledger is not None and (fault is None or fault in ANSWERED):
            self.ledger.put(key, stored)
        return stored, dict(completion.retried)

    def _need_room(self, messages: list[Message], output_tokens: int) -> None:
        """Refuse what cannot fit before it is paid for; what is close is the endpoint's to decide."""
        tokens = sum(estimated_tokens(message.text) for message in messages) + output_tokens
        if tokens > self.transport.context:
            text = f"prompt and answer need about {tokens:,} tokens, and the model takes {self.transport.context:,}"
            raise FaultError(Fault.PROMPT_TOO_LONG, text)

"""How the sampler talks to a model, whoever provides it: an endpoint, or the editor that owns the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from stepagents.llm.faults import Fault
from stepcore.records import Record

Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(Record):
    """One turn of a conversation. A transport renames or merges ``system`` where a model refuses it."""

    role: Role
    text: str


class CompletionOptions(Record):
    """What is asked of the model: ``temperature`` (None: its default) and an upper bound on ``output_tokens``.

    ``structured`` asks for the JSON object of :data:`stepagents.llm.dialect.SCHEMA` instead of text.
    """

    temperature: float | None = None
    output_tokens: int = 8192
    structured: bool = False


class ModelCompletion(Record):
    """An answer and what it took.

    ``cost`` is in US dollars, None where no price is known. ``counted`` is False where the endpoint reported no usage
    and the tokens are estimates. ``retried`` counts the faults that attempts before this one ended with.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    counted: bool = True
    seconds: float = 0.0
    model: str = ""
    retried: Counter[Fault] = field(default_factory=Counter)


class FaultError(Exception):
    """A request failed. ``message`` is for people and holds no key; ``completion`` is what came, where it was paid.

    ``retry_after`` are the seconds that the endpoint asked to wait, None where it asked nothing.
    """

    def __init__(
        self, fault: Fault, message: str, completion: ModelCompletion | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{fault.value}: {message}")
        self.fault = fault
        self.message = message
        self.completion = completion
        self.retry_after = retry_after


class Transport(Protocol):
    """One model. Its methods run in the sampler's event loop; several calls of :meth:`complete` run at once."""

    @property
    def name(self) -> str:
        """Provider and model, as results name it; no key."""

    @property
    def structured(self) -> bool:
        """Whether the model is known to take a JSON schema; may turn False during a run."""

    @property
    def context(self) -> int:
        """The tokens that prompt and answer may have together."""

    @property
    def output_tokens(self) -> int:
        """The tokens that an answer gets unless somebody asks for another bound."""

    async def complete(self, messages: Sequence[Message], options: CompletionOptions) -> ModelCompletion:
        """Return an answer that holds text.

        Raises:
            FaultError: whatever went wrong. Nothing else is raised.
        """

    async def close(self) -> None:
        """Release connections; :meth:`complete` may be called again afterwards."""


class Secret:
    """A key that shows itself nowhere: its text forms are stars, and it is neither pickled nor compared."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key; only the code that sends it calls this."""
        return self._value

    def redact(self, text: str) -> str:
        """Return ``text`` with the key replaced: endpoints quote it in their messages."""
        return text.replace(self._value, "[key]") if len(self._value) >= _SHORTEST_KEY else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret()"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")


_SHORTEST_KEY = 6  # what is shorter is a placeholder such as "none", and occurs in ordinary text


def estimated_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has, for what an endpoint does not count: four bytes each."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)

"""What one model takes and refuses: presets say what is known, and a 400 answer teaches the rest, once per run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from stepagents.llm.transport import CompletionOptions, Message
from stepcore.records import Record

SystemRole: TypeAlias = Literal["system", "developer", "user"]
LengthName: TypeAlias = Literal["max_tokens", "max_completion_tokens", ""]

# A plan comes first: models that do not think by themselves do it there.
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "plan": {"type": "string", "description": "The shape after each operator, in words."},
        "impl": {"type": "string", "description": "The program: one statement a line, ending with return."},
    },
    "required": ["plan", "impl"],
    "additionalProperties": False,
}


class EndpointDialect(Record):
    """The features of the chat protocol that a model takes.

    ``system`` is the role for instructions; ``user`` merges them into the first message of the user. ``length`` is
    the parameter that bounds the answer, empty where none is taken. ``usage`` asks for token counts of a stream.
    """

    temperature: bool = True
    system: SystemRole = "system"
    structured: bool = False
    length: LengthName = "max_tokens"
    stream: bool = True
    usage: bool = True

    def request(self, model: str, messages: Sequence[Message], options: CompletionOptions) -> dict[str, Any]:
        """Return the body of a request."""
        body: dict[str, Any] = {"model": model, "messages": self._messages(messages)}
        if self.temperature and options.temperature is not None:
            body["temperature"] = options.temperature
        if self.length:
            body[self.length] = options.output_tokens
        if self.structured and options.structured:
            schema = {"name": "answer", "strict": True, "schema": SCHEMA}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.stream:
            body["stream"] = True
            if self.usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def _messages(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        if self.system == "user":
            merged: list[dict[str, str]] = []
            for message in messages:
                role = "user" if message.role == "system" else message.role
                if merged and merged[-1]["role"] == role:
                    merged[-1]["content"] += "\n\n" + message.text
                else:
                    merged.append({"role": role, "content": message.text})
            return merged
        return [{"role": self.system if m.role == "system" else m.role, "content": m.text} for m in messages]

    def without(self, complaint: str) -> EndpointDialect:
        """Return the dialect without what ``complaint``, a 400 answer's text, names; itself where it names nothing.

        Each step takes something away, so that a chain of complaints ends.
        """
        for pattern, found in _LESSONS:
            if pattern.search(complaint) and (taught := found(self)) != self:
                return taught
        return self


def _other_length(dialect: EndpointDialect) -> EndpointDialect:
    """Newer models take only the longer name, older servers only the shorter one; after both comes none."""
    return replace(dialect, length="max_completion_tokens" if dialect.length == "max_tokens" else "")


# The most special first: "stream_options" holds "stream".
_LESSONS: Final = (
    (re.compile(r"stream_options|include_usage"), lambda dialect: replace(dialect, usage=False)),
    (re.compile(r"response_format|json_schema|structured"), lambda dialect: replace(dialect, structured=False)),
    (re.compile(r"temperature"), lambda dialect: replace(dialect, temperature=False)),
    (re.compile(r"max_(completion_)?tokens"), _other_length),
    (re.compile(r"\bstream(ing)?\b"), lambda dialect: replace(dialect, stream=False)),
    (
        re.compile(r"\b(system|developer)\b|messages\W*\d+\W*role|\brole\b", re.IGNORECASE),
        lambda dialect: replace(dialect, system="user"),
    ),
)

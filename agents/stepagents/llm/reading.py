"""The body of an answer, streamed or whole, read no further than it is worth. Never trusts what it reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

from stepagents.llm.faults import Fault
from stepagents.llm.transport import FaultError

MAX_TEXT: Final = 1 << 20  # bytes of answer and reasoning, and of a body that is not streamed
MAX_RAW: Final = 32 << 20  # bytes of a stream: a few hundred surround each token
_MOST_TOKENS: Final = 1_000_000_000
_TEXT_KEYS: Final = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class ReplyBody:
    """What was read: the answer's text, why it ended, and the usage as far as it was told."""

    pieces: list[str] = field(default_factory=list)
    finish: str = ""
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    counted: bool = False
    model: str = ""
    ended: bool = False  # the endpoint said that this was all
    size: int = 0  # bytes of text, reasoning included

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)

    def take(self, part: Any) -> None:
        """Take one JSON object of the protocol: a chunk of a stream, or the whole answer; else ``FaultError``."""
        if not isinstance(part, dict):
            raise FaultError(Fault.NOT_JSON, "the endpoint sent something else than an answer")
        if part.get("error"):
            raise FaultError(Fault.SERVER_ERROR, f"the endpoint failed in the middle: {_short(part['error'])}")
        if isinstance(part.get("model"), str):
            self.model = part["model"][:200]
        self._take_usage(part.get("usage"))
        choices = part.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        message = choice.get("delta") if isinstance(choice.get("delta"), dict) else choice.get("message")
        if isinstance(message, dict):
            self._take_message(message)
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]

    def _take_message(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        if isinstance(content, list):  # parts, as some endpoints send them
            content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
        if isinstance(content, str):
            self.pieces.append(content)
        if isinstance(message.get("refusal"), str):
            self.refusal += message["refusal"]
        texts = [content, message.get("refusal"), *(message.get(key) for key in _TEXT_KEYS)]
        self.size += sum(len(text) for text in texts if isinstance(text, str))
        if self.size > MAX_TEXT:
            raise FaultError(Fault.TOO_LONG, f"the answer is longer than {MAX_TEXT >> 20} MiB")

    def _take_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
        if all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _MOST_TOKENS for n in counts):
            self.input_tokens, self.output_tokens = counts[0] or 0, counts[1] or 0
            self.counted = True


async def read_body(body: ReplyBody, chunks: AsyncIterator[bytes], content_type: str) -> None:
    """Read an answer into ``body``, which keeps what came when this raises.

    Raises:
        FaultError: ``NOT_JSON``, ``TOO_LONG``, ``CUT_OFF`` or ``SERVER_ERROR``.
    """
    if "event-stream" in content_type:
        await _read_stream(body, chunks)
    elif "html" in content_type:
        raise FaultError(Fault.NOT_JSON, "the endpoint answered with a web page; look at the base URL")
    else:
        await _read_whole(body, chunks)


async def _read_whole(body: ReplyBody, chunks: AsyncIterator[bytes]) -> None:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > MAX_TEXT:
            raise FaultError(Fault.TOO_LONG, f"the answer is longer than {MAX_TEXT >> 20} MiB")
    part = _parse(bytes(data))
    if part is None:
        start = bytes(data[:200]).lstrip()
        if start.startswith(b"{"):
            raise FaultError(Fault.CUT_OFF, "the answer ended in the middle")
        if start.startswith(b"data:"):  # a stream whose type was not told
            await _read_stream(body, _once(bytes(data)))
            return
        raise FaultError(Fault.NOT_JSON, f"the endpoint answered with something else: {_short(start)}")
    body.take(part)
    body.ended = True


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _read_stream(body: ReplyBody, chunks: AsyncIterator[bytes]) -> None:
    """Read server-sent events: lines that begin with ``data:``, the last of which is ``[DONE]``."""
    rest, raw = b"", 0
    async for chunk in chunks:
        raw += len(chunk)
        rest += chunk
        if raw > MAX_RAW or len(rest) > MAX_TEXT:
            raise FaultError(Fault.TOO_LONG, "the stream is longer than an answer can be")
        *lines, rest = rest.split(b"\n")
        for line in lines:
            _take_line(body, line)
        if body.ended:
            return
    _take_line(body, rest)
    if not body.ended and not body.finish:
        raise FaultError(Fault.CUT_OFF, "the stream ended in the middle of the answer")


def _take_line(body: ReplyBody, line: bytes) -> None:
    line = line.strip()
    if not line.startswith(b"data:"):
        return  # comments that keep the connection open, names of events
    data = line[5:].strip()
    if data == b"[DONE]":
        body.ended = True
        return
    part = _parse(data)
    if part is None:
        raise FaultError(Fault.CUT_OFF, "a part of the stream is not complete")
    body.take(part)


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _short(found: object) -> str:
    """Return the beginning of what an endpoint said, on one line."""
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        found = found["message"]
    if isinstance(found, bytes):
        found = found.decode("utf-8", "replace")
    text = " ".join(str(found).split())
    return text if len(text) <= 300 else text[:300] + " ..."


def error_text(data: bytes) -> tuple[str, str]:
    """Return the message and the code (or type) of the body of an error answer."""
    part = _parse(data)
    error = part.get("error", part) if isinstance(part, dict) else None
    if not isinstance(error, dict):
        return (_short(error) if isinstance(error, str) else _short(data)), ""
    code = error.get("code") or error.get("type") or ""
    parameter = error.get("param")
    message = _short(error)
    return (f"{message} ({parameter})" if isinstance(parameter, str) and parameter not in message else message), str(
        code
    )

"""Any endpoint that speaks OpenAI's chat completions, through the ``openai`` package.

The package does addresses, headers and connections. Retries, limits, the size of answers and the budget are kept
here, because they have to hold for endpoints that misbehave. For one event loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from stepagents.llm.budget import Purse, Reservation, SpendingBudget
from stepagents.llm.dialect import EndpointDialect
from stepagents.llm.faults import ANSWERED, FATAL, MAYBE_PAID, TRANSIENT, Fault
from stepagents.llm.limits import RateLimiter, backoff
from stepagents.llm.providers import Endpoint
from stepagents.llm.reading import ReplyBody, read_body
from stepagents.llm.statuses import StatusError, stop_at_error
from stepagents.llm.transport import CompletionOptions, FaultError, Message, ModelCompletion, estimated_tokens
from stepcore.records import Record

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_RETRIES_UNREACHED: Final = 1  # of an endpoint that nothing was ever heard of: it may just be starting
MISSING: Final = "language models need the package openai: pip install openai pydantic"


class Patience(Record):
    """How long an endpoint is waited for.

    ``timeout`` is the wall-clock time of one attempt, ``total`` that of all attempts of one answer with the waits
    between them, both in seconds; ``retries`` bounds the attempts after the first.
    """

    timeout: float = 180.0
    total: float = 600.0
    retries: int = 5


class OpenAITransport:
    """One model of one endpoint, see :class:`stepagents.llm.transport.Transport`."""

    def __init__(self, endpoint: Endpoint, *, purse: Purse | None = None, patience: Patience | None = None) -> None:
        self._endpoint = endpoint
        self._purse = purse or Purse(SpendingBudget(), endpoint.price)
        self._patience = patience or Patience()
        self._dialect = endpoint.dialect
        self._limiter = RateLimiter(endpoint.rates)
        self._client: AsyncOpenAI | None = None
        self._fatal: FaultError | None = None
        self._reached = False
        self.faults: Counter[Fault] = Counter()  # of all attempts

    def __repr__(self) -> str:
        return f"OpenAITransport({self.name})"

    @property
    def name(self) -> str:
        """Provider and model."""
        return self._endpoint.name

    @property
    def structured(self) -> bool:
        """Whether a JSON schema is (still) taken."""
        return self._dialect.structured

    @property
    def context(self) -> int:
        """The model's context window in tokens."""
        return self._endpoint.context

    @property
    def output_tokens(self) -> int:
        """What the preset gives an answer; a model that thinks first needs more."""
        return self._endpoint.output_tokens

    async def complete(self, messages: Sequence[Message], options: CompletionOptions) -> ModelCompletion:
        """Return an answer, after as many attempts as patience and budget allow."""
        retried: Counter[Fault] = Counter()
        last: FaultError | None = None
        if self._client is None:
            await asyncio.to_thread(_import)  # up to seconds, which are nobody's timeout
            self._connected()
        try:
            async with asyncio.timeout(self._patience.total):
                for attempt in range(self._patience.retries + 1):
                    try:
                        return replace(await self._attempt(messages, options), retried=retried)
                    except FaultError as error:
                        last = error
                    if last is self._fatal or last.fault not in TRANSIENT or attempt >= self._retries(last.fault):
                        break
                    retried[last.fault] += 1
                    await self._wait(last, attempt)
        except TimeoutError:
            last = last or self._count(
                FaultError(Fault.TIMEOUT, f"the endpoint gave no answer within {self._patience.total:g} s")
            )
        except asyncio.CancelledError:
            if last is None:
                raise
            # Between two attempts: how the last one ended is what there is to say.
        assert last is not None
        if last.fault is Fault.CONNECTION and not self._reached:
            self._fatal = last  # nobody is there: the other answers need not wait for the same
        raise last

    def _retries(self, fault: Fault) -> int:
        """Return how many attempts may follow the first one that ended with ``fault``."""
        is_unreached = fault is Fault.CONNECTION and not self._reached
        return min(self._patience.retries, _RETRIES_UNREACHED) if is_unreached else self._patience.retries

    async def close(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _wait(self, error: FaultError, attempt: int) -> None:
        seconds = backoff(attempt)
        if error.retry_after is not None:
            seconds = max(seconds, error.retry_after)
            if error.retry_after > self._patience.total:
                raise TimeoutError  # it would be over before the endpoint is ready
            self._limiter.pause(error.retry_after)
        await asyncio.sleep(seconds)

    async def _attempt(self, messages: Sequence[Message], options: CompletionOptions) -> ModelCompletion:
        """Make one attempt; repeats it at once as long as the endpoint teaches what it refuses."""
        while True:
            if self._fatal is not None:
                raise self._fatal
            dialect = self._dialect
            try:
                return await self._reserved(dialect, messages, options)
            except FaultError as error:
                if error.fault is Fault.BAD_REQUEST:
                    if self._dialect is dialect:
                        self._dialect = dialect.without(error.message)
                    if self._dialect != dialect:
                        continue
                elif error.fault in FATAL:
                    self._fatal = FaultError(error.fault, error.message)
                raise self._count(error) from None

    def _count(self, error: FaultError) -> FaultError:
        self.faults[error.fault] += 1
        return error

    async def _reserved(
        self, dialect: EndpointDialect, messages: Sequence[Message], options: CompletionOptions
    ) -> ModelCompletion:
        """Make one request with its budget reserved; what it really took is settled however it ends."""
        expected = estimated_tokens("".join(message.text for message in messages)) + options.output_tokens // 4
        async with self._limiter.slot(expected):
            reservation = await self._purse.reserve(messages, options.output_tokens)
            body = ReplyBody()
            start = perf_counter()
            billed = True
            try:
                async with asyncio.timeout(self._patience.timeout):
                    await self._send(dialect.request(self._endpoint.model, messages, options), body)
                self._reached = True
                return self._finished(body, messages, perf_counter() - start)
            except TimeoutError:
                raise FaultError(
                    Fault.TIMEOUT, f"the endpoint gave no whole answer within {self._patience.timeout:g} s"
                ) from None
            except FaultError as error:
                billed = error.fault in MAYBE_PAID | ANSWERED
                self._reached |= error.fault not in _UNREACHED
                raise
            finally:
                await self._settle(reservation, body, billed, messages)
                self._limiter.used(expected, body.input_tokens + body.output_tokens if body.counted else expected)

    async def _settle(
        self, reservation: Reservation, body: ReplyBody, billed: bool, messages: Sequence[Message]
    ) -> None:
        if body.counted:
            await self._purse.settle(reservation, (body.input_tokens, body.output_tokens), messages)
        else:
            await self._purse.settle(reservation, None if billed else (0, 0))

    async def _send(self, request: dict[str, Any], body: ReplyBody) -> None:
        """Send one request and read its answer into ``body``."""
        import openai

        client = self._connected()
        key = self._endpoint.key
        try:
            completions = client.chat.completions.with_streaming_response
            async with completions.create(**request) as response:
                content_type = response.headers.get("content-type", "").lower()
                await read_body(body, response.iter_bytes(), content_type)
        except FaultError as error:
            raise FaultError(error.fault, key.redact(error.message)) from None
        except StatusError as error:
            raise self._status_fault(error) from None
        except openai.APITimeoutError:
            raise FaultError(Fault.TIMEOUT, "the endpoint did not answer in time") from None
        except openai.APIConnectionError as error:
            raise self._connection_fault(error) from None
        except openai.OpenAIError as error:
            raise FaultError(Fault.OTHER, key.redact(str(error))[:300]) from None
        except _http_library().HTTPError as error:  # while the body was read, which the package leaves alone
            raise FaultError(Fault.CUT_OFF, f"the connection ended: {key.redact(_reason(error))}") from None

    def _connection_fault(self, error: Exception) -> FaultError:
        cause = error.__cause__
        if isinstance(cause, StatusError):  # older versions of the package wrap what a hook raises
            return self._status_fault(cause)
        base_url = self._endpoint.base_url
        for found in _causes(error):
            if isinstance(found, socket.gaierror):
                what = f"{base_url} cannot be reached: its host is not known ({found.strerror}); look at the base URL"
                return FaultError(Fault.UNKNOWN_HOST, what)
            if isinstance(found, ssl.SSLCertVerificationError):
                what = f"{base_url} is not trusted: {found.verify_message}; look at the base URL"
                return FaultError(Fault.CERTIFICATE, what)
        reason = self._endpoint.key.redact(_reason(error))
        if isinstance(cause, _http_library().ConnectError):
            return FaultError(Fault.CONNECTION, f"{self._endpoint.base_url} cannot be reached: {reason}")
        return FaultError(Fault.CUT_OFF, f"the connection ended before an answer came: {reason}")

    def _status_fault(self, error: StatusError) -> FaultError:
        """Return the fault that an answer with an error status is; a key that is refused comes with the way out."""
        fault = error.fault(self.name, self._endpoint.key.redact)
        if fault.fault is Fault.AUTHENTICATION:
            variable = self._endpoint.key_variable
            out = (
                f"the key came from the environment variable {variable}: put one there that this endpoint takes"
                if self._endpoint.key
                else "no key was sent: name the environment variable that holds it with --key-variable"
            )
            fault.message = f"{fault.message}; {out}"
        return fault

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            # Identity: a small compressed body could become an endless one. Redirects would take code elsewhere; a
            # proxy would too, where the endpoint is this machine, and reads all of it where nothing is encrypted.
            http = DefaultAsyncHttpxClient(
                event_hooks={"response": [stop_at_error]},
                follow_redirects=False,
                trust_env=not self._endpoint.is_local and self._endpoint.base_url.lower().startswith("https:"),
                timeout=self._patience.timeout,
            )
            self._client = AsyncOpenAI(
                api_key=self._endpoint.key.reveal() or "none",  # None would make it send OPENAI_API_KEY
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=self._patience.timeout,
                http_client=http,
                default_headers={"Accept-Encoding": "identity"},
            )
            if self._endpoint.provider != "openai":  # read from the environment, whatever the provider
                self._client.organization = self._client.project = None
        return self._client

    def _finished(self, body: ReplyBody, messages: Sequence[Message], seconds: float) -> ModelCompletion:
        """Return the answer in ``body``, or raise the fault that it is."""
        text = self._endpoint.key.redact(body.text)
        prompt = "".join(message.text for message in messages)
        tokens_in, tokens_out = body.input_tokens, body.output_tokens
        if not body.counted:
            tokens_in, tokens_out = estimated_tokens(prompt), -(-body.size // 4)
        completion = ModelCompletion(
            text=text,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost=self._purse.cost(tokens_in, tokens_out),
            counted=body.counted,
            seconds=seconds,
            model=body.model or self._endpoint.model,
        )
        if body.refusal or body.finish in ("content_filter", "refusal"):
            raise FaultError(Fault.REFUSED, self._endpoint.key.redact(body.refusal)[:300] or "refused", completion)
        if body.finish == "length":
            raise FaultError(Fault.TRUNCATED, "the answer reached the limit of output tokens", completion)
        if not text.strip():
            raise FaultError(Fault.EMPTY, "the answer holds no text", completion)
        return completion


# Nothing came from the endpoint.
_UNREACHED: Final = frozenset({Fault.CONNECTION, Fault.UNKNOWN_HOST, Fault.CERTIFICATE})


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Give an error and what led to it, one after the other."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _reason(error: BaseException) -> str:
    """Return the innermost reason that says something."""
    reason = next((text for found in reversed(list(_causes(error))) if (text := str(found))), "")
    return reason[:300] or type(error).__name__


def _import() -> None:
    """Import what the first request needs.

    Raises:
        FaultError: the package is not installed.
    """
    try:
        import openai.resources.chat.completions  # noqa: F401
    except ModuleNotFoundError as error:
        raise FaultError(Fault.NOT_FOUND, MISSING) from error


def _http_library() -> Any:
    """Return the HTTP library below the ``openai`` package, which is another one in other versions of it."""
    from openai import DefaultAsyncHttpxClient

    client = next(base for base in DefaultAsyncHttpxClient.__mro__ if base.__name__ == "AsyncClient")
    return sys.modules[client.__module__.partition(".")[0]]

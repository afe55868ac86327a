"""Endpoints that behave and that do not: each fault has its name, costs no more than its timeout, and tells no key."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import socket
import ssl
from dataclasses import replace
from typing import NoReturn

import pytest

import fake_model_server as fake
from fake_model_server import KEY, FakeModelServer, Script, always, in_turn
from processes import PATIENCE
from stepagents.llm import client
from stepagents.llm.budget import Purse, SpendingBudget
from stepagents.llm.client import OpenAITransport, Patience
from stepagents.llm.dialect import EndpointDialect
from stepagents.llm.faults import Fault
from stepagents.llm.limits import RateLimiter, Rates
from stepagents.llm.providers import Endpoint, Price, is_local
from stepagents.llm.reading import MAX_TEXT
from stepagents.llm.transport import CompletionOptions, FaultError, Message, ModelCompletion, Secret

MESSAGES = [Message("system", "Write STeP."), Message("user", "Now.")]
HASTY = Patience(timeout=PATIENCE, total=2 * PATIENCE, retries=2)  # with what answers at once
OPTIONS = CompletionOptions(0.7, 500)
PRICE = Price(2.0, 10.0, "2026-01-01")


def endpoint(base_url: str, dialect: EndpointDialect | None = None, rates: Rates | None = None) -> Endpoint:
    return Endpoint("fake", base_url, "model-1", Secret(KEY), dialect or EndpointDialect(), rates or Rates(), PRICE)


def transport(
    server: FakeModelServer, patience: Patience = HASTY, budget: SpendingBudget | None = None
) -> OpenAITransport:
    found = endpoint(server.base_url)
    return OpenAITransport(found, purse=Purse(budget or SpendingBudget(), PRICE), patience=patience)


@pytest.fixture
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "backoff", lambda _attempt: 0.001)


def complete(made: OpenAITransport, options: CompletionOptions = OPTIONS, times: int = 1) -> list[ModelCompletion]:
    """Ask ``times`` times, one after the other, and close."""

    async def ask() -> list[ModelCompletion]:
        try:
            return [await made.complete(MESSAGES, options) for _ in range(times)]
        finally:
            await made.close()

    return asyncio.run(ask())


def fault_of(made: OpenAITransport) -> FaultError:
    with pytest.raises(FaultError) as caught:
        complete(made)
    return caught.value


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_comes_with_its_tokens_and_cost(stream: bool) -> None:
    with FakeModelServer(always(fake.says("impl: ä\n"))) as server:
        made = OpenAITransport(endpoint(server.base_url, EndpointDialect(stream=stream)), patience=HASTY)
        (answer,) = complete(made)
    assert answer.text == "impl: ä\n"
    assert (answer.input_tokens, answer.output_tokens, answer.counted) == (1000, 2, True)
    assert answer.cost == pytest.approx((1000 * 2 + 2 * 10) / 1e6)
    (body,) = server.bodies()
    assert body["model"] == "model-1"
    assert body["temperature"] == 0.7
    assert body["max_tokens"] == 500
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_count_tokens_are_estimated() -> None:
    with FakeModelServer(always(fake.says("x" * 400, usage=False))) as server:
        (answer,) = complete(transport(server))
    assert not answer.counted
    assert answer.output_tokens == 100


FAULTS: dict[str, tuple[Script, Fault]] = {
    "hang": (always(fake.hangs()), Fault.TIMEOUT),
    "hang in a stream": (always(fake.hangs(begin=True)), Fault.TIMEOUT),
    "hang up": (always(fake.hangs_up()), Fault.CUT_OFF),
    "429": (always(fake.limits_rate()), Fault.RATE_LIMITED),
    "429 for an hour": (always(fake.limits_rate("3600")), Fault.RATE_LIMITED),
    "no quota": (always(fake.fails(429, "no credit", code="insufficient_quota")), Fault.NO_CREDIT),
    "500": (always(fake.fails(500)), Fault.SERVER_ERROR),
    "503 as a page": (always(fake.html(503)), Fault.SERVER_ERROR),
    "a page": (always(fake.html()), Fault.NOT_JSON),
    "a page that lies": (always(fake.plain_page()), Fault.NOT_JSON),
    "half a stream": (always(fake.half_a_stream()), Fault.CUT_OFF),
    "half a body": (always(fake.half_a_body()), Fault.CUT_OFF),
    "10 MB": (always(fake.huge()), Fault.TOO_LONG),
    "10 MB of stream": (always(fake.huge_stream()), Fault.TOO_LONG),
    "10 MB without a line": (always(fake.huge(content_type="text/event-stream")), Fault.TOO_LONG),
    "10 MB of error": (always(fake.huge(status=500)), Fault.SERVER_ERROR),
    "length": (always(fake.says("impl: |-\n  E2 =", finish="length")), Fault.TRUNCATED),
    "refusal": (always(fake.refuses()), Fault.REFUSED),
    "moderation": (always(fake.fails(403, "your input was flagged")), Fault.REFUSED),
    "filter": (always(fake.says("I", finish="content_filter")), Fault.REFUSED),
    "empty": (always(fake.says(" \n")), Fault.EMPTY),
    "wrong key": (always(fake.wrong_key()), Fault.AUTHENTICATION),
    "no model": (always(fake.fails(404, "The model `model-1` does not exist")), Fault.NOT_FOUND),
    "redirect": (always(fake.fails(307, "elsewhere")), Fault.NOT_FOUND),
    "long prompt": (always(fake.fails(400, "maximum context length is 10 tokens")), Fault.PROMPT_TOO_LONG),
    "bad request": (always(fake.fails(400, "no")), Fault.BAD_REQUEST),
    "error in a stream": (always(lambda h, _a: _error_event(h)), Fault.SERVER_ERROR),
}


def _error_event(handler: fake.Handler) -> None:
    handler.begin_stream()
    handler.event({"error": {"message": "overloaded"}})


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_has_its_name(name: str, no_backoff: None) -> None:
    script, expected = FAULTS[name]
    timeout = 0.3 if expected is Fault.TIMEOUT else HASTY.timeout
    with FakeModelServer(script) as server:
        made = transport(server, replace(HASTY, timeout=timeout, retries=1))
        error = fault_of(made)
    assert error.fault is expected, error
    # A busy server may not have heard of a request when its time is over; there are two: one, and one more.
    assert made.faults[expected] == (2 if expected is Fault.TIMEOUT else len(server.asked))
    assert error.message
    assert KEY not in str(error)


def test_nobody_listens() -> None:
    with FakeModelServer(always(fake.says("x"))) as server:
        gone = server.base_url
    made = OpenAITransport(endpoint(gone), patience=replace(HASTY, retries=0))
    error = fault_of(made)
    assert error.fault is Fault.CONNECTION
    assert gone in error.message
    assert fault_of(made) is error  # the second answer did not even try
    assert made.faults == {Fault.CONNECTION: 1}


def test_an_endpoint_that_may_be_starting_gets_one_more_attempt(no_backoff: None) -> None:
    with FakeModelServer(always(fake.says("x"))) as server:
        gone = server.base_url
    made = OpenAITransport(endpoint(gone), patience=replace(HASTY, retries=5))
    assert fault_of(made).fault is Fault.CONNECTION
    assert made.faults == {Fault.CONNECTION: 2}


def test_an_unknown_host_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def lookup(host: object, *_args: object, **_options: object) -> NoReturn:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = OpenAITransport(endpoint("https://nowhere.invalid/v1"), patience=replace(HASTY, retries=5))
    error = fault_of(made)
    assert error.fault is Fault.UNKNOWN_HOST
    assert "https://nowhere.invalid/v1 cannot be reached: its host is not known" in error.message
    assert len(asked) == 1
    assert fault_of(made).fault is Fault.UNKNOWN_HOST
    assert len(asked) == 1, "further answers do not even try"


def test_a_host_that_nobody_vouches_for_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = OpenAITransport(endpoint("https://localhost:1/v1"), patience=replace(HASTY, retries=5))
    tries: list[int] = []

    async def send(*_args: object) -> NoReturn:
        tries.append(1)
        wrong = ssl.SSLCertVerificationError(1, "certificate verify failed")
        wrong.verify_message = "self-signed certificate"
        error = RuntimeError("Connection error.")
        error.__cause__ = ConnectionError("TLS")
        error.__cause__.__cause__ = wrong
        raise made._connection_fault(error)

    monkeypatch.setattr(made, "_send", send)
    error = fault_of(made)
    assert (error.fault, len(tries)) == (Fault.CERTIFICATE, 1)
    assert "is not trusted: self-signed certificate" in error.message


@pytest.mark.parametrize(
    ("key", "out"),
    [(Secret(KEY), "the environment variable FAKE_KEY"), (Secret(""), "with --key-variable")],
)
def test_a_refused_key_comes_with_the_way_out(key: Secret, out: str) -> None:
    with FakeModelServer(always(fake.wrong_key())) as server:
        found = replace(endpoint(server.base_url), key=key, key_variable="FAKE_KEY")
        error = fault_of(OpenAITransport(found, patience=HASTY))
    assert error.fault is Fault.AUTHENTICATION
    assert out in error.message
    assert KEY not in error.message


@pytest.mark.parametrize("name", ["10 MB", "10 MB of stream", "10 MB without a line", "10 MB of error"])
def test_a_long_answer_is_not_read_whole(name: str) -> None:
    with FakeModelServer(FAULTS[name][0]) as server:
        fault_of(transport(server, replace(HASTY, retries=0)))
    # What the sockets of both sides hold is written without being read.
    assert server.written < MAX_TEXT + 8_000_000
    assert server.hung_up == 1


RECOVERIES = {
    "429 with a wait": (fake.limits_rate("0.01"), Fault.RATE_LIMITED),
    "429 with a past date": (fake.limits_rate("Wed, 21 Oct 2015 07:28:00 GMT"), Fault.RATE_LIMITED),
    "429 with nonsense": (fake.limits_rate("soon"), Fault.RATE_LIMITED),
    "500": (fake.fails(500), Fault.SERVER_ERROR),
    "hang": (fake.hangs(), Fault.TIMEOUT),
    "half": (fake.half_a_stream(), Fault.CUT_OFF),
    "page": (fake.html(), Fault.NOT_JSON),
}


@pytest.mark.parametrize("name", RECOVERIES)
def test_a_further_attempt_may_go_well(name: str, no_backoff: None) -> None:
    behaviour, fault = RECOVERIES[name]
    with FakeModelServer(in_turn(behaviour, behaviour, fake.says("good"))) as server:
        # Short where it is waited for, and still enough for the answer that comes at once.
        made = transport(server, replace(HASTY, timeout=3.0) if fault is Fault.TIMEOUT else HASTY)
        (answer,) = complete(made)
    assert answer.text == "good"
    assert answer.retried == {fault: 2}
    assert len(server.asked) == 3


def test_what_the_model_was_paid_for_is_not_asked_again() -> None:
    with FakeModelServer(always(fake.says("impl", finish="length"))) as server:
        error = fault_of(transport(server))
    assert len(server.asked) == 1
    assert error.completion is not None
    assert (error.completion.text, error.completion.input_tokens) == ("impl", 1000)


def test_all_attempts_together_have_a_time_limit(no_backoff: None) -> None:
    with FakeModelServer(always(fake.hangs())) as server:
        error = fault_of(transport(server, Patience(timeout=0.4, total=2.5, retries=1000)))
    assert error.fault is Fault.TIMEOUT
    assert 1 < len(server.asked) < 10


@pytest.mark.parametrize(
    "refused",
    [["temperature"], ["system"], ["max_tokens"], ["max_tokens", "max_completion_tokens"], ["stream_options"],
     ["stream"], ["response_format"], ["temperature", "system", "response_format", "max_tokens", "stream_options"]],
)  # fmt: skip
def test_learns_once_what_a_model_refuses(refused: list[str]) -> None:
    with FakeModelServer(always(fake.picky(fake.says("good"), *refused))) as server:
        made = OpenAITransport(endpoint(server.base_url, EndpointDialect(structured=True)), patience=HASTY)
        answers = complete(made, CompletionOptions(0.7, 500, structured=True), times=2)
    assert [answer.text for answer in answers] == ["good", "good"]
    assert all(not answer.retried for answer in answers)
    assert len(server.asked) == len(refused) + 2  # the second answer took one request
    last = server.bodies()[-1]
    assert not set(refused) & last.keys()
    roles = [message["role"] for message in last["messages"]]
    assert roles == (["user"] if "system" in refused else ["system", "user"])
    assert "Write STeP." in last["messages"][0]["content"]
    assert made.structured == ("response_format" not in refused)


def test_many_at_once_learn_together() -> None:
    async def ask(made: OpenAITransport) -> list[ModelCompletion]:
        try:
            return await asyncio.gather(*(made.complete(MESSAGES, CompletionOptions(0.7)) for _ in range(12)))
        finally:
            await made.close()

    with FakeModelServer(always(fake.picky(fake.says("good"), "temperature", "system"))) as server:
        answers = asyncio.run(ask(transport(server)))
    assert {answer.text for answer in answers} == {"good"}
    assert "temperature" not in server.bodies()[-1]


def test_after_a_wrong_key_nothing_more_is_sent() -> None:
    async def ask(made: OpenAITransport) -> list[Fault]:
        faults = []
        for _ in range(3):
            try:
                await made.complete(MESSAGES, CompletionOptions())
            except FaultError as error:
                faults.append(error.fault)
        await made.close()
        return faults

    with FakeModelServer(always(fake.wrong_key())) as server:
        assert asyncio.run(ask(transport(server))) == [Fault.AUTHENTICATION] * 3
    assert len(server.asked) == 1


def test_a_pause_that_one_request_is_told_holds_for_all(no_backoff: None, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(RateLimiter, "pause", lambda _self, seconds: waited.append(seconds))

    async def ask(made: OpenAITransport) -> None:
        await made.complete(MESSAGES, CompletionOptions())
        await made.close()

    with FakeModelServer(in_turn(fake.limits_rate("0.25"), fake.says("good"))) as server:
        asyncio.run(ask(transport(server)))
    assert waited == [0.25]


# -- the budget -------------------------------------------------------------------------------------------


def ask_until_refused(made: OpenAITransport, at_once: int) -> int:
    """Ask again and again, ``at_once`` at a time, and return how many answers came before the budget ended it."""

    async def one() -> int:
        count = 0
        while True:
            try:
                await made.complete(MESSAGES, CompletionOptions(0.7, 100))
            except FaultError as error:
                assert error.fault is Fault.BUDGET, error
                return count
            count += 1

    async def ask() -> int:
        try:
            return sum(await asyncio.gather(*(one() for _ in range(at_once))))
        finally:
            await made.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("at_once", [1, 5])
@pytest.mark.parametrize(
    "budget",
    [
        SpendingBudget(tokens=20_000),
        SpendingBudget(dollars=0.03),
        SpendingBudget(requests=7),
        SpendingBudget(20_000, 0.03, 7),
    ],
)
def test_the_budget_is_never_exceeded(budget: SpendingBudget, at_once: int) -> None:
    def says_much(handler: fake.Handler, asked: fake.Asked) -> None:
        handler.answer("x" * 4 * asked.body["max_tokens"])

    with FakeModelServer(always(says_much)) as server:
        long = [Message("user", "x" * fake.PROMPT_TOKENS * 4)]
        MESSAGES.extend(long)
        try:
            count = ask_until_refused(transport(server, budget=budget), at_once)
        finally:
            MESSAGES.remove(long[0])
    tokens = len(server.asked) * (fake.PROMPT_TOKENS + 100)
    dollars = len(server.asked) * PRICE.cost(fake.PROMPT_TOKENS, 100)
    assert count == len(server.asked) >= 3
    assert tokens <= (budget.tokens or 10**9)
    assert dollars <= (budget.dollars or 10**9)
    assert count <= (budget.requests or 10**9)


def test_requests_that_may_have_been_paid_count_as_spent(no_backoff: None) -> None:
    with FakeModelServer(always(fake.hangs())) as server:
        purse = Purse(SpendingBudget(tokens=4000), PRICE)
        made = OpenAITransport(endpoint(server.base_url), purse=purse, patience=Patience(0.1, 20.0, 50))
        error = fault_of(made)
    assert error.fault is Fault.BUDGET
    assert purse.spent.tokens <= 4000
    assert 1 < len(server.asked) <= purse.spent.requests < 10


def test_answers_without_a_count_stay_reserved() -> None:
    with FakeModelServer(always(fake.says("impl", finish="length", usage=False))) as server:
        purse = Purse(SpendingBudget(), PRICE)
        made = OpenAITransport(endpoint(server.base_url), purse=purse, patience=HASTY)
        assert fault_of(made).fault is Fault.TRUNCATED
    assert purse.spent.tokens > 500


def test_requests_that_brought_nothing_cost_nothing(no_backoff: None) -> None:
    with FakeModelServer(in_turn(*[fake.fails(500)] * 2, fake.says("good"))) as server:
        purse = Purse(SpendingBudget(), PRICE)
        complete(OpenAITransport(endpoint(server.base_url), purse=purse, patience=HASTY))
    assert purse.spent.tokens == 1001
    assert purse.spent.requests == 3


# -- keys -------------------------------------------------------------------------------------------------


def test_the_key_is_told_to_nobody_but_the_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    def echo(handler: fake.Handler, asked: fake.Asked) -> None:
        handler.answer(f"your header was {json.dumps(asked.headers)}")

    caplog.set_level(logging.DEBUG)
    with FakeModelServer(in_turn(echo, fake.wrong_key())) as server:
        made = transport(server)
        (answer,) = complete(made)
        error = fault_of(made)
    assert "your header was" in answer.text
    texts = [answer.text, repr(answer), repr(made), repr(error), repr(endpoint("http://x")), str(endpoint("http://x"))]
    assert all(KEY not in text for text in [*texts, caplog.text])
    assert "[key]" in answer.text
    with pytest.raises(TypeError):
        pickle.dumps(Secret(KEY))


def test_keys_of_openai_do_not_reach_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "of-openai")
    with FakeModelServer(always(fake.says("good"))) as server:
        complete(OpenAITransport(replace(endpoint(server.base_url), key=Secret("")), patience=HASTY))
    assert "of-openai" not in json.dumps(server.asked[0].headers)


def test_an_endpoint_on_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeModelServer(always(fake.says("good"))) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        (answer,) = complete(transport(server))
    assert answer.text == "good"
    assert is_local(server.base_url)


def test_no_proxy_reads_what_goes_to_another_machine_unencrypted(
    monkeypatch: pytest.MonkeyPatch, no_backoff: None
) -> None:
    with FakeModelServer(always(fake.says("good"))) as proxy:
        address = proxy.base_url.removesuffix("/v1")
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, address)
        elsewhere = replace(endpoint("http://stepsmith.invalid/v1"), key=Secret(KEY))
        assert fault_of(OpenAITransport(elsewhere, patience=HASTY)).fault in {Fault.UNKNOWN_HOST, Fault.CONNECTION}
        assert proxy.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int, no_backoff: None) -> None:
    with FakeModelServer(always(fake.says("good"))) as other:

        def redirects(handler: fake.Handler, _asked: fake.Asked) -> None:
            handler.send_response(status)
            handler.send_header("Location", f"{other.base_url}/chat/completions")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        with FakeModelServer(always(redirects)) as server:
            fault = fault_of(transport(server))
            assert (fault.fault, len(server.asked)) == (Fault.NOT_FOUND, 1)
            assert "leads elsewhere, where nothing is sent; give the address that is meant" in fault.message
        assert other.asked == []

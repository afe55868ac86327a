"""Rates, budgets and the ledger, without any server."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepagents.llm.budget import Purse, Reservation, SpendingBudget
from stepagents.llm.faults import Fault
from stepagents.llm.ledger import Key, Ledger, LedgerError, StoredAnswer, default_path, prompt_key
from stepagents.llm.limits import RateLimiter, Rates, backoff
from stepagents.llm.providers import EndpointError, Price
from stepagents.llm.transport import FaultError, Message

MESSAGES = [Message("user", "x" * 1000)]


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end - 1e-9:  # others may sleep less
            await asyncio.sleep(0)
            self.now = min(end, self.now + 0.25)


def starts(rates: Rates, count: int, tokens: float = 0.0, pause: float = 0.0) -> list[float]:
    """Return when ``count`` requests that wait together are let through."""
    time = Time()
    limiter = RateLimiter(rates, time, time.sleep)
    found: list[float] = []

    async def one() -> None:
        async with limiter.slot(tokens):
            found.append(time.now)

    async def run() -> None:
        if pause:
            limiter.pause(pause)
        for _ in range(count):
            await one()

    asyncio.run(run())
    return found


def test_requests_keep_to_the_rate() -> None:
    times = starts(Rates(requests=60), 65)
    assert times[59] == 0.0
    assert times[60:] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_tokens_keep_to_the_rate() -> None:
    assert starts(Rates(tokens=6000), 5, tokens=2000) == [0.0, 0.0, 0.0, 20.0, 40.0]


def test_a_request_larger_than_the_rate_waits_and_does_not_hang() -> None:
    assert starts(Rates(tokens=6000), 2, tokens=9000) == [30.0, 120.0]


def test_a_pause_holds_everything() -> None:
    assert starts(Rates(), 2, pause=7.0) == [7.0, 7.0]


def test_what_was_not_used_is_given_back() -> None:
    time = Time()
    limiter = RateLimiter(Rates(tokens=6000), time, time.sleep)

    async def run() -> float:
        for _ in range(10):
            async with limiter.slot(3000):
                limiter.used(3000, 100)
        return time.now

    assert asyncio.run(run()) == 0.0


def test_no_more_requests_at_once_than_allowed() -> None:
    limiter = RateLimiter(Rates(concurrency=3))
    inside, most = 0, 0

    async def one() -> None:
        nonlocal inside, most
        async with limiter.slot(1):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    async def run() -> None:
        await asyncio.gather(*(one() for _ in range(20)))

    asyncio.run(run())
    assert most == 3


def test_waits_grow_and_are_not_equal() -> None:
    longest = [backoff(attempt, lambda: 1.0) for attempt in range(9)]
    assert longest[:4] == [0.5, 1.0, 2.0, 4.0]
    assert longest[-1] == 30.0
    assert backoff(3, lambda: 0.0) == 2.0
    assert len({backoff(3) for _ in range(20)}) > 1


# -- the budget -------------------------------------------------------------------------------------------


def test_waits_for_open_requests_before_it_gives_up() -> None:
    """Reservations are larger than what is used: a second request may fit when the first has settled."""

    async def run() -> list[str]:
        purse, told = Purse(SpendingBudget(tokens=3000), None), []

        async def first(reservation: Reservation) -> None:
            await asyncio.sleep(0.01)
            told.append("settles")
            await purse.settle(reservation, (200, 10), MESSAGES)

        reservation = await purse.reserve(MESSAGES, 500)
        settling = asyncio.create_task(first(reservation))
        second = await purse.reserve(MESSAGES, 500)
        told.append("fits")
        await settling
        await purse.settle(second, (200, 10), MESSAGES)
        assert purse.spent.tokens == 420
        return told

    assert asyncio.run(run()) == ["settles", "fits"]


def test_learns_how_many_tokens_a_prompt_has() -> None:
    async def run() -> tuple[int, int]:
        purse = Purse(SpendingBudget(), None)
        first = await purse.reserve(MESSAGES, 0)
        await purse.settle(first, (250, 0), MESSAGES)
        second = await purse.reserve(MESSAGES, 0)
        return first.tokens, second.tokens

    first, second = asyncio.run(run())
    assert first > 1000
    assert 250 < second < first - 600


def test_dollars_need_a_price() -> None:
    with pytest.raises(EndpointError, match="price of this model is not known"):
        Purse(SpendingBudget(dollars=1.0), None)
    purse = Purse(SpendingBudget(dollars=0.001), Price(1.0, 1.0, "2026-01-01"))
    with pytest.raises(FaultError) as caught:
        asyncio.run(purse.reserve(MESSAGES, 500))
    assert caught.value.fault is Fault.BUDGET
    assert "$0.00 $0.0010 is left" in caught.value.message


# -- the ledger -------------------------------------------------------------------------------------------

KEY = Key("run", "task", "prompt", 0)
ANSWER = StoredAnswer("impl", None, "", 10, 20, 0.5, True, 1.5, "model-1", 0.7)


@pytest.mark.parametrize(
    "answer",
    [ANSWER, StoredAnswer("", Fault.REFUSED, "no"), StoredAnswer("ä\0\U0001d11e", cost=None, counted=False)],
)  # fmt: skip
def test_answers_come_back_as_they_were(tmp_path: Path, answer: StoredAnswer) -> None:
    with Ledger(tmp_path / "new" / "l.sqlite3") as ledger:
        assert ledger.get(KEY) is None
        ledger.put(KEY, answer)
        ledger.put(KEY, StoredAnswer("a later one does not count"))
    with Ledger(tmp_path / "new" / "l.sqlite3") as ledger:
        assert ledger.get(KEY) == answer
        assert ledger.get(Key("run", "task", "prompt", 1)) is None


def test_half_a_character_can_be_stored(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l") as ledger:
        ledger.put(KEY, StoredAnswer("a\ud800b"))
        assert ledger.get(KEY) == StoredAnswer("a?b")


def test_runs_go_on_until_they_are_finished(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l") as ledger:
        first = ledger.open_run(["a", 1])
        assert ledger.open_run(["a", 1]) == first
        assert ledger.open_run(["a", 2]) != first
        ledger.finish_run(first)
        assert ledger.open_run(["a", 1]) != first


def test_spending_outlives_its_process(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l") as ledger:
        account = ledger.account("r")
        account.settle(account.reserve(1000, 1.0), 100, 0.1)
        account.reserve(500, 0.5)
        ledger.account("other").reserve(7, 7.0)
    with Ledger(tmp_path / "l") as ledger:
        spent = ledger.account("r").spent()
    assert (spent.tokens, spent.requests) == (600, 2)
    assert spent.dollars == pytest.approx(0.6)


def test_several_write_at_once(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with Ledger(tmp_path / "l") as ledger:
            for sample in range(10):
                ledger.put(Key("run", "task", f"p{number}", sample), ANSWER)
                ledger.account("run").reserve(1, 0.0)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.spent("run").tokens == 40
        assert all(ledger.get(Key("run", "task", f"p{n}", s)) for n in range(4) for s in range(10))


def test_what_is_no_ledger_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, but long enough to be looked at")
    with pytest.raises(LedgerError, match="text: the ledger of paid answers cannot be used: file is not a database"):
        Ledger(tmp_path / "text")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(tmp_path / "text" / "below")
    newer = sqlite3.connect(tmp_path / "newer")
    newer.execute("pragma user_version = 99")
    newer.close()
    with pytest.raises(LedgerError, match="newer Stepsmith"):
        Ledger(tmp_path / "newer")


def test_the_ledger_of_a_user_is_in_the_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "stepsmith" / "answers.sqlite3"


def test_prompts_differ_by_model_text_role_and_temperature() -> None:
    user, system = [Message("user", "a")], [Message("system", "a")]
    split = [Message("user", "a"), Message("user", "")]
    keys = {prompt_key("m", user, 0.7), prompt_key("m", user, None), prompt_key("n", user, 0.7)}
    keys |= {prompt_key("m", system, 0.7), prompt_key("m", split, 0.7)}
    keys.add(prompt_key("m", user, 0.7, seed=1))
    assert len(keys) == 6
    assert prompt_key("m", user, 0.7) in keys

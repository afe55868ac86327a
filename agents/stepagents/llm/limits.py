"""Keeping to a provider's limits: requests and tokens a minute, requests at once, and the pauses it asks for."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from stepcore.records import Record

_MINUTE: Final = 60.0
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0


class Rates(Record):
    """Limits of a provider; None: none is known. ``requests`` and ``tokens`` count a minute."""

    requests: float | None = None
    tokens: float | None = None
    concurrency: int = 8


class Bucket:
    """A token bucket that may go into debt: whoever takes waits until the debt is paid, so that order is kept."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / _MINUTE
        self._burst = per_minute
        self._level = per_minute
        self._clock = clock
        self._at = clock()

    def take(self, amount: float) -> float:
        """Take ``amount`` and return the seconds to wait before using it."""
        now = self._clock()
        self._level = min(self._level + (now - self._at) * self._rate, self._burst) - amount
        self._at = now
        return max(-self._level / self._rate, 0.0)

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used."""
        self._level = min(self._level + amount, self._burst)


class RateLimiter:
    """Lets requests through at the rate that a provider allows. For one event loop.

    ``clock`` gives seconds, ``sleep`` waits for so many: tests bring their own.
    """

    def __init__(
        self,
        rates: Rates,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._slots = asyncio.Semaphore(rates.concurrency)
        self._requests = Bucket(rates.requests, clock) if rates.requests else None
        self._tokens = Bucket(rates.tokens, clock) if rates.tokens else None
        self._clock = clock
        self._sleep = sleep
        self._paused_until = clock()

    @asynccontextmanager
    async def slot(self, tokens: float) -> AsyncIterator[None]:
        """Hold one of the places for a request that will take about ``tokens`` tokens."""
        async with self._slots:
            await self._wait(tokens)
            yield

    async def _wait(self, tokens: float) -> None:
        wait = self._requests.take(1) if self._requests else 0.0
        if self._tokens:
            wait = max(wait, self._tokens.take(tokens))
        if wait:
            await self._sleep(wait)
        while (left := self._paused_until - self._clock()) > 0:
            await self._sleep(left)

    def used(self, expected: float, actual: float) -> None:
        """Tell how many tokens a request that was let through for ``expected`` took."""
        if self._tokens:
            self._tokens.give_back(expected - actual)

    def pause(self, seconds: float) -> None:
        """Let nothing through for ``seconds``: the provider said that it is too much."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)


def backoff(attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait after failed attempt number ``attempt`` (from 0): exponential, half of it random.

    Without the random half all requests that failed together would come again together.
    """
    longest: float = min(_FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT)
    return longest * (0.5 + 0.5 * draw())

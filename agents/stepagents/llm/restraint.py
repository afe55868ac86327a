"""Holding requests back until a model has shown that it writes programs. For one event loop."""

from __future__ import annotations

import asyncio


class Restraint:
    """Lets at most ``most`` requests for a task be open or have come to nothing, until an answer holds a program.

    None lets everything through.
    """

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._is_lifted = most is None
        self._open = 0
        self._vain = 0
        self._changed = asyncio.Condition()

    @property
    def is_exhausted(self) -> bool:
        """Whether so many answers came to nothing that no more are to be asked for."""
        return not self._is_lifted and self.most is not None and self._vain >= self.most

    async def enter(self) -> None:
        """Wait until a request may be made."""
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            self._open += 1

    def enter_at_once(self) -> bool:
        """Take the place of a request if there is one. Who holds what others need must not wait for them."""
        if self._has_room():
            self._open += 1
            return True
        return False

    async def leave(self, holds_program: bool | None) -> None:
        """Give the place back: whether the answer held a program, or None where nothing was asked."""
        async with self._changed:
            self._open -= 1
            self._is_lifted |= holds_program is True
            self._vain += holds_program is False
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._is_lifted or self.most is None or self._open + self._vain < self.most

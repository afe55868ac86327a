"""Numbers that grow by a constant with each period, and for how many periods what was asked of them stays true.

The engine counts with whole numbers: it adds and subtracts times, and asks which of two is greater. Numbers that are
``value + growth * k`` in period ``k`` answer in the same way as those of period 0, and narrow their horizon to the
periods in which that answer stays true. What is not linear in ``k`` (a remainder that changes, a loop of so many
rounds) raises :class:`NotLinear`, so a calculation that comes to its end holds in all periods up to its horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

UNBOUNDED: Final = 1 << 62


class NotLinear(Exception):
    """A result does not grow by a constant with each period."""


@dataclass(slots=True)
class Horizon:
    """The last period, from 0, in which all that was asked so far has the same answers."""

    last: int = UNBOUNDED

    def narrow(self, last: int) -> None:
        """Let no period after ``last`` count."""
        self.last = min(self.last, last)


class LinearTime:
    """``value + growth * k`` in period ``k``; without growth a number is a plain one."""

    __slots__ = ("growth", "horizon", "value")

    def __init__(self, value: int, growth: int, horizon: Horizon) -> None:
        self.value = value
        self.growth = growth
        self.horizon = horizon

    def __add__(self, other: Number) -> Number:
        if isinstance(other, LinearTime):
            return self._made(self.value + other.value, self.growth + other.growth)
        return LinearTime(self.value + other, self.growth, self.horizon)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Number:
        if isinstance(other, LinearTime):
            return self._made(self.value - other.value, self.growth - other.growth)
        return LinearTime(self.value - other, self.growth, self.horizon)

    def __rsub__(self, other: int) -> Number:
        return LinearTime(other - self.value, -self.growth, self.horizon)

    def __neg__(self) -> Number:
        return LinearTime(-self.value, -self.growth, self.horizon)

    def __mul__(self, other: Number) -> Number:
        if not isinstance(other, int):
            raise NotLinear
        return self._made(self.value * other, self.growth * other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Number:
        if self.growth % other:
            raise NotLinear
        return self._made(self.value // other, self.growth // other)

    def __mod__(self, other: int) -> int:
        if self.growth % other:
            raise NotLinear
        return self.value % other

    def __divmod__(self, other: int) -> tuple[Number, int]:
        return self // other, self % other

    def __gt__(self, other: Number) -> bool:
        return self._exceeds(other, 0)

    def __ge__(self, other: Number) -> bool:
        return self._exceeds(other, -1)

    def __lt__(self, other: Number) -> bool:
        return not self._exceeds(other, -1)

    def __le__(self, other: Number) -> bool:
        return not self._exceeds(other, 0)

    def __rfloordiv__(self, _other: int) -> NoReturn:
        raise NotLinear

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | LinearTime):
            return NotImplemented
        value, growth = grown(self - other)
        if growth and value * growth <= 0:
            self.horizon.narrow(max(-value // growth - 1, 0) if value else 0)
        return not value

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> NoReturn:
        raise NotLinear

    __index__ = __hash__

    def _exceeds(self, other: Number, least: int) -> bool:
        """Return whether this is more than ``least`` greater than ``other``."""
        if isinstance(other, LinearTime):
            value, growth = self.value - other.value - least, self.growth - other.growth
        else:
            value, growth = self.value - other - least, self.growth
        if value > 0:
            if growth < 0:
                self.horizon.narrow((value - 1) // -growth)
            return True
        if growth > 0:
            self.horizon.narrow(-value // growth)
        return False

    def _made(self, value: int, growth: int) -> Number:
        return LinearTime(value, growth, self.horizon) if growth else value


Number: TypeAlias = int | LinearTime


def linear(values: Sequence[int], growths: Sequence[int], horizon: Horizon) -> list[Number]:
    """Return the numbers that are ``values`` in period 0 and grow by ``growths``."""
    return [
        LinearTime(value, growth, horizon) if growth else value for value, growth in zip(values, growths, strict=True)
    ]


def grown(number: Number) -> tuple[int, int]:
    """Return what a number is in period 0, and by how much it grows."""
    return (number.value, number.growth) if isinstance(number, LinearTime) else (number, 0)


def sum_of(number: Number, periods: int) -> int:
    """Return what a number comes to in periods 0 to ``periods - 1`` together."""
    value, growth = grown(number)
    return periods * value + growth * (periods * (periods - 1) // 2)

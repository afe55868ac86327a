"""Reading saved JSON into dataclasses, by pydantic: types are exact, and what is wrong is said in one line.

Only reading needs pydantic: records with conditions are used by workers, too, in a user's Python that may lack it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from stepcore.records import Record


class Limited(Record):
    """A limit of an annotated value, by its name in pydantic's schemas; it stands before any other condition."""

    name: str
    limit: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the schema of a value with this limit."""
        return {**handler(source), self.name: self.limit}


class Holds(Record):
    """A condition on an annotated value; ``words`` say what was expected."""

    words: str
    condition: Callable[[Any], bool]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the schema of a value that meets the condition."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        if not self.condition(value):
            raise ValueError(f"{self.words} was expected")
        return value


def at_least(least: int) -> Limited:
    """Return the condition that a number is no smaller."""
    return Limited("ge", least)


def at_most(most: int) -> Limited:
    """Return the condition that a number is no larger."""
    return Limited("le", most)


def below(end: int) -> Limited:
    """Return the condition that a number is smaller."""
    return Limited("lt", end)


def no_longer(most: int) -> Limited:
    """Return the condition that a text or list has no more characters or items."""
    return Limited("max_length", most)


# No honest count or amount is larger, and what is larger may not fit where it goes.
Count: TypeAlias = Annotated[int, at_least(0), below(10**15)]
Amount: TypeAlias = Annotated[float, at_least(0), below(10**15)]
# In seconds since 1970; calendars of Python end with the year 9999, in each time zone at another moment.
END_OF_TIME: Final = 10**11
Moment: TypeAlias = Annotated[float, at_least(0), below(END_OF_TIME)]
T = TypeVar("T")


def read_json(kind: type[T], text: str) -> T:
    """Return the object of type ``kind`` that a JSON text holds; keys that it does not have are passed over.

    Raises:
        ValueError: it holds none; the message names the place and what is wrong there.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None

"""Reading saved JSON into dataclasses, by pydantic: types are exact, and what is wrong is said in one line."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from annotated_types import Ge, Lt

# No honest count or amount is larger, and what is larger may not fit where it goes.
Count: TypeAlias = Annotated[int, Ge(0), Lt(10**15)]
Amount: TypeAlias = Annotated[float, Ge(0), Lt(1e15)]
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

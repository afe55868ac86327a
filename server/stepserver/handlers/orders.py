"""What clients order: read strictly, and told what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from stepcore.jobdata.plain import Mistyped, from_plain

if TYPE_CHECKING:
    from stepcore.records import Record

Order = TypeVar("Order", bound="Record")
CLOSED: Final = "this document is not open"


def order_of(kind: type[Order], arguments: tuple[Any, ...]) -> Order | str:
    """Read an order, or return what is wrong with it; null is what a client says of what it leaves open."""
    first = arguments[0] if arguments else None
    options = first if isinstance(first, Mapping) else {}
    try:
        return from_plain(kind, {name: value for name, value in options.items() if value is not None})
    except Mistyped as error:
        return f"the option {error}"

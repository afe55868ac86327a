"""What an exception of a user's code says. To ask for it runs that code again, so it is asked for here only.

``__str__``, ``__class__`` and the metaclass of an exception may raise, end the process, or give a text of any length.
"""

from __future__ import annotations

import traceback
from typing import Any, Final

from stepcore.text.wording import class_name, clipped

_LONGEST: Final = 4000  # characters that are kept of what one exception says


def words(value: object) -> str:
    """Return a value as text, clipped; an empty text where it cannot be written."""
    try:
        found = str(value)
    except BaseException:  # noqa: BLE001 - whatever it raises, there are no words
        return ""
    return clipped(str.__str__(found), _LONGEST)  # of a subclass of str only the characters


def told(error: BaseException) -> str:
    """Return ``ValueError: no rows``, or the name of the class alone where there are no words."""
    found = words(error)
    return f"{class_name(error)}: {found}" if found else class_name(error)


def is_a(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Whether an exception is one of ``kinds`` by its class; ``isinstance`` would ask what it claims to be."""
    return issubclass(type(error), kinds)


def trace_of(error: BaseException) -> str:
    """Return the traceback of an exception as text; of one that cannot be written only what it is."""
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - a cause of it may be anything
        return told(error)


def own(error: BaseException, kind: type[BaseException], name: str) -> Any:
    """Return what Python keeps of an exception of ``kind`` under ``name``, whatever its class makes of that name."""
    return vars(kind)[name].__get__(error)

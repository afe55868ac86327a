"""What editors and `stepsmith ops` say about ``step.fns``: the ready-made functions, their arguments and types."""

from __future__ import annotations

import re
from typing import Final

from stepcore.fn.factories import FACTORIES
from stepcore.ide.docs import rule

_TYPES: Final = {
    "Tile": "the type of a tile",
    "Plain": "a type: a number, a tile, or a buffer of numbers",
    "Plain | None": "a type, that of `x` unless given; its sizes are those of `x` or 1",
}
_QUOTED: Final = re.compile(r"``(.+?)``|:func:`(.+?)`")


def parameters(name: str) -> tuple[tuple[str, str], ...]:
    """Return the arguments of ``step.fns.NAME``, each with what it is: element types, by their position."""
    make = FACTORIES[name]
    wanted = make.__code__.co_varnames[: make.__code__.co_argcount]
    least = len(wanted) - len(make.__defaults__ or ())
    return tuple(
        (key if place < least else f"{key}=None", _TYPES[make.__annotations__[key]])
        for place, key in enumerate(wanted)
    )  # fmt: skip


def call_text(name: str) -> str:
    """Return how a function is asked for: ``step.fns.matmul(x, w)``."""
    return f"step.fns.{name}({', '.join(key for key, _ in parameters(name))})"


def summary(name: str) -> str:
    """Return what the function computes, as Markdown."""
    return _QUOTED.sub(lambda match: f"`{match[1] or match[2]}`", FACTORIES[name].__doc__ or "").strip()


def text(name: str) -> str:
    """Return the documentation of a ready-made function, as Markdown."""
    lines = [f"```python\n{call_text(name)}\n```", f"Writes an element function: {summary(name)}", ""]
    lines += [f"- `{key}`: {what}" for key, what in parameters(name)]
    return rule("\n".join(lines), "Ready-made functions")


__all__ = ["FACTORIES", "call_text", "parameters", "summary", "text"]

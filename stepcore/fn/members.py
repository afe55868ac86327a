"""Looks up ``torch.nn.functional.relu`` and its kin in the allow-list."""

from __future__ import annotations

from typing import Final

from stepcore.fn import allow
from stepcore.wording import counted

# The way out where no name is near.
OTHERWISE: Final = "; write it with torch functions and plain expressions"


def no_component(name: str, count: int, index: int) -> str:
    """Return why ``name[index]`` is no component of an argument with ``count`` of them (STEP308)."""
    last = f"indices 0 to {count - 1}" if count > 1 else "index 0"
    return f"{name} has {counted(count, 'component')} ({last}); there is no {name}[{index}]"


def member_problem(module: str, path: tuple[str, ...], random: bool) -> str | None:
    """Return what is wrong with the dotted name ``path`` whose first part stands for ``module``, None when nothing is.

    ``random``: functions that draw random numbers are legal (``global`` blocks only).
    """
    space = module
    if space not in allow.NAMESPACES:
        return f"the module {module} is not part of the function language"
    for position, name in enumerate(path[1:], start=1):
        functions, constants, modules = allow.NAMESPACES[space]
        rest = path[position + 1 :]
        if name in functions:
            return _function(space, name, rest, random)
        if name in constants:
            return None
        if name not in modules:
            reason = allow.why_not(space, name)
            if reason:
                return reason
            hint = allow.suggestion(name, functions | constants | modules) or OTHERWISE
            return f"{'.'.join(path[: position + 1])} is not part of the function language{hint}"
        space = f"{space}.{name}"
        if space == "torch.ops.aten":
            return _aten(rest)
    return None


def _function(space: str, name: str, rest: tuple[str, ...], random: bool) -> str | None:
    if rest:
        return f"{space}.{name} has no {rest[0]!r} in the function language"
    if not random and name in allow.DRAWING.get(space, ()):
        return f"{space}.{name} draws random numbers: functions are pure; draw in global"
    return None


def _aten(rest: tuple[str, ...]) -> str | None:
    if rest and rest[0] not in allow.ATEN:
        hint = allow.suggestion(rest[0], allow.ATEN.keys()) or OTHERWISE
        return f"torch.ops.aten.{rest[0]} is not part of the function language{hint}"
    if rest and (len(rest) != 2 or rest[1] not in allow.ATEN[rest[0]]):
        return f"write torch.ops.aten.{rest[0]}.{' or .'.join(allow.ATEN[rest[0]])}"
    return None

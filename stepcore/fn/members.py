"""Looks up ``torch.nn.functional.relu`` and its kin in the allow-list."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from stepcore.findings.near import nearest
from stepcore.fn import allow
from stepcore.text.wording import counted

# The way out where no name is near.
# In a task and in a Python file alike: what is drawn comes from outside of a function.
DRAWN: Final = "take what is drawn as a parameter"
OTHERWISE: Final = "; write it with torch functions and plain expressions"


# What beginners write at a tensor by habit, and what to do instead; here a body computes, on the CPU, forward only.
_LEAVE_OUT: Final = "leave it out: "
_HABITS: Final[dict[str, str]] = {
    **dict.fromkeys(("cuda", "cpu", "device", "pin_memory"), _LEAVE_OUT + "tensors live on the CPU here"),
    **dict.fromkeys(
        ("backward", "grad", "requires_grad", "requires_grad_", "retain_grad", "zero_grad"),
        _LEAVE_OUT + "functions compute forward only",
    ),
    **dict.fromkeys(("numpy", "tolist", "data"), _LEAVE_OUT + "the tensor itself has all that a function needs"),
    **dict.fromkeys(("eval", "train"), _LEAVE_OUT + "the modules that there are compute alike without it"),
    **dict.fromkeys(("update", "setdefault"), "write d[KEY] = VALUE"),
    "astype": "write .to(torch.float32)",
    "copy": "write .clone()",
    "dot": "write torch.dot or @",
}


def unknown_attribute(name: str, known: Set[str]) -> str:
    """Return why ``.name`` is no attribute or method of values in bodies, with the way out (STEP304)."""
    habit = _HABITS.get(name)
    hint = f"; {habit}" if habit else _near(name, known) or OTHERWISE
    return f".{name} is not part of the function language{hint}"


def _near(name: str, known: Set[str]) -> str:
    near = nearest(name, known, cutoff=0.8)
    return f"; did you mean .{near[0]}?" if near else ""


def unknown_name(name: str, *known: Set[str]) -> str:
    """Return why a name is not known in a body, with the way out (STEP303)."""
    text = f"unknown name {name!r}"
    for space in ("torch", "torch.nn.functional", "torch.nn"):
        if name in allow.NAMESPACES[space][0]:
            return f"{text}; write {space}.{name}"
    library = _LIBRARIES.get(name)
    if library:
        return f"{text}; {library}"
    if name in _OF_PYTHON:
        return f"{name} of Python is not part of the function language; {_OF_PYTHON[name]}"
    return text + (allow.suggestion(name, *known) or "; assign it before, or bind it in global")


def no_value_yet(name: str) -> str:
    """Return why a name that a body binds cannot be read before, although it may be known outside (STEP303)."""
    text = f"{name} has no value here: the body binds it, so it is the body's own name from the beginning"
    return f"{text}; bind it before, or give it another name"


_OF_PYTHON: Final = {
    "map": "write a comprehension: [f(x) for x in xs]",
    "filter": "write a comprehension: [x for x in xs if f(x)]",
    "set": "write a list",
    "frozenset": "write a tuple",
}
_LIBRARIES: Final = {
    "F": "write torch.nn.functional for it",
    "nn": "write torch.nn for it",
    **dict.fromkeys(("np", "numpy", "jnp", "tf"), "torch is in scope, and has what is needed"),
    "math": "torch is in scope: for example 2 ** 0.5 for a root, torch.exp for an exponential",
    "self": "a function has no self; it gets input (and state where it has an init)",
    "step": "operators stand in the program; a function computes one element with torch",
}


def no_tensor(name: str, count: int) -> str:
    """Return what is said where the argument ``name``, a list of ``count`` components, stands for a tensor."""
    return f"{name} is a list of {counted(count, 'component')}, and no tensor; write {name}[0]"


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
            hint = allow.suggestion(name, functions, constants, modules) or OTHERWISE
            return f"{'.'.join(path[: position + 1])} is not part of the function language{hint}"
        space = f"{space}.{name}"
        if space == "torch.ops.aten":
            return _aten(rest)
    return None


def _function(space: str, name: str, rest: tuple[str, ...], random: bool) -> str | None:
    if rest:
        return f"{space}.{name} has no {rest[0]!r} in the function language"
    if not random and name in allow.DRAWING.get(space, ()):
        if space == "torch.nn":
            return f"{space}.{name} draws its weights at random: functions are pure; take the weights as parameters"
        return f"{space}.{name} draws random numbers: functions are pure; {DRAWN}"
    return None


def _aten(rest: tuple[str, ...]) -> str | None:
    if rest and rest[0] not in allow.ATEN:
        hint = allow.suggestion(rest[0], allow.ATEN.keys()) or OTHERWISE
        return f"torch.ops.aten.{rest[0]} is not part of the function language{hint}"
    if rest and (len(rest) != 2 or rest[1] not in allow.ATEN[rest[0]]):
        return f"write torch.ops.aten.{rest[0]}.{' or .'.join(allow.ATEN[rest[0]])}"
    return None

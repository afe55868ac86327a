"""What schemas and signatures say: which calls write, which draw, and under what terms."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from scripts.torch_schemas.reviewed import (
    ARGUMENT_TYPES,
    DRAWS,
    FILLED,
    ON_SHAPES,
    REFUSED,
    STATISTICS,
    WHEN_UPDATED,
    WRITES,
)

known_schemas: dict[str, list[Any]] = {}


def schemas(name: str) -> list[Any]:
    """Return the schemas of ``aten::name``, all overloads."""
    if not known_schemas:
        for schema in torch._C._jit_get_all_schemas():
            known_schemas.setdefault(schema.name, []).append(schema)
    # Operators on texts and lists of numbers alone belong to TorchScript.
    return [schema for schema in known_schemas.get(f"aten::{name}", []) if _on_tensors(schema)]


def _on_tensors(schema: Any) -> bool:
    kinds = [str(part.type) for part in (*schema.arguments, *schema.returns)]
    return any("Tensor" in kind for kind in kinds) or schema.name in ON_SHAPES


def refused(name: str) -> str:
    """Return why an operator is not admitted whatever its schema says, or an empty text."""
    if name in FILLED:
        return ""
    return next((why for pattern, why in REFUSED.items() if re.fullmatch(pattern, name)), "")


def writes(schema: Any) -> bool:
    """Return whether an operator writes into an argument."""
    return any(is_written(part) for part in (*schema.arguments, *schema.returns))


def is_written(part: Any) -> bool:
    """Return whether an argument or result is marked as written."""
    return part.alias_info is not None and part.alias_info.is_write


def tags(name: str, overload: str) -> list[Any]:
    """Return the tags of an overload."""
    packet = getattr(torch.ops.aten, name, None)
    found = getattr(packet, overload or "default", None)
    return [] if found is None else found.tags


def usable(schema: Any) -> bool:
    """Return whether all arguments are of kinds that a body can hold, and none names a file."""
    return all(
        ARGUMENT_TYPES.match(str(argument.type)) and argument.name not in ("filename", "storage", "stream")
        for argument in schema.arguments
    )


def pure_schemas(name: str) -> list[Any]:
    """Return the overloads that write nowhere."""
    return [schema for schema in schemas(name) if not writes(schema) and usable(schema)]


def is_random(name: str) -> bool:
    """Return whether an operator draws random numbers."""
    return any(torch.Tag.nondeterministic_seeded in tags(name, schema.overload_name) for schema in pure_schemas(name))


# Terms ------------------------------------------------------------------------------------------------------------

Parameter = tuple[str, int, object]  # name, position (-1: keyword only), default (... where there is none)


def terms(parameters: list[Parameter]) -> tuple[list[str], list[str]]:
    """Return the terms under which a call writes nowhere, and those under which it draws nothing.

    A term reads ``inplace@1:False=False`` (name, position, harmless value, default). Terms of one text separated by
    ``,`` hold together, ``|`` separates alternatives; each text of a list has to hold.
    """
    known = {name: (position, default) for name, position, default in parameters}

    def term(name: str, harmless: object) -> str:
        position, default = known[name]
        return f"{name}@{position}:{harmless!r}={'' if default is ... else repr(default)}"

    writing = [term(name, harmless) for name, harmless in WRITES.items() if name in known]
    if all(name in known for name in STATISTICS):
        none = ",".join(term(name, None) for name in STATISTICS)
        frozen = [term(name, False) for name in WHEN_UPDATED if name in known]
        writing.append("|".join([*frozen, none]))
    if "track_running_stats" in known:
        writing.append(term("track_running_stats", False))
    # What keeps statistics draws nothing.
    draws = {} if set(STATISTICS) <= set(known) else DRAWS
    drawing = [term(name, value) for name, value in draws.items() if name in known]
    return writing, ["|".join(drawing)] if drawing else []


def schema_parameters(schema: Any) -> list[Parameter]:
    """Return the parameters of an operator."""
    found: list[Parameter] = []
    for position, argument in enumerate(schema.arguments):
        default = argument.default_value if argument.has_default_value() else ...
        found.append((argument.name, -1 if argument.kwarg_only else position, default))
    return found


def python_parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a Python function or of a module's constructor."""
    found: list[Parameter] = []
    for variant in variants(function):
        for position, parameter in enumerate(inspect.signature(variant).parameters.values()):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            found.append((parameter.name, -1 if parameter.kind == parameter.KEYWORD_ONLY else position, default))
    return list(dict.fromkeys(found))


def variants(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield the functions between which a wrapper of ``boolean_dispatch`` chooses, or the function itself."""
    inner = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
    choices = [value for value in inner if inspect.isfunction(value)]
    if not choices:
        yield function
    for choice in choices:
        yield from variants(choice) if takes_anything(choice) else [choice]


def takes_anything(function: Callable[..., Any]) -> bool:
    """Return whether a signature does not say which keywords there are."""
    if getattr(function, "__init__", None) is torch.nn.Module.__init__:
        return False  # a module without arguments
    return any(p.kind == p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False

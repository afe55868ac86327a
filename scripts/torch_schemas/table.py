"""The table: functions, methods and operators that are admitted, by namespace."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from scripts.torch_schemas.examples import ONE, X, view_calls, wrapper_examples
from scripts.torch_schemas.reviewed import (
    REFUSED_OVERLOADS,
    REVIEWED_FUNCTIONS,
    REVIEWED_INPLACE,
    REVIEWED_METHODS,
    REVIEWED_OPERATORS,
    SCHEMA_OF,
)
from scripts.torch_schemas.runs import admitted_python, all_tensors, gives_complex, may_alias, shares
from scripts.torch_schemas.schemas import (
    Parameter,
    is_random,
    is_written,
    known_schemas,
    pure_schemas,
    python_parameters,
    refused,
    schema_parameters,
    schemas,
    tags,
    terms,
)


class Table:
    """What is admitted, by namespace."""

    def __init__(self) -> None:
        self.pure: dict[str, set[str]] = {}
        self.random: dict[str, set[str]] = {}
        self.writing: dict[str, list[str]] = {}
        self.drawing: dict[str, list[str]] = {}
        self.complex: dict[str, set[str]] = {}
        self.viewing: dict[str, set[str]] = {}
        self.viewing_one: set[str] = set()

    def find_views(self, owners: dict[str, Any], prefixes: dict[str, str]) -> None:
        """Take note of what may give a view; ``owners`` are as below, ``prefixes`` those of the names of operators."""
        examples = wrapper_examples()
        for space, owner in owners.items():
            for name in self.pure[space]:
                operator = SCHEMA_OF.get(name, prefixes.get(space, "") + name)
                if may_alias(operator, getattr(owner, name), view_calls(examples.get(name, []))):
                    self.viewing.setdefault(space, set()).add(name)
                    several = [args for args in examples.get(name, []) if len(list(all_tensors(args))) > 1]
                    if several and not any(shares(getattr(owner, name), args) for args in several):
                        self.viewing_one.add(name)

    def part_complex(self, owners: dict[str, Any], examples: dict[str, list[tuple[Any, ...]]]) -> None:
        """Take out what gives complex numbers; ``owners`` are the modules and classes behind the namespaces."""
        for space, owner in owners.items():
            found = {n for n in self.pure[space] if gives_complex(getattr(owner, n), examples.get(n, []))}
            self.pure[space] -= found
            if found:
                self.complex[space] = found

    def add(self, space: str, name: str, kind: str, parameters: Iterable[list[Parameter]]) -> None:
        """Admit ``space.name``, ``pure`` or ``random``, under the terms that its parameters give."""
        writing: list[str] = []
        drawing: list[str] = []
        for variant in parameters:
            write, draw = terms(variant)
            writing += write
            drawing += draw
        if writing:
            self.writing[f"{space}.{name}"] = list(dict.fromkeys(writing))
        if drawing and (kind == "random" or space in ("torch.nn.functional", "torch.nn")):
            # Without drawing it is as pure as any other.
            self.drawing[f"{space}.{name}"] = list(dict.fromkeys(drawing))
            kind = "pure" if space != "torch.nn" else kind
        (self.pure if kind == "pure" else self.random).setdefault(space, set()).add(name)


def spaces() -> list[tuple[str, Any, str]]:
    return [
        ("torch", torch, ""),
        ("torch.nn.functional", torch.nn.functional, ""),
        ("torch.linalg", torch.linalg, "linalg_"),
        ("torch.special", torch.special, "special_"),
        ("torch.fft", torch.fft, "fft_"),
    ]


def functions(table: Table) -> None:
    """Admit the functions of torch and of its modules."""
    examples = wrapper_examples()
    reviewed = set(REVIEWED_FUNCTIONS)
    for space, module, prefix in spaces():
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or inspect.isclass(value):
                continue
            if inspect.isfunction(value) or type(value).__name__ == "function":
                kind = admitted_python(name, value, examples.get(name, ONE)) if _is_own(value) else None
                if name in reviewed:
                    kind = "pure"
                if kind is not None and not refused(name):
                    table.add(space, name, kind, [python_parameters(value)])
                continue
            operator = SCHEMA_OF.get(name, prefix + name)
            found = pure_schemas(operator)
            if found and not refused(name) and not name.endswith("_"):
                kind = "random" if is_random(operator) else "pure"
                table.add(space, name, kind, [schema_parameters(schema) for schema in found])
            elif name in reviewed:
                table.add(space, name, "pure", [])


def _is_own(function: Any) -> bool:
    """Return whether a Python function is one of torch's wrappers over operators."""
    return getattr(function, "__module__", "") in ("torch.functional", "torch.nn.functional", "torch._jit_internal",
        "torch._lowrank", "torch._VF", "torch._tensor")  # fmt: skip


def methods(table: Table) -> set[str]:
    """Admit the methods of tensors; returns those that work in place."""
    inplace: set[str] = set()
    reviewed = {name for text in REVIEWED_METHODS for name in text.split()}
    examples = wrapper_examples() | {"unflatten": [(X, 1, (2, 2))]}
    for name in dir(Tensor):
        value = inspect.getattr_static(Tensor, name)
        if name.startswith("_") or not callable(getattr(Tensor, name)) or isinstance(value, property):
            continue
        base = name.removesuffix("_")
        if name in reviewed:
            table.add("torch.Tensor", name, "pure", [])
        elif inspect.isfunction(value):
            kind = admitted_python(name, value, examples.get(name, ONE))
            if kind is not None and not refused(name) and pure_schemas(name):
                table.add("torch.Tensor", name, kind, [python_parameters(value)])
        elif name.endswith("_"):
            paired = name in REVIEWED_INPLACE or bool(pure_schemas(base))
            if _changes_self_only(name) and paired and not refused(base) and not is_random(base):
                inplace.add(name)
        elif pure_schemas(name) and not refused(name):
            kind = "random" if is_random(name) else "pure"
            table.add("torch.Tensor", name, kind, [schema_parameters(schema) for schema in pure_schemas(name)])
    return inplace


def _changes_self_only(name: str) -> bool:
    """Return whether the numbers of the first argument are all that an operator changes."""
    found = schemas(name)
    written = [[argument.name for argument in schema.arguments if is_written(argument)] for schema in found]
    viewing = any(torch.Tag.inplace_view in tags(name, schema.overload_name) for schema in found)
    drawing = any(torch.Tag.nondeterministic_seeded in tags(name, schema.overload_name) for schema in found)
    return bool(found) and all(names == ["self"] for names in written) and not viewing and not drawing


def operators(table: Table) -> dict[str, list[str]]:
    """Return the overloads of ``torch.ops.aten`` that are admitted."""
    found: dict[str, list[str]] = {}
    for full in sorted(known_schemas):
        name = full.removeprefix("aten::")
        if full == name or name not in REVIEWED_OPERATORS:
            continue
        pure = [schema for schema in pure_schemas(name) if hasattr(torch.ops.aten, name)]
        packet = getattr(torch.ops.aten, name, None)
        overloads = [s for s in pure if packet is not None and (s.overload_name or "default") in packet.overloads()]
        overloads = [s for s in overloads if torch.Tag.nondeterministic_seeded not in tags(name, s.overload_name)]
        overloads = [s for s in overloads if f"{name}.{s.overload_name}" not in REFUSED_OVERLOADS]
        if overloads:
            found[name] = sorted({schema.overload_name or "default" for schema in overloads})
            write = [text for schema in overloads for text in terms(schema_parameters(schema))[0]]
            if write:
                table.writing[f"torch.ops.aten.{name}"] = list(dict.fromkeys(write))
    return found

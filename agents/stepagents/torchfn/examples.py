"""What ``get_inputs()`` tells: sizes that may vary get symbols, values tell how test data are drawn. Loads torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from torch import Tensor

from stepagents.torchfn.dims import Described
from stepagents.torchfn.refusals import NO_SIZES, refuse
from stepagents.torchfn.subject import Example, Subject
from stepagents.torchfn.target import Target
from stepcore.dim import Dim

# For sizes without a name in the file, in the order of their appearance.
_LETTERS: Final = ("N", "M", "K", "D", "S", "T", "P", "Q")


def symbolic_arguments(subject: Subject, asked: Mapping[str, int], *, symbolic: bool) -> tuple[Subject, dict[str, int]]:
    """Return the subject with symbols for the sizes of its example inputs, and what each stands for there.

    Equal sizes share a symbol. A size of 1, and one that a weight of the module has, stays a number. A symbol is
    called like the variable of the module that holds its size (``batch_size``), else by a letter.
    """
    kept = {1, *_weight_sizes(subject)}
    sizes = [size.constant for item in subject.tensors for size in item.dims or ()]
    free = [size for size in dict.fromkeys(sizes) if size is not None and size not in kept]
    names = dict(zip(free, _names(subject.target, free), strict=True))
    bound = {name: size for size, name in names.items()}
    for name in asked:
        if name not in bound:
            known = f"its sizes are {', '.join(f'{key}={size}' for key, size in bound.items())}" if bound else ""
            target = subject.target
            raise refuse(NO_SIZES, f"{target.qualifier} has no size {name}", target.path, target.line, advice=known)
    bound |= asked
    arguments = [_renamed(item, names) if item.is_tensor else item for item in subject.arguments]
    return (subject.with_arguments(arguments) if symbolic else subject), (bound if symbolic else {})


def data_of(examples: Sequence[Example] | None) -> dict[str, tuple[str | None, int | None]]:
    """Return for each example tensor how data like it are drawn: a generator, and a bound for whole numbers."""
    found: dict[str, tuple[str | None, int | None]] = {}
    for item in examples or ():
        if isinstance(item.value, Tensor):
            found[item.name] = _data(item.value)
    return found


def _data(value: Tensor) -> tuple[str | None, int | None]:
    least, most = float(value.min()), float(value.max())
    if not value.dtype.is_floating_point:
        return None, int(most) + 1
    if least == most == 1.0:
        return "torch.ones", None
    is_binary = bool(((value == 0) | (value == 1)).all())
    return ("binary" if is_binary else "torch.rand" if least >= 0 else "torch.randn"), None


def _weight_sizes(subject: Subject) -> Iterator[int]:
    if subject.module is not None:
        for tensor in (*subject.module.parameters(), *subject.module.buffers()):
            yield from tensor.shape


def _renamed(item: Described, names: Mapping[int, str]) -> Described:
    dims = tuple(
        Dim.symbol(names[size.constant]) if size.constant in names else size  # type: ignore[index]
        for size in item.dims or ()
    )
    return Described(item.name, dims, item.dtype)


def _names(target: Target, sizes: Sequence[int]) -> list[str]:
    variables = _variables(target)
    taken = {argument.name for argument in target.arguments}
    found: list[str] = []
    for size in sizes:
        named = [name for name, value in variables.items() if value == size and name not in taken]
        letters = (letter for letter in (*_LETTERS, *(f"N{number}" for number in range(2, 100))))
        name = (
            named[0] if named else next(letter for letter in letters if letter not in taken and letter not in variables)
        )
        taken.add(name)
        found.append(name)
    return found


def _variables(target: Target) -> dict[str, int]:
    """Return the numbers that the module binds at its top level, and that get_inputs() binds."""
    found: dict[str, int] = {}
    bodies = [target.tree.body, *(node.body for node in target.tree.body if getattr(node, "name", "") == "get_inputs")]  # type: ignore[attr-defined]
    for node in (item for body in bodies for item in body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            found |= {item.id: node.value.value for item in node.targets if isinstance(item, ast.Name)}
    return {name: value for name, value in found.items() if not name.startswith("_")}

"""What ``get_inputs()`` tells: sizes that may vary get symbols, values tell how test data are drawn. Loads torch."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

from torch import Tensor

from stepagents.torchfn.capture import probe
from stepagents.torchfn.dims import RESERVED, Described, size_names
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import NO_SIZES, Refused, refuse
from stepagents.torchfn.subject import Example, TracedSubject
from stepagents.torchfn.target import Target
from stepcore.sizes.dim import Dim

# For sizes without a name in the file, in the order of their appearance.
_LETTERS: Final = ("N", "M", "K", "D", "S", "T", "P", "Q")


def symbolic_arguments(
    subject: TracedSubject, asked: Mapping[str, int], guard: Guard, *, symbolic: bool
) -> tuple[TracedSubject, dict[str, int]]:
    """Return the subject with symbols for the sizes of its example inputs, and what each stands for there.

    Equal sizes share a symbol. A size of 1 stays a number, and so does one that a weight of the module has, except for
    the first dimension of an argument, which is the batch in most modules, and where the function runs at another one
    (an image that happens to be as wide as it has channels). A symbol is called like the variable of the module that
    holds its size (``batch_size``), or as a comment of the signature calls it, else by a letter.

    Raises:
        Refused: a size was asked for that it does not have.
    """
    weights = set(_weight_sizes(subject))
    sizes = [size.constant for item in subject.tensors for size in item.dims or ()]
    free = [size for size in dict.fromkeys(sizes) if size is not None and size not in {1, *weights}]
    first = [item.dims[0].constant for item in subject.tensors if len(item.dims or ()) > 1 and item.dims]
    leading = [size for size in dict.fromkeys(first) if size is not None and size > 1 and size in weights]
    chance = _by_chance(subject, weights, guard) if symbolic else {}
    alike = list(dict.fromkeys(chance.values()))
    found = iter(_names(subject, [*free, *leading, *alike]))
    names, batches, others = (dict(zip(group, found, strict=False)) for group in (free, leading, alike))
    bound = {name: size for group in (names, batches, others) for size, name in group.items()}
    for name in asked:
        if name not in bound:
            known = f"its sizes are {', '.join(f'{key}={size}' for key, size in bound.items())}" if bound else ""
            target = subject.target
            raise refuse(NO_SIZES, f"{target.qualifier} has no size {name}", target.path, target.line, advice=known)
    bound |= asked
    called = {place: others[size] for place, size in chance.items()}
    arguments = [_renamed(item, names, batches, called) if item.is_tensor else item for item in subject.arguments]
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


def _weight_sizes(subject: TracedSubject) -> Iterator[int]:
    if subject.module is not None:
        for tensor in (*subject.module.parameters(), *subject.module.buffers()):
            yield from tensor.shape


def _by_chance(subject: TracedSubject, weights: Container[int], guard: Guard) -> dict[tuple[str, int], int]:
    """Return the sizes, by argument and axis behind its first, that a weight has and the function does not need.

    One is not needed where the function runs on shapes with one more.
    """
    found: dict[tuple[str, int], int] = {}
    for item in subject.tensors:
        for axis, size in enumerate(item.dims or ()):
            number = size.constant
            if not axis or number is None or number == 1 or number not in weights:
                continue
            try:
                probe(_longer(subject, item, axis), {}, guard)
            except Refused as error:
                if error.is_final:
                    raise
            else:
                found[item.name, axis] = number
    return found


def _longer(subject: TracedSubject, item: Described, axis: int) -> TracedSubject:
    """Return the subject with one more along an axis of an argument."""
    dims = tuple(size + 1 if place == axis else size for place, size in enumerate(item.dims or ()))
    longer = Described(item.name, dims, item.dtype)
    return subject.with_arguments([longer if each is item else each for each in subject.arguments])


def _renamed(
    item: Described, names: Mapping[int, str], batches: Mapping[int, str], called: Mapping[tuple[str, int], str]
) -> Described:
    dims: list[Dim] = []
    for axis, size in enumerate(item.dims or ()):
        known = {**names, **(batches if axis == 0 and len(item.dims or ()) > 1 else {})}
        name = None if size.constant is None else called.get((item.name, axis), known.get(size.constant))
        dims.append(size if name is None else Dim.symbol(name))
    return Described(item.name, tuple(dims), item.dtype)


def _names(subject: TracedSubject, sizes: Sequence[int]) -> list[str]:
    target = subject.target
    variables = {**_commented(subject), **_variables(target)}
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


def _commented(subject: TracedSubject) -> dict[str, int]:
    """Return what comments of the signature call the sizes of the example inputs."""
    names = size_names(subject.target)
    found: dict[str, int] = {}
    for item in subject.tensors:
        dims = item.dims or ()
        called = names.get(item.name, ())
        if len(called) == len(dims):
            sizes = [size.constant for size in dims]
            pairs = ((name, size) for name, size in zip(called, sizes, strict=True) if size and name.isidentifier())
            found |= {name: size for name, size in pairs if not keyword.iskeyword(name) and name not in RESERVED}
    return found


def _variables(target: Target) -> dict[str, int]:
    """Return the numbers that the module binds at its top level, and that get_inputs() binds."""
    found: dict[str, int] = {}
    makers = [node for node in target.tree.body if isinstance(node, ast.FunctionDef) and node.name == "get_inputs"]
    for node in (item for body in (target.tree.body, *(maker.body for maker in makers)) for item in body):
        found |= dict(_assigned(node))
    used = {node.id for maker in makers for node in ast.walk(maker) if isinstance(node, ast.Name)}
    named = [name for name in found if not name.startswith("_")]
    # Those that get_inputs() uses come first: of two with the same value they are what the size is called.
    return {name: found[name] for name in sorted(named, key=lambda name: name not in used)}


def _assigned(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Yield names and whole numbers of ``a = 3``, ``a = b = 3`` and ``a, b = 3, 4``."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        value = node.value  # type: ignore[attr-defined]
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for item, number in pairs:
            if isinstance(item, ast.Name) and isinstance(number, ast.Constant) and type(number.value) is int:
                yield item.id, number.value

"""Whether ``get_inputs()`` of a file is meant for one of its functions: what this says itself is more particular.

A file has one ``get_inputs()`` and may have many functions. It is not used for a function that takes another number of
arguments, nor against the number of dimensions or a size that the function's own text tells (annotation, comment at the
signature, docstring). Loads torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

from torch import Tensor

from stepagents.shapes.annotations import annotated
from stepagents.shapes.documents import FunctionDocuments
from stepagents.shapes.told import TextPlace, Told
from stepagents.torchfn.dims import Partial, partly
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.subject import fits, given_examples
from stepagents.torchfn.target import Target
from stepcore.records import Record
from stepcore.text.wording import counted

_OPEN: Final = re.compile(r"(?<![\w)])\*|\.\.\.")  # "*batch d" and "... d" in annotations
_HERE: Final = "written at the function"


class OwnSizes(Record):
    """What is known of the arguments, and why ``get_inputs()`` is not among it.

    ``why`` is empty where it is, or where nothing asks for it. ``examples`` are what is known with it where it gives as
    many values as the function takes: the function may not run at the sizes that its text tells.
    """

    told: Partial
    qualifier: str
    why: str = ""
    examples: Partial | None = None

    @property
    def note(self) -> str:
        """What owners are told, nothing where ``get_inputs()`` is used as it was meant."""
        return f"get_inputs() was not used for {self.qualifier}: {self.why}" if self.why else ""

    @property
    def note_of_examples(self) -> str:
        """What they are told where it is used all the same."""
        return f"get_inputs() was used for {self.qualifier}, which does not run at its own sizes: {self.why}"


def chosen(target: Target, inputs: Sequence[str], dims: Mapping[str, int], guard: Guard) -> OwnSizes:
    """Return what is known of the arguments of ``target``, with ``get_inputs()`` where that is meant for it.

    Raises:
        JobError: the file cannot be imported.
        Refused: what is written cannot be read, or ``get_inputs()`` fails.
    """
    told = partly(target, inputs, dims)
    if not told.needs_examples or target.variadic:
        return OwnSizes(told, target.qualifier)
    values = given_examples(target, guard)
    own = partly(target, inputs, dims, with_examples=False)
    if not own.missing and not any(item.is_tensor for item in own.found.values()):
        return OwnSizes(told, target.qualifier)  # without it there is nothing to go on with
    if not fits(target, len(values)):
        names = ", ".join(argument.name for argument in target.arguments)
        return OwnSizes(
            own, target.qualifier, f"it gives {counted(len(values), 'value')}, and {target.qualifier} takes {names}"
        )
    asked = {text.partition("=")[0].strip() for text in inputs}
    why = _contradiction(target, told, asked, values)
    return OwnSizes(own, target.qualifier, why, told) if why else OwnSizes(told, target.qualifier)


def _contradiction(target: Target, told: Partial, asked: Container[str], values: Sequence[Any]) -> str:
    """Return where the examples are not what the function's own text tells, nothing where they agree."""
    stated = {item.name: item for item in _stated(target, told, asked)}
    for argument, value in zip(target.arguments, values, strict=False):
        item = stated.get(argument.name)
        if item is not None and isinstance(value, Tensor) and _differs(item, value.shape):
            shape = tuple(value.shape)
            sizes = (
                f"{item.rank} dimensions"
                if item.sizes is None
                else f"({', '.join(each or '?' for each in item.sizes)})"
            )
            place = item.place.text(target.path) if item.place.line else item.place.kind
            verb = "are" if item.sizes is None else "is"
            return f"it gives {argument.name} the shape {shape}, and {sizes} {verb} told ({place})"
    return ""


def _differs(item: Told, shape: Sequence[int]) -> bool:
    rank = item.told_rank
    if rank is None:
        return False
    pairs = zip(item.sizes or (), shape, strict=False)
    return rank != len(shape) or any(size.isdecimal() and int(size) != given for size, given in pairs)


def _stated(target: Target, told: Partial, asked: Container[str]) -> Iterator[Told]:
    """Yield what stands at the function itself and what ``--input`` says, the strongest last."""
    for item in FunctionDocuments(target).read().values():
        if item.place.kind == "docstring" or (item.place.kind == "comment" and item.place.line <= target.signature_end):
            yield item
    yield from annotated(target).values()
    open_ended = {
        each.name for each in target.arguments if each.annotation and _OPEN.search(ast.unparse(each.annotation))
    }
    for known in told.found.values():
        if known.dims is not None and (known.name in asked or known.name not in open_ended):
            place = TextPlace("--input" if known.name in asked else _HERE, target.path, 0)
            yield Told(known.name, place, tuple(str(size).replace(" ", "") for size in known.dims))

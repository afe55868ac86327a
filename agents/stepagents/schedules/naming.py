"""What a program calls things, kept apart from what the user calls tensors and sizes, and the user's lines in it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.traced.graph import line_of
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction


_LONE: Final = re.compile(r"\((@\w+@)\)")  # a marked name in brackets, as what is no name is divided


def file_names(traced: TracedFunction, sizes: Collection[str]) -> set[str]:
    """Return what the file of a program calls something: modules, sizes, tensors, the function and its twins."""
    own = {traced.name, f"{traced.name}_reference", f"torch_{traced.name}"}
    return {"step", "torch", *sizes, *own, *(item.name for item in traced.inputs)}


def line_comment(node: Node) -> list[str]:
    """Return the comment from which line of the user's file something is, none where that is not known."""
    place = line_of(node)
    return [] if place is None else [f"# line {place[1]}"]


def own_name(name: str) -> str:
    """Return the name of something of the user's, marked until streams have theirs."""
    return f"@{name}@"


def own_size(size: Dim) -> str:
    """Return a size as text of a program, the user's names in it marked until streams have theirs."""
    return _LONE.sub(r"\1", str(size.substitute(lambda name: Dim.symbol(own_name(name)))))


def kept_apart(text: str, streams: Collection[str], own: Collection[str], taken: set[str]) -> str:
    """Return a program in which no stream or index is called like one of the user's ``own`` names, and none is marked.

    Parameters of operators (``tile=``) keep their names. ``taken`` are all names of the program; new ones are added.
    """
    for stream in streams:
        if stream in own:
            text = re.sub(rf"(?<!@)\b{stream}\b(?![@=])", fresh_name(stream, taken), text)
    return text.replace("@", "")

"""What a move looks like from outside its task: the contexts under which its cost is learned.

A trait is a short text about types, ranks, who could use the result and how near it is to the goal. Names of
functions, sizes and tasks never occur, so that what was learned on one task means something on another. Types alone
decide: the same words are read off the graph of a program that a language model wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepagents.search.items import is_open, parts
from stepagents.search.space import Space
from stepcore.types import Buffer, Element, Multihot, Scalar, Shape, StreamType

_MOST: Final = 3  # ranks and counts above this are one word


def move_traits(source: StreamType, parent: str, result: StreamType, space: Space) -> tuple[str, ...]:
    """Return the traits of a move from a stream of type ``source``, which the move ``parent`` has made."""
    return (
        f"from {parent}",
        f"of {kind(source.element)}",
        f"of {kind(source.element)} from {parent}",
        f"rank {_few(source.rank)}",
        f"gives {_near(result, space)}",
        f"gives {kind(result.element)}, {_users(result.element, space)} users",
        f"gives rank {_against(result, space)} goal",
        f"gives shape of {_shape_of(result.shape, space)}",
    )


def kind(element: Element) -> str:
    """Return what kind of element this is, sizes left out: ``s``, ``b2``, ``sel``, or several for a tuple."""
    kinds = list(_kinds(parts(element)))
    return "+".join(kinds) if len(kinds) <= _MOST else f"{len(kinds)} parts"


def _kinds(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        match element:
            case Scalar():
                yield "s"
            case Multihot():
                yield "sel"
            case Buffer():
                yield f"b{len(element.shape)}" + ("sel" if isinstance(element.element, Multihot) else "")
            case _:
                yield "t"


def _near(result: StreamType, space: Space) -> str:
    """Return how near a stream is to what the program has to return."""
    if any(result == goal for goal in space.goals):
        return "goal"
    if any(result.element == goal.element for goal in space.goals):
        return "goal element"
    if any(part in parts(goal.element) for goal in space.goals for part in parts(result.element)):
        return "part of goal"
    return "other"


def _users(element: Element, space: Space) -> str:
    """Return how many functions can take the element as an argument."""
    own = parts(element)
    return _few(sum(_contains(components, own) * len(fns) for components, fns in space.by_input.items()))


def _contains(components: Sequence[Element], own: Sequence[Element]) -> bool:
    return any(tuple(components[i : i + len(own)]) == tuple(own) for i in range(len(components) - len(own) + 1))


def _against(result: StreamType, space: Space) -> str:
    ranks = [goal.rank for goal in space.goals]
    return "under" if result.rank < min(ranks) else "over" if result.rank > max(ranks) else "like"


def _shape_of(shape: Shape, space: Space) -> str:
    if any(shape == goal.shape for goal in space.goals):
        return "goal"
    if any(shape == port.type.shape for port in space.spec.inputs):
        return "input"
    return "branch" if any(is_open(size) for size in shape) else "none"


def _few(count: int) -> str:
    return str(count) if count <= _MOST else f"over {_MOST}"

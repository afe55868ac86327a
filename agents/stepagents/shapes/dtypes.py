"""Element types that nobody wrote: a run on shapes shows where fp32 cannot be meant. Loads torch."""

from __future__ import annotations

from dataclasses import replace

from stepagents.shapes.moves import ShapeMoves
from stepagents.shapes.running import SubjectRunner
from stepagents.shapes.state import State
from stepagents.torchfn.dims import Description
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.subject import load
from stepagents.torchfn.target import Target


def retyped(target: Target, description: Description, guard: Guard) -> Description | None:
    """Return the description with the element types that failures ask for, None where they ask for none.

    An argument changes only if its element type is written nowhere (``is_typed``), and each at most once.

    Raises:
        JobError: the file cannot be imported.
        Refused: the function cannot be run at any sizes.
    """
    arguments = description.arguments or ()
    untyped = {item.name for item in arguments if item.is_tensor and not item.is_typed}
    if not untyped:
        return None
    subject, _ = load(target, description, guard)
    runner = SubjectRunner(subject, guard)
    tensors = {item.name: item for item in subject.tensors}
    dims = {name: item.dims or () for name, item in tensors.items()}
    state = State(dims, {name: item.dtype for name, item in tensors.items()})
    changed: dict[str, str] = {}
    for _ in untyped:
        failure = runner.run(state).failure
        if failure is None or not (moves := ShapeMoves(state, failure, frozenset(dims), {})).is_about_types:
            break
        pairs = [(each, _difference(state, each)) for each in moves.types()]
        pairs = [(each, name) for each, name in pairs if name in untyped - changed.keys()]
        if not pairs:
            break
        state, name = min(pairs, key=lambda pair: pair[0].cost)
        changed[name] = state.dtypes[name]
    if not changed:
        return None
    return replace(
        description,
        arguments=tuple(
            replace(item, dtype=changed[item.name], is_typed=True) if item.name in changed else item
            for item in arguments
        ),
    )


def _difference(before: State, after: State) -> str:
    return next(name for name, dtype in after.dtypes.items() if before.dtypes[name] != dtype)

"""Programs made wrong on purpose: without some of their copies, or with one thing about types changed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from .model import Kind, Program, Step
from .sizes import Size, number


def copies(program: Program) -> list[int]:
    """The positions of the `Copy` steps."""
    return [position for position, step in enumerate(program.steps) if step.op == "Copy"]


def without(program: Program, dropped: list[int]) -> Program:
    """The program without the `Copy` steps at these positions: what consumed a copy consumes the original."""
    stands_for: dict[int, int] = {}
    steps: list[Step] = []
    for position, step in enumerate(program.steps):
        inputs = tuple(stands_for.get(index, index) for index in step.inputs)
        if position in dropped:
            stands_for.update(dict.fromkeys(step.outputs, inputs[0]))
        else:
            steps.append(replace(step, inputs=inputs))
    returns = [stands_for.get(index, index) for index in program.returns]
    return replace(program, steps=steps, returns=returns)


def mistyped(program: Program, rng: Random) -> Program:
    """The program with one parameter, function, operand or declared input changed. It may still be well-typed."""
    changes = [_parameter, _parameter, _function, _operands, _input_dims, _input_kind]
    for _ in range(20):
        changed = rng.choice(changes)(program, rng)
        if changed is not None:
            return changed
    return program


def _with_step(program: Program, position: int, step: Step) -> Program:
    # A step that is changed alone leaves its group, whose steps are written as one.
    group = program.steps[position].group
    steps = [replace(other, group=0) if group and other.group == group else other for other in program.steps]
    steps[position] = replace(step, group=0)
    return replace(program, steps=steps)


def _parameter(program: Program, rng: Random) -> Program | None:
    position = rng.randrange(len(program.steps))
    step = program.steps[position]
    names = [name for name in step.params if name != "fn"]
    if not names:
        return None
    name = rng.choice(names)
    return _with_step(program, position, replace(step, params={**step.params, name: _other(step.params[name], rng)}))


def _other(value: Any, rng: Random) -> Any:
    if isinstance(value, list):
        moved = [index + rng.choice((-1, 1)) for index in value]
        return rng.choice((moved, value[1:], [*value, value[-1] + 1], value + value, value[::-1]))
    if isinstance(value, Size):
        return rng.choice((value * number(2), number(value.value), number(value.value + 1), number(0)))
    return value + rng.choice((-1, 1))


def _function(program: Program, rng: Random) -> Program | None:
    positions = [position for position, step in enumerate(program.steps) if "fn" in step.params]
    if not positions:
        return None
    position = rng.choice(positions)
    step = program.steps[position]
    other = rng.choice(tuple(program.fns))
    return _with_step(program, position, replace(step, params={**step.params, "fn": other}))


def _operands(program: Program, rng: Random) -> Program | None:
    """Swap the operands of a step, or take another stream that exists at that point."""
    position = rng.randrange(len(program.steps))
    step = program.steps[position]
    if len(step.inputs) == 2 and rng.randrange(2):
        return _with_step(program, position, replace(step, inputs=step.inputs[::-1]))
    known = [entry.stream.index for entry in program.inputs]
    known += [index for earlier in program.steps[:position] for index in earlier.outputs if index not in program.dead]
    place = rng.randrange(len(step.inputs))
    inputs = list(step.inputs)
    inputs[place] = rng.choice(known)
    return _with_step(program, position, replace(step, inputs=tuple(inputs)))


def _input_dims(program: Program, rng: Random) -> Program | None:
    """Declare the sizes of an input in another order, or one of them differently."""
    place = rng.randrange(len(program.inputs))
    entry = program.inputs[place]
    shape = list(entry.stream.shape)
    if len(shape) > 1 and rng.randrange(2):
        first = rng.randrange(len(shape) - 1)
        shape[first], shape[first + 1] = shape[first + 1], shape[first]
    else:
        at = rng.randrange(len(shape))
        shape[at] = rng.choice((shape[at] * number(2), number(shape[at].value), number(1)))
    return _with_input(program, place, tuple(shape), entry.stream.kind)


def _input_kind(program: Program, rng: Random) -> Program | None:
    """Turn the sizes of a buffer around, or change how many branches a selector selects among."""
    place = rng.randrange(len(program.inputs))
    stream = program.inputs[place].stream
    at = rng.randrange(len(stream.kind.parts))
    part = stream.kind.parts[at]
    if part.bits is not None and rng.randrange(2):
        part = replace(part, bits=number(part.bits.value + 1))
    elif part.sizes:
        part = replace(part, sizes=rng.choice((part.sizes[::-1], part.sizes[1:], (*part.sizes, number(2)))))
    else:
        return None
    parts = (*stream.kind.parts[:at], part, *stream.kind.parts[at + 1 :])
    return _with_input(program, place, stream.shape, Kind(parts, stream.kind.is_tuple))


def _with_input(program: Program, place: int, shape: tuple[Size, ...], kind: Kind) -> Program:
    inputs = list(program.inputs)
    stream = replace(inputs[place].stream, shape=shape, kind=kind)
    inputs[place] = replace(inputs[place], stream=stream)
    return replace(program, inputs=inputs, streams={**program.streams, stream.index: stream})

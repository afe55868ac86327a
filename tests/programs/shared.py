"""Random programs in Python whose branches end in the same Map, or in something else, as files."""

from __future__ import annotations

from random import Random

from stepcore.records import Record

_HEAD = """\
from typing import Annotated

import torch

import stepcore as step

T = step.Tile("fp32", [2, 2])


@step.fn(input={given}, output=T)
def work(input):
    return [{work}]


@step.fn(input={given}, output=T)
def other(input):
    return [{work} * 2.0]


@step.fn(input=T, output=T)
def twist(input):
    return [torch.sigmoid(input[0])]


@step.fn(input=T, output=T, init=[0])
def add(state, input):
    return [state[0] + input[0]]


"""
_WORKS = (
    ("torch.tanh(input[0])", "input[0] * input[0] + 1.0"),
    ("input[0] @ input[1]", "torch.maximum(input[0], input[1] - 0.5)"),
    ("input[0] @ input[1] - input[2]", "torch.relu(input[0] * input[2]) + input[1]"),
)
FRAMES = ("list", "helper", "loop", "apart")
ENDS = ("Reassemble", "EagerMerge")
TRAPS = ("other function", "arrival", "lanes", "no map", "chosen")


class SharedModule(Record):
    """A file, how its branches are written and joined, and why they cannot share a unit; empty where they can."""

    text: str
    frame: str
    refused: str
    end: str


def shared_module(rng: Random) -> SharedModule:
    """Return a file whose stream is routed to two or three branches."""
    trap, branches, count = rng.choice((*TRAPS, *[""] * 5)), rng.choice((2, 3)), rng.choice((1, 2, 3))
    frame = {"other function": "apart", "no map": "apart", "chosen": "list"}.get(trap, rng.choice(FRAMES))
    inner = rng.choice((None, 3))
    depth = rng.choice(("", "", ", depth=4"))
    end = "Reassemble" if trap in ("arrival", "lanes") else rng.choice(ENDS)
    kinds = "T" if count == 1 else f"({', '.join('T' * count)})"
    lines = [_HEAD.format(given=kinds, work=rng.choice(_WORKS[count - 1]))]
    copies = "twisted(part)" if count > 1 else "part"
    if count > 1:
        lines += [f"def twisted(part):\n    first, *rest = step.Copy(n={count}).apply(part)\n"]
        lines += ["    return (first, *[step.Map(fn=twist).apply(each) for each in rest])\n\n\n"]
    names = [f"p{number}" for number in range(count)]
    given = f"({', '.join(names)})" if count > 1 else copies
    unit = f"step.Map(fn=work{depth}).apply({given})"
    if frame == "helper":
        lines += [f"def branch(part):  # one of {branches}\n"]
        lines += [f"    {', '.join(names)} = {copies}\n"] if count > 1 else []
        lines += [f"    return {unit}\n\n\n"]
    shape, selector = (f"({inner}, 5)" if inner else "(5,)"), f"step.Multihot(step.f32, {branches})"
    is_dealt = trap == "lanes"
    route = "" if is_dealt else f", route: Annotated[step.Stream, {selector}, (5,)]"
    data = "" if is_dealt else ', "route": "binary"'
    lines += [f'@step.program(data={{"x": "torch.randn"{data}}})\n']
    lines += [f"def routed(x: Annotated[step.Stream, T, {shape}]{route}) -> Annotated[step.Stream, T, (5,)]:\n"]
    if end == "EagerMerge":
        lines += [f"    parts = step.Partition(N={branches}).apply((x, route))\n"]
    elif is_dealt:
        lines += [f"    parts, s1 = step.Parallelize(N={branches}).apply(x)\n"]
    else:
        lines += ["    s0, s1 = step.Copy(depth=5).apply(route)\n"]
        lines += [f"    parts = step.Partition(N={branches}).apply((x, s0))\n"]
    lines += _branches(frame, unit, count, branches, trap)
    if end == "EagerMerge":
        rank = 2 if inner else 1
        lines += ["    data, whose = step.EagerMerge().apply(ys)  # as they come\n"]
        lines += [f"    return step.Accum(fn=add, b={rank}).apply(step.Promote(b={rank}).apply(data))\n"]
        text = "".join(lines).replace("step.Stream, T, (5,)]:", 'step.Stream, T, (step.dyn("L"),)]:')
        return SharedModule(text, frame, trap, end)
    order = 'order="arrival"' if trap == "arrival" else ""
    joined = f"step.Reassemble({order}).apply((ys, s1))  # in the order of rows"
    lines += [f"    ys = {joined}\n", f"    return step.Accum(fn=add, b={2 if inner else 1}).apply(ys)\n"]
    return SharedModule("".join(lines), frame, trap, end)


def _branches(frame: str, unit: str, count: int, branches: int, trap: str) -> list[str]:
    """Return the lines that bind what branches give to ``ys``."""
    names = ", ".join(f"p{number}" for number in range(count))
    if frame == "helper":
        return ["    ys = [branch(part) for part in parts]\n"]
    if frame == "list":
        over, rounds = ("parts", "part") if count == 1 else ("[twisted(part) for part in parts]", names)
        if trap == "chosen":
            own = ", ".join("work" if number else "other" for number in range(branches))
            over, rounds = f"zip([{own}], {over}, strict=True)", f"fn, {f'({names})' if count > 1 else 'part'}"
            unit = unit.replace("fn=work", "fn=fn")
        return [f"    ys = [{unit} for {rounds} in {over}]\n"]
    unpacked = f"{names} = twisted(part)\n" if count > 1 else ""
    if frame == "loop":
        inside = f"        {unpacked}" if unpacked else ""
        return ["    ys = []\n", "    for part in parts:\n", f"{inside}        ys.append({unit})\n"]
    lines = []
    for number in range(branches):
        own = unit.replace("fn=work", "fn=other") if trap == "other function" and not number else unit
        if trap == "no map" and number:
            own = f"step.Identity().apply({own})"
        lines += [f"    part = parts[{number}]\n", *([f"    {unpacked}"] if unpacked else [])]
        lines += [f"    y{number} = {own}  # branch {number}\n"]
    return [*lines, f"    ys = [{', '.join(f'y{number}' for number in range(branches))}]\n"]

"""Programs as Python files: the same body, the functions by `@step.fn`, the inputs by annotations."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from .model import Fn, Input, Kind, Param, Part, Program
from .sizes import Size

HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, E, K, M, N

"""


def module_text(program: Program, impl: str) -> str:
    """A complete Python file around the body `impl`."""
    pieces = [HEAD]
    pieces += [f"{name}_value = {value}\n" for name, value in program.sizes.items()]
    weights = {weight.name: f"input_data['{weight.name}']" for weight in program.weights}
    pieces += [_fn(fn, weights) for fn in program.fns.values()]
    dims = ", ".join(f"{name}: {value}" for name, value in program.sizes.items())
    data = ", ".join(f'"E{i}": {_drawn(entry)}' for i, entry in enumerate(program.inputs))
    data += "".join(f', "{weight.name}": "torch.randn"' for weight in program.weights)
    pieces.append(f"\n\n@step.program(dims={{{dims}}}, data={{{data}}})\ndef generated(\n")
    pieces += [
        f"    E{i}: {_stream(entry.stream.kind, entry.stream.shape)},\n" for i, entry in enumerate(program.inputs)
    ]
    pieces += ["    *,\n"] if program.weights else []
    pieces += [f"    {_weight(weight)},\n" for weight in program.weights]
    returned = [_stream(program.streams[i].kind, program.streams[i].shape) for i in program.returns]
    arrow = returned[0] if len(returned) == 1 else f"tuple[{', '.join(returned)}]"
    pieces += [f") -> {arrow}:\n", textwrap.indent(impl, "    "), "\n"]
    return "".join(pieces)


def _fn(fn: Fn, weights: Mapping[str, str]) -> str:
    init = f", init=[{', '.join(fn.init)}]" if fn.init is not None else ""
    arguments = "input" if fn.init is None else "state, input"
    head = f"\n\n@step.fn(input={_kind(fn.input)}, output={_kind(fn.output)}{init})\ndef {fn.name}({arguments}):\n"
    return head + textwrap.indent(fn.body.format(**weights), "    ") + "\n"


def _drawn(entry: Input) -> str:
    return f'"{entry.data_gen}"' if entry.ones is None else str(entry.ones)


def _weight(weight: Param) -> str:
    return f"{weight.name}: Annotated[step.Param, step.f32, {_shape(weight.dims)}]"


def _stream(kind: Kind, shape: tuple[Size, ...]) -> str:
    return f"Annotated[step.Stream, {_kind(kind)}, {_shape(shape)}]"


def _shape(shape: tuple[Size, ...]) -> str:
    return f"({', '.join(map(str, shape))},)"


def _kind(kind: Kind) -> str:
    listed = ", ".join(_part(part) for part in kind.parts)
    return f"step.STuple(({listed},))" if kind.is_tuple else listed


def _part(part: Part) -> str:
    inner = "step.f32" if part.bits is None else f"step.Multihot(step.f32, {part.bits})"
    return f"step.Buffer({inner}, [{', '.join(map(str, part.sizes))}])" if part.sizes else inner

"""Random well-typed programs whose sizes only a run knows: ragged and routed streams, tiles of dynamic sizes.

Operators are drawn without looking at types; what the checker refuses is left out, so that what stays is well typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, TypeAlias

from programs.running import check, errors
from stepcore.check import Checked
from stepcore.graph.ir import GraphStream
from stepcore.printing.task import type_text
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, StreamType, Tile

HEAD = """\
test_name: generated
global: |
  M_value = {m}
  ctx[M] = M_value
  N_value = {n}
  ctx[N] = N_value
sizes:
  "~L": {{min: 0, max: 3}}
  "~P": {{min: 0, max: 2}}
  "?T": {{min: 0, max: 4}}
inputs:
- {{name: E0, dtype: fp32, dims: ["~L", N], data_gen: torch.randn}}
- {{name: E1, dtype: fp32, dims: ["~P", 2, M], data_gen: torch.randn}}
- {{name: E2, dtype: fp32, dims: ["?T"], data_gen: torch.randn}}
- {{name: E3, dtype: "Tile(fp32, [1, 2])", dims: ["?T"], data_gen: torch.randn}}
- {{name: E4, dtype: fp32, dims: [N], data_gen: torch.randn}}
- {{name: R0, dtype: "Multihot(fp32, 2)", dims: [N], min: 0, max: 2}}
- {{name: R1, dtype: "Multihot(fp32, 2)", dims: ["?T"], min: 0, max: 2}}
- {{name: R2, dtype: "Multihot(fp32, 2)", dims: [2, M], min: 1, max: 2}}
fns:
- {{func_name: fn_twice, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}}
- {{func_name: fn_product, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] * input[1]]"}}
- {{func_name: fn_sum, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}}
- {{func_name: fn_shift, input_dtype: "Tile(fp32, [_R, _C])", output_dtype: "Tile(fp32, [_R, _C])", apply: "return [input[0] + 1]"}}
- {{func_name: fn_tiles, init: [0], input_dtype: "Tile(fp32, [_R, _C])", output_dtype: "Tile(fp32, [_R, _C])", apply: "return [state[0] + input[0]]"}}
outputs:
"""  # noqa: E501
INPUTS = ("E0", "E1", "E2", "E3", "E4", "R0", "R1", "R2")


_TRIES: Final = 12  # of streams for one kind of step


def generate(rng: Random, steps: int) -> tuple[str, Checked]:
    """A task with so many operators (and copies), and its program, checked. All streams that are left are returned."""
    head = HEAD.format(m=rng.randint(1, 3), n=rng.randint(1, 3))
    lines: list[str] = []
    live, checked = list(INPUTS), _checked(head, [], INPUTS)
    assert checked is not None, "the inputs alone are a program"
    for number in range(steps):
        kind = rng.choice(_KINDS)
        for _ in range(_TRIES):
            new, used, results = kind(rng, live, f"A{number}")
            rest = [name for name in live if name not in used] + results
            found = _checked(head, [*lines, *new], rest) if rest else None
            if found is not None:
                live, checked, lines = rest, found, lines + new
                break
    return _text(head, lines, live, _outputs(checked)), checked


def _checked(head: str, lines: Sequence[str], live: Sequence[str]) -> Checked | None:
    """Return the program that returns all of ``live``; None where the rules refuse it."""
    found, checked = check(_text(head, lines, live, []))
    wrong = errors(found.diagnostics, but=("STEP213",))
    assert not [item for item in wrong if not item.code.startswith(("STEP101", "STEP2"))], wrong
    return None if wrong or any(map(_has_lists, checked.graph.streams)) else checked


def _has_lists(stream: GraphStream) -> bool:
    """Whether a stream has buffers of lists: a run refuses those that differ in length (STEP412)."""
    element = None if stream.type is None else stream.type.element
    return isinstance(element, Buffer) and element.shape[-1].is_ragged


def _text(head: str, lines: Sequence[str], live: Sequence[str], outputs: Sequence[str]) -> str:
    body = "".join(f"  {line}\n" for line in (*lines, f"return {', '.join(live)}"))
    declared = "".join(outputs) or "- {name: S0, dtype: fp32, dims: [1]}\n"
    return f"{head}{declared}impl: |-\n{body}"


def _outputs(checked: Checked) -> list[str]:
    """Declare what is returned, each open size under a name of its own, which fits it."""
    types = [checked.graph.streams[index].type for index in checked.graph.returns]
    return [_output(number, type_) for number, type_ in enumerate(types) if type_ is not None]


def _output(number: int, type_: StreamType) -> str:
    names: dict[Dim, str] = {}

    def name(size: Dim) -> str:
        return names.setdefault(size, f"{'~' if size.is_ragged else '?'}O{number}x{len(names)}")

    dims = ", ".join(f'"{name(size) if size.is_open else size}"' for size in type_.shape)
    element = type_.element
    if isinstance(element, Tile):
        rows, columns = (Dim.symbol(name(size)) if size.is_open else size for size in element.shape)
        element = Tile(element.scalar, (rows, columns))
    return f"- {{name: S{number}, dtype: {type_text(element)}, dims: [{dims}]}}\n"


# What a step draws: lines, the streams that they consume, and those that they make; of whatever types.
Step: TypeAlias = tuple[list[str], list[str], list[str]]


def _unary(rng: Random, live: Sequence[str], name: str) -> Step:
    """Some operator on one stream."""
    (one,), b, i = _some(rng, live, 1), rng.randint(0, 3), rng.randint(1, 3)
    operator = rng.choice([
        "Map(fn=fn_twice)", "Map(fn=fn_shift)", "Identity()", f"Promote(b={b})", "Repeat(n=2)",
        f"Scan(fn=fn_sum, b={i})",
        f"RetileStreamify(axis={b % 2})",
    ])  # fmt: skip
    return [f"{name} = step.{operator}.apply({one})"], [one], [name]


def _folded(rng: Random, live: Sequence[str], name: str) -> Step:
    """Dimensions that are folded or joined, after an outermost one was put around them where none would stay."""
    (one,), i = _some(rng, live, 1), rng.randint(1, 3)
    fold = rng.choice(["Accum(fn=fn_sum, b={})", "Accum(fn=fn_tiles, b={})", "Flatten(L=[{}])"]).format(i)
    fold = rng.choice([fold, fold, f"Retile(axis={i % 2})"])
    given = f"step.Promote(b={i}).apply({one})" if rng.random() < 0.4 else one
    return [f"{name} = step.{fold}.apply({given})"], [one], [name]


def _copied(rng: Random, live: Sequence[str], name: str) -> Step:
    (one,) = _some(rng, live, 1)
    return [f"{name}, {name}b = step.Copy().apply({one})"], [one], [name, f"{name}b"]


def _parted(rng: Random, live: Sequence[str], name: str) -> Step:
    one, by = _some(rng, live, 2)
    return [f"{name}, {name}b = step.Partition(N=2).apply(({one}, {by}))"], [one, by], [name, f"{name}b"]


def _routed(rng: Random, live: Sequence[str], name: str) -> Step:
    """Partition, a Map of one branch, and Merge by a copy of the selector."""
    one, by = _some(rng, live, 2)
    lines = [
        f"{name}r, {name}s = step.Copy().apply({by})",
        f"{name}x, {name}y = step.Partition(N=2).apply(({one}, {name}r))",
        f"{name} = step.Merge(fn=fn_sum).apply(([step.Map(fn=fn_twice).apply({name}x), {name}y], {name}s))",
    ]
    return lines, [one, by], [name]


def _buffered(rng: Random, live: Sequence[str], name: str) -> Step:
    (one,), i = _some(rng, live, 1), rng.randint(1, 2)
    return [f"{name} = step.Streamify().apply(step.Bufferize(a={i}).apply({one}))"], [one], [name]


def _paired(rng: Random, live: Sequence[str], name: str) -> Step:
    """A stream with what repeats a fold of its copy: sizes that were derived in two ways have to fit."""
    (one,) = _some(rng, live, 1)
    lines = [
        f"{name}r, {name}s = step.Copy().apply({one})",
        f"{name}t, {name}u = step.Copy().apply({name}r)",
        f"{name}v = step.RepeatRef().apply((step.Accum(fn=fn_sum, b=1).apply({name}s), {name}t))",
        f"{name} = step.Map(fn=fn_product).apply(({name}u, {name}v))",
    ]
    return lines, [one], [name]


def _zipped(rng: Random, live: Sequence[str], name: str) -> Step:
    one, other = _some(rng, live, 2)
    operator = rng.choice(["Map(fn=fn_product)", "RepeatRef()"])
    return [f"{name} = step.{operator}.apply(({one}, {other}))"], [one, other], [name]


def _some(rng: Random, live: Sequence[str], count: int) -> list[str]:
    return rng.sample([*live, "E0"], count)  # E0 twice, or when it is gone, is refused


_KINDS: Final = (_unary, _unary, _unary, _folded, _folded, _copied, _parted, _routed, _buffered, _paired, _zipped)

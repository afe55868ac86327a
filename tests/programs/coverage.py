"""What a set of programs exercises: pairs of operators that feed each other, and the rare cases of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .model import Program, Step

# (producer, consumer): why no well-typed affine program has this pair.
IMPOSSIBLE = {
    ("Zip", "Bufferize"): "Zip makes tuples, and Bufferize refuses them",
    ("Zip", "Streamify"): "Zip makes tuples, which are no buffers",
    ("Streamify", "Streamify"): "what a buffer holds is no buffer",
    ("Partition", "Zip"): "the size of a branch is its own, so that no other stream has an equal shape",
    ("Partition", "RepeatRef"): "the size of a branch is its own, so that no shape without one dimension equals it",
    ("Partition", "Partition"): "the size of a branch is its own, so that no selector or data fits it",
}


@dataclass
class Coverage:
    """`pairs` are (producer, consumer), `features` names of cases that occurred."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    features: set[str] = field(default_factory=set)


def covered(programs: Iterable[Program]) -> Coverage:
    """What these programs exercise."""
    found = Coverage()
    for program in programs:
        made = {index: step.op for step in program.steps for index in step.outputs}
        for step in program.steps:
            found.pairs |= {(made[index], step.op) for index in step.inputs if index in made}
            found.features |= set(_features(program, step))
    return found


def _features(program: Program, step: Step) -> Iterator[str]:
    inputs = [program.streams[index] for index in step.inputs]
    first = inputs[0]
    yield f"{step.op} rank {first.rank}"
    if first.kind.is_tuple:
        yield f"{step.op} tuple of {len(first.kind.parts)}"
    if any(size.value == 1 for size in first.shape):
        yield f"{step.op} size 1"
    if not first.kind.is_tuple and first.kind.parts[0].bits is not None:
        yield f"{step.op} {'buffer of selectors' if first.kind.parts[0].sizes else 'selectors'}"
    if not first.kind.is_tuple and len(first.kind.parts[0].sizes) >= 2:
        yield f"{step.op} buffer of rank 2"
    if len(inputs) > 1 and step.op == "Map":
        yield f"Map of {len(inputs)} streams"
    if step.op == "Partition":
        yield from _routing(program, step)
    yield from _parameters(program, step)


def _routing(program: Program, step: Step) -> Iterator[str]:
    data, selector = (program.streams[index] for index in step.inputs)
    yield f"Partition by selector of rank {selector.rank}"
    yield f"Partition keeps {data.rank - selector.rank} dimensions"
    for entry in program.inputs:
        # A Copy, Promote or Flatten of a selector still has its route.
        if entry.stream.route == selector.route and entry.ones is not None:
            least, most = entry.ones
            yield {(0, 0): "all branches empty", (1, 1): "one branch each"}.get((least, most), "some branches")


def _parameters(program: Program, step: Step) -> Iterator[str]:
    rank = program.streams[step.inputs[0]].rank
    match step.op:
        case "Promote":
            yield f"Promote b={step.params['b']} of rank {rank}"
        case "Flatten":
            yield f"Flatten {step.params['L']} of rank {rank}"
        case "Reshape":
            yield f"Reshape {len(step.params['L'])} dimensions"
            yield "Reshape by a symbol" if step.params["S"].atoms else f"Reshape by {step.params['S']}"
        case "Repeat":
            yield "Repeat by a symbol" if step.params["n"].atoms else f"Repeat by {step.params['n']}"
        case "Bufferize":
            yield f"Bufferize a={step.params['a']} of rank {rank}"
        case "Accum" | "Scan":
            yield f"{step.op} b={step.params['b']} of rank {rank}"
            yield from (f"init {constant}" for constant in program.fns[step.params["fn"]].init or ())

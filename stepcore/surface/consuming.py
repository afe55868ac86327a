"""What applying operators to streams of a script leaves behind: who drained them, and which sizes have which value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.surface.callers import Cell, cell, name_of, place
from stepcore.surface.stream import Stream, size_values
from stepcore.types import components, element_shape

# A verification collects the findings that do not stop a program: overuse, and outputs other than declared.
FINDINGS: ContextVar[list[StepError] | None] = ContextVar("stepsmith_findings", default=None)
# The sizes of the program that runs: those of operators without an input.
SIZES: ContextVar[Mapping[str, int]] = ContextVar("stepsmith_sizes", default=DEFAULT_SIZES)


def consume_check(streams: Sequence[Stream], frame: FrameType | None) -> None:
    """Report STEP101 where a stream is consumed already, or stands twice among ``streams``."""
    here = cell()
    for index, stream in enumerate(streams):
        again = any(stream is other for other in streams[:index])
        if is_run_again(stream.consumed_in, here):
            stream.consumed_at = None  # by what this run replaces
        if stream.consumed_at is None and not again:
            continue
        first = stream.consumed_at or place(frame)
        text = (
            f"{name_of(stream, frame) or 'a stream'} is consumed twice, but a stream is drained by its first consumer; "
            f"insert a Copy (first consumed at {first})"
        )
        report(StepError("STEP101", text))


def report(error: StepError) -> None:
    """Raise ``error``, or note it where a verification collects such findings and goes on."""
    findings = FINDINGS.get()
    if findings is None:
        raise error
    findings.append(error)


def mark_consumed(streams: Sequence[Stream], frame: FrameType | None) -> None:
    """Remember that ``streams`` are drained, and where."""
    there, here = place(frame), cell()
    for stream in streams:
        stream.consumed_at, stream.consumed_in = there, here


def is_run_again(before: Cell | None, now: Cell | None) -> bool:
    """Whether ``now`` is another run of the same cell of a notebook, whose results replace those of the run before."""
    return before is not None and now is not None and before.cell == now.cell and before.run != now.run


def merged_sizes(streams: Sequence[Stream]) -> dict[str, int]:
    """Return the bindings of all ``streams``, without any those of the program that runs.

    Raises:
        StepError: STEP207 where two of them bind a size differently.
    """
    if not streams:
        return dict(SIZES.get())
    merged = size_values(streams[0].ctx)
    origin = dict.fromkeys(merged, streams[0])
    for stream in streams[1:]:
        for key, value in size_values(stream.ctx).items():
            if merged.setdefault(key, value) != value:
                first = origin[key].label
                text = f"{key} is {merged[key]} for {first} but {value} for {stream.label}; give both the same ctx"
                raise StepError("STEP207", text)
            origin.setdefault(key, stream)
    return merged


def bind_fresh(stream: Stream, bindings: dict[str, int]) -> None:
    """Add the sizes that only the data know: those of Partition's outputs, and of tiles that are made of them."""
    first: Any = stream.data[0]
    levels = getattr(first, "levels", ())
    inner = first.values.shape[1:] if levels else first.shape
    sizes = (*reversed(stream.shape), *element_shape(components(stream.dtype)[0]))
    for size, found in zip(sizes, (*reversed(levels), *inner), strict=False):
        if size.is_open and isinstance(found, int) and str(size) not in bindings:
            bindings[str(size)] = found

"""Units of streams whose lists differ in length: what :mod:`stepcore.cycles.network_of` says with a few numbers for
regular streams, here token by token, from the tokens of what a unit reads and writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepcore.cycles.tokens import StreamTokens, handed_on
from stepcore.ops.pace import Pace, Read
from stepcore.timing.microcode import Instruction, enq_all, take, times
from stepcore.timing.unit_programs import (
    expand_unit,
    flat_map_unit,
    fold_unit,
    gather_unit,
    hand_on,
    map_unit,
    pad_unit,
    repeat_unit,
    unpack_unit,
)


@dataclass(frozen=True, slots=True)
class RaggedStream:
    """A stream of a unit: its channel, how many dimensions it has, and its tokens."""

    channel: int
    dims: int
    tokens: StreamTokens


def ragged_body(
    pace: Pace,
    reads: Sequence[RaggedStream],
    writes: Sequence[RaggedStream],
    cycles: tuple[int, int] = (0, 0),
    rounds: Sequence[int] = (),
) -> list[Instruction]:
    """Return what a unit does.

    ``cycles`` are those of a call, and of the last one of a fold; ``rounds`` are, of each input, the innermost
    dimensions of the output for all of which one of its elements is read (:meth:`stepcore.ops.base.Operator.rounds`).
    """
    first, out = reads[0], writes[0]
    channels = [stream.channel for stream in reads]
    if pace.applies and pace.folds:
        folded = first.tokens.chunks(first.dims - out.dims)
        calls = [number for chunk in folded for number in _calls(chunk, *cycles)]
        return fold_unit(channels, out.channel, len(folded), [len(chunk) for chunk in folded], calls)
    if pace.applies and pace.read(0) is Read.REPEATED:
        given = _spread(first, out, rounds[0])
        return flat_map_unit(channels, out.channel, first.tokens.elements, cycles[1], given)
    if pace.applies:
        return map_unit(channels, out.channel, first.tokens.elements, cycles[1])
    if pace.folds:
        groups = first.tokens.groups(first.dims - out.dims)
        return gather_unit(first.channel, out.channel, len(groups), groups)
    if pace.read(0) is Read.REPEATED:
        return _repeated(pace, reads, out, rounds)
    if pace.read(0) is Read.SPREAD:
        return unpack_unit(first.channel, out.channel, len(first.tokens.ends), _spread(first, out, 1))
    return _handed_on(reads, writes)


def padded_body(read: RaggedStream, writes: Sequence[RaggedStream]) -> list[Instruction]:
    """Return what a unit does that fills up innermost lists (Reshape with ``pad``)."""
    lists, filled = read.tokens.groups(1), writes[0].tokens.groups(2)
    pads = [whole - size for size, whole in zip(lists, filled, strict=True)]
    return pad_unit(read.channel, [stream.channel for stream in writes], len(lists), lists, pads)


def _calls(chunk: Sequence[bool], each: int, last: int) -> list[int]:
    """Return the cycles of the tokens of a fold: its result is written with its last element."""
    found = [each if is_element else 0 for is_element in chunk]
    if True in chunk:
        found[len(chunk) - 1 - list(reversed(chunk)).index(True)] = last
    return found


def _repeated(pace: Pace, reads: Sequence[RaggedStream], out: RaggedStream, rounds: Sequence[int]) -> list[Instruction]:
    first, tokens = reads[0], len(reads[0].tokens.ends)
    if len(reads) == 1:
        return repeat_unit(first.channel, out.channel, tokens, _lengths(out, rounds[0]))
    ref = reads[1]
    if pace.read(1) is Read.SPREAD:
        readings, counts = ref.tokens.groups(rounds[0] - rounds[1]), _lengths(out, rounds[1])
        return repeat_unit(first.channel, out.channel, tokens, counts, ref.channel, readings)
    return expand_unit(first.channel, ref.channel, out.channel, tokens, ref.tokens.groups(rounds[0]))


def _lengths(stream: RaggedStream, dims: int) -> list[int]:
    """Return how many elements each list of ``dims`` dimensions has: 0 of a bare stop."""
    return [len(chunk) if chunk[0] else 0 for chunk in stream.tokens.chunks(dims)]


def _spread(first: RaggedStream, out: RaggedStream, dims: int) -> list[int]:
    """Return how many tokens each becomes: all elements of an innermost list the same number, as near as it goes.

    ``dims`` are those of the output that an innermost list becomes.
    """
    given: list[int] = []
    for before, after in zip(first.tokens.chunks(1), out.tokens.chunks(dims), strict=True):
        each, more = divmod(len(after), len(before))
        given += [each + (place < more) for place in range(len(before))]
    return given


def _handed_on(reads: Sequence[RaggedStream], writes: Sequence[RaggedStream]) -> list[Instruction]:
    first, out = reads[0], writes[0]
    channels, outs = [stream.channel for stream in reads], [stream.channel for stream in writes]
    given = handed_on(first.tokens, out.tokens)
    if set(given) <= {1}:
        return hand_on(channels, outs, len(given))
    return times(len(given), [*take(*channels), *times(given, enq_all(outs))])

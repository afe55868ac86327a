"""What the runtime does along ragged dimensions: folds, routing, padding, counting.

Folds run on all lists at once. A function that is a known reduction takes all lists of one length together; for any
other the lists are sorted by length, so that at each place those that reach as far stand in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.sim import folds
from stepcore.sim.data import TensorData
from stepcore.sim.lengths import Lengths, Level, as_lengths, joined, place_of, positions
from stepcore.sim.lengths import taken as taken_of
from stepcore.sim.ragged import RaggedData, StreamData, arranged, behind_each_other, chunks, rows, split
from stepcore.sim.routes import filled, fitting_routes
from stepcore.sim.unit import FnUnit
from stepcore.text.wording import counted
from stepcore.types import Scalar

_MOST_COUNTED = 1 << 28  # numbers that counting may make


def fold(unit: FnUnit, data: RaggedData, dims: int) -> StreamData:
    """Fold the innermost ``dims`` dimensions; an empty list gives the initial state."""
    if dims < len(data.packed.sizes):
        return data.like(folds.fold(unit, data.packed, dims))
    values, lengths = _lists(data, dims)
    states = _reduced(unit, values, lengths) if unit.fn.reduction is not None else _in_turn(unit, values, lengths)
    return arranged(TensorData((len(lengths.values),), unit.element, states), data.sizes[dims:])


def scan(unit: FnUnit, data: RaggedData, dims: int) -> StreamData:
    """As :func:`fold`, but keep the state after every element."""
    if dims < len(data.packed.sizes):
        return data.like(folds.scan(unit, data.packed, dims))
    values, lengths = _lists(data, dims)
    kept = _states(unit, lengths.total)
    for places, _, states in _steps(unit, values, lengths):
        for room, state in zip(kept, states, strict=True):
            room[places] = state
    return arranged(TensorData((lengths.total,), unit.element, kept), data.sizes)


def _lists(data: RaggedData, dims: int) -> tuple[TensorData, Lengths]:
    """Return the elements of the innermost ``dims`` dimensions as one, and how many each position outside has."""
    lists = data.merge_dims(0, dims - 1)
    assert isinstance(lists, RaggedData), "a dimension stays outside, and a ragged one becomes one"
    lengths = lists.outer[0]
    assert isinstance(lengths, Lengths), "the innermost dimension is ragged now"
    return lists.packed.force(), lengths


def _states(unit: FnUnit, count: int) -> list[Tensor]:
    return [filled(t, (count, *t.shape[1:])) for t in unit.start(1)]


def _reduced(unit: FnUnit, values: TensorData, lengths: Lengths) -> list[Tensor]:
    """Fold all lists of one length at once, one length after the other."""
    results = _states(unit, len(lengths.values))
    for length in torch.unique(lengths.values).tolist():
        if not length:
            continue
        which = (lengths.values == length).nonzero().flatten()
        if len(which) == len(lengths.values):
            part = values.split_dim(0, (length, len(which)))
        else:
            places = lengths.starts[which].unsqueeze(1) + torch.arange(length)
            part = rows(values, places.flatten()).split_dim(0, (length, len(which)))
        for result, found in zip(results, folds.fold(unit, part, 1).dense(), strict=True):
            result[which] = found
    return results


def _in_turn(unit: FnUnit, values: TensorData, lengths: Lengths) -> list[Tensor]:
    """Fold all lists, place after place."""
    results = _states(unit, len(lengths.values))
    for _, which, states in _steps(unit, values, lengths):
        for result, state in zip(results, states, strict=True):
            result[which] = state
    return results


def _steps(unit: FnUnit, values: TensorData, lengths: Lengths) -> Iterator[tuple[Tensor, Tensor, list[Tensor]]]:
    """Yield for each place in the lists the positions there, the lists that reach so far, and their states after it."""
    descending = lengths.values.argsort(descending=True, stable=True)
    longest = lengths.most
    reached = torch.bincount(lengths.values, minlength=longest + 1).flip(0).cumsum(0).flip(0).tolist()
    starts = lengths.starts[descending]
    states = unit.start(1)
    for place in range(longest):
        active = reached[place + 1]
        places = starts[:active] + place
        before = [t if t.shape[0] == 1 else t[:active] for t in states]
        after = unit.fn.call((before, list(rows(values, places).components)), 1)
        states = [t if t.shape[0] == active else t.expand(active, *t.shape[1:]) for t in after]
        yield places, descending[:active], states


# Of bits (positions, branches): the position and the branch of each chunk that is taken; None: branches ascending.
Taking: TypeAlias = Callable[[Tensor], "tuple[Tensor, Tensor] | None"]


def interleaved(
    branches: Sequence[StreamData], selector: TensorData, taking: Taking | None = None
) -> tuple[StreamData, Tensor]:
    """Return the chunks that each position of ``selector`` takes, behind each other, and how many it takes.

    They are ascending unless ``taking`` says otherwise.

    Raises:
        SimError: STEP409 where a branch has another size than its bits, STEP412 where chunks differ in their sizes.
    """
    routes = fitting_routes(branches, selector)
    bits = selector.dense()[0] != 0
    position, branch = (None if taking is None else taking(bits)) or bits.nonzero().unbind(1)
    before = torch.tensor([0, *(len(index) for index in routes.indices[:-1])]).cumsum(0)
    number = bits.cumsum(0)[position, branch] - 1
    return chunks(behind_each_other(branches), before[branch] + number), bits.sum(1)


def reassembled(
    branches: Sequence[StreamData], selector: TensorData, *, onehot: bool, taking: Taking | None = None
) -> StreamData:
    """Return the chunks that each position of ``selector`` takes as one more dimension: ``common + [m] + [positions]``.

    Raises:
        SimError: as :func:`interleaved`, and STEP413 where ``onehot`` is broken.
    """
    found, taken = interleaved(branches, selector, taking)
    count: Level = Lengths(taken)
    if onehot:
        odd = (taken != 1).nonzero().flatten()
        if len(odd):
            first = int(odd[0])
            text = f"position {first} of the selector names {counted(int(taken[first]), 'branch', 'branches')}"
            raise SimError("STEP413", f"{text}, and onehot=True promises one each; leave it out, or mend the selector")
        count = 1
    return split(found, (count, len(taken)))


def merge(unit: FnUnit, branches: Sequence[StreamData], selector: TensorData) -> StreamData:
    """Fold chunks with ragged lists in them: those of one position have the same.

    Raises:
        SimError: STEP412 where they have not, and as :func:`interleaved`.
    """
    found, taken = interleaved(branches, selector)
    assert isinstance(found, RaggedData), "chunks with ragged lists"
    if not bool(taken.all()):
        nowhere = int((taken == 0).nonzero()[0])
        text = f"position {nowhere} of the selector names no branch, so nothing says how long its lists are"
        raise SimError("STEP412", f"{text}; merge streams without ragged dimensions, or let each position name one")
    first, whole = Lengths(taken).starts, chunks(found, Lengths(taken).starts)
    lists, held = _one_list_each(found), _one_list_each(whole)
    states = _states(unit, held.total)
    values = found.flat()
    for place in range(int(taken.max()) if len(taken) else 0):
        reach = (taken > place).nonzero().flatten()
        if chunks(found, first[reach] + place).sizes[:-1] != chunks(whole, reach).sizes[:-1]:
            raise SimError("STEP412", "chunks whose lists differ in length are merged at one position of the selector")
        (_, here), (_, there) = taken_of((held,), reach), taken_of((lists,), first[reach] + place)
        after = unit.fn.call(([t[here] for t in states], list(rows(values, there).components)), 1)
        for state, value in zip(states, after, strict=True):
            state[here] = value
    return arranged(TensorData((held.total,), unit.element, states), whole.sizes)


def _one_list_each(data: StreamData) -> Lengths:
    """Return how many elements each outermost chunk has."""
    return as_lengths(joined(data.sizes[:-1], data.sizes[-1:]), positions(data.sizes[-1:]))


def padded(data: StreamData, chunk: int, value: float) -> tuple[StreamData, StreamData]:
    """Cut each innermost list into chunks of ``chunk``, the last of them filled with ``value``; and what is filling.

    Both results have ``[chunk, ceil(x[0]/chunk)] + x[1:]``; the second holds bools.
    """
    inner, outer = data.sizes[0], data.sizes[1:]
    if isinstance(data, RaggedData) and len(data.packed.sizes) == 1:
        flat = data.flat()
        assert isinstance(inner, Lengths), "the innermost dimension is ragged"
        count = Lengths((inner.values + (chunk - 1)) // chunk)
        places = count.starts.repeat_interleave(inner.values) * chunk + inner.places
        total, levels = count.total * chunk, (chunk, count, *outer)
    else:
        packed = data.packed.force() if isinstance(data, RaggedData) else data.force()
        assert isinstance(inner, int), "the innermost dimension is regular"
        flat = packed.merge_dims(0, len(packed.sizes) - 1)
        lists, number = positions(outer), -(-inner // chunk)
        places = (torch.arange(lists).unsqueeze(1) * (number * chunk) + torch.arange(inner)).flatten()
        total, levels = lists * number * chunk, (chunk, number, *outer)
    filled = [torch.full((total, *t.shape[1:]), value, dtype=t.dtype) for t in flat.dense()]
    for room, tensor in zip(filled, flat.dense(), strict=True):
        room[places] = tensor
    filling = torch.ones(total, dtype=torch.bool)
    filling[places] = False
    marks = TensorData((total,), Scalar("bool"), [filling])
    return arranged(TensorData((total,), data.element, filled), levels), arranged(marks, levels)


def count_each(data: StreamData) -> StreamData:
    """Return the numbers from 0 to ``n - 1`` for each element ``n``, as one more dimension inside of all others.

    Raises:
        SimError: STEP413 for a number below 0, STEP406 for more numbers than a run may hold.
    """
    flat = data.flat() if isinstance(data, RaggedData) else data.force().merge_dims(0, len(data.sizes) - 1)
    wanted = flat.dense()[0].reshape(-1).to(torch.int64)
    if bool((wanted < 0).any()):
        first = int((wanted < 0).nonzero()[0])
        place = place_of(first, data.sizes)
        raise SimError("STEP413", f"count is given {int(wanted[first])} at {place}; numbers are counted up from 0")
    if float(wanted.double().sum()) > _MOST_COUNTED:
        raise SimError("STEP406", f"count makes more than {_MOST_COUNTED:,} numbers; bound what it is given")
    lengths = Lengths(wanted)
    return arranged(TensorData((lengths.total,), Scalar("int64"), [lengths.places]), (lengths, *data.sizes))

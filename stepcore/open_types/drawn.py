"""What a run draws for the dynamic and ragged sizes of a program's inputs: the key ``sizes`` of both file forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stepcore.records import Record
from stepcore.sizes.dim import DYNAMIC, LARGEST_SIZE, OPEN, Dim, is_name
from stepcore.sizes.kinds import origins
from stepcore.text.wording import clipped, whole
from stepcore.types import StreamType, element_count, element_sizes

MOST_VALUES: Final = 1 << 20  # of one ragged size that stand in a file


class DrawnSize(Record):
    """One size that a run draws: ``?L`` once, ``~L`` for each position of the dimensions outside.

    It lies between ``minimum`` and ``maximum``, which also bounds memory and FIFOs, or is one of ``values``, those of
    all positions, the outermost dimension slowest.
    """

    name: str
    minimum: int
    maximum: int
    values: tuple[int, ...] | None = None


def drawn_size(name: str, bounds: tuple[object, object] | None, values: Sequence[object] | None) -> DrawnSize:
    """Return what is drawn for ``name``: numbers from the first of ``bounds`` to the second, or these ``values``.

    Raises:
        ValueError: the name is not that of a dynamic or ragged size, or a number cannot be a size (0 can).
    """
    if name[:1] not in OPEN or not is_name(name[1:]):
        raise ValueError(f"sizes says what is drawn for ?L and ~L, and {clipped(repr(name), 40)} is neither")
    if values is not None:
        return _given(name, values)
    least, most = bounds if bounds is not None else (0, None)
    if most is None:
        raise ValueError(f"{name} has no largest size; give min and max, or values")
    low, high = _number(name, least), _number(name, most)
    if high < low:
        raise ValueError(f"max of {name} is {high}, less than its min, {low}")
    return DrawnSize(name, low, high)


def _given(name: str, values: Sequence[object]) -> DrawnSize:
    if not 0 < len(values) <= MOST_VALUES:
        raise ValueError(f"{name} has {len(values)} values; there are from 1 to {MOST_VALUES}, one for each position")
    if name[0] == DYNAMIC and len(values) != 1:
        raise ValueError(f"{name} is one size in a run, and has {len(values)} values; a size for each position is ~L")
    numbers = tuple(_number(name, value) for value in values)
    return DrawnSize(name, min(numbers), max(numbers), numbers)


def _number(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_SIZE:
        shown = whole(value) if isinstance(value, int) else clipped(repr(value), 40)
        raise ValueError(f"{name} is an integer from 0 to 2**31, not {shown}")
    return value


class DrawFault(Record):
    """What is wrong with what is drawn for a program: a code, the name of the size, and the message.

    ``port`` is the input that has the size, empty where none has it; ``is_missing`` says that it has to be given.
    """

    code: str
    name: str
    message: str
    port: str = ""
    is_missing: bool = False


def draw_faults(inputs: Iterable[tuple[str, StreamType]], drawn: Sequence[DrawnSize]) -> Iterator[DrawFault]:
    """Yield what does not fit between the types of the inputs and what is drawn for them.

    STEP225: nothing is drawn for a size, and not because its name is another one there. STEP226: a ragged size stands
    below other dimensions than before. STEP907: no input has what is drawn.
    """
    known = {each.name for each in drawn}
    homes: dict[str, tuple[str, Dim]] = {}
    met: dict[str, str] = {}
    for port, stream in inputs:
        for name, home in _named_in(stream):
            met.setdefault(name, port)
            if home is None or name[0] == DYNAMIC:
                continue
            first, positions = homes.setdefault(name, (port, home))
            if positions != home:
                text = f"{name} has {positions} values in {first}, one for each position outside, and here {home}"
                yield DrawFault("STEP226", name, f"{text}; name one of them otherwise", port)
    missing, needless = [name for name in met if name not in known], known - met.keys()
    for name in missing if len(missing) > len(needless) else ():  # else they are there, under other names
        yield DrawFault("STEP225", name, f"a run does not know how large {name} is", met[name], is_missing=True)
    for each in drawn:
        if each.name in needless:
            there = f"; there are {', '.join(met)}" if met else ""
            yield DrawFault("STEP907", each.name, f"no input has a size {each.name}{there}")


def named_sizes(inputs: Iterable[tuple[str, StreamType]]) -> list[str]:
    """Return the named dynamic and ragged sizes of inputs, each once, in order."""
    return list(dict.fromkeys(name for _, stream in inputs for name, _ in _named_in(stream)))


def _named_in(stream: StreamType) -> Iterator[tuple[str, Dim | None]]:
    """Yield the named open sizes of a type, each with the number of positions outside of its dimension."""
    for index, size in enumerate(stream.shape):
        if size.is_open:
            outside = stream.shape[index + 1 :]
            for name, _ in origins(size):
                yield name, element_count(outside) if outside else None
    for size in element_sizes(stream.element):
        if size.is_open:
            for name, _ in origins(size):
                yield name, element_count(stream.shape)


__all__ = ["DrawFault", "DrawnSize", "draw_faults", "drawn_size", "named_sizes"]

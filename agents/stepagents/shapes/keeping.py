"""Whether a run keeps what comments promise of its values: watched from operation to operation. Loads torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from torch import Tensor

from stepagents.shapes.promised import Promise, Promises
from stepagents.shapes.told import ANY, UNNAMED
from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError
from stepcore.sizes.expressions import dim_of

_DEEPEST: Final = 40  # frames between an operation and the function


class Broken(Record):
    """A value of another shape than is written in ``line``: ``rank`` where that differs, else the sizes wanted."""

    line: int
    value: Tensor
    rank: int | None
    wanted: tuple[int, ...] = ()


class Keeping:
    """Follows one run. ``sizes`` are those that texts name, ``doubted`` the lines that are not believed."""

    def __init__(self, promises: Promises, path: str, sizes: Mapping[str, int], doubted: frozenset[int]) -> None:
        self._promises = promises
        self._path = path
        self._sizes = dict(sizes)
        self._by_line: dict[int, list[Promise]] = {}
        for promise in promises.inside:
            if promise.line not in doubted:
                for line in range(promise.first, promise.last + 1):
                    self._by_line.setdefault(line, []).append(promise)
        self._doubted = doubted
        self._frame: FrameType | None = None
        self._line = 0
        self._pending: Sequence[Promise] = ()
        self.speaks = False  # whether a comment says what the line that is run now gives

    def is_due(self, frame: FrameType | None) -> bool:
        """Whether a statement of which something is written has ended, now that an operation is called from ``frame``.

        What is :attr:`broken` then is for the caller to ask.
        """
        if not self._by_line:
            return False
        for _ in range(_DEEPEST):
            if frame is None or self._is_own(frame):
                break
            frame = frame.f_back
        if frame is None or not self._is_own(frame):
            return False
        self._frame = frame
        self._pending, line = self._by_line.get(self._line, []), frame.f_lineno
        self._line = line
        self.speaks = line in self._by_line
        return bool(self._pending) and not self._pending[0].first <= line <= self._pending[0].last

    @property
    def broken(self) -> Broken | None:
        """What the statement that has ended gives in another shape than is written."""
        values = {} if self._frame is None else self._frame.f_locals
        return next(self._all_broken(self._pending, values), None)

    def ended(self, outputs: Any) -> Iterator[Broken]:
        """Yield what is broken at the end of the function."""
        pending = self._by_line.get(self._line, [])
        if self._frame is not None and pending:
            yield from self._all_broken(pending, {**self._frame.f_locals, "": outputs})
        results, line = self._promises.results, self._promises.result_line
        items = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        tensors = [item for item in items if isinstance(item, Tensor)]
        if line not in self._doubted and tensors and len(tensors) == len(results):
            values = {} if self._frame is None else self._frame.f_locals
            for tensor, sizes in zip(tensors, results, strict=True):
                yield from self._broken(line, tensor, sizes, values)

    def _is_own(self, frame: FrameType) -> bool:
        code = frame.f_code
        own = self._promises.first <= frame.f_lineno <= self._promises.last
        return own and code.co_filename == self._path and code.co_name == self._promises.function

    def _all_broken(self, promises: Sequence[Promise], values: Mapping[str, Any]) -> Iterator[Broken]:
        for promise in promises:
            found = [values.get(name) for name in promise.names or ("",)]
            taken = values.get(promise.taken)
            if promise.before is not None and promise.taken not in promise.names and isinstance(taken, Tensor):
                yield from self._broken(promise.line, taken, promise.before, values)
            for index, value in enumerate(found):
                if isinstance(value, Tensor) and (index == 0 or value.dim() == len(promise.sizes)):
                    yield from self._broken(promise.line, value, promise.sizes, values)

    def _broken(self, line: int, value: Tensor, sizes: Sequence[str], values: Mapping[str, Any]) -> Iterator[Broken]:
        if any(isinstance(values.get(size), Tensor) for size in sizes):  # (q, k) are tensors and no sizes
            return
        shape = tuple(value.shape)
        if ANY in sizes:
            place = sizes.index(ANY)
            rest = len(sizes) - place - 1
            if ANY in sizes[place + 1 :] or len(shape) < place + rest:
                return
            shown = (*sizes[:place], *[UNNAMED] * (len(shape) - place - rest), *sizes[place + 1 :])
        elif len(sizes) != len(shape):
            yield Broken(line, value, len(sizes))
            return
        else:
            shown = tuple(sizes)
        wanted = self._wanted(shape, shown, values)
        if wanted != shape:
            yield Broken(line, value, None, wanted)

    def _wanted(self, shape: tuple[int, ...], sizes: Sequence[str], values: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the sizes that the names stand for; a name that is new stands for what it meets."""
        parsed = [None if size == UNNAMED else dim_of(ast.parse(size, mode="eval").body) for size in sizes]
        wanted = list(shape)
        order = sorted(range(len(shape)), key=lambda index: not str(parsed[index]).isidentifier())  # names first
        for index in order:
            size = parsed[index]
            if size is None or shape[index] == 1:  # what is broadcast is as large as the others
                continue
            known = {name: number for name in size.symbols() if (number := self._number(name, values)) is not None}
            missing = size.symbols() - known.keys()
            if not missing:
                wanted[index] = _value(size, known) or shape[index]
            elif len(missing) == 1:
                (name,) = missing
                number = _solved(size, name, known, shape[index])
                if number is not None:
                    self._sizes[name] = number
        return tuple(wanted)

    def _number(self, name: str, values: Mapping[str, Any]) -> int | None:
        own = values.get(name)
        if type(own) is int and name not in self._promises.counters:
            return own
        return self._sizes.get(name)


def _value(size: Dim, known: Mapping[str, int]) -> int | None:
    try:
        value = size.bind(known)
    except DimError:
        return None
    return value if value > 0 else None


def _solved(size: Dim, name: str, known: Mapping[str, int], number: int) -> int | None:
    """Return what ``name`` is where ``size``, linear in it, is ``number``."""
    one, two, three = (_value(size, {**known, name: each}) for each in (1, 2, 3))
    if one is None or two is None or three is None or two - one != three - two or two == one:
        return None
    found, rest = divmod(number - one, two - one)
    return found + 1 if rest == 0 and found >= 0 else None

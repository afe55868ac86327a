"""The state of typing one program: what is known of sizes, and how those are called that only a run knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Protocol, Self, TypeVar, cast

from stepcore.ops.base.generations import MadeOf, is_later, only_published
from stepcore.ops.base.operands import MOST_COUNTED, FnLike, Made, Operand, RuleError
from stepcore.ops.pace import OffChipUse, Routing
from stepcore.sizes.dim import Dim, DimError, Facts
from stepcore.types import Buffer, Element, Shape, StreamType, element_count, takes_any


class _Settled(Protocol):
    """What is known of an operator here."""

    def param_values(self) -> dict[str, Any]:
        """Return its parameters."""
        ...

    @classmethod
    def made(cls, params: Mapping[str, Any]) -> Self:
        """Return it with other parameters."""
        ...


Op = TypeVar("Op", bound=_Settled)


class TypingContext:
    """State of typing one program: what is known divisible, bound symbols, and what derived sizes are named by."""

    def __init__(self, bindings: dict[str, int] | None = None) -> None:
        self.facts = Facts()
        self.bindings: dict[str, int] = bindings or {}
        self.program: Made | None = None
        self.settled: _Settled | None = None  # the operator as its use settles it, where a rule says so
        self._used: dict[int, FnLike] = {}  # functions of any size as one use has them, by their ids

        self.making: Sequence[int] = ()  # the streams that the operator makes which is typed
        self.ports: Sequence[Any] = ()  # the inputs of the program: each may have a ``maximum``
        self._alone: dict[int, tuple[Operand, str]] = {}  # what is of no program
        self._named: dict[str, int] = {}
        self._origins: dict[int, str] = {}  # stream -> its name, which no other stream has

    def result(self, made: StreamType, place: int) -> Operand:
        """Return the stream that the typed operator makes as result number ``place``: sizes are named by it."""
        return Operand(made, "the selector", self.making[place] if self.making else -1)

    def chosen(self, selector: Operand, branches: int) -> Dim:
        """Return how many branches ``selector`` names at each of its positions: ``#(s)``, ragged."""
        from stepcore.sizes.kinds import chosen  # as are all further ones: most programs have static sizes

        return chosen(self.origin(selector), branches, element_count(selector.type.shape))

    def branches(self, element: Element, inner: Shape, selector: Operand, count: int) -> tuple[StreamType, ...]:
        """Return the types of the streams that ``selector`` routes chunks of shape ``inner`` to.

        Branch ``i`` gets ``#(s, i)`` of them, the same for all copies of the selector. Of a ragged size ``X``,
        that of a buffer, too, it gets the values ``X@(s, i)``.
        """
        from stepcore.sizes.kinds import at, routed

        name, positions = self.origin(selector), element_count(selector.type.shape)
        counts = [routed(name, branch, positions) for branch in range(count)]
        if not any(size.is_ragged for size in inner) and not _ragged_buffers(element):
            return tuple([StreamType(element, (*inner, size)) for size in counts])
        parts = [partial(at, selector=name, branch=branch, positions=positions) for branch in range(count)]
        return tuple(
            StreamType(_with_ragged(element, part), (*map(part, inner), size))
            for part, size in zip(parts, counts, strict=True)
        )

    def rejoined(self, branches: Sequence[Operand], selector: Operand) -> Sequence[Operand]:
        """Return ``branches`` as ``selector`` joins them: a ragged ``X@(s, i)`` inside of branch ``i`` is ``X``."""
        if not any(size.is_ragged for branch in branches for size in branch.type.shape[:-1]) and not any(
            _ragged_buffers(branch.type.element) for branch in branches
        ):
            return branches
        from stepcore.sizes.kinds import rejoined

        name, found = self.origin(selector), []
        for number, branch in enumerate(branches):
            *common, last = branch.type.shape
            shape = (*(rejoined(size, name, number) for size in common), last)
            element = _with_ragged(branch.type.element, partial(rejoined, selector=name, branch=number))
            found.append(Operand(StreamType(element, shape), branch.name, branch.stream))
        return found

    def length(self, function: str, operand: Operand, most: Dim, *, varies: bool = True) -> Dim:
        """Return how long the lists are that ``function`` makes of the elements of ``operand``: ``len(f(s))``."""
        from stepcore.sizes.kinds import length

        return length(f"{function}({self.origin(operand)})", most, element_count(operand.type.shape), varies=varies)

    def used(self, fn: FnLike, element: Element) -> FnLike | None:
        """Return ``fn``, whose types hold any sizes, with those that it has where it gets ``element``.

        None where its types hold none, or where it does not take ``element``.
        """
        if not takes_any(fn.input):
            return None
        from stepcore.open_types.uses import bound_types  # most functions have fixed sizes

        types = bound_types(fn.input, fn.output, element, self.facts)
        if types is None:
            return None
        bound = self._used[id(fn)] = with_types(fn, *types)
        return bound

    def take_settled(self, op: Op) -> Op:
        """Return what the use that was typed last made of ``op``: mostly ``op`` itself."""
        if self.settled is None and not self._used:
            return op
        found, self.settled = cast("Op", self.settled or op), None
        if self._used:
            params = {name: self._used.get(id(value), value) for name, value in found.param_values().items()}
            found, self._used = found.made(params), {}
        return found

    def greatest(self, operand: Operand) -> Dim:
        """Return what elements of ``operand`` do not exceed: an input or a function says it, else it is guessed."""
        known = self.known_greatest(operand)
        return Dim.of(MOST_COUNTED) if known is None else known

    def known_greatest(self, operand: Operand) -> Dim | None:
        """Return the ``max`` of the input that elements of ``operand`` come from, or what the function that computed
        them limits them to (:func:`stepcore.fn.limits.greatest_result`); None where nobody said it.
        """
        index, program = operand.stream, self.program
        while program is not None and index >= 0 and (producer := program.streams[index].producer) is not None:
            op, inputs = program.nodes[producer].op, program.nodes[producer].inputs
            if op is not None and op.pace is not None and op.pace.applies and not op.pace.folds:
                from stepcore.fn.limits import greatest_result  # few programs count what is computed

                return greatest_result(getattr(op, "fn", None), self.bindings)
            is_same = op is not None and (op.pace is not None or op.routes in (Routing.SPLITS, Routing.DEALS))
            if not is_same or op.off_chip is not OffChipUse.NOTHING or (op.pace and (op.pace.applies or op.pace.folds)):
                return None
            index = inputs[0]
        places = {stream: place for place, stream in enumerate(getattr(program, "inputs", ()))}
        port = self.ports[places[index]] if index in places and places[index] < len(self.ports) else None
        found = getattr(port, "maximum", None)
        return None if found is None else Dim.of(max(int(found), 1))

    def origin(self, operand: Operand) -> str:
        """Return the name of the stream that ``operand`` is unchanged: the first one, through Copy and Identity.

        No other stream of the program is called so.
        """
        index, program = operand.stream, self.program
        if program is None or index < 0:
            if id(operand) not in self._alone:
                self._alone[id(operand)] = operand, self._unique(operand.name)
            return self._alone[id(operand)][1]
        while (producer := program.streams[index].producer) is not None:
            node = program.nodes[producer]
            if node.op is None or not node.op.passes:
                break
            index = node.inputs[0]
        if index not in self._origins:
            from stepcore.ops.origin_names import origin_name  # most programs derive no sizes

            self._origins[index] = self._unique(origin_name(program, index))
        return self._origins[index]

    def is_published(self, operand: Operand) -> bool:
        """Return whether ``operand`` comes from types and operators of generation 1 alone, whose results stay."""
        program = self.program
        if program is None or operand.stream < 0:
            return not is_later(operand.type, branches=True)

        def made(index: int) -> MadeOf[int]:
            stream = program.streams[index]
            if stream.producer is None:
                return stream.type, None, ()
            node = program.nodes[stream.producer]
            return None, node.op, node.inputs

        return only_published(operand.stream, made)

    def _unique(self, name: str) -> str:
        self._named[name] = number = self._named.get(name, 0) + 1
        return name if number == 1 else f"{name}'{number}"

    def bound(self, size: Dim) -> int | None:
        """Return the integer that ``size`` is under the bindings, or None while a symbol is open.

        Raises :class:`RuleError` (STEP211) where it is none.
        """
        number = size.constant
        if number is not None:
            return number
        if not size.symbols() <= self.bindings.keys():
            return None
        try:
            return size.bind(self.bindings)
        except DimError as error:
            raise RuleError("STEP211", str(error)) from error


def _ragged_buffers(element: Element) -> bool:
    return isinstance(element, Buffer) and any(size.is_ragged for size in element.shape)


def _with_ragged(element: Element, changed: Callable[[Dim], Dim]) -> Element:
    """Return ``element`` with other ragged sizes of its buffers."""
    if not isinstance(element, Buffer) or not _ragged_buffers(element):
        return element
    return Buffer(element.element, tuple(changed(size) if size.is_ragged else size for size in element.shape))


def with_types(fn: FnLike, input: Element, output: Element) -> FnLike:
    """Return ``fn`` for other types; it computes the same."""
    made = copy(fn)
    made.__dict__.update(input=input, output=output)
    return made

"""The base of all operators: their facets, and what scripts call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, dataclass_transform

from stepcore.findings.diagnostics import StepError
from stepcore.ops.base.context import TypingContext
from stepcore.ops.base.operands import FnLike, Operand, RuleError, RuleSubject
from stepcore.ops.calling import NOTHING, ONE_INPUT, ONE_OUTPUT, Calling, Inputs, Outputs, Param, ParamKind, value_text
from stepcore.ops.pace import EACH_CHUNK, Buffers, Chunking, LoopPart, OffChipUse, Pace, Premise, Read, Routing
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.sizes.foreign import is_foreign
from stepcore.types import Shape, StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime


class _Checked(type):
    """Makes ``Op(...)`` in a script raise what the checker reports: a missing or unknown parameter, a wrong kind."""

    @property
    def __signature__(cls) -> Signature:
        """The parameters by name, for ``help`` and whatever completes while one types."""
        made: Any = cls
        kinds = {item.name: item.type for item in fields(made)}
        return Signature([
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kinds[name], default=getattr(cls, name, Parameter.empty))
            for name in made.calling.by_name
        ])  # fmt: skip

    if not TYPE_CHECKING:  # type checkers see a keyword-only parameter for each field

        def __call__(cls, *arguments: Any, **params: Any) -> Any:
            held, given = cls.calling.holds, params
            if held:
                arguments = tuple(map(cls.memory_of, arguments))
                given = {key: cls.memory_of(value) if key in held else value for key, value in params.items()}
            if arguments or not cls.calling.binds(given):
                raise cls.refuse(cls, arguments, given)
            return cls.made(
                {key: _size(cls, key, value) if is_foreign(value) else value for key, value in given.items()}
            )


DEPTH: Final = Param(
    "depth",
    ParamKind.SIZE,
    "Elements that the FIFO of each output holds on a chip; it changes no result.",
    otherwise="the chip's own",
)
BW: Final = Param(
    "bw",
    ParamKind.SIZE,
    "FLOPs per cycle of the unit that applies the function; it changes no result.",
    otherwise="the chip's own",
)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Operator(Record, metaclass=_Checked, kw_only=True):
    """Base of all operators. Subclasses are records whose fields are the parameters, given by name.

    A field with a default may be left out. ``common`` are sizes that change no result: those of this class all
    operators take, and a class that adds a field takes one more by ``common = (*Operator.common, Param(...))``.
    """

    depth: Dim | int | None = None

    summary: ClassVar[str]
    rule: ClassVar[str]  # the typing rule in the notation of the language page ("Operators")
    details: ClassVar[str] = ""
    example: ClassVar[str]  # a runnable program in the Python form, see tests/test_ops_docs.py
    params: ClassVar[tuple[Param, ...]] = ()
    common: ClassVar[tuple[Param, ...]] = (DEPTH,)
    aliases: ClassVar[tuple[str, ...]] = ()
    published: ClassVar[tuple[str, ...]] = ()  # names of the published frontend of generation 2 (STEP231)
    inputs: ClassVar[Inputs] = ONE_INPUT
    outputs: ClassVar[Outputs] = ONE_OUTPUT
    instead: ClassVar[str] = ""  # the way out for who gives parameters to an operator without any
    pace: ClassVar[Pace | None] = None  # None: what it reads and writes when depends on the data
    routes: ClassVar[Routing] = Routing.NOTHING
    buffers: ClassVar[Buffers] = Buffers.NOTHING
    off_chip: ClassVar[OffChipUse] = OffChipUse.NOTHING
    looping: ClassVar[LoopPart] = LoopPart.NOTHING
    ends_unread: ClassVar[bool] = False  # whether it is complete where nobody reads the last of its streams
    passes: ClassVar[bool] = False  # its outputs are its one input, unchanged
    counts: ClassVar[bool] = False  # its function may be step.count
    generation: ClassVar[int] = 1  # of the language, in which it came
    premise: ClassVar[Premise] = Premise.LATER  # of those of generation 2: what a task without it cannot use them for
    calling: ClassVar[Calling]  # all of this in one; made for each class
    # What scripts do with operators; stepcore.surface, a higher layer, installs it. ``execute(op, inputs, name)`` is
    # behind ``.apply(...)``; ``refuse`` and ``misapply`` say what is wrong with a call that cannot be served.
    execute: ClassVar[Callable[[Operator, Any, str], Any]]
    refuse: ClassVar[Callable[[type[Operator], Sequence[Any], Mapping[str, Any]], StepError]]
    end_loop: ClassVar[Callable[[Operator, Any], None]]  # is behind ``loop.close(...)``
    memory_of: ClassVar[Callable[[Any], Any]]  # a tensor as memory off chip, other values as they are
    misapply: ClassVar[Callable[[type[Operator], object, Sequence[Any], Mapping[str, Any]], StepError]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__(kw_only=True)
        params = (*cls.params, *cls.common)
        defaults = {param.name: getattr(cls, param.name) for param in params if hasattr(cls, param.name)}
        cls.calling = Calling(cls.__name__, cls.params, defaults, cls.inputs, cls.outputs, cls.instead, cls.common)
        if "apply" in vars(cls):
            setattr(cls, "apply", _served(cls, vars(cls)["apply"]))  # noqa: B010  a method is made anew

    @property
    def fills(self) -> bool:
        """Whether it adds elements that fill up lists; its last stream says which."""
        return False

    @classmethod
    def made(cls, params: Mapping[str, Any]) -> Self:
        """Return the operator with ``params`` that :attr:`calling` binds."""
        made = object.__new__(cls)
        made.__dict__.update(cls.calling.defaults)
        made.__dict__.update(params)
        for name in cls.calling.lists:
            if made.__dict__[name] is not None:
                made.__dict__[name] = tuple(made.__dict__[name])
        return made

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the types of the outputs, or raise :class:`RuleError`."""
        raise NotImplementedError

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Compute the outputs on data (see :mod:`stepcore.ops.runtime`)."""
        raise NotImplementedError

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the on-chip memory of this unit in bytes, by the language page ("Metrics"); 0 unless said."""
        return Dim.of(0)

    def calls(self, inputs: Sequence[StreamType]) -> tuple[tuple[FnLike, Dim], ...]:
        """Return each element function with how often a whole run applies it; none unless said."""
        return ()

    def by_arrival(self) -> bool:
        """Return whether its results depend on which of its streams has, or takes, a chunk first."""
        return False

    def looks_ahead(self, rank: int) -> bool:
        """Return whether it needs the next element of an input of ``rank`` (or its end) before it writes one."""
        return False

    def chunking(self, rank: int) -> Chunking:
        """Return how results follow from chunks of a first input of ``rank`` that come one by one."""
        return EACH_CHUNK

    def rounds(self, inputs: Sequence[StreamType], output: StreamType, slot: int) -> Shape:
        """Return the sizes for all of which one element of the input at ``slot`` is read, by the pace."""
        read = self.pace.read(slot) if self.pace is not None else None
        more = len(output.shape) - len(inputs[slot].shape)
        return output.shape[:more] if read in (Read.REPEATED, Read.SPREAD) else ()

    def text(self) -> str:
        """Return the operator as one writes it, functions by their names: ``Accum(fn=add, b=1)``."""
        shown = {
            key: value_text(value) if isinstance(value, str) else getattr(value, "func_name", value)
            for key, value in self.written_params().items()
        }
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in shown.items())})"

    def param_values(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {param.name: getattr(self, param.name) for param in self.calling.params}

    def written_params(self) -> dict[str, Any]:
        """Return the parameters that have to be written: those that are not what they are when they are left out."""
        calling, defaults = self.calling, self.calling.defaults
        return {
            name: value
            for name, value in self.param_values().items()
            if name not in defaults or not (value is defaults[name] or calling.is_default(name, value))
        }


def _served(cls: type[Operator], apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``apply`` for whatever a script calls it with: a wrong call is told in the words of the checker."""
    takes_none, takes_some = NOTHING in cls.inputs.ways, cls.inputs.ways != (NOTHING,)

    @wraps(apply)
    def checked(*arguments: Any, **named: Any) -> Any:
        if takes_some and not takes_none and len(arguments) == 2 and not named and isinstance(arguments[0], cls):
            return apply(*arguments)  # as nearly always
        op, given = arguments[0] if arguments else None, arguments[1:]  # step.Map.apply() has none
        count = len(given) + ("input" in named)
        is_named = count == 2 and isinstance(given[-1], str)
        is_well = (takes_some and (count == 1 or is_named)) or (takes_none and count == 0)
        if takes_none and count and not hasattr(given[0] if given else named["input"], "dtype"):
            is_well = False  # what takes nothing, too, is given none by no brackets, and not by None
        if not is_well or not isinstance(op, cls) or not named.keys() <= {"input", "name"}:
            raise cls.misapply(cls, op, given, named)
        return apply(op, *given, **named)

    return checked


def _size(operator: type[Operator], key: str, value: Any) -> Dim:
    """Return a parameter that sympy, say, wrote as a size of ours."""
    try:
        return Dim.of(value)
    except TypeError as error:
        text = f"{key} of {operator.__name__} is no size: {error}"
        raise RuleError("STEP204", text, RuleSubject.param(key)) from error

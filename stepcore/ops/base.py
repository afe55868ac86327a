"""What every operator is made of. One operator is one file beside this one; it holds all its facets.

Facets: how it is called (parameters are dataclass fields, keyword-only, each with a :class:`Param`; inputs and outputs
are of :mod:`stepcore.ops.calling`), documentation with a runnable example, the typing rule (:meth:`Operator.infer`),
the semantics (:meth:`Operator.run`), the on-chip memory and the pace at which its unit reads and writes.
A typing rule raises :class:`RuleError` without positions; the checker adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from stepcore.findings.diagnostics import StepError
from stepcore.ops.calling import NOTHING, ONE_INPUT, ONE_OUTPUT, Calling, Inputs, Outputs, Param, ParamKind
from stepcore.ops.pace import Buffers, Pace, Routing
from stepcore.sizes.dim import SIZE_RULE, Dim, DimError, Facts, is_size
from stepcore.sizes.foreign import is_foreign
from stepcore.text.wording import whole
from stepcore.types import Buffer, Element, Shape, StreamType, STuple, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime


class FnLike(Protocol):
    """What a typing rule needs to know of an element function."""

    @property
    def func_name(self) -> str:
        """Name under which programs use it."""
        ...

    @property
    def input(self) -> Element:
        """Type of one element that it takes."""
        ...

    @property
    def output(self) -> Element:
        """Type of one element that it returns, and of its state."""
        ...

    @property
    def has_state(self) -> bool:
        """True where it folds: ``apply(state, input)``."""
        ...


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of an application: its type, and its name in the program for messages."""

    type: StreamType
    name: str = "the input"


@dataclass(frozen=True, slots=True)
class RuleSubject:
    """What a rule complains about: the operator, one parameter, or the input at ``index`` (flat)."""

    kind: Literal["operator", "param", "input"] = "operator"
    name: str = ""
    index: int = 0  # pragma: no mutate: read for inputs only, which give it

    @staticmethod
    def param(name: str) -> RuleSubject:
        """The parameter ``name``."""
        return RuleSubject("param", name)

    @staticmethod
    def input(index: int) -> RuleSubject:
        """The input at ``index`` of the flat sequence."""
        return RuleSubject("input", index=index)


class RuleError(StepError):
    """A typing rule is broken. ``code`` is one of the table in :mod:`stepcore.findings.codes`."""

    def __init__(self, code: str, message: str, subject: RuleSubject | None = None) -> None:
        super().__init__(code, message)
        self.subject = subject or RuleSubject()


class TypingContext:
    """State of typing one program: what is known divisible, bound symbols, and fresh symbols."""

    def __init__(self, bindings: dict[str, int] | None = None) -> None:
        self.facts = Facts()
        self.bindings: dict[str, int] = bindings or {}
        self._fresh = 0

    def fresh(self) -> Dim:
        """Return a symbol that no program can write: the data-dependent size of one Partition output."""
        self._fresh += 1
        return Dim.symbol(f"?{self._fresh}")

    def bound(self, size: Dim) -> int | None:
        """Return the integer that ``size`` is under the bindings, or None while a symbol is open."""
        if size.constant is not None:
            return size.constant
        if not size.symbols() <= self.bindings.keys():
            return None
        try:
            return size.bind(self.bindings)
        except DimError as error:
            raise RuleError("STEP211", str(error)) from error


class _Checked(type):
    """Makes ``Op(...)`` in a script raise what the checker reports: a missing or unknown parameter, a wrong kind."""

    @property
    def __signature__(cls) -> Signature:
        """The parameters by name, for ``help`` and whatever completes while one types."""
        made: Any = cls
        return Signature([
            Parameter(item.name, Parameter.KEYWORD_ONLY, annotation=item.type, default=_default(item))
            for item in fields(made)
        ])  # fmt: skip

    if not TYPE_CHECKING:  # type checkers see the signature of the dataclass

        def __call__(cls, *arguments: Any, **params: Any) -> Any:
            if arguments or not cls.calling.binds(params):
                raise cls.refuse(cls, arguments, params)
            return cls.made(
                {key: _size(cls, key, value) if is_foreign(value) else value for key, value in params.items()}
            )


def _default(item: Field[Any]) -> Any:
    return Parameter.empty if item.default is MISSING else item.default


@dataclass(frozen=True, kw_only=True)
class Operator(metaclass=_Checked):
    """Base of all operators. Subclasses are frozen keyword-only dataclasses whose fields are the parameters.

    A field with a default may be left out. What all operators take is a field, and one of ``common``, of this class.
    """

    summary: ClassVar[str]
    rule: ClassVar[str]  # the typing rule in the notation of the language page ("Operators")
    details: ClassVar[str] = ""
    example: ClassVar[str]  # a runnable program in the Python form, see tests/test_ops_docs.py
    params: ClassVar[tuple[Param, ...]] = ()
    common: ClassVar[tuple[Param, ...]] = ()  # those that all operators take
    aliases: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[Inputs] = ONE_INPUT
    outputs: ClassVar[Outputs] = ONE_OUTPUT
    instead: ClassVar[str] = ""  # the way out for who gives parameters to an operator without any
    pace: ClassVar[Pace | None] = None  # None: what it reads and writes when depends on the data
    routes: ClassVar[Routing] = Routing.NOTHING
    buffers: ClassVar[Buffers] = Buffers.NOTHING
    calling: ClassVar[Calling]  # all of this in one; made for each class
    # What scripts do with operators; stepcore.surface, a higher layer, installs it. ``execute(op, inputs, name)`` is
    # behind ``.apply(...)``; ``refuse`` and ``misapply`` say what is wrong with a call that cannot be served.
    execute: ClassVar[Callable[[Operator, Any, str], Any]]
    refuse: ClassVar[Callable[[type[Operator], Sequence[Any], Mapping[str, Any]], StepError]]
    misapply: ClassVar[Callable[[type[Operator], object, Sequence[Any], Mapping[str, Any]], StepError]]

    def __init_subclass__(cls) -> None:
        params = (*cls.params, *cls.common)
        defaults = {param.name: getattr(cls, param.name) for param in params if hasattr(cls, param.name)}
        cls.calling = Calling(cls.__name__, params, defaults, cls.inputs, cls.outputs, cls.instead)
        if "apply" in vars(cls):
            setattr(cls, "apply", _served(cls, vars(cls)["apply"]))  # noqa: B010  a method is made anew

    @classmethod
    def made(cls, params: Mapping[str, Any]) -> Self:
        """Return the operator with ``params`` that :attr:`calling` binds."""
        made: Self = type.__call__(cls, **params)
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

    def looks_ahead(self, rank: int) -> bool:
        """Return whether it needs the next element of an input of ``rank`` (or its end) before it writes one."""
        return False

    def text(self) -> str:
        """Return the operator as one writes it, functions by their names: ``Accum(fn=add, b=1)``."""
        shown = {key: getattr(value, "func_name", value) for key, value in self.written_params().items()}
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in shown.items())})"

    def param_values(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {param.name: getattr(self, param.name) for param in self.calling.params}

    def written_params(self) -> dict[str, Any]:
        """Return the parameters that have to be written: those that are not what they are when they are left out."""
        values = self.param_values()
        return {name: value for name, value in values.items() if not self.calling.is_default(name, value)}


def _served(cls: type[Operator], apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``apply`` for whatever a script calls it with: a wrong call is told in the words of the checker."""
    takes_none, takes_some = NOTHING in cls.inputs.ways, cls.inputs.ways != (NOTHING,)

    @wraps(apply)
    def checked(*arguments: Any, **named: Any) -> Any:
        if takes_some and len(arguments) == 2 and not named and isinstance(arguments[0], cls):
            return apply(*arguments)  # as nearly always
        op, given = arguments[0] if arguments else None, arguments[1:]  # step.Map.apply() has none
        count = len(given) + ("input" in named)
        is_named = count == 2 and isinstance(given[-1], str)
        is_well = (takes_some and (count == 1 or is_named)) or (takes_none and count == 0)
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


def need_inputs(operator: Operator, operands: Sequence[Operand], count: int) -> None:
    """Raise STEP205 unless there are exactly ``count`` inputs."""
    if len(operands) != count:
        name, wanted = type(operator).__name__, operator.inputs.text
        raise RuleError("STEP205", f"{name} takes {wanted}, found {_count(len(operands))}")


def need_size(operator: str, parameter: str, value: Dim | int, ctx: TypingContext) -> None:
    """Raise STEP217 unless ``value``, as far as it is bound, can be a size."""
    bound = ctx.bound(Dim.of(value))
    if bound is not None and not is_size(bound):
        text = f"{parameter} of {operator} is {whole(bound)}; {SIZE_RULE}"
        raise RuleError("STEP217", text, RuleSubject.param(parameter))


def _count(number: int) -> str:
    return {0: "none", 1: "one stream"}.get(number, f"{number} streams")


def mismatch(what: str, expected: Shape, found: Shape, facts: Facts) -> str:
    """Return a message that shows two shapes below each other with the first differing size marked."""
    pairs = list(zip_longest(expected, found))
    differing = (i for i, (a, b) in enumerate(pairs) if a is None or b is None or not facts.equal(a, b))
    position = next(differing, 0)  # pragma: no mutate: there is one
    cells = [("" if a is None else str(a), "" if b is None else str(b)) for a, b in pairs]
    widths = [max(len(a), len(b)) for a, b in cells]
    column = len("expected [") + sum(width + 2 for width in widths[:position])
    return "\n".join(
        (
            what,
            "  expected [" + _row([a for a, _ in cells], widths),
            "  found    [" + _row([b for _, b in cells], widths),
            "  " + " " * column + "^" * max(widths[position], 1) + f" size {position}",
        )
    )


def shape_bridge(expected: Shape, found: Shape) -> str:
    """Return as a line what gives a stream of shape ``found`` the shape ``expected``, or an empty text."""
    if len(expected) > 1 and found == expected[1:]:
        return f"\n  Repeat(n={expected[0]}) adds the innermost dimension {expected[0]}"
    if len(expected) > 1 and found == expected[::-1]:
        return "\n  sizes are written innermost first"
    return ""


def _row(cells: list[str], widths: list[int]) -> str:
    kept = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if cell]
    return ", ".join(kept).rstrip() + "]"


def element_mismatch(what: str, expected: Element, found: Element) -> str:
    """Return a message that shows two element types below each other, and what leads from one to the other."""
    way_out = _bridge(expected, found)
    return f"{what}\n  expected {expected}\n  found    {found}" + (f"\n  {way_out}" if way_out else "")


def _bridge(expected: Element, found: Element) -> str:
    """Return what makes elements of one type from those of the other, or an empty text where that is not plain."""
    match expected, found:
        case STuple(), STuple():
            return ""
        case STuple(), _:
            return "Zip makes tuples of two streams, and Map zips a tuple of streams itself"
        case _, STuple():
            return "an element function that takes the tuple returns what is wanted of it"
        case Buffer(), Buffer() if expected.shape == found.shape[::-1]:
            return "the sizes of buffers are written innermost first"
        case Buffer(), _ if expected.element == found:
            return f"Bufferize(a={len(expected.shape)}) makes buffers of elements"
        case _, Buffer() if found.element == expected:
            return "Streamify makes a stream of what buffers hold"
    return ""


__all__ = [
    "FnLike", "Operand", "Operator", "Param", "ParamKind", "RuleError", "RuleSubject", "TypingContext",
    "element_mismatch", "mismatch", "need_inputs", "need_size", "shape_bridge", "shape_text",
]  # fmt: skip

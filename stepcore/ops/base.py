"""What every operator is made of. One operator is one file beside this one; it holds all its facets.

Facets: how it is called (parameters are annotated fields, keyword-only, each with a :class:`Param`; inputs and outputs
are of :mod:`stepcore.ops.calling`), documentation with a runnable example, the typing rule (:meth:`Operator.infer`),
the semantics (:meth:`Operator.run`), the on-chip memory and the pace at which its unit reads and writes.
A typing rule raises :class:`RuleError` without positions; the checker adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields
from functools import partial, wraps
from inspect import Parameter, Signature
from itertools import zip_longest
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from stepcore.findings.diagnostics import StepError
from stepcore.ops.calling import NOTHING, ONE_INPUT, ONE_OUTPUT, Calling, Inputs, Outputs, Param, ParamKind, value_text
from stepcore.ops.pace import EACH_CHUNK, Buffers, Chunking, LoopPart, OffChipUse, Pace, Premise, Read, Routing
from stepcore.records import Record
from stepcore.sizes.dim import OPEN, SIZE_RULE, Dim, DimError, Facts, is_size
from stepcore.sizes.foreign import is_foreign
from stepcore.text.wording import clipped, whole
from stepcore.types import (
    Buffer,
    Element,
    Shape,
    StreamType,
    STuple,
    Tile,
    components,
    element_bytes,
    element_count,
    shape_text,
    takes_any,
    tensor_shapes,
)

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

    @property
    def is_count(self) -> bool:
        """True of ``step.count`` alone, whose lists are as long as the data say."""
        ...


class Operand(NamedTuple):  # a tuple, because typing makes one for every input
    """One input of an application: its type, its name in the program for messages, and which stream it is there."""

    type: StreamType
    name: str = "the input"
    stream: int = -1


class RuleSubject(Record):
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


class Made(Protocol):
    """What a typing context has to know of the program: by which operator each stream is made."""

    @property
    def nodes(self) -> Sequence[Any]:
        """The applications: ``op`` and ``inputs``."""
        ...

    @property
    def streams(self) -> Sequence[Any]:
        """The streams: ``name``, ``producer`` and ``type``."""
        ...


T = TypeVar("T")
MOST_COUNTED: Final = 1024  # what a list of FlatMap is taken to hold at most where nobody knows


class TypingContext:
    """State of typing one program: what is known divisible, bound symbols, and what derived sizes are named by."""

    def __init__(self, bindings: dict[str, int] | None = None) -> None:
        self.facts = Facts()
        self.bindings: dict[str, int] = bindings or {}
        self.program: Made | None = None
        self.settled: Operator | None = None  # the operator as its use settles it, where a rule says so
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

    def take_settled(self, op: Operator) -> Operator:
        """Return what the use that was typed last made of ``op``: mostly ``op`` itself."""
        if self.settled is None and not self._used:
            return op
        found, self.settled = self.settled or op, None
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
        """Return the integer that ``size`` is under the bindings, or None while a symbol is open."""
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


def is_later(stream: StreamType | None, *, branches: bool = False) -> bool:
    """Return whether a type is none of generation 1: it has tiles, dynamic or ragged sizes.

    With ``branches`` how often selectors name branches counts as generation 1, which calls it a new symbol.
    """
    if stream is None:
        return False
    parts = components(stream.element)
    if any(isinstance(part.element if isinstance(part, Buffer) else part, Tile) for part in parts):
        return True
    sizes = [size for shape in tensor_shapes(stream) for size in shape if size.is_open]
    if not branches:
        return bool(sizes)
    atoms = [atom for size in sizes for atom in size.derivations()]
    named = {name for size in sizes for name in size.symbols()} - {atom.text for atom in atoms}
    return any(atom.operator != "routed" for atom in atoms) or any(name[0] in OPEN for name in named)


# How a stream came to be: its type, the operator that made it (None for an input), and what that was applied to.
MadeOf: TypeAlias = tuple[StreamType | None, "Operator | None", Sequence[T]]


def only_published(stream: T, made: Callable[[T], MadeOf[T]]) -> bool:
    """Return whether types and operators of generation 1 alone led to ``stream``."""
    rest, seen = [stream], {stream}
    while rest:
        type_, operator, inputs = made(rest.pop())
        if is_later(type_) if operator is None else operator.generation > 1 or operator.fills:
            return False
        rest += [each for each in inputs if each not in seen]
        seen.update(inputs)
    return True


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


def need_inputs(operator: Operator, operands: Sequence[Operand], count: int) -> None:
    """Raise STEP205 unless there are exactly ``count`` inputs."""
    if len(operands) != count:
        name, wanted = type(operator).__name__, operator.inputs.text
        raise RuleError("STEP205", f"{name} takes {wanted}, found {_count(len(operands))}")


def need_size(operator: str, parameter: str, value: Dim | int, ctx: TypingContext, what: str = "") -> None:
    """Raise STEP217 unless ``value``, as far as it is bound, can be a size: the parameter, or ``what`` of it."""
    size = Dim.of(value)
    if size.is_open:
        text = f"{what or parameter} of {operator} is static, and only a run knows {size}"
        raise RuleError("STEP226", text, RuleSubject.param(parameter))
    bound = ctx.bound(size)
    if bound is not None and not is_size(bound):
        text = f"{what or parameter} of {operator} is {whole(bound)}; {SIZE_RULE}"
        raise RuleError("STEP217", text, RuleSubject.param(parameter))


def need_choice(operator: str, param: Param, value: str | int) -> None:
    """Raise STEP206 unless ``value`` is one of the choices of a parameter."""
    if value not in param.choices:
        *choices, last = map(value_text, param.choices)
        found = value_text(clipped(value, 40)) if isinstance(value, str) else whole(value)
        text = f"{param.name} of {operator} is {', '.join(choices)} or {last}, found {found}"
        raise RuleError("STEP206", text, RuleSubject.param(param.name))


def repeated_bytes(element: Element) -> Dim:
    """Return what a unit holds on chip that repeats ``element``: a tile; anything else is none."""
    return element_bytes(element) if isinstance(element, Tile) else Dim.of(0)


def need_common(operator: Operator, ctx: TypingContext) -> None:
    """Raise STEP217 unless each common parameter that was given, as far as it is bound, can be a size."""
    for param in operator.common:
        value = getattr(operator, param.name)
        if value is not None:
            need_size(type(operator).__name__, param.name, value, ctx)


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
            *_said_of(*pairs[position]),
        )
    )


def _said_of(*sizes: Dim | None) -> Iterator[str]:
    """Yield a line for each of the sizes that a program derives: where it comes from."""
    for size in sizes:
        if size is not None and any(True for _ in size.derivations()):
            from stepcore.sizes.kinds import origin_of  # most mismatches are of static sizes

            yield f"  {origin_of(size)}"


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
    "BW", "DEPTH", "FnLike", "Operand", "Operator", "Param", "ParamKind", "RuleError", "RuleSubject", "TypingContext",
    "element_mismatch", "mismatch", "need_choice", "need_common", "need_inputs", "need_size", "repeated_bytes",
    "shape_bridge", "shape_text",
]  # fmt: skip

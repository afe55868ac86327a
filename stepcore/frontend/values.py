"""What expressions of a program stand for while it is elaborated. Plain integers, strings, lists, tuples and
dictionaries stand for themselves, so that aliasing and mutation follow Python's rules by construction.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from stepcore.findings.diagnostics import Fix
from stepcore.fn.decl import FnDecl
from stepcore.frontend.imports import Imports
from stepcore.ops.base import Operator
from stepcore.ops.miscalls import Sort, described
from stepcore.text.span import Embedded, Span
from stepcore.text.wording import clipped
from stepcore.types import Buffer, Element, Multihot, STuple, Tile

Value: TypeAlias = Any
# Arms taken at undecidable branches, outermost first: (branch, arm).
Path: TypeAlias = tuple[tuple[int, int], ...]


class Unknown:
    """The value of something that a finding was already given for, or that only a run can tell."""

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN: Final = Unknown()
_DEEPEST: Final = 64  # lists inside each other that are looked into for a stream
_SHOWN: Final = 80  # characters of a value in a message


@dataclass(slots=True, eq=False)
class TensorValue:
    """A tensor that a script makes: the dtype by torch's name for it and the sizes, None where only a run can tell."""

    dtype: str | None
    sizes: tuple[int, ...] | None


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made for every stream, at half the cost
class StreamRef:
    """A stream of the graph. Never changed."""

    index: int


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The value of a name after a branch that could not be decided: one stream per arm that sets it."""

    options: tuple[tuple[Path, StreamRef], ...]


@dataclass(frozen=True, slots=True)
class UnknownSequence:
    """A sequence whose length only a run can tell; every item looks like ``item``."""

    item: Value


GENERATOR: Final = "a generator"  # what made an iterator that no function gave


@dataclass(slots=True, eq=False)
class OnePass:
    """What ``zip``, ``enumerate``, ``reversed`` and generators give: an iterator over the lists themselves.

    As in Python it looks at an item when that is taken, and is used up afterwards. ``count`` is how many there were
    when it was made, ``width`` what each takes, ``depth`` how many such iterators stand inside each other.
    """

    maker: str
    items: Iterator[Value]
    count: int
    width: int = 1
    depth: int = 1

    @property
    def is_generator(self) -> bool:
        """Whether a generator expression made it."""
        return self.maker == GENERATOR


@dataclass(frozen=True, slots=True, eq=False)
class DictView:
    """What ``.keys()``, ``.values()`` and ``.items()`` of a dictionary give: it changes as the dictionary does."""

    owner: dict[Value, Value]
    part: Literal["keys", "values", "items"]

    def look(self) -> Any:
        """Return the view itself."""
        return getattr(self.owner, self.part)()


MADE: Final = "fns."  # before the names of functions that are written for given types


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """An imported module, by its full name."""

    name: str


@dataclass(frozen=True, slots=True)
class ProgramBuiltin:
    """A function of Python that programs may call."""

    name: str


@dataclass(frozen=True, slots=True)
class OperatorRef:
    """``step.Map`` before its parameters. ``cls`` is None for an operator that does not exist."""

    name: str
    cls: type[Operator] | None


def is_unknown(value: Value) -> bool:
    """Return whether a finding was given for ``value`` already, or it is Python's affair alone, as a tensor is."""
    ref = value.ref if isinstance(value, OperatorValue) else value
    return value is UNKNOWN or type(value) is TensorValue or (isinstance(ref, OperatorRef) and ref.cls is None)


def ready_made(value: Value) -> str:
    """Return which of ``step.fns`` a value is, "" where it is none."""
    if isinstance(value, ProgramBuiltin) and value.name.startswith(MADE):
        return value.name.removeprefix(MADE)
    return ""


def holds_unknown(value: Value) -> bool:
    """Return whether a finding was given already for a value or a part of it."""
    return is_unknown(value) or (isinstance(value, tuple | list) and any(map(holds_unknown, value)))


@dataclass(slots=True)  # not frozen: made for every call, at a third of the cost
class OperatorValue:
    """``step.Map(fn=f)``. ``op`` is None when the parameters were unusable."""

    ref: OperatorRef
    op: Operator | None
    params: dict[str, Any]
    param_spans: dict[str, Span]
    span: Span


@dataclass(slots=True, eq=False)
class LoopValue(OperatorValue):
    """``step.Feedback(...)``: an operator with a second method, each of which is called once in its body.

    ``body`` is the function around it. ``stream`` is what ``apply`` gave, -1 before; ``ended`` says where it is closed,
    ``early`` by what where that was before ``apply``.
    """

    body: object
    code: Embedded
    stream: int = -1
    ended: list[tuple[Path, Span]] = field(default_factory=list)
    early: tuple[Path, StreamRef, Span] | None = None


@dataclass(slots=True)  # not frozen: made for every call, at a third of the cost
class Method:
    """An attribute about to be called: ``.apply`` of an operator, ``.append`` of a list."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class TypeMaker:
    """``step.Buffer`` and the like, before their arguments; ``written`` marks a parameter that stores may write."""

    name: str
    written: bool = False


class ContextSizes(dict[Any, Any]):
    """The sizes ``ctx`` of a program, which it reads only."""


@dataclass(frozen=True, slots=True)
class LosingStatement:
    """A statement of a module after which a value is not known; ``imports_all``: a star import."""

    shown: str
    imports_all: bool


@dataclass(slots=True)
class Scope:
    """Names of one function, comprehension or module, with the scope around it; a module knows its imports.

    ``own`` are the names that a function binds somewhere: of one that has no value yet Python takes none from outside.
    ``unfollowed`` are names of a module that have a value which is not known, each with the statement that gives it.
    """

    names: dict[str, Value]
    parent: Scope | None = None
    imports: Imports | None = None
    is_comprehension: bool = False
    own: frozenset[str] = frozenset()
    unfollowed: dict[str, LosingStatement] | None = None

    def missing_import(self, name: str) -> Fix | None:
        """Return the edit that imports a name that is not known; None where there is none."""
        scope: Scope | None = self
        while scope is not None:
            if scope.imports is not None:
                return scope.imports.fix(name)
            scope = scope.parent
        return None

    def find(self, name: str) -> Value:
        """Return the value of ``name``, or raise KeyError."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.own:
                break
            scope = scope.parent
        raise KeyError(name)

    def binding(self, name: str) -> Scope | None:
        """Return the scope whose own name this is, although it has no value yet; None where there is none."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            if name in scope.own:
                return scope
            scope = scope.parent
        return None

    @property
    def function(self) -> Scope:
        """The scope of the function or module around comprehensions, where ``:=`` binds."""
        scope = self
        while scope.is_comprehension and scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def outermost(self) -> Scope:
        """The scope of the module."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def visible(self) -> list[str]:
        """Return all names that can be seen from here."""
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None:
            names.extend(scope.names)
            scope = scope.parent
        return names


def named_types(scope: Scope) -> dict[Element, str]:
    """Return the names that a module gives to element types other than numbers; the first name counts."""
    found: dict[Element, str] = {}
    for name, value in scope.names.items():
        if isinstance(value, Buffer | Multihot | Tile | STuple):
            found.setdefault(value, name)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Helper:
    """A function that a program may call; it is elaborated anew at each call."""

    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    code: Embedded


@dataclass(frozen=True, slots=True, eq=False)
class FnClass:
    """A subclass of ``step.Fn``, before it is instantiated."""

    node: ast.ClassDef
    scope: Scope
    code: Embedded


@dataclass(slots=True, eq=False)
class EvaluationContext:
    """Where in the unrolled program evaluation stands: a call, or one round of a loop or comprehension.

    Rounds of one execution of a loop share ``group``. ``total`` is the number of rounds; ``endless`` marks a
    loop of unknown length, whose body is elaborated once. ``arguments`` pairs the argument expressions of a
    call with their values.
    """

    kind: Literal["root", "loop", "comprehension", "call"]
    code: Embedded
    parent: EvaluationContext | None = None
    node: ast.AST | None = None
    body: list[ast.stmt] = field(default_factory=list)
    group: object = None
    index: int = 0
    total: int = 1
    endless: bool = False
    arguments: list[tuple[ast.expr, Value]] = field(default_factory=list)
    depth: int = 0

    def chain(self) -> list[EvaluationContext]:
        """Return the contexts from the outermost to this one."""
        found: list[EvaluationContext] = []
        context: EvaluationContext | None = self
        while context is not None:
            found.append(context)
            context = context.parent
        return found[::-1]


class Seen(NamedTuple):  # a tuple, because evaluation makes one for every name
    """A name or operator that evaluation met, for editors: what it stood for, and whether it was assigned."""

    node: ast.Name | ast.Attribute | ast.Call
    code: Embedded
    value: Value
    is_store: bool


@dataclass(slots=True)
class Use:
    """One consumption of a stream. ``expr`` evaluates to it, or to ``whole``, which holds it at ``steps``."""

    stream: int
    expr: ast.expr
    steps: tuple[int, ...]
    context: EvaluationContext
    path: Path
    node: int | None  # consuming node; None: returned from the program
    whole: Value = None


def find_stream(value: Value, stream: int, seen: set[int] | None = None, depth: int = 0) -> tuple[int, ...] | None:
    """Return the indices that lead to ``stream`` in nested lists and tuples, or None where it is not."""
    if isinstance(value, StreamRef):
        return () if value.index == stream else None
    if isinstance(value, Alternatives):
        return () if any(option.index == stream for _, option in value.options) else None
    seen = set() if seen is None else seen
    if not isinstance(value, list | tuple) or id(value) in seen or depth > _DEEPEST:
        return None
    seen.add(id(value))
    for position, item in enumerate(value):
        steps = find_stream(item, stream, seen, depth + 1)
        if steps is not None:
            return (position, *steps)
    return None


def sort_of(value: Value) -> Sort:
    """Return what kind of thing ``value`` is, as far as messages differ."""
    match value:
        case StreamRef() | Alternatives():
            return Sort.STREAM
        case OperatorValue() | OperatorRef():
            return Sort.OPERATOR
        case FnDecl():
            return Sort.FUNCTION
        case Helper():
            return Sort.HELPER
        case ModuleRef() | ProgramBuiltin():
            return Sort.READY_MADE if ready_made(value) else Sort.FOREIGN
    return Sort.OTHER


def is_stream(value: Value) -> bool:
    """Return whether ``value`` is a stream, even one of several."""
    return type(value) is StreamRef or type(value) is Alternatives  # each application asks


def holds_stream(value: Value, depth: int = 0, seen: set[int] | None = None) -> bool:
    """Return whether ``value`` is a stream or holds one; of what is nested too deeply that is assumed."""
    if isinstance(value, DictView):
        value = value.owner
    if isinstance(value, OnePass):
        return True  # nobody looks, for that would use it up
    if not isinstance(value, list | tuple | dict):
        return is_stream(value)
    seen = set() if seen is None else seen
    if id(value) in seen:  # lists that hold lists twice have more items than anybody can go through
        return False
    seen.add(id(value))  # of what outlives the walk: a list made of a dictionary's values would give its id away
    items = value.values() if isinstance(value, dict) else value
    return depth > _DEEPEST or any(holds_stream(item, depth + 1, seen) for item in items)


def describe(value: Value) -> str:
    """Return what ``value`` is, for messages."""
    match value:
        case StreamRef() | Alternatives():
            return "a stream"
        case OperatorValue():
            return f"the operator {value.ref.name}, not applied"
        case OperatorRef():
            return f"the operator {value.name}, without parameters"
        case FnDecl():
            return "an element function"
        case UnknownSequence():
            return "a list"
        case TensorValue():
            return "a tensor"
        case OnePass():
            return GENERATOR if value.is_generator else f"the iterator of {value.maker}"
        case DictView():
            return f"the {value.part} of a dictionary"
        case range():
            return "a range"
        case _:
            are_streams = isinstance(value, list | tuple) and all(map(is_stream, value))
            return _callable(value) or described(value, are_streams) or clipped(f"{value}", _SHOWN)


def _callable(value: Value) -> str:
    match value:
        case Helper():
            name = value.node.name if isinstance(value.node, ast.FunctionDef) else ""
            return f"the helper function {name}" if name else "a lambda"
        case ProgramBuiltin():
            return "a function of Python"
        case Method():
            return f"the method {value.name}"
        case FnClass():
            return f"the function class {value.node.name}, not instantiated"
        case TypeMaker():
            return f"step.{value.name}"
        case ModuleRef():
            return value.name
    return ""

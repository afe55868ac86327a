"""What a ``global`` block binds, found without torch: constant sizes, and the names that bodies may use."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import inf
from types import NoneType
from typing import Any, Final, TypeAlias

from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock
from stepcore.fn.nodes import parts_of
from stepcore.fn.python_calls import bits_to_round
from stepcore.fn.source import BodySyntaxError, augmented, binds_inside, statements
from stepcore.records import Record
from stepcore.sizes.dim import DEFAULT_SIZES, is_name, is_size
from stepcore.text.remembered import remembered_text

_LIMIT: Final = 1 << 62
_MAX_EXPONENT: Final = 4096  # powers beyond it are too large, and are not computed


class SymbolRef(Record):
    """A size by name, as ``M`` or ``Symbol("M")`` stand for it; the key type of ``ctx``."""

    name: str


class SizeFault(Record):
    """A binding ``ctx[NAME] = ...`` to something that is no size; ``node`` is ``ctx[NAME]``, ``found`` what it is."""

    name: str
    node: ast.expr
    found: str


class _Huge:
    """An integer beyond all that is computed here."""


class _Lost:
    """What a name stands for that was bound to something unknown: it hides what the name meant before."""


_HUGE: Final = _Huge()
_LOST: Final = _Lost()
_Value: TypeAlias = "int | float | str | SymbolRef | _Huge | _Lost | tuple[Any, ...] | None"


class NotConstant(Exception):
    """An expression that is not constant arithmetic."""


_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _round(number: Any, digits: Any = None) -> Any:
    """Round as Python does what takes no power of ten that is too large."""
    if bits_to_round(number, digits) > _MAX_EXPONENT:
        raise ValueError("too many digits")
    return round(number, digits)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"int": int, "max": max, "min": min, "abs": abs, "round": _round}


def constant_bindings(block: CodeBlock | None, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the sizes that ``block`` binds by ``ctx[E] = ...``, as far as constant arithmetic tells.

    ``known`` are sizes that the block may read (``D_value``), the defaults of task files unless given. What cannot
    be evaluated is left out; nothing is raised.
    """
    if block is None:
        return {}
    return dict(_bindings(block.source.text, _items(known))[0])


def size_faults(block: CodeBlock | None, known: Mapping[str, int] | None = None) -> tuple[SizeFault, ...]:
    """Return the bindings of ``block`` to what certainly is no size, in order; ``known`` is as above."""
    return () if block is None else _bindings(block.source.text, _items(known))[1]


def _items(known: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((DEFAULT_SIZES if known is None else known).items()))


@lru_cache(maxsize=1024)
def _bindings(
    text: str, known: tuple[tuple[str, int], ...]
) -> tuple[tuple[tuple[str, int], ...], tuple[SizeFault, ...]]:
    from stepcore.text.span import Embedded

    try:
        body = statements(CodeBlock(Embedded.whole(text)))
    except BodySyntaxError:
        return (), ()
    evaluator = Evaluator(dict(known))
    evaluator.binds_inside = binds_inside(text)
    for statement in body:
        evaluator.run(statement)
    return tuple(evaluator.bound.items()), tuple(evaluator.faults)


_PREDECLARED: Final = {name: SymbolRef(name) for name in PREDECLARED_SYMBOLS}


class Evaluator:
    """Runs the assignments of a block that are constant arithmetic and forgets the names of all others.

    ``bound`` are the sizes that it bound through ``ctx``, ``faults`` the bindings to what is none. ``binds_inside``
    says whether expressions may bind names, too: most texts have none that do, and no expression of them is searched.
    """

    binds_inside = True

    def __init__(self, known: dict[str, int]) -> None:
        self.context = dict(known)
        self.bound: dict[str, int] = {}
        self.faults: list[SizeFault] = []
        self.names: dict[str, _Value] = dict(_PREDECLARED)
        self.names |= {name: SymbolRef(name) for name in known if name not in _PREDECLARED}
        self.names |= {f"{name}_value": value for name, value in known.items()}

    def run(self, statement: ast.stmt) -> None:
        """Take note of what one statement binds."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign([target], value)
            case ast.AugAssign(target=ast.Name() as target):
                self._assign([target], augmented(statement))
            case ast.If(test=test, body=body, orelse=orelse):
                try:
                    taken = body if self.value(test) else orelse
                except NotConstant:
                    self._lose(statement)
                else:
                    for each in taken:
                        self.run(each)
            case _:
                self._lose(statement)

    def _lose(self, node: ast.AST) -> None:
        """Forget all that may be bound somewhere in a statement or expression."""
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                    self.forget(name)
                case ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name), ctx=ast.Store()):
                    self.bound.pop(name, None)
                    self.forget(f"{name}_value")

    def _assign(self, targets: list[ast.expr], expression: ast.expr) -> None:
        try:
            value = self.value(expression)
        except NotConstant:
            for part in (expression, *targets) if self.binds_inside else targets:
                self._lose(part)
            return
        for target in targets:
            self._bind(target, value)

    def forget(self, name: str) -> None:
        """From here on nothing is known of ``name``, not even that it is a function or number of a size."""
        self.names[name] = _LOST

    def _bind(self, target: ast.expr, value: _Value) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if isinstance(value, tuple) and len(value) == len(parts):
                    for part, item in zip(parts, value, strict=True):
                        self._bind(part, item)
            case ast.Subscript(value=ast.Name(id="ctx"), slice=key):
                try:
                    symbol = self.value(key)
                except NotConstant:
                    return
                if isinstance(symbol, SymbolRef):
                    self._bind_size(symbol.name, target, value)

    def _bind_size(self, name: str, target: ast.expr, value: _Value) -> None:
        if is_size(value):
            assert isinstance(value, int)
            self.context[name] = self.bound[name] = self.names[f"{name}_value"] = value
        else:
            self.faults.append(SizeFault(name, target, _shown(value)))

    def integer(self, node: ast.expr) -> float | None:
        """Return the integer that ``node`` is, infinity for one above 2**62, or None where it is none or unknown."""
        try:
            value = self.value(node)
        except NotConstant:
            return None
        if isinstance(value, _Huge):
            return inf
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def value(self, node: ast.expr) -> _Value:
        """Return the value of constant arithmetic; raises :class:`NotConstant` for everything else."""
        match node:
            case ast.Constant(value=int() | float() | str() | None as value):
                return value
            case ast.Name(id=name) if name in self.names:
                known = self.names[name]
                if known is _LOST:
                    raise NotConstant
                return known
            case ast.Name(id=name) if name.removesuffix("_value") in self.context and name.endswith("_value"):
                return self.context[name.removesuffix("_value")]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operate(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._operate(ast.Sub(), 0, self.value(operand))
            case ast.Subscript(value=ast.Name(id="ctx"), slice=key):
                symbol = self.value(key)
                if isinstance(symbol, SymbolRef) and symbol.name in self.context:
                    return self.context[symbol.name]
            case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))], keywords=[]) if is_name(
                name
            ):
                return SymbolRef(name)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in _FUNCTIONS and name not in self.names
            ):
                values = [self.value(argument) for argument in arguments]
                if values and all(isinstance(value, int | float) for value in values):
                    return self._guard(lambda: _FUNCTIONS[name](*values))
        return self._decided(node)

    def _decided(self, node: ast.expr) -> _Value:
        """Return the value of a comparison, or what ``:=`` binds."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return self._compare(op, self.value(left), self.value(right))
            case ast.NamedExpr(target=target, value=inner):
                value = self.value(inner)
                self._bind(target, value)
                return value
        raise NotConstant

    def _compare(self, op: ast.cmpop, left: _Value, right: _Value) -> bool:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise NotConstant
        return _COMPARISONS[type(op)](left, right)

    def _operate(self, op: ast.operator, left: _Value, right: _Value) -> _Value:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise NotConstant
        if isinstance(op, ast.Pow):
            if not isinstance(right, int) or right < 0 or isinstance(left, float):
                raise NotConstant
            if right > _MAX_EXPONENT and abs(left) > 1:
                return _HUGE
            return self._guard(lambda: left**right)
        function = _OPERATORS.get(type(op))
        if function is None:
            raise NotConstant
        return self._guard(lambda: function(left, right))

    @staticmethod
    def _guard(compute: Callable[[], Any]) -> int | float | _Huge:
        try:
            value = compute()
        except (ArithmeticError, TypeError, ValueError) as error:
            raise NotConstant from error
        if not isinstance(value, int | float):
            raise NotConstant
        return _HUGE if isinstance(value, int) and abs(value) > _LIMIT else value


def _shown(value: _Value) -> str:
    match value:
        case _Huge():
            return "an integer above 2**62"
        case SymbolRef(name=name):
            return f"the symbol {name}"
        case tuple():
            return "a list"
        case str():
            return repr(value if len(value) <= 40 else value[:39] + "…")
    return repr(value)


@remembered_text
def _bound_names(text: str) -> frozenset[str]:
    from stepcore.text.span import Embedded

    try:
        body = statements(CodeBlock(Embedded.whole(text)))
    except BodySyntaxError:
        return frozenset()
    return assigned_names(body)


def names_bound_by(block: CodeBlock) -> frozenset[str]:
    """Return :func:`assigned_names` of a block, found once for each text; none where it does not parse."""
    return _bound_names(block.source.text)


def prelude_names(block: CodeBlock | None) -> frozenset[str]:
    """Return every name that a ``global`` block binds, sizes bound through ``ctx`` (``E_value``) included."""
    if block is None:
        return frozenset()
    sizes = {*constant_bindings(block), *(fault.name for fault in size_faults(block))}
    values = {f"{name}_value" for name in sizes}
    return _bound_names(block.source.text) | values


_LEAVES: Final = frozenset({ast.Name, ast.Constant, NoneType})


def assigned_names(body: tuple[ast.stmt, ...] | list[ast.stmt]) -> frozenset[str]:
    """Return the names that statements bind at their own level: assignments, loops, helper functions."""
    names: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if type(node) in _LEAVES:  # most nodes are; a body is walked for every keystroke
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            continue
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.NamedExpr(target=ast.Name(id=name)):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
                # Names of a comprehension stay inside, except those of := (found by walking on).
                names |= {
                    inner.target.id
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name)
                }
                continue
        pending += parts_of(node)
    return frozenset(names)


def comprehension_names(generators: Iterable[ast.comprehension]) -> frozenset[str]:
    """Return the names that a comprehension binds for itself."""
    nodes = (node for generator in generators for node in ast.walk(generator.target))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def changeable(body: tuple[ast.stmt, ...]) -> frozenset[str]:
    """Return the names that ``global`` binds to what may be changed in place: all but numbers, texts and the like."""
    fixed: set[str] = set()
    loose: set[str] = set()
    for node in ast.walk(ast.Module(list(body), [])):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_fixed(value, fixed - loose):
                fixed.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_fixed(value, fixed - loose):
                fixed.add(name)
            case ast.Assign(targets=targets):
                loose |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                loose.add(name)
    return assigned_names(body) - (fixed - loose)


def _is_fixed(value: ast.expr, fixed: set[str]) -> bool:
    """Return whether an expression is a number, a text or a function, by its form and the names that are."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Lambda() | ast.Compare():
            return True
        case ast.Name(id=name):
            return name in fixed or name.endswith("_value")
        case ast.UnaryOp(operand=operand):
            return _is_fixed(operand, fixed)
        case ast.BinOp(left=left, right=right):
            return _is_fixed(left, fixed) and _is_fixed(right, fixed)
        case ast.Tuple(elts=parts):
            return all(_is_fixed(part, fixed) for part in parts)
        case ast.Call(func=ast.Name(id=name)):
            return name in _NUMERIC
        case ast.Attribute(value=ast.Name(id="math")) | ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
            return True
        case ast.Attribute(value=ast.Name(id="torch")):
            return True  # dtypes, constants and functions
    return False


_NUMERIC: Final = frozenset({"Symbol", "abs", "bool", "float", "int", "len", "pow", "round", "str"})


def bound_once(body: tuple[ast.stmt, ...]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that ``global`` binds once, in a line of their own, with their values."""
    nodes = ast.walk(ast.Module(list(body), []))
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                yield name, value

"""Interprets the statements and expressions of the closed language on a :class:`Machine`.

Nothing of a body ever reaches Python's own evaluation: an unknown kind of node is refused. What breaks a rule or a
limit of the language raises ``EvaluationRefused``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from typing import Any, Final

import torch

from stepcore.fn import allow
from stepcore.fn.members import no_component, no_value_yet, unknown_attribute
from stepcore.fn.prelude import SymbolRef
from stepcore.fn.source import node_span
from stepcore.sim.fnvec import guard
from stepcore.sim.fnvec.builtin import BUILTINS, BoundMethod, Builtin, call_builtin, call_method
from stepcore.sim.fnvec.displays import Displays
from stepcore.sim.fnvec.errors import EvaluationRefused, FnRuntimeError, NoRule, Restart
from stepcore.sim.fnvec.machine import Machine
from stepcore.sim.fnvec.names import AtenName, Namespace, Operation, aten_overload, method, namespace_member
from stepcore.sim.fnvec.record import has_traced, result_fields
from stepcore.sim.fnvec.scopes import NOTHING, UNBOUND, Scope, find, visible
from stepcore.sim.fnvec.shared import countable
from stepcore.sim.fnvec.statements import UNSETTLED, Closure
from stepcore.sim.fnvec.tape import TV
from stepcore.sim.fnvec.trace import Tracer
from stepcore.sim.fnvec.words import failure
from stepcore.text.span import Embedded

_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "bitwise_left_shift", ast.RShift: "bitwise_right_shift",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.USub: "neg", ast.UAdd: "positive", ast.Invert: "bitwise_not",
}  # fmt: skip
_PASSED_THROUGH = (FnRuntimeError, NoRule, Restart)


_OF_TYPES: Final[dict[type, frozenset[str]]] = {
    torch.dtype: allow.DTYPE_ATTRIBUTES, torch.finfo: allow.LIMITS, torch.iinfo: allow.LIMITS,
}  # fmt: skip


def _no_attribute(name: str) -> str:
    return unknown_attribute(name, allow.TENSOR_METHODS | allow.TENSOR_ATTRIBUTES)


class Interpreter(Displays):
    """One run of one block. ``globals`` are the names of the environment, read-only for element functions."""

    def __init__(self, machine: Machine, source: Embedded, names: Scope, dtypes: dict[Any, Any] | None = None) -> None:
        self.machine = machine
        self.source = source
        self.globals = names
        self.dtypes = dtypes or {}
        self.frozen: set[int] = set()  # lists and dictionaries that the body got
        self.kept: Set[int] = frozenset()  # what ``global`` made
        self.steps = machine.limits.steps
        self.depth = 0

    def operator_name(self, node: ast.AST) -> str:
        """Return the operation that an operator of the syntax stands for."""
        name = _OPERATORS.get(type(node))
        if name is None:
            raise EvaluationRefused(f"{type(node).__name__} is not part of the function language", "STEP302")
        return name

    def fail(self, node: ast.AST, error: Exception) -> FnRuntimeError:
        """Return ``error`` as a finding at ``node``."""
        span = node_span(self.source, node)
        if isinstance(error, EvaluationRefused):
            return FnRuntimeError(error.message, span, error.code)
        if isinstance(error, RecursionError):
            return FnRuntimeError("its lists are nested too deep, or one of them holds itself", span, "STEP405")
        text = " ".join(str(error).split("\n")[0].split()) or type(error).__name__
        if isinstance(error, MemoryError) or "allocate memory" in text or "memory allocation" in text:
            return FnRuntimeError("not enough memory", span, "STEP406")
        return FnRuntimeError(failure(error, node), span)

    def eval(self, node: ast.expr, scope: Scope) -> Any:
        """Return the value of an expression.

        Raises:
            FnRuntimeError: it fails; the span is that of the innermost failing expression.
            NoRule: it has no batched form.
        """
        handler = _HANDLERS.get(type(node))
        try:
            self.spend()
            if handler is None:
                raise EvaluationRefused(f"{type(node).__name__} is not part of the function language", "STEP302")
            return handler(self, node, scope)
        except _PASSED_THROUGH:
            raise
        except Exception as error:
            raise self.fail(node, error) from error

    def _constant(self, node: ast.Constant, _scope: Scope) -> Any:
        return guard.plain(node.value)

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        name = node.id
        value = scope[name] if name in scope else find(name, scope)
        if value is UNSETTLED:
            raise NoRule
        if value is UNBOUND:
            raise EvaluationRefused(no_value_yet(name), "STEP303")
        if value is not NOTHING:
            return value
        if name in self.globals:
            return self.globals[name]
        if name in BUILTINS:
            return BUILTINS[name]
        if name in allow.FORBIDDEN_BUILTINS or name.startswith("__"):
            raise EvaluationRefused(f"{name} is forbidden in a function body", "STEP302")
        near = allow.suggestion(name, visible(scope), self.globals.keys(), allow.BUILTINS)
        raise EvaluationRefused(f"unknown name {name!r}{near}", "STEP303")

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.machine_place(node)
        return self.attribute(value, node.attr)

    def attribute(self, value: Any, name: str) -> Any:
        """Return ``value.name`` when the language has it."""
        if name.startswith("_"):
            raise EvaluationRefused(f"the attribute {name!r} is private", "STEP302")
        if isinstance(value, Namespace):
            return self._member(value, name)
        if isinstance(value, AtenName):
            return aten_overload(value.name, name)
        if isinstance(value, TV | torch.Tensor):
            if name in allow.TENSOR_ATTRIBUTES:
                return self.machine.attribute(value, name)  # type: ignore[arg-type]
            if name in allow.TENSOR_METHODS:
                return BoundMethod(value, name)
            raise EvaluationRefused(allow.why_not("torch.Tensor", name) or _no_attribute(name), "STEP304")
        if name in allow.RESULT_FIELDS and name in (fields := result_fields(value)):
            return value[fields.index(name)]
        if isinstance(value, list | tuple | range | dict) and name in allow.CONTAINER_METHODS:
            return BoundMethod(value, name)
        if isinstance(value, torch.Size) and name == "numel":
            return BoundMethod(value, name)
        if isinstance(value, torch.nn.Module) and name in allow.MODULE_ATTRIBUTES:
            return getattr(value, name)
        if name in _OF_TYPES.get(type(value), ()) and hasattr(value, name):
            return getattr(value, name)
        raise EvaluationRefused(f"the attribute {name!r} is not part of the function language", "STEP304")

    def _member(self, space: Namespace, name: str) -> Any:
        member = namespace_member(space, name)
        if isinstance(member, torch.dtype):
            return self.dtypes.get(member, member)
        if self.dtypes and isinstance(member, Operation) and member.plain is torch.finfo:
            return Operation("finfo", self._limits)
        return Builtin(f"math.{name}") if space.path == "math" and callable(member) else member

    def _limits(self, type: torch.dtype | None = None) -> torch.finfo:
        """Return the limits of a type as the text of the body has it, where its types have become others."""
        asked = torch.get_default_dtype() if type is None else type
        return torch.finfo(torch.float32 if asked == self.dtypes.get(torch.float32) else asked)

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.eval(node.func, scope)
        args = self._items(node.args, scope)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise EvaluationRefused("** is not part of the function language", "STEP302")
            kwargs[keyword.arg] = self.eval(keyword.value, scope)
        self.machine_place(node)
        return self.call(function, args, kwargs)

    def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a value of the language."""
        kind = type(function)
        if kind is Operation:
            return self.machine.call(function, args, kwargs)
        if kind is BoundMethod:
            return self._call_method(function, args, kwargs)
        if kind is Builtin:
            return call_builtin(self, function.name, args, kwargs)
        if kind is Closure:
            return self.call_closure(function, args, kwargs)
        if isinstance(function, torch.nn.Module):
            return self.machine.module(function, args, kwargs)
        if kind is _SymbolMaker:
            return SymbolRef(str(args[0]))
        if isinstance(function, torch.dtype):
            raise EvaluationRefused(f"{function} is a type, not a function")
        raise EvaluationRefused(f"{_describe(function)} cannot be called")

    def _call_method(self, bound: BoundMethod, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        value = bound.value
        if not isinstance(value, TV | torch.Tensor):
            if isinstance(value, torch.Size) and bound.name == "numel":
                return value.numel()
            return call_method(self, value, bound.name, args, kwargs)
        name = bound.name
        if name in ("float", "double", "half", "bfloat16") and self.dtypes:
            return self.machine.call(_TO, (value, self.dtypes.get(_CASTS[name], _CASTS[name])), {})
        operation = method(name)
        if operation is None:
            raise EvaluationRefused(f"the method {name!r} draws random numbers: element functions are pure", "STEP304")
        return self.machine.call(operation, (value, *args), kwargs)

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        right = self.eval(node.right, scope)
        self.machine_place(node)
        return self.machine.binary(self.operator_name(node.op), left, right)

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.eval(node.operand, scope)
        self.machine_place(node)
        if isinstance(node.op, ast.Not):
            if type(value) is TV:
                condition = self.tracer().truth(value)
                return self.machine.call(_NOT, (condition,), {})
            return not value
        return self.machine.unary(self.operator_name(node.op), value)

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        result: Any = True
        for index, (op, expression) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.eval(expression, scope)
            self.machine_place(node)
            outcome = self._comparison(op, left, right)
            # a < b < c is (a < b) and (b < c)
            result = outcome if index == 0 else self.choose(result, outcome, result)
            if result is False:
                return False
            left = right
        return result

    def _comparison(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Is | ast.IsNot):
            if _has_no_identity(left) and _has_no_identity(right):
                raise EvaluationRefused(
                    "`is` of numbers, texts and tuples says how Python is built; write ==", "STEP302"
                )
            same = left is right
            return same if isinstance(op, ast.Is) else not same
        if isinstance(op, ast.In | ast.NotIn):
            if has_traced((left, right)):
                raise NoRule
            countable(left, right if isinstance(right, list | tuple) else None)
            return (left in right) if isinstance(op, ast.In) else (left not in right)
        return self.machine.binary(self.operator_name(op), left, right)

    def _bool_op(self, node: ast.BoolOp, scope: Scope) -> Any:
        value = self.eval(node.values[0], scope)
        wants = isinstance(node.op, ast.And)
        for position, following in enumerate(node.values[1:], start=1):
            if type(value) is TV:
                rest = node.values[position:]
                expression = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)
                return self.under(value, wants, expression, scope)
            if bool(value) is not wants:
                return value
            value = self.eval(following, scope)
        return value

    def under(self, condition: TV, wants: bool, expression: ast.expr, scope: Scope) -> Any:
        """Return ``condition and expression`` (``or`` for ``wants`` False) for a batched condition."""
        tracer = self.tracer()
        truth = tracer.truth(condition)
        with self.masked(truth, wants):
            other = self.eval(expression, scope)
        first, second = (other, condition) if wants else (condition, other)
        return tracer.choose(truth, first, second)

    def _conditional(self, node: ast.IfExp, scope: Scope) -> Any:
        condition = self.eval(node.test, scope)
        if type(condition) is not TV:
            return self.eval(node.body if bool(condition) else node.orelse, scope)
        tracer = self.tracer()
        self.machine_place(node)
        truth = tracer.truth(condition)
        with self.masked(truth, True):
            yes = self.eval(node.body, scope)
        with self.masked(truth, False):
            no = self.eval(node.orelse, scope)
        self.machine_place(node)
        return tracer.choose(truth, yes, no)

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return ``yes if condition else no`` for values that are already there."""
        if type(condition) is TV:
            tracer = self.tracer()
            return tracer.choose(tracer.truth(condition), yes, no)
        return yes if bool(condition) else no

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        base = self.eval(node.value, scope)
        index = self.eval(node.slice, scope)
        self.machine_place(node)
        if isinstance(base, dict):
            return self.lookup(base, index)
        if isinstance(base, Namespace | Operation | Builtin | Closure):
            raise EvaluationRefused(f"{_describe(base)} cannot be indexed")
        if isinstance(base, list | tuple | range | str) and isinstance(index, torch.Tensor):
            index = int(index)
        elif isinstance(base, list | tuple | range | str) and type(index) is TV:
            raise NoRule
        is_argument = isinstance(node.value, ast.Name) and id(base) in self.frozen
        if is_argument and type(index) is int and not -len(base) <= index < len(base):
            raise EvaluationRefused(no_component(ast.unparse(node.value), len(base), index), "STEP308")
        return self.machine.get_item(base, index)

    @staticmethod
    def lookup(base: dict[Any, Any], key: Any) -> Any:
        """Return ``base[key]`` of a dictionary such as ``input_data``."""
        try:
            return base[key]
        except KeyError:
            shown = key.name if isinstance(key, SymbolRef) else repr(key)
            known = {k for k in base if isinstance(k, str)}
            hint = allow.suggestion(key, known) if isinstance(key, str) else ""
            raise EvaluationRefused(f"there is no entry {shown}{hint}", "STEP303") from None

    def machine_place(self, node: ast.AST) -> None:
        """Tell the tracer which expression is being carried out."""
        machine = self.machine
        if machine.batched:
            machine.place = node  # type: ignore[attr-defined]
        elif machine.noting is not None:
            machine.noting.at = (self.source, node)

    def tracer(self) -> Tracer:
        """Return the machine as a tracer; batched values exist nowhere else."""
        if not isinstance(self.machine, Tracer):
            raise NoRule
        return self.machine


class _SymbolMaker:
    """``Symbol("H")`` of a ``global`` block."""


SYMBOL_MAKER: Final = _SymbolMaker()
_NOT: Final = Operation("logical_not", torch.logical_not)
_TO: Final = Operation("to", torch.Tensor.to)
_CASTS: Final = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
}  # fmt: skip


def _has_no_identity(value: Any) -> bool:
    return isinstance(value, int | float | str | tuple) and not isinstance(value, bool)


def _describe(value: Any) -> str:
    if isinstance(value, Namespace):
        return value.path
    if isinstance(value, Operation | Builtin):
        return value.name
    return f"a value of type {type(value).__name__!r}"


_HANDLERS: Final[dict[type[ast.AST], Callable[[Interpreter, Any, Scope], Any]]] = {
    ast.Constant: Interpreter._constant,
    ast.Name: Interpreter._name,
    ast.Attribute: Interpreter._attribute,
    ast.Call: Interpreter._call,
    ast.BinOp: Interpreter._binary,
    ast.UnaryOp: Interpreter._unary,
    ast.Compare: Interpreter._compare,
    ast.BoolOp: Interpreter._bool_op,
    ast.IfExp: Interpreter._conditional,
    ast.Subscript: Interpreter._subscript,
    ast.Slice: Interpreter._slice,
    ast.List: Interpreter._list,
    ast.Tuple: Interpreter._tuple,
    ast.Dict: Interpreter._dict,
    ast.JoinedStr: Interpreter._joined,
    ast.FormattedValue: Interpreter._formatted,
    ast.ListComp: Interpreter._comprehension,
    ast.GeneratorExp: Interpreter._generator,
    ast.DictComp: Interpreter._dict_comprehension,
    ast.NamedExpr: Interpreter._walrus,
    ast.Lambda: Interpreter._lambda,
}

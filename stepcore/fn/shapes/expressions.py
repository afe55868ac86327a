"""What is known of an expression: its shape, or its value where that is a size, a list or a function."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn import allow
from stepcore.fn.decl import FnScope
from stepcore.fn.nodes import slice_of
from stepcore.fn.prelude import constant_bindings
from stepcore.fn.shapes.builtins import builtin
from stepcore.fn.shapes.index import index_shape
from stepcore.fn.shapes.losses import FUNCTIONAL, LOSSES, losses
from stepcore.fn.shapes.modules import called, made
from stepcore.fn.shapes.names import MODULES, constant_value, member, prelude_values
from stepcore.fn.shapes.operands import choice, condition, nothing, operands
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.ranks import LINALG, matrices
from stepcore.fn.shapes.signatures import METHODS, NUMPY, chosen, fitting, typed
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Callee,
    Comparer,
    Components,
    GlobalFunction,
    LikeItems,
    ListForTensor,
    NotOfTensors,
    Number,
    NumberLimits,
    Pair,
    ShapeList,
    ShapeMismatch,
    Size,
    Sizes,
    TorchModule,
    integer,
    length_of,
    row_of,
    shape_text,
)
from stepcore.fn.shapes.windows import COLUMNS
from stepcore.fn.source import dotted
from stepcore.fn.walk.finding import BodyFinding
from stepcore.sizes.dim import DEFAULT_SIZES, Dim, DimError

_UNKNOWN_WEIGHT: Final = AbstractTensor(None, "fp32", weight=True)
_MAX_ITEMS: Final = 4096  # of a list whose items are followed
_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "pow", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.USub: "neg", ast.UAdd: "positive", ast.Invert: "bitwise_not",
}  # fmt: skip
_WHOLE: Final = frozenset({"add", "sub", "mul", "floor_divide", "remainder"})
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


class Expressions:
    """Abstract interpretation of expressions in the scope of one function.

    ``findings`` are the operands that do not fit; ``complete`` is False once something was met whose work is not known.
    """

    def __init__(
        self, scope: FnScope, parameters: Mapping[str, Sizes] | None, shapes: Callable[[Comparer], Shapes] = Shapes
    ) -> None:
        self.scope = scope
        self.findings: list[BodyFinding] = []
        self.complete = True
        self.loose: frozenset[str] = frozenset()  # names that ``:=`` binds, somewhere
        self.certain_only = False  # arms that no size decides, and loops that may not go round, have no findings
        self.in_one_arm = False  # what one arm of a condition binds is followed: further conditions may go with it
        sizes = dict(scope.sizes) or DEFAULT_SIZES
        bindings = {**sizes, **constant_bindings(scope.prelude, sizes)}
        self.compare = Comparer(bindings)
        self.shapes = shapes(self.compare)
        self.modules = dict(scope.modules)
        self.weights: dict[str, Any] = {
            name: AbstractTensor(shape, dtype, weight=True) for name, shape, dtype in scope.weights
        }
        for name, sizes_ in (parameters or {}).items():
            self.weights[name] = AbstractTensor(sizes_, "fp32", weight=True)
        names = {f"{name}_value": Dim.symbol(name) for name in (*allow.PREDECLARED_SYMBOLS, *scope.symbols, *bindings)}
        self.names: dict[str, Any] = dict(names)
        self.names |= prelude_values(scope.prelude, self.names, self.modules)
        for name, value in self.names.items():
            if isinstance(value, ast.Call):
                self.names[name] = self.eval(value, self.names)
        self.findings, self.complete = [], True  # what is wrong there is no affair of this body
        if scope.bare_parameters:
            self.names |= {name: self.parameter(name) for name in scope.parameters}

    def parameter(self, name: str) -> Any:
        """Return what ``input_data`` has by a name: a weight of the task."""
        return self.weights.get(name, _UNKNOWN_WEIGHT)

    def eval(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        """Return what is known of an expression; operands that do not fit are reported once."""
        before = len(self.findings)
        budget.spend(1)
        try:
            return self._eval(node, scope)
        except ShapeMismatch as mismatch:
            if len(self.findings) == before:
                self.findings.append(misfit(node, mismatch))
            return None
        except DimError:
            return None

    def _eval(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return constant_value(value)
            case ast.Name(id=name):
                return None if name in self.loose else scope.get(name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, left, right, scope)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.eval(operand, scope))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.eval(left, scope), *(self.eval(other, scope) for other in others)]
                is_python = len(ops) == 1 and isinstance(ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot)
                return Number("bool") if is_python else self._compare(values)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                values = [self.eval(p.value if isinstance(p, ast.Starred) else p, scope) for p in parts]
                return None if any(isinstance(part, ast.Starred) for part in parts) else values
            case ast.Subscript(value=base, slice=index):
                return self._subscript(base, index, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.IfExp() | ast.ListComp() | ast.GeneratorExp() if self.in_one_arm:
                return None
            case ast.IfExp():
                return self._choice(node, scope)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, scope)
        self.complete = False
        return None

    def _choice(self, node: ast.IfExp, scope: dict[str, Any]) -> Any:
        condition(self.compare, self.eval(node.test, scope))
        decided = self.decided(node.test, scope)
        if self.certain_only and decided is not None:
            return self.eval(node.body if decided else node.orelse, scope)
        yes, no = self.arms([lambda: self.eval(node.body, scope), lambda: self.eval(node.orelse, scope)])
        return yes if same(yes, no) else choice(yes, no) if decided is None else None

    def decided(self, test: ast.expr, scope: dict[str, Any]) -> bool | None:
        """Return what a comparison of sizes gives where these are bound, None for all other conditions."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.decided(operand, scope)
                return None if inner is None else not inner
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                sides = [self.eval(side, scope) for side in (left, right)]
                numbers = [self.compare.bound(side) if isinstance(side, Dim) else None for side in sides]
                return None if None in numbers else bool(_COMPARISONS[type(op)](*numbers))
        return None

    def arms(self, runs: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run the arms of a branch and return their results; what they cost counts as :meth:`Shapes.either` says."""
        before, costs, results = self.shapes.flops, [], []
        found = list(self.findings)
        for run in runs:
            self.shapes.flops = Dim.of(0)
            results.append(run())
            costs.append(self.shapes.flops)
        self.shapes.flops = self.shapes.either(before, costs)
        if self.certain_only:
            self.findings[:] = found
        return results

    def _operation(self, op: ast.operator, left: ast.expr, right: ast.expr, scope: dict[str, Any]) -> Any:
        values = [self.eval(side, scope) for side in (left, right)]
        if any(isinstance(side, ast.Constant) and side.value is None for side in (left, right)):
            raise ShapeMismatch("None is nothing to compute with")
        return self.operate(op, *values)

    def operate(self, op: ast.operator, left: Any, right: Any) -> Any:
        """Return ``left op right``. Raises ShapeMismatch where they do not fit, DimError for a division by zero."""
        if isinstance(op, ast.MatMult):
            return self.shapes.matmul(left, right)
        name = _OPERATORS.get(type(op))
        self._lists(name, left, right)
        if isinstance(left, AbstractTensor) or isinstance(right, AbstractTensor):
            operands(left, right)
            return None if name is None else self.shapes.pointwise(name, (left, right))
        if isinstance(left, Dim) and isinstance(right, Dim):
            return _integers(name, left, right)
        if isinstance(left, list) and isinstance(right, list) and name == "add":
            if len(left) + len(right) > _MAX_ITEMS:
                return None
            budget.spend(len(left) + len(right))
            return [*left, *right]
        if name == "mul" and isinstance(left, list) and isinstance(right, Dim):
            return _repeated(left, right)
        if isinstance(left, Dim | Number) and isinstance(right, Dim | Number):
            return _numbers(name, left, right)
        return None

    def _lists(self, name: str | None, left: Any, right: Any) -> None:
        """Raise ListForTensor where an argument meets what no list adds or repeats: a tensor, or a fraction."""
        alien = (AbstractTensor, Number) if name == "mul" else (AbstractTensor, Number, Dim)
        for value, other in ((left, right), (right, left)):
            if isinstance(value, Components) and isinstance(other, alien):
                raise ListForTensor(value)

    def _unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(op, ast.Not):
            return Number("bool")
        if isinstance(value, Dim):
            return -value - 1 if isinstance(op, ast.Invert) else -value if isinstance(op, ast.USub) else value
        if isinstance(value, AbstractTensor):
            return self.shapes.pointwise(_OPERATORS[type(op)], (value,))
        if isinstance(value, Number) and value.kind == "bool":
            return Number("int")
        return value if isinstance(value, Number) else None

    def _compare(self, values: list[Any]) -> Any:
        if len(values) == 2 and any(isinstance(value, AbstractTensor) for value in values):
            return self.shapes.pointwise("lt", values)
        return None

    def _subscript(self, base: ast.expr, index: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(base, ast.Name) and base.id == "input_data" and isinstance(index, ast.Constant):
            return self.parameter(str(index.value))
        value = self.eval(base, scope)
        if isinstance(value, LikeItems):
            return self._item(value, index, scope, is_new=isinstance(base, ast.Call | ast.ListComp))
        if isinstance(value, ShapeList) and isinstance(index, ast.Slice):
            return self._sizes_of(value, index, scope)
        if isinstance(value, list | tuple):
            place = self.eval(index, scope)
            number = place.constant if isinstance(place, Dim) else None
            if isinstance(value, ShapeList) and number is not None and not -len(value) <= number < len(value):
                raise ShapeMismatch(f"there is no dimension {number} in {shape_text(tuple(value))}")
            # A list that has a name, or stands in another, may have grown by another of its names.
            is_new = type(value) is list and isinstance(base, ast.Call)
            if is_new and number is not None and not -len(value) <= number < len(value):
                raise ShapeMismatch(f"there is no item {number} in a list of {len(value)}")
            return value[number] if number is not None and -len(value) <= number < len(value) else None
        if isinstance(value, Pair):
            place = self.eval(index, scope)
            if isinstance(place, Dim) and place.constant is not None and not -2 <= place.constant < 2:
                raise ShapeMismatch(f"there are two tensors, and no item {place}")
            return value.values if place == 0 else value.indices if place == 1 else None
        if isinstance(value, AbstractTensor):
            return index_shape(self, value, index, scope)
        return None

    def _sizes_of(self, sizes: ShapeList, part: ast.Slice, scope: dict[str, Any]) -> ShapeList | None:
        """Return a slice of a shape, None where its edges are not known."""
        found = slice_of(part, lambda edge: integer(self.eval(edge, scope)))
        return None if found is None else ShapeList(sizes[found])

    def _item(self, items: LikeItems, index: ast.expr, scope: dict[str, Any], *, is_new: bool) -> Any:
        """Return an item of a list of like values; one that has a name may have got others by another of its names."""
        if isinstance(index, ast.Slice):
            return LikeItems(items.item, None) if is_new else None
        if not is_new and self.lists_change():
            return None
        place = self.eval(index, scope)
        number = self.compare.bound(place) if isinstance(place, Dim) else None
        count = None if items.count is None else self.compare.bound(items.count)
        if number is None or count is None:
            return items.item if is_new else None
        if -count <= number < count:
            return items.item
        if is_new:
            raise ShapeMismatch(f"there is no item {place} in a list of {items.count}")
        return None

    def _attribute(self, node: ast.Attribute, scope: dict[str, Any]) -> Any:
        path = dotted(node)
        if path is not None and path[0] in self.modules and path[0] not in scope:
            return member(self.modules[path[0]], path[1:])
        value = self.eval(node.value, scope)
        name = node.attr
        if isinstance(value, Pair):
            return {"values": value.values, "indices": value.indices}.get(name)
        if isinstance(value, NumberLimits) and name in allow.LIMITS:
            return Number("int" if name == "bits" else value.kind)
        if not isinstance(value, AbstractTensor):
            return None
        if name in ("T", "mT"):
            if value.shape is None or (name == "mT" and len(value.shape) < 2):
                return AbstractTensor(None, value.dtype)
            shape = (
                tuple(reversed(value.shape)) if name == "T" else (*value.shape[:-2], value.shape[-1], value.shape[-2])
            )
            return AbstractTensor(shape, value.dtype)
        if name in allow.RESULT_FIELDS - allow.TENSOR_METHODS:
            text = f"a tensor has no .{name}: only what some functions return has it, and this gives one tensor"
            self.findings.append(BodyFinding("STEP304", node, f"{text}; leave it out"))
            return None
        if name == "shape":
            return None if value.shape is None else ShapeList(value.shape)
        if name == "dtype":
            return value.dtype
        if name == "ndim":
            return None if value.shape is None else Dim.of(len(value.shape))
        return Callee(name, value, bound=True, space=METHODS) if name in allow.TENSOR_METHODS else None

    def _call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        function = self._callee(node.func, scope)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            self.complete = False
            return None
        if isinstance(function, str) or (isinstance(function, Callee) and not function.bound):
            nothing(function if isinstance(function, str) else function.name, node)
        if isinstance(function, GlobalFunction) and any(keyword.arg is None for keyword in node.keywords):
            function = None
        args = [self.eval(argument, scope) for argument in node.args]
        kwargs = {k.arg: self.eval(k.value, scope) for k in node.keywords if k.arg is not None}
        if isinstance(function, GlobalFunction):
            self.complete = False
            return self.helped(function, args, kwargs)
        if isinstance(function, TorchModule):
            return self._forward(function, called(function, args, kwargs))
        if not isinstance(function, Callee):
            value = builtin(self.shapes, function, args, kwargs) if isinstance(function, str) else None
            self.complete = self.complete and value is not None  # those of which the value is known have a known cost
            return value
        if function.bound:
            args.insert(0, function.receiver)
        is_all = not node.keywords or all(keyword.arg is not None for keyword in node.keywords)
        if function.space and is_all:
            fitting(function.space, function.name, args, kwargs)
        if function.space == MODULES:
            return made(function.name, args, kwargs)
        kwargs = {NUMPY.get(word, word): value for word, value in kwargs.items()}
        value = self._applied(function, args, kwargs, is_all=is_all)
        if function.space and is_all:
            typed(self.compare, function.space, function.name, args, kwargs)
        return value

    def _applied(self, function: Callee, args: list[Any], kwargs: dict[str, Any], *, is_all: bool) -> Any:
        """Return what a function of torch gives; ``is_all`` where these are all of its arguments."""
        if function.space == LINALG:
            if is_all:
                matrices(self.compare, function.name, args, kwargs)
            self.complete = False  # what it gives, and what that costs, is not followed
            return None
        if function.name in LOSSES and is_all:
            losses(self.compare, function.space, function.name, args, kwargs)
        if function.name == "where":
            return self.shapes.apply("where", *chosen(args, kwargs, function.bound))
        name = COLUMNS if (function.space, function.name) == (FUNCTIONAL, "unfold") else function.name
        return self.shapes.apply(name, args, kwargs)

    def _forward(self, module: TorchModule, names: dict[str, Any]) -> Any:
        """Return what a module of ``torch.nn`` gives.

        Raises:
            ShapeMismatch: it takes no such tensors.
        """
        kept, self.findings = self.findings, []
        modules, self.modules = self.modules, {"torch": "torch"}
        try:
            value, failed = self.eval(module.forward.body, names), self.findings
        finally:
            self.findings, self.modules = kept, modules
        if failed:
            raise ShapeMismatch(f"in {module.name}: {failed[0].message}")
        return value

    def _callee(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(node, ast.Name) and node.id not in scope and node.id in allow.BUILTINS:
            return node.id
        return self.eval(node, scope)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: dict[str, Any]) -> Any:
        inner = dict(scope)
        count: Size = None
        before = list(self.findings)
        for generator in node.generators:
            over = self.eval(generator.iter, inner)
            if generator is node.generators[0]:
                before = list(self.findings)  # its first list is made once, whatever follows
                count = length_of(over)
            self.bind_each(generator.target, row_of(over), inner)
            for test in generator.ifs:
                self.eval(test, inner)
        self.complete = False
        item = self.eval(node.elt, inner)
        is_plain = len(node.generators) == 1 and not node.generators[0].ifs
        rounds = None if count is None else self.compare.bound(count)
        if not is_plain or rounds == 0 or (rounds is None and self.certain_only):
            self.findings[:] = before
        return LikeItems(item, count) if is_plain else LikeItems(item, None)

    def bind_each(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        """Bind what a loop goes over to its names."""
        if isinstance(target, ast.Name):
            scope[target.id] = value
            return
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                scope[node.id] = None
        if isinstance(target, ast.Tuple | ast.List) and type(value) is list and len(value) == len(target.elts):
            for part, item in zip(target.elts, value, strict=True):
                if isinstance(part, ast.Name):
                    scope[part.id] = item

    def lists_change(self) -> bool:
        """Return whether something may change a list in the body, by whatever name."""
        return True

    def helped(self, helper: GlobalFunction, args: list[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what a function of ``global`` gives; nothing is known where no statements are followed."""
        return None


def _repeated(items: list[Any], count: Dim) -> list[Any] | None:
    number = count.constant
    if number is None or len(items) * number > _MAX_ITEMS:
        return None
    budget.spend(len(items) * max(number, 0))
    return [*items] * number


def misfit(node: ast.AST, mismatch: ShapeMismatch) -> BodyFinding:
    """Return the finding for operands that do not fit, at the argument where it stands for a tensor."""
    if isinstance(mismatch, NotOfTensors):
        return BodyFinding("STEP304", node, mismatch.message)
    if not isinstance(mismatch, ListForTensor):
        return BodyFinding("STEP306", node, mismatch.message)
    places = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == mismatch.name]
    first = min(places, key=lambda part: (part.lineno, part.col_offset), default=node)
    return BodyFinding("STEP308", first, mismatch.message)


def _integers(name: str | None, left: Dim, right: Dim) -> Any:
    match name:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "floor_divide":
            return left // right
        case "div":
            return Number()
    if name == "pow":  # a fraction where the exponent is negative
        return Number("int" if (right.constant or 0) > 0 else "number")
    return Number("int")


def _numbers(name: str | None, left: Dim | Number, right: Dim | Number) -> Number:
    """Return what arithmetic makes of numbers of which one is not known: whole ones stay whole but for / and **."""
    kinds = {"int" if isinstance(side, Dim) else side.kind for side in (left, right)}
    if "any" in kinds:
        return Number("any")
    if "float" in kinds or name == "div":
        return Number()
    return Number("int" if name in _WHOLE and kinds <= {"int", "bool"} else "number")


def same(left: Any, right: Any) -> bool:
    """Return whether two paths give the same."""
    budget.spend(1)
    if left is right:
        return True
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)

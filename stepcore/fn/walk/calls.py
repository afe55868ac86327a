"""Calls, attributes and subscripts in bodies: members of modules and tensors, changes in place, components."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from stepcore.fn import allow
from stepcore.fn.members import DRAWN, OTHERWISE, member_problem, no_component, unknown_attribute
from stepcore.fn.ownership.held import GIVEN, constant_index
from stepcore.fn.placement import misplaced
from stepcore.fn.python_calls import wrong_node
from stepcore.fn.source import BodySyntaxError, dotted, statements
from stepcore.fn.terms import breach, literal, seen
from stepcore.fn.walk.finding import BodyKind
from stepcore.fn.walk.values import ValueWalk, is_text
from stepcore.sizes.dim import is_name

_VALUE_NAMES: Final = (
    allow.TENSOR_METHODS
    | allow.TENSOR_ATTRIBUTES
    | allow.RESULT_FIELDS
    | allow.MODULE_ATTRIBUTES
    | allow.CONTAINER_METHODS
    | allow.DTYPE_ATTRIBUTES
    | allow.LIMITS
)
# What takes all items of an argument at once.
CONSUMERS: Final = frozenset(
    (name,) for name in allow.names("all any dict enumerate list max min sorted sum tuple zip")
)
# Those that do so before anything else happens.
AT_ONCE: Final = CONSUMERS - {("zip",), ("enumerate",)}
_TENSOR_SORT: Final = allow.names("dim descending stable")


class CallWalk(ValueWalk):
    """Takes what is called, and what is looked up in something."""

    @property
    def _may_draw(self) -> bool:
        """Whether random numbers may be drawn: in ``global``, and not in a module, which draws others when it runs."""
        return self.kind is BodyKind.PRELUDE and not self.scope.bare_parameters

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith("_"):
            self.report("STEP302", node, f"the attribute {node.attr!r} is private and forbidden{OTHERWISE}")
            return
        path = dotted(node)
        module = self._module_of(path)
        if path is not None and module is not None:
            problem = member_problem(module, path, random=self._may_draw)
            if problem is not None:
                self.report("STEP304", node, problem)
            else:
                self._is_module(node)
            return
        if self._is_class(node.value):
            text = f"{ast.unparse(node)} is not part of the function language; call the method of the value itself"
            self.report("STEP304", node, text)
            return
        before = len(self.findings)
        self.expression(node.value)
        if len(self.findings) != before:
            return
        if is_text(node.value):
            self.report(
                "STEP304", node, f".{node.attr} of a text is not part of the function language; write an f-string"
            )
        elif node.attr not in _VALUE_NAMES:
            reason = allow.why_not("torch.Tensor", node.attr)
            self.report("STEP304", node, reason or unknown_attribute(node.attr, _VALUE_NAMES))
        elif node.attr not in allow.CONTAINER_METHODS:
            self._whole(node.value)

    def _method_taken(self, node: ast.Attribute) -> None:
        """Take an attribute that is not called at once: a method kept by a name may change what it is of later."""
        before = len(self.findings)
        self._attribute(node)
        is_change = allow.is_inplace(node.attr) or node.attr in allow.CONTAINER_CHANGES - {"sort"}
        if not is_change or self._module_of(dotted(node)) is not None or len(self.findings) != before:
            return
        if self.own.change(node.value):
            self.report("STEP310", node, self.own.complaint(node.value))
        elif node.attr in allow.CONTAINER_CHANGES:  # nobody follows what it puts there
            self.own.take_items(node.value, GIVEN)

    def _is_class(self, node: ast.expr) -> bool:
        """Return whether an expression is a function or class of Python, as in ``list.append(xs, 1)``."""
        return isinstance(node, ast.Name) and node.id in allow.BUILTINS and node.id not in self.names

    def _call(self, node: ast.Call) -> None:
        function = node.func
        before = len(self.findings)
        if isinstance(function, ast.Attribute):
            self._attribute(function)
            if len(self.findings) == before and self._module_of(dotted(function)) is None:
                self._method(node, function)
        else:
            self.expression(function)
            if isinstance(function, ast.Name):
                self._named_call(node, function.id)
        if len(self.findings) == before and self._changes(node):
            return
        if len(self.findings) == before and (self._too_large(node) or self._breaks_terms(node)):
            return
        elsewhere = misplaced(node)
        if elsewhere is not None and len(self.findings) == before:
            self.report("STEP304", *elsewhere)
            return
        path = dotted(function)
        walk = self._used_up if path in AT_ONCE and path[0] not in self.names else self.expression
        told, self._told = self._told, self._told or len(self.findings) > before
        for argument in node.args:
            walk(argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.report("STEP302", keyword, "** is forbidden in the function language")
            elif keyword.arg == "out":
                self.report("STEP304", keyword, "out= writes into another tensor; use the returned value")
            else:
                self.expression(keyword.value)
        self._told = told

    def _changes(self, node: ast.Call) -> bool:
        """Report a call that changes what it must not by helpers and functions that came into its hands."""
        effects = self.own.effects(node)
        if effects.changes:
            self.report("STEP310", node, self.own.complaint(node.func))
            return True
        for function, call in effects.of_torch:
            found = breach(f"{function.space}.{function.name}", *seen(call, literal), random=self._may_draw)
            if found is not None:
                self.report(found[0], node, found[1])
                return True
        return False

    def _breaks_terms(self, node: ast.Call) -> bool:
        """Report a call that may change its arguments, or draw where functions are pure, by what its literals say."""
        path = dotted(self.own.function(node.func))
        module = self._module_of(path)
        if path is None or module is None:
            return False
        full = ".".join((module, *path[1:]))
        if full.startswith("torch.ops.aten."):
            full = full.rpartition(".")[0]
        found = breach(full, *seen(node, literal), random=self._may_draw)
        if found is not None:
            self.report(found[0], node, found[1])
        return found is not None

    def _named_call(self, node: ast.Call, name: str) -> None:
        if name == "Symbol":
            self._symbol(node)
        elif name not in self.names and (wrong := wrong_node(node, name)):
            self.report("STEP304", node, wrong)

    def _symbol(self, node: ast.Call) -> None:
        match node:
            case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]) if is_name(name) and name[0] != "_":
                return
        self.report("STEP217", node, 'a size is made from its name, an identifier: write Symbol("H")')

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        name, base = function.attr, function.value
        if name in allow.RANDOM_METHODS and not self._may_draw:
            self.report("STEP304", function, f"{name} draws random numbers: functions are pure; {DRAWN}")
        elif self._may_not(node, name, base):
            self.report("STEP310", node, self.own.complaint(base))
        elif name == "append" and len(node.args) == 1:
            self.own.lengthen(base, self.own.held(node.args[0]), once=self._runs_once)
        elif name == "extend":
            for argument in node.args:
                held = self.own.held(argument)
                self.own.extend(base, held, self.own.heap.at(held), once=self._runs_once)
        elif name == "insert":
            for argument in node.args:
                self.own.take_items(base, self.own.held(argument))
        elif name in allow.CONTAINER_CHANGES:
            self.own.scatter(base)

    def _may_not(self, node: ast.Call, name: str, base: ast.expr) -> bool:
        """Whether a method changes what it is called at, and must not; ``sort`` changes a list, and no tensor."""
        if name == "sort":
            # A list takes none of these.
            is_tensor = node.args or any(keyword.arg in _TENSOR_SORT for keyword in node.keywords)
            is_change, note = not is_tensor, self.own.sort
        else:
            is_change, note = allow.is_inplace(name) or name in allow.CONTAINER_CHANGES, self.own.change
        return is_change and (note(base) or dotted(base) == ("ctx",))

    def _subscript(self, node: ast.Subscript) -> None:
        base, index = node.value, node.slice
        self.expression(base)
        self.expression(index)
        if not self._arms and isinstance(node.ctx, ast.Load):
            self._in_range(node)
        if not isinstance(base, ast.Name):
            return
        if base.id in self.own.arguments:
            self._component(node, base.id, index)
        elif base.id == "input_data" and isinstance(index, ast.Constant):
            self._entry(node, index)

    def _in_range(self, node: ast.Subscript) -> None:
        hidden = self._bulk.hide(self.own.arguments)
        outside = self._bulk.outside(node)
        self._bulk.unhide(hidden)
        if outside and not self._changes_lists():
            self.report("STEP308", node, outside)

    def _changes_lists(self) -> bool:
        """Whether anything in the block so far, or in ``global``, makes a list longer or shorter, by whatever name."""
        if not self._lengthens:  # else whatever comes is no news; what was looked at is not looked at again
            before = () if self._looked_at else self._shared()
            self._lengthens = _any_lengthens((*before, *self._body[self._looked_at :]))
            self._looked_at = len(self._body)
        return self._lengthens

    def _shared(self) -> tuple[ast.stmt, ...]:
        try:
            return () if self.scope.prelude is None else statements(self.scope.prelude)
        except BodySyntaxError:
            return ()

    def _component(self, node: ast.Subscript, name: str, index: ast.expr) -> None:
        value = constant_index(index)
        count = self.own.arguments[name]
        if value is not None and not -count <= value < count:
            self.report("STEP308", node, no_component(name, count, value))

    def _entry(self, node: ast.Subscript, index: ast.Constant) -> None:
        known = set(self.scope.parameters)
        if self.kind is BodyKind.REFERENCE:
            known |= set(self.scope.tensors)
        name = index.value
        if not isinstance(name, str) or name in known:
            return
        if name in self.scope.tensors and self.kind is BodyKind.FUNCTION:
            text = f"{name!r} is an input stream; functions get its elements as arguments and read parameters only"
        else:
            listed = f"; known: {', '.join(sorted(known))}" if known else "; this task declares none"
            text = f"there is no parameter {name!r}{allow.suggestion(name, known) or listed}"
        self.report("STEP303", node.slice, text)


def _any_lengthens(statements: Sequence[ast.stmt]) -> bool:
    return any(_may_change_length(node) for statement in statements for node in ast.walk(statement))


def _may_change_length(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.Subscript(slice=ast.Slice(), ctx=ast.Store()):
            return True
        case ast.Attribute(attr=name):
            return name in allow.CONTAINER_CHANGES
    return False

"""One walk over a body: forbidden constructs, unknown names, calls outside the allow-list, changes in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from stepcore.fn import allow
from stepcore.fn.decl import FnScope
from stepcore.fn.source import dotted


class BodyKind(Enum):
    """What a block is; it decides what may stand in it."""

    FUNCTION = "function"
    PRELUDE = "prelude"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding at a node; the checker turns the node into a span of the file."""

    code: str
    node: ast.AST
    message: str


_FORBIDDEN: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.ImportFrom: ("import", "; torch and math are in scope"),
    ast.ClassDef: ("class", ""),
    ast.Global: ("global", ""),
    ast.Nonlocal: ("nonlocal", ""),
    ast.With: ("with", ""),
    ast.Try: ("try", ""),
    ast.While: ("while", "; write a for loop over a range"),
    ast.Delete: ("del", ""),
    ast.Raise: ("raise", ""),
    ast.Assert: ("assert", ""),
    ast.AsyncFunctionDef: ("async", ""),
    ast.AsyncFor: ("async", ""),
    ast.AsyncWith: ("async", ""),
    ast.Match: ("match", "; write if and else"),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", ""),
    ast.YieldFrom: ("yield", ""),
    ast.Set: ("a set", "; write a list"),
    ast.SetComp: ("a set", "; write a list"),
}
_VALUE_NAMES: Final = (
    allow.TENSOR_METHODS
    | allow.TENSOR_ATTRIBUTES
    | allow.RESULT_FIELDS
    | allow.MODULE_ATTRIBUTES
    | allow.CONTAINER_METHODS
    | allow.DTYPE_ATTRIBUTES
)
# Methods that certainly return a view of their tensor.
_VIEW_METHODS: Final = frozenset(
    "view unsqueeze squeeze transpose permute narrow select t detach expand diagonal swapaxes movedim".split()
)
_VIEW_ATTRIBUTES: Final = frozenset("T mT H mH".split())


class Walker:
    """Collects findings of one block. ``names`` are all names that it may read, its own included."""

    def __init__(self, kind: BodyKind, scope: FnScope, names: set[str]) -> None:
        self.kind = kind
        self.scope = scope
        self.names = names
        self.findings: list[Finding] = []
        self.arguments: dict[str, int] = {}  # name -> number of components
        self._modules = dict(scope.modules)
        self._aliases: set[str] = set()  # names that certainly view an input, the state or a weight
        self._rebound: set[str] = set()

    def report(self, code: str, node: ast.AST, message: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(code, node, message))

    # Statements -------------------------------------------------------------------------------------------------

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Walk over statements in order."""
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self.expression(value)
                for target in targets:
                    self._target(target, value)
            case ast.AugAssign(target=target, value=value):
                self.expression(value)
                self._augmented(node, target)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.expression(value)
                    self._target(target, value)
            case ast.Return(value=value):
                if self.kind is BodyKind.PRELUDE:
                    self.report("STEP302", node, "return is forbidden outside of a function")
                elif value is not None:
                    self.expression(value)
            case ast.Expr(value=value):
                self.expression(value)
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test)
                self._branches(body, orelse)
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                self.expression(iterated)
                self._target(target, None)
                self._branches([*body], orelse)
            case ast.FunctionDef():
                self._helper(node)
            case ast.Import(names=names):
                self._import(node, names)
            case ast.Pass() | ast.Break() | ast.Continue():
                pass
            case _:
                self._forbidden(node)

    def _branches(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        before = set(self._aliases)
        self.statements(body)
        after_body = self._aliases
        self._aliases = set(before)
        self.statements(orelse)
        self._aliases &= after_body  # only what holds on both paths is certain

    def _import(self, node: ast.Import, names: Sequence[ast.alias]) -> None:
        for alias in names:
            # Importing what is in scope anyway changes nothing.
            if self._modules.get(alias.asname or alias.name) != alias.name:
                self.report("STEP302", node, f"import of {alias.name} is forbidden; torch and math are in scope")
                return

    def _forbidden(self, node: ast.AST) -> None:
        word, hint = _FORBIDDEN.get(type(node), (type(node).__name__, ""))
        self.report("STEP302", node, f"{word} is forbidden in the function language{hint}")

    def _helper(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.report("STEP302", node.decorator_list[0], "decorators are forbidden in the function language")
            return
        self._scoped(node.args, lambda: self._helper_body(node))

    def _helper_body(self, node: ast.FunctionDef) -> None:
        from stepcore.fn.prelude import assigned_names

        kind, aliases = self.kind, self._aliases
        self._aliases = set()
        self.names = self.names | assigned_names(node.body)
        if kind is BodyKind.PRELUDE:
            self.kind = BodyKind.FUNCTION  # it may return, and must be pure
        self.statements(node.body)
        self.kind, self._aliases = kind, aliases

    def _scoped(self, arguments: ast.arguments, walk: Callable[[], None]) -> None:
        """Walk with the arguments of a lambda or helper in scope."""
        for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
            self.expression(default)
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            place = arguments.vararg or arguments.kwarg or arguments.kwonlyargs[0]
            self.report("STEP302", place, "helper functions take plain arguments only")
        before, counts = self.names, self.arguments
        own = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        own |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
        self.names = before | own
        self.arguments = {name: count for name, count in counts.items() if name not in own}
        walk()
        self.names, self.arguments = before, counts

    # Targets ----------------------------------------------------------------------------------------------------

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self._check_private(target, name)
                self._aliases.discard(name)
                if value is not None and self._is_protected(value):
                    self._aliases.add(name)
                self._rebind(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpacking(target, parts, value)
            case ast.Starred(value=inner):
                self._target(inner, None)
            case ast.Subscript(value=base, slice=index):
                self.expression(index)
                if self._is_context(base) and self.kind is BodyKind.PRELUDE:
                    return
                self.expression(base)
                if self._is_protected(base) or self._is_container(base):
                    self.report("STEP310", target, self._change_text(base))
            case ast.Attribute(attr=name):
                self.report("STEP302", target, f"assigning the attribute {name!r} is forbidden")
            case _:
                self._forbidden(target)

    def _rebind(self, name: str) -> None:
        if name in self.arguments:
            self.arguments = {key: count for key, count in self.arguments.items() if key != name}

    @staticmethod
    def _is_context(base: ast.expr) -> bool:
        return isinstance(base, ast.Name) and base.id == "ctx"

    def _unpacking(self, target: ast.expr, parts: list[ast.expr], value: ast.expr | None) -> None:
        starred = any(isinstance(part, ast.Starred) for part in parts)
        if isinstance(value, ast.Name) and value.id in self.arguments:
            count = self.arguments[value.id]
            if (len(parts) - 1 > count) if starred else (len(parts) != count):
                names = "1 name" if len(parts) == 1 else f"{len(parts)} names"
                self.report("STEP308", target, f"{value.id} has {_components(count)}; {names} cannot take them")
            for part in parts:
                self._target(part, None)
                if isinstance(part, ast.Name):
                    self._aliases.add(part.id)
            return
        values: Sequence[ast.expr | None] = [None] * len(parts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) and not starred:
            values = value.elts
        protected = [item is not None and self._is_protected(item) for item in values]
        for part, is_protected in zip(parts, protected, strict=True):
            self._target(part, None)
            if is_protected and isinstance(part, ast.Name):
                self._aliases.add(part.id)

    def _augmented(self, node: ast.AugAssign, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.expression(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            if target.id in self._aliases or target.id in self.arguments:
                self.report("STEP310", node, self._change_text(target))
                self._aliases.discard(target.id)
            return
        if isinstance(target, ast.Subscript):
            self.expression(target.slice)
            self.expression(target.value)
            if self._is_protected(target.value) or self._is_container(target.value):
                self.report("STEP310", node, self._change_text(target.value))
            return
        self._forbidden(target)

    def _is_container(self, base: ast.expr) -> bool:
        """Return whether ``base`` is the list ``input`` or ``state``, or ``input_data``/``ctx`` in a function."""
        if not isinstance(base, ast.Name):
            return False
        if base.id in self.arguments:
            return True
        return base.id in ("input_data", "ctx") and self.kind is not BodyKind.PRELUDE

    def _change_text(self, base: ast.expr) -> str:
        root = base
        while isinstance(root, ast.Subscript | ast.Attribute | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = root.id if isinstance(root, ast.Name) else "this tensor"
        if name in self._aliases:
            return f"{name} is a view of an input, the state or a weight and must not change in place; use clone()"
        return f"{name} must not change in place: functions are pure; compute a new tensor"

    def _is_protected(self, node: ast.expr) -> bool:
        """Return whether an expression is certainly an input, the state or a weight, or a view of one."""
        match node:
            case ast.Name(id=name):
                return name in self._aliases or (self.scope.bare_parameters and name in self.scope.parameters)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if name in self.arguments:
                    return isinstance(index, ast.Constant | ast.UnaryOp)
                if name == "input_data":
                    return True
                return name in self._aliases and _is_view_index(index)
            case ast.Subscript(value=base, slice=index):
                return _is_view_index(index) and self._is_protected(base)
            case ast.Attribute(value=base, attr=name):
                return name in _VIEW_ATTRIBUTES and self._is_protected(base)
            case ast.Call(func=ast.Attribute(value=base, attr=name)):
                return name in _VIEW_METHODS and self._is_protected(base)
        return False

    # Expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        """Walk over an expression."""
        match node:
            case ast.Constant():
                pass
            case ast.Name(id=name):
                self._name(node, name)
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self._call(node)
            case ast.Subscript():
                self._subscript(node)
            case ast.ListComp(elt=elt, generators=generators) | ast.GeneratorExp(elt=elt, generators=generators):
                self._comprehension([elt], generators)
            case ast.DictComp(key=key, value=value, generators=generators):
                self._comprehension([key, value], generators)
            case ast.Lambda(args=arguments, body=body):
                self._scoped(arguments, lambda: self.expression(body))
            case ast.FormattedValue(value=value, format_spec=spec):
                self.expression(value)
                if spec is not None and not _is_plain_format(spec):
                    self.report("STEP302", spec, "this format is forbidden: plain widths and precisions only")
            case ast.NamedExpr(target=target, value=value):
                self.expression(value)
                self._target(target, value)
            case ast.Set() | ast.SetComp() | ast.Await() | ast.Yield() | ast.YieldFrom():
                self._forbidden(node)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child)

    def _comprehension(self, results: Sequence[ast.expr], generators: Sequence[ast.comprehension]) -> None:
        before, counts, aliases = self.names, self.arguments, set(self._aliases)
        for generator in generators:
            self.expression(generator.iter)
            bound = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
            self.names = self.names | bound
            self.arguments = {key: count for key, count in self.arguments.items() if key not in bound}
            self._aliases -= bound
            for test in generator.ifs:
                self.expression(test)
        for result in results:
            self.expression(result)
        self.names, self.arguments, self._aliases = before, counts, aliases

    def _check_private(self, node: ast.AST, name: str) -> bool:
        if name.startswith("__"):
            self.report("STEP302", node, f"{name} is forbidden in the function language")
            return True
        return False

    def _name(self, node: ast.AST, name: str) -> None:
        if name in self.names or name in allow.BUILTINS:
            return
        if self._check_private(node, name):
            return
        if name in allow.FORBIDDEN_BUILTINS:
            self.report("STEP302", node, f"{name} is forbidden in the function language")
            return
        hint = allow.suggestion(name, self.names | allow.BUILTINS)
        self.report("STEP303", node, f"unknown name {name!r}{hint}")

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith("_"):
            self.report("STEP302", node, f"the attribute {node.attr!r} is private and forbidden")
            return
        path = dotted(node)
        module = self._module_of(path)
        if path is not None and module is not None:
            self._member(node, module, path)
            return
        self.expression(node.value)
        if node.attr not in _VALUE_NAMES:
            hint = allow.suggestion(node.attr, _VALUE_NAMES)
            self.report("STEP304", node, f"{node.attr!r} is not part of the function language{hint}")

    def _module_of(self, path: tuple[str, ...] | None) -> str | None:
        return self._modules.get(path[0]) if path is not None else None

    def _member(self, node: ast.AST, module: str, path: tuple[str, ...]) -> None:
        """Look up ``torch.nn.functional.relu`` and its kin in the allow-list."""
        space = module
        if space not in allow.NAMESPACES:
            self.report("STEP304", node, f"the module {module} is not part of the function language")
            return
        for position, name in enumerate(path[1:], start=1):
            functions, constants, modules = allow.NAMESPACES[space]
            if name in functions:
                self._function(node, space, name, path[position + 1 :])
                return
            if name in constants:
                return
            if name not in modules:
                hint = allow.suggestion(name, functions | constants | modules)
                shown = ".".join(path[: position + 1])
                self.report("STEP304", node, f"{shown} is not part of the function language{hint}")
                return
            space = f"{space}.{name}"
            if space == "torch.ops.aten":
                self._aten(node, path[position + 1 :])
                return

    def _function(self, node: ast.AST, space: str, name: str, rest: tuple[str, ...]) -> None:
        if rest:
            self.report("STEP304", node, f"{space}.{name} has no {rest[0]!r} in the function language")
        elif self.kind is not BodyKind.PRELUDE and space == "torch" and name in allow.RANDOM:
            self.report("STEP304", node, f"torch.{name} draws random numbers: functions are pure; draw in global")

    def _aten(self, node: ast.AST, rest: tuple[str, ...]) -> None:
        if not rest:
            return
        if rest[0] not in allow.ATEN:
            hint = allow.suggestion(rest[0], allow.ATEN)
            self.report("STEP304", node, f"torch.ops.aten.{rest[0]} is not part of the function language{hint}")
        elif len(rest) != 2 or rest[1] not in allow.ATEN_OVERLOADS:
            self.report("STEP304", node, f"write torch.ops.aten.{rest[0]}.default")

    def _call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            before = len(self.findings)
            self._attribute(function)
            if len(self.findings) == before:
                self._method(node, function)
        else:
            self.expression(function)
        for argument in node.args:
            self.expression(argument.value if isinstance(argument, ast.Starred) else argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.report("STEP302", keyword, "** is forbidden in the function language")
            elif keyword.arg == "out":
                self.report("STEP304", keyword, "out= writes into another tensor; use the returned value")
            else:
                self.expression(keyword.value)

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        if self._module_of(dotted(function)) is not None:
            return
        name = function.attr
        if name in allow.RANDOM_METHODS and self.kind is not BodyKind.PRELUDE:
            self.report("STEP304", function, f"{name} draws random numbers: functions are pure; draw in global")
        elif allow.is_inplace(name) and self._is_protected(function.value):
            self.report("STEP310", node, self._change_text(function.value))
        elif name in ("append", "extend", "insert", "pop", "reverse") and self._is_container(function.value):
            self.report("STEP310", node, self._change_text(function.value))

    def _subscript(self, node: ast.Subscript) -> None:
        base, index = node.value, node.slice
        self.expression(base)
        self.expression(index)
        if not isinstance(base, ast.Name):
            return
        if base.id in self.arguments:
            self._component(node, base.id, index)
        elif base.id == "input_data" and isinstance(index, ast.Constant):
            self._entry(node, index)

    def _component(self, node: ast.Subscript, name: str, index: ast.expr) -> None:
        value = _integer(index)
        count = self.arguments[name]
        if value is not None and not -count <= value < count:
            last = f"indices 0 to {count - 1}" if count > 1 else "index 0"
            self.report("STEP308", node, f"{name} has {_components(count)} ({last}); there is no {name}[{value}]")

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
            text = f"there is no parameter {name!r}{allow.suggestion(name, known)}"
        self.report("STEP303", node.slice, text)


def _components(count: int) -> str:
    return "1 component" if count == 1 else f"{count} components"


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _is_view_index(index: ast.expr) -> bool:
    match index:
        case ast.Slice():
            return True
        case ast.Tuple(elts=parts):
            return all(_is_view_index(part) for part in parts)
        case ast.Constant(value=value):
            return value is None or value is Ellipsis or type(value) is int
    return _integer(index) is not None


def _is_plain_format(spec: ast.expr) -> bool:
    if not isinstance(spec, ast.JoinedStr) or not all(isinstance(part, ast.Constant) for part in spec.values):
        return False
    text = "".join(str(part.value) for part in spec.values if isinstance(part, ast.Constant))
    return len(text) <= 4 and set(text) <= set("0123456789.,dfgex+ ")

"""How a delivered file reaches the user's own function: a handful of forms around names of the user's module.

Which module and which function that are, the command line said. Nothing of what they hold is text of this file.
"""

from __future__ import annotations

import ast
from typing import Final

from stepcore.fn import plain_types
from stepcore.fn.source import dotted
from stepcore.gate.refusal import refusal
from stepcore.printing.python import OwnReference

_LOADERS: Final = {
    "copy": frozenset({"deepcopy"}),
    "importlib": frozenset({"import_module"}),
    "importlib.util": frozenset({"module_from_spec", "spec_from_file_location"}),
    "pathlib": frozenset({"Path"}),
}
_TORCH: Final = frozenset({"zeros", "zeros_like", "func.functional_call"})
# Statements that always stand there as they are: how a module keeps what is passed like a weight, and a fresh copy.
_REGISTERING: Final = """\
for name in []:
    owner, _, attribute = name.rpartition(".")
    part = MODEL.get_submodule(owner)
    part.register_buffer(attribute, vars(part).pop(attribute).detach())
"""
_DOUBLING: Final = """\
if torch.get_default_dtype() == torch.float64:
    model = model.double()
"""
_ONE_NAME: Final = frozenset({"import_module", "spec_from_file_location"})


class OwnCode:
    """The imports and statements of an :class:`OwnReference`; ``names`` are those that they bind."""

    def __init__(self, own: OwnReference) -> None:
        self.statements = ast.parse(own.code).body
        self._imports = {ast.dump(node) for text in own.imports for node in ast.parse(text).body}
        imported = [node for text in own.imports for node in ast.parse(text).body]
        self.names = {
            alias.asname or alias.name
            for node in imported
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        for node in self.statements:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name):
                    self.names.add(name)

    def imports(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether this import is one of the user's module, or of what loads it."""
        if not isinstance(node, ast.ImportFrom) or ast.dump(node) not in self._imports or node.level:
            return False
        named = all(alias.name.isidentifier() and not alias.name.startswith("__") for alias in node.names)
        known = _LOADERS.get(node.module or "")
        return named and (known is None or all(alias.name in known and not alias.asname for alias in node.names))

    def check(self, node: ast.stmt) -> None:
        """Raise a Refusal unless the statement has one of the forms that deliveries have."""
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute(value=ast.Name(), attr="forward")], value=value):
                self._value(value, self.names)
            case ast.Assert(test=ast.BoolOp(op=ast.And(), values=tests), msg=None) if all(map(_is_test, tests)):
                for test in tests:
                    self._value(test.left, self.names)  # type: ignore[attr-defined]
            case ast.Expr(value=ast.Call() as call):
                self._value(call, self.names)
            case ast.FunctionDef(decorator_list=[]):
                self._function(node)
            case ast.For(iter=ast.List(elts=names)) if all(map(_is_text, names)) and _is_registering(node):
                pass
            case _:
                raise refusal(node, "this statement has none of the forms that Stepsmith writes")

    def _function(self, node: ast.FunctionDef) -> None:
        args = node.args
        others = [*args.posonlyargs, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg)), *args.defaults]
        wrong = plain_types.refused(node, {"torch": "torch"})
        if others or wrong or plain_types.type_parameters(node):
            raise refusal((*others, *wrong, node)[0], "this signature is none of those that Stepsmith writes")
        names = self.names | {argument.arg for argument in args.args}
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._value(value, names)
                    names = names | {name}
                case ast.Return(value=ast.expr() as value):
                    self._value(value, names)
                case ast.If() if ast.dump(statement) == ast.dump(ast.parse(_DOUBLING).body[0]):
                    pass
                case _:
                    raise refusal(statement, "this statement has none of the forms that Stepsmith writes")

    def _value(self, node: ast.expr, names: set[str]) -> None:
        parts: list[ast.expr] = []
        match node:
            case ast.Constant():
                pass
            case ast.Name() | ast.Attribute():
                parts = self._path(node, names)
            case ast.Call(func=func, args=args, keywords=keywords):
                parts = self._called(node, func, args, keywords)
            case ast.Dict(keys=keys, values=values):
                parts = [*(key for key in keys if key is not None), *values]
                if None in keys:
                    raise refusal(node, "** is none of the forms that Stepsmith writes")
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = elements
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                parts = [operand]
            case ast.Starred(value=ast.Call(func=ast.Name(id="get_init_inputs"), args=[], keywords=[]) as call):
                parts = [call]
            case ast.Starred(value=ast.Subscript(value=ast.Name(id="INIT"), slice=ast.Constant(value=0))):
                parts = [node.value.value]  # type: ignore[attr-defined]
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant() as right):
                parts = [left, right]
            case _:
                raise refusal(node, "this expression has none of the forms that Stepsmith writes")
        for part in parts:
            self._value(part, names)

    def _path(self, node: ast.expr, names: set[str]) -> list[ast.expr]:
        """Accept a name of this file or of torch with attributes; return what is left to look at."""
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            if inner.attr.startswith("__"):
                raise refusal(inner, f"the attribute {inner.attr} is none of those that Stepsmith writes")
            inner = inner.value
        if not isinstance(inner, ast.Name):
            return [inner]
        if inner.id not in names | {"torch", "__file__"}:
            raise refusal(inner, f"the name {inner.id} is not bound by Stepsmith")
        return []

    def _called(
        self, node: ast.Call, func: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> list[ast.expr]:
        path = dotted(func)
        if path is not None and path[0] == "torch" and ".".join(path[1:]) not in _TORCH:
            raise refusal(node, f"{'.'.join(path)} is none of the functions that Stepsmith calls")
        if path is not None and path[0] in _ONE_NAME and not (args and isinstance(args[0], ast.Constant)):
            raise refusal(node, "the user's module is named by a text")
        if any(keyword.arg is None and not _is_second(keyword.value) for keyword in keywords):
            raise refusal(node, "** is none of the forms that Stepsmith writes")
        return [func, *args, *(keyword.value for keyword in keywords if keyword.arg is not None)]


def _is_second(node: ast.expr) -> bool:
    """True for ``INIT[1]``, the named arguments of a constructor; INIT itself is looked at with the others."""
    match node:
        case ast.Subscript(value=ast.Name(id="INIT"), slice=ast.Constant(value=1)):
            return True
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_registering(node: ast.For) -> bool:
    known = ast.parse(_REGISTERING).body[0]
    assert isinstance(known, ast.For)
    known.iter = node.iter
    return ast.dump(node) == ast.dump(known)


def _is_test(node: ast.expr) -> bool:
    """True for ``SPEC is not None``."""
    match node:
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
    return False

"""The references and weights that programs name: functions of the file, which are never run."""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.findings.near import nearest
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.python.module import PyModule
from stepcore.frontend.syntax import Block
from stepcore.frontend.values import UNKNOWN, Helper, is_unknown
from stepcore.text.span import Span
from stepcore.types import StreamType, tensor_shapes


class Pending(NamedTuple):
    """A program or composition that is read when the whole module is known.

    ``undefined`` are the names among its reference and weights that have no definition yet.
    """

    kind: str
    node: ast.FunctionDef
    decorator: ast.expr
    block: Block
    undefined: tuple[ast.Name, ...]


class References:
    """Looks up and judges what programs name; ``loose`` are names that statements such as ``if`` bind."""

    def __init__(self, el: Elaborator, module: PyModule, loose: set[str]) -> None:
        self.el = el
        self.module = module
        self.loose = loose

    def undefined(self, decorator: ast.expr) -> tuple[ast.Name, ...]:
        """Return the names of a program's reference, and of weights, of which nothing is defined above it."""
        roots = (_root(_given(decorator, key)) for key in ("reference", "weights"))
        return tuple(root for root in roots if isinstance(root, ast.Name) and not self._is_bound(root.id))

    def _is_bound(self, name: str) -> bool:
        known = name in self.module.scope.names or hasattr(builtins, name)
        return known or name in self.loose or "*" in self.loose

    def report(self, item: Pending) -> None:
        """Report the names that a program or composition uses without a definition, and what is no function."""
        for name in item.undefined:
            self._report_undefined(name, item)
        if not any(name is _root(_given(item.decorator, "reference")) for name in item.undefined):
            self._report_no_function(item.kind, item.decorator)

    def _report_undefined(self, name: ast.Name, item: Pending) -> None:
        if name.id in self.module.scope.names:
            text = f"the name {name.id} is defined below the {item.kind} only"
            self.el.report("STEP202", name, text, "move it above the decorator")
            return
        if name is not _root(_given(item.decorator, "reference")):
            known = [key for key, value in self.module.scope.names.items() if is_unknown(value)]
            way_out = "define it above, as a PyTorch module or a dictionary of tensors"
            self.el.unknown_name("STEP202", "the name", name.id, known, self.el.span(name), way_out)
            return
        known = [key for key, value in self.module.scope.names.items() if isinstance(value, Helper)]
        near = nearest(name.id, known)
        if near:
            fix = Fix(f"Change to {near[0]}", (Edit(self.el.span(name), near[0]),))
            way_out = f"did you mean {near[0]}?"
        elif item.kind == "composition":
            self.el.report("STEP202", name, f"the name {name.id} is not known", "define this PyTorch function above")
            return
        else:
            fix = self._new_reference(name.id, item.node)
            way_out = "define this PyTorch function of the input tensors above the program"
        self.el.report("STEP202", name, f"the name {name.id} is not known", way_out, fix=fix)

    def _report_no_function(self, kind: str, decorator: ast.expr) -> None:
        """Report a reference that is certainly no function: a literal, or a call that the reference itself cannot take.

        Other calls may make a function, as those of a factory do.
        """
        node = _given(decorator, "reference")
        match node:
            case ast.Constant(value=value) if value is not None:
                name = value if isinstance(value, str) else ""
                what = self.el.what(node, UNKNOWN)
            case ast.Call(func=ast.Name(id=name)):
                missing = self._lacking(node, name)
                if not missing:
                    return
                what = f"{self.el.text(node)} is a call, which lacks {', '.join(missing)}"
            case _:
                return
        is_known = isinstance(self.module.scope.names.get(name), Helper)
        way_out = f"write reference={name}" if is_known else "write the name of a PyTorch function of the input tensors"
        fix = self.el.replacing(node, name) if is_known else None
        self.el.report("STEP204", node, f"step.{kind} needs a function as reference, and {what}", way_out, fix=fix)

    def _lacking(self, node: ast.Call, name: str) -> list[str]:
        """Return the arguments without which a call of a function of this file certainly fails."""
        helper = self.module.scope.names.get(name)
        if not isinstance(helper, Helper) or node.args or any(keyword.arg is None for keyword in node.keywords):
            return []
        spec = helper.node.args
        positional = [*spec.posonlyargs, *spec.args]
        wanted = positional[: len(positional) - len(spec.defaults)]
        wanted += [p for p, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None]
        given = {keyword.arg for keyword in node.keywords}
        return [parameter.arg for parameter in wanted if parameter.arg not in given]

    def _new_reference(self, name: str, node: ast.FunctionDef) -> Fix:
        """Return the edit that puts a function to be written above a program."""
        program = self.module.programs[-1].spec
        arguments = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        ports = [port for port in (*program.inputs, *program.parameters) if not port.layout]
        shapes = [f"{port.name} {_tensors(port.type)}" for port in ports]
        of = f" of {', '.join(shapes)}" if shapes else ""
        text = (
            f"def {name}({', '.join(arguments)}):\n"
            f'    """Compute with PyTorch what {node.name} has to give{of}."""\n'
            f'    raise NotImplementedError("{name} is not written yet")\n\n\n'
        )
        first = node.decorator_list[0]
        at = self.el.span(first).start - first.col_offset
        return Fix(f"Create the function {name}", (Edit(Span(at, at), text),))


def _given(decorator: ast.expr, parameter: str) -> ast.expr | None:
    """Return what stands behind ``parameter=`` in a decorator."""
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    return next((keyword.value for keyword in given if keyword.arg == parameter), None)


def _root(node: ast.expr | None) -> ast.expr | None:
    """Return ``a`` for ``a.b.c``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _tensors(stream_type: StreamType) -> str:
    """Return the shapes of the tensors that a stream holds, outermost size first: ``(N, M)``."""
    shapes = (", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") for shape in tensor_shapes(stream_type))
    return " and ".join(f"({shape})" for shape in shapes)

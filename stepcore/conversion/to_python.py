"""Task files to Python files and back. What the two forms say is the same; only spelling and place differ.

===========================  =======================================================
task file                    Python file
===========================  =======================================================
``input_data['W']`` in fns   ``W``, in a function that stands inside the program
``data_transform``           the reference: tensors in, one tensor out per component
``ctx[E] = 3`` in global     ``dims={E: 3}``; the rest of ``global`` at module level
``E_value``                  a module-level value, in references the size of an input;
                             in a program too where a run may bind another: ``E0.ctx[M]``
===========================  =======================================================
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from keyword import iskeyword
from typing import Final
from unicodedata import normalize

from stepcore import gate
from stepcore.conversion.followed import computed_once, followed
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock
from stepcore.gate.rewriting import (
    CodeNames,
    ConvertError,
    bound_names,
    kept_name,
    node_span,
    parse_code,
    rewrite,
    without_aliases,
)
from stepcore.graph.ir import OutputPort, ProgramSpec, reference_ports
from stepcore.graph.layouts import LayoutError
from stepcore.graph.task import TaskFile
from stepcore.printing.python import OwnReference, PythonParts
from stepcore.sizes.dim import Dim
from stepcore.text.span import SourceFile
from stepcore.types import tensor_shapes

_OF_TASKS: Final = frozenset({"ctx", "Symbol", "input_data"})  # names that a module has not
_TAKEN: Final = frozenset({"step", "torch", "tuple", "Annotated"})  # names that every generated file uses itself


def task_to_python(task: TaskFile) -> str:
    """Return a task as a Python file with one program.

    Raises:
        ConvertError: the file describes no task, checking it finds an error (:class:`stepcore.gate.Unclean`), or the
            file would hold something that Stepsmith does not write (:class:`stepcore.gate.Refusal`).
    """
    with gate.within_budget(task.source):
        gate.require_clean(task)
        if task.spec is None:
            raise ConvertError("the file describes no task, so there is nothing to convert")
        impl = task.impl.source.text if task.impl is not None else None
        return spec_to_python(task.spec, impl, task.test_name, task.constraints)


def spec_to_python(
    spec: ProgramSpec,
    impl_text: str | None,
    test_name: str = "",
    constraints: str = "",
    own: OwnReference | None = None,
) -> str:
    """Return a specification and its program (``...`` where there is none) as a Python file.

    ``own`` is the user's function that the program is compared with, in place of reference blocks. The file passes the
    gate: it is certified as a whole, checking included, before it is returned.

    Raises:
        ConvertError: code of the task does not parse, or the file cannot be certified.
    """
    parts = _ToPython(spec).parts(impl_text, test_name or spec.name, constraints, own)
    return gate.module(spec, parts)


def network_to_python(programs: Sequence[tuple[ProgramSpec, str]], composition: str, own: OwnReference) -> str:
    """Return specifications with their programs, and a composition of these, as one Python file.

    Programs share element functions of one name. ``own`` holds the reference of the composition. The file passes the
    gate.

    Raises:
        ConvertError: the file cannot be certified.
    """
    made = [(spec, _ToPython(spec).parts(impl, spec.name, "")) for spec, impl in programs]
    return gate.network(made, composition, own)


class _ToPython:
    def __init__(self, spec: ProgramSpec) -> None:
        self._spec = spec
        self._parameters = frozenset(port.name for port in spec.parameters)
        self._modules = dict(spec.scope.modules)
        compared = {output.memory for output in spec.outputs or ()}
        silent = next((port.name for port in spec.parameters if port.written and port.name not in compared), "")
        if silent:
            text = f"{silent} is written, and no output has memory: {silent}; in Python its content is a result"
            raise ConvertError(text)
        try:
            self._given = (*reference_ports(spec), *spec.parameters)  # what a reference gets
        except LayoutError as error:
            raise ConvertError(str(error)) from error
        self._tensors = frozenset(port.name for port in (*spec.inputs, *self._given))

    def parts(
        self, impl_text: str | None, test_name: str, constraints: str, own: OwnReference | None = None
    ) -> PythonParts:
        """Return the pieces of the file, printed by the gate."""
        spec = self._spec
        fns = {fn.func_name: self._body(fn.body) for fn in spec.fns}
        nested = frozenset(name for name, body in fns.items() if self._parameters & bound_names(body).loaded)
        computed, prelude = self._prelude()
        reference = self._reference({**computed, **computed_once(prelude)})
        body = self._impl(gate.printed(impl_text)) if impl_text is not None and impl_text.strip() else "..."
        body = _lines(*self._program_sizes(body, computed), body)
        read = bound_names("\n".join([*fns.values(), prelude, body])).loaded
        if reference is not None:
            names = bound_names(reference)
            read |= names.loaded - names.stored
        values = self._values(computed, read)
        emitted = {line.split(" = ", 1)[0] for line in values}
        mentioned = {name for name, _ in (*spec.defaults, *spec.fixed)}  # the published sizes are bound in any case
        bound = {n: v for n, v in spec.bindings().items() if n in mentioned or {n, f"{n}_value"} & read}
        order = [*(name for name in PREDECLARED_SYMBOLS if name in bound), *bound]
        sizes = {name: f"{name}_value" if f"{name}_value" in emitted else str(bound[name]) for name in order}
        return PythonParts(
            name=_identifier(spec.name),
            body=body.strip("\n"),
            sizes=sizes,
            values=values,
            prelude=prelude,
            fns=fns,
            nested=nested,
            reference=reference,
            own=own,
            test_name=test_name,
            constraints=constraints,
        )

    def _impl(self, text: str) -> str:
        """A program that binds the name of a module itself does not mean the module by it."""
        own = bound_names(text).stored
        nested = [node for statement in parse_code(text) for node in ast.walk(statement)]
        inside = [bound_names(ast.unparse(node)).loaded for node in nested if isinstance(node, ast.FunctionDef)]
        if clash := sorted(own & self._modules.keys() & frozenset[str]().union(*inside)):
            raise ConvertError(f"{clash[0]} is a stream of the program and a module in a function; rename one of them")
        text, _ = without_aliases(text, {name: full for name, full in self._modules.items() if name not in own})
        return rewrite(text, CodeNames())

    def _body(self, block: CodeBlock) -> str:
        """An element function reads parameters by name; a local of the same name gets another one."""
        text, _ = without_aliases(gate.printed(block.source.text), self._modules)
        locals_ = bound_names(text).stored & self._tensors
        return rewrite(text, CodeNames(tensors=self._parameters, renamed={name: f"{name}_local" for name in locals_}))

    def _prelude(self) -> tuple[dict[str, str], str]:
        """Return the size values that ``global`` computes, as text by name, and the rest of it."""
        block = self._spec.scope.prelude
        if block is None:
            return {}, ""
        text, _ = without_aliases(gate.printed(block.source.text), {"torch": "torch"})
        fixed = {f"{name}_value" for name, _ in self._spec.fixed}
        values: dict[str, str] = {}
        kept: list[str] = []
        for statement in parse_code(text):
            source = ast.get_source_segment(text, statement) or ""
            name = _assigned(statement)
            again = sorted(fixed & bound_names(source).stored)
            if again and (again[0] in values or not name):
                text = f"global binds {again[0]}, the number of a size, in more than one place or inside of a statement"
                raise ConvertError(f"{text}; write `{again[0]} = ...` once, in a line of its own")
            if name in fixed:
                values[name] = _module_code(source)
            elif not _binds_size(statement):
                kept.append(_module_code(source))
        return values, "\n".join(kept)

    def _values(self, computed: dict[str, str], read: frozenset[str]) -> list[str]:
        """Return the assignments of the size values in ``read``, and of those that they are computed from."""
        sizes = self._spec.bindings()
        pending = sorted(name for name in read if name.endswith("_value") and name.removesuffix("_value") in sizes)
        lines: dict[str, str] = {}
        while pending:
            name = pending.pop()
            if name in lines:
                continue
            lines[name] = computed.get(name, f"{name} = {sizes[name.removesuffix('_value')]}")
            inner = bound_names(lines[name]).loaded
            pending += [other for other in inner if other.endswith("_value") and other.removesuffix("_value") in sizes]
        order = [*(f"{name}_value" for name in sizes if f"{name}_value" not in computed), *computed]
        return [lines[name] for name in order if name in lines]

    def _reference(self, computed: dict[str, str]) -> str | None:
        """Join all reference blocks, which share one scope, into the suite of one function.

        ``computed`` are the statements of ``global`` that compute one name each.
        """
        outputs = self._spec.outputs or ()
        blocks = [
            (kept_name(output.name, index, len(output.transforms)), block)
            for output in outputs
            for index, block in enumerate(output.transforms)
        ]
        places = [self._place_of(output) for output in outputs for _ in output.transforms]
        if not blocks:
            return None
        pieces: list[str] = []
        results: list[str] = []
        modules = self._modules
        for position, (name, block) in enumerate(blocks):
            last = position == len(blocks) - 1
            piece, modules = without_aliases(gate.printed(block.source.text), modules)
            piece, result = self._value_block(piece, "" if last else name)
            pieces.append(piece)
            results.append(result)
        ordered = [results[at] for at in sorted(range(len(results)), key=places.__getitem__)]  # as a program gives them
        pieces.append(f"return {', '.join(ordered)}")
        text = rewrite(_lines(*pieces), CodeNames(tensors=self._tensors))
        return "\n".join([*self._reference_sizes(text, computed), _without_idle(text)])

    def _place_of(self, output: OutputPort) -> int:
        """Return where an output comes in Python: streams first, then what is left in parameters, in their order."""
        names = [port.name for port in self._spec.parameters]
        return names.index(output.memory) + 1 if output.memory else 0

    def _value_block(self, text: str, name: str) -> tuple[str, str]:
        """Return a block's statements, its value kept as ``name``, and the expression of its value."""
        statements = parse_code(text)
        if not statements:
            raise ConvertError("a reference in data_transform is empty")
        last = statements[-1]
        kept = _cut(text, last)
        source = ast.get_source_segment(text, last) or ""
        if isinstance(last, ast.Expr):
            if not name or isinstance(last.value, ast.Name):
                return kept, source
            return _lines(kept, f"{name} = {source}"), name
        target = _assigned(last)
        if not target:
            raise ConvertError("a reference in data_transform has to end with an expression")
        return _lines(kept, source), target

    def _reference_sizes(self, text: str, computed: dict[str, str]) -> list[str]:
        """Take sizes from the tensors, so that the reference stays right when a run binds other sizes.

        What ``global`` computes from them is computed there, too.
        """
        names = bound_names(text)
        lines: list[str] = []
        if "input_data" in names.loaded:
            pairs = ", ".join(f'"{port.name}": {port.name}' for port in self._given)
            lines.append(f"input_data = {{{pairs}}}")
        sizes = {f"{name}_value": partial(self._place, name) for name in self._spec.bindings()}
        return lines + followed(names.loaded - names.stored, sizes, computed)

    def _program_sizes(self, text: str, computed: dict[str, str]) -> list[str]:
        """Take the numbers that a program reads from an input where a run may bind others than the file.

        What ``global`` computes from them is computed there, too.
        """
        names, fixed = bound_names(text), dict(self._spec.fixed)
        first = next((port.name for port in self._spec.inputs), None)
        if first is None:
            return []
        free = [name for name in self._spec.bindings() if name not in fixed]
        sizes = {f"{name}_value": partial("{}.ctx[{}]".format, first, name) for name in free}
        return followed(names.loaded - names.stored, sizes, computed)

    def _place(self, symbol: str) -> str | None:
        """Return where a tensor has ``symbol`` as a size, such as ``E0.shape[1]``."""
        for port in self._given:
            shapes = tensor_shapes(port.type)
            if len(shapes) == 1 and Dim.symbol(symbol) in shapes[0]:
                return f"{port.name}.shape[{shapes[0].index(Dim.symbol(symbol))}]"
        return None


def _lines(*pieces: str) -> str:
    return "\n".join(piece for piece in pieces if piece)


def _without_idle(text: str) -> str:
    """Return a suite without ``x = x`` at its head: what a block reads under the name of its tensor is an argument."""
    for statement in parse_code(text):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=given)) if name == given:
                text = text[node_span(SourceFile("", text), statement).end :].lstrip("\n")
            case _:
                break
    return text


def _cut(text: str, statement: ast.stmt) -> str:
    """Return what stands before ``statement``."""
    return text[: node_span(SourceFile("", text), statement).start].rstrip(" \t;\n")


def _module_code(source: str) -> str:
    """Return a statement of ``global`` as one of a module, which has neither ``ctx`` nor ``Symbol``.

    Raises:
        ConvertError: it binds a size inside of something else.
    """
    text = rewrite(source, CodeNames())
    if named := sorted(bound_names(text).loaded & _OF_TASKS):
        what = f"`{named[0]}` of global is no part of a Python file"
        raise ConvertError(f'{what}; write E = Symbol("E") and ctx[E] = E_value in lines of their own')
    return text


def _assigned(statement: ast.stmt) -> str:
    """Return the one name that a plain assignment binds, or an empty text."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _binds_size(statement: ast.stmt) -> bool:
    """True for ``ctx[E] = ...`` and ``E = Symbol("E")``, for which Python files have dims= and an import."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="ctx"))]):
            return True
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id="Symbol"))):
            return True
    return False


def _identifier(name: str) -> str:
    """Return ``name`` as a function name."""
    words = "".join(character if f"_{character}".isidentifier() else "_" for character in normalize("NFKC", name))
    is_usable = words.isidentifier() and not iskeyword(words) and not words.startswith("__") and words not in _TAKEN
    return words if is_usable else f"task_{words}"


__all__ = ["ConvertError", "network_to_python", "spec_to_python", "task_to_python"]

"""A specification and its program as a Python file: types, signatures and layout. Code inside is given as text."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from textwrap import indent
from typing import TYPE_CHECKING, Final

from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import OutputPort, Port, ProgramSpec, reference_ports
from stepcore.graph.layouts import InputLayout, OutputLayout
from stepcore.printing.code_lines import broken, constant_text, fitted, from_import, literal
from stepcore.printing.fn_types import FnTypes
from stepcore.records import Record
from stepcore.sizes.dim import ANY, DYNAMIC, OPEN, RAGGED, Dim
from stepcore.types import Buffer, Element, Multihot, Scalar, Shape, StreamType, STuple, Tile, element_sizes

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize

_SCALARS: Final = {
    "fp32": "f32", "fp16": "f16", "bf16": "bf16", "int32": "i32", "int64": "i64", "bool": "bool_",
}  # fmt: skip
# Sizes that are made of their names, and what makes them.
_MAKERS: Final = {DYNAMIC: "dyn", RAGGED: "ragged", ANY: "any_size"}
_WORD: Final = re.compile(r"\w+")
_NAMED: Final = re.compile(r"(?<!\w)([?~_])([^\W\d]\w*)")


class OwnReference(Record):
    """A reference that is a user's function: ``imports`` and ``code`` stand before the program, ``name`` is what it is
    compared with. ``head`` is the text of the file's docstring.
    """

    name: str
    imports: Sequence[str] = ()
    code: str = ""
    head: str = ""


class PythonParts(Record):
    """What a Python file is made of besides the types: code that is converted already, each a dedented suite.

    ``sizes`` binds the symbols of ``dims=`` (an integer, or the name of a module-level value). ``values`` are the
    assignments of those, ``prelude`` further module-level code. ``fns`` are bodies by ``func_name``; those in
    ``nested`` stand inside the program, because they read parameters. ``reference`` is the suite of the reference.
    """

    name: str
    body: str
    sizes: Mapping[str, str]
    values: Sequence[str] = ()
    prelude: str = ""
    fns: Mapping[str, str] = field(default_factory=dict)
    nested: frozenset[str] = frozenset()
    reference: str | None = None
    own: OwnReference | None = None
    test_name: str = ""
    constraints: str = ""


def module_text(spec: ProgramSpec, parts: PythonParts) -> str:
    """Return the whole file, formatted in lines of at most 120 columns where the code itself allows it."""
    types = _types([(spec, parts)], parts.own)
    head = _head(("\n".join(parts.values), parts.prelude.strip("\n")), types)
    sections = [_fn(fn, parts, types) for fn in spec.fns if fn.func_name not in parts.nested]
    if parts.reference is not None:
        sections.append(_reference(spec, parts))
    if parts.own is not None and parts.own.code:
        sections.append(parts.own.code.strip("\n"))
    code = "\n\n\n".join([*sections, _program(spec, parts, types)])
    imports = _imports(spec, parts, f"{head}\n{code}")
    return f"{imports}\n\n{head}\n\n\n{code}\n" if head else f"{imports}\n\n\n{code}\n"


def network_text(programs: Sequence[tuple[ProgramSpec, PythonParts]], composition: str, own: OwnReference) -> str:
    """Return the file of several programs and their composition; element functions of one name stand there once."""
    fns: dict[str, str] = {}
    types = _types(programs, own)
    sections: list[str] = []
    for spec, parts in programs:
        for fn in spec.fns:
            fns.setdefault(fn.func_name, _fn(fn, parts, types))
        if parts.reference is not None:
            sections.append(_reference(spec, parts))
        sections.append(_program(spec, parts, types))
    code = "\n\n\n".join([*fns.values(), *sections, own.code.strip("\n"), composition.strip("\n")])
    symbols = {symbol for spec, parts in programs for symbol in _symbols_in(spec, parts)}
    lines = dict.fromkeys(line for _, parts in programs for line in (*parts.values, parts.prelude) if line)
    head = _head(tuple(lines), types)
    imports = _import_lines(symbols, own, f"{head}\n{code}")
    return f"{imports}\n\n{head}\n\n\n{code}\n" if head else f"{imports}\n\n\n{code}\n"


def element_text(element: Element) -> str:
    """Return an element type in the Python spelling, such as ``step.Buffer(step.f32, [K])``."""
    match element:
        case Scalar():
            return f"step.{_SCALARS[element.dtype]}"
        case Multihot():
            return f"step.Multihot({element_text(element.scalar)}, {size_text(element.length)})"
        case Buffer():
            return f"step.Buffer({element_text(element.element)}, [{_sizes(element.shape)}])"
        case Tile():
            return f"step.Tile({element_text(element.scalar)}, [{_sizes(element.shape)}])"
        case STuple():
            return f"step.STuple({_tuple([element_text(item) for item in element.items])})"


def size_text(size: Dim) -> str:
    """Return a size as Python code with the usual spaces."""
    text = str(size)
    if size.is_open or ANY in text:
        text = _NAMED.sub(lambda match: f'step.{_MAKERS[match[1]]}("{match[2]}")', text)
    return ast.unparse(ast.parse(text, mode="eval")).replace("'", '"')


def _imports(spec: ProgramSpec, parts: PythonParts, code: str) -> str:
    return _import_lines(_symbols_in(spec, parts), parts.own or OwnReference(""), code)


def _symbols_in(spec: ProgramSpec, parts: PythonParts) -> set[str]:
    return _symbols(spec) | parts.sizes.keys() | _names(parts.body) & set(spec.scope.symbols)


def _import_lines(symbols: Iterable[str], own: OwnReference, code: str) -> str:
    lines = [_docstring(own.head), ""] if own.head else []
    standard = [line for line in own.imports if line.split()[1].partition(".")[0] in sys.stdlib_module_names]
    if _reads_math(code) and "import math" not in standard:
        standard = ["import math", *standard]
    lines += [*standard, "from typing import Annotated", ""]
    lines.append("import stepcore as step")
    if "torch" in _names(code):
        lines.append("import torch")
    lines += from_import("stepcore.dims", {symbol: symbol for symbol in symbols})
    local = [line for line in own.imports if line not in standard]
    lines += ["", *local] if local else []
    return "\n".join(lines)


def _docstring(text: str) -> str:
    """Return a docstring; a file name in it may hold quotes and characters that nobody sees."""
    shown = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
    if shown == text and '"' not in text and "\\" not in text:
        return f'"""{text}"""'
    return literal(" ".join(text.split()))


def _symbols(spec: ProgramSpec) -> set[str]:
    ports: list[Port | OutputPort] = [*spec.inputs, *spec.parameters, *(spec.outputs or ())]
    shapes: list[Iterable[Dim]] = [port.type.shape for port in ports]
    elements: list[Element] = [port.type.element for port in ports]
    elements += [element for fn in spec.fns for element in (fn.input, fn.output)]
    shapes += map(element_sizes, elements)
    return {symbol for shape in shapes for size in shape for symbol in size.symbols() if symbol[0] not in OPEN + ANY}


def _reads_math(code: str) -> bool:
    """Whether code means the module by ``math``, and no tensor or local of its own."""
    if "math" not in code:
        return False
    nodes = list(ast.walk(ast.parse(code)))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    roots = {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    return "math" in roots - bound


def _names(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def _types(programs: Sequence[tuple[ProgramSpec, PythonParts]], own: OwnReference | None) -> FnTypes:
    """Return the types of all functions of a file, by names that nothing else in it has."""
    fns = {fn.func_name: fn for spec, _ in programs for fn in spec.fns}
    pieces = [] if own is None else [own.name, own.code, *own.imports]
    for spec, parts in programs:
        pieces += [parts.name, parts.body, parts.prelude, parts.reference or "", *parts.values, *parts.fns.values()]
        pieces += [*fns, *_symbols_in(spec, parts), *(port.name for port in (*spec.inputs, *spec.parameters))]
    return FnTypes(list(fns.values()), element_text, {word for piece in pieces for word in _WORD.findall(piece)})


def _head(lines: Sequence[str], types: FnTypes) -> str:
    """Return what stands before all functions: values, further code, and names of types."""
    return "\n".join(line for line in (*lines, *map(broken, types.lines)) if line)


def _fn(fn: FnDecl, parts: PythonParts, types: FnTypes) -> str:
    arguments = [f"input={types.text(fn.input)}", f"output={types.text(fn.output)}"]
    if fn.init is not None:
        arguments.append(f"init=[{', '.join(map(constant_text, fn.init))}]")
    if fn.label != fn.func_name:
        arguments.append(f"name={literal(fn.label)}")
    margin = 4 if fn.func_name in parts.nested else 0
    head = broken(f"@step.fn({', '.join(arguments)})", margin)
    names = "state, input" if fn.has_state else "input"
    return f"{head}\ndef {fn.func_name}({names}):\n{_indented(fitted(parts.fns[fn.func_name], margin + 4))}"


def _reference(spec: ProgramSpec, parts: PythonParts) -> str:
    inputs = [f"{port.name}: {_tensor_type(port)}" for port in reference_ports(spec)]
    parameters = [f"{port.name}: torch.Tensor" for port in spec.parameters]
    arguments = [*inputs, *(["*", *parameters] if parameters else [])]
    count = sum(len(o.type.element.items) if isinstance(o.type.element, STuple) else 1 for o in spec.outputs or ())
    result = "torch.Tensor" if count == 1 else f"tuple[{', '.join(['torch.Tensor'] * count)}]"
    head = broken(f"def {parts.name}_reference({', '.join(arguments)}) -> {result}:")
    return f"{head}\n{_indented(parts.reference or '')}"


def _tensor_type(port: Port) -> str:
    return "list[torch.Tensor]" if isinstance(port.type.element, STuple) else "torch.Tensor"


def _program(spec: ProgramSpec, parts: PythonParts, types: FnTypes) -> str:
    inputs = [f"{port.name}: {_annotation('Stream', port.type)}" for port in spec.inputs]
    parameters = [
        f"{port.name}: {_annotation('Param(written=True)' if port.written else 'Param', port.type)}"
        for port in spec.parameters
    ]
    arguments = [*inputs, *(["*", *parameters] if parameters else [])]
    outputs = [_annotation("Stream", output.type) for output in spec.returned or ()]
    result = f"tuple[{', '.join(outputs)}]" if len(outputs) > 1 else "".join(outputs)
    result = "None" if spec.outputs and not outputs else result
    head = broken(f"def {parts.name}({', '.join(arguments)}){f' -> {result}' if result else ''}:")
    nested = [_indented(_fn(fn, parts, types)) for fn in spec.fns if fn.func_name in parts.nested]
    body = "\n\n".join([*nested, _indented(parts.body)])
    decorator = broken(f"@step.program({', '.join(_program_arguments(spec, parts))})")
    return f"{decorator}\n{head}\n{body}"


def _program_arguments(spec: ProgramSpec, parts: PythonParts) -> list[str]:
    reference = parts.own.name if parts.own is not None else f"{parts.name}_reference"
    arguments = [f"reference={reference}"] if parts.own is not None or parts.reference is not None else []
    if parts.sizes:
        arguments.append(f"dims={{{', '.join(f'{name}: {value}' for name, value in parts.sizes.items())}}}")
    if parts.test_name and parts.test_name != parts.name:
        arguments.append(f"name={literal(parts.test_name)}")
    data = [f"{literal(port.name)}: {text}" for port in (*spec.inputs, *spec.parameters) if (text := _data(port))]
    if data:
        arguments.append(f"data={{{', '.join(data)}}}")
    if spec.drawn:
        arguments.append(f"sizes={{{', '.join(f'{literal(each.name)}: {_drawn(each)}' for each in spec.drawn)}}}")
    layouts = [f"{literal(name)}: {literal(layout.text())}" for name, layout in _layouts(spec) if layout]
    if layouts:
        arguments.append(f"layouts={{{', '.join(layouts)}}}")
    if parts.constraints:
        arguments.append(f"constraints={literal(parts.constraints)}")
    return arguments


def _layouts(spec: ProgramSpec) -> list[tuple[str, InputLayout | OutputLayout | None]]:
    inputs = ((port.name, port.layout) for port in spec.inputs)
    return [*inputs, *((f"S{slot}", output.layout) for slot, output in enumerate(spec.outputs or ()))]


def _drawn(size: DrawnSize) -> str:
    return str(list(size.values)) if size.values is not None else f"({size.minimum}, {size.maximum})"


def _data(port: Port) -> str:
    if port.data_gen is not None:
        return literal(port.data_gen)
    if port.minimum is None and port.maximum is None:
        return ""
    return f"({port.minimum or 0}, {port.maximum})"


def _annotation(kind: str, stream: StreamType) -> str:
    sizes = [size_text(size) for size in stream.shape]
    return f"Annotated[step.{kind}, {element_text(stream.element)}, {_tuple(sizes)}]"


def _sizes(shape: Shape) -> str:
    return ", ".join(map(size_text, shape))


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _indented(text: str) -> str:
    return indent(text.rstrip("\n"), "    ")

"""Markdown about streams, element functions, sizes and ports of one document."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from stepcore.check.affine import use_span
from stepcore.fn.decl import FnDecl
from stepcore.frontend.syntax import parse_suite
from stepcore.frontend.values import Use
from stepcore.graph.ir import GraphStream, Node, OutputPort, Port, ProgramSpec
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.marked import code, inline, words
from stepcore.ide.meaning import MAX_ROUNDS, Seeing, line_of, seeing
from stepcore.ide.results import seen_stream
from stepcore.sizes.dim import ANY, Dim
from stepcore.text.span import Span
from stepcore.text.wording import clipped, one_line
from stepcore.types import Element, StreamType, components, element_shape, tensor_shapes

if TYPE_CHECKING:
    from stepcore.jobdata.programs import ComponentRow, SimulateResult, StreamRow
    from stepcore.open_types.drawn import DrawnSize

_MAX_STREAMS: Final = 8
_MAX_BODY: Final = 8  # lines of a function's body that a hover shows
_MAX_VALUES: Final = 60  # characters of the values of a size
_OPEN_KINDS: Final = ("known", "one value in a run", "a value for each position of the dimensions outside")
_COMMENT: Final = re.compile(r"#\s?(.*)")


def streams_text(
    analysis: Analysis, unit: DocumentUnit, name: str, found: list[tuple[str, GraphStream]], run: SimulateResult | None
) -> str:
    """Return what is known of the streams that a name is or holds."""
    if len(found) == 1:
        place, stream = found[0]
        return "\n\n".join([code(_head(unit, name + place, stream)), *_life(analysis, unit, name + place, stream, run)])
    shown = found[:_MAX_STREAMS]
    lines = [code("\n".join(_head(unit, name + place, stream) for place, stream in shown))]
    for place, stream in shown:
        lines.append(
            f"- {inline(name + place)}: "
            + " ".join(_life(analysis, unit, name + place, stream, run)).replace("\n", " ")
        )
    if len(found) > len(shown):
        lines.append(f"- and {len(found) - len(shown)} more")
    return lines[0] + "\n\n" + "\n".join(lines[1:])


def _head(unit: DocumentUnit, name: str, stream: GraphStream) -> str:
    return f"{name}: {seeing(unit).type_text(stream.type)}"


def _life(
    analysis: Analysis, unit: DocumentUnit, name: str, stream: GraphStream, run: SimulateResult | None
) -> list[str]:
    """Return paragraphs about a stream: its data, where it comes from, where it goes, and what the last run saw."""
    here = seeing(unit)
    found = []
    if stream.type is None:
        found.append("Its type is unknown because of an earlier finding.")
    else:
        found.append(data_text(here, stream.type))
        found += open_sizes_text(stream.type)
    also = f" It is called {inline(stream.name)} too." if stream.name and stream.name != name else ""
    found.append(_produced(analysis, unit, stream) + also)
    found.append(_consumed(analysis, unit, stream))
    graph = None if here.checked is None else here.checked.graph
    view = None if run is None or graph is None else seen_stream(run, graph, stream.index)
    if view is not None:
        found.append(run_text(view))
    return found


def open_sizes_text(stream_type: StreamType) -> list[str]:
    """Return, for each size of a type that only a run can tell, what it is, a line each."""
    sizes = [size for shape in tensor_shapes(stream_type) for size in shape if size.is_open]
    if not sizes:
        return []
    from stepcore.sizes.kinds import origins  # most streams have static sizes

    lines = [f"{inline(text)}: {said}; only a run can tell." for size in sizes for text, said in origins(size)]
    return list(dict.fromkeys(lines))


def data_text(here: Seeing, stream_type: StreamType) -> str:
    """Return the tensor shapes of a stream, outermost first: symbolic, and with the sizes of the program."""
    shapes = [_tensor(shape) for shape in tensor_shapes(stream_type)]
    bindings = {} if here.checked is None else here.checked.spec.bindings()
    symbols = {symbol for shape in tensor_shapes(stream_type) for size in shape for symbol in size.symbols()}
    text = "Data: " + ", ".join(f"`{shape}`" for shape in shapes)
    if symbols and symbols <= bindings.keys():
        sizes = (_tensor(Dim.of(size.bind(bindings)) for size in shape) for shape in tensor_shapes(stream_type))
        text += " = " + ", ".join(f"`{shape}`" for shape in sizes)
    return text + "."


def _tensor(shape: Iterable[Dim]) -> str:
    sizes = [str(size) for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _produced(analysis: Analysis, unit: DocumentUnit, stream: GraphStream) -> str:
    here = seeing(unit)
    assert here.checked is not None
    if stream.producer is None:
        return "An input of the program."
    node = here.checked.graph.nodes[stream.producer]
    which = f", output {stream.slot} of {len(node.outputs)}" if len(node.outputs) > 1 else ""
    return f"Produced{_in_line(analysis, unit, node.span)} by {node_text(node)}{which}."


def _consumed(analysis: Analysis, unit: DocumentUnit, stream: GraphStream) -> str:
    uses = seeing(unit).uses.get(stream.index, [])
    if not uses:
        return "Not consumed yet."
    texts = list(dict.fromkeys(_use(analysis, unit, use) for use in uses[:MAX_ROUNDS]))
    shown = ", ".join(texts[:_MAX_STREAMS]) + (f" and {len(texts) - _MAX_STREAMS} more" * (len(texts) > _MAX_STREAMS))
    return shown[:1].upper() + shown[1:] + "."


def _use(analysis: Analysis, unit: DocumentUnit, use: Use) -> str:
    where = _in_line(analysis, unit, use_span(use))
    checked = seeing(unit).checked
    if use.node is None or checked is None:
        return f"returned{where}"
    return f"consumed{where} by {node_text(checked.graph.nodes[use.node])}"


def _in_line(analysis: Analysis, unit: DocumentUnit, span: Span) -> str:
    line = line_of(analysis, unit)(span)
    return "" if line is None else f" in line {line}"


def node_text(node: Node) -> str:
    """Return an operator with its parameters: `Accum(fn=add, b=1)`."""
    parameters = ", ".join(f"{name}={_parameter(value)}" for name, value in node.params.items())
    return inline(f"{node.written}({parameters if node.has_class else '...'})")


def _parameter(value: object) -> str:
    if isinstance(value, FnDecl):
        return value.func_name
    return str(list(value)) if isinstance(value, tuple) else str(value)


def run_text(view: StreamRow) -> str:
    """Return what the last run saw in a stream."""
    return "Last run: " + "; ".join(_component(part) for part in view.components)


def _component(part: ComponentRow) -> str:
    shape = f"({', '.join(map(str, part.shape))}{',' if len(part.shape) == 1 else ''})"
    values = ", ".join(_number(value) for value in part.values)
    text = f"`{shape}` {part.dtype} `[{values}, ...]`"
    if part.min is not None and part.max is not None and part.mean is not None:
        text += f", from {_number(part.min)} to {_number(part.max)}, mean {_number(part.mean)}"
    for count, what in ((part.nan, "NaN"), (part.infinite, "infinite")):
        if count:
            text += f", **{count} {what}**"
    return text


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


# -- functions ---------------------------------------------------------------------------------------------


def function_text(unit: DocumentUnit, decl: FnDecl) -> str:
    """Return what an element function takes and gives, what its author says about it, and a short body."""
    arguments = ", ".join(decl.body.arguments)
    lines = [code(f"{decl.func_name}({arguments}): {seeing(unit).function_text(decl)}")]
    if decl.label != decl.func_name:
        lines.append(f"*{words(one_line(decl.label))}*")
    if decl.init is not None:
        start = ", ".join(f"{value:g}" for value in decl.init)
        lines.append(f"Folds: the state begins with `[{start}]`, each filled to `{_shapes(decl.output)}`.")
    elif decl.init_body is not None:
        lines.append("Folds: the state begins with what `getInit` returns.")
    doc = description(unit, decl)
    if doc:
        lines.append(words(doc))
    body = decl.body.source.text.strip("\r\n")
    if body and body.count("\n") < _MAX_BODY:
        lines.append(code(body))
    return "\n\n".join(lines)


def argument_text(decl: FnDecl, argument: str) -> str:
    """Return what ``input`` or ``state`` of an element function holds."""
    is_state = decl.has_state and decl.body.arguments[:1] == (argument,)
    element = decl.output if is_state else decl.input
    parts = components(element)
    rows = [f"{argument}[{i}]: {part}, a tensor {_tensor(element_shape(part))}" for i, part in enumerate(parts)]
    what = "The state so far" if is_state else "One element of the stream"
    return f"{code(chr(10).join(rows))}\n{what}: a list with one tensor for each component."


def _shapes(element: Element) -> str:
    return ", ".join(_tensor(element_shape(part)) for part in components(element))


def description(unit: DocumentUnit, decl: FnDecl) -> str:
    """Return the docstring of a function, or the comment at its head or above it."""
    body = parse_suite(decl.body.source.text).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        text = body[0].value.value
        if isinstance(text, str):
            return text.strip()
    lines = decl.body.source.text.lstrip().splitlines()
    return _comments(lines) or _comment_around(unit, decl)


def _comments(lines: Iterable[str]) -> str:
    found: list[str] = []
    for line in lines:
        match = _COMMENT.fullmatch(line.strip())
        if match is None:
            break
        found.append(match[1])
    return " ".join(found).strip()


def _comment_around(unit: DocumentUnit, decl: FnDecl) -> str:
    """Return the comment behind or above the head of a declaration (decorators, or keys of a YAML item)."""
    source = unit.result.source  # the task itself, for an answer in a file of its own
    line, _ = source.line_col(decl.span.start)
    head = line
    while head > 0 and source.line_text(head - 1).lstrip().startswith(("@", "- name:", "- func_name:")):
        head -= 1
    above: list[str] = []
    at = head - 1
    while at >= 0 and source.line_text(at).lstrip().startswith("#"):
        above.insert(0, source.line_text(at))
        at -= 1
    behind = (re.search(r"\s#\s?(.*)$", source.line_text(number).rstrip()) for number in range(head, line + 1))
    return _comments(above) or next((match[1] for match in behind if match is not None), "")


# -- declarations -------------------------------------------------------------------------------------------


def size_text(unit: DocumentUnit, symbol: str) -> str:
    """Return what a size is bound to in the unit's program."""
    rows: list[str] = []
    for program in unit.result.programs:
        row = _binding(program.spec, symbol)
        if row and row not in rows:
            rows.append(row)
    if not rows and unit.result.task is not None and unit.result.task.spec is not None:
        rows = [row] if (row := _binding(unit.result.task.spec, symbol)) else []
    value = rows[0] if rows else "not bound here: a run needs a value."
    return f"{code(symbol)}\n\nA size, {value}"


def open_size_text(specs: Iterable[ProgramSpec], name: str, size: Dim) -> str:
    """Return what a size is that only a run knows, or any size of a function, and how large it gets in a run.

    ``name`` is that of the size, or what a file calls it; ``specs`` say what is drawn for its programs.
    """
    from stepcore.sizes.kinds import kind_of, origins  # few files have such sizes

    shown = code(name if name == str(size) else f"{name} = {size}")
    if str(size)[0] == ANY:
        return f"{shown}\n\nAny size: bound where it stands first in each use of the function."
    text = f"{shown}\n\nA size that the data decide, {kind_of(size).name.lower()}: {_OPEN_KINDS[kind_of(size)]}."
    if not size.is_symbol:
        return "\n".join([text, "", *(f"- {inline(part)}: {said}" for part, said in origins(size) if said)])
    rows = dict.fromkeys(_drawn_text(each) for spec in specs for each in spec.drawn if each.name == str(size))
    return f"{text} {' '.join(rows) or 'It fits what a run makes of it.'}"


def _drawn_text(drawn: DrawnSize) -> str:
    if drawn.values is None:
        return f"From {drawn.minimum} to {drawn.maximum}."
    return f"Values: {clipped(str(drawn.values[:_MAX_VALUES]), _MAX_VALUES)}."


def _binding(spec: ProgramSpec, symbol: str) -> str:
    if symbol in dict(spec.fixed):
        return f"bound to **{dict(spec.fixed)[symbol]}** by `global`."
    if symbol in dict(spec.defaults):
        return f"**{dict(spec.defaults)[symbol]}** in {spec.name} unless a run says otherwise."
    return ""


def weight_text(here: Seeing, port: Port) -> str:
    """Return what a weight is."""
    shape = _tensor(reversed(port.type.shape))
    draws = f"\n\nDrawn by {inline(port.data_gen)}." if port.data_gen else ""
    read = inline(f"input_data['{port.name}']")
    how = f"{read} is a tensor `{shape}`."
    return f"{code(f'{port.name}: {here.type_text(port.type)}')}\n\nA weight: {how}{draws}"


def output_text(here: Seeing, port: OutputPort) -> str:
    """Return what an output has to be."""
    head = f"{port.name}: {here.type_text(port.type)}"
    shapes = ", ".join(f"`{_tensor(shape)}`" for shape in tensor_shapes(port.type))
    return f"{code(head)}\n\nAn output of the program. Data: {shapes}."


def program_text(here: Seeing, spec: ProgramSpec) -> str:
    """Return what a program takes and gives."""
    rows = [f"{port.name}: {here.type_text(port.type)}" for port in spec.inputs]
    rows += [f"{port.name}: weight {here.type_text(port.type)}" for port in spec.parameters]
    outputs = [here.type_text(port.type) for port in spec.outputs or ()]
    text = code("\n".join([f"program {spec.name}", *(f"  {row}" for row in rows), f"  -> {', '.join(outputs)}"]))
    sizes = ", ".join(f"{symbol} = {value}" for symbol, value in spec.bindings().items())
    reference = f"\n\nCompared with {inline(spec.reference)}." if spec.reference else ""
    return text + (f"\n\nSizes: {sizes}." if sizes else "") + reference


def element_text(name: str, element: Element) -> str:
    """Return what an element type is, and its data."""
    return f"{code(f'{name} = {element}')}\n\nAn element type. Data of one position: `{_shapes(element)}`."

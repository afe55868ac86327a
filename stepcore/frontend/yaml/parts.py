"""The lists of a task file: inputs, parameters, functions and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from stepcore.findings.diagnostics import Related
from stepcore.findings.near import nearest
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.frontend.draws import bounds_fault, generator_fault
from stepcore.frontend.yaml.fields import Fields, Schema
from stepcore.frontend.yaml.nodes import ListNode, MapNode, Node, ScalarNode
from stepcore.graph.ir import OutputPort, Port, whole_port
from stepcore.graph.layouts import InputLayout, LayoutError, input_layout, output_layout
from stepcore.text.span import Embedded, Span
from stepcore.text.wording import clipped
from stepcore.types import (
    MEMORY_RULE,
    Element,
    Scalar,
    StreamType,
    components,
    shape_text,
    too_large,
)

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize

L = TypeVar("L")
INPUT_SCHEMA: Final = Schema("an input", ("name", "dtype", "dims"), ("data_gen", "min", "max", "layout"))
PARAMETER_SCHEMA: Final = Schema("a parameter", ("name", "dtype", "dims"), ("data_gen", "from", "layout", "written"))
OUTPUT_SCHEMA: Final = Schema("an output", ("name", "dtype", "dims"), ("data_transform", "layout", "memory"))
DRAWN_SCHEMA: Final = Schema("a size that is drawn", (), ("min", "max", "values"))
FN_SCHEMA: Final = Schema("a function", ("func_name", "input_dtype", "output_dtype", "apply"), ("name", "init"))
_INIT: Final[dict[str, float]] = {"0": 0.0, "1": 1.0, "-1": -1.0, "-inf": float("-inf")}
_UNKNOWN_TYPE: Final = StreamType(Scalar(), ())  # what stands for a type that was reported as unreadable
_NOWHERE_CODE: Final = Embedded("", (0,), Span(0, 0))


@dataclass(slots=True)
class Declared:
    """The names of one file so far, and which of them have an unreadable type."""

    fields: Fields
    untyped: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)  # the top-level keys of which something has no usable name
    _names: dict[str, Span] = field(default_factory=dict)

    def name(self, node: Node | None, what: str, key: str) -> str | None:
        """Read a name that is new among inputs, parameters and functions; ``key`` is where it is declared."""
        name = self.fields.name(node, what) if node is not None else None
        if name is None or node is None:
            self.dropped.add(key)
            return None
        if name in self._names:
            related = (Related(self._names[name], f"{name} is declared here first"),)
            self.fields.report("STEP223", node.span, f"{name} is declared twice; rename one of them", related=related)
            return None
        self._names[name] = node.span
        return name

    def items(self, node: Node | None, key: str) -> list[Node]:
        """Read the list under a top-level key; where there is none, what it should declare is not known."""
        if not isinstance(node, ListNode):
            self.dropped.add(key)
        return self.fields.items(node, key) if node is not None else []

    def forget(self) -> None:
        """Begin another group of names: outputs may be called like inputs."""
        self._names.clear()


def read_ports(
    declared: Declared, node: Node | None, *, parameters: bool, others: Node | None = None
) -> tuple[Port, ...]:
    """Read the list under ``inputs`` or ``parameters``; a port without a usable name is left out.

    ``others`` is the list of parameters, with which a program needs no inputs.
    """
    what = "parameters" if parameters else "inputs"
    if parameters and (node is None or _is_null(node)):
        return ()
    items = declared.items(node, what)
    has_others = isinstance(others, ListNode) and bool(others.items)
    if not items and isinstance(node, ListNode) and not parameters and not has_others:
        declared.fields.report("STEP907", node.span, "a program needs at least one input")
    ports = (_port(declared, item, parameters=parameters) for item in items)
    return tuple(port for port in ports if port is not None)


def read_outputs(
    declared: Declared, node: Node | None, parameters: Sequence[Port] = ()
) -> tuple[OutputPort, ...] | None:
    """Read the list under ``outputs``; None where it is missing. Some may be what is left in ``parameters``."""
    if node is None:
        return None
    declared.forget()
    items = declared.items(node, "outputs")
    if not items and isinstance(node, ListNode):
        declared.fields.report("STEP907", node.span, "a program needs at least one output")
        declared.dropped.add("outputs")
    known = {port.name: port for port in parameters}
    ports = (_output(declared, item, known) for item in items)
    return tuple(port for port in ports if port is not None)


def read_fns(declared: Declared, node: Node | None) -> tuple[FnDecl, ...]:
    """Read the list under ``fns``; a function without a usable ``func_name`` is left out."""
    if node is None or _is_null(node):
        return ()
    declared.fields.takes_any = True
    fns = [_fn(declared, item) for item in declared.items(node, "fns")]
    declared.fields.takes_any = False
    return tuple(fn for fn in fns if fn is not None)


def read_drawn(declared: Declared, node: Node | None, inputs: Sequence[Port]) -> tuple[DrawnSize, ...]:
    """Read the mapping under ``sizes``: what a run draws for the dynamic and ragged sizes of ``inputs``."""
    fields = declared.fields
    if node is None and not fields.open:
        return ()
    from stepcore.open_types.drawn import draw_faults  # most tasks have static sizes

    drawn: dict[str, DrawnSize] = {}
    places: dict[str, Span] = {}
    if node is not None and not isinstance(node, MapNode):
        fields.wrong_kind(node, 'sizes has to be a mapping such as {"?L": {min: 0, max: 64}}')
        return ()
    for key, value in node.pairs if isinstance(node, MapNode) else ():
        name = key.value if isinstance(key, ScalarNode) else ""
        if name in drawn:
            fields.report("STEP904", key.span, f"{name} is given twice; the first one counts")
            continue
        found = _drawn(fields, key, name, value)
        places[name] = key.span
        if found is not None:
            drawn[name] = found
    is_unread = "inputs" in declared.dropped or any(port.name in declared.untyped for port in inputs)
    for fault in draw_faults(((port.name, port.type) for port in inputs), tuple(drawn.values())):
        if fault.port == "" and (is_unread or fault.name in fields.open):
            continue  # the type of an input that has it was reported
        if fault.name in drawn or fault.name not in places:  # else it was reported already
            where = places if fault.port == "" else fields.open
            way_out = f'; write sizes: {{"{fault.name}": {{min: 0, max: 64}}}}' if fault.is_missing else ""
            fields.report(fault.code, where[fault.name], fault.message + way_out)
    return tuple(drawn.values())


def _drawn(fields: Fields, key: Node, name: str, node: Node) -> DrawnSize | None:
    from stepcore.open_types.drawn import drawn_size

    found = fields.mapping(node, DRAWN_SCHEMA)
    if found is None:
        return None
    numbers = {each: fields.integer(found[each], each) for each in ("min", "max") if each in found}
    if "values" in found and not isinstance(found["values"], ListNode):
        fields.items(found["values"], "values")
        return None
    items = fields.items(found["values"], "values") if "values" in found else None
    values = None if items is None else [fields.integer(item, "a value") for item in items]
    if None in numbers.values() or None in (values or ()):
        return None
    try:
        return drawn_size(name, (numbers.get("min", 0), numbers.get("max")), values)
    except ValueError as error:
        fields.report("STEP907", key.span, str(error))
        return None


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.is_null


def _port(declared: Declared, node: Node, *, parameters: bool) -> Port | None:
    schema = PARAMETER_SCHEMA if parameters else INPUT_SCHEMA
    fields = declared.fields
    found = fields.mapping(node, schema)
    key = "parameters" if parameters else "inputs"
    if found is None:
        declared.dropped.add(key)
        return None
    name = declared.name(found.get("name"), f"the name of {schema.what}", key)
    stream, type_span = _stream(declared, found, name, schema.what, minimum=0 if parameters else 1)
    if parameters and stream is not _UNKNOWN_TYPE and not isinstance(stream.element, Scalar):
        fields.report("STEP907", type_span, "a parameter is a tensor of scalars: give its sizes in dims")
    data_gen = _data_gen(fields, found.get("data_gen"))
    minimum = fields.integer(found["min"], "min") if "min" in found else None
    maximum = fields.integer(found["max"], "max") if "max" in found else None
    refused = bounds_fault(None if stream is _UNKNOWN_TYPE else stream, (minimum, maximum))
    if refused is not None:
        fields.report("STEP907", found[refused[0]].span, refused[1])
    if name is None:
        return None
    before = len(fields.diagnostics)
    written = fields.flag(found.get("written"), "written") or len(fields.diagnostics) > before  # it shall say something
    port = Port(name, stream, data_gen, minimum, maximum, found["name"].span, type_span, written=written)
    return replace(port, layout=_layout(fields, found, partial(_input_layout, port)))


def _input_layout(port: Port, text: str) -> InputLayout:
    """Return the layout of an input; one that its elements cannot have is refused."""
    layout = input_layout(text)
    if port.type is not _UNKNOWN_TYPE:
        try:
            whole_port(port, layout)
        except LayoutError as error:
            raise LayoutError(f"{error}; remove it") from None
    return layout


def _stream(
    declared: Declared, found: dict[str, Node], name: str | None, what: str, *, minimum: int
) -> tuple[StreamType, Span]:
    """Return the type that ``dtype`` and ``dims`` give, and the span of ``dtype``."""
    dtype, dims = found.get("dtype"), found.get("dims")
    element = declared.fields.element(dtype, f"the dtype of {what}") if dtype is not None else None
    shape = declared.fields.shape(dims, f"dims of {what}", minimum=minimum) if dims is not None else None
    span = dtype.span if dtype is not None else Span(0, 0)
    known = None if element is None or shape is None else StreamType(element, shape)
    if known is not None and (problem := too_large(known)):
        declared.fields.report("STEP221", dims.span if dims is not None else span, f"{what} has {problem}")
        known = None
    if known is not None and any(size.is_open for size in known.shape):
        known = _of_known_kinds(declared.fields, known, dims, is_memory=minimum == 0)
    if known is None:
        if name is not None:
            declared.untyped.add(name)
        return _UNKNOWN_TYPE, span
    return known, span


def _of_known_kinds(fields: Fields, stream: StreamType, dims: Node | None, *, is_memory: bool) -> StreamType | None:
    """Return a type whose shape has sizes that only a run knows; None where these cannot stand there: reported."""
    from stepcore.open_types.rules import at_home, outermost_fault  # most types have static sizes

    assert isinstance(dims, ListNode), "a shape was read from it"
    fault = outermost_fault(stream.shape)
    if is_memory:
        fields.report("STEP226", dims.span, MEMORY_RULE)
    elif fault is not None:
        fields.report("STEP226", dims.items[-1].span, fault.message)
    else:
        return at_home(stream)
    return None


def _data_gen(fields: Fields, node: Node | None) -> str | None:
    if node is None or _is_null(node):
        return None
    value = fields.text(node, "data_gen")
    if value is None or not generator_fault(value):
        return value
    fields.report("STEP907", node.span, f"data_gen is {generator_fault(value)}")
    return None


def _output(declared: Declared, node: Node, parameters: Mapping[str, Port]) -> OutputPort | None:
    fields = declared.fields
    found = fields.mapping(node, OUTPUT_SCHEMA)
    if found is None:
        declared.dropped.add("outputs")
        return None
    name = declared.name(found.get("name"), "the name of an output", "outputs")
    stream, _ = _stream(declared, found, name, "an output", minimum=1)
    transforms = _transforms(fields, found.get("data_transform"), stream)
    if name is None:
        return None
    layout = _layout(fields, found, output_layout)
    memory = _memory(declared, found, stream, parameters)
    if "memory" in found and not memory:
        declared.untyped.add(name)
    return OutputPort(name, stream, transforms, found["name"].span, layout=layout, memory=memory)


def _memory(declared: Declared, found: dict[str, Node], stream: StreamType, parameters: Mapping[str, Port]) -> str:
    """Return the parameter whose content an output is; empty where it is a stream, or where that is reported."""
    if "memory" not in found:
        return ""
    fields, node = declared.fields, found["memory"]
    name = fields.text(node, "memory")
    port = parameters.get(name or "")
    if name is None:
        return ""
    if port is None and "parameters" in declared.dropped:
        return ""  # it may be the one that could not be read
    if port is None:
        near = nearest(name, [key for key, known in parameters.items() if known.written])
        advice = f"; did you mean {near[0]}?" if near else ""
        fields.report("STEP907", node.span, f"memory names a parameter, and none is called {clipped(name, 40)}{advice}")
    elif not port.written:
        fields.report("STEP907", node.span, f"{name} stays as it is; write written: true into the parameter")
    elif name not in declared.untyped and stream is not _UNKNOWN_TYPE and stream != port.type:
        text = f"an output in memory has the type of its parameter: {port.type.element}, {shape_text(port.type.shape)}"
        fields.report("STEP907", node.span, text)
    else:
        return name
    return ""


def _layout(fields: Fields, found: dict[str, Node], read: Callable[[str], L]) -> L | None:
    """Return what ``read`` makes of a layout, None where there is none; one that it refuses is reported, and lost."""
    node = found.get("layout")
    # Other tools may write something of their own; only text is ours.
    text = fields.text(node, "layout") or "" if isinstance(node, ScalarNode) and not node.is_null else ""
    if node is None or not text:
        return None
    try:
        return read(text)
    except LayoutError as error:
        fields.report("STEP907", node.span, str(error))
        return None


def _transforms(fields: Fields, node: Node | None, stream: StreamType) -> tuple[CodeBlock, ...]:
    if node is None:
        return ()
    nodes = fields.items(node, "data_transform")
    blocks = [fields.code(item, "a reference in data_transform") for item in nodes]
    wanted = len(components(stream.element))
    if isinstance(node, ListNode) and len(nodes) != wanted and stream is not _UNKNOWN_TYPE:
        what = f"one block for each component of the output: {wanted}, not {len(nodes)}"
        span = node.span if node.flow else Span(node.span.start, node.span.start + 1)
        fields.report("STEP907", span, f"data_transform needs {what}")
    return tuple(CodeBlock(block) for block in blocks if block is not None)


def _fn(declared: Declared, node: Node) -> FnDecl | None:
    fields = declared.fields
    found = fields.mapping(node, FN_SCHEMA)
    if found is None:
        declared.dropped.add("fns")
        return None
    func_name = declared.name(found.get("func_name"), "func_name", "fns")
    label = fields.text(found["name"], "the name of a function") if "name" in found else None
    types = {key: _fn_type(fields, found.get(key), key) for key in ("input_dtype", "output_dtype")}
    init_node = found.get("init")
    init = _init(fields, init_node, types["output_dtype"]) if init_node is not None else None
    source = fields.code(found["apply"], "apply") if "apply" in found else None
    if func_name is None:
        return None
    if None in types.values() or source is None:
        declared.untyped.add(func_name)
    spans = {key: value.span for key, value in found.items()}
    return FnDecl(
        func_name=func_name,
        label=label or func_name,
        input=types["input_dtype"] or Scalar(),
        output=types["output_dtype"] or Scalar(),
        body=CodeBlock(source or _NOWHERE_CODE, ("input",) if init is None else ("state", "input")),
        init=init,
        span=spans["func_name"],
        input_span=spans.get("input_dtype", spans["func_name"]),
        output_span=spans.get("output_dtype", spans["func_name"]),
        init_span=spans.get("init"),
    )


def _fn_type(fields: Fields, node: Node | None, key: str) -> Element | None:
    return fields.element(node, key) if node is not None else None


def _init(fields: Fields, node: Node, output: Element | None) -> tuple[float, ...] | None:
    """Read the constants of an accumulator; a wrong one counts as 0, so that the function keeps its kind."""
    if _is_null(node):
        return None
    if not isinstance(node, ListNode):
        fields.wrong_kind(node, "init has to be a list with one constant for each component, such as [0]")
        return (0.0,) * len(components(output)) if output is not None else (0.0,)
    values = [_constant(fields, item) for item in node.items]
    wanted = len(values) if output is None else len(components(output))
    if len(values) != wanted:
        message = f"init needs one constant for each component of the output: {wanted}, not {len(values)}"
        fields.report("STEP309", node.span, message)
    return (*values, *[0.0] * wanted)[:wanted]


def _constant(fields: Fields, node: Node) -> float:
    text = node.value if isinstance(node, ScalarNode) else ""
    # Only -inf is a string; in quotes the others would be texts.
    if text == "-inf" or (isinstance(node, ScalarNode) and not node.style and text in _INIT):
        return _INIT[text]
    found = f", not {clipped(text, 40)}" if text else ""
    message = f'an init constant is 0, 1, -1 or "-inf"{found}; it fills the whole component'
    fields.report("STEP309", node.span, message)
    return 0.0

"""Programs back to text: a graph as ``impl``, a key that folds equal graphs, a specification as a task file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.graph.ir import Graph, Node, OutputPort, Port, ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.ops.calling import value_text
from stepcore.ops.pace import LoopPart
from stepcore.printing.code_lines import constant_text
from stepcore.sizes.dim import Dim
from stepcore.types import Element, Shape, STuple, shape_text

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize

_PLAIN: Final = re.compile(r"[A-Za-z_][\w.]*(?: [\w.]+)*")
# What ruamel.yaml and other readers take for something else than text.
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE: Final = re.compile(
    r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def graph_to_impl(graph: Graph | TypedGraph) -> str:
    """Return ``graph`` as the text of ``impl``: one operator a line, inputs by name, streams as ``E2``, ``E3``, ...

    Raises:
        ValueError: the graph is not complete, so there is nothing that could stand for it.
    """
    return "\n".join(line for line, _ in impl_lines(graph))


def impl_lines(graph: Graph | TypedGraph) -> list[tuple[str, Node | None]]:
    """Return the lines of :func:`graph_to_impl`, each with the operator whose results it names, if it names some.

    Raises:
        ValueError: the graph is not complete.
    """
    names = _stream_names(graph)
    loops = _loop_names(graph, names)
    lines: list[tuple[str, Node | None]] = []
    for node in graph.nodes:
        *before, last = _node_lines(node, names, loops)
        lines += [*((line, None) for line in before), (last, node if node.outputs else None)]
    if graph.returns:
        lines.append((f"return {', '.join(names[index] for index in graph.returns)}", None))
    return lines


def canonical_key(graph: Graph | TypedGraph) -> str:
    """Return a key that equal graphs share, whatever their names and the order of independent operators.

    The two outputs of a Copy count as the same; how often each is consumed counts. What changes no result (depths of
    FIFOs) does not count.
    """
    uses = Counter(graph.returns)
    for node in graph.nodes:
        uses.update(node.inputs)
    keys = {index: f"input {position}" for position, index in enumerate(graph.inputs)}
    nodes: list[str] = []
    loops = [*_loop_names(graph, {})]
    for node in graph.nodes:
        given = _params(node) if node.op is None else node.op.calling.computing(_params(node))
        params = sorted((name, value_text(value)) for name, value in given.items())
        if node.op is not None and node.op.looping is not LoopPart.NOTHING:  # which loop it is matters, too
            params.append(("loop", str(loops.index(_loop_of(node)))))
        digest = _digest(node.op_name, params, [keys.get(index, "?") for index in node.inputs])
        is_copy = node.op_name == "Copy"
        keys |= {index: f"{digest} {0 if is_copy else slot}" for slot, index in enumerate(node.outputs)}
        counts = [uses[index] for index in node.outputs]
        nodes.append(_digest(digest, sorted(counts) if is_copy else counts))
    return _digest(sorted(nodes), [uses[index] for index in graph.inputs], [keys.get(i, "?") for i in graph.returns])


def task_to_yaml(spec: ProgramSpec, impl_text: str | None, metadata: Mapping[str, str]) -> str:
    """Return a task file in the published format.

    Args:
        spec: what the task declares; ``scope.prelude`` becomes ``global`` as it stands.
        impl_text: the program, or None for a task without an answer.
        metadata: ``test_name`` (the program's name unless given) and ``constraints``.
    """
    lines = [f"test_name: {_scalar(metadata.get('test_name') or spec.name)}"]
    if spec.scope.prelude is not None:
        lines += _block("global: ", "  ", spec.scope.prelude.source.text)
    if spec.drawn:
        lines += ["sizes:", *(f'  "{each.name}": {_drawn(each)}' for each in spec.drawn)]
    lines += _ports("inputs", spec.inputs) + (_ports("parameters", spec.parameters) if spec.parameters else [])
    if spec.fns:
        lines += ["fns:", *(line for fn in spec.fns for line in _fn(fn))]
    outputs = [line for output in spec.outputs or () for line in _output(output)]
    lines += ["outputs:", *outputs] if outputs else ["outputs: []"]
    constraints = metadata.get("constraints", "")
    if constraints:
        lines += _text("constraints: ", constraints)
    if impl_text is not None:
        lines += _block("impl: ", "  ", impl_text)
    return "\n".join(lines) + "\n"


def impl_to_yaml(impl: str) -> str:
    """Return a program as the key ``impl`` of a task file, or as a whole answer file, with a newline at the end."""
    return "\n".join(_block("impl: ", "  ", impl.strip("\n"))) + "\n"


def type_text(element: Element) -> str:
    """Return an element type as a YAML value that may also stand inside ``{ }``; a tuple is a list."""
    if isinstance(element, STuple):
        return f"[{', '.join(type_text(item) for item in element.items)}]"
    text = str(element)
    return f'"{text}"' if "," in text else text


def _stream_names(graph: Graph | TypedGraph) -> dict[int, str]:
    """Inputs keep their names; every other stream gets the next free ``E`` number in program order."""
    names = {index: graph.streams[index].name for index in graph.inputs}
    taken = {*names.values(), *(value.func_name for node in graph.nodes for value in _fns(node))}
    free = (name for number in count(len(names)) if (name := f"E{number}") not in taken)
    for node in graph.nodes:
        names.update(zip(node.outputs, free, strict=False))
    return names


def _loop_names(graph: Graph | TypedGraph, names: Mapping[int, str]) -> dict[int, str]:
    """Return the names of loops by the streams that they give: ``loop``, ``loop2``, ..."""
    begins = [node for node in graph.nodes if node.op is not None and node.op.looping is LoopPart.BEGINS]
    taken = {*names.values(), *(value.func_name for node in graph.nodes for value in _fns(node))} if begins else set()
    free = (name for number in count(1) if (name := f"loop{number if number > 1 else ''}") not in taken)
    return {node.outputs[0]: name for node, name in zip(begins, free, strict=False)}


def _node_lines(node: Node, names: Mapping[int, str], loops: Mapping[int, str]) -> list[str]:
    if node.op is None:
        raise ValueError("the graph is not complete: an operator could not be built")
    inputs, outputs = [names[index] for index in node.inputs], [names[index] for index in node.outputs]
    if node.op.looping is LoopPart.ENDS:
        return [f"{loops[_loop_of(node)]}.close({inputs[0]})"]
    if node.op.looping is LoopPart.BEGINS:
        params = {name: _value(value) for name, value in _params(node).items()}
        name, given = loops[node.outputs[0]], ", ".join(f"{key}={value}" for key, value in params.items())
        return [f"{name} = step.{node.written}({given})", f"{outputs[0]} = {name}.apply()"]
    params = {name: value_text(value) for name, value in _params(node).items()}
    return [node.op.calling.line(f"step.{node.written}", params, inputs, outputs)]


def _loop_of(node: Node) -> int:
    """Return the stream of the loop that a node begins or ends."""
    return int(getattr(node.op, "source", next(iter(node.outputs), -1)))


def _value(value: Any) -> str:
    """Return the value of a parameter as a program writes it, types and sizes of runs by their makers."""
    from stepcore.printing.python import element_text, size_text  # few operators have types as parameters

    if isinstance(value, Element):
        return element_text(value)
    if isinstance(value, tuple) and any(isinstance(size, Dim) and size.is_open for size in value):
        return f"[{', '.join(map(size_text, value))}]"
    return value_text(value)


def _params(node: Node) -> dict[str, Any]:
    return node.op.written_params() if node.op is not None else node.params


def _fns(node: Node) -> list[Any]:
    return [value for value in _params(node).values() if hasattr(value, "func_name")]


def _digest(*parts: object) -> str:
    from hashlib import blake2b  # it loads a library for secure connections

    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _dims(shape: Shape) -> str:
    """Return a shape as a YAML list; the marks of dynamic and ragged sizes stand in quotes."""
    if not any(size.is_open for size in shape):
        return shape_text(shape)
    return f"[{', '.join(_quoted(str(size)) if size.is_open else str(size) for size in shape)}]"


def _drawn(size: DrawnSize) -> str:
    if size.values is None:
        return f"{{min: {size.minimum}, max: {size.maximum}}}"
    return f"{{values: [{', '.join(map(str, size.values))}]}}"


def _ports(key: str, ports: tuple[Port, ...]) -> list[str]:
    return [f"{key}:", *map(_port, ports)] if ports else [f"{key}: []"]


def _port(port: Port) -> str:
    pairs = [("name", port.name), ("dtype", type_text(port.type.element)), ("dims", _dims(port.type.shape))]
    optional = (("data_gen", port.data_gen), ("min", port.minimum), ("max", port.maximum))
    pairs += [(key, str(value)) for key, value in optional if value is not None]
    pairs += [("layout", _quoted(port.layout.text()))] if port.layout else []
    pairs += [("written", "true")] if port.written else []
    return f"- {{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"


def _fn(fn: FnDecl) -> list[str]:
    lines = [f"- name: {_scalar(fn.label)}", f"  func_name: {fn.func_name}"]
    if fn.init is not None:
        lines.append(f"  init: [{', '.join(map(constant_text, fn.init))}]")
    lines += [f"  input_dtype: {_block_type(fn.input)}", f"  output_dtype: {_block_type(fn.output)}"]
    return lines + _block("  apply: ", "    ", fn.body.source.text)


def _output(output: OutputPort) -> list[str]:
    head = [f"- name: {output.name}", f"  dtype: {_block_type(output.type.element)}"]
    head.append(f"  dims: {_dims(output.type.shape)}")
    head += [f"  layout: {_quoted(output.layout.text())}"] if output.layout else []
    head += [f"  memory: {output.memory}"] if output.memory else []
    return head + (_transforms(output.transforms) if output.transforms else [])


def _transforms(blocks: Iterable[CodeBlock]) -> list[str]:
    return ["  data_transform:", *(line for block in blocks for line in _block("  - ", "    ", block.source.text))]


def _block_type(element: Element) -> str:
    return type_text(element) if isinstance(element, STuple) else str(element)


def _block(head: str, indent: str, text: str) -> list[str]:
    """Return ``text`` as a literal block, or in quotes where a block cannot hold it."""
    body = text.rstrip("\n")
    if not body or body[0] in " \t\n" or _UNPRINTABLE.search(body) or body.split("\n", 1)[0].isspace():
        return [head + _quoted(text)]
    ends = len(text) - len(body)
    chomping = "-" if ends == 0 else "" if ends == 1 else "+"
    lines = [indent + line if line else "" for line in body.split("\n")]
    return [f"{head}|{chomping}", *lines, *[""] * (ends - 1)]


def _text(head: str, text: str) -> list[str]:
    return _block(head, "  ", text) if "\n" in text else [head + _scalar(text, prose=True)]


def _scalar(text: str, *, prose: bool = False) -> str:
    """Return one line of text, plain where YAML reads it back as the same text."""
    is_plain = _is_prose(text) if prose else _PLAIN.fullmatch(text)
    return text if is_plain and text.lower() not in _WORDS else _quoted(text)


def _is_prose(text: str) -> bool:
    """True for a line that is safe as a plain scalar outside brackets although it holds quotes or signs."""
    has_marks = ": " in text or " #" in text or "\t" in text or _UNPRINTABLE.search(text)
    return text[:1].isalpha() and text[-1] not in " :" and not has_marks


def _quoted(text: str) -> str:
    """Return ``text`` in double quotes with the escapes of YAML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'

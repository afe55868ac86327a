"""Programs and compositions of a Python file: what their decorators and signatures declare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.fn.source import node_span
from stepcore.frontend import functions
from stepcore.frontend.draws import Drawn, drawn_data
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.literals import NoLiteral, literal_of
from stepcore.frontend.python.module import PyComposition, PyModule, PyProgram
from stepcore.frontend.python.ports import PortTypes, outputs_of
from stepcore.frontend.syntax import Block
from stepcore.frontend.values import Value, describe, is_unknown
from stepcore.graph.ir import OutputPort, Port, ProgramSpec, whole_port
from stepcore.graph.layouts import InputLayout, LayoutError, OutputLayout, input_layout, output_layout
from stepcore.ops import miscalls
from stepcore.sizes.dim import DEFAULT_SIZES, SIZE_RULE, is_size
from stepcore.text.span import Embedded, Span
from stepcore.text.wording import clipped
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize

L = TypeVar("L")
_LAYOUTS: Final = 'write layouts={"E0": "x[m, k]: read [i1, i0]", "S0": "permute [1, 0]; merge [1, 1]"}'
PROGRAM_PARAMETERS = ["reference", "dims", "name", "data", "sizes", "layouts", "constraints"]
COMPOSITION_PARAMETERS = ["reference", "weights", "dims", "name"]


class ProgramReader:
    """Reads one program or composition after the other into ``module``."""

    def __init__(self, el: Elaborator, module: PyModule, op_module: str) -> None:
        self.el = el
        self.module = module
        self.op_module = op_module
        self.ports = PortTypes(el, op_module)

    def program(self, node: ast.FunctionDef, decorator: ast.expr, block: Block) -> None:
        """Add a program to the module; report what its declaration lacks."""
        given: dict[str, ast.expr] = {}
        if isinstance(decorator, ast.Call):
            given = self._named("step.program", decorator, PROGRAM_PARAMETERS)
        functions.plain_arguments(self.el, "a program", node.args, keywords=True)
        code = block.code
        layouts, laid_out = self._layouts(given.get("layouts"), node)
        inputs: list[tuple[str, StreamType | None, Span]] = []
        ports: list[Port] = []
        positional = [*node.args.posonlyargs, *node.args.args]
        unnamed = [argument for argument in positional if self.ports.is_parameter(argument)]
        for argument in positional:
            if argument not in unnamed:
                stream_type, _ = self.ports.of_argument(argument, "Stream")
                inputs.append((argument.arg, stream_type, _named_at(code, argument)))
        if unnamed:
            self._by_position(node, unnamed, positional)
        memories = [(argument, *self.ports.of_argument(argument, "Param")) for argument in node.args.kwonlyargs]
        types = {name: stream_type for name, stream_type, _ in inputs}
        types |= {argument.arg: stream_type for argument, stream_type, _ in memories}
        types |= {argument.arg: None for argument in unnamed}
        data = drawn_data(self.el, given.get("data"), types)
        for name, stream_type, span in inputs:
            if stream_type is not None:
                port = _port(name, stream_type, span, data, layouts.get(name))
                ports.append(self._fitting(port, given.get("layouts")))
        parameters = [
            _port(argument.arg, stream_type, _named_at(code, argument), data, written=written)
            for argument, stream_type, written in memories
            if stream_type is not None
        ]
        dims = self._dims(given.get("dims"))
        drawn: tuple[DrawnSize, ...] = ()
        if "sizes" in given or any(port.type.is_open for port in ports):
            from stepcore.frontend.drawing import drawn_sizes  # most programs have static sizes

            drawn = drawn_sizes(self.el, given.get("sizes"), ports, complete=len(ports) == len(inputs))
        reference = ast.unparse(given["reference"]) if "reference" in given else None
        title = self._plain(given.get("name"))
        spec = ProgramSpec(
            name=title if isinstance(title, str) else node.name,
            inputs=tuple(ports),
            parameters=tuple(parameters),
            outputs=_laid_out(self.ports.outputs(node, parameters), laid_out),
            drawn=drawn,
            defaults=tuple({**DEFAULT_SIZES, **dims}.items()),
            reference=None if reference == "None" else reference,
            span=functions._name_span(self.el, node),
        )
        scope, broken = self.module.scope, _has_fault(block, node)
        program = PyProgram(spec, node, code, scope, self.op_module, inputs, broken, self.module.dialect)
        self.module.programs.append(program)

    def composition(self, node: ast.FunctionDef, decorator: ast.expr, block: Block) -> None:
        """Add a composition to the module; report what its declaration lacks."""
        given: dict[str, ast.expr] = {}
        if isinstance(decorator, ast.Call):
            given = self._named("step.composition", decorator, COMPOSITION_PARAMETERS)
        else:
            what = "step.composition takes its parameters in parentheses"
            self.el.report("STEP203", decorator, what, "write @step.composition(reference=...)")
        title = self._plain(given.get("name"))
        weights = given.get("weights")
        whole_of = node_span(block.code, node)
        composition = PyComposition(
            name=title if isinstance(title, str) else node.name,
            node=node,
            code=block.code,
            sizes=self._dims(given.get("dims")),
            weighted=weights is not None and not (isinstance(weights, ast.Constant) and weights.value is None),
            span=functions._name_span(self.el, node),
            extent=Span(node_span(block.code, node.decorator_list[0]).start, whole_of.end),
            broken=_has_fault(block, node),
        )
        self.module.compositions.append(composition)

    def _named(self, owner: str, decorator: ast.Call, known: list[str]) -> dict[str, ast.expr]:
        """Return the parameters of a decorator by name; report those that it does not have, or that have no name."""
        given = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
        for keyword in decorator.keywords:
            if keyword.arg and keyword.arg not in known:
                mistake = miscalls.unknown_keyword(owner, keyword.arg, dict.fromkeys(known, ""), given)
                self.el.unknown_keyword(keyword, mistake)
        functions.by_name_only(self.el, owner, decorator)
        return given

    def _plain(self, node: ast.expr | None) -> Value:
        """Return literals (strings, numbers, tuples, dictionaries of them) or an empty dictionary."""
        if node is None:
            return {}
        try:
            return literal_of(node)
        except NoLiteral:
            self.el.report("STEP204", node, "literals are expected here", "write the values out")
            return {}

    def _layouts(
        self, node: ast.expr | None, program: ast.FunctionDef
    ) -> tuple[dict[str, InputLayout | None], dict[str, OutputLayout | None]]:
        """Return the layouts of inputs and outputs (S0, S1 ...) by their names; report what cannot be read."""
        value = self._plain(node)
        found: dict[str, InputLayout | None] = {}
        laid_out: dict[str, OutputLayout | None] = {}
        if node is None or value == {}:
            return found, laid_out
        if not isinstance(node, ast.Dict) or not isinstance(value, dict):
            self.el.report("STEP907", node, "layouts are texts by the names of inputs and outputs", _LAYOUTS)
            return found, laid_out
        inputs = [argument.arg for argument in (*program.args.posonlyargs, *program.args.args)]
        outputs = [f"S{slot}" for slot in range(len(outputs_of(program)))]
        for key, place in zip(node.keys, node.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else None
            text = value.get(name) if isinstance(name, str) else None
            if not isinstance(name, str) or name not in {*inputs, *outputs}:
                self.el.report(
                    "STEP905", key or place, f"no input or output is named {clipped(repr(name), 40)}", _LAYOUTS
                )
            elif not isinstance(text, str):
                self.el.report("STEP907", place, f"the layout of {name} is a text", _LAYOUTS)
            elif name in inputs:
                found[name] = self._layout(input_layout, text, place)
            else:
                laid_out[name] = self._layout(output_layout, text, place)
        return found, laid_out

    def _layout(self, read: Callable[[str], L], text: str, place: ast.expr) -> L | None:
        try:
            return read(text) if text else None
        except LayoutError as error:
            what, _, why = str(error).rpartition(": ")
            self.el.report("STEP907", place, what or str(error), why)
            return None

    def _fitting(self, port: Port, node: ast.expr | None) -> Port:
        """Return an input without its layout where its elements can have none; that is reported."""
        if node is None or port.layout is None:
            return port
        try:
            whole_port(port, port.layout)
        except LayoutError as error:
            self.el.report("STEP907", node, str(error), "remove it")
            return replace(port, layout=None)
        return port

    def _dims(self, node: ast.expr | None) -> dict[str, int]:
        if node is None:
            return {}
        before = len(self.el.diagnostics)
        value = self.el.evaluate(node)
        if not isinstance(value, dict):
            del self.el.diagnostics[before:]  # whatever it is, it should be a dictionary
            text = f"dims binds sizes to integers, and {self.el.text(node)} is no dictionary of them"
            self.el.report("STEP204", node, text, "write dims={M: 5, N: 7}")
            return {}
        sizes: dict[str, int] = {}
        for (key, item), where in zip(value.items(), getattr(node, "values", [node] * len(value)), strict=False):
            name = str(key)
            if is_unknown(item):
                if len(self.el.diagnostics) == before:  # else it is told why
                    self.el.report("STEP217", where, f"the size {name} is not known before a run", SIZE_RULE)
            elif not is_size(item):
                self.el.report("STEP217", where, f"the size {name} is {describe(item)}", SIZE_RULE)
            elif name.isidentifier():
                sizes[name] = item
        return sizes

    def _by_position(self, node: ast.FunctionDef, unnamed: list[ast.arg], positional: list[ast.arg]) -> None:
        """Report parameters that a program takes by position; one star mends it where nothing else follows them."""
        first, arguments = unnamed[0], node.args
        rest = positional[positional.index(first) :]
        is_plain = rest == unnamed and not (arguments.kwonlyargs or arguments.posonlyargs or arguments.vararg)
        text = "step.Param marks a parameter, and a program takes parameters by keyword only"
        at = _named_at(self.el.frame.code, first).start
        fix = Fix("Write *, before it", (Edit(Span(at, at), "*, "),)) if is_plain else None
        assert first.annotation is not None, "it says that it is a parameter"
        self.el.report("STEP222", first.annotation, text, "write *, before the first of them", fix=fix)


def _named_at(code: Embedded, argument: ast.arg) -> Span:
    """Return where the name of an argument stands."""
    start = node_span(code, argument).start
    return Span(start, start + len(argument.arg))


def _port(
    name: str,
    stream_type: StreamType,
    span: Span,
    data: Mapping[str, Drawn],
    layout: InputLayout | None = None,
    *,
    written: bool = False,
) -> Port:
    how = data.get(name)
    if isinstance(how, str):
        return Port(name, stream_type, how, span=span, layout=layout, written=written)
    minimum, maximum = how or (None, None)
    return Port(name, stream_type, None, minimum, maximum, span=span, layout=layout, written=written)


def _laid_out(
    outputs: tuple[OutputPort, ...] | None, layouts: dict[str, OutputLayout | None]
) -> tuple[OutputPort, ...] | None:
    if not layouts or outputs is None:
        return outputs
    return tuple(replace(port, layout=layouts.get(f"S{slot}")) for slot, port in enumerate(outputs))


def _has_fault(block: Block, node: ast.FunctionDef) -> bool:
    return any(node.lineno - 1 <= fault.line <= (node.end_lineno or 0) for fault in block.suite.faults)

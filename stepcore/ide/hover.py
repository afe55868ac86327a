"""Hover: what the thing under the pointer is, with the values of the last run where there are some."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.fn.decl import FnDecl
from stepcore.frontend.functions import ELEMENTS
from stepcore.frontend.values import (
    FnClass,
    Helper,
    ModuleRef,
    OperatorRef,
    OperatorValue,
    TypeMaker,
    Value,
    ready_made,
)
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.ide import docs, hover_text
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.cursor import word_at
from stepcore.ide.marked import code, inline, words
from stepcore.ide.meaning import (
    Meaning,
    callee_meanings,
    inner_span,
    meanings,
    member_meaning,
    seeing,
    units_with,
)
from stepcore.ide.model import Hover
from stepcore.ide.names.document import ROOT, Form, Member, NameSpace, Reference, names_of
from stepcore.ide.proposals import DECORATORS
from stepcore.ide.tasks.keys import DOCUMENTATION, DRAWN
from stepcore.ide.tasks.tree import task_tree
from stepcore.sizes.dim import ANY, Dim
from stepcore.text.span import Span
from stepcore.text.wording import short_words
from stepcore.types import DTYPE_ALIASES, DTYPE_BYTES, Scalar

if TYPE_CHECKING:
    from stepcore.jobdata.programs import SimulateResult


def hover(analysis: Analysis, offset: int, run: SimulateResult | None = None) -> Hover | None:
    """Return what stands at ``offset``; ``run`` is the last run of the program there.

    The last one is remembered with the state of the document, as editors ask again while the pointer rests.
    """
    known: tuple[int, SimulateResult | None, Hover | None] | None = analysis.memo.get("hover")
    if known is None or known[0] != offset or known[1] is not run:
        known = analysis.memo["hover"] = offset, run, _hover(analysis, offset, run)
    return known[2]


def _hover(analysis: Analysis, offset: int, run: SimulateResult | None) -> Hover | None:
    if analysis.kind == "none":
        return None
    names = names_of(analysis)
    reference = names.at(offset)
    if reference is not None:
        # Of M_value the reference is only M.
        span = reference.span if offset <= reference.span.end else word_at(analysis.source.text, offset)
        return _shown(span, _reference(analysis, reference, run))
    member = names.member_at(offset)
    if member is not None:
        return _shown(names.parts[member[0]].outer(member[1].span), _member(analysis, *member))
    return _yaml(analysis, offset) if analysis.kind in ("task", "impl") else None


def _shown(span: Span, text: str | None) -> Hover | None:
    return None if text is None else Hover(span, short_words(text))


# -- names -----------------------------------------------------------------------------------------------


def _reference(analysis: Analysis, reference: Reference, run: SimulateResult | None) -> str | None:
    binding = reference.binding
    if reference.form is Form.KEYWORD and binding.space is NameSpace.FREE:
        return _keyword(analysis, reference)
    declared = _declaration(analysis, reference)
    if declared is not None:
        return declared
    found = meanings(analysis, reference)
    if found:
        return _values(analysis, reference, found, run)
    if binding.space is NameSpace.FREE and analysis.kind != "python":
        return docs.IN_SCOPE.get(binding.name)
    return None


def _declaration(analysis: Analysis, reference: Reference) -> str | None:
    """Text about weights, outputs, and arguments of element functions, which evaluation does not know."""
    binding = reference.binding
    if binding.space is NameSpace.WEIGHT:
        port = _weight(analysis, binding.name)
        return None if port is None else _sized(hover_text.weight_text(seeing(analysis.units[0]), port))
    if binding.space is NameSpace.OUTPUT:
        spec = _task_spec(analysis)
        outputs = () if spec is None else spec.outputs or ()
        output = next((item for item in outputs if item.name == binding.name), None)
        return None if output is None else _sized(hover_text.output_text(seeing(analysis.units[0]), output))
    if binding.space is NameSpace.LOCAL:
        decl = _function_around(analysis, reference)
        if decl is not None and binding.name in decl.body.arguments:
            return docs.rule(hover_text.argument_text(decl, binding.name), "Element functions")
    return None


def _sized(text: str) -> str:
    return docs.rule(text, "Order of sizes")


def _weight(analysis: Analysis, name: str) -> Port | None:
    specs = [program.spec for unit in analysis.units for program in unit.result.programs]
    task = _task_spec(analysis)
    specs += [task] if task is not None else []
    return next((port for spec in specs for port in spec.parameters if port.name == name), None)


def _task_spec(analysis: Analysis) -> ProgramSpec | None:
    task = analysis.units[0].result.task if analysis.units else None
    return None if task is None else task.spec


def _function_around(analysis: Analysis, reference: Reference) -> FnDecl | None:
    """Return the element function whose argument a local name is."""
    names = names_of(analysis)
    binding = reference.binding
    part = names.parts[binding.part]
    if analysis.kind == "python":
        scope = part.table.scopes[binding.scope]
        if scope.role != "fn" or binding.name not in scope.parameters:
            return None
        if part.table.scopes[scope.parent].kind == "class":
            return _class_function(analysis, part.table.scopes[scope.parent].name)
        for unit, _ in units_with(analysis, reference.span):
            module = unit.result.module
            value = None if module is None else module.scope.names.get(scope.name)
            return value if isinstance(value, FnDecl) else None
        return None
    spec = _task_spec(analysis)
    if spec is None or binding.scope != ROOT:
        return None
    return next((fn for fn in spec.fns if part.code is not None and fn.body.source.outer == part.code.outer), None)


def _class_function(analysis: Analysis, name: str) -> FnDecl | None:
    """Return an instance of a function class that the document makes."""
    decls = (fn for unit in analysis.units if unit.result.module is not None for fn in unit.result.module.fns)
    return next((fn for fn in decls if fn.func_name == name), None)


def _values(analysis: Analysis, reference: Reference, found: list[Meaning], run: SimulateResult | None) -> str | None:
    name = reference.binding.name
    streams = {(place, stream.index): (place, stream) for meaning in found for place, stream in meaning.streams}
    if streams:
        text = hover_text.streams_text(analysis, found[0].unit, name, list(streams.values()), run)
        return docs.rule(text, "Affine rule")
    return _value(analysis, reference.span, name, found[0])


def _value(analysis: Analysis, span: Span, name: str, meaning: Meaning) -> str | None:
    value, unit = meaning.value, meaning.unit
    match value:
        case FnDecl():
            return docs.rule(hover_text.function_text(unit, value), "Element functions")
        case OperatorRef(cls=cls) if cls is not None:
            return docs.rule(docs.operator_text(cls, _here(unit, span)), cls.__name__)
        case OperatorValue(ref=ref) if ref.cls is not None:
            return docs.rule(docs.operator_text(ref.cls), ref.cls.__name__)
        case Dim():
            return _size(analysis, unit, name, value)
        case Scalar():
            return docs.dtype_text(value.dtype)
        case TypeMaker(name=maker):
            return docs.step_text(maker)
        case ModuleRef(name="stepcore" | "stepcore.fns"):
            return docs.IN_SCOPE["step"] if value.name == "stepcore" else docs.step_text("fns")
        case ModuleRef():
            return _program(analysis, name)
        case FnClass(node=node):
            made = _class_function(analysis, node.name)
            return None if made is None else docs.rule(hover_text.function_text(unit, made), "Element functions")
        case Helper(node=helper):
            return _helper(unit, name, helper)
        case bool() | int() | float() | str():
            return code(f"{name} = {value!r}")
    return _function(value) or (
        docs.rule(hover_text.element_text(name, value), "Element types") if isinstance(value, ELEMENTS) else None
    )


def _function(value: Value) -> str | None:
    """Return what a function of stepcore is: one of ``step.fns``, or ``step.count``."""
    ready = ready_made(value)
    if ready:
        from stepcore.ide.ready_made import text  # few files name one

        return text(ready)
    # The class of step.count is imported only by programs that name it.
    return docs.step_text("count") if getattr(value, "is_count", False) else None


def _size(analysis: Analysis, unit: DocumentUnit, name: str, value: Dim) -> str:
    if value.is_open or str(value)[0] == ANY:
        specs = [program.spec for each in analysis.units for program in each.result.programs]
        task = _task_spec(analysis)
        text = hover_text.open_size_text([*specs, *(() if task is None else (task,))], name, value)
        return docs.rule(text, "Dynamic and ragged sizes")
    if str(value) == name:
        return docs.rule(hover_text.size_text(unit, name), "Sizes")
    bindings = {} if unit.checked is None else unit.checked.spec.bindings()
    bound = f" = {value.bind(bindings)}" if value.symbols() <= bindings.keys() else ""
    return code(f"{name} = {value}{bound}")


def _program(analysis: Analysis, name: str) -> str | None:
    specs = {program.name: (unit, program.spec) for unit in analysis.units for program in unit.result.programs}
    for unit in analysis.units:
        for item in () if unit.result.module is None else unit.result.module.programs:
            specs[item.node.name] = unit, item.spec
    if name not in specs:
        return None
    return docs.rule(hover_text.program_text(seeing(specs[name][0]), specs[name][1]), "Programs")


def _helper(unit: DocumentUnit, name: str, node: ast.FunctionDef | ast.Lambda) -> str | None:
    """Text about a function that programs call or are compared with; others are none of our business."""
    programs = unit.result.programs
    compared = [program.name for program in programs if program.spec.reference == name]
    calls = any(isinstance(item.value, Helper) and item.value.node is node for p in programs for item in p.seen)
    what = "A helper: its body counts as written at each call." if calls else ""
    if compared:
        what = f"The PyTorch function that {', '.join(compared)} is compared with."
    if not what:
        return None
    doc = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
    return "\n\n".join(part for part in (code(f"{name}({ast.unparse(node.args)})"), what, words(doc or "")) if part)


# -- operators and their parameters --------------------------------------------------------------------------


def _member(analysis: Analysis, part: int, member: Member) -> str | None:
    span = names_of(analysis).parts[part].outer(member.span)
    found = member_meaning(analysis, part, member)
    whole = Span(names_of(analysis).parts[part].outer(Span(member.root, member.root)).start, span.end)
    return _value(analysis, whole, member.path[-1], found[0]) if found else None


def _here(unit: DocumentUnit, whole: Span) -> str:
    """Return what the operator written at ``whole`` does to the types of its streams."""
    inner = inner_span(unit, whole)
    here = seeing(unit)
    node = None if inner is None else here.nodes.get(inner)
    if node is None or here.checked is None:
        return ""
    streams = here.checked.graph.streams
    inputs = ", ".join(inline(here.type_text(streams[i].type)) for i in node.inputs)
    outputs = ", ".join(inline(here.type_text(streams[i].type)) for i in node.outputs)
    return f"Here: {inputs or 'nothing'} → {outputs or 'memory'}" if inputs or outputs else ""


def _keyword(analysis: Analysis, reference: Reference) -> str | None:
    """Text about a keyword of an operator, of ``step.fn`` or of ``step.program``."""
    name = reference.binding.name
    names = names_of(analysis)
    part = names.parts[reference.part]
    inner = part.inner(reference.span.start)
    item = None if inner is None else part.table.at(inner)
    if item is None:
        return None
    found = callee_meanings(analysis, reference.part, item.callee)
    return parameter_text(found[0].value, name) if found else None


def parameter_text(callee: Value, name: str) -> str | None:
    """Return what a parameter of an operator, of ``step.fn`` or ``step.program`` is."""
    match callee:
        case OperatorRef(cls=cls) if cls is not None:
            param = cls.calling.by_name.get(name)
            text = f"`{name}` ({cls.calling.kind_text(param)}): {param.doc}" if param is not None else ""
            return docs.rule(text, cls.__name__) if text else None
        case TypeMaker(name=maker) if maker in DECORATORS:
            doc = DECORATORS[maker].get(name)
            title = "Layouts" if name == "layouts" else docs.SECTIONS[maker]
            return None if doc is None else docs.rule(f"`{name}`: {doc}.", title)
    return None


# -- YAML --------------------------------------------------------------------------------------------------


def _yaml(analysis: Analysis, offset: int) -> Hover | None:
    tree = task_tree(analysis.source.text)
    for word, span in tree.types:
        if span.start <= offset <= span.end:
            return _shown(span, _type_word(word))
    for entry in tree.entries:
        known = DRAWN if entry.owner == "size" else DOCUMENTATION
        if entry.key_span.start <= offset <= entry.key_span.end and entry.key in known:
            text = f"{code(f'{entry.key}:')}\n\n{known[entry.key]}"
            return Hover(entry.key_span, docs.rule(text, "Layouts" if entry.key == "layout" else "Task form"))
    return None


def _type_word(word: str) -> str | None:
    dtype = DTYPE_ALIASES.get(word, word)
    if dtype in DTYPE_BYTES:
        return docs.dtype_text(dtype)
    return docs.task_type_text(word)

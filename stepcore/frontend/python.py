"""Python files: finds element functions, helpers and programs, without importing anything of the file.

``read_module`` never raises on user input: what cannot be read becomes a finding, and the rest is still there.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, starmap
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from stepcore.findings import budget
from stepcore.findings.budget import Budget, OutOfBudget
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.findings.near import nearest
from stepcore.fn.aliases import with_aliases
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.source import dotted, node_span
from stepcore.frontend import advice, calls, functions
from stepcore.frontend.beginnings import MOST_BLOCKS, MOST_STEPS, Beginning, declares, lasts, words_of
from stepcore.frontend.bindings import bound_names
from stepcore.frontend.draws import Drawn, drawn_data
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.imports import Imports
from stepcore.frontend.literals import NoLiteral, literal_of
from stepcore.frontend.state import Abandon, Frame
from stepcore.frontend.syntax import Block, block_at, fault_diagnostics, placed, split_blocks, unmarked
from stepcore.frontend.values import (
    UNKNOWN,
    EvaluationContext,
    FnClass,
    Helper,
    ModuleRef,
    ProgramBuiltin,
    Scope,
    Seen,
    TypeMaker,
    Value,
    describe,
    holds_unknown,
    is_unknown,
)
from stepcore.graph.ir import OutputPort, Port, ProgramSpec, whole_port
from stepcore.graph.layouts import InputLayout, LayoutError, OutputLayout, input_layout, output_layout
from stepcore.ops import GENERATION_1, miscalls
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import DEFAULT_SIZES, SIZE_RULE, Dim, is_size
from stepcore.text.span import Embedded, SourceFile, Span
from stepcore.text.wording import clipped, whole
from stepcore.types import StreamType, STuple, tensor_shapes

if TYPE_CHECKING:
    from stepcore.open_types.drawn import DrawnSize

_STREAM: Final = TypeMaker("Stream")
_OURS: Final = (FnDecl, FnClass, TypeMaker, ProgramBuiltin, Dim, *functions.ELEMENTS)
_MAKES_STREAMS: Final = re.compile(r"\bStream(?:\.of)?\(")
_PUBLISHED: Final = re.compile(r"^(?:import step(?![\w.])|from step import )", re.MULTILINE)
L = TypeVar("L")
_LAYOUTS: Final = 'write layouts={"E0": "x[m, k]: read [i1, i0]", "S0": "permute [1, 0]; merge [1, 1]"}'
PROGRAM_PARAMETERS = ["reference", "dims", "name", "data", "sizes", "layouts", "constraints"]
COMPOSITION_PARAMETERS = ["reference", "weights", "dims", "name"]


@dataclass(slots=True)
class PyProgram:
    """One ``@step.program`` function. ``types`` holds the type of each input, None where it cannot be read."""

    spec: ProgramSpec
    node: ast.FunctionDef
    code: Embedded
    scope: Scope
    op_module: str
    inputs: list[tuple[str, StreamType | None, Span]]
    broken: bool  # a line of it was left out
    dialect: Dialect = GENERATION_1


@dataclass(slots=True)
class PyComposition:
    """One ``@step.composition`` function. ``sizes`` are those that it binds, ``weighted``: it has ``weights=``.

    ``span`` is its name, ``extent`` all of it with its decorators.
    """

    name: str
    node: ast.FunctionDef
    code: Embedded
    sizes: dict[str, int]
    weighted: bool
    span: Span
    extent: Span
    broken: bool  # a line of it was left out
    dialect: Dialect = GENERATION_1


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What the functions of a file depend on besides the definitions that they name: all programs of the file.

    ``parameters`` are the weights of all programs, ``sizes`` what they bind by default (None where they differ),
    ``programs`` their names.
    """

    parameters: frozenset[str] = frozenset()
    sizes: frozenset[tuple[str, int | None]] = frozenset()
    programs: frozenset[str] = frozenset()

    @staticmethod
    def joined(parts: Iterable[ModuleFacts]) -> ModuleFacts:
        """Return what the programs of all parts of a file come to."""
        parts = tuple(parts)
        if len(parts) == 1:  # as of each unit of an editor's document
            return parts[0]
        parameters: set[str] = set()
        programs: set[str] = set()
        sizes: dict[str, int | None] = {}
        for part in parts:
            parameters |= part.parameters
            programs |= part.programs
            for symbol, size in part.sizes:
                sizes[symbol] = size if sizes.get(symbol, size) == size else None
        return ModuleFacts(frozenset(parameters), frozenset(sizes.items()), frozenset(programs))


@dataclass(slots=True)
class PyModule:
    """What a Python file holds for us. ``fns`` are all element functions at module level.

    ``facts`` are those of its own programs, ``others`` what was said about further programs of a file of which this
    is only a part. ``seen`` are the names that evaluation met outside of programs.
    """

    source: SourceFile
    programs: list[PyProgram] = field(default_factory=list)
    compositions: list[PyComposition] = field(default_factory=list)
    fns: list[FnDecl] = field(default_factory=list)
    scope: Scope = field(default_factory=lambda: Scope({}))
    fn_scope: FnScope = field(default_factory=FnScope)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    imports_stepcore: bool = False
    op_module: str = ""  # the name that the file gives to stepcore
    others: ModuleFacts = field(default_factory=ModuleFacts)
    seen: list[Seen] = field(default_factory=list)
    dialect: Dialect = GENERATION_1

    @property
    def facts(self) -> ModuleFacts:
        """What functions depend on in the programs of this text."""
        return ModuleFacts.joined(
            ModuleFacts(
                frozenset(port.name for port in program.spec.parameters),
                frozenset(program.spec.defaults),
                frozenset((program.node.name,)),
            )
            for program in self.programs
        )


def imports_published(text: str) -> bool:
    """Whether a script imports the language under its published name and makes streams."""
    if "stepcore" in text or "Stream" not in text:
        return False
    return _MAKES_STREAMS.search(text) is not None and _PUBLISHED.search(text) is not None


def read_module(
    text: str,
    path: str,
    others: ModuleFacts | None = None,
    *,
    blocks: Sequence[str] | None = None,
    dialect: Dialect = GENERATION_1,
) -> PyModule:
    """Read a Python file, or a part of one; a file that does not mention stepcore costs next to nothing.

    ``blocks`` are those of ``text`` where they are known: none of them may have a fault, for where such a one ends
    depends on what follows it.

    A script that says ``import step``, as published ones do, and makes streams is read as if it said ``stepcore``.
    """
    source = SourceFile(path, unmarked(text))
    module = PyModule(source, others=others or ModuleFacts(), dialect=dialect)
    if "stepcore" in text or imports_published(text):
        with budget.limited(len(text)):
            _Reader(module, "step" if imports_published(source.text) else "stepcore").read(blocks)
    return module


class _Pending(NamedTuple):
    """A program or composition that is read when the whole module is known.

    ``undefined`` are the names among its reference and weights that have no definition yet.
    """

    kind: str
    node: ast.FunctionDef
    decorator: ast.expr
    block: Block
    undefined: tuple[ast.Name, ...]


@lru_cache(maxsize=16)
def _beginning(start: int, texts: tuple[str, ...], stepcore: str, dialect: Dialect) -> Beginning | None:
    """Return what as many of these blocks as may be shared come to as the first of a text; None for none."""
    blocks = list(starmap(block_at, placed(start, texts)))
    count = len(blocks)
    while count:  # twice at most: what the first time may be shared may be so again
        reader = _Reader(PyModule(SourceFile("", ""), dialect=dialect), stepcore)
        found, count = reader.beginning(blocks[:count]), reader.shared
        if found is not None:
            return found
    return None


class _Reader:
    def __init__(self, module: PyModule, stepcore: str) -> None:
        self.module = module
        self.el = Elaborator("", {}, dialect=module.dialect)
        module.seen = self.el.seen
        module.scope.names.update({name: ModuleRef(name) for name in module.others.programs})
        self.statements: list[tuple[ast.stmt, Embedded]] = []
        self.modules: dict[str, str] = {}
        self.stepcore = stepcore
        self.op_module = ""  # the name that the file gives to stepcore
        self.pending: list[_Pending] = []
        self.imports = self.module.scope.imports = Imports()
        self.loose: set[str] = set()  # names that statements such as `if` and `try` bind, or a star import may
        self.shared = 0  # how many of the first blocks may be shared, once `beginning` was asked for

    def read(self, texts: Sequence[str] | None) -> None:
        scope = self.module.scope
        blocks = split_blocks(self.module.source.text) if texts is None else placed(0, texts)
        first: list[tuple[int, str]] = []
        declared = 0
        for place in blocks:
            first.append(place)
            if not declares(place[1]) or len(first) > MOST_BLOCKS:
                break
            declared += 1
        for place in chain(first[self._begin(first[:declared]) :], blocks):
            self.block(block_at(*place))
        self.module.imports_stepcore = any(
            isinstance(value, TypeMaker) or (isinstance(value, ModuleRef) and value.name.startswith("stepcore"))
            for value in scope.names.values()
        )
        self.module.op_module = self.op_module
        for item in self.pending:
            # A scope of its own: what one program misspells is news in the next one too.
            self.el.frame = Frame(Scope({}, scope), item.block.code, EvaluationContext("root", item.block.code))
            try:
                self._declared(item)
            except (Abandon, RecursionError):
                continue
            except OutOfBudget as error:
                self.el.out_of_budget(error)
            finally:
                self.el.settle()
        self._finish()
        self.module.diagnostics.extend(self.el.diagnostics)

    def block(self, block: Block) -> None:
        """Read the statements of one block."""
        self.module.diagnostics.extend(fault_diagnostics(block.suite, block.code, "STEP902"))
        self.el.frame = Frame(self.module.scope, block.code, EvaluationContext("root", block.code))
        for statement in block.suite.body:
            self.statements.append((statement, block.code))
            try:
                self._statement(statement, block)
            except (Abandon, RecursionError):
                continue
            except OutOfBudget as error:
                self.el.out_of_budget(error)
                break
            finally:
                self.el.settle()  # the limit is meant for one program, not for a long file

    def _begin(self, blocks: list[tuple[int, str]]) -> int:
        """Take over what the first blocks came to elsewhere; return how many are read with that."""
        own = budget.current()
        if not blocks or own is None:
            return 0
        texts = tuple([text for _, text in blocks])
        known = _beginning(blocks[0][0], texts, self.stepcore, self.module.dialect)
        if known is None or own.left < known.steps or own.looks < known.looks:
            return 0
        if not known.words.isdisjoint(self.module.others.programs):
            return 0
        own.left -= known.steps
        own.looks -= known.looks
        self.module.scope.names.update(known.names)
        self.el.seen += known.seen
        self.statements += known.statements
        self.imports.statements += known.imports
        self.modules.update(known.modules)
        self.op_module = known.op_module
        self.loose |= known.loose
        return known.blocks

    def beginning(self, blocks: list[Block]) -> Beginning | None:
        """Read blocks as the first of a text; None where not all may be shared, :attr:`shared` says how many may."""
        names = self.module.scope.names
        with budget.using(Budget(MOST_STEPS)) as own:
            self.el.begin()
            looks = own.looks
            for self.shared, block in enumerate(blocks):
                self.block(block)
                if own.left < 0 or own.is_spent or self.el.diagnostics or self.el.graph.streams:
                    return None
                if not all(lasts(value) for value in names.values()):
                    return None
        return Beginning(
            len(blocks), names, words_of(self.statements), self.el.seen, self.statements, self.imports.statements,
            self.modules, self.op_module, frozenset(self.loose), MOST_STEPS - own.left, looks - own.looks,
        )  # fmt: skip

    def _declared(self, item: _Pending) -> None:
        """Read a program or composition."""
        if item.kind == "composition":
            self._composition(item.node, item.decorator, item.block)
        else:
            self._program(item.node, item.decorator, item.block)
        for name in item.undefined:
            self._report_undefined(name, item)
        if not any(name is _root(_given(item.decorator, "reference")) for name in item.undefined):
            self._no_function(item.kind, item.decorator)

    def _statement(self, statement: ast.stmt, block: Block) -> None:
        names = self.module.scope.names
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self.imports.statements.append((statement, block.code))
        match statement:
            case ast.Import():
                for alias in statement.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    target = alias.name if alias.asname else bound
                    target = "stepcore" if target == self.stepcore else target
                    names[bound] = ModuleRef(target)
                    self.modules[bound] = target
                    if target == "stepcore":
                        self.op_module = self.op_module or bound
            case ast.ImportFrom():
                self._import_from(statement)
            case ast.FunctionDef():
                self._function(statement, block)
            case ast.AsyncFunctionDef():
                self._refuse_async(statement)
                names[statement.name] = UNKNOWN
            case ast.ClassDef():
                bases = [self._quiet(base) for base in statement.bases]
                is_fn = any(isinstance(base, TypeMaker) and base.name == "Fn" for base in bases)
                names[statement.name] = (
                    FnClass(statement, self.module.scope, block.code) if is_fn else ModuleRef(statement.name)
                )
            case ast.Assign() | ast.AnnAssign() if statement.value is not None:
                self._assign(statement, statement.value)
            case _:
                self.loose.update(bound_names(statement))

    def _import_from(self, statement: ast.ImportFrom) -> None:
        names = self.module.scope.names
        for alias in statement.names:
            bound = alias.asname or alias.name
            if alias.name == "*" and statement.module in (self.stepcore,) and self.stepcore != "stepcore":
                names.update(calls.star_members(self.el, "stepcore"))
            elif alias.name == "*" and statement.module in ("stepcore", "stepcore.dims"):
                names.update(calls.star_members(self.el, statement.module))
            elif alias.name == "*" and statement.module in ("sympy", "sympy.abc"):
                names.update(calls.star_members(self.el, statement.module))
                self.loose.add("*")
            elif alias.name == "*":
                self.loose.add("*")
            elif statement.module == self.stepcore:
                names[bound] = calls.step_member(self.el, alias.name, alias)
            elif statement.module in calls.SYMBOLS:
                names[bound] = Dim.symbol(alias.name)
            elif alias.name == "Annotated":
                names[bound] = TypeMaker("Annotated")
            else:
                names[bound] = ModuleRef(f"{statement.module}.{alias.name}")
                self.modules[bound] = f"{statement.module}.{alias.name}"

    def _aside(self, evaluate: Callable[..., Value], *nodes: ast.AST) -> Value:
        """Evaluate where unknown names, once noted as reported, do not stay in the module's scope."""
        frame = self.el.frame
        frame.scope = Scope({}, self.module.scope)
        try:
            return evaluate(*nodes)
        finally:
            frame.scope = self.module.scope

    def _quiet(self, node: ast.expr) -> Value:
        """Evaluate without findings: most of a Python file is none of our business."""
        count = len(self.el.diagnostics)
        value = self._aside(self.el.evaluate, node)
        del self.el.diagnostics[count:]
        return value

    def _valued(self, node: ast.expr) -> Value:
        """Return the value of what is assigned, with findings where it makes a type or a function."""
        if isinstance(node, ast.Tuple) and ast.Starred not in map(type, node.elts):
            return tuple(map(self._valued, node.elts))  # A, B = step.Tile(...), step.Tile(...)
        if isinstance(node, ast.Call):
            maker = self._quiet(node.func)
            if isinstance(maker, FnClass | TypeMaker) and maker != _STREAM:  # outside of programs Python makes streams
                return self._aside(self.el.evaluate, node)
        return self._quiet(node)

    def _assign(self, statement: ast.Assign | ast.AnnAssign, value: ast.expr) -> None:
        result = self._valued(value)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(result, tuple) and len(target.elts) == len(result):
                pairs = list(zip(target.elts, result, strict=True))
            else:
                pairs = [(target, result)]
            for part, item in pairs:
                for node in ast.walk(part):
                    if isinstance(node, ast.Name):
                        self.module.scope.names[node.id] = item if node is part else UNKNOWN
        if isinstance(result, FnDecl):
            self.module.fns.append(result)

    def _function(self, statement: ast.FunctionDef, block: Block) -> None:
        names = self.module.scope.names
        decorator, kind = self._decorator(statement)
        if kind in ("program", "composition"):
            self.pending.append(_Pending(kind, statement, decorator, block, self._undefined(decorator)))
            names[statement.name] = ModuleRef(statement.name)
        elif kind == "fn":
            value = self._aside(self._element_function, statement, decorator)
            names[statement.name] = value
            if isinstance(value, FnDecl):
                self.module.fns.append(value)
        else:
            names[statement.name] = Helper(statement, self.module.scope, block.code)
        for other in statement.decorator_list:
            if kind and other is not decorator:
                self.el.report("STEP220", other, f"@step.{kind} stands alone", "remove this decorator")

    def _decorator(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[ast.expr, str]:
        """Return the decorator of ours that counts, with its name; the name is empty where there is none.

        The innermost one counts, because it gets the function itself.
        """
        for decorator in reversed(statement.decorator_list):
            maker = self._quiet(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if isinstance(maker, TypeMaker) and maker.name in calls.DECORATORS:
                return decorator, maker.name
        return ast.Constant(None), ""

    def _refuse_async(self, statement: ast.AsyncFunctionDef) -> None:
        _, kind = self._decorator(statement)
        if kind:
            what = calls.DECORATORS[kind]
            self.el.report("STEP220", functions._name_span(self.el, statement), f"{what} cannot be async", "write def")

    def _element_function(self, statement: ast.FunctionDef, decorator: ast.expr) -> Value:
        if isinstance(decorator, ast.Call):
            return functions.from_decorator(self.el, statement, decorator)
        text = "step.fn needs the types of the function; write @step.fn(input=..., output=...)"
        self.el.report("STEP203", decorator, text)
        return UNKNOWN

    # -- references --------------------------------------------------------------------------------

    def _undefined(self, decorator: ast.expr) -> tuple[ast.Name, ...]:
        """Return the names of a program's reference, and of weights, of which nothing is defined above it."""
        roots = (_root(_given(decorator, key)) for key in ("reference", "weights"))
        return tuple(root for root in roots if isinstance(root, ast.Name) and not self._is_bound(root.id))

    def _is_bound(self, name: str) -> bool:
        known = name in self.module.scope.names or hasattr(builtins, name)
        return known or name in self.loose or "*" in self.loose

    def _report_undefined(self, name: ast.Name, item: _Pending) -> None:
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

    def _no_function(self, kind: str, decorator: ast.expr) -> None:
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

    # -- programs ------------------------------------------------------------------------------------

    def _program(self, node: ast.FunctionDef, decorator: ast.expr, block: Block) -> None:
        given: dict[str, ast.expr] = {}
        if isinstance(decorator, ast.Call):
            given = self._named("step.program", decorator, PROGRAM_PARAMETERS)
        functions.plain_arguments(self.el, "a program", node.args, keywords=True)
        code = block.code
        layouts, laid_out = self._layouts(given.get("layouts"), node)
        inputs: list[tuple[str, StreamType | None, Span]] = []
        ports: list[Port] = []
        positional = [*node.args.posonlyargs, *node.args.args]
        unnamed = [argument for argument in positional if self._is_parameter(argument)]
        for argument in positional:
            if argument not in unnamed:
                stream_type, _ = self._port_type(argument, "Stream")
                inputs.append((argument.arg, stream_type, _named_at(code, argument)))
        if unnamed:
            self._by_position(node, unnamed, positional)
        memories = [(argument, *self._port_type(argument, "Param")) for argument in node.args.kwonlyargs]
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
            outputs=_laid_out(self._outputs(node, parameters), laid_out),
            drawn=drawn,
            defaults=tuple({**DEFAULT_SIZES, **dims}.items()),
            reference=None if reference == "None" else reference,
            span=functions._name_span(self.el, node),
        )
        scope, broken = self.module.scope, _has_fault(block, node)
        program = PyProgram(spec, node, code, scope, self.op_module, inputs, broken, self.module.dialect)
        self.module.programs.append(program)

    def _composition(self, node: ast.FunctionDef, decorator: ast.expr, block: Block) -> None:
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
        outputs = [f"S{slot}" for slot in range(len(_outputs_of(program)))]
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
            if not is_size(item):
                self.el.report("STEP217", where, f"the size {name} is {describe(item)}", SIZE_RULE)
            elif name.isidentifier():
                sizes[name] = item
        return sizes

    def _is_parameter(self, argument: ast.arg) -> bool:
        """Return whether an argument is annotated as a parameter."""
        match argument.annotation:
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Attribute() | ast.Name() | ast.Call() as kind, *_])):
                marker = kind.func if isinstance(kind, ast.Call) else kind
                if isinstance(marker, ast.Attribute | ast.Name):
                    value = self.el.evaluate(marker)
                    return isinstance(value, TypeMaker) and value.name == "Param"
        return False

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

    def _port_type(self, argument: ast.arg, kind: str) -> tuple[StreamType | None, bool]:
        """Return the type of an argument, and whether stores may write it."""
        example = f"{argument.arg}: Annotated[step.{kind}, step.f32, (M, N)]"
        if argument.annotation is None:
            self.el.report("STEP222", argument, f"{argument.arg} has no type", f"write {example}")
            return None, False
        return self._annotation(argument.annotation, kind, example)

    def _annotation(self, node: ast.expr, kind: str, example: str) -> tuple[StreamType | None, bool]:
        before = len(self.el.diagnostics)
        value = self.el.evaluate(node)
        match value:
            case (TypeMaker("Annotated"), TypeMaker(name, written), element, tuple() | list() as sizes) if name == kind:
                return self._stream_type(node, element, sizes, may_be_scalar=kind == "Param"), written
        if len(self.el.diagnostics) == before and not holds_unknown(value):
            self._no_type(node, value, kind, example)
        return None, False

    def _no_type(self, node: ast.expr, value: Value, kind: str, example: str) -> None:
        """Report an annotation that is no type of a stream, by what was written where that shows what is meant."""
        text, fix = f"{self.el.text(node)} is not the type of a {_KINDS[kind]}", None
        way_out, where = f"write {example}", self.el.span(node)
        parts = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
        match value:
            case (TypeMaker("Annotated"), TypeMaker(name), _, *sizes) if name == kind and len(parts) > 2:
                if all(isinstance(size, Dim | int) and not isinstance(size, bool) for size in sizes):
                    shape = ", ".join(self.el.text(part) for part in parts[2:])
                    shape = f"({shape},)" if len(sizes) == 1 else f"({shape})"
                    written = self.el.span(parts[2]).cover(self.el.span(parts[-1]))
                    shown = ", ".join(self.el.text(part) for part in parts[2:])
                    what = "is no tuple" if len(sizes) == 1 else "are no tuple"
                    text = f"the third part of Annotated is the shape, a tuple of sizes, and {shown} {what}"
                    way_out = f"write {shape}"
                    fix = self.el.replacing(parts[2], shape) if len(sizes) == 1 else None
                    where = written
        self.el.report("STEP222", where, text, way_out, fix=fix)

    def _stream_type(
        self, node: ast.expr, element: Value, sizes: Iterable[Value], *, may_be_scalar: bool
    ) -> StreamType | None:
        if isinstance(element, tuple | list) and all(isinstance(item, functions.ELEMENTS) for item in element):
            element = STuple(element)
        sizes = list(sizes)
        others = [size for size in sizes if type(size) is not Dim]
        if is_unknown(element) or any(map(is_unknown, others)):
            return None
        if not isinstance(element, functions.ELEMENTS):
            shown = self._part(node, 1)
            text = f"the second part of Annotated is the element type, and {self.el.text(shown)} is none"
            scalar = advice.scalar_for(_last(shown))
            way_out, fix = "for example step.f32", None
            if scalar and self.el.op_module:
                way_out, fix = (
                    f"write {self.el.op_module}.{scalar}",
                    self.el.replacing(shown, f"{self.el.op_module}.{scalar}"),
                )
            self.el.report("STEP222", shown, text, way_out, fix=fix)
            return None
        if (not sizes and not may_be_scalar) or not all(
            isinstance(size, int) and not isinstance(size, bool) for size in others
        ):
            shown = self._part(node, 2)
            text = f"the third part of Annotated is the shape, a tuple of sizes, and {self.el.text(shown)} is none"
            self.el.report("STEP222", shown, text, "sizes are symbols and integers, for example (M, N)")
            return None
        wrong = next((size for size in others if not is_size(size)), None)
        if wrong is not None:
            self.el.report("STEP217", node, f"a size of this shape is {whole(wrong)}", SIZE_RULE)
            return None
        return self.el.stream_type(node, element, sizes)

    def _part(self, node: ast.expr, index: int) -> ast.expr:
        """Return one of the parts of ``Annotated[...]``, or all where they are not written here."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > index:
            return node.slice.elts[index]
        return node

    def _outputs(self, node: ast.FunctionDef, parameters: Iterable[Port]) -> tuple[OutputPort, ...] | None:
        """Return what is declared behind the arrow, and the parameters that may be written; None without an arrow."""
        memory = tuple(OutputPort(p.name, p.type, memory=p.name, span=p.span) for p in parameters if p.written)
        if node.returns is None:
            return None
        if isinstance(node.returns, ast.Constant) and node.returns.value is None and (memory or _names_a_store(node)):
            return memory or None  # that a parameter may not be written is said where it is stored
        example = "-> Annotated[step.Stream, step.f32, (M, N)]"
        found = []
        for part in _outputs_of(node):
            stream_type, _ = self._annotation(part, "Stream", example)
            if stream_type is None:
                return None
            found.append(OutputPort("", stream_type, span=node_span(self.el.frame.code, part)))
        return (*found, *memory)

    # -- what element functions may use -------------------------------------------------------------------

    def _finish(self) -> None:
        scope = self.module.scope
        facts = ModuleFacts.joined((self.module.facts, self.module.others))
        symbols = {name for name, value in scope.names.items() if isinstance(value, Dim) and str(value) == name}
        bound = {symbol for symbol, _ in facts.sizes}
        prelude = self._prelude(bound)
        scope_of_fns = FnScope(
            prelude=prelude,
            parameters=tuple(sorted(facts.parameters)),
            symbols=tuple(sorted(symbols | bound)),
            modules=tuple(sorted({"torch": "torch", **self.modules}.items())),
            bare_parameters=True,
            sizes=tuple(sorted((symbol, size) for symbol, size in facts.sizes if size is not None)),
        )
        self.module.fn_scope = with_aliases(scope_of_fns, prelude)

    def _prelude(self, bound: set[str]) -> CodeBlock | None:
        """Return the module-level statements that element functions use, in the order of the file."""
        text = self.module.source.text
        changes = any(sign in text for sign in (":=", *(f".{name}(" for name in calls.LIST_METHODS)))
        candidates = [(statement, code, self._made(statement, changes)) for statement, code in self.statements]
        # ``D_value = 16`` of a size in dims= is what a run binds, not a constant.
        sizes = {f"{symbol}_value" for symbol in bound}
        candidates = [item for item in candidates if item[2] - sizes]
        if not candidates:
            return None
        wanted = _loaded_names(body for statement, _ in self.statements for body in self._fn_bodies(statement))
        chosen: list[tuple[ast.stmt, Embedded]] = []
        for statement, code, made in reversed(candidates):
            if made & wanted:
                chosen.append((statement, code))
                wanted |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
        return _join_statements(chosen[::-1]) if chosen else None

    def _made(self, statement: ast.stmt, changes: bool) -> set[str]:
        """Return the names that a statement binds or changes, unless they are element functions, types or sizes.

        ``changes``: some expression of the file may bind a name or change a list.
        """
        match statement:
            case ast.FunctionDef():
                made = set() if statement.decorator_list else {statement.name}
            case ast.Assign(targets=[ast.Name(id=name)]) if not changes:  # as most are
                made = {name}
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                made = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                made |= _changed_names(statement)
            case ast.AugAssign() | ast.Expr() | ast.For():
                made = _changed_names(statement)
            case _:
                return set()
        return set() if any(map(self._is_ours, made)) else made

    def _fn_bodies(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of ``statement`` that run as part of an element function."""
        if isinstance(statement, ast.ClassDef):
            return statement.body if isinstance(self.module.scope.names.get(statement.name), FnClass) else []
        if not isinstance(statement, ast.FunctionDef) or not statement.decorator_list:
            return []
        if isinstance(self.module.scope.names.get(statement.name), FnDecl):
            return statement.body
        return [inner for inner in statement.body if isinstance(inner, ast.FunctionDef)]

    def _is_ours(self, name: str) -> bool:
        return isinstance(self.module.scope.names.get(name), _OURS)


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


_KINDS: Final = {"Stream": "stream", "Param": "parameter"}


def _last(node: ast.expr) -> str:
    """Return ``float32`` for ``torch.float32`` and ``"float32"``."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    path = dotted(node)
    return path[-1] if path is not None else ""


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


def _outputs_of(node: ast.FunctionDef) -> list[ast.expr]:
    """Return the annotations of a program's results, one of each stream."""
    returns = node.returns
    if isinstance(returns, ast.Subscript) and isinstance(returns.value, ast.Name) and returns.value.id == "tuple":
        return list(returns.slice.elts) if isinstance(returns.slice, ast.Tuple) else [returns.slice]
    return [] if returns is None else [returns]


def _names_a_store(node: ast.FunctionDef) -> bool:
    """Return whether a program mentions an operator that stores off chip, by any of its names."""
    names = (part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in ast.walk(node))
    return any(name.endswith("OffChipStore") for name in names)


def _has_fault(block: Block, node: ast.FunctionDef) -> bool:
    return any(node.lineno - 1 <= fault.line <= (node.end_lineno or 0) for fault in block.suite.faults)


def _changed_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds anew wherever they stand in it, and those whose lists it changes."""
    found: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.NamedExpr(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.For(target=target):
                found |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.Assign(targets=targets):
                found |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in calls.LIST_METHODS:
                found.add(name)
    return found


def _loaded_names(statements: Iterable[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _join_statements(chosen: list[tuple[ast.stmt, Embedded]]) -> CodeBlock:
    pieces: list[str] = []
    offsets: list[int] = []
    for statement, code in chosen:
        inner = code.inner
        for line in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
            text = inner.line_text(line)
            pieces.append(text if text.endswith(("\n", "\r")) else text + "\n")
            offsets.append(code.line_offsets[line])
    offsets.append(offsets[-1] + len(pieces[-1]))
    return CodeBlock(Embedded("".join(pieces), tuple(offsets), Span(min(offsets), max(offsets))))

"""Reading a Python file block by block: what its statements bind, and which functions are ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import starmap, takewhile
from typing import Final

from stepcore.findings import budget
from stepcore.findings.budget import Budget, OutOfBudget
from stepcore.findings.diagnostics import Severity
from stepcore.fn.decl import FnDecl
from stepcore.fn.source import augmented
from stepcore.frontend import calls, functions
from stepcore.frontend.beginnings import MOST_BLOCKS, MOST_STEPS, Beginning, declares, lasts, words_of
from stepcore.frontend.bindings import bound_names
from stepcore.frontend.changes import is_quiet
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.expressions import named_lambda
from stepcore.frontend.imports import Imports
from stepcore.frontend.python.module import ModuleFacts, PyModule
from stepcore.frontend.python.prelude import changes_of, fn_scope_of
from stepcore.frontend.python.programs import ProgramReader
from stepcore.frontend.python.references import Pending, References
from stepcore.frontend.python.unfollowed import forget_unfollowed, forgotten
from stepcore.frontend.state import Abandon, Frame
from stepcore.frontend.syntax import Block, block_at, fault_diagnostics, placed, split_blocks, unmarked
from stepcore.frontend.values import (
    UNKNOWN,
    EvaluationContext,
    FnClass,
    Helper,
    LosingStatement,
    ModuleRef,
    Scope,
    TypeMaker,
    Value,
    holds_stream,
)
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, SourceFile

_STREAM: Final = TypeMaker("Stream")
_MAKES_STREAMS: Final = re.compile(r"\bStream(?:\.of)?\(")
_PUBLISHED: Final = re.compile(r"^(?:import step(?![\w.])|from step import )", re.MULTILINE)


def imports_published(text: str) -> bool:
    """Whether a script imports the language under its published name and makes streams."""
    if "stepcore" in text or "Stream" not in text:
        return False
    return _MAKES_STREAMS.search(text) is not None and _PUBLISHED.search(text) is not None


def may_be_ours(text: str) -> bool:
    """Whether a Python file is read at all: it names the language, under its own name or the published one."""
    return "stepcore" in text or imports_published(text)


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
    if others is not None or may_be_ours(text):
        with budget.limited(len(text)):
            _Reader(module, "step" if imports_published(source.text) else "stepcore").read(blocks)
    return module


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
        module.scope.names.update({name: ModuleRef(name) for name in sorted(module.others.programs)})
        self.statements: list[tuple[ast.stmt, Embedded]] = []
        self.modules: dict[str, str] = {}
        self.stepcore = stepcore
        self.op_module = ""  # the name that the file gives to stepcore
        self.pending: list[Pending] = []
        self.imports = self.module.scope.imports = Imports()
        self.loose: set[str] = set()  # names that statements such as `if` and `try` bind, or a star import may
        self.references = References(self.el, module, self.loose)
        self.shared = 0  # how many of the first blocks may be shared, once `beginning` was asked for

    def read(self, texts: Sequence[str] | None) -> None:
        scope = self.module.scope
        blocks = list(split_blocks(self.module.source.text) if texts is None else placed(0, texts))
        first = list(takewhile(lambda place: declares(place[1]), blocks[:MOST_BLOCKS]))
        for place in blocks[self._begin(first) :]:
            self.block(block_at(*place))
        self.module.imports_stepcore = any(
            isinstance(value, TypeMaker) or (isinstance(value, ModuleRef) and value.name.startswith("stepcore"))
            for value in scope.names.values()
        )
        self.module.op_module = self.op_module
        changes = changes_of(self.statements, are_quiet=all(is_quiet(text) for _, text in blocks))
        outdated: Mapping[int, dict[str, LosingStatement]] = {}
        if self.pending:
            whole = [statement for statement, _ in self.statements]
            outdated = forget_unfollowed(scope, whole, changes, [item.node for item in self.pending], self.modules)
            self.loose.update(scope.unfollowed or (), *outdated.values())
        programs = ProgramReader(self.el, self.module, self.op_module)
        for item in self.pending:
            # A scope of its own: what one program misspells is news in the next one too.
            self.el.unfollowed.clear()
            self.el.frame = Frame(Scope({}, scope), item.block.code, EvaluationContext("root", item.block.code))
            try:
                with forgotten(scope, outdated.get(id(item.node))):
                    self._declared(item, programs)
            except (Abandon, RecursionError):
                continue
            except OutOfBudget as error:
                self.el.out_of_budget(error)
            finally:
                self.el.settle()
        self.module.fn_scope = fn_scope_of(self.module, self.statements, self.modules, changes)
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

    def _declared(self, item: Pending, programs: ProgramReader) -> None:
        """Read a program or composition."""
        if item.kind == "composition":
            programs.composition(item.node, item.decorator, item.block)
        else:
            programs.program(item.node, item.decorator, item.block)
        self.references.report(item)

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
            case ast.AugAssign(target=ast.Name() as target):
                self._assign(ast.Assign([target], augmented(statement)), augmented(statement))
            case ast.Global(names=declared):
                self._declare(statement, declared)
            case _:
                self.loose.update(bound_names(statement))

    def _declare(self, statement: ast.Global, declared: list[str]) -> None:
        """Report ``global`` of a name that the module has bound before, with which Python reads no file."""
        for name in declared:
            if name in self.module.scope.names or name in self.loose:
                text = f"this line cannot be read: {name} is assigned to before global declaration"
                self.el.report("STEP902", statement, f"{text}; remove it: names of a module are global anyway")

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
        """Evaluate without findings: most of a Python file is none of our business, and what has some is unknown."""
        count = len(self.el.diagnostics)
        value = self._aside(self.el.evaluate, node)
        found = self.el.diagnostics[count:]
        del self.el.diagnostics[count:]
        return UNKNOWN if any(item.severity is Severity.ERROR for item in found) else value

    def _valued(self, node: ast.expr) -> Value:
        """Return the value of what is assigned, with findings where it makes a type or a function."""
        if isinstance(node, ast.Tuple) and ast.Starred not in map(type, node.elts):
            return tuple(map(self._valued, node.elts))  # A, B = step.Tile(...), step.Tile(...)
        if isinstance(node, ast.Lambda):
            return self._aside(partial(named_lambda, self.el), node)
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
                        known = item if node is part else UNKNOWN
                        # A stream made here is none of a program's, whose streams are told apart by their numbers.
                        self.module.scope.names[node.id] = ModuleRef(node.id) if holds_stream(known) else known
        if isinstance(result, FnDecl):
            self.module.fns.append(result)

    def _function(self, statement: ast.FunctionDef, block: Block) -> None:
        names = self.module.scope.names
        decorator, kind = self._decorator(statement)
        if any(isinstance(each, ast.Constant) and each.value is ... for each in statement.decorator_list):
            names[statement.name] = UNKNOWN  # a line that did not parse
        elif kind in ("program", "composition"):
            self.pending.append(Pending(kind, statement, decorator, block, self.references.undefined(decorator)))
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

"""One program of a Python file as a task file."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from textwrap import dedent
from typing import Final

from stepcore.check.programs import Checked, check_program
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.frontend.bindings import bound_names as names_of_statement
from stepcore.frontend.changes import Changes, MadeNames, read_later
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.expressions import BUILTINS, function_definition
from stepcore.frontend.python import PyModule, PyProgram
from stepcore.frontend.state import Frame
from stepcore.frontend.values import EvaluationContext, Scope
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate.certificate import is_text
from stepcore.gate.clean import Unclean, require_clean, require_clean_fns, require_clean_program, within_budget
from stepcore.gate.rewriting import CodeNames, ConvertError, bound_names, kept_name, node_span, parse_code, rewrite
from stepcore.graph.ir import OutputPort, reference_ports
from stepcore.ops.dialect import Dialect
from stepcore.printing.task import graph_to_impl, task_to_yaml
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.text.span import Embedded, SourceFile
from stepcore.text.wording import counted
from stepcore.types import components

_INIT_CALLS: Final = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}


def python_to_task(module: PyModule, program: PyProgram) -> str:
    """Return one program of a Python file as a task file.

    Raises:
        ConvertError: something has no counterpart in task files; the message says what.
    """
    with within_budget(module.source):
        text = _ToTask(module, program).text()
    _require_task(text, module.dialect)
    return text


def _require_task(text: str, dialect: Dialect) -> None:
    """Refuse what a Python file may hold and a task file may not, such as a reference that writes into its arguments.

    Raises:
        ConvertError: checking the task finds an error; the message says which.
    """
    try:
        require_clean(read_task(text, "", dialect=dialect))
    except Unclean as error:
        raise ConvertError(f"a task file does not take it: {error.found.code} {error.found.message}") from error


class _ToTask:
    def __init__(self, module: PyModule, program: PyProgram) -> None:
        self._module = module
        self._program = program
        self._parameters = {port.name for port in program.spec.parameters}
        self._checked: Checked = check_program(program, module.fn_scope)
        self._text = module.source.text.removeprefix("\ufeff").removeprefix("\f")
        self._statements = parse_code(self._text)
        self._changes = Changes([(node, ast.get_source_segment(self._text, node) or "") for node in self._statements])
        self._imports = _imports(self._statements)
        self._uses_math = False

    def text(self) -> str:
        spec = self._program.spec
        if spec.outputs is None:
            raise ConvertError(f"{spec.name} declares no outputs; a task file needs them: add -> Annotated[...]")
        require_clean_program(self._module, self._checked)
        decls = self._fns(self._nested_fns())
        fns = tuple(self._fn(decl) for decl in decls)
        outputs, reference_code = self._outputs(spec.outputs)
        impl = self._impl({fn.func_name for fn in fns})
        code = "\n".join([*(fn.body.source.text for fn in fns), reference_code])
        prelude = self._prelude(code, impl or "")
        require_clean_fns(self._module, decls)
        task = replace(
            spec,
            fns=fns,
            outputs=outputs,
            scope=replace(spec.scope, prelude=_code_block(prelude) if prelude else None),
        )
        return task_to_yaml(task, impl, {"test_name": spec.name, "constraints": self._constraints()})

    def _constraints(self) -> str:
        for decorator in self._program.node.decorator_list:
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg == "constraints":
                    value = ast.literal_eval(keyword.value)
                    return value if isinstance(value, str) else ""
        return ""

    # -- functions -------------------------------------------------------------------------------

    def _nested_fns(self) -> list[FnDecl]:
        program = self._program
        el = Elaborator("", program.spec.bindings(), program.op_module, program.dialect)
        el.frame = Frame(Scope({}, program.scope), program.code, EvaluationContext("root", program.code))
        found = (function_definition(el, node) for node in program.node.body if isinstance(node, ast.FunctionDef))
        return [value for value in found if isinstance(value, FnDecl)]

    def _fns(self, nested: list[FnDecl]) -> list[FnDecl]:
        """Return the program's functions in the order of the file; in a file with several programs, what it uses."""
        used = list(self._checked.spec.fns)
        shared = self._module.fns if len(self._module.programs) == 1 else []
        unique = {decl.func_name: decl for decl in (*shared, *nested, *used)}
        return sorted(unique.values(), key=lambda decl: decl.span.start)

    def _fn(self, decl: FnDecl) -> FnDecl:
        source = decl.body.source
        comments = _comments_above(self._module.source, source.line_offsets[0]) if source.verbatim else ""
        text = _plain_lines(f"{comments}{dedent(source.text)}")
        own = ("state", "input") if decl.has_state else ("input",)
        renamed = {old: new for old, new in zip(decl.body.arguments, own, strict=False) if old != new}
        stored = {name: name for name in self._parameters - bound_names(text).stored}
        body = self._plain_imports(rewrite(text, CodeNames(renamed=renamed, stored=stored)))
        init = _init_constants(decl) if decl.init_body is not None else decl.init
        return replace(decl, body=replace(_code_block(body), arguments=own), init=init, init_body=None)

    # -- the program -----------------------------------------------------------------------------

    def _impl(self, fns: set[str]) -> str | None:
        """Return the body as it is written if a task can say it, else the program that it stands for."""
        program = self._program
        inputs = {port.name for port in program.spec.inputs}
        lines = [node for node in program.node.body if not isinstance(node, ast.FunctionDef) and not is_text(node)]
        body = [node for node in lines if not _is_size_in_run(node, inputs)]
        if all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body):
            return None
        text = _source_lines(program.code.text, body)
        if program.op_module != "step":
            text = rewrite(text, CodeNames(renamed={program.op_module: "step"}))
        names = bound_names(text)
        sizes = program.spec.bindings()
        known = {"step", *fns, *BUILTINS, *names.stored, *(port.name for port in program.spec.inputs)}
        known |= {*PREDECLARED_SYMBOLS, *sizes, *(f"{name}_value" for name in sizes)}
        if names.loaded <= known and not any(isinstance(node, ast.FunctionDef) for node in _walk(body)):
            return text
        if not self._checked.graph.complete:
            undecided = self._checked.undecided
            why = "it has findings; check it first" if undecided is None else undecided.message
            raise ConvertError(f"{program.spec.name} uses what a task file cannot say, and {why}")
        return graph_to_impl(self._checked.graph)

    # -- the reference ---------------------------------------------------------------------------

    def _outputs(self, outputs: tuple[OutputPort, ...]) -> tuple[tuple[OutputPort, ...], str]:
        """Return the outputs with their reference blocks, and all code of these."""
        named = [replace(output, name=f"S{position}") for position, output in enumerate(outputs)]
        if self._program.spec.reference is None:
            return tuple(named), ""
        counts = [len(components(output.type.element)) for output in named]
        kept = [kept_name(out.name, i, n) for out, n in zip(named, counts, strict=True) for i in range(n)]
        blocks = self._reference_blocks(kept)
        filled: list[OutputPort] = []
        for output, count in zip(named, counts, strict=True):
            filled.append(replace(output, transforms=tuple(map(_code_block, blocks[:count]))))
            blocks = blocks[count:]
        code = "\n".join(block.source.text for output in filled for block in output.transforms)
        return tuple(filled), code

    def _reference_blocks(self, kept: list[str]) -> list[str]:
        """Return one block per component; ``kept`` are the names that a converted reference keeps its values under."""
        function = self._reference_function()
        body = [node for node in function.body if not is_text(node)]
        returns = list(_returns(function.body))
        last = body[-1]
        if len(returns) != 1 or not isinstance(last, ast.Return) or last.value is None:
            raise ConvertError(f"the reference {function.name} has to end with its only return")
        results = last.value.elts if isinstance(last.value, ast.Tuple) and len(kept) > 1 else [last.value]
        if len(results) != len(kept):
            found = counted(len(results), "value")
            raise ConvertError(f"the reference {function.name} returns {found}, not {len(kept)}")
        statements = [node for node in body[:-1] if not _is_size(node) and not _is_input_data(node)]
        statements = self._without_copies(statements, {name for name in map(_single_name, body) if name})
        blocks: list[str] = []
        for result, name in zip(results, kept, strict=True):
            taken = self._split(statements, result, last_block=len(blocks) == len(kept) - 1)
            blocks.append(self._block(statements[:taken], result, name))
            statements = statements[taken:]
        return self._by_input_data(function, blocks)

    def _without_copies(self, statements: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """Leave out what the module computes in the same words: a converted reference follows sizes by it.

        ``bound`` are the names that the reference binds; one that it binds otherwise makes a copy something else.
        """
        ours = {ast.unparse(node) for node in self._statements}
        left = [node for node in statements if ast.unparse(node) not in ours]
        sizes = {f"{name}_value" for name in self._program.spec.bindings()}
        own = {name for node in left for name in bound_names(ast.unparse(node)).stored} | (
            bound - {_single_name(node) for node in statements} - sizes
        )
        return [
            node for node in statements if node in left or not own.isdisjoint(bound_names(ast.unparse(node)).loaded)
        ]

    def _block(self, statements: list[ast.stmt], result: ast.expr, kept: str) -> str:
        """Return a block whose value is ``result``; a last line that assigns it says so already."""
        value: ast.AST | None = result
        if statements and _binds(statements[-1], result):
            *before, last = statements
            is_ours = isinstance(last, ast.Assign) and _single_name(last) == kept
            statements, value = (before, last.value) if isinstance(last, ast.Assign) and is_ours else (statements, None)
        expression = (ast.get_source_segment(self._text, value) or "") if value is not None else ""
        return "\n".join(piece for piece in (_source_lines(self._text, statements), dedent(expression)) if piece)

    def _split(self, statements: list[ast.stmt], result: ast.expr, *, last_block: bool) -> int:
        """Return how many statements belong to the block of ``result``: those up to where its name is bound."""
        if last_block:
            return len(statements)
        return next((i + 1 for i, node in enumerate(statements) if _binds(node, result)), 0)

    def _by_input_data(self, function: ast.FunctionDef, blocks: list[str]) -> list[str]:
        """Let the blocks read tensors through ``input_data``; an argument that is bound anew is read once before."""
        inputs = [port.name for port in reference_ports(self._program.spec)]
        positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        by_name = [*positional[len(inputs) :], *(argument.arg for argument in function.args.kwonlyargs)]
        arguments = dict(zip(positional, inputs, strict=False)) | {name: name for name in by_name}
        rebound = bound_names("\n".join(blocks)).stored & arguments.keys()
        names = CodeNames(stored={name: tensor for name, tensor in arguments.items() if name not in rebound})
        head = [f"{name} = input_data['{tensor}']" for name, tensor in arguments.items() if name in rebound]
        converted = [self._plain_imports(rewrite(block, names)) for block in blocks]
        return ["\n".join([*head, converted[0]]), *converted[1:]]

    def _reference_function(self) -> ast.FunctionDef:
        name = self._program.spec.reference
        for node in self._statements:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        raise ConvertError(f"the reference {name} is no function of this file; a task file needs its code")

    # -- global ----------------------------------------------------------------------------------

    def _prelude(self, code: str, impl: str) -> str:
        """Return ``global``: the module-level code that is used, and the sizes that are no defaults of tasks."""
        sizes = dict(self._program.spec.defaults)
        wanted = set(bound_names(code).loaded | bound_names(impl).loaded)
        wanted |= read_later([self._made(node) for node in self._statements if self._is_of_global(node)], wanted)
        kept: list[str] = []
        values: dict[str, str] = {}
        for node in reversed(self._statements):
            source = self._global_code(node, wanted)
            if source:
                names = bound_names(source)
                wanted |= names.loaded | names.stored  # ``k += [1]`` reads what it binds
                name = _single_name(node)
                if name.endswith("_value") and name.removesuffix("_value") in sizes:
                    values[name.removesuffix("_value")] = source
                else:
                    kept.append(source)
        bound = [self._size(name, size, values) for name, size in sizes.items() if DEFAULT_SIZES.get(name) != size]
        head = ["import math"] if self._uses_math else []
        return "\n".join([*head, *(line for lines in bound for line in lines), *reversed(kept)])

    def _size(self, name: str, size: int, values: dict[str, str]) -> Iterator[str]:
        yield values.get(name, f"{name}_value = {size}")
        if name not in PREDECLARED_SYMBOLS:
            yield f'{name} = Symbol("{name}")'
        yield f"ctx[{name}] = {name}_value"

    def _made(self, node: ast.stmt) -> MadeNames:
        return MadeNames(self._changes.named(node), self._changes.bound(node), self._changes.changed(node))

    def _is_of_global(self, node: ast.stmt) -> bool:
        """Whether a module-level statement may stand in ``global``: no element function, program or reference does."""
        ours = {decl.func_name for decl in self._module.fns} | {self._program.spec.reference}
        is_program = isinstance(node, ast.FunctionDef) and bool(node.decorator_list)
        return not is_program and ours.isdisjoint(names_of_statement(node))

    def _global_code(self, node: ast.stmt, wanted: set[str]) -> str:
        """Return the text of a module-level statement if it binds or changes a name that is wanted."""
        if not self._made(node).makes(wanted) or not self._is_of_global(node):
            return ""
        return self._plain_imports(_wanted_part(node, wanted, self._text) or _source_lines(self._text, [node]))

    def _plain_imports(self, code: str) -> str:
        """Return ``code`` with imported names written out: tasks have ``torch``, and ``math`` where they import it."""
        names = bound_names(code)
        used = {name: full for name, full in self._imports.items() if name in names.loaded - names.stored}
        for full in used.values():
            if full.partition(".")[0] == "math":
                self._uses_math = True
            elif full.partition(".")[0] != "torch":
                raise ConvertError(f"task files have torch only, and this file uses {full}")
        return rewrite(code, CodeNames(renamed={name: full for name, full in used.items() if name != full}))


def _wanted_part(node: ast.stmt, wanted: set[str], text: str) -> str:
    """Return the assignments of those names that are wanted where several get values side by side: ``N, T = 4, ...``.

    Empty where all are wanted, or where one value reads what another gets.
    """
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            bound = [name.id for name in names if isinstance(name, ast.Name)]
            read = {each.id for value in values for each in ast.walk(value) if isinstance(each, ast.Name)}
            if len(bound) < len(values) or read & set(bound) or wanted >= set(bound):
                return ""
            sources = [ast.get_source_segment(text, value) or "" for value in values]
            return "\n".join(
                f"{name} = {source}" for name, source in zip(bound, sources, strict=True) if name in wanted
            )
    return ""


def _imports(statements: tuple[ast.stmt, ...]) -> dict[str, str]:
    """Return the full names of what a file imports, by the names that it uses for them; not those of stepcore."""
    found: dict[str, str] = {}
    for node in statements:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            full = alias.name if alias.asname else bound
            found[bound] = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else full
    return {bound: full for bound, full in found.items() if full.partition(".")[0] not in {"stepcore", "typing"}}


def _init_constants(decl: FnDecl) -> tuple[float, ...]:
    """Read the published ``getInit``: one ``torch.zeros(...)`` or the like for each component."""
    assert decl.init_body is not None
    body = [node for node in parse_code(dedent(decl.init_body.source.text)) if not is_text(node)]
    match body:
        case [ast.Return(value=ast.List(elts=items) | ast.Tuple(elts=items))]:
            return tuple(_init_constant(item, decl) for item in items)
    raise ConvertError(f"getInit of {decl.func_name} has to be one return of a list to become an init")


def _init_constant(node: ast.expr, decl: FnDecl) -> float:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_init_constant(operand, decl)
        case ast.Call(func=ast.Attribute(attr=name)) if name in _INIT_CALLS:
            return _INIT_CALLS[name]
        case ast.Call(func=ast.Attribute(attr="full" | "full_like"), args=[_, value]):
            return _init_constant(value, decl)
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[value]):
            return _init_constant(value, decl)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]) if text in {"inf", "-inf"}:
            return float(text)
        case ast.Attribute(value=ast.Name(id="torch" | "math"), attr="inf"):
            return float("inf")
        case ast.Constant(value=int() | float() as value) if value in {0, 1}:
            return float(value)
    raise ConvertError(f"getInit of {decl.func_name} is none of the constants 0, 1, -1 and -inf")


def _source_lines(text: str, nodes: list[ast.stmt]) -> str:
    """Return the lines of statements with the comments between them, dedented."""
    if not nodes:
        return ""
    source = SourceFile("", text)
    first = node_span(source, nodes[0])
    indent = " " * nodes[0].col_offset
    comments = "".join(f"{indent}{line}\n" for line in _comments_above(source, first.start).splitlines())
    pieces = [comments, indent, text[first.start : first.end]]
    for before, node in pairwise(nodes):
        between_start = node_span(source, before).end
        adjacent = node.lineno - (before.end_lineno or before.lineno)
        span = node_span(source, node)
        gap = text[between_start : span.start]
        is_code_between = any(line.strip() and not line.strip().startswith("#") for line in gap.split("\n")[1:])
        pieces.append(gap if adjacent <= 1 or not is_code_between else "\n" + " " * node.col_offset)
        pieces.append(text[span.start : span.end])
    return dedent(_plain_lines("".join(pieces))).rstrip()


def _comments_above(source: SourceFile, offset: int) -> str:
    """Return the comment lines directly above the line of ``offset``, without their indentation."""
    line, _ = source.line_col(offset)
    found: list[str] = []
    while line > 0 and (text := source.line_text(line - 1).strip()).startswith("#"):
        found.append(f"{text}\n")
        line -= 1
    return "".join(reversed(found))


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _walk(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _binds(node: ast.stmt, result: ast.expr) -> bool:
    return isinstance(result, ast.Name) and _single_name(node) == result.id


def _single_name(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _is_size(node: ast.stmt) -> bool:
    """True for ``M_value = E0.shape[1]``: tasks know the values of sizes."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant()),
        ):
            return name.endswith("_value")
    return False


def _returns(body: Iterable[ast.AST]) -> Iterator[ast.Return]:
    """Yield where a suite returns; functions inside of it return for themselves."""
    for node in body:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from _returns(ast.iter_child_nodes(node))


def _is_size_in_run(node: ast.stmt, inputs: Collection[str]) -> bool:
    """True for ``M_value = E0.ctx[M]``: tasks know the values of sizes."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr="ctx"), slice=ast.Name(id=symbol)),
        ):
            return name == f"{symbol}_value" and owner in inputs
    return False


def _is_input_data(node: ast.stmt) -> bool:
    return _single_name(node) == "input_data"


def _code_block(text: str) -> CodeBlock:
    return CodeBlock(Embedded.whole(text if text.endswith("\n") else f"{text}\n"))

"""Checks bodies of the closed function language without running them and without torch.

One walk over a body finds what is forbidden, unknown, outside the allow-list or changed in place; a second one
(``stepcore.fn.shapes.inference``) runs only on bodies without such findings and compares shapes. One mistake gives one
message; a broken body hides nothing in others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import Literal

from stepcore.findings.budget import OutOfBudget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn import aliases, allow, compiled
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.early import EarlyFault, faults_in_blocks, faults_in_body, faults_in_prelude
from stepcore.fn.prelude import assigned_names, names_bound_by, prelude_names
from stepcore.fn.shapes.inference import shape_findings
from stepcore.fn.size_numbers import number_faults
from stepcore.fn.source import BodySyntaxError, node_span, statements
from stepcore.fn.walk.finding import BodyFinding, BodyKind
from stepcore.fn.walk.walker import Walker
from stepcore.sizes.dim import ANY
from stepcore.text.span import Span
from stepcore.text.wording import clipped, counted
from stepcore.types import Element, components, dtype_of, element_sizes

BlockKind = Literal["prelude", "reference"]
_INIT_VALUES = (0.0, 1.0, -1.0, -inf)
_END = "; end it with `return [...]`"


def check_fn(decl: FnDecl, scope: FnScope) -> list[Diagnostic]:
    """Return what is wrong with an element function: its init, its body, the shapes that it returns (STEP3xx)."""
    found = [*_check_init(decl, scope), *_check_any(decl)]
    parsed = _parsed(decl.body)
    if isinstance(parsed, Diagnostic):
        return [*found, parsed]
    if not parsed:
        message = f"{decl.func_name} has no body: return one tensor per component"
        return [*found, Diagnostic("STEP307", decl.body.source.outer if decl.body.source.text else decl.span, message)]
    key = _key(decl, scope)
    named = (decl.func_name, *key)
    findings = _CACHE.get(key)
    if findings is None:
        findings = _CACHE.get(named)
    if findings is None:
        try:
            findings = _body_findings(decl, scope, parsed) or shape_findings(decl, scope)
        except OutOfBudget as error:
            raise error.at(decl.body.source.outer) from None
        except RecursionError:
            findings = _too_deep(parsed)
        if len(_CACHE) >= _CACHE_SIZE:
            _CACHE.clear()
        # Nothing but messages has the name, so a body without findings has none under any other.
        _CACHE[named if findings else key] = findings
    return [*found, *positioned(findings, decl.body)]


def _check_any(decl: FnDecl) -> list[Diagnostic]:
    """Any sizes of the output are bound by the input."""
    held = {name for size in element_sizes(decl.output) for name in size.symbols() if name[0] == ANY}
    if not held:  # nearly all
        return []
    open_names = held - {str(size) for size in element_sizes(decl.input) if size.is_symbol}
    if not open_names:
        return []
    name = min(open_names)
    text = f"nothing says what {name} is: the output of {decl.func_name} has it, and its input does not"
    return [Diagnostic("STEP226", decl.output_span, f"{text}; any size is bound where the input has it")]


# Findings depend on texts and types, not on where they stand in a file, so an edit elsewhere costs nothing here.
_CACHE: dict[tuple[object, ...], list[BodyFinding]] = {}
_WHERE = attrgetter("parameters", "tensors", "symbols", "modules", "bare_parameters", "sizes", "weights")
_OF_BLOCKS: dict[tuple[object, ...], list[list[BodyFinding]]] = {}
_CACHE_SIZE = 4096


def forget() -> None:
    """Drop the findings that are remembered for the case that a function is checked again."""
    _CACHE.clear()
    _OF_BLOCKS.clear()


def remembered_findings(
    key: tuple[object, ...], find: Callable[[], list[list[BodyFinding]]]
) -> list[list[BodyFinding]]:
    """Return what ``find`` gives, found once for each key: findings of several blocks, of each its own."""
    found = _OF_BLOCKS.get(key)
    if found is None:
        found = find()
        if len(_OF_BLOCKS) >= _CACHE_SIZE:
            _OF_BLOCKS.clear()
        _OF_BLOCKS[key] = found
    return found


def _key(decl: FnDecl, scope: FnScope) -> tuple[object, ...]:
    body = decl.body
    return (decl.has_state, decl.input, decl.output, body.source.text, body.arguments, scope_key(scope))


def scope_key(scope: FnScope) -> tuple[object, ...]:
    """Return what findings depend on in a scope, wherever it stands in its file."""
    return ("" if scope.prelude is None else scope.prelude.source.text, *_WHERE(scope))


def check_block(block: CodeBlock, scope: FnScope, kind: BlockKind, bound: Iterable[str] = ()) -> list[Diagnostic]:
    """Return what is wrong with a ``global`` block ("prelude") or a reference block ("reference").

    ``bound`` are names from earlier blocks of the same file: all references share one scope.
    """
    parsed = _parsed(block)
    if isinstance(parsed, Diagnostic):
        return [parsed]
    if not parsed and kind == "reference":
        return [Diagnostic("STEP307", block.source.outer, "this block is empty: its last line is the value")]
    if kind == "reference" and aliases.bound_modules(parsed[-1], dict(scope.modules)):
        message = "the last line of this block gives a module a name, and no value; end it with the value"
        return [Diagnostic("STEP307", node_span(block.source, parsed[-1]), message)]
    names = known_names(scope, with_prelude=kind == "reference") | assigned_names(parsed) | set(bound)
    if kind == "prelude":
        names |= prelude_names(block)
    walker = Walker(BodyKind.PRELUDE if kind == "prelude" else BodyKind.REFERENCE, scope, names)
    early = (lambda: faults_in_prelude(parsed, scope)) if kind == "prelude" else None
    found = _walked(walker, parsed, block, early)
    if kind == "prelude" and not found:
        found = number_faults(parsed, block.source.text, scope)
    return positioned(found, block)


def _walked(
    walker: Walker, body: tuple[ast.stmt, ...], block: CodeBlock, early: Callable[[], list[EarlyFault]] | None = None
) -> list[BodyFinding]:
    walker.read(block.source.text)
    try:
        walker.statements(body)
        walker.findings += _faults(early()) if early is not None and not walker.findings else []
    except OutOfBudget as error:
        raise error.at(block.source.outer) from None
    except RecursionError:
        return [*walker.findings, *_too_deep(body)]
    return walker.findings or _not_compiled(body)


def _not_compiled(body: Sequence[ast.stmt]) -> list[BodyFinding]:
    error = compiled.refused(body) if body else None
    return [] if error is None else [BodyFinding("STEP301", *error)]


def _faults(faults: Iterable[EarlyFault]) -> list[BodyFinding]:
    """Return findings where names are read before the body binds them, or lists written into texts."""
    return [BodyFinding(fault.code, fault.node, fault.message) for fault in faults]


def check_references(blocks: Sequence[CodeBlock], scope: FnScope) -> list[Diagnostic]:
    """Return what :mod:`stepcore.fn.early` finds in reference blocks, which share one scope.

    ``blocks`` have no findings of :func:`check_block`.
    """
    if not blocks:
        return []
    try:
        found = faults_in_blocks(blocks, scope)
    except OutOfBudget as error:
        raise error.at(blocks[0].source.outer) from None
    except RecursionError:
        return [*positioned(_too_deep(statements(blocks[0])), blocks[0])]
    pairs = zip(blocks, found, strict=True)
    return [item for block, reads in pairs for item in positioned(_faults(reads), block)]


def _too_deep(body: tuple[ast.stmt, ...]) -> list[BodyFinding]:
    return [BodyFinding("STEP311", body[0], "this block is nested too deeply to be followed; split it up")]


def known_names(scope: FnScope, with_prelude: bool = True) -> set[str]:
    """Return the names that bodies may use besides arguments and Python's functions."""
    return set(_known_names(scope, with_prelude))


def _known_names(scope: FnScope, with_prelude: bool) -> frozenset[str]:
    prelude = scope.prelude.source.text if scope.prelude is not None and with_prelude else None
    bare = scope.parameters if scope.bare_parameters else ()
    bound = prelude_names(scope.prelude) if prelude is not None else frozenset()
    return _names(scope.modules, scope.symbols, bare) | bound


@lru_cache(maxsize=256)
def _names(modules: tuple[tuple[str, str], ...], symbols: tuple[str, ...], bare: tuple[str, ...]) -> frozenset[str]:
    names = {local for local, _ in modules} | {"input_data", "ctx", "Symbol"} | set(bare)
    for symbol in (*allow.PREDECLARED_SYMBOLS, *symbols):
        names |= {symbol, f"{symbol}_value"}
    return frozenset(names)


def _parsed(block: CodeBlock) -> tuple[ast.stmt, ...] | Diagnostic:
    try:
        return statements(block)
    except BodySyntaxError as error:
        return Diagnostic("STEP301", block.source.span_to_outer(error.span), error.message)


def positioned(findings: list[BodyFinding], block: CodeBlock) -> list[Diagnostic]:
    """Return findings of a block with their places in its file, each place once."""
    result: list[Diagnostic] = []
    seen: set[tuple[str, Span]] = set()
    for finding in findings:
        span = node_span(block.source, finding.node)
        if (finding.code, span) not in seen:
            seen.add((finding.code, span))
            result.append(Diagnostic(finding.code, span, finding.message))
    return sorted(result, key=lambda diagnostic: diagnostic.span)


def _body_findings(decl: FnDecl, scope: FnScope, body: tuple[ast.stmt, ...]) -> list[BodyFinding]:
    arguments = decl.body.arguments
    own, known = names_bound_by(decl.body), known_names(scope)
    walker = Walker(BodyKind.FUNCTION, scope, known | own | set(arguments))
    counts = [len(components(decl.output)), len(components(decl.input))] if decl.has_state else [
        len(components(decl.input))
    ]  # fmt: skip
    walker.own.arguments = dict(zip(arguments, counts, strict=False))
    walker.arguments = tuple(arguments)
    walker.read(decl.body.source.text)
    walker.statements(body)
    findings = walker.findings
    findings += [] if findings else _faults(faults_in_body(decl.body, scope))
    if not any(about(finding.code).subject is Subject.FORBIDDEN for finding in findings):
        findings += _return_findings(decl, body)
    return findings or _not_compiled(body)


def _return_findings(decl: FnDecl, body: tuple[ast.stmt, ...]) -> list[BodyFinding]:
    gap = _missing_return(body)
    if gap is not None:
        return [BodyFinding("STEP307", gap, _no_return(decl.func_name, gap))]
    name, count = decl.func_name, len(components(decl.output))
    findings: list[BodyFinding] = []
    for node in _own_returns(body):
        value = node.value
        if value is None:
            findings.append(BodyFinding("STEP305", node, f"{name} returns nothing; {_wanted(decl.output, count)}"))
            continue
        for part in _alternatives(value):
            found = _component_count(part)
            if found is not None and found != count:
                message = f"{name} returns {counted(found, 'component')}; {_wanted(decl.output, count)}"
                findings.append(BodyFinding("STEP305", part, message))
            elif found is None and isinstance(part, ast.Constant | ast.JoinedStr | ast.Dict | ast.Lambda | ast.Compare):
                text = (
                    f"{name} returns {clipped(ast.unparse(part), 40)}, which is no list; {_wanted(decl.output, count)}"
                )
                findings.append(BodyFinding("STEP305", part, text))
    return findings


def _no_return(name: str, gap: ast.AST) -> str:
    match gap:
        case ast.FunctionDef() if any(isinstance(node, ast.Return) for node in ast.walk(gap)):
            return f"{name} defines {gap.name} and never calls it; write the body of {gap.name} alone"
        case ast.Expr(value=ast.Lambda()):
            return f"{name} makes a lambda and never calls it; write `return` and what stands behind its colon"
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return f"{name} has no body yet{_END}"
        case ast.Assign(targets=[ast.Name(id=made)]):
            return f"{name} does not return a list on every path; end it with `return [{made}]`"
    return f"{name} does not return a list on every path{_END}"


def _alternatives(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.IfExp):
        return [*_alternatives(value.body), *_alternatives(value.orelse)]
    return [value]


def _component_count(value: ast.expr) -> int | None:
    if isinstance(value, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return None


def _wanted(output: Element, count: int) -> str:
    return f"its declared output {output} needs a list of {count}"


def _check_init(decl: FnDecl, scope: FnScope) -> list[Diagnostic]:
    items = components(decl.output)
    if decl.init is not None:
        span = decl.init_span or decl.span
        if len(decl.init) != len(items):
            text = f"init has {counted(len(decl.init), 'value')}; the output {decl.output} needs {len(items)}"
            return [Diagnostic("STEP309", span, text)]
        for value, item in zip(decl.init, items, strict=True):
            if value not in _INIT_VALUES:
                return [Diagnostic("STEP309", span, f"init {value:g} is not one of 0, 1, -1 and -inf")]
            if value == -inf and not _is_float(dtype_of(item)):
                return [
                    Diagnostic("STEP309", span, f"init -inf does not fit {item}: only floating-point types have it")
                ]
        return []
    if decl.init_body is None:
        return []
    return _check_init_body(decl, decl.init_body, scope, len(items))


def _check_init_body(decl: FnDecl, block: CodeBlock, scope: FnScope, count: int) -> list[Diagnostic]:
    parsed = _parsed(block)
    if isinstance(parsed, Diagnostic):
        return [parsed]
    walker = Walker(BodyKind.FUNCTION, scope, known_names(scope) | assigned_names(parsed) | set(block.arguments))
    findings = _walked(walker, parsed, block, lambda: faults_in_body(block, scope))
    gap = _missing_return(parsed)
    if gap is not None or not parsed:
        span = node_span(block.source, gap) if gap is not None else decl.span
        return [*positioned(findings, block), Diagnostic("STEP309", span, f"the init does not return a list{_END}")]
    for node in _own_returns(parsed):
        found = None if node.value is None else _component_count(node.value)
        if found is not None and found != count:
            text = f"the init returns {counted(found, 'component')}; {_wanted(decl.output, count)}"
            findings.append(BodyFinding("STEP305", node, text))
        elif found is not None:
            assert isinstance(node.value, ast.List | ast.Tuple)
            findings += [_no_tensor(item) for item in node.value.elts if _is_literal(item)]
    return positioned(findings, block)


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is a number, a text or the like as it is written, which is no tensor."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _no_tensor(node: ast.expr) -> BodyFinding:
    return BodyFinding("STEP306", node, f"the init holds {ast.unparse(node)}, which is no tensor; fill one with it")


def _is_float(dtype: str) -> bool:
    return dtype in ("fp32", "fp16", "bf16")


def _own_returns(body: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Yield the returns of a body, those of helper functions inside it excepted."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
            return  # what follows is never reached
        if isinstance(statement, ast.If | ast.For):
            yield from _own_returns(statement.body)
            yield from _own_returns(statement.orelse)


def _missing_return(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the statement after which a path ends without a return, or None when every path returns."""
    if not body:
        return None
    for statement in body:
        if isinstance(statement, ast.Return):
            return None
        if (
            isinstance(statement, ast.If)
            and statement.orelse
            and _missing_return(statement.body) is None
            and _missing_return(statement.orelse) is None
        ):
            return None
    return body[-1]

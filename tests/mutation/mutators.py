"""From source text to mutants: each is one node of the syntax tree replaced by another.

Left alone are texts (docstrings, messages, f-strings), type annotations, decorators, base classes, ``TYPE_CHECKING``
and ``__main__`` blocks, overloads and abstract methods, assertions and ``raise AssertionError`` (they state what cannot
happen), and every line with the comment ``# pragma: no mutate``, which is for mutants that change nothing.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

Place = tuple[str | int, ...]
Node = TypeVar("Node", bound=ast.AST)
TEXT_WIDTH = 70
PRAGMA = re.compile(r"#\s*pragma: no mutate\b")


@dataclass(frozen=True)
class Mutant:
    """One change. ``function`` is the first line of the innermost enclosing function, decorators included."""

    path: str
    line: int
    function: int | None
    kind: str
    before: str
    after: str
    place: Place = field(repr=False)
    new: ast.AST = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.after}"


@dataclass(frozen=True)
class Change:
    """``new`` instead of ``old``, which stands at ``place`` under the node that the mutator got."""

    kind: str
    old: ast.AST
    new: ast.AST
    place: Place = ()


def with_(node: Node, **fields: Any) -> Node:
    """A shallow copy with other fields; the tree that it came from stays as it is."""
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def is_text(node: ast.AST) -> bool:
    """Whether an expression builds text: a string, an f-string, a sum or ``join`` of such."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return is_text(left) or is_text(right)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()))):
            return True
    return False


def is_type(node: ast.AST) -> bool:
    """Whether an operand of ``|`` looks like a type."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name[:1].isupper() or name in {
                "int",
                "float",
                "str",
                "bool",
                "bytes",
                "tuple",
                "list",
                "dict",
                "set",
            }
        case ast.Constant(value=None) | ast.Subscript():
            return True
        case ast.BinOp(left=left, op=ast.BitOr()):
            return is_type(left)
    return False


# --- mutators of expressions ------------------------------------------------------------------------------------------

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}


def comparison(node: ast.Compare) -> Iterator[Change]:
    """``<`` to ``<=`` and ``>=``, ``==`` to ``!=``, ..."""
    for index, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            yield Change("comparison", node, with_(node, ops=[*node.ops[:index], other(), *node.ops[index + 1 :]]))


def arithmetic(node: ast.BinOp) -> Iterator[Change]:
    """``+`` to ``-``, ``*`` to ``+``, ..."""
    if not (isinstance(node.op, ast.BitOr) and (is_type(node.left) or is_type(node.right))):
        yield Change("arithmetic", node, with_(node, op=ARITHMETIC[type(node.op)]()))


def constant(node: ast.Constant) -> Iterator[Change]:
    """Numbers one up and one down, the other truth value."""
    match node.value:
        case bool(value):
            yield Change("truth value", node, ast.Constant(not value))
        case int(value) | float(value):
            yield Change("number", node, ast.Constant(value + 1))
            yield Change("number", node, ast.Constant(value - 1))


def both(node: ast.BoolOp) -> Iterator[Change]:
    """``and`` to ``or`` and back."""
    yield Change("and/or", node, with_(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And()))


def sign(node: ast.UnaryOp) -> Iterator[Change]:
    """Without ``not``, ``-``, ``~``."""
    if not isinstance(node.op, ast.UAdd):
        yield Change("unary", node, node.operand)


def bounds(node: ast.Slice) -> Iterator[Change]:
    """Without a bound or the step; a bound that is not a number one up."""
    if node.lower is not None and not (isinstance(node.lower, ast.Constant) and node.lower.value == 0):
        yield Change("slice", node, with_(node, lower=None))
    if node.upper is not None:
        yield Change("slice", node, with_(node, upper=None))
    if node.step is not None:
        yield Change("slice", node, with_(node, step=None))
    for name in ("lower", "upper"):
        bound = getattr(node, name)
        if not isinstance(bound, ast.Constant | ast.UnaryOp | None):
            yield Change("slice", node, with_(node, **{name: ast.BinOp(bound, ast.Add(), ast.Constant(1))}))


def first_item(node: ast.Subscript) -> Iterator[Change]:
    """``x[0]`` to ``x[1]``; not to ``x[-1]``, which is the same where there is one item."""
    if is_first(node):
        yield Change("number", node.slice, ast.Constant(1), ("slice",))


def is_first(node: ast.AST) -> bool:
    """Whether a node is ``x[0]``."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0


def keyword(node: ast.Call) -> Iterator[Change]:
    """A call without one of its keyword arguments."""
    for index, argument in enumerate(node.keywords):
        if argument.arg is not None and not is_text(argument.value) and not skipped(argument):
            yield Change("keyword", node, with_(node, keywords=node.keywords[:index] + node.keywords[index + 1 :]))


def condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    """A condition that always or never holds; no loop is made endless."""
    if not isinstance(node.test, ast.Constant):
        if not isinstance(node, ast.While):
            yield Change("condition", node.test, ast.Constant(True), ("test",))
        yield Change("condition", node.test, ast.Constant(False), ("test",))


def guard(node: ast.match_case) -> Iterator[Change]:
    """A case that does not look at its guard."""
    if node.guard is not None:
        yield Change("condition", node.guard, ast.Constant(True), ("guard",))


def filters(node: ast.comprehension) -> Iterator[Change]:
    """A comprehension that keeps everything."""
    for index, test in enumerate(node.ifs):
        yield Change("condition", test, ast.Constant(True), ("ifs", index))


# --- mutators of statements -------------------------------------------------------------------------------------------


def returned(node: ast.Return) -> Iterator[Change]:
    """``return None``, and a tuple with its first two items swapped."""
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield Change("return", node, ast.Return(ast.Constant(None)))
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
        first, second, *rest = node.value.elts
        yield Change("return", node, ast.Return(with_(node.value, elts=[second, first, *rest])))


def augmented(node: ast.AugAssign) -> Iterator[Change]:
    """``+=`` to ``-=``, ...; and dropped."""
    if not is_text(node.value):
        yield Change("arithmetic", node, with_(node, op=ARITHMETIC[type(node.op)]()))
    yield Change("drop", node, ast.Pass())


def dropped(node: ast.stmt) -> Iterator[Change]:
    """Nothing instead of a statement."""
    yield Change("drop", node, ast.Pass())


def dropped_raise(node: ast.Raise) -> Iterator[Change]:
    """Nothing instead of ``raise``, unless it says that it is never reached."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if not (isinstance(raised, ast.Name) and raised.id in {"AssertionError", "NotImplementedError"}):
        yield from dropped(node)


def dropped_call(node: ast.Expr) -> Iterator[Change]:
    """Nothing instead of a call or ``yield`` whose value is not used."""
    match node.value:
        case ast.Call(func=ast.Name(id="assert_never")):
            return
        case value if is_text(value):
            return
        case ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await():
            yield from dropped(node)


def dropped_store(node: ast.Assign) -> Iterator[Change]:
    """Nothing instead of a store into an attribute or item; a name that is never bound would be no test."""
    if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield from dropped(node)


def jump(node: ast.Continue | ast.Break) -> Iterator[Change]:
    """``continue`` to ``break``; without ``break``."""
    yield Change("drop", node, ast.Break() if isinstance(node, ast.Continue) else ast.Pass())


MUTATORS: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.Assign: dropped_store,
    ast.AugAssign: augmented,
    ast.BinOp: arithmetic,
    ast.BoolOp: both,
    ast.Break: jump,
    ast.Call: keyword,
    ast.Compare: comparison,
    ast.Constant: constant,
    ast.Continue: jump,
    ast.Delete: dropped,
    ast.Expr: dropped_call,
    ast.If: condition,
    ast.IfExp: condition,
    ast.Raise: dropped_raise,
    ast.Return: returned,
    ast.Slice: bounds,
    ast.Subscript: first_item,
    ast.UnaryOp: sign,
    ast.While: condition,
    ast.comprehension: filters,
    ast.match_case: guard,
}


# --- the walk ---------------------------------------------------------------------------------------------------------

SKIPPED_FIELDS = {
    ast.AnnAssign: {"annotation", "target"},
    ast.AsyncFunctionDef: {"decorator_list", "returns"},
    ast.ClassDef: {"decorator_list", "bases"},
    ast.FunctionDef: {"decorator_list", "returns"},
    ast.arg: {"annotation"},
}
TYPING_CALLS = {"NewType", "ParamSpec", "TypeVar", "TypeVarTuple"}
TYPING_NAMES = {"__all__", "__match_args__", "__slots__"}
STUBS = {"abstractmethod", "overload"}


def skipped(node: ast.AST) -> bool:
    """Whether nothing under a node is to be mutated."""
    if is_text(node):
        return True
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        # zip(strict=True) is an assertion.
        case ast.keyword(arg="strict"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if name in TYPING_NAMES:
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in TYPING_CALLS:
            return True
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return any(ast.unparse(decorator).rpartition(".")[2] in STUBS for decorator in decorators)
        case ast.If(test=test):
            return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'"}
    return False


def children(node: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    """The nodes right below a node that may be mutated, each with its place."""
    for name, value in ast.iter_fields(node):
        if name in SKIPPED_FIELDS.get(type(node), ()) or (name == "slice" and is_first(node)):
            continue
        if isinstance(value, ast.AST):
            yield (name,), value
        elif isinstance(value, list):
            for index, item in enumerate(value):
                # The first argument of cast() is a type.
                if isinstance(item, ast.AST) and not (is_cast(node) and name == "args" and index == 0):
                    yield (name, index), item


def is_cast(node: ast.AST) -> bool:
    """Whether a node is a call of ``typing.cast``."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "cast"


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line that a code object gives as its first: that of the first decorator, if there is one."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def short(node: ast.AST) -> str:
    """A node as one short line of source."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 3] + "..."


def walk(node: ast.AST, place: Place, function: int | None, line: int) -> Iterator[Mutant]:
    """The mutants of a node and of all below it; ``function`` encloses it, ``line`` is its parent's."""
    if skipped(node):
        return
    line = getattr(node, "lineno", line)
    for change in MUTATORS.get(type(node), lambda _: iter(()))(node):
        yield Mutant(
            path="",
            line=getattr(change.old, "lineno", line),
            function=function,
            kind=change.kind,
            before=short(change.old),
            after=short(change.new),
            place=place + change.place,
            new=change.new,
        )
    for step, child in children(node):
        inside = function
        # Default values belong to the enclosing code, the body to the function.
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and step[0] == "body":
            inside = first_line(node)
        yield from walk(child, place + step, inside, line)


def mutants_of(source: str, path: str) -> list[Mutant]:
    """All mutants of a module, in the order of its tree; no two are the same change."""
    tree = ast.parse(source)
    exempt = {number for number, text in enumerate(source.splitlines(), 1) if PRAGMA.search(text)}
    seen: set[tuple[Place, str]] = set()
    made = []
    for mutant in walk(tree, (), None, 1):
        key = (mutant.place, ast.dump(mutant.new))
        if key not in seen and mutant.line not in exempt:
            seen.add(key)
            made.append(replace(mutant, path=path))
    return made


def mutate(source: str, mutant: Mutant) -> ast.Module:
    """The tree of a module with one mutant in it, ready to be compiled."""
    tree = ast.parse(source)
    holder: Any = tree
    for step in mutant.place[:-1]:
        holder = holder[step] if isinstance(step, int) else getattr(holder, step)
    last = mutant.place[-1]
    old: ast.AST = holder[last] if isinstance(last, int) else getattr(holder, last)
    # Parts of the new node may belong to the tree that the mutant was made from.
    new = ast.copy_location(copy.deepcopy(mutant.new), old)
    if isinstance(last, int):
        holder[last] = new
    else:
        setattr(holder, last, new)
    return ast.fix_missing_locations(tree)

"""What a script asks for at its top level that is certainly not there: an item, a size over a number, a size's number.

A script is Python, where lists grow by many ways and arms may not run. So only what stands in a statement of its own is
looked at, outside of arms, loops, ``try`` and ``with``, and only names that the script binds once and uses for nothing
that could change them. What may have ended the script before ends the look, too.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.findings.near import nearest
from stepcore.fn import allow
from stepcore.frontend.misused_sizes import misused_size
from stepcore.frontend.script_uses import ScriptUses
from stepcore.frontend.values import ModuleRef, StreamRef, Value
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import components, element_sizes

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

_NUMBER_OF_SIZE: Final = re.compile(r"[A-Za-z]\w*_value")
_SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert, ast.Return)
_HARMLESS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)
_ENDS: Final = frozenset({"exit", "quit", "_exit", "abort", "skip", "fail", "kill", "execv"})
# What Python, or whoever runs a notebook, gives every script.
_GIVEN: Final = frozenset(
    {"display", "get_ipython", "In", "Out", "_", "exit", "quit", "copyright", "credits", "license"}
)
_LATER: Final = frozenset(
    {ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await}
    | {ast.If, ast.For, ast.While, ast.Try, ast.TryStar, ast.With, ast.Match, ast.Constant, ast.Name}
)
_PARTLY: Final = frozenset(
    {ast.IfExp, ast.BoolOp, ast.Assert, ast.Compare, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp}
    | {ast.AnnAssign, ast.Dict}
)
_ASKED: Final = frozenset({ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Call, ast.Assign})
_WHOLE: Final = "operators take whole streams, and element functions see the elements"
_MOST_SHOWN: Final = 8
_MAKERS: Final = allow.CREATION | {"rand", "randn"}
_OF_NUMBERS: Final = frozenset({"int", "float", "range"})


def report_missing(el: Elaboration, tree: ast.Module, text: str) -> None:
    """Report what the statements of a script, whose names are those of ``el``, certainly do not find."""
    asked = _Asked(el, tree)
    for place, statement in enumerate(tree.body):
        asked.place = place
        if isinstance(statement, _SIMPLE):
            for node in _evaluated(statement):
                asked.look(node)
        elif isinstance(statement, ast.For):
            asked.look_at_loop(statement)
        if not _goes_on(statement):
            break
    if "_value" in text:
        asked.look_at_functions()


def _goes_on(statement: ast.stmt) -> bool:
    """Whether a script certainly comes to what stands behind a statement, if that raises nothing."""
    if isinstance(statement, _HARMLESS):
        return True
    if not isinstance(statement, (*_SIMPLE, ast.For, ast.If)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _called(node) in _ENDS):
            return False
    return True


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are evaluated whenever it runs."""
    pending = [node]
    while pending:
        now = pending.pop()
        yield now
        kind = type(now)
        if kind in _LATER:
            continue
        if kind in _PARTLY:
            pending += _first_of(now)
            continue
        for name in now._fields:
            value = getattr(now, name)
            if type(value) is list:
                pending += value
            elif isinstance(value, ast.AST) and name != "ctx":
                pending.append(value)


def _first_of(node: ast.AST) -> list[ast.AST]:
    """Return the parts that are evaluated in any case, of an expression or statement that may leave the rest out."""
    match node:
        case ast.IfExp(test=first) | ast.BoolOp(values=[first, *_]) | ast.Assert(test=first):
            return [first]
        case ast.Compare(left=left, comparators=[first, *_]):
            return [left, first]
        case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]):
            return [first.iter]
        case ast.GeneratorExp(generators=[first, *_]) | ast.DictComp(generators=[first, *_]):
            return [first.iter]
        case ast.AnnAssign(target=target, value=value):  # annotations may be texts for Python
            return [target] if value is None else [target, value]
        case ast.Dict(keys=keys, values=values):
            return [*(key for key in keys if key is not None), *values]
    return []


@dataclass(slots=True)
class _Asked:
    el: Elaboration
    tree: ast.Module
    place: int = 0  # of the statement at the top level that is looked at
    last: dict[str, int] = field(default_factory=dict)  # what names of loops are in the last round
    _uses: ScriptUses | None = None
    _symbols: dict[str, str] | None = None

    @property
    def uses(self) -> ScriptUses:
        if self._uses is None:
            self._uses = ScriptUses.of(self.tree)
        return self._uses

    @property
    def _names(self) -> Mapping[str, Value]:
        return self.el.frame.scope.names

    def look(self, node: ast.AST) -> None:
        """Report what no run gets past."""
        if type(node) not in _ASKED:
            return
        wrong = misused_size(node, self._symbol, self.uses.sizes)
        if wrong is not None:
            self._report(node, *wrong)
        else:
            self._look(node)

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._known(node, name)
            case ast.Subscript(value=ast.Name(id=name) as owner, ctx=ast.Load()):
                self._indexed(node, owner, name)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="data" | "shape" as attr) as owner):
                index = self._integer(node.slice)
                if index is not None:
                    self._part(node, owner, name, attr, index)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="ctx"), ctx=ast.Load()):
                self._size(node, name)
            case ast.BinOp(left=ast.Name(id=name), op=ast.Div(), right=ast.Constant(value=int() as number)):
                if name in self.uses.sizes and self.uses.is_once(name):
                    self._divided(node, name, number)
            case ast.BinOp(left=ast.Name(id=name)) | ast.BinOp(right=ast.Name(id=name)) if self._is_stream(name):
                self._report(node, f"{name} is a stream and no number", _WHOLE)
            case ast.Call():
                self._called(node)
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                if attr in ("data", "shape") and not any(isinstance(part, ast.Starred) for part in parts):
                    self._unpacked(node, name, attr, len(parts))

    def look_at_loop(self, loop: ast.For) -> None:
        """Look at what stands in each round of a loop that certainly goes round, up to what may leave it."""
        if isinstance(loop.iter, ast.Name) and self._is_stream(loop.iter.id):
            self._report(loop.iter, f"{loop.iter.id} is one stream and cannot be taken apart", _WHOLE)
            return
        for node in _evaluated(loop.iter):
            self.look(node)
        rounds = self._rounds(loop.iter)
        if not rounds or any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(loop)):
            return
        if isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call) and self.uses.is_once(loop.target.id):
            self.last = {loop.target.id: rounds - 1}
        for statement in loop.body:
            if not isinstance(statement, _SIMPLE) or not _goes_on(statement):
                break
            for node in _evaluated(statement):
                self.look(node)
        self.last = {}

    def _report(self, node: ast.AST, text: str, way_out: str, fix: Fix | None = None) -> None:
        self.el.report_certain("STEP224", node, text, way_out, fix)

    # Names ------------------------------------------------------------------------------------------------------

    def _known(self, node: ast.Name, name: str) -> None:
        if self.uses.is_open or name in self.uses.bound or name.startswith("__"):
            return
        if name in _GIVEN or hasattr(builtins, name):
            return
        near = nearest(name, self.uses.bound)
        size = name.removesuffix("_value")
        if near:
            way_out = f"did you mean {near[0]}?"
        elif size != name:
            way_out = f"write {name} = ... above, the number of {size}"
        else:
            way_out = "bind it above"
        fix = Fix(f"Change to {near[0]}", (Edit(self.el.span(node), near[0]),)) if near else None
        self.el.report_certain("STEP202", node, f"the script binds {name} nowhere", way_out, fix)

    def _is_stream(self, name: str) -> bool:
        return isinstance(self._names.get(name), StreamRef) and self.uses.is_once(name)

    def _called(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if self._is_stream(name):
                self._report(node, f"{name} is one stream and has no length", f"write {name}.shape")
            case ast.Call(func=ast.Call() as made) if self._is_operator(made):
                self._report(node, f"{self.el.text(made)} is an operator and no function", "write .apply(...)")
            case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr=method)) if self._is_operator(made):
                if nearest(method, ["apply"]) and method != "apply":
                    self._report(node.func, f"operators have no .{method}", "write .apply(...)")
            case ast.Call(func=ast.Name(id=function), args=args) if function in _OF_NUMBERS:
                for each in args:
                    self._number(node, each)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=function), args=args):
                for each in args if function in _MAKERS else ():
                    for part in each.elts if isinstance(each, ast.Tuple | ast.List) else [each]:
                        self._number(node, part)

    def _is_operator(self, made: ast.Call) -> bool:
        """Whether a call makes an operator: ``step.Map(fn=...)``."""
        match made.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in self.el.dialect.by_name:
                return self.uses.is_once(module) and self.el.frame.scope.find(module) == ModuleRef("stepcore")
        return False

    def _number(self, node: ast.Call, argument: ast.expr) -> None:
        """Report a size where only a number will do."""
        if isinstance(argument, ast.Name) and self._symbol(argument) is not None:
            text = f"{argument.id} is a size, and {self.el.text(node.func)} takes numbers"
            self._report(argument, text, f"write the number of {argument.id}, as in a stream's ctx[{argument.id}]")

    def _size(self, node: ast.Subscript, name: str) -> None:
        """Report a size that no stream of the script has."""
        asked = node.slice.value if isinstance(node.slice, ast.Constant) else self._symbol(node.slice)
        streams = self.el.graph.streams
        is_bound = "ctx" in self.uses.attributes | self.uses.keywords or any(each.type is None for each in streams)
        if not isinstance(asked, str) or is_bound or not self._is_stream(name):
            return
        sizes = (
            size for each in streams if each.type for size in (*each.type.shape, *element_sizes(each.type.element))
        )
        known = {symbol for size in sizes for symbol in size.symbols()}
        if asked not in known:
            there = ", ".join(sorted(known)[:_MOST_SHOWN]) or "none"
            self._report(node, f"no stream of the script has a size {asked}", f"its sizes: {there}")

    def _symbol(self, node: ast.expr) -> str | None:
        """Return the name of a symbol that the script makes once, or imports."""
        if not isinstance(node, ast.Name) or not self.uses.is_once(node.id):
            return None
        if node.id in self.uses.sizes:
            value = self.el.frame.scope.find(node.id)
            return str(value) if isinstance(value, Dim) else None
        return self._made_symbols.get(node.id)

    @property
    def _made_symbols(self) -> dict[str, str]:
        """The names of symbols that the script makes, by what it binds them to."""
        if self._symbols is None:
            self._symbols = {}
            for statement in self.tree.body:
                match statement:
                    case ast.Assign(
                        targets=[ast.Name(id=bound)], value=ast.Call(func=maker, args=[ast.Constant(value=str(text))])
                    ) if _last_name(maker) == "Symbol":
                        self._symbols[bound] = text
        return self._symbols

    # Lists ------------------------------------------------------------------------------------------------------

    def _indexed(self, node: ast.Subscript, owner: ast.Name, name: str) -> None:
        if self._is_stream(name):
            self._report(node, f"{name} is one stream and cannot be indexed", _WHOLE)
            return
        index = self._integer(node.slice)
        if index is not None:
            self._item(node, owner, name, index)

    def _item(self, node: ast.Subscript, owner: ast.Name, name: str, index: int) -> None:
        value = self._names.get(name)
        streams = isinstance(value, tuple) and bool(value) and all(isinstance(item, StreamRef) for item in value)
        size = len(value) if streams and isinstance(value, tuple) else self._length(name)
        if size is None or -size <= index < size or not self.uses.is_once(name):
            return
        what = f"{self.el.text(owner)} holds {counted(size, 'stream' if streams else 'item')}"
        self._missing(node, what, self.el.text(owner), index, size)

    def _length(self, name: str) -> int | None:
        """Return how many items a list or tuple has that a statement above makes and nobody else gets, else None."""
        if not self.uses.is_once(name) or not self.uses.is_read_only(name):
            return None
        for place, statement in enumerate(self.tree.body[: self.place]):
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name:
                    size = self._made(value)
                    more = self._added(name, place)
                    return None if size is None or more is None else size + more
        return None

    def _made(self, value: ast.expr) -> int | None:
        match value:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return None if any(isinstance(item, ast.Starred) for item in items) else len(items)
            case ast.BinOp(left=ast.List() | ast.Tuple() as items, op=ast.Mult(), right=times):
                size, number = self._made(items), self._integer(times)
                return None if size is None or number is None else size * max(number, 0)
            case ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[])]):
                return self._rounds(over)
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[over], keywords=[]):
                return self._rounds(over)
        return None

    def _rounds(self, over: ast.expr) -> int | None:
        """Return how often a loop goes round, None where that is not certain."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
                number = self._integer(stop)
                return None if number is None else max(number, 0)
            case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]):
                first, end = self._integer(start), self._integer(stop)
                return None if first != 0 or end is None else max(end, 0)
            case ast.List() | ast.Tuple():
                return self._made(over)
            case ast.Name(id=name):
                return self._length(name)
        return None

    def _added(self, name: str, place: int) -> int | None:
        """Return how many items are appended to a list above, None where that is not certain."""
        wanted = self.uses.appended.get(name, set())
        if not wanted:
            return 0
        total, found = 0, set[int]()
        for number, statement in enumerate(self.tree.body):
            inside = statement.body if isinstance(statement, ast.For) else [statement]
            here = {id(owner) for each in inside if (owner := _appends(each)) is not None and id(owner) in wanted}
            if here and isinstance(statement, ast.For):
                leaves = any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(statement))
                rounds = None if leaves or number == self.place else self._rounds(statement.iter)
                if rounds is None:
                    return None
                total += rounds * len(here) if place < number < self.place else 0
            elif here:
                total += 1 if place < number < self.place else 0
            found |= here
        return total if found == wanted else None

    def _integer(self, node: ast.expr) -> int | None:
        """Return the whole number that an expression certainly is."""
        match node:
            case ast.Constant(value=int() as number) if type(number) is int:
                return number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._integer(operand)
                return None if inner is None else -inner
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                known = [side for side in map(self._integer, (left, right)) if side is not None]
                return None if len(known) < 2 else known[0] + known[1] * (1 if isinstance(op, ast.Add) else -1)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                return self._length(name)
            case ast.Name(id=name):
                return self.last.get(name, self._constant(name))
        return None

    def _constant(self, name: str) -> int | None:
        for statement in self.tree.body[: self.place]:
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=int() as number)):
                    if bound == name and type(number) is int and self.uses.is_once(name):
                        return number
        return None

    def _unpacked(self, node: ast.Assign, name: str, attr: str, count: int) -> None:
        size = self._parts(name, attr)
        if size is not None and size != count:
            what = counted(size, "size" if attr == "shape" else "tensor")
            self._report(
                node, f"{name}.{attr} holds {what}, and here are {counted(count, 'name')}", "give each one a name"
            )

    def _parts(self, name: str, attr: str) -> int | None:
        """Return how many sizes or tensors a stream has, None where that is not certain."""
        value = self._names.get(name)
        type_ = self.el.graph.streams[value.index].type if isinstance(value, StreamRef) else None
        if type_ is None or not self.uses.is_once(name) or attr in self.uses.attributes:
            return None
        return len(type_.shape) if attr == "shape" else len(components(type_.element))

    def _part(self, node: ast.Subscript, owner: ast.Attribute, name: str, attr: str, index: int) -> None:
        size = self._parts(name, attr)
        if size is None or -size <= index < size:
            return
        parts = counted(size, "size") if attr == "shape" else counted(size, "tensor")
        self._missing(node, f"{self.el.text(owner)} holds {parts}", self.el.text(owner), index, size)

    def _missing(self, node: ast.AST, what: str, shown: str, index: int, size: int) -> None:
        there = f"{shown}[0]" if size == 1 else f"{shown}[0] to {shown}[{size - 1}]"
        way_out = f"write {there}" if size else "put something in"
        self.el.report_certain("STEP224", node, f"{what}, and there is none at {index}", way_out, None)

    def _divided(self, node: ast.BinOp, name: str, number: int) -> None:
        text = f"{name} is a size, and {self.el.text(node)} may be no whole number"
        fix = Fix(f"Change to {name} // {number}", (Edit(self.el.span(node), f"{name} // {number}"),))
        self.el.report_certain("STEP224", node, text, f"write {name} // {number}", fix)

    def look_at_functions(self) -> None:
        """Report numbers of sizes that a function reads, which the script uses, and that nothing binds."""
        for statement in self.tree.body:
            for function in _functions(statement):
                for part in function.body:
                    for node in _evaluated(part) if isinstance(part, _SIMPLE) else ():
                        if isinstance(node, ast.Name) and _NUMBER_OF_SIZE.fullmatch(node.id):
                            self._unbound(node, statement)

    def _unbound(self, node: ast.Name, owner: ast.stmt) -> None:
        name = getattr(owner, "name", "")
        if self.uses.is_open or node.id in self.uses.bound or not self.uses.is_once(name) or name not in self.uses.read:
            return
        text = f"the script binds {node.id} nowhere"
        size = node.id.removesuffix("_value")
        self.el.report_certain("STEP202", node, text, f"write {node.id} = ... above, the number of {size}", None)


def _functions(statement: ast.stmt) -> Iterator[ast.FunctionDef]:
    """Yield a function, and the methods of a class."""
    if isinstance(statement, ast.FunctionDef):
        yield statement
    elif isinstance(statement, ast.ClassDef):
        yield from (each for each in statement.body if isinstance(each, ast.FunctionDef))


def _appends(statement: ast.stmt) -> ast.Name | None:
    """Return the name of the list to which a statement appends one item."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="append"), args=[_])):
            return owner
    return None


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

"""One walk over a body: forbidden constructs, unknown names, calls outside the allow-list, changes in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn import aliases, plain_types
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.ownership.held import GIVEN, Held, HeldFunction
from stepcore.fn.ownership.names import Foreign
from stepcore.fn.prelude import assigned_names, bound_once, changeable, prelude_names
from stepcore.fn.source import BodySyntaxError, dotted, statements
from stepcore.fn.walk.calls import CallWalk
from stepcore.fn.walk.finding import BodyKind

_LOOKS: Final = 3  # at helpers that call each other


class Walker(CallWalk):
    """Walks over the statements of one block. ``names`` are all names that it may read, its own included."""

    def __init__(self, kind: BodyKind, scope: FnScope, names: set[str]) -> None:
        super().__init__(kind, scope, names)
        if kind is not BodyKind.PRELUDE:
            self.own.scope = foreign(scope)

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Walk over statements in order."""
        if self._level == 0:
            body = tuple(body)
            self._expect(body)
            if _call_each_other(body):
                self._look_ahead(body)
        elif _call_each_other(body := tuple(body)):
            self._look_ahead(body)
        self._level += 1
        for statement in body:
            self._body.append(statement)
            budget.spend(1 + (len(self.names) >> 6 if isinstance(statement, ast.FunctionDef) else 0))
            handler = _STATEMENTS.get(type(statement))
            if self._level == 1 and self._names_modules(statement):
                pass
            elif handler is None:
                self._forbidden(statement)
            else:
                handler(self, statement)
            if not self._depth:
                self._bulk.after(statement)
        self._level -= 1

    def _assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self._target(target, node.value)

    def _look_ahead(self, body: Sequence[ast.stmt]) -> None:
        """Look at helpers that call themselves or later ones until it is known what each of them does; tell nothing."""
        if self._looks_ahead:  # the look at the helper around is taken as often
            return
        helpers = [statement for statement in body if isinstance(statement, ast.FunctionDef)]
        found, names, level = len(self.findings), dict(self.own.names), self._level
        self._level, self._looks_ahead = level + 1, True
        for _ in range(_LOOKS):
            for helper in helpers:
                self._helper(helper)
        self._level, self._looks_ahead = level, False
        del self.findings[found:]
        self.own.names = names

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._types(node)
        if node.value is not None:
            self.expression(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):  # Python evaluates x[i] of x[i]: int
            self._target(node.target, node.value)
        else:
            self._check_private(node.target, node.target.id)

    def _types(self, node: ast.AnnAssign | ast.FunctionDef) -> None:
        for annotation in plain_types.refused(node, self._modules):
            self.report("STEP302", annotation, f"this annotation is no plain type; {plain_types.WAY_OUT}")
        for parameter in plain_types.type_parameters(node):
            self.report("STEP302", parameter, "type parameters are forbidden in the function language; remove them")

    def _return(self, node: ast.Return) -> None:
        if self.kind is BodyKind.PRELUDE:
            self.report("STEP302", node, "return is forbidden outside of a function")
        elif node.value is not None:
            self.expression(node.value)
            self.own.returned |= self.own.held(node.value)

    def _expression_statement(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def _if(self, node: ast.If) -> None:
        self._bulk.lose(node)
        self.expression(node.test)
        self._arms += 1
        self._branches(node.body, node.orelse)
        self._arms -= 1

    def _for(self, node: ast.For) -> None:
        afterwards, found = self._bulk.follow(node)
        if found is not None:
            self.report("STEP311", *found)
        self._used_up(node.iter)
        around = self.own.held(node.iter)
        self._target(node.target, None)
        self.own.bind(node.target, self.own.heap.at(around))
        self.own.unsettle(assigned_names([node]))
        self.own.widen(node)
        self._depth += 1
        self._branches(node.body, node.orelse)
        self._depth -= 1
        self._bulk.reset(afterwards)

    def _nothing(self, _node: ast.AST) -> None:
        pass

    def _branches(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        before, functions, known = dict(self.own.names), dict(self.own.callables), self._bulk.mark()
        helpers = dict(self.own.helpers)
        self.statements(body)
        after_body, callables = self.own.names, self.own.callables
        defined, self.own.helpers = self.own.helpers, helpers
        self.own.names, self.own.callables = before, dict(functions)
        self._bulk.reset(known)
        self.statements(orelse)
        self.own.either(defined)
        self._bulk.reset(known)  # nothing that only one arm binds is known afterwards
        for name, held in after_body.items():  # what may hold on one path may hold afterwards
            self.own.names[name] = self.own.heap.few(held | self.own.names.get(name, held))
        self.own.callables = dict(self.own.callables.items() & callables.items())

    def _import(self, node: ast.Import) -> None:
        # Importing what is in scope anyway changes nothing.
        others = [alias for alias in node.names if self._modules.get(alias.asname or alias.name) != alias.name]
        for alias in sorted(others, key=lambda alias: alias.name in aliases.ALIASED):  # the mistake first
            if alias.name in aliases.ALIASED:
                text = f"import of {alias.name} stands at the beginning of a block; move it there"
                self.report("STEP302", node, text)
            else:
                self.report("STEP302", node, f"import of {alias.name} is forbidden{self._in_scope()}")
            return

    def _helper(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            text = "decorators are forbidden in the function language; remove it"
            self.report("STEP302", node.decorator_list[0], text)
            return
        self._types(node)
        self._check_bound(node, node.name)
        defaults = self._defaults(node.args)
        self._scoped(node.args, lambda: self._helper_body(node, defaults))

    def _defaults(self, arguments: ast.arguments) -> dict[str, Held]:
        """Return what parameters hold that a call does not name; all calls share what ``global`` made for that."""
        parameters = (*arguments.posonlyargs, *arguments.args)
        pairs = zip(parameters[len(parameters) - len(arguments.defaults) :], arguments.defaults, strict=True)
        if self.kind is not BodyKind.PRELUDE:
            return {parameter.arg: self.own.held(default) for parameter, default in pairs}
        made = (each for each, default in pairs if not isinstance(default, ast.Constant | ast.UnaryOp))
        return {parameter.arg: GIVEN for parameter in made}

    def _helper_body(self, node: ast.FunctionDef, defaults: dict[str, Held]) -> None:
        kind = self.kind
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        outer = self.own.enter(node, node.name, parameters)
        local = assigned_names(node.body)
        self.own.hide_helpers(local)
        if kind is BodyKind.PRELUDE:
            self.own.foreign = prelude_names(self.scope.prelude) - {argument.arg for argument in node.args.args}
        self.own.foreign -= local
        self.names = self.names | local
        if kind is BodyKind.PRELUDE:
            self.kind = BodyKind.FUNCTION  # it may return, and must be pure
        known, depth = self._bulk.mark(), self._depth
        for name in local:
            self._bulk.forget(name)
        self._depth = 0  # its own constants are known in there, whatever it is called with
        self.statements(node.body)
        self._depth, self.kind = depth, kind
        self._bulk.reset(known)
        self.own.leave(outer, node, node.name, parameters, defaults)


def _call_each_other(body: Sequence[ast.stmt]) -> bool:
    """Whether a helper names itself or one that stands further down."""
    later: set[str] = set()
    for statement in reversed(body):
        if isinstance(statement, ast.FunctionDef):
            later.add(statement.name)
            if any(isinstance(node, ast.Name) and node.id in later for node in ast.walk(statement)):
                return True
    return False


def foreign(scope: FnScope) -> Foreign:
    """Return what ``global`` gives to bodies, as far as they may change it or hand something on by it."""
    return Foreign() if scope.prelude is None else _foreign(scope)


@lru_cache(maxsize=256)
def _foreign(scope: FnScope) -> Foreign:
    assert scope.prelude is not None
    try:
        body = statements(scope.prelude)
    except BodySyntaxError:
        return Foreign()  # reported where the block is checked
    once = dict(bound_once(body))
    # What may be a function or a module: ``act = torch.nn.GELU()``.
    callables: dict[str, ast.expr] = {
        name: value for name, value in once.items() if isinstance(value, ast.Attribute | ast.Call)
    }
    found = Foreign(changeable(body) - _only_functions(body), callables=callables)
    # Once for each block, whoever asks first: so it is no step of a document.
    with budget.using(budget.Budget.for_text(len(scope.prelude.source.text))):
        try:
            walker = _walked(scope, scope.prelude, found)
            found = replace(found, kept=frozenset(_kept(walker, body)))
            if found.kept:  # its functions may call them, too
                walker = _walked(scope, scope.prelude, found)
        except (budget.OutOfBudget, RecursionError):
            return found
    closed = (name for name, value in once.items() if walker.own.held(value).is_closed)
    iterators = frozenset(name for name, value in once.items() if _is_iterator(value))
    return replace(found, helpers=walker.own.helpers, tensors=frozenset(closed), iterators=iterators)


def _is_iterator(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func) in _ITERATORS


_ITERATORS: Final = (("zip",), ("enumerate",), ("reversed",))


def _walked(scope: FnScope, prelude: CodeBlock, found: Foreign) -> Walker:
    """Return a walker that has seen the functions of ``global``."""
    walker = Walker(BodyKind.PRELUDE, scope, set(prelude_names(prelude)))
    walker.own.scope = found
    walker.statements(statement for statement in statements(prelude) if isinstance(statement, ast.FunctionDef))
    return walker


def _only_functions(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that ``global`` gives to functions, and to nothing else."""
    names = {statement.name for statement in body if isinstance(statement, ast.FunctionDef)}
    for node in chain.from_iterable(map(ast.walk, body)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.discard(node.id)
    return names


def _kept(walker: Walker, body: Sequence[ast.stmt]) -> Iterator[HeldFunction]:
    """Yield the functions that ``global`` may keep in lists and dictionaries: those that it names and does not call."""
    nodes = [node for statement in body if not isinstance(statement, ast.FunctionDef) for node in ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            yield from walker.own.held(node).callees()


_STATEMENTS: Final[dict[type[ast.stmt], Callable[[Walker, Any], None]]] = {
    ast.Assign: Walker._assign,
    ast.AugAssign: Walker._augmented,
    ast.AnnAssign: Walker._annotated,
    ast.Return: Walker._return,
    ast.Expr: Walker._expression_statement,
    ast.If: Walker._if,
    ast.For: Walker._for,
    ast.FunctionDef: Walker._helper,
    ast.Import: Walker._import,
    ast.Pass: Walker._nothing,
    ast.Break: Walker._nothing,
    ast.Continue: Walker._nothing,
}


Walker.handlers = {
    ast.Name: Walker._read,
    ast.Constant: Walker._constant,
    ast.Attribute: Walker._method_taken,
    ast.Call: Walker._call,
    ast.BinOp: Walker._operation,
    ast.Subscript: Walker._subscript,
    ast.ListComp: Walker._listed,
    ast.GeneratorExp: Walker._generator,
    ast.DictComp: Walker._mapped,
    ast.Lambda: Walker._lambda,
    ast.FormattedValue: Walker._formatted,
    ast.NamedExpr: Walker._named,
    # Nothing but their parts.
    ast.Tuple: Walker._display,
    ast.List: Walker._display,
    ast.Dict: Walker._keyed,
    ast.Compare: Walker._compared,
    ast.BoolOp: Walker._either,
    ast.UnaryOp: Walker._parts,
    ast.IfExp: Walker._either,
    ast.Slice: Walker._parts,
    ast.Starred: Walker._star,
    ast.JoinedStr: Walker._display,
}

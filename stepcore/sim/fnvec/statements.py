"""Statements of the closed language: assignments, conditions on data, loops, helper functions.

A condition that depends on the batch position runs both branches under a mask and selects afterwards. What breaks a
rule or a limit of the language raises ``EvaluationRefused``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from stepcore.fn.aliases import bound_modules
from stepcore.fn.prelude import SymbolRef, assigned_names
from stepcore.sim.fnvec.builtin import EXTENDING, items
from stepcore.sim.fnvec.errors import EvaluationRefused, FnRuntimeError, NoRule, Restart
from stepcore.sim.fnvec.names import Namespace, Operation
from stepcore.sim.fnvec.scopes import Scope, ScopeNames
from stepcore.sim.fnvec.tape import TV
from stepcore.text.wording import counted

if TYPE_CHECKING:
    from stepcore.sim.fnvec.machine import Machine
    from stepcore.sim.fnvec.trace import Tracer
    from stepcore.text.span import Embedded


class _Signal:
    """What a list of statements ended with, other than a returned value."""


FELL_THROUGH: Final = _Signal()
_BREAK: Final = _Signal()
_CONTINUE: Final = _Signal()
# The value of a variable that only one branch of a condition on data could define.
UNSETTLED: Final = _Signal()


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda or helper function with the scope where it was made, and the names that it binds itself."""

    node: ast.Lambda | ast.FunctionDef
    scope: Scope
    source: Embedded
    defaults: tuple[Any, ...]
    own: frozenset[str]


class Statements:
    """The statement half of the interpreter."""

    machine: Machine
    source: Embedded
    globals: Scope
    frozen: set[int]
    kept: Set[int]
    depth: int
    steps: int
    returned: ast.Return | None = None

    if TYPE_CHECKING:  # what the expression half provides
        eval: Callable[[ast.expr, Scope], Any]
        fail: Callable[[ast.AST, Exception], FnRuntimeError]
        operator_name: Callable[[ast.AST], str]
        tracer: Callable[[], Tracer]
        machine_place: Callable[[ast.AST], None]
        call: Callable[[Any, Sequence[Any], dict[str, Any]], Any]
        choose: Callable[[Any, Any, Any], Any]

    def run(self, body: Sequence[ast.stmt], scope: Scope) -> Any:
        """Run statements; return the returned value, or :data:`FELL_THROUGH`."""
        pending = list(reversed(body))
        while pending:
            statement = pending.pop()
            if not isinstance(statement, ast.If):
                outcome = self._statement(statement, scope)
                if outcome is not FELL_THROUGH:
                    return outcome
                continue
            condition = self.eval(statement.test, scope)
            if type(condition) is not TV:
                branch = statement.body if self._taken(statement, condition) else statement.orelse
                pending.extend(reversed(branch))
                continue
            self.machine_place(statement.test)
            truth = self.tracer().truth(condition)
            if _leaves(statement):
                # The rest belongs to both branches: each may return early.
                return self._split(truth, statement, pending[::-1], scope)
            self._both(truth, statement, scope)
        return FELL_THROUGH

    def spend(self) -> None:
        """Count one step.

        Raises:
            EvaluationRefused: the budget is used up (STEP405).
        """
        self.steps -= 1
        if self.steps < 0:
            raise EvaluationRefused(f"one call takes more than {self.machine.limits.steps:,} steps", "STEP405")

    def _statement(self, node: ast.stmt, scope: Scope) -> Any:
        try:
            self.spend()
            return self._dispatch(node, scope)
        except (FnRuntimeError, NoRule, Restart):
            raise
        except Exception as error:
            raise self.fail(node, error) from error

    def _dispatch(self, node: ast.stmt, scope: Scope) -> Any:
        match node:
            case ast.Return(value=value):
                self.returned = node
                return None if value is None else self.eval(value, scope)
            case ast.For():
                return self._for(node, scope)
            case ast.Break():
                return _BREAK
            case ast.Continue():
                return _CONTINUE
            case ast.Assign(targets=targets, value=expression):
                self._assign(targets, expression, scope)
            case ast.AugAssign():
                self._augmented(node, scope)
            case ast.AnnAssign(target=target, value=annotated):
                self._assign([target], annotated, scope)
            case ast.Expr(value=expression):
                self.eval(expression, scope)
            case _:
                self._rare(node, scope)
        return FELL_THROUGH

    def _assign(self, targets: Sequence[ast.expr], expression: ast.expr | None, scope: Scope) -> None:
        if expression is not None:  # x: int alone declares nothing here
            value = self.eval(expression, scope)
            for target in targets:
                self.bind(target, value, scope)

    def _rare(self, node: ast.stmt, scope: Scope) -> None:
        if isinstance(node, ast.FunctionDef):
            scope[node.name] = self.closure(node, scope)
        elif named := bound_modules(node, {}):  # an import, as the checker interprets it
            scope.update((name, Namespace(path)) for name, path in named)
        elif not isinstance(node, ast.Pass) and not self._harmless_import(node):
            word = _KEYWORDS.get(type(node), type(node).__name__)
            raise EvaluationRefused(f"{word} is forbidden in a function body", "STEP302")

    def _harmless_import(self, node: ast.stmt) -> bool:
        """Return whether everything imported is in scope already."""
        return isinstance(node, ast.Import) and all(self._known_module(alias) for alias in node.names)

    def _known_module(self, alias: ast.alias) -> bool:
        known = self.globals.get(alias.asname or alias.name)
        return getattr(known, "path", None) == alias.name

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Assign ``value`` to a target."""
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(target, parts, value, scope)
            case ast.Subscript(value=owner, slice=index):
                base = self.eval(owner, scope)
                key = self.eval(index, scope)
                self.machine_place(target)
                try:
                    self._store(base, key, value)
                except (FnRuntimeError, NoRule, Restart):
                    raise
                except Exception as error:
                    raise self.fail(target, error) from error
            case _:
                raise EvaluationRefused("only names, tuples of names and items can be assigned", "STEP302")

    def _store(self, base: Any, key: Any, value: Any) -> None:
        self.refuse_frozen(base)
        if base is self.globals.get("ctx"):
            self._bind_size(base, key, value)
            return
        if isinstance(base, TV | torch.Tensor | list | dict):
            self.machine.set_item(base, key, value)
            return
        raise EvaluationRefused("this value has no items that can be assigned")

    def _bind_size(self, context: Any, key: Any, value: Any) -> None:
        if not isinstance(key, SymbolRef):
            raise EvaluationRefused("ctx holds numbers of sizes; write ctx[E] = 3 for a size E", "STEP302")
        if not isinstance(value, int):
            raise EvaluationRefused(f"a size must be an integer, not {value!r}")
        context[key] = value
        self.globals[f"{key.name}_value"] = value  # a helper may bind it

    def _unpack(self, target: ast.expr, parts: list[ast.expr], value: Any, scope: Scope) -> None:
        values = list(items(self, value))
        starred = [index for index, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if starred:
            index = starred[0]
            after = len(parts) - index - 1
            if len(values) < len(parts) - 1:
                raise EvaluationRefused(
                    f"{counted(len(values), 'value')} for at least {counted(len(parts) - 1, 'name')}"
                )
            middle = values[index : len(values) - after]
            values = [*values[:index], middle, *values[len(values) - after :]]
        if len(values) != len(parts):
            raise EvaluationRefused(f"{counted(len(values), 'value')} for {counted(len(parts), 'name')}")
        for part, item in zip(parts, values, strict=True):
            self.bind(part.value if isinstance(part, ast.Starred) else part, item, scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        name = self.operator_name(node.op)
        target = node.target
        if isinstance(target, ast.Name):
            current = self.eval(ast.copy_location(ast.Name(target.id, ast.Load()), target), scope)
            value = self.eval(node.value, scope)
            self.machine_place(node)
            self.refuse_frozen(current)
            scope[target.id] = self.machine.augment(name, current, self._joined_on(name, current, value))
            return
        if not isinstance(target, ast.Subscript):
            raise EvaluationRefused("only names and items can be assigned", "STEP302")
        base = self.eval(target.value, scope)
        key = self.eval(target.slice, scope)
        self.refuse_frozen(base)
        self.machine_place(node)
        current = self.machine.get_item(base, key)
        self.refuse_frozen(current)
        value = self.eval(node.value, scope)
        self.machine_place(node)
        if isinstance(base, list | dict):
            self.machine.set_item(base, key, self.machine.augment(name, current, self._joined_on(name, current, value)))
        else:
            # Python reads the item, changes it and stores it back; storing also covers items that are copies.
            self.machine.set_item(base, key, self.machine.binary(name, current, value))

    def _joined_on(self, name: str, current: Any, value: Any) -> Any:
        """Return what ``current OP= value`` joins on: to a list, the items of whatever has some, as Python does."""
        is_extended = name == "add" and isinstance(current, list)
        return list(items(self, value)) if is_extended and isinstance(value, EXTENDING) else value

    def refuse_frozen(self, value: Any) -> None:
        """Refuse to change a list or dictionary that is not the body's own (STEP310)."""
        if id(value) in self.frozen:
            raise EvaluationRefused("the lists of inputs and state must not change", "STEP310")
        if id(value) in self.kept:
            raise EvaluationRefused("what global made must not change: the next call would find it so", "STEP310")

    # Conditions and loops ---------------------------------------------------------------------------------------

    @contextmanager
    def masked(self, truth: TV, wants: bool) -> Iterator[None]:
        """Run a branch: what it changes in place changes only where ``truth`` is ``wants``."""
        tracer = self.tracer()
        before = tracer.mask
        here = truth if wants else tracer.call(_NOT, (truth,), {})
        tracer.mask = here if before is None else tracer.call(_AND, (before, here), {})
        try:
            yield
        except FnRuntimeError as error:
            raise NoRule from error  # the branch may not be taken anywhere: decide position by position
        finally:
            tracer.mask = before

    def _taken(self, node: ast.If, condition: Any) -> bool:
        try:
            return bool(condition)
        except RuntimeError as error:
            raise self.fail(node.test, error) from error

    def _both(self, truth: TV, node: ast.If, scope: Scope) -> None:
        branches = []
        for wants, body in ((True, node.body), (False, node.orelse)):
            with self.masked(truth, wants), _put_back(scope):
                self.run(body, scope)
                branches.append(dict(scope))
        self._join(truth, scope, *branches)

    def _split(self, truth: TV, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Any:
        results = []
        for wants, body in ((True, node.body), (False, node.orelse)):
            with self.masked(truth, wants), _put_back(scope):
                results.append(self.run([*body, *rest], scope))
        if any(isinstance(result, _Signal) or result is None for result in results):
            raise NoRule
        return self.tracer().choose(truth, *results)

    def _join(self, truth: TV, scope: Scope, yes: Mapping[str, Any], no: Mapping[str, Any]) -> None:
        for name in yes.keys() | no.keys():
            a, b = yes.get(name, UNSETTLED), no.get(name, UNSETTLED)
            try:
                scope[name] = a if a is b else self.tracer().choose(truth, a, b)
            except NoRule:
                scope[name] = UNSETTLED  # harmless unless somebody reads it

    def _for(self, node: ast.For, scope: Scope) -> Any:
        for item in items(self, self.eval(node.iter, scope)):
            self.spend()
            self.bind(node.target, item, scope)
            outcome = self.run(node.body, scope)
            if outcome is _BREAK:
                return FELL_THROUGH
            if outcome is not FELL_THROUGH and outcome is not _CONTINUE:
                return outcome
        return self.run(node.orelse, scope)

    # Helper functions -------------------------------------------------------------------------------------------

    def closure(self, node: ast.Lambda | ast.FunctionDef, scope: Scope) -> Closure:
        """Return a lambda or ``def`` as a value; defaults are evaluated now."""
        spec = node.args
        if spec.vararg or spec.kwarg or spec.kwonlyargs or getattr(node, "decorator_list", None):
            raise EvaluationRefused("helper functions take plain arguments", "STEP302")
        own = assigned_names([ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body)
        return Closure(node, scope, self.source, tuple(self.eval(default, scope) for default in spec.defaults), own)

    def call_closure(self, function: Closure, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a helper function."""
        spec = function.node.args
        names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        if len(args) > len(names):
            raise EvaluationRefused(f"{counted(len(args), 'argument')} for a function of {len(names)}")
        missing = object()
        values: dict[str, Any] = dict.fromkeys(names, missing)
        values.update(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True))
        values.update(zip(names, args, strict=False))
        if set(kwargs) - set(names):
            raise EvaluationRefused(f"unknown argument {sorted(set(kwargs) - set(names))[0]!r}")
        values.update(kwargs)
        lacking = [name for name, value in values.items() if value is missing]
        if lacking:
            raise EvaluationRefused(f"the argument {lacking[0]!r} is missing")
        return self._enter(function, ScopeNames(values.items(), function.own, function.scope))

    def _enter(self, function: Closure, inner: Scope) -> Any:
        if self.depth >= self.machine.limits.depth:
            raise EvaluationRefused(f"helpers call each other more than {self.machine.limits.depth} deep", "STEP405")
        before, self.source = self.source, function.source
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.eval(function.node.body, inner)
            outcome = self.run(function.node.body, inner)
            return None if outcome is FELL_THROUGH else outcome
        finally:
            self.depth -= 1
            self.source = before


_NOT: Final = Operation("logical_not", torch.logical_not)
_AND: Final = Operation("logical_and", torch.logical_and)
_KEYWORDS: Final[dict[type[ast.AST], str]] = {
    ast.Import: "import", ast.ImportFrom: "import", ast.ClassDef: "class", ast.Global: "global",
    ast.Nonlocal: "nonlocal", ast.With: "with", ast.Try: "try", ast.While: "while", ast.Delete: "del",
    ast.Raise: "raise", ast.Assert: "assert", ast.AsyncFunctionDef: "async", ast.Match: "match",
}  # fmt: skip


@contextmanager
def _put_back(scope: Scope) -> Iterator[None]:
    """Run an arm in the scope itself, where helpers find what the arm binds, and take that back afterwards."""
    before = dict(scope)
    try:
        yield
    finally:
        scope.clear()
        scope.update(before)


def _leaves(node: ast.If) -> bool:
    """Return whether a branch may end early: a return, break or continue of its own level."""
    pending: list[ast.AST] = [*node.body, *node.orelse]
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Return | ast.Break | ast.Continue):
            return True
        if not isinstance(inner, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(inner))
    return False

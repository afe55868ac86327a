"""Elaboration: a program's text becomes a graph of operators by evaluating it on symbolic streams.

The program language is small (assignments, operator calls, lists, comprehensions, loops, branches, helper
functions, one return); evaluating it, instead of looking at names, is what lets the affine checker follow
values. Loops over known lengths are unrolled; a loop of unknown length is elaborated once and marked; both arms
of a branch that cannot be decided are elaborated. Nothing of the text is ever handed to Python.

This module holds the statements, :mod:`stepcore.frontend.elaboration` the state that all share; expressions are in
:mod:`stepcore.frontend.expressions`, the application of operators in :mod:`stepcore.frontend.application`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from stepcore.findings.budget import OutOfBudget
from stepcore.findings.diagnostics import Edit, Fix
from stepcore.fn.aliases import bound_modules
from stepcore.frontend import advice, calls, expressions
from stepcore.frontend.application import consume, leaves
from stepcore.frontend.bindings import bound_in, bound_names
from stepcore.frontend.elaboration import Elaboration, Joined
from stepcore.frontend.sequences import count_of, equal, fits, iterate, rounds
from stepcore.frontend.state import (
    MAX_OPTIONS,
    MAX_PATH,
    Abandon,
    Frame,
    SuiteEnd,
)
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    EvaluationContext,
    Helper,
    ModuleRef,
    OnePass,
    Path,
    Scope,
    Seen,
    StreamRef,
    UnknownSequence,
    Value,
    describe,
    is_stream,
)
from stepcore.graph.ir import Node
from stepcore.graph.typed import has_stores
from stepcore.ops import miscalls
from stepcore.ops.calling import like
from stepcore.ops.pace import OffChipUse
from stepcore.records import make
from stepcore.text.span import Embedded, Span

_handlers: Final = expressions.HANDLERS
# Expressions whose parts are all evaluated; where their handlers make an exception they count it in `hidden`.
_WHOLE: Final = frozenset({
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Subscript, ast.Call, ast.ListComp,
})  # fmt: skip


class Elaborator(Elaboration):
    """Elaborates one program into :attr:`graph`, :attr:`uses` and :attr:`diagnostics`."""

    __slots__ = ()

    # -- results ---------------------------------------------------------------------------------

    def run(self, body: list[ast.stmt], scope: Scope, code: Embedded) -> None:
        """Elaborate ``body``; inputs are already in ``scope``. Never raises on user input."""
        if not self.suppress_unused:  # else a line was left out, which may have bound any name
            scope.own = bound_in(body, code.text)
        context = EvaluationContext("root", code, body=body)
        self.roots = body
        for index in self.graph.inputs:
            self.homes[index] = context
        self.frame = Frame(scope, code, context)
        try:
            self.suite(body)
            self._finish(body)
            if self.loops:
                from stepcore.frontend import loops  # few programs have some

                loops.finish(self)
        except Abandon:
            self.graph.complete = False
            self.suppress_unused = True
        except OutOfBudget as error:
            self.out_of_budget(error)
        except RecursionError:
            self.report("STEP221", body[0], "the program is nested too deeply to be followed", "split it up")
            self.graph.complete = False
            self.suppress_unused = True
        finally:
            self.settle()

    def _finish(self, body: list[ast.stmt]) -> None:
        returned = self.frame.returned
        if not returned and has_stores(self.graph):
            return
        if not returned:
            if body and not self.suppress_unused and not any(map(self._may_store, self.graph.nodes)):
                self._returns_nothing(body[-1])
            self.graph.complete = False
            return
        if len(returned) > 1:
            self.graph.complete = False
        for path, expr, value in returned:
            self._return_streams(path, expr, value)

    def _may_store(self, node: Node) -> bool:
        """Return whether a node that could not be built is a store, or nobody knows what it is."""
        cls = self.dialect.by_name.get(node.op_name)
        return node.op is None and (cls is None or cls.off_chip is OffChipUse.STORES)

    def _returns_nothing(self, last: ast.stmt) -> None:
        """Report a program without return; what its last statement makes is likely what it should give."""
        given = ""
        match last:
            case ast.Assign(targets=[ast.Name(id=name)]) if is_stream(self.frame.scope.names.get(name)):
                given = name
            case ast.FunctionDef(name=name) if isinstance(self.frame.scope.names.get(name), Helper):
                given = f"{name}({', '.join(argument.arg for argument in last.args.args)})"
        code, end = self.frame.code, self.span(last).end
        added = f"{code.newline}{code.indent}{' ' * last.col_offset}return {given}"
        fix = Fix(f"Return {given}", (Edit(Span(end, end), added),)) if given and code.verbatim else None
        self.report(
            "STEP219", last, "the program returns nothing", f"end it with `return {given or 'STREAM'}`", fix=fix
        )

    def _return_streams(self, path: Path, expr: ast.expr | None, value: Value) -> None:
        if expr is None or value is None:
            if has_stores(self.graph):
                return
            node = expr or self.frame.context.body[-1]
            self.report("STEP219", node, "the program returns nothing", "end it with `return STREAM`")
            self.graph.complete = False
            return
        first = not self.graph.returns
        outer, self.path = self.path, path
        for leaf in leaves(self, expr, value):
            indices = consume(self, leaf, None, "a program returns streams")
            if first:
                self.graph.returns.extend(indices)
                self.graph.return_spans.extend(self.span(leaf.expr) for _ in indices)
        self.path = outer

    # -- statements ------------------------------------------------------------------------------------

    def suite(self, body: list[ast.stmt]) -> SuiteEnd:
        """Elaborate statements until one leaves the suite."""
        outer_path = self.path
        for statement in body:
            self.step(statement)
            if id(statement) not in self.met:
                self.met[id(statement)] = statement, self.frame.code
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                self._refuse(statement)
                continue
            before = self.hidden
            flow = handler(self, statement)
            if before == self.hidden and _is_call(statement):
                self.whole.add(id(statement))
            if flow is not SuiteEnd.NEXT:
                self.path = outer_path
                return flow
        self.path = outer_path
        return SuiteEnd.NEXT

    def _refuse(self, statement: ast.stmt) -> None:
        what = expressions.word_of(statement)
        self.report(
            "STEP220",
            _head(self.frame.code, statement, self.span(statement)),
            f"`{what}` is not part of the program language",
            advice.of_statement(statement, in_task=self.is_task),
        )
        self.graph.complete = False
        self.suppress_unused = True
        for name in ast.walk(statement):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                self.frame.scope.names[name.id] = UNKNOWN
        visible = set(self.frame.scope.visible())
        for bound in set(bound_names(statement)) - visible:
            self.frame.scope.names[bound] = UNKNOWN
            self.refused.add(bound)

    def evaluate(self, node: ast.expr) -> Value:
        """Return the value of an expression; UNKNOWN where a finding was given."""
        self.steps += 1  # as step() does; this is the innermost loop of checking
        self.at = node
        if self.steps > self._limit:
            self._stop(node)
        kind = type(node)
        holder: Scope | None = None
        name = ""
        if kind is ast.Name:  # half of all; what is known takes no further call
            holder, name = self.frame.scope, node.id  # type: ignore[attr-defined]
            while holder is not None and name not in holder.names:
                holder = holder.parent if name not in holder.own else None
        if holder is not None:
            value = holder.names[name]
            self.seen.append(make(Seen, (node, self.frame.code, value, False)))
        else:
            if kind not in _WHOLE:
                self.hidden += 1
            try:
                handler = _handlers[kind]
            except KeyError:
                handler = expressions.refuse
            value = handler(self, node)
        if (value is UNKNOWN or type(value) is UnknownSequence) and self.undecided is None:
            self.undecided = self.span(node), self.text(node)
        return value

    def _expression(self, statement: ast.Expr) -> SuiteEnd:
        value = statement.value
        if isinstance(value, ast.Constant):
            if value.value is ...:  # a line that did not parse
                self.suppress_unused = True
                self.graph.complete = False
            return SuiteEnd.NEXT
        firsts = value.elts[:-1] if isinstance(value, ast.Tuple) else []
        match value.elts[-1] if isinstance(value, ast.Tuple) and value.elts else value:
            case ast.Compare(left=ast.Name() as last, ops=[ast.Eq() | ast.NotEq()]) as compared:
                names = [item for item in [*firsts, last] if isinstance(item, ast.Name)]
                if len(names) > len(firsts) and not {name.id for name in names} & set(self.frame.scope.visible()):
                    self._compared(compared, names)
                    return SuiteEnd.NEXT
        self.evaluate(value)
        return SuiteEnd.NEXT

    def _compared(self, value: ast.Compare, names: list[ast.Name]) -> None:
        """Report ``E2 == ...`` or ``E2, E3 == ...`` where an assignment is meant."""
        left, right = self.span(value.left), value.comparators[0]
        between = Span(left.end, self.span(right).start)
        fix = Fix("Assign with =", (Edit(between, " = "),)) if self.frame.code.verbatim else None
        sign = "==" if isinstance(value.ops[0], ast.Eq) else "!="
        text = f"{sign} compares {names[-1].id}, which is not known"
        self.report("STEP202", value.left, text, "assign with one =", fix=fix)
        given = self.evaluate(right)
        if len(names) == 1:
            self.frame.scope.names[names[0].id] = given
        else:
            self.bind(ast.copy_location(ast.Tuple(list(names), ast.Store()), names[0]), given)

    def _assign(self, statement: ast.Assign) -> SuiteEnd:
        if type(statement.value) in (ast.Attribute, ast.Name) and self._names_module(statement):
            return SuiteEnd.NEXT
        if isinstance(statement.value, ast.Lambda) and all(isinstance(t, ast.Name) for t in statement.targets):
            value: Value = expressions.named_lambda(self, statement.value)
        else:
            value = self.evaluate(statement.value)
        if isinstance(statement.value, ast.Constant) and statement.value.value is ...:
            self.suppress_unused = True
            self.graph.complete = False
        for target in statement.targets:
            if type(target) is ast.Attribute:
                self.set_attribute(target, statement.value, value)
            self.bind(target, value)
        return SuiteEnd.NEXT

    def set_attribute(self, target: ast.Attribute, given: ast.expr, value: Value) -> None:
        """Look at what an attribute is set to; programs set none, which :meth:`bind` reports."""

    def _names_module(self, statement: ast.Assign) -> bool:
        """Report ``F = torch.nn.functional`` where no torch is known: no program uses modules."""
        found = bound_modules(statement, {"torch": "torch", "math": "math"})
        if not found or self.look(found[0][1].partition(".")[0]) is not None:
            return False
        ((name, module),) = found
        text = f"{name} would stand for {module}, and a program computes nothing with tensors"
        self.report("STEP220", statement, text, advice.OF_MODULES)
        self.graph.complete = False
        self.frame.scope.names[name] = UNKNOWN
        return True

    def _annotated(self, statement: ast.AnnAssign) -> SuiteEnd:
        if statement.value is not None:
            self.bind(statement.target, self.evaluate(statement.value))
        return SuiteEnd.NEXT

    def _augmented(self, statement: ast.AugAssign) -> SuiteEnd:
        target = statement.target
        if not isinstance(target, ast.Name):
            self._refuse(statement)
            return SuiteEnd.NEXT
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        old = self.evaluate(load)
        new = self.evaluate(statement.value)
        if isinstance(old, list) and isinstance(new, list | tuple) and isinstance(statement.op, ast.Add):
            if fits(self, statement, len(old) + len(new)):
                self.charge(len(new))
                old.extend(new)
            return SuiteEnd.NEXT
        if isinstance(old, list) and isinstance(new, int) and isinstance(statement.op, ast.Mult):
            if fits(self, statement, len(old) * max(new, 0)):
                self.charge(len(old) * max(new, 0))
                old *= new  # the same list, by whatever other name
            return SuiteEnd.NEXT
        self.bind(target, expressions.binary(self, statement, old, statement.op, new))
        return SuiteEnd.NEXT

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign ``value`` to a target: a name, or a tuple of targets."""
        match target:
            case ast.Name():
                self.frame.scope.names[target.id] = value
                self.seen.append(make(Seen, (target, self.frame.code, value, True)))
                self._name_streams(target, value, target.id)
            case ast.Tuple() | ast.List():
                self._unpack(target, value)
            case ast.Subscript():
                self.hidden += 1
                expressions.store_item(self, target, value)
            case _:
                self.report("STEP220", target, "a program assigns to names only", "use a plain name")
                for name in _names_in(target):  # `a.b = ...` for `a, b = ...`: one finding, and none for each use
                    self.frame.scope.names.setdefault(name, UNKNOWN)

    def _name_streams(self, target: ast.Name, value: Value, name: str) -> None:
        streams = self.graph.streams
        if isinstance(value, StreamRef):
            stream = streams[value.index]
            if not stream.name:
                stream.name, stream.span = name, self.span(target)
        elif isinstance(value, (list, tuple)):
            self.charge(len(value))
            fields = getattr(value, "_fields", ())
            for position, item in enumerate(value):
                label = f"{name}.{fields[position]}" if fields else f"{name}[{position}]"
                if isinstance(item, StreamRef) and not streams[item.index].name:
                    streams[item.index].name, streams[item.index].span = label, self.span(target)
                elif fields and isinstance(item, list):
                    self._name_streams(target, item, label)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        targets = target.elts
        starred = [i for i, item in enumerate(targets) if isinstance(item, ast.Starred)]
        self.hidden += bool(starred)
        if is_stream(value):
            self.tell(miscalls.one_for_several(target, self.maker_of(value), self), target)
            value = UNKNOWN
        items = iterate(self, target, value, quiet=value is UNKNOWN)
        if isinstance(items, UnknownSequence):
            items = [self._another(items.item, number) for number in range(len(targets))]
        elif items is None:
            items = [UNKNOWN] * len(targets)
        elif starred:
            before, after = starred[0], len(targets) - starred[0] - 1
            if len(items) >= before + after:
                middle = list(items[before : len(items) - after])
                items = [*items[:before], middle, *items[len(items) - after :]]
        if len(items) != len(targets):
            self._ill_matched(target, items)
            items = [UNKNOWN] * len(targets)
        for item, part in zip(targets, items, strict=True):
            self.bind(item.value if isinstance(item, ast.Starred) else item, part)

    def _another(self, item: Value, number: int) -> Value:
        """Return the stream for name ``number`` where only a run can tell how many streams there are."""
        if number == 0 or not isinstance(item, StreamRef):
            return item
        stream = self.graph.streams[item.index]
        return self.new_stream("", stream.span, stream.producer, number)

    def _ill_matched(self, target: ast.Tuple | ast.List, items: list[Value]) -> None:
        """Report another number of names than values; quiet where the operator that makes them is unusable."""
        producers = {self.graph.streams[item.index].producer for item in items if isinstance(item, StreamRef)}
        if any(producer is not None and self.graph.nodes[producer].op is None for producer in producers):
            return
        makers = {self.maker_of(item) for item in items}
        maker = makers.pop() if len(makers) == 1 else ""
        ops = [self.graph.nodes[producer].op for producer in producers if producer is not None]
        outputs = ops[0].outputs if maker and ops and ops[0] is not None else None
        mistake = miscalls.other_number(target, len(items), maker, outputs, self)
        if maker:
            self.report_certain(mistake.code, target, mistake.text, mistake.way_out, None)
        else:
            self.tell(mistake, target)

    def _return(self, statement: ast.Return) -> SuiteEnd:
        value = None if statement.value is None else self.evaluate(statement.value)
        self.frame.returned.append((self.path, statement.value, value))
        return SuiteEnd.RETURN

    def _pass(self, statement: ast.Pass) -> SuiteEnd:
        return SuiteEnd.NEXT

    def _break(self, statement: ast.Break) -> SuiteEnd:
        return SuiteEnd.BREAK

    def _continue(self, statement: ast.Continue) -> SuiteEnd:
        return SuiteEnd.CONTINUE

    def _function(self, statement: ast.FunctionDef) -> SuiteEnd:
        make = expressions.function_definition(self, statement)
        if make is not None:
            self.element_functions.add(id(statement))
        value = make if make is not None else calls.helper(self, statement)
        self.frame.scope.names[statement.name] = value
        return SuiteEnd.NEXT

    # -- branches ------------------------------------------------------------------------------------

    def _if(self, statement: ast.If) -> SuiteEnd:
        decided = expressions.condition(self, statement.test)
        if decided is not None:
            self.take(statement.test, decided)
            return self.suite(statement.body if decided else statement.orelse)
        return self._both(statement.body, statement.orelse)

    def _both(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> SuiteEnd:
        branch = self.new_branch()
        scope = self.frame.scope
        before = self._copy_names(scope.names)
        outer = self.path
        if len(outer) >= MAX_PATH:
            self.report("STEP221", self.at, "too many conditions that only a run can decide", "use fewer branches")
            raise Abandon
        self.path = (*outer, (branch, 0))
        first = self.suite(body)
        first_names, scope.names = scope.names, before
        self.path = (*outer, (branch, 1))
        second = self.suite(orelse)
        second_names = scope.names
        self.path = outer
        if SuiteEnd.BREAK in (first, second) or SuiteEnd.CONTINUE in (first, second):
            self.report("STEP220", self.frame.context.body[0], "break and continue need a condition that is known")
            raise Abandon
        scope.names = first_names if second is SuiteEnd.RETURN else second_names
        if first is SuiteEnd.RETURN and second is SuiteEnd.RETURN:
            return SuiteEnd.RETURN
        if first is SuiteEnd.NEXT and second is SuiteEnd.NEXT:
            scope.names = self.join_names(branch, first_names, second_names)
        else:  # what follows runs only in the arm that did not return
            self.path = (*outer, (branch, 1 if first is SuiteEnd.RETURN else 0))
        return SuiteEnd.NEXT

    def _copy_names(self, names: dict[str, Value]) -> dict[str, Value]:
        memo: dict[int, Value] = {}
        self.charge(len(names))

        def copy(value: Value) -> Value:
            if isinstance(value, OnePass):  # each arm may use it up
                left = list(value.items)
                self.charge(1 + len(left))
                value.items = iter(left)
                return OnePass(value.maker, iter(left), len(left), value.width)
            if not isinstance(value, list | tuple):
                return value
            if id(value) not in memo:
                self.charge(len(value))
                if isinstance(value, tuple):
                    memo[id(value)] = like(value, [copy(item) for item in value])
                else:
                    fresh: list[Value] = []
                    memo[id(value)] = fresh
                    fresh.extend(copy(item) for item in value)
            return memo[id(value)]

        return {name: copy(value) for name, value in names.items()}

    def join_names(self, branch: int, first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
        """Return the names after a branch: what both arms agree on, alternatives where they differ."""
        names = dict(second)
        self.charge(len(first) + len(second))
        done: Joined = {}
        for name, value in first.items():
            names[name] = self.join(branch, value, second[name], done) if name in second else UNKNOWN
        for name in second.keys() - first.keys():
            names[name] = UNKNOWN
        return names

    def join(self, branch: int, first: Value, second: Value, done: Joined | None = None) -> Value:
        """Return one value that stands for ``first`` in arm 0 and ``second`` in arm 1.

        ``done`` keeps what is shared inside nested values shared: they may hold more items than can be visited.
        """
        if isinstance(first, StreamRef | Alternatives) and isinstance(second, StreamRef | Alternatives):
            return self._join_streams(branch, first, second)
        if first is second or type(first) is not type(second):
            return first if first is second else UNKNOWN
        if not isinstance(first, list | tuple):
            return first if equal(self, first, second) else UNKNOWN
        if len(first) != len(second):
            return UNKNOWN
        done = {} if done is None else done
        key = (id(first), id(second))
        if key not in done:
            self.charge(len(first))
            items = [self.join(branch, a, b, done) for a, b in zip(first, second, strict=True)]
            done[key] = like(first, items)
        return done[key]

    def _join_streams(self, branch: int, first: StreamRef | Alternatives, second: StreamRef | Alternatives) -> Value:
        if first == second:
            return first
        options = (*_options(branch, 0, first), *_options(branch, 1, second))
        if len(options) <= MAX_OPTIONS:
            return Alternatives(options)
        self.report("STEP221", self.at, "too many conditions decide which stream this is", "use fewer branches")
        return UNKNOWN

    # -- loops ---------------------------------------------------------------------------------------

    def _for(self, statement: ast.For) -> SuiteEnd:
        value = self.evaluate(statement.iter)
        items = rounds(self, statement.iter, value) or UnknownSequence(UNKNOWN)
        flow = SuiteEnd.NEXT
        if isinstance(items, UnknownSequence):
            flow = self._round(statement, object(), 0, 1, items.item, endless=self.is_open(items))
        else:
            group, total = object(), count_of(value)
            for index, item in enumerate(items):
                flow = self._round(statement, group, index, total, item)
                if flow in (SuiteEnd.BREAK, SuiteEnd.RETURN):
                    break
        if flow is SuiteEnd.RETURN:
            return flow
        return self.suite(statement.orelse) if flow is not SuiteEnd.BREAK else SuiteEnd.NEXT

    def is_open(self, items: UnknownSequence) -> bool:
        """Return whether only a run can tell how many items there are; False after a finding, which may be why."""
        return items.item is not UNKNOWN or not self.diagnostics

    def _round(
        self, statement: ast.For, group: object, index: int, total: int, item: Value, *, endless: bool = False
    ) -> SuiteEnd:
        outer = self.frame.context
        self.frame.context = EvaluationContext(
            "loop",
            self.frame.code,
            outer,
            statement,
            statement.body,
            group,
            index,
            total,
            endless,
            depth=outer.depth + 1,
        )
        try:
            self.bind(statement.target, item)
            return self.suite(statement.body)
        finally:
            self.frame.context = outer

    def _while(self, statement: ast.While) -> SuiteEnd:
        outer = self.frame.context
        group: object = object()
        index = 0
        while True:
            self.step(statement.test)
            decided = expressions.condition(self, statement.test)
            if decided is False:
                return self.suite(statement.orelse)
            self.frame.context = EvaluationContext(
                "loop", self.frame.code, outer, statement, statement.body, group, index, 0,
                decided is None and not self.diagnostics,
                depth=outer.depth + 1,
            )  # fmt: skip
            try:
                flow = self.suite(statement.body)
            finally:
                self.frame.context = outer
            if flow is SuiteEnd.RETURN:
                return flow
            if flow is SuiteEnd.BREAK or decided is None:
                return SuiteEnd.NEXT
            index += 1


def _options(branch: int, arm: int, value: StreamRef | Alternatives) -> tuple[tuple[Path, StreamRef], ...]:
    options: tuple[tuple[Path, StreamRef], ...]
    options = ((((), value),)) if isinstance(value, StreamRef) else value.options
    return tuple((((branch, arm), *path), stream) for path, stream in options)


def _names_in(target: ast.expr) -> list[str]:
    """Return the names of a target that is no name, attributes too."""
    nodes = list(ast.walk(target))
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    return names + [node.attr for node in nodes if isinstance(node, ast.Attribute)]


def _is_call(statement: ast.stmt) -> bool:
    """Whether a statement assigns what calls give, or returns: what it evaluates has to be streams."""
    if type(statement) is not ast.Assign:
        return type(statement) is ast.Return
    value = statement.value
    return type(value.elt if type(value) is ast.ListComp else value) is ast.Call


def _head(code: Embedded, statement: ast.stmt, span: Span) -> Span:
    """The first line of a compound statement."""
    first_line = code.inner.line_text(statement.lineno - 1).rstrip("\r\n") if code.verbatim else ""
    return Span(span.start, min(span.end, span.start + max(len(first_line) - statement.col_offset, 1)))


_STATEMENTS: dict[type[ast.stmt], Callable[[Elaborator, Any], SuiteEnd]] = {
    ast.Expr: Elaborator._expression,
    ast.Assign: Elaborator._assign,
    ast.AnnAssign: Elaborator._annotated,
    ast.AugAssign: Elaborator._augmented,
    ast.Return: Elaborator._return,
    ast.Pass: Elaborator._pass,
    ast.Break: Elaborator._break,
    ast.Continue: Elaborator._continue,
    ast.FunctionDef: Elaborator._function,
    ast.If: Elaborator._if,
    ast.For: Elaborator._for,
    ast.While: Elaborator._while,
}

__all__ = ["Abandon", "Elaborator", "Frame", "ModuleRef", "SuiteEnd", "describe"]

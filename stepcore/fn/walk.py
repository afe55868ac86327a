"""One walk over a body: forbidden constructs, unknown names, calls outside the allow-list, changes in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from stepcore.findings import budget
from stepcore.fn import aliases, allow, plain_types
from stepcore.fn.bulk import MAX_BITS, Bulk
from stepcore.fn.decl import FnScope
from stepcore.fn.members import (
    DRAWN,
    OTHERWISE,
    member_problem,
    no_component,
    no_tensor,
    unknown_attribute,
    unknown_name,
)
from stepcore.fn.ownership import GIVEN, OWN, Foreign, Held, HelperEffects, Ownership, constant_index
from stepcore.fn.placement import COMPLEX, misplaced
from stepcore.fn.prelude import assigned_names, changeable, named_callables, prelude_names
from stepcore.fn.source import BodySyntaxError, augmented, dotted, statements
from stepcore.fn.terms import breach, literal, seen
from stepcore.sizes.dim import DEFAULT_SIZES, is_name
from stepcore.text.wording import counted


class BodyKind(Enum):
    """What a block is; it decides what may stand in it."""

    FUNCTION = "function"
    PRELUDE = "prelude"
    REFERENCE = "reference"


# What people call the first argument of a function that has an init.
STATES: Final = ("state", "acc")


@dataclass(frozen=True, slots=True)
class BodyFinding:
    """A finding at a node; the checker turns the node into a span of the file."""

    code: str
    node: ast.AST
    message: str


_FORBIDDEN: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.ImportFrom: ("import", ""),
    ast.ClassDef: ("class", "; write a def, or a lambda"),
    ast.Global: ("global", "; remove it: names of global are in scope"),
    ast.Nonlocal: ("nonlocal", "; remove it"),
    ast.With: ("with", "; write its body alone: no gradients are kept, and nothing is to be closed"),
    ast.Try: ("try", "; write its body alone: nothing is caught"),
    ast.While: ("while", "; write a for loop over a range"),
    ast.Delete: ("del", "; remove it"),
    ast.Raise: ("raise", "; remove it"),
    ast.Assert: ("assert", "; remove it: shapes are checked by the types"),
    ast.AsyncFunctionDef: ("async", "; write def"),
    ast.AsyncFor: ("async", "; write for"),
    ast.AsyncWith: ("async", ""),
    ast.Match: ("match", "; write if and else"),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", "; return a list"),
    ast.YieldFrom: ("yield", "; return a list"),
    ast.Set: ("a set", "; write a list"),
    ast.SetComp: ("a set", "; write a list"),
}
_VALUE_NAMES: Final = (
    allow.TENSOR_METHODS
    | allow.TENSOR_ATTRIBUTES
    | allow.RESULT_FIELDS
    | allow.MODULE_ATTRIBUTES
    | allow.CONTAINER_METHODS
    | allow.DTYPE_ATTRIBUTES
)
# Names of tasks that stand for one thing everywhere. Sizes are none of them: E = Symbol("E") is how tasks make some.
_PREDECLARED: Final = frozenset({"input_data", "ctx", "Symbol"})
# What takes all items of an argument at once.
CONSUMERS: Final = frozenset(
    (name,) for name in allow.names("all any dict enumerate list max min sorted sum tuple zip")
)
# Those that do so before anything else happens.
AT_ONCE: Final = CONSUMERS - {("zip",), ("enumerate",)}
_LENGTHEN: Final = allow.names("append extend insert")
_LIST_CHANGES: Final = allow.names("append extend insert pop reverse sort")
_TENSOR_SORT: Final = allow.names("dim descending stable")


class Walker:
    """Collects findings of one block. ``names`` are all names that it may read, its own included."""

    def __init__(self, kind: BodyKind, scope: FnScope, names: set[str]) -> None:
        self.kind = kind
        self.scope = scope
        self.names = names
        self.arguments: tuple[str, ...] = ()  # of the function whose body this is
        self.findings: list[BodyFinding] = []
        weights = frozenset(scope.parameters) if scope.bare_parameters else frozenset()
        self._modules = dict(scope.modules)
        self._later: dict[str, str] = {}  # names of modules that a statement further down binds
        self.own = Ownership(weights, self._modules, may_bind=kind is BodyKind.PRELUDE)
        self._is_fn = kind is BodyKind.FUNCTION  # no helper of a module, which only a reference may use
        self._bulk = Bulk(dict(scope.sizes) or DEFAULT_SIZES, None if kind is BodyKind.PRELUDE else scope.prelude)
        if kind is not BodyKind.PRELUDE:
            self.own.foreign = prelude_names(scope.prelude) - self._modules.keys()
            self.own.scope = foreign(scope)
        self._arms = 0  # of conditions that other sizes may decide otherwise
        self._body: list[ast.stmt] = []
        self._depth = 0  # of loops, in which a name has more than one value
        self._rebound: set[str] = set()  # names of modules that a finding says are given another meaning
        self._told = False  # whether the call around is a mistake already
        self._level = 0  # of suites inside each other; only at the outermost one a name may stand for a module

    def _changes_lists(self) -> bool:
        """Whether anything in the block so far, or in ``global``, makes a list longer or shorter, by whatever name."""
        nodes = [node for statement in (*self._body, *self._shared()) for node in ast.walk(statement)]
        return any(map(_may_change_length, nodes))

    def _shared(self) -> tuple[ast.stmt, ...]:
        try:
            return () if self.scope.prelude is None else statements(self.scope.prelude)
        except BodySyntaxError:
            return ()

    def report(self, code: str, node: ast.AST, message: str) -> None:
        """Add a finding."""
        self.findings.append(BodyFinding(code, node, message))

    # Statements -------------------------------------------------------------------------------------------------

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Walk over statements in order."""
        if self._level == 0:
            body = tuple(body)
            self._expect(body)
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

    def _expect(self, body: tuple[ast.stmt, ...]) -> None:
        """Take note of the names that statements of the block make stand for modules: each does so from there on."""
        self._later = {
            name: module
            for name, module in aliases.aliases(body, self._modules).items()
            if name != "torch" and name not in self.own.arguments
        }
        for name in self._later:
            self._modules.pop(name, None)

    def _names_modules(self, statement: ast.stmt) -> bool:
        """Whether a statement says that names stand for modules, which is interpreted here and never executed."""
        found = aliases.bound_modules(statement, self._modules)
        for name, module in found:
            known = self._modules.get(name, dict(self.scope.modules).get(name))
            problem = aliases.why_not(name, module)
            if not problem and known not in (None, module):
                problem = f"{name} stands for {known} already; choose another name"
            elif not problem and name not in self._modules and self._is_taken(name):
                problem = f"{name} has another meaning and cannot stand for {module}; choose another name"
            if problem:
                self.report("STEP302", statement, problem)
                break
            self._modules[name] = module
            self._later.pop(name, None)
        return bool(found)

    def _is_taken(self, name: str) -> bool:
        scope = self.scope
        sizes = (*allow.PREDECLARED_SYMBOLS, *scope.symbols)
        ours = (*scope.parameters, *scope.tensors, *self.arguments, *self.own.arguments, *sizes)
        return name in ours or name.removesuffix("_value") in sizes

    def _is_module(self, node: ast.expr) -> bool:
        """Report a module that stands where a value does: only its functions are values."""
        module = aliases.module_of(node, self._modules)
        if module is None:
            return False
        path = dotted(node)
        if self._told or (path is not None and path[0] in self._rebound):
            return True
        text = f"{module} is a module, and no value"
        way_out = f"write {ast.unparse(node)}.NAME; `F = {module}` gives it a short name at the beginning of a block"
        self.report("STEP302", node, f"{text}; {way_out}")
        return True

    def _assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self._target(target, node.value)

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
        self.own.bind(node.target, around.part, node.iter)
        self.own.widen(node)
        self._depth += 1
        self._branches(node.body, node.orelse)
        self._depth -= 1
        self._bulk.reset(afterwards)

    def _nothing(self, _node: ast.AST) -> None:
        pass

    def _branches(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        before, known = dict(self.own.names), self._bulk.mark()
        self.statements(body)
        after_body = self.own.names
        self.own.names = before
        self._bulk.reset(known)
        self.statements(orelse)
        self._bulk.reset(known)  # nothing that only one arm binds is known afterwards
        for name, held in after_body.items():  # what may hold on one path may hold afterwards
            self.own.names[name] = held | self.own.names.get(name, held)

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

    def _forbidden(self, node: ast.AST) -> None:
        word, hint = _FORBIDDEN.get(type(node), (type(node).__name__, ""))
        if isinstance(node, ast.ImportFrom):
            hint = self._in_scope()
        self.report("STEP302", node, f"{word} is forbidden in the function language{hint or OTHERWISE}")

    def _in_scope(self) -> str:
        names = sorted(self._modules)
        return f"; {' and '.join(names)} {'is' if len(names) == 1 else 'are'} in scope" if names else "; remove it"

    def _helper(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            text = "decorators are forbidden in the function language; remove it"
            self.report("STEP302", node.decorator_list[0], text)
            return
        self._types(node)
        self._check_bound(node, node.name)
        self._scoped(node.args, lambda: self._helper_body(node))

    def _helper_body(self, node: ast.FunctionDef) -> None:
        kind, names, outer = self.kind, dict(self.own.names), (self.own.changed, self.own.returned)
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        self.own.changed, self.own.returned = set(), OWN
        for parameter in parameters:
            self.own.names[parameter] = Held(frozenset({parameter}))
        self.own.helpers[node.name] = HelperEffects.unknown(parameters)  # while it is looked at
        local = assigned_names(node.body)
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
        self._depth = depth
        self._bulk.reset(known)
        changed = frozenset(self.own.changed & set(parameters))
        shared = _shared(node.args) if kind is BodyKind.PRELUDE else frozenset()
        self.own.helpers[node.name] = HelperEffects(tuple(parameters), changed, self.own.returned, shared)
        self.own.changed, self.own.returned = outer[0] | (self.own.changed - changed), outer[1]
        self.kind, self.own.names = kind, names

    def _scoped(self, arguments: ast.arguments, walk: Callable[[], None]) -> None:
        """Walk with the arguments of a lambda or helper in scope."""
        for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
            self.expression(default)
        starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
        if starred or arguments.kwonlyargs:
            place = (starred or arguments.kwonlyargs)[0]
            self.report("STEP302", place, "helper functions take plain arguments only")
        plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred)
        for argument in plain:
            self._check_bound(argument, argument.arg)
        self._inside({argument.arg for argument in plain}, walk)

    def _inside(self, bound: set[str], walk: Callable[[], None]) -> None:
        """Walk with further names in scope that hide outer ones."""
        names, arguments, held, foreign = self.names, self.own.arguments, self.own.names, self.own.foreign
        budget.spend(len(names) >> 4)
        self.names = names | bound
        self.own.hide(bound)
        self.own.names = {**held, **dict.fromkeys(bound, OWN)}
        hidden = self._bulk.hide(bound)
        walk()
        self._bulk.unhide(hidden)
        self.names, self.own.arguments, self.own.names, self.own.foreign = names, arguments, held, foreign

    # Targets ----------------------------------------------------------------------------------------------------

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self._check_bound(target, name)
                self.own.assign(name, OWN if value is None else self.own.held(value))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpacking(target, parts, value)
            case ast.Starred(value=inner):
                self._target(inner, None)
            case ast.Subscript(value=base, slice=index):
                self.expression(index)
                self.expression(base)
                if (complaint := self._bulk.stored(target, value)) != "":
                    self.report("STEP311", target, complaint)
                if self.own.change(base):
                    self.report("STEP310", target, self.own.complaint(base))
                elif value is not None:
                    self.own.put(base, self.own.held(value))
            case ast.Attribute(attr=name):
                self.report("STEP302", target, f"assigning the attribute {name!r} is forbidden")
            case _:
                self._forbidden(target)

    def _unpacking(self, target: ast.expr, parts: list[ast.expr], value: ast.expr | None) -> None:
        starred = any(isinstance(part, ast.Starred) for part in parts)
        count = self.own.arguments.get(value.id) if isinstance(value, ast.Name) else None
        fits = count is None or (len(parts) - 1 <= count if starred else len(parts) == count)
        if count is not None and isinstance(value, ast.Name) and not fits:
            has, names = counted(count, "component"), counted(len(parts), "name")
            self.report("STEP308", target, f"{value.id} has {has}; {names} cannot take them")
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) and not starred:
            held = [self.own.held(item) for item in value.elts]
        else:
            held = [OWN if value is None else self.own.held(value).part] * len(parts)
        for part, item in zip(parts, held, strict=True):
            self._target(part, None)
            self.own.bind(part, item)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        complaint = self._complaint(augmented(node))
        if complaint:
            self.report("STEP311", node, complaint)
        self.expression(node.value)
        if isinstance(target, ast.Name):
            self._name(target, target.id)
            self._check_module(target, target.id)
            if self.own.change(target):
                self.report("STEP310", node, self.own.complaint(target))
                self.own.assign(target.id, OWN)
            elif isinstance(node.op, ast.Add):
                self.own.put(target, self.own.held(node.value).part)
        elif isinstance(target, ast.Subscript):
            self.expression(target.slice)
            self.expression(target.value)
            if self.own.change(target.value) or self.own.change(target):
                self.report("STEP310", node, self.own.complaint(target.value))
        else:
            self.report("STEP302", target, f"assigning the attribute {target.attr!r} is forbidden")

    # Expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        """Walk over an expression."""
        budget.spend(1)
        _EXPRESSIONS.get(type(node), Walker._forbidden)(self, node)

    def _parts(self, node: ast.expr) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, complex):
            self.report("STEP302", node, COMPLEX)
        elif isinstance(node.value, bytes):
            self.report("STEP302", node, "bytes are forbidden in the function language; write a text")
        elif isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
            self.report("STEP311", node, f"this number has more than {MAX_BITS:,} bits; write a smaller one")

    def _operation(self, node: ast.BinOp) -> None:
        if not self._too_large(node):
            self.expression(node.left)
            self.expression(node.right)
            if not isinstance(node.op, ast.Add | ast.Mult):  # which lists know, too
                self._whole(node.left)
                self._whole(node.right)

    def _too_large(self, node: ast.expr) -> bool:
        """Report what makes something too large; what stands inside is part of the same mistake."""
        complaint = self._complaint(node)
        if complaint:
            self.report("STEP311", node, complaint)
        return bool(complaint)

    def _complaint(self, node: ast.expr) -> str:
        hidden = self._bulk.hide(self.own.arguments)
        complaint = self._bulk.complaint(node)
        self._bulk.unhide(hidden)
        return complaint

    def _compared(self, node: ast.Compare) -> None:
        sides = (node.left, *node.comparators)
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.Is | ast.IsNot) and any(_has_no_identity(side) for side in (left, right)):
                text = "`is` of numbers, texts and tuples says how Python is built, not what they are; write =="
                self.report("STEP302", node, text)
        self._parts(node)

    def _display(self, node: ast.expr) -> None:
        if not self._too_large(node):
            self._parts(node)

    def _either(self, node: ast.IfExp | ast.BoolOp) -> None:
        self._arms += 1
        self._parts(node)
        self._arms -= 1

    def _read(self, node: ast.Name) -> None:
        if not self._is_module(node):
            self._name(node, node.id)

    def _listed(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        if self._too_large(node):
            return
        self._comprehension([node.elt], node.generators)

    def _generator(self, node: ast.GeneratorExp) -> None:
        text = "a generator is forbidden in the function language except where it is used up at once; write a list"
        self.report("STEP302", node, text)

    def _used_up(self, node: ast.expr) -> None:
        """Walk over an expression whose items are taken at once, so that a generator is as good as a list."""
        if isinstance(node, ast.GeneratorExp):
            self._listed(node)
        else:
            self.expression(node)

    def _star(self, node: ast.Starred) -> None:
        self._used_up(node.value)

    def _mapped(self, node: ast.DictComp) -> None:
        self._comprehension([node.key, node.value], node.generators)

    def _lambda(self, node: ast.Lambda) -> None:
        def body() -> None:
            for argument in node.args.args:  # nobody follows with what it is called
                self.own.names[argument.arg] = GIVEN
            self.expression(node.body)

        self._scoped(node.args, body)

    def _formatted(self, node: ast.FormattedValue) -> None:
        self.expression(node.value)
        if node.format_spec is not None and not _is_plain_format(node.format_spec):
            self.report("STEP302", node.format_spec, "this format is forbidden: plain widths and precisions only")

    def _named(self, node: ast.NamedExpr) -> None:
        self.expression(node.value)
        self._target(node.target, node.value)
        self._bulk.forget(node.target.id)

    def _comprehension(self, results: Sequence[ast.expr], generators: Sequence[ast.comprehension]) -> None:
        if not generators:
            for result in results:
                self.expression(result)
            return
        first = generators[0]
        if first.is_async:
            self.report("STEP302", first.iter, "async is forbidden in the function language; write for")
        self._used_up(first.iter)
        around = self.own.held(first.iter)

        def inner() -> None:
            self.own.bind(first.target, around.part, first.iter)
            for test in first.ifs:
                self.expression(test)
            self._arms += bool(first.ifs)
            self._comprehension(results, generators[1:])
            self._arms -= bool(first.ifs)

        bound: set[str] = set()
        self._item_names(first.target, bound)
        self._inside(bound, inner)

    def _item_names(self, target: ast.expr, bound: set[str]) -> None:
        """Add the names that a comprehension binds; it binds names only."""
        match target:
            case ast.Name(id=name):
                self._check_bound(target, name)
                bound.add(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._item_names(part, bound)
            case ast.Starred(value=inner):
                self._item_names(inner, bound)
            case _:
                self.report("STEP302", target, "a comprehension binds plain names only in the function language")

    def _check_bound(self, node: ast.AST, name: str) -> None:
        """Report a name that must not be bound: a private one, or one that means something in every body."""
        if self._check_private(node, name):
            return
        if self._check_module(node, name):
            return
        if name in self._modules or (name in _PREDECLARED and not self.scope.bare_parameters):
            self.report("STEP302", node, f"{name} is predeclared and cannot be bound anew; choose another name")

    def _check_module(self, node: ast.AST, name: str) -> bool:
        """Report a name that stands for a module and is given another meaning."""
        module = self._modules.get(name, self._later.get(name))
        if module is None or name == module or module not in aliases.ALIASED:
            return False
        self._rebound.add(name)
        self.report("STEP302", node, f"{name} stands for {module} and cannot be bound anew; choose another name")
        return True

    def _check_private(self, node: ast.AST, name: str) -> bool:
        if name.startswith("__"):
            self.report("STEP302", node, f"{name} is forbidden in the function language{OTHERWISE}")
            return True
        return False

    def _name(self, node: ast.AST, name: str) -> None:
        if name in self._later:
            text = f"{name} stands for {self._later[name]} only further down; move the line that says so up"
            self.report("STEP303", node, text)
            return
        module = self._modules.get(name, "torch")
        if self._is_fn and module.partition(".")[0] not in ("torch", "math"):
            self.report("STEP304", node, f"{module} is not part of the function language{OTHERWISE}")
            return
        if name in self.names or name in allow.BUILTINS or self._check_private(node, name):
            return
        if name in allow.FORBIDDEN_BUILTINS:
            hint = "; functions compute from their arguments and parameters alone"
            if name == "print":
                hint = "; remove it: `stepsmith simulate` shows values"
            self.report("STEP302", node, f"{name} is forbidden in the function language{hint}")
            return
        self.report("STEP303", node, self._unknown(name))

    def _unknown(self, name: str) -> str:
        text = f"unknown name {name!r}"
        if name in self.scope.parameters or (self.kind is BodyKind.REFERENCE and name in self.scope.tensors):
            return f"{text}; write input_data[{name!r}]"
        if self.kind is BodyKind.FUNCTION and name in self.scope.tensors:
            return f"{text}: functions get the elements of streams as input"
        if name in STATES and len(self.arguments) == 1:
            return f"{text}; a function gets a state when it has an init, such as init: [0]"
        if self.arguments and name in ("x", "inp", "inputs", "data", "args", "tensor"):
            return f"{text}; the components of an element are {self.arguments[-1]}[0] and so on"
        return unknown_name(name, self.names, allow.BUILTINS)

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith("_"):
            self.report("STEP302", node, f"the attribute {node.attr!r} is private and forbidden{OTHERWISE}")
            return
        path = dotted(node)
        module = self._module_of(path)
        if path is not None and module is not None:
            problem = member_problem(module, path, random=self.kind is BodyKind.PRELUDE)
            if problem is not None:
                self.report("STEP304", node, problem)
            else:
                self._is_module(node)
            return
        before = len(self.findings)
        self.expression(node.value)
        if len(self.findings) != before:
            return
        if node.attr not in _VALUE_NAMES:
            reason = allow.why_not("torch.Tensor", node.attr)
            self.report("STEP304", node, reason or unknown_attribute(node.attr, _VALUE_NAMES))
        elif node.attr not in allow.CONTAINER_METHODS:
            self._whole(node.value)

    def _whole(self, node: ast.expr) -> None:
        """Report an argument that is used as a tensor: it is the list of the element's components."""
        if isinstance(node, ast.Name) and node.id in self.own.arguments:
            self.report("STEP308", node, no_tensor(node.id, self.own.arguments[node.id]))

    def _module_of(self, path: tuple[str, ...] | None) -> str | None:
        return self._modules.get(path[0]) if path is not None else None

    def _call(self, node: ast.Call) -> None:
        function = node.func
        before = len(self.findings)
        if isinstance(function, ast.Attribute):
            self._attribute(function)
            if len(self.findings) == before and self._module_of(dotted(function)) is None:
                self._method(node, function)
        else:
            self.expression(function)
            if isinstance(function, ast.Name) and function.id == "Symbol":
                self._symbol(node)
            if self.own.changes(node):
                self.report("STEP310", node, self.own.complaint(function))
        if len(self.findings) == before and (self._too_large(node) or self._breaks_terms(node)):
            return
        elsewhere = misplaced(node)
        if elsewhere is not None and len(self.findings) == before:
            self.report("STEP304", *elsewhere)
            return
        path = dotted(function)
        walk = self._used_up if path in AT_ONCE and path[0] not in self.names else self.expression
        told, self._told = self._told, self._told or len(self.findings) > before
        for argument in node.args:
            walk(argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.report("STEP302", keyword, "** is forbidden in the function language")
            elif keyword.arg == "out":
                self.report("STEP304", keyword, "out= writes into another tensor; use the returned value")
            else:
                self.expression(keyword.value)
        self._told = told

    def _breaks_terms(self, node: ast.Call) -> bool:
        """Report a call that may change its arguments, or draw where functions are pure, by what its literals say."""
        path = dotted(node.func)
        module = self._module_of(path)
        if path is None or module is None:
            return False
        full = ".".join((module, *path[1:]))
        if full.startswith("torch.ops.aten."):
            full = full.rpartition(".")[0]
        found = breach(full, *seen(node, literal), random=self.kind is BodyKind.PRELUDE)
        if found is not None:
            self.report(found[0], node, found[1])
        return found is not None

    def _symbol(self, node: ast.Call) -> None:
        match node:
            case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]) if is_name(name) and name[0] != "_":
                return
        self.report("STEP217", node, 'a size is made from its name, an identifier: write Symbol("H")')

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        name, base = function.attr, function.value
        if name in allow.RANDOM_METHODS and self.kind is not BodyKind.PRELUDE:
            self.report("STEP304", function, f"{name} draws random numbers: functions are pure; {DRAWN}")
        elif self._changes(node, name, base) and self.own.change(base):
            self.report("STEP310", node, self.own.complaint(base))
        elif name in _LENGTHEN:
            for argument in node.args:
                held = self.own.held(argument)
                self.own.put(base, held.part if name == "extend" else held)

    def _changes(self, node: ast.Call, name: str, base: ast.expr) -> bool:
        """Whether a method changes what it is called at: ``sort`` does so at a list, and not at a tensor."""
        if name == "sort" and (node.args or any(keyword.arg in _TENSOR_SORT for keyword in node.keywords)):
            return False  # a list takes none of these, and so is not changed either
        return allow.is_inplace(name) or (name in _LIST_CHANGES and not (name == "sort" and self.own.is_tensor(base)))

    def _subscript(self, node: ast.Subscript) -> None:
        base, index = node.value, node.slice
        self.expression(base)
        self.expression(index)
        if not self._arms and isinstance(node.ctx, ast.Load):
            self._in_range(node)
        if not isinstance(base, ast.Name):
            return
        if base.id in self.own.arguments:
            self._component(node, base.id, index)
        elif base.id == "input_data" and isinstance(index, ast.Constant):
            self._entry(node, index)

    def _in_range(self, node: ast.Subscript) -> None:
        hidden = self._bulk.hide(self.own.arguments)
        outside = self._bulk.outside(node)
        self._bulk.unhide(hidden)
        if outside and not self._changes_lists():
            self.report("STEP308", node, outside)

    def _component(self, node: ast.Subscript, name: str, index: ast.expr) -> None:
        value = constant_index(index)
        count = self.own.arguments[name]
        if value is not None and not -count <= value < count:
            self.report("STEP308", node, no_component(name, count, value))

    def _entry(self, node: ast.Subscript, index: ast.Constant) -> None:
        known = set(self.scope.parameters)
        if self.kind is BodyKind.REFERENCE:
            known |= set(self.scope.tensors)
        name = index.value
        if not isinstance(name, str) or name in known:
            return
        if name in self.scope.tensors and self.kind is BodyKind.FUNCTION:
            text = f"{name!r} is an input stream; functions get its elements as arguments and read parameters only"
        else:
            listed = f"; known: {', '.join(sorted(known))}" if known else "; this task declares none"
            text = f"there is no parameter {name!r}{allow.suggestion(name, known) or listed}"
        self.report("STEP303", node.slice, text)


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
    found = Foreign(changeable(body), callables=dict(named_callables(body)))
    walker = Walker(BodyKind.PRELUDE, scope, set(prelude_names(scope.prelude)))
    # Once for each block, whoever asks first: so it is no step of a document.
    with budget.using(budget.Budget.for_text(len(scope.prelude.source.text))):
        try:
            walker.statements(statement for statement in body if isinstance(statement, ast.FunctionDef))
        except (budget.OutOfBudget, RecursionError):
            return found
    found.helpers.update(walker.own.helpers)
    return found


def _shared(arguments: ast.arguments) -> frozenset[str]:
    """Return the parameters whose defaults may be changed: all calls share these."""
    parameters = (*arguments.posonlyargs, *arguments.args)
    pairs = zip(parameters[len(parameters) - len(arguments.defaults) :], arguments.defaults, strict=True)
    return frozenset(
        parameter.arg for parameter, default in pairs if not isinstance(default, ast.Constant | ast.UnaryOp)
    )


def _may_change_length(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.Subscript(slice=ast.Slice(), ctx=ast.Store()):
            return True
        case ast.Attribute(attr=name):
            return name in _LIST_CHANGES
    return False


def _has_no_identity(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str) and not isinstance(node.value, bool)
    return isinstance(node, ast.Tuple | ast.JoinedStr)


def _is_plain_format(spec: ast.expr) -> bool:
    if not isinstance(spec, ast.JoinedStr) or not all(isinstance(part, ast.Constant) for part in spec.values):
        return False
    text = "".join(str(part.value) for part in spec.values if isinstance(part, ast.Constant))
    return len(text) <= 4 and set(text) <= set("0123456789.,dfgex+ ")


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
_EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Walker, Any], None]]] = {
    ast.Name: Walker._read,
    ast.Constant: Walker._constant,
    ast.Attribute: Walker._attribute,
    ast.Call: Walker._call,
    ast.BinOp: Walker._operation,
    ast.Subscript: Walker._subscript,
    ast.ListComp: Walker._listed,
    ast.GeneratorExp: Walker._generator,
    ast.DictComp: Walker._mapped,
    ast.Lambda: Walker._lambda,
    ast.FormattedValue: Walker._formatted,
    ast.NamedExpr: Walker._named,
    # Nothing but their parts; what stands in no line of this table is refused.
    ast.Tuple: Walker._display,
    ast.List: Walker._display,
    ast.Dict: Walker._parts,
    ast.Compare: Walker._compared,
    ast.BoolOp: Walker._either,
    ast.UnaryOp: Walker._parts,
    ast.IfExp: Walker._either,
    ast.Slice: Walker._parts,
    ast.Starred: Walker._star,
    ast.JoinedStr: Walker._display,
}

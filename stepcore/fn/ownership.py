"""What a body must not change: inputs, state, weights, what ``global`` made, and whatever may share memory with them.

A tensor may be changed in place where it certainly is the body's own. What a function gives may be a view of an
argument if torch's table says so (``torch_table.VIEWS``, from schemas and from calls of each function); a list of the
body's own may hold what was given, and a helper may hand it on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stepcore.fn import allow, torch_table
from stepcore.fn.source import dotted

_VIEWS: Final[Mapping[str, frozenset[str]]] = {space: allow.names(text) for space, text in torch_table.VIEWS.items()}
_VIEWS_OF_ONE: Final = allow.names(torch_table.VIEWS_OF_ONE)
_VIEW_ATTRIBUTES: Final = allow.names("T mT H mH real values indices")
_NUMBERS: Final = allow.names("item size dim numel nelement ndimension stride tolist")
# What may give a single number: torch takes it as an index of Python, and gives a view.
_ONE_PLACE: Final = allow.names("argmax argmin sum prod max min amax amin median mode any all squeeze count_nonzero")
# Python's functions whose result holds the items of their arguments, and those that give one of them.
_COLLECT: Final = allow.names("list tuple sorted reversed")
_PAIR: Final = allow.names("zip enumerate")
_PICK: Final = allow.names("max min")
# Those that give a number, a text or a new tensor.
_SINGLE: Final = allow.names("abs all any bool float int len pow round str")


@dataclass(frozen=True, slots=True)
class Held:
    """Where a value may come from: ``given`` names what it may be itself, ``item`` what its items may be.

    The root "" is what a body got; any other one is the parameter of a helper. A tensor has no ``item``: its parts are
    views of itself. ``lists`` are those of ``given`` that may be lists. ``is_closed`` says that a value certainly is no
    list and no dictionary: what is put into it is copied (a tensor), or nothing is (a number, a tuple of torch).
    """

    given: frozenset[str] = frozenset()
    item: Held | None = None
    is_closed: bool = False
    lists: frozenset[str] = frozenset()

    @property
    def part(self) -> Held:
        """What an item, or a part of a tensor, may be."""
        return self.item if self.item is not None else self

    def __or__(self, other: Held) -> Held:
        if self == other:
            return self
        items = [held.item for held in (self, other) if held.item is not None]
        # Of the items of one that is not known as a list nothing is known.
        item = None if not items else items[0] | items[1] if len(items) > 1 else items[0] | OWN
        is_closed = self.is_closed and other.is_closed
        return Held(self.given | other.given, item, is_closed, self.lists | other.lists)

    @staticmethod
    def of(root: str, item: Held | None = None) -> Held:
        """Return what may be a list that came from ``root``, or a tensor."""
        return Held(frozenset({root}), item, lists=frozenset({root}))


OWN: Final = Held()
GIVEN: Final = Held.of("")
NEW: Final = Held(is_closed=True)
TENSOR: Final = Held(frozenset({""}), is_closed=True)
_DEEPEST: Final = 8  # lists inside each other that are told apart


@dataclass(frozen=True, slots=True)
class HelperEffects:
    """What a call of a helper function may change and hand on, by its parameters."""

    parameters: tuple[str, ...]
    changed: frozenset[str] = frozenset()
    sorted: frozenset[str] = frozenset()  # parameters that it changes where they are lists
    returned: Held = OWN
    shared: frozenset[str] = frozenset()  # parameters whose defaults all calls share: a helper of ``global``

    @staticmethod
    def unknown(parameters: Iterable[str]) -> HelperEffects:
        """Return a helper of which nothing is known: it may hand on each argument."""
        names = tuple(parameters)
        return HelperEffects(names, returned=Held(frozenset(names), lists=frozenset(names)))


@dataclass(slots=True)
class Foreign:
    """What bodies find in scope: ``names`` that ``global`` bound to what can change, and what its functions do."""

    names: frozenset[str] = frozenset()
    helpers: dict[str, HelperEffects] = field(default_factory=dict)
    callables: dict[str, ast.expr] = field(default_factory=dict)  # names of functions and modules of torch
    tensors: frozenset[str] = frozenset()  # names that hold what torch gave, and nothing else


class Ownership:
    """Names of a body and what they hold. ``arguments`` maps ``input`` and ``state`` to their component counts."""

    def __init__(self, weights: frozenset[str], modules: Mapping[str, str], may_bind: bool) -> None:
        self.arguments: dict[str, int] = {}
        self.foreign: frozenset[str] = frozenset()  # names that ``global`` bound, and the body did not bind anew
        self.scope = Foreign()
        self.names: dict[str, Held] = {}
        self.helpers: dict[str, HelperEffects] = {}
        self.changed: set[str] = set()  # parameters of the helper that is looked at
        self.sorted: set[str] = set()  # those that change where they are lists
        self.returned = OWN
        self._weights = weights  # parameters that are readable by their bare names
        self._modules = modules
        self._may_bind = may_bind  # ``ctx`` may change: global blocks

    def assign(self, name: str, held: Held) -> None:
        """Record that ``name`` now holds this."""
        self.names[name] = held
        self.helpers.pop(name, None)
        self.hide({name})

    def hide(self, names: set[str]) -> None:
        """Forget arguments and names of ``global`` that inner names hide."""
        self.foreign -= names
        if not names.isdisjoint(self.arguments):
            self.arguments = {key: count for key, count in self.arguments.items() if key not in names}

    def change(self, node: ast.expr) -> bool:
        """Note that a body changes ``node``; return whether it must not."""
        roots = self.held(node).given
        if isinstance(node, ast.Name) and node.id in self.foreign:
            roots |= {""}
        self.changed |= roots - {""}
        return "" in roots

    def sort(self, node: ast.expr) -> bool:
        """Note that a body calls ``sort`` of ``node``, which changes lists only; return whether it must not."""
        lists = self.held(node).lists
        self.sorted |= lists - {""}
        return "" in lists

    def anything(self) -> Held:
        """Return what a call that nobody follows hands over: a tensor, or what else ``global`` made."""
        return TENSOR if self.scope.names <= self.scope.tensors else GIVEN

    def binds_size(self, target: ast.expr) -> bool:
        """Whether a target is ``ctx[E]`` of a global block, which binds sizes so and in no other way."""
        is_size = isinstance(target, ast.Subscript) and dotted(target.value) == ("ctx",)
        return is_size and self._may_bind and "ctx" not in self.names

    def put(self, base: ast.expr, held: Held) -> None:
        """Record that something was put into ``base``; a tensor takes numbers and keeps nothing else of it."""
        if self.held(base).is_closed:
            return
        depth = 1
        while isinstance(base, ast.Subscript):
            base, depth = base.value, depth + 1
        before = self.names.get(base.id, OWN) if isinstance(base, ast.Name) else OWN
        if isinstance(base, ast.Name) and (_roots(held) or before.item is not None):
            for _ in range(min(depth, _DEEPEST)):
                held = Held(item=held)
            self.names[base.id] = _cut(before | held)

    def widen(self, loop: ast.For) -> None:
        """Let each name hold what any round of a loop may bind it to."""
        for _ in range(2):
            for name, value in _bindings(loop):
                self.names[name] = _cut(self.held(ast.Name(name, ast.Load())) | value(self))

    # Expressions ------------------------------------------------------------------------------------------------

    def held(self, node: ast.expr) -> Held:
        """Return where the value of an expression may come from."""
        match node:
            case ast.Name(id=name):
                return self._named(name)
            case ast.Subscript(value=base, slice=index):
                return self._part(self.held(base), index)
            case ast.Attribute(value=base, attr=name):
                return self._attribute(base, name)
            case ast.Call():
                return self._called(node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return _list_of(self.held(p.value).part if isinstance(p, ast.Starred) else self.held(p) for p in parts)
            case ast.Dict(values=values):
                return _list_of(map(self.held, values))
            case ast.BoolOp(values=values):
                return _any_of(map(self.held, values))
            case ast.IfExp(body=body, orelse=orelse):
                return self.held(body) | self.held(orelse)
            case ast.NamedExpr(value=value):
                return self.held(value)
            case ast.BinOp(left=left, op=op, right=right):
                return self._joined(self.held(left), op, self.held(right))
            case ast.UnaryOp() | ast.Compare() | ast.Constant() | ast.JoinedStr():
                return NEW
            case (
                ast.ListComp(elt=item, generators=rounds)
                | ast.GeneratorExp(elt=item, generators=rounds)
                | ast.DictComp(value=item, generators=rounds)
            ):
                return self._collected(item, rounds)
        return OWN

    def bind(self, target: ast.expr, held: Held, source: ast.expr | None = None) -> None:
        """Record that a target of a loop or comprehension over ``source`` holds ``held``, its parts what that holds."""
        match target:
            case ast.Name(id=name):
                self.names[name] = held
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                numbered = isinstance(source, ast.Call) and dotted(source.func) == ("enumerate",)
                for place, part in enumerate(parts):
                    self.bind(part, OWN if numbered and not place else held.part)
            case ast.Starred(value=inner):
                self.bind(inner, Held(item=held))

    def _attribute(self, base: ast.expr, name: str) -> Held:
        if self._may_bind and name in ("weight", "bias"):
            return TENSOR  # PyTorch refuses to change them in place where gradients are kept, as in a Python file
        return self.held(base).part if name in _VIEW_ATTRIBUTES else OWN

    def _named(self, name: str) -> Held:
        if name in self.names:
            return self.names[name]
        if name in self.arguments:
            return Held.of("", TENSOR)
        if name in self._weights:
            return TENSOR
        if name == "input_data":
            return Held.of("", TENSOR)
        if name == "ctx":
            return Held.of("", OWN)  # its numbers are nobody's
        if name not in self.foreign or name not in self.scope.names:
            return OWN
        return TENSOR if name in self.scope.tensors else Held.of("", GIVEN)

    def _part(self, base: Held, index: ast.expr) -> Held:
        if base.item is not None:
            return Held(item=base.item) if isinstance(index, ast.Slice) else base.item
        return NEW if self._is_advanced(index) else base

    def _is_advanced(self, index: ast.expr) -> bool:
        """Return whether an index certainly is a list, a mask or a tensor of places: torch copies what it reads so."""
        match index:
            case ast.List() | ast.Compare():
                return True
            case ast.Tuple(elts=parts):
                return any(map(self._is_advanced, parts))
            case ast.Call(func=ast.Attribute(attr="tensor" | "as_tensor"), args=[ast.Constant(), *_]):
                return False
            case ast.Call(func=ast.Attribute(attr=name)):
                return name not in _NUMBERS and (name not in _ONE_PLACE or _leaves_dimensions(index))
            case ast.Subscript(value=base):
                held = self.held(base)
                return bool(held.given) or bool(held.part.given)
        return False

    def _joined(self, left: Held, op: ast.operator, right: Held) -> Held:
        """Return what an operator gives: a new tensor, a new list of the items of both, or one dictionary of both."""
        if TENSOR in (left, right) or NEW in (left, right):
            return NEW
        if not isinstance(op, ast.Add | ast.Mult | ast.BitOr) or (left.item is None and right.item is None):
            return OWN
        return _list_of(held.part for held in (left, right) if held.item is not None or held.lists)

    def _collected(self, item: ast.expr, rounds: list[ast.comprehension]) -> Held:
        before = dict(self.names)
        for generator in rounds:
            self.bind(generator.target, self.held(generator.iter).part, generator.iter)
        held = self.held(item)
        self.names = before
        return _list_of([held])

    # Calls ------------------------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> Held:
        function = node.func
        if isinstance(function, ast.Attribute) and self._torch_name(function) is None:
            return self._method(function)
        if isinstance(function, ast.Name) and self._torch_name(function) is None and function.id not in self.names:
            arguments = [self.held(_plain(argument)) for argument in node.args]
            if function.id in _COLLECT:
                return _list_of(held.part for held in arguments)
            if function.id in _PAIR:
                return _list_of([_list_of(held.part for held in arguments)])
            if function.id in _PICK:
                return _any_of(held.part | held for held in arguments)
            if function.id in allow.BUILTINS:
                return NEW if function.id in _SINGLE else OWN
        return self._handed_on(node)

    def _method(self, function: ast.Attribute) -> Held:
        base, name = self.held(function.value), function.attr
        if base.item is not None and name in allow.CONTAINER_METHODS:
            return Held(item=base.item) if name in ("copy", "values", "items", "keys") else base.item
        is_view = name in _VIEWS["torch.Tensor"] or allow.is_inplace(name)
        if base.is_closed or name not in allow.CONTAINER_METHODS:
            is_closed = name != "tolist"
            return Held(base.part.given if is_view else frozenset(), None, is_closed)
        return base.part if is_view else OWN

    def _handed_on(self, node: ast.Call) -> Held:
        """Return what a function of torch, a module or a helper may hand on of its arguments."""
        torch_name = self._torch_name(node.func)
        if torch_name is not None:
            space, name = torch_name
            is_closed = space != "torch.ops.aten"  # which gives lists where torch gives tuples
            new = NEW if is_closed else OWN
            if name not in _VIEWS.get(space, ()):
                return new
            operands = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
            if name in _VIEWS_OF_ONE and len(operands) > 1:
                return new
            return Held(_any_of(self._all_parts(node)).given, None, is_closed)
        helper = self.helper(node)
        if helper is None:
            is_builtin = isinstance(node.func, ast.Name) and node.func.id in allow.BUILTINS
            return OWN if is_builtin else _any_of(self._all_parts(node))  # unknown names are reported elsewhere
        return _substituted(helper.returned, self.passed(node, helper))

    def _all_parts(self, node: ast.Call) -> Iterator[Held]:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            held = self.held(_plain(argument))
            yield held
            if held.item is not None:
                yield held.item

    def _torch_name(self, function: ast.expr) -> tuple[str, str] | None:
        """Return the namespace and name of the function or module of torch that is called, None for any other."""
        if isinstance(function, ast.Name) and function.id in self.foreign and function.id in self.scope.callables:
            function = self.scope.callables[function.id]
        if isinstance(function, ast.Call):  # torch.nn.Flatten()(x)
            found = self._torch_name(function.func)
            return found if found is not None and found[0] == "torch.nn" else None
        path = dotted(function)
        if path is None or len(path) < 2 or path[0] not in self._modules:
            return None
        full = [*self._modules[path[0]].split("."), *path[1:]]
        if full[:3] == ["torch", "ops", "aten"]:
            return "torch.ops.aten", full[3] if len(full) > 3 else ""
        return ".".join(full[:-1]), full[-1]

    def helper(self, node: ast.Call) -> HelperEffects | None:
        """Return what is known of the helper function that is called."""
        if not isinstance(node.func, ast.Name):
            return None
        name = node.func.id
        return self.helpers.get(name) or (self.scope.helpers.get(name) if name in self.foreign else None)

    def passed(self, node: ast.Call, helper: HelperEffects) -> dict[str, Held]:
        """Return what the parameters of a helper hold in a call."""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return dict.fromkeys(helper.parameters, _any_of(self._all_parts(node)))
        given = dict.fromkeys(helper.shared, GIVEN)
        given |= dict(zip(helper.parameters, map(self.held, node.args), strict=False))
        given |= {keyword.arg: self.held(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        return given

    def changes(self, node: ast.Call) -> bool:
        """Note what a call of a helper changes; return whether any of that must not change."""
        helper = self.helper(node)
        if helper is None:
            return False
        given = self.passed(node, helper)
        changed = [given.get(name, OWN) for name in helper.changed]
        roots = {root for held in changed for root in held.given | held.part.given}
        self.changed |= roots - {""}
        lists = {root for name in helper.sorted for root in _lists(given.get(name, OWN))}
        self.sorted |= lists - {""}
        return "" in roots or "" in lists

    def complaint(self, base: ast.expr) -> str:
        """Return the message for a change of ``base``."""
        root = base
        while isinstance(root, ast.Subscript | ast.Attribute | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = root.id if isinstance(root, ast.Name) else "this tensor"
        if name in self.helpers or name in self.scope.helpers:
            return f"{name} changes what it is given, and that is no value of this body's own; hand over a clone()"
        if self._may_bind:
            what = "ctx" if name == "ctx" else f"{name} may be ctx, or a view of a weight, and"
            return f"{what} must not change in place; write ctx[E] = 3 for a size, and clone() for a tensor"
        if _roots(self.names.get(name, OWN)):
            return f"{name} may be a view of an input, the state or a weight and must not change in place; use clone()"
        return f"{name} must not change in place: functions are pure; compute a new tensor"


def _cut(held: Held, depth: int = _DEEPEST) -> Held:
    """Return ``held`` without what lies deeper than so many lists inside each other; that counts as given with them."""
    if held.item is None:
        return held
    if not depth:
        return Held(held.given | _roots(held), lists=held.lists | _lists(held))
    return replace(held, item=_cut(held.item, depth - 1))


def _leaves_dimensions(reduction: ast.Call) -> bool:
    """Return whether a reduction certainly is no single number: it is along one of two dimensions or more."""
    given = (*reduction.args, *(keyword.value for keyword in reduction.keywords if keyword.arg == "dim"))
    dim = next((number for number in map(constant_index, given) if number is not None), None)
    return dim is not None and (dim >= 1 or dim <= -2)


def _roots(held: Held) -> frozenset[str]:
    return held.given if held.item is None else held.given | _roots(held.item)


def _lists(held: Held) -> frozenset[str]:
    return held.lists if held.item is None else held.lists | _lists(held.item)


def _plain(argument: ast.expr) -> ast.expr:
    return argument.value if isinstance(argument, ast.Starred) else argument


def _any_of(values: Iterable[Held]) -> Held:
    found: Held | None = None
    for held in values:
        found = held if found is None else found | held
    return OWN if found is None else found


def _list_of(values: Iterable[Held]) -> Held:
    item = _any_of(values)
    return OWN if item == OWN else _cut(Held(item=item))


def _substituted(held: Held, given: Mapping[str, Held]) -> Held:
    passed = [given.get(root, OWN) for root in held.given - GIVEN.given]
    if held.is_closed:  # whatever it may share memory with, it is no list
        return Held((held.given & GIVEN.given) | _any_of(passed).given, None, is_closed=True)
    item = None if held.item is None else _substituted(held.item, given)
    itself = Held(held.given & GIVEN.given, item, lists=held.lists & GIVEN.given)
    return _cut(_any_of(passed if passed and itself == OWN else [itself, *passed]))


def _bindings(loop: ast.For) -> Iterator[tuple[str, Callable[[Ownership], Held]]]:
    """Yield what a loop binds, with what may be held there: a value, or its parts where it is unpacked."""
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _bound(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from _bound(target, value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "insert"), args=args):
                yield from ((name, lambda own, item=item: _list_of([own.held(item)])) for item in args)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Callable[[Ownership], Held]]]:
    match target:
        case ast.Name(id=name):
            yield name, lambda own: own.held(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            yield from ((name, lambda own: own.held(value).part) for name in names)


def constant_index(node: ast.expr) -> int | None:
    """Return the integer that an index is, written as such."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None

"""What a body changes, and whether it may.

A tensor may be changed in place where it certainly is the body's own. A list of the body's own may hold what was given,
and a helper may hand it on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from stepcore.findings import budget
from stepcore.fn import allow
from stepcore.fn.ownership.effects import DEEPEST_CALLS, HelperCall, HelperEffects
from stepcore.fn.ownership.held import (
    OWN,
    Called,
    Held,
    HeldFunction,
    HelperParameter,
    Key,
    Place,
    TorchFunction,
    any_of,
    key_of,
)
from stepcore.fn.ownership.values import BodyValues
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import dotted

_MOST_ROUNDS: Final = 64  # of a loop, until nothing new is found in it


@dataclass(slots=True)
class CallEffects:
    """What a call does: whether it changes what must not change, and which functions of torch it calls by its way."""

    changes: bool = False
    of_torch: list[tuple[TorchFunction, ast.Call]] = field(default_factory=list)


class Outer(NamedTuple):
    """What holds around a helper while its body is walked over."""

    names: dict[str, Held]
    helpers: dict[str, HelperEffects]
    callables: dict[str, ast.expr]
    changed: Held
    sorted: Held
    returned: Held
    puts: dict[Held, Held]
    calls: dict[tuple[Held, Called], None]
    since: int
    helper: int


class Ownership(BodyValues):
    """What a body changes, puts into lists and returns."""

    def __init__(self, weights: frozenset[str], modules: Mapping[str, str], may_bind: bool) -> None:
        super().__init__(weights, modules, may_bind)
        self.changed = OWN  # of what the helper that is looked at gets
        self.sorted = OWN  # what changes there where it is a list
        self.returned = OWN
        self._puts: dict[Held, Held] = {}  # into what the helper gets
        self._calls: dict[tuple[Held, Called], None] = {}  # of what the helper gets, in their order
        self._since = 0  # the first list that the helper that is looked at may have made
        self._helper = 0
        self._helpers = 0
        self._known: dict[ast.AST, HelperEffects] = {}  # what helpers do, by earlier looks at them
        self._open: set[int] = set()  # helpers whose bodies are looked at

    # Changes ----------------------------------------------------------------------------------------------------

    def change(self, node: ast.expr) -> bool:
        """Note that a body changes ``node``; return whether it must not."""
        held = self.held(node)
        self.changed |= held.of_parameters()
        return self._is_foreign(held) or (isinstance(node, ast.Name) and node.id in self.foreign)

    def sort(self, node: ast.expr) -> bool:
        """Note that a body calls ``sort`` of ``node``, which changes lists only; return whether it must not."""
        held = self.held(node).as_list()
        self.sorted |= held.of_parameters()
        return self._is_foreign(held)

    def _is_foreign(self, held: Held) -> bool:
        """Return whether it may share memory with what a body must not change.

        That may be what a helper got that is at its end, and that a function from in there keeps.
        """
        parameters = (each for each in held.places if isinstance(each, HelperParameter))
        return held.is_foreign or any(each.helper not in self._open for each in parameters)

    def effects(self, node: ast.Call) -> CallEffects:
        """Note what a call changes by what the body does not see in it: helpers, and what is handed to them."""
        effects = CallEffects()
        if self.torch_function(node.func) is None:
            if isinstance(node.func, ast.Attribute) or self.is_builtin(node.func):
                self._effects_of_key(node, effects)
            else:
                self._effects(self.held(node.func), self.call(node), effects)
        return effects

    def _effects_of_key(self, node: ast.Call, effects: CallEffects) -> None:
        """Note what ``key=`` of ``sorted`` and others changes of the items that it gets."""
        keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
        if keys:
            base = [self.held(node.func.value)] if isinstance(node.func, ast.Attribute) else []
            items = any_of(map(self.heap.at, [*base, *map(self.held, node.args)]))
            for key in keys:
                self._effects(self.held(key), Called(node, (items,)), effects)

    def _effects(self, function: Held, called: Called, effects: CallEffects, depth: int = 0) -> None:
        """Note what a call of what ``function`` may be changes."""
        parameters = function.of_parameters()
        if parameters.places:
            self._calls[parameters, called] = None
        for callee in self._callees(function):
            if isinstance(callee, TorchFunction):
                effects.of_torch.append((callee, called.node))
            elif isinstance(callee, HelperEffects):
                self._effects_of_helper(callee, called, effects, depth)

    def _callees(self, function: Held) -> Iterable[HeldFunction]:
        """Return what is called; what ``global`` made may hold any function that it keeps."""
        kept = self.scope.kept if function.as_list().is_foreign else ()
        return [*function.callees(), *kept]

    def _effects_of_helper(self, helper: HelperEffects, called: Called, effects: CallEffects, depth: int) -> None:
        budget.spend(1)
        call = HelperCall(self.heap, called, helper)
        self._puts_of(call, helper)
        changed, ordered = call.here(helper.changed), call.here(helper.sorted).as_list()
        if helper.calls and depth == DEEPEST_CALLS:  # who knows what these do
            changed |= any_of(map(self.heap.reach, called.arguments()))
        self.changed |= changed.of_parameters()
        self.sorted |= ordered.of_parameters()
        effects.changes = effects.changes or self._is_foreign(changed) or self._is_foreign(ordered)
        for function, inner in helper.calls if depth < DEEPEST_CALLS else ():
            self._effects(call.here(function), inner.with_each(call.here), effects, depth + 1)

    def binds_size(self, target: ast.expr) -> bool:
        """Whether a target is ``ctx[E]`` of a global block, which binds sizes so and in no other way."""
        is_size = isinstance(target, ast.Subscript) and dotted(target.value) == ("ctx",)
        return is_size and self._may_bind and "ctx" not in self.names

    # Lists ------------------------------------------------------------------------------------------------------

    def store(self, target: ast.Subscript, held: Held, *, once: bool) -> None:
        """Record that a value is stored in a list, or into a tensor, which takes numbers and keeps nothing else.

        ``once`` says that the statement certainly runs, and once.
        """
        base = self.held(target.value)
        if isinstance(target.slice, ast.Slice):
            self._scatter(base)
            self._put(base, self.heap.at(held))
        else:
            self._put(base, held, key_of(target.slice), once=once)

    def lengthen(self, base: ast.expr, held: Held, *, once: bool) -> None:
        """Record that a value was put at the end of a list."""
        lists = self.held(base)
        self._put(lists, held, self.heap.end(lists) if once else None, once=once)

    def extend(self, base: ast.expr, other: Held, items: Held, *, once: bool) -> None:
        """Record that a list takes the items of another at its end."""
        sequence = self.heap.sequence(other) if once else None
        if sequence is None:
            self.take_items(base, items)
        for held in sequence or ():
            self.lengthen(base, held, once=once)

    def take_items(self, base: ast.expr, held: Held) -> None:
        """Record that a list takes the items of another, at whatever place."""
        lists = self.held(base)
        self._scatter(lists)
        self._put(lists, held)

    def _puts_of(self, call: HelperCall, helper: HelperEffects) -> None:
        for base, item in helper.puts:
            here = call.here(base)
            self._scatter(here)
            self._put(here, call.here(item))

    def scatter(self, base: ast.expr) -> None:
        """Record that it is not known any more what stands where in a list."""
        self._scatter(self.held(base))

    def _scatter(self, lists: Held) -> None:
        self._note_put(lists, OWN)
        self.heap.scatter(lists)

    def _put(self, base: Held, held: Held, key: Key | None = None, *, once: bool = False) -> None:
        self._note_put(base, held)
        self.heap.put(base, held, key, once_since=self._since if once else None)

    def _note_put(self, base: Held, held: Held) -> None:
        """Note what each call of the helper that is looked at puts into lists of others."""
        others = frozenset(place for place in base.lists if _is_others(place, self._since))
        if others:
            lists = Held(others, others)
            self._puts[lists] = self._puts.get(lists, held) | held

    def widen(self, loop: ast.For) -> None:
        """Let each name and list hold what any round of a loop may give it."""
        records = list(_records(loop))
        for _ in range(_MOST_ROUNDS):
            names, version = dict(self.names), self.heap.version
            for record in records:
                record(self)
            if version == self.heap.version and names == self.names:
                return
            budget.spend(len(records) >> 2)
        for name in assigned_names([loop]):  # longer than any sensible body: nothing is known of what it binds
            self.names[name] = self.anything()

    def bind(self, target: ast.expr, held: Held) -> None:
        """Record that a target of a loop or comprehension, or what is unpacked, holds ``held``."""
        if isinstance(target, ast.Subscript):
            self.store(target, held, once=False)
        else:
            super().bind(target, held)

    def spread(self, target: ast.expr, held: Held) -> None:
        """Record that a target may hold this, too."""
        match target:
            case ast.Name(id=name):
                self.names[name] = self.heap.few(self.named(name) | held)
            case ast.Subscript():
                self.store(target, held, once=False)
            case ast.Tuple() | ast.List():
                for part, inner in self.parts(target, held):
                    self.spread(part, inner)

    # Helpers ----------------------------------------------------------------------------------------------------

    def enter(self, node: ast.AST, name: str, parameters: list[str]) -> Outer:
        """Begin the body of a helper."""
        outer = Outer(
            dict(self.names),
            dict(self.helpers),
            dict(self.callables),
            self.changed,
            self.sorted,
            self.returned,
            self._puts,
            self._calls,
            self._since,
            self._helper,
        )
        self.changed = self.sorted = self.returned = OWN
        # Those of ``global`` and those of bodies that know them have different numbers.
        self._helpers += -1 if self._may_bind else 1
        self._open.add(self._helpers)
        self._puts, self._calls, self._since, self._helper = {}, {}, len(self.heap), self._helpers
        for parameter in parameters:
            self.names[parameter] = Held.of(HelperParameter(self._helper, parameter))
        # While it is looked at: a helper that calls itself may hand on each argument.
        self.helpers[name] = self._known.get(node) or HelperEffects.unknown(self._helper, parameters)
        self.hide_helpers(parameters)
        return outer

    def hide_helpers(self, names: Iterable[str]) -> None:
        """Forget functions whose names stand for something else in the helper that is looked at."""
        for name in names:
            self.helpers.pop(name, None)
            self.callables.pop(name, None)

    def leave(
        self, outer: Outer, node: ast.AST, name: str, parameters: list[str], defaults: Mapping[str, Held]
    ) -> None:
        """End the body of a helper, and know from now on what a call of it does."""
        self._open.discard(self._helper)
        number, puts, calls = self._helper, self._puts, self._calls
        lists = self.heap.closure([self.returned, *puts.values(), *_handed_on(calls)], self._since)
        effects = HelperEffects(
            tuple(parameters),
            self.changed,
            self.sorted,
            self.returned,
            tuple(puts.items()),
            lists,
            defaults,
            number,
            tuple(calls),
        )
        changed, ordered = self.changed.not_of(number), self.sorted.not_of(number)
        self.names, self.helpers, self.callables = outer.names, outer.helpers, outer.callables
        self.helpers[name] = self._known[node] = effects
        self.changed, self.sorted, self.returned = outer.changed | changed, outer.sorted | ordered, outer.returned
        self._puts, self._calls = outer.puts, outer.calls
        self._since, self._helper = outer.since, outer.helper
        for base, held in puts.items():  # what it puts into lists from outside of the helper around
            self._note_put(base.not_of(number), held)

    def either(self, defined: Mapping[str, HelperEffects]) -> None:
        """Let names stand for the helpers of either arm, ``defined`` those of the first one."""
        for name in defined.keys() | self.helpers.keys():
            found = [defined.get(name), self.helpers.get(name)]
            if found[0] is not found[1]:
                self.helpers.pop(name, None)
                functions = any_of(Held.function(each) for each in found if each is not None)
                self.names[name] = self.names.get(name, OWN) | functions

    def unsettle(self, names: frozenset[str]) -> None:
        """Let names hold functions as any other values where a round of a loop may bind them."""
        for name in names & (self.helpers.keys() | self.callables.keys()):
            function = self.torch_function(ast.Name(name))
            self.names[name] = self.named(name) | (OWN if function is None else Held.function(function))
            self.hide_helpers([name])

    # Messages ---------------------------------------------------------------------------------------------------

    def complaint(self, base: ast.expr) -> str:
        """Return the message for a change of ``base``."""
        root = base
        while isinstance(root, ast.Subscript | ast.Attribute | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = root.id if isinstance(root, ast.Name) else "this tensor"
        if name in self.helpers or name in self.scope.helpers:
            return f"{name} changes what it is given, and that is no value of this body's own; hand over a clone()"
        if self._may_bind and self._helper and not self.heap.reaches_others(self.names.get(name, OWN)):
            return f"{name} must not change in place: what `global` makes is the same in each call; return a new value"
        if self._may_bind:
            what = "ctx" if name == "ctx" else f"{name} may be ctx, or a view of a weight, and"
            return f"{what} must not change in place; write ctx[E] = 3 for a size, and clone() for a tensor"
        if self.heap.reaches_others(self.names.get(name, OWN)):
            return f"{name} may be a view of an input, the state or a weight and must not change in place; use clone()"
        return f"{name} must not change in place: functions are pure; compute a new tensor"


def _handed_on(calls: Iterable[tuple[Held, Called]]) -> Iterator[Held]:
    """Yield what is called, and with what."""
    for function, called in calls:
        yield function
        yield from called.arguments()


def _is_others(place: Place, since: int) -> bool:
    return place < since if isinstance(place, int) else isinstance(place, HelperParameter)


def _records(loop: ast.For) -> Iterator[Callable[[Ownership], object]]:
    """Yield what rounds of a loop bind, or put into lists."""
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from (partial(_spread, target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield partial(_spread, target, value)
            case ast.For(target=target, iter=around):
                yield partial(_spread_items, target, around)
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() if _names_something(node):
                for each in node.generators:
                    yield partial(_spread_items, each.target, each.iter)
            case ast.AugAssign(target=target, op=ast.Add() | ast.BitOr(), value=value):
                yield partial(_put_items, target, value)
            case ast.Call(func=ast.Attribute(value=base, attr="append" | "extend" | "insert" as name), args=[*_, item]):
                yield partial(_put_items if name == "extend" else _put, base, item)
            case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in allow.CONTAINER_CHANGES:
                yield partial(Ownership.scatter, base=base)
            case ast.Call(func=ast.Name() | ast.Subscript() | ast.IfExp() | ast.Call()):
                yield partial(Ownership.effects, node=node)


def _names_something(comprehension: ast.AST) -> bool:
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(comprehension))


def _spread(target: ast.expr, value: ast.expr, own: Ownership) -> None:
    own.spread(target, own.held(value))


def _spread_items(target: ast.expr, around: ast.expr, own: Ownership) -> None:
    own.spread(target, own.heap.at(own.held(around)))


def _put_items(base: ast.expr, value: ast.expr, own: Ownership) -> None:
    own.take_items(base, own.heap.item(own.held(value)))


def _put(base: ast.expr, value: ast.expr, own: Ownership) -> None:
    own.take_items(base, own.held(value))

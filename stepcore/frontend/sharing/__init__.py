"""Which names of a Python file may stand for the same value, and which statements may change it in place.

Nothing runs: names that may stand for one value are one group, whatever the order of the statements, and what is kept
in the values of a group is another one, its contents. A binding joins the names that it binds with what its value may
be; so does a call, with its arguments and with what the function takes and gives. An item may be a view, as of a
tensor, or what is kept there. What a function binds is its own. Names that stand for numbers and texts alone share
nothing. The method is Steensgaard's (Points-to Analysis in Almost Linear Time, POPL 1996).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from stepcore.fn import allow
from stepcore.frontend.sharing.facts import (
    CHANGER,
    OF_STREAMS,
    ChangedPlace,
    Key,
    NamesInScope,
    SharingFacts,
    is_pure,
)
from stepcore.frontend.sharing.groups import Groups
from stepcore.frontend.sharing.outside import CHANGING_FUNCTIONS, CHANGING_METHODS, KEEPING_MODULES, REFLECTING_NAMES

# Functions of Python whose results hold nothing of what they are given.
_MAKES_NEW: Final = allow.names("abs bool divmod float int len pow range round str sum print repr isinstance type id")
_NEW: Final = (ast.Constant, ast.Compare, ast.JoinedStr)  # values of their own, which nobody can change
_VIEWS: Final = allow.names("T mT H mH data real imag")  # attributes of a tensor that are views of it

_NONE: Final = frozenset[str]()


class Sharing:
    """The groups of one file."""

    def __init__(
        self, statements: Sequence[ast.stmt], modules: Mapping[str, str], reflecting: Sequence[ast.stmt] = ()
    ) -> None:
        """Take all statements of a file that may run as it is read.

        ``modules`` are the names that it imports, each with what it is in full.
        ``reflecting`` are the statements that may do whatever they like with names of the file.
        """
        self._numbers = {id(statement): number for number, statement in enumerate(statements)}
        self._facts = SharingFacts(statements, modules, reflecting)
        self._groups = Groups()
        self._known: dict[int, set[Key]] = {}  # by the identity of an expression
        self._fixed = self._numbers_and_texts()
        self._join_all()
        changes = [*self._changes()]
        self._groups.flatten()
        names: dict[Key, set[str]] = {}  # by the groups that are, or are kept somewhere in, their values
        for name in self._facts.own:
            for group in self._groups.reached((0, name)):
                names.setdefault(group, set()).add(name)
        whole = {group: frozenset(found) for group, found in names.items()}
        changed: dict[int, set[Key]] = {}
        for number, group in changes:
            changed.setdefault(number, set()).add(self._groups.find(group))
        self._found = {
            number: _union([whole.get(group, _NONE) for group in groups]) for number, groups in changed.items()
        }
        for number, module in self._facts.patched:
            self._found[number] = self._found.get(number, _NONE) | _names_of(module, modules)

    def changed_by(self, statement: ast.stmt) -> frozenset[str]:
        """Return the names of the module whose values a statement may change in place; statements share these sets."""
        number = self._numbers.get(id(statement))
        return _NONE if number is None else self._found.get(number, _NONE)  # None: it does not run

    def _numbers_and_texts(self) -> set[Key]:
        """Return the names that stand for values which nothing can change."""
        loose: list[Key] = []
        readers: dict[Key, list[Key]] = {}
        for key, values in self._facts.bound.items():
            needs = [self._needs(*pair) for pair in values if pair is not None]
            if len(needs) < len(values) or None in needs:
                loose.append(key)
            for each in {name for several in needs if several is not None for name in several}:
                readers.setdefault(each, []).append(key)
        loose += [key for key in readers if key not in self._facts.bound]
        return self._facts.bound.keys() - _all_from(loose, readers)

    def _needs(self, value: ast.expr, scope: NamesInScope) -> list[Key] | None:
        """Return the names that have to be numbers or texts where a value is one; None where it is none in any case."""
        found: list[Key] = []
        pending = [value]
        while pending:
            node = pending.pop()
            match node:
                case ast.Name(id=name):
                    if not name.endswith("_value") or name in self._facts.own:
                        found.append(scope.find(name))
                case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                    pending += [left, right]
                case ast.UnaryOp(operand=operand) | ast.NamedExpr(value=operand):
                    pending.append(operand)
                case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                    pending += parts
                case ast.Call(func=func) if self._makes_new(func, scope):
                    pass
                case ast.Attribute(value=ast.Name(id=name)) if name in self._facts.modules:
                    if self._facts.is_changer(node, scope):
                        return None
                    # a dtype, a constant or a function
                case _ if not isinstance(node, _NEW):
                    return None
        return found

    def _makes_new(self, func: ast.expr, scope: NamesInScope) -> bool:
        return isinstance(func, ast.Name) and func.id in _MAKES_NEW and self._facts.is_outside(func, scope)

    # What is joined ---------------------------------------------------------------------------------------------

    def _join_all(self) -> None:
        facts, join = self._facts, self._groups.join
        for flow in facts.flows:
            join([*flow.keys, *(() if flow.value is None else self._parts(flow.value, flow.scope, flow.depth))])
        for place in facts.joined:
            join(self._all_of(place))
        for base, place in facts.stored:
            kept = {key for each in place.parts for key in self._parts(each, place.scope)}  # given to append, or extend
            for key in self._objects(base, place.scope):
                join([self._groups.kept_in(key), *kept])
        callables = self._callables()
        within = [place for place in (*facts.called, *facts.changed) if place.scope.key is not None]
        inside = [(place, self._all_of(place)) for place in within]
        inside += [(place, self._all_of(place) & callables) for place in facts.handed if place.scope.key is not None]
        for place, keys in inside:
            if place.scope.key is not None:
                join([place.scope.key, *keys])

    def _callables(self) -> set[Key]:
        """Return the names that stand for functions of the file, and functions without a name."""
        found = {CHANGER, *self._facts.functions.values()}
        flows = [flow for flow in self._facts.flows if flow.value is not None and not isinstance(flow.value, ast.Call)]
        given: dict[Key, list[Key]] = {}
        for flow in flows:
            if flow.value is not None:
                for part in self._parts(flow.value, flow.scope, flow.depth):
                    given.setdefault(part, []).extend(flow.keys)
        return _all_from(found, given)

    def _changes(self) -> Iterable[tuple[int, Key]]:
        """Yield statements, by number, with the groups whose values they change."""
        facts, find = self._facts, self._groups.find
        callables = self._callables()
        changed = [(place, self._all_of(place)) for place in facts.changed]
        called = [(place, self._all_of(place)) for place in facts.called if place.scope.runs_at_once]
        handed = [place for place in facts.handed if place.scope.runs_at_once]
        called += [(place, self._all_of(place) & callables) for place in handed]
        # Looking at values joins groups, so it is done for all places before each group has one key for good.
        changing = {find(CHANGER)}  # groups of functions that change a value of their group
        for place, keys in changed:
            groups = {*map(find, keys)}
            if place.scope.runs_at_once:
                yield from ((place.statement, group) for group in groups)
            if place.scope.key is not None:
                changing |= groups & {find(place.scope.key)}
        for place, keys in called:
            yield from ((place.statement, group) for group in {*map(find, keys)} & changing)

    # What a value may be ----------------------------------------------------------------------------------------

    def _all_of(self, place: ChangedPlace) -> set[Key]:
        return {key for each in place.parts for key in self._objects(each, place.scope)}

    def _parts(self, value: ast.expr, scope: NamesInScope, depth: int = 1) -> set[Key]:
        """Return the groups of a value, and of what is kept in it, so many times inside each other."""
        found = level = self._objects(value, scope)
        for _ in range(depth):
            level = {*map(self._groups.kept_in, level)}
            found = found | level
        return found

    def _objects(self, value: ast.expr, scope: NamesInScope) -> set[Key]:
        """Return the groups to which a value may belong; none where nothing can change it."""
        found = self._known.get(id(value))
        if found is None:  # groups that are joined later are found by the same keys
            found = self._known[id(value)] = self._looked_at(value, scope)
        return found

    def _looked_at(self, value: ast.expr, scope: NamesInScope) -> set[Key]:
        found: set[Key] = set()
        pending: list[ast.expr] = [value]
        while pending:
            node = pending.pop()
            if id(node) in self._facts.functions:
                found.add(self._facts.functions[id(node)])
            match node:
                case ast.Name(id=name):
                    if name in self._facts.modules:
                        found |= {CHANGER} if self._facts.is_changer(node, scope) else set()
                    elif (key := scope.find(name)) not in self._fixed and not self._is_of_python(key):
                        found.add(key)
                case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):  # of lists, perhaps
                    pending += [left, right]
                case ast.IfExp(body=body, orelse=orelse):
                    pending += [body, orelse]
                case ast.BoolOp(values=values):
                    pending += values
                case ast.NamedExpr(value=inner) | ast.Starred(value=inner) | ast.Await(value=inner):
                    pending.append(inner)
                case ast.BinOp() | ast.UnaryOp() | ast.Lambda():
                    pass
                case _:
                    found |= self._made(node, scope)
        return found

    def _is_of_python(self, key: Key) -> bool:
        """Return whether a name is one of Python, which keeps nothing of what it is given, and not bound here."""
        return hasattr(builtins, key[1]) and key[1] not in self._facts.own and key not in self._facts.bound

    def _made(self, node: ast.expr, scope: NamesInScope) -> set[Key]:
        if self._facts.is_changer(node, scope):
            return {CHANGER}
        match node:
            case ast.Attribute(value=base, attr=attr) if attr not in _VIEWS:
                return {*map(self._groups.kept_in, self._objects(base, scope))}
            case ast.Subscript(value=base) | ast.Attribute(value=base):
                return self._parts(base, scope)
            case ast.Call(func=func, args=args, keywords=keywords):
                if self._makes_new(func, scope):
                    return set()
                own = func.value if isinstance(func, ast.Attribute) else func
                given = [own, *args, *(keyword.value for keyword in keywords)]  # or a part of one
                return set[Key]().union(*(self._parts(each, scope) for each in given))
        return set() if isinstance(node, _NEW) else self._display(node, scope)

    def _display(self, node: ast.expr, scope: NamesInScope) -> set[Key]:
        """A list, tuple, dictionary or comprehension is new, and keeps what stands in it."""
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        spread = node.values if isinstance(node, ast.Dict) and None in node.keys else []  # ``{**d}``
        keys = set[Key]().union(
            *(
                self._parts(each, scope)
                for each in (*spread, *(part for part in parts if isinstance(part, ast.Starred)))
            ),
            *(self._objects(each, scope) for each in parts),
        )
        own = (-1, f"new {id(node)}")
        if keys:
            self._groups.join([self._groups.kept_in(own), *keys])
        return {own}


def _names_of(module: str, modules: Mapping[str, str]) -> frozenset[str]:
    """Return the names of a file that stand for a module, a part of it or the whole."""
    top = modules.get(module, module).partition(".")[0]
    return frozenset(name for name, path in modules.items() if path.partition(".")[0] == top)


def _union(several: Sequence[frozenset[str]]) -> frozenset[str]:
    return several[0] if len(several) == 1 else _NONE.union(*several)


def _all_from(first: Iterable[Key], following: Mapping[Key, Sequence[Key]]) -> set[Key]:
    """Return all keys that follow from some."""
    found = {*first}
    pending = [*found]
    while pending:
        more = {*following.get(pending.pop(), ())} - found
        found |= more
        pending += more
    return found


__all__ = [
    "CHANGING_FUNCTIONS",
    "CHANGING_METHODS",
    "KEEPING_MODULES",
    "OF_STREAMS",
    "REFLECTING_NAMES",
    "Sharing",
    "is_pure",
]

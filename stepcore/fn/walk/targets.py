"""What bodies assign to, and names that hold inside of something only."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stepcore.findings import budget
from stepcore.fn.ownership.held import NEW, OWN, Held
from stepcore.fn.source import augmented
from stepcore.fn.walk.names import NameWalk
from stepcore.text.wording import counted


class TargetWalk(NameWalk):
    """Follows what is bound, and who may change it."""

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self._check_bound(target, name)
                self.own.assign(name, OWN if value is None else self.own.held(value), value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpacking(target, parts, value)
            case ast.Starred(value=inner):
                self._target(inner, None)
            case ast.Subscript(value=base, slice=index):
                self.expression(index)
                self.expression(base)
                if (complaint := self._bulk.stored(target, value)) != "":
                    self.report("STEP311", target, complaint)
                if not self.own.binds_size(target) and self.own.change(base):
                    self.report("STEP310", target, self.own.complaint(base))
                elif value is not None:
                    self.own.store(target, self.own.held(value), once=self._runs_once)
            case ast.Attribute(attr=name):
                self.report("STEP302", target, f"assigning the attribute {name!r} is forbidden")
            case _:
                self._forbidden(target)

    @property
    def _runs_once(self) -> bool:
        """Whether what stands here certainly runs, and once."""
        return not (self._arms or self._depth)

    def _unpacking(self, target: ast.expr, parts: list[ast.expr], value: ast.expr | None) -> None:
        starred = any(isinstance(part, ast.Starred) for part in parts)
        count = self.own.arguments.get(value.id) if isinstance(value, ast.Name) else None
        fits = count is None or (len(parts) - 1 <= count if starred else len(parts) == count)
        if count is not None and isinstance(value, ast.Name) and not fits:
            has, names = counted(count, "component"), counted(len(parts), "name")
            self.report("STEP308", target, f"{value.id} has {has}; {names} cannot take them")
        values: list[ast.expr | None] = [None] * len(parts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) and not starred:
            values = list(value.elts)
        held = None if value is None else self.own.held(value)
        for part, item in zip(parts, values, strict=True):
            self._target(part, item)
        if held is not None:
            self.own.bind(target, held)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        complaint = self._complaint(augmented(node))
        if complaint:
            self.report("STEP311", node, complaint)
        self.expression(node.value)
        if isinstance(target, ast.Name):
            self._name(target, target.id)
            self._check_module(target, target.id)
            if isinstance(node.op, ast.MatMult):  # which no tensor has in place
                self.own.assign(target.id, NEW)
            elif self.own.change(target):
                self.report("STEP310", node, self.own.complaint(target))
                self.own.assign(target.id, OWN)
            else:
                self._extended(node)
        elif isinstance(target, ast.Subscript):
            self.expression(target.slice)
            self.expression(target.value)
            if not self.own.binds_size(target) and (self.own.change(target.value) or self.own.change(target)):
                self.report("STEP310", node, self.own.complaint(target.value))
            else:
                self._extended(node)
        else:
            self.report("STEP302", target, f"assigning the attribute {target.attr!r} is forbidden")

    def _extended(self, node: ast.AugAssign) -> None:
        held = self.own.held(node.value)
        if isinstance(node.op, ast.Add):
            self.own.extend(node.target, held, self.own.heap.item(held), once=self._runs_once)
        elif isinstance(node.op, ast.BitOr):  # a dictionary takes the entries of another
            self.own.take_items(node.target, self.own.heap.item(held))

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

    def _inside(self, bound: set[str], walk: Callable[[], None]) -> dict[str, Held]:
        """Walk with further names in scope that hide outer ones; return what names hold at its end."""
        names, arguments, held, foreign = self.names, self.own.arguments, self.own.names, self.own.foreign
        budget.spend(len(names) >> 4)
        self.names = names | bound
        self.own.hide(bound)
        self.own.names = {**held, **dict.fromkeys(bound, OWN)}
        hidden = self._bulk.hide(bound)
        walk()
        self._bulk.unhide(hidden)
        inside = self.own.names
        self.names, self.own.arguments, self.own.names, self.own.foreign = names, arguments, held, foreign
        return inside

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

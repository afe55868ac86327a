"""Names that a body reads before they have a value: Python takes what a body binds for the body's own, from the start.

A body is followed as Python would run it: conditions, loops and calls of helpers as they go where the text and the
sizes tell that, both arms of all others. A read is told where Python certainly comes to it and finds no value, and
where no way that leads to it gives it one. What hangs on data alone a run tells.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from stepcore.fn import allow
from stepcore.fn.early.expressions import ExpressionFollower, OutOfSteps, Raises
from stepcore.fn.early.paths import (
    ANYTHING,
    BodyFrame,
    HeldName,
    HelperValue,
    KnownItems,
    Path,
    computed,
    joined,
    truth,
    unchanged,
)
from stepcore.fn.prelude import assigned_names

_PASSES: Final = 3  # through the body of a loop of unknown length: what one binds the next reads
_DEEPEST: Final = 16  # calls inside each other that are followed


class End(Enum):
    """How statements end, where they do not raise."""

    NEXT = auto()
    BREAK = auto()
    CONTINUE = auto()
    RETURN = auto()


Ends: TypeAlias = dict[End, list[Path]]
_LEAVES: Final = {ast.Break: End.BREAK, ast.Continue: End.CONTINUE}


class Follower(ExpressionFollower):
    """Follows blocks of one scope, one after the other."""

    def __init__(self, frame: BodyFrame, path: Path, sizes: Mapping[str, int], outside: Callable[[str], bool]) -> None:
        super().__init__(sizes)
        self.frame = frame
        self.path = path
        self._outside = outside
        self._depth = 0
        self._helpers: list[HelperValue] = []
        self._unseen: list[Sequence[ast.stmt]] = []  # by may_change_lists, which many reads ask
        self._changes_lists = False
        self.ended = False  # whether all was followed to its end
        self._called: set[int] = set()  # the identities of the definitions of helpers that were followed

    def may_change_lists(self) -> bool:
        """Return whether anything in the text may make a list longer or shorter, by whatever name."""
        while self._unseen and not self._changes_lists:
            body = self._unseen.pop()
            self._changes_lists = any(_may_change_length(node) for each in body for node in ast.walk(each))
        return self._changes_lists

    def is_outside(self, name: str) -> bool:
        """Return whether a name of the outermost block is known before the block binds it."""
        return self._outside(name)

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Follow the next statements of the scope."""
        self._unseen.append(body)
        try:
            ends = self._run(body, self.frame, self.path)
            self.ended = End.NEXT in ends
            if self.ended:
                self.path = joined(ends[End.NEXT], certain=self.path.certain)
            self._uncalled()
        except OutOfSteps:
            self.ended = False

    def _uncalled(self) -> None:
        """Follow the helpers that nobody called where that was seen: as if called at the end, with anything."""
        for helper in self._helpers:
            if id(helper.node) not in self._called:
                with suppress(Raises):
                    self.call_helper(helper, None, {}, self.path.copy(certain=True))

    def helper(self, node: ast.Lambda | ast.FunctionDef, frame: BodyFrame, path: Path) -> HelperValue:
        """Return the function that a definition makes."""
        made = super().helper(node, frame, path)
        if not made.is_foreign:
            self._helpers.append(made)
        return made

    def call_helper(self, helper: HelperValue, args: Sequence[Any] | None, named: Mapping[str, Any], path: Path) -> Any:
        """Return what a call gives.

        Raises:
            Raises: it reads a name that has no value.
        """
        self.spend()
        node = helper.node
        self._called.add(id(node))
        if self._depth >= _DEEPEST:
            return ANYTHING
        body: list[ast.stmt] = node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        stars = [each.arg for each in (node.args.vararg, node.args.kwarg) if each is not None]
        frame = BodyFrame(assigned_names(body) | {*parameters, *stars}, helper.around)
        values = dict.fromkeys((*parameters, *stars), ANYTHING)
        if args is not None:
            values |= {**dict(zip(parameters, args, strict=False)), **named}
        path.names.update({(frame, name): HeldName(value) for name, value in values.items() if name in frame.own})
        self._depth += 1
        made = self.made
        try:
            value = self._returned(self._run(body, frame, path), path)
        finally:
            self._depth -= 1
        self.leave(frame, path, made)
        return value

    def _returned(self, ends: Ends, path: Path) -> Any:
        for end in ends.get(End.NEXT, ()):
            end.result = None
        paths = [*ends.get(End.RETURN, ()), *ends.get(End.NEXT, ())]
        if not paths:
            raise Raises
        end = joined(paths, certain=path.certain)
        value, end.result = end.result, None
        path.become(end)
        return value

    # Statements -------------------------------------------------------------------------------------------------

    def _run(self, body: Sequence[ast.stmt], frame: BodyFrame, path: Path) -> Ends:
        """Follow statements from a path on, which is used up; without an end Python raises in them."""
        ends: Ends = {}
        for statement in body:
            self.spend()
            try:
                found = self._statement(statement, frame, path)
            except Raises:
                return ends
            if found is None:
                continue
            for end, paths in found.items():
                if end is not End.NEXT:
                    ends.setdefault(end, []).extend(paths)
            if End.NEXT not in found:
                return ends
            # Where some way leaves, nobody knows whether Python comes to what follows.
            certain = path.certain and found.keys() == {End.NEXT} and found[End.NEXT][0].certain
            path = joined(found[End.NEXT], certain=certain)
        ends.setdefault(End.NEXT, []).append(path)
        return ends

    def _statement(self, node: ast.stmt, frame: BodyFrame, path: Path) -> Ends | None:
        """Follow one statement; None where it goes on with the same path."""
        match node:
            case ast.Assign(targets=targets, value=expression):
                value = self.value(expression, frame, path)
                for target in targets:
                    self.bind(target, value, frame, path)
            case ast.AnnAssign(target=target, value=ast.expr() as expression):
                self.bind(target, self.value(expression, frame, path), frame, path)
            case ast.AugAssign():
                self._augmented(node, frame, path)
            case ast.Expr(value=expression):
                self.value(expression, frame, path)
            case ast.FunctionDef(name=name):
                self.store(name, self.helper(node, frame, path), frame, path)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for each in aliases:
                    self.store((each.asname or each.name).partition(".")[0], ANYTHING, frame, path)
            case ast.Return(value=result):
                path.result = None if result is None else self.value(result, frame, path)
                return {End.RETURN: [path]}
            case ast.If():
                return self._if(node, frame, path)
            case ast.For():
                return self._for(node, frame, path)
            case ast.Break() | ast.Continue():
                return {_LEAVES[type(node)]: [path]}
        return None

    def _augmented(self, node: ast.AugAssign, frame: BodyFrame, path: Path) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            before = self.read(target, frame, path)
            value = computed(node.op, before, self.value(node.value, frame, path))
            self.bind(target, value, frame, path)
        else:
            self.bind(target, ANYTHING, frame, path)
            self.value(node.value, frame, path)

    def _if(self, node: ast.If, frame: BodyFrame, path: Path) -> Ends:
        known = truth(self.value(node.test, frame, path))
        if known is not None:
            return self._run(node.body if known else node.orelse, frame, path)
        self.spend(len(path.names) >> 3)
        arms = [self._run(body, frame, path.copy(certain=False)) for body in (node.body, node.orelse)]
        ends = _merged(arms)
        if End.NEXT in ends:
            ends[End.NEXT] = [joined(ends[End.NEXT], certain=path.certain)]
        return ends

    def _for(self, node: ast.For, frame: BodyFrame, path: Path) -> Ends:
        around = self.value(node.iter, frame, path)
        certain = path.certain
        left: Ends = {}
        broken: list[Path] = []
        if isinstance(around, KnownItems):
            ends = self._each(node, around.items, frame, path, left, broken)
        else:
            ends = self._some_rounds(node, frame, path, left, broken)
        result: Ends = {end: paths for end, paths in left.items() if end is End.RETURN}
        if ends is not None:
            ends.certain = certain and not broken and End.RETURN not in left
            after = self._run(node.orelse, frame, ends)
            broken += after.pop(End.NEXT, [])
            result = _merged([result, after])
        if broken:
            result[End.NEXT] = [joined(broken, certain=certain)]
        return result

    def _each(
        self, node: ast.For, items: Sequence[Any], frame: BodyFrame, path: Path, left: Ends, broken: list[Path]
    ) -> Path | None:
        """Follow a loop round by round; returns the path after the last one, None where none comes to its end."""
        for item in items:
            self.bind(node.target, item, frame, path)
            ends = self._run(node.body, frame, path)
            going = self._sorted_out(ends, left, broken)
            if not going:
                return None
            path = joined(going, certain=path.certain and not broken and End.RETURN not in left)
        return path

    def _some_rounds(self, node: ast.For, frame: BodyFrame, path: Path, left: Ends, broken: list[Path]) -> Path:
        """Follow a loop of unknown length: what it binds has any of several values."""
        for name in assigned_names([node]):
            holder = frame.holder(name) or frame
            if (held := path.names.get((holder, name))) is not None:
                path.names[holder, name] = HeldName(ANYTHING, held.sure)
        for _ in range(_PASSES):
            self.spend(len(path.names) >> 3)
            before = path.copy(certain=False)
            inner = path.copy(certain=False)
            self.bind(node.target, ANYTHING, frame, inner)
            going = self._sorted_out(self._run(node.body, frame, inner), left, broken)
            path = joined([before, *going], certain=False)
            if unchanged(path.names, before.names):
                break
        return path

    def _sorted_out(self, ends: Ends, left: Ends, broken: list[Path]) -> list[Path]:
        """Return the paths of a round that go on with the next."""
        broken += ends.get(End.BREAK, [])
        left.setdefault(End.RETURN, []).extend(ends.get(End.RETURN, []))
        if not left[End.RETURN]:
            del left[End.RETURN]
        return [*ends.get(End.NEXT, []), *ends.get(End.CONTINUE, [])]


def _merged(several: Sequence[Ends]) -> Ends:
    merged: Ends = {}
    for ends in several:
        for end, paths in ends.items():
            merged.setdefault(end, []).extend(paths)
    return merged


def _may_change_length(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign(op=ast.Add() | ast.Mult(), value=value):
            return not isinstance(value, ast.Constant)
        case ast.Subscript(ctx=ast.Store()):
            return True
        case ast.Attribute(attr=name):
            return name in allow.CONTAINER_CHANGES
    return False

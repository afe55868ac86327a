"""Which blocks of a file may change, as it is read, what other blocks bind: by names, without looking at values.

A statement such as ``l.append(7)`` binds nothing, so no program names what it makes. Names that stand together in
something that runs as the file is read may stand for one value, or for what is kept in one
(:mod:`stepcore.frontend.sharing` tells that more closely): they make a group. Where something in a group may change a
value, whoever names one of its names has to see all of it that runs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from stepcore.fn.source import is_calculated
from stepcore.frontend.bindings import imported_names
from stepcore.frontend.changes import (
    changes_something,
    foreign_names,
    is_main,
    may_reflect,
    patched,
    reflecting_names,
    sets_attributes,
)
from stepcore.frontend.sharing import is_pure
from stepcore.frontend.when_read import RunningPart, running, runs_later

_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_NONE: Final = frozenset[str]()


class BlockEffects(NamedTuple):  # a tuple, because each edit looks at those of all blocks
    """What a block may do as its file is read, as far as its own text tells.

    ``patched`` are names of what it sets parts of.
    """

    runs_later: bool  # functions, which run when something names them
    is_signed: bool  # it may change a value in place
    is_sweeping: bool  # it may bind or change whatever the file binds
    sets_parts: bool  # it may set functions of modules but by a store
    binds_outside: bool  # its functions may bind names of the file
    is_number: bool  # it binds names to what numbers and other names come to
    patched: frozenset[str]


class RunningBlock(NamedTuple):
    """A block that may run: what it does, the names that it binds, and all names of the file that stand in it."""

    what: BlockEffects
    bound: frozenset[str]
    names: frozenset[str]


class ImportedSigns(NamedTuple):
    """The names that the imports of a file bind: all, those of what may change values, and of what may bind all."""

    modules: frozenset[str] = _NONE
    foreign: frozenset[str] = _NONE
    reflecting: frozenset[str] = _NONE


def effects_of(body: Sequence[ast.stmt], text: str) -> BlockEffects | None:
    """Return what the statements of a block may do; None for imports, for what is ours, and for what is never read."""
    parts = [each for each in body if not (is_pure(each) or is_main(each) or isinstance(each, _IMPORTS))]
    if not parts:
        return None
    is_sweeping, sets_parts = may_reflect(text), sets_attributes(text)
    return BlockEffects(
        runs_later=all(map(runs_later, parts)),
        is_signed=is_sweeping or sets_parts or any(changes_something(each, text) for each in parts),
        is_sweeping=is_sweeping,
        sets_parts=sets_parts,
        binds_outside="global" in text,
        is_number=all(map(_is_number, parts)),
        patched=frozenset(name for each in parts for name in patched(each)),
    )


def modules_of(body: Sequence[ast.stmt]) -> tuple[tuple[str, str], ...]:
    """Return the names that the imports of a block bind, each with what it is by its full name."""
    return tuple(pair for each in body if isinstance(each, _IMPORTS) for pair in imported_names(each))


@lru_cache(maxsize=64)
def imported_signs(modules: tuple[tuple[tuple[str, str], ...], ...]) -> ImportedSigns:
    """Return what the imports of a file bind; ``modules`` are those of its blocks (:func:`modules_of`)."""
    found = dict(pair for each in modules for pair in each)
    return ImportedSigns(frozenset(found), frozenset(foreign_names(found)), frozenset(reflecting_names(found)))


class Effects:
    """The effects in one file. ``everywhere`` are blocks that may change whatever the file binds, and belong to all.

    ``group_of`` gives the number of the group of a name, ``members`` the blocks of each group, in order.
    """

    def __init__(self, blocks: Mapping[int, RunningBlock], imported: ImportedSigns) -> None:
        self.blocks = blocks  # by number
        self.imported = imported
        self.everywhere: list[int] = []
        self.group_of: dict[str, int] = {}
        self.members: list[list[int]] = []
        signed = {number for number, block in blocks.items() if self._is_signed(block)}
        if signed:
            self._collect(signed)

    def _is_signed(self, block: RunningBlock) -> bool:
        return block.what.is_signed or self._meets(block.names, self.imported.foreign | self.imported.reflecting)

    def _sweeps(self, block: RunningBlock) -> bool:
        return block.what.is_sweeping or self._meets(block.names, self.imported.reflecting)

    def _patches(self, block: RunningBlock) -> bool:
        """Return whether a block may set functions of modules, which functions read by other names, too."""
        return block.what.sets_parts or self._meets(block.what.patched, self.imported.modules)

    @staticmethod
    def _meets(one: frozenset[str], other: frozenset[str]) -> bool:
        return bool(other) and not one.isdisjoint(other)

    def _collect(self, signed: Collection[int]) -> None:
        order = [*self.blocks]
        parts = [RunningPart(each.bound, each.names, each.what.runs_later) for each in self.blocks.values()]
        run = [order[number] for number in running(parts)]
        at_once = [number for number in run if not self.blocks[number].what.runs_later]  # functions are found by name
        if any(self._sweeps(self.blocks[number]) for number in run):
            self.everywhere = at_once
            return
        apart = self.imported.modules | _numbers([self.blocks[number] for number in run])
        shared = {number: self.blocks[number].names - apart for number in run}
        roots = _joined(shared.values())
        root_of = {number: roots[next(iter(names))] for number, names in shared.items() if names}
        active = {root_of[number] for number in run if number in signed and number in root_of}
        wide = {root_of[number] for number in run if number in root_of and self._patches(self.blocks[number])}
        groups: dict[str, list[int]] = {}
        for number in at_once:
            root = root_of.get(number)
            if root in wide or (root is None and number in signed and not self.blocks[number].what.is_number):
                self.everywhere.append(number)
            elif root is not None and root in active:
                groups.setdefault(root, []).append(number)
        numbers = {root: number for number, root in enumerate(groups)}
        self.members = [*groups.values()]
        self.group_of = {name: numbers[root] for name, root in roots.items() if root in numbers}


def _is_number(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Assign(targets=[ast.Name()], value=ast.expr() as value)
            | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            | ast.AugAssign(target=ast.Name(), value=value)
        ):
            return is_calculated(value, _Any())
    return False


class _Any:
    """A container that holds everything."""

    def __contains__(self, name: object) -> bool:
        return True


def _numbers(blocks: Sequence[RunningBlock]) -> frozenset[str]:
    """Return the names that stand for numbers and texts alone, which nothing can change."""
    readers: dict[str, list[RunningBlock]] = {}
    loose: list[str] = []
    for block in blocks:
        if block.what.is_number:
            for name in block.names:
                readers.setdefault(name, []).append(block)
        else:
            loose += block.bound
        if block.what.binds_outside:
            loose += block.names
    bound = frozenset[str]().union(*(block.bound for block in blocks if block.what.is_number))
    loose += readers.keys() - bound
    others: set[str] = set()
    while loose:
        name = loose.pop()
        if name not in others:
            others.add(name)
            loose += (each for block in readers.get(name, ()) for each in block.bound)
    return bound - others


def _joined(several: Iterable[frozenset[str]]) -> dict[str, str]:
    """Return one name for each name: the same one for all that stand in one set, or in sets that share a name."""
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            parents[name] = name = parents[parent]
        return name

    for names in several:
        first = next(iter(names), None)
        if first is not None:
            root = find(first)
            for name in names:
                parents[find(name)] = root
    return {name: find(name) for name in parents}

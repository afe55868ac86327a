"""How a Python file is cut: its top-level blocks, what each says about its role, and which of them make up a unit.

A :class:`Cut` takes over what it can from that of the text before an edit: the blocks around the edit are the same
objects then, which are compared and looked up at no cost. All of it depends on texts alone; nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from unicodedata import normalize

from stepcore.findings.near import nearest
from stepcore.frontend.bindings import bound_names
from stepcore.frontend.python import ModuleFacts
from stepcore.frontend.syntax import Suite, parse_suite, split_blocks
from stepcore.ide.effects import BlockEffects, Effects, RunningBlock, effects_of, imported_signs, modules_of
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.text.remembered import remembered_text

Blocks: TypeAlias = "list[tuple[int, str]]"  # where each begins, and its text
# A unit as (block that it is about, all its blocks); None: what no program uses.
Member: TypeAlias = "tuple[int | None, tuple[int, ...]]"
_WORD: Final = re.compile(r"[^\W\d]\w*")
_ASCII_WORD: Final = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*")  # the same of a text in ASCII, in a tenth of the time
_IMPORTS: Final = re.compile(r"\f?(?:import|from)\b")
_NO_FACTS: Final = ModuleFacts()
_LIKE: Final = 0.6  # how near a name has to be to be suggested for another: the least that a finding asks for
_MOST_HELD: Final = 4  # blocks of all units for each block of a text, beyond which
_FEW_HELD: Final = 4000  # and so many more the units are not worth being checked each by itself
_AHEAD: Final = 8  # characters from which the start of a block is known: those of "finally", and one


@dataclass(frozen=True, slots=True)
class BlockRole:
    """What the text of one block says about its role. ``names`` are those that it binds, ``words`` all in it.

    ``facts`` are those of its programs as far as literals tell, None where they do not.
    """

    names: frozenset[str]
    words: frozenset[str]
    is_import: bool
    is_program: bool
    makers: frozenset[str]  # with what the decorators of its programs begin: `step`, `program`; empty for a call
    is_function: bool  # without decorator: of interest only to what calls it
    is_plain: bool  # nothing but functions, and no program
    facts: ModuleFacts | None
    has_faults: bool  # some line cannot be read
    effects: BlockEffects | None
    modules: tuple[tuple[str, str], ...]  # what its imports bind


class Cut:
    """The cut of one text. ``previous`` is that of the text before an edit, if there is one.

    ``definers`` are the blocks that bind a name of the top level, programs aside, and ``names`` these names. A text
    ``is_tangled`` if its units are together much larger than itself: so many programs need so many blocks.
    """

    def __init__(self, text: str, previous: Cut | None = None) -> None:
        self.text = text
        self.blocks = list(split_blocks(text)) if previous is None else _split_again(text, previous)
        self.shapes = [shape(block) for _, block in self.blocks]
        self.definers: dict[str, list[int]] = {}
        for index, item in enumerate(self.shapes):
            if not item.is_program:
                self._define(index)
        for index in self._of_others():
            self._define(index)
        self.names = frozenset(self.definers)
        if previous is not None and previous.names == self.names:
            self.names = previous.names  # the same object is compared faster
        self.imports = [index for index, item in enumerate(self.shapes) if item.is_import]
        self.effects = self._effects(previous)
        self._closures: dict[int, tuple[int, ...]] = {}  # by the block that a unit is about
        self.members = list(self._members(previous))
        held = sum(len(blocks) for _, blocks in self.members)
        self.is_tangled = held > _MOST_HELD * len(self.blocks) + _FEW_HELD

    def block_at(self, offset: int) -> int:
        """Return the number of the block around a place; that of the first for what stands before it."""
        return max(bisect_right(self.blocks, offset, key=lambda block: block[0]) - 1, 0)

    def closure(self, roots: Iterable[int]) -> tuple[int, ...]:
        """Return the blocks that define or may change what ``roots`` name, and so on, with all imports, in order."""
        found = set(self.imports)
        done: set[str] = set()
        groups: set[int] = set()
        todo = [index for index in (*roots, *self.effects.everywhere) if index not in found]
        while todo:
            index = todo.pop()
            if index in found:
                continue
            found.add(index)
            for word in common(self.shapes[index].words, self.names):
                if word in done:
                    continue
                done.add(word)
                todo.extend(self.definers[word])
                group = self.effects.group_of.get(word)
                if group is not None and group not in groups:
                    groups.add(group)
                    todo.extend(self.effects.members[group])
        return tuple(sorted(found))

    def alike(self, words: Iterable[str]) -> set[int]:
        """Return the blocks that define a name like one of ``words``, which were not found."""
        return {index for word in words for name in _alike(word, self.names) for index in self.definers[name]}

    def facts(self) -> ModuleFacts | None:
        """Return what all programs of the file come to; None where literals do not tell."""
        found = [item.facts for item in self.shapes if item.is_program]
        known = [facts for facts in found if facts is not None]
        return ModuleFacts.joined(known) if len(known) == len(found) else None

    def _define(self, index: int) -> None:
        for name in self.shapes[index].names:
            self.definers.setdefault(name, []).append(index)

    def _of_others(self) -> list[int]:
        """Return the blocks whose ``@cli.program`` is that of another module, or of nothing that the file binds."""
        makers = frozenset(name for item in self.shapes for name in item.makers)
        imported = dict(pair for item in self.shapes for pair in item.modules) if makers else {}
        if not makers or "*" in imported:
            return []
        ours = {name for name in makers if imported.get(name, "stepcore").partition(".")[0] == "stepcore"}
        unknown = makers - (ours & self.definers.keys())
        return [index for index, item in enumerate(self.shapes) if not unknown.isdisjoint(item.makers)]

    def _effects(self, previous: Cut | None) -> Effects:
        """Return the effects in the file: those of the text before, where nothing about them has changed."""
        shapes = self.shapes
        imported = imported_signs(tuple([item.modules for item in shapes if item.modules]))
        blocks = {
            index: RunningBlock(item.effects, item.names, common(item.words, self.names))
            for index, item in enumerate(shapes)
            if item.effects is not None
        }
        if previous is not None and (previous.effects.blocks, previous.effects.imported) == (blocks, imported):
            return previous.effects
        return Effects(blocks, imported)

    def _members(self, previous: Cut | None) -> Iterator[Member]:
        """Yield the units: each program, then what no program uses."""
        known_closures = {} if previous is None else self._closures_kept(previous)
        covered: set[int] = set()
        count = 0
        for index, item in enumerate(self.shapes):
            if item.is_program:
                known = known_closures.get(index) or self.closure([index])
                self._closures[index] = known
                covered.update(known)
                count += 1
                yield index, known
        rest = [i for i, item in enumerate(self.shapes) if i not in covered and not item.is_function]
        if any(not self.shapes[index].is_import for index in rest) or not count:
            yield None, self.closure(rest)

    def _closures_kept(self, previous: Cut) -> dict[int, tuple[int, ...]]:
        """Return the closures of another cut that are those of this one: of blocks whose roles are the same."""
        if previous.effects is not self.effects:
            return {}
        if (previous.definers, previous.imports) != (self.definers, self.imports):
            return {}
        pairs = enumerate(zip(self.shapes, previous.shapes, strict=False))
        changed = {index for index, (role, known) in pairs if role is not known}
        kept = previous._closures
        if not changed and len(self.shapes) == len(previous.shapes):
            return kept
        most = min(len(self.shapes), len(previous.shapes))
        return {index: known for index, known in kept.items() if known[-1] < most and changed.isdisjoint(known)}


@remembered_text
def shape(text: str) -> BlockRole:
    """Return the role of a block."""
    suite = parse_suite(text)
    body = suite.body
    functions = [item for item in body if isinstance(item, ast.FunctionDef)]
    programs = [item for item in functions if any(last_name(one) == "program" for one in item.decorator_list)]
    is_all_functions = bool(functions) and len(functions) == len(body)
    decorated = any(item.decorator_list for item in functions)
    return BlockRole(
        names=frozenset(name for statement in body for name in _names_of(statement)),
        words=_words(text),
        is_import=_is_import(suite, text),
        is_program=bool(programs),
        makers=_makers(programs),
        is_function=is_all_functions and not decorated and not suite.faults,
        is_plain=is_all_functions and not programs,
        facts=_literal_facts(programs),
        has_faults=bool(suite.faults),
        effects=None if programs else effects_of(body, text),
        modules=modules_of(body),
    )


def _is_import(suite: Suite, text: str) -> bool:
    """Return whether a block only imports, or would if it could be read: each unit is read with it."""
    if suite.faults and _IMPORTS.match(text):
        return True
    return bool(suite.body) and all(isinstance(item, ast.Import | ast.ImportFrom) for item in suite.body)


def _words(text: str) -> frozenset[str]:
    """Return all words of a text, and what Python takes them for as names: letters that are one letter to it."""
    if text.isascii():
        return frozenset(_ASCII_WORD.findall(text))
    found = _WORD.findall(text)
    return frozenset((*found, *(normalize("NFKC", word) for word in found)))


def _names_of(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or takes away."""
    yield from bound_names(statement)
    if isinstance(statement, ast.Delete):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def last_name(decorator: ast.expr) -> str:
    """Return ``program`` for ``@step.program(...)`` and ``@program``; empty for anything more complicated."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makers(programs: Iterable[ast.FunctionDef]) -> frozenset[str]:
    """Return the names with which decorators like ``@step.program(...)`` begin; empty ones where others may count."""
    found: set[str] = set()
    for item in programs:
        for one in item.decorator_list:
            first = _first_of(one)
            found.add(first.id if isinstance(first, ast.Name) and last_name(one) == "program" else "")
    return frozenset(found)


def _first_of(decorator: ast.expr) -> ast.expr:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


@lru_cache(maxsize=8192)
def common(words: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """Return ``words & names``."""
    return words & names


@lru_cache(maxsize=4096)
def _alike(word: str, names: frozenset[str]) -> tuple[str, ...]:
    return tuple(nearest(word, sorted(names), 3, _LIKE))


def _literal_facts(programs: list[ast.FunctionDef]) -> ModuleFacts | None:
    if not programs:  # as most blocks
        return _NO_FACTS
    found: list[ModuleFacts] = []
    for node in programs:
        sizes: dict[str, int | None] = dict(DEFAULT_SIZES)
        for decorator in node.decorator_list:
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg == "dims":
                    given = _literal_sizes(keyword.value)
                    if given is None:
                        return None
                    sizes.update(given)
        weights = frozenset(argument.arg for argument in node.args.kwonlyargs)
        found.append(ModuleFacts(weights, frozenset(sizes.items()), frozenset((node.name,))))
    return ModuleFacts.joined(found)


def _literal_sizes(node: ast.expr) -> dict[str, int] | None:
    """Return the sizes of ``{M: 5, N: 7}``; None for anything else."""
    sizes: dict[str, int] = {}
    if not isinstance(node, ast.Dict):
        return None
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Name) or not isinstance(value, ast.Constant) or type(value.value) is not int:
            return None
        sizes[key.id] = value.value
    return sizes


# -- the same after an edit ---------------------------------------------------------------------------------------


def _split_again(text: str, previous: Cut) -> Blocks:
    """Return the blocks of ``text``, those before and behind the place of the edit taken from ``previous``."""
    old = previous.text
    same = _common_start(old, text)
    tail = _common_end(old, text, min(len(old), len(text)) - same)
    kept = _undisturbed(previous, same - _AHEAD)
    blocks = previous.blocks[:kept]
    first = 0 if kept == 0 else blocks[-1][0] + len(blocks[-1][1])
    later = {start: index for index, (start, _) in enumerate(previous.blocks) if start >= len(old) - tail}
    moved = len(text) - len(old)
    for start, block in split_blocks(text, first):
        index = later.get(start - moved)
        if index is not None and start >= len(text) - tail:  # from here on all is as it was
            return blocks + [(begin + moved, known) for begin, known in previous.blocks[index:]]
        blocks.append((start, block))
    return blocks


def _undisturbed(previous: Cut, same: int) -> int:
    """Return how many of the first blocks stay what they are if the first ``same`` characters do.

    Where a block ends that cannot be read depends on what follows it, so the first of these counts as changed.
    """
    count = 0
    for start, block in previous.blocks:
        if start + len(block) > same or parse_suite(block).faults:
            break
        count += 1
    return count


def _common_start(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: str, other: str, most: int) -> int:
    """Return how many characters, at most ``most``, two texts have in common at the end."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low

"""The state of one document, kept up to date edit by edit.

A Python file is cut into *units*: each program, with the text of the definitions that it names, is checked as a small
file of its own, and so is what no program uses. A unit whose small text did not change keeps its result,
wherever it has moved to; so an edit costs as much as the program it is in. What a unit depends on beyond its text
(sizes and weights of the file's other programs) is :class:`~stepcore.frontend.python.ModuleFacts`, and part of
what it is remembered by. A task file is one unit.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Literal

from stepcore.check.files import CheckResult, check_part, check_text, no_collection, program_extent, suppress
from stepcore.check.programs import AffineRule, Checked
from stepcore.diagnostics import Diagnostic, Edit, Fix, Related
from stepcore.frontend.python import ModuleFacts, read_module
from stepcore.frontend.syntax import parse_suite, split_blocks
from stepcore.frontend.values import Seen
from stepcore.span import SourceFile, Span
from stepcore.task import IMPL_SUFFIX, TASK_SUFFIXES

Kind = Literal["python", "task", "impl", "none"]
PYTHON_SUFFIXES: Final = (".py", ".pyi", ".ipynb")
# Findings that suggest the nearest of all names, and how near that has to be.
_UNKNOWN_NAME: Final = frozenset({"STEP202", "STEP303"})
_LIKE: Final = 0.3
_WORD: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Piece:
    """``length`` code points that stand at ``inner`` in a unit's text and at ``outer`` in the document."""

    inner: int
    outer: int
    length: int


@dataclass(slots=True)
class Checking:
    """The result of checking one unit's text; shared by all states of the document in which the text is the same."""

    text: str
    result: CheckResult
    facts: ModuleFacts
    fingerprint: str
    unknown: frozenset[str] = frozenset()  # names that were not found
    memo: dict[str, Any] = field(
        default_factory=dict, repr=False, compare=False
    )  # of features, in the unit's positions


@dataclass(slots=True)
class Unit:
    """A part of a document that is checked by itself. ``focus`` is the part that no other unit has.

    Spans in ``result`` count in the unit's own text; :meth:`to_document` and :meth:`from_document` translate.
    """

    checking: Checking
    pieces: tuple[Piece, ...]
    focus: Span

    @property
    def result(self) -> CheckResult:
        """What the checker found, in the unit's own positions."""
        return self.checking.result

    @property
    def fingerprint(self) -> str:
        """Changes when anything changes that the unit's results depend on, but not when it only moves."""
        return self.checking.fingerprint

    @property
    def checked(self) -> Checked | None:
        """The unit's program, if it has one."""
        return self.result.programs[-1] if self.result.programs else None

    @property
    def seen(self) -> Iterator[Seen]:
        """All names that elaboration met, those outside of the program first."""
        if self.result.module is not None:
            yield from self.result.module.seen
        for program in self.result.programs:
            yield from program.seen

    def to_document(self, span: Span) -> Span | None:
        """Return where a span of the unit's text stands in the document; None where it is cut in two."""
        for piece in self.pieces:
            offset = span.start - piece.inner
            is_inside = 0 <= offset < piece.length or (offset == piece.length and piece is self.pieces[-1])
            if is_inside and span.end - piece.inner <= piece.length:
                return Span(piece.outer + offset, piece.outer + span.end - piece.inner)
        return None

    def from_document(self, offset: int) -> int | None:
        """Return the offset in the unit's text of a place in the document; None where the unit lacks it."""
        for piece in self.pieces:
            if 0 <= offset - piece.outer <= piece.length:
                return piece.inner + offset - piece.outer
        return None

    def moved(self, found: Diagnostic) -> Diagnostic | None:
        """Return a finding in positions of the document."""
        span = self.to_document(found.span)
        if span is None:
            return None
        places = ((self.to_document(item.span), item.message) for item in found.related)
        related = tuple(Related(place, message) for place, message in places if place is not None)
        return replace(found, span=span, related=related, fix=self.moved_fix(found.fix))

    def moved_fix(self, fix: Fix | None) -> Fix | None:
        """Return a fix in positions of the document; None where an edit would leave it."""
        if fix is None:
            return None
        edits: list[Edit] = []
        for edit in fix.edits:
            span = self.to_document(edit.span)
            if span is None:
                return None
            edits.append(Edit(span, edit.text))
        return Fix(fix.title, tuple(edits))


@dataclass(slots=True)
class Analysis:
    """Everything known about one text of a document. Never changed after it is made."""

    source: SourceFile
    kind: Kind
    affine: AffineRule
    units: list[Unit] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    facts: ModuleFacts = field(default_factory=ModuleFacts)
    names: frozenset[str] = frozenset()  # that the top level of a Python file defines, programs aside
    known: dict[tuple[str, ModuleFacts], Checking] = field(default_factory=dict)  # by text and what it depends on
    blocks: list[tuple[int, str]] = field(default_factory=list)  # of a Python file: where each begins, and its text
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # what features work out once

    def unit_at(self, offset: int) -> Unit | None:
        """Return the unit to ask about a place: the one whose own part it is in, else one that uses what is there."""
        owners = [unit for unit in self.units if unit.focus.start <= offset <= unit.focus.end]
        if owners:
            return owners[-1]
        return next((unit for unit in self.units if unit.from_document(offset) is not None), None)

    def program(self, name: str) -> Unit | None:
        """Return the unit of the program called ``name``."""
        return next((unit for unit in self.units if unit.checked is not None and unit.checked.name == name), None)


def kind_of(path: str, text: str) -> Kind:
    """Return what a document is for us; ``none`` means that it is not ours."""
    if path.endswith(PYTHON_SUFFIXES):
        return "python" if "stepcore" in text else "none"
    if path.endswith(IMPL_SUFFIX):
        return "impl"
    if path.endswith(TASK_SUFFIXES):
        return "task" if looks_like_task(text) else "none"
    return "none"


_TASK_KEYS: Final = re.compile(r"^(?:impl|inputs|outputs|fns|parameters|test_name)\s*:", re.MULTILINE)


def looks_like_task(text: str) -> bool:
    """Return whether a YAML text has at least two of a task's keys at its left margin; other YAML is left alone."""
    return len({match.group() for match in _TASK_KEYS.finditer(text)}) >= 2


def analyze(
    text: str,
    path: str,
    *,
    affine: AffineRule = "strict",
    task: tuple[str, str] | None = None,
    previous: Analysis | None = None,
) -> Analysis:
    """Return the state of a document, reusing what ``previous`` knows of an earlier text of it.

    ``task`` is the text and path of the task that a ``NAME.impl.yaml`` answers. Never raises on user input.
    """
    source = SourceFile(path, text)
    kind = kind_of(path, text)
    if previous is not None and (previous.affine != affine or previous.kind != kind):
        previous = None
    if kind == "none" or (kind == "impl" and task is None):
        return Analysis(source, "none", affine)
    if kind == "python":
        with no_collection():
            return _Python(source, affine, previous).analysis()
    return _one_unit(source, kind, affine, task)


def _one_unit(source: SourceFile, kind: Kind, affine: AffineRule, task: tuple[str, str] | None) -> Analysis:
    whole = Span(0, len(source.text))
    if task is None:
        result = check_text(source.text, source.path, affine=affine, with_names=True)
        found = result.diagnostics
        key = source.text
    else:
        result = check_text(task[0], task[1], affine=affine, impl=(source.text, source.path), with_names=True)
        found = result.impl_diagnostics
        key = task[0] + "\0" + source.text
    checking = Checking(source.text, result, ModuleFacts(), _digest(key))
    unit = Unit(checking, (Piece(0, 0, len(source.text)),), whole)
    return Analysis(source, kind, affine, [unit], list(found))


# -- Python files ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the text of one block says about its role. ``names`` are those that it binds, ``words`` all in it."""

    names: frozenset[str]
    words: frozenset[str]
    is_import: bool
    is_program: bool
    is_function: bool  # without decorator: of interest only to what calls it
    is_plain: bool  # nothing but functions, and no program


@lru_cache(maxsize=8192)
def _shape(text: str) -> _Shape:
    suite = parse_suite(text)
    body = suite.body
    names = frozenset(name for statement in body for name in _bound(statement))
    is_import = bool(body) and all(isinstance(item, ast.Import | ast.ImportFrom) for item in body)
    functions = [item for item in body if isinstance(item, ast.FunctionDef)]
    decorators = [decorator for item in functions for decorator in item.decorator_list]
    is_program = any(_last_name(decorator) == "program" for decorator in decorators)
    is_function = bool(functions) and len(functions) == len(body) and not decorators and not suite.faults
    is_plain = bool(functions) and len(functions) == len(body) and not is_program
    return _Shape(names, frozenset(_WORD.findall(text)), is_import, is_program, is_function, is_plain)


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _last_name(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Python:
    """One pass over a Python file."""

    def __init__(self, source: SourceFile, affine: AffineRule, previous: Analysis | None) -> None:
        self.source = source
        self.affine = affine
        self.blocks = list(split_blocks(source.text))
        self.shapes = [_shape(text) for _, text in self.blocks]
        self.known: dict[tuple[str, ModuleFacts], Checking] = {}
        self.used: dict[tuple[str, ModuleFacts], Checking] = {}
        if previous is None:
            # Of functions nothing is needed; where they matter all the same, `analysis` checks once more.
            parts = (text for (_, text), shape in zip(self.blocks, self.shapes, strict=True) if not shape.is_plain)
            self.guess = read_module("".join(parts), source.path).facts
        else:
            self.guess = previous.facts
            self.known = previous.known
        self.definers: dict[str, list[int]] = {}
        for index, shape in enumerate(self.shapes):
            if not shape.is_program:
                for name in shape.names:
                    self.definers.setdefault(name, []).append(index)
        self.defined = frozenset(self.definers)
        if previous is not None and previous.names == self.defined:
            self.defined = previous.names  # the same object is compared faster
        self.facts: dict[frozenset[str], ModuleFacts] = {}
        self.imports = [index for index, shape in enumerate(self.shapes) if shape.is_import]

    def analysis(self) -> Analysis:
        """Check what changed and put the document together."""
        members = self._members()
        units = self._check(members)
        facts = ModuleFacts.joined(unit.checking.facts for unit in units)
        if facts != self.guess:  # a program's sizes or weights changed, on which every function may depend
            self.guess = facts
            self.facts = {}
            units = self._check(members)
        result = Analysis(self.source, "python", self.affine, units, facts=self.guess, blocks=self.blocks)
        result.names, result.known = self.defined, self.used
        if not any(unit.result.module is not None and unit.result.module.imports_stepcore for unit in units):
            return Analysis(self.source, "none", self.affine)
        result.diagnostics = self._findings(units)
        return result

    def _members(self) -> list[tuple[int | None, tuple[int, ...]]]:
        """Return the units as (block that it is about, all its blocks): each program, then what no program uses."""
        members: list[tuple[int | None, tuple[int, ...]]] = []
        covered: set[int] = set()
        for index, shape in enumerate(self.shapes):
            if shape.is_program:
                blocks = self._closure([index])
                covered |= set(blocks)
                members.append((index, blocks))
        rest = [i for i, shape in enumerate(self.shapes) if i not in covered and not shape.is_function]
        if any(not self.shapes[index].is_import for index in rest) or not members:
            members.append((None, self._closure(rest)))
        return members

    def _closure(self, roots: Iterable[int]) -> tuple[int, ...]:
        """Return the blocks that define what ``roots`` name, and so on, with all imports, in order."""
        found = set(self.imports)
        todo = [index for index in roots if index not in found]
        while todo:
            index = todo.pop()
            if index not in found:
                found.add(index)
                for word in _used(self.shapes[index].words, self.defined):
                    todo.extend(self.definers[word])
        return tuple(sorted(found))

    def _check(self, members: Sequence[tuple[int | None, tuple[int, ...]]]) -> list[Unit]:
        return [self._unit(about, blocks) for about, blocks in members]

    def _unit(self, about: int | None, indices: tuple[int, ...]) -> Unit:
        unit = self._checked(about, indices, self._facts_of(indices))
        if unit.checking.unknown:  # "did you mean" chooses among all names of the file
            alike = {index for word in unit.checking.unknown for index in self._namesakes(word)}
            return self._checked(about, self._closure([*indices, *alike]), self.guess)
        return unit

    def _facts_of(self, indices: Iterable[int]) -> ModuleFacts:
        """Return the file's facts without the programs that these blocks do not mention."""
        programs = self.guess.programs
        named = frozenset().union(*(_used(self.shapes[index].words, programs) for index in indices))
        found = self.facts.get(named)
        if found is None:
            found = self.facts[named] = replace(self.guess, programs=named)
        return found

    def _namesakes(self, word: str) -> Iterator[int]:
        """Return the blocks that define a name like one that was not found."""
        for name in _alike(word, self.defined):
            yield from self.definers[name]

    def _checked(self, about: int | None, indices: tuple[int, ...], others: ModuleFacts) -> Unit:
        pieces: list[Piece] = []
        texts: list[str] = []
        inner = 0
        for index in indices:
            start, part = self.blocks[index]
            pieces.append(Piece(inner, start, len(part)))
            texts.append(part)
            inner += len(part)
        text = "".join(texts)
        key = text, others
        checking = self.used.get(key) or self.known.get(key)
        if checking is None:
            result = check_part(text, self.source.path, others, self.affine)
            facts = result.module.facts if result.module is not None else ModuleFacts()
            checking = Checking(text, result, facts, _digest(f"{text}\0{_facts_text(others)}"), _unknown(result))
        self.used[key] = checking
        return Unit(checking, tuple(pieces), Span(0, 0) if about is None else self._extent(about))

    def _extent(self, index: int) -> Span:
        start, text = self.blocks[index]
        return Span(start, start + len(text))

    def _findings(self, units: list[Unit]) -> list[Diagnostic]:
        moved = (unit.moved(found) for unit in units for found in unit.result.diagnostics)
        # What several programs use is checked with each of them, and found as often.
        found = list({(item.code, item.span, item.message): item for item in moved if item is not None}.values())
        extents = (unit.to_document(program_extent(program)) for unit in units for program in unit.result.programs)
        return suppress(self.source, found, [extent for extent in extents if extent is not None])


@lru_cache(maxsize=8192)
def _used(words: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    return words & names


@lru_cache(maxsize=4096)
def _alike(word: str, names: frozenset[str]) -> tuple[str, ...]:
    return tuple(get_close_matches(word, sorted(names), 3, _LIKE))


def _unknown(result: CheckResult) -> frozenset[str]:
    found = (item for item in result.diagnostics if item.code in _UNKNOWN_NAME)
    return frozenset(result.source.slice(item.span) for item in found)


def _facts_text(facts: ModuleFacts) -> str:
    return repr((sorted(facts.parameters), sorted(facts.sizes, key=repr), sorted(facts.programs)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


__all__ = ["Analysis", "Checking", "Kind", "Piece", "Unit", "analyze", "kind_of"]

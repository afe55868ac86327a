"""The state of one document, kept up to date edit by edit.

A Python file is cut into *units*: each program, with the text of the definitions that it names, is checked as a small
file of its own, and so is what no program uses. A unit whose small text did not change keeps its result,
wherever it has moved to; so an edit costs as much as the program it is in. What a unit depends on beyond its text
(sizes and weights of the file's other programs) is :class:`~stepcore.frontend.python.ModuleFacts`, and part of
what it is remembered by. A task file is one unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from stepcore.check.files import (
    CheckResult,
    check_part,
    check_text,
    composition_extent,
    program_extent,
    repeated_programs,
)
from stepcore.check.suppression import suppress
from stepcore.findings import budget
from stepcore.findings.budget import Budget, OutOfBudget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.python import ModuleFacts, imports_published, read_module
from stepcore.frontend.syntax import unmarked
from stepcore.ide.cut import Blocks, Cut, common, shape
from stepcore.ide.kinds import Kind, kind_of
from stepcore.ide.units import Checking, DocumentUnit, digest, units_of_whole
from stepcore.jobdata.choices import AffineRule
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.system.collector import no_collection
from stepcore.text.span import SourceFile, Span

if TYPE_CHECKING:
    from stepcore.check.compositions import CheckedComposition

# The texts of a unit's blocks, and what else it depends on.
_Key: TypeAlias = "tuple[tuple[str, ...], ModuleFacts]"


class PlacedComposition(NamedTuple):
    """A composition of a document, checked in the positions of one of the units that hold it."""

    checked: CheckedComposition
    unit: DocumentUnit
    extent: Span  # in the document


@dataclass(slots=True)
class Analysis:
    """Everything known about one text of a document. Never changed after it is made."""

    source: SourceFile
    kind: Kind
    affine: AffineRule
    units: list[DocumentUnit] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    facts: ModuleFacts = field(default_factory=ModuleFacts)
    compositions: list[PlacedComposition] = field(default_factory=list)
    script: DocumentUnit | None = None  # all of a Python file without programs that makes its own streams
    cut: Cut | None = None  # of a Python file
    known: dict[_Key, Checking] = field(default_factory=dict)
    same: dict[tuple[str, ...], Checking] = field(default_factory=dict)  # those that hold as long as `facts` do
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # what features work out once
    dialect: Dialect = GENERATION_1

    @property
    def blocks(self) -> Blocks:
        """The top-level blocks of a Python file: where each begins, and its text."""
        return [] if self.cut is None else self.cut.blocks

    @property
    def names(self) -> frozenset[str]:
        """The names that the top level of a Python file defines, programs aside."""
        return frozenset() if self.cut is None else self.cut.names

    def unit_at(self, offset: int) -> DocumentUnit | None:
        """Return the unit to ask about a place: the one whose own part it is in, else one that uses what is there."""
        owners = [unit for unit in self.units if unit.focus.start <= offset <= unit.focus.end]
        if owners:
            return owners[-1]
        return next((unit for unit in self.units if unit.from_document(offset) is not None), None)

    def program(self, name: str) -> DocumentUnit | None:
        """Return the unit of the program called ``name``, or of the script."""
        units = self.units if self.script is None else [self.script]
        return next((unit for unit in units if unit.checked is not None and unit.checked.name == name), None)


def analyze(
    text: str,
    path: str,
    *,
    affine: AffineRule = "strict",
    task: tuple[str, str] | None = None,
    previous: Analysis | None = None,
    draft: int | None = None,
    dialect: Dialect = GENERATION_1,
) -> Analysis:
    """Return the state of a document, reusing what ``previous`` knows of an earlier text of it.

    ``task`` is the text and path of the task that a ``NAME.impl.yaml`` answers. A ``draft`` is a text that is tried
    out to learn what names stand for at one place, this offset: the state has the unit there, and no fixes. What the
    file sees of the language, all features ask ``dialect``. Never raises on user input.
    """
    kind = kind_of(path, text)
    source = SourceFile(path, unmarked(text) if kind == "python" else text)
    if previous is not None and (previous.affine != affine or previous.kind != kind or previous.dialect is not dialect):
        previous = None
    if kind == "none" and path.endswith(".toml"):
        from stepcore.ide.chip_file import toml_findings  # few sessions open one

        return Analysis(source, "none", affine, diagnostics=toml_findings(path, text))
    if kind == "none" or (kind == "impl" and task is None):
        return Analysis(source, "none", affine)
    if kind == "python":
        with no_collection():
            python = _Python(source, affine, previous, dialect, with_fixes=draft is None)
            return python.analysis() if draft is None else python.draft(draft)
    return _one_unit(source, kind, affine, task, dialect, with_fixes=draft is None)


def _one_unit(
    source: SourceFile,
    kind: Kind,
    affine: AffineRule,
    task: tuple[str, str] | None,
    dialect: Dialect,
    *,
    with_fixes: bool,
) -> Analysis:
    whole = Span(0, len(source.text))
    text, path = task or (source.text, source.path)
    answer = None if task is None else (source.text, source.path)
    result = check_text(text, path, affine=affine, impl=answer, with_fixes=with_fixes, with_names=True, dialect=dialect)
    found = result.diagnostics if task is None else result.impl_diagnostics
    key = source.text if task is None else task[0] + "\0" + source.text
    checking = Checking(source.text, result, ModuleFacts(), digest(key))
    unit = DocumentUnit(checking, ((0, source.text),), whole)
    return Analysis(source, kind, affine, [unit], list(found), dialect=dialect)


# -- Python files ------------------------------------------------------------------------------------------


class _Python:
    """One pass over a Python file."""

    def __init__(
        self, source: SourceFile, affine: AffineRule, previous: Analysis | None, dialect: Dialect, *, with_fixes: bool
    ) -> None:
        self.source = source
        self.affine = affine
        self.dialect = dialect
        self.with_fixes = with_fixes
        self.budget = Budget.for_text(len(source.text))
        self.cut = Cut(source.text, None if previous is None else previous.cut)
        self.known: dict[_Key, Checking] = {}
        self.used: dict[_Key, Checking] = {}
        self.same: dict[tuple[str, ...], Checking] = {}
        if previous is not None:
            self.guess = previous.facts
            self.known = previous.known
            self.same = previous.same
        else:
            # Both may be wrong; then `analysis` checks once more.
            self.guess = self.cut.facts() or self._facts_read()

    def analysis(self) -> Analysis:
        """Check what changed and put the document together."""
        units = self._check()
        facts = _joined(tuple(unit.checking.facts for unit in units))
        if facts != self.guess:  # a program's sizes or weights changed, on which every function may depend
            self.guess = facts
            self.known = {**self.known, **self.used}
            self.used, self.same = {}, {}
            units = self._check()
        result = self._state(units)
        result.known = self.used
        result.same = {key[0]: checking for key, checking in self.used.items() if not checking.unknown}
        if not any(unit.result.module is not None and unit.result.module.imports_stepcore for unit in units):
            return Analysis(self.source, "none", self.affine)
        script = self._script() if not self.guess.programs else None
        if script is None:
            result.compositions, beyond = self._compositions(units)
            result.diagnostics = self._findings(units, result.compositions, beyond)
        else:
            text, others = self.source.text, ModuleFacts()
            whole = Checking(text, script, others, digest(text))
            result.script = DocumentUnit(whole, ((0, text),), Span(0, len(text)))
            result.diagnostics = script.diagnostics
        return result

    def _state(self, units: list[DocumentUnit]) -> Analysis:
        """Return the state that these units make."""
        facts, cut = self.guess, self.cut
        return Analysis(self.source, "python", self.affine, units, facts=facts, cut=cut, dialect=self.dialect)

    def _script(self) -> CheckResult | None:
        """Return what is found in a file without programs that makes its own streams: it is followed as a whole."""
        if "Stream" not in self.source.text:
            return None
        found = check_text(
            self.source.text, self.source.path, affine=self.affine, with_fixes=False, dialect=self.dialect
        )
        return found if found.script is not None else None

    def draft(self, offset: int) -> Analysis:
        """Check only the unit to ask about one place."""
        block = self.cut.block_at(offset)
        around = [(about, blocks) for about, blocks in self.cut.members if block in blocks]
        chosen = [member for member in around if member[0] == block] or around
        with budget.limited(len(self.source.text)) as self.budget:
            units = [self._unit(*member) for member in chosen[:1]]
        return self._state(units)

    def _facts_read(self) -> ModuleFacts:
        """Return the facts of all programs, without what no program depends on for them."""
        blocks = zip(self.cut.blocks, self.cut.shapes, strict=True)
        text = "".join(text for (_, text), item in blocks if not item.is_plain)
        return read_module(text, self.source.path, dialect=self.dialect).facts

    def _check(self) -> list[DocumentUnit]:
        with budget.limited(len(self.source.text)) as self.budget:
            # What a published script imports, its parts do not show by themselves.
            at_once = self.cut.is_tangled or imports_published(self.source.text)
            return self._whole() if at_once else [self._unit(*member) for member in self.cut.members]

    def _whole(self) -> list[DocumentUnit]:
        """Check the file at once: each of its programs is a unit with the whole text."""
        checking = self._checked((self.source.text,), ModuleFacts())
        self.guess = checking.facts
        extents = (Span(0, 0) if about is None else self._extent(about) for about, _ in self.cut.members)
        return units_of_whole(checking, extents)

    def _unit(self, about: int | None, indices: tuple[int, ...]) -> DocumentUnit:
        all_blocks = self.cut.blocks
        blocks = [all_blocks[index] for index in indices]
        texts = tuple([text for _, text in blocks])
        checking = self.same.get(texts)
        if checking is None:
            checking = self._checked(texts, self._facts_of(indices))
            if checking.unknown and self.with_fixes:  # "did you mean" chooses among all names of the file
                indices = self.cut.closure([*indices, *self.cut.alike(checking.unknown)])
                blocks = [all_blocks[index] for index in indices]
                checking = self._checked(tuple([text for _, text in blocks]), self.guess)
        else:
            self.budget.left -= checking.cost  # a budget ends at the same place, whatever is known
            self.used[texts, checking.others] = checking
        return DocumentUnit(checking, blocks, Span(0, 0) if about is None else self._extent(about))

    def _facts_of(self, indices: Iterable[int]) -> ModuleFacts:
        """Return the file's facts without the programs that these blocks do not mention."""
        facts, shapes = self.guess, self.cut.shapes
        named = frozenset().union(*[common(shapes[index].words, facts.programs) for index in indices])
        return ModuleFacts(facts.parameters, facts.sizes, named)

    def _checked(self, texts: tuple[str, ...], others: ModuleFacts) -> Checking:
        key = texts, others
        checking = self.used.get(key) or self.known.get(key)
        if checking is None:
            before = self.budget.left
            checking = self._checking(texts, others)
            checking.cost = before - self.budget.left
            if self.budget.is_spent:  # it ends too early; and would again, wherever it is needed
                return checking
        else:
            self.budget.left -= checking.cost
        self.used[key] = checking
        return checking

    def _checking(self, texts: tuple[str, ...], others: ModuleFacts) -> Checking:
        text = "".join(texts)
        blocks = texts if not any(shape(block).has_faults for block in texts) else None
        result = check_part(
            text, self.source.path, others, self.affine, with_fixes=self.with_fixes, blocks=blocks, dialect=self.dialect
        )
        facts = result.module.facts if result.module is not None else ModuleFacts()
        fingerprint = digest(f"{text}\0{_facts_text(others)}")
        return Checking(text, result, facts, fingerprint, _unknown(result), others)

    def _extent(self, index: int) -> Span:
        start, text = self.cut.blocks[index]
        return Span(start, start + len(text))

    def _compositions(self, units: list[DocumentUnit]) -> tuple[list[PlacedComposition], list[Diagnostic]]:
        """Check all compositions of the file against its programs; the second result is where the budget ended."""
        holders: dict[Span, tuple[int, DocumentUnit]] = {}
        for unit in units:
            for number, item in enumerate(() if unit.result.module is None else unit.result.module.compositions):
                extent = unit.to_document(item.extent)
                if extent is not None:
                    holders.setdefault(extent, (number, unit))
        if not holders:
            return [], []
        from stepcore.ide.compositions import applicables, composition  # few files have any: it takes 4 ms

        programs = applicables(units)
        found: list[PlacedComposition] = []
        try:
            with budget.using(self.budget):
                for extent, (number, unit) in sorted(holders.items()):
                    found.append(PlacedComposition(composition(unit.checking, number, programs), unit, extent))
        except OutOfBudget as error:
            return found, self.budget.report(error, Span(0, 0))
        return found, []

    def _findings(
        self, units: list[DocumentUnit], compositions: list[PlacedComposition], beyond: list[Diagnostic]
    ) -> list[Diagnostic]:
        each = {id(unit.result.diagnostics): unit for unit in units}  # units of one text share theirs
        results = [(unit, unit.result.diagnostics) for unit in each.values()]
        results += [(placed.unit, placed.checked.diagnostics) for placed in compositions]
        moved = [*(unit.moved(found) for unit, own in results for found in own), *beyond]
        # What several programs use is checked with each of them, and found as often.
        found = list({(item.code, item.span, item.message): item for item in moved if item is not None}.values())
        if _has_namesakes(units):
            found += [item for item in repeated_programs(_heads(units)) if item not in found]
        if "stepsmith:" not in self.source.text:  # no comment that suppresses a finding of a program
            return suppress(self.source, found, [])
        extents = [unit.to_document(program_extent(program)) for unit in units for program in unit.result.programs]
        extents += [placed.unit.to_document(composition_extent(placed.checked)) for placed in compositions]
        return suppress(self.source, found, [extent for extent in extents if extent is not None])


def _has_namesakes(units: list[DocumentUnit]) -> bool:
    """Return whether units have programs of one name: two programs, or one that several units hold."""
    modules = (unit.result.module for unit in units)
    names = [program.node.name for module in modules if module is not None for program in module.programs]
    return len(set(names)) < len(names)


def _heads(units: list[DocumentUnit]) -> list[tuple[str, Span]]:
    """Return names and places of all programs, each once."""
    heads: dict[Span, str] = {}
    for unit in units:
        for program in () if unit.result.module is None else unit.result.module.programs:
            span = unit.to_document(program.spec.span)
            if span is not None:
                heads[span] = program.node.name
    return [(name, span) for span, name in heads.items()]


@lru_cache(maxsize=16)
def _joined(parts: tuple[ModuleFacts, ...]) -> ModuleFacts:
    return ModuleFacts.joined(parts)


def _unknown(result: CheckResult) -> frozenset[str]:
    found = (item for item in result.diagnostics if about(item.code).subject is Subject.NAME)
    return frozenset(result.source.slice(item.span) for item in found)


def _facts_text(facts: ModuleFacts) -> str:
    return f"{_sorted(facts.parameters)}{_sorted(facts.sizes)}{_sorted(facts.programs)}"


@lru_cache(maxsize=256)
def _sorted(items: frozenset[object]) -> str:
    return repr(sorted(items, key=repr))


__all__ = ["Analysis", "Checking", "DocumentUnit", "Kind", "analyze"]

"""Trying out fixes: what rewrites loops or calls is offered only if applying it leaves the text better.

Trials of a Python file check only the part of it that the edits can affect: the top-level statements that they change,
the programs that use those, and whatever they name. The work of all trials of one text is bounded by a multiple of its
length; beyond that nothing more is tried, so no fix is offered there until others have been applied.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, TypeAlias

from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.findings.codes import APPLIED, Phase, about
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Severity, apply_edits
from stepcore.fn.decl import FnDecl
from stepcore.frontend.syntax import parse_blocks
from stepcore.graph.ir import Graph
from stepcore.graph.typed import TypedGraph
from stepcore.records import Record
from stepcore.text.span import SourceFile, Span

_WORD: Final = re.compile(r"[^\W\d]\w*")
_PROGRAM: Final = re.compile(r"\bprogram\b")
# Characters that all trials of one text may check: so many times its own, and in any case so many.
TIMES_ITS_LENGTH: Final = 16  # pragma: no mutate: any number near it will do
AT_LEAST: Final = 500_000  # pragma: no mutate: any number near it will do


class TrialState(Record):
    """What a trial compares: the graphs of all programs, the number of errors of each code, and what has to wait."""

    graphs: list[Graph]
    errors: Counter[str]
    waiting: int = 0

    @staticmethod
    def of(graphs: Iterable[Graph], found: Iterable[Diagnostic]) -> TrialState:
        """The state of a text with these programs and findings."""
        errors: Counter[str] = Counter()
        waiting = 0
        for item in found:
            errors[item.code] += item.severity is Severity.ERROR
            waiting += about(item.code).phase is Phase.TIMING
        return TrialState(list(graphs), errors, waiting)

    def is_better_than(self, other: TrialState) -> bool:
        """Whether an affine finding or a stream that has to wait is gone, no error is new, and every program computes
        the same.
        """
        return (
            not self.errors - other.errors
            and (self.waiting < other.waiting or any(self.errors[code] < other.errors[code] for code in APPLIED))
            and len(self.graphs) == len(other.graphs)
            and all(map(same_meaning, other.graphs, self.graphs))
        )


# Checks a text (without fixes, which could be tried in turn without end).
Check: TypeAlias = Callable[[str], TrialState]


class Trials:
    """Tries fixes of one text; ``check`` has to understand the parts of it that :meth:`_part` gives."""

    def __init__(self, text: str, check: Check) -> None:
        self.text = text
        self._check = check
        self._left = max(AT_LEAST, TIMES_ITS_LENGTH * len(text))
        self._budget = Budget.for_text(len(text))  # of all trials; the findings have their own
        self._states: dict[str, TrialState] = {}
        self._verdicts: dict[tuple[Edit, ...], bool] = {}

    def __call__(self, fix: Fix) -> bool:
        """Return whether a fix is good to offer. What several findings share is tried once."""
        verdict = self._verdicts.get(fix.edits)
        if verdict is None:
            verdict = self._verdicts[fix.edits] = self._try(fix.edits)
        return verdict

    def _try(self, edits: tuple[Edit, ...]) -> bool:
        if self._budget.is_spent:
            return False
        part, moved = self._part(edits)
        self._left -= len(part)
        if self._left < 0:
            return False
        with budget.using(self._budget):
            before = self._states.get(part)
            if before is None:
                before = self._states[part] = self._check(part)
            after = self._check(apply_edits(part, moved))
        # Once it is spent, the states are of a part that was not looked at to its end.
        return self._budget.left >= 0 and after.is_better_than(before)

    def _part(self, edits: Sequence[Edit]) -> tuple[str, list[Edit]]:
        """Return the text to check, and the edits in its positions: here all of it."""
        return self.text, list(edits)


class PythonTrials(Trials):
    """Tries fixes of a Python file on the part that each can affect."""

    @cached_property
    def _blocks(self) -> _Blocks:
        return _Blocks(self.text)

    def _part(self, edits: Sequence[Edit]) -> tuple[str, list[Edit]]:
        spans = self._blocks.affected_by(edits)
        starts = [span.start for span in spans]
        gaps = [span.start - end for span, end in zip(spans, [0, *(span.end for span in spans)], strict=False)]
        left_out = list(accumulate(gaps))
        moved = [_moved(edit, left_out[bisect_right(starts, edit.span.start) - 1]) for edit in edits]
        return "".join(self.text[span.start : span.end] for span in spans), moved


def _moved(edit: Edit, by: int) -> Edit:
    return Edit(Span(edit.span.start - by, edit.span.end - by), edit.text)


class _Blocks:
    """The top-level statements of a Python file, and which of them name what others define."""

    def __init__(self, text: str) -> None:
        blocks = list(parse_blocks(SourceFile("", text)))
        self.spans = [block.code.outer for block in blocks]
        self.starts = [span.start for span in self.spans]
        self.definers: dict[str, set[int]] = {}
        for index, block in enumerate(blocks):
            for name in (name for statement in block.suite.body for name in _bound(statement)):
                self.definers.setdefault(name, set()).add(index)
        self.needs = [self._definers_of(block.code.text) for block in blocks]
        self.used_by: list[list[int]] = [[] for _ in blocks]
        for index, needed in enumerate(self.needs):
            for other in needed:
                self.used_by[other].append(index)

    def affected_by(self, edits: Sequence[Edit]) -> list[Span]:
        """Return the statements that edits change, those that use these, and what all of them name, in order."""
        changed = {bisect_right(self.starts, edit.span.start) - 1 for edit in edits}
        named = {other for edit in edits for other in self._definers_of(edit.text)}
        affected = _closure(changed, self.used_by)
        return [self.spans[index] for index in sorted(_closure(affected | named, self.needs))]

    def _definers_of(self, text: str) -> set[int]:
        return {index for word in set(_WORD.findall(text)) for index in self.definers.get(word, ())}


def _closure(roots: set[int], following: Sequence[Iterable[int]]) -> set[int]:
    found = set(roots)
    todo = list(roots)
    while todo:
        new = set(following[todo.pop()]) - found
        found |= new
        todo.extend(new)
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement gives to others; what a program is called does not matter to any."""
    match statement:
        case ast.FunctionDef() | ast.ClassDef():
            if not any(_is_program(decorator) for decorator in statement.decorator_list):
                yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.Assign() | ast.AnnAssign():
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _is_program(decorator: ast.expr) -> bool:
    return bool(_PROGRAM.search(ast.unparse(decorator)))


# -- whether a fix leaves a program what it was ---------------------------------------------------------------


_REGROUPING: Final = frozenset({"Promote", "Bufferize", "Streamify", "Flatten"})  # elements stay in their order
_MOST: Final = 5  # operators that hold a stream: one of each, and two buffers where elements are buffers


def same_meaning(before: Graph | TypedGraph, after: Graph | TypedGraph) -> bool:
    """Return whether two graphs are equal once every copy counts as the stream that it copies, and what comes out of a
    buffer as it went in as what went in.
    """
    return _meaning(before) == _meaning(after)


def _meaning(graph: Graph | TypedGraph) -> list[object]:
    """Return what each operator computes from what, and last what is returned."""
    stands_for: dict[int, object] = {index: ("input", place) for place, index in enumerate(graph.inputs)}
    found: list[object] = []
    holding, held = _held(graph)
    for node in graph.nodes:
        if node.index in holding:
            stands_for.update((index, stands_for.get(held[index])) for index in node.outputs if index in held)
            continue
        inputs = tuple(stands_for.get(index) for index in node.inputs)
        if node.op_name == "Copy" and len(inputs) == 1:
            stands_for.update(dict.fromkeys(node.outputs, inputs[0]))
            continue
        stands_for.update((index, (len(found), slot)) for slot, index in enumerate(node.outputs))
        params = node.params if node.op is None else node.op.calling.computing(node.params)
        found.append((node.op_name, {name: _param(value) for name, value in params.items()}, inputs))
    return [*found, [stands_for.get(index) for index in graph.returns]]


def _held(graph: Graph | TypedGraph) -> tuple[set[int], dict[int, int]]:
    """Return the operators that hold streams in buffers, and by what they give what they got."""
    readers = {index: node for node in graph.nodes for index in node.inputs}
    holding: set[int] = set()
    held: dict[int, int] = {}
    for node in graph.nodes:
        # One without an operator got something else than a stream, or nothing.
        if node.op_name in ("Promote", "Bufferize") and node.op is not None and node.index not in holding:
            passed, (source,) = [node], node.inputs
            while (next_ := readers.get(passed[-1].outputs[0])) is not None and next_.op_name in _REGROUPING:
                passed.append(next_)
                kinds = {graph.streams[index].type for index in (source, next_.outputs[0])}
                if len(kinds) == 1 and None not in kinds and "Streamify" in {each.op_name for each in passed}:
                    holding |= {each.index for each in passed}
                    held[next_.outputs[0]] = source
                if len(kinds) == 1 or len(passed) == _MOST:
                    break
    return holding, held


def _param(value: Any) -> object:
    # Declarations know where they stand in the file, which an edit moves.
    return value.func_name if isinstance(value, FnDecl) else value

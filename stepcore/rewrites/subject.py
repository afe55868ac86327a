"""A program that is rewritten: its text, the typed graph that checking gives, and, where somebody asked, its cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeAlias

from stepcore.check.files import CheckResult, check_text, program_faults
from stepcore.check.programs import Checked
from stepcore.cycles.bounds import COMPUTE
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import Timed, is_timeable, time_program
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.jobdata.choices import AffineRule
from stepcore.records import Record
from stepcore.rewrites.calls import WrittenCall, written_call
from stepcore.rewrites.extents import reads_as_much
from stepcore.sizes.dim import product
from stepcore.text.span import Embedded, Span
from stepcore.timing.hardware import Hardware
from stepcore.types import Buffer, Scalar, StreamType, components, tensor_shapes

HOW: Final = "how"
_NOT_LITERAL: Final = "its `impl` is not written as a literal block (`impl: |`), so none of its lines can be rewritten"


class RewriteSite(Record):
    """A place where a rewrite applies: ``edits`` of the file's text, and ``sentence``, what they do, for people.

    ``params`` are the parameters of the rewrite by name; :data:`HOW` says what it does in words that know no program.
    ``retiles``: what the program returns may be cut into other tiles, with the same numbers in the same order.
    """

    rewrite: str
    sentence: str
    edits: tuple[Edit, ...]
    params: tuple[tuple[str, str], ...] = ()
    retiles: bool = False


class RewriteRefusal(Record):
    """A place that a rewrite is about where it does not apply: ``sentence`` says why, of the operator at ``place``.

    ``place`` is None where the sentence is about the program as a whole.
    """

    rewrite: str
    sentence: str
    place: Span | None = None


RewritePlace: TypeAlias = RewriteSite | RewriteRefusal


@dataclass(frozen=True)  # without slots: what is derived is kept
class RewriteSubject:
    """One program of a file, without errors. ``timed`` is its run on a chip where the cycles are known.

    ``compute`` are the FLOPs per cycle that all units of the chip may have together.
    """

    result: CheckResult
    checked: Checked
    affine: AffineRule = "strict"
    timed: Timed | None = None
    compute: int = COMPUTE
    calls: dict[int, WrittenCall | None] = field(default_factory=dict, compare=False)  # by node, those looked at

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.result.program_source.text

    @property
    def path(self) -> str:
        """The file, as its user knows it."""
        return self.result.source.path

    @property
    def name(self) -> str:
        """The program's name."""
        return self.checked.name

    @property
    def graph(self) -> TypedGraph:
        """The program's graph."""
        return self.checked.typed

    @cached_property
    def code(self) -> Embedded | None:
        """The Python of the file, or of a task's ``impl``; None where that is not written as it is."""
        task = self.result.task
        if task is None:
            return Embedded.whole(self.text)
        return task.impl.source if task.impl is not None and task.impl.source.verbatim else None

    def is_within_impl(self, site: RewriteSite) -> bool:
        """Whether a rewrite changes nothing of a task but its program."""
        if self.code is None:
            return False
        outer = self.code.outer
        return all(outer.start <= edit.span.start <= edit.span.end <= outer.end for edit in site.edits)

    @property
    def defines_in_impl(self) -> bool:
        """Whether functions that a rewrite makes stand in the program of a task, which says that it may define some."""
        task = self.result.task
        return task is not None and task.answer_may_define_fns

    def owns(self, fn: FnDecl) -> bool:
        """Whether a function is declared in this file, of which no other program reads it, and may change there."""
        if self.defines_in_impl:
            return False  # those of the task stay as they are, and in its program types are written in another form
        has_types = fn.input_span.end > fn.input_span.start and fn.output_span.end > fn.output_span.start
        shown = self.text[fn.span.start : fn.span.end]
        return shown == fn.func_name and has_types and len(self.result.programs) == 1

    def defining_in_impl(self) -> RewriteSubject | None:
        """Return the same program in a task that lets ``impl`` define functions; None where it does, or is none."""
        task = self.result.task
        if task is None or task.answer_may_define_fns:
            return None
        return replace(self, result=replace(self.result, task=replace(task, answer_may_define_fns=True)), calls={})

    @property
    def unwritable(self) -> str:
        """Why no line of the program can be rewritten, "" where nothing speaks against it."""
        return "" if self.code is not None else _NOT_LITERAL

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax of :attr:`code`; None where there is none, or a line that no program needs is broken."""
        try:
            return None if self.code is None else ast.parse(self.code.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def timed_on(self, chip: Hardware, compute: int, budget: int) -> RewriteSubject | None:
        """Return the same program with its exact timing, in ``budget`` steps; None where it cannot be timed.

        ``compute`` are the FLOPs per cycle that all units of the chip may have together.
        """
        try:
            timed = time_program(self.checked, chip, budget=budget)
        except NotTimed:
            return None
        return replace(self, timed=timed, compute=compute, calls={})

    def call(self, node: TypedNode) -> WrittenCall | None:
        """Return how a node is written: ``step.Op(...).apply(...)``; None where it is not written like that."""
        if node.index not in self.calls:
            self.calls[node.index] = written_call(self.text, node)
        return self.calls[node.index]

    @cached_property
    def heads(self) -> Mapping[Span, list[TypedNode]]:
        """The nodes by the place of their operator: one text gives several in loops and helpers."""
        found: dict[Span, list[TypedNode]] = {}
        for node in self.graph.nodes:
            found.setdefault(node.op_span, []).append(node)
        return found

    def is_alone(self, node: TypedNode) -> bool:
        """Return whether the text of a node gives no other one."""
        return len(self.heads[node.op_span]) == 1

    def alone(self, *names: str) -> Iterator[TypedNode]:
        """Yield the applications of these operators whose text gives one node."""
        for nodes in self.heads.values():
            if len(nodes) == 1 and nodes[0].op_name in names:
                yield nodes[0]

    def pairs(self, first: str, *seconds: str) -> Iterator[tuple[TypedNode, TypedNode]]:
        """Yield each of :meth:`alone` that reads one stream alone, behind the one of ``first`` that makes it."""
        for node in self.alone(*seconds):
            made = self.producer(node.inputs[0]) if len(node.inputs) == 1 else None
            if made is not None and made.op_name == first and self.is_alone(made):
                yield made, node

    @cached_property
    def consumers(self) -> Mapping[int, TypedNode]:
        """The node that consumes each stream; what is returned or dropped has none."""
        return {index: node for node in self.graph.nodes for index in node.inputs}

    def producer(self, stream: int) -> TypedNode | None:
        """Return the node that makes a stream; None for an input."""
        found = self.graph.streams[stream].producer
        return None if found is None else self.graph.nodes[found]

    @property
    def module(self) -> str:
        """How the program spells the language: ``step.`` where operators are attributes of it, else nothing."""
        for node in self.graph.nodes:
            name = self.text[node.op_span.start : node.op_span.end]
            if node.has_class and name.endswith(f".{node.written}"):
                return name.removesuffix(node.written)
        return ""


def subject_of(text: str, path: str, program: str, affine: AffineRule = "strict") -> RewriteSubject | None:
    """Return the program ``program`` of a file; None where it has errors, or there is none."""
    result = check_text(text, path, affine=affine, with_fixes=False)
    found = [each for each in result.programs if each.name == program]
    if len(found) != 1 or not is_timeable(found[0]) or program_faults(result, found[0]):
        return None
    return RewriteSubject(result, found[0], affine)


def applied(subject: RewriteSubject, site: RewriteSite) -> RewriteSubject | None:
    """Return the program with a rewrite applied, checked again; None where it has errors or another interface."""
    return rewritten(subject, apply_edits(subject.text, list(site.edits)), retiles=site.retiles)


def rewritten(subject: RewriteSubject, text: str, *, retiles: bool) -> RewriteSubject | None:
    """Return the program as ``text`` has it; None where it has errors or another interface.

    ``retiles``: what it returns may be cut into other tiles, of which it has to read as much as before.
    """
    if text == subject.text:
        return None
    made = subject_of(text, subject.path, subject.name, subject.affine)
    if made is None or not _fits(subject.checked.spec, made.checked.spec, retiles=retiles):
        return None
    if retiles and not reads_as_much(subject.graph, made.graph, subject.checked.spec.bindings()):
        return None
    return replace(made, compute=subject.compute)


def _fits(before: ProgramSpec, after: ProgramSpec, *, retiles: bool) -> bool:
    """Whether two programs take and give the same: what is given may be cut otherwise only where a rewrite says so.

    A tensor stays the same whichever of its dimensions are those of the stream, and which lie in buffers.
    """
    same = (
        len(before.inputs) == len(after.inputs)
        and all(map(_is_same_input, before.inputs, after.inputs))
        and before.parameters == after.parameters
        and (before.fixed, before.bindings(), before.drawn) == (after.fixed, after.bindings(), after.drawn)
        and before.reference == after.reference
        and len(before.outputs or ()) == len(after.outputs or ())
    )
    if not same:
        return False
    pairs = zip(before.outputs or (), after.outputs or (), strict=True)
    return all(
        (one.name, one.layout, one.memory) == (other.name, other.layout, other.memory)
        and (
            holds_the_same(one.type, other.type)
            or (retiles and _holds_as_many(one.type, other.type, before.bindings()))
        )
        for one, other in pairs
    )


def _is_same_input(one: Port, other: Port) -> bool:
    return holds_the_same(one.type, other.type) and replace(one, type=other.type) == other


def holds_the_same(one: StreamType, other: StreamType) -> bool:
    """Whether streams of two types hold the same tensors of numbers; tiles and selectors are compared as they are."""
    if one == other:
        return True
    parts = [components(each.element) for each in (one, other)]
    if one.is_open or other.is_open or len(parts[0]) != len(parts[1]):
        return False
    kinds = [[each.element if isinstance(each, Buffer) else each for each in some] for some in parts]
    is_plain = all(isinstance(each, Scalar) for each in kinds[0])
    return is_plain and kinds[0] == kinds[1] and tensor_shapes(one) == tensor_shapes(other)


def _holds_as_many(one: StreamType, other: StreamType, sizes: Mapping[str, int]) -> bool:
    """Whether streams of two types hold equally many numbers, as far as anybody knows before a run."""
    if one.is_open or other.is_open:
        return True
    counts = [[product(shape).bind(sizes) for shape in tensor_shapes(each)] for each in (one, other)]
    return counts[0] == counts[1]

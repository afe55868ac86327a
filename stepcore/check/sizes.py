"""Other sizes at which a program takes other arms: conditions on sizes that ``--dims`` can change.

A program is elaborated for the sizes that are bound. An arm that it does not take there (``if M_value == 5`` at M = 5)
is looked at where it is taken: at other sizes, one or all of which differ. They are tried, nearest to the numbers of
the conditions first; each is a whole elaboration, as a run with those ``--dims`` would make, so nothing is reported
that no run would meet. Where a number decides something else (an index, a length, a rank) the same is done near the
numbers of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from stepcore.check.solving import Gaps, SizeMeeting
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.decl import FnDecl
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.graph.ir import Graph
from stepcore.text.span import Span

MAX_TRIED: Final = 40  # sizes that are tried for one program
MAX_SOLVED: Final = 32  # and sizes at which numbers that it compares may meet
MOST_ARMS: Final = 6  # sizes at which an arm was taken that was not taken before
MOST_PROGRAMS: Final = 3  # sizes at which a program of other operators or functions came out
MOST_NUMBERS: Final = 2  # sizes at which only its numbers are others, as with ``Repeat(n=M_value)``
_LARGEST: Final = 2048  # of a size that is tried: a loop over it is unrolled
_COMPOUND: Final = (ast.If, ast.For, ast.While, ast.FunctionDef)
_LADDER: Final = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


# An arm of a condition: where the condition stands in its text, and its outcome.
Arm: TypeAlias = tuple[int, int, int | None, bool]


@dataclass(frozen=True, slots=True)
class Followed:
    """On what the elaboration of a program depended: ``sizes`` that a run can bind otherwise, as they were bound.

    ``numbers`` are those that stand in the program, ``arms`` those that were taken, ``gaps`` how far apart numbers are
    that it compares.
    """

    sizes: Mapping[str, int]
    numbers: frozenset[int]
    arms: frozenset[Arm]
    gaps: Gaps


def followed_sizes(el: Elaborator, changeable: Mapping[str, int], text: str) -> Followed | None:
    """Return on which sizes the graph may depend: those whose numbers were looked at, or can have been.

    A size that the file computes from others (``E_value = 2 * M_value``) stands for all of them.
    """
    # Names are normalized, so that only in plain text a search finds them all.
    if text.isascii() and "_value" not in text and "ctx" not in text:
        return None
    names = _names(el)
    met = {size for size in el.bindings if f"{size}_value" in names}
    if not met and "ctx" not in names:
        return None
    sizes = {size: changeable[size] for size in changeable if size in met or "ctx" in names or met - changeable.keys()}
    numbers = {node.value for root in el.roots for node in ast.walk(root) if isinstance(node, ast.Constant)
               and type(node.value) is int and abs(node.value) <= _LARGEST}  # fmt: skip
    tests = el.conditions
    arms = {(tests[key].lineno, tests[key].col_offset, tests[key].end_col_offset, outcome) for key, outcome in el.arms}
    return Followed(sizes, frozenset(numbers), frozenset(arms), el.gaps) if sizes else None


class Candidates:
    """Other sizes for a program: where numbers that it compares may meet, then ``most`` nearest to its numbers.

    Whoever goes over them says by :meth:`met` what came of each.
    """

    def __init__(self, numbers: Set[int], sizes: Mapping[str, int], gaps: Gaps, most: int) -> None:
        self._near = islice(_near(numbers, dict(sizes)), most)
        self._meeting = SizeMeeting(sizes, _LARGEST)
        self._meeting.met(sizes, gaps)

    def met(self, sizes: Mapping[str, int], gaps: Gaps) -> None:
        """Note how far apart numbers are that the program compares at ``sizes``."""
        self._meeting.met(sizes, gaps)

    def __iter__(self) -> Iterator[dict[str, int]]:
        solved, tried = 0, set[tuple[int, ...]]()
        while True:
            found = self._meeting.propose() if solved < MAX_SOLVED else None
            solved += found is not None
            if found is None and (found := next(self._near, None)) is None:
                return
            if tuple(found.values()) not in tried:
                tried.add(tuple(found.values()))
                yield found


def candidates(followed: Followed, most: int) -> Candidates:
    """Return other sizes for a program."""
    return Candidates(followed.numbers, followed.sizes, followed.gaps, most)


def untaken(els: Iterable[Elaborator]) -> set[tuple[int, bool]]:
    """Return the arms, as (condition, outcome), that none of several elaborations of one program took."""
    taken = {arm for el in els for arm in el.arms}
    return {(condition, not outcome) for condition, outcome in taken} - taken


def follows_sizes(el: Elaborator, changeable: Mapping[str, int]) -> bool:
    """Return whether the program, written out for the bound sizes, may be another one at other sizes."""
    names = _names(el)
    values = {f"{size}_value" for size in changeable}
    return bool(names & (values | {"ctx"})) or bool(names & changeable.keys() and untaken([el]))


def _names(el: Elaborator) -> set[str]:
    """Return the names in a program, without those in the bodies of its element functions: these make no graph."""
    names: set[str] = set()
    rest: list[ast.AST] = [*el.roots]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr == "ctx":
            names.add("ctx")
        if isinstance(node, ast.FunctionDef) and id(node) in el.element_functions:
            rest += node.decorator_list
        else:
            rest += ast.iter_child_nodes(node)
    return names


def other_sizes(el: Elaborator, changeable: Mapping[str, int], computed: Set[str]) -> Candidates:
    """Return sizes at which an arm may be taken that ``el`` did not take, most likely ones first.

    ``computed`` are those that the file computes from ``changeable`` ones: each stands for all of these.
    """
    names = _names(el) if untaken([el]) else set()  # which take a walk through the program
    every = "ctx" in names or any(size in names or f"{size}_value" in names for size in computed)
    mentioned = [size for size in changeable if every or size in names or f"{size}_value" in names]
    return Candidates(_constants(el), {name: changeable[name] for name in mentioned}, el.gaps, MAX_TRIED)


def _near(numbers: Set[int], sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    constants = sorted(numbers | set(sizes.values()))
    near = dict.fromkeys(number + by for by in (0, 1, -1) for number in constants)
    tried: set[tuple[tuple[str, int], ...]] = {tuple(sizes.items())}
    for number in (*near, *(ladder for ladder in _LADDER if ladder not in near)):
        if not 1 <= number <= _LARGEST:
            continue
        changes = [{name: number} for name in sizes]
        for change in (*changes, dict.fromkeys(sizes, number)):
            found = {**sizes, **change}
            if tuple(found.items()) not in tried:
                tried.add(tuple(found.items()))
                yield found


def _constants(el: Elaborator) -> set[int]:
    """Return the whole numbers in the conditions of the arms that were not taken."""
    wanted = {condition for condition, _ in untaken([el])}
    tests = [test for condition, test in el.conditions.items() if condition in wanted]
    nodes = (node for test in tests for node in ast.walk(test))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int}


def is_reached(el: Elaborator, span: Span) -> bool:
    """Return whether ``el`` went through the text at ``span``; an arm of an expression that it did not take is none."""
    for statement, code in el.met.values():
        if isinstance(statement, _COMPOUND) or not _holds(node_span(code, statement), span):
            continue
        choices = (node for node in ast.walk(statement) if isinstance(node, ast.IfExp))
        arms = ((node.test, *arm) for node in choices for arm in ((True, node.body), (False, node.orelse)))
        left = (arm for test, outcome, arm in arms if id(test) in el.conditions and (id(test), outcome) not in el.arms)
        return not any(_holds(node_span(code, arm), span) for arm in left)
    return False


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def steps_of(graph: Graph) -> Hashable:
    """Return what two elaborations of one text share that made the same program, numbers and all."""
    nodes = [(node.op_name, tuple(node.inputs), tuple(map(str, node.params.values()))) for node in graph.nodes]
    return (graph.complete, tuple(graph.returns), *nodes)


def operators(graph: Graph) -> Hashable:
    """Return what two elaborations of one text share that differ in numbers only."""
    nodes = tuple(
        (node.op_name, tuple(node.inputs), tuple(p.func_name for p in node.params.values() if isinstance(p, FnDecl)))
        for node in graph.nodes
    )
    return nodes, tuple(graph.returns)


class Variants:
    """Which of the programs that a text makes at other sizes are looked at: few, and no two that are alike.

    ``signature`` is what two programs share that differ in numbers only, ``key`` what the same ones share.
    """

    def __init__(self, signature: Hashable, key: Hashable, arms: frozenset[Arm] = frozenset()) -> None:
        self._signatures, self._keys, self._arms = {signature}, {key}, set(arms)
        self._programs = self._numbers = self._turns = 0

    @property
    def are_enough(self) -> bool:
        """Whether no further one is looked for: arms that none of them took may lead to another one still."""
        if self._programs < MOST_PROGRAMS:
            return False
        return self._turns >= MOST_ARMS or all((*arm[:3], not arm[3]) in self._arms for arm in self._arms)

    def takes(self, signature: Hashable, key: Hashable, arms: frozenset[Arm] = frozenset()) -> bool:
        """Return whether a program is one more that is looked at."""
        if signature not in self._signatures and not arms <= self._arms and self._turns < MOST_ARMS:
            self._turns += 1
            self._arms |= arms
        elif signature not in self._signatures and self._programs < MOST_PROGRAMS:
            self._programs += 1
        elif key not in self._keys and self._numbers < MOST_NUMBERS:
            self._numbers += 1
        else:
            return False
        self._signatures.add(signature)
        self._keys.add(key)
        return True


def is_about_sizes(item: Diagnostic) -> bool:
    """Return whether a finding says that the sizes that were tried are ill chosen."""
    return about(item.code).subject is Subject.SIZES

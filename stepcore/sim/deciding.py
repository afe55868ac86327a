"""Whether texts of element functions and references may hold conditions, or hide what they compute from tests.

Most do neither, and need no further runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.fn.source import statements
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.sim.draw import is_whole
from stepcore.sim.written import numbers_in
from stepcore.text.span import Embedded
from stepcore.types import Single, components, dtype_of

_WORDS: Final = re.compile(
    r"[<>]|==|!=|//|%|\bif\b|where|mask|clamp|clip|elu|shrink|hard|thresh|sign|sgn|abs|floor|ceil|round|trunc|frac|fix|"
    r"heaviside|remainder|fmod|less|greater|\b[lg][te]\b|\beq\b|\bne\b|equal|close|bucket|huber|smooth|nonzero|bool|"
    r"\bint|long|short|char|byte|\bitem\(|tolist|norm|similarity",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(r"\bu?int\d*\b|\blong\b|\bshort\b|\bchar\b|\bbyte\b|type_as")  # casts of fractions
_HALF: Final = re.compile(r"\bhalf\b|\bfloat16\b")
_CALLED: Final = re.compile(r"\bnn\b|\bdef\b|\blambda\b")  # what is global matters where it can be called
_BETWEEN: Final = re.compile(r"\bf?(?:max|min)(?:imum)?\b")
_JOINS: Final = re.compile(r"stack|cat\b|concat")
_ORDERS: Final = re.compile(r"max|min|sort|topk|kthvalue|median|quantile|mode")
# Constants that torch adds by itself, small beside 1 or large.
_WITH_EPSILON: Final = re.compile(r"norm|softplus|gelu|similarity|dist|loss|\beps\b", re.IGNORECASE)
_PLAIN_NUMBERS: Final = frozenset({0.0, 0.5, 1.0, 2.0, 3.0})
_FEW_NUMBERS: Final = 8  # of which no other can be made that is far from 1
_MADE: Final = frozenset({"tensor", "full", "zeros", "ones", "arange", "linspace", "as_tensor", "scalar_tensor"})
_SELECTS: Final = frozenset({"maximum", "minimum", "max", "min", "fmax", "fmin"})


def may_decide(graph: TypedGraph, prelude: CodeBlock | None) -> bool:
    """Whether an element function of ``graph`` may hold a condition, by its text and that of what is global."""
    names = "" if prelude is None or _CALLED.search(prelude.source.text) is None else prelude.source.text
    return any(_in_text(body, names) for body in bodies(graph))


def may_hide(graph: TypedGraph, spec: ProgramSpec) -> bool:
    """Whether functions of ``graph``, or the references of a task, may differ by less than a verdict tells on numbers
    near 1: only where a constant is far from 1, written or torch's own.

    Args:
        graph: the program.
        spec: its task; one without references in texts has a function of Python, of which nothing is known.
    """
    references = references_of(spec)
    prelude = () if spec.scope.prelude is None else (spec.scope.prelude,)
    return not references or any(_hides(block.source.text) for block in (*bodies(graph), *references, *prelude))


def may_count(graph: TypedGraph, spec: ProgramSpec) -> bool:
    """Whether a program or the references of its task may compute with whole numbers of data, which may wrap."""
    if any(map(is_whole, _parts(graph, spec))):
        return True
    return any(_casts(block.source.text) for block in (*bodies(graph), *references_of(spec)))


def may_overflow(graph: TypedGraph, spec: ProgramSpec) -> bool:
    """Whether a program may hold numbers in fp16, which end at 65,504: by its types or the texts of functions."""
    if any(dtype_of(item) == "fp16" for item in _parts(graph, spec)):
        return True
    return any(_halves(block.source.text) for block in bodies(graph))


def _parts(graph: TypedGraph, spec: ProgramSpec) -> Iterator[Single]:
    """Yield what elements of the streams, inputs and parameters of a program hold."""
    types = (*(stream.type for stream in graph.streams), *(port.type for port in (*spec.inputs, *spec.parameters)))
    return (item for each in types for item in components(each.element))


def references_of(spec: ProgramSpec) -> list[CodeBlock]:
    """Return the texts of a task's references; none of a program whose reference is a function of Python."""
    return [block for port in spec.outputs or () for block in port.transforms]


@lru_cache(maxsize=1024)
def _halves(text: str) -> bool:
    return _HALF.search(text) is not None


@lru_cache(maxsize=1024)
def _casts(text: str) -> bool:
    return _WHOLE.search(text) is not None


def functions_of(graph: TypedGraph) -> Iterator[FnDecl]:
    """Yield the element functions of a program."""
    for node in graph.nodes:
        for value in vars(node.op).values():
            if isinstance(value, FnDecl):
                yield value


def bodies(graph: TypedGraph) -> Iterator[CodeBlock]:
    """Yield the texts of these."""
    return (decl.body for decl in functions_of(graph))


@lru_cache(maxsize=1024)
def _hides(text: str) -> bool:
    numbers = [each for each in numbers_in(text) if type(each) in (int, float)]
    far = any(each not in _PLAIN_NUMBERS for each in numbers)
    return far or len(numbers) > _FEW_NUMBERS or _WITH_EPSILON.search(text) is not None


def _in_text(body: CodeBlock, prelude: str) -> bool:
    return _in_words(body.source.text) or _in_words(prelude) or _against_constants(body.source.text, body.arguments)


@lru_cache(maxsize=1024)
def _in_words(text: str) -> bool:
    if _WORDS.search(text) is not None:
        return True
    return _JOINS.search(text) is not None and _ORDERS.search(text) is not None  # of numbers and constants, perhaps


@lru_cache(maxsize=1024)
def _against_constants(text: str, arguments: tuple[str, ...]) -> bool:
    """Whether a maximum or minimum may be one of a number and a constant: one whose text names no argument."""
    if _BETWEEN.search(text) is None:
        return False
    tree = statements(CodeBlock(Embedded.whole(text)))
    moving = {*arguments, "input_data"}
    bound = [found for statement in tree for found in _bindings(statement)]
    while more := {name for name, value in bound if name not in moving and _names(value) & moving}:
        moving |= more
    return any(
        not _names(argument) & moving or _is_like(argument)
        for statement in tree
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and _called(call) in _SELECTS
        for argument in (*_receiver(call), *call.args, *(keyword.value for keyword in call.keywords))
        if not (isinstance(argument, ast.Constant) and _is_along(call))
    )


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield what names a statement binds, and in which part of it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, statement


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _receiver(call: ast.Call) -> tuple[ast.expr, ...]:
    """Return ``x`` of ``x.maximum(y)``; nothing of ``torch.maximum(x, y)``."""
    function = call.func
    if isinstance(function, ast.Attribute) and not (
        isinstance(function.value, ast.Name) and function.value.id == "torch"
    ):
        return (function.value,)
    return ()


def _is_along(call: ast.Call) -> bool:
    """Whether ``max`` may be that along a dimension (``x.max(1)``): its numbers are no bounds then."""
    return _called(call) in ("max", "min") and isinstance(call.func, ast.Attribute)


def _is_like(node: ast.expr) -> bool:
    """Whether a value may take only its shape or type from what it names (``torch.zeros_like(x)``)."""
    name = _called(node) if isinstance(node, ast.Call) else ""
    return name in _MADE or name.endswith("_like") or name.startswith("new_")

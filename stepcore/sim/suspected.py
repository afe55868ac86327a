"""Data on which a right program may be wrong although no number drawn tells: which of them are worth a run.

What numbers of a generator hide beside constants far from 1 (:mod:`stepcore.sim.stretched`):

- A fold whose state begins with a number: ``maximum(state, x)`` from 0 is the largest of ``x`` unless all are negative.
- Which of two numbers comes first where they are equal, and a stable sort: numbers of a generator are all different.
- What has one value for both signs, where ``torch.rand`` gives no number below 0: ``sqrt(x * x)`` is ``x`` then.
- The least and the greatest whole numbers, where ``min`` or ``max`` state them: a few that are drawn seldom are these.
- Truth values that are all true or all false, and selectors that leave branches empty: drawn ones seldom are.

Whether any of this may be is seen from texts, once for each; of a reference in Python from what it did on the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.sim.conditions import Noting
from stepcore.sim.deciding import bodies, functions_of, may_hide, references_of
from stepcore.sim.draw import is_whole, selects
from stepcore.sim.strength import DataKind, Recipe
from stepcore.sim.stretched import STRETCHES
from stepcore.types import Single, components, dtype_of

_SIGNED: Final = Recipe(6247, kind=DataKind.SIGNED)
_NEGATIVE: Final = Recipe(6257, kind=DataKind.NEGATIVE)
_POSITIVE: Final = Recipe(6263, kind=DataKind.POSITIVE)
_FEW: Final = Recipe(6269, kind=DataKind.FEW)
_ENDS: Final = Recipe(6271, kind=DataKind.ENDS)
_ALIKE: Final = (Recipe(6277, kind=DataKind.ALIKE), Recipe(6277, kind=DataKind.OTHERS))  # others than the first ones
_LARGEST: Final = re.compile(r"max|where|\bif\b|[<>]|clamp|relu|greater|less|\b[lg][te]\(")
_LEAST: Final = re.compile(_LARGEST.pattern.replace("max", "min"))
_EMPTY: Final = re.compile(r"/|log|mean|std|var|norm|softmax|reciprocal|inf|max|min")  # what has no number of nothing
_PAIRS: Final = re.compile(
    r"(?<!-)>|<|==|!=|//|%|sign|sgn|greater|less|heaviside|stable|round|floor|ceil|\b(?:[lg][te]|eq|ne)\(|equal"
)
_EVEN: Final = re.compile(r"sqrt|pow|\*\*|atan2|arctan2|hypot|square|angle")


def suspected(graph: TypedGraph, spec: ProgramSpec, reference: Noting) -> tuple[Recipe, ...]:
    """Return the data on which a right program has to be right, too; ``reference`` is what that did on those drawn."""
    own = [block.source.text for block in bodies(graph)]
    texts = [*own, *(block.source.text for block in references_of(spec))]
    folds = [decl.body.source.text for decl in functions_of(graph) if _begins_anywhere(decl)]
    chosen = (
        (_NEGATIVE, bool(folds) and _are_in(_LARGEST, folds)),
        (_POSITIVE, bool(folds) and _are_in(_LEAST, folds)),
        (_FEW, reference.pairs or _are_in(_PAIRS, own)),
        (_SIGNED, _is_positive(spec) and _are_in(_EVEN, texts)),
    )
    found = tuple(recipe for recipe, is_wanted in chosen if is_wanted)
    return (*(STRETCHES if may_hide(graph, spec) else ()), *found, *_of_ranges(spec, texts))


def everything(spec: ProgramSpec) -> tuple[Recipe, ...]:
    """Return what is tried where nobody reads the texts of a program: it runs as Python."""
    signed = (_SIGNED,) if _is_positive(spec) else ()
    return (*STRETCHES, _NEGATIVE, _POSITIVE, _FEW, *signed, *_of_ranges(spec))


def _begins_anywhere(decl: FnDecl) -> bool:
    """Whether a state begins with a number, which may be beyond all of one sign."""
    return decl.init_body is not None or any(isfinite(number) for number in decl.init or ())


def _is_positive(spec: ProgramSpec) -> bool:
    return any(port.data_gen == "torch.rand" for port in spec.inputs)


def _of_ranges(spec: ProgramSpec, texts: Sequence[str] | None = None) -> tuple[Recipe, ...]:
    """Return what is tried because of what inputs may hold; empty branches where a text may want a number of none."""
    items = [(port, item) for port in spec.inputs for item in components(port.type.element)]
    ends = any(_has_ends(port, item) for port, item in items)
    routes = any(selects(item) for _, item in items) and (texts is None or _are_in(_EMPTY, texts))
    return (*((_ENDS,) if ends else ()), *(_ALIKE if routes else ()))


def _has_ends(port: Port, item: Single) -> bool:
    stated = port.minimum is not None or port.maximum is not None
    return port.data_gen == "binary" or dtype_of(item) == "bool" or (stated and is_whole(item))


def _are_in(words: re.Pattern[str], texts: Sequence[str]) -> bool:
    return any(_is_in(words, text) for text in texts)


@lru_cache(maxsize=2048)
def _is_in(words: re.Pattern[str], text: str) -> bool:
    return words.search(text) is not None

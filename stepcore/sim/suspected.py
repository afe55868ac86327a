"""Data on which a right program may be wrong although no number drawn tells: which of them are worth a run.

What numbers of a generator hide beside constants far from 1 (:mod:`stepcore.sim.stretched`):

- A fold whose state begins with a number: ``maximum(state, x)`` from 0 is the largest of ``x`` unless all are negative.
- Which of two numbers comes first where they are equal, and a stable sort: numbers of a generator are all different.
- What has one value for both signs, where ``torch.rand`` gives no number below 0: ``sqrt(x * x)`` is ``x`` then.
- The least and the greatest whole numbers, where ``min`` or ``max`` state them: a few that are drawn seldom are these.

Whether any of this may be is seen from texts, once for each; of a reference in Python from what it did on the data.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.sim.conditions import Noting
from stepcore.sim.deciding import bodies, functions_of, may_hide, references_of
from stepcore.sim.draw import is_whole
from stepcore.sim.strength import DataKind, Recipe
from stepcore.sim.stretched import STRETCHES
from stepcore.types import components

_SIGNED: Final = Recipe(6247, kind=DataKind.SIGNED)
_ONE_SIGN: Final = (Recipe(6257, kind=DataKind.NEGATIVE), Recipe(6263, kind=DataKind.POSITIVE))
_FEW: Final = Recipe(6269, kind=DataKind.FEW)
_ENDS: Final = Recipe(6271, kind=DataKind.ENDS)
_EXTREMES: Final = re.compile(r"max|min|where|\bif\b|[<>]|clamp|relu|greater|less|\b[lg][te]\(")
_PAIRS: Final = re.compile(r"[<>]|==|!=|sign|sgn|greater|less|heaviside|stable|\b(?:[lg][te]|eq|ne)\(|equal")
_EVEN: Final = re.compile(r"sqrt|pow|\*\*|atan2|arctan2|hypot|square|angle")


def suspected(graph: TypedGraph, spec: ProgramSpec, reference: Noting) -> tuple[Recipe, ...]:
    """Return the data on which a right program has to be right, too; ``reference`` is what that did on those drawn."""
    texts = [block.source.text for block in (*bodies(graph), *references_of(spec))]
    return (
        *(STRETCHES if may_hide(graph, spec) else ()),
        *(_ONE_SIGN if any(map(_may_begin_beyond, functions_of(graph))) else ()),
        *((_FEW,) if reference.pairs or any(_is_in(_PAIRS, text) for text in texts) else ()),
        *((_SIGNED,) if _is_positive(spec) and any(_is_in(_EVEN, text) for text in texts) else ()),
        *((_ENDS,) if _has_ends(spec) else ()),
    )


def everything(spec: ProgramSpec) -> tuple[Recipe, ...]:
    """Return what is tried where nobody reads the texts of a program: it runs as Python."""
    ends = (_ENDS,) if _has_ends(spec) else ()
    return (*STRETCHES, *_ONE_SIGN, _FEW, *((_SIGNED,) if _is_positive(spec) else ()), *ends)


def _may_begin_beyond(decl: FnDecl) -> bool:
    """Whether a state may begin with a number that is never reached: beyond all of one sign."""
    begins = decl.init_body is not None or any(isfinite(number) for number in decl.init or ())
    return begins and _is_in(_EXTREMES, decl.body.source.text)


def _is_positive(spec: ProgramSpec) -> bool:
    return any(port.data_gen == "torch.rand" for port in spec.inputs)


def _has_ends(spec: ProgramSpec) -> bool:
    return any(
        (port.minimum is not None or port.maximum is not None) and any(map(is_whole, components(port.type.element)))
        for port in spec.inputs
    )


@lru_cache(maxsize=2048)
def _is_in(words: re.Pattern[str], text: str) -> bool:
    return words.search(text) is not None

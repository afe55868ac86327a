"""Calling conventions: what parameters an operator takes, how it is given streams, and how it hands out its results.

Each operator has one :class:`Calling`, made of what its class declares. Whoever reads a call (checker, scripts), writes
one (printer, completion) or describes one (documentation, signature help, prompts) asks it; what is said about wrong
calls is in :mod:`stepcore.ops.miscalls`.

Streams stand in *structures*: :class:`One` stream, :class:`Many` in a list, a :class:`Group` of structures in a tuple.
Typing rules, semantics and graphs have the streams of a structure in one flat sequence, from left to right.
"""

from __future__ import annotations

from stepcore.ops.calling.convention import Calling
from stepcore.ops.calling.parameters import Param, ParamKind
from stepcore.ops.calling.streams import (
    BRANCHES_AND_SELECTOR,
    NO_INPUT,
    NO_OUTPUT,
    ONE_INPUT,
    ONE_OR_TUPLE,
    ONE_OUTPUT,
    Inputs,
    Outputs,
    pair,
)
from stepcore.ops.calling.structures import (
    NOTHING,
    Group,
    Many,
    One,
    flat,
    like,
    value_text,
    written,
)

__all__ = [
    "BRANCHES_AND_SELECTOR",
    "NOTHING",
    "NO_INPUT",
    "NO_OUTPUT",
    "ONE_INPUT",
    "ONE_OR_TUPLE",
    "ONE_OUTPUT",
    "Calling",
    "Group",
    "Inputs",
    "Many",
    "One",
    "Outputs",
    "Param",
    "ParamKind",
    "flat",
    "like",
    "pair",
    "value_text",
    "written",
]

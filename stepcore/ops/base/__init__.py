"""What every operator is made of. One operator is one file beside this one; it holds all its facets.

Facets: how it is called (parameters are annotated fields, keyword-only, each with a :class:`Param`; inputs and outputs
are of :mod:`stepcore.ops.calling`), documentation with a runnable example, the typing rule (:meth:`Operator.infer`),
the semantics (:meth:`Operator.run`), the on-chip memory and the pace at which its unit reads and writes.
A typing rule raises :class:`RuleError` without positions; the checker adds them.
"""

from __future__ import annotations

from stepcore.ops.base.context import TypingContext
from stepcore.ops.base.differences import element_mismatch, mismatch, shape_bridge
from stepcore.ops.base.generations import only_published
from stepcore.ops.base.needs import need_choice, need_common, need_inputs, need_size, repeated_bytes
from stepcore.ops.base.operands import MOST_COUNTED, FnLike, Operand, RuleError, RuleSubject
from stepcore.ops.base.operator import BW, DEPTH, Operator
from stepcore.ops.calling import Param, ParamKind

__all__ = [
    "BW",
    "DEPTH",
    "MOST_COUNTED",
    "FnLike",
    "Operand",
    "Operator",
    "Param",
    "ParamKind",
    "RuleError",
    "RuleSubject",
    "TypingContext",
    "element_mismatch",
    "mismatch",
    "need_choice",
    "need_common",
    "need_inputs",
    "need_size",
    "only_published",
    "repeated_bytes",
    "shape_bridge",
]

"""Expressions of the program language, evaluated on symbolic streams (see :mod:`stepcore.frontend.elaborate`)."""

from __future__ import annotations

from stepcore.frontend.expressions.arithmetic import binary
from stepcore.frontend.expressions.conditions import condition
from stepcore.frontend.expressions.functions import function_definition, named_lambda
from stepcore.frontend.expressions.handlers import HANDLERS
from stepcore.frontend.expressions.names import BUILTINS
from stepcore.frontend.expressions.refusals import refuse, word_of
from stepcore.frontend.expressions.subscripts import store_item

__all__ = [
    "BUILTINS",
    "HANDLERS",
    "binary",
    "condition",
    "function_definition",
    "named_lambda",
    "refuse",
    "store_item",
    "word_of",
]

"""Calls in programs: builtins, list methods, operators' parameters, types, helpers and element functions."""

from __future__ import annotations

from stepcore.frontend.calls.call import call
from stepcore.frontend.calls.helpers import decorated_function, helper
from stepcore.frontend.calls.members import (
    DECORATORS,
    FUNCTIONS,
    LIST_METHODS,
    MARKERS,
    MAX_NAME,
    SCALARS,
    SYMBOLS,
    TYPE_MAKERS,
    module_member,
    star_members,
    step_member,
)
from stepcore.frontend.calls.types import annotated

__all__ = [
    "DECORATORS",
    "FUNCTIONS",
    "LIST_METHODS",
    "MARKERS",
    "MAX_NAME",
    "SCALARS",
    "SYMBOLS",
    "TYPE_MAKERS",
    "annotated",
    "call",
    "decorated_function",
    "helper",
    "module_member",
    "star_members",
    "step_member",
]

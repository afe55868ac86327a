"""What elaboration keeps while it runs, below the modules that work on it: limits, frames, and how suites end."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum, auto

from stepcore.frontend.values import EvaluationContext, Path, Scope, Value
from stepcore.text.span import Embedded

# A program that needs more is refused (STEP221); published ones need a few hundred.
MAX_STEPS = 200_000
MAX_STREAMS = 20_000
MAX_CALL_DEPTH = 40
MAX_OPTIONS = 64
MAX_BRANCHES = 400  # conditions that only a run can decide, each round of a loop counted
MAX_PATH = 100  # conditions that only a run can decide, each inside an arm of the one before
MAX_NESTING = 64  # lists inside each other that an operator is given
MAX_MESSAGE = 1000  # characters of one message
MAX_WRITTEN = 1000  # characters of an expression that a fix writes anew
MAX_SAME = 10  # findings of one code at one place; each round of a loop may say something else


class SuiteEnd(Enum):
    """How a suite ended."""

    NEXT = auto()
    RETURN = auto()
    BREAK = auto()
    CONTINUE = auto()


class Abandon(Exception):
    """The rest of the program cannot be elaborated; a finding says why."""


@dataclass(slots=True)
class Frame:
    """One function being elaborated."""

    scope: Scope
    code: Embedded
    context: EvaluationContext
    returned: list[tuple[Path, ast.expr | None, Value]] = field(default_factory=list)

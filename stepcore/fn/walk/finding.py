"""What kinds of bodies there are, and what is found in one."""

from __future__ import annotations

import ast
from enum import Enum

from stepcore.records import Record


class BodyKind(Enum):
    """What a block is; it decides what may stand in it."""

    FUNCTION = "function"
    PRELUDE = "prelude"
    REFERENCE = "reference"


class BodyFinding(Record):
    """A finding at a node; the checker turns the node into a span of the file."""

    code: str
    node: ast.AST
    message: str

"""What kinds of bodies there are, and what is found in one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum


class BodyKind(Enum):
    """What a block is; it decides what may stand in it."""

    FUNCTION = "function"
    PRELUDE = "prelude"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class BodyFinding:
    """A finding at a node; the checker turns the node into a span of the file."""

    code: str
    node: ast.AST
    message: str

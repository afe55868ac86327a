"""Why the gate lets something not pass."""

from __future__ import annotations

import ast

from stepcore.gate.rewriting import ConvertError


class Refusal(ConvertError):
    """A generated file, or a piece of it, would hold something that Stepsmith does not write.

    ``line`` and ``column`` count from 1 in the text that was looked at.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column} of the code: {message}")
        self.message = message
        self.line = line
        self.column = column


def refusal(node: ast.AST, message: str) -> Refusal:
    """Return the refusal of one node."""
    return Refusal(message, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)

"""Texts with values in them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.frontend.values import UNKNOWN, DictView, OnePass, Value
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


MAX_TEXT = 10_000  # characters


def evaluate_formatted(el: Elaboration, node: ast.JoinedStr) -> Value:
    """Return the text of an f-string, if each value in it has one text in every run."""
    pieces: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            if part.conversion != -1 or part.format_spec is not None:
                return UNKNOWN  # in programs that is refused
            value = el.evaluate(part.value)
            if isinstance(value, list | tuple | dict | range | OnePass | DictView):
                text = f"{el.what(part.value, value)}, and is not written into a text"
                el.report("STEP224", part.value, text, "write numbers, sizes and texts")
            if not isinstance(value, int | str | Dim):
                return UNKNOWN
            pieces.append(str(value))
            el.charge(len(pieces[-1]) >> 4)
    text = "".join(pieces)
    if len(text) > MAX_TEXT:
        el.report("STEP221", node, "this text is too long", f"at most {MAX_TEXT} characters")
        return UNKNOWN
    return text

"""Completion of keys and plain values of task files, by indentation: the text may be half-typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.frontend.draws import DATA_GENERATORS
from stepcore.ide.analysis import Analysis
from stepcore.ide.cursor import word_at
from stepcore.ide.model import Completion, Kind
from stepcore.ide.tasks.keys import DOCUMENTATION, SECTIONS
from stepcore.ide.tasks.sizes import size_completions
from stepcore.text.span import Span
from stepcore.types import DTYPE_BYTES

_KEY: Final = re.compile(r"^(?P<indent>[ ]*(?:-[ ]+)?)(?P<key>\w+)[ ]*:(?P<rest>.*)$")
_CODE_KEYS: Final = frozenset({"impl", "global", "apply", "data_transform"})
_INIT_VALUES: Final = ("0", "1", "-1", "-inf")
_ELEMENTS: Final = ("Buffer(fp32, [N])", "Multihot(fp32, E)", *DTYPE_BYTES)
_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "dtype": _ELEMENTS, "input_dtype": _ELEMENTS, "output_dtype": _ELEMENTS,
    "data_gen": DATA_GENERATORS, "init": _INIT_VALUES,
}  # fmt: skip


def key_completions(analysis: Analysis, offset: int) -> list[Completion] | None:
    """Return the keys or values that may stand at ``offset``; None inside of embedded code."""
    source = analysis.source
    line, column = source.line_col(offset)
    lines = [source.line_text(number).rstrip("\r\n") for number in range(line + 1)]
    typed = lines[line][:column]
    word = word_at(source.text, offset)
    drawn = size_completions(analysis, offset)
    if drawn is not None:
        return drawn
    parents = list(_parents(lines[:line], typed))
    if any(key in _CODE_KEYS for key in parents):
        return None
    here = _KEY.match(typed)
    if here is not None:
        return [_value(item, word, number) for number, item in enumerate(_VALUES.get(here["key"], ()))]
    section = parents[-1] if parents else ""
    schema = SECTIONS.get(section)
    if schema is None:
        return []
    taken = _siblings(lines[:line], typed)
    required = set(schema.required)
    keys = [key for key in schema.known if key not in taken]
    return [_key(key, word, key in required, number) for number, key in enumerate(keys)]


def _key(key: str, word: Span, required: bool, number: int) -> Completion:
    text = f"{key}: |" if key in ("impl", "global", "apply") else f"{key}: "
    rank = f"{0 if required else 1}{number:03}"
    return Completion(key, Kind.KEY, Edit(word, text), "required" if required else "", DOCUMENTATION[key], rank)


def _value(item: str, word: Span, number: int) -> Completion:
    return Completion(item, Kind.VALUE, Edit(word, item), sort_text=f"{number:03}")


def _indent(line: str) -> int:
    """Return the column of a line's content; a dash counts as indentation of what follows it."""
    return len(line) - len(line.lstrip(" -"))


def _parents(lines: list[str], typed: str) -> Iterator[str]:
    """Return the keys around the last line, outermost first."""
    indent = _indent(typed)
    found: list[str] = []
    for line in reversed(lines):
        match = _KEY.match(line)
        if not line.strip() or match is None:
            continue
        depth = len(match["indent"])
        if depth < indent or (depth == 0 and indent == 0 and typed.lstrip().startswith("-")):
            found.append(match["key"])
            indent = depth
        if indent == 0:
            break
    return reversed(found)


def _siblings(lines: list[str], typed: str) -> set[str]:
    """Return the keys of the same mapping that stand above the last line."""
    indent, found = _indent(typed), set[str]()
    if typed.lstrip().startswith("-"):
        return found
    for line in reversed(lines):
        match = _KEY.match(line)
        if match is None or not line.strip():
            continue
        depth = len(match["indent"])
        if depth < indent:
            break
        if depth == indent:
            found.add(match["key"])
            if "-" in match["indent"]:
                break
    return found

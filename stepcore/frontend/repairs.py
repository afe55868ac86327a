"""How a suite that does not parse is made to: its broken lines give way to what still can be said of them.

A line that assigns keeps its targets, a definition its name, with the value ``...`` (unknown), a function its body
below the unknown decorator ``@...``; an import keeps the names that can be read, and one in a wrong column is read
as if it stood in the right one.
"""

from __future__ import annotations

import ast
import keyword
import re
from typing import Final

from stepcore.frontend.lost_signs import meant_targets

# Names need a comma between them here: where it may be missing, matching takes exponential time.
_HEAD: Final = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+([^\W\d]\w*)")
_TARGETS: Final = re.compile(r"(\s*)([^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*\s*,?\s*)=(?!=)")
_IMPORT: Final = re.compile(r"\s*from\s+[.\w]+\s+import\b")
_IMPORTED: Final = re.compile(r"([^\W\d]\w*)(?:\s+as\s+([^\W\d]\w*))?")
_IMPORTS: Final = re.compile(r"\s*(?:from|import)\b")
_STRAY: Final = re.compile(r"[^\w\s.,*#]|(?<=\w)\.(?=\.)")
_WORDS_ONLY: Final = re.compile(r"[\s()\\\w]*")
# CPython's words for a line in a wrong column, as far as those of ``stepcore.fn.source`` begin so.
_INDENTED: Final = ("indented more", "indented like no line")


class Repairs:
    """The lines of a suite, emptied one after the other. ``moved``: by how many columns lines (from 1) were moved."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.moved: dict[int, int] = {}

    def repair(self, at: int, message: str) -> bool:
        """Let line ``at`` (from 0), or the nearest one above that still says something, give way; False for none."""
        lines = self.lines
        at = min(at, len(lines) - 1)
        while at >= 0 and _is_taken_out(lines[at]):
            at -= 1
        if at < 0:
            return False
        if message.startswith(_INDENTED) and _IMPORTS.match(lines[at]) and self._move(at):
            return True
        if lines[at].lstrip().startswith("@"):
            self._take_out_decorator(at)
        elif _HEAD.match(lines[at]):
            self._take_out_definition(at)
        else:
            lines[at] = _rest(lines[at])
        return True

    def _move(self, at: int) -> bool:
        """Give an import, and lines below that stand like it, the column of the line above; False where they have it.

        Of other lines nobody knows which block they are to belong to, and in another one they change what it sees.
        """
        above = next((line for line in reversed(self.lines[:at]) if line.strip()), "")
        wanted, own = _indent(above), _indent(self.lines[at])
        if wanted == own or at + 1 in self.moved:
            return False
        for number in range(at, len(self.lines)):
            line = self.lines[number]
            if line.strip() and not line.startswith(own):
                break
            if line.strip():
                self.lines[number] = wanted + line[len(own) :]
                self.moved[number + 1] = len(own) - len(wanted)
        return True

    def _take_out_decorator(self, at: int) -> None:
        """Let a decorator be unknown, on one line, so that the function below is that, too, and its body is kept."""
        lines, indent = self.lines, _indent(self.lines[at])
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if not following.strip() or following.lstrip().startswith("@"):  # half-typed, above something else
            lines[at] = _rest(lines[at])
            return
        lines[at] = f"{indent}@...{_end(lines[at])}"
        for number in range(at + 1, len(lines)):
            if lines[number].startswith(f"{indent}@") or _HEAD.match(lines[number]):
                break
            lines[number] = _end(lines[number])

    def _take_out_definition(self, head: int) -> None:
        """Let a definition be an unknown value: of a part of it more would be said than its one slip."""
        lines = self.lines
        found = _HEAD.match(lines[head])
        assert found is not None
        indent = found.group(1)
        for number in range(head - 1, -1, -1):
            if not lines[number].strip() or not _is_above(lines[number], indent):
                break
            lines[number] = _end(lines[number])
        lines[head] = f"{indent}{found.group(2)} = ..." + _end(lines[head])
        for number in range(head + 1, len(lines)):
            if lines[number].strip() and len(_indent(lines[number])) <= len(indent):
                break
            lines[number] = _end(lines[number])


def in_place(module: ast.Module, moved: dict[int, int]) -> ast.Module:
    """Return a tree that was made for it with its nodes where they stand in the text before lines were moved."""
    for node in ast.walk(module) if moved else ():
        if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword | ast.alias | ast.excepthandler):
            node.col_offset += moved.get(node.lineno, 0)
            node.end_col_offset = (node.end_col_offset or 0) + moved.get(node.end_lineno or 0, 0)
    return module


def _rest(line: str) -> str:
    """Return what a broken line leaves."""
    content = line.rstrip("\r\n")
    indent = _indent(content)
    targets = _TARGETS.match(content)
    meant = None if targets else meant_targets(content)
    names = targets.group(2).strip() if targets else meant.names if meant else ""
    rest = f"{indent}{names} = ..." if names else _imported(content)
    return (f"{indent}..." if rest in (None, content) else rest) + _end(line)


def _imported(content: str) -> str | None:
    """Return a broken import with the names that can be read, each where it stands; None where there are none."""
    if _IMPORTS.match(content):
        cleaned = _STRAY.sub(" ", content)
        if cleaned != content and _parses(cleaned.strip()):
            return cleaned
    head = _IMPORT.match(content)
    if head is None:
        return None
    line, at = head.group(), head.end()
    for part in content[at:].partition("#")[0].split(","):
        for name in _IMPORTED.finditer(part) if _WORDS_ONLY.fullmatch(part) else ():
            if not any(map(keyword.iskeyword, filter(None, name.groups()))):
                comma = "," if len(line) > head.end() else ""
                line = (line + comma).ljust(at + name.start()) + name.group()
        at += len(part) + 1
    return line if len(line) > head.end() else None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_taken_out(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped in ("...", "@...") or stripped.endswith("= ...") or stripped.startswith("#")


def _is_above(line: str, indent: str) -> bool:
    """Return whether a line may belong to the decorators above a definition."""
    return line.startswith(indent) and line[len(indent) :].startswith(("@", " ", "\t", ")", "]"))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] if line.strip() else ""


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]

"""Completion in ``sizes:`` of a task file, half-typed or not: which sizes it has to name, their keys and values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.ide.analysis import Analysis
from stepcore.ide.cursor import word_at
from stepcore.ide.drawing import KINDS, MOST
from stepcore.ide.model import Completion, Kind
from stepcore.ide.tasks.keys import DRAWN
from stepcore.ide.tasks.tree import task_tree
from stepcore.sizes.dim import DYNAMIC, OPEN
from stepcore.text.span import Span

_SECTION: Final = re.compile(r"^sizes[ ]*:", re.MULTILINE)
_TOP_KEY: Final = re.compile(r"^\w", re.MULTILINE)
_NAME: Final = re.compile(r"(?P<quote>[\"']?)(?P<name>[?~]\w+)(?P=quote)[ ]*:[ ]*")
_NAMED: Final = re.compile(_NAME.pattern + r"\Z")
_KEYED: Final = re.compile(r"\w+[ ]*:[^,{}]*\Z")
_HALF_TYPED: Final = re.compile(r"[\"']?[?~]?\w*\Z")
_COMMENT: Final = re.compile(r"#.*")
_DRAWN: Final = f"{{min: 0, max: {MOST}}}"


def size_completions(analysis: Analysis, offset: int) -> list[Completion] | None:
    """Return what may stand at ``offset`` in ``sizes``; None where that is elsewhere."""
    text = analysis.source.text
    section = next((match for match in _SECTION.finditer(text) if match.end() <= offset), None)
    after = None if section is None else _TOP_KEY.search(text, section.end())
    end = len(text) if after is None else after.start()
    if section is None or offset > end:
        return None
    body = _COMMENT.sub(lambda match: " " * len(match[0]), text[section.end() : offset])
    given = {match["name"] for match in _NAME.finditer(text, section.end(), end)}
    start = len(body) - len((_HALF_TYPED.search(body) or [""])[0])
    stop = word_at(text, offset).end
    stop += body[start : start + 1] in ('"', "'") and text[stop : stop + 1] == body[start]
    found = _proposed(analysis, body[:start], given)
    word = Span(section.end() + start, stop)
    return [
        Completion(label, kind, Edit(word, insert), detail, doc, f"{number:03}")
        for number, (label, kind, insert, detail, doc) in enumerate(found)
    ]


def _proposed(analysis: Analysis, before: str, given: set[str]) -> Iterator[tuple[str, Kind, str, str, str]]:
    """Yield label, kind, text, detail and documentation of what may follow on ``before``, the section so far."""
    opened = _open_brace(before)
    names = _sizes(analysis, given)
    if opened is None and "\n" not in before:
        text = ", ".join(f'"{name}": {_DRAWN}' for name in names)
        yield f"{{{text}}}", Kind.VALUE, f"{{{text}}}", "each size drawn between these", ""
        return
    line = before[before.rfind("\n") + 1 :]
    own = line if opened is None else before[opened + 1 :]
    named = _NAMED.search(own if opened is None else before[:opened])
    if opened is None or named is None:
        here = _NAMED.search(own)
        if here is not None:
            yield from _values(here["name"])
        elif opened is not None or not (_is_deeper(before, line) or _KEYED.search(line)):
            for name in names:
                yield f'"{name}"', Kind.KEY, f'"{name}": {_DRAWN}', KINDS[name[0]], ""
        elif not _KEYED.search(line):
            taken = before[[*_NAME.finditer(before)][-1].end() :]
            yield from _keys(taken)
    elif not _KEYED.search(own):
        yield from _keys(own)


def _keys(taken: str) -> Iterator[tuple[str, Kind, str, str, str]]:
    for key, text in DRAWN.items():
        if re.search(rf"\b{key}\b", taken) is None:
            yield key, Kind.KEY, f"{key}: ", "", text


def _values(name: str) -> Iterator[tuple[str, Kind, str, str, str]]:
    several = f"{{values: [{MOST}]}}" if name[0] == DYNAMIC else f"{{values: [{MOST // 2}, 0, {MOST}]}}"
    for text, what in ((_DRAWN, "drawn between these"), (several, DRAWN["values"])):
        yield text, Kind.VALUE, text, what, ""


def _is_deeper(before: str, line: str) -> bool:
    """Return whether a line of its own stands below a size: it belongs to it."""
    names = [*_NAME.finditer(before, 0, len(before) - len(line))]
    if not names:
        return False
    at = names[-1].start()
    return len(line) - len(line.lstrip()) > at - (before.rfind("\n", 0, at) + 1) and not line.strip()


def _open_brace(text: str) -> int | None:
    """Return where the innermost brace is that is not closed."""
    stack: list[int] = []
    for at, character in enumerate(text):
        if character == "{":
            stack.append(at)
        elif character == "}" and stack:
            stack.pop()
    return stack[-1] if stack else None


def _sizes(analysis: Analysis, given: set[str]) -> list[str]:
    """Return the sizes that have to be drawn: those of the inputs, or of the text while its inputs cannot be read."""
    from stepcore.open_types.drawn import named_sizes  # few tasks have some

    task = analysis.units[0].result.task
    spec = None if task is None else task.spec
    found = [] if spec is None else named_sizes((port.name, port.type) for port in spec.inputs)
    if not found:
        found = [name for name, _ in task_tree(analysis.source.text).sizes if name[0] in OPEN]
    return [name for name in dict.fromkeys(found) if name not in given]

"""What rewrites leave behind: element functions that a later one took out of use again, or that say what another says.

No rewrite does this by itself: the search goes on from the text that it knows, and what is shown is tidied once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.rewrites.functions import entry_lines
from stepcore.rewrites.statements import functions_of
from stepcore.rewrites.subject import RewriteSubject, subject_of
from stepcore.text.span import Span

_WORD: Final = re.compile(r"\w+")
_APART: Final = 2  # empty lines behind a function that a rewrite declared


def tidied(before: RewriteSubject, text: str, users_text: str) -> str:
    """Return what rewrites made of a program, with each function of theirs that is used, once.

    A name that ``users_text`` has is its user's, see :func:`without_unused`.
    """
    return without_twins(before, without_unused(before, text, users_text), users_text)


def without_twins(before: RewriteSubject, text: str, users_text: str) -> str:
    """Return a text where no function of a rewrite is, but for its name, one that stands before it: that one is used.

    Two programs of a file that were made faster one after the other had the same functions twice.
    """
    users = set(_WORD.findall(users_text))
    made = subject_of(text, before.path, before.name, before.affine)
    while made is not None:
        twin = next(_twins(made, users), None)
        if twin is None:
            break
        name, lines, first = twin
        text = re.sub(rf"\b{name}\b", first, apply_edits(made.text, [Edit(lines, "")]))
        made = subject_of(text, before.path, before.name, before.affine)
    return text


def _twins(subject: RewriteSubject, users: set[str]) -> Iterator[tuple[str, Span, str]]:
    """Yield functions of rewrites with their lines, and what stands before them and is the same."""
    seen: dict[str, str] = {}
    for name, lines in sorted(_declarations(subject), key=lambda each: each[1].start):
        body = re.sub(rf"\b{name}\b", "", subject.text[lines.start : lines.end]).strip()
        if body in seen and name not in users:
            yield name, lines, seen[body]
        seen.setdefault(body, name)


def without_unused(before: RewriteSubject, text: str, users_text: str) -> str:
    """Return what rewrites made of a program, without those functions of theirs whose name stands nowhere else in it.

    A name that ``users_text`` has, be it only in a comment, is its user's: such a function stays, used or not.
    """
    users = set(_WORD.findall(users_text))
    made = subject_of(text, before.path, before.name, before.affine)
    while made is not None:
        text = made.text
        gone = [
            Edit(lines, "")
            for name, lines in _declarations(made)
            if name not in users and _is_unused(text, name, lines)
        ]
        if not gone:
            break
        made = subject_of(apply_edits(text, gone), before.path, before.name, before.affine)
    return text


def _is_unused(text: str, name: str, lines: Span) -> bool:
    return name not in _WORD.findall(text[: lines.start]) and name not in _WORD.findall(text[lines.end :])


def _declarations(subject: RewriteSubject) -> list[tuple[str, Span]]:
    """Return the functions that stand where rewrites declare them, with their lines and the space behind these."""
    given = [] if subject.result.task is None else entry_lines(subject)
    return given + [
        (name, _lines(subject, function))
        for name, function in functions_of(subject.tree).items()
        if function.decorator_list
    ]


def _lines(subject: RewriteSubject, function: ast.FunctionDef) -> Span:
    text, code = subject.text, subject.code
    assert code is not None
    start = text.rfind("\n", 0, code.span_to_outer(inner_span(code, function.decorator_list[0])).start) + 1
    end = _next_line(text, code.span_to_outer(inner_span(code, function)).end)
    for _ in range(_APART):
        following = _next_line(text, end)
        end = end if text[end:following].strip() else following
    return Span(start, end)


def _next_line(text: str, place: int) -> int:
    return text.find("\n", place) + 1 or len(text)

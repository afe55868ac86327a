"""What rewrites leave behind: element functions that one of them wrote and a later one took out of use again.

No rewrite does this by itself: the search goes on from the text that it knows, and what is shown is tidied once.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.rewrites.functions import entry_lines
from stepcore.rewrites.statements import functions_of
from stepcore.rewrites.subject import RewriteSubject, subject_of
from stepcore.text.span import Span

_WORD: Final = re.compile(r"\w+")
_APART: Final = 2  # empty lines behind a function that a rewrite declared


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

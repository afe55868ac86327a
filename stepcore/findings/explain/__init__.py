"""Explanations: a Markdown page for each diagnostic code, and the language page, whose sections they lead to.

Pages are read when somebody asks. The language page, ``docs/language.md``, lies beside this folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepcore.text.wording import anchor

_FOLDER: Final = Path(__file__).parent
LANGUAGE: Final = "language.md"  # beside this folder
_HEADING: Final = re.compile(r"(#{1,6}) (.+)")
_FENCE: Final = "```"


def explanation(code: str) -> str:
    """Return the page of ``code`` with a sentence under its heading that says what the table of codes says.

    Raises:
        KeyError: an unknown code.
    """
    heading, rest = page(code).split("\n", 1)
    return f"{heading}\n\n*{_place(code)}*\n{rest}"


def page(code: str) -> str:
    """Return the Markdown text for ``code``, with a heading of the first level; ``KeyError`` for an unknown code."""
    from stepcore.findings.codes import CODES

    if code not in CODES:
        raise KeyError(code)
    return (_FOLDER / f"{code}.md").read_text(encoding="utf-8")


def summary(code: str) -> str:
    """Return the first paragraph of the page: what the code means."""
    return page(code).split("\n\n")[1]


def _place(code: str) -> str:
    """Say where a finding comes out, and what follows from it."""
    from stepcore.findings.codes import about

    info = about(code)
    decides = "" if info.part is None else f" It decides the {info.part} verdict"
    stops = ", and the program is not run" if info.blocks else ""
    return f"{info.severity.value.capitalize()}, found when {info.phase}.{f'{decides}{stops}.' if decides else ''}"


def sections() -> dict[str, str]:
    """Return the sections of the language page by anchor: each with its heading and the sections inside of it."""
    lines = (_FOLDER.parent / LANGUAGE).read_text(encoding="utf-8").splitlines(keepends=True)
    heads: list[tuple[int, int, str]] = []  # line, level, anchor
    in_code = False
    for number, line in enumerate(lines):
        in_code ^= line.startswith(_FENCE)
        match = None if in_code else _HEADING.fullmatch(line.rstrip())
        if match is not None:
            heads.append((number, len(match[1]), anchor(match[2])))
    found: dict[str, str] = {}
    for index, (first, level, name) in enumerate(heads):
        end = next((line for line, other, _ in heads[index + 1 :] if other <= level), len(lines))
        found[name] = "".join(lines[first:end]).rstrip() + "\n"
    return found

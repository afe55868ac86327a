"""Explanations of the diagnostic codes: one Markdown file for each, read when somebody asks."""

from __future__ import annotations

from importlib.resources import files


def explanation(code: str) -> str:
    """Return the page of ``code`` with a sentence under its heading that says what the table of codes says.

    Raises:
        KeyError: an unknown code.
    """
    heading, rest = page(code).split("\n", 1)
    return f"{heading}\n\n*{_place(code)}*\n{rest}"


def page(code: str) -> str:
    """Return the Markdown text for ``code``, with a heading of the first level; ``KeyError`` for an unknown code."""
    from stepcore.codes import CODES

    if code not in CODES:
        raise KeyError(code)
    return files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")


def summary(code: str) -> str:
    """Return the first paragraph of the page: what the code means."""
    return page(code).split("\n\n")[1]


def _place(code: str) -> str:
    """Say where a finding comes out, and what follows from it."""
    from stepcore.codes import about

    info = about(code)
    decides = "" if info.part is None else f" It decides the {info.part} verdict"
    stops = ", and the program is not run" if info.blocks else ""
    return f"{info.severity.value.capitalize()}, found when {info.phase}.{f'{decides}{stops}.' if decides else ''}"

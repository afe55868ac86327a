"""Explanations of the diagnostic codes: one Markdown file for each, read when somebody asks."""

from __future__ import annotations

from importlib.resources import files


def explanation(code: str) -> str:
    """Return the Markdown text for ``code``, with a heading of the first level; ``KeyError`` for an unknown code."""
    from stepcore.codes import CODES

    if code not in CODES:
        raise KeyError(code)
    return files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")


def summary(code: str) -> str:
    """Return the first paragraph of the explanation: what the code means."""
    return explanation(code).split("\n\n")[1]

"""A report as one HTML file that stands by itself: it loads nothing, and runs nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from stepagents.report.svg import element, words

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html_document(title: str, *content: str) -> str:
    """Return the page named ``title``; ``content`` is its markup, in which all text is escaped."""
    css = files("stepagents.report").joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        element("title", words(title)),
        element("style", css),
    )
    body = element("body", element("main", *content))
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"

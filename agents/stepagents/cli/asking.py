"""A user at the terminal is asked, and shown what the question is about. Standard output is for results."""

from __future__ import annotations

import sys
from collections.abc import Callable

from stepcore.reports.text import clean


def asker() -> Callable[[str], str] | None:
    """Return what asks the user; None where standard input is no terminal."""
    return on_terminal if sys.stdin is not None and sys.stdin.isatty() else None


def on_terminal(question: str) -> str:
    """Return the line that the user gives for an answer."""
    print(f"stepsmith: {question}", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def show(text: str) -> None:
    """Show a text that holds what others wrote."""
    print(clean(text), file=sys.stderr)

"""The plain nodes of a YAML text, with exact spans, and its syntax errors. Nothing is constructed from tags.

The events of ruamel.yaml's parser are assembled into these by :mod:`stepcore.frontend.yaml.compose`, so that nesting
and the expansion of aliases are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.text.span import Span

MAX_NODES: Final = 100_000  # values of a file; a published task has 100, and the parser takes 10 us for one
LONGEST_TYPE: Final = 2_000  # characters in which a closing parenthesis is looked for
_PARENTHESIS: Final = re.compile(r"[()\r\n]")
QUOTE_TYPES: Final = (
    'inside { } and [ ] a type with a comma needs quotes, because YAML splits it there: "Buffer(fp32, [K])"'
)


@dataclass(slots=True, eq=False)
class ScalarNode:
    """A scalar. ``style`` is ``""`` (plain), a quote, ``|`` or ``>``; ``span`` holds quotes and block headers."""

    value: str
    style: str
    span: Span
    weight: int = 1

    @property
    def is_null(self) -> bool:
        """True for an empty value, ``~`` and ``null``."""
        return not self.style and self.value in {"", "~", "null", "Null", "NULL"}


@dataclass(slots=True, eq=False)
class ListNode:
    """A sequence."""

    items: list[Node]
    span: Span
    flow: bool
    weight: int = 1


@dataclass(slots=True, eq=False)
class MapNode:
    """A mapping: its pairs in order, duplicates included."""

    pairs: list[tuple[Node, Node]]
    span: Span
    flow: bool
    weight: int = 1


Node: TypeAlias = ScalarNode | ListNode | MapNode


@dataclass(slots=True)
class Document:
    """What could be composed: the root, the syntax errors, and the top-level keys of which something was dropped."""

    root: Node | None = None
    problems: list[Diagnostic] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)


class Steps:
    """How much of a text the parser may still read. A character is a step, a token and a piece are several.

    Steps are counted and not timed, so that a text ends in the same place on every machine.
    """

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Take ``count`` steps.

        Raises:
            SpentError: they are not there.
        """
        self.left -= count
        if self.left < 0:
            raise SpentError


class SpentError(Exception):
    """The parser has no steps left."""


class ComposeError(Exception):
    """A syntax error at ``span`` (offsets of the whole text)."""

    #: The consequence of an error that was reported already.
    follows = False

    def __init__(self, span: Span, message: str, fix: Fix | None = None) -> None:
        super().__init__(message)
        self.span = span
        self.message = message
        self.fix = fix

    @property
    def finding(self) -> Diagnostic:
        """The error as a finding."""
        return Diagnostic("STEP903", self.span, self.message, fix=self.fix)


class LostAnchor(ComposeError):
    """An alias of an anchor that an earlier error made unreadable."""

    follows = True


class TooMuch(ComposeError):
    """The file holds so much, or its aliases stand for so much, that it is not read at all."""


def closing_parenthesis(text: str, start: int) -> int | None:
    """Return the offset after the parenthesis that closes the first one from ``start`` on, on the same line."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start, start + LONGEST_TYPE):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
            if depth == 0:
                return match.end()
        else:
            return None
    return None


def quote_fix(span: Span) -> Fix:
    """Return the fix that puts what is under ``span`` in double quotes."""
    return Fix("Put the type in quotes", tuple(Edit(Span(at, at), '"') for at in (span.start, span.end)))

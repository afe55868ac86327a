"""Putting a program into a task file: only what belongs to ``impl`` changes, every other character stays."""

from __future__ import annotations

from stepcore.findings.diagnostics import Edit
from stepcore.frontend.yaml.compose import compose
from stepcore.frontend.yaml.nodes import MapNode, Node, ScalarNode
from stepcore.printing.task import impl_to_yaml
from stepcore.text.span import Span


def impl_edit(text: str, impl: str) -> Edit:
    """Return the edit that makes ``impl`` the program of the task file ``text``; an earlier program goes.

    Raises:
        ValueError: the file is no block mapping that could be extended; the message says so to a user.
    """
    root = compose(text).root
    if not text.strip():
        return Edit(Span(0, len(text)), impl_to_yaml(impl))
    if not isinstance(root, MapNode) or root.flow:
        raise ValueError("this file is no task file with one key in each line, so no program can be put into it")
    block = impl_to_yaml(impl)
    keys = [key for key, _value in root.pairs]
    for index, key in enumerate(keys):
        if _is_impl(key):
            start = text.rfind("\n", 0, key.span.start) + 1
            end = _next_line(text, keys[index + 1].span.start) if index + 1 < len(keys) else len(text)
            return Edit(Span(start, end), block)
    newline = "" if not text or text.endswith("\n") else "\n"
    return Edit(Span(len(text), len(text)), newline + block)


def _is_impl(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.value == "impl"


def _next_line(text: str, key: int) -> int:
    """Return where the line of the next key begins, comments directly above it included."""
    start = text.rfind("\n", 0, key) + 1
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].startswith("#"):
            break
        start = above
    return start

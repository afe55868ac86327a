"""The edits between two texts of a document, whole lines each: what they leave alone keeps its place in the editor."""

from __future__ import annotations

from difflib import SequenceMatcher

from stepcore.findings.diagnostics import Edit
from stepcore.text.span import Span


def line_edits(before: str, after: str) -> tuple[Edit, ...]:
    """Return the edits that make ``after`` of ``before``, in the order of the text."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        Edit(Span(starts[first], starts[last]), "".join(new[begin:end]))
        for tag, first, last, begin, end in changes
        if tag != "equal"
    )

"""Task files that are read although they have slips of one mark: each is one finding, and the rest is as if mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from stepcore.findings.codes import Phase, about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.yaml.blocks import read_block
from stepcore.frontend.yaml.compose import compose
from stepcore.frontend.yaml.fields import Fields
from stepcore.frontend.yaml.lines import lines_of
from stepcore.frontend.yaml.nodes import Document, MapNode, Node
from stepcore.frontend.yaml.parts import (
    DRAWN_SCHEMA,
    FN_SCHEMA,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    PARAMETER_SCHEMA,
    Declared,
    read_drawn,
    read_fns,
    read_outputs,
    read_ports,
)
from stepcore.frontend.yaml.shifts import Shifts
from stepcore.frontend.yaml.slips import Slips
from stepcore.text.span import SourceFile

LONGEST: Final = 1 << 18  # characters of a text whose slips are looked for
MOST_FINDINGS: Final = 50  # of which some slips may be the cause; a text with more is no task with a slip
_SCHEMAS: Final = (INPUT_SCHEMA, PARAMETER_SCHEMA, OUTPUT_SCHEMA, FN_SCHEMA, DRAWN_SCHEMA)
_TABBED: Final = re.compile(r"^ *\t", re.MULTILINE)


def structural(findings: list[Diagnostic]) -> int:
    """Return how many findings a slip of one mark might cause."""
    kinds = [(about(each.code), each.fix) for each in findings]
    return sum(kind.slip and (fix is None or kind.phase is not Phase.TYPES) for kind, fix in kinds)


@lru_cache(maxsize=4)  # an editor asks several times about one text
def mended(text: str, top: tuple[str, ...]) -> Document | None:
    """Compose ``text`` as it is meant, at the places of ``text``; None where no slip is found. ``top`` are its keys.

    The slips are among the document's problems, each with the edit that mends it. The document is shared.
    """
    if len(text) > LONGEST:
        return None
    inner = tuple(key for schema in _SCHEMAS for key in schema.known)
    found = Slips(top, inner, _score).of(text)
    if not found:
        return None
    shifts = Shifts(edit for item in found if item.fix for edit in item.fix.edits)
    document = compose(shifts.applied(text))
    root = document.root and shifts.node(document.root)
    return Document(root, [*found, *map(shifts.finding, document.problems)], document.broken)


def _score(section: str, is_trial: bool) -> int | None:
    """Return how many findings a section has by itself; None where it is no section.

    On trial only texts of the usual form count as sections: they are read without a parser.
    """
    text = _without_tabs(section.replace("\r\n", " \n")) if "\t" in section or "\r" in section else section
    node = None if text is None else read_block(text.rstrip(" "))
    if node is None and not is_trial:
        document = compose(section)
        node = document.root if not document.problems and isinstance(document.root, MapNode) else None
    if node is None or len(node.pairs) != 1:
        return None
    key, value = node.pairs[0]
    fields = Fields(SourceFile("", section))
    read = _READERS.get(getattr(key, "value", ""))
    if read is not None:
        read(fields, value)
    return len(fields.diagnostics)


def _without_tabs(text: str) -> str | None:
    """Return ``text`` with spaces for the tabs in literal blocks; None where there are others."""
    lines = text.split("\n")
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    texts = {line.start for line in lines_of(text) if line.is_text}
    for number, (start, line) in enumerate(zip(starts, lines, strict=True)):
        if "\t" in line and (start not in texts or _TABBED.match(line)):
            return None
        lines[number] = line.replace("\t", " ")
    return "\n".join(lines)


def _code(key: str) -> Callable[[Fields, Node], object]:
    return lambda fields, node: fields.code(node, key)


_READERS: Final[dict[str, Callable[[Fields, Node], object]]] = {
    "inputs": lambda fields, node: read_ports(Declared(fields), node, parameters=False),
    "parameters": lambda fields, node: read_ports(Declared(fields), node, parameters=True),
    "fns": lambda fields, node: read_fns(Declared(fields), node),
    "outputs": lambda fields, node: read_outputs(Declared(fields), node),
    "sizes": lambda fields, node: read_drawn(Declared(fields), node, ()),
    "global": _code("global"),
    "impl": _code("impl"),
    "answer_may_define_fns": lambda fields, node: fields.flag(node, "answer_may_define_fns"),
}

"""A person at a keyboard: edits of a Python file, one key at a time, most of which leave a line half written."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

from stepcore.records import Record

# Where the cursor is put (behind a text that a program or function has), and what is typed there.
_PROGRAM: Final = (
    ("    E2 = step.Bufferize(a=1).apply(E0)", "\n    E5 = step.Promote(b=1).apply(E2)"),
    ("    E3 = step.Zip().apply((E2, E1))", "\n    E6, E7 = step.Copy().apply(E3)  # twice"),
    (".apply(E4)", ".apply(E5)"),
    ("    E2 = step.", "Map(fn=scale_1).apply(E1)\n    E8 = step."),
)
_FUNCTION: Final = (
    ("    return [state[0] + input[0]", " * 2.0 + torch.relu(input[0])"),
    ("    row, factor = input", "\n    row = torch.exp(row - factor)"),
    ("    return [torch.relu(row) * factor", " + row.sum()"),
)
_HEADER: Final = ("from stepcore.dims import D, K, M, N", ", B")


class TypedEdit(Record):
    """``removed`` characters at ``offset`` give way to ``text``."""

    offset: int
    removed: int
    text: str


class TypedText:
    """The text as the client has it. ASCII only: positions are the same in all encodings."""

    def __init__(self, uri: str, text: str) -> None:
        assert text.isascii()
        self.uri = uri
        self.text = text
        self.version = 1
        self.cursor = 0  # offset behind the last edit

    def apply(self, edit: TypedEdit) -> dict[str, Any]:
        """Edit the text and return the parameters of ``textDocument/didChange``."""
        area = {"start": self.position(edit.offset), "end": self.position(edit.offset + edit.removed)}
        self.text = self.text[: edit.offset] + edit.text + self.text[edit.offset + edit.removed :]
        self.version += 1
        self.cursor = edit.offset + len(edit.text)
        return {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [{"range": area, "text": edit.text}],
        }

    def position(self, offset: int) -> dict[str, int]:
        """Return the position of an offset."""
        starts = [0]
        while end := self.text.find("\n", starts[-1]) + 1:
            starts.append(end)
        line = bisect_right(starts, offset) - 1
        return {"line": line, "character": offset - starts[line]}


def typing(document: TypedText, count: int, seed: int = 0) -> Iterator[TypedEdit]:
    """Yield at least ``count`` edits of programs and functions; each has to be applied before the next is taken.

    Two pieces of three go to programs. What was typed is taken back: half of it key by key, the rest at once.
    """
    chance = random.Random(seed)
    done = 0
    while done < count:
        for edit in _piece(document, *chance.choice(_FUNCTION if chance.random() < 1 / 3 else _PROGRAM), chance):
            done += 1
            yield edit


def typing_imports(document: TypedText, count: int) -> Iterator[TypedEdit]:
    """Yield at least ``count`` edits of an import, on which every program of the file depends."""
    done = 0
    while done < count:
        for edit in _piece(document, *_HEADER, random.Random(0)):
            done += 1
            yield edit


def _piece(document: TypedText, place: str, typed: str, chance: random.Random) -> Iterator[TypedEdit]:
    places = document.text.count(place)
    offset = -1
    for _ in range(chance.randrange(places) + 1):
        offset = document.text.index(place, offset + 1)
    end = offset + len(place)
    for character in typed:
        yield TypedEdit(end, 0, character)
        end += 1
    for _ in range(len(typed) // 2):
        end -= 1
        yield TypedEdit(end, 1, "")
    rest = len(typed) - len(typed) // 2
    yield TypedEdit(end - rest, rest, "")

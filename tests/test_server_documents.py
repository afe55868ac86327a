"""Text sync without a server: edits, positions, notebooks cells."""

from __future__ import annotations

import random
import re

import pytest
from lsprotocol import types

from lsp_client import units
from stepcore.text.span import SourceFile, Span
from stepserver.documents import Module, Text, without_magics
from stepserver.positions import Codec

EDITS = 10_000
ENCODINGS = ("utf-8", "utf-16", "utf-32")
# Line ends of all kinds, characters of every width, and what str.splitlines would take for a line end.
PIECES = ("a", "bc", " ", "\n", "\r\n", "\r", "é", "語", "😀", "\f", "\u2028", "\x85", "x = 1\n", "")
_LINE = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return start and text (without its end) of each line."""
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    ends = [*(match.start() for match in _LINE.finditer(text)), len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def random_place(rng: random.Random, text: str, encoding: str) -> tuple[int, types.Position]:
    """Return an offset and its position; sometimes one behind the end of its line or of the text."""
    lines = lines_of(text)
    number = rng.randrange(len(lines))
    start, line = lines[number]
    column = rng.randint(0, len(line))
    character = units(line[:column], encoding)
    if column == len(line):
        character += rng.choice((0, 0, 5))
    if rng.random() < 0.02:
        return len(text), types.Position(len(lines) + rng.randrange(3), 7)
    return start + column, types.Position(number, character)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_ten_thousand_random_edits_leave_equal_texts(encoding: str) -> None:
    rng = random.Random(encoding)
    codec = Codec(encoding)
    text = Text("file:///a.py", "python", 0, SourceFile("/a.py", ""))
    expected = ""
    longest = 0
    for version in range(EDITS // len(ENCODINGS) + 1):
        changes: list[types.TextDocumentContentChangeEvent] = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            new = "".join(rng.choices(PIECES, k=rng.randint(0, 4)))
            if rng.random() < 0.002:
                changes.append(types.TextDocumentContentChangeWholeDocument(new))
                expected = new
                continue
            places = (random_place(rng, expected, encoding), random_place(rng, expected, encoding))
            (start, first), (end, last) = sorted(places, key=lambda place: place[0])
            if end - start > 12 and len(expected) < 2000:  # keep the text from staying tiny
                end, last = start, first
            changes.append(types.TextDocumentContentChangePartial(types.Range(first, last), new))
            expected = expected[:start] + new + expected[end:]
        text.change(codec, changes)
        assert text.source.text == expected, version
        longest = max(longest, len(expected))
    assert longest > 100


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_and_offsets_are_inverse(encoding: str) -> None:
    source = SourceFile("/a.py", "é😀\r\n語x\n\f\u2028\U0001f469\u200d\U0001f680z\rend")
    codec = Codec(encoding)
    for start, line in lines_of(source.text):
        for column in range(len(line) + 1):
            position = codec.position(source, start + column)
            assert position.character == units(line[:column], encoding)
            assert codec.offset(source, position) == start + column


def test_a_position_inside_of_a_character_is_before_it() -> None:
    source = SourceFile("/a.py", "😀x")
    assert [Codec("utf-16").offset(source, types.Position(0, unit)) for unit in range(4)] == [0, 0, 1, 2]
    assert [Codec("utf-8").offset(source, types.Position(0, unit)) for unit in range(6)] == [0, 0, 0, 0, 1, 2]


def test_a_place_within_a_line_break_is_the_end_of_its_line() -> None:
    for text in ("ab\r\ncd", "a😀\r\ncd"):
        source = SourceFile("/a.py", text)
        end = units(text[:2], "utf-16")
        assert Codec("utf-16").position(source, 3) == types.Position(0, end)
        assert Codec("utf-16").position(source, 4) == types.Position(1, 0)


def test_magics_become_comments_of_equal_length() -> None:
    cell = "%matplotlib inline\n  !pip list\nx = 1 % 2\n"
    assert without_magics(cell) == "#matplotlib inline\n  #pip list\nx = 1 % 2\n"
    foreign = "%%bash\necho 'x\n\nls\n"
    assert without_magics(foreign) == "#%bash\n#cho 'x\n\n#s\n"
    assert len(without_magics(foreign)) == len(foreign)


def test_the_cells_of_a_notebook_are_one_module() -> None:
    codec = Codec("utf-16")
    texts = [
        Text("cell:1", "python", 1, SourceFile("/n.ipynb", "a = '😀'")),
        Text("cell:2", "python", 1, SourceFile("/n.ipynb", "b = a\n")),
    ]
    module = Module("file:///n.ipynb", "/n.ipynb", texts, is_notebook=True)
    module.renew()
    assert module.source.text == "a = '😀'\nb = a\n"
    offset = module.offset("cell:2", types.Position(0, 4), codec)
    assert offset == module.source.text.index("a\n")
    located = module.locate(Span(offset, offset + 1), codec)
    assert located is not None
    assert (located[0].uri, located[1]) == ("cell:2", types.Range(types.Position(0, 4), types.Position(0, 5)))
    assert module.offset("cell:3", types.Position(0, 0), codec) is None
    assert module.whole("cell:1") == Span(0, len("a = '😀'"))

"""Positions: code points, UTF-8 bytes of ``ast``, UTF-16 units of editors, line ends, and embedded texts."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepcore.text.span import Embedded, SourceFile, Span, utf16_length

ALPHABET = "aé流😀𝓔 \t\x0c\u2028\u0085\n\r"
TEXTS = st.text(ALPHABET, max_size=60)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", (0,)),
        ("a", (0,)),
        ("a\n", (0, 2)),
        ("a\nb", (0, 2)),
        ("a\r\nb", (0, 3)),
        ("a\rb", (0, 2)),
        ("a\n\rb", (0, 2, 3)),
        ("a\x0cb\u2028c\u0085d\x0be", (0,)),  # none of these ends a line for Python or an editor
        ("\ufeffa\nb", (0, 3)),
    ],
)
def test_line_starts(text: str, starts: tuple[int, ...]) -> None:
    assert SourceFile("", text).line_starts == starts


@given(TEXTS)
def test_lines_join_to_the_text(text: str) -> None:
    source = SourceFile("", text)
    lines = [source.line_text(line) for line in range(len(source.line_starts))]
    assert "".join(lines) == text
    assert all(line.endswith(("\n", "\r")) for line in lines[:-1])
    assert not any(end in line.rstrip("\r\n") for line in lines for end in "\r\n")


@given(TEXTS)
def test_offsets_and_columns_are_inverse(text: str) -> None:
    source = SourceFile("", text)
    for offset in range(len(text) + 1):
        line, column = source.line_col(offset)
        assert source.offset(line, column) == offset
        assert source.line_starts[line] + column == offset


@given(TEXTS)
def test_utf16_columns_are_those_of_the_encoded_line(text: str) -> None:
    source = SourceFile("", text)
    for offset in range(len(text) + 1):
        line, column = source.line_col(offset)
        before = source.line_text(line)[:column]
        assert source.utf16_position(offset) == (line, len(before.encode("utf-16-le")) // 2)
        assert utf16_length(before) == len(before.encode("utf-16-le")) // 2


@given(TEXTS)
def test_utf8_columns_are_those_of_the_encoded_line(text: str) -> None:
    source = SourceFile("", text)
    for offset in range(len(text) + 1):
        line, column = source.line_col(offset)
        assert source.offset_from_utf8(line, len(source.line_text(line)[:column].encode())) == offset


def test_columns_of_ast_are_understood() -> None:
    text = "größe = '😀'; 流 = größe\r\nx = größe\n"
    source = SourceFile("", text)
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    assert len(names) == 5
    for node in names:
        start = source.offset_from_utf8(node.lineno - 1, node.col_offset)
        end = source.offset_from_utf8((node.end_lineno or 0) - 1, node.end_col_offset or 0)
        assert source.slice(Span(start, end)) == node.id


def test_a_byte_column_inside_a_character_and_lone_surrogates() -> None:
    assert SourceFile("", "é流").offset_from_utf8(0, 1) == 0
    assert SourceFile("", "aé\ud800b").line_col(3) == (0, 3)


@pytest.mark.parametrize("offset", [-5, 0, 3, 99])
def test_positions_are_clamped(offset: int) -> None:
    source = SourceFile("", "a\nb")
    line, column = source.line_col(offset)
    assert 0 <= source.offset(line, column) <= 3
    assert source.offset(7, 7) == 3
    assert source.offset(0, 99) == 3
    assert source.offset_from_utf8(9, 0) == 3
    assert SourceFile("", "é").offset_from_utf8(9, 0) == 1


def test_cover() -> None:
    assert Span(3, 5).cover(Span(1, 4)) == Span(1, 5)
    assert Span(1, 2).cover(Span(7, 9)) == Span(1, 9)
    assert Span(1, 2) < Span(1, 3) < Span(2, 2)


# -- embedded texts ---------------------------------------------------------------------------------------

OUTER = "key: |\r\n    流 = 1\r\n    if 流:\r\n      y = '😀'\r\nnext: 2\r\n"


def block() -> Embedded:
    lines = ["流 = 1\n", "if 流:\n", "  y = '😀'\n"]
    offsets = tuple(OUTER.index(line.rstrip("\n")) for line in lines)
    return Embedded("".join(lines), (*offsets, OUTER.index("next")), Span(5, OUTER.index("\r\nnext")), indent="    ")


def test_embedded_offsets_point_at_the_same_characters() -> None:
    inner = block()
    for offset, character in enumerate(inner.text):
        found = OUTER[inner.to_outer(offset)] if inner.to_outer(offset) < len(OUTER) else ""
        assert found == ("\r" if character == "\n" else character)


def test_embedded_spans() -> None:
    inner = block()
    start = inner.text.index("'😀'")
    span = inner.span_to_outer(Span(start, start + 3))
    assert OUTER[span.start : span.end] == "'😀'"


def test_embedded_positions_stay_in_the_scalar() -> None:
    inner = block()
    assert all(inner.to_outer(offset) <= inner.outer.end for offset in range(len(inner.text) + 5))


def test_a_folded_value_can_only_be_pointed_at_as_a_whole() -> None:
    folded = Embedded("a b", (), Span(3, 9), verbatim=False)
    assert folded.span_to_outer(Span(0, 1)) == Span(3, 9)
    assert folded.to_outer(2) == 3


@given(TEXTS)
def test_a_whole_text_is_its_own_outer_file(text: str) -> None:
    whole = Embedded.whole(text)
    assert [whole.to_outer(offset) for offset in range(len(text) + 1)] == list(range(len(text) + 1))


def test_line_end_of_an_added_line() -> None:
    assert Embedded.whole("a\nb").newline == "\n"
    assert Embedded.whole("a\r\nb").newline == "\r\n"
    assert Embedded("a\nb", (0, 2), Span(0, 3), line_end="\r\n").newline == "\r\n"

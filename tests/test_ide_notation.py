"""One notation for types in all views: the shape first, and element types under the names that the file gives them."""

from __future__ import annotations

import pytest

from ide_cases import in_python
from stepcore.ide.analysis import Analysis
from stepcore.ide.completion import completions
from stepcore.ide.features import symbols
from stepcore.ide.graph_view import graph
from stepcore.ide.hover import hover
from stepcore.ide.inlay import inlay_hints
from stepcore.text.span import Span

NOTATION = "[M, N] of ROW"


def hints(analysis: Analysis) -> str:
    return " ".join(hint.label for hint in inlay_hints(analysis, Span(0, len(analysis.source.text))))


def test_every_view_writes_a_type_alike() -> None:
    analysis, offset = in_python("c = step.Map(fn=keep).apply(b)\nreturn |c")
    found = hover(analysis, offset)
    view = graph(analysis, "program")
    assert found is not None and view is not None
    assert f"c: {NOTATION}" in found.markdown
    assert f": {NOTATION}" in hints(analysis)
    assert {(edge.shape, edge.type) for edge in view.edges} >= {("[M, N]", "ROW")}
    assert NOTATION in next(node.doc for node in view.nodes if node.label == "b")
    details = [item.detail for item in completions(analysis, offset)]
    assert any(detail.startswith(NOTATION) for detail in details)
    assert NOTATION in str(symbols(analysis))


@pytest.mark.parametrize(
    ("body", "expected", "found"),
    [
        ("return step.Map(fn=keep).apply(a)", "ROW = Buffer(fp32, [D])", "fp32"),
        ("return b", "fp32", "ROW = Buffer(fp32, [D])"),
        ("return step.Zip().apply((a, b))", "fp32", "[fp32, ROW] = [fp32, Buffer(fp32, [D])]"),
    ],
)
def test_messages_name_what_is_meant_and_what_it_stands_for(body: str, expected: str, found: str) -> None:
    analysis, _ = in_python(body + "|")
    messages = [item.message for item in analysis.diagnostics if item.code in ("STEP208", "STEP214")]
    assert [message.split("\n")[1:3] for message in messages][:1] == [[f"  expected {expected}", f"  found    {found}"]]


def test_a_file_without_names_for_types_shows_them_as_they_are() -> None:
    analysis, _ = in_python("c = step.Bufferize(a=1).apply(a)\nreturn c|")
    assert ": [N] of Buffer(fp32, [M])" in hints(analysis)

"""The picture of a program: every operator and every consumption is there, and points at its place in the document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ide_marks
from job_records import run_of
from joined_programs import warnings_of
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.graph_view import MAX_NODES, EdgeView, GraphView, NodeView, graph
from stepcore.jobdata.editor import PlainPosition, PlainRange
from stepcore.jobdata.plain import written
from stepcore.jobdata.programs import ComponentRow, QuantityRow, StreamRow
from stepcore.ops import OPERATORS
from stepcore.text.span import Span

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("benchmarks/tasks/*.yaml")])
HEAD = """from typing import Annotated
import stepcore as step
from stepcore.dims import K, M, N

@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]

"""


def document(body: str, head: str = HEAD, result: str = "step.f32, (M, N)") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    signature = f"def main(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, {result}]:\n"
    return f"{head}@step.program()\n{signature}{lines}"


def drawn(text: str, path: str = "x.py", name: str = "main") -> tuple[Analysis, GraphView]:
    analysis = analyze(text, path)
    view = graph(analysis, name)
    assert view is not None
    return analysis, view


def as_json(view: GraphView) -> dict[str, Any]:
    """Return what an editor gets; columns count from the start of the text."""
    return written(
        view.result(1, (), None, lambda at: PlainRange(PlainPosition(0, at.start), PlainPosition(0, at.end)))
    )


def node(view: GraphView, label: str) -> NodeView:
    return next(item for item in view.nodes if item.label == label)


def edge(view: GraphView, target: str, port: int = 0) -> EdgeView:
    return next(item for item in view.edges if item.target == target and item.target_port == port)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_operators_and_consumptions_are_drawn_at_their_places(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    analysis = analyze(text, str(path))
    for unit in analysis.units:
        checked = unit.checked
        if checked is None:
            continue
        view = graph(analysis, checked.name)
        assert view is not None and view.note == "" and view.findings == ()
        found = checked.graph
        assert [item.label for item in view.nodes if item.kind == "operator"] == [n.op_name for n in found.nodes]
        assert len(view.nodes) == len(found.inputs) + len(found.nodes) + len(found.returns)
        assert len(view.edges) == sum(len(n.inputs) for n in found.nodes) + len(found.returns)
        ids = {item.id for item in view.nodes}
        assert len(ids) == len(view.nodes) and len({item.id for item in view.edges}) == len(view.edges)
        assert all(item.source in ids and item.target in ids for item in view.edges)
        for item in view.nodes:
            assert item.span is not None
            shown = text[item.span.start : item.span.end]
            assert item.label in shown or item.kind == "output"
            assert item.line == text.count("\n", 0, item.span.start) + 1
        told = [finding.partition(":")[0] for item in view.nodes for finding in item.findings]
        assert told == warnings_of(path)
        assert all(item.type != "?" and not item.overused for item in view.edges)
        json.dumps(as_json(view))


def test_nodes_and_edges_say_what_they_are() -> None:
    text = document(
        "E1 = step.Map(fn=double).apply(E0)\nreturn step.Flatten(L=[1]).apply(E1)", result="step.f32, (M*N,)"
    )
    _, view = drawn(text)
    assert [(item.id, item.kind, item.label, item.params) for item in view.nodes] == [
        ("i0", "input", "E0", {}),
        ("n0", "operator", "Map", {"fn": "double"}),
        ("n1", "operator", "Flatten", {"L": "[1]"}),
        ("o0", "output", "output", {}),
    ]
    assert [(e.source, e.target, e.stream, e.type, e.shape) for e in view.edges] == [
        ("i0", "n0", "E0", "fp32", "[M, N]"),
        ("n0", "n1", "E1", "fp32", "[M, N]"),
        ("n1", "o0", "", "fp32", "[M*N]"),
    ]
    assert node(view, "Map").doc
    span = edge(view, "n1").span
    assert span is not None and text[span.start : span.end] == "E1"
    assert text[span.start - 7 : span.start] == ".apply("


def test_the_cursor_is_at_the_innermost_application() -> None:
    text = document("E1 = step.Copy().apply(step.Map(fn=double).apply(E0))\nreturn E1[0]")
    _, view = drawn(text)
    assert view.at(text.index("step.Copy")) == node(view, "Copy").id
    assert view.at(text.index("step.Map") + 2) == node(view, "Map").id
    assert view.at(text.index("(E0))") + 1) == node(view, "Map").id
    assert view.at(text.index("E0: Annotated")) == node(view, "E0").id
    assert view.at(text.index("E1[0]")) == "o0"
    assert view.at(text.index("double)")) == node(view, "Map").id
    assert view.at(text.index("import")) is None


def test_the_name_of_a_stream_leads_to_what_makes_it() -> None:
    text = document("first, second = step.Copy().apply(E0)\nreturn first")
    _, view = drawn(text)
    assert view.at(text.index("first")) == "n0"
    assert view.at(text.index("second") + 1) == "n0"


def test_findings_stand_at_their_nodes() -> None:
    text = document("E1 = step.Zip().apply((E0, E0))\nE2 = step.Map(fn=nothing).apply(E1)\nreturn E2")
    _, view = drawn(text)
    assert [item[:8] for item in node(view, "Zip").findings] == ["STEP101:"]
    assert node(view, "Zip").severity == "error"
    assert [item[:7] for item in node(view, "Map").findings] == ["STEP202"]
    assert [item.overused for item in view.edges] == [True, True, False, False]
    assert edge(view, "n1").type != "?"
    assert (edge(view, "o0").type, edge(view, "o0").shape) == ("?", "?")


def test_an_unused_stream_is_a_hint_at_its_maker() -> None:
    text = document("A, B = step.Copy().apply(E0)\nreturn A")
    _, view = drawn(text)
    assert [item[:7] for item in node(view, "Copy").findings] == ["STEP103"]
    assert node(view, "Copy").severity == "hint"


def test_a_broken_function_shows_at_what_applies_it() -> None:
    head = HEAD.replace("input[0] * 2", "undefined(input[0])")
    _, view = drawn(document("return step.Map(fn=double).apply(E0)", head))
    assert [item[:7] for item in node(view, "Map").findings] == ["STEP303"]


def test_a_finding_at_no_node_belongs_to_the_program() -> None:
    text = document("A = step.Map(fn=double).apply(E0)\nB = (\nreturn A")
    _, view = drawn(text)
    assert [item[:7] for item in view.findings] == ["STEP902"]
    assert view.is_broken and as_json(view)["isBroken"]
    assert node(view, "Map").findings == ()


def test_findings_of_other_programs_stay_there() -> None:
    good = document("return step.Map(fn=double).apply(E0)")
    bad = document("return step.Zip().apply((E0, E0))", head="\n").replace("main", "other")
    analysis = analyze(good + bad, "x.py")
    main, other = graph(analysis, "main"), graph(analysis, "other")
    assert main is not None and other is not None
    assert not other.is_broken
    assert main.findings == () and all(item.findings == () for item in main.nodes)
    assert any(item.findings for item in other.nodes)
    assert graph(analysis, "third") is None


def test_a_loop_is_unrolled() -> None:
    _, view = drawn(document("for _ in range(3):\n    E0 = step.Map(fn=double).apply(E0)\nreturn E0"))
    maps = [item for item in view.nodes if item.label == "Map"]
    assert len(maps) == 3 and len({item.span for item in maps}) == 1
    assert [(item.source, item.target) for item in view.edges] == [
        ("i0", "n0"), ("n0", "n1"), ("n1", "n2"), ("n2", "o0"),
    ]  # fmt: skip


def test_too_many_nodes_are_cut_with_a_note() -> None:
    _, view = drawn(document("for _ in range(500):\n    E0 = step.Map(fn=double).apply(E0)\nreturn E0"))
    assert len(view.nodes) == MAX_NODES
    assert view.nodes[-1].kind == "output"
    ids = {item.id for item in view.nodes}
    assert all(item.source in ids and item.target in ids for item in view.edges)
    assert view.note == f"502 nodes are too many to draw; {MAX_NODES} are shown"


def test_sizes_that_only_a_run_can_tell_have_readable_names() -> None:
    path = ROOT / "examples" / "mixture_of_experts.py"
    _, view = drawn(path.read_text(encoding="utf-8"), str(path), "mixture_of_experts")
    assert not any("?" in item.shape for item in view.edges)
    ports = [(item.source_port, item.target_port) for item in view.edges if item.target == node(view, "Merge").id]
    assert ports == [(0, 0), (0, 1), (0, 2), (1, 3)]


def test_an_answer_in_a_second_file_points_at_nothing_in_the_task() -> None:
    text = (ROOT / "benchmarks" / "tasks" / "gemm_easy_outer_sum.step.yaml").read_text(encoding="utf-8")
    start = text.index("\nimpl:") + 1
    analysis = analyze(text[start:], "a.impl.yaml", task=(text[:start], "a.step.yaml"))
    unit = analysis.units[0]
    assert unit.checked is not None
    view = graph(analysis, unit.checked.name)
    assert view is not None
    for item in view.nodes:
        if item.kind == "input":
            assert item.span is None and item.line is None
        else:
            assert item.span is not None and item.span.end <= len(text) - start
            if item.kind == "operator":
                assert item.label in analysis.source.slice(item.span)


def test_values_of_the_last_run_are_at_the_edges() -> None:
    text = document("E1 = step.Map(fn=double).apply(E0)\nreturn E1")
    analysis = analyze(text, "x.py")
    component = ComponentRow("fp32", (7, 5), (1.5, "nan", 2.0), 1.5, 2.0, 1.75, 1, 0)
    bytes_ = QuantityRow("4*M*N", 140)
    streams = tuple(
        StreamRow(name, "stream", "fp32", ("M", "N"), (5, 7), bytes_, (component,)) for name in ("E0", "E1")
    )
    view = graph(analysis, "main", run_of(*streams))
    assert view is not None
    assert [item.values for item in view.edges] == [("fp32 (7, 5): 1.5, nan, 2; 1.5 to 2; 1 NaN",)] * 2
    other = graph(analysis, "main", run_of(streams[0]))
    assert other is not None and all(item.values == () for item in other.edges)


def test_json_has_spans_or_ranges() -> None:
    _, view = drawn(document("return step.Map(fn=double).apply(E0)"))
    plain = as_json(view)
    assert plain["program"] == "main" and plain["findings"] == [] and plain["note"] == ""
    first = plain["edges"][0]
    assert {"id", "source", "target", "sourcePort", "targetPort", "stream", "type", "shape", "range"} <= first.keys()
    span = view.nodes[1].span
    assert span is not None and plain["nodes"][1]["range"]["start"] == {"line": 0, "character": span.start}
    assert "span" not in plain["nodes"][1]
    assert isinstance(view.nodes[0].span, Span)


def groups(text: str, name: str) -> list[tuple[str, str]]:
    view = graph(analyze(text, "file.py"), name)
    assert view is not None
    return [(node.label, node.group) for node in view.nodes if node.kind == "operator"]


def test_operators_of_one_line_are_a_group() -> None:
    text = ide_marks.program(
        "for _ in range(2):\n    E0 = step.Map(fn=double).apply(E0)\nreturn step.Accum(fn=add, b=1).apply(E0)"
    )
    line = "line 26: E0 = step.Map(fn=double).apply(E0)"
    assert groups(text, "program") == [("Map", line), ("Map", line), ("Accum", "")]


def test_comments_of_delivered_files_name_the_groups() -> None:
    text = ide_marks.program(
        "# line 3: y = relu(x)\nA = step.Map(fn=double).apply(E0)\nB = step.Map(fn=double).apply(A)\n"
        "# line 4: return y.sum(-1)\nC = step.Accum(fn=add, b=1).apply(B)\nreturn C"
    )
    assert groups(text, "program") == [
        ("Map", "line 3: y = relu(x)"), ("Map", "line 3: y = relu(x)"), ("Accum", ""),
    ]  # fmt: skip


def test_every_operator_has_a_colour_in_the_panel() -> None:
    drawing = (ROOT / "editor-extension/src/views/panel/draw.ts").read_text(encoding="utf-8")
    table = drawing.partition("const FAMILIES")[2].partition("};")[0]
    named = set(re.findall(r'^  (\w+): "\w+",$', table, re.MULTILINE))
    assert named >= {operator.__name__ for operator in OPERATORS}

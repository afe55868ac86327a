"""What is imported and tried out before ``initialize`` is answered, and after the first findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lsprotocol import types

from stepserver.parts import Parts
from stepserver.protocol import Protocol

_URI: Final = "file:///stepsmith-start.py"
_DOCUMENT: Final = {"uri": _URI, "version": 1}
_PLACE: Final = {"line": 0, "character": 0}
_AREA: Final = {"start": _PLACE, "end": _PLACE}
_OPEN: Final = {"textDocument": {**_DOCUMENT, "languageId": "python", "text": ""}}
_CHANGES: Final = [{"range": _AREA, "text": ""}, {"text": ""}]
# One message of each frequent kind: converters are made at the first use, which takes milliseconds.
_MESSAGES: Final[tuple[dict[str, Any], ...]] = (
    {"method": types.TEXT_DOCUMENT_DID_CHANGE, "params": {"textDocument": _DOCUMENT, "contentChanges": _CHANGES}},
    {"id": 1, "method": types.TEXT_DOCUMENT_HOVER, "params": {"textDocument": _DOCUMENT, "position": _PLACE}},
    {"id": 1, "method": types.TEXT_DOCUMENT_COMPLETION, "params": {"textDocument": _DOCUMENT, "position": _PLACE}},
)
_EXAMPLE: Final = """
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N

@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]

@step.program()
def sums(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    E1 = step.Map(fn=add).apply((E0, E0))
    return step.Accum(fn=add, b=1).apply(E0)
"""
# Of generation 2, with a finding and a fix: what its checks need is imported at the first program of its kind.
_TILES: Final = """
from typing import Annotated
import torch
import stepcore as step

ROW, T = step.Tile("fp32", [1, 4]), step.dyn("T")

@step.fn(input=(ROW, ROW), output=ROW, init=[0])
def add(state, input):
    return [torch.add(state[0] + input[0], input[1])]

@step.program(sizes={"?T": (0, 8)})
def rows(
    route: Annotated[step.Stream, step.Multihot(step.f32, 2), (T,)], *, w: Annotated[step.Param, step.f32, (4, 4)]
) -> Annotated[step.Stream, ROW, (T,)]:
    r0, r1, r2 = step.Copy(n=3).apply(route)
    E0 = step.Flatten(L=[1]).apply(step.LinearOffChipLoad(tensor=w, tile=[1, 4], shape=[1], stride=[1]).apply(r0))
    tiles = [step.Retile(axis=0).apply(step.Promote(b=1).apply(part)) for part in step.Partition(N=2).apply((E0, r1))]
    E1 = step.Reassemble().apply(([step.RetileStreamify(axis=0).apply(tile) for tile in tiles], r2))
    return step.Accum(fn=add, b=1).apply(step.Zip().apply((E1, E1)))
"""
_TASK: Final = """
constraints: >
  A text in a form that is left to the YAML parser, as half-typed blocks are.
inputs:
  - {name: E0, dims: [M, N], dtype: float32}
outputs:
  - {name: out, dims: [M, N], dtype: float32}
impl: |
  return E0
"""


def first(parts: Parts, protocol: Protocol) -> None:
    """Import what stands between an opened document of either generation and its findings."""
    from stepcore.ide.analysis import analyze
    from stepserver import convert  # noqa: F401
    from stepserver.handlers import session  # noqa: F401

    for name in ("documents", "analyses", "findings", "projects", "watch"):
        getattr(parts, name)
    analyze(_TILES, "start.py")
    protocol.structure_message({"jsonrpc": "2.0", "method": types.TEXT_DOCUMENT_DID_OPEN, "params": _OPEN})
    item = _example_finding(parts)
    if parts.workspace.client.pulls:
        from stepserver.handlers import diagnostics  # noqa: F401

        request = {"id": 1, "method": types.TEXT_DOCUMENT_DIAGNOSTIC, "params": {"textDocument": _DOCUMENT}}
        protocol.structure_message({"jsonrpc": "2.0", **request})
        report = types.RelatedFullDocumentDiagnosticReport([item], result_id=parts.findings.mark([item]))
        protocol.serialize(types.DocumentDiagnosticResponse(id=1, result=report))
    else:
        params = types.PublishDiagnosticsParams(_URI, [item], 1)
        protocol.serialize(types.PublishDiagnosticsNotification(params))


def _example_finding(parts: Parts) -> types.Diagnostic:
    """Return a finding with everything that one can have."""
    from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related
    from stepcore.text.span import SourceFile, Span
    from stepserver.documents import Module, Text

    module = Module(_URI, "start.py", [Text(_URI, "python", 1, SourceFile("start.py", ""))])
    module.renew()
    place = Span(0, 0)
    fix = Fix("", (Edit(place, ""),))
    located = parts.converter(module).diagnostic(
        Diagnostic("STEP101", place, "", related=(Related(place, ""),), fix=fix)
    )
    assert located is not None
    return located[1]


def rest(parts: Parts, protocol: Protocol) -> Iterator[None]:
    """Import the rest, and try everything on a small program; step by step, for messages may come in between."""
    from stepcore.ide.analysis import analyze
    from stepserver.documents import Module, Text

    for message in _MESSAGES:
        protocol.structure_message({"jsonrpc": "2.0", **message})
    for name in ("simulation", "simulators"):
        yield
        getattr(parts, name)
    parts.simulators.changed()
    yield
    from stepcore.ide import features
    from stepcore.ide.lasting import lasting

    yield
    from stepserver.handlers import diagnostics, language, programs  # noqa: F401 - so that no first request is slow

    yield
    analyze(_TASK, "start.step.yaml")
    yield
    lasting()
    yield
    analysis = analyze(_EXAMPLE, "start.py")
    module = Module(_URI, "start.py", [Text(_URI, "python", 1, analysis.source)])
    module.renew()
    convert = parts.converter(module)
    end = len(_EXAMPLE) - 2
    yield
    convert.completions(features.completions(analysis, end, snippets=True))
    yield
    hover = features.hover(analysis, end)
    answer = types.HoverResponse(id=1, result=None if hover is None else convert.hover(hover))
    protocol.serialize(answer)

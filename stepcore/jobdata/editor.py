"""What the language server tells an editor in messages of its own; the types of our extension are generated from here.

Positions are those of the protocol: lines and characters from 0, characters in the units that were negotiated. A
``line`` of its own counts from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepcore.jobdata.plain import Camel

ProgramState: TypeAlias = Literal[
    "idle", "stale", "queued", "running", "failed", "passed", "cancelled", "error", "norun"
]
SimulatorState: TypeAlias = Literal["off", "starting", "ready", "missing", "failed", "untrusted"]
SimulatorAction: TypeAlias = Literal["install", "select", "log"]
OrderState: TypeAlias = Literal["running", "done", "failed", "cancelled"]
Severity: TypeAlias = Literal["", "error", "warning", "information", "hint"]
NodeKind: TypeAlias = Literal["input", "operator", "output"]


@dataclass(frozen=True, slots=True)
class PlainPosition:
    """A position as the protocol writes it: zero-based, ``character`` counts UTF-16 units for our extension."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class PlainRange:
    """A range as the protocol writes it; the end is not included."""

    start: PlainPosition
    end: PlainPosition


# -- simulation --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a result first differs from its reference; the numbers are texts ("nan" is one).

    ``range`` is the place of the output in the document, where there is one.
    """

    output: int
    component: int
    index: tuple[int, ...]
    expected: str
    got: str
    range: PlainRange | None = None


@dataclass(frozen=True, slots=True)
class ProgramStatus(Camel):
    """One program of a document, as ``stepsmith/simulation`` reports it; ``range`` is its head.

    ``target`` is what ``simulate`` takes as ``program``. ``seconds`` is wall-clock time, null before the first run.
    ``stale``: something that the run depended on changed since this verdict; ``because`` says what, and ``was`` what
    the verdict was. Without ``has_reference`` there is nothing to compare with; such a program is no test.
    """

    name: str
    target: str
    range: PlainRange
    has_reference: bool
    state: ProgramState
    message: str
    seconds: float | None
    stale: bool
    was: ProgramState | None = None
    because: str | None = None
    mismatch: Mismatch | None = None


@dataclass(frozen=True, slots=True)
class SimulationParams:
    """Parameters of ``stepsmith/simulation``: all programs of one document, each time in full."""

    uri: str
    version: int | None
    programs: tuple[ProgramStatus, ...]


@dataclass(frozen=True, slots=True)
class SimulatorParams:
    """Parameters of ``stepsmith/simulator``: whether simulation is possible, and what a user can do if not."""

    state: SimulatorState
    message: str
    action: SimulatorAction | None = None


@dataclass(frozen=True, slots=True)
class SimulationStarted:
    """Answer to ``stepsmith.server.simulate``; ``message`` says why nothing was started."""

    started: bool
    message: str


# -- the graph ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the dataflow graph; ``doc`` is one sentence, ``severity`` that of the gravest finding.

    ``group`` is the source line that it shares with others, "" where it stands alone.
    """

    id: str
    kind: NodeKind
    label: str
    params: dict[str, str]
    doc: str
    line: int | None
    findings: tuple[str, ...]
    severity: Severity
    group: str
    range: PlainRange | None


@dataclass(frozen=True, slots=True)
class GraphEdge(Camel):
    """One consumption of a stream; ports count the outputs of ``source`` and the inputs of ``target``.

    ``values`` is what the last run saw, a line for each tuple component.
    """

    id: str
    source: str
    target: str
    source_port: int
    target_port: int
    stream: str
    type: str
    shape: str
    overused: bool
    values: tuple[str, ...]
    range: PlainRange | None


@dataclass(frozen=True, slots=True)
class GraphResult(Camel):
    """Answer to ``stepsmith/graph``. ``findings`` belong to no node, ``note`` says what is left out of the picture.

    ``is_broken``: a part of the program does not parse, so nodes may be missing. ``active_node`` is the cursor's.
    """

    version: int | None
    programs: tuple[str, ...]
    program: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    findings: tuple[str, ...]
    note: str
    is_broken: bool
    active_node: str | None

"""What the language server tells an editor in messages of its own; the types of our extension are generated from here.

Positions are those of the protocol: lines and characters from 0, characters in the units that were negotiated. A
``line`` of its own counts from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepcore.jobdata.failures import FailureDetail, Finding, Reads
from stepcore.jobdata.plain import Camel
from stepcore.jobdata.writing import AnswerParts, ProposedArgument, ProposedSizes, Solution

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


# -- writing programs --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrderStarted:
    """Answer to the commands that have programs written: the order's number, or 0 and why it is none."""

    id: int
    message: str


@dataclass(frozen=True, slots=True)
class News:
    """What is told of an order: how far it is, and at its end what came of it.

    While it runs: ``text`` and ``stage`` say what is going on, ``spent`` and ``answer`` what a model took and wrote. At
    the end: ``message`` says why there is no program; a job that failed has ``code`` and ``detail``. Of a function:
    ``verdict`` says at which sizes the programs were compared with it, ``file`` where they belong, ``line`` where the
    function is, ``inferred`` which sizes were taken for it, and ``task`` that others can be asked for a program. Of an
    order for sizes: ``sizes``.
    """

    text: str | None = None
    stage: str | None = None
    candidates: int | None = None
    spent: str | None = None
    answer: AnswerParts | None = None
    message: str | None = None
    solutions: tuple[Solution, ...] | None = None
    code: str | None = None
    detail: FailureDetail | None = None
    name: str | None = None
    line: int | None = None
    verdict: str | None = None
    file: str | None = None
    task: bool | None = None
    unsupported: tuple[Finding, ...] | None = None
    notes: tuple[str, ...] | None = None
    inferred: ProposedSizes | None = None
    sizes: ProposedSizes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingParams(News):
    """Parameters of ``stepsmith/writing``. The last one of an order is ``done``, ``failed`` or ``cancelled``."""

    id: int
    uri: str
    state: OrderState


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """How a model is asked."""

    temperature: float | None
    max_tokens: int


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """Parameters of the request ``stepsmith/model``, which the server sends to the client."""

    kind: Literal["model"]
    messages: tuple[ModelMessage, ...]
    options: ModelLimits


FaultName: TypeAlias = Literal[
    "timeout", "connection", "unknown host", "certificate", "rate limited", "server error", "not JSON", "too long",
    "refused", "empty", "bad request", "authentication", "no such model or address", "no credit", "not sent", "other",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelText:
    """The answer of a model."""

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFault:
    """What went wrong with a question to a model."""

    fault: FaultName
    message: str


ModelAnswer: TypeAlias = ModelText | ModelFault

__all__ = [
    "AnswerParts", "FailureDetail", "FaultName", "Finding", "GraphEdge", "GraphNode", "GraphResult", "Mismatch",
    "ModelAnswer", "ModelFault", "ModelLimits", "ModelMessage", "ModelQuestion", "ModelText", "NodeKind",
    "OrderStarted", "OrderState", "PlainPosition", "PlainRange", "ProgramState", "ProgramStatus", "ProposedArgument",
    "ProposedSizes", "Reads", "Severity", "SimulationParams", "SimulationStarted", "SimulatorAction",
    "SimulatorParams", "SimulatorState", "Solution", "WritingParams",
]  # fmt: skip

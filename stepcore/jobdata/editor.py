"""What the language server tells an editor in messages of its own, and the orders that it takes from one.

The types of our extension are generated from here. What a client orders is read strictly.

Positions are those of the protocol: lines and characters from 0, characters in the units that were negotiated. A
``line`` of its own counts from 1.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, TypeAlias

from stepcore.jobdata.choices import (
    Emit,
    FigureMark,
    NodeKind,
    OptimizeGoal,
    OptimizeProposer,
    OrderState,
    SimulatorAction,
    TimingEngine,
)
from stepcore.jobdata.failures import FailureDetail, Finding, Reads
from stepcore.jobdata.faster import (
    ExplainedRewrites,
    ExplainOrder,
    OptimizeOrder,
    OptimizeStarted,
    OptimizeStop,
    OptimizingParams,
    ProgramChoice,
    RewriteReason,
    Taken,
    TakeOrder,
)
from stepcore.jobdata.optimizing import (
    FasterPoint,
    FasterResult,
    FasterStep,
    Figures,
    ModelProposal,
    OptimizeOptions,
    ProposerOptions,
)
from stepcore.jobdata.places import PlainPosition, PlainRange
from stepcore.jobdata.plain import Camel
from stepcore.jobdata.writing import AnswerParts, ProposedArgument, ProposedSizes, Solution, WritingOptions
from stepcore.records import Record

ProgramState: TypeAlias = Literal[
    "idle", "stale", "queued", "running", "failed", "passed", "cancelled", "error", "norun"
]
SimulatorState: TypeAlias = Literal["off", "starting", "ready", "missing", "failed", "untrusted"]
Severity: TypeAlias = Literal["", "error", "warning", "information", "hint"]
TimingState: TypeAlias = Literal["timed", "timing", "outdated", "stopped", "untimed"]


# -- simulation --------------------------------------------------------------------------------------------------


class Mismatch(Record):
    """Where a result first differs from its reference; the numbers are texts ("nan" is one).

    ``range`` is the place of the output in the document, where there is one.
    """

    output: int
    component: int
    index: tuple[int, ...]
    expected: str
    got: str
    range: PlainRange | None = None


class ProgramStatus(Record, Camel):
    """One program of a document, as ``stepsmith/simulation`` reports it; ``range`` is its head.

    ``target`` is what ``simulate`` takes as ``program``. ``seconds`` is wall-clock time, null before the first run.
    ``stale``: something that the run depended on changed since this verdict; ``because`` says what, and ``was`` what
    the verdict was. Without ``has_reference`` there is nothing to compare with; such a program is no test.
    ``provisional``: the run goes on, and may make this verdict worse; what it comes to always follows.
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
    provisional: bool = False


class SimulationParams(Record):
    """Parameters of ``stepsmith/simulation``: all programs of one document, each time in full."""

    uri: str
    version: int | None
    programs: tuple[ProgramStatus, ...]


class SimulatorParams(Record):
    """Parameters of ``stepsmith/simulator``: whether simulation is possible, and what a user can do if not."""

    state: SimulatorState
    message: str
    action: SimulatorAction | None = None


class SimulationStarted(Record):
    """Answer to ``stepsmith.server.simulate``; ``message`` says why nothing was started."""

    started: bool
    message: str


# -- timing ------------------------------------------------------------------------------------------------------


class TimingFigure(Record):
    """What stands behind an operator; ``detail`` is Markdown for a hover."""

    position: PlainPosition
    label: str
    mark: FigureMark
    detail: str


class ProgramTiming(Record, Camel):
    """How fast one program is, as ``stepsmith/timing`` reports it; ``range`` is its head.

    ``cycles`` is null where there are none: it was never timed, or it stopped. ``stale``: the figures are those of an
    earlier text, or of another chip, which ``because`` says. ``message`` says why it is not timed, or where it stopped.
    """

    name: str
    range: PlainRange
    state: TimingState
    engine: TimingEngine
    message: str
    cycles: int | None
    stale: bool
    headline: str
    figures: tuple[TimingFigure, ...]
    because: str | None = None


class TimingParams(Record, Camel):
    """Parameters of ``stepsmith/timing``: all programs of one document, each time in full.

    ``chip`` is the one in force, ``origin`` who chose it ("" for the default), ``problem`` why it cannot be used.
    """

    uri: str
    version: int | None
    chip: str
    origin: str
    problem: str
    programs: tuple[ProgramTiming, ...]


class TimelineResult(Record, Camel):
    """Answer to ``stepsmith/timeline``: what each unit of a program did when, in Chrome's trace format.

    ``lines`` are those of the units in order, from 1; 0 for what no operator stands for. ``problem`` says why there is
    nothing to show; ``trace`` is null then.
    """

    program: str
    chip: str
    cycles: int
    stopped: bool
    lines: tuple[int, ...]
    trace: Any
    problem: str


# -- the graph ---------------------------------------------------------------------------------------------------


class NodeTiming(Record):
    """How busy a node is: ``share`` of the run's cycles from 0 to 1, ``text`` for its box, ``detail`` for a tooltip."""

    share: float
    text: str
    detail: str
    mark: FigureMark


class EdgeTiming(Record):
    """The FIFO of a stream: its greatest ``fill``, its ``depth``, and whether a unit of a ring waits for it."""

    fill: int
    depth: int
    waits: Literal["", "full", "empty", "memory"]


class GraphTiming(Record):
    """The timing of a drawn program; ``stale``: it is that of an earlier text, or of another chip."""

    headline: str
    chip: str
    stale: bool
    stopped: bool


class GraphNode(Record):
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
    timing: NodeTiming | None = None


class GraphEdge(Record, Camel):
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
    timing: EdgeTiming | None = None


class GraphResult(Record, Camel):
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
    timing: GraphTiming | None = None


# -- writing programs --------------------------------------------------------------------------------------------


class WriteOrder(WritingOptions, kw_only=True):
    """Argument of ``stepsmith.server.write``; ``apply`` has the server put the best program into the document.

    ``asker`` is what questions of this order to a model are marked with, so that its consent covers no other's.
    """

    uri: str
    apply: bool = False
    asker: str = ""


class SizesOrder(Record, kw_only=True):
    """Argument of ``stepsmith.server.sizes``: a function, by a ``line`` or a ``range``, and what its user says of it.

    ``inputs`` are texts such as ``x=m k``; ``dims`` binds sizes.
    """

    uri: str
    line: int | None = None
    range: PlainRange | None = None
    inputs: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict)


class SynthesizeOrder(SizesOrder, WritingOptions, kw_only=True):
    """Argument of ``stepsmith.server.synthesize``; ``apply`` has the server create the file of the best program.

    ``emit`` ``auto`` asks for a program over tiles, for the chip of the document, or where there is none for one of
    single numbers, which is what ``python`` asks for. ``asker`` is as in :class:`WriteOrder`.
    """

    emit: Emit = "auto"
    apply: bool = False
    asker: str = ""


class StopOrder(Record):
    """Argument of ``stepsmith.server.stopWriting``: the number of an order; without one, all are stopped."""

    id: int | None = None


class Stopped(Record):
    """Answer to it: how many orders were stopped, or what is wrong with the argument."""

    stopped: int
    message: str = ""


class ImplOrder(Record):
    """Argument of ``stepsmith.server.withImpl``: a document, and the program that it is to have."""

    uri: str
    impl: str


class TextWithImpl(Record):
    """Answer to it: the document's text with that program, or why there is none."""

    text: str
    message: str


class OrderStarted(Record):
    """Answer to the commands that have programs written: the order's number, or 0 and why it is none."""

    id: int
    message: str


class News(Record):
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


class WritingParams(News, kw_only=True):
    """Parameters of ``stepsmith/writing``. The last one of an order is ``done``, ``failed`` or ``cancelled``."""

    id: int
    uri: str
    state: OrderState


# -- language models ---------------------------------------------------------------------------------------------


class ModelMessage(Record):
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    content: str


class ModelLimits(Record):
    """How a model is asked."""

    temperature: float | None
    max_tokens: int


class ModelQuestion(Record):
    """Parameters of the request ``stepsmith/model``, which the server sends to the client.

    ``asker`` is that of the order for which it is asked, whatever the worker says.
    """

    kind: Literal["model"]
    messages: tuple[ModelMessage, ...]
    options: ModelLimits
    asker: str = ""


FaultName: TypeAlias = Literal[
    "timeout", "connection", "unknown host", "certificate", "rate limited", "server error", "not JSON", "too long",
    "refused", "empty", "bad request", "authentication", "no such model or address", "no credit", "not sent", "other",
]  # fmt: skip


class ModelText(Record):
    """The answer of a model."""

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class ModelFault(Record):
    """What went wrong with a question to a model."""

    fault: FaultName
    message: str


ModelAnswer: TypeAlias = ModelText | ModelFault

__all__ = [
    "AnswerParts", "EdgeTiming", "ExplainOrder", "ExplainedRewrites", "FailureDetail", "FasterPoint",
    "FasterResult", "FasterStep", "FaultName", "FigureMark", "Figures", "Finding", "GraphEdge", "GraphNode",
    "GraphResult", "GraphTiming", "ImplOrder", "Mismatch", "ModelAnswer", "ModelFault", "ModelLimits",
    "ModelMessage", "ModelProposal", "ModelQuestion", "ModelText", "NodeKind", "NodeTiming", "OptimizeGoal",
    "OptimizeOptions", "OptimizeOrder", "OptimizeProposer", "OptimizeStarted", "OptimizeStop", "OptimizingParams",
    "OrderStarted", "OrderState", "PlainPosition", "PlainRange", "ProgramChoice", "ProgramState", "ProgramStatus",
    "ProgramTiming", "ProposedArgument", "ProposedSizes", "ProposerOptions", "Reads", "RewriteReason", "Severity",
    "SimulationParams", "SimulationStarted", "SimulatorAction", "SimulatorParams", "SimulatorState", "SizesOrder",
    "Solution", "StopOrder", "Stopped", "SynthesizeOrder", "TakeOrder", "Taken", "TextWithImpl", "TimelineResult",
    "TimingEngine", "TimingFigure", "TimingParams", "TimingState", "WriteOrder", "WritingOptions", "WritingParams",
]  # fmt: skip

"""Jobs of the agents' worker that an editor starts: ``propose`` for tasks, ``function`` and ``sizes`` for functions.

Costs are None where the task does not decide them. An option that is None is left to the worker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from stepcore.jobdata.failures import Finding
from stepcore.jobdata.kinds import JobKind

Emit: TypeAlias = Literal["python", "task"]


@dataclass(frozen=True, slots=True)
class Solution:
    """One verified program and what it costs, at the ``sizes``; of one for a function its whole file, too (``text``).

    ``layout`` says in words how its values stream, ``layers`` of how many a network consists. ``traffic_ratio`` is
    off-chip traffic over the compulsory: each input and output once.
    """

    impl: str
    operators: int
    on_chip_bytes: int | None
    off_chip_bytes: int | None
    streaming_degree: float | None
    compulsory_bytes: int | None
    traffic_ratio: float | None
    sizes: dict[str, int]
    text: str | None = None
    layout: str | None = None
    proposer: str | None = None
    layers: int | None = None
    distinct_layers: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """What one answer of a model adds to the document about all: its beginning, a section, how it ends so far."""

    closing: str
    opening: str | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class WritingProgress:
    """How far a job is: a stage or a text, what a model took so far, in words, and what it answered.

    ``part``: a layer begins, one of ``layers``, for which the time of the job counts anew.
    """

    text: str = ""
    stage: str = ""
    candidates: int = 0
    spent: str | None = None
    answer: AnswerParts | None = None
    part: bool = False
    layers: int = 0


@dataclass(frozen=True)
class ModelOptions:
    """What an order for a model may say besides: how many answers, how many corrections of each, its name, its price.

    The worker looks into ``price`` and ``answers_without_program`` (:mod:`stepcore.settings.config`).
    """

    samples: int | None = None
    repair: int | None = None
    model: str | None = None
    price: Any = None
    answers_without_program: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRequest(ModelOptions):
    """A task; at most so many ``solutions``, in ``seconds`` for all of them."""

    path: str
    text: str
    proposer: str | None = None
    solutions: int | None = None
    seconds: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ProposeResult:
    """Distinct programs, the cheapest first; ``reason`` says why there are none, ``candidates`` how many were tried."""

    solutions: tuple[Solution, ...]
    reason: str
    candidates: int


@dataclass(frozen=True, kw_only=True)
class SizesRequest:
    """A function: ``selector`` is a name, a line or lines, ``inputs`` are texts such as ``x=m k``.

    ``root`` is the folder whose files may call it. The file is run, so its owner has to be ``trusted``.
    """

    path: str
    text: str
    selector: str
    trusted: bool
    inputs: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict)
    root: str = ""


@dataclass(frozen=True, kw_only=True)
class FunctionRequest(SizesRequest, ModelOptions):
    """A function of which a program is wanted, in ``folder``; ``budget`` is in seconds, for others than the lowering.

    ``impls`` are programs that ``writer`` wrote, ``experiences`` teach a search.
    """

    emit: Emit = "python"
    folder: str = ""
    seed: int | None = None
    proposer: str | None = None
    budget: float | None = None
    experiences: tuple[Any, ...] = ()
    impls: tuple[str, ...] = ()
    writer: str = ""


@dataclass(frozen=True, slots=True)
class ProposedArgument:
    """One argument: ``text`` as ``--input`` takes it behind ``=``, where it comes from, and whether that is open."""

    name: str
    text: str
    source: str
    open: bool
    tensor: bool


@dataclass(frozen=True, slots=True)
class ProposedSizes:
    """Sizes of the arguments of a function; ``note`` is the comment that says so: ``x[m, k], n=3``.

    ``problem`` says why it does not run at them. ``settled``: it runs, and no size is only a guess. ``name`` and
    ``line`` are the function's.
    """

    arguments: tuple[ProposedArgument, ...]
    note: str
    problem: str
    settled: bool
    name: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """What came of a function: its programs, best first, or the findings that say why there is none.

    ``inferred`` are sizes that nobody gave, ``fixed`` says of sizes why they are numbers, ``checked_at`` has the sizes
    of all checks. ``task`` is the function as a task without an answer, empty where it cannot be written as one.
    ``peak_bytes`` and ``cpu_seconds`` are the worker's.
    """

    name: str
    path: str
    line: int
    solved: bool
    programs: tuple[Solution, ...]
    unsupported: tuple[Finding, ...]
    notes: tuple[str, ...]
    sizes: dict[str, int]
    inferred: ProposedSizes | None
    fixed: dict[str, str]
    reason: str
    candidates: int
    checked_at: tuple[dict[str, int], ...]
    seconds: float
    task: str
    peak_bytes: int | None
    cpu_seconds: float


PROPOSE: Final = JobKind("propose", ProposeRequest, WritingProgress, ProposeResult)
FUNCTION: Final = JobKind("function", FunctionRequest, WritingProgress, FunctionResult)
SIZES: Final = JobKind("sizes", SizesRequest, WritingProgress, ProposedSizes)

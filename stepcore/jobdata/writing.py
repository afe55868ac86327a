"""Jobs of the agents' worker that write programs: ``propose`` for tasks, ``function`` and ``sizes`` for functions.

For commands each proposer is a job of its own that writes one program. Costs are None where the task does not decide
them.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, TypeAlias

from stepcore.jobdata.choices import Emit, ProgramForm
from stepcore.jobdata.failures import Finding
from stepcore.jobdata.kinds import JobKind
from stepcore.records import Record


class Experience(Record):
    """A verified program and what it took to get it.

    ``task_text`` is the task's file without its ``impl``: an experience stands for itself when the file is gone.
    ``success_rate`` is accepted answers by judged answers when it was earned, in (0, 1]: the lower, the harder.
    ``cost`` is in US dollars, ``seconds`` is time spent on the task by all workers together.
    """

    task: str
    task_text: str
    impl: str
    proposer: str
    success_rate: float
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class Solution(Record):
    """One verified program and what it costs, at the ``sizes``; of one for a function its whole file, too (``text``).

    ``layout`` says in words how its values stream, ``layers`` of how many a network consists. ``traffic_ratio`` is
    off-chip traffic over the compulsory: each input and output once. ``form`` is that of its elements, single numbers
    or tiles. ``timing`` says in an editor what it takes on the chip; ``cycles`` where it comes to its end, and how many
    times the least possible they are (``ratio``).
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
    cycles: int | None = None
    timing: str | None = None
    form: ProgramForm = "scalar"
    ratio: float | None = None


class AnswerParts(Record):
    """What one answer of a model adds to the document about all: its beginning, a section, how it ends so far."""

    closing: str
    opening: str | None = None
    section: str | None = None


class WritingProgress(Record):
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


class WritingOptions(Record, kw_only=True):
    """What whoever wants programs may say besides; None is left to the proposer, see its line of the registry.

    ``proposer`` is a name of :data:`stepcore.jobs.proposers.PROPOSERS`. At most so many ``solutions``, in ``seconds``
    for all of them; ``samples`` are candidates of a search, or answers of a model. A model corrects each answer
    ``repair`` times; ``model`` is its name, ``price`` what it costs. The worker looks into ``price`` and
    ``answers_without_program`` (:mod:`stepcore.settings.config`).
    """

    proposer: str | None = None
    solutions: int = 3
    seconds: float | None = None
    seed: int | None = None
    samples: int | None = None
    repair: int | None = None
    model: str | None = None
    price: tuple[Any, ...] | None = None
    answers_without_program: int | None = None


class ProposeRequest(WritingOptions, kw_only=True):
    """A task, for the job ``propose`` and for those with which commands have one program written.

    ``experiences`` teach the proposer, or ``costs`` that a job of its own made of them. A model is asked ``at_once`` so
    many questions.
    """

    path: str
    text: str
    experiences: tuple[Experience, ...] = ()
    costs: dict[str, Any] | None = None
    at_once: int | None = None


class ProposeResult(Record):
    """Distinct programs, the cheapest first; ``reason`` says why there are none, ``candidates`` how many were tried."""

    solutions: tuple[Solution, ...]
    reason: str
    candidates: int


class SizesRequest(Record, kw_only=True):
    """A function: ``selector`` is a name, a line or lines, ``inputs`` are texts such as ``x=m k``.

    ``root`` is the folder whose files may call it. The file is run, so its owner has to be ``trusted``; one call may
    take ``call_seconds``.
    """

    path: str
    text: str
    selector: str
    trusted: bool
    inputs: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict)
    root: str = ""
    call_seconds: float = 10.0


class FunctionRequest(SizesRequest, WritingOptions, kw_only=True):
    """A function of which programs are wanted, in ``folder``; ``seconds`` are for others than the lowering.

    ``proposer`` is one of :data:`stepcore.jobs.proposers.FOR_FUNCTIONS`. ``impls`` are programs that ``writer`` wrote
    for the result's ``task``, ``experiences`` teach a search. With ``emit`` ``auto`` the lowering writes a program over
    tiles where there is one, else one of single numbers; tiles are chosen for the ``chip``, the text of a description
    ("": the project's).
    """

    emit: Emit = "python"
    chip_name: str = ""
    chip: str = ""
    folder: str = ""
    experiences: tuple[Experience, ...] = ()
    impls: tuple[str, ...] = ()
    writer: str = ""


class ProposedArgument(Record):
    """One argument: ``text`` as ``--input`` takes it behind ``=``, where it comes from, and whether that is open."""

    name: str
    text: str
    source: str
    open: bool
    tensor: bool


class ProposedSizes(Record):
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


class FunctionResult(Record):
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


class SampleResult(Record):
    """What came of one order; ``details`` are further facts for whoever knows this proposer."""

    solved: bool
    impl: str
    reason: str
    candidates: int
    note: str
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


class PriorRequest(Record):
    """What a search is to learn from."""

    experiences: tuple[Experience, ...]


SampleKind: TypeAlias = JobKind[ProposeRequest, WritingProgress, SampleResult]


def sample_kind(proposer: str) -> SampleKind:
    """Return the kind of job that has a proposer write one program."""
    return JobKind(proposer, ProposeRequest, WritingProgress, SampleResult)


def prior_kind(name: str) -> JobKind[PriorRequest, None, dict[str, Any]]:
    """Return the kind of job that makes costs of moves of experience; only the search reads them."""
    return JobKind(name, PriorRequest, type(None), dict[str, Any])


PROPOSE: Final = JobKind("propose", ProposeRequest, WritingProgress, ProposeResult)
FUNCTION: Final = JobKind("function", FunctionRequest, WritingProgress, FunctionResult)
SIZES: Final = JobKind("sizes", SizesRequest, WritingProgress, ProposedSizes)

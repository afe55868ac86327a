"""The jobs of the simulator's worker: ``verify``, ``simulate`` and ``about``.

Sizes of streams are innermost first, shapes of tensors outermost first. Times are wall-clock seconds. A number that
JSON has no word for is the text "nan", "inf" or "-inf"; lines and columns count from 1.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, Literal, TypeAlias, cast

from stepcore.jobdata.choices import AffineRule
from stepcore.jobdata.failures import Reads
from stepcore.jobdata.kinds import JobKind
from stepcore.records import Record

Number: TypeAlias = float | str


class AnswerFile(Record):
    """The file of an answer that is verified in the place of a task's own ``impl``."""

    path: str
    text: str


class VerifyRequest(Record):
    """A task or a Python file; ``path`` as users know it, ``file`` absolute (a worker stands in a folder of its own).

    ``program`` chooses one of a Python file, ``dims`` replaces default sizes. Jobs with one ``batch`` that follow one
    another import a user's file once. ``clean``: this is a task, and its sender, which is of this very version, checked
    this text and found no error; its functions, ``global`` and references are not searched for errors again.
    """

    path: str
    text: str
    file: str = ""
    program: str | None = None
    impl: AnswerFile | None = None
    dims: dict[str, int] = field(default_factory=dict)
    seed: int = 42
    affine: AffineRule = "strict"
    batch: str | None = None
    clean: bool = False

    @property
    def place(self) -> str:
        """Where the file is."""
        return self.file or self.path


class SimulateRequest(VerifyRequest):
    """One program; ``values`` says how many numbers of each tensor are told, ``selectors`` whether these are, too.

    ``order`` is that in which timing has chunks arrive, by the number of an operator
    (:attr:`stepcore.cycles.routes.ProgramRoutes.arrival`); what it does not say is done in the stated order. With
    ``settling`` a program in which arrival decides is run and not verified: its order may not be the last.
    """

    values: int = 8
    selectors: bool = False
    order: dict[str, tuple[int, ...]] = field(default_factory=dict)
    settling: bool = False


class OperatorsDone(Record):
    """``operator`` of the program's operators are done."""

    operator: int
    of: int


class ShapeRow(Record):
    """Whether the returned types and sizes are the declared ones."""

    ok: bool
    detail: str


class FunctionalRow(Record):
    """Whether the values are those of the reference; errors are None where nothing was compared or they are infinite.

    ``code`` names the kind of failure, "" where there is none.
    """

    ok: bool
    detail: str
    max_abs_error: float | None
    max_abs_error_fp64: float | None
    code: str


class AffineRow(Record):
    """Whether every stream is consumed at most once; ``count`` copies are missing."""

    ok: bool
    count: int
    detail: str


class MismatchRow(Record):
    """The first entry that differs: ``index``, outermost first, into the tensor ``component`` of ``output``."""

    output: int
    component: int
    index: tuple[int, ...]
    expected: Number
    got: Number


class NanOriginRow(Record):
    """The operator, and its output, in which the first value that is not finite appears; ``kind`` is NaN or Inf."""

    kind: str
    operator: str
    stream: str
    line: int
    column: int


class ConditionRow(Record):
    """What a verification does not say of a condition, and where that stands, from 1 (0: nobody knows)."""

    note: str
    line: int
    column: int


class UntestedRow(Record):
    """What a verdict is not worth: inputs on which no result depends, results that are the same for all inputs.

    ``fixed`` are inputs that are all ones or zeros as drawn, without which the program is right for these only;
    ``conditions`` went one way on all data.
    """

    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    note: str
    fixed: tuple[str, ...] = ()
    conditions: tuple[ConditionRow, ...] = ()


class ArrivalRow(Record):
    """STEP414: results depend on the order in which chunks arrive at the operator of ``node`` of the graph."""

    code: str
    operator: str
    node: int
    line: int
    column: int
    note: str


class VerdictRow(Record):
    """The verdict on one program, script or composition, with the keys that ``stepsmith verify --format json`` has.

    ``arrival`` says where results depend on the order of arrival, of a program that ran.
    """

    task: str
    path: str
    accepted: bool
    shape: ShapeRow
    functional: FunctionalRow
    affine: AffineRow
    seconds: float
    mismatch: MismatchRow | None
    nan_origin: NanOriginRow | None
    untested: UntestedRow | None
    arrival: tuple[ArrivalRow, ...] = ()


class QuantityRow(Record):
    """Bytes or operations as an expression of sizes, and at the sizes of the run; None is what is not known."""

    symbolic: str | None
    bound: int | None


class ComponentRow(Record):
    """One tensor of a stream: its first values, row by row, and statistics over the finite ones."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[Number, ...]
    min: float | None
    max: float | None
    mean: float | None
    nan: int
    infinite: int


class StreamRow(Record):
    """One stream: ``shape`` symbolic, ``sizes`` bound."""

    name: str
    role: Literal["input", "output", "stream"]
    type: str
    shape: tuple[str, ...]
    sizes: tuple[int, ...]
    bytes: QuantityRow
    components: tuple[ComponentRow, ...]


class OperatorRow(Record):
    """One operator; ``inputs`` and ``outputs`` are names of streams, ``shapes`` those of its outputs."""

    operator: str
    parameters: dict[str, str | tuple[str, ...]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[str, ...]
    line: int
    seconds: float
    on_chip: QuantityRow
    flops: QuantityRow


class MetricsRow(Record):
    """What a program costs, see :mod:`stepcore.costs.metrics`."""

    off_chip_traffic: QuantityRow
    on_chip_requirement: QuantityRow
    flops: QuantityRow
    operational_intensity: float | None
    streaming_degree: float | None
    compulsory_traffic: QuantityRow
    traffic_ratio: float | None
    useful_flops: int | None  # None where nothing is filled up


class SimulateResult(Record):
    """What a program did. ``streams`` are those of its graph, in its order; ``verdict`` is None without a reference.

    ``arrival`` says where results depend on the order of arrival; ``settling`` that neither this nor a verdict was
    looked for.

    For timing, and only where ``selectors`` were asked for: they have, by the number of a stream that selects, the
    branches of each position; ``levels`` has, by the number of a stream whose lists differ in length, its sizes,
    innermost first (one number, or one for each list); ``measured`` are those that only the data decide, by text.
    """

    program: str
    path: str
    dims: dict[str, int]
    seed: int
    seconds: float
    streams: tuple[StreamRow, ...]
    operators: tuple[OperatorRow, ...]
    metrics: MetricsRow
    warnings: tuple[str, ...]
    verdict: VerdictRow | None
    reads: Reads
    arrival: tuple[ArrivalRow, ...] = ()
    selectors: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    levels: dict[str, tuple[int | tuple[int, ...], ...]] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    settling: bool = False


class Decided(Record):
    """The verdict of a simulation on the data drawn, before streams are described and the verdict is examined.

    The result of the job has it as it stands in the end: with what it is not worth, or rejected on stronger data or
    other sizes. ``reads`` is what the run has read so far.
    """

    verdict: VerdictRow
    reads: Reads


class AboutResult(Record):
    """What a worker runs on; ``isolation`` is as :meth:`stepcore.isolation.Report.as_json` gives it."""

    python: str
    torch: str
    threads: int
    isolation: dict[str, Any]
    memory_limited: bool


SimulateNews: TypeAlias = OperatorsDone | Decided

VERIFY: Final = JobKind("verify", VerifyRequest, type(None), tuple[VerdictRow, ...])
SIMULATE: Final = JobKind("simulate", SimulateRequest, cast("type[SimulateNews]", SimulateNews), SimulateResult)
ABOUT: Final = JobKind("about", type(None), type(None), AboutResult)

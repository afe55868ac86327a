"""The jobs of the simulator's worker: ``verify``, ``simulate`` and ``about``.

Sizes of streams are innermost first, shapes of tensors outermost first. Times are wall-clock seconds. A number that
JSON has no word for is the text "nan", "inf" or "-inf"; lines and columns count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from stepcore.jobdata.failures import Reads
from stepcore.jobdata.kinds import JobKind

Affine: TypeAlias = Literal["strict", "paper"]
Number: TypeAlias = float | str


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The file of an answer that is verified in the place of a task's own ``impl``."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A task or a Python file; ``path`` as users know it, ``file`` absolute (a worker stands in a folder of its own).

    ``program`` chooses one of a Python file, ``dims`` replaces default sizes. Jobs with one ``batch`` that follow one
    another import a user's file once.
    """

    path: str
    text: str
    file: str = ""
    program: str | None = None
    impl: AnswerFile | None = None
    dims: dict[str, int] = field(default_factory=dict)
    seed: int = 42
    affine: Affine = "strict"
    batch: str | None = None

    @property
    def place(self) -> str:
        """Where the file is."""
        return self.file or self.path


@dataclass(frozen=True, slots=True)
class SimulateRequest(VerifyRequest):
    """One program; ``values`` says how many numbers of each tensor are told."""

    values: int = 8


@dataclass(frozen=True, slots=True)
class OperatorsDone:
    """``operator`` of the program's operators are done."""

    operator: int
    of: int


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """Whether the returned types and sizes are the declared ones."""

    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class FunctionalRow:
    """Whether the values are those of the reference; errors are None where nothing was compared or they are infinite.

    ``code`` names the kind of failure, "" where there is none.
    """

    ok: bool
    detail: str
    max_abs_error: float | None
    max_abs_error_fp64: float | None
    code: str


@dataclass(frozen=True, slots=True)
class AffineRow:
    """Whether every stream is consumed at most once; ``count`` copies are missing."""

    ok: bool
    count: int
    detail: str


@dataclass(frozen=True, slots=True)
class MismatchRow:
    """The first entry that differs: ``index``, outermost first, into the tensor ``component`` of ``output``."""

    output: int
    component: int
    index: tuple[int, ...]
    expected: Number
    got: Number


@dataclass(frozen=True, slots=True)
class NanOriginRow:
    """The operator, and its output, in which the first value that is not finite appears; ``kind`` is NaN or Inf."""

    kind: str
    operator: str
    stream: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class UntestedRow:
    """What a verdict is not worth: inputs on which no result depends, results that are the same for all inputs."""

    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """The verdict on one program, script or composition, with the keys that ``stepsmith verify --format json`` has."""

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


@dataclass(frozen=True, slots=True)
class QuantityRow:
    """Bytes or operations as an expression of sizes, and at the sizes of the run; None is what is not known."""

    symbolic: str | None
    bound: int | None


@dataclass(frozen=True, slots=True)
class ComponentRow:
    """One tensor of a stream: its first values, row by row, and statistics over the finite ones."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[Number, ...]
    min: float | None
    max: float | None
    mean: float | None
    nan: int
    infinite: int


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream: ``shape`` symbolic, ``sizes`` bound."""

    name: str
    role: Literal["input", "output", "stream"]
    type: str
    shape: tuple[str, ...]
    sizes: tuple[int, ...]
    bytes: QuantityRow
    components: tuple[ComponentRow, ...]


@dataclass(frozen=True, slots=True)
class OperatorRow:
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


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """What a program costs, see :mod:`stepcore.costs.metrics`."""

    off_chip_traffic: QuantityRow
    on_chip_requirement: QuantityRow
    flops: QuantityRow
    operational_intensity: float | None
    streaming_degree: float | None
    compulsory_traffic: QuantityRow
    traffic_ratio: float | None


@dataclass(frozen=True, slots=True)
class SimulateResult:
    """What a program did. ``streams`` are those of its graph, in its order; ``verdict`` is None without a reference."""

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


@dataclass(frozen=True, slots=True)
class AboutResult:
    """What a worker runs on; ``isolation`` is as :meth:`stepcore.isolation.Report.as_json` gives it."""

    python: str
    torch: str
    threads: int
    isolation: dict[str, Any]
    memory_limited: bool


VERIFY: Final = JobKind("verify", VerifyRequest, type(None), tuple[VerdictRow, ...])
SIMULATE: Final = JobKind("simulate", SimulateRequest, OperatorsDone, SimulateResult)
ABOUT: Final = JobKind("about", type(None), type(None), AboutResult)

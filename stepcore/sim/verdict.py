"""What a verification reports. Plain data, no torch here."""

from __future__ import annotations

from dataclasses import dataclass

from stepcore.span import Span


@dataclass(frozen=True, slots=True)
class ShapePart:
    """Whether the returned types and dims equal the declared ones."""

    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FunctionalPart:
    """Whether every component is close to its reference.

    ``max_abs_error`` is the largest absolute difference in the run's own precision, ``max_abs_error_fp64`` that of
    the run in fp64, which takes place after a mismatch and then decides. Infinite where NaN, Inf or shapes
    differ; None where nothing was compared. ``code`` names the kind of failure, ``span`` its place in the text of a
    function or reference.
    """

    ok: bool
    detail: str = ""
    max_abs_error: float | None = None
    max_abs_error_fp64: float | None = None
    code: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class AffinePart:
    """Whether every stream is consumed at most once; ``count`` violations."""

    ok: bool
    count: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MismatchPlace:
    """The first entry that differs: ``index`` is outermost first, into the tensor of ``component`` of ``output``."""

    output: int
    component: int
    index: tuple[int, ...]
    expected: float
    got: float


@dataclass(frozen=True, slots=True)
class NanOrigin:
    """Where a value that is not finite (``kind`` is ``NaN`` or ``Inf``) appeared though the inputs had none.

    ``node`` is the index of the operator in the graph, ``stream`` that of its output; ``name`` is the stream's.
    """

    node: int
    stream: int
    kind: str
    operator: str
    name: str


@dataclass(frozen=True, slots=True)
class Untested:
    """What a verification says nothing about, on the data drawn and on stronger data.

    ``inputs`` are inputs and parameters that the reference computes with, and on which no result depends;
    ``outputs`` are results that were the same for all inputs.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def both(self, other: Untested | None) -> Untested | None:
        """Return what neither of two verifications of one task tests."""
        if other is None:
            return None
        inputs = tuple(name for name in self.inputs if name in other.inputs)
        outputs = tuple(name for name in self.outputs if name in other.outputs)
        return Untested(inputs, outputs) if inputs or outputs else None

    @property
    def note(self) -> str:
        """The consequence, for people."""
        parts: list[str] = []
        if self.inputs:
            them = "it" if len(self.inputs) == 1 else "them"
            parts.append(
                f"no result depends on {_listed(self.inputs, 'or')}: a program without {them} is accepted, too"
            )
        if self.outputs:
            was = "is" if len(self.outputs) == 1 else "are"
            names = _listed(self.outputs, "and")
            parts.append(f"{names} {was} the same for all inputs: a program that returns constants is accepted, too")
        return "; ".join(parts)


def _listed(names: tuple[str, ...], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The three verdicts on one candidate. ``node`` is the operator that failed, ``seconds`` the wall-clock time.

    ``untested`` says what a verdict on values that are right is not worth (STEP415), None where all inputs matter.
    """

    shape: ShapePart
    functional: FunctionalPart
    affine: AffinePart
    seconds: float
    mismatch: MismatchPlace | None = None
    nan_origin: NanOrigin | None = None
    node: int | None = None
    untested: Untested | None = None

    @property
    def detail(self) -> str:
        """What there is to say about shape, values and affine rule, in this order."""
        parts = (self.shape.detail, self.functional.detail, self.affine.detail)
        return "; ".join(part for part in parts if part)

    @property
    def accepted(self) -> bool:
        """True when all three hold."""
        return self.shape.ok and self.functional.ok and self.affine.ok

"""Whole numbers that leave their type: torch wraps them without a word, and two sides that wrap alike are equal.

``x * 100000 * 100000`` in int32 is wrong for any ``x`` but 0, and a program in int32 has the results of a reference in
int64 as long as small numbers are drawn. So arithmetic on whole numbers is computed once more in fp64 while it runs:
what is another number there has wrapped. A program that is right runs on numbers far beyond those that are drawn, too,
where nobody states a ``min`` or ``max``: the largest on which its reference neither wraps nor fails.

None of this rejects a program: no number was asked for that large, and wrapping may be what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings

import torch
from torch import Tensor

from stepcore.findings.diagnostics import StepError
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import UntestedCondition
from stepcore.records import Record
from stepcore.sim.compare import compare
from stepcore.sim.conditions import Noting, Step
from stepcore.sim.draw import is_whole, seeded
from stepcore.sim.fnvec.dispatch import tensors_in
from stepcore.sim.runs import runs_within
from stepcore.sim.strength import as_finite, redrawable
from stepcore.sim.stretched import Results
from stepcore.sim.world import World
from stepcore.sim.written import ConditionPlace
from stepcore.types import components

if TYPE_CHECKING:
    from stepcore.graph.ir import Port
    from stepcore.sim.fnvec.tape import TapeStep
    from stepcore.text.span import Embedded

_ARITHMETIC: Final = frozenset(
    {"add", "sub", "subtract", "rsub", "mul", "multiply", "neg", "negative", "abs", "absolute", "square", "pow"}
    | {"float_power", "sum", "nansum", "prod", "cumsum", "cumprod", "mm", "bmm", "mv", "dot", "inner", "outer", "ger"}
    | {"matmul", "linear", "einsum", "tensordot", "addmm", "addmv", "addbmm", "baddbmm", "addr", "addcmul", "kron"}
    | {"index_add", "scatter_add", "diff", "trace", "vander", "__lshift__", "bitwise_left_shift"}
)
_SHIFTS: Final = frozenset({"__lshift__", "bitwise_left_shift"})
_CASTS: Final = frozenset({"to", "_to_copy", "copy", "type_as"})  # what does not fit is cut off
_ROUNDING: Final = 2.0**-40  # of sums of whole numbers in fp64; what wraps is off by much more
_RUNGS: Final = (2**62, 2**40, 2**31 - 1, 2**24, 2**16, 2**12, 2**8)  # how large whole numbers are drawn
_SEED: Final = 6229


class Overflow(Record):
    """Whole numbers left ``dtype`` at ``place``, None where nobody can tell where."""

    dtype: str
    place: ConditionPlace | None

    @property
    def shown(self) -> str:
        """The expression that wraps."""
        return "a whole number" if self.place is None else self.place.text


class Overflows(Noting):  # type: ignore[no-untyped-call]
    """Sees where whole numbers wrap; ``first`` is the first such place. It is active through a whole run."""

    def __init__(self, world: World, *, python: bool = False) -> None:
        super().__init__(world.drawn, world.limits, python=python)
        self.first: Overflow | None = None
        self._exact: Tensor | None = None

    def marked(self, steps: Sequence[TapeStep], template: Sequence[Any], source: Embedded) -> list[Step]:
        """See :meth:`Noting.marked`: each step runs at its place."""

        def placed(step: TapeStep) -> Step:
            def run(registers: list[Any]) -> None:
                self.at = (source, step.place)
                step.run(registers)

            return run

        return [placed(step) for step in steps]

    @contextmanager
    def on(self, values: Iterable[Any]) -> Iterator[None]:
        """See :meth:`Noting.on`; it is active already."""
        yield

    def leave(self, value: Tensor) -> None:
        """See :meth:`Noting.leave`: numbers of Python do not wrap."""

    def look(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Compute what an operation is about to give in fp64."""
        self._exact = None
        if self.first is None:
            name = func.overloadpacket.__name__
            inner = name if name.endswith("__") else name.removesuffix("_")
            if inner in _CASTS:
                given = args[1] if inner == "copy" and len(args) > 1 else args[0]
                self._exact = given.double().trunc() if isinstance(given, Tensor) and _is_real(given) else None
            elif inner in _ARITHMETIC and "out" not in kwargs:
                self._exact = _exactly(inner, func, args, kwargs)

    def after(self, func: Any, args: tuple[Any, ...], found: Any) -> None:
        """Hold what an operation gave against that."""
        exact, self._exact = self._exact, None
        if exact is None or not isinstance(found, Tensor) or not _is_whole(found) or exact.shape != found.shape:
            return
        off = (exact - found.double()).abs() > 0.5 + exact.abs() * _ROUNDING
        if bool((off & torch.isfinite(exact)).any()):
            self.first = Overflow(str(found.dtype).removeprefix("torch."), self._place())


def _exactly(name: str, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor | None:
    """Return the result of an operation on whole numbers in fp64; None where its result is none."""
    tensors = list(tensors_in((args, dict(kwargs))))
    if not any(_is_whole(each) for each in tensors) or any(each.is_floating_point() for each in tensors):
        return None
    if any(isinstance(each, float) for each in (*args, *kwargs.values())):
        return None
    if name in _SHIFTS:
        shifted: Tensor = _precise(args[0]) * torch.pow(2.0, _precise(torch.as_tensor(args[1])))
        return shifted
    names = [argument.name for argument in func._schema.arguments]
    precise = [value if slot == "index" else _precise(value) for slot, value in zip(names, args, strict=False)]
    named = {key: value if key == "index" else _precise(value) for key, value in kwargs.items()}
    found = func(*precise, **named)
    return found if isinstance(found, Tensor) else None


def _precise(value: Any) -> Any:
    """Return an argument of an operation in fp64; a copy, as operations may write it."""
    if isinstance(value, Tensor):
        return value.double().clone() if value.dtype == torch.float64 else value.double()
    if isinstance(value, torch.dtype):
        return torch.float64
    return [_precise(each) for each in value] if isinstance(value, list | tuple) else value


def _is_whole(value: Tensor) -> bool:
    return not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool


def _is_real(value: Tensor) -> bool:
    return value.dtype != torch.bool and not value.is_complex()


class _Larger(Record):
    """Data with whole numbers up to ``most``, of any sign if ``signed``."""

    most: int
    signed: bool
    world: World

    @property
    def text(self) -> str:
        return f"between {-self.most:,} and {self.most:,}" if self.signed else f"up to {self.most:,}"


@dataclass(slots=True)
class WholeNumbers:
    """What is looked at once for a task: where its reference wraps, and how large its whole numbers may get.

    ``world`` are the data drawn, in fp64, ``work`` that of one run of the reference.
    """

    world: World
    work: int
    _reference: tuple[Overflow | None] | None = None
    _beyond: list[_Larger] | None = None

    def notes(self, drawn: World, results: Results) -> list[UntestedCondition]:
        """Return what to say of a program that is right on ``drawn``; ``results`` is what it gives.

        Raises:
            SimError: it fails on the data drawn.
        """
        if runs_within(self.work) <= 2 * len(_RUNGS):
            return []  # a run takes so much that there is time for little else
        found = self._of_reference()
        whose = " of the reference"
        if found is None:
            found, whose = _watched(drawn, lambda: results(drawn)), ""
        if found is not None:
            return [_note(f"{found.shown}{whose} leaves {found.dtype} and wraps: results are equal by wrapping", found)]
        return [note for data in self._larger() if (note := self._unlike(data, results)) is not None][:1]

    def _of_reference(self) -> Overflow | None:
        if self._reference is None:
            world = self.world
            try:
                self._reference = (_watched(world, world.compute_references, python=world.python),)
            except SimError:
                self._reference = (None,)  # it runs in its own types only, as where it says ``.float()``
        return self._reference[0]

    def _larger(self) -> list[_Larger]:
        """Return the largest whole numbers at which the reference is right, and the largest of any sign."""
        if self._beyond is None:
            names = self._open
            rungs = dict.fromkeys(min(most, self._limit(names)) for most in _RUNGS) if names else {}
            found = [
                next((data for most in rungs if (data := self._right_with(names, most, signed)) is not None), None)
                for signed in (False, True)
            ]
            self._beyond = [data for data in found if data is not None]
        return self._beyond

    @property
    def _open(self) -> list[str]:
        return [name for name, port in self.world.ports.items() if _is_open(port)]

    def _limit(self, names: Sequence[str]) -> int:
        whole = [tensor for name in names for tensor in self.world.drawn[name] if _is_whole(tensor)]
        return max((torch.iinfo(tensor.dtype).max for tensor in whole), default=0)

    def _right_with(self, names: Sequence[str], most: int, signed: bool) -> _Larger | None:
        drawn = self.world.drawn
        with torch.inference_mode(), seeded(_SEED):
            data = {
                name: [_redrawn(t, most, signed) for t in now] if name in names else now for name, now in drawn.items()
            }
            other = self.world.varied(data)
        try:
            with catch_warnings(action="ignore"):  # of numbers that nobody asked for
                wraps = _watched(other, other.references, python=other.python)
            if wraps is not None:
                return None
            pairs = zip(other.references(), self.world.references(), strict=True)
            return _Larger(most, signed, other) if all(as_finite(*pair) for pair in pairs) else None
        except SimError:
            return None  # the reference takes no such numbers, as where they are indices of a table

    def _unlike(self, data: _Larger, results: Results) -> UntestedCondition | None:
        world = data.world
        try:
            if compare(results(world), world.references()).ok:
                return None
            # Everything is compiled now, and each step has its place.
            found = _watched(world, lambda: results(world))
        except (SimError, StepError):
            return None  # nobody promised a program that it takes such numbers
        because = "" if found is None else f", as {found.shown} leaves {found.dtype}"
        stated = f"neither min nor max of {' and '.join(self._open)} is stated, and with whole numbers {data.text}"
        return _note(f"{stated} this program is wrong{because}", found)


def _watched(world: World, compute: Callable[[], object], *, python: bool = False) -> Overflow | None:
    """Return where whole numbers wrap first while ``compute`` runs on ``world``."""
    watching = Overflows(world, python=python)
    with world.noted(watching), watching:
        compute()
    return watching.first


def _note(text: str, found: Overflow | None) -> UntestedCondition:
    place = None if found is None else found.place
    return UntestedCondition(text) if place is None else UntestedCondition(text, place.span, place.line, place.column)


def _is_open(port: Port) -> bool:
    """Whether ``port`` holds whole numbers of which nobody says how large they are."""
    stated = port.minimum is not None or port.maximum is not None
    return not stated and redrawable(port) and any(is_whole(item) for item in components(port.type.element))


def _redrawn(tensor: Tensor, most: int, signed: bool) -> Tensor:
    if not _is_whole(tensor):
        return tensor
    most = min(most, torch.iinfo(tensor.dtype).max - 1)
    return torch.randint(-most if signed else 0, most + 1, tensor.shape, dtype=torch.int64).to(tensor.dtype)

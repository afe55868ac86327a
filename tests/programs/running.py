"""A task run by the library and by the oracle, and what the two have to agree on: every stream that is consumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from ruamel.yaml import YAML
from torch import Tensor

import stepcore as step
from oracle import Buffer, Element, Multihot, OracleTask, Scalar, Stream, STuple, dense, run_streams
from stepcore import types
from stepcore.check import Checked, CheckResult, check_text
from stepcore.costs.policy import POLICY
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.graph.ir import Port
from stepcore.sim.data import TensorData
from stepcore.sim.functional import Session
from stepcore.sim.lengths import levels_of
from stepcore.sim.nested import values_of
from stepcore.sizes.dim import Dim, DimError
from valid_graphs import assert_valid

PATH = "generated.step.yaml"
# Findings about what is returned, and about consumption: such programs run all the same.
HARMLESS = ("STEP1", "STEP213", "STEP214", "STEP215")


@dataclass(frozen=True)
class OracleRun:
    """Streams in the order of consumption, the returned ones last, and how many those are."""

    used: list[Stream]
    returned: int


def run_oracle(text: str, dtype: torch.dtype = torch.float64) -> OracleRun:
    """Run a task file. Raises `OracleError` where the program breaks a rule."""
    task = OracleTask("generated", YAML(typ="safe", pure=True).load(text))
    consumed, returned = run_streams(task, dtype=dtype)
    return OracleRun([*consumed, *returned], len(returned))


def check(text: str, path: str = PATH) -> tuple[CheckResult, Checked]:
    """Check a file that holds one program."""
    result = check_text(text, path)
    assert len(result.programs) == 1, result.diagnostics
    return result, result.programs[0]


def errors(found: Sequence[Diagnostic], but: tuple[str, ...] = ()) -> list[Diagnostic]:
    """The errors among findings, without those whose code begins like one of `but`."""
    return [d for d in found if d.severity is Severity.ERROR and not d.code.startswith(but or ("none",))]


def run_library(checked: Checked) -> list[list[Tensor]]:
    """The components of every consumed stream in fp64, in the order of consumption."""
    assert_valid(checked)
    session = Session(checked.spec, dtype=torch.float64)
    streams = session.run(checked.typed, keep=True).streams
    values = []
    with session.world.env.default_dtype():  # a lazy Map is computed only here
        for use in checked.uses:
            data = streams[use.stream]
            assert data is not None
            values.append([values_of(part) for part in data.dense()])
    return values


def assert_same_lengths(checked: Checked, wanted: Sequence[Stream]) -> None:
    """Every stream has the oracle's sizes in a run, also those that only data tell; types name one size once."""
    streams = Session(checked.spec, dtype=torch.float64).run(checked.typed, keep=True).streams
    known: dict[str, object] = {}
    for use, stream in zip(checked.uses, wanted, strict=True):
        data = streams[use.stream]
        assert data is not None
        sizes = levels_of(data.sizes)
        assert sizes == stream.sizes, f"{checked.graph.streams[use.stream].type} is {sizes}, really {stream.sizes}"
        kind = checked.typed.streams[use.stream].type
        for symbol, size in zip(kind.shape, sizes, strict=True):
            assert symbol.is_ragged == isinstance(size, tuple), f"{kind} is really {stream.sizes}"
            assert known.setdefault(str(symbol), size) == size, f"{symbol} of {kind} is {known[str(symbol)]} and {size}"


def assert_same_values(found: Sequence[Sequence[Tensor]], wanted: Sequence[Stream], tolerance: float = 1e-9) -> None:
    """Every component of every stream is equal but for rounding; NaN equals NaN."""
    assert len(found) == len(wanted)
    for position, (tensors, stream) in enumerate(zip(found, wanted, strict=True)):
        expected = dense(stream)
        assert len(tensors) == len(expected), f"stream {position}"
        for one, other in zip(tensors, expected, strict=True):
            try:
                torch.testing.assert_close(one, other.to(one.dtype), rtol=tolerance, atol=tolerance, equal_nan=True)
            except AssertionError as error:
                error.add_note(f"stream {position} in the order of consumption")
                raise


def assert_same_types(checked: Checked, wanted: Sequence[Stream]) -> None:
    """Every inferred type, bound, is the oracle's actual one; one size that depends on data has one value."""
    assert len(checked.uses) == len(wanted)
    sizes: dict[str, int] = dict(checked.spec.bindings())
    for use, stream in zip(checked.uses, wanted, strict=True):
        inferred = checked.graph.streams[use.stream].type
        assert inferred is not None
        assert len(inferred.shape) == len(stream.sizes), f"{inferred} is really {stream.sizes}"
        for size, actual in zip(inferred.shape, stream.sizes, strict=True):
            if not isinstance(actual, int):
                assert size.is_ragged, f"{inferred} is really {stream.sizes}"
                continue
            symbols = size.symbols()
            if len(symbols) == 1 and str(size) in symbols:
                sizes.setdefault(str(size), actual)
            assert size.bind(sizes) == actual, f"{inferred} is really {stream.sizes}"
        assert bound_element(inferred.element, sizes) == stream.element


def bound_element(element: types.Element, sizes: Mapping[str, int]) -> Element:
    """An element type of the library as one of the oracle."""
    if isinstance(element, types.STuple):
        parts = tuple(bound_element(item, sizes) for item in element.items)
        assert not any(isinstance(part, STuple) for part in parts)
        return STuple(parts)  # type: ignore[arg-type]  # no tuple is inside, as just asserted
    match element:
        case types.Scalar():
            return Scalar(element.dtype)
        case types.Multihot():
            return Multihot(Scalar(element.scalar.dtype), _bind(element.length, sizes))
        case types.Buffer():
            inner = bound_element(element.element, sizes)
            assert isinstance(inner, Scalar | Multihot)
            return Buffer(inner, [_bind(size, sizes) for size in element.shape])
        case _:
            raise AssertionError(f"no element of generation 1: {element}")


def _bind(size: Dim, sizes: Mapping[str, int]) -> int:
    try:
        return size.bind(sizes)
    except DimError as error:
        raise AssertionError(f"{size} has no value: {error}") from error


@contextmanager
def tiny_limits() -> Iterator[None]:
    """Let the simulator treat even the smallest stream as a large one: lazy Maps, pieces, folds step by step."""
    before = replace(POLICY)
    try:
        POLICY.lazy, POLICY.chunk, POLICY.reduce, POLICY.chain = 0, 64, 16, 3
        yield
    finally:
        POLICY.lazy, POLICY.chunk, POLICY.reduce, POLICY.chain = before.lazy, before.chunk, before.reduce, before.chain


def run_at_once(text: str) -> list[list[Tensor]]:
    """The components of the outputs of a Python file of ours, which is executed here as a script would be (fp32)."""
    _, checked = check(text, "generated.py")
    names: dict[str, Any] = {}
    exec(compile(text, "generated.py", "exec"), names)
    world = Session(checked.spec).world
    sizes = checked.spec.bindings()
    inputs = [_live(port, data, sizes) for port, data in zip(checked.spec.inputs, world.inputs, strict=True)]
    returned = names["generated"](*inputs, **world.parameters)
    outputs = returned if isinstance(returned, tuple) else (returned,)
    return [output.data for output in outputs]


def _live(port: Port, data: TensorData, sizes: Mapping[str, int]) -> step.Stream:
    stream = step.Stream(port.name, port.type.element, port.type.rank, port.type.shape)
    stream.ctx = dict(sizes)
    stream.data = data.dense()
    return stream

"""The documentation of operators: complete, and each example runs and meets its reference."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import stepcore as step
from stepcore.open_types.fits import Fitting
from stepcore.ops import OPERATORS, Operator
from stepcore.ops.base import ParamKind
from stepcore.sim.selftest import program_spec
from stepcore.sim.world import World
from stepcore.sizes.dim import Dim, Facts
from stepcore.types import StreamType, tensor_shapes

EACH = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)

KINDS = {
    "fn": ParamKind.FN, "b": ParamKind.INTEGER, "a": ParamKind.INTEGER, "N": ParamKind.INTEGER, "S": ParamKind.SIZE,
    "n": ParamKind.SIZE, "Copy.n": ParamKind.INTEGER, "L": ParamKind.INDICES, "depth": ParamKind.SIZE,
    "bw": ParamKind.SIZE, "dispatch": ParamKind.SIZE,
    "tensor": ParamKind.MEMORY, "tile": ParamKind.TILE, "shape": ParamKind.SIZES, "stride": ParamKind.OFFSETS,
    "base": ParamKind.OFFSET,
    "order": ParamKind.CHOICE, "onehot": ParamKind.FLAG, "policy": ParamKind.CHOICE, "axis": ParamKind.INTEGER,
    "pad": ParamKind.FILLING, "element": ParamKind.ELEMENT, "dims": ParamKind.SIZES,
}  # fmt: skip


def load(operator: type[Operator], folder: Path) -> ModuleType:
    """Import the example from a file, as a user's own module."""
    path = folder / f"example_{operator.__name__.lower()}.py"
    path.write_text(operator.example, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program_of(module: ModuleType) -> step.Program:
    (program,) = (value for value in vars(module).values() if isinstance(value, step.Program))
    return program


def fits(found: StreamType, declared: StreamType) -> bool:
    """Return whether a type is the declared one; a size that only a run knows may be called otherwise."""
    sizes, fitting = zip(declared.shape, found.shape, strict=True), Fitting(Facts(), ())
    return found.element == declared.element and all(fitting.equal(wanted, size) for wanted, size in sizes)


@EACH
def test_every_facet_is_documented(operator: type[Operator]) -> None:
    assert operator.summary.endswith(".") and operator.details.endswith(".")
    assert "->" in operator.rule
    parameters = inspect.signature(operator).parameters
    assert [param.name for param in (*operator.params, *operator.common)] == list(parameters)
    for param in (*operator.params, *operator.common):
        assert param.kind is KINDS.get(f"{operator.__name__}.{param.name}", KINDS[param.name])
        assert param.doc.endswith(".") and len(param.doc) > 20
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters.values())


@EACH
def test_the_example_shows_the_operator(operator: type[Operator], tmp_path: Path) -> None:
    assert "import stepcore as step\n" in operator.example
    assert f"step.{operator.__name__}(" in operator.example
    program = program_of(load(operator, tmp_path))
    assert program.reference is not None and program.dims


@EACH
def test_the_example_meets_its_reference(operator: type[Operator], tmp_path: Path) -> None:
    verdict = program_of(load(operator, tmp_path)).verify()
    assert verdict.accepted, verdict
    assert verdict.functional.max_abs_error is not None
    assert verdict.functional.max_abs_error < 1e-5


@EACH
def test_the_example_has_the_shapes_of_the_typing_rule(operator: type[Operator], tmp_path: Path) -> None:
    program = program_of(load(operator, tmp_path))
    spec = program_spec(program)
    world = World(spec, spec.bindings(), 7, program.reference, __import__("torch").float32)
    streams = [
        step.Stream.of(data.dense(), port.type.element, port.type.shape)
        for port, data in zip(spec.inputs, world.inputs, strict=True)
    ]
    parameters = {name: tensor.clone() for name, tensor in world.parameters.items()}
    returned = program(*streams, **parameters)
    if returned is None:  # what it gives is in memory
        (name,) = (port.memory for port in spec.outputs or ())
        assert world.references()[0][0].equal(parameters[name])
        return
    output = returned if isinstance(returned, step.Stream) else returned[0]
    assert spec.outputs is not None
    assert fits(output.type, spec.outputs[0].type)
    (expected,) = tensor_shapes(output.type)
    assert tuple(output.data[0].shape) == tuple(Dim.of(size).bind(output.ctx) for size in expected)
    assert tuple(world.references()[0][0].shape) == tuple(output.data[0].shape)


def test_a_wrong_example_would_be_noticed(tmp_path: Path) -> None:
    class Broken(step.Map):
        example = step.Map.example.replace("input[0] * input[0]", "input[0] + input[0]")

    verdict = program_of(load(Broken, tmp_path)).verify()
    assert not verdict.accepted
    assert verdict.shape.ok and verdict.affine.ok
    assert verdict.functional.code == "STEP401"

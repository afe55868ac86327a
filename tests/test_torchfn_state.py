"""What a module keeps between calls: every trace and every check sees it as it was loaded, in the dtype of the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from job_records import candidates, function
from stepagents.torchfn.blame import explained
from stepagents.torchfn.capture import capture, probe
from stepagents.torchfn.dims import describe
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.reference import FunctionReference
from stepagents.torchfn.subject import TracedSubject, load
from stepagents.torchfn.target import find_target

FOLDER = Path(__file__).parent / "torch_functions"
MODULES = ("Normed", "Averaging", "Remembering", "Tabled", "Derived", "Counting")
FUNCTIONS = ("cached", "kept")


def file_of(name: str) -> Path:
    return FOLDER / ("keeping.py" if name in FUNCTIONS else "stateful.py")


class Owner:
    cancelled = False

    def check(self) -> None: ...

    def progress(self, data: Any) -> None: ...


def subject_of(name: str) -> tuple[TracedSubject, Guard]:
    path = file_of(name)
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    guard = Guard(str(path), target.line)
    return load(target, describe(target), guard)[0], guard


@pytest.mark.parametrize("name", [*MODULES, *FUNCTIONS])
def test_state_does_not_pass_from_trace_to_trace(name: str) -> None:
    subject, guard = subject_of(name)
    names = sorted({symbol for item in subject.tensors for size in item.dims or () for symbol in size.symbols()})
    sizes = dict.fromkeys(names, 7)
    first = capture(subject, sizes, guard)
    probe(subject, sizes, guard)
    again = capture(subject, sizes, guard)
    assert [str(node.target) for node in first.graph.graph.nodes] == [
        str(node.target) for node in again.graph.graph.nodes
    ]
    inputs = [torch.ones([size.bind(sizes) for size in item.dims or ()]) for item in subject.tensors]
    reference = FunctionReference(subject, {})
    assert all(torch.equal(a, b) for a, b in zip(reference(*inputs), reference(*inputs), strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_the_reference_takes_all_state_in_fp64(name: str) -> None:
    subject, _ = subject_of(name)
    inputs = [torch.ones([size.bind({"m": 3, "n": 3}) for size in item.dims or ()]) for item in subject.tensors]
    single = FunctionReference(subject, {})(*inputs)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        double = FunctionReference(subject, {})(*(tensor.double() for tensor in inputs))
    finally:
        torch.set_default_dtype(before)
    assert all(item.dtype == torch.float64 for item in double)
    assert all(torch.allclose(a.double(), b, atol=1e-4) for a, b in zip(single, double, strict=True))


@pytest.mark.parametrize("name", [*MODULES, *FUNCTIONS])
def test_what_is_delivered_runs_in_fp64_and_again(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(file_of(name), tmp_path / file_of(name).name))
    payload = {"path": str(path), "text": path.read_text(encoding="utf-8"), "selector": name, "trusted": True}
    found = function(payload, Owner())
    assert found["solved"], found["reason"]
    text = found["programs"][0]["text"]
    (candidate,) = candidates({"path": str(tmp_path / "program.step.py"), "text": text})
    assert candidate.session.verify(candidate.checked).accepted
    assert candidate.session.precise().references()[0][0].dtype == torch.float64
    assert candidate.session.verify(candidate.checked).accepted


@pytest.mark.parametrize(
    "text",
    [
        "fake mode (<torch._subclasses.fake_tensor.FakeTensorMode object at 0x7f11>) is another",
        "Mixing fake modes NYI",
        "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'",
    ],
)
def test_no_word_of_the_tracer_reaches_a_user(text: str) -> None:
    found = explained(AssertionError(text), "f.py", "f.py", 3, "m=7")
    assert "keeps tensors of one call for the next" in found.message
    assert not {"fake", "0x"} & set(found.text.lower().split())


def test_addresses_are_left_out() -> None:
    found = explained(ValueError("<torch.X object at 0x7f110f16f950> is no good"), "f.py", "f.py", 3, "")
    assert "0x" not in found.message

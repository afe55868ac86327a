"""Scripts that make their streams of tensors, by ``step.Stream.of``: what ``check`` says without a run, a run says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import stepcore as step
from job_records import verify
from quiet import Quiet
from stepcore.check import CheckResult, check_text
from stepcore.cli import main
from stepcore.frontend.script import STREAM_MEMBERS
from stepcore.ide.analysis import analyze

HEAD = """import torch
import stepcore as step
from stepcore import Stream
from stepcore.dims import K, M, N
"""
OF = 'E0 = step.Stream.of(torch.arange(12.0).view(3, 4), shape=[N, M], name="E0")\n'
TWICE = "E1 = step.Bufferize(a=1).apply(E0)\nE2 = step.Bufferize(a=1).apply(E0)\n"
PROGRAM = """
from typing import Annotated


@step.program(reference=torch.clone, dims={M: 5})
def same(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return E0


"""
# Ways to make E0 that a script may take; each holds 12 numbers of fp32.
WAYS = {
    "the recommended one": OF,
    "a name of its own": 'E0 = Stream.of(torch.randn(3, 4), shape=[N, M], name="E0")\n',
    "the published one": 'E0 = Stream("E0", step.f32, 1, [4, 3])\nE0.data = [torch.ones(3, 4)]\n',
    "a helper": "def made(x):\n    return step.Stream.of(x)\n\n\nE0 = made(torch.ones(3, 4))\n",
    "an alias": "of = step.Stream.of\nE0 = of(torch.ones(3, 4), step.f32, [N, M])\n",
    "a tensor with a name": "x = 0.5 * torch.zeros(size=(4, 3)).t()\nE0 = step.Stream.of(x)\n",
    "a tensor that a run alone knows": "E0 = step.Stream.of(torch.load('x')[0], shape=[N, M])\n",
    "spread arguments": "given = {'shape': [N, M]}\nE0 = step.Stream.of(torch.ones(3, 4), **given)\n",
}


def checked(text: str, name: str = "made.py") -> CheckResult:
    return check_text(HEAD + text, name)


def type_of(text: str) -> str:
    """Return the type that check finds for E0, empty where it knows none."""
    script = checked(f"{text}\nE1 = step.Copy().apply(E0)\n").script
    assert script is not None
    type_ = script.graph.streams[script.graph.inputs[0]].type
    return "" if type_ is None else str(type_)


def by_run(folder: Path, text: str) -> Any:
    """Run a script here, as plain Python would; return its E0, or the error that ended it."""
    file = folder / "made.py"
    file.write_text(HEAD + text, encoding="utf-8")
    try:
        return runpy.run_path(str(file))["E0"]
    except step.StepError as error:
        return error


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_stream_that_is_read_twice_is_found_however_it_was_made(way: str) -> None:
    text = HEAD + way + TWICE
    (found,) = check_text(text, "made.py").diagnostics
    assert found.code == "STEP101"
    assert text[found.span.start :].startswith("E0")
    assert found.span.start > text.index("E2 = ")
    assert analyze(text, "made.py").diagnostics == [found]


def test_the_published_name_of_the_module_makes_streams_of_tensors_too() -> None:
    text = "import torch\nimport step\nE0 = step.Stream.of(torch.ones(3, 4))\n" + TWICE
    assert [item.code for item in check_text(text, "made.py").diagnostics] == ["STEP101"]
    named = text.replace("import step\n", "from step import Bufferize, Stream\n").replace("step.", "")
    assert [item.code for item in check_text(named, "made.py").diagnostics] == ["STEP101"]


def test_cells_of_a_notebook_are_a_script() -> None:
    assert [item.code for item in analyze(HEAD + OF + TWICE, "made.ipynb").diagnostics] == ["STEP101"]


TYPES = {
    "torch.arange(12.0).view(3, 4), shape=[N, M]": "[N, M] of fp32",
    "torch.arange(12).reshape(3, -1)": "[4, 3] of int64",
    "torch.zeros(3, 4), shape=[M]": "[M] of Buffer(fp32, [4])",
    "torch.zeros((3, 4), dtype=torch.half), step.Buffer(step.f16, [N])": "[3] of Buffer(fp16, [N])",
    "torch.tensor([[1, 2], [3, 4.0], [5, 6]])": "[2, 3] of fp32",
    "torch.tensor([True, False])": "[2] of bool",
    "[torch.zeros(3, 4), torch.ones(3).long()], shape=[M]": "[M] of [Buffer(fp32, [4]), int64]",
    "torch.randn(2, 3, 4).permute(2, 0, -2).to(torch.bfloat16)": "[3, 2, 4] of bf16",
    "torch.randint(0, 9, (5,)).unsqueeze(0)": "[5, 1] of int64",
    "torch.full((2, 3), 1).transpose(0, 1).clone()": "[2, 3] of int64",
    "torch.eye(3).expand(2, -1, -1).flatten()": "[18] of fp32",
    "torch.ones_like(torch.rand(2, 3).T)": "[2, 3] of fp32",
}


@pytest.mark.parametrize(("arguments", "expected"), TYPES.items())
def test_types_are_those_of_a_run(tmp_path: Path, arguments: str, expected: str) -> None:
    text = f"E0 = step.Stream.of({arguments})\n"
    assert type_of(text) == expected
    assert str(by_run(tmp_path, text).type) == expected


@pytest.mark.parametrize(
    "lines",
    [
        "x = torch.zeros(3)\nx.resize_(5)",
        "x = torch.zeros(3)\nfor _ in range(torch.initial_seed()):\n    x = x.unsqueeze(0)",
        "torch.set_default_dtype(torch.float16)\nx = torch.zeros(3)",
        "x = [1.0]\nx.append(x)\nx = torch.tensor(x)",
        "x = torch.arange(1e300)",
        "x = torch.zeros(3) if torch.rand(1) > 0.5 else torch.zeros(4)",
        "import random\nx = torch.zeros(random.randint(1, 3))",
    ],
)
def test_of_what_only_a_run_knows_nothing_is_said(lines: str) -> None:
    assert type_of(f"{lines}\nE0 = step.Stream.of(x)") == ""
    assert checked(f"{lines}\nE0 = step.Stream.of(x)\nE1 = step.Copy().apply(E0)\n").diagnostics == []


WRONG = {
    "torch.ones(3, 2), step.f32, [M, M]": "STEP207",
    "torch.ones(3), step.f32, [M], {M: 4}": "STEP207",
    "torch.ones(3), step.f32, [M, N]": "STEP207",
    "torch.ones(3), step.Buffer(step.f32, [M])": "STEP207",
    "torch.ones(3), step.i32": "STEP208",
    "torch.ones(3, dtype=torch.float64)": "STEP208",
    "[torch.ones(3), torch.ones(3)], step.f32, [M]": "STEP208",
    "torch.ones(3), 'f33'": "STEP222",
}


@pytest.mark.parametrize(("arguments", "code"), WRONG.items())
def test_tensors_that_do_not_fit_are_found_before_the_run_that_refuses_them(
    tmp_path: Path, arguments: str, code: str
) -> None:
    text = f"E0 = step.Stream.of({arguments})\n"
    (found,) = checked(text).diagnostics
    error = by_run(tmp_path, text)
    assert found.code == error.code == code
    assert found.message == error.message
    assert (HEAD + text)[found.span.start :].startswith(("torch.ones", "[torch.ones", "'f33'"))


DATA = 'E0 = Stream("E0", step.f32, 1, [4, 3])\n'


@pytest.mark.parametrize(
    "line",
    [
        "E0.data = []\nE0.data.append(torch.ones(3, 4))",
        "E0.data = torch.ones(3, 4)",
        "E0.data = [torch.ones(3, 4), torch.ones(3, 4)]",
        "E0.data = [torch.ones(3, 4).long()]",
        "E0.data = [torch.ones(12)]",
    ],
)
def test_data_that_a_stream_cannot_carry_are_found_before_the_run_that_refuses_them(tmp_path: Path, line: str) -> None:
    error = by_run(tmp_path, DATA + line)
    assert isinstance(error, step.StepError)
    (found,) = checked(f"{DATA}{line}\nE1 = step.Copy().apply(E0)\n").diagnostics
    assert (found.code, found.message) == (error.code, error.message)


@pytest.mark.parametrize(
    "lines",
    [
        "E0.data = [torch.load('x')]",
        "xs = []\nfor p in torch.load('x'):\n    xs.append(p)\nE0.data = xs",
        "xs = []\nwhile torch.load('x'):\n    xs.append(torch.ones(3, 4))\nE0.data = xs",
        "def fill(xs):\n    xs.extend(torch.load('x'))\n\n\nxs = []\nfill(xs)\nE0.data = xs",
        "xs = []\ntorch.utils.fill(xs)\nE0.data = xs",
        "xs = []\nif torch.load('x'):\n    xs.append(torch.ones(3, 4))\nE0.data = xs",
        "xs = [torch.load('x')]\nE0.data = [x for x in xs if x is not None]",
        "xs = []\nwith open('x') as f:\n    xs.append(torch.load(f))\nE0.data = xs",
        "xs = []\n[xs.append(x) for x in torch.load('x')]\nE0.data = xs",
        "E0.data = None",
        "E0.data = (torch.ones(3, 4),)",
    ],
)
def test_of_data_that_only_a_run_knows_nothing_is_said(lines: str) -> None:
    assert not checked(f"{DATA}{lines}\nE1 = step.Copy().apply(E0)\n").diagnostics


def test_every_size_of_a_shape_is_found_among_those_of_its_stream(tmp_path: Path) -> None:
    lines = "S0 = step.Promote(b=1).apply(E0)\nS1 = step.Flatten(L=[1]).apply(S0)\n"
    (tmp_path / "made.py").write_text(HEAD + OF + lines + "n = [[s.ctx[size] for size in s.shape] for s in (S0, S1)]\n")
    made = runpy.run_path(str(tmp_path / "made.py"))
    assert made["n"] == [list(made["S0"].data[0].shape)[::-1], list(made["S1"].data[0].shape)[::-1]]
    with pytest.raises(KeyError):
        made["S0"].ctx[step.dims.K * 2]


def test_sizes_that_the_tensors_have_are_bound() -> None:
    script = checked(f"{OF}E1 = step.Bufferize(a=1).apply(E0)\n").script
    assert script is not None
    assert script.runnable
    assert dict(script.spec.defaults) | {"M": 3, "N": 4} == dict(script.spec.defaults)


@pytest.mark.parametrize(
    "line",
    [
        "E0 = step.Stream.of(torch.load('x'), step.f32, [M])",
        "E0 = step.Stream.of(torch.ones(3), shape=[M])\nE9 = step.Stream.of(torch.ones(4), shape=[M])",
    ],
)
def test_a_script_of_sizes_that_are_not_known_is_not_timed(line: str) -> None:
    script = checked(f"{line}\nE1 = step.Copy().apply(E0)\n").script
    assert script is not None
    assert script.diagnostics == []
    assert not script.runnable


def test_verify_runs_the_script(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    text = f"{HEAD}{OF}E1 = step.Bufferize(a=1).apply(E0)\nassert E1.shape == [M]\n"
    file.write_text(text, encoding="utf-8")
    context: Any = Quiet()
    (row,) = verify({"path": str(file), "text": text, "file": str(file)}, context)
    assert row["accepted"], row
    (row,) = verify({"path": str(file), "text": text + "E2 = step.Copy().apply(E0)\n", "file": str(file)}, context)
    assert row["affine"]["count"] == 1


def test_streams_that_are_made_where_nothing_is_followed_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{HEAD}class A:\n    class Case:\n        def test(self):\n            E0 = step.Stream.of(torch.ones(3))\n"
    (found,) = check_text(text, "made.py").diagnostics
    assert found.code == "STEP910"
    assert text[found.span.start : found.span.end] == "step.Stream.of(torch.ones(3))"
    assert found.message.endswith("make streams at its top level, or in functions that it calls")
    assert analyze(text, "made.py").diagnostics == [found]
    file = tmp_path / "made.py"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file)]) == 2
    said = capsys.readouterr().out
    assert "made.py:8:18: error[STEP910] this makes a stream" in said
    assert "no STeP program" not in said


def test_beside_programs_python_makes_streams_and_inside_none_does() -> None:
    published = 'E0 = step.Stream("E0", step.f32, 0, [M])\n'
    assert checked(PROGRAM + OF + published).diagnostics == []
    inside = PROGRAM.replace("return E0", "return step.Stream.of(E0)")
    assert [item.code for item in checked(inside).diagnostics if item.code != "STEP103"] == ["STEP222"]


LACKING = {
    "E0.foo": "has no attribute foo",
    "step.Copy().apply(E0).data": "these are 2 streams, and one has it: step.Copy().apply(E0)[0].data",
    "made(E0).foo": "has no attribute foo",
    "step.Copy().apply(E0).shape": "has no attribute shape",
}
HELPED = "def made(x):\n    return step.Bufferize(a=1).apply(x)\n\n\n"


@pytest.mark.parametrize("expression", LACKING)
def test_what_streams_lack_is_found_by_check(expression: str, tmp_path: Path) -> None:
    """A run ended with AttributeError where check had found nothing."""
    text = f"{HELPED}{OF}print({expression})\n"
    (found,) = checked(text).diagnostics
    assert found.code == "STEP224"
    assert LACKING[expression] in found.message
    file = tmp_path / "lacking.py"
    file.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(AttributeError):
        runpy.run_path(str(file))


@pytest.mark.parametrize(
    "lines",
    [
        "print(E0.shape, E0.dtype, E0.rank, E0.data[0].shape, E0.ctx, E0.name)",
        "E0.note = 3\nprint(E0.note)",
        "if hasattr(E0, 'foo'):\n    print(E0.foo)",
        "try:\n    print(E0.foo)\nexcept AttributeError:\n    pass",
        "c = step.Copy().apply(E0)\nprint(c.count(3), len(c))",
        "a, b = step.Copy().apply(E0)\nprint(a.data, b.shape)",
    ],
)
def test_what_python_finds_is_passed(lines: str, tmp_path: Path) -> None:
    codes = {each.code for each in checked(f"{OF}{lines}\n").diagnostics}
    assert "STEP224" not in codes
    file = tmp_path / "found.py"
    file.write_text(f"{HEAD}{OF}{lines}\n", encoding="utf-8")
    runpy.run_path(str(file))


def test_the_members_of_streams_are_those_of_the_class() -> None:
    stream = step.Stream("E0", step.f32, 1, [4, 3])
    assert {name for name in dir(stream) if not name.startswith("_")} == STREAM_MEMBERS

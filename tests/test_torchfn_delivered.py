"""Files that synthesis delivers, of both kinds, on functions of all families: each verifies by itself."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import warm
from delivered_cycles import outcome
from job_records import candidates
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.torchfn.target import HEAD
from stepagents.torchfn.transform import Unwritable, transform_blocks
from stepcore.jobs import JobError, effort
from stepcore.text.places import WritingPlace
from test_torchfn_synth import Owner, accepted, job

FOLDER = Path(__file__).parents[1] / "benchmarks" / "functions"
# Results without dimensions, whole numbers with bounds, weights, constants, strides that are no longer the graph's.
CHOSEN = [
    ("attention", "causal_attention"), ("attention", "grouped_query_attention"), ("attention", "rotary"),
    ("broadcasting", "shifted_difference"),
    ("gating", "top_two_gate"), ("lookups", "embedding"), ("lookups", "one_hot_product"), ("losses", "cross_entropy"),
    ("norms", "TrainedBatchNorm"), ("norms", "batch_norm"), ("norms", "instance_norm"), ("reductions", "total"),
    ("windows", "ConvReluPool"), ("windows", "conv1d"), ("windows", "max_pool2d"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "name"), CHOSEN)
def test_both_files_are_accepted(family: str, name: str, tmp_path: Path) -> None:
    source = Path(shutil.copy(FOLDER / f"{family}.py", tmp_path))
    program = job(source, name)["programs"][0]["text"]
    assert accepted(tmp_path, f"{name}.step.py", program)
    task = job(source, name, emit="task")["programs"][0]["text"]
    found = outcome(program, f"{name}.step.py")
    assert found.cycles, found.problem
    assert outcome(task, f"{name}.step.yaml") == found, "both files are the same program"
    source.unlink()  # a task file stands for itself
    assert accepted(tmp_path, f"{name}.step.yaml", task)


def test_the_reference_of_a_task_tells_wrong_programs(tmp_path: Path) -> None:
    source = Path(shutil.copy(FOLDER / "reductions.py", tmp_path))
    task = job(source, "total", emit="task")["programs"][0]["text"]
    assert "torch.sum(input_data['x'])" in task
    assert not accepted(tmp_path, "total.step.yaml", task.replace("state[0] + ", "state[0] - "))


def test_bounds_of_whole_numbers_fit_the_sizes_of_the_file(tmp_path: Path) -> None:
    source = Path(shutil.copy(FOLDER / "lookups.py", tmp_path))
    program = job(source, "embedding", dims={"v": 5})["programs"][0]["text"]
    file = tmp_path / "embedding.step.py"
    file.write_text(program, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": program})
    ids = candidate.session.world.inputs[0].components[0]
    assert ids.min() >= 0
    assert ids.max() < 5


def test_what_the_language_of_tasks_lacks_is_said(tmp_path: Path) -> None:
    import torch
    from torch.fx import symbolic_trace

    from stepagents.traced.graph import DIMS, TracedFunction, TracedInput, TracedOutput

    def spectrum(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.ops.aten._fft_r2c.default(x, [0], 0, True),)

    graph = symbolic_trace(spectrum)
    for node in graph.graph.nodes:
        node.meta[DIMS] = ()
    last = next(node for node in graph.graph.nodes if "fft" in node.name)
    x = TracedInput("x", (), "fp32")
    traced = TracedFunction("spectrum", "a.py", 1, (x,), (TracedOutput(last.name, (), "fp32"),), graph, {}, spectrum)
    with pytest.raises(Unwritable, match="_fft_r2c"):
        transform_blocks(traced, {"x"}, set())


WINDOWS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = nn.{window}

    def forward(self, x):
        return self.window(x)


def get_inputs():
    return [torch.rand(2, 3, 13)]
"""


@pytest.mark.parametrize(
    "window",
    [
        "Conv1d(3, 4, 3, stride=3, padding=1)", "Conv1d(3, 4, 11, stride=4, padding=2)",
        "Conv1d(3, 2, 5, stride=5)", "MaxPool1d(3, stride=3, padding=1)", "MaxPool1d(5, stride=4, padding=2)",
        "AvgPool1d(4, stride=3, padding=1)", "ConvTranspose1d(3, 2, 5, stride=3, padding=1, output_padding=1)",
    ],
)  # fmt: skip
def test_windows_of_any_stride_hold_at_every_length(window: str, tmp_path: Path) -> None:
    """What a stride leaves over depends on the remainder of the length: a size for one of them is not enough."""
    source = tmp_path / "windows.py"
    source.write_text(WINDOWS.format(window=window), encoding="utf-8")
    found = job(source, "Model")
    (length,) = (name for name, size in found["sizes"].items() if size == 13)
    text = found["programs"][0]["text"]
    for size in range(12, 20):
        (candidate,) = candidates({"path": str(tmp_path / "program.step.py"), "text": text, "dims": {length: size}})
        assert candidate.session.verify(candidate.checked).accepted, f"{window} at {size}"


PIECES = """
import torch
import torch.nn.functional as F


def around(x):  # stepsmith: x[n, c, l]
    return F.pad(x, (1, 2), mode="circular").relu()


def shifted(x):  # stepsmith: x[m, k]
    y = torch.empty_like(x)
    y[:, 1:] = x[:, 1:]
    y[:, :1] = y[:, -1:]
    return y
"""


def test_tensors_that_are_written_piece_by_piece(tmp_path: Path) -> None:
    source = tmp_path / "pieces.py"
    source.write_text(PIECES, encoding="utf-8")
    for name in ("around", "shifted"):
        each = job(source, name)
        assert each["solved"], each["reason"]
        assert accepted(tmp_path, f"{name}.step.py", each["programs"][0]["text"])
    found = job(source, "shifted")
    assert found["notes"] == ["the program is for k of at least 2: with 1 the function does something else"]
    assert {"m": 1, "k": 3} in found["checked_at"]


def test_a_size_that_stays_a_number_is_the_one_asked_for(tmp_path: Path) -> None:
    """Groups over rows and columns together cannot be counted with a symbol yet."""
    source = tmp_path / "windows.py"
    text = WINDOWS.format(window="GroupNorm(1, 3)").replace("torch.rand(2, 3, 13)", "torch.rand(2, 3, 6, 6)")
    source.write_text(text, encoding="utf-8")
    found = job(source, "Model")
    numbers = {name: size for name, size in found["sizes"].items() if size == 6} | found["fixed"]
    assert numbers
    program = found["programs"][0]["text"]
    assert accepted(tmp_path, "program.step.py", program)
    assert "11" not in program.partition("dims={")[2].partition("}")[0]


REVIEWED = """
import torch
import torch.nn.functional as F


def attend(q, k, v, mask):  # stepsmith: q[m, d], k[n, d], v[n, d], mask[m, n] bool
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def overwrites(x):  # stepsmith: x[m]
    x += 1
    return x


def by_name(*, x, y):  # stepsmith: x[m], y[m]
    return x + y


def named(x):  # stepsmith: x[m]
    return {"sum": x + 1, "product": x * 2}


def step(x):  # stepsmith: x[m]
    return x * 2


def variance(x):  # stepsmith: x[m, n]
    return x.var(1)


def divergence(x, t):  # stepsmith: x[m, n], t[m, n]
    return F.kl_div(x.log_softmax(-1), t.softmax(-1), reduction="batchmean")


class Owner:
    def __init__(self, needed):
        self.needed = needed

    @staticmethod
    def doubled(x):  # stepsmith: x[m]
        return x + x
"""


@pytest.mark.parametrize(
    "name",
    ["attend", "overwrites", "by_name", "named", "step", "variance", "divergence", "Owner.doubled"],
)
def test_functions_of_all_shapes_give_files_that_verify(name: str, tmp_path: Path) -> None:
    source = tmp_path / "reviewed.py"
    source.write_text(REVIEWED, encoding="utf-8")
    found = job(source, name)
    assert found["solved"], found["reason"]
    best = found["programs"][0]
    assert accepted(tmp_path, "program.step.py", best["text"])
    assert best["streaming_degree"] > 0.9


def test_numbers_are_not_blamed_for_a_mask_that_leaves_nothing_of_a_row(tmp_path: Path) -> None:
    source = tmp_path / "masked.py"
    text = (
        "import torch\ndef f(q, m):  # stepsmith: q[n, k], m[n, k] bool\n"
        "    return torch.softmax(q.masked_fill(m, float('-inf')), -1)\n"
    )
    source.write_text(text, encoding="utf-8")
    found = job(source, "f")
    assert found["solved"]
    assert not [note for note in found["notes"] if "in all checks" in note]
    assert 'torch.rand"' not in found["programs"][0]["text"]


def test_only_what_has_to_be_is_drawn_from_0_to_1(tmp_path: Path) -> None:
    source = tmp_path / "logs.py"
    text = "import torch\ndef f(x, y):  # stepsmith: x[m], y[m]\n    return torch.log(x) + y.abs()\n"
    source.write_text(text, encoding="utf-8")
    found = job(source, "f")
    assert found["notes"] == ["x was from 0 to 1 in all checks: for other numbers the function gives NaN"]
    assert 'data={"x": "torch.rand", "y": "torch.randn"}' in found["programs"][0]["text"]


def test_an_endless_loop_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "CEILING", 1e6)  # or a machine that grants it nothing is told instead
    source = tmp_path / "endless.py"
    source.write_text("def f(x):  # stepsmith: x[m, k]\n    while True:\n        pass\n", encoding="utf-8")
    owner = Owner()
    with pytest.raises(JobError, match="still running after 1 s"):
        job(source, "f", owner, call_seconds=1.0)
    assert owner.stages == ["trace"]


def test_a_program_that_cannot_be_written_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: WritingPlace, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place.path))

    warm.lend(monkeypatch)
    monkeypatch.setattr(WritingPlace, "write", full)
    source = tmp_path / "own.py"
    source.write_text("def f(x):  # stepsmith: x[m]\n    return x + x\n", encoding="utf-8")
    assert run_functions([f"{source}::f"], FunctionOptions(output=tmp_path / "out.py")) == 2
    shown = capsys.readouterr()
    assert "out.py: STEP901 no space left on the disk" in shown.err
    assert "@step.program" in shown.out
    assert run_functions([f"{source}::f"], FunctionOptions(output=tmp_path / "out.py", as_json=True)) == 2
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)
    assert "@step.program" in row["program"]
    assert "no space left" in row["reason"]
    assert "no space left" in shown.err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")
@pytest.mark.parametrize(("output", "is_there"), [("out", False), ("out.py", True)])
def test_no_link_that_a_function_made_is_followed(
    output: str, is_there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker writes in the folder of its run only; who writes the program there is no worker."""
    run, outside = tmp_path / "run", tmp_path / "outside"
    run.mkdir()
    outside.mkdir()
    mine = outside / "mine.py"
    if is_there:
        mine.write_text(f'"""{HEAD} anything."""\n', encoding="utf-8")
    place = run / (output if output.endswith(".py") else f"{output}/f.step.py")
    source = run / "own.py"
    link = f"import os\nos.path.lexists({str(place)!r}) or os.symlink({str(mine)!r}, {str(place)!r})\n"
    source.write_text(f"{link}def f(x):  # stepsmith: x[m]\n    return x + x\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert run_functions([f"{source}::f"], FunctionOptions(output=run / output)) == 2
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert place.is_symlink()
    shown = capsys.readouterr()
    assert f"{place}: STEP901 it leads elsewhere now than before: a link was put there" in shown.err
    assert "@step.program" in shown.out


def test_a_file_of_the_user_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.lend(monkeypatch)
    source = tmp_path / "own.py"
    text = "def f(x):  # stepsmith: x[m]\n    return x + x\n"
    source.write_text(text, encoding="utf-8")
    assert run_functions([f"{source}::f"], FunctionOptions(output=source)) == 2
    assert source.read_text(encoding="utf-8") == text
    assert "exists and was not written by synth" in capsys.readouterr().err
    task = tmp_path / "task.step.yaml"
    task.write_text("test_name: somebody's\ninputs: []\noutputs: []\n", encoding="utf-8")
    assert run_functions([f"{source}::f"], FunctionOptions(output=task, emit="task")) == 2
    for name, emit in (("f.step.py", "python"), ("f.step.yaml", "task")):
        for _ in range(2):  # one's own program is written anew
            options = FunctionOptions(output=tmp_path / name, emit=emit)  # type: ignore[arg-type]
            assert run_functions([f"{source}::f"], options) == 0

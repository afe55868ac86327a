"""Tracing: what the graph knows of sizes, lines and weights, and what is refused where."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from stepagents.lower.affine import BoundSizes
from stepagents.lower.aten.calls import uniform
from stepagents.lower.normalise import normalise
from stepagents.torchfn.dims import describe
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import FIXED, TracedFunction, line_of, node_dims, scalar_argument, size_argument
from stepcore.jobs import JobCancelled, JobError

FOLDER = Path(__file__).parent / "torch_functions"
PLAIN, REFUSED = FOLDER / "plain.py", FOLDER / "refused.py"


def traced(
    name: str, path: Path = PLAIN, inputs: tuple[str, ...] = (), *, rolled: bool = True, **dims: int
) -> TracedFunction:
    seconds = 2.0 if name == "endless" else 60.0
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    return trace(target, describe(target, inputs, dims), Guard(str(path), target.line, seconds), rolled=rolled)


def written(folder: Path, text: str, name: str = "f") -> TracedFunction:
    path = folder / "own.py"
    path.write_text(text, encoding="utf-8")
    return traced(name, path)


def nodes(found: TracedFunction, operation: str) -> list[torch.fx.Node]:
    return [node for node in found.graph.graph.nodes if operation in str(node.target)]


def shape(found: TracedFunction) -> str:
    return ", ".join(map(str, found.outputs[0].dims))


def line(words: str, path: Path = PLAIN) -> int:
    text = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, content in enumerate(text, start=1) if words in content)


def test_sizes_are_symbols_and_operations_know_their_lines() -> None:
    found = traced("affine")
    assert [(item.name, ", ".join(map(str, item.dims)), item.dtype, item.kind) for item in found.inputs] == [
        ("x", "m, k", "fp32", "user"),
        ("w", "k, n", "fp32", "user"),
    ]
    assert shape(found) == "m, n"
    assert [str(node.target) for node in nodes(found, "aten")] == ["aten.mm.default", "aten.relu.default"]
    assert {line_of(node) for node in nodes(found, "aten")} == {(str(PLAIN), line("F.relu(x @ w)"))}
    assert len(set(found.dims.values())) == 3


def test_divisibility_is_found() -> None:
    found = traced("halves")
    assert found.multiples == {"k": 2}
    assert shape(found) == "m, k//2"
    heads = traced("per_head")
    assert heads.multiples == {"d": 4}
    assert shape(heads) == "b, 4, s, d//4"
    (view,) = nodes(heads, "aten.view")
    assert str(size_argument(view, (1, 3))) == "d//4"
    assert size_argument(view, (1, 2)) == 4


def test_numbers_that_follow_sizes_are_expressions() -> None:
    found = traced("attend")
    assert "aten.scaled_dot_product_attention" not in str(found.graph.graph)
    (scaled,) = nodes(found, "aten.mul.Tensor")
    assert scalar_argument(scaled, (1,)) == "d_value ** -0.5"


def test_windows_have_their_sizes() -> None:
    found = traced("windows")
    assert not found.fixed
    (convolution,) = nodes(found, "aten.convolution")
    for sizes in ({"n": 1, "c": 2, "h": 9, "l": 12, "d": 3}, {"n": 2, "c": 1, "h": 16, "l": 31, "d": 5}):
        x, w = torch.randn(sizes["n"], sizes["c"], sizes["h"], sizes["l"]), torch.randn(sizes["d"], sizes["c"], 3, 3)
        real = torch.nn.functional.conv2d(x, w, stride=2, padding=1)
        assert tuple(size.bind(sizes) for size in node_dims(convolution)) == tuple(real.shape)
        assert tuple(size.bind(sizes) for size in found.outputs[0].dims) == tuple(found.reference(x, w)[0].shape)


def test_a_size_that_the_operations_depend_on_is_a_number() -> None:
    found = traced("rounds", rolled=False)  # a loop over time would be none of them
    assert set(found.dims) == {"k"}
    assert "depend on it" in found.fixed["m"]
    assert found.inputs[0].dims[0].constant == 11


def test_what_depends_on_no_input_has_its_value() -> None:
    found = traced("masked")
    (mask,) = [node for node in nodes(found, "aten.where") if FIXED in node.meta]
    assert torch.equal(mask.meta[FIXED], torch.ones(4, 4).tril())


def test_effects_are_noted() -> None:
    assert traced("speaks").notes == (f"line {line('a message')}: the function prints; the program does not",)
    (note,) = traced("overwrites").notes
    assert note == f"line {line('x.add_(1)')}: the function also overwrites its argument x; the program does not"


def test_values_of_plain_arguments() -> None:
    found = traced("scaled", inputs=("factor=0.25",))
    assert found.literals == {"factor": 0.25, "shift": 1.0}
    assert torch.equal(found.reference(torch.ones(3))[0], torch.full((3,), 1.25))


def test_a_module_brings_its_weights_and_is_evaluated_if_training_is_random() -> None:
    found = traced("Gate")
    weights = {item.origin: item for item in found.inputs if item.kind == "weight"}
    assert set(weights) == {
        "up.weight", "up.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
    }  # fmt: skip
    assert weights["up.weight"].value is not None
    assert [size.constant for size in weights["up.weight"].dims] == [6, 4]
    assert found.bound == {"rows": 8}
    assert ", ".join(map(str, found.inputs[-1].dims)) == "rows, 4"
    assert "evaluation mode" in found.notes[0]
    x = torch.rand(3, 4)
    names = {item.origin: item.name for item in found.inputs}
    given = {names[origin]: torch.zeros_like(item.value) for origin, item in weights.items() if item.value is not None}
    assert not torch.equal(found.reference(x)[0], torch.zeros(3, 6))
    assert torch.equal(found.reference(x, **given)[0], torch.zeros(3, 6))
    assert torch.equal(found.reference(x)[0], found.reference(x)[0])


def test_methods_and_lambdas() -> None:
    assert [item.kind for item in traced("Gate.raised").inputs].count("weight") == 2
    assert [item.name for item in traced("Gate.doubled").inputs] == ["x"]
    assert shape(traced("square")) == "m"


def test_statistics_in_training_are_results_of_the_batch(tmp_path: Path) -> None:
    text = """
from torch import nn
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
    def forward(self, x):  # stepsmith: x[m, 3]
        return self.norm(x)
"""
    found = written(tmp_path, text, "Own")
    assert found.notes == ("the program does not update the statistics of norm",)
    assert {item.origin for item in found.inputs} == {"norm.weight", "norm.bias", "x"}


@pytest.mark.parametrize("name", re.findall(r"^def (\w+)", REFUSED.read_text(encoding="utf-8"), re.MULTILINE))
def test_what_cannot_be_traced_is_said_at_its_line(name: str) -> None:
    with pytest.raises(Refused) as caught:
        traced(name, REFUSED)
    found = caught.value.findings[0]
    text = REFUSED.read_text(encoding="utf-8").splitlines()
    remark = re.search(r"REFUSED: (.*?)(?:  #|$)", text[found.line - 1])
    assert remark is not None, f"refused at line {found.line}: {found.text}"
    assert remark[1] in found.text
    assert found.code == "STEP603"
    assert "Traceback" not in found.text


HEAD = "import torch\ndef f(x):\n    return x\ndef get_inputs():\n    return "
OWN = "class A:\n    def __init__(self, n): pass\n    def forward(self, x):  # stepsmith: x[m]\n        return x\n"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("import nowhere_to_be_found\ndef f(x):  # stepsmith: x[m]\n    return x\n", "STEP408", "nowhere_to_be_found"),
        (f"{HEAD}1 / 0\n", "STEP602", "ZeroDivisionError"),
        (f"{HEAD}[]\n", "STEP602", "takes x"),
        (f"{HEAD}[torch.ones(2).double()]\n", "STEP605", "float64"),
        (f"{HEAD}[torch.ones(0, 2)]\n", "STEP605", "(0, 2)"),
        (f"{HEAD}[[torch.ones(2)]]\n", "STEP605", "list"),
        (OWN, "STEP601", "get_init_inputs"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, code: str, words: str) -> None:
    name = "A" if text.startswith("class") else "f"
    with pytest.raises((Refused, JobError)) as caught:
        written(tmp_path, text, name)
    error = caught.value if isinstance(caught.value, JobError) else caught.value.as_job_error()  # type: ignore[attr-defined]
    assert error.code == code
    assert words in error.message


def test_example_inputs_get_symbols_by_their_names(tmp_path: Path) -> None:
    text = (
        "import torch\nbatch, width = 4, 7\nrows = 6\ndef f(x, y, ids):\n    return (x @ y)[ids]\n"
        "def get_inputs():\n    return [torch.rand(rows, 7), torch.randn(7, 1), torch.randint(0, 6, (9,))]\n"
    )
    found = written(tmp_path, text)
    assert [", ".join(map(str, item.dims)) for item in found.inputs] == ["rows, width", "width, 1", "N"]
    assert [(item.data_gen, item.below) for item in found.inputs][:2] == [("torch.rand", None), ("torch.randn", None)]
    assert found.inputs[2].below is not None
    assert found.bound == {"rows": 6, "width": 7, "N": 9}
    target = find_target(str(tmp_path / "own.py"), text, "f")
    numbers = trace(target, describe(target), symbolic=False)
    assert [", ".join(map(str, item.dims)) for item in numbers.inputs] == ["6, 7", "7, 1", "9"]


def test_example_inputs_tell_types_and_comments_call_their_sizes(tmp_path: Path) -> None:
    text = (
        "import torch\ndef f(words, table):\n    # words: (seq, batch), table: (vocabulary, 3)\n"
        "    return table[words]\n"
        "def get_inputs():\n    return [torch.randint(0, 6, (5, 2)), torch.randn(6, 3)]\n"
    )
    found = written(tmp_path, text)
    assert [f"{', '.join(map(str, item.dims))} {item.dtype}" for item in found.inputs] == [
        "seq, batch int64", "vocabulary, N fp32",
    ]  # fmt: skip


def test_sizes_that_a_weight_has_by_chance_get_symbols_and_those_that_it_has_to_have_do_not(tmp_path: Path) -> None:
    """An image as wide as it has channels cannot be made smaller for a check unless its width is a symbol."""
    text = (
        "import torch\nclass Net(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.up = torch.nn.ConvTranspose3d(4, 8, (3, 5, 7), stride=2)\n"
        "    def forward(self, x):\n        return self.up(x)\n"
        "def get_inputs():\n    return [torch.randn(4, 4, 4, 8, 9)]\n"
    )
    found = written(tmp_path, text, "Net")
    assert [", ".join(map(str, item.dims)) for item in found.inputs if item.kind == "user"] == ["M, 4, K, D, N"]
    assert found.bound == {"N": 9, "M": 4, "K": 4, "D": 8}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_largest_number_is_written_so_that_it_is_one(dtype: torch.dtype) -> None:
    for value in (torch.finfo(dtype).max, torch.finfo(dtype).min):
        text = uniform(torch.full((2,), value, dtype=dtype))
        assert text is not None
        assert torch.where(torch.tensor([True]), float(text), torch.zeros(1, dtype=dtype)).item() == value


def test_what_depends_on_no_input_may_have_types_that_no_stream_holds(tmp_path: Path) -> None:
    mask = "torch.triu(torch.ones(3, 3)).type(torch.uint8)"
    head = "import torch\ndef f(x):  # stepsmith: x[n, 3, 3]\n"
    found = written(tmp_path, f"{head}    return x.masked_fill({mask} == 0, 0.0)\n")
    assert not normalise(found, BoundSizes(found.dims)).items
    found = written(tmp_path, f"{head}    return x * {mask}\n")
    (refused,) = normalise(found, BoundSizes(found.dims)).items
    assert refused.reason.startswith("it makes uint8, and streams hold ")


def test_a_cancelled_job_stops_within_the_function(tmp_path: Path) -> None:
    target = find_target(str(REFUSED), REFUSED.read_text(encoding="utf-8"), "endless")
    answers: list[bool] = []

    def cancelled() -> bool:
        answers.append(True)
        return len(answers) > 3

    guard = Guard(str(REFUSED), target.line, seconds=60.0, cancelled=cancelled)
    with pytest.raises(JobCancelled):
        trace(target, describe(target), guard)


def test_nothing_stays_behind() -> None:
    import logging
    import sys

    before: tuple[Callable[..., object], int, object] = (print, logging.root.manager.disable, sys.stdout)
    traced("speaks")
    assert (print, logging.root.manager.disable, sys.stdout) == before


TABLE = """
import torch


def positions(x):  # stepsmith: x[b, t, 3]
    table = torch.arange(60.0).view(20, 3)
    return x + table[: x.shape[1]]
"""


def test_a_size_that_a_table_bounds_stays_a_symbol(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(TABLE)
    target = find_target(str(path), TABLE, "positions")
    found = trace(target, describe(target, (), None))
    assert set(found.dims) == {"b", "t"}
    assert found.notes == ("at large sizes of t the function does not run",)

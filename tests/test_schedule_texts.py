"""Programs over tiles are for reading: names of tiles, stages with the user's lines, nothing twice, no long line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.gate.certificate import certify
from stepcore.gate.refusal import Refusal
from stepcore.printing.code_lines import WIDTH
from stepcore.printing.fn_types import FnTypes
from stepcore.printing.python import element_text
from stepcore.sizes.dim import Dim
from stepcore.sizes.kinds import any_size
from stepcore.text.span import Embedded
from stepcore.types import Element, Scalar, STuple, Tile
from test_torchfn_synth import job

SOURCE = """\
import torch
import torch.nn.functional as F


def swiglu(x, wg, wu, wd):  # stepsmith: x[M, K], wg[K, N], wu[K, N], wd[N, K]
    return (F.silu(x @ wg) * (x @ wu)) @ wd


def layer_norm(x, w, b):  # stepsmith: x[M, N], w[N], b[N]
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5) * w + b


def outer(x, w):  # stepsmith: x[M, K], w[K, N]
    return torch.relu(x @ w)


def norm_total(x):  # stepsmith: x[M, N]
    return torch.sqrt((x * x).sum())


def doubled(x, w):  # stepsmith: x[M, N], w[N]
    return x * w * 2


def crossed(x, t):  # stepsmith: x[M, N], t[M] int64
    return F.cross_entropy(x, t)
"""


def text_of(folder: Path, name: str, sizes: dict[str, int]) -> str:
    path = folder / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = job(path, name, emit="tiled", dims=sizes)
    assert found["solved"]
    return str(found["programs"][0]["text"])


def test_lanes_and_pieces_stand_in_lines_that_can_be_read(tmp_path: Path) -> None:
    text = text_of(tmp_path, "swiglu", {"M": 32, "K": 64, "N": 96})
    assert "torch.cat(input, 1)" in text and re.search(r"\(Tile\d+x\d+,\) \* \d+, output=", text)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "STuple" not in text and "+ 0]" not in text


def test_each_stage_of_a_function_says_its_line_and_nothing_is_computed_twice(tmp_path: Path) -> None:
    text = text_of(tmp_path, "layer_norm", {"M": 64, "N": 128})
    body = text[text.index("def block(input)") : text.index("def layer_norm_reference")]
    said = re.findall(r"# line (\d+): (.*)", body)
    lines = SOURCE.splitlines()
    assert {int(number) for number, _ in said} == {10, 11, 12}
    assert all(lines[int(number) - 1].strip() == code for number, code in said)
    code = [line for line in body.splitlines() if not line.lstrip().startswith("#")]
    assert len([line for line in code if " - mean" in line]) == 1


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("swiglu", {"M": 32, "K": 64, "N": 96}),
        ("outer", {"M": 64, "K": 64, "N": 64}),
        ("outer", {"M": 37, "K": 64, "N": 32}),
        ("norm_total", {"M": 64, "N": 64}),
        ("doubled", {"M": 64, "N": 64}),
        ("layer_norm", {"M": 64, "N": 128}),
    ],
    ids=["chain", "product", "gathered", "total", "rows", "blocks"],
)
def test_a_stage_says_its_line_before_it_loads_anything(tmp_path: Path, name: str, sizes: dict[str, int]) -> None:
    program = text_of(tmp_path, name, sizes).rpartition(") -> None:\n")[2]
    assert "step.LinearOffChipLoad(" in program
    assert 0 <= program.find("# line ") < program.index("step.")


def test_the_file_of_a_single_number_says_what_it_is(tmp_path: Path) -> None:
    """Its docstring was the margin of a line, so a second call did not know the file as its own."""
    text = text_of(tmp_path, "crossed", {"M": 32, "N": 64})
    assert text.startswith('"""A STeP program that computes the same as the function crossed in functions.py, line 27.')


def function(name: str, given: Element, made: Element) -> FnDecl:
    return FnDecl(name, name, given, made, CodeBlock(Embedded.whole("return [input[0]]"), ("input",)))


def test_tiles_get_names_that_nothing_else_has() -> None:
    rows, small = Tile("fp32", (any_size("R"), Dim.symbol("D"))), Tile("bf16", (4, Dim.symbol("D") // 4))
    fns = [function("a", STuple((rows, rows, small, small)), rows), function("b", small, Scalar())]
    types = FnTypes(fns, element_text, {"TileRxE"})
    assert types.lines == [
        'TileRxD = step.Tile(step.f32, [step.any_size("R"), D])',
        "Tile4xD_4_bf16 = step.Tile(step.bf16, [4, D // 4])",
    ]
    assert types.text(fns[0].input) == "(TileRxD, TileRxD, Tile4xD_4_bf16, Tile4xD_4_bf16)"
    assert types.text(STuple((rows,) * 8)) == "(TileRxD,) * 8" and types.text(Scalar()) == "step.f32"
    assert FnTypes(fns, element_text, {"TileRxD"}).text(rows) == element_text(rows)


NAMED = """\
from typing import Annotated

import stepcore as step
import torch
from stepcore.dims import M

Tile4x4 = {value}


@step.fn(input=Tile4x4, output=Tile4x4)
def same(input):
    return [input[0] * 2]


@step.program(dims={{M: 4}})
def program(x: Annotated[step.Stream, Tile4x4, (M,)]) -> Annotated[step.Stream, Tile4x4, (M,)]:
    return step.Map(fn=same).apply(x)
"""


def test_a_file_is_certified_with_names_of_tiles_and_of_nothing_else() -> None:
    certify(NAMED.format(value="step.Tile(step.f32, [4, 4])"))
    for value in (
        "step.Tile(step.f32, [4, print(4)])",
        "step.Tile(step.f32, [4, Tile4x4])",
        "step.fn(1, 2)",
        "step.Tile(step.f32, [4, 4]).__class__",
        "step.Tile(*[step.f32, [4, 4]])",
    ):
        with pytest.raises(Refusal):
            certify(NAMED.format(value=value))

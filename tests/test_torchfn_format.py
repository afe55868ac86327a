"""What synthesis delivers is formatted: ruff changes nothing and finds nothing, on programs with long lines too."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepagents.lower.functions import ExpressionNode, SharedExpressions
from stepcore.printing.code_lines import WIDTH, broken, fitted, from_import, literal, spaced
from stepcore.version import VERSION
from test_torchfn_synth import FOLDER, job

BENCHMARKS = Path(__file__).parents[1] / "benchmarks" / "functions"
LONG_STEM = "007_a_file_whose_name_is_no_identifier_and_almost_as_long_as_a_line_may_be_in_this_project"
CHOSEN = [
    (FOLDER / "plain.py", "square"),
    (FOLDER / "plain.py", "Gate"),
    (FOLDER / "wide.py", "a_chain_of_activations"),
    (FOLDER / "wide.py", "seven_addends"),
    (FOLDER / "wide.py", "pooled_three_times"),
    (FOLDER / "wide.py", "extremes"),
    (FOLDER / "wide.py", "Transposed"),
    (BENCHMARKS / "attention.py", "causal_attention"),
    (BENCHMARKS / "lookups.py", "embedding"),
    (BENCHMARKS / "norms.py", "group_norm"),
    (BENCHMARKS / "softmaxes.py", "log_softmax"),
    (BENCHMARKS / "windows.py", "conv1d"),
]


def assert_formatted(folder: Path, file: str, select: str = "E,W,F,I") -> None:
    """Ask ruff in ``folder``, as the user would, without the settings of this project."""
    for command in (["format", "--diff"], ["check", "--select", select, "--output-format", "concise"]):
        options = ["--isolated", "--no-cache", "--line-length", str(WIDTH), file]
        found = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *options], cwd=folder, capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(("path", "name"), CHOSEN)
def test_what_is_delivered_is_formatted(path: Path, name: str, tmp_path: Path) -> None:
    beside = Path(shutil.copy(path, tmp_path / f"user_{path.name}"))
    found = job(beside, name)
    assert found["solved"], found["reason"]
    (tmp_path / "beside_step.py").write_text(found["programs"][0]["text"], encoding="utf-8")
    assert_formatted(tmp_path, "beside_step.py")


@pytest.mark.parametrize(("path", "name"), [(FOLDER / "wide.py", "extremes"), (FOLDER / "wide.py", "Transposed")])
def test_so_it_is_beside_a_file_with_a_long_name_and_elsewhere(path: Path, name: str, tmp_path: Path) -> None:
    source = Path(shutil.copy(path, tmp_path / f"{LONG_STEM}.py"))
    (tmp_path / "elsewhere").mkdir()
    for folder in (tmp_path, tmp_path / "elsewhere"):
        found = job(source, name, folder=str(folder))
        assert found["solved"], found["reason"]
        text = found["programs"][0]["text"]
        (folder / "program.py").write_text(text, encoding="utf-8")
        assert_formatted(folder, "program.py")
        first, second, third = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")
        assert first == "A STeP program that computes the same as a PyTorch function."
        assert LONG_STEM in second
        assert third.startswith(f"Verified by Stepsmith {VERSION} on random data (seed 42) at")


STATEMENTS = [
    "alpha, beta, gamma = input",
    "return alpha, beta, gamma",
    "return [torch.where(alpha > 0, torch.exp(alpha), beta * 0.1 + gamma), delta]",
    "total = step.Map(fn=fn_total, b=2).apply((alpha, beta, gamma))",
    "first, second = step.Copy().apply(total)",
    "from stepcore.dims import B2, B10, Sequence, batch",
    "pairs = [left + right for left, right in zip(alpha, beta, strict=True)]",
    'name = make(title=\'a, (b\', text="c, d; e: [f, g]; h", both={"x": "one, two; three four", "y": (1,)})',
    "x = call(lambda a, b: a, *rest, one + two * three - four, key=five / six, **more)[alpha, beta]",
    "def total(alpha: Annotated[step.Stream, step.f32, (M, N)], *, w: Param) -> tuple[Annotated[a, b], c]: ...",
]


@given(st.sampled_from(STATEMENTS), st.integers(0, 116))
def test_breaking_a_line_changes_nothing_else(statement: str, margin: int) -> None:
    text = broken(statement, margin)
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(statement))
    assert all(line == line.rstrip() for line in text.splitlines())
    if margin + len(statement) <= WIDTH:
        assert text == statement


def test_long_lines_are_broken_as_ruff_breaks_them(tmp_path: Path) -> None:
    lines = STATEMENTS[:5]
    for name in ("alpha", "beta", "gamma", "delta", "total", "first"):
        lines = [re.sub(rf"\b{name}\b", f"{name}_{'x' * 40}", line) for line in lines]
    lines.append(f"step.program(title={literal('some words; ' * 12)}, layouts={{'x': {literal('m, k' * 60)}}})")
    assert all(len(line) > WIDTH for line in lines)
    body = indent(fitted("\n".join(lines).replace("'", '"'), 4), "    ")
    (tmp_path / "long.py").write_text(f"def long(input, step, torch):\n{body}\n", encoding="utf-8")
    assert_formatted(tmp_path, "long.py", select="E501,W")


def test_operators_get_spaces_as_ruff_gives_them(tmp_path: Path) -> None:
    lines = [
        "a = b//2*(c+1) - -d%3",
        "a = b[0]**2 + c**-0.5*d.e**2 - f(b)**b + 2**c[0] + (b)**2 + b**f(c)",
        "a = f(*b, key=-1, **c)[:, None] + 1e-05/2.5",
        "a = f(-b, 'it is a-b*c') if b-1 else -c",
    ]
    text = "\n".join(spaced(line) for line in lines)
    assert all(spaced(line) == line for line in text.splitlines())
    (tmp_path / "operators.py").write_text(f"{text}\n", encoding="utf-8")
    assert_formatted(tmp_path, "operators.py", select="E,W")


def test_imports_are_in_the_order_of_ruff(tmp_path: Path) -> None:
    names = ["B", "BB", "Ab", "B2", "B10", "x10", "x2", "aB", "N_1", "height", "H_out", "_a", "x_2", "long" * 20]
    lines = from_import("there", {**{name: name for name in names}, "own": "Other", "user": "apply"})
    text = "\n".join(lines) + "\n\n" + broken(f"print({', '.join([*names, 'own', 'user'])})") + "\n"
    (tmp_path / "imports.py").write_text(text, encoding="utf-8")
    assert_formatted(tmp_path, "imports.py", select="I")


def test_a_long_expression_is_written_in_parts_that_fit() -> None:
    tree = SharedExpressions()
    leaves = [tree.add(ExpressionNode("", leaf=number)) for number in range(2)]
    root = leaves[0]
    for label in ("exp", "sin", "cos", "tanh", "sigmoid", "relu"):
        scaled = tree.add(ExpressionNode("({0} * {1})", (root, leaves[1]), "multiply"))
        root = tree.add(ExpressionNode(f"torch.{label}({{0}})", (scaled,), label))
    names = {(0, 0): "first", (1, 0): "second"}
    taken = {"first", "second", "multiply"}
    lines, (result,) = tree.write([root], names, taken)
    assert lines
    assert all(len(line) <= 100 for line in (*lines, result))
    assert len({line.split(" = ")[0] for line in lines} | {"first", "second", "multiply"}) == len(lines) + 3
    expected, second = torch.tensor(0.3), torch.tensor(1.7)
    values: dict[str, object] = {"torch": torch, "first": expected, "second": second}
    for function in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.relu):
        expected = function(expected * second)
    for line in lines:
        name, _, text = line.partition(" = ")
        values[name] = eval(text, values)
    assert eval(result, values) == expected


def test_what_a_template_repeats_is_computed_once() -> None:
    tree = SharedExpressions()
    inner = tree.add(ExpressionNode("torch.relu({0})", (tree.add(ExpressionNode("", leaf=0)),), "relu"))
    root = tree.add(ExpressionNode("torch.where({0} > 0, {0}, {0} * 0.1)", (inner,), "leaky"))
    lines, results = tree.write([root], {(0, 0): "x"}, set())
    assert lines == ["relu = torch.relu(x)"]
    assert results == ["torch.where(relu > 0, relu, relu * 0.1)"]

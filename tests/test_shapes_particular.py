"""What a function says of its own sizes is more particular than get_inputs() of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import warm
from job_records import function, sizes
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepcore.jobs import JobError
from test_torchfn_synth import Owner

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
GIVEN = "def get_inputs():\n    return [torch.randn(2, 8, 12, 16, 16)]\n\n\n"
NOT_USED = "get_inputs() was not used for {}: it gives {}"


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    warm.lend(monkeypatch)


def written(folder: Path, body: str, given: str = GIVEN) -> dict[str, Any]:
    path = folder / "own.py"
    path.write_text(HEAD + given + body, encoding="utf-8")
    return {"path": str(path), "text": path.read_text(encoding="utf-8"), "trusted": True, "root": str(folder)}


def found_for(folder: Path, name: str, body: str, given: str = GIVEN, **more: Any) -> dict[str, Any]:
    return function({**written(folder, body, given), "selector": name, **more}, Owner())


def told_of(found: dict[str, Any]) -> list[str]:
    return [note for note in found["notes"] if "get_inputs()" in note]


COMMENTED = "def f(x):  # x: (M, N)\n    return x + 1\n"
TWO = 'def f(q, k):\n    """q: (T, D), k: (S, D)"""\n    return q @ k.T\n'
MODULE = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.c = nn.Linear(3, 4)\n\n"
    "    def forward(self, x):  # x: (B, 3)\n        return self.c(x)\n"
)


@pytest.mark.parametrize(
    ("name", "body", "given", "sizes_found", "why"),
    [
        ("f", COMMENTED, GIVEN, {"M", "N"}, "x the shape (2, 8, 12, 16, 16), and (M, N) is told (comment, line 9)"),
        ("f", TWO, GIVEN, {"T", "D", "S"}, "1 value, and f takes q, k"),
        ("Net", MODULE, GIVEN, {"B"}, "x the shape (2, 8, 12, 16, 16), and (B, 3) is told (comment, line 14)"),
        (
            "Net",
            MODULE,
            "def get_inputs():\n    return [torch.randn(6, 8)]\n\n\n",
            {"B"},
            "x the shape (6, 8), and (B, 3) is told (comment, line 14)",
        ),
        (
            "f",
            "def f(x, y):  # stepsmith: x[M, N]\n    return x + y\n",
            "def get_inputs():\n    return [torch.randn(5), torch.randn(5)]\n\n\n",
            {"M", "N"},
            "x the shape (5,), and (M, N) is told (written at the function)",
        ),
    ],
)
def test_sizes_of_the_function_win_where_they_contradict(
    name: str, body: str, given: str, sizes_found: set[str], why: str, tmp_path: Path
) -> None:
    found = found_for(tmp_path, name, body, given)
    assert found["solved"], found["reason"]
    assert set(found["sizes"]) == sizes_found
    assert told_of(found) == [NOT_USED.format(name, why)]


@pytest.mark.parametrize(
    "signature",
    [
        "x):  # x: (rows, 4)",
        "x):  # x: (..., 4)",
        'x):\n    """x: (rows, width)"""',
        "x):",
        "x: 'Float[Tensor, \"*b 4\"]'):",
    ],
)
def test_nothing_changes_where_both_agree(signature: str, tmp_path: Path) -> None:
    given = "def get_inputs():\n    return [torch.randn(6, 4)]\n\n\n"
    found = found_for(tmp_path, "f", f"def f({signature}\n    return x + 1\n", given)
    assert found["solved"], found["reason"]
    assert told_of(found) == []


def test_what_the_command_line_says_wins_too(tmp_path: Path) -> None:
    given = "def get_inputs():\n    return [torch.randn(5), torch.randn(5)]\n\n\n"
    found = found_for(tmp_path, "f", "def f(x, y):\n    return x + y\n", given, inputs=["x=M N"])
    assert found["solved"], found["reason"]
    assert told_of(found) == [NOT_USED.format("f", "x the shape (5,), and (M, N) is told (--input)")]


def test_examples_of_another_number_leave_the_sizes_to_the_body(tmp_path: Path) -> None:
    found = found_for(tmp_path, "f", "def f(a, b):\n    return torch.tanh(a @ b) + 1\n")
    assert found["solved"], found["reason"]
    assert told_of(found) == [NOT_USED.format("f", "1 value, and f takes a, b")]
    assert [item["text"].count(" ") for item in found["inferred"]["arguments"]] == [1, 1]


def test_what_the_body_does_not_tell_is_asked_for_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(JobError) as caught:
        found_for(tmp_path, "f", "def f(a, b):\n    return a + 1, b + 1\n")
    assert caught.value.code == "STEP602"
    assert NOT_USED.format("f", "1 value, and f takes a, b") in caught.value.message
    assert "`# stepsmith: a[" in caught.value.message
    assert '--input "a=' in caught.value.message
    assert set(caught.value.detail["guess"]) == {"a", "b"}


def test_arguments_that_nothing_asks_for_are_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"get_inputs\(\) gives 2 values, and f takes x") as caught:
        found_for(tmp_path, "f", "def f(x=None):\n    return x\n", "def get_inputs():\n    return [1, 2]\n\n\n")
    assert caught.value.code == "STEP602"
    assert '--input "x=m k"' in caught.value.message


def test_examples_are_kept_where_the_function_does_not_run_at_what_is_written(tmp_path: Path) -> None:
    body = MODULE.replace("(B, 3)", "(B, 5)")
    found = found_for(tmp_path, "Net", body, "def get_inputs():\n    return [torch.randn(6, 3)]\n\n\n")
    assert found["solved"], found["reason"]
    assert told_of(found) == [
        "get_inputs() was used for Net, which does not run at its own sizes: it gives x the shape (6, 3), and (B, 5) "
        "is told (comment, line 14)"
    ]


def test_the_question_of_the_editor_has_the_same_sizes(tmp_path: Path) -> None:
    found = sizes({**written(tmp_path, COMMENTED), "selector": "f", "inputs": ()}, Owner())
    assert (found["problem"], found["settled"]) == ("", True)
    assert [(item["name"], item["text"]) for item in found["arguments"]] == [("x", "M N")]
    other = sizes({**written(tmp_path, "def g(a, b):\n    return a @ b\n"), "selector": "g", "inputs": ()}, Owner())
    assert [item["name"] for item in other["arguments"]] == ["a", "b"]
    assert other["problem"] == ""


def test_the_command_says_so_beside_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: None
) -> None:
    path = written(tmp_path, COMMENTED)["path"]
    assert run_functions([f"{path}::f"], FunctionOptions()) == 0
    assert capsys.readouterr().err.count(NOT_USED.format("f", "x the shape (2, 8, 12, 16, 16)")) == 1


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("def f(x, w):\n    return x @ w + 1\n", "[torch.randn(3, 4), torch.randn(7, 9)]"),
        ("def f(x):\n    return x.permute(0, 2, 1) * 2\n", "[torch.randn(2, 3)]"),
        ("def f(x, w):  # w: (K, N)\n    return x @ w + 1\n", "[torch.randn(3, 4), torch.randn(7, 9)]"),
    ],
)
def test_examples_at_which_the_function_fails_leave_the_sizes_to_the_body(
    body: str, given: str, tmp_path: Path
) -> None:
    found = found_for(tmp_path, "f", body, f"def get_inputs():\n    return {given}\n\n\n")
    assert found["solved"], found["reason"]
    assert told_of(found) == ["get_inputs() was not used for f, which does not run with it"]


def test_a_function_that_runs_at_no_sizes_fails_at_those_of_its_examples(tmp_path: Path) -> None:
    given = "def get_inputs():\n    return [torch.randn(3, 4)]\n\n\n"
    with pytest.raises(JobError) as caught:
        found_for(
            tmp_path, "f", "def f(x):\n    return x @ torch.ones(3) + torch.ones(5, 6, 7) @ torch.ones(2)\n", given
        )
    assert caught.value.code == "STEP603"
    assert "get_inputs()" not in caught.value.message

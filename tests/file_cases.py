"""Texts of programs, tasks and answers, and what a user sees of their findings.

Findings are compared as lines: code, place, text under it, and ``fix`` if one is offered.
"""

from __future__ import annotations

from typing import Any

from affine_cases import HEAD
from stepcore.check import check_text
from stepcore.findings.diagnostics import Diagnostic
from stepcore.text.span import SourceFile

DEFINITIONS, _, SIGNATURE = HEAD.partition("@step.program()\n")
PATH = "file.py"
TASK = """\
test_name: t
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {func_name: f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
- {func_name: h, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] + input[1]]"}
outputs:
- {name: S0, dtype: fp32, dims: [M, N]}
- {name: S1, dtype: fp32, dims: [M, N]}
"""
TASK_PATH, ANSWER_PATH = "t.step.yaml", "t.impl.yaml"
TWICE = "A = step.Map(fn=f).apply(E0)\nB = step.Map(fn=f).apply(E0)\nreturn A, B"
BOTH = "def both(x):\n    return step.Map(fn=f).apply(x), step.Map(fn=f).apply(x)\n\n\n"
RETURN_ALL = "return E0, E1, S"
LOOP = "out = []\nfor i in range(2):\n    out.append(step.Map(fn=f).apply(E0))\nreturn out[0], out[1]"
IGNORE, IGNORE_101 = "# stepsmith: ignore", "# stepsmith: ignore[STEP101]"


def program(body: str, name: str = "program", decorator: str = "@step.program()") -> str:
    signature = f"{decorator}\n" + SIGNATURE.replace("def program(", f"def {name}(")
    return signature + indented(body, "    ") + "\n\n"


def indented(body: str, by: str) -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in body.split("\n"))


def impl(body: str, comment: str = "") -> str:
    return f"impl: |{comment}\n{indented(body, '  ')}"


def seen(source: SourceFile, found: list[Diagnostic]) -> list[str]:
    """What a user sees of findings; hints for unused streams are left out."""
    lines = []
    for item in found:
        if item.code != "STEP103":
            line, column = source.line_col(item.span.start)
            fix = " fix" if item.fix is not None else ""
            lines.append(f"{item.code} {line + 1}:{column + 1} {source.slice(item.span)}{fix}")
    return lines


def check(text: str, path: str = PATH, **options: Any) -> list[str]:
    result = check_text(text, path, **options)
    return seen(result.source, result.diagnostics)


def check_answer(text: str, answer: str, **options: Any) -> tuple[list[str], list[str]]:
    """What is found in a task, and in the second file that answers it."""
    result = check_text(text, TASK_PATH, impl=(answer, ANSWER_PATH), **options)
    assert result.task is not None
    return seen(result.source, result.diagnostics), seen(result.task.impl_source, result.impl_diagnostics)


def codes(text: str, path: str = PATH) -> list[str]:
    return [line.split()[0] for line in check(text, path)]

"""An answer means the same wherever it stands: in the task, in a file beside it, and given to the judge as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from job_records import candidates
from joined_programs import warnings_of
from stepcore.check import check_text
from stepcore.check.programs import ImplChecker
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.text.span import Embedded

TASKS = sorted((Path(__file__).parents[1] / "benchmarks" / "tasks").glob("*.yaml"))
# No size is mentioned here, neither by name nor by value.
PLAIN = """\
inputs:
- {name: E0, dtype: fp32, dims: [4, 3], data_gen: torch.randn}
outputs:
- name: S0
  dtype: fp32
  dims: [SIZE, 4, 3]
  data_transform:
  - |
    torch.stack([input_data['E0']] * SIZE, dim=2)
"""


def block(body: str) -> str:
    return "impl: |\n" + "".join(f"  {line}\n" for line in body.strip("\n").split("\n"))


def codes_everywhere(task: str, body: str) -> list[list[str]]:
    """The codes of an answer inline, from a second file, and as text for a task that was read without it."""
    inline = check_text(task + block(body), "task.step.yaml", with_fixes=False).diagnostics
    beside = check_text(task, "task.step.yaml", impl=(block(body), "task.impl.yaml"), with_fixes=False)
    alone: TaskFile = replace(read_task(task, "task.step.yaml"), impl=None)
    judged = ImplChecker(alone).check(Embedded.whole(body + "\n")).diagnostics
    found = (inline, [*beside.diagnostics, *beside.impl_diagnostics], judged)
    return [sorted(item.code for item in items) for items in found]


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.removesuffix(".step.yaml"))
def test_answers_of_the_published_tasks(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head, _, tail = text.partition("impl: |")
    inner = tail.removeprefix("-").lstrip("\n")
    body = "".join(line[2:] if line.startswith("  ") else line for line in inner.splitlines(keepends=True))
    for symbol in DEFAULT_SIZES:
        more = f"sizes = [{symbol}, {symbol}_value, ctx[{symbol}]]\nknown = [0] * {symbol}_value\n{body}"
        inline, beside, judged = codes_everywhere(head, more)
        assert inline == beside == judged == warnings_of(path)


@pytest.mark.parametrize("symbol", DEFAULT_SIZES)
@pytest.mark.parametrize("spelling", ["{}_value", "ctx[{}]", "{}"])
def test_a_size_that_the_task_does_not_mention(symbol: str, spelling: str) -> None:
    size = symbol if spelling == "{}" else str(DEFAULT_SIZES[symbol])
    task = PLAIN.replace("dims: [SIZE, 4, 3]", f"dims: [{size}, 4, 3]") if spelling == "{}" else PLAIN
    task = task.replace("SIZE", str(DEFAULT_SIZES[symbol]))
    body = f"return step.Repeat(n={spelling.format(symbol)}).apply(E0)"
    inline, beside, judged = codes_everywhere(task, body)
    assert inline == beside == judged == []
    payload = {"path": "task.step.yaml", "text": task, "impl": {"path": "task.impl.yaml", "text": block(body)}}
    (second,) = candidates(payload)
    (first,) = candidates({"path": "task.step.yaml", "text": task + block(body)})
    for candidate in (first, second):
        assert candidate.session.verify(candidate.checked).accepted


def test_what_is_no_default_size_stays_unknown() -> None:
    for body in ("return step.Repeat(n=E_value).apply(E0)", "return step.Repeat(n=Q).apply(E0)"):
        inline, beside, judged = codes_everywhere(PLAIN.replace("SIZE", "5"), body)
        assert inline == beside == judged == ["STEP202"]

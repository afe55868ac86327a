"""Small tasks for simulator tests, and the means to judge answers to them."""

from __future__ import annotations

from typing import Any

from stepcore.check import Checked, ImplChecker
from stepcore.findings.verdict import Verdict
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded

SCALARS = "{name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}"


def function(name: str, body: str, init: int | None = None, takes: str = "fp32") -> str:
    """An entry of ``fns`` that returns a scalar; ``init`` makes it an accumulator."""
    start = "" if init is None else f"  init: [{init}]\n"
    return (
        f"- name: {name}\n  func_name: {name}\n{start}  input_dtype: {takes}\n  output_dtype: fp32\n"
        f"  apply: |\n    return [{body}]\n"
    )


def task_text(
    reference: str, *functions: str, inputs: tuple[str, ...] = (SCALARS,), parameters: str = "", dims: str = "[N]"
) -> str:
    """A task with these inputs and functions, whose only output holds scalars and is computed by ``reference``."""
    weights = f"parameters:\n- {parameters}\n" if parameters else ""
    streams = "".join(f"- {entry}\n" for entry in inputs)
    output = f"- name: S0\n  dtype: fp32\n  dims: {dims}\n  data_transform:\n  - |\n    {reference}\n"
    return f"inputs:\n{streams}{weights}fns:\n{''.join(functions)}outputs:\n{output}"


SUM = function("fn_sum", "state[0] + input[0]", init=0)

TASK = task_text(
    "input_data['E0'].sum(1) * 2",
    SUM,
    function("fn_twice", "input[0] * 2 * input_data['W'][0]"),
    function("fn_invert", "input[0] / (input[0] - input[0])"),
    parameters="{name: W, dtype: fp32, dims: [1], data_gen: torch.ones}",
)

ROUTED = task_text(
    "input_data['E0']",
    function("fn_take", "state[0] + input[0]", init=0),
    inputs=(
        "{name: E0, dtype: fp32, dims: [M], data_gen: torch.randn}",
        '{name: E1, dtype: "Multihot(fp32, 2)", dims: [M], min: 1, max: 1}',
    ),
    dims="[M]",
)


class Bed:
    """A task with the means to judge answers."""

    def __init__(self, text: str = TASK, **options: Any) -> None:
        task = read_task(text, "bed.step.yaml")
        assert task.spec is not None
        assert not task.diagnostics
        self.checker = ImplChecker(task)
        self.session = Session(task.spec, **options)

    def check(self, impl: str) -> Checked:
        return self.checker.check(Embedded.whole(impl))

    def verify(self, impl: str) -> Verdict:
        return self.session.verify(self.check(impl))

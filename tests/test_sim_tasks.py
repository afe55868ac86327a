"""The 26 benchmark tasks in the simulator: accepted at every setting, and equal to the literal oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from oracle import load_task, run_task
from sim_helpers import policy
from stepcore.check import ImplChecker
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim import runtime
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded
from stepcore.text.wording import counted

FOLDER = Path(__file__).parent.parent / "benchmarks" / "tasks"
TASKS = sorted(FOLDER.glob("*.step.yaml"))
NAMES = [path.name.split(".")[0] for path in TASKS]
# A task may fix some of these itself; what it fixes stays.
SIZES: dict[str, dict[str, int]] = {
    "published": {},
    "small": {"M": 3, "N": 4, "K": 2, "D": 4},
    "ones": {"M": 1, "N": 1},
}


LIMITS = [{"lazy": 0}, {"lazy": 0, "chunk": 100, "reduce": 100, "chain": 3}]


def test_there_are_26() -> None:
    assert len(TASKS) == 26


def verdict_of(path: Path, dims: dict[str, int], seed: int = 42) -> tuple[bool, str, list[list[torch.Tensor]]]:
    task = read_task(path.read_text(encoding="utf-8"), str(path))
    assert task.spec is not None and task.impl is not None
    session = Session(task.spec, dims, seed)
    checked = ImplChecker(task).check(Embedded.whole(task.impl.source.text))
    verdict = session.verify(checked)
    return verdict.accepted, str(verdict), session.run(checked.typed).outputs


@pytest.mark.parametrize("path", TASKS, ids=NAMES)
def test_accepted(path: Path) -> None:
    accepted, text, _ = verdict_of(path, {})
    assert accepted, text


@pytest.mark.parametrize("path", TASKS, ids=NAMES)
def test_more_streams_than_outputs_are_told(path: Path) -> None:
    task = read_task(path.read_text(encoding="utf-8"), str(path))
    assert task.spec is not None and task.spec.outputs is not None and task.impl is not None
    *lines, last = task.impl.source.text.rstrip().split("\n")
    text = "\n".join((*lines, f"{last}, {task.spec.inputs[0].name}"))
    verdict = Session(task.spec).verify(ImplChecker(task).check(Embedded.whole(text)))
    assert not verdict.shape.ok and not verdict.functional.ok
    count = len(task.spec.outputs)
    assert verdict.functional.detail == f"{count + 1} outputs, but {counted(count, 'reference')}"


class _Forbidden:
    """What a plain program has no use for: looking into it fails."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"a plain program asks for {name}")


@pytest.mark.parametrize("path", TASKS, ids=NAMES)
def test_plain_programs_enter_nothing_of_generation_2(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ragged data nor memory nor the order of arrival cost a program anything that has none of them."""
    for name in ("ragged_ops", "alike"):
        monkeypatch.setattr(runtime, name, _Forbidden())
    monkeypatch.setattr(runtime, "OffChipMemory", lambda *_given: _Memory())
    for name in ("_in_order", "_open_unit", "_found", "arrive", "deal", "concat"):
        monkeypatch.setattr(runtime.RuntimeImpl, name, _Forbidden())
    accepted, text, _ = verdict_of(path, {})
    assert accepted, text


class _Memory:
    """Memory that is told that a run begins, asked whether it is as it was, and nothing else."""

    def begin(self) -> None:
        """Nothing was read or written."""

    def intact(self) -> bool:
        """Nothing can have changed."""
        return True

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"a plain program asks its memory for {name}")


@pytest.mark.parametrize("path", TASKS, ids=NAMES)
@pytest.mark.parametrize(
    "limits", [{"lazy": 0}, {"lazy": 0, "chunk": 100, "reduce": 100, "chain": 3}], ids=["lazy", "tiny"]
)
def test_accepted_with_lazy_maps(path: Path, limits: dict[str, int]) -> None:
    with policy(**limits):
        accepted, text, _ = verdict_of(path, {})
    assert accepted, text


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("path", TASKS, ids=NAMES)
def test_equal_to_the_oracle(path: Path, sizes: dict[str, int]) -> None:
    # Top-3 routing over a dimension needs at least three of it.
    if (sizes and "top3" in path.name) or "depths" in path.name:
        sizes = {name: max(size, 4) for name, size in sizes.items()}
    _, _, outputs = verdict_of(path, sizes, seed=7)
    expected = run_task(load_task(path), dims=sizes, seed=7)
    for found, wanted in zip(outputs, expected.outputs, strict=True):
        for result, reference in zip(found, wanted, strict=True):
            torch.testing.assert_close(result, reference, rtol=1e-4, atol=1e-4)

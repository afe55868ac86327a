"""Streams in scripts and notebooks: how they look, what is inferred, and cells that are run again."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import stepcore as step
from stepcore.dims import M, N
from stepcore.surface.origins import DEEPEST


@step.fn(input=step.f32, output=step.f32)
def double(input: Any) -> Any:
    return [input[0] * 2]


def _parsed(stream: step.Stream) -> ElementTree.Element:
    """Return the HTML as a tree: what is not well formed fails here."""
    return ElementTree.fromstring(stream._repr_html_().replace("&mdash;", "-").replace("<br>", "<br/>"))


def _texts(stream: step.Stream) -> list[str]:
    return [node.text or "" for node in _parsed(stream).iter("text")]


@pytest.mark.parametrize(
    ("tensors", "types", "shown"),
    [
        (torch.arange(12.0).view(3, 4), {}, "[4, 3] of fp32: 0, 1, 2, 3, 4, 5, ... (12 values)"),
        (torch.arange(4).view(2, 2), {"shape": [N, M]}, "[N, M] = [2, 2] of int64: 0, 1, 2, 3 (4 values)"),
        (torch.zeros(2, 3, 1), {"shape": [N]}, "[N] = [2] of Buffer(fp32, [1, 3]): 0, 0, 0, 0, 0, 0 (6 values)"),
        (
            torch.ones(2, 3),
            {"dtype": step.Buffer(step.f32, [3])},
            "[2] of Buffer(fp32, [3]): 1, 1, 1, 1, 1, 1 (6 values)",
        ),
        ([torch.ones(2), torch.zeros(2).bool()], {}, "[2] of [fp32, bool]: 1, 1 (2 values); 0, 0 (2 values)"),
        (torch.ones(1, 0), {}, "[0, 1] of fp32: no values (0 values)"),
    ],
)
def test_a_stream_of_tensors_infers_its_types_and_says_what_it_holds(tensors: Any, types: Any, shown: str) -> None:
    assert repr(step.Stream.of(tensors, name="E0", **types)) == f"Stream E0: {shown}"


@pytest.mark.parametrize(
    ("tensors", "types", "code", "way"),
    [
        (torch.ones(2).double(), {}, "STEP208", "convert the tensor to one of float32"),
        (torch.ones(2), {"shape": [M, N]}, "STEP207", "needs the shape"),
        (torch.tensor(1.0), {}, "STEP207", "at least one size"),
        (torch.ones(3), {"dtype": step.Buffer(step.f32, [3])}, "STEP207", "before the 1 of its elements"),
        ([torch.ones(2), torch.ones(3)], {}, "STEP207", "found (3)"),
        ([], {}, "STEP208", "made of a tensor"),
        ("abc", {}, "STEP208", "made of a tensor"),
        (None, {}, "STEP208", "this is None"),
        (torch.ones(2, device="meta"), {}, "STEP208", "no values"),
    ],
)
def test_what_is_no_stream_says_why(tensors: Any, types: Any, code: str, way: str) -> None:
    with pytest.raises(step.StepError) as caught:
        step.Stream.of(tensors, **types)
    assert caught.value.code == code
    assert way in str(caught.value)


def test_a_lazy_view_is_shown_without_its_copies() -> None:
    """Stands for 4 TiB: only the values that are shown are read."""
    shown = step.Stream.of(torch.arange(2.0)[:, None, None].expand(2, 2**19, 2**20), name="E0")
    assert repr(shown).endswith("of fp32: 0, 0, 0, 0, 0, 0, ... (1,099,511,627,776 values)")
    assert len(_parsed(shown).findall(".//polyline")) == 1


def test_html_shows_type_values_and_the_dataflow() -> None:
    first = step.Stream.of(torch.tensor([[1.0, 2.0], [float("nan"), 4.0]]), name="<E0>")
    second = step.Stream.of(torch.ones(2, 2), name="E1")
    joined = step.Zip().apply((step.Map(fn=double).apply(first), second), name="E2")
    tree = _parsed(joined)
    assert [cell.text for cell in tree.iter("th")] == ["stream", "type", "component 0", "component 1", "made by"]
    assert len(tree.findall(".//polyline")) == 3  # the NaN parts the first component's line
    texts = _texts(joined)
    assert {"<E0>: input", "E1: input", "Map(fn=double)", "E2: Zip()"} <= set(texts)
    assert len(tree.findall(".//path")) == 3
    assert "made by" not in second._repr_html_()


def test_the_dataflow_of_a_long_loop_is_bounded() -> None:
    stream = step.Stream.of(torch.ones(2), name="E0")
    for _ in range(DEEPEST + 50):
        stream = step.Map(fn=double).apply(stream)
    assert stream.origin.depth <= DEEPEST
    assert len(_parsed(stream).findall(".//rect")) == 40
    assert "earlier operators are not shown" in stream._repr_html_()


def test_signatures_and_names_show_what_is_meant() -> None:
    common = "depth: 'Dim | int | None' = None, bw: 'Dim | int | None' = None"
    assert str(inspect.signature(step.Accum)) == f"(*, fn: 'FnLike', b: 'int', {common})"
    assert list(inspect.signature(step.Stream.of).parameters)[:3] == ["tensors", "dtype", "shape"]
    assert {name for name in dir(step) if not name.startswith("__")} == set(step.__all__)


# -- cells ---------------------------------------------------------------------------------------------


@pytest.fixture(name="shell")
def _shell() -> Iterator[Any]:
    """A real IPython, as a notebook's kernel has one."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    shell.run_cell("import torch, stepcore as step\nE0 = step.Stream.of(torch.ones(2), name='E0')", store_history=True)
    yield shell
    InteractiveShell.clear_instance()


_CELL = "E1 = step.Promote(b=0).apply(E0)"


def test_a_cell_can_be_run_again(shell: Any) -> None:
    for _ in range(3):
        assert shell.run_cell(_CELL, store_history=True).success
    again = shell.run_cell("E2 = step.Promote(b=1).apply(E0)", store_history=True)
    assert isinstance(again.error_in_exec, step.StepError)
    assert again.error_in_exec.code == "STEP101"


def test_within_one_run_a_stream_is_consumed_once(shell: Any) -> None:
    twice = shell.run_cell(f"{_CELL}\n{_CELL}", store_history=True)
    assert isinstance(twice.error_in_exec, step.StepError)
    assert shell.run_cell(_CELL, store_history=True).error_in_exec.code == "STEP101"


def test_a_cell_that_was_edited_is_known_by_the_id_that_its_notebook_gave_it(shell: Any) -> None:
    shell.get_parent = lambda: {"metadata": {"cellId": "a1"}}
    assert shell.run_cell(_CELL, store_history=True).success
    assert shell.run_cell("E1 = step.Promote(b=1).apply(E0)", store_history=True).success
    shell.get_parent = lambda: {"metadata": {"cellId": "b2"}}
    assert shell.run_cell(_CELL, store_history=True).error_in_exec.code == "STEP101"

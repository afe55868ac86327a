"""The search writes programs of generation 2: tiles off chip, joined and cut, addresses, branches put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepagents.experience.identity import checked_program
from stepagents.search.moves import Moves
from stepagents.search.proposer import SearchOptions, synthesize
from stepagents.search.space import Space
from stepagents.search.tiles import are_cut, loads
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile

TASKS = sorted((Path(__file__).parent / "tile_tasks").glob("*.step.yaml"))


def task_of(path: Path) -> TaskFile:
    """Return the task in a file."""
    return read_task(path.read_text(), str(path))


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.partition(".")[0])
def test_small_tasks_over_tiles_are_solved(path: Path) -> None:
    found = synthesize(task_of(path), SearchOptions(seconds=1e9, candidates=300))
    assert found.solved, found.reason
    assert not found.rejected
    names = {
        "columns": ("shape=[K, M], stride=[1, 0]", "Retile(axis=1)"),
        "gated": ("shape=[K, M], stride=[0, 1]", "Retile(axis=1)"),
        "gathered": ("RandomOffChipLoad(tensor=w, tile=[1, D])",),
        "norms": ("Accum(fn=fn_sum, b=1)", "Retile(axis=1)"),
        "product": ("Accum(fn=fn_mac, b=1)", "LinearOffChipLoad(tensor=x, tile=[2, 1], "),
        "routed": ("Partition(N=2)", "Reassemble(onehot=True)"),
    }
    assert all(text in found.impl for text in names[path.name.partition(".")[0]])
    task, checked = checked_program(path.read_text(), path.name, found.impl)
    assert task.spec is not None
    moves = Moves(checked.typed, Space.of(task.spec, task.spec.bindings()))  # reads what the search wrote
    assert {"Map", "Accum"} & {move.name for move in moves.moves}


def test_a_parameter_is_read_in_the_tiles_that_are_wanted() -> None:
    task = task_of(next(path for path in TASKS if path.name.startswith("norms")))
    assert task.spec is not None
    space = Space.of(task.spec, {"M": 4, "K": 5, "N": 3, "D": 6})
    assert space.tiles
    reads = [tuple(map(str, load.param_values()["shape"])) for load in loads(space)]
    assert ("K", "M") in reads and ("M", "K") in reads and ("M",) in reads
    assert not list(loads(Space(task.spec, {})))  # nobody wants a tile


@pytest.mark.parametrize(
    ("sizes", "axes", "fits"),
    [
        ((5, 4), (8, 10), True),
        ((4, 5), (8, 10), True),
        ((3, 4), (8, 10), False),
        ((), (8,), False),
        ((2, 2), (4,), False),
    ],
)
def test_stream_sizes_count_the_tiles_of_a_tensor(sizes: tuple[int, ...], axes: tuple[int, ...], fits: bool) -> None:
    assert are_cut(sizes, axes) == fits

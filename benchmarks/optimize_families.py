"""Families of programs on which optimization memory is measured, each drawn by a seed: sizes, tiles, schedules.

They were chosen before memory was measured, but after one draw was searched without it: tiled programs, reductions and
scans came in then, because the drawn schedules of kernels leave the rewrites nothing to gain. Task files have nothing
to draw, and are the same for each seed. Programs of one family are never taught to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.harness import ROOT, TASKS
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.search import ScheduleOptions, schedule_points, written_point
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.check import check_text
from stepcore.conversion.to_python import spec_to_python
from stepcore.records import Record
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.timing.hardware import PRESETS

CHIP: Final = PRESETS["paper"]
_EXAMPLES: Final = ROOT / "examples"
_TILED: Final = ROOT / "benchmarks" / "tiles"
_TASKS2: Final = ROOT / "benchmarks" / "tasks2"
_TASKS3: Final = ROOT / "benchmarks" / "tasks3"
_KERNELS: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
_MOST_LANES: Final = 8  # of a drawn schedule: more units only take longer to time
_TILES: Final = (8, 16, 32, 64)
_NAMED: Final = re.compile(r"^(T[A-Z](?:, \w+)*) = (\d+(?:, \d+)*)", re.M)


class FamilyProgram(Record):
    """One program of a family, as it is before anything is done."""

    family: str
    name: str
    subject: RewriteSubject


class _Written(Record):
    """A file of the repository: the tiles that it names, and the sizes that are drawn."""

    path: Path
    tiles: Sequence[str] = ()
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)


class _Kernel(Record):
    """A function whose schedule is drawn, at sizes that are drawn."""

    name: str
    sizes: Mapping[str, Sequence[int]]


_WIDE: Final = (128, 256, 512)
_TALL: Final = (64, 128, 256)
FAMILIES: Final[Mapping[str, Sequence[_Written | _Kernel]]] = {
    "chains of products": (
        _Written(_EXAMPLES / "swiglu_tiles.py", ("TM", "TN"), {"B": (64, 128), "D": _WIDE, "F": _WIDE}),
        _Written(_TILED / "mlp_tiles.py", ("TM", "TF"), {"B": (64, 128), "D": _WIDE, "F": _WIDE}),
        _Kernel("swiglu", {"B": (32, 64), "D": (128, 256), "F": (128, 256)}),
        _Kernel("attention", {"M": (64, 128), "L": (64, 128), "D": (32, 64)}),
    ),
    "mixtures": (
        _Written(_EXAMPLES / "moe_static_tiles.py", ("TM", "TF"), {"M": (64, 128), "D": (64, 128), "F": (256, 512)}),
        _Written(_EXAMPLES / "moe_dynamic_tiles.py", ("TF",), {"M": (64, 128), "D": (64, 128), "F": (256, 512)}),
        _Written(_EXAMPLES / "moe_shared_region.py", ("TM", "TF"), {"M": (64, 128), "D": (64, 128)}),
    ),
    "products": (
        _Written(_TILED / "gemm_tiles.py", ("TM", "TN", "TK"), {"M": _TALL, "N": _WIDE, "K": _WIDE}),
        _Kernel("gemm", {"M": _TALL, "K": _WIDE, "N": _WIDE}),
        _Kernel("bgemm", {"B": (4, 8), "M": (64, 128), "K": (64, 128), "N": (64, 128)}),
    ),
    "scaled products": (
        _Written(_TILED / "rms_linear_tiles.py", ("TM", "TN"), {"M": (64, 128), "N": _WIDE, "K": _WIDE}),
        _Kernel("rms_linear", {"M": (64, 128), "K": _WIDE, "N": _WIDE}),
    ),
    "rows": (
        _Written(_TILED / "softmax_tiles.py", ("TM",), {"M": _TALL, "N": _WIDE}),
        _Written(_TILED / "layernorm_tiles.py", ("TM",), {"M": _TALL, "N": _WIDE}),
        _Kernel("softmax", {"M": _TALL, "N": _WIDE}),
        _Kernel("layernorm", {"M": _TALL, "N": _WIDE}),
        _Kernel("rope", {"S": (64, 128), "H": (4, 8), "D": (16, 32)}),
    ),
    "norms of numbers": tuple(
        _Written(path)
        for path in (
            TASKS / "norm_layer_scalars.step.yaml", TASKS / "norm_rms_scalars.step.yaml", _EXAMPLES / "rms_norm.py",
        )
    ),
    "sums of products": tuple(_Written(path) for path in sorted(TASKS.glob("gemm_easy_*.step.yaml"))),
    "reductions": tuple(_Written(path) for path in sorted(_TASKS2.glob("reduce_*.step.yaml"))),
    "scans": tuple(_Written(path) for folder in (_TASKS2, _TASKS3) for path in sorted(folder.glob("scan_*.step.yaml"))),
}  # fmt: skip


def programs(seed: int) -> Iterator[FamilyProgram]:
    """Yield the programs of all families as a seed draws them; what has errors at its sizes is drawn again."""
    for family, members in FAMILIES.items():
        for number, member in enumerate(members):
            draw = Random(f"{seed} {family} {number}")
            drawn = _kernel(member, draw) if isinstance(member, _Kernel) else _written(member, draw)
            yield FamilyProgram(family, drawn.name, drawn)


def _written(member: _Written, draw: Random) -> RewriteSubject:
    text = member.path.read_text(encoding="utf-8")
    for _attempt in range(100):
        found = _with_sizes(_with_tiles(text, member.tiles, draw), member, draw)
        name = check_text(found, str(member.path), with_fixes=False).programs[0].name
        subject = subject_of(found, str(member.path), name)
        if subject is not None:
            return subject
    raise SystemExit(f"{member.path}: no sizes fit")


def _with_tiles(text: str, names: Sequence[str], draw: Random) -> str:
    found = _NAMED.search(text)
    if not names or found is None:
        return text
    targets, values = found[1].split(", "), found[2].split(", ")
    drawn = [str(draw.choice(_TILES)) if name in names else value for name, value in zip(targets, values, strict=False)]
    return text[: found.start(2)] + ", ".join(drawn) + text[found.end(2) :]


def _with_sizes(text: str, member: _Written, draw: Random) -> str:
    for name, sizes in member.sizes.items():
        text = re.sub(rf"(dims=\{{[^}}]*\b{name}: )\d+", rf"\g<1>{draw.choice(sizes)}", text, count=1)
    return text


def _kernel(member: _Kernel, draw: Random) -> RewriteSubject:
    sizes = {name: draw.choice(choices) for name, choices in member.sizes.items()}
    target = find_target(str(_KERNELS), _KERNELS.read_text(encoding="utf-8"), member.name)
    traced = trace(target, completed(target, partly(target, [], sizes)))
    options = ScheduleOptions(CHIP)
    points = [
        point
        for point in schedule_points(traced)
        if 1 < sum(lane.count for lane in point.lanes) <= _MOST_LANES + len(point.lanes)
    ]
    draw.shuffle(points)
    for point in points:
        try:
            program = written_point(traced, options, point)
        except NoSchedule:
            continue
        text = spec_to_python(program.spec, program.impl)
        subject = subject_of(text, f"{member.name}.py", member.name)
        if subject is not None and len(subject.graph.nodes) < 200:
            return subject
    raise SystemExit(f"{member.name}: no schedule fits {sizes}")

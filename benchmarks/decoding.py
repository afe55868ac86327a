"""Attention of a decoder in lanes: requests in blocks (coarse), in turn (interleaved) or to the lane that is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from random import Random
from typing import Final, Literal, TypeAlias

import torch
from torch import Tensor

from benchmarks.harness import ROOT, checked_text
from stepcore.check.programs import Checked
from stepcore.cycles.routes import ProgramRoutes
from stepcore.cycles.timed import time_program
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Session
from stepcore.timing.hardware import PRESETS

Policy: TypeAlias = Literal["coarse", "interleaved", "free"]
POLICIES: Final[tuple[Policy, ...]] = ("coarse", "interleaved", "free")
BLOCK: Final = 16  # requests that a coarse lane takes at once
LANES: Final = 4  # of the example
_TILE: Final = 64  # rows of a cache's tile


def lengths_trace(batch: int, *, mean: float, spread: float, seed: int) -> list[int]:
    """Draw how many tiles of a cache each request has, at least 1.

    Log-normal: ``spread`` is the standard deviation of the logarithm, ``mean`` the mean before rounding.
    """
    rng = Random(seed)
    return [max(1, round(exp(rng.gauss(log(mean) - spread**2 / 2, spread)))) for _ in range(batch)]


def dealt_tiles(policy: Policy, lengths: Sequence[int]) -> int:
    """Return the tiles of the lane that has most of them: what a policy costs where a lane does nothing but read tiles.

    Requests come in this order, and a free lane is the one that has least to do: list scheduling. It knows nothing of
    what comes, so it may end later than any fixed order, at most by the longest request; where requests come longest
    first it never ends later than lanes in turn.
    """
    lanes = [0] * LANES
    for number, length in enumerate(lengths):
        turn = number // BLOCK if policy == "coarse" else number
        lanes[min(range(LANES), key=lanes.__getitem__) if policy == "free" else turn % LANES] += length
    return max(lanes)


def decode_text(policy: Policy, batch: int, columns: int, tiles: int) -> str:
    """Return the example with lanes that get requests in another way, at these sizes."""
    text = (ROOT / "examples" / "decode_attention.py").read_text(encoding="utf-8")
    sizes = f"dims={{B: {batch}, C: {tiles * _TILE}, D: {columns}}}"
    changes = [("dims={B: 16, C: 4096, D: 64}", sizes), ("Copy(n=3, depth=16)", f"Copy(n=3, depth={batch})")]
    partition, finish = "step.Partition(N=4)", "step.Map(fn=finish)"
    text = text.replace(partition, f"{partition[:-1]}, depth={BLOCK})").replace(
        finish, f"{finish[:-1]}, depth={BLOCK})"
    )
    if policy == "interleaved":
        changes.append(('policy="free"', f'policy="round_robin", depth={BLOCK}'))
    if policy == "coarse":
        cut = f"    q, first, n = [step.Reshape(S={BLOCK}, L=[0]).apply(each) for each in (q, first, n)]\n"
        dealt = '    lanes, lane_of = step.Parallelize(N=4, policy="free")'
        changes.append((dealt, cut + dealt.replace('"free"', f'"round_robin", depth={BLOCK}')))
        changes.append(("step.Flatten(L=[1]).apply(step.Re", "step.Flatten(L=[1, 2]).apply(step.Re"))
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"the example has no {old!r}")
        text = text.replace(old, new)
    return text


def checked_decode(policy: Policy, batch: int, columns: int, tiles: int) -> Checked:
    """Return the checked program."""
    return checked_text(decode_text(policy, batch, columns, tiles), "decode.py")


def traced_decode(checked: Checked, lengths: Sequence[int]) -> ProgramRoutes:
    """Return what a run with caches of these lengths decides; it runs with one column, on which nothing depends."""
    sizes = checked.spec.bindings()

    def given(dtype: torch.dtype) -> Mapping[str, Sequence[Tensor]]:
        cache = torch.zeros(sizes["C"], 1, dtype=dtype)
        requests = torch.tensor(lengths, dtype=torch.int64)
        queries = torch.zeros(len(lengths), 8, 1, dtype=dtype)
        return {"q": [queries], "first": [torch.zeros_like(requests)], "n": [requests], "k": [cache], "v": [cache]}

    run = Session(checked.spec, {"D": 1}, examine=False, given=given).run(checked.typed, keep=True)
    decided = decided_by_data(checked.typed, run)
    assert decided is not None, "caches are short"
    return decided


def decoded_cycles(policy: Policy, lengths: Sequence[int], columns: int) -> int:
    """Return the exact cycles of requests with caches of these lengths on the chip ``decode``."""
    checked = checked_decode(policy, len(lengths), columns, max(lengths))
    timed = time_program(checked, PRESETS["decode"], routes=traced_decode(checked, lengths))
    if timed.cycles is None:
        raise SystemExit(f"{policy}, {lengths}: it stopped")
    return timed.cycles

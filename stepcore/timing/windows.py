"""What numpy does for timing: a window of memory requests at once (:mod:`stepcore.timing.memory`), rows as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepcore.timing.hardware import Hardware


def place_window(
    hardware: Hardware, free: list[int], turn: int, start: int, length: int, total: int
) -> tuple[Any, int]:
    """Place ``total`` bursts in each of ``length`` cycles from ``start`` on.

    Returns the answers, an int64 array ``(length, total)``, and the channel that comes next; ``free`` is changed. On a
    channel burst ``j`` starts at ``max(arrival, start of burst j-1 + interval)``, so that
    ``start - interval*j`` is a running maximum of ``arrival - interval*j``.
    """
    memory = hardware.memory
    k = np.arange(total, dtype=np.int64)
    pattern, advance = (k * (k + 1) // 2, total * (total + 1) // 2)
    if memory.interleave != "triangular":
        pattern, advance = k, total
    cycles = np.arange(length, dtype=np.int64)
    channel = ((turn + cycles[:, None] * advance + pattern[None, :]) % memory.channels).ravel()
    order = np.argsort(channel.astype(np.uint16), kind="stable")
    channel = channel[order]
    arrival = start + 1 + order // total
    counts = np.bincount(channel, minlength=memory.channels)
    rank = np.arange(len(order), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    ready = np.asarray(free, dtype=np.int64)
    early = np.maximum(arrival - memory.interval * rank, ready[channel])
    apart = (
        int(early.max()) + 1 - int(early.min())
    )  # more than two channels differ by, so that none reaches into another
    shift = channel * apart
    starts = np.maximum.accumulate(early + shift) - shift + memory.interval * rank
    used = counts > 0
    ready[used] = starts[np.cumsum(counts)[used] - 1] + memory.interval
    free[:] = ready.tolist()
    answers = np.empty(len(order), dtype=np.int64)
    answers[order] = starts + memory.answer
    return answers.reshape(length, total), int((turn + length * advance) % memory.channels)


def as_array(row: list[int]) -> Any:
    """Return a row as an array of int64, as machine code wants it."""
    return np.asarray(row, dtype=np.int64)

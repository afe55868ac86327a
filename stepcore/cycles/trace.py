"""What a run did, cycle by cycle, as the JSON that Chrome (``chrome://tracing``) and Perfetto open.

A program is a process, a unit a thread with an event for whatever it did (``work``, ``starved``, ``blocked``, and
``memory`` while it waits for an answer; ``stopped`` where a run did not come to its end). Counters show what each FIFO
holds and what memory moves. A cycle is a microsecond. The format: "Trace Event Format" (Duffy et al., Google).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stepcore.cycles.report import TimedFile
from stepcore.timing.recorder import RunRecorder


def trace(runs: Iterable[tuple[TimedFile, RunRecorder]]) -> dict[str, Any]:
    """Return the trace of recorded runs; about 200,000 events at most for each (see the recorder)."""
    events: list[dict[str, Any]] = []
    told: list[dict[str, Any]] = []
    for number, (file, record) in enumerate(runs, 1):
        events += _events(number, file, record)
        timed = file.timed
        told.append(
            {
                "path": file.path, "program": timed.name, "hw": timed.hardware.name, "engine": timed.engine,
                "cycles": timed.cycles, "joined": bool(record.joined),
            }
        )  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"unit": "1 us is a cycle", "programs": told}}


def _events(process: int, file: TimedFile, record: RunRecorder) -> Iterator[dict[str, Any]]:
    yield _named(process, 0, "process_name", f"{file.timed.name} on {file.timed.hardware.name}")
    for unit, row in enumerate(record.spans):
        thread = unit + 1
        yield _named(process, thread, "thread_name", file.title(unit))
        yield {"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": unit}}
        clock = 0
        for kind, cycles in row:
            yield _span(process, thread, kind, clock, cycles)
            clock += cycles
    timing = file.timed.timing
    for item in timing.waiting:
        clock = timing.units[item.unit].clock
        told = {"waits for": file.timed.called(item.channel), "which is": item.reason}
        yield {**_span(process, item.unit + 1, "stopped", clock, max(timing.cycles - clock, 1)), "args": told}
    for channel, use in enumerate(timing.channels):
        yield from _fill(process, f"{use.name or 'stream'} #{channel}", record.put[channel], record.taken[channel])
    yield from _traffic(process, file.timed.hardware.memory.burst, record)


def _named(process: int, thread: int, what: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}}


def _span(process: int, thread: int, kind: str, start: int, cycles: int) -> dict[str, Any]:
    return {"ph": "X", "pid": process, "tid": thread, "name": kind, "cat": "unit", "ts": start, "dur": cycles}


def _counter(process: int, name: str, cycle: int, value: float, unit: str) -> dict[str, Any]:
    return {"ph": "C", "pid": process, "tid": 0, "name": name, "ts": cycle, "args": {unit: value}}


def _fill(
    process: int, name: str, put: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    moves = sorted([*((cycle, tokens) for tokens, cycle in put), *((cycle, -tokens) for tokens, cycle in taken)])
    held, shown = 0, 0
    for at, (cycle, tokens) in enumerate(moves):
        held += tokens
        is_last = at + 1 == len(moves) or moves[at + 1][0] > cycle
        if is_last and max(held, 0) != shown:
            shown = max(held, 0)  # of joined passes, those that come first may be those that took
            yield _counter(process, f"fill of {name}", cycle, shown, "tokens")


def _traffic(process: int, burst: int, record: RunRecorder) -> Iterator[dict[str, Any]]:
    end, rate = 0, 0.0
    for start, cycles, bursts in record.windows:
        if rate and start > end:
            yield _counter(process, "off chip", end, 0, "bytes per cycle")
            rate = 0
        now = round(bursts * burst / max(cycles, 1), 2)
        if now != rate:
            yield _counter(process, "off chip", start, now, "bytes per cycle")
        end, rate = start + cycles, now
    if rate:
        yield _counter(process, "off chip", end, 0, "bytes per cycle")

"""The job ``verify``: verdicts on one task or on the programs of one Python file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from stepcore.jobs import Context
from stepcore.sim.verdict import Untested, Verdict
from stepcore.sim.worker_composed import Judged, batched, holds_composition, judged_compositions
from stepcore.sim.worker_script import script_of, script_row
from stepcore.sim.worker_tasks import Candidate, candidates, composition_named, position, use_threads


def verify(payload: Mapping[str, Any], context: Context) -> list[dict[str, Any]]:
    """Return one row per program.

    A row holds ``task, path, accepted, shape:{ok,detail}, functional:{ok,detail,max_abs_error}, affine:{ok,count,
    detail}, seconds``, and as our own additions ``functional.code``, ``functional.max_abs_error_fp64``, ``mismatch``,
    ``nan_origin`` and ``untested:{code,inputs,outputs,note}`` (None where there is none). Errors that are not finite
    are given as None.
    """
    start = perf_counter()
    if (script := script_of(payload)) is not None:
        return [script_row(payload, script)]
    rows: list[dict[str, Any]] = []
    has_compositions = holds_composition(payload)
    if has_compositions:
        payload = batched(payload)
    if has_compositions and composition_named(payload):
        parts = candidates({**payload, "program": None})
        return [composed_row(payload["path"], each) for each in judged_compositions(payload, parts)]
    found = candidates(payload)
    for candidate in found:
        context.check()
        use_threads(candidate.session)
        verdict = candidate.verify()
        seconds = perf_counter() - start  # reading and checking belong to the first program
        rows.append(row(payload["path"], candidate, verdict, seconds))
        start = perf_counter()
    if has_compositions:
        judged = judged_compositions(payload, found)
        for candidate, each in zip(found, rows, strict=True):
            if not candidate.session.world.has_reference:
                _judge_by_composition(each, judged)
        rows += [composed_row(payload["path"], each) for each in judged]
    return rows


def _judge_by_composition(row: dict[str, Any], judged: Sequence[Judged]) -> None:
    """Accept a program without a reference of its own where a composition that applies it is right as a whole."""
    by = [each.name for each in judged if each.verdict.accepted and row["task"] in each.programs]
    if by and row["functional"]["code"] == "STEP411" and row["shape"]["ok"] and row["affine"]["ok"]:
        row["functional"] |= {"ok": True, "detail": f"judged by the composition {by[0]}", "code": ""}
        row["accepted"] = True


def composed_row(path: str, judged: Judged) -> dict[str, Any]:
    """Return the verdict on a composition as plain data, with the keys of a program's."""
    verdict, functional = judged.verdict, judged.verdict.functional
    return {
        "task": judged.name,
        "path": path,
        "accepted": verdict.accepted,
        "shape": {"ok": verdict.shape.ok, "detail": verdict.shape.detail},
        "functional": {
            "ok": functional.ok,
            "detail": functional.detail,
            "max_abs_error": finite(functional.max_abs_error),
            "max_abs_error_fp64": finite(functional.max_abs_error_fp64),
            "code": functional.code,
        },
        "affine": {"ok": verdict.affine.ok, "count": verdict.affine.count, "detail": verdict.affine.detail},
        "seconds": verdict.seconds,
        "mismatch": None,
        "nan_origin": None,
        "untested": None,
    }


def row(path: str, candidate: Candidate, verdict: Verdict, seconds: float) -> dict[str, Any]:
    """Return a verdict as plain data."""
    functional, affine = verdict.functional, verdict.affine
    return {
        "task": candidate.name,
        "path": path,
        "accepted": verdict.accepted,
        "shape": {"ok": verdict.shape.ok, "detail": verdict.shape.detail},
        "functional": {
            "ok": functional.ok,
            "detail": functional.detail + _place(candidate, verdict) + _origin(candidate, verdict),
            "max_abs_error": finite(functional.max_abs_error),
            "max_abs_error_fp64": finite(functional.max_abs_error_fp64),
            "code": functional.code,
        },
        "affine": {"ok": affine.ok, "count": affine.count, "detail": affine.detail},
        "seconds": seconds,
        "mismatch": _mismatch(verdict),
        "nan_origin": _nan_origin(candidate, verdict),
        "untested": untested_json(verdict.untested),
    }


def untested_json(untested: Untested | None) -> dict[str, Any] | None:
    """Return what a verdict is not worth as plain data."""
    if untested is None:
        return None
    names = {"inputs": list(untested.inputs), "outputs": list(untested.outputs)}
    return {"code": "STEP415", **names, "note": untested.note}


def _place(candidate: Candidate, verdict: Verdict) -> str:
    """Say where a function or reference failed, and under which operator."""
    span, node = verdict.functional.span, verdict.node
    where = []
    if span is not None:
        line, column = position(candidate.declarations, span)
        where.append(f"in line {line}, column {column}")
    if node is not None and verdict.functional.code:
        step = candidate.checked.graph.nodes[node]
        where.append(f"run by {step.op_name} in line {position(candidate.source, step.span)[0]}")
    return f" ({', '.join(where)})" if where else ""


def finite(number: float | None) -> float | None:
    """Return ``number``, or None where it is no finite one: JSON has no word for infinity."""
    return number if number is not None and math.isfinite(number) else None


def _mismatch(verdict: Verdict) -> dict[str, Any] | None:
    place = verdict.mismatch
    if place is None:
        return None
    return {
        "output": place.output,
        "component": place.component,
        "index": list(place.index),
        "expected": number_json(place.expected),
        "got": number_json(place.got),
    }


def number_json(number: float) -> float | str:
    """Return a number, or "nan", "inf", "-inf" for those that JSON has no word for."""
    return number if math.isfinite(number) else str(number)


def _nan_origin(candidate: Candidate, verdict: Verdict) -> dict[str, Any] | None:
    origin = verdict.nan_origin
    if origin is None:
        return None
    line, column = position(candidate.source, candidate.checked.graph.nodes[origin.node].span)
    return {
        "kind": origin.kind, "operator": origin.operator, "stream": origin.name, "line": line, "column": column,
    }  # fmt: skip


def _origin(candidate: Candidate, verdict: Verdict) -> str:
    origin = _nan_origin(candidate, verdict)
    if origin is None:
        return ""
    stream = origin["stream"] or "a stream without a name"
    return f"; {origin['kind']} first appears in {stream}, made by {origin['operator']} in line {origin['line']}"

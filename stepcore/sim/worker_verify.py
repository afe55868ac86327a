"""The job ``verify``: verdicts on one task or on the programs of one Python file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from stepcore.codes import Outcome, about
from stepcore.jobs import Context
from stepcore.sim.worker_composed import Judged, batched, holds_composition, judged_compositions
from stepcore.sim.worker_script import script_of, script_row
from stepcore.sim.worker_tasks import Candidate, candidates, composition_named, position, use_threads
from stepcore.verdict import Verdict, as_row


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
        return [as_row(each.name, payload["path"], each.verdict) for each in judged_compositions(payload, parts)]
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
        rows += [as_row(each.name, payload["path"], each.verdict) for each in judged]
    return rows


def _judge_by_composition(found: dict[str, Any], judged: Sequence[Judged]) -> None:
    """Accept a program without a reference of its own where a composition that applies it is right as a whole."""
    by = [each.name for each in judged if each.verdict.accepted and found["task"] in each.programs]
    is_right = found["shape"]["ok"] and found["affine"]["ok"]
    if by and is_right and about(found["functional"]["code"]).outcome is Outcome.NOT_COMPARED:
        found["functional"] |= {"ok": True, "detail": f"judged by the composition {by[0]}", "code": ""}
        found["accepted"] = True


def row(path: str, candidate: Candidate, verdict: Verdict, seconds: float) -> dict[str, Any]:
    """Return the verdict on a program as plain data, with the places of what failed."""
    origin = _nan_origin(candidate, verdict)
    detail = verdict.functional.detail + _place(candidate, verdict) + _first_appears(origin)
    return as_row(candidate.name, path, replace(verdict, seconds=seconds), detail, origin)


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


def _nan_origin(candidate: Candidate, verdict: Verdict) -> dict[str, Any] | None:
    origin = verdict.nan_origin
    if origin is None:
        return None
    line, column = position(candidate.source, candidate.checked.graph.nodes[origin.node].span)
    return {
        "kind": origin.kind, "operator": origin.operator, "stream": origin.name, "line": line, "column": column,
    }  # fmt: skip


def _first_appears(origin: Mapping[str, Any] | None) -> str:
    if origin is None:
        return ""
    stream = origin["stream"] or "a stream without a name"
    return f"; {origin['kind']} first appears in {stream}, made by {origin['operator']} in line {origin['line']}"

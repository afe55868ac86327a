"""Jobs called in this process as a worker calls them: plain JSON in, plain JSON out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepcore.jobdata.failures import Reads
from stepcore.jobdata.plain import from_plain
from stepcore.jobdata.programs import (
    SIMULATE,
    VERIFY,
    MetricsRow,
    QuantityRow,
    SimulateResult,
    StreamRow,
    VerifyRequest,
)
from stepcore.jobs import handler

if TYPE_CHECKING:
    from stepcore.sim.worker.tasks import Candidate


def verify(payload: Any, context: Any) -> list[dict[str, Any]]:
    from stepcore.sim.worker.verify import verify

    rows: list[dict[str, Any]] = handler(VERIFY, verify)(payload, context)
    return rows


def simulate(payload: Any, context: Any) -> dict[str, Any]:
    from stepcore.sim.worker.simulate import simulate

    result: dict[str, Any] = handler(SIMULATE, simulate)(payload, context)
    return result


def candidates(payload: Any) -> list[Candidate]:
    from stepcore.sim.worker.tasks import candidates

    return candidates(from_plain(VerifyRequest, payload))


def run_of(*streams: StreamRow) -> SimulateResult:
    """Return a run of which only the streams matter."""
    nothing = QuantityRow(None, None)
    costs = MetricsRow(nothing, nothing, nothing, None, None, nothing, None)
    return SimulateResult("main", "file.py", {}, 42, 0.1, streams, (), costs, (), None, Reads({}, ()))

"""Jobs called in this process as a worker calls them: plain JSON in, plain JSON out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stepcore.jobdata.failures import Reads
from stepcore.jobdata.kinds import JobKind, Request, Result
from stepcore.jobdata.plain import from_plain, to_plain
from stepcore.jobdata.programs import (
    SIMULATE,
    VERIFY,
    MetricsRow,
    QuantityRow,
    SimulateResult,
    StreamRow,
    VerifyRequest,
)
from stepcore.jobdata.writing import FUNCTION, PROPOSE, SIZES, sample_kind
from stepcore.jobs import Handler

if TYPE_CHECKING:
    from stepcore.sim.worker.tasks import Candidate


def verify(payload: Any, context: Any) -> list[dict[str, Any]]:
    from stepcore.sim.worker.verify import verify

    rows: list[dict[str, Any]] = Handler(VERIFY, verify)(payload, context)
    return rows


def simulate(payload: Any, context: Any) -> dict[str, Any]:
    from stepcore.sim.worker.simulate import simulate

    result: dict[str, Any] = Handler(SIMULATE, simulate)(payload, context)
    return result


def candidates(payload: Any) -> list[Candidate]:
    from stepcore.sim.worker.tasks import candidates

    return candidates(from_plain(VerifyRequest, payload))


def propose(payload: Any, context: Any) -> dict[str, Any]:
    from stepagents.jobs.propose import propose

    return _plain(PROPOSE, propose, payload, context)


def sample(proposer: str, payload: Any, context: Any) -> dict[str, Any]:
    from stepagents.jobs.propose import sample

    return _plain(sample_kind(proposer), partial(sample, proposer), payload, context)


def function(payload: Any, context: Any) -> dict[str, Any]:
    from stepagents.jobs.function import function

    return _plain(FUNCTION, function, payload, context)


def sizes(payload: Any, context: Any) -> dict[str, Any]:
    from stepagents.jobs.sizes import sizes

    return _plain(SIZES, sizes, payload, context)


def _plain(kind: JobKind[Request, Any, Result], run: Any, payload: Any, context: Any) -> dict[str, Any]:
    """Run a job on what a pipe would carry."""
    result: dict[str, Any] = Handler(kind, run)(to_plain(payload), context)
    return result


def run_of(*streams: StreamRow) -> SimulateResult:
    """Return a run of which only the streams matter."""
    nothing = QuantityRow(None, None)
    costs = MetricsRow(nothing, nothing, nothing, None, None, nothing, None, None)
    return SimulateResult("main", "file.py", {}, 42, 0.1, streams, (), costs, (), None, Reads({}, ()))

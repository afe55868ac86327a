"""The job ``prior`` of the agents' worker: experience in, the costs that it teaches a search out. Loads torch."""

from __future__ import annotations

from typing import Any

from stepagents.prior import search_costs
from stepagents.search.proposer import use_one_thread
from stepcore.jobdata.writing import PriorRequest
from stepcore.jobs import Context


def prior(request: PriorRequest, _context: Context) -> dict[str, Any]:
    """Return the costs of moves after seeing the experiences."""
    use_one_thread()
    return search_costs(request.experiences).as_json()

"""What documents leave behind for good, made before the first of them.

Python gives memory back by arenas of 1 MB, and one small object keeps a whole one. What is made among documents, and
stays, would keep the memory of closed ones; made at the start, it lies beside what lasts as long.
"""

from __future__ import annotations

import stepcore.check.waiting
import stepcore.ops.memory  # noqa: F401
from stepcore.ops import work_out_calls


def lasting() -> None:
    """Make what operators work out about their calls."""
    work_out_calls()

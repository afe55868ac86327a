"""Programs over tiles as text: loads shared by lanes, element functions, loops of lanes, and what each costs.

Lanes are indices of Python loops in the program; a family of streams has one for each of its lanes. A tensor's tiles
that several lanes read are loaded once and copied.
"""

from __future__ import annotations

from stepagents.schedules.writer.families import (
    POSITION,
    Family,
    Lanes,
    Loops,
    MemoryView,
    ProgramLane,
    lane_count,
    tuple_text,
)
from stepagents.schedules.writer.program import Writer

__all__ = ["POSITION", "Family", "Lanes", "Loops", "MemoryView", "ProgramLane", "Writer", "lane_count", "tuple_text"]

"""What the search can be told, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass

from stepcore.records import Record


class Features(Record):
    """Parts of the search that can be left out, to measure what each contributes."""

    anchors: bool = True
    equivalence: bool = True
    reuse: bool = True
    wanted: bool = True
    joins: bool = True  # arguments meet at shapes that none of them has
    branch_values: bool = True  # what single branches say about a merge
    branch_rows: bool = True  # rows of the reference that a branch holds mark it as promising
    freshness: bool = True  # arguments that have led to values of the reference before are less likely
    portfolio: bool = True  # further searches with derived costs join one that does not end soon
    placeholders: bool = True  # Promote + Accum and Promote + Scan as one move


@dataclass(slots=True)
class Counters:
    """What the search did: moves carried out, streams kept, programs proposed."""

    candidates: int = 0
    streams: int = 0
    programs: int = 0

"""The jobs of the optimizer's worker: where a program can be rewritten, and what a rewritten one costs.

Cycles and bytes are whole numbers, offsets count code points of the file's text. The worker runs nobody's code.
"""

from __future__ import annotations

from typing import Any, Final

from stepcore.jobdata.choices import AffineRule
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.timing import EditRow
from stepcore.records import Record


class Figures(Record):
    """What a program costs on a chip: cycles, bytes on chip and moved, and its bound.

    ``computing`` are the FLOPs per cycle of all its units.
    """

    cycles: int
    on_chip: int
    off_chip: int
    computing: int
    bound: int | None
    bound_by: str

    def is_better_than(self, other: Figures) -> bool:
        """Whether it is no worse in cycles and bytes on chip, and better in one of them."""
        mine, others = (self.cycles, self.on_chip), (other.cycles, other.on_chip)
        return mine != others and self.cycles <= other.cycles and self.on_chip <= other.on_chip


class TrialSubject(Record, kw_only=True):
    """One program of a file, and what it is optimized for.

    ``chip`` is the text of a chip's description, ``compute`` the FLOPs per cycle that all its units may have,
    ``capacity`` bytes on it (0: no limit).
    """

    path: str
    program: str
    affine: AffineRule
    chip_name: str
    chip: str
    compute: int
    capacity: int


class SitesRequest(TrialSubject, kw_only=True):
    """Where rewrites apply to the program in ``text``; ``rewrites`` are their names."""

    text: str
    rewrites: tuple[str, ...]


class SiteRow(Record):
    """A site of a rewrite, see :class:`stepcore.rewrites.RewriteSite`."""

    rewrite: str
    sentence: str
    edits: tuple[EditRow, ...]
    params: tuple[tuple[str, ...], ...] = ()
    retiles: bool = False


class SitesResult(Record):
    """The sites of each of the rewrites that were asked for.

    ``bottleneck`` is what holds the program up, as ``stepagents.experience.optimizations`` has it, None where the
    program cannot be timed.
    """

    found: tuple[tuple[SiteRow, ...], ...]
    bottleneck: Any = None


class TrialRequest(TrialSubject, kw_only=True):
    """What the program costs in ``text``, which a rewrite made of the text ``before``.

    ``retiles``: what it returns may be cut into other tiles. ``exact`` asks for all figures, else for an estimate.
    """

    before: str
    text: str
    retiles: bool
    exact: bool


class TrialResult(Record):
    """About how many cycles a program takes, or its figures where they were asked for.

    Both are None where it has errors, stops, cannot be timed, or does not take and give what the old one does.
    """

    estimate: int | None = None
    figures: Figures | None = None


SITES: Final = JobKind("sites", SitesRequest, type(None), SitesResult)
TRIAL: Final = JobKind("trial", TrialRequest, type(None), TrialResult)

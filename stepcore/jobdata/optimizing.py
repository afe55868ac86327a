"""Jobs about faster programs: where a program can be rewritten, what a rewritten one costs, and a whole search.

Cycles and bytes are whole numbers, offsets count code points of the file's text. The worker of the first two runs
nobody's code; that of the search has workers of its own, which verify what it shows.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from stepcore.jobdata.choices import AffineRule, OptimizeGoal, OptimizeProposer
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
    ``capacity`` bytes on it (0: no limit). ``only_impl``: of a task nothing but the program may change.
    """

    path: str
    program: str
    affine: AffineRule
    chip_name: str
    chip: str
    compute: int
    capacity: int
    only_impl: bool = False


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


class ProposerOptions(Record, kw_only=True):
    """Who proposes changes; None is left to Stepsmith.

    ``proposer`` ``llm`` asks a model instead of trying rewrites, ``auto`` asks one after them where there is a
    ``model``, its name for results; ``price`` is what it costs, see :func:`stepcore.settings.limits.read_price`, and an
    order takes ``budget_tokens`` at most.
    """

    proposer: OptimizeProposer = "auto"
    model: str | None = None
    price: tuple[Any, ...] | None = None
    budget_tokens: int | None = None


class OptimizeOptions(ProposerOptions, kw_only=True):
    """What whoever wants a faster program may say besides; None is left to Stepsmith.

    At most ``capacity`` bytes on chip (None: what the chip has), ``compute`` FLOPs per cycle of all units together. The
    search goes on for ``seconds`` at most. ``remember``: use optimization memory, and add to it.
    """

    goal: OptimizeGoal = "cycles"
    capacity: int | None = None
    compute: int | None = None
    seconds: float | None = None
    remember: bool = True


class OptimizeRequest(TrialSubject, ProposerOptions, kw_only=True):
    """A program of which faster ones are wanted: the file's ``text``, and what verifies them.

    ``compute`` 0 is what Stepsmith takes by itself. A verification may take ``run_seconds`` and ``run_memory`` MiB;
    ``network`` is for the user's functions. What the search works out is kept in the folder ``records``, from where the
    same order goes on; answers of a model in the file ``ledger``. ``store`` is the file of the experience of a
    ``workspace`` ("": no memory is used).
    """

    text: str
    goal: OptimizeGoal
    seconds: float
    run_seconds: float
    run_memory: int
    network: bool
    records: str
    ledger: str
    store: str = ""
    workspace: str = ""


class OptimizeProgress(Record):
    """How far a search is: a line, and the cycles of the best so far, which is not verified yet, by their bound.

    ``spent`` is what a model took so far, in words.
    """

    text: str
    cycles: int | None = None
    ratio: float | None = None
    spent: str | None = None


class ModelProposal(Record):
    """What a model proposed for a program, and what became of it, in words; ``kept``: it came onto the front."""

    what: str
    outcome: str
    kept: bool = False


class FasterStep(Record):
    """One step from the old program: what was done, what it brought, in words, and the cycles that it led to."""

    what: str
    brought: str
    cycles: int


class FasterPoint(Record):
    """A verified program on the front: the file's whole text, what the program costs, and the steps to it.

    ``ratio`` is its cycles by their bound, None where there is none. ``is_best``: for the goal that was asked for.
    """

    text: str
    cycles: int
    on_chip: int
    off_chip: int
    ratio: float | None
    is_best: bool
    steps: tuple[FasterStep, ...]


class FasterResult(Record):
    """What came of an order: the front, the fastest first; without points ``problem`` says why there are none.

    ``before`` is the program as it is (None: it stops). ``unfinished`` says why the search ended early; the same order
    goes on from there. ``refused`` says what was found and is not shown. ``bound`` are the least cycles for what the
    program returns, ``bound_by`` what rules them. Of a model: its ``proposals``, what they took (``spent``, in words),
    and why it was asked no further (``unasked``). ``remembered`` items of memory guided the search, ``learned`` were
    added.
    """

    chip: str
    points: tuple[FasterPoint, ...] = ()
    before: Figures | None = None
    bound: int | None = None
    bound_by: str = ""
    tried: int = 0
    unfinished: Literal["", "stopped", "time"] = ""
    refused: tuple[str, ...] = ()
    problem: str = ""
    proposals: tuple[ModelProposal, ...] = ()
    spent: str = ""
    unasked: str = ""
    remembered: int = 0
    learned: int = 0


SITES: Final = JobKind("sites", SitesRequest, type(None), SitesResult)
TRIAL: Final = JobKind("trial", TrialRequest, type(None), TrialResult)
OPTIMIZE: Final = JobKind("optimize", OptimizeRequest, OptimizeProgress, FasterResult)

"""The jobs of the timer's worker: the programs of one document on a chip, or what one of them does when.

Cycles, bytes and tokens are whole numbers. ``node`` and ``stream`` are indices in the program's graph, -1 for what no
text of the program stands for (loads and stores at its ends, parameters). Offsets count code points of the unit's text
(see :class:`stepcore.ide.units.DocumentUnit`), which the ``fingerprint`` names.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from stepcore.jobdata.choices import AffineRule, TimingEngine
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.programs import AnswerFile
from stepcore.records import Record

Term: TypeAlias = Literal["", "input", "compute", "output", "minimum"]


class TimingSubject(Record, kw_only=True):
    """A document, and the chip: the name of a preset, or a name with the text of its description.

    ``task`` is the task that the document answers.
    """

    path: str
    text: str
    affine: AffineRule
    chip: str
    chip_text: str | None = None
    task: AnswerFile | None = None


class TimeRequest(TimingSubject, kw_only=True):
    """All programs of a document; ``known`` are fingerprints of those that need no new answer."""

    engine: TimingEngine
    known: tuple[str, ...] = ()


class WorkTerms(Record):
    """What the cycles of a call are the maximum of; ``term`` is the one that rules.

    ``input`` and ``output`` are cycles for the bytes that come from memory and go there, ``compute`` those for
    ``flops``.
    """

    term: Term
    input: int
    compute: int
    output: int
    flops: int


class UnitRow(Record):
    """Where the cycles of a unit went; ``calls`` is how many tokens it took, or gave if it takes none.

    ``stream`` is that of a load or store at an end of the program, ``fills`` are the FIFOs that it writes.
    """

    name: str
    node: int
    stream: int
    worked: int
    memory: int
    starved: int
    blocked: int
    end: int
    calls: int
    fills: tuple[int, ...]
    terms: WorkTerms | None = None

    @property
    def busy(self) -> int:
        """Cycles in which it worked, or memory worked for it."""
        return self.worked + self.memory


class FifoRow(Record):
    """A FIFO: ``fill`` is the greatest number of tokens in it at once, ``tokens`` how many were taken."""

    name: str
    stream: int
    depth: int
    fill: int
    tokens: int


class WaitRow(Record):
    """A unit that stopped: ``fifo`` (its place in the list of all) is ``full`` or ``empty``."""

    unit: int
    fifo: int
    reason: Literal["full", "empty", "memory"]


class CureRow(Record):
    """The depth of a FIFO with which a stopped program runs."""

    fifo: int
    depth: int


class EditRow(Record):
    """Text that replaces what stands from ``start`` to ``end``."""

    start: int
    end: int
    text: str


class PlaceRow(Record):
    """A further place that explains a finding."""

    start: int
    end: int
    message: str


class FindingRow(Record):
    """A finding of a timed program, with the edits of its fix; ``title`` is empty where there is none."""

    code: str
    message: str
    severity: Literal["error", "warning", "information", "hint"]
    start: int
    end: int
    title: str = ""
    edits: tuple[EditRow, ...] = ()
    related: tuple[PlaceRow, ...] = ()


class TimingRow(Record):
    """One timed program. ``cycles`` is how far it came where it stopped, see ``waits`` and ``cure``.

    ``on_chip``, ``capacity`` (0: no limit) and ``off_chip`` are bytes; ``peak`` is what memory moves in a cycle.
    ``bound`` is a number of cycles below which no program of these results comes, ``ruled_by`` what sets it. Both are
    0 and empty where it is not known.
    """

    cycles: int
    units: tuple[UnitRow, ...]
    fifos: tuple[FifoRow, ...]
    off_chip: int
    peak: int
    on_chip: int
    capacity: int
    bound: int
    ruled_by: str
    stopped: bool = False
    waits: tuple[WaitRow, ...] = ()
    cure: tuple[CureRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def busiest(self) -> int:
        """The unit that was busy longest: the bottleneck, of equal ones an operator; -1 without units."""
        units = self.units
        return max(range(len(units)), key=lambda u: (units[u].busy, units[u].node >= 0), default=-1)


class ProgramTimes(Record):
    """What came of one program: its timing, or why there is none.

    Of a composition it is ``text``, a line about it, and its ``cycles`` (None where a program stops); ``longest`` is
    the program that takes most of them.
    """

    program: str
    fingerprint: str
    engine: TimingEngine
    row: TimingRow | None
    problem: str = ""
    text: str = ""
    cycles: int | None = None
    longest: str = ""


class TimeResult(Record):
    """The programs of a document that were timed, and its compositions."""

    chip: str
    programs: tuple[ProgramTimes, ...]


class TraceRequest(TimingSubject, kw_only=True):
    """One program of a document, recorded cycle by cycle by the exact engine.

    ``before`` are lines of the text that stand before the part which its user knows: cells of a notebook.
    """

    program: str
    before: int = 0


class TraceResult(Record):
    """What each unit did when, as :mod:`stepcore.cycles.trace` has it; ``problem`` says why there is nothing.

    ``lines`` are those of the units' operators in the document, from 1; 0 for an end of the program.
    """

    chip: str
    cycles: int
    stopped: bool
    trace: Any
    lines: tuple[int, ...] = ()
    problem: str = ""


class ExplainRequest(TimingSubject, kw_only=True):
    """What each rewrite could do in one program of a document, and why others do not apply.

    ``compute`` are the FLOPs per cycle that all its units may have together; 0 is what Stepsmith takes by itself.
    """

    program: str
    compute: int


class ExplainedRow(Record):
    """One place of a program and a rewrite, see :class:`stepcore.rewrites.explaining.ExplainedPlace`.

    It lies from ``start`` to ``end`` of the document's text; both are -1 where it is the program as a whole.
    """

    rewrite: str
    applies: bool
    sentence: str
    start: int
    end: int


class ExplainResult(Record):
    """The places of each rewrite in turn; ``problem`` says why there are none."""

    rows: tuple[ExplainedRow, ...]
    problem: str = ""


EXPLAIN: Final = JobKind("explain", ExplainRequest, type(None), ExplainResult)
TRACE: Final = JobKind("trace", TraceRequest, type(None), TraceResult)
TIME: Final = JobKind("time", TimeRequest, type(None), TimeResult)

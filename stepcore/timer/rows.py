"""A timed program as the row that an editor gets."""

from __future__ import annotations

from stepcore.cycles.bounds import bound_of
from stepcore.cycles.program_network import CallTerms
from stepcore.cycles.timed import Timed
from stepcore.findings.diagnostics import Diagnostic
from stepcore.jobdata.timing import (
    CureRow,
    EditRow,
    FifoRow,
    FindingRow,
    PlaceRow,
    Term,
    TimingRow,
    UnitRow,
    WaitRow,
    WorkTerms,
)


def row_of(timed: Timed, findings: list[Diagnostic]) -> TimingRow:
    """Return all that an editor shows of a program; ``findings`` are those of its timing."""
    timing, chip = timed.timing, timed.hardware
    bound = bound_of(timed)
    stopped = bool(timing.waiting)
    return TimingRow(
        cycles=timing.cycles,
        units=tuple(_unit(timed, u) for u in range(len(timing.units))),
        fifos=tuple(
            FifoRow(use.name, timed.program.streams.get(f, -1), use.depth, use.fill, use.taken)
            for f, use in enumerate(timing.channels)
        ),
        off_chip=timed.off_chip_bytes,
        peak=chip.memory.bandwidth,
        on_chip=timed.kept.bytes,
        capacity=chip.onchip.capacity,
        bound=0 if bound is None else bound.cycles,
        ruled_by="" if bound is None else bound.rules,
        stopped=stopped,
        waits=tuple(WaitRow(item.unit, item.channel, item.reason) for item in timed.ring),
        cure=tuple(CureRow(channel, depth) for channel, depth in (timed.cure or {}).items()),
        findings=tuple(map(_finding, findings)),
        unknown=tuple(timed.program.doubtful),
    )


def _unit(timed: Timed, u: int) -> UnitRow:
    unit, network, node = timed.timing.units[u], timed.program.network.units[u], timed.program.units[u]
    uses = timed.timing.channels
    calls = uses[network.reads[-1]].taken if network.reads else uses[network.writes[0]].put if network.writes else 0
    terms = timed.program.terms.get(node)
    ends = [timed.program.streams[f] for f in (*network.reads, *network.writes) if f in timed.program.streams]
    stream = ends[0] if node < 0 and len(ends) == 1 else -1
    return UnitRow(
        unit.name, node, stream, unit.worked, unit.memory, unit.starved, unit.blocked, unit.clock, calls,
        tuple(network.writes), None if terms is None else _terms(terms),
    )  # fmt: skip


def _terms(terms: CallTerms) -> WorkTerms:
    compute: tuple[int, Term] = (terms.compute, "compute" if terms.flops else "minimum")
    each: list[tuple[int, Term]] = [compute, (terms.given, "input"), (terms.out, "output")]
    ruling = max(each, key=lambda item: item[0])[1]  # of equal ones the first
    return WorkTerms(ruling, terms.given, terms.compute, terms.out, terms.flops)


def _finding(found: Diagnostic) -> FindingRow:
    fix = found.fix
    edits = () if fix is None else tuple(EditRow(e.span.start, e.span.end, e.text) for e in fix.edits)
    return FindingRow(
        found.code, found.message, found.severity.value, found.span.start, found.span.end,
        "" if fix is None else fix.title, edits,
        tuple(PlaceRow(item.span.start, item.span.end, item.message) for item in found.related),
    )  # fmt: skip

"""``stepsmith verify``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from stepcore.cli.targets import FileTarget, answer_to, find_targets, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, awaited, colours_wanted, complain, waiting
from stepcore.findings.codes import about
from stepcore.findings.verdict import NOT_CHECKED, as_row, static
from stepcore.graph.task import task_name
from stepcore.isolation import isolation_for
from stepcore.jobdata.choices import AffineRule
from stepcore.jobdata.plain import to_plain
from stepcore.jobdata.programs import (
    VERIFY,
    AffineRow,
    ArrivalRow,
    SimulateResult,
    VerdictRow,
    VerifyRequest,
)
from stepcore.jobs import Job, JobError, Limits, Pool
from stepcore.records import Record
from stepcore.reports.text import Paint, clean
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.settings.limits import Wishes, in_force, user_wishes
from stepcore.text.files import Unusable
from stepcore.text.wording import counted, one_line

if TYPE_CHECKING:
    from stepcore.cli.beside import Beside

_WORKERS: Final = 2


class VerifyOptions(Record):
    """Options of the command; ``affine`` is None where the configuration decides."""

    impl: str | None = None
    affine: str | None = None
    dims: dict[str, int] = field(default_factory=dict)
    seed: int = 42
    format: str = "text"
    wishes: Wishes = field(default_factory=Wishes)


@dataclass(slots=True)
class _Order:
    """One target with its job, or the reason why there is none; then its rows."""

    path: Path
    request: VerifyRequest | None = None
    job: Job[tuple[VerdictRow, ...]] | None = None
    problem: str = ""
    rows: tuple[VerdictRow, ...] = ()
    beside: Mapping[str, Beside] = field(default_factory=dict)  # the timing of its programs, by name


def run(texts: Sequence[str], options: VerifyOptions) -> int:
    """Verify all targets, print the verdicts, and return the exit code."""
    configs = Configs()
    try:
        user = user_wishes()
    except ConfigError as error:
        complain(f"STEP907 the user's configuration cannot be used: {error}")
        return EXIT_UNUSABLE
    ready = [_prepare(target, options, configs) for target in find_targets(texts)]
    orders = [order for order, _config in ready]
    held = {id(config): in_force(config, options.wishes, user) for _order, config in ready if config is not None}
    for note in dict.fromkeys(note for each in held.values() for note in each.notes):
        complain(clean(note))
    # The memory limit belongs to the pool, so of several configurations the largest holds.
    limits = Limits(memory=max((each.memory for each in held.values()), default=Config().memory_limit) << 20)
    with (
        waiting(f"verifying {counted(len(orders), 'file')}") as update,
        Pool(size=min(_WORKERS, len(orders)), limits=limits) as pool,
    ):
        for order, config in ready:
            if config is not None and order.request is not None:
                own = held[id(config)]
                isolation = isolation_for(order.path, [other.path for other in orders], network=own.network)
                order.job = pool.submit(VERIFY, order.request, seconds=own.seconds, isolation=isolation)
        from stepcore.cli.beside import (  # the checker, which workers need not wait for
            VERDICT_STEPS,
            TimingWishes,
            beside,
        )

        wishes = TimingWishes(steps=VERDICT_STEPS)
        for order, config in ready:
            update(f"verifying {order.path}")
            if config is not None and order.job is not None and order.request is not None:
                order.beside = beside(order.request, config, wishes)  # while workers run
            _collect(order)
            if options.format == "text":
                _print_text(order)
    rows = [each for order in orders for each in order.rows]
    if options.format == "json":
        print(json.dumps([_as_json(order, each) for order in orders for each in order.rows], indent=2))
    else:
        accepted = sum(each.accepted for each in rows)
        print(f"{accepted} of {len(rows)} accepted")
    if any(order.problem for order in orders):
        return EXIT_UNUSABLE
    return EXIT_CLEAN if all(each.accepted for each in rows) else EXIT_FINDINGS


def _prepare(target: FileTarget | Unusable, options: VerifyOptions, configs: Configs) -> tuple[_Order, Config | None]:
    """Read the files of one target; the configuration is None where that fails."""
    if isinstance(target, Unusable):
        return _lost(_Order(Path(target.path)), f"{one_line(target.path)}: {target.code} {target.message}"), None
    order = _Order(target.path)
    try:
        file, config = read_target(target, configs)
        order.request = VerifyRequest(
            str(file.path),
            file.text,
            str(file.path.absolute()),
            target.program,
            None if options.impl is None else answer_to(target, options.impl),
            options.dims,
            options.seed,
            cast("AffineRule", options.affine or config.affine),
        )
    except Unusable as error:
        return _lost(order, f"{one_line(error.path)}: {error.code} {error.message}"), None
    return order, config


def _lost(order: _Order, problem: str) -> _Order:
    order.problem = problem
    order.rows = (_unchecked(order.path, problem, "STEP901"),)
    return order


def _collect(order: _Order) -> None:
    """Wait for the job of ``order`` and take its rows."""
    if order.job is None:
        return
    try:
        order.rows = awaited(order.job)
    except JobError as error:
        text = f"{error.place(order.path)}: {error.code} {error.message}"
        if about(error.code).ended_a_run:
            order.rows = _rows_of_the_types(order, error)
        else:
            _lost(order, text)
            order.rows = (_unchecked(order.path, text, error.code),)


def _rows_of_the_types(order: _Order, error: JobError) -> tuple[VerdictRow, ...]:
    """Return rows for programs whose run was stopped: their types and their affine use are known without a run."""
    from stepcore.check import check_text

    request = order.request
    assert request is not None  # it ran
    impl = (request.impl.text, request.impl.path) if request.impl else None
    result = check_text(request.text, request.path, affine=request.affine, impl=impl, with_fixes=False)
    text = f"{error.code} {error.message}"
    rows = []
    for each in result.programs:
        if request.program in (None, each.name):
            known = static(each.diagnostics, each.affine_count)
            rows.append(as_row(each.name, str(order.path), known.unrun(error.code, text)))
    return tuple(rows) or (_unchecked(order.path, text, error.code),)


def _unchecked(path: Path, detail: str, code: str) -> VerdictRow:
    """Return the row of a file of which no program is known."""
    return as_row(task_name(path), str(path), NOT_CHECKED.unrun(code, detail))


def _as_json(order: _Order, row: VerdictRow) -> dict[str, Any]:
    timed = order.beside.get(row.task)
    return {**to_plain(row), "timing": None if timed is None else timed.as_json()}


def _print_text(order: _Order) -> None:
    if order.problem:
        complain(order.problem)
        return
    paint = Paint(colours_wanted(sys.stdout))
    for each in order.rows:
        timed = order.beside.get(each.task)
        lines = [_verdict_text(each, paint), *([] if timed is None else [f"  cycles:     {timed.line}"])]
        print("\n".join(lines), flush=True)


def _verdict_text(row: VerdictRow, paint: Paint) -> str:
    mark = paint("accepted", "32;1") if row.accepted else paint("rejected", "31;1")
    time = f"verified here in {_seconds(row.seconds)}"
    lines = [f"{mark}  {paint(one_line(row.task), '1')}  {one_line(row.path)}  ({time})"]
    for name, part in (("shape", row.shape), ("functional", row.functional), ("affine", row.affine)):
        text = _affine_text(part) if isinstance(part, AffineRow) and not part.ok else part.detail
        if text or not part.ok:
            first, *more = text.split("\n")
            lines.append(f"  {name + ':':<11} {'ok, ' if part.ok else ''}{clean(first)}")
            lines.extend(f"              {clean(line)}" for line in more)
    if row.untested is not None:
        lines.append(f"  note:       {one_line(row.untested.note)} ({row.untested.code})")
    lines += [f"  arrival:    {place}: {one_line(found.note)} ({found.code})" for place, found in arrival_places(row)]
    return "\n".join(lines)


def arrival_places(row: VerdictRow | SimulateResult) -> Iterator[tuple[str, ArrivalRow]]:
    """Yield where results depend on the order of arrival, with the place for people."""
    for found in row.arrival:
        yield f"{one_line(row.path)}:{found.line}:{found.column}", found


def _affine_text(verdict: AffineRow) -> str:
    if not verdict.count:
        return verdict.detail
    count = verdict.count
    return f"{counted(count, 'Copy', 'Copies')} {'is' if count == 1 else 'are'} missing: {verdict.detail}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"

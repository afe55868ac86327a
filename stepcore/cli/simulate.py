"""``stepsmith simulate``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypeAlias

from stepcore.cli.targets import parse_target, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, awaited, complain, console, waiting
from stepcore.cli.verify import arrival_places
from stepcore.findings.codes import about
from stepcore.isolation import isolation_for
from stepcore.jobdata.plain import to_plain
from stepcore.jobdata.programs import (
    SIMULATE,
    ComponentRow,
    OperatorRow,
    OperatorsDone,
    QuantityRow,
    SimulateNews,
    SimulateRequest,
    SimulateResult,
    StreamRow,
    VerdictRow,
    VerifyRequest,
)
from stepcore.jobs import JobError, Limits, Pool
from stepcore.reports.text import clean
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.settings.limits import Wishes, in_force, user_wishes
from stepcore.text.files import TextFile, Unusable
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepcore.cli.beside import Beside

Order: TypeAlias = Mapping[int, tuple[int, ...]]  # what arrival decided, by operator
_MOST_RUNS: Final = 16  # of a program whose order of arrival its values decide


def run(
    text: str,
    dims: dict[str, int],
    seed: int,
    values: int,
    output: str,
    wishes: Wishes,
    *,
    timing: bool = False,
    hw: str | None = None,
) -> int:
    """Simulate one program and print its streams, operators and metrics; with ``timing`` its cycles on ``hw``, too."""
    target = parse_target(text)
    try:
        file, config = read_target(target, Configs())
    except Unusable as error:
        complain(f"{one_line(error.path)}: {error.code} {error.message}")
        return EXIT_UNUSABLE
    if timing and not _has_chip(config, hw):
        return EXIT_UNUSABLE
    try:
        held = in_force(config, wishes, user_wishes())
    except ConfigError as error:
        complain(f"STEP907 the user's configuration cannot be used: {error}")
        return EXIT_UNUSABLE
    for note in held.notes:
        complain(clean(note))
    limits = Limits(memory=held.memory << 20)
    with waiting(f"simulating {text}") as update, Pool(size=1, limits=limits) as pool:

        def progress(news: SimulateNews) -> None:
            if isinstance(news, OperatorsDone):
                update(f"simulating {text}: operator {news.operator} of {news.of}")

        def simulate(order: Order, settling: bool) -> SimulateResult:
            request = SimulateRequest(
                str(file.path),
                file.text,
                str(file.path.absolute()),
                target.program,
                dims=dims,
                seed=seed,
                values=values,
                selectors=timing,
                order={str(node): decided for node, decided in order.items()},
                settling=settling,
            )
            isolation = isolation_for(target.path, network=held.network)
            job = pool.submit(SIMULATE, request, seconds=held.seconds, on_progress=progress, isolation=isolation)
            return awaited(job)

        def time(result: SimulateResult, order: Order) -> Beside | None:
            return _timed(file, config, result, dims, hw, order)

        try:
            result, timed = _in_order(simulate, time) if timing else (simulate({}, False), None)
        except JobError as error:
            complain(f"{error.place(target.path)}: {error.code} {error.message}")
            return EXIT_FINDINGS if about(error.code).ended_a_run else EXIT_UNUSABLE
    if output == "json":
        found = to_plain(result)
        del found["reads"]  # for editors, which ask again when something changes
        for name in ("selectors", "levels", "measured", "settling"):
            found.pop(name, None)  # for timing
        if timing:
            found["timing"] = None if timed is None else timed.as_row()
        print(json.dumps(found, indent=2))
    else:
        _print(result)
        if timed is not None:
            print("\n" + "\n".join(timed.picture))
    verdict = result.verdict
    return EXIT_CLEAN if verdict is None or verdict.functional.ok else EXIT_FINDINGS


def _in_order(
    simulate: Callable[[Order, bool], SimulateResult], time: Callable[[SimulateResult, Order], Beside | None]
) -> tuple[SimulateResult, Beside | None]:
    """Run and time a program in turns, until it ran in the order of arrival that its timing decides; verify it then.

    What is decided up to the first difference holds for the next run, so each run is right for longer than the one
    before; mostly the second is right as a whole. Where the last of them is not, that is told.
    """
    order: Order = {}
    runs = 0
    while True:
        result = simulate(order, True)
        timed = time(result, order)
        runs += 1
        if timed is None or timed.order is None or timed.order == order:
            break
        if runs == _MOST_RUNS:
            complain(f"the order of arrival was not settled in {runs} runs; values are of an order that differs late")
            break
        order = timed.order
    return (simulate(order, False) if result.settling else result), timed


def _has_chip(config: Config, hw: str | None) -> bool:
    """Return whether there is a chip to time on; say why not."""
    from stepcore.chips.chosen import chosen_chip
    from stepcore.chips.keys import HardwareError
    from stepcore.cli.time import unusable_chip  # like all of timing only for those who ask for it

    try:
        chosen_chip(config, hw)
    except HardwareError as error:
        complain(unusable_chip(error))
        return False
    return True


def _timed(
    file: TextFile, config: Config, result: SimulateResult, dims: dict[str, int], hw: str | None, order: Order
) -> Beside | None:
    from stepcore.cli.beside import TimingWishes, beside
    from stepcore.cycles.routes import ProgramRoutes
    from stepcore.cycles.timed import STEPS

    place = str(file.path.absolute())
    request = VerifyRequest(str(file.path), file.text, place, result.program, None, dims, affine=config.affine)
    rows = {int(index): rows for index, rows in result.selectors.items()}
    levels = {int(index): levels for index, levels in result.levels.items()}
    is_routed = bool(rows or levels or result.measured)
    routes = ProgramRoutes("run" if is_routed else "none", rows, levels, result.measured, ran=order)
    wishes = TimingWishes(hw, STEPS, routes if is_routed or order else None)
    return beside(request, config, wishes).get(result.program)


def _print(result: SimulateResult) -> None:
    sizes = ", ".join(f"{name}={size}" for name, size in result.dims.items())
    print(f"{one_line(result.program)} ({one_line(result.path)}) with {sizes}, seed {result.seed}")
    for warning in result.warnings:
        complain(warning)
    for place, found in arrival_places(result):
        complain(f"{place}: {one_line(found.note)} ({found.code})")
    print()
    _print_streams(result.streams)
    print()
    _print_operators(result.operators)
    print()
    for metric in fields(result.metrics):
        found = getattr(result.metrics, metric.name)
        if found is not None or metric.name != "useful_flops":
            print(f"{metric.name.replace('_', ' ') + ':':<24} {_metric(metric.name, found)}")
    print(f"{'simulated here in:':<24} {_time(result.seconds)}")
    print(f"{'against PyTorch:':<24} {_verdict(result.verdict)}")


def _verdict(verdict: VerdictRow | None) -> str:
    if verdict is None:
        return "nothing to compare with: the program has no reference"
    functional = verdict.functional
    if not functional.ok:
        return f"{functional.code} {_indented(functional.detail)}"
    note = f"; {_indented(functional.detail)}" if functional.detail else ""
    error = functional.max_abs_error
    return "equal" + ("" if error is None else f", largest error {error:.2g}") + note


def _indented(text: str) -> str:
    """Return a message whose further lines cannot be taken for lines of the report."""
    return clean(text).replace("\n", "\n    ")


def _print_streams(streams: Sequence[StreamRow]) -> None:
    rows = []
    for stream in streams:
        sizes = f"[{', '.join(stream.shape)}] = [{', '.join(map(str, stream.sizes))}]"
        for number, part in enumerate(stream.components):
            name = stream.name if number == 0 else ""
            facts = (sizes, stream.type, _quantity(stream.bytes)) if number == 0 else ("", "", "")
            rows.append((name, *facts, *_numbers(part)))
    _table(("stream", "shape", "element", "bytes", "min", "max", "mean", "first values"), rows)


def _numbers(part: ComponentRow) -> tuple[str, ...]:
    shown = " ".join(f"{value:.4g}" if not isinstance(value, str) else value for value in part.values)
    bad = [f"{count} {label}" for count, label in ((part.nan, "NaN"), (part.infinite, "Inf")) if count]
    more = f" ... ({', '.join(bad)})" if bad else ""
    statistics = ("-" if value is None else f"{value:.4g}" for value in (part.min, part.max, part.mean))
    return (*statistics, shown + more)


def _print_operators(operators: Sequence[OperatorRow]) -> None:
    rows = []
    for operator in operators:
        parameters = ", ".join(
            f"{name}={'[' + ', '.join(value) + ']' if isinstance(value, tuple) else value}"
            for name, value in operator.parameters.items()
        )
        call = f"{operator.operator}({parameters})"
        rows.append(
            (
                str(operator.line), call, ", ".join(operator.inputs), ", ".join(operator.outputs),
                _quantity(operator.on_chip), _quantity(operator.flops), _time(operator.seconds),
            )
        )  # fmt: skip
    _table(("line", "operator", "inputs", "outputs", "on-chip bytes", "FLOPs", "simulated in"), rows)


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape(one_line(cell)) for cell in row))
    console().print(table)


def _metric(name: str, value: QuantityRow | float | int | None) -> str:
    if isinstance(value, int):
        return f"{value}"
    if isinstance(value, QuantityRow):
        unit = "" if name == "flops" or value.bound is None else " bytes"
        return _quantity(value) + unit
    return "-" if value is None else f"{value:.4f}"


def _quantity(value: QuantityRow) -> str:
    """Return ``4*M*N = 140``; a dash for what is not known."""
    symbolic, bound = value.symbolic, value.bound
    if symbolic is None or bound is None:
        return symbolic or "-"
    return f"{bound:,}" if symbolic == str(bound) else f"{symbolic} = {bound:,}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"

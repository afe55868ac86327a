"""``stepsmith simulate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stepcore.cli.files import Unusable
from stepcore.cli.targets import parse_target, payload, read_target, where
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, complain, console, waiting
from stepcore.codes import about
from stepcore.config import ConfigError, Configs
from stepcore.isolation import isolation_for
from stepcore.jobs import JobError, Limits, Pool
from stepcore.limits import Wishes, in_force, user_wishes
from stepcore.report import clean
from stepcore.wording import one_line


def run(text: str, dims: dict[str, int], seed: int, values: int, output: str, wishes: Wishes) -> int:
    """Simulate one program and print its streams, operators and metrics."""
    target = parse_target(text)
    try:
        file, config = read_target(target, Configs())
    except Unusable as error:
        complain(f"{one_line(error.path)}: {error.code} {error.message}")
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

        def progress(data: Any) -> None:
            update(f"simulating {text}: operator {data['operator']} of {data['of']}")

        wanted = {**payload(target, file, dims, seed), "values": values}
        try:
            result = pool.submit(
                "simulate",
                wanted,
                seconds=held.seconds,
                on_progress=progress,
                isolation=isolation_for(target.path, network=held.network),
            ).result()
        except JobError as error:
            complain(f"{where(error, target.path)}: {error.code} {error.message}")
            return EXIT_FINDINGS if about(error.code).ended_a_run else EXIT_UNUSABLE
    del result["reads"]  # for editors, which ask again when something changes
    if output == "json":
        print(json.dumps(result, indent=2))
    else:
        _print(result)
    verdict = result["verdict"]
    return EXIT_CLEAN if verdict is None or verdict["functional"]["ok"] else EXIT_FINDINGS


def _print(result: dict[str, Any]) -> None:
    sizes = ", ".join(f"{name}={size}" for name, size in result["dims"].items())
    print(f"{one_line(result['program'])} ({one_line(result['path'])}) with {sizes}, seed {result['seed']}")
    for warning in result["warnings"]:
        complain(warning)
    print()
    _print_streams(result["streams"])
    print()
    _print_operators(result["operators"])
    print()
    for name, value in result["metrics"].items():
        print(f"{name.replace('_', ' ') + ':':<24} {_metric(name, value)}")
    print(f"{'simulated here in:':<24} {_time(result['seconds'])}")
    print(f"{'against PyTorch:':<24} {_verdict(result['verdict'])}")


def _verdict(verdict: dict[str, Any] | None) -> str:
    if verdict is None:
        return "nothing to compare with: the program has no reference"
    functional = verdict["functional"]
    if not functional["ok"]:
        return f"{functional['code']} {_indented(functional['detail'])}"
    note = f"; {_indented(functional['detail'])}" if functional["detail"] else ""
    return f"equal, largest error {functional['max_abs_error']:.2g}{note}"


def _indented(text: str) -> str:
    """Return a message whose further lines cannot be taken for lines of the report."""
    return clean(text).replace("\n", "\n    ")


def _print_streams(streams: list[dict[str, Any]]) -> None:
    rows = []
    for stream in streams:
        sizes = f"[{', '.join(stream['shape'])}] = [{', '.join(map(str, stream['sizes']))}]"
        for number, part in enumerate(stream["components"]):
            name = stream["name"] if number == 0 else ""
            facts = (sizes, stream["type"], _quantity(stream["bytes"])) if number == 0 else ("", "", "")
            rows.append((name, *facts, *_numbers(part)))
    _table(("stream", "shape", "element", "bytes", "min", "max", "mean", "first values"), rows)


def _numbers(part: dict[str, Any]) -> tuple[str, ...]:
    shown = " ".join(f"{value:.4g}" if not isinstance(value, str) else value for value in part["values"])
    bad = [f"{part[key]} {label}" for key, label in (("nan", "NaN"), ("infinite", "Inf")) if part[key]]
    more = f" ... ({', '.join(bad)})" if bad else ""
    statistics = ("-" if part[key] is None else f"{part[key]:.4g}" for key in ("min", "max", "mean"))
    return (*statistics, shown + more)


def _print_operators(operators: list[dict[str, Any]]) -> None:
    rows = []
    for operator in operators:
        parameters = ", ".join(
            f"{name}={'[' + ', '.join(value) + ']' if isinstance(value, list) else value}"
            for name, value in operator["parameters"].items()
        )
        call = f"{operator['operator']}({parameters})"
        rows.append(
            (
                str(operator["line"]), call, ", ".join(operator["inputs"]), ", ".join(operator["outputs"]),
                _quantity(operator["on_chip"]),
                _quantity(operator["flops"]), _time(operator["seconds"]),
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


def _metric(name: str, value: Any) -> str:
    if isinstance(value, dict):
        unit = "" if name == "flops" or value["bound"] is None else " bytes"
        return _quantity(value) + unit
    return "-" if value is None else f"{value:.4f}"


def _quantity(value: dict[str, Any]) -> str:
    """Return ``4*M*N = 140``; a dash for what is not known."""
    symbolic, bound = value["symbolic"], value["bound"]
    if symbolic is None or bound is None:
        return symbolic or "-"
    return f"{bound:,}" if symbolic == str(bound) else f"{symbolic} = {bound:,}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"

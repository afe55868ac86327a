"""``stepsmith check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepcore.check import CheckResult, check_text, fix_text
from stepcore.cli.files import Skipped, find_programs, unusable_report
from stepcore.cli.quick import CheckOptions as Options
from stepcore.cli.terminal import (
    EXIT_CLEAN,
    EXIT_FINDINGS,
    EXIT_UNUSABLE,
    colours_wanted,
    waiting,
    write_program,
)
from stepcore.findings.codes import about
from stepcore.findings.diagnostics import Diagnostic
from stepcore.reports.text import FileReport, Paint, by_code, clean, render_text, summary
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.system.scarce import reason_of
from stepcore.text.files import TextFile, Unusable, decode, read_file
from stepcore.text.span import Span
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepcore.jobdata.choices import AffineRule

_MOST_SKIPPED = 5  # paths that are named for one reason


def run(paths: Sequence[str], options: Options) -> int:
    """Check ``paths``, print the report, and return the exit code."""
    skipped: list[Skipped] = []
    with waiting("checking") as update:
        reports = _check_all(paths, options, update, skipped)
    # With `check --fix -` standard output holds the fixed program, so the report goes to standard error.
    out = sys.stderr if options.fix and "-" in paths else sys.stdout
    is_search = any(Path(path).is_dir() for path in paths)
    out.write(_render(reports, options, Paint(colours_wanted(out)), skipped, is_search))
    if any(report.unusable for report in reports):
        return EXIT_UNUSABLE
    return EXIT_FINDINGS if any(report.fails for report in reports) else EXIT_CLEAN


def _check_all(paths: Sequence[str], options: Options, update: object, skipped: list[Skipped]) -> list[FileReport]:
    configs = Configs()
    reports: list[FileReport] = []
    names = [path for path in paths if path != "-"]
    if "-" in paths:
        reports.extend(_guarded(Path(options.stdin_name), options, configs, _read_stdin))
    files = find_programs(names, configs.excluded, skipped.append)
    for number, file in enumerate(files, 1):
        if isinstance(file, Unusable):
            reports.append(unusable_report(file))
            continue
        assert callable(update)
        update(f"checking {file} ({number})")
        reports.extend(_guarded(file, options, configs, _read))
    return reports


def _read(path: Path, options: Options) -> TextFile:
    return read_file(path, large=options.large)


def _read_stdin(path: Path, options: Options) -> TextFile:
    if sys.stdin is None or sys.stdin.closed:
        raise Unusable(path, "standard input is closed; pipe a file into it")
    return decode(path, sys.stdin.buffer.read(), large=options.large)


def _guarded(path: Path, options: Options, configs: Configs, read: object) -> list[FileReport]:
    """Check one file; whatever makes it unusable is its report."""
    assert callable(read)
    try:
        config = configs.for_file(path)
        return _check_file(read(path, options), options, config)
    except ConfigError as error:
        return [unusable_report(Unusable(path, f"the configuration cannot be used: {error}", "STEP907"))]
    except Unusable as error:
        return [unusable_report(error)]


def _check_file(file: TextFile, options: Options, config: Config) -> list[FileReport]:
    affine = cast("AffineRule", options.affine or config.affine)
    path, text = str(file.path), file.text
    fixed = False
    if options.fix:
        mended = fix_text(text, path, affine=affine)
        fixed = mended != text
        if fixed and _is_stdin(file, options):
            text = mended
        elif fixed:
            _write(file, mended)
            text = read_file(file.path, large=True).text
        if _is_stdin(file, options):
            write_program(text)
    result = check_text(text, path, affine=affine)
    found = config.apply([*result.diagnostics, *_nothing_found(result)])
    unusable = any(about(item.code).unusable for item in found)
    return [FileReport(result.source, found, unusable, fixed)]


def _is_stdin(file: TextFile, options: Options) -> bool:
    return str(file.path) == options.stdin_name and not file.path.exists()


def _write(file: TextFile, text: str) -> None:
    try:
        file.write(text)
    except (OSError, UnicodeEncodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise Unusable(file.path, f"the fixed file cannot be written: {reason}") from error


def _nothing_found(result: CheckResult) -> list[Diagnostic]:
    """Return a finding for a file that was named although it holds no program."""
    if result.programs or result.diagnostics or result.script is not None:
        return []
    module, task = result.module, result.task
    if module is not None and not module.fns:
        text = "no STeP program: no function with @step.program (after `import stepcore as step`)"
        return [Diagnostic("STEP910", Span(0, 0), text)]
    if task is not None and task.spec is None:
        text = "this file holds only an answer: `stepsmith verify TASK --impl FILE` checks it with its task"
        return [Diagnostic("STEP910", Span(0, 0), text)]
    return []


def _render(
    reports: list[FileReport], options: Options, paint: Paint, skipped: Sequence[Skipped], is_search: bool
) -> str:
    if options.format == "json":
        from stepcore.reports.json import render_json

        return render_json(reports) + "\n"
    if options.format == "sarif":
        from stepcore.reports.sarif import render_sarif

        return render_sarif(reports) + "\n"
    fixed = "".join(f"fixed {one_line(report.path)}\n" for report in reports if report.fixed)
    findings = "" if options.quiet else render_text(reports, paint, options.max_findings)
    codes = by_code(reports) if is_search or options.quiet else ""
    return fixed + findings + codes + _left_out(skipped) + summary(reports) + "\n"


def _left_out(skipped: Sequence[Skipped]) -> str:
    """Name what a search in folders skipped, a line for each reason."""
    reasons: dict[str, list[str]] = {}
    for left in skipped:
        reasons.setdefault(left.reason, []).append(clean(str(left.path)))
    lines = []
    for reason, paths in reasons.items():
        more = f" and {len(paths) - _MOST_SKIPPED:,} more" if len(paths) > _MOST_SKIPPED else ""
        lines.append(f"skipped: {', '.join(sorted(paths)[:_MOST_SKIPPED])}{more} ({reason})\n")
    return "".join(lines)

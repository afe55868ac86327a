"""Run every check of the project in turn and say at the end what passed, failed and was skipped.

``make test`` runs all steps, ``make lint`` those of the group ``lint``. A step that fails does not stop the later
ones. The last line is ``N passed, N failed``: the tests that pytest counts, and one for each other step.
With ``CI=true`` in the environment, anything skipped is a failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST_NOTHING_COLLECTED = 5


@dataclass
class Tally:
    """What a step came to; ``skipped`` holds one reason for each thing that was not run."""

    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """A named part of ``make test``."""

    name: str
    group: str
    run: Callable[[], Tally]


def command(*arguments: str) -> Callable[[], Tally]:
    """A step that passes when a command ends with 0."""

    def run() -> Tally:
        code = subprocess.run(arguments, cwd=ROOT, check=False).returncode
        return Tally(passed=int(code == 0), failed=int(code != 0))

    return run


def tool(module: str, *arguments: str) -> Callable[[], Tally]:
    """A step that passes when ``python -m module`` ends with 0."""
    return command(sys.executable, "-m", module, *arguments)


def pytest() -> Tally:
    """Run the Python tests on two processes."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "junit.xml"
        arguments = [sys.executable, "-m", "pytest", "-n", "2", f"--junitxml={report}"]
        code = subprocess.run(arguments, cwd=ROOT, check=False).returncode
        tally = read_junit(report) if report.exists() else Tally()
    if code != 0 and tally.failed == 0:
        if code == PYTEST_NOTHING_COLLECTED:
            print("pytest found no test")
        tally.failed = 1
    return tally


def read_junit(report: Path) -> Tally:
    """Count the cases of a JUnit report; an expected failure is a pass, not a skip."""
    tally = Tally()
    failed: set[tuple[str, str]] = set()
    passed: set[tuple[str, str]] = set()
    for case in ET.parse(report).iter("testcase"):
        name = (case.get("classname", ""), case.get("name", ""))
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(name)
        elif skip is not None and skip.get("type") != "pytest.xfail":
            tally.skipped.append(f"{'.'.join(filter(None, name))}: {skip.get('message', '')}")
        else:
            passed.add(name)
    tally.failed = len(failed)
    tally.passed = len(passed - failed)
    return tally


# Steps of later parts (the TypeScript tests of the editor extension, browser tests) are added to this table. A step
# that cannot run on this machine returns Tally(skipped=["NAME: why"]).
STEPS = (
    Step("ruff check", "lint", tool("ruff", "check", ".")),
    Step("ruff format", "lint", tool("ruff", "format", "--check", ".")),
    Step("mypy", "lint", tool("mypy")),
    Step("package", "test", command(sys.executable, str(ROOT / "scripts" / "check_package.py"))),
    Step("pytest", "test", pytest),
)


def total_of(tallies: Sequence[Tally]) -> Tally:
    """Add tallies up."""
    return Tally(
        passed=sum(tally.passed for tally in tallies),
        failed=sum(tally.failed for tally in tallies),
        skipped=[reason for tally in tallies for reason in tally.skipped],
    )


def main() -> int:
    """Run the steps; 0 when all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="GROUP", choices=sorted({step.group for step in STEPS}))
    group = parser.parse_args().only

    tallies: dict[str, Tally] = {}
    for step in STEPS:
        if group in (None, step.group):
            print(f"=== {step.name}", flush=True)
            tallies[step.name] = step.run()

    total = total_of(list(tallies.values()))
    if os.environ.get("CI") == "true":
        total.failed += len(total.skipped)
    print("=== summary")
    for reason in total.skipped:
        print(f"SKIPPED: {reason}")
    for name, tally in tallies.items():
        if tally.failed:
            print(f"FAILED: {name}")
    skipped = f", {len(total.skipped)} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run every check of the project in turn and say at the end what passed, failed and was skipped.

``make test`` runs all steps, ``make lint`` those of the group ``lint``. The group ``extension`` runs beside all others,
because a browser mostly waits; what it prints is shown behind them. A step that fails does not stop the later ones. The
last line is ``N passed, N failed``: the tests that pytest counts, and one for each other step.
With ``CI=true`` in the environment, anything skipped is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stepcore.records import Record

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "editor-extension"
PYTEST_NOTHING_COLLECTED = 5
#: How many failures of a step the summary tells of, and how many lines of each: whoever sees only the end of a long
#: output is to see why it failed.
FAILURES_TOLD, LINES_TOLD = 3, 12
#: What a browser test says that only followed another one, which failed (lib/session.mjs).
NOT_TRIED = "not tried, as "
#: A line of a report that names a place of ours.
_PLACE = re.compile(r"\.(?:py|mjs|cjs):\d+")


@dataclass
class Tally:
    """What a step came to; ``skipped`` holds a reason for each thing that was not run, ``reasons`` for each failure."""

    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


class Step(Record):
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


def compile_sources() -> Tally:
    """Compile what tests start in processes of their own; where caching is off each of them would do it again."""
    tests = ROOT / "tests"  # without the folders of data, which is often no Python
    files = [*tests.glob("*.py"), *(tests / "hostile").glob("*.py")]
    folders = [ROOT / "stepcore", ROOT / "agents", ROOT / "server", tests / "oracle", tests / "programs"]
    return tool("compileall", "-q", *map(str, [*folders, *files]))()


def pytest() -> Tally:
    """Run the Python tests on two processes."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "junit.xml"
        # Each process works on its half in order, so fixtures of a module are made once; whoever is done takes over.
        arguments = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", f"--junitxml={report}"]
        # Of random programs a part of what the files alone try: the whole is to take less than 25 minutes.
        env = {"STEPSMITH_PROPERTY_SCALE": "0.6", **os.environ}
        code = subprocess.run(arguments, cwd=ROOT, env=env, check=False).returncode
        tally = read_junit(report)
    if code != 0 and tally.failed == 0:
        if code == PYTEST_NOTHING_COLLECTED:
            print("pytest found no test")
        tally.failed = 1
    return tally


def read_cases(report: Path) -> list[ET.Element]:
    """Return the cases of a JUnit report; none where the runner was ended before it was written."""
    try:
        return list(ET.parse(report).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        print(f"no report of the tests: {error}")
        return []


def read_junit(report: Path) -> Tally:
    """Count the cases of a JUnit report; an expected failure is a pass, not a skip."""
    tally = Tally()
    failed: set[tuple[str, str]] = set()
    passed: set[tuple[str, str]] = set()
    for case in read_cases(report):
        name = (case.get("classname", ""), case.get("name", ""))
        skip = case.find("skipped")
        if reason := reason_of(case):
            failed.add(name)
            tally.reasons.append(reason)
        elif skip is not None and skip.get("type") != "pytest.xfail":
            tally.skipped.append(f"{'.'.join(filter(None, name))}: {skip.get('message', '')}")
        else:
            passed.add(name)
    tally.failed = len(failed)
    tally.passed = len(passed - failed)
    return tally


def reason_of(case: ET.Element) -> str:
    """Return the name of a case, the beginning of what its failure says, and where; empty where it did not fail."""
    failure = case.find("failure")
    failure = case.find("error") if failure is None else failure
    if failure is None:
        return ""
    name = ".".join(filter(None, (case.get("classname", ""), case.get("name", ""))))
    words = (failure.get("message") or "").strip().splitlines()[: LINES_TOLD - 1]
    places = [line.strip() for line in (failure.text or "").splitlines() if _PLACE.search(line)]
    return "\n  ".join([name, *(line.rstrip() for line in [*words, *places[-1:]])])


def node_missing() -> str:
    """Return why the extension cannot be built here; empty where it can."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not found; install Node 20 or later" if missing else ""


def browser_missing() -> str:
    """Return why the browser tests cannot run here; empty where they can."""
    if reason := node_missing():
        return reason
    browsers = ("chromium", "chromium-browser", "google-chrome")
    if "CHROMIUM" not in os.environ and not any(map(shutil.which, browsers)):
        return "no Chromium; apt-get install chromium"
    if shutil.which("g++") is None:
        return "no C++ compiler for VS Code's addons; apt-get install g++"
    if shutil.which("rg") is None:
        return "no ripgrep for VS Code's search of files; apt-get install ripgrep"
    return "" if (EXTENSION / "dist" / "stepsmith.vsix").exists() else "the extension was not packaged"


def npm(*arguments: str) -> Callable[[], Tally]:
    """A step that passes when npm, in the folder of the extension, ends with 0."""

    def run() -> Tally:
        if reason := node_missing():
            return Tally(skipped=[f"npm {' '.join(arguments)}: {reason}"])
        code = subprocess.run(["npm", *arguments], cwd=EXTENSION, check=False).returncode
        return Tally(passed=int(code == 0), failed=int(code != 0))

    return run


def node_tests(*command: str, folder: Path) -> Tally:
    """Run tests with Node's own runner and count them."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "junit.xml"
        reporters = (
            "--test-reporter=spec", "--test-reporter-destination=stdout",
            "--test-reporter=junit", f"--test-reporter-destination={report}",
        )  # fmt: skip
        code = subprocess.run([*command, *reporters], cwd=folder, check=False).returncode
        cases = read_cases(report)
    reasons = [reason for case in cases if (reason := reason_of(case))]
    skipped = [f"{case.get('name')}: skipped" for case in cases if case.find("skipped") is not None]
    passed = len(cases) - len(reasons) - len(skipped)
    first = [reason for reason in reasons if NOT_TRIED not in reason]  # what only followed tells nothing
    return Tally(passed, len(reasons) or int(code != 0), skipped, first)


def extension_tests() -> Tally:
    """Run the unit tests of the extension."""
    if reason := node_missing():
        return Tally(skipped=[f"extension tests: {reason}"])
    return node_tests("npm", "test", "--", folder=EXTENSION)


def browser_install() -> Tally:
    """Install VS Code once, for the browser tests; what is missing for them is named there."""
    if browser_missing():
        return Tally()
    code = subprocess.run(["node", "prepare.mjs"], cwd=EXTENSION / "e2e", check=False).returncode
    if code != 0:
        print("VS Code for the browser tests could not be installed")
    return Tally(failed=int(code != 0))


def browser_tests() -> Tally:
    """Test the packaged extension in VS Code, in a browser."""
    if reason := browser_missing():
        return Tally(skipped=[f"browser tests: {reason}"])
    return node_tests("node", "test.mjs", folder=EXTENSION / "e2e")


# Steps of later parts are added to this table. A step that cannot run on this machine returns
# Tally(skipped=["NAME: why"]).
STEPS = (
    Step("ruff check", "lint", tool("ruff", "check", ".")),
    Step("ruff format", "lint", tool("ruff", "format", "--check", ".")),
    Step("mypy", "lint", tool("mypy")),
    Step("extension install", "extension", npm("ci", "--ignore-scripts", "--no-audit", "--no-fund")),
    Step("extension lint", "extension", npm("run", "lint")),
    Step("extension tests", "extension", extension_tests),
    Step("extension package", "extension", npm("run", "package")),
    Step("browser install", "extension", browser_install),
    Step("browser tests", "extension", browser_tests),
    Step("compile", "test", compile_sources),
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


def run_group(group: str) -> dict[str, Tally]:
    """Run the steps of a group in turn; returns what each came to, by its name."""
    tallies: dict[str, Tally] = {}
    for step in STEPS:
        if step.group == group:
            print(f"=== {step.name}", flush=True)
            tallies[step.name] = step.run()
    return tallies


def run_all() -> dict[str, Tally]:
    """Run all steps, those of the extension beside the others."""
    with tempfile.TemporaryDirectory() as directory:
        told, printed = Path(directory) / "tallies.json", Path(directory) / "output.txt"
        with printed.open("w", encoding="utf-8") as output:
            beside = [sys.executable, __file__, "--only", "extension", "--tallies", str(told)]
            process = subprocess.Popen(beside, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
            tallies = run_group("lint") | run_group("test")
            print("=== waiting for the extension and its browser tests", flush=True)
            process.wait()
        print(printed.read_text(encoding="utf-8", errors="replace"), end="", flush=True)
        if told.exists():
            found = json.loads(told.read_text(encoding="utf-8"))
            tallies |= {name: Tally(**tally) for name, tally in found.items()}
        else:
            tallies["extension"] = Tally(failed=1)  # it ended before it could say more
    return tallies


def main() -> int:
    """Run the steps; 0 when all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="GROUP", choices=sorted({step.group for step in STEPS}))
    parser.add_argument("--tallies", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tallies = run_all() if options.only is None else run_group(options.only)
    if options.tallies is not None:  # for whoever runs this group beside others
        options.tallies.write_text(json.dumps({name: asdict(tally) for name, tally in tallies.items()}), "utf-8")
        return 0
    return summary(tallies)


def summary(tallies: Mapping[str, Tally]) -> int:
    """Print what the steps came to; 0 when all is well."""
    total = total_of(list(tallies.values()))
    if os.environ.get("CI") == "true":
        total.failed += len(total.skipped)
    print("=== summary")
    for reason in total.skipped:
        print(f"SKIPPED: {reason}")
    for name, tally in tallies.items():
        if tally.failed:
            print(f"FAILED: {name}")
            for reason in tally.reasons[:FAILURES_TOLD]:
                print(f"  {reason}")
    skipped = f", {len(total.skipped)} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

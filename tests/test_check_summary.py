"""What ``make test`` says at its end: who sees only the last lines of a long output sees what failed, and why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import check

NODE_REPORT = """<testsuites>
  <testcase name="the panel is restored" classname="test">
    <failure type="testCodeFailure" message="locator.waitFor: Timeout 300000ms exceeded.  waiting for locator('#pin')">
[Error [ERR_TEST_FAILURE]: locator.waitFor: Timeout 300000ms exceeded.
  waiting for locator('#pin')
] {
  code: 'ERR_TEST_FAILURE',
      at TestContext.&lt;anonymous> (file:///w/workbench.test.mjs:231:26)
      at Test.runInAsyncScope (node:async_hooks:206:9)
}
    </failure>
  </testcase>
  <testcase name="the next one" classname="test">
    <failure message="not tried, as &quot;the panel is restored&quot; failed before"></failure>
  </testcase>
  <testcase name="a good one" classname="test"/>
  <testcase name="one for later" classname="test"><skipped message="true"/></testcase>
</testsuites>
"""
#: A runner that writes the report where Node's would, and ends as it does.
RUNNER = """
import pathlib, sys
place = [word for word in sys.argv if word.startswith("--test-reporter-destination=") and word.endswith(".xml")]
pathlib.Path(place[0].split("=", 1)[1]).write_text(pathlib.Path("report.xml").read_text())
sys.exit(1)
"""


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is skipped counts as a failure there."""
    monkeypatch.delenv("CI", raising=False)


def browser_tally(folder: Path) -> check.Tally:
    (folder / "report.xml").write_text(NODE_REPORT, encoding="utf-8")
    (folder / "runner.py").write_text(RUNNER, encoding="utf-8")
    return check.node_tests(sys.executable, "runner.py", folder=folder)


def test_summary_ends_with_why_a_browser_test_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tally = browser_tally(tmp_path)
    assert (tally.passed, tally.failed, len(tally.skipped)) == (1, 2, 1)
    assert check.summary({"lint": check.Tally(passed=1), "browser tests": tally}) == 1
    told = capsys.readouterr().out
    assert "FAILED: browser tests\n  test.the panel is restored\n  locator.waitFor: Timeout" in told
    assert "waiting for locator('#pin')" in told
    assert "workbench.test.mjs:231:26" in told
    assert "not tried" not in told  # nothing to learn from what only followed
    assert told.endswith("2 passed, 2 failed, 1 skipped\n")


def test_summary_tells_the_first_lines_of_the_first_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "\n".join(f"    x{line} = {line}" for line in range(40))  # pytest shows all of a test
    words = "&#10;".join(f"word {line}" for line in range(40))
    cases = "".join(
        f'<testcase classname="tests.test_some" name="test_{at}"><failure message="AssertionError: {words}">'
        f"def test_{at}() -&gt; None:\n{source}\n\ntests/test_some.py:{at}: AssertionError</failure></testcase>"
        for at in range(5)
    )
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    tally = check.read_junit(report)
    assert (tally.passed, tally.failed) == (0, 5)
    assert check.summary({"pytest": tally}) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum("test_some.test_" in line for line in lines) == check.FAILURES_TOLD
    assert sum(line.strip() == "word 3" for line in lines) == check.FAILURES_TOLD
    assert sum("test_some.py:" in line for line in lines) == check.FAILURES_TOLD
    assert len(lines) <= 3 + check.FAILURES_TOLD * (1 + check.LINES_TOLD)


def test_nothing_is_told_of_a_run_without_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.summary({"pytest": check.Tally(passed=3)}) == 0
    assert capsys.readouterr().out == "=== summary\n3 passed, 0 failed\n"

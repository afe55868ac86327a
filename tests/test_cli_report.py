"""Reports: text with carets, and SARIF."""

from __future__ import annotations

import json
from email.message import Message
from typing import Any

import pytest

from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.reports.json import as_json
from stepcore.reports.sarif import render_sarif
from stepcore.reports.text import FileReport, Paint, clean, render_finding, render_text, summary
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import counted, whole

PLAIN = Paint(False)


def rendered(text: str, span: Span, message: str = "m") -> list[str]:
    return render_finding(SourceFile("f", text), Diagnostic("STEP101", span, message), PLAIN).rstrip("\n").split("\n")


@pytest.mark.parametrize(
    ("text", "start", "end", "source", "caret"),
    [
        ("ab cd\n", 3, 5, "1 | ab cd", "  |    ^^"),
        ("ab cd", 2, 2, "1 | ab cd", "  |   ^"),
        ("\tab\r\n", 1, 3, "1 |     ab", "  |     ^^"),
        ("\u6f22\u5b57 x", 3, 4, "1 | \u6f22\u5b57 x", "  |      ^"),
        ("e\u0301 x", 3, 4, "1 | e\u0301 x", "  |   ^"),
        ("one\ntwo", 1, 6, "1 | one", "  |  ^^"),
    ],
)
def test_the_caret_stands_under_the_place(text: str, start: int, end: int, source: str, caret: str) -> None:
    lines = rendered(text, Span(start, end))
    assert lines[1:] == [source, caret]


def test_a_long_line_is_cut_around_the_place() -> None:
    text = "a" * 500 + "HERE" + "b" * 500
    _, source, caret = rendered(text, Span(500, 504))
    assert len(source) < 140
    assert source[caret.index("^") : caret.rindex("^") + 1] == "HERE"


def test_empty_files_and_empty_lines_have_no_excerpt() -> None:
    assert rendered("", Span(0, 0)) == ["f:1:1: error[STEP101] m"]
    assert rendered("a\n\nb", Span(2, 2)) == ["f:2:1: error[STEP101] m"]


def test_all_parts_of_a_finding() -> None:
    source = SourceFile("f", "first\nsecond\n")
    found = Diagnostic(
        "STEP101", Span(6, 12), "one\ntwo", Severity.WARNING, (Related(Span(0, 5), "here"),), Fix("Do it", ())
    )
    assert render_finding(source, found, PLAIN).split("\n") == [
        "f:2:1: warning[STEP101] one", "2 | second", "  | ^^^^^^", "  | two", "  = note: f:1:1: here",
        "  = fix: Do it (--fix)", "",
    ]  # fmt: skip
    assert "\033[33;1mwarning[STEP101]\033[0m" in render_finding(source, found, Paint(True))
    assert render_text([FileReport(source, [found, found])], PLAIN).count("STEP101") == 2


def test_summary_counts() -> None:
    source = SourceFile("f", "")

    def report(*severities: Severity) -> FileReport:
        return FileReport(source, [Diagnostic("STEP101", Span(0, 0), "", severity) for severity in severities])

    assert summary([report(), report()]) == "2 files checked, no findings"
    many = [report(Severity.ERROR, Severity.ERROR, Severity.HINT), report(Severity.WARNING, Severity.INFORMATION)]
    assert summary(many) == "2 files checked: 2 errors, 1 warning, 1 note, 1 hint"
    assert [r.fails for r in (report(Severity.HINT, Severity.INFORMATION), *many)] == [False, True, True]


def test_clean_keeps_text() -> None:
    assert clean("\u00e4\u6f22\t\n") == "\u00e4\u6f22\t\n"
    assert clean("a\x1b[1mb\r") == "a\ufffd[1mb\ufffd"


def sarif() -> dict[str, Any]:
    source = SourceFile("some dir/f.py", "\U0001f600 x\nlong\n")
    fix = Fix("Mend", (Edit(Span(2, 3), "y"),))
    first = Diagnostic("STEP101", Span(2, 3), "twice", related=(Related(Span(4, 8), "there"),), fix=fix)
    second = Diagnostic("STEP103", Span(4, 8), "unused", Severity.HINT)
    reports = [FileReport(source, [first, second]), FileReport(SourceFile("/abs/g.py", ""), [first], unusable=True)]
    log: dict[str, Any] = json.loads(render_sarif(reports))
    return log


def test_sarif_has_what_the_standard_requires() -> None:
    log = sarif()
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["STEP101", "STEP103"]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] == CODES[rule["id"]].title
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}")
    assert run["columnKind"] == "utf16CodeUnits"
    assert run["invocations"] == [{"executionSuccessful": False}]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "note")
        assert result["message"]["text"]


def test_sarif_places() -> None:
    result = sarif()["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "some%20dir/f.py"
    assert place["region"] == {"startLine": 1, "startColumn": 4, "endLine": 1, "endColumn": 5}
    related = result["relatedLocations"][0]
    assert related["message"] == {"text": "there"}
    assert related["physicalLocation"]["region"]["startLine"] == 2
    change = result["fixes"][0]["artifactChanges"][0]
    assert change["replacements"] == [{"deletedRegion": place["region"], "insertedContent": {"text": "y"}}]
    other = sarif()["runs"][0]["results"][2]
    assert other["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///abs/g.py"


def test_json_of_a_finding_without_a_fix() -> None:
    source = SourceFile("f", "\U0001f600 x")
    assert as_json(source, Diagnostic("STEP202", Span(2, 3), "m")) == {
        "code": "STEP202",
        "severity": "error",
        "message": "m",
        "range": {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4}},
        "related": [],
        "fix": None,
    }


def test_only_fixes_that_are_applied_are_promised() -> None:
    source = SourceFile("f", "first")
    found = Diagnostic("STEP202", Span(0, 5), "unknown", fix=Fix("Change to last", ()))
    text = render_finding(source, found, PLAIN)
    assert "fix: Change to last" in text
    assert "--fix" not in text


def test_counts_have_their_plural() -> None:
    assert [counted(number, "chunk") for number in (0, 1, 2, 1000)] == [
        "0 chunks",
        "1 chunk",
        "2 chunks",
        "1,000 chunks",
    ]
    assert [counted(number, "Copy", "Copies") for number in (1, 2)] == ["1 Copy", "2 Copies"]
    assert [whole(number) for number in (-3, 10**12, 10**30, -(10**30))] == [
        "-3", "1000000000000", "a number above 2**64", "a number below -2**64",
    ]  # fmt: skip


def sarif_results(text: str, *spans: Span) -> list[dict[str, Any]]:
    found = [Diagnostic("STEP101", span, "m") for span in spans]
    (run,) = json.loads(render_sarif([FileReport(SourceFile("f", text), found)]))["runs"]
    results: list[dict[str, Any]] = run["results"]
    return results


def test_a_fingerprint_follows_its_line_and_tells_equal_lines_apart() -> None:
    before = sarif_results("a\nb b\n", Span(0, 1), Span(2, 3), Span(4, 5))
    after = sarif_results("new\n\n  a\nb b\n", Span(7, 8), Span(9, 10), Span(11, 12))
    marks = [result["partialFingerprints"] for result in before]
    assert marks == [result["partialFingerprints"] for result in after]
    assert len({mark["primaryLocationLineHash"] for mark in marks}) == 3
    changed = sarif_results("a changed\n", Span(0, 1))
    assert changed[0]["partialFingerprints"] not in marks


@pytest.mark.parametrize("urls", [[], ["Source, https://example.org/s", "Homepage, https://example.org/h"]], ids=len)
def test_the_tool_names_its_home_page_where_it_has_one(urls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    about = Message()
    for url in urls:
        about.add_header("Project-URL", url)
    monkeypatch.setattr("stepcore.reports.sarif.metadata", lambda _name: about)
    (run,) = json.loads(render_sarif([]))["runs"]
    assert run["tool"]["driver"].get("informationUri") == ("https://example.org/h" if urls else None)

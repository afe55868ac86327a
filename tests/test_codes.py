"""What follows from a code is asked of the table of codes, and nobody else looks at the digits; verdicts follow it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from stepcore.cli import main
from stepcore.findings.codes import (
    CODES,
    CodeInfo,
    Outcome,
    Part,
    Phase,
    Subject,
    about,
    faults,
    is_beginning,
)
from stepcore.findings.diagnostics import Diagnostic, Severity, StepError
from stepcore.findings.verdict import NOT_CHECKED, FunctionalPart, Verdict, as_row, raised, static
from stepcore.system.collector import no_collection
from stepcore.text.span import Span

ROOT: Final = Path(__file__).parents[1]
TREES: Final = ("stepcore", "server", "agents", "benchmarks", "scripts")
TABLE: Final = ROOT / "stepcore" / "findings" / "codes.py"
LITERAL: Final = re.compile(r"\^?STEP(\d|$|\[|\\d)")
READERS: Final = {"startswith", "endswith", "removeprefix", "match", "fullmatch", "search", "compile"}


# -- nobody else decides ----------------------------------------------------------------------------------


def _is_literal(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(LITERAL.match(node.value))


FORMS: Final = (
    ast.Assign, ast.AnnAssign, ast.Compare, ast.Call, ast.Dict, ast.Tuple, ast.List, ast.Set, ast.MatchValue,
    ast.Subscript,
)  # fmt: skip


def _forms(text: str) -> list[ast.AST]:
    with no_collection():
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, FORMS)]


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that stand for a code."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_literal(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def decisions(nodes: list[ast.AST], names: set[str]) -> Iterator[int]:
    """Yield the lines that decide by the text of a code; ``names`` stand for codes, wherever they were bound."""

    def is_code(node: ast.AST | None) -> bool:
        match node:
            case ast.Name(id=name):
                return name in names
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return name in names and module.islower()  # of a module; classes have members of such names, too
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return any(map(is_code, items))
        return _is_literal(node)

    def decides(node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=left, comparators=others):
                return any(map(is_code, (left, *others)))
            case ast.Call(func=ast.Attribute(attr=name), args=given):
                return name in READERS and any(map(is_code, given))
            case ast.Dict(keys=keys):
                return any(map(is_code, keys))
            case ast.Tuple(elts=items) | ast.List(elts=items):  # a finding is a tuple with one code
                return sum(map(is_code, items)) > 1
            case ast.MatchValue(value=value):
                return is_code(value)
            case ast.Subscript(value=ast.Attribute(attr="code")):
                return True
        return isinstance(node, ast.Set) and is_code(node)

    yield from (getattr(node, "lineno", 0) for node in nodes if decides(node))


def test_only_the_table_decides_by_codes() -> None:
    paths = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py")) if path != TABLE]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    found = {path: _forms(text) for path, text in texts.items() if re.search(r"\WSTEP(\d|\W)|\.code\[", text)}
    assert len(found) > 50
    names = {name for nodes in found.values() for name in _bound(nodes)}
    word = re.compile(rf"\b({'|'.join(names)})\b")
    found |= {path: _forms(text) for path, text in texts.items() if path not in found and word.search(text)}
    assert [f"{path}:{line}" for path, nodes in found.items() for line in decisions(nodes, names)] == []


@pytest.mark.parametrize(
    "text",
    [
        'found.code == "STEP410"', 'found.code.startswith("STEP1")', 'found.code.startswith(("STEP1", "STEP2"))',
        'found.code in {"STEP301", "STEP302"}', 'found.code in ("STEP301", other)', 'frozenset({"STEP405"})',
        '{"STEP405": "time"}.get(found.code)', 'found.code[4] == "1"', 'int(found.code[4:])', 'found.code != CODE',
        'found.code is budget.CODE', 're.match("STEP1", found.code)', 're.compile(r"STEP[12]")',
        'KNOWN = "STEP101", "STEP102"', 'found.code.removeprefix("STEP")', 'if (x := found.code) == "STEP1": pass',
        'match found.code:\n    case "STEP101":\n        pass',
    ],
)  # fmt: skip
def test_the_test_would_notice(text: str) -> None:
    assert list(decisions(_forms(text), {"CODE"}))


@pytest.mark.parametrize(
    "text",
    ['Diagnostic("STEP101", span, text)', 'return "STEP101", node', "about(found.code).subject is Subject.CODE",
     'raise Refused(text, "STEP302" if much else "STEP304")', "found.code == other.code", 'report(code="STEP101")'],
)  # fmt: skip
def test_making_a_finding_is_no_decision(text: str) -> None:
    assert not list(decisions(_forms(text), {"CODE"}))


# What the extension has to know of codes: name, comment, and which codes are meant.
KNOWN_THERE: Final[tuple[tuple[str, str, Callable[[CodeInfo], bool]], ...]] = (
    (
        "NO_PYTORCH",
        "A job found no PyTorch, or no Python for it; `detail.action` says what helps.",
        lambda info: info.phase is Phase.SET_UP,
    ),
    (
        "SIZES_MISSING",
        "A function cannot be taken because sizes of its arguments are missing.",
        lambda info: info.phase is Phase.SUBJECT and info.subject is Subject.SIZES,
    ),
    (
        "NO_FUNCTION",
        "There is no function that can be taken, and other sizes make none.",
        lambda info: info.phase is Phase.SUBJECT and info.subject is Subject.FUNCTION,
    ),
)


def _extension() -> str:
    """Return the file of the extension that says what codes mean."""
    head = "What codes mean here, from the table of codes: tests/test_codes.py compares this file, and writes it."
    parts = [f"/** {head} */"]
    for name, comment, is_meant in KNOWN_THERE:
        codes = ", ".join(f'"{code}"' for code, info in CODES.items() if is_meant(info))
        parts.append(f"/** {comment} */\nexport const {name}: ReadonlySet<string> = new Set([{codes}]);")
    return "\n\n".join(parts) + "\n"


def test_the_extension_asks_the_table_too() -> None:
    source = ROOT / "editor-extension" / "src"
    table = source / "codes.ts"
    if os.environ.get("STEPSMITH_UPDATE_GOLDEN"):
        table.write_text(_extension(), encoding="utf-8")
    assert table.read_text(encoding="utf-8") == _extension()
    others = [path for path in source.rglob("*.ts") if path != table]
    assert others
    assert [path for path in others if re.search(r"[\"'`]STEP\d", path.read_text(encoding="utf-8"))] == []


# -- the table --------------------------------------------------------------------------------------------


def test_codes_are_in_order_and_none_is_reserved() -> None:
    assert list(CODES) == sorted(CODES)
    assert all(re.fullmatch(r"STEP[1-9]\d\d", code) for code in CODES)
    assert {info.phase for info in CODES.values()} | {Phase.TIMING} == set(Phase)
    assert {info.subject for info in CODES.values()} == {None, *Subject}
    assert {info.outcome for info in CODES.values()} == {None, *Outcome}


def test_every_hundred_says_what_it_decides() -> None:
    """The digits are for people: those of a hundred have much in common, which is the reason for the numbers."""
    parts = {"1": {Part.AFFINE}, "2": {Part.SHAPE}, "3": {Part.FUNCTIONAL}, "6": {None}}
    errors = {code: info for code, info in CODES.items() if info.severity is Severity.ERROR}
    for first, expected in parts.items():
        assert {info.part for code, info in errors.items() if code[4] == first} == expected
    assert {code for code, info in CODES.items() if info.phase is Phase.AFFINE} == {c for c in CODES if c[4] == "1"}
    assert {code for code, info in CODES.items() if info.shared} == {c for c in CODES if c[4] == "3"}


def test_what_is_no_error_decides_and_blocks_nothing() -> None:
    warning = CodeInfo("STEP501", "too shallow a FIFO", Phase.TIMING, Severity.WARNING)
    assert warning.severity.counts and not warning.unusable and not warning.blocks and warning.part is None
    hint = about("STEP103")
    assert not hint.severity.counts and not hint.blocks and hint.part is None
    stopped = CodeInfo("STEP502", "hardware stops", Phase.TIMING)
    assert stopped.severity.counts and not stopped.blocks and not stopped.is_fault


def test_a_code_of_nobody_is_a_failure_of_ours() -> None:
    found = about("no code")
    assert found.phase is Phase.INTERNAL and found.blocks and not found.ended_a_run and found.outcome is None
    assert is_beginning("STEP4") and is_beginning("STEP101")
    assert not is_beginning("STEP") and not is_beginning("STEP8") and not is_beginning("TEP1")


@pytest.mark.parametrize("code", ["STEP101", "STEP103", "STEP415", "STEP910"])
def test_the_explanation_says_where_a_finding_comes_from(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    heading, facts = capsys.readouterr().out.split("\n\n")[:2]
    assert heading == f"# {code}: {CODES[code].title}"
    assert about(code).phase in facts and about(code).severity.value in facts.lower()


# -- verdicts ---------------------------------------------------------------------------------------------


def _found(*codes: str, severity: Severity = Severity.ERROR) -> list[Diagnostic]:
    return [Diagnostic(code, Span(0, 1), f"about {code}", severity) for code in codes]


@pytest.mark.parametrize(
    ("codes", "count", "shape", "blocked", "affine"),
    [
        ((), 0, "", "", ""),
        (("STEP101", "STEP102"), 2, "", "", "about STEP101"),
        (("STEP215", "STEP101"), 1, "about STEP215", "", "about STEP101"),
        (("STEP215", "STEP207"), 0, "about STEP207", "STEP207", ""),
        (("STEP302",), 0, "about STEP302", "STEP302", ""),
        (("STEP907",), 0, "about STEP907", "STEP907", ""),
    ],
)
def test_findings_become_a_verdict(codes: tuple[str, ...], count: int, shape: str, blocked: str, affine: str) -> None:
    known = static([*_found("STEP209", severity=Severity.HINT), *_found(*codes)], count)
    assert (known.shape.ok, known.shape.detail, known.blocked) == (not shape, shape, blocked)
    assert (known.affine.ok, known.affine.count, known.affine.detail) == (not count, count, affine)
    assert [item.message for item in faults(_found(*codes))] == [f"about {c}" for c in codes if c[4] != "1"]
    assert not static([], 0, complete=False).shape.ok
    verdict = known.unrun()
    assert not verdict.accepted and verdict.functional.code == blocked


@pytest.mark.parametrize(
    ("codes", "shape", "count"),
    [(("STEP101", "STEP101"), "", 2), (("STEP207",), "about STEP207", 0), (("STEP306", "STEP404", "any"), "", 0)],
)
def test_what_a_script_raises_joins_what_is_known(codes: tuple[str, ...], shape: str, count: int) -> None:
    errors = [StepError(code, f"about {code}") for code in codes]
    shown = raised(errors)
    assert (shown.shape.detail, shown.affine.count) == (shape, count)
    assert (shown.shape.ok, shown.affine.ok) == (not shape, not count)
    before = static(_found("STEP209", "STEP101"), 5)
    assert (raised(errors, before).shape, raised(errors, before).affine) == (before.shape, before.affine)


def test_a_row_holds_no_number_that_json_lacks() -> None:
    row = as_row("t", "t.yaml", NOT_CHECKED.unrun("STEP405", "stopped"))
    assert row.functional.code == "STEP405" and row.shape.detail == "not checked" and not row.accepted
    known = static([], 0)
    wrong = Verdict(
        known.shape, FunctionalPart(False, "differs", float("inf"), float("nan"), "STEP402"), known.affine, 1
    )
    functional = as_row("t", "t.yaml", wrong).functional
    assert (functional.max_abs_error, functional.max_abs_error_fp64) == (None, None)

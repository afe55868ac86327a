"""Whole files: findings of one file together, answers in a second file, suppressions."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from affine_cases import HEAD
from file_cases import (
    BOTH,
    DEFINITIONS,
    IGNORE,
    IGNORE_101,
    PATH,
    RETURN_ALL,
    TASK,
    TASK_PATH,
    TWICE,
    check,
    check_answer,
    impl,
    program,
)
from stepcore.check import check_text, files
from stepcore.check.files import check_part
from stepcore.findings.diagnostics import Severity, apply_edits
from stepcore.frontend.python import ModuleFacts, read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.system.collector import keep_out, no_collection

# -- one mistake, one message; findings in the order of the text ---------------------------------------------------

BAD_CLASS = """\
class Bad(step.Fn):
    def __init__(self, size):
        super().__init__("Bad", step.f32, step.f32)

    def apply(self, input):
        return [input[0] * missing]


a = Bad(M)
b = Bad(N)
"""


def body_of_f(text: str) -> str:
    return DEFINITIONS.replace("    return [input[0] * 2]\n", text) + program(RETURN_ALL)


PYTHON_FILES = {
    "a helper that two programs use": (
        DEFINITIONS
        + BOTH
        + program("return *both(E0), E1, S", "first")
        + program("A = step.Map(fn=f).apply(E0)\nreturn *both(E1), A, S", "second"),
        ["STEP101 20:58 x fix"],
    ),
    **{
        f"what an import that cannot be read names: {line}": (
            f"from stepcore.dims import {line}\nROW = step.Buffer(step.f32, [K, N])\n"
            + DEFINITIONS
            + program(RETURN_ALL),
            [expected],
        )
        for line, expected in (
            ("K, N,", "STEP902 1:32 "),
            ("K N", "STEP902 1:29 N"),
            ("f(), K, M as, N", "STEP902 1:28 ("),
            ("K, N as class, N # N", "STEP902 1:35 c"),
        )
    },
    "a class that makes two functions": (
        DEFINITIONS + BAD_CLASS + program("return step.Map(fn=a).apply(E0), step.Map(fn=b).apply(E1), S"),
        ["STEP303 24:28 missing"],
    ),
    "two functions with the same mistake": (
        DEFINITIONS.replace("input[0] * 2", "input[0] * x").replace("+ input[0]", "+ x") + program(RETURN_ALL),
        ["STEP303 11:24 x", "STEP303 16:24 x"],
    ),
    "a function whose first line cannot be read": (
        body_of_f("    y = input[0] +\n    return [input[0] * 2]\n"),
        ["STEP902 11:19 "],
    ),
    "a function whose last line cannot be read": (
        body_of_f("    y = input[0]\n    return [y * \n"),
        ["STEP902 12:12 ["],
    ),
    "a function on the same line as what cannot be read": (
        DEFINITIONS.replace("def f(input):\n    return [input[0] * 2]\n", "def f(input): return [input[0])\n")
        + program(RETURN_ALL),
        ["STEP902 10:31 )"],
    ),
    "an unreadable function hides nothing in the next": (
        body_of_f("    return [input[0])\n").replace("+ input[0]", "+ x"),
        ["STEP902 11:21 )", "STEP303 16:24 x"],
    ),
    "nor in the one before": (
        body_of_f("    return [x]\n").replace("+ input[0]", "+ 2)"),
        ["STEP303 11:13 x", "STEP902 16:25 )"],
    ),
    "functions inside a program": (
        DEFINITIONS
        + program(
            "@step.fn(input=step.f32, output=step.f32)\ndef k(input):\n    return [x]\n"
            "return step.Map(fn=k).apply(E0), E1, S"
        ),
        ["STEP303 27:17 x"],
    ),
    "an unreadable function at the very end": (
        DEFINITIONS.partition("@step.fn")[0] + program(RETURN_ALL) + "@step.fn(input=step.f32, output=step.f32)\n"
        "def f(input):\n    return [input[0])",
        ["STEP902 20:21 )"],
    ),
    "a constant that a function uses": (
        "import torch\n"
        + DEFINITIONS.replace("input[0] * 2", "input[0] * C")
        + "C = missing + 1\n\n"
        + program(RETURN_ALL),
        ["STEP303 20:5 missing"],
    ),
    "all findings by place": (
        program("A = step.Map(fn=nothing).apply(E0)\nreturn A, E1, E1, S", "early").join([DEFINITIONS, BAD_CLASS])
        + program("return E0, E1, S, a"),
        ["STEP202 25:21 nothing", "STEP101 26:19 E1 fix", "STEP303 34:28 missing", "STEP205 45:23 a"],
    ),
    "a file of somebody else": ("import os\nstepcore = 'stepcore'\ndef broken(:\n", []),
}


@pytest.mark.parametrize("name", PYTHON_FILES)
def test_python_files(name: str) -> None:
    text, expected = PYTHON_FILES[name]
    assert check(text) == expected


TASK_FILES = {
    "a task": (TASK + impl(TWICE), ["STEP101 13:28 E0 fix"]),
    "no answer": (TASK, []),
    "an empty answer": (TASK + "impl: |\n", ["STEP219 11:7 |"]),
    "an answer of comments": (TASK + impl("# later"), ["STEP219 11:7 |\n  # later"]),
    "an answer that cannot be read": (TASK + impl("((("), ["STEP902 12:5 ("]),
    "functions and constants": (
        TASK.replace("input[0] * 2", "input[0] * a") + "global: b = c\n" + impl("return E0, E1"),
        ["STEP303 6:84 a", "STEP303 11:13 c"],
    ),
    "a function of unreadable type is not looked into": (
        TASK.replace("f, input_dtype: fp32", "f, input_dtype: fp99").replace("* 2", "* a")
        + impl("return step.Map(fn=f).apply(E0), step.Map(fn=f).apply(E1)"),
        ["STEP222 6:31 fp99"],
    ),
    "an input of unreadable type fits everywhere": (
        TASK.replace("E0, dtype: fp32", "E0, dtype: fp99")
        + impl("return step.Zip().apply((E0, step.Bufferize(a=1).apply(E1))), E0"),
        ["STEP222 3:21 fp99", "STEP101 12:65 E0 fix"],
    ),
    "an output of unreadable type is not compared": (
        TASK.replace("S0, dtype: fp32", "S0, dtype: fp99") + impl("return step.Bufferize(a=1).apply(E0), E1"),
        ["STEP222 9:21 fp99"],
    ),
    "a function of unreadable type fits everywhere": (
        TASK.replace("f, input_dtype: fp32", "f, input_dtype: fp99")
        + impl("return step.Map(fn=f).apply(step.Bufferize(a=1).apply(E0)), E1"),
        ["STEP222 6:31 fp99"],
    ),
    "nor the number of outputs, where one was lost": (
        TASK + "- {name: \n" + impl("return step.Bufferize(a=1).apply(E0)"),
        ["STEP903 12:1 i"],
    ),
    "a name that may be lost is not unknown, Python's own are there": (
        TASK.replace("- {name: E1, dtype: fp32, dims: [M, N], data_gen: torch.randn}", "- {name: E1, dtype")
        + impl(
            "for i in range(1):\n    A = step.Map(fn=f).apply(E1)\n    B = step.Map(fn=f).apply(E0)\nreturn A, B, B"
        ),
        ["STEP903 4:3 {", "STEP101 15:16 B fix"],
    ),
    "nor unknown to a function": (
        TASK.replace("- {name: E1, dtype: fp32, dims: [M, N], data_gen: torch.randn}", "- {name: E1, dtype").replace(
            "* 2", "* a"
        ),
        ["STEP903 4:3 {"],
    ),
    "references share names": (
        TASK.replace(
            "S0, dtype: fp32, dims: [M, N]", 'S0, dtype: fp32, dims: [M, N], data_transform: ["a = 2\\na"]'
        ).replace("S1, dtype: fp32, dims: [M, N]", 'S1, dtype: fp32, dims: [M, N], data_transform: ["a * b"]'),
        ["STEP303 10:63 b"],
    ),
}


@pytest.mark.parametrize("name", TASK_FILES)
def test_task_files(name: str) -> None:
    text, expected = TASK_FILES[name]
    assert check(text, TASK_PATH) == expected


def test_findings_in_an_answer_belong_to_its_file() -> None:
    wrong = TASK.replace("* 2", "* a")
    answer = impl("A = step.Map(fn=q).apply(E0)\n" + TWICE.replace("A =", "B ="))
    assert check_answer(wrong, answer) == (["STEP303 6:84 a"], ["STEP202 2:19 q", "STEP101 3:28 E0 fix"])


def test_an_answer_file_without_an_answer() -> None:
    assert check_answer(TASK, "source: me\n") == ([], ["STEP906 1:1 s"])


@pytest.mark.parametrize(("line", "expected"), [("", "STEP103"), ("\n)", "STEP902")])
def test_hints_for_unused_streams_need_a_program_that_can_be_read(line: str, expected: str) -> None:
    one_output = TASK.replace("- {name: S1, dtype: fp32, dims: [M, N]}\n", "")
    for before, body in (
        (one_output + "impl: |\n", "  A = step.Map(fn=f).apply(E0)\n  return E1"),
        (HEAD, "    return E0, E1"),
    ):
        text = before + body + line.replace("\n", "\n  " if before != HEAD else "\n    ")
        result = check_text(text, TASK_PATH if before != HEAD else PATH)
        assert [item.code for item in result.diagnostics] == [expected]


def test_the_result_knows_what_was_read() -> None:
    module, task = check_text(HEAD, PATH).module, check_text(TASK, TASK_PATH).task
    assert module is not None
    assert task is not None
    assert (module.source.text, task.source.text) == (HEAD, TASK)


def test_what_is_no_task_gives_nothing_but_that() -> None:
    assert check_answer("a: [", impl(TWICE))[1] == []
    assert files.task_fn_diagnostics(read_task("", TASK_PATH)) == []


# -- suppressions --------------------------------------------------------------------------------------------------


def headed(comment: str, body: str, name: str = "program") -> str:
    """A program with a comment on its head."""
    return program(body, name).replace(f"def {name}(", f"def {name}(  {comment}")


LATE_HELPER = "\n\ndef late(x):\n    return step.Map(fn=f).apply(x)\n"
SUPPRESSED = {
    "on the line": (program(TWICE.replace("(E0)\nreturn", f"(E0)  {IGNORE_101}\nreturn")), []),
    "all findings of a line": (program(f"return E0, E0, missing  {IGNORE}"), []),
    "an empty list means all": (program("return E0, E0, missing  # stepsmith:ignore[]"), []),
    "one of two on a line": (
        program("return E0, E0, missing  # stepsmith: ignore[ STEP101 , ]"),
        ["STEP202 25:20 missing"],
    ),
    "another code": (
        program("return E0, E0  # stepsmith: ignore[STEP207, STEP103]"),
        ["STEP101 25:16 E0 fix", "STEP909 25:20 # stepsmith: ignore[STEP207, STEP103] fix"],
    ),
    "the line before": (
        program(f"{IGNORE}\nreturn E0, E0"),
        ["STEP909 25:5 # stepsmith: ignore fix", "STEP101 26:16 E0 fix"],
    ),
    "the line behind": (
        program(f"A = (\n    E0,\n    E0,\n    {IGNORE}\n)\nreturn A"),
        ["STEP909 28:9 # stepsmith: ignore fix", "STEP101 30:12 A fix"],
    ),
    "twice on a line, once too often": (
        program(f"return E0, E0  {IGNORE_101} {IGNORE_101}"),
        ["STEP909 25:49 # stepsmith: ignore[STEP101] fix"],
    ),
    "on the head": (headed(IGNORE_101, f"{TWICE[:-11]}\n\nreturn (\n    A,\n    A,\n)"), []),
    "on the head, with another code": (
        headed(IGNORE_101, "return E0, E0, missing"),
        ["STEP202 25:20 missing"],
    ),
    "on the head of another program": (
        headed(IGNORE_101, "return E0, E0", "first") + program("return E0, E0", "second"),
        ["STEP101 34:16 E0 fix"],
    ),
    "on the head of a program whose helper comes behind another program": (
        headed(IGNORE_101, "return late(E0), E0", "first") + program("return E0, E0", "second") + LATE_HELPER,
        ["STEP101 34:16 E0 fix"],
    ),
    "on the head of the second": (
        program("return E0, E0", "first") + headed(IGNORE_101, "return E0, E0", "second"),
        ["STEP101 25:16 E0 fix"],
    ),
    "the line behind the program": (
        headed(IGNORE, RETURN_ALL, "first").rstrip("\n")
        + "\n"
        + program(RETURN_ALL, "second", "@step.program(dims=3)"),
        ["STEP909 20:13 # stepsmith: ignore fix", "STEP204 26:20 3"],
    ),
    "in a line that is no comment": (
        program("return E0, E0, 'stepsmith: ignore'"),
        ["STEP101 25:16 E0 fix", "STEP205 25:20 'stepsmith: ignore'"],
    ),
}


@pytest.mark.parametrize("name", SUPPRESSED)
def test_suppressions(name: str) -> None:
    text, expected = SUPPRESSED[name]
    assert check(DEFINITIONS + text) == expected


def test_suppressions_in_tasks_and_answers() -> None:
    on_line = impl(TWICE.replace("(E0)\nreturn", f"(E0)  {IGNORE_101}\nreturn"))
    on_head = impl(TWICE, f"  {IGNORE_101}")
    for answer in (on_line, on_head):
        assert check(TASK + answer, TASK_PATH) == []
        assert check_answer(TASK, answer) == ([], [])
    useless = impl(f"{TWICE}, E0", f"  {IGNORE}[STEP202]")
    found = ["STEP909 1:10 # stepsmith: ignore[STEP202] fix", "STEP101 3:28 E0 fix"]
    assert check_answer(TASK, useless)[1] == [*found, "STEP213 4:10 A, B, E0"]
    # A comment in one file says nothing about the other, even on the line where the other has its program.
    assert check_answer(f"{TASK[:-1]}  {IGNORE}\n", impl(TWICE)) == (
        ["STEP909 10:42 # stepsmith: ignore fix"],
        ["STEP101 3:28 E0 fix"],
    )
    assert check_answer(f"{IGNORE}\n{TASK}", impl(TWICE))[1] == ["STEP101 3:28 E0 fix"]


def test_a_useless_comment_is_told_what_it_asks_for() -> None:
    for comment, what in ((IGNORE, "all findings"), (f"{IGNORE}[STEP202,STEP101]", "STEP101, STEP202")):
        (found,) = check_text(HEAD + f"    return E0, E1, S  {comment}\n", PATH).diagnostics
        assert found.message == f"this comment suppresses {what}, but there is none here; remove it"


@pytest.mark.parametrize(
    ("before", "comment", "behind"),
    [
        ("", IGNORE, "\n" + HEAD + "    return E0, E1, S "),
        (" ", IGNORE, "\n" + HEAD + "    return E0, E1, S "),
        (HEAD + "    return E0, E1, S", f" \t {IGNORE}[STEP101]", "  # why"),
    ],
)
def test_the_fix_of_a_useless_comment_removes_it_and_the_space_before_it(
    before: str, comment: str, behind: str
) -> None:
    text = before + comment + behind
    (found,) = check_text(text, PATH).diagnostics
    assert (found.code, found.severity, found.unnecessary) == ("STEP909", Severity.WARNING, True)
    assert found.fix is not None
    assert apply_edits(text, list(found.fix.edits)) == before.strip(" ") + behind


# -- the garbage collector -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_kept_out")
def test_objects_that_are_kept_out_are_not_counted_at_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def count() -> int:  # Python's takes 18 ms in a worker
        counted.append(1)
        return len(counted) // 2

    monkeypatch.setattr(no_collection, "keeps_out", False)
    monkeypatch.setattr("stepcore.system.collector.gc.get_freeze_count", count)
    monkeypatch.setattr("stepcore.system.collector.gc.get_count", lambda: (10**6, 0, 0))
    for _ in range(5):
        check_text(HEAD, PATH)
    assert len(counted) == 2  # until there are some
    monkeypatch.setattr(no_collection, "keeps_out", False)
    monkeypatch.setattr("stepcore.system.collector.gc.freeze", lambda: None)
    keep_out()
    check_text(HEAD, PATH)
    assert len(counted) == 2


@pytest.mark.usefixtures("nothing_kept_out")
@pytest.mark.parametrize(
    ("found", "before_each_check"),
    [(200_000, [n // 2 for n in range(20)]), (3, [0, 0, *[1] * 14, *[2] * 4])],
    ids=["garbage", "in vain"],
)
def test_a_check_searches_what_checks_before_it_left(
    monkeypatch: pytest.MonkeyPatch, found: int, before_each_check: list[int]
) -> None:
    searched: list[None] = []

    def search() -> int:
        searched.append(None)
        return found

    monkeypatch.setattr(no_collection, "keeps_out", False)
    monkeypatch.setattr(no_collection, "_bound", 1_000_000)
    monkeypatch.setattr(no_collection, "_unsearched", 0)
    monkeypatch.setattr("stepcore.system.collector.gc.get_freeze_count", lambda: 0)
    monkeypatch.setattr("stepcore.system.collector.gc.get_count", lambda: (600_000, 0, 0))
    monkeypatch.setattr("stepcore.system.collector.gc.collect", search)
    counts = []
    for _ in range(20):
        check_text(HEAD, PATH)
        counts.append(len(searched))
    assert counts == before_each_check  # never after a check, while its result is held


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_check_pauses_the_garbage_collector(monkeypatch: pytest.MonkeyPatch, is_enabled: bool, fails: bool) -> None:
    observed: list[bool] = []
    real = read_module

    def reader(*arguments: Any, **named: Any) -> Any:
        observed.append(gc.isenabled())
        if fails:
            raise ZeroDivisionError
        return real(*arguments, **named)

    monkeypatch.setattr("stepcore.frontend.python.read_module", reader)
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        runs: list[Callable[[], object]] = [
            lambda: check_text(HEAD, PATH),
            lambda: check_part(HEAD, PATH, ModuleFacts()),
        ]
        for run in runs:
            if fails:
                with pytest.raises(ZeroDivisionError):
                    run()
            else:
                run()
            assert gc.isenabled() is is_enabled
        assert set(observed) == {False}
    finally:
        (gc.enable if was_enabled else gc.disable)()

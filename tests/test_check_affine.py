"""The affine rule: what counts as a consumption, the text after all fixes, the published rule, and suppressions."""

from __future__ import annotations

import pytest

from affine_cases import HEAD, Case, cases, found, program, unmarked
from stepcore.check import check_impl, check_text, fix_text
from stepcore.frontend.yaml.tasks import read_task

AFFINE = {"STEP101", "STEP102", "STEP104"}
CASES = list(cases())


def codes(text: str, path: str = "file.py") -> list[str]:
    return [item.code for item in check_text(text, path).diagnostics]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings_and_related_places(case: Case) -> None:
    text, marks = unmarked(program(case.body))
    assert found(check_text(text, "file.py")) == marks


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text_after_all_fixes(case: Case) -> None:
    text, _ = unmarked(program(case.body))
    fixed = fix_text(text, "file.py")
    assert fixed == (text if case.fixed is None else program(case.fixed))
    if case.fixed is not None:
        assert not [code for code in codes(fixed) if not code.startswith("STEP103")]
        assert fix_text(fixed, "file.py") == fixed


def test_the_tables_hold_all_kinds() -> None:
    assert len(CASES) > 70
    assert sum(case.fixed is not None for case in CASES) > 40
    assert sum("⟪" in case.body for case in CASES) >= 4


# -- strict and published counts --------------------------------------------------------------------------

TASK = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {func_name: f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
- {func_name: h, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] + input[1]]"}
outputs:
- {name: S0, dtype: fp32, dims: [M, N]}
"""
COUNTS = [
    # body, strict count, published count
    ("A = step.Map(fn=f).apply(E0)\nreturn A", 0, 0),
    ("A = step.Map(fn=f).apply(E0)\nB = step.Map(fn=f).apply(E0)\nreturn A, B", 1, 1),
    ("A = step.Map(fn=h).apply((E0, E0))\nreturn A", 1, 1),
    ("A = step.Map(fn=f).apply(E0)\nB = step.Map(fn=f).apply(E0)\nreturn A, B, E0", 2, 1),
    ("A = step.Map(fn=f).apply(E0)\nreturn A, E0", 1, 0),  # returned and consumed: strict only
    ("return E0, E0", 1, 0),
    ("A = E0\nB = step.Map(fn=f).apply(A)\nC = step.Map(fn=f).apply(E0)\nreturn B, C", 1, 0),  # alias
    ("p = (E0, E0)\nreturn step.Map(fn=h).apply(p)", 1, 0),  # a tuple with a name
    ("xs = [E0]\nA = step.Map(fn=f).apply(xs[0])\nB = step.Map(fn=f).apply(xs[0])\nreturn A, B", 1, 0),  # indexing
    ("A = step.Map(fn=h).apply((*[E0, E0],))\nreturn A", 1, 0),  # stars
    ("A = step.Map(fn=f).apply(input=E0)\nB = step.Map(fn=f).apply(input=E0)\nreturn A, B", 1, 0),  # keywords
    ("A = [step.Map(fn=fn).apply(E0) for fn in (f, f)]\nreturn A[0], A[1]", 1, 0),  # over functions
    ("E0 = step.Map(fn=f).apply(E0)\nE0 = step.Map(fn=f).apply(E0)\nreturn E0", 0, 1),  # names, not values
    ("xs = [E0, E1]\nA = [step.Map(fn=f).apply(x) for x in xs]\nreturn A[0], A[1]", 0, 0),
    ("xs = [E0, E1]\nA = [step.Map(fn=h).apply((x, x)) for x in xs]\nreturn A[0], A[1]", 2, 1),  # counts for xs
    (
        "xs = [E0, E1]\nA = [step.Map(fn=f).apply(x) for x in xs]\nB = [step.Map(fn=f).apply(x) for x in xs]\n"
        "return A[0], A[1], B[0], B[1]",
        2,
        1,
    ),
    (
        "xs = [E0, E1]\nA = [step.Map(fn=f).apply(x) for x in xs]\n"
        "B = [step.Map(fn=g).apply(x) for g, x in zip([f, f], xs)]\nreturn A[0], A[1], B[0], B[1]",
        2,
        1,  # of the arguments of zip those that are names
    ),
    (
        "xs = [E0, E1]\nA = [step.Map(fn=f).apply(x) for x in xs]\n"
        "B = [step.Map(fn=f).apply(x) for i, x in enumerate(xs)]\nreturn A[0], A[1], B[0], B[1]",
        2,
        0,
    ),
    ("for i in range(3):\n    A = step.Map(fn=f).apply(E0)\nreturn A", 2, 0),
    ("for x in [E0, E0]:\n    A = step.Map(fn=f).apply(x)\nreturn A", 1, 0),
]


@pytest.mark.parametrize(("body", "strict", "paper"), COUNTS)
def test_counts_of_both_rules(body: str, strict: int, paper: int) -> None:
    task = read_task(TASK, "task.step.yaml")
    assert check_impl(task, body).affine_count == strict
    assert check_impl(task, body, "paper").affine_count == paper


def test_strict_flags_an_answer_that_returns_a_stream_which_it_also_consumes() -> None:
    text = TASK + "impl: |\n  A = step.Map(fn=f).apply(E0)\n  B = step.Map(fn=f).apply(A)\n  return A\n"
    paper = [item.code for item in check_text(text, "t.yaml", affine="paper").diagnostics]
    assert "STEP104" not in paper
    assert codes(text, "t.yaml").count("STEP101") == 1
    fixed = fix_text(text, "t.yaml")
    assert "  A_1, A_2 = step.Copy().apply(A)\n  B = step.Map(fn=f).apply(A_1)\n  return A_2\n" in fixed


def test_fixes_under_the_published_rule_converge() -> None:
    text = TASK + "impl: |\n  A = step.Map(fn=h).apply((E0, E0))\n  return A\n"
    fixed = fix_text(text, "t.yaml", affine="paper")
    assert "step.Copy()" in fixed
    assert "STEP104" not in [item.code for item in check_text(fixed, "t.yaml", affine="paper").diagnostics]


# -- suppressions -----------------------------------------------------------------------------------------

TWICE = "A = step.Map(fn=f).apply(E0)\nB = step.Map(fn=f).apply(E0){}\nreturn A, B"


def test_a_comment_suppresses_on_its_line() -> None:
    assert "STEP101" in codes(program(TWICE.format("")))
    assert "STEP101" not in codes(program(TWICE.format("  # stepsmith: ignore[STEP101]")))
    assert "STEP101" not in codes(program(TWICE.format("  # stepsmith: ignore")))
    assert "STEP101" not in codes(program(TWICE.format("  # stepsmith: ignore[STEP207, STEP101]")))


def test_a_comment_with_another_code_suppresses_nothing_and_is_reported() -> None:
    found_codes = codes(program(TWICE.format("  # stepsmith: ignore[STEP202]")))
    assert "STEP101" in found_codes
    assert "STEP909" in found_codes


def test_a_comment_on_another_line_suppresses_nothing() -> None:
    found_codes = codes(program("# stepsmith: ignore[STEP101]\n" + TWICE.format("")))
    assert "STEP101" in found_codes
    assert "STEP909" in found_codes


def test_a_comment_on_the_head_covers_the_program_and_no_other() -> None:
    marked = HEAD.replace("def program(", "def program(  # stepsmith: ignore[STEP101]")
    body = "".join(f"    {line}\n" for line in TWICE.format("").split("\n"))
    other = HEAD[HEAD.index("@step.program") :].replace("def program(", "def other(")
    assert "STEP101" not in codes(marked + body)
    assert codes(marked + body + "\n\n" + other + body).count("STEP101") == 1


def test_removing_the_useless_comment_leaves_a_clean_line() -> None:
    text = program("A = step.Map(fn=f).apply(E0)  # stepsmith: ignore[STEP101]\nreturn A, E1, S")
    (only,) = check_text(text, "file.py").diagnostics
    assert only.code == "STEP909"
    assert only.fix is not None
    assert [edit.text for edit in only.fix.edits] == [""]
    edit = only.fix.edits[0]
    assert text[: edit.span.start].endswith("apply(E0)")
    assert text[edit.span.end :].startswith("\n")


# -- odd texts --------------------------------------------------------------------------------------------


def test_windows_line_ends_stay() -> None:
    text = program(TWICE.format("")).replace("\n", "\r\n")
    fixed = fix_text(text, "file.py")
    assert "E0_1, E0_2 = step.Copy().apply(E0)\r\n    A = step.Map(fn=f).apply(E0_1)\r\n" in fixed
    assert "\n" not in fixed.replace("\r\n", "")
    assert "STEP101" not in codes(fixed)


def test_windows_line_ends_in_a_task() -> None:
    body = "impl: |\n  A = step.Map(fn=f).apply(E0)\n  B = step.Map(fn=f).apply(E0)\n  return A\n"
    fixed = fix_text((TASK + body).replace("\n", "\r\n"), "t.yaml")
    assert "\n" not in fixed.replace("\r\n", "")
    assert "  E0_1, E0_2 = step.Copy().apply(E0)\r\n  A = step.Map(fn=f).apply(E0_1)\r\n" in fixed


def test_tabs_indent_the_inserted_line() -> None:
    text = program(TWICE.format("")).replace("    ", "\t")
    fixed = fix_text(text, "file.py")
    assert "\n\tE0_1, E0_2 = step.Copy().apply(E0)\n\tA = step.Map(fn=f).apply(E0_1)\n" in fixed


def test_a_byte_order_mark_stays_in_front() -> None:
    text = "\ufeff" + program(TWICE.format(""))
    result = check_text(text, "file.py")
    (item,) = [found for found in result.diagnostics if found.code == "STEP101"]
    assert result.source.slice(item.span) == "E0"
    fixed = fix_text(text, "file.py")
    assert fixed.startswith("\ufeff")
    assert "STEP101" not in codes(fixed)


@pytest.mark.parametrize("name", ["流", "größe", "Ж0", "𝓔"])
def test_identifiers_beyond_ascii(name: str) -> None:
    comment = "# 😀 数据 "
    body = f"{name} = step.Identity().apply(E0)  {comment}\nA = step.Map(fn=f).apply({name}); B = '😀', {name}\n"
    text = program(body + "return A, B[1]")
    result = check_text(text, "file.py")
    (item,) = [found for found in result.diagnostics if found.code == "STEP101"]
    assert result.source.slice(item.span) in {name, "B[1]"}
    fixed = fix_text(text, "file.py")
    assert comment in fixed
    assert "STEP101" not in codes(fixed)


def test_identifiers_beyond_ascii_in_a_task() -> None:
    body = "impl: |\n  流 = step.Map(fn=f).apply(E0)  # 😀\n  return step.Map(fn=h).apply(('😀' and 流, 流))\n"
    result = check_text(TASK + body, "t.yaml")
    (item,) = [found for found in result.diagnostics if found.code == "STEP101"]
    assert result.source.slice(item.span) == "流"
    assert result.source.slice(item.related[0].span) in {"流", "'😀' and 流"}

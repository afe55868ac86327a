"""Whole numbers that wrap: results that are equal by wrapping, or for small numbers only, are told beside a verdict."""

from __future__ import annotations

import re

import pytest

from sim_tasks import Bed, task_text
from stepcore.findings.verdict import Verdict

X = "input_data['E0']"


def in_terms_of(name: str, text: str) -> str:
    """Return ``text`` with ``name`` for x."""
    return re.sub(r"\bx\b", lambda _: name, text)


def verdict(reference: str, body: str, *, dtype: str = "int32", result: str = "int32", more: str = "") -> Verdict:
    """Verify ``Map`` of ``body`` over whole numbers beside a reference; both write x for them."""
    own = (
        f"- name: fn_own\n  func_name: fn_own\n  input_dtype: {dtype}\n  output_dtype: {result}\n"
        f"  apply: |\n    return [{in_terms_of('input[0]', body)}]\n"
    )
    stream = f"{{name: E0, dtype: {dtype}, dims: [M, N]{more}}}"
    text = task_text(in_terms_of(X, reference), own, inputs=(stream,), dims="[M, N]")
    text = text.replace("- name: S0\n  dtype: fp32", f"- name: S0\n  dtype: {result}")
    return Bed(text).verify("E1 = step.Map(fn=fn_own).apply(E0)\nreturn E1")


def note(found: Verdict) -> str:
    assert found.accepted, found.detail
    notes = () if found.untested is None else found.untested.conditions
    return "; ".join(each.note for each in notes if " is stated, " in each.note or " wraps: " in each.note)


WRAPPING = [
    ("x * 100000 * 100000", "x * 100000 * 100000", "x'] * 100000 * 100000 of the reference"),
    ("x * 1", "(x + 2147483647) - 2147483647", "input[0] + 2147483647 leaves int32 and wraps"),
    ("x * 1", "(x - 200).to(torch.int8).to(torch.int32) + 200 - 256", "leaves int8"),
    ("x * 1", "x + x * 65536 * 65536", "input[0] * 65536 * 65536 leaves int32"),
    ("x * 1", "x + (x << 31) * 2", "leaves int32"),
    ("x * 1", "x - (x * 1000000) ** 3 * 0", "leaves int32"),
]


@pytest.mark.parametrize(("reference", "body", "told"), WRAPPING)
def test_results_that_are_equal_by_wrapping_are_told(reference: str, body: str, told: str) -> None:
    found = note(verdict(reference, body))
    assert told.replace("x'", "E0'") in found
    assert "equal by wrapping" in found


SMALL = [
    ("(x.long() * 100000 // 100000).int()", "x * 100000 // 100000"),
    ("x * 1", "(x * 4096) // 4096"),
    ("x * 1", "x.to(torch.int8).to(torch.int32)"),
    ("x * 1", "x.to(torch.int16).to(torch.int32)"),
    ("x * 1", "x.to(torch.uint8).to(torch.int32)"),
    ("x * 1", "x & 255"),
    ("((x.long() + x) // 2).int()", "(x + x) // 2"),
    ("torch.div(x, 3, rounding_mode='floor')", "torch.div(x, 3, rounding_mode='trunc')"),
    ("x.abs()", "x * 1"),
    ("x % 3", "torch.fmod(x, 3)"),
    ("torch.minimum(x, x * 0 + 9)", "x * 1"),
    ("(x.double() * 100000 / 100000).round().int()", "x * 100000 // 100000"),
]


@pytest.mark.parametrize(("reference", "body"), SMALL)
def test_programs_that_are_right_for_small_numbers_only_are_told(reference: str, body: str) -> None:
    found = note(verdict(reference, body))
    assert "neither min nor max of E0 is stated" in found, found
    assert "this program is wrong" in found


def test_the_note_names_what_leaves_the_type_and_where() -> None:
    found = verdict("(x.long() * 100000 // 100000).int()", "x * 100000 // 100000")
    assert note(found).split(" this program is wrong, ")[1] == "as input[0] * 100000 leaves int32"
    assert found.untested is not None and found.untested.conditions[0].span is not None


RIGHT = [
    ("x * 1", "x + 0"),
    ("x * x", "x ** 2"),
    ("x * 3 + 7", "7 + x + x + x"),
    ("x // 2", "torch.div(x, 2, rounding_mode='floor')"),
    ("x * 1000", "(x.long() * 1000).int()"),
    ("x & 255", "x % 256"),
    ("torch.clamp(x, 2, 7)", "torch.minimum(torch.maximum(x, x * 0 + 2), x * 0 + 7)"),
    ("x * 2", "x << 1"),
    ("~x", "-x - 1"),
]


@pytest.mark.parametrize(("reference", "body"), RIGHT)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_right_programs_on_whole_numbers_have_no_note(reference: str, body: str, dtype: str) -> None:
    if dtype == "int64":
        reference, body = reference.replace(".int()", ""), body.replace(".int()", "")
    assert note(verdict(reference, body, dtype=dtype, result=dtype)) == ""


@pytest.mark.parametrize(("reference", "body"), SMALL)
def test_stated_limits_are_taken_at_their_word(reference: str, body: str) -> None:
    assert note(verdict(reference, body, more=", min: 0, max: 9")) == ""


def test_numbers_that_a_reference_cannot_take_say_nothing() -> None:
    found = verdict("torch.arange(10, dtype=torch.int32)[x.long()] * 1", "x * 1")
    assert note(found) == ""


def test_wrapping_of_int64_is_seen() -> None:
    found = note(verdict("x * 10**18 * 100", "x * 10**18 * 100", dtype="int64", result="int64"))
    assert "leaves int64 and wraps" in found


def test_folds_in_int32_beside_a_sum_in_int64_are_told() -> None:
    add = (
        "- name: fn_add\n  func_name: fn_add\n  init: [0]\n  input_dtype: int32\n  output_dtype: int32\n"
        "  apply: |\n    return [state[0] + input[0]]\n"
        "- name: fn_mean\n  func_name: fn_mean\n  input_dtype: int32\n  output_dtype: fp32\n"
        "  apply: |\n    return [input[0].float()]\n"
    )
    stream = "{name: E0, dtype: int32, dims: [M, N]}"
    text = task_text("input_data['E0'].sum(1).float()", add, inputs=(stream,), dims="[N]")
    found = Bed(text).verify(
        "E1 = step.Accum(fn=fn_add, b=1).apply(E0)\nE2 = step.Map(fn=fn_mean).apply(E1)\nreturn E2"
    )
    assert "neither min nor max of E0 is stated" in note(found)


def half_note(reference: str, body: str) -> str:
    """Return the note on a program in fp16 that is accepted, without one the empty text."""
    element = "Buffer(fp16, [K])"
    own = (
        f"- name: fn_own\n  func_name: fn_own\n  input_dtype: {element}\n  output_dtype: {element}\n"
        f"  apply: |\n    return [{in_terms_of('input[0]', body)}]\n"
    )
    stream = f"{{name: E0, dtype: '{element}', dims: [M], data_gen: torch.randn}}"
    text = task_text(in_terms_of(X, reference), own, inputs=(stream,), dims="[M]")
    text = text.replace("- name: S0\n  dtype: fp32", f"- name: S0\n  dtype: {element}")
    found = Bed(text).verify("E1 = step.Map(fn=fn_own).apply(E0)\nreturn E1")
    assert found.accepted, found.detail
    return "" if found.untested is None else "; ".join(each.note for each in found.untested.conditions)


ROUNDED = [
    ("(x.float() * 3 / 7).half()", "x * 3 / 7"),
    ("x * 3 / 7", "(x.float() * 3 / 7).half()"),
    ("x.softmax(-1)", "(x.float().exp() / x.float().exp().sum()).to(torch.float16)"),
    ("torch.tanh(x * 50)", "torch.tanh(x.float() * 50).half()"),
]


@pytest.mark.parametrize(("reference", "body"), ROUNDED)
def test_where_numbers_are_rounded_to_fp16_makes_no_program_wrong(reference: str, body: str) -> None:
    """In a run in fp64 numbers of fp16 are in fp64, too, and casts that a body writes round all the same."""
    half_note(reference, body)


NORM = "(x.float() / x.float().norm(dim=-1, keepdim=True)).half()"
LEAVING = [
    (NORM, "x / (x * x).sum(dim=-1, keepdim=True).sqrt()"),
    ("x * 1", "x + (x * 4096 - x * 4096)"),
    ("x * 1", "x * 100 / 100"),
    ("(x.float() * 1000 / 1000).half()", "x * 1000 / 1000"),
]
STAYING = [
    (NORM, NORM),
    ("x / (x * x).sum(dim=-1, keepdim=True).sqrt()", "x / (x * x).sum(dim=-1, keepdim=True).sqrt()"),
    ("torch.softmax(x.float(), -1).half()", "torch.softmax(x.float(), -1).half()"),
    ("x * 2", "x + x"),
    ("torch.tanh(x)", "torch.tanh(x)"),
    ("(x.float() ** 2).half()", "x * x"),
]


@pytest.mark.parametrize(("reference", "body"), LEAVING)
def test_numbers_that_leave_fp16_where_the_reference_is_finite_are_told(reference: str, body: str) -> None:
    assert "a number leaves fp16, and the reference is finite" in half_note(reference, body)


@pytest.mark.parametrize(("reference", "body"), STAYING)
def test_of_programs_that_are_as_finite_as_their_reference_nothing_is_said(reference: str, body: str) -> None:
    assert half_note(reference, body) == ""

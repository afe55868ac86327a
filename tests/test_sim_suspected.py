"""Programs that are right on numbers as a generator draws them, and wrong: folds that begin too high, ties, one sign,
the ends of whole numbers, and sizes whose number stands in a function. Beside each stand right programs like it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from job_records import candidates
from sim_tasks import SCALARS, Bed
from stepcore.findings.verdict import Verdict
from stepcore.sim.doubted import doubted_sizes
from stepcore.sim.far_sizes import far_sizes
from stepcore.sim.suspected import suspected

X, Y = "input_data['E0']", "input_data['E1']"
ROW = "Buffer(fp32, [K])"
PLACES = "Buffer(int64, [K])"
MAP = "return step.Map(fn=own).apply(E0)"
BOTH = "return step.Map(fn=own).apply((E0, E1))"
FOLD = "return step.Accum(fn=own, b=1).apply(E0)"
THEN = "return step.Map(fn=then).apply(step.Accum(fn=own, b=1).apply(E0))"


def function(body: str, takes: object, gives: object, init: str = "", name: str = "own") -> str:
    start = f"  init: {init}\n" if init else ""
    return (
        f"- name: {name}\n  func_name: {name}\n{start}  input_dtype: {json.dumps(takes)}\n"
        f"  output_dtype: {json.dumps(gives)}\n  apply: |\n    return {body}\n"
    )


def stream(name: str, dtype: str = "fp32", dims: str = "[M, N]", drawn: str = "data_gen: torch.randn") -> str:
    return f'- {{name: {name}, dtype: "{dtype}", dims: {dims}, {drawn}}}\n'


def task(
    reference: str, functions: str, impl: str, *, inputs: str, more: str = "", dims: str, gives: str = "fp32"
) -> str:
    output = f'- name: S0\n  dtype: "{gives}"\n  dims: {dims}\n  data_transform:\n  - |\n    {reference}\n'
    return f"inputs:\n{inputs}{more}fns:\n{functions}outputs:\n{output}impl: |\n  {impl}\n"


def verified(text: str, dims: Mapping[str, int] | None = None) -> Verdict:
    (candidate,) = candidates({"path": "own.step.yaml", "text": text, "dims": dict(dims or {})})
    return candidate.verify()


def folded(reference: str, body: str, init: str, drawn: str = "torch.randn") -> Verdict:
    inputs = stream("E0", drawn=f"data_gen: {drawn}")
    return verified(task(reference, function(body, "fp32", "fp32", init), FOLD, inputs=inputs, dims="[N]"))


def mapped(
    reference: str, body: str, takes: object = "fp32", gives: str = "fp32", drawn: str = "torch.randn"
) -> Verdict:
    """Verify ``Map`` of ``body`` over E0, or over E0 and E1 where ``takes`` is a pair."""
    kinds = takes if isinstance(takes, list) else [takes]
    dims = "[M]" if ROW in kinds else "[M, N]"
    ports = [stream(f"E{at}", str(each), dims, f"data_gen: {drawn}") for at, each in enumerate(kinds)]
    impl = BOTH if len(kinds) == 2 else MAP
    own = function(f"[{body}]", takes, gives)
    return verified(task(reference, own, impl, inputs="".join(ports), dims=dims, gives=gives))


def assert_rejected(found: Verdict, data: str) -> None:
    assert not found.accepted
    assert f"not on other data ({data})" in found.functional.detail


def assert_right(found: Verdict) -> None:
    assert found.accepted, found.detail
    assert found.untested is None, found.untested.note


LARGEST = "[torch.maximum(state[0], input[0])]"
ABOVE = "[torch.where(input[0] > state[0], input[0], state[0])]"
BEGINNINGS = [
    (f"{X}.amax(1)", LARGEST, "[-1]", "torch.randn", "numbers below -2"),
    (f"{X}.amin(1)", "[torch.minimum(state[0], input[0])]", "[1]", "torch.randn", "numbers above 2"),
    (f"{X}.amax(1)", ABOVE, "[0]", "torch.rand", "numbers below -2"),
    (f"{X}.amax(1)", "[state[0] if state[0] > input[0] else input[0]]", "[-1]", "torch.randn", "numbers below -2"),
]


@pytest.mark.parametrize(("reference", "body", "init", "drawn", "data"), BEGINNINGS)
def test_a_fold_that_begins_beyond_its_numbers_is_found(
    reference: str, body: str, init: str, drawn: str, data: str
) -> None:
    """Of seven numbers drawn one is nearly always above -1: no fold from -1 on was rejected."""
    assert_rejected(folded(reference, body, init, drawn), data)


RIGHT_FOLDS = [
    (f"{X}.amax(1)", LARGEST, "[-inf]"),
    (f"torch.relu({X}).amax(1)", LARGEST, "[0]"),
    (f"{X}.abs().amax(1)", "[torch.maximum(state[0], input[0].abs())]", "[0]"),
    (f"({X} > 0).sum(1).float()", "[state[0] + torch.where(input[0] > 0, 1.0, 0.0).to(input[0].dtype)]", "[0]"),
    (f"({X} > -1).all(1).float()", "[torch.minimum(state[0], (input[0] > -1).to(input[0].dtype))]", "[1]"),
]


@pytest.mark.parametrize(("reference", "body", "init"), RIGHT_FOLDS)
def test_a_fold_may_begin_with_any_number_that_is_right(reference: str, body: str, init: str) -> None:
    assert_right(folded(reference, body, init))


def test_a_softmax_whose_largest_begins_with_0_is_right() -> None:
    """It is only a number that is subtracted."""
    top = "torch.maximum(state[0], input[0])"
    own = function(
        f"[{top}, state[1] * torch.exp(state[0] - {top}) + torch.exp(input[0] - {top})]",
        "fp32",
        ["fp32", "fp32"],
        "[0, 0]",
    )
    then = function("[input[0] + torch.log(input[1])]", ["fp32", "fp32"], "fp32", name="then")
    text = task(f"torch.logsumexp({X}, 1)", own + then, THEN, inputs=stream("E0"), dims="[N]")
    assert_right(verified(text))


PAIR = ["fp32", "fp32"]
TIES = [
    (f"({X} >= {Y}).float()", "(input[0] > input[1]).float()", PAIR, "fp32"),
    (
        f"torch.where({X} - {Y} > 0, {X}, {Y} * 2)",
        "torch.where(input[0] - input[1] >= 0, input[0], input[1] * 2)",
        PAIR,
        "fp32",
    ),
    (f"torch.sign({X} - {Y})", "torch.where(input[0] > input[1], 1.0, -1.0).to(input[0].dtype)", PAIR, "fp32"),
    (
        f"({X}[:, None, :] >= {X}[:, :, None]).sum(-1)",
        "(input[0][None, :] > input[0][:, None]).sum(-1) + 1",
        ROW,
        PLACES,
    ),
    (
        f"torch.sort({X}, dim=-1, stable=True, descending=True).indices",
        "torch.sort(input[0], stable=True).indices.flip(0)",
        ROW,
        PLACES,
    ),
]


@pytest.mark.parametrize(("reference", "body", "takes", "gives"), TIES)
def test_what_two_equal_numbers_give_is_tried(reference: str, body: str, takes: object, gives: str) -> None:
    assert_rejected(mapped(reference, body, takes, gives), "few numbers, many of them equal")


RIGHT_TIES = [
    (f"torch.maximum({X}, {Y})", "torch.where(input[0] >= input[1], input[0], input[1])", PAIR, "fp32"),
    (
        f"torch.relu({X} - {Y})",
        "torch.where(input[0] < input[1], 0.0, input[0] - input[1]).to(input[0].dtype)",
        PAIR,
        "fp32",
    ),
    (f"torch.sign({X} - {Y})", "(input[0] > input[1]).float() - (input[0] < input[1]).float()", PAIR, "fp32"),
    (f"({X} / 3 >= {Y} / 3).float()", "(input[0] * (1 / 3) >= input[1] * (1 / 3)).float()", PAIR, "fp32"),
    (
        f"torch.where({X} == {Y}, {X} * 0 + 1, {X})",
        "(input[0] == input[1]) * 1.0 + (input[0] != input[1]) * input[0]",
        PAIR,
        "fp32",
    ),
    (
        f"({X} >= {X}.mean(-1, keepdim=True)).float().sum(-1)",
        "(input[0] - input[0].sum() / K_value >= 0).float().sum()",
        ROW,
        "fp32",
    ),
    (f"torch.argsort({X}, dim=-1, stable=True)", "torch.sort(input[0], stable=True).indices", ROW, PLACES),
    (f"torch.argsort({X}, -1)", "torch.argsort(-input[0].flip(0)).flip(0).neg() + K_value - 1", ROW, PLACES),
    (
        f"torch.nn.functional.one_hot({X}.argmax(-1), K_value).float()",
        "(input[0] == input[0].amax()).float()",
        ROW,
        ROW,
    ),
    (f"{X}.topk(3, -1).values.sum(-1)", "torch.sort(input[0]).values[-3:].sum()", ROW, "fp32"),
]


@pytest.mark.parametrize(("reference", "body", "takes", "gives"), RIGHT_TIES)
def test_ties_reject_nothing_that_is_right(reference: str, body: str, takes: object, gives: str) -> None:
    """Which of equal numbers is the largest is nobody's promise, but for a stable sort."""
    assert_right(mapped(reference, body, takes, gives))


ONE_SIGN = [
    (f"{X} * 1", "(input[0] ** 2) ** 0.5", "fp32"),
    (f"{X}.abs()", "torch.hypot(input[0], input[0] * 0) * torch.sign(input[0])", "fp32"),
    (f"torch.atan2({X}, {Y})", "torch.atan(input[0] / input[1])", PAIR),
]


@pytest.mark.parametrize(("reference", "body", "takes"), ONE_SIGN)
def test_numbers_that_are_drawn_positive_may_be_negative(reference: str, body: str, takes: object) -> None:
    found = mapped(reference, body, takes, drawn="torch.rand")
    assert not found.accepted
    assert "right on the data drawn, which hardly test it" in found.functional.detail


RIGHT_SIGNS = [
    (f"torch.sqrt({X}) * torch.sqrt({X})", "input[0] * 1", "fp32", "fp32"),
    (f"{X} ** 1.5", "input[0] * torch.sqrt(input[0])", "fp32", "fp32"),
    (f"{X} ** 3", "torch.exp(3 * torch.log(input[0]))", "fp32", "fp32"),
    (f"torch.hypot({X}, {Y})", "torch.sqrt(input[0] ** 2 + input[1] ** 2)", PAIR, "fp32"),
    (f"torch.acos({X})", "torch.atan2(torch.sqrt(1 - input[0] ** 2), input[0])", "fp32", "fp32"),
    (f"torch.sqrt({X} * (1 - {X}))", "torch.sqrt(input[0]) * torch.sqrt(1 - input[0])", "fp32", "fp32"),
    (f"{X}.prod(-1) ** (1 / K_value)", "torch.exp(torch.log(input[0]).mean())", ROW, "fp32"),
    (f"{X} / {X}.sum(-1, keepdim=True)", "torch.exp(torch.log(input[0]) - torch.log(input[0].sum()))", ROW, ROW),
    (f"-({X} * torch.log({X})).sum(-1)", "torch.special.entr(input[0]).sum()", ROW, "fp32"),
]


@pytest.mark.parametrize(("reference", "body", "takes", "gives"), RIGHT_SIGNS)
def test_what_is_defined_for_positive_numbers_only_is_right(
    reference: str, body: str, takes: object, gives: str
) -> None:
    assert_right(mapped(reference, body, takes, gives, "torch.rand"))


def indexed(body: str) -> Verdict:
    inputs = stream("E0", "int64", "[M]", "min: 0, max: 99")
    weights = "parameters:\n- {name: W, dtype: fp32, dims: [100], data_gen: torch.randn}\n"
    own = function(f"[{body}]", "int64", "fp32")
    return verified(task(f"input_data['W'][{X}]", own, MAP, inputs=inputs, more=weights, dims="[M]"))


def test_the_ends_of_stated_whole_numbers_are_tried() -> None:
    """Of five numbers up to 99 none is 99."""
    last = "numbers at the ends of their range"
    assert_rejected(indexed("torch.cat([input_data['W'][:99], input_data['W'][:1]])[input[0]]"), last)
    assert_rejected(indexed("torch.cat([input_data['W'][1:2], input_data['W'][1:]])[input[0]]"), last)
    assert_right(indexed("input_data['W'].flip(0)[99 - input[0]] * 1"))


BITS = "Buffer(bool, [300])"


def test_truth_values_are_tried_that_are_all_true_or_all_false() -> None:
    """Of 300 bits 150 are true, as drawn: 280 of them never overflowed eight bits."""
    inputs = stream("E0", BITS, "[M]", "data_gen: binary")
    narrow = function("[input[0][:280].to(torch.uint8).sum(dtype=torch.uint8).long()]", BITS, "int64")
    wide = function("[input[0][:280].long().sum()]", BITS, "int64")
    texts = [
        task(f"{X}[:, :280].sum(-1)", own, MAP, inputs=inputs, dims="[M]", gives="int64") for own in (narrow, wide)
    ]
    assert_rejected(verified(texts[0]), "numbers at the ends of their range")
    assert_right(verified(texts[1]))


@pytest.mark.parametrize("is_right", [False, True])
def test_branches_that_nothing_goes_to_are_tried(*, is_right: bool) -> None:
    """The first branch gets three of five rows with this seed, and none where all rows go the other way."""
    inputs = stream("E0", dims="[M]") + stream("E1", "Multihot(fp32, 2)", "[M]", "min: 1, max: 1")
    take = function("[input[0] * input[1][0], input[1][0] * 1]", ["fp32", "Multihot(fp32, 2)"], PAIR)
    add = function("[state[0] + input[0], state[1] + input[1]]", PAIR, PAIR, "[0, 0]", name="add")
    guard = "input[1].clamp(min=1)" if is_right else "input[1]"
    then = function(f"[input[0] / {guard}]", PAIR, "fp32", name="then")
    impl = (
        "E2 = step.Promote(b=1).apply(step.Map(fn=own).apply((E0, E1)))\n"
        "  return step.Map(fn=then).apply(step.Accum(fn=add, b=1).apply(E2))"
    )
    reference = f"({X} * {Y}[:, 0]).sum().reshape(1) / {Y}[:, 0].sum().clamp(min=1)"
    found = verified(task(reference, take + add + then, impl, inputs=inputs, dims="[1]"))
    assert found.accepted is is_right


ROUNDED = [("torch.round({x})", "torch.floor({x} + 0.5)"), ("torch.floor({x})", "torch.ceil({x}) - 1")]


@pytest.mark.parametrize(("reference", "body"), ROUNDED)
def test_halves_are_rounded_as_by_the_reference(reference: str, body: str) -> None:
    found = mapped(reference.format(x=X), body.format(x="input[0]"))
    assert not found.accepted
    assert "right on the data drawn, which hardly test it" in found.functional.detail
    assert_right(mapped(reference.format(x=X), reference.format(x="input[0]")))


HALVES = [
    (f"{X}[:, K_value // 2] * 1", "input[0][(K_value - 1) // 2] * 1", False),
    (f"{X}.quantile(0.5, dim=-1)", "input[0].median()", False),
    (f"{X}.median(-1).values", "torch.sort(input[0]).values[(K_value - 1) // 2]", True),
    (f"torch.roll({X}, K_value // 2, -1)", "torch.roll(input[0], -(K_value - K_value // 2), 0)", True),
]


@pytest.mark.parametrize(("reference", "body", "is_right"), HALVES)
def test_what_halves_a_size_is_tried_at_even_and_odd_ones(reference: str, body: str, *, is_right: bool) -> None:
    found = mapped(reference, body, ROW, ROW if "roll" in body else "fp32")
    assert found.accepted
    if is_right:
        assert found.untested is None
    else:
        assert found.untested is not None and "only; at K=10" in found.untested.note


KNOWN = [
    (f"{X}.mean(-1)", "input[0].sum() / 9", "right at K=9 only; at K=18 this program is wrong"),
    (f"{X}.mean(-1)", "input[0].sum() * (1 / 9)", "right at K=9 only"),
    (f"{X}.sum(-1)", "input[0][:9].sum()", "right at K=9 only"),
    (f"{X}.sum(-1)", "sum(input[0][i] for i in range(9))", "right at K=9 only"),
    (f"{X}[:, -1] * 1", "input[0][8] * 1", "right at K=9 only"),
    (f"{X}.var(-1)", "((input[0] - input[0].mean()) ** 2).sum() / 8", "right at K=9 only"),
    (f"{X}.sum(-1) / K_value ** 0.5", "input[0].sum() / 3", "right at K=9 only"),
    (f"{X}.sum(-1) / K_value ** 0.5", "input[0].sum() * 0.3333333333", "right at K=9 only"),
    (f"({X} * torch.arange(K_value)).sum(-1)", "(input[0][:9] * torch.arange(9)).sum()", "right at K=9 only"),
]


@pytest.mark.parametrize(("reference", "body", "note"), KNOWN)
def test_a_size_that_stands_in_a_function_as_a_number_is_told(reference: str, body: str, note: str) -> None:
    """Types are the same at all sizes, and a verdict knew one."""
    found = mapped(reference, body, ROW)
    assert found.accepted
    assert found.untested is not None and note in found.untested.note


FAR = [
    (f"{X}.sum(-1)", "input[0][:1000].sum()", "right at K=9; at K=1001 this program is wrong"),
    (f"{X}.sum(-1)", "input[0][-100:].sum()", "at K=101 this program is wrong"),
    (f"{X}.sum(-1)", "input[0].sum() - input[0][700:].sum()", "at K=701 this program is wrong"),
    (f"{X}[..., :600].sum(-1)", "input[0].sum()", "at K=601 this program is wrong"),
    (
        f"{X}.sum(-1)",
        "input[0].sum() * (1 if len(input[0]) % 7 < 5 else 2)",
        "right at K=9, M=5 only; at K=6, M=6 this program is wrong",
    ),
    (f"{X}.sum(-1)", "input[0].sum() * (1 + (input[0].shape[0] // 100))", "at K=100"),
    (f"{X}.sum(-1)", "input[0].sum() if input[0].shape[0] < 100 else input[0][0]", "at K=101"),
    (f"{X}.sum(-1)", "(input[0] if K_value > 3 else input[0] * 2).sum()", "at K=3"),
    (f"{X}.sum(-1)", "sum([input[0][i] for i in range(len(input[0])) if i != 77])", "at K=78"),
    (f"{X}.sum(-1)", "(input[0] if input[0].shape != (40,) else input[0] * 2).sum()", "at K=40"),
    (f"{X}.sum(-1)", "input[0].sum() * {33: 2}.get(len(input[0]), 1)", "at K=33"),
    (f"{X}.sum(-1)", "input[0].sum() * [1, 2][input[0].numel() in [20, 55]]", "at K=20"),
    (f"{X}.sum(-1)", "input[0][:min(len(input[0]), 40)].sum()", "at K=41"),
    (f"({X} * torch.arange(K_value)).sum(-1)", "(input[0] * torch.arange(50)[:len(input[0])]).sum()", "at K=51"),
]


@pytest.mark.parametrize(("reference", "body", "note"), FAR)
def test_a_number_far_from_a_size_that_cuts_or_decides_is_told(reference: str, body: str, note: str) -> None:
    found = mapped(reference, body, ROW)
    assert found.accepted
    assert found.untested is not None and note in found.untested.note, found.untested


@pytest.mark.parametrize(
    ("reference", "body"),
    [
        (f"{X}[..., :1000].sum(-1)", "input[0][:1000].sum()"),
        (f"{X}[..., :5].sum(-1)", "input[0][:5].sum()"),
        (f"{X}.sum(-1)", "input[0][::2].sum() + input[0][1::2].sum()"),
        (f"{X}.sum(-1)", "input[0].sum() if len(input[0]) % 7 < 5 else sum(input[0])"),
        (f"{X}.amax(-1)", "(input[0] if K_value > 100 else input[0].flip(0)).max()"),
    ],
)
def test_of_what_is_right_at_all_of_them_nothing_is_said(reference: str, body: str) -> None:
    found = mapped(reference, body, ROW)
    assert found.accepted and found.untested is None


def test_sizes_that_would_make_too_many_numbers_are_not_tried() -> None:
    assert far_sizes(["return [input[0][:1000]]"], {"K": 5000, "M": 3000}) == []
    assert far_sizes(["return [input[0][:4000]]"], {"K": 9, "M": 3000}) == [{"K": 9, "M": 4001}]
    assert far_sizes(["return [input[0][:10000]]", "return [input[0] % 7]"], {"K": 9}) == []
    assert len(far_sizes([f"return [input[0][:{end}]]" for end in range(20, 90)], {"K": 9, "M": 5})) == 12


def test_so_are_numbers_made_of_two_sizes() -> None:
    add = function("[state[0] + input[0]]", "fp32", "fp32", "[0]")
    then = function("[input[0] / 45]", "fp32", "fp32", name="then")
    inputs = stream("E0", dims="[K, M, N]")
    text = task(f"{X}.mean((1, 2))", add + then, THEN.replace("b=1", "b=2"), inputs=inputs, dims="[N]")
    found = verified(text)
    assert found.accepted and found.untested is not None
    assert "right at K=9, M=5 only; at K=18, M=10 this program is wrong" in found.untested.note


SMALL = [
    (f"{X}.amax(-1)", "input[0].sum()", 1),
    (f"{X}.amin(-1)", "input[0].median()", 2),
    (f"{X}.cumsum(-1)[:, -1]", "input[0].prod()", 1),
]


@pytest.mark.parametrize(("reference", "body", "size"), SMALL)
def test_what_is_equal_at_sizes_of_1_or_2_only_is_told(reference: str, body: str, size: int) -> None:
    text = task(reference, function(f"[{body}]", ROW, "fp32"), MAP, inputs=stream("E0", ROW, "[M]"), dims="[M]")
    found = verified(text, {"K": size})
    assert found.accepted and found.untested is not None
    assert f"right at K={size}" in found.untested.note and f"at K={2 * size}" in found.untested.note
    assert not verified(text).accepted


RIGHT_SIZES = [
    (f"{X}.mean(-1)", "input[0].sum() / K_value"),
    (f"{X}.mean(-1)", "input[0].sum() / input[0].numel()"),
    (f"{X}.sum(-1) / 9", "input[0].sum() / 9"),
    (f"{X}.sum(-1) * 8", "input[0].sum() * 8"),
    (f"{X}[:, :4].sum(-1)", "input[0][:4].sum()"),
]


@pytest.mark.parametrize(("reference", "body"), RIGHT_SIZES)
@pytest.mark.parametrize("size", [9, 10])
def test_numbers_that_are_no_sizes_need_no_note(reference: str, body: str, size: int) -> None:
    text = task(reference, function(f"[{body}]", ROW, "fp32"), MAP, inputs=stream("E0", ROW, "[M]"), dims="[M]")
    assert_right(verified(text, {"K": size}))


def test_sizes_that_a_file_binds_itself_are_left_alone() -> None:
    text = task(
        f"{X}.mean(-1)", function("[input[0].sum() / 9]", ROW, "fp32"), MAP, inputs=stream("E0", ROW, "[M]"), dims="[M]"
    )
    assert_right(verified(f"global: |\n  ctx[K] = 9\n{text}"))


PYTHON = """
from typing import Annotated
import torch
import stepcore as step
from stepcore.dims import K, M

K_value = 9

@step.fn(input=step.Buffer(step.f32, [K]), output=step.f32)
def mean(input):
    return [input[0].sum() / {number}]

def reference(x):
    return x.{way}

@step.program(reference=reference, dims={{M: 5, K: 9}})
def means(E0: Annotated[step.Stream, step.Buffer(step.f32, [K]), (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Map(fn=mean).apply(E0)
"""


@pytest.mark.parametrize(
    ("number", "way", "is_told"),
    [
        ("9", "mean(-1)", True),
        ("9", "sum(-1) / 9", False),
        ("K_value", "sum(-1) / K_value", False),
        ("K_value", "mean(-1)", False),
    ],
)
def test_programs_of_python_are_told_alike(number: str, way: str, *, is_told: bool) -> None:
    text = PYTHON.format(number=number, way=way)
    if number == "9" and is_told:
        text = text.replace("K_value = 9\n", "")
    (candidate,) = candidates({"path": "own.py", "text": text})
    found = candidate.verify()
    assert found.accepted, found.detail
    assert (found.untested is not None) is is_told


def test_a_weight_that_moves_results_by_less_than_a_tolerance_is_told_or_missed() -> None:
    """Data on which it moved them by more than one tolerance were taken for a proof: a program in the middle passed."""
    weights = "parameters:\n- {name: W, dtype: fp32, dims: [1], data_gen: torch.randn}\n"
    own = function("[input[0] * 1]", "fp32", "fp32")
    found = verified(task(f"{X} + 1e-7 * input_data['W']", own, MAP, inputs=stream("E0"), more=weights, dims="[M, N]"))
    assert not found.accepted
    none = verified(task(f"{X} + 1e-12 * input_data['W']", own, MAP, inputs=stream("E0"), more=weights, dims="[M, N]"))
    assert none.accepted and none.untested is not None and none.untested.inputs == ("W",)


def test_the_order_of_a_norm_is_no_size() -> None:
    """``float("inf")`` was taken for a number that a tensor holds: a right program was refused."""
    assert_right(mapped(f"{X}.abs().amax(-1)", "torch.linalg.vector_norm(input[0], float('inf'))", ROW))


PLAIN = ["input[0] * 3", "torch.exp(input[0]) / (1 + input[0])", "torch.relu(input[0])", "torch.tanh(input[0] - 0.5)"]


@pytest.mark.parametrize("body", PLAIN)
def test_plain_programs_pay_for_nothing(body: str) -> None:
    reference = body.replace("input[0]", X)
    text = task(reference, function(f"[{body}]", "fp32", "fp32"), MAP, inputs=f"- {SCALARS}\n", dims="[M, N]")
    bed = Bed(text)
    checked = bed.check(MAP)
    assert bed.session.verify(checked).accepted
    assert bed.session._examined is not None
    assert suspected(checked.typed, bed.session.spec, bed.session._examined.coverage.reference) == ()
    assert doubted_sizes(checked.typed, bed.session.spec, bed.session.bindings) == []

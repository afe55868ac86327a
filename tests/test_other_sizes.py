"""A program whose graph follows a size is accepted only if it is right at other sizes, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from job_records import verify
from quiet import Quiet
from stepagents.judge import Judge, Stage
from stepcore.check.files import check_text
from stepcore.check.programs import Checked, ImplChecker
from stepcore.conversion.to_python import task_to_python
from stepcore.frontend.yaml.tasks import read_task
from stepcore.text.span import Embedded

HERE = Path(__file__).parent
DOUBLE = (HERE / "hostile" / "tasks" / "double.step.yaml").read_text(encoding="utf-8")
PUBLISHED = sorted((HERE.parent / "benchmarks" / "tasks").glob("*.yaml"))
TWICE = "E1 = step.Map(fn=fn_twice).apply(E0)\nreturn E1"
# Right at M=5, N=7 alone (or at a few more sizes), each by another way to look at a number.
WRONG = {
    "condition": "f = fn_twice if M_value == 5 else fn_zero\nreturn step.Map(fn=f).apply(E0)",
    "statement": f"if N_value != 7:\n    return step.Map(fn=fn_zero).apply(E0)\n{TWICE}",
    "of an input": "f = fn_twice if E0.ctx[M] == 5 else fn_zero\nreturn step.Map(fn=f).apply(E0)",
    "table": "f = fn_zero if ctx[M] % 5 else fn_twice\nreturn step.Map(fn=f).apply(E0)",
    "index": "return step.Map(fn=([fn_zero] * 5 + [fn_twice])[M_value]).apply(E0)",
    "an index of an input": "return step.Map(fn=[fn_zero, fn_twice, fn_zero][E0.ctx[M] - 4]).apply(E0)",
    "length": "E1 = E0\nfor i in range(M_value - 4):\n    E1 = step.Map(fn=fn_twice).apply(E1)\nreturn E1",
    "slice": "E1 = E0\nfor f in [fn_twice, fn_zero][: M_value - 4]:\n    E1 = step.Map(fn=f).apply(E1)\nreturn E1",
    "two sizes": "f = fn_twice if M_value in (5, 6) else fn_zero\nreturn step.Map(fn=f).apply(E0)",
    "a far size": "f = fn_zero if M_value == 777 else fn_twice\nreturn step.Map(fn=f).apply(E0)",
    "other letters": "f = fn_twice if \uff2d_value == 5 else fn_zero\nreturn step.Map(fn=f).apply(E0)",
    "other types": "if M_value > 5:\n    return step.Flatten(L=[0, 1]).apply(E0)\n" + TWICE,
}
RIGHT = {
    "plain": TWICE,
    "both arms": f"if M_value == 5:\n    return step.Map(fn=fn_twice).apply(E0)\n{TWICE}",
    "mentioned": f"n = M_value\nif n > 3000:\n    n = 2\n{TWICE}",
}
FOLLOWING = {**WRONG, **{name: body for name, body in RIGHT.items() if name != "plain"}}


def block(body: str) -> str:
    return "impl: |\n" + "".join(f"  {line}\n" for line in body.split("\n"))


def verified(text: str, path: str = "a.step.yaml", **more: Any) -> dict[str, Any]:
    (row,) = verify({"path": path, "text": text, **more}, Quiet())
    return row


def checked(body: str) -> Checked:
    return ImplChecker(read_task(DOUBLE, "a.step.yaml")).check(Embedded.whole(body))


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(read_task(DOUBLE, "a.step.yaml"))


@pytest.mark.parametrize("name", WRONG)
def test_right_at_one_size_is_not_right(judge: Judge, name: str) -> None:
    judged = judge.judge_program(WRONG[name])
    assert judged.stage is Stage.FRESH, judged.message
    row = verified(DOUBLE + block(WRONG[name]))
    assert not row["accepted"]
    detail = row["functional"]["detail"]
    assert detail.startswith(("right at M=5, but at M=", "right at N=7, but at N=")), detail


@pytest.mark.parametrize("name", RIGHT)
def test_right_at_all_sizes_is_accepted(judge: Judge, name: str) -> None:
    assert judge.judge_program(RIGHT[name]).accepted
    assert verified(DOUBLE + block(RIGHT[name]))["accepted"]


@pytest.mark.parametrize("name", FOLLOWING)
def test_only_programs_that_look_at_sizes_are_elaborated_again(name: str) -> None:
    assert checked(FOLLOWING[name]).followed is not None
    assert checked(RIGHT["plain"]).followed is None


def test_a_verdict_is_not_shared_with_a_program_of_other_text() -> None:
    judge = Judge(read_task(DOUBLE, "a.step.yaml"))
    assert judge.judge_program(TWICE).accepted
    judged = judge.judge_program(WRONG["condition"])
    assert (judged.accepted, judged.repeated) == (False, False)
    assert judge.judge_program(WRONG["condition"]).repeated


@pytest.mark.parametrize("condition", ["M == 5", "M < 6", "M", "not M - 6", "M in (5, 6)"])
def test_a_text_with_an_error_shares_no_verdict_with_what_it_is_taken_for(condition: str) -> None:
    judge = Judge(read_task(DOUBLE, "a.step.yaml"))
    assert judge.judge_program(TWICE).accepted
    judged = judge.judge_program(f"f = fn_twice if {condition} else fn_twice\nreturn step.Map(fn=f).apply(E0)")
    assert (judged.stage, judged.code) == (Stage.TYPES, "STEP224")


TWO = """\
global: |
  E = Symbol('E')
  E_value = 2 * M_value
  ctx[E] = E_value
"""


def test_sizes_that_the_file_computes_follow_the_others() -> None:
    text = TWO + DOUBLE + block("f = fn_twice if E_value == 10 else fn_zero\nreturn step.Map(fn=f).apply(E0)")
    row = verified(text)
    assert row["functional"]["detail"].startswith("right at M=5, but at M="), row


TIMES = """\
inputs:
- {name: E0, dtype: fp32, dims: [N], data_gen: torch.randn}
fns:
- name: Add
  func_name: fn_add
  input_dtype: fp32
  init: [0]
  output_dtype: fp32
  apply: "return [state[0] + input[0]]"
outputs:
- name: S0
  dtype: fp32
  dims: [N]
  data_transform:
  - input_data['E0'] * M_value
"""


@pytest.mark.parametrize(
    ("count", "by_verify", "by_judge"),
    [
        ("M", True, True),
        ("M_value", True, True),
        ("2 * M_value - 5", False, False),
        ("[5, 5, 5, 5, 5, 5, 6, 6, 6][M_value]", False, False),
        ("5", True, False),  # follows no size: as right as the sizes that were asked for
    ],
)
def test_counts(count: str, by_verify: bool, by_judge: bool) -> None:
    body = f"E1 = step.Repeat(n={count}).apply(E0)\nreturn step.Accum(fn=fn_add, b=1).apply(E1)"
    row = verified(TIMES + block(body))
    assert row["accepted"] is by_verify, row
    judged = Judge(read_task(TIMES, "a.step.yaml")).judge_program(body)
    assert judged.accepted is by_judge, judged.message


def test_sizes_at_which_the_task_fails_are_left_out() -> None:
    text = DOUBLE.replace("input_data['E0'] * 2", "input_data['E0'].view(7, 5) * 2")
    assert verified(text + block(WRONG["condition"]))["accepted"]


PYTHON = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def fn_twice(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32)
def fn_zero(input):
    return [input[0] * 0]


def reference(E0: torch.Tensor) -> torch.Tensor:
    return E0 * 2


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
"""


def python(body: str) -> str:
    return PYTHON + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("name", ["of an input", "an index of an input"])
def test_python_programs(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.py"
    for text, right in ((python(WRONG[name]), False), (python(TWICE), True)):
        file.write_text(text, encoding="utf-8")
        row = verified(text, str(file))
        assert row["accepted"] is right, row


def test_the_sizes_that_a_run_asks_for_decide_in_python_programs(tmp_path: Path) -> None:
    text = python(WRONG["of an input"])
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    row = verified(text, str(tmp_path / "a.py"), dims={"M": 6})
    assert not row["accepted"]
    assert "right at" not in row["functional"]["detail"]  # it is wrong at those already


INSIDE = """\
@step.fn(input=step.f32, output=step.f32)
def fn_twice_inside(input):
    return [input[0] * (2 + 0 * M_value)]

return step.Map(fn=fn_twice_inside).apply(E0)"""


def test_a_size_in_the_body_of_an_element_function_makes_no_other_graph(tmp_path: Path) -> None:
    bound = "M_value = 5\n\n\n@step.fn"
    text = python(INSIDE).replace("@step.fn", bound, 1).replace("{M: 5,", "{M: M_value,")
    (program,) = check_text(text, str(tmp_path / "a.py")).programs
    assert program.runnable
    assert program.followed is None


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name.removesuffix(".step.yaml"))
def test_no_published_program_looks_at_a_size(path: Path) -> None:
    read = read_task(path.read_text(encoding="utf-8"), path.name)
    assert read.impl is not None
    assert ImplChecker(read).check(read.impl.source).followed is None


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name.removesuffix(".step.yaml"))
def test_nor_does_what_convert_makes_of_it(path: Path) -> None:
    made = task_to_python(read_task(path.read_text(encoding="utf-8"), path.name))
    (program,) = check_text(made, "a.py").programs
    assert program.runnable
    assert program.followed is None


# Wrong where two sides meet that no number of the text is near: each is right at the published sizes.
MEETING = {
    "product": "M_value * 2 != 26",
    "difference": "M_value - 5 != 8",
    "sum": "M_value != 10 + 3",
    "square": "M_value ** 2 != 169",
    "quotient": "M_value // 100 != 7",
    "other sizes": "M_value != K_value + D_value",
    "of an input": "E0.ctx[M] * 2 != 26",
    "truth": "3 * M_value - 5331",
    "table": "ctx[M] != ctx[K] + 4",
    "two at once": "M_value != 13 or N_value * 2 != 42",
    "each of three": "M_value == 5 or N_value == 7 or M_value == N_value",
    "behind another": "M_value < 40 or M_value + N_value != 1000",
}


@pytest.mark.parametrize("condition", MEETING.values(), ids=MEETING)
def test_sizes_at_which_two_sides_meet_are_found(judge: Judge, condition: str) -> None:
    body = f"f = fn_twice if {condition} else fn_zero\nreturn step.Map(fn=f).apply(E0)"
    assert not verified(DOUBLE + block(body))["accepted"]
    assert not judge.judge_program(body).accepted


def test_a_number_that_was_computed_before_is_followed(judge: Judge) -> None:
    body = "m = 3\nm *= M_value\nreturn step.Map(fn=fn_zero if m == 39 else fn_twice).apply(E0)"
    assert not judge.judge_program(body).accepted


def test_harmless_programs_at_other_sizes_hide_no_arm(judge: Judge) -> None:
    rounds = "E1 = E0\nfor i in range(M_value % 7):\n    E1 = step.Map(fn=fn_same).apply(E1)\n"
    right = f"{rounds}return step.Map(fn=fn_twice if M_value > 0 else fn_zero).apply(E1)"
    wrong = f"{rounds}return step.Map(fn=fn_twice if M_value * N_value < 2000 else fn_zero).apply(E1)"
    assert verified(DOUBLE + block(right))["accepted"]
    assert not verified(DOUBLE + block(wrong))["accepted"]
    assert not judge.judge_program(wrong).accepted

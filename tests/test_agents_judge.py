"""The judge: finding programs in answers, the stages of the verdict, duplicates, hostile answers."""

from __future__ import annotations

import re

import pytest

import stepagents.extract
from agent_tasks import TASKS, named
from stepagents.extract import MAX_ANSWER, extract
from stepagents.given import given_task
from stepagents.judge import Judge, Stage
from stepcore.jobs import JobError

GOOD = """\
E2 = step.Zip().apply((E0, E1))
E3 = step.Map(fn=fn_multiply).apply(E2)
E4 = step.Accum(fn=fn_add, b=1).apply(E3)
return E4"""
INDENTED = GOOD.replace("\n", "\n  ")
RAGGED = GOOD.replace("\nE3", "\n    E3").replace("\nE4", "\n  E4")

ANSWERS = {
    "plain": GOOD,
    "key": f"impl: |-\n  {INDENTED}\n",
    "fence with key": f"Sure! Here it is.\n\n```yaml\nimpl: |-\n  {INDENTED}\n```\nHope this helps.",
    "fence": f"```python\n{GOOD}\n```",
    "unclosed fence": f"Thinking done.\n```python\n{GOOD}\n",
    "second of two": f"```python\nE9 = step.Wrong().apply(E0)\nreturn E9\n```\nNo, better:\n```python\n{GOOD}\n```",
    "key beats a later example": f"```yaml\nimpl: |-\n  {INDENTED}\n```\nSo:\n```\nA, B = step.Copy().apply(E0)\n```",
    "prose around": f"First I zip.\n{GOOD}\nThat is all.",
    "function": "```python\ndef program(E0, E1):\n    " + GOOD.replace("\n", "\n    ") + "\n```",
    "first line outside": GOOD.replace("\n", "\n    "),
    "ragged": f"```\n{RAGGED}\n```",
    "windows": f"```python\r\n{GOOD}\r\n```".replace("\nE", "\r\nE"),
    "whole task file": f"test_name: x\nimpl: |-\n  {INDENTED}\nconstraints: none\n",
    "tabs": GOOD.replace("\n", "\n\t"),
}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(named("gemm_easy_buffer_sum"))


@pytest.mark.parametrize("name", ANSWERS)
def test_extracts_and_accepts(judge: Judge, name: str) -> None:
    judged = judge.judge(ANSWERS[name])
    assert judged.stage is Stage.ACCEPTED, (judged.message, judged.impl)


STOPS = {
    "": Stage.NO_PROGRAM,
    "I am sorry, I cannot help with that.": Stage.NO_PROGRAM,
    "<html><body>502 Bad Gateway</body></html>": Stage.NO_PROGRAM,
    "```\nE2 = step.Zip(.apply((E0, E1))\nreturn E2\n```": Stage.SYNTAX,
    "E2 = step.Concat().apply((E0, E1))\nreturn E2": Stage.NAMES,
    "E2 = step.Map(fn=fn_nothing).apply(E0)\nreturn E2": Stage.NAMES,
    "E2 = step.Accum(fn=fn_multiply, b=1).apply(E0)\nreturn E2": Stage.TYPES,
    "E2 = step.Map(fn=fn_multiply).apply((E0, E0))\nE3 = step.Accum(fn=fn_add, b=1).apply(E2)\nreturn E3": Stage.AFFINE,
    "E2 = step.Map(fn=fn_multiply).apply((E0, E1))\nreturn E2": Stage.OUTPUTS,
    "E2 = step.Accum(fn=fn_add, b=1).apply(E0)\nreturn E2": Stage.VALUES,
}


@pytest.mark.parametrize("answer", STOPS)
def test_tells_how_far_an_answer_got(judge: Judge, answer: str) -> None:
    judged = judge.judge(answer)
    assert judged.stage is STOPS[answer], judged.message
    assert judged.message
    assert not judged.accepted


def test_says_the_line_that_is_wrong(judge: Judge) -> None:
    judged = judge.judge("E2 = step.Zip().apply((E0, E1))\nE3 = step.Map(fn=fn_add).apply(E2)\nreturn E3")
    assert judged.message.startswith("Line 2 (`E3 = step.Map(fn=fn_add).apply(E2)`): STEP2")


def test_equal_programs_are_judged_once() -> None:
    judge = Judge(named("gemm_easy_buffer_sum"))
    assert not judge.judge(GOOD).repeated
    again = judge.judge(GOOD.replace("E3", "products"))
    assert again.repeated
    assert again.accepted


def test_a_guarded_judge_inserts_copies() -> None:
    text = "E1 = step.Map(fn=fn_gate).apply(E0)\nE2 = step.Map(fn=fn_top1).apply(E1)\nreturn E2, E1"
    task = named("index_top1_softmax")
    assert Judge(task).judge(text).stage is Stage.AFFINE
    judged = Judge(task, guarded=True).judge(text)
    assert judged.accepted
    assert "step.Copy()" in judged.impl


HOSTILE = [
    "__import__('os').system('touch /tmp/stepsmith-owned')\nreturn E0",
    "x = [step.Copy().apply(E0) for i in range(10**12)]\nreturn E0",
    "x = [i for i in iter(int, 1)]\nreturn E0 if step.Zip() else E1",
    "while True:\n    pass\nreturn step.Identity().apply(E0)",
    "return " + "(" * 5000 + "E0" + ")" * 5000,
    "return step.Repeat(n=10**9).apply(step.Repeat(n=10**9).apply(E0))",
    "step.Map(fn=open('/etc/passwd')).apply(E0)\nreturn E0",
    "```" * 20_000,
    "impl: " * 20_000,
    "return step." + "x" * MAX_ANSWER * 3,
    "E2 = step.Zip().apply((E0, E1))\0\nreturn E2",
    "\ud800 return step.Identity().apply(E0)",
]


@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_survives_hostile_answers(judge: Judge, answer: str) -> None:
    judged = judge.judge(answer)
    assert not judged.accepted
    assert judged.message


def test_a_coincidence_is_found_on_fresh_data() -> None:
    """With M = 5 throughout, summing over M and dividing by 5 is a mean; on other sizes it is none."""
    text = """
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {name: Sum, func_name: fn_sum, init: [0], input_dtype: fp32, output_dtype: fp32,
   apply: "return [state[0] + input[0]]"}
- {name: Fifth, func_name: fn_fifth, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] / 5]"}
outputs:
- name: S0
  dtype: fp32
  dims: [N]
  data_transform:
  - input_data['E0'].mean(-1)
"""
    from stepcore.frontend.yaml.tasks import read_task

    judged = Judge(read_task(text, "mean.step.yaml")).judge(
        "E1 = step.Accum(fn=fn_sum, b=1).apply(E0)\nE2 = step.Map(fn=fn_fifth).apply(E1)\nreturn E2"
    )
    assert judged.stage is Stage.FRESH
    assert "M=6" in judged.message


@pytest.mark.parametrize(("code", "body"), [("STEP302", "open('/x', 'w')"), ("STEP304", "nothing_known(input[0])")])
def test_a_task_with_a_function_that_cannot_run_is_refused_before_any_search(code: str, body: str) -> None:
    text = (TASKS / "norm_rms_scalars.step.yaml").read_text(encoding="utf-8")
    broken = re.sub(r"return \[[^\n]*\]\n", f"return [{body}]\n", text, count=1)
    given_task("whole.step.yaml", text)
    with pytest.raises(JobError) as caught:
        given_task("broken.step.yaml", broken)
    assert caught.value.code in (code, "STEP303")
    assert caught.value.detail["line"] == broken[: broken.index(body)].count("\n") + 1


def test_the_last_of_many_keys_counts_and_few_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program under a key reaches to the end of its block, so reading all of them would be quadratic."""
    read: list[str] = []
    straightened = stepagents.extract.straightened

    def counted(text: str) -> str:
        read.append(text)
        return straightened(text)

    monkeypatch.setattr(stepagents.extract, "straightened", counted)
    found = extract("impl: |-\n" * 15_000 + f"  {INDENTED}\n")
    assert found is not None
    assert found.text == GOOD
    assert len(read) < 20


@pytest.mark.parametrize("line", ["def f(\n", "def f()\n", "def f(" + ")" * 99 + "\n", "async def f(\t\n"])
def test_many_definitions_take_what_their_text_takes(line: str) -> None:
    """Each was read to the end of the answer: 25,000 lines took half a minute."""
    found = extract(line * 15_000 + f"def g(\n    a: int,\n) -> int:  # the last\n{INDENTED}\n")
    assert len(line) > 9 or (found is not None and found.text == GOOD)

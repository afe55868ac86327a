"""Prompts: nothing is missing, every example in them is right, and no answer leaks."""

from __future__ import annotations

import json
import re

import pytest

from agent_tasks import TASKS, TASKS2, load, named
from stepagents.judge import Judge, Stage
from stepagents.llm import prompts
from stepagents.llm.transport import Message
from stepagents.task_text import annotated_impl, task_text
from stepcore.check import check_text
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import find_tasks
from stepcore.jobdata.writing import Experience
from stepcore.ops import OPERATORS, Operator
from stepcore.ops.pace import Premise

BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SYSTEM = prompts.system_prompt()
BLOCKS = BLOCK.findall(SYSTEM)
TILES = "inputs:\n- {name: a, dtype: 'Tile(fp32, [1, 2])', dims: [2]}\n"
LOADS = f"{TILES}parameters:\n- {{name: w, dtype: fp32, dims: [2, 4]}}\n"
STORES = "parameters:\n- {name: y, dtype: fp32, dims: [2, 4], written: true}\noutputs:\n- {name: S0, memory: y}"
USUAL = [operator for operator in OPERATORS if operator.generation == 1]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_operator_is_in_the_prompt(operator: type[Operator]) -> None:
    """Those of generation 2 where a task may use them: others would pay for them."""
    assert (f"## `{operator.__name__}`" in SYSTEM) is (operator in USUAL)
    (head, _) = prompts.proposer_messages(STORES)
    page = head.text.split(f"## `{operator.__name__}`", 1)[1].split("\n## `", 1)[0]
    for text in (operator.summary, operator.rule, operator.details, *(param.doc for param in operator.params)):
        assert text in page
    assert f"step.{operator.__name__}(" in BLOCK.findall(page)[0]


@pytest.mark.parametrize(
    ("text", "has_tiles"),
    [
        ("constraints: no Tile(fp32, [1, 2]) here\noutputs:\n- {name: S0, dtype: fp32, dims: [2]}", False),
        ("inputs:\n- {name: E0, dtype: 'Buffer(Tile(fp32, [1, 2]), [3])', dims: [2]}\noutputs: []", True),
        ("parameters:\n- {name: y, dtype: fp32, dims: [2, 4], written: true}\noutputs:\n- {memory: y}", True),
        ("outputs: [", False),
    ],
)
def test_types_of_a_task_say_whether_it_has_tiles(text: str, has_tiles: bool) -> None:
    (head, _) = prompts.proposer_messages(text)
    assert ("## `Expand`" in head.text) is has_tiles


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("inputs:\n- {name: E0, dtype: fp32, dims: ['~L', 2]}\noutputs: []", ["FlatMap", "Feedback"], ["Retile"]),
        ("outputs:\n- {name: S0, dtype: 'Tile(fp32, [1, 2])', dims: [2]}", ["Retile"], ["LinearOffChipLoad"]),
        (f"{LOADS}outputs: []", ["RandomOffChipLoad", "Retile"], ["LinearOffChipStore", "RandomOffChipStore"]),
        (STORES, ["LinearOffChipLoad", "LinearOffChipStore"], []),
        ("inputs:\n- {name: E0, dtype: fp32, dims: [2]}\nparameters:\n- {name: w, dtype: fp32, dims: [2]}\noutputs: []",
         [], ["Expand", "LinearOffChipLoad", "FlatMap"]),
    ],
)  # fmt: skip
def test_a_task_pays_for_what_it_can_use(text: str, names: list[str], others: list[str]) -> None:
    (head, _) = prompts.proposer_messages(text)
    assert [name for name in (*names, *others) if f"## `{name}`" in head.text] == names
    assert ("# Tiles, memory and sizes of a run" in head.text) is bool(names)
    assert ("grid of `[columns//c, rows//r]` tiles" in head.text) is ("parameters" in text and bool(names))
    assert ("An output with `memory: w`" in head.text) is ("written: true" in text)


def test_prompts_stay_within_their_budget() -> None:
    """In bytes, three of which are counted as a token."""
    assert len(SYSTEM.encode()) < 22_000
    assert len(prompts.system_prompt(premises=frozenset({Premise.LATER, Premise.TILES})).encode()) < 34_000
    assert len(prompts.system_prompt(premises=frozenset(Premise)).encode()) < 41_000


def test_there_is_an_example_for_each_operator_and_each_idiom() -> None:
    assert len(BLOCKS) == len(USUAL) + len(prompts.idiom_texts())
    assert all(f"test_name: {read_task(text, 'x').test_name}" in SYSTEM for text in prompts.idiom_texts().values())


@pytest.mark.parametrize("text", BLOCKS, ids=lambda text: text.split("\n", 1)[0])
def test_every_example_is_right(text: str) -> None:
    result = check_text(text, "example.step.yaml")
    assert result.diagnostics == []
    task = result.task
    assert task is not None and task.impl is not None
    # The examples of the documentation are about the sizes that they name.
    judged = Judge(task, fresh=False).judge_program(task.impl.source.text)
    assert judged.stage is Stage.ACCEPTED, judged.message


@pytest.mark.parametrize("text", BLOCKS, ids=lambda text: text.split("\n", 1)[0])
def test_every_line_of_an_example_tells_its_type(text: str) -> None:
    impl = text.split("impl: |-\n", 1)[1].rstrip().split("\n")
    assert all(re.search(r"  # \[.*\] of ", line) for line in impl[:-1])
    assert impl[-1].startswith("  return E")


def test_a_wrong_example_would_be_noticed() -> None:
    broken = BLOCKS[1].replace("b=1", "b=2")
    assert broken != BLOCKS[1]
    assert check_text(broken, "example.step.yaml").diagnostics


@pytest.mark.parametrize("path", find_tasks([TASKS, TASKS2]), ids=lambda path: path.name)
def test_tasks_lose_their_answer_and_nothing_else(path: object) -> None:
    task = load(path)  # type: ignore[arg-type]
    text = task_text(task)
    assert not re.search(r"^\s*impl\s*:", text, re.MULTILINE)
    assert task.impl is not None
    assert all(line.strip() not in text for line in task.impl.source.text.split("\n") if "step." in line)
    assert task.source.text.startswith(text[:-1])
    again = read_task(text, str(path))
    assert not again.diagnostics
    assert again.impl is None


MORE_TEXTS = {
    "first": "impl: |-\n  return E0\n\n# more\ninputs: [{name: E0, dtype: fp32, dims: [M]}]\noutputs: []\n",
    "plain": "inputs: [{name: E0, dtype: fp32, dims: [M]}]\nimpl: return E0\noutputs: []",
    "flow": "{inputs: [{name: E0, dtype: fp32, dims: [M]}], impl: return E0, outputs: []}",
    "anchor": "inputs: [{name: E0, dtype: fp32, dims: [M]}]\nimpl: &a return E0\noutputs: []\nconstraints: *a\n",
    "twice": "impl: return E0\ninputs: [{name: E0, dtype: fp32, dims: [M]}]\nimpl: return E0\noutputs: []",
    "windows": "inputs: [{name: E0, dtype: fp32, dims: [M]}]\r\nimpl: |-\r\n  return E0\r\noutputs: []\r\n",
    "none": "inputs: [{name: E0, dtype: fp32, dims: [M]}]\noutputs: []\n",
}


@pytest.mark.parametrize("name", MORE_TEXTS)
def test_an_answer_is_found_wherever_it_stands(name: str) -> None:
    text = task_text(read_task(MORE_TEXTS[name], "t.step.yaml"))
    again = read_task(text, "t.step.yaml")
    assert again.impl is None
    assert again.spec is not None and len(again.spec.inputs) == 1
    assert "return E0" not in text.replace("constraints: return E0", "")


def test_a_file_without_a_task_has_no_text() -> None:
    with pytest.raises(ValueError, match="describes no task"):
        task_text(read_task("impl: return E0", "t.impl.yaml"))


def experience(name: str) -> Experience:
    task = named(name)
    assert task.impl is not None
    return Experience(name, task_text(task), task.impl.source.text, "search", 0.1)


def test_demonstrations_are_questions_with_answers() -> None:
    shown = [experience("gemm_easy_buffer_sum"), experience("norm_rms_scalars")]
    text = task_text(named("bmm_inner_product"))
    messages = prompts.proposer_messages(text, shown)
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[0].text == SYSTEM
    assert text.rstrip() in messages[-1].text
    for index, one in enumerate(shown):
        judged = Judge(named(one.task)).judge(messages[2 + 2 * index].text)
        assert judged.stage is Stage.ACCEPTED, judged.message
        assert "  # [" in messages[2 + 2 * index].text


def test_demonstrations_that_do_not_fit_are_left_out_from_the_end() -> None:
    shown = [experience("gemm_easy_buffer_sum"), experience("norm_rms_scalars"), experience("norm_layer_scalars")]
    text = task_text(named("bmm_inner_product"))
    sizes = [len(prompts.proposer_messages(text, shown, context=tokens)) for tokens in (1, 7_900, 8_600, 100_000)]
    assert sizes[0] == 2
    assert sizes == sorted(sizes)
    assert sizes[-1] == 8
    assert 2 < sizes[1] <= sizes[2] < 8
    assert (
        prompts.proposer_messages(text, shown, context=7_900)[1].text == prompts.task_message(shown[0].task_text).text
    )


def test_structured_prompts_ask_for_json_and_only_json() -> None:
    messages = prompts.proposer_messages("x: 1\n", [experience("gemm_easy_buffer_sum")], structured=True)
    assert "impl: |-\n  E2 = step.Zip()" not in messages[0].text.split("# How to answer")[1]
    assert json.loads(messages[2].text)["impl"].endswith("return E4")
    assert Judge(named("gemm_easy_buffer_sum")).judge(prompts.unwrap(messages[2].text)).accepted


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"plan": "p", "impl": "return E0"}', "return E0"),
        ('```json\n{"impl": "return E0"}\n```', "return E0"),
        ('{"impl": 3}', '{"impl": 3}'),
        ('{"impl": "return', '{"impl": "return'),
        ("[" * 100_000, "[" * 100_000),
        ('{"a":' * 100_000, '{"a":' * 100_000),
        ("```\nimpl: |-\n  return E0\n```", "```\nimpl: |-\n  return E0\n```"),
    ],
)  # fmt: skip
def test_unwraps_structured_answers(given: str, expected: str) -> None:
    assert prompts.unwrap(given) == expected


def test_a_guardian_gets_the_program_and_the_operator_that_it_needs() -> None:
    system, question = prompts.guardian_messages("E1 = step.Zip().apply((E0, E0))\nreturn E1")
    assert "## `Copy`" in system.text
    assert "{" not in re.sub(r"```.*?```|- \{.*\}", "", system.text, flags=re.DOTALL)
    assert "step.Zip().apply((E0, E0))" in question.text
    assert system.role == "system"


def test_a_repair_tells_the_stage_and_the_message() -> None:
    message = prompts.repair_message("types", "Line 1 (`{x}`): STEP208 {not a field}")
    assert isinstance(message, Message)
    assert "types" in message.text
    assert "Line 1 (`{x}`): STEP208 {not a field}" in message.text


def test_a_wrong_program_is_shown_as_it_is() -> None:
    task = named("gemm_easy_buffer_sum")
    assert annotated_impl(task, "return nothing") == "return nothing"

"""Prompts, made from the operator registry: what they say about an operator is what the checker does.

The texts that no registry holds stand in ``texts/``; the idioms in ``idioms/`` are task files that tests verify.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from stepagents.llm.transport import Message
from stepagents.task_text import annotated_impl, solved_text
from stepcore.conversion.to_task import python_to_task
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import ProgramSpec
from stepcore.jobdata.writing import Experience
from stepcore.ops import GENERATION_1, Copy, Operator
from stepcore.ops.dialect import Dialect
from stepcore.ops.pace import Premise
from stepcore.printing.task import impl_to_yaml
from stepcore.types import Buffer, StreamType, Tile, components

_IDIOMS: Final = ("placeholder", "stash", "reduction", "routing")
_SUFFIX: Final = ".step.yaml"
_TEXTS: Final = {Premise.LATER: "generation2", Premise.MEMORY: "memory", Premise.WRITTEN: "written"}
_BYTES_A_TOKEN: Final = 3  # few, so that a prompt fits rather than not
_NOTATION: Final = (
    "In the typing rules `shape` is the shape of the input, innermost first, R its rank and T its element type. Each "
    "example is a whole task with its answer."
)


def _text(name: str) -> str:
    return files("stepagents.llm").joinpath("texts", f"{name}.md").read_text(encoding="utf-8")


def operator_text(
    operator: type[Operator], dialect: Dialect = GENERATION_1, *, example: bool = True, later: bool = True
) -> str:
    """Return the page of one operator: what it does, its typing rule, its parameters and an example.

    Parameters of generation 2 stand there for tasks of ``later`` generations.
    """
    names = " or ".join(f"`{name}`" for name in (operator.__name__, *operator.aliases))
    lines = [f"## {names}", f"{operator.summary} {operator.details}".strip()]
    lines += [f"- takes {operator.inputs.text}; gives {operator.outputs.text}", f"- types: {operator.rule}"]
    calling = operator.calling  # what changes no result only costs tokens
    own = [param for param in calling.own if later or param.generation == 1]
    lines += [f"- `{param.name}` ({calling.kind_text(param)}): {param.doc}" for param in own]
    if example:
        lines += ["", _block(operator_example(operator, dialect))]
    return "\n".join(lines)


def operator_example(operator: type[Operator], dialect: Dialect = GENERATION_1) -> str:
    """Return the example of an operator's documentation as a task file with its answer."""
    name = operator.__name__
    module = read_module(operator.example, f"{name}.py", dialect=dialect)
    text = python_to_task(module, module.programs[0])
    return solved_text(read_task(text, f"{name}{_SUFFIX}", dialect=dialect))


def idiom_texts() -> dict[str, str]:
    """Return the idioms by name, as task files with their answers; ``constraints`` explains each."""
    folder = files("stepagents.llm").joinpath("idioms")
    return {
        name: solved_text(read_task(folder.joinpath(name + _SUFFIX).read_text(encoding="utf-8"), name + _SUFFIX))
        for name in _IDIOMS
    }


def _block(text: str) -> str:
    fence = "````" if "```" in text else "```"
    return f"{fence}yaml\n{text.rstrip()}\n{fence}"


@cache
def system_prompt(
    structured: bool = False, dialect: Dialect = GENERATION_1, *, premises: frozenset[Premise] = frozenset()
) -> str:
    """Return the language, the operators of a dialect, idioms, and how to answer.

    Of generation 2 there is what a task with these premises can use: others would pay for it.
    """
    later = Premise.LATER in premises
    texts = [name for premise, name in _TEXTS.items() if premise in premises]
    language = ["\n".join(_text(name).rstrip() for name in texts)] if texts else []
    parts = [_text("language").rstrip(), *language, f"# Operators\n{_NOTATION}"]
    shown = (each for each in dialect.operators if each.generation == 1 or each.premise in premises)
    parts += [operator_text(operator, dialect, later=later) for operator in shown]
    parts += ["# Idioms", *map(_block, idiom_texts().values())]
    parts.append(_text("structured" if structured else "answer").rstrip())
    return "\n\n".join(parts)


def answer(impl: str, structured: bool = False) -> str:
    """Return a program in the form in which models are asked to answer."""
    if structured:
        return json.dumps({"plan": "The types stand beside each line.", "impl": impl})
    return f"```\n{impl_to_yaml(impl).rstrip()}\n```"


def premises_of(text: str, dialect: Dialect = GENERATION_1) -> frozenset[Premise]:
    """Return what of generation 2 a task has; none where it cannot be read."""
    spec = read_task(text, f"task{_SUFFIX}", dialect=dialect).spec
    return frozenset() if spec is None else premises_of_types(spec)


def premises_of_types(spec: ProgramSpec) -> frozenset[Premise]:
    """Return what of generation 2 a program has, by its types: none where it has neither tiles, nor sizes that only a
    run knows, nor results in memory.
    """
    ports = [port.type for port in (*spec.inputs, *spec.parameters)] + [port.type for port in spec.outputs or ()]
    elements = [element for fn in spec.fns for element in (fn.input, fn.output)]
    types: list[StreamType] = [*ports, *(StreamType(element, ()) for element in elements)]
    parts = [part.element if isinstance(part, Buffer) else part for each in types for part in components(each.element)]
    has_tiles = any(isinstance(part, Tile) for part in parts)
    is_written = any(port.written for port in spec.parameters)
    if not (has_tiles or is_written or any(each.is_open for each in types)):
        return frozenset()
    held = {Premise.LATER: True, Premise.TILES: has_tiles or spec.parameters, Premise.MEMORY: spec.parameters}
    return frozenset(premise for premise, is_there in {**held, Premise.WRITTEN: is_written}.items() if is_there)


def task_message(text: str) -> Message:
    """Return the question: a task's text without its answer."""
    return Message("user", f"Write impl for this task.\n\n{_block(text)}")


def proposer_messages(
    text: str,
    demonstrations: Sequence[Experience] = (),
    *,
    structured: bool = False,
    context: int | None = None,
    output_tokens: int = 0,
    dialect: Dialect = GENERATION_1,
) -> list[Message]:
    """Return the prompt for one task.

    Args:
        text: the task without its answer.
        demonstrations: verified solutions, the most telling first; each becomes a question with its answer.
        structured: ask for a JSON object instead of a fenced block.
        context: the tokens that prompt and answer may have; demonstrations that do not fit are left out, last first.
        output_tokens: those that are kept for the answer.
        dialect: what the task sees of the language.
    """
    head = Message("system", system_prompt(structured, dialect, premises=premises_of(text, dialect)))
    question = task_message(text)
    room = None if context is None else (context - output_tokens) * _BYTES_A_TOKEN - _size((head, question))
    shown: list[Message] = []
    for experience in demonstrations:
        turn = _demonstration(experience, structured)
        if room is not None and (room := room - _size(turn)) < 0:
            break
        shown += turn
    return [head, *shown, question]


def _demonstration(experience: Experience, structured: bool) -> tuple[Message, Message]:
    task = read_task(experience.task_text, f"{experience.task}{_SUFFIX}")
    impl = experience.impl if task.spec is None else annotated_impl(task, experience.impl)
    return task_message(experience.task_text), Message("assistant", answer(impl, structured))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.text.encode("utf-8", "replace")) for message in messages)


def repair_message(stage: str, message: str) -> Message:
    """Return what the judge said, as the next question."""
    return Message("user", _text("repair").format(stage=stage, message=message).rstrip())


def guardian_messages(program: str, *, structured: bool = False) -> list[Message]:
    """Return the prompt of a language-model guardian for one program."""
    how = _text("structured" if structured else "answer").rstrip()
    system = _text("guardian").format(copy=operator_text(Copy, later=False), answer=how).rstrip()
    return [Message("system", system), Message("user", f"Make this program affine.\n\n{answer(program)}")]


def unwrap(text: str) -> str:
    """Return the program of a structured answer as ``impl`` text, and any other answer as it is."""
    stripped = text.strip()
    if stripped.startswith("```json"):
        stripped = stripped.removeprefix("```json").removesuffix("```").strip()
    if not stripped.startswith("{"):
        return text
    try:
        found = json.loads(stripped)
    except (ValueError, RecursionError):
        return text
    impl = found.get("impl") if isinstance(found, dict) else None
    return impl if isinstance(impl, str) else text

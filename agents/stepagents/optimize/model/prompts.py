"""Prompts of the planner, the executor and the summarizer, and what is read from their answers.

A prompt holds the program, its profile (which unit, which term rules, how far the bound is), the rewrites that apply,
and the few items of memory that fit the bottleneck. Answers are text of others: bounded, read as data, never run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from stepagents.experience.optimizations import OptimizationItem
from stepagents.llm.prompts import premises_of_types, system_prompt
from stepagents.llm.transcript import fence_mark
from stepagents.llm.transport import Message
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.features import bottleneck_of
from stepcore.cycles.bounds import bound_of, shown
from stepcore.cycles.timed import Timed, busy
from stepcore.rewrites import RewriteSite, RewriteSubject

MOST_ITEMS: Final = 6
MOST_STRATEGIES: Final = 8
_MOST_SITES: Final = 40
_MOST_UNITS: Final = 10
_MOST_ANSWER: Final = 200_000  # characters that are looked at
_MOST_NUMBER: Final = 40  # characters of what an answer gives for a number
_MOST_WORDS: Final = 400  # characters of a plan or a strategy
_PLANNER: Final = (
    "You plan how to make a dataflow program faster on a chip, without changing what it computes. You get the program, "
    "what its units did with the cycles, what rules, and what helped at such bottlenecks before. Answer with one JSON "
    'object {{"plans": [...]}}: at most {plans} plans, different from each other, each one sentence or two that say '
    "what to change and why this bottleneck gives way."
)
_SUMMARIZER: Final = (
    "You get pairs of programs before and after a change, with their cycles. Say what is to be learned from them for "
    'other programs, names of variables left out. Answer with one JSON object {"strategies": [...]}: at most '
    f"{MOST_STRATEGIES} sentences; say of what made things slower when it does."
)
_EXECUTOR: Final = (
    'Carry out this plan: {plan}\n\nAnswer in one of two ways. Either with one JSON object {{"rewrites": [NUMBER]}} '
    "that names one of the rewrites above, where one does what the plan says; or with the whole body of the program, "
    "in the form that you know. The body may use the functions, tensors and sizes that the program uses now, nothing "
    "else; inputs, parameters and results stay as they are."
)


def planner_messages(
    subject: RewriteSubject,
    target: OptimizeTarget,
    sites: Sequence[RewriteSite],
    items: Sequence[OptimizationItem],
    strategies: Sequence[str],
    plans: int,
) -> list[Message]:
    """Return the prompt that asks for plans. ``subject`` is timed."""
    return [
        Message("system", _PLANNER.format(plans=plans)),
        Message("user", _facts(subject, target, sites, items, strategies)),
    ]


def executor_messages(
    subject: RewriteSubject, target: OptimizeTarget, sites: Sequence[RewriteSite], plan: str
) -> list[Message]:
    """Return the prompt that asks for a plan to be carried out. ``subject`` is timed."""
    facts = _facts(subject, target, sites, (), ())
    language = system_prompt(premises=premises_of_types(subject.checked.spec))
    return [Message("system", language), Message("user", f"{facts}\n\n{_EXECUTOR.format(plan=plan)}")]


def summarizer_messages(pairs: Sequence[tuple[str, str, int, int | None]]) -> list[Message]:
    """Return the prompt that asks for strategies; of each pair the segment before and after, and both cycles."""
    parts = []
    for number, (old, new, before, after) in enumerate(pairs, start=1):
        cycles = "does not run to its end" if after is None else f"{after:,} cycles"
        parts.append(
            f"Pair {number}: {before:,} cycles, then {cycles}.\nBefore:\n{_fenced(old)}\nAfter:\n{_fenced(new)}"
        )
    return [Message("system", _SUMMARIZER), Message("user", "\n\n".join(parts))]


def _facts(
    subject: RewriteSubject,
    target: OptimizeTarget,
    sites: Sequence[RewriteSite],
    items: Sequence[OptimizationItem],
    strategies: Sequence[str],
) -> str:
    timed = subject.timed
    assert timed is not None, "what is asked about was timed"
    parts = [f"The program `{subject.name}`:\n{_fenced(subject.text)}", profile(timed, target, subject.text)]
    if sites:
        lines = [f"{number}. {site.rewrite}: {site.sentence}" for number, site in enumerate(sites[:_MOST_SITES], 1)]
        parts.append("Rewrites that apply here and keep what it computes:\n" + "\n".join(lines))
    if items:
        lines = [f"- {item.words}{f' ({item.strategy})' if item.strategy else ''}" for item in items[:MOST_ITEMS]]
        parts.append("What changes brought at bottlenecks like this one, in other programs:\n" + "\n".join(lines))
    if strategies:
        parts.append("Learned in this run:\n" + "\n".join(f"- {each}" for each in strategies[-MOST_STRATEGIES:]))
    return "\n\n".join(parts)


def profile(timed: Timed, target: OptimizeTarget, text: str) -> str:
    """Return what a run was like: cycles and bound, what rules, and where the cycles of the busiest units went."""
    at = bottleneck_of(timed, target)
    cycles = timed.timing.cycles
    far = shown(bound_of(timed, target.compute))
    lines = [
        f"Profile on the chip {timed.hardware.name}: {cycles:,} cycles{f', {far}' if far else ''}; "
        f"{timed.off_chip_bytes:,} bytes off chip, {timed.on_chip or 0:,} on chip"
        + (f" of {target.capacity:,}" if target.capacity else "")
        + f". The bottleneck is {at.unit}; its calls are ruled by: {at.rules}."
    ]
    units = sorted(zip(timed.timing.units, timed.program.units, strict=True), key=lambda each: -busy(each[0]))
    for unit, node in units[:_MOST_UNITS]:
        where = "an end" if node < 0 else f"{timed.graph.nodes[node].op_name}{_line(timed, node, text)}"
        lines.append(
            f"- {where}: {unit.worked:,} working, {unit.memory:,} waiting for memory, {unit.starved:,} without input, "
            f"{unit.blocked:,} without room"
        )
    return "\n".join(lines)


def _line(timed: Timed, node: int, text: str) -> str:
    return f" (line {text.count(chr(10), 0, timed.graph.nodes[node].op_span.start) + 1})"


def _fenced(text: str) -> str:
    mark = fence_mark(text)
    return f"{mark}\n{text.rstrip()}\n{mark}"


def read_plans(answer: str, most: int) -> list[str]:
    """Return the plans of an answer, none where it holds none."""
    return _texts(answer, "plans", most)


def read_strategies(answer: str) -> list[str]:
    """Return the strategies of an answer, none where it holds none."""
    return _texts(answer, "strategies", MOST_STRATEGIES)


def read_rewrite(answer: str, count: int) -> int | None:
    """Return the index of the rewrite that an answer names, of ``count``; None where it names none of them."""
    found = _object(answer)
    numbers = found.get("rewrites") if found is not None else None
    if not isinstance(numbers, list) or len(numbers) != 1 or type(numbers[0]) is not int:
        return None
    return numbers[0] - 1 if 1 <= numbers[0] <= min(count, _MOST_SITES) else None


def misnamed(answer: str, count: int) -> str:
    """Return why none of ``count`` rewrites is what an answer names; nothing where it names none."""
    found = _object(answer)
    if found is None or "rewrites" not in found:
        return ""
    numbers, most = found["rewrites"], min(count, _MOST_SITES)
    if not isinstance(numbers, list) or len(numbers) != 1:
        return "the answer does not name one rewrite in a list, as in [1]"
    shown = json.dumps(numbers[0])[:_MOST_NUMBER]
    if type(numbers[0]) is not int:
        return f"the answer names the rewrite {shown}, which is no number of one"
    return f"there is no rewrite {shown}; {f'they have the numbers 1 to {most}' if most else 'none applies here'}"


def _texts(answer: str, key: str, most: int) -> list[str]:
    found = _object(answer)
    values = found.get(key) if found is not None else None
    if not isinstance(values, list):
        return []
    texts = [" ".join(each.split())[:_MOST_WORDS] for each in values if isinstance(each, str)]
    kept = ("".join(character for character in text if character.isprintable()) for text in texts)
    return [text for text in dict.fromkeys(kept) if text][:most]


def _object(answer: str) -> dict[str, Any] | None:
    answer = answer[:_MOST_ANSWER]
    try:  # from the first brace to the last: without both nothing is left that is JSON
        found = json.loads(answer[max(answer.find("{"), 0) : answer.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None

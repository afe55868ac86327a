"""A model of `optimize` that answers from a transcript, and the program that this is about.

The transcript holds what was answered and, under ``asked``, all that was asked: a prompt that is another one than then
makes a replay fail, with the lines in which it differs. Of the executors' first message, the page of the language,
nothing is held: `tests/test_llm_prompts.py` is about that one. ``STEPSMITH_UPDATE_GOLDEN=1`` writes ``asked`` anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fake_model_server import Asked, Behaviour, says

ROOT = Path(__file__).parents[1]
PATH = Path(__file__).parent / "optimize_transcript.json"
TRANSCRIPT: dict[str, Any] = json.loads(PATH.read_text())
GEMM = ROOT / str(TRANSCRIPT["program"])
SLOW = GEMM.read_text().replace("b=1)", "b=1, bw=64)")  # what computes has few FLOPs per cycle


def replay(asked: Asked) -> Behaviour:
    """Answer as the transcript does: executors by plan and temperature, the others in turn."""
    role, text = _role(asked), asked.text
    if role == "planner":
        return says(TRANSCRIPT["planner"]["Learned in this run" in text])
    if role == "summarizer":
        return says(TRANSCRIPT["summarizer"][0])
    plan = next(plan for plan in TRANSCRIPT["executor"] if f"Carry out this plan: {plan}" in text)
    return says(TRANSCRIPT["executor"][plan][asked.body["temperature"] != 0.4])


def assert_as_then(asked: Sequence[Asked]) -> None:
    """Assert that a whole run asked what the transcript says; questions that are asked at once have no order."""
    now = sorted((_question(each) for each in asked), key=json.dumps)
    if os.environ.get("STEPSMITH_UPDATE_GOLDEN") == "1":
        PATH.write_text(json.dumps({**TRANSCRIPT, "asked": now}, indent=1) + "\n")
    then = json.loads(PATH.read_text())["asked"]
    nobody: dict[str, Any] = {"role": "nobody", "temperature": None, "lines": [""]}
    for old, new in zip_longest(then, now, fillvalue=nobody):
        whom = f"the {old['role']} (now {new['role']}) at temperature {old['temperature']} (now {new['temperature']})"
        changed = unified_diff(old["lines"], new["lines"], "the transcript", "this run", lineterm="", n=0)
        assert old == new, f"{whom} is not asked as in {PATH.name}:\n" + "\n".join(changed)


def _role(asked: Asked) -> str:
    roles = {"You plan how": "planner", "You get pairs": "summarizer"}
    return next((role for words, role in roles.items() if words in asked.text), "executor")


def _question(asked: Asked) -> dict[str, Any]:
    role = _role(asked)
    messages = asked.body["messages"][role == "executor" :]
    lines = "\n".join(each["content"] for each in messages).split("\n")
    return {"role": role, "temperature": asked.body["temperature"], "lines": lines}

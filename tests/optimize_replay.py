"""A model of `optimize` that answers from a transcript, and the program that this is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fake_model_server import Asked, Behaviour, says

ROOT = Path(__file__).parents[1]
TRANSCRIPT: dict[str, Any] = json.loads((Path(__file__).parent / "optimize_transcript.json").read_text())
GEMM = ROOT / str(TRANSCRIPT["program"])
SLOW = GEMM.read_text().replace("b=1)", "b=1, bw=64)")  # what computes has few FLOPs per cycle


def replay(asked: Asked) -> Behaviour:
    """Answer as the transcript does: executors by plan and temperature, the others in turn."""
    text = asked.text
    if "You plan how" in text:
        return says(TRANSCRIPT["planner"]["Learned in this run" in text])
    if "You get pairs" in text:
        return says(TRANSCRIPT["summarizer"][0])
    plan = next(plan for plan in TRANSCRIPT["executor"] if f"Carry out this plan: {plan}" in text)
    return says(TRANSCRIPT["executor"][plan][asked.body["temperature"] != 0.4])

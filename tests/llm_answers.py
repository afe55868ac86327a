"""Answers of models to one easy task, good and bad, and what each has to count as."""

from __future__ import annotations

from agent_tasks import TASKS
from stepagents.judge import Stage
from stepagents.sampling import Order

PATH = TASKS / "gemm_easy_buffer_sum.step.yaml"
GOOD = """\
E2 = step.Zip().apply((E0, E1))
E3 = step.Map(fn=fn_multiply).apply(E2)
E4 = step.Accum(fn=fn_add, b=1).apply(E3)
return E4"""
SHORT = "E3 = step.Map(fn=fn_multiply).apply((E0, E1))\nreturn step.Accum(fn=fn_add, b=1).apply(E3)"
LONG = GOOD.replace("E4\n", "E5\n").replace("return E4", "return step.Identity().apply(E4)")
RENAMED = GOOD.replace("E2", "pairs").replace("E3", "products")
WRONG_TYPES = "E2 = step.Accum(fn=fn_multiply, b=1).apply(E0)\nreturn E2"
WRONG_VALUES = "E2 = step.Accum(fn=fn_add, b=1).apply(E0)\nreturn E2"


def fenced(impl: str) -> str:
    """Return an answer in the form that prompts ask for."""
    return "Here it is.\n```\nimpl: |-\n" + "".join(f"  {line}\n" for line in impl.split("\n")) + "```\n"


JUDGED: dict[str, tuple[str, str]] = {
    "good": (fenced(GOOD), Stage.ACCEPTED),
    "prose": ("I would first zip the streams and then sum them up.", Stage.NO_PROGRAM),
    "several blocks": (f"```\n{WRONG_TYPES}\n```\nNo:\n{fenced(GOOD)}", Stage.ACCEPTED),
    "wrong indentation": ("```\nimpl: |-\n" + GOOD.replace("\nE3", "\n      E3") + "\n```", Stage.ACCEPTED),
    "structured": ('{"plan": "zip", "impl": "return E0"}', Stage.OUTPUTS),
    "invented operator": (fenced("E2 = step.Einsum(eq='ij').apply((E0, E1))\nreturn E2"), Stage.NAMES),
    "infinite comprehension": (fenced("x = [i for i in iter(int, 1)]\nreturn E0"), Stage.TYPES),
    "attack": (fenced("__import__('os').system('touch owned')\nreturn E0"), Stage.TYPES),
    "huge": (fenced("return step.Repeat(n=10**9).apply(step.Repeat(n=10**9).apply(E0))"), Stage.OUTPUTS),
    "types": (fenced(WRONG_TYPES), Stage.TYPES),
    "values": (fenced(WRONG_VALUES), Stage.VALUES),
}


def order(samples: int = 1, seconds: float = 3600.0) -> Order:
    return Order("gemm_easy_buffer_sum", str(PATH), PATH.read_text(encoding="utf-8"), samples, seconds)

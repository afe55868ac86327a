"""A simulated model of known skill, and the tasks that it works on: what the learning loop is tested with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from stepagents.sampling import Order, Sampled
from stepcore.jobdata.writing import Experience

# Chance to write a right answer to a task, given the demonstrations.
Skill = Callable[[Order, Sequence[Experience]], float]

TASK = """test_name: scaled_sum
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- name: Double
  func_name: fn_double
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
outputs:
- name: S0
  dtype: fp32
  dims: [N]
  data_transform:
  - |
    (input_data['E0'] * 2).sum(1)
"""
IMPL = "E1 = step.Map(fn=fn_double).apply(E0)\nE2 = step.Accum(fn=fn_sum, b=1).apply(E1)\nreturn E2"
OTHER = "E1 = step.Accum(fn=fn_sum, b=1).apply(E0)\nE2 = step.Map(fn=fn_double).apply(E1)\nreturn E2"


def order(name: str, samples: int = 8) -> Order:
    """Return a task that the simulated model knows by its name."""
    return Order(name, f"{name}.step.yaml", f"{TASK}constraints: {name}\n", samples, 1.0)


def experience(name: str = "scaled_sum", rate: float = 0.5, impl: str = IMPL, text: str = TASK) -> Experience:
    """Return an experience with a program that is right."""
    return Experience(name, text, impl, "simulated", rate)


@dataclass
class Simulated:
    """Right with the chance that ``skill`` says; ``dies_after`` so many results it raises, as if it were killed."""

    skill: Skill
    seed: int = 0
    dies_after: int = -1
    calls: list[tuple[list[str], list[str]]] = field(default_factory=list)  # tasks and demonstrations of each stage
    sampled: Counter[str] = field(default_factory=Counter)  # answers written for each task

    @property
    def name(self) -> str:
        return "simulated"

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        self.calls.append(([o.task for o in orders], [d.task for d in demonstrations]))
        for item in orders:
            if stop is not None and stop.is_set():
                return
            if self.dies_after == 0:
                raise Killed
            self.dies_after -= 1
            yield self._one(item, demonstrations)

    def _one(self, item: Order, demonstrations: Sequence[Experience]) -> Sampled:
        chance = self.skill(item, demonstrations)
        # Drawn from the order alone, so that the same order is answered in the same way.
        draw = random.Random(f"{self.seed} {item.task} {item.seed} {[d.task for d in demonstrations]}")
        right = sum(draw.random() < chance for _ in range(item.samples))
        self.sampled[item.task] += item.samples
        solutions = [IMPL] if right else []
        outcomes = Counter(accepted=right, values=item.samples - right)
        return Sampled(item.task, item.path, self.name, solutions, item.samples, right, 1000, 10, 0.01, 1.0, outcomes)


class Killed(Exception):
    """Stands for the end of the process."""

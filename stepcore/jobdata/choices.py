"""What is chosen by a word: in requests, configuration files, command lines and an editor's messages alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

AffineRule: TypeAlias = Literal["strict", "paper"]
TimingEngine: TypeAlias = Literal["exact", "fluid"]
OptimizeGoal: TypeAlias = Literal["cycles", "memory", "front"]
OptimizeProposer: TypeAlias = Literal["search", "llm", "auto"]
Emit: TypeAlias = Literal["auto", "python", "task", "tiled"]
ProgramForm: TypeAlias = Literal["scalar", "tiled"]
SUFFIXES: Final[Mapping[Emit, str]] = {  # of files written for a function
    "auto": ".step.py", "python": ".step.py", "task": ".step.yaml", "tiled": ".step.py",
}  # fmt: skip
SimulatorAction: TypeAlias = Literal["install", "select", "log"]
FigureMark: TypeAlias = Literal["", "program", "bottleneck", "waiting"]
OrderState: TypeAlias = Literal["running", "done", "failed", "cancelled"]
NodeKind: TypeAlias = Literal["input", "operator", "output"]

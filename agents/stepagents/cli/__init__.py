"""The commands of the agents; :mod:`stepcore.cli` finds them by their entry points."""

from __future__ import annotations

from stepagents.cli.bench import bench
from stepagents.cli.synth import synth

__all__ = ["bench", "synth"]

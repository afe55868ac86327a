"""Random well-typed STeP programs, as data and as text, and how to run them against the oracle.

`STEPSMITH_PROPERTY_SCALE` multiplies how many of them the property tests try.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from .change import copies, mistyped, without
from .coverage import IMPOSSIBLE, Coverage, covered
from .generate import OPERATORS, generate
from .model import Program
from .reuse import ANYTHING, GADGETS, STRAIGHT, UNDECIDED, reusing
from .text import impl_text, task_text
from .text_python import module_text


def count(examples: int) -> int:
    """How many examples to try where `examples` is the usual number."""
    return max(1, round(examples * float(os.environ.get("STEPSMITH_PROPERTY_SCALE", "1"))))


def tried(examples: int) -> settings:
    """Settings of a property test that tries so many examples, the same ones in every run."""
    checks = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
    return settings(
        max_examples=count(examples), derandomize=True, database=None, deadline=None, suppress_health_check=checks
    )


__all__ = [
    "ANYTHING",
    "GADGETS",
    "IMPOSSIBLE",
    "OPERATORS",
    "STRAIGHT",
    "UNDECIDED",
    "Coverage",
    "Program",
    "copies",
    "count",
    "covered",
    "generate",
    "impl_text",
    "mistyped",
    "module_text",
    "reusing",
    "task_text",
    "tried",
    "without",
]

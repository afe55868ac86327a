"""The one place that says what is mutated and which tests have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class Config:
    """Paths are relative to ``root``; times are in seconds."""

    root: Path
    targets: tuple[str, ...] = ("stepcore/ops/*.py", "stepcore/check/*.py")
    tests: tuple[str, ...] = ("tests",)
    # Besides its own tests: what runs the library in other processes, where no mutant is, or never touches it.
    deselect: tuple[str, ...] = (
        "tests/mutation",
        "tests/test_cli_run.py",
        "tests/test_fn_vectorize.py",
        "tests/test_fuzz_frontends.py",
        "tests/test_jobs.py",
    )
    markers: str = "not slow"
    # Imported once, before forking. Nothing here may import the mutated code.
    preload: tuple[str, ...] = (
        "numpy",
        "torch",
        "pytest",
        "hypothesis.strategies",
        "ruamel.yaml",
        "rich.console",
        "typer",
    )
    jobs: int = 2
    # A mutant that runs longer than this many times what its tests take is stuck.
    timeout_factor: float = 5.0
    timeout_least: float = 15.0
    # A mutant may not eat the machine: address space of one process (torch maps a few GiB).
    memory: int = 12 * 1024 * MIB

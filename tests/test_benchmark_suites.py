"""The command that measures knows its suites by name: each takes what the command hands on."""

from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from benchmarks.__main__ import GROUPS, LONG

SUITES = {**GROUPS, **LONG}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_takes_what_the_command_hands_on(name: str) -> None:
    suite = SUITES[name]
    module = import_module(f"benchmarks.suites.{suite.module}")
    run = signature(module.run)
    given = {"": (), "parts": (("one",),), "folder": (Path("folder"),)}[suite.takes]
    run.bind(*given)
    run.bind()  # a folder may be left out
    assert run.return_annotation in ("BenchReport", "list[BenchReport]")
    assert hasattr(module, "PARTS") == (suite.takes == "parts")

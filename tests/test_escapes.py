"""Ways out of a worker, each tried under both profiles; see tests/escapes/README.md."""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import pytest

from cli_inputs import GOOD, TASK
from escape_checks import ATTEMPTS, ESCAPES, Attempt, isolations, run_attempt, surroundings
from stepcore.check import check_text
from stepcore.findings.diagnostics import Severity
from stepcore.isolation import LAYERS

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")


def name_of(attempt: Attempt) -> str:
    return attempt.path.stem


def test_the_corpus_is_large_enough() -> None:
    assert sum(attempt.path.name.startswith("m_") for attempt in ATTEMPTS) >= 35
    assert sum(attempt.expected["user"] == "allowed" for attempt in ATTEMPTS) >= 4
    for attempt in ATTEMPTS:
        assert set(attempt.needs) <= set(LAYERS)
        assert "attempt" in {node.name for node in ast.parse(attempt.text).body if isinstance(node, ast.FunctionDef)}


@linux_only
@pytest.mark.parametrize("profile", ["text", "user"])
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=name_of)
def test_no_way_out(attempt: Attempt, profile: str, tmp_path: Path) -> None:
    expected = attempt.expected[profile]
    if expected == "n.a.":
        return
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)[profile], made)
        if outcome.in_force is not None:
            missing = [name for name in attempt.needs if not outcome.in_force.layers[name].by]
            if missing:
                pytest.skip(f"this kernel does not offer: {', '.join(missing)}")
        if expected == "allowed":
            assert any(text.startswith("it returned") for text in outcome.escapes), outcome.shown
        else:
            assert outcome.escapes == [], f"{attempt.title}\n{outcome.shown}"


_OPEN = (
    "file_write", "file_chmod", "file_symlink", "net_tcp", "net_udp", "net_unix", "net_abstract", "run_shell",
    "stay_daemon", "memory_memfd", "memory_children", "proc_environ", "proc_list", "signal_others", "signal_victim",
    "namespace_user",
)  # fmt: skip


@linux_only
@pytest.mark.parametrize("name", _OPEN)
def test_without_isolation_the_same_attempts_get_out(name: str, tmp_path: Path) -> None:
    """The check can fail: what it calls refused is not refused by chance."""
    attempt = next(attempt for attempt in ATTEMPTS if attempt.path.stem == f"m_{name}")
    with surroundings(tmp_path) as made:
        outcome = run_attempt(attempt, isolations(made)["user"], made, "--open")
        assert outcome.escapes, outcome.shown


def as_task(place: str, text: str) -> str:
    """Return a task with ``text`` as its ``global``, as the body of a function, or as a reference."""
    lines = {
        "apply": "    return [input[0] * 2]",
        "data_transform": "    (input_data['E0'] * 2 * input_data['E0']).sum(1)",
    }
    if place == "global":
        return TASK + GOOD + "global: |\n" + textwrap.indent(text, "  ")
    assert lines[place] in TASK
    return TASK.replace(lines[place], textwrap.indent(text, "    ")) + GOOD


def test_the_task_around_the_attempts_is_well() -> None:
    found = check_text(as_task("global", "y = 1\n"), "escape.step.yaml").diagnostics
    assert not [item for item in found if item.severity is Severity.ERROR]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=name_of)
@pytest.mark.parametrize("place", ["global", "apply", "data_transform"])
def test_as_text_of_a_task_it_is_refused_by_the_language(attempt: Attempt, place: str) -> None:
    called = attempt.text + "\n\nattempt('outside')\n"
    result = check_text(as_task(place, called), "escape.step.yaml")
    assert any(found.severity is Severity.ERROR for found in result.diagnostics)


def test_attempts_hold_no_path_of_one_machine() -> None:
    for path in ESCAPES.glob("*.py"):
        assert str(Path(__file__).parents[1]) not in path.read_text(encoding="utf-8"), path.name

"""The rules of the house for the agents: no torch on import, nothing executed, no benchmark knowledge."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from source_trees import executed, tree_with

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "agents" / "stepagents"
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = {"torch", "numpy", "openai", "ray", "pygls", "stepserver"}
LIGHT = [
    "stepagents",
    "stepagents.judge",
    "stepagents.guardian",
    "stepagents.extract",
    "stepagents.cli.bench",
    "stepagents.cli.synth",
    "stepagents.executors.ray.executor",
    "stepagents.report.page",
    "stepagents.runs",
    "stepagents.worker",
]


def imported(path: Path, words: str = "import") -> set[str]:
    """Return what a module imports, at least if one of the words occurs in it."""
    tree = tree_with(path.read_text(encoding="utf-8"), words)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("module", LIGHT)
def test_loads_no_torch(module: str) -> None:
    report = f"import sys, {module}\nprint('loaded', *sorted({HEAVY!r} & sys.modules.keys()))"
    path = f"import sys; sys.path.insert(0, {str(ROOT / 'agents')!r})\n"
    done = subprocess.run([sys.executable, "-c", path + report], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]


def test_agents_and_server_do_not_import_each_other() -> None:
    assert all(not name.startswith("stepserver") for path in FILES for name in imported(path, "stepserver"))
    server = sorted((ROOT / "server").rglob("*.py"))
    assert server
    assert all(not name.startswith("stepagents") for path in server for name in imported(path, "stepagents"))


def test_text_is_never_executed() -> None:
    for path in FILES:
        assert not executed(path.read_text(encoding="utf-8")), path


def test_the_search_knows_no_benchmark() -> None:
    """Neither the names of tasks nor those of their functions occur, nor does it read anything from disk."""
    tasks = [
        *(ROOT / "benchmarks" / "tasks").glob("*.step.yaml"),
        *(ROOT / "benchmarks" / "tasks2").glob("*.step.yaml"),
        *(ROOT / "benchmarks" / "tasks3").glob("*.step.yaml"),
    ]
    assert tasks
    for path in sorted((PACKAGE / "search").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "fn_" not in text.replace("fn_scope", ""), path
        assert all(task.name.split(".")[0] not in text for task in tasks), path
        assert not {"pathlib", "os", "io"} & imported(path), path
        assert "open(" not in text.replace("is_open(", ""), path

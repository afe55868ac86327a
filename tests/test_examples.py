"""The examples are what users copy: they check clean, verify against PyTorch, run at once, and please pyright."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import stepcore as step
from stepcore.check import check_text, fix_text

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MISTAKES = ROOT / "examples" / "demo" / "attention_mistakes.py"


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def programs(module: ModuleType) -> list[step.Program]:
    return [value for value in vars(module).values() if isinstance(value, step.Program)]


def test_there_are_six_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_no_finding_and_verifies(path: Path) -> None:
    assert check_text(path.read_text(), str(path)).diagnostics == []
    found = programs(load(path, f"example_{path.stem}"))
    assert found
    for program in found:
        for seed in (1, 42):
            verdict = program.verify(seed=seed)
            assert verdict.accepted, repr(verdict)


def test_the_demo_has_mistakes_that_fix_mends(tmp_path: Path) -> None:
    text = MISTAKES.read_text()
    assert [item.code for item in check_text(text, "demo.py").diagnostics] == ["STEP101", "STEP101"]
    fixed = tmp_path / "demo.py"
    fixed.write_text(fix_text(text, "demo.py"))
    assert check_text(fixed.read_text(), "demo.py").diagnostics == []
    (program,) = programs(load(fixed, "demo_fixed"))
    assert program.verify().accepted


@pytest.mark.slow
def test_examples_are_clean_under_pyright() -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *map(str, [*EXAMPLES, MISTAKES])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr

"""The rules of the house for the language-model side: what importing it loads, and what its package carries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import stepagents.llm

PACKAGE = Path(stepagents.llm.__file__).parent
HEAVY = {"torch", "numpy", "openai", "pydantic", "httpx", "httpx2", "ray"}
MODULES = [f"stepagents.llm.{path.stem}" for path in sorted(PACKAGE.glob("*.py")) if path.stem != "__init__"]


def loaded_by(script: str) -> set[str]:
    """Return which heavy packages a fresh process has loaded after ``script``."""
    report = f"\nimport sys\nprint('loaded', *sorted({HEAVY!r} & sys.modules.keys()))"
    path = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run([sys.executable, "-c", path + script + report], capture_output=True, text=True, check=True)
    return set(done.stdout.split()[1:])


def test_importing_all_of_it_loads_nothing_heavy() -> None:
    assert len(MODULES) > 15
    assert loaded_by("import stepagents.jobs.judge, stepagents.proposers.model, " + ", ".join(MODULES)) == set()


def test_prompts_are_made_without_torch() -> None:
    assert loaded_by("from stepagents.llm.prompts import proposer_messages\nproposer_messages('inputs: []')") == set()


def test_the_load_test_would_notice() -> None:
    assert "openai" in loaded_by("import openai")


def test_every_text_of_the_package_is_used() -> None:
    code = (PACKAGE / "prompts.py").read_text(encoding="utf-8")
    for path in [*(PACKAGE / "texts").iterdir(), *(PACKAGE / "idioms").iterdir()]:
        assert f'"{path.name.split(".")[0]}"' in code, path

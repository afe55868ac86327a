"""``make`` on a machine that lacks something says what, and goes on once it is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("sh", "test", "touch", "mkdir", "cp", "cat", "chmod")
# A Python that is old, or whose venv fails as Debian's does without python3-venv, and notes what pip was asked.
PYTHON = """\
#!/bin/sh
case "$*" in
  "-c "*) exit {old} ;;
  "-m venv "*) mkdir -p .venv/bin; {made} ;;
  "-m pip --version") test -e .venv/has-pip ;;
  "-m pip "*) test -e .venv/has-pip && echo "$@" >> asked ;;
esac
"""
WITH_PIP = "touch .venv/has-pip; cp {0} .venv/bin/python"
WITHOUT_PIP = 'cp {0} .venv/bin/python; echo "ensurepip is not available" >&2; exit 1'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the Makefile, and tools without any Python."""
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def python(folder: Path, name: str, made: str, old: int = 0) -> Path:
    path = folder / "bin" / name
    path.write_text(PYTHON.format(made=made.format(path), old=old))
    path.chmod(0o755)
    return path


def setup(folder: Path) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    assert make is not None
    environment = {"PATH": str(folder / "bin")}
    return subprocess.run([make, "setup"], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_without_python_it_says_which_is_needed(folder: Path) -> None:
    done = setup(folder)
    assert done.returncode != 0
    assert "Stepsmith needs Python 3.11 or newer, and found none; install it, or name it: make PYTHON=" in done.stderr


def test_an_old_python_is_named(folder: Path) -> None:
    old = python(folder, "python3", WITH_PIP, old=1)
    done = setup(folder)
    assert done.returncode != 0
    assert f"and found {old};" in done.stderr
    assert not (folder / ".venv").exists()


def test_what_a_failed_attempt_left_is_made_again(folder: Path) -> None:
    python(folder, "python3.11", WITHOUT_PIP)
    done = setup(folder)
    assert done.returncode != 0 and "ensurepip is not available" in done.stderr
    assert (folder / ".venv/bin/python").exists()
    python(folder, "python3.11", WITH_PIP)
    assert setup(folder).returncode == 0
    assert "install" in (folder / "asked").read_text()
    assert (folder / ".venv/.stepsmith-installed").exists()

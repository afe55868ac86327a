"""The server under Neovim and Emacs, with the lines that ``docs/editors.md`` tells their users to write.

The scripts in ``tests/editors`` take these lines out of the page, work as a user does, and report what they saw.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE, alive
from server_texts import FIXED, HEAD, IMPL, OVERUSED, TASK

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "editors.md"
SCRIPTS = Path(__file__).parent / "editors"
LIMIT = 1200.0
NEOVIM = ("nvim", "--clean", "--headless", "-n", "-c", f"luafile {SCRIPTS / 'nvim.lua'}")
EMACS = ("emacs", "--batch", "--no-init-file", "--load", str(SCRIPTS / "eglot.el"))
# Emacs 28 comes without Eglot.
HAS_EGLOT = ("emacs", "--batch", "--no-init-file", "--eval", "(progn (package-initialize) (require 'eglot))")

pytestmark = pytest.mark.slow


def missing(editor: Sequence[str], packages: str) -> str:
    return f"{editor[0]} cannot be tried: apt-get install {packages}"


def has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    return subprocess.run(HAS_EGLOT, check=False, capture_output=True, timeout=LIMIT).returncode == 0


def living(pids: Sequence[int], seconds: float = PATIENCE) -> list[int]:
    """Return which processes still live after a while; an end of all is not waited for longer than it takes."""
    end = time.monotonic() + seconds
    while (found := [pid for pid in pids if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def session(editor: Sequence[str], folder: Path) -> dict[str, Any]:
    """Let an editor work in ``folder`` and return its report. Nothing that it started is left behind."""
    (folder / "overused.py").write_text(HEAD + OVERUSED)
    (folder / "doubled.step.yaml").write_text(TASK + IMPL.replace("fn=fn_double", "fn=fn_doubled"))
    home, report = folder / "home", folder / "report.json"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "STEPSMITH_DOCS": str(DOCS),
        "STEPSMITH_REPORT": str(report),
    }
    process = subprocess.Popen(
        editor,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=LIMIT)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the server ends when its client is gone, the workers with it
        output = process.communicate()[0].decode("utf-8", "replace")
        raise AssertionError(f"{editor[0]} did not come to an end:\n{output}") from None
    assert report.is_file(), f"{editor[0]} ended with {process.returncode}:\n{output}"
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert not found.get("problem"), f"{found['problem']}\n{output}"
    return found


def judge(found: dict[str, Any], folder: Path) -> None:
    """Check what an editor saw; both see the same."""
    text = HEAD + OVERUSED
    lines = text.split("\n")
    (wrong,) = found["python"]
    assert lines[wrong["line"]][wrong["column"] :].startswith("E1))")
    assert "[STEP101]: E1 is consumed twice" in wrong["message"]
    assert "E1: [M, N] of fp32" in found["hover"]
    assert found["definition"] == "E1 = step.Map(fn=double).apply(E0)"
    assert found["actions"] == ["Insert Copy for E1", "Insert all missing Copy operators"]
    copies = "\n    E1_1, E1_2 = step.Copy().apply(E1)\n    return step.Map(fn=add).apply((E1_1, E1_2))"
    fixed = HEAD + FIXED.partition("\n    E2, E3")[0] + copies
    assert found["fixed"].rstrip() == fixed
    renamed = re.sub(r"\bE1\b", "twice", fixed)
    assert found["renamed"].rstrip() == renamed
    assert {"Map", "Accum", "Copy"} <= set(found["completions"])
    assert found["verdict"] == "overused passed: equal to the reference"
    assert found["mismatch"].startswith("overused failed: ")
    (wrong,) = found["wrong"]
    saved = renamed.replace("reference=quadrupled", "reference=doubled")
    assert saved.split("\n")[wrong["line"]][wrong["column"] :].startswith("step.Map(fn=add)")
    assert "[STEP401]: " in wrong["message"]
    assert (folder / "overused.py").read_text().rstrip() == saved
    task = (TASK + IMPL).split("\n")
    (wrong,) = found["task"]
    assert task[wrong["line"]][wrong["column"] :].startswith("fn_double)")
    assert "[STEP202]: the name fn_doubled is not known" in wrong["message"]
    assert found["task_actions"] == ["Change to fn_double", "Write impl"]
    assert (folder / "doubled.step.yaml").read_text() == TASK + IMPL
    assert found["task_verdict"] == "doubled passed: equal to the reference"
    assert "fn_double(input): fp32 -> fp32" in found["task_hover"]
    assert len(found["processes"]) >= 2, "the server and a worker"
    assert not living(found["processes"])


def test_neovim(tmp_path: Path) -> None:
    if shutil.which("nvim") is None:
        pytest.skip(missing(NEOVIM, "neovim"))
    found = session(NEOVIM, tmp_path)
    judge(found, tmp_path)
    assert found["clients"] == 1, "one server for all files"
    simulation, cycles = sorted(found["lenses"], key=lambda title: "cycles" in title)
    assert simulation == "Simulate | passed"
    assert " of the bound (" in cycles
    assert found["lens_verdict"] == found["verdict"]


def test_emacs(tmp_path: Path) -> None:
    if not has_eglot():
        pytest.skip(missing(EMACS, "emacs-nox elpa-eglot"))
    judge(session(EMACS, tmp_path), tmp_path)

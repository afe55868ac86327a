"""The command ``stepsmith`` before its core is imported."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from stepcore.cli import terminal

# What imports ask for first: there, somebody presses ctrl-C.
_INTERRUPTED = """
import os, signal, sys
from stepagents import command

class Presses:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, {before})
sys.meta_path.insert(0, Presses())
sys.argv = ["stepsmith", "--version"]
sys.exit(command.main())
"""


def interrupted(module: str, before: str) -> subprocess.CompletedProcess[str]:
    script = _INTERRUPTED.format(module=module, before=before)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="a console's ctrl-C is no signal there")
@pytest.mark.parametrize("module", ["stepcore", "stepcore.sizes.dim", "stepcore.cli.terminal"])
def test_an_interruption_of_the_import_leaves_no_traceback(module: str) -> None:
    done = interrupted(module, "signal.default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_an_interruption_that_is_ignored_stays_so() -> None:
    done = interrupted("stepcore", "signal.SIG_IGN")
    assert (done.returncode, done.stderr) == (terminal.EXIT_CLEAN, "")
    assert done.stdout.startswith("stepsmith ")


def test_the_import_done_an_interruption_is_the_command_s() -> None:
    done = interrupted("stepcore.cli.app", "signal.default_int_handler")
    assert (done.returncode, done.stderr) == (terminal.EXIT_INTERRUPTED, "")

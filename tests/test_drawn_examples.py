"""What is drawn by hypothesis depends neither on the clock nor on the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TEST = """\
import time

from hypothesis import given, settings
from hypothesis import strategies as st


@st.composite
def slow(draw):
    time.sleep(0.3)
    return draw(st.integers())


@settings(max_examples=12)
@given(slow())
def test_slow(number):
    assert isinstance(number, int)
"""


def test_slowness_fails_no_property(tmp_path: Path) -> None:
    """Numbers that take longer than a health check or a deadline of hypothesis allows are drawn all the same."""
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text("utf-8"), "utf-8")
    (tmp_path / "test_slow.py").write_text(_TEST, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    # Set, this variable alone would have hypothesis take the profile that is asked of conftest.py.
    found = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert found.returncode == 0, found.stdout
    assert "1 passed" in found.stdout

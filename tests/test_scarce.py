"""What the system ran out of is told in one sentence with a way out, and never as a defect of Stepsmith."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from stepcore.cli import main
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import JobError, Limits, Pool
from stepcore.system.scarce import reason_of, what_is_scarce
from stepcore.text.files import write_atomically

ERRORS = {
    "a process": (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "STEP407", "no more processes"),
    "a thread": (RuntimeError("can't start new thread"), "STEP407", "no more processes or threads"),
    "memory": (MemoryError(), "STEP406", "no memory left"),
    "memory of the system": (OSError(errno.ENOMEM, "Cannot allocate memory"), "STEP901", "no memory left"),
    "the disk": (
        OSError(errno.ENOSPC, "No space left on device", "a.py"),
        "STEP901",
        "a.py: no space left on the disk",
    ),
    "a larger file": (OSError(errno.EFBIG, "File too large"), "STEP901", "ulimit -f"),
    "files": (OSError(errno.EMFILE, "Too many open files"), "STEP901", "ulimit -n"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_the_command_line_tells_what_is_scarce(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error, code, text = ERRORS[what]

    def fail(_words: list[str]) -> int:
        raise error

    monkeypatch.setattr("stepcore.cli._run", fail)
    monkeypatch.setattr("stepcore.cli._close_output", lambda: None)
    assert main(["check", "a.py"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"stepsmith: {code} ")
    assert text in line
    assert "internal error" not in line
    assert "Errno" not in line


def test_other_errors_are_not_about_it() -> None:
    assert not what_is_scarce(RuntimeError("no"))
    assert not what_is_scarce(FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert reason_of(FileNotFoundError(errno.ENOENT, "No such file or directory")) == "no such file or directory"


def test_a_worker_for_which_there_is_no_process_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    with Pool(["worker"], limits=Limits(seconds=60.0)) as pool:
        monkeypatch.setattr(subprocess, "Popen", refuse)
        with pytest.raises(JobError, match=r"the worker worker cannot be started: .* no more processes") as caught:
            pool.submit(untyped("verify"), {}).result()
    assert caught.value.code == "STEP407"
    assert caught.value.detail == {"action": "log"}


def test_a_full_disk_says_which_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "a.py", b"x")
    assert caught.value.filename == str(tmp_path / "a.py")
    assert list(tmp_path.iterdir()) == []

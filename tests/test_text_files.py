"""Files that are read and written: encodings that are none of files, long names, devices, paths in messages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepcore.cli import main
from stepcore.text.files import Unusable, read_file, write_atomically


@pytest.mark.parametrize(
    "encoding", ["undefined", "idna", "punycode", "unicode_escape", "raw-unicode-escape", "rot13", "zlib", "none"]
)
def test_encodings_that_are_none_of_files_are_refused(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.py"
    # Punycode takes minutes for this, and escapes would be written back as one line.
    file.write_text(f"# coding: {encoding}\nimport stepcore as step\n{'a' * 400_000}-{'aa' * 400_000}\n")
    with pytest.raises(Unusable, match=f"no text in the encoding {encoding}.*save it as UTF-8"):
        read_file(file)


def test_a_notebook_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text('{"cells": [{"cell_type": "code", "source": ["import stepcore as step"]}], "nbformat": 4}')
    for command in ("check", "verify", "simulate", "time", "convert", "optimize", "synth", "bench"):
        assert main([command, str(file)]) == 2, command
        said = "".join(capsys.readouterr())
        assert said.count("STEP901") >= 1 and "jupyter nbconvert --to script" in said, command
        assert "no STeP program" not in said
    assert main(["check", str(tmp_path / "none.ipynb")]) == 2
    assert "no such file" in capsys.readouterr().out


def test_no_more_is_read_than_a_file_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepcore.text.files.MAX_BYTES", 100)
    made_up = Path("/proc/self/environ")  # its size is said to be 0
    if not made_up.exists() or len(made_up.read_bytes()) <= 100:
        pytest.skip("this system makes up no files")
    with pytest.raises(Unusable, match="over 0 MB"):
        read_file(made_up)
    (tmp_path / "a.py").write_text("x" * 101)
    with pytest.raises(Unusable, match="over 0 MB"):
        read_file(tmp_path / "a.py")


def test_a_name_may_be_as_long_as_the_system_lets_it_be(tmp_path: Path) -> None:
    for name in ("x" * 252 + ".py", "ü" * 126 + ".py"):
        write_atomically(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2


def test_devices_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to pipe").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "to pipe"):
        with pytest.raises(OSError, match="no regular file") as caught:
            write_atomically(tmp_path / name, b"x")
        assert caught.value.filename == str(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path, b"x")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["pipe", "to pipe"]


def test_a_file_that_its_user_may_not_write_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside it took its place, because the folder may be written; as root every file may be."""
    path = tmp_path / "kept.py"
    path.write_text("kept")
    path.chmod(0o444)
    asked: list[tuple[Path, int]] = []

    def may_not(target: Path, mode: int) -> bool:
        asked.append((Path(target), mode))
        return False

    monkeypatch.setattr("stepcore.text.files.os.access", may_not)
    with pytest.raises(PermissionError) as caught:
        write_atomically(path, b"new")
    assert caught.value.filename == str(path) and asked == [(path, os.W_OK)]
    assert path.read_text() == "kept" and list(tmp_path.iterdir()) == [path]


def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "none" / "c", tmp_path / "a", tmp_path / "file" / "c"):
        with pytest.raises(OSError, match=r".") as caught:
            write_atomically(path, b"x")
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)


def test_a_result_does_not_replace_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["experience", "export", str(pipe), "--store", str(tmp_path / "store")]) == 2
    told = capsys.readouterr().err
    assert str(pipe) in told and "no regular file" in told and pipe.is_fifo()

"""Files that are read and written: encodings that are none of files, long names, devices, paths in messages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stepcore.cli import main
from stepcore.text.files import Unusable, read_file, write_atomically
from stepcore.text.places import place_of


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
    asked: list[tuple[bool, int]] = []

    def may_not(target: Path, mode: int) -> bool:
        asked.append((target.samefile(path), mode))
        return False

    monkeypatch.setattr("stepcore.text.places.os.access", may_not)
    with pytest.raises(PermissionError) as caught:
        write_atomically(path, b"new")
    assert caught.value.filename == str(path) and asked == [(True, os.W_OK)]
    assert path.read_text() == "kept" and list(tmp_path.iterdir()) == [path]


def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "none" / "c", tmp_path / "a", tmp_path / "file" / "c"):
        with pytest.raises(OSError, match=r".") as caught:
            write_atomically(path, b"x")
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")
@pytest.mark.parametrize("way", ["file", "folder", "folder above"])
def test_what_is_decided_where_to_write_follows_no_link_that_came_since(way: str, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "outside" / "b").mkdir(parents=True)
    known = tmp_path / "known"  # a link that was there before is followed
    known.symlink_to("a")
    place = place_of(known / "b" / "c.py")
    place.write(b"first")
    if way == "file":
        (tmp_path / "a" / "b" / "c.py").unlink()
        (tmp_path / "a" / "b" / "c.py").symlink_to(tmp_path / "outside" / "c.py")
    elif way == "folder":
        (tmp_path / "a" / "b").rename(tmp_path / "a" / "old")
        (tmp_path / "a" / "b").symlink_to(tmp_path / "outside")
    else:
        (tmp_path / "a").rename(tmp_path / "old")
        (tmp_path / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="a link was put there") as caught:
        place.write(b"second")
    assert caught.value.filename == str(place.path)
    assert [path.name for path in (tmp_path / "outside").rglob("*")] == ["b"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")
def test_what_is_added_to_follows_no_link_and_waits_for_no_pipe(tmp_path: Path) -> None:
    place = place_of(tmp_path).below("answers.md")
    place.add(b"old", is_new=True)
    place.add(b"first ", is_new=True)
    place.add(b"second", is_new=False)
    assert place.path.read_bytes() == b"first second"
    (tmp_path / "mine").write_text("mine")
    for target in (tmp_path / "mine", tmp_path / "new"):
        place.path.unlink()
        place.path.symlink_to(target)
        for is_new in (False, True):
            with pytest.raises(OSError, match="a link was put there") as caught:
                place.add(b"x", is_new=is_new)
            assert caught.value.filename == str(place.path)
    place.path.unlink()
    os.mkfifo(place.path)
    with pytest.raises(OSError, match=r"."):
        place.add(b"x", is_new=True)
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "new").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are isolated on Linux only")
def test_a_link_that_comes_while_a_file_is_written_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may be quicker: between a look and the last step, the folder is another one."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    place, replaced = place_of(folder / "a.py"), Path.replace

    def late(self: Path, target: Path) -> Path:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)
        return replaced(self, target)

    monkeypatch.setattr(Path, "replace", late)
    place.write(b"new")
    assert (tmp_path / "moved" / "a.py").read_bytes() == b"new"
    assert list(outside.iterdir()) == []


def test_a_result_does_not_replace_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["experience", "export", str(pipe), "--store", str(tmp_path / "store")]) == 2
    told = capsys.readouterr().err
    assert str(pipe) in told and "no regular file" in told and pipe.is_fifo()

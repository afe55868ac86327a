"""What a run reads is noted: files, modules that may come, folders that are listed; not what it makes itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepcore.sim.opened import Opened
from stepcore.sim.worker.imports import import_module
from stepcore.system.file_marks import mark_of

LISTING = {
    "os": "import os\nfound = os.listdir({folder!r})",
    "pathlib": "from pathlib import Path\nfound = sorted(Path({folder!r}).glob('*.txt'))",
    "glob": "import glob\nfound = glob.glob({folder!r} + '/*.txt')",
    "walk": "import os\nfound = list(os.walk({folder!r}))",
    "scandir": "import os\nwith os.scandir({folder!r}) as entries:\n    found = list(entries)",
}
OWN = {
    "a temporary folder": "import tempfile, os\nwith tempfile.TemporaryDirectory() as own:\n    os.listdir(own)",
    "a folder of results": (
        "from pathlib import Path\nout = Path({folder!r}) / 'out'\nout.mkdir(exist_ok=True)\n"
        "(out / 'a.txt').write_text('a')\nfound = sorted(out.iterdir())"
    ),
    "a new name": (
        "from pathlib import Path\nout = Path({folder!r}) / 'a.txt'\nlist(out.parent.iterdir())\n"
        "out.rename(out.with_suffix('.bak')); out.with_suffix('.bak').rename(out)"
    ),
}


def changed(opened: Opened) -> list[str]:
    """Return the names of what is no longer as it was read."""
    return sorted(Path(path).name for path, mark in opened.marks.items() if mark_of(path) != mark)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], Opened]:
    """What imports a text in a folder with a package and some data, and returns what that read."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("1")

    def run(text: str) -> Opened:
        opened = Opened(tmp_path)
        import_module(str(tmp_path / "file.py"), text.format(folder=str(tmp_path / "data")), opened=opened)
        assert changed(opened) == []
        return opened

    return run


@pytest.mark.parametrize(
    "how", ["import package.extra", "from package import extra", "import other", "import package.a.b"]
)
def test_a_module_that_is_not_there_may_come(run: Callable[[str], Opened], tmp_path: Path, how: str) -> None:
    opened = run(f"try:\n    {how}\nexcept ImportError:\n    extra = None\n")
    (tmp_path / "package" / "unasked.py").write_text("")
    assert changed(opened) == []
    for name in ("package/extra.py", "other.py", "package/a.py"):
        (tmp_path / name).write_text("ONE = 1\n")
    assert changed(opened) == [{"import other": "other.py", "import package.a.b": "a.py"}.get(how, "extra.py")]


@pytest.mark.parametrize("how", LISTING)
def test_a_file_may_come_into_a_folder_that_was_listed(run: Callable[[str], Opened], tmp_path: Path, how: str) -> None:
    opened = run(LISTING[how])
    (tmp_path / "package" / "b.txt").write_text("2")
    assert changed(opened) == []
    (tmp_path / "data" / "b.txt").write_text("2")
    assert changed(opened) == ["data"]
    (tmp_path / "data" / "b.txt").unlink()
    assert changed(opened) == []


@pytest.mark.parametrize("what", OWN)
def test_what_a_run_makes_itself_outdates_nothing(run: Callable[[str], Opened], what: str) -> None:
    assert run(OWN[what]) is not None


def test_imports_look_into_many_folders_which_do_not_count(run: Callable[[str], Opened], tmp_path: Path) -> None:
    opened = run("import package\nimport importlib.metadata\n")
    (tmp_path / "more.txt").write_text("")
    (tmp_path / "package" / "more.py").write_text("")
    assert changed(opened) == []

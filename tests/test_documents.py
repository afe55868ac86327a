"""README and ARCHITECTURE name the test behind each promise and invariant: the names have to be those of files."""

from __future__ import annotations

import contextlib
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from stepcore.check import check_text
from stepcore.cli import points

ROOT = Path(__file__).parent.parent
_TEST = re.compile(r"`((?:tests|editor-extension)/[\w/.*-]+)`")
_LINK = re.compile(r"\]\(((?!https?:|#)[^)\s]+)\)")
_TABLES = {
    "README.md": "## What is promised, and the test that keeps it",
    "ARCHITECTURE.md": "## Invariants, and the test that guards each",
}


def rows(document: str, title: str) -> list[str]:
    """The lines of the table under a title, without its head."""
    _, _, after = (ROOT / document).read_text(encoding="utf-8").partition(title)
    assert after, title
    section = after.split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("document", _TABLES)
def test_each_promise_names_tests_that_exist(document: str) -> None:
    found = rows(document, _TABLES[document])
    assert len(found) > 10
    for row in found:
        named = _TEST.findall(row.rsplit("|", 2)[1])
        assert named, row
        assert [name for name in named if not any(ROOT.glob(name))] == [], row


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md")),
    ],
)
def test_links_between_documents_lead_to_files(document: str) -> None:
    path = ROOT / document
    targets = [link.partition("#")[0] for link in _LINK.findall(path.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = re.findall(r"^(\d+)\. ", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(numbers) > 60
    assert [number for number in numbers if numbers.count(number) > 1] == []


def test_the_guide_knows_each_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = points.OWN | project["entry-points"]["stepsmith.commands"].keys()
    table = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").split("## Commands\n")[1].split("\n## ")[0]
    assert {name for row in table.splitlines() for name in re.findall(r"^\| `stepsmith ([a-z]+)", row)} == commands


def test_the_script_of_the_readme_prints_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    said = re.findall(r"^print\(.*\)  # (.+)$", text, re.M)
    assert said
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    assert not check_text(text, str(script)).diagnostics
    runpy.run_path(str(script))
    assert capsys.readouterr().out.splitlines() == said


_DOTTED = re.compile(r"`((?:stepcore|stepagents|stepserver)(?:\.\w+)+)`")
_FOLDERS = {"stepcore": ROOT, "stepagents": ROOT / "agents", "stepserver": ROOT / "server"}


def is_module(name: str) -> bool:
    """Whether a dotted name is that of a module or package of ours."""
    path = _FOLDERS[name.partition(".")[0]] / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def part(title: str) -> str:
    """The part of ARCHITECTURE.md under a title."""
    return (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


_ENTRY = re.compile(r"^(?:(\w\S*)|  (\S+))")


def entries() -> dict[Path, str]:
    """What the map says of each folder or file; lines that begin further to the right go on."""
    found: dict[Path, str] = {}
    base = entry = ROOT
    for line in part("Map").split("```")[1].splitlines():
        started = _ENTRY.match(line)
        if started and started[1]:
            entry = base = ROOT / started[1]
        elif started and started[2]:
            entry = base / started[2]
        found[entry] = found.get(entry, "") + line + "\n"
    return found


def is_there(folder: Path, name: str) -> bool:
    """Whether a module lies in a folder, or is named from one around it on."""
    return any(folder.rglob(name)) or any((place / name).exists() for place in folder.parents)


def test_the_map_has_each_package_and_names_modules_that_exist() -> None:
    told = entries()
    assert len(told) > 35
    for entry, text in told.items():
        folder = next(place for place in (entry, *entry.parents) if place.is_dir())
        named = re.findall(r"(?<![\w.>])(?:\w+/)*\w+\.py\b", text)
        assert [name for name in named if not is_there(folder, name)] == [], entry
    whole = "".join(told.values())
    packages = [path.parent.name for name, base in _FOLDERS.items() for path in (base / name).glob("*/__init__.py")]
    assert len(packages) > 35
    assert [name for name in packages if not re.search(rf"(?<!\w){name}/", whole)] == []


def has_meaning(name: str) -> bool:
    """Whether a dotted name is that of a module, class or member of ours; its package may be left out."""
    for package in ("", "stepcore.", "stepagents."):
        owner, _, member = f"{package}{name}".rpartition(".")
        with contextlib.suppress(ImportError, AttributeError):
            pkgutil.resolve_name(owner + "." + member)
            return True
        with contextlib.suppress(ImportError, AttributeError):
            return member in getattr(pkgutil.resolve_name(owner), "__annotations__", {})
    return False


def test_the_glossary_names_what_is_there() -> None:
    rows = [row.rsplit("|", 2)[1] for row in part("Words").splitlines() if row.startswith("| ")][2:]
    named = [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    assert len(named) > 14
    assert [name for name in named if not has_meaning(name)] == []
    assert not has_meaning("sampling.Nobody") and not has_meaning("sampling.Order.nothing")


def test_pipelines_name_modules_and_types_that_exist() -> None:
    stages = part("Pipelines")
    named = _DOTTED.findall(stages)
    assert len(named) > 60
    assert [name for name in named if not is_module(name)] == []
    rows = [row.split("|") for row in stages.splitlines() if re.match(r"\| \d", row)]
    assert len(rows) > 45
    types = {name for row in rows for cell in (row[2], row[4]) for name in re.findall(r"`([A-Z]\w+)`", cell)}
    packages = [folder / package for package, folder in _FOLDERS.items()]
    text = "\n".join(path.read_text(encoding="utf-8") for folder in packages for path in folder.rglob("*.py"))
    assert sorted(name for name in types if not re.search(rf"^class {name}\b", text, re.MULTILINE)) == []


def test_a_walk_passes_each_module_once() -> None:
    walks = [walk for walk in part("A newcomer's walk").split("\n\n") if walk.startswith("**")]
    assert len(walks) == 5
    for walk in walks:
        named = _DOTTED.findall(walk)
        assert len(named) > 10 and [name for name in named if not is_module(name)] == []
        assert [name for name in named if named.count(name) > 1] == []

"""`explain`, `ops`, `doctor`, `--version`, and commands of other packages."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

import stepcore.findings.explain
from import_graph import MODULES
from stepcore.cli import app as app_module
from stepcore.cli import main, points
from stepcore.findings.codes import CODES
from stepcore.findings.explain import explanation, summary
from stepcore.ops import OPERATORS
from stepcore.text.wording import anchor
from stepcore.version import VERSION

HEADINGS = ["Why it matters", "Wrong", "Right", "How to fix it"]


def test_each_code_has_one_explanation_and_none_is_left_over() -> None:
    folder = Path(stepcore.findings.explain.__file__).parent
    assert sorted(path.stem for path in folder.glob("*.md")) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_explanations_have_the_same_sections(code: str) -> None:
    text = explanation(code)
    assert text.startswith(f"# {code}: {CODES[code].title}\n\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert text.count("```") == 4
    assert len(summary(code)) >= 30
    wrong, right = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert wrong.strip() and right.strip() and wrong != right


def test_only_a_process_that_ends_leaves_its_garbage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    monkeypatch.setattr("stepcore.cli.gc.freeze", lambda: heard.append("end"))
    assert main(["explain", "101"]) == 0
    assert not heard
    monkeypatch.setattr(sys, "argv", ["stepsmith", "explain", "101"])
    assert main() == 0
    assert heard == ["end"]
    assert capsys.readouterr().out.count("STEP101") > 1


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"stepsmith {VERSION}\n"


@pytest.mark.parametrize("word", ["STEP101", "step101", "101"])
def test_explain(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    assert capsys.readouterr().out == explanation("STEP101")


def test_explain_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "STEP1011"]) == 2
    assert "did you mean STEP101?" in capsys.readouterr().err
    assert main(["explain", "../secret"]) == 2
    with pytest.raises(KeyError):
        explanation("../codes")


@pytest.mark.parametrize("subject", ["affine-rule", "Affine rule", "bufferize"])
def test_explain_a_section_of_the_language_page(subject: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", subject]) == 0
    assert capsys.readouterr().out.splitlines()[0] in ("## Affine rule", "### Bufferize")
    assert main(["explain", f"{subject}s"]) == 2
    assert f"did you mean {anchor(subject)}?" in capsys.readouterr().err


def test_ops_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    table = capsys.readouterr().out
    assert main(["ops", "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [fact["name"] for fact in facts] == [operator.__name__ for operator in OPERATORS]
    for operator in OPERATORS:
        assert re.search(rf"^{operator.__name__}\(", table, re.MULTILINE)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_ops_of_one_operator(operator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", operator.__name__.lower()]) == 0
    page = capsys.readouterr().out
    assert operator.summary in page
    assert operator.rule in page
    for param in operator.params:
        assert param.doc in page
    assert operator.example.strip().split("\n")[-1].strip() in page


def test_ops_aliases_and_misspellings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "step.RepeatLast"]) == 0
    assert capsys.readouterr().out.startswith("step.Repeat(n)")
    assert main(["ops", "Acum"]) == 2
    assert "did you mean Accum?" in capsys.readouterr().err


def test_ops_of_published_names_types_and_functions(capsys: pytest.CaptureFixture[str]) -> None:
    for asked, first, said in (
        ("RepeatStatic", "step.Repeat(n)", "published as RepeatStatic: read, with a hint and a fix (STEP231)"),
        ("Broadcast", "step.Copy(n)", "published as Broadcast"),
        ("step.count", "step.FlatMap(fn=step.count)", "the list `0, 1, ..., n-1`"),
        ("matmul", "step.fns.matmul(x, w)", "`x @ w` of tiles `[r, k]` and `[k, c]`"),
        ("step.fns.row_sum", "step.fns.row_sum(x)", "the sum of each row".capitalize()),
        ("fns", "step.fns.matmul(X, W)", "step.fns.row_max(x)"),
        ("Tile", 'step.Tile("float", [r, c])', "A tile"),
        ("ragged", 'step.ragged("L")', "never outermost"),
    ):
        assert main(["ops", asked]) == 0
        page = capsys.readouterr().out
        assert page.splitlines()[0] == first
        assert said in page
        assert main(["ops", asked, "--format", "json"]) == 0
        assert {"name", "summary"} <= json.loads(capsys.readouterr().out).keys()
    assert main(["ops", "matmull"]) == 2
    assert "did you mean fns.matmul?" in capsys.readouterr().err


def _texts(command: click.Command) -> Iterator[str]:
    """What a command says of itself, its options and the commands below it."""
    yield command.help or ""
    yield from (str(getattr(param, "help", None) or "") for param in command.params)
    for below in getattr(command, "commands", {}).values():
        yield from _texts(below)


def test_help_speaks_of_no_class() -> None:
    words = {name for path in MODULES.values() for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)}
    ours = {name for name in words if re.search(r"[a-z][A-Z]", name)} - {each.__name__ for each in OPERATORS}
    assert len(ours) > 300
    group: Any = typer.main.get_command(app_module.app)
    context = click.Context(group)
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    texts = [text for command in (group, *commands) for text in _texts(command)]
    assert len(texts) > 100
    assert {word for text in texts for word in re.findall(r"\w+", text)} & ours == set()


def test_doctor(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--format", "json"]) == 0
    items = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert items["Python"]["ok"]
    assert items["torch"]["ok"]
    assert items["simulator"]["ok"], items["simulator"]
    (tmp_path / "stepsmith.toml").write_text("nonsense = 1\n")
    assert main(["doctor"]) == 1
    assert "unknown key 'nonsense'" in capsys.readouterr().out


def test_doctor_says_what_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from stepcore.cli import doctor

    monkeypatch.setattr(doctor, "_PACKAGES", (("no-such-package", True, "nothing"), ("another", False, "little")))
    monkeypatch.setattr(doctor, "_worker", lambda: doctor.DoctorRow("simulator", True, ""))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "-> pip install no-such-package" in out
    assert "-> pip install torch numpy" in out


class Point:
    """An entry point."""

    def __init__(self, name: str, target: Any) -> None:
        self.name = name
        self.module = "a_package.commands"
        self.target = target
        self.loaded = False

    def load(self) -> Any:
        self.loaded = True
        return self.target


def test_commands_of_other_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sub = typer.Typer(help="A group.")

    @sub.command()
    def one() -> None:
        print("one of sub")

    @sub.command()
    def two() -> None:
        print("two of sub")

    def single(number: int) -> None:
        """Count."""
        print(number + 1)

    points = {"sub": Point("sub", sub), "single": Point("single", single)}
    scans: list[int] = []

    def scan() -> dict[str, Any]:
        scans.append(1)
        return points

    monkeypatch.setattr(app_module, "_entry_points", scan)
    assert main(["explain", "101"]) == 0
    assert not scans
    assert main(["single", "41"]) == 0
    assert capsys.readouterr().out.endswith("\n42\n")
    assert not points["sub"].loaded
    assert main(["sub", "two"]) == 0
    assert capsys.readouterr().out == "two of sub\n"
    result = CliRunner().invoke(app_module.app, ["--help"])
    assert result.exit_code == 0
    assert "sub" in result.output and "single" in result.output and "check" in result.output


def test_a_package_of_commands_may_begin_ahead_with_the_words_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[Any] = []

    @contextmanager
    def begun(words: list[str]) -> Iterator[None]:
        heard.append(words)
        try:
            yield
        finally:
            heard.append("end")

    ahead = ModuleType("shop.ahead")
    ahead.begun = begun  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))
    monkeypatch.setitem(sys.modules, "shop.ahead", ahead)
    found = {"buy": Point("buy", lambda: print("bought", heard)), "bare": Point("bare", lambda: print("bare"))}
    found["buy"].module, found["bare"].module = "shop.commands", "stepcore.cli"
    monkeypatch.setattr(points, "entry_points", lambda: found)
    monkeypatch.setattr(app_module, "_entry_points", lambda: found)
    assert main(["buy"]) == 0
    assert capsys.readouterr().out == "bought [['buy']]\n"
    assert main(["buy", "--nonsense"]) == 2
    assert heard == [["buy"], "end", ["buy", "--nonsense"], "end"]
    assert main(["bare"]) == 0  # a package without such a module
    assert main(["explain", "101"]) == 0
    assert len(heard) == 4
    assert {
        each.name or getattr(each.callback, "__name__", "") for each in app_module.app.registered_commands
    } == points.OWN


@pytest.mark.parametrize(
    "command", ["check", "verify", "simulate", "convert", "explain", "ops", "doctor", "time", "hw"]
)
def test_each_command_has_help(command: str) -> None:
    result = CliRunner().invoke(app_module.app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output

"""Configuration: where it is found, what it says, and how mistakes in it are told."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.settings.config import Config, ConfigError, Configs, read_config
from stepcore.settings.limits import user_wishes
from stepcore.text.span import Span

HERE = Path("stepsmith.toml")


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = Configs().for_file(tmp_path / "a.py")
    assert found == Config()
    assert (found.affine, found.ignore, found.time_limit, found.memory_limit) == ("strict", (), 60.0, 4096)


def test_the_nearest_file_upward_holds(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.stepsmith]\naffine = "paper"\n')
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert Configs().for_file(inner / "x.step.yaml").affine == "paper"
    assert Configs().for_file(inner).path == tmp_path / "pyproject.toml"
    (tmp_path / "a" / "stepsmith.toml").write_text("time_limit = 2.5\n")
    found = Configs().for_file(inner / "x.step.yaml")
    assert (found.affine, found.time_limit) == ("strict", 2.5)


def _make_long(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 33)


def _make_long_text(path: Path) -> None:
    path.write_text("#" + "ä" * 600_000, encoding="utf-8")  # the bound is within a character


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (Path.mkdir, "is a folder, and settings are read from files"),
    "a pipe": (os.mkfifo, "is no regular file"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), "cannot be read"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "a long text": (_make_long_text, "is larger than 1 MB"),
    "a file without an end": (_make_long, "is larger than 1 MB"),
}


@pytest.mark.parametrize("kind", MADE)
def test_what_is_no_file_of_settings_is_told(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, expected = MADE[kind]
    make(tmp_path / "stepsmith.toml")
    with pytest.raises(ConfigError, match=expected):
        Configs().for_file(tmp_path / "a.py")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "stepsmith").mkdir()
    make(tmp_path / "stepsmith" / "config.toml")
    with pytest.raises(ConfigError, match=expected):
        user_wishes()


def test_all_keys() -> None:
    table = {
        "affine": "paper",
        "ignore": ["STEP103", "STEP3"],
        "severity": {"STEP909": "error"},
        "time_limit": 5,
        "memory_limit": 512,
        "exclude": ["generated"],
    }
    found = read_config(table, HERE)
    assert found == Config("paper", ("STEP103", "STEP3"), {"STEP909": Severity.ERROR}, 5.0, 512, ("generated",), HERE)


def test_ignored_codes_and_severities_are_applied() -> None:
    found = [Diagnostic(code, Span(0, 0), "x") for code in ("STEP103", "STEP201", "STEP301", "STEP302")]
    config = Config(ignore=("STEP103", "STEP3"), severity={"STEP201": Severity.HINT})
    assert [(d.code, d.severity) for d in config.apply(found)] == [("STEP201", Severity.HINT)]
    assert Config().apply(found) == found


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"afine": "paper"}, "unknown key 'afine'; did you mean 'affine'?"),
        ({"zzz": 1}, "unknown key 'zzz'; known keys: affine"),
        ({"affine": "loose"}, "affine: expected 'strict' or 'paper', found 'loose'"),
        ({"ignore": "STEP103"}, "ignore: expected a list"),
        ({"ignore": ["STEP1033"]}, "there is no code 'STEP1033'; did you mean 'STEP103'?"),
        ({"ignore": ["STEP"]}, "there is no code 'STEP'"),
        ({"severity": {"STEP103": "fatal"}}, "expected one of error, warning"),
        ({"severity": {"E1": "error"}}, "there is no code 'E1'"),
        ({"severity": []}, "expected a table"),
        ({"time_limit": True}, "expected a number of seconds"),
        ({"time_limit": 0}, "expected a number of seconds"),
        ({"memory_limit": 1.5}, "whole number of MiB"),
        ({"memory_limit": 1}, "whole number of MiB"),
        ({"exclude": [1]}, "expected a list of texts"),
        ([], "must be a table"),
    ],
)
def test_mistakes_name_the_file_and_the_key(table: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(table, HERE)
    assert str(caught.value).startswith("stepsmith.toml: ")
    assert message in str(caught.value)


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "stepsmith.toml"
    for data, message in ((b"affine = \n", "not valid TOML"), (b"\xff\xfe", "cannot be read")):
        path.write_bytes(data)
        configs = Configs()
        for _ in range(2):
            with pytest.raises(ConfigError, match=message):
                configs.for_file(tmp_path / "a.py")


@pytest.mark.parametrize(
    "text",
    [
        "affine = " + "[" * 100_000,
        "memory_limit = " + "9" * 5000,
        "memory_limit = 0x" + "f" * 5000,
        "affine = '" + "x" * 100_000 + "'",
        "x" * 100_000 + " = 1",
        "ignore = ['" + "x" * 100_000 + "']",
        "affine" + ".a" * 50_000 + " = 1",
    ],
)
def test_what_is_deep_or_long_is_one_short_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "stepsmith.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Configs().for_file(tmp_path / "a.py")
    assert "stepsmith.toml" in str(caught.value)
    assert len(str(caught.value)) <= 1000


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("stepsmith.toml", "# affine = 1\naffine = 'loose'\n", 2),
        ("stepsmith.toml", "exclude = ['''\naffine = 1''']\naffine = 'loose'\n", 3),
        ("stepsmith.toml", "ignore = []\n[severity]\nSTEP103 = 'warning'\nSTEP101 = 'loud'\n", 4),
        ("stepsmith.toml", "timing.hw = 3\n", 1),
        ("stepsmith.toml", "\n[timing]\nchip = 'paper'\n", 3),
        ("pyproject.toml", "[tool.other]\naffine = 1\n[tool.stepsmith]\naffine = 'loose'\n", 4),
        ("pyproject.toml", "[tool.other]\ntiming = 1\n[tool.stepsmith.timing]\nhw = 3\n", 4),
        ("pyproject.toml", "[tool]\nstepsmith = 1\n", 2),
    ],
)
def test_a_mistake_is_told_with_the_line_of_its_key(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Configs().for_file(tmp_path)
    assert caught.value.line == line
    assert str(caught.value) == f"{tmp_path / name}:{line}: {caught.value.reason}"


def test_a_path_that_no_file_system_holds_costs_little() -> None:
    """An editor may name a document anything; its parents once took gigabytes, and the server its memory."""
    tracemalloc.start()
    try:
        assert Configs().for_file(Path("/a" * 50_000 + "/x.py")) == Config()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000

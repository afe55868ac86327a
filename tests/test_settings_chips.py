"""Which chip is in force: option, configuration, default; and what a project's file may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepcore.chips.chosen import chosen_chip
from stepcore.chips.keys import HardwareError
from stepcore.settings.config import Config, ConfigError, Configs, read_config
from stepcore.timing.hardware import PRESETS


def configured(folder: Path, text: str) -> Config:
    (folder / "stepsmith.toml").write_text(text, encoding="utf-8")
    return Configs().for_file(folder / "a.py")


def test_the_option_wins_over_the_project_and_that_over_the_default(tmp_path: Path) -> None:
    assert chosen_chip(Config()).chip is PRESETS["default"]
    config = configured(tmp_path, '[timing]\nhw = "paper"\n')
    found = chosen_chip(config)
    assert (found.chip, found.origin) == (PRESETS["paper"], str(tmp_path / "stepsmith.toml"))
    found = chosen_chip(config, "decode")
    assert (found.chip, found.origin) == (PRESETS["decode"], "--hw")


def test_a_pyproject_names_a_file_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "chips").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "chips" / "mine.toml").write_text("base = 'paper'\nfifo.depth = 7\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.stepsmith.timing]\nhw = "chips/mine.toml"\n', encoding="utf-8")
    found = chosen_chip(Configs().for_file(tmp_path / "inner" / "a.py"))
    assert (found.chip.name, found.chip.base, found.chip.fifo.depth) == ("mine", "paper", 7)
    assert found.path == tmp_path / "chips" / "mine.toml"


@pytest.mark.parametrize(
    ("hw", "words"),
    [
        ("../mine.toml", "leads out of the project"),
        ("link.toml", "leads out of the project"),
        ("a\\u0000.toml", "leads out of the project"),
        ("papr", "did you mean paper?"),
        ("quick", "name a preset (default, validation, paper, decode) or a .toml file"),
    ],
)
def test_what_a_project_names_in_vain_is_told_with_its_line(tmp_path: Path, hw: str, words: str) -> None:
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.toml").symlink_to(tmp_path / "mine.toml")
    config = configured(inner, f'affine = "strict"\n[timing]\nhw = "{hw}"\n')
    with pytest.raises(HardwareError) as caught:
        chosen_chip(config)
    assert words in str(caught.value)
    assert caught.value.place == f"{inner / 'stepsmith.toml'}:3"


def test_an_absolute_path_is_not_the_projects(tmp_path: Path) -> None:
    config = configured(tmp_path, f'[timing]\nhw = "{tmp_path / "mine.toml"}"\n')
    with pytest.raises(HardwareError, match="leads out of the project"):
        chosen_chip(config)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "cannot be read"),
        (b"fifo.depth = \x00", "NUL"),
        (b"\xff\xfe\xfd", "no text"),
        (b"#" * 10_000_000, "over 5 MB"),
        (b"# \n" * 40_000, "at most 65,536 characters"),
        (b"\nfifo.depth = 0", "from 1 to"),
    ],
)
def test_a_file_that_is_no_chip_is_one_message_that_names_it(tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "mine.toml"
    if data is not None:
        path.write_bytes(data)
    for config, hw in ((configured(tmp_path, '[timing]\nhw = "mine.toml"\n'), None), (Config(), str(path))):
        with pytest.raises(HardwareError) as caught:
            chosen_chip(config, hw)
        assert words in str(caught.value)
        assert len(str(caught.value)) <= 500
        assert "\n" not in str(caught.value)
        assert caught.value.place == f"{path}:2" if words == "from 1 to" else str(path)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"timing": 3}, "timing: expected a table"),
        ({"timing": {"hv": "paper"}}, "timing: unknown key 'hv'; there is hw"),
        ({"timing": {"hw": 3}}, "timing: hw: expected the name of a chip"),
        ({"timing": {"hw": " "}}, "timing: hw: expected the name of a chip"),
        ({"hw": "paper"}, "unknown key 'hw'; write it under [timing]"),
    ],
)
def test_the_configuration_says_what_it_takes(table: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(table, Path("stepsmith.toml"))
    assert words in str(caught.value)

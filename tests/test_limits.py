"""Limits and network: what a project, the user and one call may say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import warm
from cli_inputs import GOOD, TASK
from stepcore.cli import main
from stepcore.settings.config import Config, ConfigError, Configs, read_config, read_memory_limit, read_time_limit
from stepcore.settings.limits import InForce, Wishes, answers_in_force, in_force, user_file, user_wishes
from stepserver.settings import Settings, limits_of, read_settings, tightened

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own folder, so that the tests do not see that of whoever runs them."""
    folder = tmp_path / "home" / "config.toml"
    folder.parent.mkdir()
    warm.lend(monkeypatch)
    monkeypatch.setattr("stepcore.settings.limits.user_file", lambda: folder)
    return folder


def project(tmp_path: Path, text: str) -> Config:
    (tmp_path / "stepsmith.toml").write_text(text, encoding="utf-8")
    return Configs().for_file(tmp_path / "a.step.yaml")


def values(held: InForce) -> tuple[float, int, bool]:
    return held.seconds, held.memory, held.network


def test_a_project_tightens(tmp_path: Path) -> None:
    config = project(tmp_path, "time_limit = 3\nmemory_limit = 512\n")
    held = in_force(config)
    assert values(held) == (3, 512, False)
    assert held.notes == ()
    assert held.origins["time_limit"].endswith("stepsmith.toml")
    assert (config.time_limit, config.memory_limit) == (3, 512)


def test_a_project_raises_nothing_and_is_told_so(tmp_path: Path, home: Path) -> None:
    config = project(tmp_path, "time_limit = 604800\nmemory_limit = 16777216\n")
    assert (config.time_limit, config.memory_limit) == (60, 4096)
    held = in_force(config)
    assert values(held) == (60, 4096, False)
    assert [("time_limit = 604800" in note, "--time-limit" in note, str(home) in note) for note in held.notes[:1]] == [
        (True, True, True)
    ]
    assert "--memory-limit" in held.notes[1]


def test_a_project_cannot_open_the_network() -> None:
    with pytest.raises(ConfigError, match="unknown key 'network'"):
        read_config({"network": True}, Path("stepsmith.toml"))


def test_the_user_raises_and_a_project_tightens_that(tmp_path: Path, home: Path) -> None:
    home.write_text("time_limit = 600\nmemory_limit = 8192\nnetwork = true\n")
    user = user_wishes()
    assert user == Wishes(600, 8192, True)
    assert values(in_force(Config(), user=user)) == (600, 8192, True)
    assert values(in_force(project(tmp_path, "time_limit = 300\n"), user=user)) == (300, 8192, True)
    held = in_force(project(tmp_path, "time_limit = 900\n"), user=user)
    assert (held.seconds, len(held.notes)) == (600, 1)


def test_the_answers_of_a_model_without_a_program_are_limited_alike(tmp_path: Path, home: Path) -> None:
    assert answers_in_force(Config()) == (4, "")
    assert answers_in_force(project(tmp_path, "answers_without_program = 2\n")) == (2, "")
    more, note = answers_in_force(project(tmp_path, "answers_without_program = 64\n"))
    assert more == 4
    assert "answers_without_program = 64 is not followed, 4 answers hold" in note
    assert "--answers-without-program" in note and str(home) in note
    home.write_text('answers_without_program = 9\n[model_prices]\n"gpt-4o" = [2.5, 10]\n')
    user = user_wishes()
    assert user.model_prices == {"gpt-4o": (2.5, 10.0)}
    assert answers_in_force(Config(), user=user) == (9, "")
    assert answers_in_force(Config(), Wishes(answers_without_program=1), user) == (1, "")


@pytest.mark.parametrize("text", ["5", '{ "m" = 5 }', '{ "m" = [1] }', '{ "m" = [1, -1] }', '{ "m" = [1, nan] }',
                                  '{ "m" = [true, 1] }', '{ "m" = [1, 1e99] }', '{ "m" = ["1", "1"] }'])  # fmt: skip
def test_a_price_is_two_amounts(text: str, home: Path) -> None:
    home.write_text(f"model_prices = {text}\n")
    with pytest.raises(ConfigError, match="model_prices: expected"):
        user_wishes()


def test_the_call_has_the_last_word(tmp_path: Path) -> None:
    config = project(tmp_path, "time_limit = 3\nmemory_limit = 512\n")
    assert values(in_force(config, Wishes(120, 9000, True), Wishes(5, 100, False))) == (120, 9000, True)
    assert in_force(config, Wishes(network=False), Wishes(network=True)).network is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time = 3\n", "unknown key 'time'; known keys: time_limit"),
        ("time_limit = 'long'\n", "time_limit: expected a number of seconds"),
        ("network = 1\n", "network: expected true or false"),
        ("network =\n", "not valid TOML"),
    ],
)
def test_a_broken_file_of_the_user_is_named(
    text: str, message: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_text(text)
    with pytest.raises(ConfigError, match=message):
        user_wishes()
    (tmp_path / "a.step.yaml").write_text(TASK + GOOD)
    for command in ("verify", "simulate"):
        assert main([command, str(tmp_path / "a.step.yaml")]) == 2
        assert message in capsys.readouterr().err


def test_verify_says_what_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, "time_limit = 604800\n")
    (tmp_path / "a.step.yaml").write_text(TASK + GOOD)
    assert main(["verify", str(tmp_path / "a.step.yaml")]) == 0
    assert capsys.readouterr().err.count("a project may only tighten limits") == 1
    assert main(["verify", "--time-limit", "90", str(tmp_path / "a.step.yaml")]) == 0
    assert capsys.readouterr().err == ""


def test_the_place_of_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_file().name == "config.toml"
    if sys.platform.startswith("linux"):
        for folder in (tmp_path / "one", tmp_path / "two"):  # it is remembered, but not for another environment
            monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
            assert user_file() == folder / "stepsmith" / "config.toml"


def test_settings_of_a_folder_tighten_only() -> None:
    window = Settings(seconds=100, memory=2048)
    assert tightened(Settings(seconds=5, memory=512), window) == Settings(seconds=5, memory=512)
    raised = tightened(Settings(seconds=500, memory=9999, network=True), window)
    assert (raised.seconds, raised.memory, raised.network) == (100, 2048, False)
    plain = tightened(Settings(seconds=500, memory=9999, network=True), Settings())
    assert (plain.seconds, plain.memory, plain.network) == (60, 4096, False)
    assert tightened(Settings(), Settings(seconds=7, memory=64, network=True)).network is True


def test_the_editors_settings_of_the_user_raise(tmp_path: Path) -> None:
    config = project(tmp_path, "time_limit = 3\n")
    found = read_settings({"simulation": {"seconds": 90, "memory": 8000, "network": True}})
    assert values(limits_of(found, config)) == (90, 8000, True)
    assert values(limits_of(Settings(), config)) == (3, 4096, False)


def test_a_workspace_cannot_set_them_in_vs_code() -> None:
    package = json.loads((ROOT / "editor-extension" / "package.json").read_text(encoding="utf-8"))
    known = {}
    configuration = package["contributes"]["configuration"]
    for section in configuration if isinstance(configuration, list) else [configuration]:
        known.update(section["properties"])
    for name in ("seconds", "memory", "network"):
        assert known[f"stepsmith.simulation.{name}"]["scope"] == "machine"


@pytest.mark.parametrize("value", [63, 0, -1, (1 << 24) + 1, 999_999_999, True, "unlimited"])
def test_a_memory_limit_that_is_refused_names_both_bounds(value: object) -> None:
    with pytest.raises(ValueError, match="from 64 to 16,777,216, found"):
        read_memory_limit(value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "60"])
def test_a_time_limit_that_is_refused_names_both_bounds(value: object) -> None:
    with pytest.raises(ValueError, match="above 0 and up to 604,800, found"):
        read_time_limit(value)

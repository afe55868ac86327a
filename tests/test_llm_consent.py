"""Nothing of a user goes to a provider without a yes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest
from filelock import FileLock, Timeout

import stepagents.llm.consent
from processes import PATIENCE
from stepagents.cli.asking import show
from stepagents.llm.consent import FILE_NAME, ConsentError, choices, default_folder, remember, require_consent
from stepcore.settings.config import ConfigError, read_config
from stepcore.text.files import write_atomically

REMOTE = "https://api.example.com/v1"
MODEL = "large"


def never(question: str) -> str:
    raise AssertionError(question)


@pytest.mark.parametrize("url", ["http://localhost:11434/v1", "http://127.0.0.1:1/v1", "http://[::1]:8000/v1"])
def test_this_machine_needs_none(url: str, tmp_path: Path) -> None:
    require_consent(url, MODEL, folder=tmp_path, ask=never)
    assert not list(tmp_path.iterdir())


def test_always_is_kept_for_the_model_at_its_host(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return " Always\n"

    for _ in range(3):
        require_consent(REMOTE, MODEL, folder=tmp_path / "new", ask=ask)
    (question,) = asked
    assert "large at api.example.com" in question
    assert FILE_NAME in question
    assert choices(tmp_path / "new") == {"api.example.com large": True}
    for url, model in (
        ("https://other.example.com/v1", MODEL),
        (REMOTE, "small"),
        ("https://api.example.com:8443/v1", MODEL),
        ("https://api.example.com.evil.org/v1", MODEL),
        ("https://api.example.com@evil.org/v1", MODEL),
    ):
        with pytest.raises(ConsentError, match="did not agree"):
            require_consent(url, model, folder=tmp_path / "new", ask=lambda _q: "")


@pytest.mark.parametrize("url", ["https://API.example.com./v1", "https://api.example.com:443/v1"])
def test_other_spellings_of_a_host_are_the_same_host(url: str, tmp_path: Path) -> None:
    remember("api.example.com", MODEL, False, tmp_path)
    with pytest.raises(ConsentError, match=r"sending to api\.example\.com was refused"):
        require_consent(url, MODEL, folder=tmp_path, ask=never)
    remember("api.example.com", MODEL, True, tmp_path)
    require_consent(url, MODEL, folder=tmp_path, ask=never)


def test_a_yes_for_an_encrypted_host_sends_nothing_unencrypted(tmp_path: Path) -> None:
    bare = REMOTE.replace("https", "http")
    require_consent(REMOTE, MODEL, folder=tmp_path, ask=lambda _question: "always")
    with pytest.raises(ConsentError, match="did not agree to send to http://api"):
        require_consent(bare, MODEL, folder=tmp_path, ask=lambda _question: "")
    require_consent(bare, MODEL, folder=tmp_path, ask=lambda _question: "always")
    require_consent(bare.replace("/v1", ":80/v1"), MODEL, folder=tmp_path, ask=never)
    assert choices(tmp_path) == {f"api.example.com {MODEL}": True, f"http://api.example.com {MODEL}": True}
    with pytest.raises(ConsentError, match="sending to api"):
        require_consent(bare, MODEL, option=False, folder=tmp_path, ask=never)
    with pytest.raises(ConsentError, match="before"):
        require_consent(REMOTE, MODEL, folder=tmp_path, ask=never)
    assert choices(tmp_path) == {"api.example.com": False}


@pytest.mark.parametrize("word", ["o", "once", "ONCE\n"])
def test_once_is_not_kept(word: str, tmp_path: Path) -> None:
    require_consent(REMOTE, MODEL, folder=tmp_path, ask=lambda _question: word)
    assert choices(tmp_path) == {}


@pytest.mark.parametrize("word", ["", "y", "yes", "alw", "s", "\x1b[A"])
def test_anything_else_sends_nothing_and_keeps_nothing(word: str, tmp_path: Path) -> None:
    with pytest.raises(ConsentError, match="did not agree"):
        require_consent(REMOTE, MODEL, folder=tmp_path, ask=lambda _question: word)
    assert choices(tmp_path) == {}


def test_what_is_sent_is_shown_before_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter(["s", "show", "o"])
    preview = partial(show, "the \x1b[2Jrequest")
    require_consent(REMOTE, MODEL, folder=tmp_path, ask=lambda _q: next(answers), preview=preview)
    assert capsys.readouterr().err == "the \ufffd[2Jrequest\n" * 2


def test_a_yes_of_earlier_versions_named_no_model_and_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"api.example.com": true, "no.example.com": false}', encoding="utf-8")
    with pytest.raises(ConsentError, match="did not agree"):
        require_consent(REMOTE, MODEL, folder=tmp_path, ask=lambda _q: "")
    with pytest.raises(ConsentError, match="refused before"):
        require_consent("https://no.example.com/v1", MODEL, folder=tmp_path, ask=never)


def test_a_no_is_kept_too(tmp_path: Path) -> None:
    for ask in (lambda _question: "n", never):
        with pytest.raises(ConsentError, match="--send-to-provider"):
            require_consent(REMOTE, MODEL, folder=tmp_path, ask=ask)
    with pytest.raises(ConsentError, match="refused before"):
        require_consent(REMOTE, "small", folder=tmp_path, ask=never)
    require_consent(REMOTE, MODEL, option=True, folder=tmp_path, ask=never)
    require_consent(REMOTE, MODEL, folder=tmp_path, ask=never)
    with pytest.raises(ConsentError, match="refused just now"):
        require_consent(REMOTE, MODEL, option=False, folder=tmp_path, ask=never)
    with pytest.raises(ConsentError, match="refused before"):
        require_consent(REMOTE, MODEL, folder=tmp_path, ask=never)


def test_answers_given_at_once_are_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is read, changed and written while no other one is."""
    writers = iter(range(1, 9))
    inside: list[int] = []

    def write(path: Path, data: bytes) -> None:
        inside.append(next(writers))
        with pytest.raises(Timeout):
            FileLock(path.with_name(f"{path.name}.lock"), timeout=0).acquire()
        write_atomically(path, data)

    monkeypatch.setattr(stepagents.llm.consent, "write_atomically", write)
    begin = Barrier(8)

    def answer(number: int) -> None:
        begin.wait(PATIENCE)
        remember(f"host{number}.example.com", MODEL, number % 2 == 0, tmp_path)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(answer, range(8)))
    assert len(inside) == 8
    assert choices(tmp_path) == {
        f"host{number}.example.com" + (f" {MODEL}" if number % 2 == 0 else ""): number % 2 == 0 for number in range(8)
    }


def test_an_answer_whose_turn_never_comes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepagents.llm.consent, "_LOCK_SECONDS", 0.0)
    with FileLock(tmp_path / f"{FILE_NAME}.lock"), pytest.raises(ConsentError, match="your answer cannot be kept"):
        remember("api.example.com", MODEL, False, tmp_path)


def test_a_project_may_forbid_but_not_agree(tmp_path: Path) -> None:
    asked: list[str] = []

    def no(text: str) -> str:
        asked.append(text)
        return "no"

    with pytest.raises(ConsentError, match="did not agree"):
        require_consent(REMOTE, MODEL, configured=True, folder=tmp_path, ask=no)
    assert len(asked) == 1
    remember("api.example.com", MODEL, True, tmp_path)
    with pytest.raises(ConsentError, match="in the configuration"):
        require_consent(REMOTE, MODEL, configured=False, folder=tmp_path, ask=never)


def test_the_configuration_has_a_key_for_it() -> None:
    path = Path("pyproject.toml")
    assert read_config({}, path).send_to_provider is None
    assert read_config({"send_to_provider": True}, path).send_to_provider is True
    with pytest.raises(ConfigError, match="send_to_provider: expected true or false, found 'yes'"):
        read_config({"send_to_provider": "yes"}, path)


def test_without_a_terminal_it_says_how(tmp_path: Path) -> None:
    with pytest.raises(ConsentError) as caught:
        require_consent(REMOTE, MODEL, folder=tmp_path)
    text = str(caught.value)
    assert "nothing was sent" in text and "api.example.com" in text
    assert "--send-to-provider" in text
    assert choices(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"api.example.com": "yes"}', "[" * 100_000, "\xff"])
def test_a_broken_file_is_no_consent(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(text.encode("latin-1"))
    with pytest.raises(ConsentError):
        require_consent(REMOTE, MODEL, folder=tmp_path)


def test_a_broken_file_is_put_aside_before_an_answer_is_kept(tmp_path: Path) -> None:
    torn = '{"a.example": false, '
    (tmp_path / FILE_NAME).write_text(torn)
    remember("b.example", "m", True, tmp_path)
    assert choices(tmp_path) == {"b.example m": True}
    assert (tmp_path / f"{FILE_NAME}.damaged").read_text() == torn


def test_an_answer_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConsentError, match="cannot be kept"):
        require_consent(REMOTE, MODEL, option=True, folder=tmp_path / "file" / "below")


def test_it_is_kept_with_the_users_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "stepsmith"


def test_an_address_does_not_run_into_its_port(tmp_path: Path) -> None:
    require_consent("https://[2001:db8::1]:8443/v1", "m", option=True, folder=tmp_path)
    require_consent("https://[2001:DB8:0:0::1]:8443/v1", "m", folder=tmp_path)  # another spelling of the same
    for other in ("https://[2001:db8::1:8443]/v1", "https://[2001:db8::1]/v1"):
        with pytest.raises(ConsentError, match="nothing was sent"):
            require_consent(other, "m", folder=tmp_path)


def test_a_no_of_earlier_versions_to_an_address_holds(tmp_path: Path) -> None:
    (tmp_path / "send-to-provider.json").write_text('{"2001:db8::1:8443": false}')
    with pytest.raises(ConsentError, match="refused before"):
        require_consent("https://[2001:db8::1]:8443/v1", "m", folder=tmp_path, ask=lambda _: "always")


def test_a_pipe_in_place_of_the_answers_is_no_consent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "send-to-provider.json")
    with pytest.raises(ConsentError, match="nothing was sent"):
        require_consent("https://api.example.com/v1", "m", folder=tmp_path)
    with pytest.raises(ConsentError, match="cannot be kept"):
        require_consent("https://api.example.com/v1", "m", option=True, folder=tmp_path)

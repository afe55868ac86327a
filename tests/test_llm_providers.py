"""Presets, keys from the environment, and what is refused with a way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepagents.llm.consent import place_of
from stepagents.llm.dialect import EndpointDialect
from stepagents.llm.providers import MODELS, PROVIDERS, EndpointError, Price, is_local, resolve
from stepagents.llm.transport import CompletionOptions, Message

KEYS = {provider.key_variable: f"key-of-{provider.name}" for provider in PROVIDERS if provider.key_variable}
MESSAGES = [Message("system", "a"), Message("user", "b"), Message("assistant", "c"), Message("user", "d")]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_has_an_endpoint_at_each_of_its_providers(model: object) -> None:
    assert isinstance(model, type(MODELS[0]))
    for provider, name in model.ids.items():
        found = resolve(model.name, provider=provider, environ=KEYS)
        assert (found.provider, found.model) == (provider, name)
        assert found.key.reveal() == f"key-of-{provider}"
        assert found.output_tokens < found.context
    own = resolve(model.name, environ=KEYS)
    assert own.provider == next(iter(model.ids))
    assert own.price == model.price is not None
    assert own.dialect.temperature is not (model.name in {"o1", "o3", "o4-mini", "gpt-5", "deepseek-r1"})


def test_the_five_published_models_are_known() -> None:
    names = {"claude-3.5-sonnet", "o1", "gpt-4o", "llama-3.1-405b", "deepseek-v3"}
    assert names <= {model.name for model in MODELS}


def test_prices_of_resellers_are_unknown_and_not_zero() -> None:
    assert resolve("gpt-4o", provider="openrouter", environ=KEYS).price is None
    assert resolve("whatever", base_url="https://llm.example.com/v1", environ={}).price is None
    assert resolve("whatever", base_url="http://localhost:8000/v1", environ={}).price is None
    assert resolve("llama3", provider="ollama", environ={}).price == Price(0.0, 0.0, "always")
    price = Price(1.0, 2.0, "2026-01-01")
    assert resolve("gpt-4o", provider="openrouter", price=price, environ=KEYS).price is price
    assert price.cost(1_000_000, 500_000) == 2.0


def test_a_provider_may_stand_before_the_model() -> None:
    assert resolve("openrouter/gpt-4o", environ=KEYS).model == "openai/gpt-4o"
    assert resolve("openrouter/mistralai/large", environ=KEYS).model == "mistralai/large"
    assert resolve("ollama/qwen3:8b", environ={}).base_url == "http://localhost:11434/v1"
    assert resolve("gpt-4o-2024-11-20", environ=KEYS).provider == "openai"


def test_an_address_is_recognized() -> None:
    assert resolve("x", base_url="https://api.openai.com/v1", environ=KEYS).key.reveal() == "key-of-openai"
    assert resolve("x", base_url="http://localhost:8000/v1/", environ=KEYS).provider == "vllm"
    other = resolve("x", base_url="https://llm.example.com/v1", environ=KEYS)
    assert (other.provider, bool(other.key)) == ("llm.example.com", False)  # no key of anybody goes there
    named = resolve("x", base_url="https://llm.example.com/v1", key_variable="MY_KEY", environ={"MY_KEY": " k-123456 "})
    assert named.key.reveal() == "k-123456"
    assert "k-123456" not in repr(named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "name a model"),
        ({"model": "gpt-4"}, "did you mean gpt-4"),
        ({"model": "unheard"}, "known models: claude-3.5-sonnet"),
        ({"model": "x", "provider": "nobody"}, "no provider 'nobody'; known are openai"),
        ({"model": "gpt-4o"}, "set the environment variable OPENAI_API_KEY"),
        ({"model": "x", "base_url": "https://a.example", "key_variable": "MINE"}, "no environment variable has"),
        ({"model": "x", "base_url": "ftp://a.example"}, "cannot be used"),
        ({"model": "x", "base_url": "api.example.com"}, "cannot be used"),
        ({"model": "x", "base_url": "https://api example.com"}, "cannot be used"),
        ({"model": "x", "base_url": "https://api.example.com/\x01"}, "cannot be used"),
        ({"model": "x", "base_url": "http://[::1"}, "cannot be used"),
        *(
            ({"model": "x", "base_url": f"https://{host}/v1"}, "its host is a name")
            for host in (
                "[::1].a.example", "localhost%2e", "a.example%2f.b.example", "a.example\\.b.example", "a.example;b",
                "a.example,b.example", "localhost`b", "a{b}", "a..b", ".a.example", "a.example..", "-a", "a" * 64,
            )
        ),
        ({"model": "x", "base_url": "https://a.example#b.example"}, "its host is a name"),
        ({"model": "x", "base_url": "https://@a.example/v1"}, "holds no user"),
        ({"model": "x", "base_url": "https://user:sk-1@a.example/v1"}, "holds no user"),
        ({"model": "x", "base_url": "https://a.example/v1?key=sk-1"}, "holds no user"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said(options: dict[str, str], message: str) -> None:
    with pytest.raises(EndpointError) as caught:
        resolve(**options, environ={})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    ["a_b.example.", "xn--e1afmkfd.example:8443", "LOCALHOST", "10.0.0.1:", "[2001:DB8::1]:80", "[::ffff:10.0.0.1]"],
)
def test_hosts_in_each_usual_spelling_can_be_used(host: str) -> None:
    assert resolve("x", base_url=f"https://{host}/v1", environ={}).base_url == f"https://{host}/v1"


def test_the_key_of_a_provider_goes_to_no_unencrypted_spelling_of_it() -> None:
    found = resolve("x", base_url="http://api.openai.com/v1", environ={"OPENAI_API_KEY": "sk-123456"})
    assert (found.provider, bool(found.key)) == ("api.openai.com", False)


def test_a_key_that_workers_would_inherit_is_refused() -> None:
    with pytest.raises(EndpointError, match="worker processes would inherit the key in MINE"):
        resolve("x", base_url="https://a.example", key_variable="MINE", environ={"MINE": "sk-123456"})


def test_a_key_with_rubbish_is_refused_before_it_is_sent() -> None:
    with pytest.raises(EndpointError, match="no usable key"):
        resolve("gpt-4o", environ={"OPENAI_API_KEY": "sk-1 2"})


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True), ("http://127.0.0.1/v1", True), ("http://[::1]:8/v1", True),
        ("https://localhost.example.com", False), ("http://localhost@evil.example", False),
        ("http://10.0.0.1", False), ("http://0.0.0.0", False), ("", False),
    ],
)  # fmt: skip
def test_what_is_local(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_dialects_write_what_a_model_takes() -> None:
    body = EndpointDialect(system="developer", temperature=False, length="max_completion_tokens", stream=False).request(
        "o1", MESSAGES, CompletionOptions(0.7, 99, structured=True)
    )
    assert body.keys() == {"model", "messages", "max_completion_tokens"}
    assert [message["role"] for message in body["messages"]] == ["developer", "user", "assistant", "user"]
    merged = EndpointDialect(system="user").request("o1-mini", MESSAGES, CompletionOptions())["messages"]
    assert [message["content"] for message in merged] == ["a\n\nb", "c", "d"]
    assert "response_format" in EndpointDialect(structured=True).request(
        "m", MESSAGES, CompletionOptions(structured=True)
    )


def test_a_chain_of_complaints_ends() -> None:
    dialect, steps = EndpointDialect(structured=True), 0
    words = "temperature system role response_format max_tokens stream stream_options"
    while (taught := dialect.without(words)) != dialect:
        dialect, steps = taught, steps + 1
    assert steps == 7
    assert dialect == EndpointDialect(False, "user", False, "", False, False)
    assert EndpointDialect().without("I do not like your prompt") == EndpointDialect()


PLACES = json.loads((Path(__file__).parent / "endpoint_places.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", PLACES, ids=lambda case: ascii(case["url"]))
def test_addresses_are_read_as_the_editor_reads_them(case: dict[str, Any]) -> None:
    """The extension's unit tests read the same table."""
    if case["place"] is None:
        with pytest.raises(EndpointError):
            resolve("x", base_url=case["url"] or " ", environ={})
    else:
        found = resolve("x", base_url=case["url"], environ={"OPENAI_API_KEY": "sk-123456"})
        assert (place_of(found.base_url), found.is_local) == (case["place"], case["local"])

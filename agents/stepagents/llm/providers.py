"""Providers and models that are known by name, with what is known of them. Facts only; keys come from the environment.

Prices are US dollars for a million tokens on the day that is given. A price that is not known is None, never zero.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import field, replace
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from stepagents.llm.dialect import EndpointDialect
from stepagents.llm.limits import Rates
from stepagents.llm.transport import Secret
from stepcore.jobs.process import clean_environment
from stepcore.records import Record

_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")  # what makes a host an address where it comes last
LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class EndpointError(ValueError):
    """A model, a base URL or a key that cannot be used; the message says what to do."""


class Price(Record):
    """US dollars for a million tokens, as published on the day ``as_of``."""

    input: float
    output: float
    as_of: str

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the dollars for so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Provider(Record):
    """An endpoint that speaks the chat completions protocol. ``key_variable`` is empty where no key is needed."""

    name: str
    base_url: str
    key_variable: str
    dialect: EndpointDialect = field(default_factory=EndpointDialect)
    rates: Rates = field(default_factory=Rates)


_REASONING: Final = EndpointDialect(
    temperature=False, system="developer", structured=True, length="max_completion_tokens"
)
_OPENAI: Final = EndpointDialect(structured=True, length="max_completion_tokens")
_LOCAL_SCHEMA: Final = EndpointDialect(structured=True)

PROVIDERS: Final[tuple[Provider, ...]] = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", _OPENAI, Rates(requests=500, tokens=200_000)),
    Provider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", rates=Rates(50, 40_000, 4)),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", rates=Rates(requests=60)),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", _LOCAL_SCHEMA, Rates(concurrency=32)),
    Provider("ollama", "http://localhost:11434/v1", "", _LOCAL_SCHEMA, Rates(concurrency=2)),
)
OPTIONAL_KEYS: Final = frozenset({"VLLM_API_KEY"})


class Model(Record):
    """A model under its common name. ``ids`` maps providers to what they call it, its own provider first."""

    name: str
    ids: Mapping[str, str]
    context: int
    output_tokens: int = 8192
    dialect: EndpointDialect | None = None  # on its own provider; None: the provider's
    price: Price | None = None  # on its own provider


MODELS: Final[tuple[Model, ...]] = (
    # The five of the published experiments.
    Model(
        "claude-3.5-sonnet",
        {"anthropic": "claude-3-5-sonnet-20241022", "openrouter": "anthropic/claude-3.5-sonnet"},
        200_000, price=Price(3.0, 15.0, "2024-10-22"),
    ),
    Model(
        "o1", {"openai": "o1-2024-12-17", "openrouter": "openai/o1"},
        200_000, 32_768, _REASONING, Price(15.0, 60.0, "2024-12-17"),
    ),
    Model(
        "gpt-4o", {"openai": "gpt-4o-2024-11-20", "openrouter": "openai/gpt-4o"},
        128_000, price=Price(2.5, 10.0, "2024-11-20"),
    ),
    Model(
        "llama-3.1-405b",
        {
            "together": "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo",
            "openrouter": "meta-llama/llama-3.1-405b-instruct",
        },
        130_000, 4096, price=Price(3.5, 3.5, "2024-12-01"),
    ),
    Model(
        "deepseek-v3", {"deepseek": "deepseek-chat", "openrouter": "deepseek/deepseek-chat"},
        64_000, price=Price(0.27, 1.10, "2025-02-09"),
    ),
    # Their successors.
    Model(
        "claude-3.7-sonnet",
        {"anthropic": "claude-3-7-sonnet-20250219", "openrouter": "anthropic/claude-3.7-sonnet"},
        200_000, price=Price(3.0, 15.0, "2025-02-24"),
    ),
    Model(
        "claude-sonnet-4", {"anthropic": "claude-sonnet-4-20250514", "openrouter": "anthropic/claude-sonnet-4"},
        200_000, price=Price(3.0, 15.0, "2025-05-22"),
    ),
    Model(
        "claude-opus-4", {"anthropic": "claude-opus-4-20250514", "openrouter": "anthropic/claude-opus-4"},
        200_000, price=Price(15.0, 75.0, "2025-05-22"),
    ),
    Model(
        "o3", {"openai": "o3-2025-04-16", "openrouter": "openai/o3"},
        200_000, 32_768, _REASONING, Price(2.0, 8.0, "2025-06-10"),
    ),
    Model(
        "o4-mini", {"openai": "o4-mini-2025-04-16", "openrouter": "openai/o4-mini"},
        200_000, 32_768, _REASONING, Price(1.1, 4.4, "2025-04-16"),
    ),
    Model(
        "gpt-4.1", {"openai": "gpt-4.1-2025-04-14", "openrouter": "openai/gpt-4.1"},
        1_000_000, price=Price(2.0, 8.0, "2025-04-14"),
    ),
    Model(
        "gpt-5", {"openai": "gpt-5-2025-08-07", "openrouter": "openai/gpt-5"},
        400_000, 32_768, _REASONING, Price(1.25, 10.0, "2025-08-07"),
    ),
    Model(
        "llama-4-maverick",
        {
            "together": "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
            "openrouter": "meta-llama/llama-4-maverick",
        },
        500_000, 8192, price=Price(0.27, 0.85, "2025-04-05"),
    ),
    Model(
        "deepseek-r1", {"deepseek": "deepseek-reasoner", "openrouter": "deepseek/deepseek-r1"},
        64_000, 32_768, EndpointDialect(temperature=False), Price(0.55, 2.19, "2025-02-09"),
    ),
)  # fmt: skip
UNKNOWN_CONTEXT: Final = 32_000  # tokens that are taken for granted where nothing is known


class Endpoint(Record):
    """Everything that a request needs. The key shows in no text form of it."""

    provider: str
    base_url: str
    model: str
    key: Secret
    dialect: EndpointDialect
    rates: Rates
    price: Price | None = None
    context: int = UNKNOWN_CONTEXT
    output_tokens: int = 4096
    key_variable: str = ""  # where the key came from

    @property
    def name(self) -> str:
        """Provider and model, as results name it."""
        return f"{self.provider}/{self.model}"

    @property
    def is_local(self) -> bool:
        """Whether requests stay on this machine."""
        return is_local(self.base_url)


def is_local(base_url: str) -> bool:
    """Return whether ``base_url`` names this machine."""
    return plain_host(base_url) in LOCAL_HOSTS


def plain_host(base_url: str) -> str:
    """Return the host of an endpoint in one spelling, without its port; an IPv6 address without its brackets.

    The editor's extension spells hosts the same way: a yes holds for a host, however it is written. "" for none.
    """
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    try:
        return ip_address(host).compressed
    except ValueError:
        return host


def resolve(
    model: str,
    *,
    base_url: str = "",
    provider: str = "",
    key_variable: str = "",
    price: Price | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Return the endpoint for ``model``, a preset's name or a provider's own name for a model.

    Args:
        model: for example ``gpt-4o``; ``openrouter/gpt-4o`` is short for ``provider="openrouter"``.
        base_url: of an endpoint that is no preset, or another address of ``provider``.
        provider: a preset of :data:`PROVIDERS`; by default that of the model.
        key_variable: the environment variable that holds the key, instead of the provider's.
        price: replaces what the presets say.
        environ: where the key is looked up.

    Raises:
        EndpointError: unknown names, an unusable URL, or a key that is missing.
    """
    if not model:
        raise EndpointError(f"name a model: one of {', '.join(preset.name for preset in MODELS)}, or a provider's own")
    if not provider and not base_url:
        provider, model = _split(model)
    if base_url:
        _check_url(base_url)
    preset = next((found for found in MODELS if model == found.name or model in found.ids.values()), None)
    if not provider and not base_url:
        if preset is None:
            raise EndpointError(_unknown_model(model))
        provider = next(iter(preset.ids))
    found = _provider(provider, base_url)
    is_own = preset is not None and next(iter(preset.ids)) == found.name
    if preset is not None:
        model = preset.ids.get(found.name, model)
    return Endpoint(
        provider=found.name,
        base_url=found.base_url,
        model=model,
        key=_key(found, key_variable, environ),
        dialect=preset.dialect if preset is not None and preset.dialect is not None else found.dialect,
        rates=found.rates,
        price=price or (preset.price if preset is not None and is_own else None) or _free(found),
        context=preset.context if preset is not None else UNKNOWN_CONTEXT,
        output_tokens=preset.output_tokens if preset is not None else 4096,
        key_variable=key_variable or found.key_variable,
    )


def _split(model: str) -> tuple[str, str]:
    """Return the provider that stands before the first slash, empty where that is part of the model's own name."""
    before, slash, rest = model.partition("/")
    is_provider = slash and any(provider.name == before for provider in PROVIDERS)
    return (before, rest) if is_provider else ("", model)


def _unknown_model(model: str) -> str:
    names = [preset.name for preset in MODELS]
    close = difflib.get_close_matches(model, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known models: {', '.join(names)}"
    providers = ", ".join(provider.name for provider in PROVIDERS)
    return f"the model {model!r} is not known; {hint} For any other give --base-url, or PROVIDER/MODEL ({providers})"


def _provider(name: str, base_url: str) -> Provider:
    known = {provider.name: provider for provider in PROVIDERS}
    if name and name not in known:
        raise EndpointError(f"there is no provider {name!r}; known are {', '.join(known)}, or give --base-url")
    if name:
        return replace(known[name], base_url=base_url or known[name].base_url)
    for provider in PROVIDERS:
        if _place(provider.base_url) == _place(base_url):
            return replace(provider, base_url=base_url)
    host = urlsplit(base_url).hostname or base_url
    return Provider(host, base_url, "")


def _place(url: str) -> tuple[str, str | None, str]:
    """Return what an address is recognized by; the key of a provider goes to no unencrypted spelling of it."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.netloc.rpartition(":")[2]


def _check_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and base_url.isascii() and not any(c.isspace() or not c.isprintable() for c in base_url)
    except ValueError:
        usable = False
        parts = None
    if not usable or parts is None:
        raise EndpointError("this base URL cannot be used; it looks like https://api.example.com/v1")
    if "@" in parts.netloc or "?" in base_url:
        raise EndpointError("a base URL holds no user, password or query; put the key into an environment variable")
    is_host = _HOST.fullmatch(parts.netloc) and _is_name_or_address(plain_host(base_url), parts.netloc)
    if not is_host or "#" in base_url:
        # Readers of addresses differ about all else: who asks for consent must see the host that gets the text.
        raise EndpointError(
            "this base URL cannot be used: its host is a name or an IP address, such as api.example.com"
        )


def _is_name_or_address(host: str, netloc: str) -> bool:
    """Whether a host that looks like an address is one in full: `127.1` and `0x7f000001` are read as such by some."""
    try:
        return (ip_address(host).version == 6) is netloc.startswith("[")
    except ValueError:
        return not netloc.startswith("[") and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _key(provider: Provider, variable: str, environ: Mapping[str, str]) -> Secret:
    name = variable or provider.key_variable
    if not name:
        return Secret("")
    value = environ.get(name, "").strip()
    if variable and not value:  # not quoted: it may be the key itself, given by mistake
        raise EndpointError(f"{provider.name} needs a key: no environment variable has the name that was given for it")
    if not value and name not in OPTIONAL_KEYS:
        raise EndpointError(f"{provider.name} needs a key: set the environment variable {name}")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise EndpointError(f"the environment variable {name} holds no usable key: it has spaces or non-ASCII letters")
    if name in clean_environment({name: ""}, {}):
        raise EndpointError(
            f"worker processes would inherit the key in {name}; use a variable whose name holds KEY, TOKEN or SECRET"
        )
    return Secret(value)


def _free(provider: Provider) -> Price | None:
    """Ollama runs on the user's own machine and charges nothing; what others behind localhost charge is unknown."""
    return Price(0.0, 0.0, "always") if provider.name == "ollama" and is_local(provider.base_url) else None

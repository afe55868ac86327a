"""What holds for runs: limits and network, from the project, from the user's own settings, and for one call.

A project's file comes with its repository, so it may only tighten. What raises a limit or opens the network is the
command line, the user's own file (:func:`user_file`) or the editor's settings of the user.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from stepcore.records import Record
from stepcore.settings.config import (
    Config,
    ConfigError,
    read_answers,
    read_flag,
    read_memory_limit,
    read_table,
    read_time_limit,
)

_DEFAULTS: Final = Config()
_MOST_DOLLARS: Final = 1e6  # for a million tokens


class Wishes(Record):
    """What a user wants, in general or for one call; None leaves it open. Seconds, MiB, whether there is network.

    ``answers_without_program`` is that of :class:`stepcore.settings.config.Config`. ``model_prices`` are US dollars
    for a million tokens of prompts and of answers, by the name of a model.
    """

    time_limit: float | None = None
    memory_limit: int | None = None
    network: bool | None = None
    answers_without_program: int | None = None
    model_prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)


_OPEN: Final = Wishes()


class InForce(Record):
    """What holds: ``seconds`` for each program, ``memory`` in MiB for each worker, ``network`` for functions of users.

    ``notes`` say what a project asked for in vain; ``origins`` where each value comes from, by the names of
    :class:`Wishes`.
    """

    seconds: float
    memory: int
    network: bool
    notes: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def user_file() -> Path:
    """Return the path of the user's own file, which need not exist."""
    return _user_file(os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=2)  # an editor's server asks a dozen times for each save
def _user_file(_config: str | None, _home: str | None) -> Path:
    import platformdirs

    return Path(platformdirs.user_config_path("stepsmith", appauthor=False)) / "config.toml"


def user_wishes() -> Wishes:
    """Return what the user's own file says.

    Raises:
        ConfigError: it cannot be used.
    """
    path = user_file()
    if not os.path.lexists(path):
        return Wishes()
    found: dict[str, Any] = {}
    for key, value in read_table(path).items():
        if key not in _READERS:
            raise ConfigError(path, f"unknown key {key!r}; known keys: {', '.join(_READERS)}")
        try:
            found[key] = _READERS[key](value)
        except ValueError as error:
            raise ConfigError(path, f"{key}: {error}") from error
    return Wishes(**found)


def in_force(config: Config, call: Wishes = _OPEN, user: Wishes = _OPEN) -> InForce:
    """Return what holds for a file with ``config``: ``call`` (command line, editor) before ``user`` (the user's file);
    a project tightens what the user's file or the defaults allow, and nothing that was said for the call.
    """
    seconds, memory = _limit("time_limit", "s", config, call, user), _limit("memory_limit", "MiB", config, call, user)
    network = call.network if call.network is not None else bool(user.network)
    origins = {
        "time_limit": seconds.origin,
        "memory_limit": memory.origin,
        "network": "this call" if call.network is not None else str(user_file()) if user.network else "default",
    }
    notes = tuple(found.note for found in (seconds, memory) if found.note)
    return InForce(seconds.value, memory.value, network, notes, origins)


def answers_in_force(config: Config, call: Wishes = _OPEN, user: Wishes = _OPEN) -> tuple[int, str]:
    """Return how many answers without a program a model may give to a task of a file with ``config``, and what is to be
    said of a project that asked for more in vain; they are ranked as by :func:`in_force`.
    """
    found = _limit("answers_without_program", "answers", config, call, user)
    return found.value, found.note


class _Limit(Record):
    """A limit that holds, where it comes from, and what a project asked for in vain."""

    value: Any
    origin: str
    note: str = ""


def _limit(name: str, unit: str, config: Config, call: Wishes, user: Wishes) -> _Limit:
    wanted, general, asked = getattr(call, name), getattr(user, name), config.asked.get(name)
    if wanted is not None:
        return _Limit(wanted, "this call")
    most = getattr(_DEFAULTS, name) if general is None else general
    origin = "default" if general is None else str(user_file())
    if asked is None or asked == most:
        return _Limit(most, origin)
    if asked < most:
        return _Limit(asked, str(config.path))
    option = "--" + name.replace("_", "-")
    note = (
        f"{config.path}: {name} = {asked:g} is not followed, {most:g} {unit} hold: a project may only "
        f"tighten limits; use {option} or set {name} in {user_file()}"
    )
    return _Limit(most, origin, note)


def _prices(value: object) -> dict[str, tuple[float, float]]:
    """Return prices by the names of models; ``ValueError`` for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f'expected a table such as {{ "gpt-4o" = [2.5, 10.0] }}, found {value!r}')
    return {name: read_price(found) for name, found in value.items()}


def read_price(value: object) -> tuple[float, float]:
    """Return the US dollars for a million tokens of prompts and of answers; ``ValueError`` for anything else."""
    what = f"expected US dollars for a million tokens of prompts and of answers, such as [2.5, 10.0], found {value!r}"
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(what)
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= _MOST_DOLLARS:
            raise ValueError(what)
    return float(value[0]), float(value[1])


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "time_limit": read_time_limit, "memory_limit": read_memory_limit, "network": read_flag,
    "answers_without_program": read_answers, "model_prices": _prices,
}  # fmt: skip

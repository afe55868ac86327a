"""What holds for runs: limits and network, from the project, from the user's own settings, and for one call.

A project's file comes with its repository, so it may only tighten. What raises a limit or opens the network is the
command line, the user's own file (:func:`user_file`) or the editor's settings of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepcore.config import Config, ConfigError, read_flag, read_memory_limit, read_table, read_time_limit

_DEFAULTS: Final = Config()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a user wants, in general or for one call; None leaves it open. Seconds, MiB, whether there is network."""

    time_limit: float | None = None
    memory_limit: int | None = None
    network: bool | None = None


_OPEN: Final = Wishes()


@dataclass(frozen=True, slots=True)
class InForce:
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
    import platformdirs

    return Path(platformdirs.user_config_path("stepsmith", appauthor=False)) / "config.toml"


def user_wishes() -> Wishes:
    """Return what the user's own file says.

    Raises:
        ConfigError: it cannot be used.
    """
    path = user_file()
    if not path.is_file():
        return Wishes()
    found: dict[str, Any] = {}
    for key, value in read_table(path).items():
        if key not in _READERS:
            raise ConfigError(f"{path}: unknown key {key!r}; known keys: {', '.join(_READERS)}")
        try:
            found[key] = _READERS[key](value)
        except ValueError as error:
            raise ConfigError(f"{path}: {key}: {error}") from error
    return Wishes(**found)


def in_force(config: Config, call: Wishes = _OPEN, user: Wishes = _OPEN) -> InForce:
    """Return what holds for a file with ``config``: ``call`` (command line, editor) before ``user`` (the user's file);
    a project tightens what the user's file or the defaults allow, and nothing that was said for the call.
    """
    notes: list[str] = []
    origins: dict[str, str] = {}

    def limit(name: str, unit: str) -> Any:
        wanted, general, asked = getattr(call, name), getattr(user, name), config.asked.get(name)
        if wanted is not None:
            origins[name] = "this call"
            return wanted
        most = getattr(_DEFAULTS, name) if general is None else general
        origins[name] = "default" if general is None else str(user_file())
        if asked is None or asked == most:
            return most
        if asked < most:
            origins[name] = str(config.path)
            return asked
        option = "--" + name.replace("_", "-")
        notes.append(
            f"{config.path}: {name} = {asked:g} is not followed, {most:g} {unit} hold: a project may only "
            f"tighten limits; use {option} or set {name} in {user_file()}"
        )
        return most

    seconds, memory = limit("time_limit", "s"), limit("memory_limit", "MiB")
    network = call.network if call.network is not None else bool(user.network)
    origins["network"] = "this call" if call.network is not None else str(user_file()) if user.network else "default"
    return InForce(seconds, memory, network, tuple(notes), origins)


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "time_limit": read_time_limit, "memory_limit": read_memory_limit, "network": read_flag,
}  # fmt: skip

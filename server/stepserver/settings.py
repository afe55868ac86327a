"""What the user may set in the editor. The table ``[tool.stepsmith]`` of a project lies below it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:  # settings are read before the language is loaded
    from stepcore.jobdata.choices import AffineRule
    from stepcore.settings.config import Config
    from stepcore.settings.limits import InForce

log = logging.getLogger(__name__)

Run: TypeAlias = Literal["onSave", "onDemand", "off"]
_RUNS: Final = ("onSave", "onDemand", "off")
SECTION: Final = "stepsmith"


@dataclass(frozen=True, slots=True)
class Settings:
    """One consistent set of settings. None: the project's configuration decides."""

    affine: AffineRule | None = None
    run: Run = "onSave"
    seconds: float | None = None
    memory: int | None = None  # MiB
    network: bool | None = None
    inlay_hints: bool = True
    timing: bool = True
    timing_inlay: bool = True
    timing_lens: bool = True
    timing_hw: str | None = None
    interpreter: str | None = None


def read_settings(section: object) -> Settings:
    """Return the settings of the client's section ``stepsmith``, nested or with dots in the keys.

    A value that a setting does not take is logged and counts as absent.
    """
    found = _flat(section) if isinstance(section, Mapping) else {}
    return Settings(
        affine=cast("Any", _one_of(found, "affine", ("strict", "paper"))),
        run=cast("Run", _one_of(found, "simulation.run", _RUNS) or "onSave"),
        seconds=_number(found, "simulation.seconds"),
        memory=None if (memory := _number(found, "simulation.memory")) is None else max(64, int(memory)),
        network=network if isinstance(network := found.get("simulation.network"), bool) else None,
        inlay_hints=found.get("inlayHints.enabled") is not False,
        timing=found.get("timing.enabled") is not False,
        timing_inlay=found.get("timing.inlay") is not False,
        timing_lens=found.get("timing.lens") is not False,
        timing_hw=_text(found, "timing.hw"),
        interpreter=_text(found, "interpreter"),
    )


def tightened(folder: Settings, window: Settings) -> Settings:
    """Return the settings of a folder; of limits and network they may only tighten what holds for the window.

    A client may take them from files of the folder itself, which come with a repository.
    """
    from stepcore.settings.config import Config

    plain = Config()
    most_seconds = window.seconds or plain.time_limit
    most_memory = window.memory or plain.memory_limit
    return replace(
        folder,
        seconds=min(folder.seconds, most_seconds) if folder.seconds else window.seconds,
        memory=min(folder.memory, most_memory) if folder.memory else window.memory,
        network=bool(window.network and folder.network) if folder.network is not None else window.network,
    )


def limits_of(settings: Settings, config: Config) -> InForce:
    """Return what holds for a module: the user's file, the editor's settings above it, the project's within them."""
    from stepcore.settings.config import ConfigError
    from stepcore.settings.limits import Wishes, in_force, user_wishes

    try:
        user = user_wishes()
    except ConfigError as error:
        log.warning("the user's configuration cannot be used: %s", error)
        user = Wishes()
    held = in_force(config, Wishes(settings.seconds, settings.memory, settings.network), user)
    for note in held.notes:
        _warn_once(note)
    return held


@lru_cache(maxsize=256)
def _warn_once(note: str) -> None:
    log.warning("%s", note)


def _flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in section.items():
        name = prefix + str(key).removeprefix(SECTION + ".")
        if isinstance(value, Mapping):
            found |= _flat(value, name + ".")
        else:
            found[name] = value
    return found


def _one_of(found: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str | None:
    value = found.get(name)
    if value in (None, ""):
        return None
    if value not in known:
        log.warning("setting %s.%s: expected one of %s, found %r", SECTION, name, ", ".join(known), value)
        return None
    return str(value)


def _number(found: Mapping[str, Any], name: str) -> float | None:
    value = found.get(name)
    if value in (None, "", 0):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        log.warning("setting %s.%s: expected a number above 0, found %r", SECTION, name, value)
        return None
    return float(value)


def _text(found: Mapping[str, Any], name: str) -> str | None:
    value = found.get(name)
    return value if isinstance(value, str) and value.strip() else None

"""Which chip programs are timed on: the one that somebody asks for, else the project's, else the default.

``hw`` of ``[timing]`` in a configuration, like ``--hw``, is the name of a preset or of a TOML file. That of a
configuration is relative to it and stays inside of its folder: it comes with a repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepcore.chips.keys import HardwareError
from stepcore.chips.reader import read_hardware
from stepcore.findings.near import nearest
from stepcore.records import Record
from stepcore.settings.config import Config, key_line
from stepcore.text.files import Unusable, read_file
from stepcore.text.wording import clipped, one_line
from stepcore.timing.hardware import PRESETS, Hardware

SUFFIX: Final = ".toml"
PLAIN: Final = "default"  # where nobody says anything


class ChosenChip(Record):
    """A chip, and who chose it: ``origin`` is a configuration file, the option, or empty for the default.

    ``path`` is the file that describes it, None for a preset.
    """

    chip: Hardware
    origin: str = ""
    path: Path | None = None


def is_chip(name: str) -> bool:
    """Return whether ``name`` is that of a chip, and not of a program: a preset or a TOML file."""
    return name in PRESETS or Path(name).suffix == SUFFIX


def chosen_chip(config: Config, hw: str | None = None, *, option: str = "--hw") -> ChosenChip:
    """Return the chip that is in force: ``hw`` of the call, else that of ``config``, else the default.

    Raises:
        HardwareError: there is no such chip, or its file cannot be used.
    """
    if hw is not None:
        return _chosen(hw, Path(hw), option)
    if config.hw is None or config.path is None:
        return ChosenChip(PRESETS[PLAIN])
    try:
        return _chosen(config.hw, _inside(config.path.parent, config.hw), str(config.path))
    except HardwareError as error:
        if error.path:
            raise
        raise HardwareError(str(error), _line(config.path), one_line(config.path)) from error


class Chips:
    """Chips that were chosen in one call of a command: each file is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, Path | None], Hardware] = {}

    def chip(self, config: Config, hw: str | None = None) -> Hardware:
        """Return the chip that is in force.

        Raises:
            HardwareError: see :func:`chosen_chip`.
        """
        key = hw, None if hw is not None else config.path
        if key not in self._known:
            self._known[key] = chosen_chip(config, hw).chip
        return self._known[key]


def _line(path: Path) -> int:
    """Return the line of a configuration that says ``hw``; 0 where that is not certain."""
    try:
        return key_line(path, read_file(path).text, ("timing", "hw"))
    except Unusable:
        return 0


def _inside(folder: Path, name: str) -> Path:
    """Return a file of the project, wherever links lead."""
    path = folder / name
    try:
        is_inside = not Path(name).is_absolute() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, or a NUL
        is_inside = False
    if not is_inside:
        text = f"hw = {clipped(repr(name), 80)} leads out of the project: give a path below its configuration file"
        raise HardwareError(text)
    return path


def _chosen(name: str, path: Path, origin: str) -> ChosenChip:
    if name in PRESETS:
        return ChosenChip(PRESETS[name], origin)
    if path.suffix != SUFFIX:
        near = nearest(name[:80], PRESETS, closed=True)
        advice = f"did you mean {near[0]}? " if near else ""
        known = f"name a preset ({', '.join(PRESETS)}) or a {SUFFIX} file"
        raise HardwareError(f"no chip is called {clipped(repr(name), 80)}: {advice}{known}")
    return ChosenChip(read_chip(path), origin, path)


def read_chip(path: Path) -> Hardware:
    """Return the chip that a file describes.

    Raises:
        HardwareError: the file cannot be used; the error names it.
    """
    try:
        text = read_file(path).text
    except (Unusable, ValueError) as error:
        reason = error.message if isinstance(error, Unusable) else "this is no path of a file"
        raise HardwareError(reason, path=one_line(path)) from error
    try:
        return read_hardware(text, _named(path))
    except HardwareError as error:
        raise HardwareError(str(error), error.line, one_line(path)) from error


def _named(path: Path) -> str:
    name = path.name if path.stem in PRESETS else path.stem  # which is no preset, whatever it is called
    return clipped(one_line(name), 50) or "chip"

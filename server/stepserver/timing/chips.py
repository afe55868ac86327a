"""Which chip a module is timed on: settings, configurations and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from stepcore.chips.chosen import SUFFIX, chosen_chip
from stepcore.chips.keys import HardwareError
from stepcore.text.files import Unusable, read_file
from stepserver.documents import Module
from stepserver.paths import file_path
from stepserver.simulation import Around
from stepserver.timing.runs import ChipInForce

_PLAIN: Final = "default"


class ChosenChips:
    """The chip that holds for each module. ``follow`` watches files that describe chips."""

    def __init__(self, around: Around, follow: Callable[[Iterable[str]], None]) -> None:
        self._around = around
        self._follow = follow
        self._known: dict[tuple[str | None, str, str], ChipInForce] = {}

    def forget(self) -> None:
        """Read all anew: files, settings or configurations may have changed."""
        self._known.clear()

    def of(self, module: Module) -> ChipInForce:
        """Return the chip for a module: the one that the user set, else that of the project's configuration."""
        setting = self._around.workspace.settings_of(module.uri).timing_hw
        config = self._around.projects.project(module).config
        key = setting, str(config.path), f"{config.hw} {self._around.workspace.folder_of(module.uri)}"
        if key not in self._known:
            self._known[key] = self._read_chip(module, setting)
        return self._known[key]

    def _read_chip(self, module: Module, setting: str | None) -> ChipInForce:
        config = self._around.projects.project(module).config
        try:
            wanted = None if setting is None else self._in_folder(module, setting)
            chosen = chosen_chip(config, wanted, option="stepsmith.timing.hw")
            if chosen.path is None:
                return ChipInForce(chosen.chip.name, None, chosen.origin)
            self._follow([str(chosen.path.absolute())])
            return ChipInForce(chosen.chip.name, read_file(chosen.path).text, chosen.origin)
        except HardwareError as error:
            return ChipInForce(setting or config.hw or _PLAIN, problem=f"{error.place}: {error}".removeprefix(": "))
        except Unusable as error:
            return ChipInForce(setting or config.hw or _PLAIN, problem=error.message)

    def _in_folder(self, module: Module, setting: str) -> str:
        """Return the chip of a setting; a file's path is relative to the document's folder, else to the first one."""
        workspace = self._around.workspace
        folder = file_path(workspace.folder_of(module.uri) or next(iter(workspace.folders), ""))
        return str(Path(folder) / setting) if folder and Path(setting).suffix == SUFFIX else setting

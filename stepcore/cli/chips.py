"""``stepsmith hw``: the chips that programs can be timed on, and which one is in force here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stepcore.chips.chosen import ChosenChip, chosen_chip
from stepcore.chips.keys import FLOPS, KEYS, HardwareError, all_values, differences, values_of
from stepcore.chips.prices import PRICES
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_UNUSABLE, complain
from stepcore.cli.time import unusable_chip
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.text.wording import one_line
from stepcore.timing.hardware import PRESETS, Hardware


def show(name: str | None, output: str, hw: str | None = None) -> int:
    """Print the chips that are known; all that is known of the one ``name``; or in what ``hw`` differs from its base.

    Without a name, and as JSON always, it also says which chip is in force in this folder.
    """
    if name is not None and hw is not None:
        complain("name a chip, or a file with --hw, and not both")
        return EXIT_UNUSABLE
    try:
        here = chosen_chip(Configs().for_file(Path.cwd()), hw)
        one = None if name is None else chosen_chip(Config(), name).chip
    except HardwareError as error:
        complain(unusable_chip(error))
        return EXIT_UNUSABLE
    except ConfigError as error:
        complain(f"STEP907 the configuration cannot be used: {error}")
        return EXIT_UNUSABLE
    if one is None and hw is not None:
        one = here.chip
    own = [] if here.path is None else [here.chip]
    chips = [*PRESETS.values(), *own] if one is None else [one]
    if output == "json":
        print(json.dumps([_row(chip, here) for chip in chips], indent=2))
        return EXIT_CLEAN
    for chip in chips:
        lines = _listed(chip) if one is None else _changed(chip) if hw is not None else _explained(chip)
        print("\n".join(map(one_line, lines)), end="\n\n")
    if one is None:
        print(one_line(f"in force here: {_origin(here)}"))
    return EXIT_CLEAN


def _origin(here: ChosenChip) -> str:
    said = f"as {here.origin} says" if here.origin else "as nothing says otherwise ([timing] hw, or --hw)"
    described = "" if here.path is None else f" of {here.path}"
    return f"{here.chip.name}{described}, {said}"


def _row(chip: Hardware, here: ChosenChip) -> dict[str, Any]:
    changed = {key: {"base": before, "here": value} for key, (before, value) in differences(chip).items()}
    in_force = chip == here.chip
    return {
        "name": chip.name,
        **values_of(chip),
        "flops": dict(chip.flops),
        "base": chip.base or None,
        "differences": changed if chip.base else None,
        "in_force": in_force,
        "origin": here.origin or None if in_force else None,
        "path": str(here.path) if in_force and here.path is not None else None,
    }


def _head(chip: Hardware) -> str:
    base = f", like {chip.base}" if chip.base else ""
    return f"{chip.name}{base}: {chip.memory.bandwidth:,} bytes per cycle off chip"


def _listed(chip: Hardware) -> Iterator[str]:
    yield _head(chip)
    yield from (f"  {key} = {value}" for key, value in all_values(chip).items())


def _explained(chip: Hardware) -> Iterator[str]:
    yield _head(chip)
    for key, value in all_values(chip).items():
        known = KEYS.get(key, FLOPS)
        unit = f"{known.unit}: " if known.unit else ""
        meaning = known.meaning.replace("NAME", key.removeprefix("flops."))
        yield f"  {f'{key} = {value}':<32}  {unit}{meaning}; {known.bounds}"


def _changed(chip: Hardware) -> Iterator[str]:
    found = differences(chip)
    yield _head(chip) + ("" if found else "; nothing differs")
    for key, (before, value) in found.items():
        instead = PRICES.get(key.removeprefix("flops."), 1) if before is None else before
        yield f"  {key} = {value}  (instead of {instead})"

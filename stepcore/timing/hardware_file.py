"""One's own chip: a TOML file with the name of a preset as ``base``, and the keys in which the chip differs.

Every key of :class:`stepcore.timing.hardware.Hardware` may stand there under its dotted name, as tables or as dotted
keys; ``flops`` holds costs per element by the name of a function of torch. Anything else is refused with its line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from stepcore.findings.near import nearest
from stepcore.text.wording import clipped
from stepcore.timing.hardware import INTERLEAVES, PRESETS, Hardware

MAX_TEXT: Final = 1 << 16  # characters
_MOST: Final = 1 << 40
_ZERO_MEANS_NONE: Final = frozenset({"onchip.capacity", "memory.outstanding"})
_MAY_BE_ZERO: Final = _ZERO_MEANS_NONE | {
    "fifo.latency", "fifo.response", "memory.latency", "memory.startup", "unit.switch", "compute.minimum",
}  # fmt: skip
_MOST_OF: Final[Mapping[str, int]] = {"memory.channels": 4096, "fifo.depth": 1 << 22, "memory.dispatch": 4096}
_FUNCTION: Final = re.compile(r"[a-z_][a-z0-9_]{0,63}")


class HardwareError(ValueError):
    """A description of a chip that cannot be used. ``line`` is that of the key, from 1; 0 where there is none."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(clipped(message, 500))
        self.line = line


def keys() -> tuple[str, ...]:
    """Return all keys that a file may hold besides ``base``, ``name`` and those of ``flops``."""
    return tuple(values_of(PRESETS["default"]))


def read_hardware(text: str, name: str) -> Hardware:
    """Return the chip that ``text`` describes, called ``name`` unless the text says so itself.

    Raises:
        HardwareError: it is no TOML, a key is unknown, or a value is none that the key may have.
    """
    if len(text) > MAX_TEXT:
        raise HardwareError(f"a description of a chip has at most {MAX_TEXT:,} characters, and this has {len(text):,}")
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r"at line (\d+)", str(error))
        raise HardwareError(f"this is no TOML: {error}", int(at[1]) if at else 0) from error
    return _Reader(text).read(table, name)


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def read(self, table: Mapping[str, Any], name: str) -> Hardware:
        base = table.get("base", "default")
        if not isinstance(base, str) or base not in PRESETS:
            raise self._error("base", f"base is one of {', '.join(PRESETS)}, and not {clipped(repr(base), 40)}")
        chip = replace(PRESETS[base], name=self._name(table, name))
        known = {**values_of(chip), "base": "", "name": ""}
        flops = dict(chip.flops)
        for key, value in _flat(table, ""):
            if key.startswith("flops."):
                flops[self._function(key)] = self._number(key, value, 0)
            elif key not in known:
                near = nearest(key, known, closed=True)
                advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}, and flops.NAME"
                raise self._error(key, f"no key is called {clipped(key, 80)}{advice}")
            elif key not in ("base", "name"):
                chip = _with(chip, key, self._value(key, value))
        return replace(chip, flops=MappingProxyType(flops))

    def _name(self, table: Mapping[str, Any], name: str) -> str:
        found = table.get("name", name)
        if not isinstance(found, str) or not found.isprintable() or not 0 < len(found) <= 60:
            raise self._error("name", "name is a text of at most 60 characters")
        return found

    def _function(self, key: str) -> str:
        name = key.removeprefix("flops.")
        if not _FUNCTION.fullmatch(name):
            raise self._error(key, f"{clipped(name, 40)} is no name of a function of torch, such as silu")
        return name

    def _value(self, key: str, value: Any) -> int | str:
        if key == "memory.interleave":
            if value not in INTERLEAVES:
                raise self._error(key, f"{key} is {' or '.join(INTERLEAVES)}, and not {clipped(repr(value), 40)}")
            return str(value)
        return self._number(key, value, 0 if key in _MAY_BE_ZERO else 1)

    def _number(self, key: str, value: Any, least: int) -> int:
        most = _MOST_OF.get(key, _MOST)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            wanted = f"a whole number from {least} to {most:,}"
            raise self._error(key, f"{key} is {wanted}, and not {clipped(repr(value), 40)}")
        return value

    def _error(self, key: str, message: str) -> HardwareError:
        """Return the error with the line on which the last part of ``key`` stands."""
        last = re.escape(key.rpartition(".")[2])
        mark = re.compile(rf"""(?:^|[.\[\s{{,"'])["']?{last}["']?\s*(?:[=.\]])""")
        line = next((number for number, text in enumerate(self.lines, 1) if mark.search(text)), 0)
        return HardwareError(message, line)


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict) and before.count(".") < 2:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def values_of(chip: Hardware) -> dict[str, int | str]:
    """Return the values of a chip by their dotted keys."""
    found: dict[str, int | str] = {}
    for item in fields(chip):
        part = getattr(chip, item.name)
        if is_dataclass(part):
            found.update({f"{item.name}.{inner.name}": getattr(part, inner.name) for inner in fields(part)})
    return {**found, "unit.switch": chip.switch}


def _with(chip: Hardware, key: str, value: int | str) -> Hardware:
    table, _, name = key.partition(".")
    if key == "unit.switch":
        return replace(chip, switch=int(value))
    return replace(chip, **{table: replace(getattr(chip, table), **{name: value})})

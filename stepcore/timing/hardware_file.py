"""One's own chip: a TOML file with the name of a preset as ``base``, and the keys in which the chip differs.

Every key of :data:`KEYS` may stand there under its dotted name, as tables or as dotted keys; ``flops`` holds costs per
element by the name of a function of torch. Anything else is refused with its line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from stepcore.findings.near import nearest
from stepcore.text.toml import long_key
from stepcore.text.wording import clipped
from stepcore.timing.hardware import INTERLEAVES, PRESETS, Hardware

MAX_TEXT: Final = 1 << 16  # characters
MAX_NAME: Final = 60  # characters
_FUNCTION: Final = re.compile(r"[a-z_][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class ChipKey:
    """A key of a chip's file: its ``unit`` of measure, what it means, and which whole numbers it takes.

    ``choices`` are the texts that it takes instead, if there are any. The bounds keep the cycles of a run that can be
    timed below 2**63, and what a chip's description alone can take of memory small.
    """

    name: str
    unit: str
    meaning: str
    least: int = 1
    most: int = 1 << 20
    choices: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """Return which values there are, in words."""
        if self.choices:
            return " or ".join(self.choices)
        return f"a whole number from {self.least} to {self.most:,}"


KEYS: Final[Mapping[str, ChipKey]] = MappingProxyType(
    {
        key.name: key
        for key in (
            ChipKey("fifo.depth", "tokens", "what a FIFO between two units holds", most=1 << 16),
            ChipKey("fifo.latency", "cycles", "from giving a token until it can be seen", 0),
            ChipKey("fifo.response", "cycles", "from taking a token until its slot is free", 0),
            ChipKey("compute.bandwidth", "FLOPs per cycle", "what a unit computes", most=1 << 40),
            ChipKey("compute.minimum", "cycles", "a call without FLOPs", 0),
            ChipKey("onchip.bandwidth", "bytes per cycle", "what a unit moves to and from memory", most=1 << 40),
            ChipKey("onchip.capacity", "bytes", "memory on chip; 0: no limit", 0, 1 << 50),
            ChipKey("memory.channels", "", "channels of the off-chip memory", most=4096),
            ChipKey("memory.burst", "bytes", "what one request moves"),
            ChipKey("memory.latency", "cycles", "part of the time from a request's start to its answer", 0),
            ChipKey("memory.interval", "cycles", "between two requests of a channel"),
            ChipKey("memory.startup", "cycles", "part of the time from a request's start to its answer", 0),
            ChipKey("memory.outstanding", "requests", "of a channel that are under way at once; 0: no limit", 0),
            ChipKey("memory.interleave", "", "how requests are spread over the channels", choices=INTERLEAVES),
            ChipKey("memory.dispatch", "requests per cycle", "what leaves a load or store", most=4096),
            ChipKey("memory.block", "bytes", "in which small elements of inputs and results move", most=1 << 40),
            ChipKey("unit.switch", "cycles", "to route an element (Partition, Parallelize)", 0),
        )
    }
)
FLOPS: Final = ChipKey("flops.NAME", "FLOPs per element", "what the function NAME of torch costs", 0)


class HardwareError(ValueError):
    """A description of a chip that cannot be used.

    ``line`` is that of the key, from 1; 0 where there is none. ``path`` is the file, empty where none was read.
    """

    def __init__(self, message: str, line: int = 0, path: str = "") -> None:
        super().__init__(clipped(message, 500))
        self.line = line
        self.path = path

    @property
    def place(self) -> str:
        """Return ``file:line``, as far as it is known."""
        return f"{self.path}:{self.line}" if self.path and self.line else self.path


def read_hardware(text: str, name: str) -> Hardware:
    """Return the chip that ``text`` describes, called ``name`` unless the text says so itself.

    Raises:
        HardwareError: it is no TOML, a key is unknown, or a value is none that the key may have.
    """
    if len(text) > MAX_TEXT:
        raise HardwareError(f"a description of a chip has at most {MAX_TEXT:,} characters, and this has {len(text):,}")
    if line := long_key(text):
        raise HardwareError("this key has too many parts: a key is TABLE.NAME", line)
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # numbers of thousands of digits are refused by int itself
        at = re.search(r"at line (\d+)", str(error))
        raise HardwareError(f"this is no TOML: {error}", int(at[1]) if at else 0) from error
    except RecursionError as error:
        raise HardwareError("this is no TOML: its tables or lists are nested too deeply") from error
    return _Reader(text).read(table, name)


def values_of(chip: Hardware) -> dict[str, int | str]:
    """Return the values of a chip by their dotted keys, those of ``flops`` left out."""
    found: dict[str, int | str] = {}
    for item in fields(chip):
        part = getattr(chip, item.name)
        if is_dataclass(part):
            found.update({f"{item.name}.{inner.name}": getattr(part, inner.name) for inner in fields(part)})
    return found


def all_values(chip: Hardware) -> dict[str, int | str]:
    """Return the values of a chip by their dotted keys, those of ``flops`` last."""
    return {**values_of(chip), **{f"flops.{function}": cost for function, cost in chip.flops.items()}}


def described(chip: Hardware) -> str:
    """Return a description of a chip that :func:`read_hardware` reads, with all of its values."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in all_values(chip).items())


def differences(chip: Hardware) -> dict[str, tuple[int | str | None, int | str]]:
    """Return by key what the base of a chip has (None: nothing of its own) and what the chip has instead."""
    base = PRESETS[chip.base or chip.name]
    ours, theirs = all_values(chip), all_values(base)
    return {key: (theirs.get(key), value) for key, value in ours.items() if theirs.get(key) != value}


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def read(self, table: Mapping[str, Any], name: str) -> Hardware:
        base = table.get("base", "default")
        if not isinstance(base, str) or base not in PRESETS:
            raise self._error("base", f"base is one of {', '.join(PRESETS)}, and not {_shown(base)}")
        chip = replace(PRESETS[base], name=self._name(table, name), base=base)
        flops = dict(chip.flops)
        for key, value in _flat(table, ""):
            if key.startswith("flops."):
                flops[self._function(key)] = self._number(key, value, FLOPS)
            elif key in KEYS:
                chip = _with(chip, key, self._value(key, value))
            elif key not in ("base", "name"):
                raise self._error(key, f"no key is called {clipped(key, 80)}{_advice(key)}")
        return replace(chip, flops=MappingProxyType(flops))

    def _name(self, table: Mapping[str, Any], name: str) -> str:
        found = table.get("name", name)
        if not isinstance(found, str) or not found.isprintable() or not 0 < len(found) <= MAX_NAME:
            raise self._error("name", f"name is a text of 1 to {MAX_NAME} printable characters")
        return found

    def _function(self, key: str) -> str:
        name = key.removeprefix("flops.")
        if not _FUNCTION.fullmatch(name):
            raise self._error(key, f"{clipped(name, 40)} is no name of a function of torch, such as silu")
        return name

    def _value(self, key: str, value: Any) -> int | str:
        known = KEYS[key]
        if not known.choices:
            return self._number(key, value, known)
        if not isinstance(value, str) or value not in known.choices:
            raise self._error(key, f"{key} is {known.bounds}, and not {_shown(value)}")
        return value

    def _number(self, key: str, value: Any, known: ChipKey) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not known.least <= value <= known.most:
            raise self._error(key, f"{key} is {known.bounds}, and not {_shown(value)}")
        return value

    def _error(self, key: str, message: str) -> HardwareError:
        """Return the error with the line on which the last part of ``key`` stands."""
        last = re.escape(key.rpartition(".")[2])
        mark = re.compile(rf"""(?:^|[.\[\s{{,"'])["']?{last}["']?\s*(?:[=.\]])""")
        line = next((number for number, text in enumerate(self.lines, 1) if mark.search(text)), 0)
        return HardwareError(message, line)


def _advice(key: str) -> str:
    near = nearest(key[:80], KEYS, closed=True)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(KEYS)}, and flops.NAME"


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict) and before.count(".") < 2:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _shown(value: Any) -> str:
    """Return a value as a message shows it: tables and lists may be of any depth, numbers of any length."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    try:
        return clipped(repr(value), 40)
    except ValueError:  # hexadecimal numbers may be longer than Python writes as decimal ones
        return "a number of thousands of digits"


def _with(chip: Hardware, key: str, value: int | str) -> Hardware:
    table, _, name = key.partition(".")
    return replace(chip, **{table: replace(getattr(chip, table), **{name: value})})

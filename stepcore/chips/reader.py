"""One's own chip: a TOML file with the name of a preset as ``base``, and the keys in which the chip differs.

Every key of :data:`stepcore.chips.keys.KEYS` may stand there under its dotted name, as tables or as dotted keys;
``flops`` holds costs per element by the name of a function of torch. Anything else is refused with its line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from stepcore.chips.keys import FLOPS, KEYS, ChipKey, HardwareError
from stepcore.findings.near import nearest
from stepcore.text.toml import NoToml, key_lines, parse_toml
from stepcore.text.wording import clipped
from stepcore.timing.hardware import PRESETS, Hardware

MAX_TEXT: Final = 1 << 16  # characters
MAX_NAME: Final = 60  # characters
MOST_PROBLEMS: Final = 20  # each is compared with all keys
OWN: Final = ("base", "name")
_FLOPS: Final = FLOPS.name.partition(".")[0]
TABLES: Final = tuple(dict.fromkeys(name.partition(".")[0] for name in (*KEYS, FLOPS.name)))
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?([kKMGT]?)(i?)B?")
_PREFIXES: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def read_hardware(text: str, name: str) -> Hardware:
    """Return the chip that ``text`` describes, called ``name`` unless the text says so itself.

    Raises:
        HardwareError: it is no TOML, a key is unknown, or a value is none that the key may have; the first of
            :func:`chip_problems`.
    """
    chip, problems = _read(text, name)
    if problems:
        raise problems[0]
    return chip


def chip_problems(text: str) -> list[HardwareError]:
    """Return what is wrong with the description of a chip, in the order of its lines; of a lot the first."""
    return _read(text, "chip")[1]


def _read(text: str, name: str) -> tuple[Hardware, list[HardwareError]]:
    text = text.removeprefix("\ufeff")
    chip = PRESETS["default"]
    if len(text) > MAX_TEXT:
        words = f"a description of a chip has at most {MAX_TEXT:,} characters, and this has {len(text):,}"
        return chip, [HardwareError(words)]
    try:
        table = parse_toml(text)
    except NoToml as error:
        return chip, [HardwareError(f"this is no TOML: {error}", error.line)]
    reader = _Reader(text)
    chip = reader.read(table, name)
    return chip, sorted(reader.problems, key=lambda problem: problem.line)


class _Reader:
    """Reads tables; ``problems`` is what is wrong with them."""

    def __init__(self, text: str) -> None:
        self.problems: list[HardwareError] = []
        self.lines = key_lines(text)

    def read(self, table: Mapping[str, Any], name: str) -> Hardware:
        chip = PRESETS["default"]
        base = table.get("base", chip.name)
        if isinstance(base, str) and base in PRESETS:
            chip = PRESETS[base]
        else:
            self._refuse_choice(("base",), f"one of {', '.join(PRESETS)}", PRESETS, base)
        chip = replace(chip, name=self._name(table, name), base=chip.name)
        flops = dict(chip.flops)
        for path, value in _leaves(self._tables(table)):
            key = ".".join(path)
            if key in KEYS and len(path) == len(key.split(".")):
                chip = self._with(chip, path, KEYS[key], value)
            elif len(path) == 2 and path[0] == _FLOPS:
                flops.update(self._price(path, value))
            elif not (path[0] in TABLES and len(path) == 1 and value == {}):
                self._refuse(path, *_unknown(path))
            if len(self.problems) >= MOST_PROBLEMS:
                break
        return replace(chip, flops=MappingProxyType(flops))

    def _tables(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return all but ``OWN``; a misspelt table is refused once, and read as the one that is meant."""
        found: dict[str, Any] = {}
        for key, value in table.items():
            meant = meant_table(key, value) if isinstance(value, dict) else ""
            if meant and meant not in table and meant not in found:
                self._refuse((key,), f"no table is called {clipped(key, 80)}; did you mean {meant}?", (key, meant))
                self.lines.update({(meant, *path[1:]): at for path, at in self.lines.items() if path[0] == key})
                found[meant] = value
            elif key not in OWN:
                found[key] = value
        return found

    def _name(self, table: Mapping[str, Any], name: str) -> str:
        found = table.get("name", name)
        if not isinstance(found, str) or not found.isprintable() or not 0 < len(found) <= MAX_NAME or found.isspace():
            self._refuse(("name",), f"name is a text of 1 to {MAX_NAME} printable characters, and not {_shown(found)}")
            return name
        if "name" in table and found in PRESETS:
            self._refuse(("name",), f"{found} is the name of a preset: give this chip another one")
        return found

    def _with(self, chip: Hardware, path: tuple[str, ...], known: ChipKey, value: Any) -> Hardware:
        if known.choices:
            if not isinstance(value, str) or value not in known.choices:
                self._refuse_choice(path, known.bounds, known.choices, value)
                return chip
        elif not self._is_number(path, known, value):
            return chip
        table, name = path
        return replace(chip, **{table: replace(getattr(chip, table), **{name: value})})

    def _price(self, path: tuple[str, ...], value: Any) -> dict[str, int]:
        from stepcore.chips.prices import no_price  # few files have prices: it brings the function language

        problem = no_price(path[1])
        if problem:
            self._refuse(path, problem)
        elif self._is_number(path, replace(FLOPS, name=".".join(path)), value):
            return {path[1]: value}
        return {}

    def _is_number(self, path: tuple[str, ...], known: ChipKey, value: Any) -> bool:
        if isinstance(value, int) and not isinstance(value, bool) and known.least <= value <= known.most:
            return True
        unit = f" ({known.unit})" if known.unit else ""
        self._refuse(path, f"{known.name} is {known.bounds}{unit}, and not {_shown(value)}{_way_out(known, value)}")
        return False

    def _refuse_choice(self, path: tuple[str, ...], bounds: str, choices: Iterable[str], value: Any) -> None:
        near = nearest(value[:80], choices, closed=True) if isinstance(value, str) else []
        advice = f"; did you mean {near[0]}?" if near else ""
        instead = (value, near[0]) if near else None
        self._refuse(path, f"{'.'.join(path)} is {bounds}, and not {_shown(value)}{advice}", instead)

    def _refuse(self, path: tuple[str, ...], message: str, instead: tuple[str, str] | None = None) -> None:
        self.problems.append(HardwareError(message, self.lines.get(path, 0), instead=instead))


def meant_table(name: str, keys: Iterable[str]) -> str:
    """Return the table that a misspelt ``name`` with some of its ``keys`` means; an empty text where none is meant."""
    near = [] if name in TABLES else nearest(name[:80], TABLES, closed=True)
    if not near:
        return ""
    if near[0] != _FLOPS:
        return near[0] if any(f"{near[0]}.{key}" in KEYS for key in keys) else ""
    from stepcore.chips.prices import PRICED  # few files have prices: it brings the function language

    return _FLOPS if any(key in PRICED for key in keys) else ""


def _leaves(table: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield values with their paths; tables are followed to the third part, and are values where they are empty."""
    for key, value in table.items():
        path = (*before, key)
        if isinstance(value, dict) and value and len(path) < 3:
            yield from _leaves(value, path)
        else:
            yield path, value


def _unknown(path: tuple[str, ...]) -> tuple[str, tuple[str, str] | None]:
    """Return what is said of a key that there is not, and what to write instead of which word, if that is certain."""
    key = ".".join(path)
    said = f"no key is called {clipped(key, 80)}"
    if len(path) == 1 and "." in key:
        return f'no key is called "{clipped(key, 80)}" in quotes, which make it one part: write it without them', None
    above = ".".join(path[:2])
    if len(path) > 2 and (above in KEYS or path[0] == _FLOPS):
        known = KEYS.get(above, FLOPS)
        return f"{said}; {clipped(above, 80)} is {known.bounds}, and no table", None
    if len(path) == 2 and path[1] in OWN:
        return f"{said}; write {path[1]} above all tables", None
    if len(path) == 1 and key in TABLES:
        return f"{said}; it is a table: write {_listed(_of_table(key))}", None
    alike = [name for name in KEYS if name.partition(".")[2] == path[-1]]  # in the wrong table, or in none
    near = alike or nearest(key[:80], (*KEYS, *OWN) if len(path) == 1 else KEYS, closed=True)
    if not near and nearest(path[0][:80], TABLES, closed=True):
        table = nearest(path[0][:80], TABLES, closed=True)[0]
        near = [".".join((table, *path[1:]))] if table == _FLOPS or len(path) == 1 else _of_table(table)
    if near:
        table, _, name = near[0].rpartition(".")
        is_certain = len(near) == 1 and (len(path) == 1 or path[:-1] == (table,))
        return f"{said}; did you mean {_listed(near)}?", (
            path[-1],
            near[0] if len(path) == 1 else name,
        ) if is_certain else None
    if path[0] in TABLES:
        return f"{said}; there are {_listed(_of_table(path[0]), 'and')}", None
    return f"{said}; there are {', '.join((*OWN, *KEYS))}, and {FLOPS.name}", None


def _of_table(table: str) -> list[str]:
    return [name for name in (*KEYS, FLOPS.name) if name.startswith(f"{table}.")]


def _listed(names: Iterable[str], last: str = "or") -> str:
    *most, end = names
    return f"{', '.join(most)} {last} {end}" if most else end


def _way_out(known: ChipKey, value: Any) -> str:
    """Return what to write instead of a value that is no number of the key, where that is certain."""
    meant = None
    if isinstance(value, float) and value.is_integer():
        meant = int(value)
    elif (
        isinstance(value, str) and (size := _SIZE.fullmatch(value)) and (known.unit.startswith("bytes") or not size[2])
    ):
        meant = int(size[1]) * (1024 if size[3] else 1000) ** _PREFIXES[size[2]]
    if meant is not None and known.least <= meant <= known.most:
        return f"; write {meant}"
    return "; 0 is no limit" if "no limit" in known.meaning and value in (-1, math.inf, "inf", "none") else ""


def _shown(value: Any) -> str:
    """Return a value as TOML writes it: tables and lists may be of any depth, numbers of any length."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, bool | str):
        return clipped(json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable()), 40)
    try:
        return clipped(str(value), 40)  # dates are written alike, too
    except ValueError:  # hexadecimal numbers may be longer than Python writes as decimal ones
        return "a number of thousands of digits"

"""Files that describe a chip, and the project's choice of one: findings, completion and hover for their keys.

All of it comes from the one table of keys, :data:`stepcore.timing.hardware_file.KEYS`. Lines are read one by one,
because a file that somebody types is no TOML most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final, Literal, NamedTuple

from stepcore.findings.diagnostics import Diagnostic, Edit
from stepcore.ide.model import Completion, Hover, Kind
from stepcore.settings.config import FILE_NAME, ConfigError, line_of, read_text
from stepcore.text.span import SourceFile, Span
from stepcore.timing.hardware import PRESETS
from stepcore.timing.hardware_file import FLOPS, KEYS, ChipKey, HardwareError, read_hardware, values_of

SUFFIX: Final = ".toml"
_OTHERS: Final = frozenset({"pyproject.toml", "cargo.toml"})
_TABLES: Final = frozenset(name.partition(".")[0] for name in (*KEYS, FLOPS.name))
_BASE: Final = re.compile(rf"""^[ \t]*base[ \t]*=[ \t]*["'](?:{"|".join(PRESETS)})["']""", re.MULTILINE)
_TABLE: Final = re.compile(rf"^[ \t]*\[?(?:{'|'.join(sorted(_TABLES))})[ \t]*[.\]]", re.MULTILINE)
_HEADER: Final = re.compile(r"^\s*\[\s*([\w.-]+)\s*\]")
_ENTRY: Final = re.compile(r"""^(\s*)([\w."'-]*)(\s*=\s*(["']?)([^"'#]*))?""")
_OWN: Final[dict[str, str]] = {
    "base": "the preset from which this chip differs",
    "name": "what the chip is called; the name of the file without it",
}
_HW: Final = "the chip that programs of this project are timed on: a preset, or a TOML file below this folder"

TomlKind = Literal["chip", "config", ""]


def toml_kind(path: str, text: str) -> TomlKind:
    """Return whether a TOML file describes a chip, configures a project, or is none of ours."""
    name = PurePath(path).name.lower()
    if name == FILE_NAME:
        return "config"
    if not name.endswith(SUFFIX) or name in _OTHERS:
        return ""
    return "chip" if not text.strip() or _BASE.search(text) or _TABLE.search(text) else ""


def toml_findings(path: str, text: str) -> list[Diagnostic]:
    """Return what is wrong with a chip (STEP506) or a configuration (STEP907), at its line."""
    source = SourceFile(path, text)
    kind = toml_kind(path, text)
    if kind == "chip" and text.strip():
        try:
            read_hardware(text, "chip")
        except HardwareError as error:
            return [Diagnostic("STEP506", _line(source, error.line), str(error))]
    if kind == "config":
        try:
            read_text(text, Path(FILE_NAME))  # which is not read: it names the file in messages
        except ConfigError as error:
            line = line_of(error.key, text) if error.key else 0
            at = re.match(rf"{re.escape(FILE_NAME)}(?::(\d+)(?::\d+)?)?: ", str(error))
            number = line or (int(at[1]) if at and at[1] else 0)
            return [Diagnostic("STEP907", _line(source, number), str(error)[at.end() if at else 0 :])]
    return []


def toml_completions(path: str, text: str, offset: int) -> list[Completion]:
    """Return the keys or values that may stand at an offset."""
    place = _place(text, offset)
    kind = toml_kind(path, text)
    if not kind or place is None:
        return []
    if place.is_value:
        return [_value(place, name, number) for number, name in enumerate(_values(kind, place.key))]
    known = [(name, doc) for name, doc in _keys(kind, place.table) if not _is_given(text, place, name)]
    return [
        Completion(name, Kind.KEY, Edit(place.word, name), "", doc, f"{number:03}")
        for number, (name, doc) in enumerate(known)
    ]


def toml_hover(path: str, text: str, offset: int) -> Hover | None:
    """Return what the key of a line means, with its unit, its bounds and what the presets have."""
    place = _place(text, offset)
    kind = toml_kind(path, text)
    if not kind or place is None or not place.key:
        return None
    if kind == "config":
        is_hw = place.key in ("timing.hw", "timing")
        return Hover(place.word, f"`timing.hw`: {_HW}.\n\nPresets: {', '.join(PRESETS)}.") if is_hw else None
    if place.key in _OWN:
        return Hover(place.word, f"`{place.key}`: {_OWN[place.key]}.")
    key = KEYS.get(place.key) or (FLOPS if place.key.startswith("flops.") else None)
    return None if key is None else Hover(place.word, _text(key))


# -- lines -------------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A place of a line: the table that it is in, the dotted key, and the word that is typed or replaced."""

    table: str
    key: str
    is_value: bool
    quote: str
    word: Span


def _place(text: str, offset: int) -> _Place | None:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end]
    column = offset - start
    if "#" in line[:column]:
        return None
    header = _HEADER.match(line)
    table = _table(text[:start])
    if header is not None:
        return _Place("", header[1], False, "", Span(start + header.start(1), start + header.end(1)))
    match = _ENTRY.match(line)
    if match is None:
        return None
    name = match[2].replace('"', "").replace("'", "")
    key = f"{table}.{name}" if table and name else name
    if match[3] is not None and column >= match.end(2) + len(match[3]) - len(match[5]) - len(match[4]):
        value = Span(start + match.start(5), start + match.end(5))
        return _Place(table, key, True, match[4], value)
    if column > match.end(2):
        return None
    return _Place(table, key, False, "", Span(start + match.start(2), start + match.end(2)))


def _table(before: str) -> str:
    """Return the table that a line is in."""
    headers = [match[1] for match in map(_HEADER.match, before.split("\n")) if match is not None]
    return headers[-1] if headers else ""


def _keys(kind: TomlKind, table: str) -> Iterator[tuple[str, str]]:
    if kind == "config":
        if table in ("", "timing"):
            yield ("hw" if table else "timing.hw"), _HW
        return
    if not table:
        yield from _OWN.items()
    for name, key in KEYS.items():
        if not table or name.startswith(table + "."):
            yield name.removeprefix(table + ".") if table else name, _text(key)
    if not table:
        yield "flops.", _text(FLOPS)


def _values(kind: TomlKind, key: str) -> tuple[str, ...]:
    if (kind, key) in (("chip", "base"), ("config", "timing.hw")):
        return tuple(PRESETS)
    known = KEYS.get(key) if kind == "chip" else None
    return () if known is None else known.choices


def _value(place: _Place, name: str, number: int) -> Completion:
    return Completion(
        name, Kind.VALUE, Edit(place.word, name if place.quote else f'"{name}"'), sort_text=f"{number:03}"
    )


def _is_given(text: str, place: _Place, name: str) -> bool:
    """Return whether a key stands on another line already."""
    others = text[: place.word.start] + text[place.word.end :]
    return re.search(rf"^[ \t]*{re.escape(name)}[ \t]*=", others, re.MULTILINE) is not None and not place.table


def _text(key: ChipKey) -> str:
    unit = f" ({key.unit})" if key.unit else ""
    lines = [f"`{key.name}`{unit}: {key.meaning}; {key.bounds}."]
    if key.name in KEYS:
        lines.append(", ".join(f"{name}: {values_of(chip)[key.name]}" for name, chip in PRESETS.items()))
    return "\n\n".join(lines)


def _line(source: SourceFile, number: int) -> Span:
    """Return what is written on a line, counted from 1; the first line where that is not known."""
    index = min(max(number - 1, 0), len(source.line_starts) - 1)
    line, start = source.line_text(index).rstrip("\r\n"), source.line_starts[index]
    return Span(start + len(line) - len(line.lstrip()), start + len(line))

"""Files that describe a chip, and the project's choice of one: findings, completion and hover for their keys.

All of it comes from the one table of keys, :data:`stepcore.chips.keys.KEYS`. Lines are read one by one,
because a file that somebody types is no TOML most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final, Literal, NamedTuple

from stepcore.chips.keys import FLOPS, KEYS, ChipKey, HardwareError, values_of
from stepcore.chips.reader import TABLES, chip_problems, meant_table
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.ide.model import Completion, Hover, Kind
from stepcore.settings.config import FILE_NAME, ConfigError, read_text
from stepcore.text.span import SourceFile, Span
from stepcore.text.toml import toml_keys
from stepcore.timing.hardware import PRESETS

SUFFIX: Final = ".toml"
_OTHERS: Final = frozenset({"pyproject.toml", "cargo.toml"})
_BASE: Final = re.compile(rf"""^[ \t]*base[ \t]*=[ \t]*["'](?:{"|".join(PRESETS)})["']""", re.MULTILINE)
_TABLE: Final = re.compile(rf"^[ \t]*\[?(?:{'|'.join(sorted(TABLES))})[ \t]*[.\]]", re.MULTILINE)
_MOST_TABLES: Final = 20  # of a file of others, that are compared with those of a chip
_MOST_TEXT: Final = 1 << 14  # characters of such a file
_HEADER: Final = re.compile(r"^\s*\[\s*([\w.-]+)\s*\]")
_OPENED: Final = re.compile(r"^\s*\[\s*([\w.-]*)\s*$")  # a header that somebody types
_ENTRY: Final = re.compile(r"""^(\s*)([\w."'-]*)(\s*=\s*(["']?)([^"'#]*))?""")
_FLOPS: Final = FLOPS.name.removesuffix("NAME")
_DOCS: Final[dict[str, str]] = {
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
    if not text.strip() or _BASE.search(text) or _TABLE.search(text) or _misspells(text):
        return "chip"
    return ""


def _misspells(text: str) -> bool:
    """Return whether a table is nearly called as one of a chip's, and has keys of that one."""
    tables: dict[str, list[str]] = {}
    for key in toml_keys(text) if len(text) <= _MOST_TEXT else ():
        if len(key.path) > 1:
            tables.setdefault(key.path[0], []).append(key.path[1])
    return any(meant_table(name, keys) for name, keys in list(tables.items())[:_MOST_TABLES])


def toml_findings(path: str, text: str) -> list[Diagnostic]:
    """Return what is wrong with a chip (STEP506) or a configuration (STEP907), at its line."""
    source = SourceFile(path, text)
    kind = toml_kind(path, text)
    if kind == "chip" and text.strip():
        return [_problem(source, each) for each in chip_problems(text)]
    if kind == "config":
        try:
            read_text(text, Path(FILE_NAME))  # which is not read: it names the file in messages
        except ConfigError as error:
            return [Diagnostic("STEP907", _line(source, error.line), error.reason)]
    return []


def _problem(source: SourceFile, problem: HardwareError) -> Diagnostic:
    """Return a finding, with a fix where a word of the line is certainly misspelt."""
    span, fix = _line(source, problem.line), None
    if problem.instead is not None and problem.line:
        written, meant = problem.instead
        places = list(re.finditer(rf"(?<![\w-]){re.escape(written)}(?![\w-])", source.text[span.start : span.end]))
        if len(places) == 1:
            word = Span(span.start + places[0].start(), span.start + places[0].end())
            fix = Fix(f"Write {meant}", (Edit(word, meant),))
    return Diagnostic("STEP506", span, str(problem), fix=fix)


def toml_completions(path: str, text: str, offset: int) -> list[Completion]:
    """Return the keys or values that may stand at an offset."""
    place = _place(text, offset)
    kind = toml_kind(path, text)
    if not kind or place is None:
        return []
    if place.is_value:
        return [_value(place, name, doc, number) for number, (name, doc) in enumerate(_values(kind, place.key))]
    if place.is_header:
        known = [(name, _table_text(name)) for name in TABLES] if kind == "chip" else [("timing", _HW)]
    else:
        given = frozenset(".".join(key.path) for key in toml_keys(text) if not key.is_table and key.line != place.line)
        before = f"{place.table}." * bool(place.table)
        known = [(name, doc) for name, doc in _keys(kind, place) if before + name not in given]
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
    if place.key in _DOCS:
        return Hover(place.word, f"`{place.key}`: {_DOCS[place.key]}.")
    if place.key in TABLES:
        return Hover(place.word, _table_text(place.key))
    if place.key.startswith(_FLOPS):
        return Hover(place.word, _price(place.key.removeprefix(_FLOPS)))
    key = KEYS.get(place.key)
    return None if key is None else Hover(place.word, _text(key))


# -- lines -------------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A place of a ``line`` from 1: the table that it is in, the dotted key, and the word that is typed or replaced."""

    line: int
    table: str
    key: str
    word: Span
    is_value: bool = False
    is_header: bool = False
    quote: str = ""


def _place(text: str, offset: int) -> _Place | None:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end]
    column = offset - start
    if "#" in line[:column]:
        return None
    header = _HEADER.match(line) or _OPENED.match(line)
    number, table = text.count("\n", 0, start) + 1, _table(text[:start])
    if header is not None:
        word = Span(start + header.start(1), start + header.end(1))
        return _Place(number, "", header[1], word, is_header=word.start <= offset <= word.end)
    match = _ENTRY.match(line)
    if match is None:
        return None
    name = match[2].replace('"', "").replace("'", "")
    key = f"{table}.{name}" if table and name else name
    if match[3] is not None and column >= match.end(2) + len(match[3]) - len(match[5]) - len(match[4]):
        value = Span(start + match.start(5), start + match.end(5))
        return _Place(number, table, key, value, is_value=True, quote=match[4])
    if column > match.end(2):
        return None
    return _Place(number, table, key, Span(start + match.start(2), start + match.end(2)))


def _table(before: str) -> str:
    """Return the table that a line is in."""
    headers = [match[1] for match in map(_HEADER.match, before.split("\n")) if match is not None]
    return headers[-1] if headers else ""


def _keys(kind: TomlKind, place: _Place) -> Iterator[tuple[str, str]]:
    table = place.table
    if kind == "config":
        if table in ("", "timing"):
            yield ("hw" if table else "timing.hw"), _HW
        return
    if not table:
        yield from _DOCS.items()
    for name, key in KEYS.items():
        if not table or name.startswith(table + "."):
            yield name.removeprefix(table + ".") if table else name, _text(key)
    if f"{table}." == _FLOPS or place.key.startswith(_FLOPS):
        for name in _priced():
            yield (name if table else _FLOPS + name), _price(name)
    elif not table:
        yield _FLOPS, _text(FLOPS)


def _priced() -> list[str]:
    """Return the functions whose price a chip may say, those first that cost more than others."""
    from stepcore.chips.prices import PRICED, PRICES

    return sorted(PRICED, key=lambda name: (-PRICES.get(name, 1), name))


def _values(kind: TomlKind, key: str) -> list[tuple[str, str]]:
    """Return values with what is said of them: the presets that have them."""
    if (kind, key) in (("chip", "base"), ("config", "timing.hw")):
        return [(name, "") for name in PRESETS]
    known = KEYS.get(key) if kind == "chip" else None
    if known is None:
        return []
    found: dict[str, list[str]] = {choice: [] for choice in known.choices}
    for name, chip in PRESETS.items():
        found.setdefault(str(values_of(chip)[key]), []).append(name)
    return [(value, f"as in {', '.join(names)}" if names else "") for value, names in found.items()]


def _value(place: _Place, name: str, doc: str, number: int) -> Completion:
    is_plain = place.quote or name.isdecimal()
    edit = Edit(place.word, name if is_plain else f'"{name}"')
    return Completion(name, Kind.VALUE, edit, "", doc, f"{number:03}")


def _text(key: ChipKey) -> str:
    unit = f" ({key.unit})" if key.unit else ""
    lines = [f"`{key.name}`{unit}: {key.meaning}; {key.bounds}."]
    if key.name in KEYS:
        lines.append(", ".join(f"{name}: {values_of(chip)[key.name]}" for name, chip in PRESETS.items()))
    return "\n\n".join(lines)


def _table_text(table: str) -> str:
    keys = [key for name, key in (*KEYS.items(), (FLOPS.name, FLOPS)) if name.startswith(f"{table}.")]
    return "\n".join(f"- `{key.name}`: {key.meaning}" for key in keys)


def _price(name: str) -> str:
    """Return what a function costs where no chip says otherwise, or why none can."""
    from stepcore.chips.prices import PRICES, no_price

    problem = no_price(name)
    if problem or not name:
        return _text(FLOPS) if not name else problem
    own = [f"{chip.name}: {chip.flops[name]}" for chip in PRESETS.values() if name in chip.flops]
    text = f"`flops.{name}` ({FLOPS.unit}): what `{name}` costs; {FLOPS.bounds}. Without it: {PRICES.get(name, 1)}"
    return ", ".join((text, *own))


def _line(source: SourceFile, number: int) -> Span:
    """Return what is written on a line, counted from 1; the first line where that is not known."""
    index = min(max(number - 1, 0), len(source.line_starts) - 1)
    line, start = source.line_text(index).rstrip("\r\n"), source.line_starts[index]
    return Span(start + len(line) - len(line.lstrip()), start + len(line))

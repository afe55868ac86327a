"""Write what our extension has to know of the language server, from the records and tables that the server has.

``python scripts/editor_types.py`` writes ``src/server.ts`` of the extension, the types of what is told and ordered
(:mod:`stepcore.jobdata.editor`), ``src/proposers.ts``, who can be asked for programs (:mod:`stepcore.jobs.proposers`),
the settings of its ``package.json`` that name them, and ``src/chips.ts``, what chips are called and their files hold
(:mod:`stepcore.timing`). ``tests/test_jobdata.py`` compares all.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from stepcore.chips.keys import FLOPS, KEYS
from stepcore.jobdata import editor
from stepcore.jobdata.plain import json_name
from stepcore.jobs.proposers import AUTO, BY_NAME, FOR_FUNCTIONS, PROPOSERS, SEARCH, SUMMARIES
from stepcore.timing.hardware import PRESETS

EXTENSION: Final = Path(__file__).parents[1] / "editor-extension"
FILE: Final = EXTENSION / "src" / "server.ts"
PROPOSERS_FILE: Final = EXTENSION / "src" / "proposers.ts"
CHIPS_FILE: Final = EXTENSION / "src" / "chips.ts"
MANIFEST: Final = EXTENSION / "package.json"
# Settings that name a proposer, the default first.
_CHOICES: Final = {
    "stepsmith.write.proposer": tuple(sorted(BY_NAME, key=SEARCH.name.__ne__)),
    "stepsmith.synthesize.proposer": tuple(sorted(FOR_FUNCTIONS, key=AUTO.__ne__)),
}
_WHO: Final = """\
/** Who can be asked for programs. Written by scripts/editor_types.py: change stepcore/jobs/proposers.py. */

/** One of them: how orders call it, who it is, and whether it asks a model, which the editor then provides. */
export interface Proposer {
  readonly name: string;
  readonly summary: string;
  readonly asks: boolean;
}
"""
_CHIPS: Final = (
    "/** What chips are called and their files hold. Written by scripts/editor_types.py: change stepcore/timing. */\n"
)
_HEAD: Final = "/** What the server tells. Written by scripts/editor_types.py: change stepcore/jobdata/editor.py. */\n"
_PLAIN: Final[dict[Any, str]] = {
    bool: "boolean", int: "number", float: "number", str: "string", NoneType: "null", Any: "unknown",
}  # fmt: skip
_WIDTH: Final = 116


def text() -> str:
    """Return the file."""
    named = {name: getattr(editor, name) for name in sorted(editor.__all__)}
    aliases = {kind: name for name, kind in named.items() if not isinstance(kind, type)}
    return "\n".join([_HEAD, *(_declared(name, kind, aliases) for name, kind in named.items())])


def _declared(name: str, kind: Any, aliases: dict[Any, str]) -> str:
    if kind in aliases:
        others = {other: called for other, called in aliases.items() if other != kind}
        return f"export type {name} = {_type(kind, others)};\n"
    hints = get_type_hints(kind)
    doc = inspect.getdoc(kind) or ""
    for field in hints:
        doc = doc.replace(f"``{field}``", f"``{json_name(kind, field)}``")
    bases = [base for base in kind.__mro__[1:] if base.__name__ in editor.__all__]
    extended = [base for base in bases if not any(base in other.__mro__[1:] for other in bases)]
    inherited = {field for base in extended for field in get_type_hints(base)}
    own = inspect.get_annotations(kind)
    more = f" extends {', '.join(base.__name__ for base in extended)}" if extended else ""
    lines = [*_comment(doc), f"export interface {name}{more} {{"]
    for field, is_optional in _fields(kind, hints):
        if field in inherited and field not in own:
            continue
        hint = _without_none(hints[field]) if is_optional and is_dataclass(kind) else hints[field]
        mark = "?" if is_optional else ""
        lines.append(f"  readonly {json_name(kind, field)}{mark}: {_type(hint, aliases)};")
    return "\n".join([*lines, "}\n"])


def _fields(kind: Any, hints: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the fields, and whether each may be left out."""
    if is_typeddict(kind):
        return [(name, True) for name in hints]
    return [(each.name, each.default is not MISSING or each.default_factory is not MISSING) for each in fields(kind)]


def _without_none(hint: Any) -> Any:
    """Return the type of a field that is left out where it is None."""
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
    return hint


def _type(hint: Any, aliases: dict[Any, str]) -> str:
    if hint in aliases:
        return aliases[hint]
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{part}"' for part in parts)
    if origin in (Union, UnionType):
        return " | ".join(_type(part, aliases) for part in parts)
    if origin is tuple:
        item = _type(parts[0], aliases)
        return f"readonly {f'({item})' if ' ' in item else item}[]"
    if origin is dict:
        return f"Readonly<Record<string, {_type(parts[1], aliases)}>>"
    if (is_dataclass(hint) or is_typeddict(hint)) and hint.__name__ in editor.__all__:
        return str(hint.__name__)
    raise TypeError(f"{hint} is not exported by {editor.__name__}")


def _comment(doc: str) -> list[str]:
    lines = re.sub(r":\w+:", "", doc).replace("``", "`").split("\n")
    if len(lines) == 1:
        return [f"/** {lines[0]} */"] if len(lines[0]) < _WIDTH else _block(textwrap.wrap(lines[0], _WIDTH))
    return _block(lines)


def _block(lines: list[str]) -> list[str]:
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]


def proposers_text() -> str:
    """Return the table of proposers: a constant for each, and the lists of those for tasks and for functions."""
    asking = {entry.name for entry in PROPOSERS if entry.asks}
    told = {name: {"name": name, "summary": _sentence(name), "asks": name in asking} for name in FOR_FUNCTIONS}
    lines = [
        f"export const {name.upper()}: Proposer = {{ "
        + ", ".join(f"{key}: {json.dumps(value)}" for key, value in known.items())
        + " };"
        for name, known in told.items()
    ]
    lists = ("FOR_TASKS", "stepsmith.write.proposer"), ("FOR_FUNCTIONS", "stepsmith.synthesize.proposer")
    lines += [
        f"export const {name}: readonly [Proposer, ...Proposer[]] = [{', '.join(map(str.upper, _CHOICES[setting]))}];"
        for name, setting in lists
    ]
    return "\n".join([_WHO, *lines, ""])


def chips_text() -> str:
    """Return the names of the presets, and of the tables of a chip's file."""
    tables = sorted({name.partition(".")[0] for name in (*KEYS, FLOPS.name)})
    lists = ("PRESETS", list(PRESETS)), ("TABLES", tables)
    return "\n".join([_CHIPS, *(f"export const {name} = {json.dumps(names)} as const;" for name, names in lists), ""])


def manifest(text: str) -> str:
    """Return the extension's manifest with those proposers in its settings that there are."""
    for setting, names in _CHOICES.items():
        lines = ",\n".join(f"{' ' * 14}{json.dumps(_sentence(name) + '.')}" for name in names)
        for key, value in (("enum", json.dumps(names)), ("enumDescriptions", f"[\n{lines}\n{' ' * 12}]")):
            pattern = re.compile(rf'("{re.escape(setting)}": \{{[^{{}}]*?"{key}": )\[[^\]]*\]')
            text, count = pattern.subn(lambda match, value=value: match[1] + value, text)  # type: ignore[misc]
            if count != 1:
                raise ValueError(f"{MANIFEST.name} has no {key} of {setting}")
    return text


def _sentence(proposer: str) -> str:
    summary = SUMMARIES[proposer]
    return summary[0].upper() + summary[1:]


def written() -> dict[Path, str]:
    """Return all files that this script writes, as they should be."""
    return {
        FILE: text(), PROPOSERS_FILE: proposers_text(), CHIPS_FILE: chips_text(),
        MANIFEST: manifest(MANIFEST.read_text(encoding="utf-8")),
    }  # fmt: skip


if __name__ == "__main__":
    for file, content in written().items():
        file.write_text(content, encoding="utf-8")

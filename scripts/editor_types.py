"""Write the TypeScript types of what the language server tells our extension, from :mod:`stepcore.jobdata.editor`.

``python scripts/editor_types.py`` writes ``editor-extension/src/server.ts``; ``tests/test_jobdata.py`` compares it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from stepcore.jobdata import editor
from stepcore.jobdata.plain import json_name

FILE: Final = Path(__file__).parents[1] / "editor-extension" / "src" / "server.ts"
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
    lines = [*_comment(doc), f"export interface {name} {{"]
    for field, is_optional in _fields(kind, hints):
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


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

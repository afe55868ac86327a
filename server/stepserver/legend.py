"""The names of semantic tokens. Types are the protocol's own, so that every theme colours them."""

from __future__ import annotations

from typing import Final

from lsprotocol import types

# By the value of stepcore.ide.model.Kind, which must not be imported before `initialize` is answered.
_TYPES: Final = {
    "operator": "class",
    "function": "function",
    "helper": "function",
    "stream": "variable",
    "parameter": "parameter",
    "weight": "property",
    "size": "typeParameter",
    "type": "type",
    "variable": "variable",
    "module": "namespace",
    "key": "property",
    "value": "enumMember",
    "program": "method",
    "snippet": "string",
    "output": "variable",
}
TYPE_NAMES: Final = sorted(set(_TYPES.values()))
_NUMBERS: Final = {kind: TYPE_NAMES.index(name) for kind, name in _TYPES.items()}
MODIFIERS: Final = ("declaration", "spent", "stream")  # a stream that is consumed carries "spent"
LEGEND: Final = types.SemanticTokensLegend(TYPE_NAMES, list(MODIFIERS))


def token_type(kind: str) -> int:
    """Return the number of the token type for the value of a ``Kind``."""
    return _NUMBERS[kind]

"""What a client asks for: requests of every kind, with places of every kind, and commands with wrong arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeAlias

from stepserver.app import COMMANDS, FEATURES

from .edits import lines_of, place

Make: TypeAlias = Callable[[Random, str, dict[str, Any], str], dict[str, Any]]


def _plain(_rng: Random, _text: str, document: dict[str, Any], _encoding: str) -> dict[str, Any]:
    return {"textDocument": document}


def _at(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    return {"textDocument": document, "position": place(rng, text, encoding)[1]}


def _rename(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    name = rng.choice(("E9", "E0", "double", "not a name", "", "é", "class", "x" * 300))
    return {**_at(rng, text, document, encoding), "newName": name}


def _references(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    return {**_at(rng, text, document, encoding), "context": {"includeDeclaration": rng.random() < 0.5}}


def _range(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    area = {"start": place(rng, text, encoding)[1], "end": place(rng, text, encoding)[1]}
    return {"textDocument": document, "range": area}


def _actions(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    choices: tuple[dict[str, list[str]], ...] = ({}, {"only": ["quickfix"]}, {"only": ["source.fixAll"]}, {"only": []})
    only = rng.choice(choices)
    return {**_range(rng, text, document, encoding), "context": {"diagnostics": [], **only}}


def _program(rng: Random, text: str, document: dict[str, Any], encoding: str) -> dict[str, Any]:
    more = rng.choice(({}, {"program": "good"}, {"program": 7}, {"position": None}))
    return _at(rng, text, document, encoding) | more


def _query(rng: Random, _text: str, _document: dict[str, Any], _encoding: str) -> dict[str, Any]:
    return {"query": rng.choice(("", "good", "😀", "E"))}


_TEXT: Final = "textDocument/"
REQUESTS: Final[Mapping[str, Make]] = {
    **{_TEXT + name: _at for name in ("completion", "hover", "signatureHelp", "definition", "documentHighlight")},
    _TEXT + "prepareRename": _at,
    **{_TEXT + name: _plain for name in ("codeLens", "documentSymbol", "foldingRange", "diagnostic", "formatting")},
    _TEXT + "semanticTokens/full": _plain,
    _TEXT + "semanticTokens/range": _range,
    _TEXT + "inlayHint": _range,
    _TEXT + "codeAction": _actions,
    _TEXT + "references": _references,
    _TEXT + "rename": _rename,
    "workspace/symbol": _query,
    "stepsmith/graph": _program,
    "stepsmith/timeline": _program,
    "stepsmith/status": _query,
    "stepsmith/nothing": _plain,
}  # fmt: skip
NOTIFICATIONS: Final = frozenset(
    {
        "initialized", "shutdown", "workspace/didChangeConfiguration", "workspace/didChangeWorkspaceFolders",
        "workspace/didChangeWatchedFiles", "stepsmith/trust", "stepsmith/interpreter", "textDocument/didSave",
    }
)  # fmt: skip
# The session itself sends these, or must not (formatting and the unknown one are refused).
assert {feature.method for feature in FEATURES} - NOTIFICATIONS <= REQUESTS.keys()


def request(rng: Random, text: str, uri: str, encoding: str) -> tuple[str, dict[str, Any]]:
    """Return a method and its parameters."""
    method = rng.choice(list(REQUESTS))
    return method, REQUESTS[method](rng, text, {"uri": uri}, encoding)


def command(rng: Random, text: str, uri: str) -> dict[str, Any]:
    """Return an order for one of our commands, with arguments that are right, wrong, or none."""
    order: dict[str, Any] = {"uri": uri}
    name = rng.choice(list(COMMANDS))
    match name.rpartition(".")[2]:
        case "write":
            order |= {"solutions": 1, "seconds": rng.choice((0.5, 5))}
            order |= {"proposer": rng.choice(("search", "model", "none"))}
        case "synthesize" | "sizes":
            order |= {"line": rng.randrange(len(lines_of(text)))}
            more: tuple[dict[str, Any], ...] = ({}, {"dims": {"M": 4}}, {"inputs": ["x[M, N]"]})
            order |= rng.choice(more) | ({"seconds": 2} if name.endswith("synthesize") else {})
        case "optimize" | "explainRewrites":
            order |= {"program": rng.choice(("good", "overused", "nothing"))}
        case "withImpl":
            order |= {"impl": rng.choice(("return E0", "x = (", "😀", ""))}
        case "takeFaster":
            order |= {"id": rng.randrange(5), "index": rng.randrange(3)}
        case "stopWriting":
            order = rng.choice(({}, {"id": rng.randrange(20)}))
        case _:
            order |= rng.choice(({}, {"program": "good"}, {"program": 3}))
    wrong: tuple[list[Any], ...] = ([], [None], ["x", 3], [{"uri": 7}], [{**order, "more": []}])
    return {"command": name, "arguments": [order] if rng.random() < 0.5 else rng.choice(wrong)}

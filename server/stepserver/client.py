"""What the client can do and wants, read once from ``initialize``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.capabilities import get_capability


@dataclass(frozen=True, slots=True)
class Client:
    """The abilities that something here depends on."""

    pulls: bool = False
    document_changes: bool = False
    snippets: bool = False
    markdown: frozenset[str] = frozenset({"hover"})  # where it is taken: "hover", "completion", "signature"
    tags: bool = False
    configuration: bool = False
    watches: bool = False
    watches_anywhere: bool = False  # folders that the server names, in the workspace or not
    refreshes: frozenset[str] = frozenset()
    is_ours: bool = False  # the extension for VS Code, which brings commands of its own
    python_path: str = ""  # the user's PYTHONPATH, for workers


_WATCHED: Final = "workspace.did_change_watched_files"


def read_client(params: types.InitializeParams) -> Client:
    """Return the abilities of a client.

    Diagnostics are pulled only by a client that can also be told to pull again: verdicts arrive without an edit.
    """
    have = params.capabilities
    refreshes = {
        method
        for method, name in (
            (types.WORKSPACE_DIAGNOSTIC_REFRESH, "workspace.diagnostics.refresh_support"),
            (types.WORKSPACE_CODE_LENS_REFRESH, "workspace.code_lens.refresh_support"),
            (types.WORKSPACE_INLAY_HINT_REFRESH, "workspace.inlay_hint.refresh_support"),
            (types.WORKSPACE_SEMANTIC_TOKENS_REFRESH, "workspace.semantic_tokens.refresh_support"),
        )
        if get_capability(have, name, False)
    }
    pulls = get_capability(have, "text_document.diagnostic") is not None
    tags = get_capability(have, "text_document.completion.completion_item.tag_support")
    watches = bool(get_capability(have, f"{_WATCHED}.dynamic_registration", False))
    options = options_of(params)
    return Client(
        pulls=pulls and types.WORKSPACE_DIAGNOSTIC_REFRESH in refreshes,
        document_changes=bool(get_capability(have, "workspace.workspace_edit.document_changes", False)),
        snippets=bool(get_capability(have, "text_document.completion.completion_item.snippet_support", False)),
        markdown=frozenset(name for name in _FORMATS if _takes_markdown(have, name)),
        tags=tags is not None and types.CompletionItemTag.Deprecated in tags.value_set,
        configuration=bool(get_capability(have, "workspace.configuration", False)),
        watches=watches,
        watches_anywhere=watches and bool(get_capability(have, f"{_WATCHED}.relative_pattern_support", False)),
        refreshes=frozenset(refreshes),
        is_ours=isinstance(options.get("client"), Mapping),
        python_path=users_python_path(os.environ.get("PYTHONPATH", "")),
    )


_FORMATS: Final = {
    "hover": "text_document.hover.content_format",
    "completion": "text_document.completion.completion_item.documentation_format",
    "signature": "text_document.signature_help.signature_information.documentation_format",
}


def _takes_markdown(have: types.ClientCapabilities, name: str) -> bool:
    """Return whether a client takes Markdown; one that says nothing takes it in a hover, as all do, nowhere else."""
    formats = get_capability(have, _FORMATS[name])
    return name == "hover" if formats is None else types.MarkupKind.Markdown in formats


def options_of(params: types.InitializeParams) -> Mapping[str, Any]:
    """Return ``initializationOptions``, an empty mapping where there are none."""
    options = params.initialization_options
    return options if isinstance(options, Mapping) else {}


def users_python_path(path: str) -> str:
    """Return ``PYTHONPATH`` without the folders that hold our own libraries."""
    own = Path(__file__).resolve().parents[1]
    folders = (folder for folder in path.split(os.pathsep) if folder)
    kept = (folder for folder in folders if Path(folder).resolve() != own and not _is_bundle(Path(folder)))
    return os.pathsep.join(kept)


def _is_bundle(folder: Path) -> bool:
    return (folder / "stepcore").is_dir() and (folder / "pygls").is_dir()

"""All editor features in one place; each takes an :class:`Analysis` and an offset (or span) of the document."""

from stepcore.ide.actions import actions, fix_all
from stepcore.ide.completion import completions
from stepcore.ide.graph_view import graph
from stepcore.ide.hover import hover
from stepcore.ide.inlay import inlay_hints
from stepcore.ide.navigation import definition, highlights, prepare_rename, references, rename
from stepcore.ide.outline import folding, symbols
from stepcore.ide.programs import drawn_programs, programs
from stepcore.ide.signature import signature
from stepcore.ide.tokens import tokens

__all__ = [
    "actions", "completions", "definition", "drawn_programs", "fix_all", "folding", "graph", "highlights", "hover",
    "inlay_hints", "prepare_rename", "programs", "references", "rename", "signature", "symbols", "tokens",
]  # fmt: skip

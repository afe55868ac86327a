"""Names of streams in a program, kept apart from what the user calls tensors and sizes."""

from __future__ import annotations

import re
from collections.abc import Collection

from stepagents.lower.functions import fresh_name


def own_name(name: str) -> str:
    """Return the name of something of the user's, marked until streams have theirs."""
    return f"@{name}@"


def kept_apart(text: str, streams: Collection[str], own: Collection[str], taken: set[str]) -> str:
    """Return a program in which no stream is called like one of the user's ``own`` names, and none is marked.

    Parameters of operators (``tile=``) keep their names. ``taken`` are all names of the program; new ones are added.
    """
    for stream in streams:
        if stream in own:
            text = re.sub(rf"(?<!@)\b{stream}\b(?![@=])", fresh_name(stream, taken), text)
    return text.replace("@", "")

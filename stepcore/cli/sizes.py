"""Sizes on the command line: ``--dims M=64,N=64``."""

from __future__ import annotations

import re
from typing import Final

import typer

from stepcore.sizes.dim import SIZE_RULE, is_size
from stepcore.text.wording import whole

_NUMBER: Final = re.compile(r"[-+]?[0-9]+")
_MAX_DIGITS: Final = 100


def parse_dims(text: str | None) -> dict[str, int]:
    """Read ``M=64,N=64``.

    Raises:
        typer.BadParameter: it is none, or names a size twice.
    """
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name.isidentifier() or not _NUMBER.fullmatch(value):
            raise typer.BadParameter(f"{_short(part.strip())} is not of the form NAME=NUMBER", param_hint="--dims")
        if name in sizes:
            raise typer.BadParameter(f"{name} is given twice", param_hint="--dims")
        size = int(value[:_MAX_DIGITS])  # more digits are too large in any case
        if not is_size(size):
            raise typer.BadParameter(f"{name} is {whole(size)}; {SIZE_RULE}", param_hint="--dims")
        sizes[name] = size
    return sizes


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")

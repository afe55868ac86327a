"""The command ``stepsmith lsp``, which :mod:`stepcore.cli` finds through its entry-point group."""

from __future__ import annotations

from typing import Annotated

import typer


def lsp(
    stdio: Annotated[bool, typer.Option("--stdio", help="Speak over standard input and output (the default).")] = True,
    tcp: Annotated[int | None, typer.Option("--tcp", metavar="PORT", help="Wait on 127.0.0.1 instead.")] = None,
) -> None:
    """Run the language server for editors."""
    from stepserver.__main__ import serve

    raise typer.Exit(serve(tcp))

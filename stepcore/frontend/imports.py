"""The imports of a Python file, and the one that brings a name of ours that it lacks."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from typing import Final

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.source import node_span
from stepcore.text.span import Embedded, Span

_HOMES: Final = {"Annotated": "typing", **dict.fromkeys(PREDECLARED_SYMBOLS, "stepcore.dims")}


@dataclass(slots=True)
class Imports:
    """The import statements at the top level of one file, in order, each with the text that it stands in."""

    statements: list[tuple[ast.Import | ast.ImportFrom, Embedded]] = field(default_factory=list)

    def fix(self, name: str) -> Fix | None:
        """Return the edit that imports ``name``; None where nobody can tell from where."""
        home = _HOMES.get(name)
        if home is None or not self.statements:
            return None
        return Fix(f"Add `from {home} import {name}`", (self._joined(home, name) or self._line(home, name),))

    def _joined(self, home: str, name: str) -> Edit | None:
        """Put the name among those that are imported from its module already, where they are sorted at its place."""
        for statement, code in self.statements:
            if isinstance(statement, ast.ImportFrom) and statement.module == home and not statement.level:
                if any(alias.name == "*" for alias in statement.names):
                    continue
                later = next((alias for alias in statement.names if alias.name > name), None)
                if later is not None:
                    at = node_span(code, later).start
                    return Edit(Span(at, at), f"{name}, ")
                at = node_span(code, statement.names[-1]).end
                return Edit(Span(at, at), f", {name}")
        return None

    def _line(self, home: str, name: str) -> Edit:
        """Add a line: one of Python's own modules before all others, one of ours behind what imports ours."""
        line = f"from {home} import {name}"
        if home.startswith("stepcore"):
            ours = [item for item in self.statements if _module(item[0]).partition(".")[0] in ("stepcore", "step")]
            statement, code = (ours or self.statements)[-1]
            at = node_span(code, statement).end
            return Edit(Span(at, at), "\n" + line)
        others = [item for item in self.statements if _module(item[0]) != "__future__"]
        statement, code = (others or self.statements)[0]
        if not others:
            at = node_span(code, statement).end
            return Edit(Span(at, at), f"\n\n{line}")
        at = node_span(code, statement).start
        is_python = _module(statement).partition(".")[0] in sys.stdlib_module_names
        return Edit(Span(at, at), line + ("\n" if is_python else "\n\n"))


def _module(statement: ast.Import | ast.ImportFrom) -> str:
    if isinstance(statement, ast.Import):
        return statement.names[0].name
    return statement.module or ""

"""What element functions may use of the module around them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from stepcore.fn.aliases import with_aliases
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.nodes import loaded_names
from stepcore.frontend import functions
from stepcore.frontend.changes import Changes, MadeNames, chosen, read_later
from stepcore.frontend.python.module import ModuleFacts, PyModule
from stepcore.frontend.values import FnClass, TypeMaker, ready_made
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, Span

_OURS: Final = (FnDecl, FnClass, TypeMaker, Dim, *functions.ELEMENTS)


def fn_scope_of(
    module: PyModule,
    statements: list[tuple[ast.stmt, Embedded]],
    modules: Mapping[str, str],
    changes: Changes,
) -> FnScope:
    """Return what the element functions of a module see: its ``statements``, each with its code, and imports.

    ``changes`` are those of all statements.
    """
    scope = module.scope
    facts = ModuleFacts.joined((module.facts, module.others))
    symbols = {name for name, value in scope.names.items() if isinstance(value, Dim) and str(value) == name}
    bound = {symbol for symbol, _ in facts.sizes}
    prelude = None if changes.are_quiet else _Prelude(module, statements).of(facts.sizes, changes)
    scope_of_fns = FnScope(
        prelude=prelude,
        parameters=tuple(sorted(facts.parameters)),
        symbols=tuple(sorted(symbols | bound)),
        modules=tuple(sorted({"torch": "torch", **modules}.items())),
        bare_parameters=True,
        sizes=tuple(sorted((symbol, size) for symbol, size in facts.sizes if size is not None)),
    )
    return with_aliases(scope_of_fns, prelude)


class _Prelude(Record):
    """Chooses among the statements of a module, each with its code, those that its element functions need."""

    module: PyModule
    statements: list[tuple[ast.stmt, Embedded]]

    def of(self, bound: frozenset[tuple[str, int | None]], changes: Changes) -> CodeBlock | None:
        """Return the module-level statements that element functions use, in the order of the file.

        ``bound`` are the sizes of the file's programs, with what these bind.
        """
        wanted = loaded_names(body for statement, _ in self.statements for body in self._fn_bodies(statement))
        sizes = self._of_runs(bound, changes)
        found, names = self._chosen(self._candidates(sizes, changes, changed=False), wanted, changes)
        if not changes.are_settled(names):
            found, _ = self._chosen(self._candidates(sizes, changes, changed=True), wanted, changes)
        return _join_statements({id(each.named.statement) for each in found}, self.statements) if found else None

    def _chosen(
        self, candidates: list[MadeNames], wanted: set[str], changes: Changes
    ) -> tuple[list[MadeNames], set[str]]:
        """Return the statements that are needed, and all names; what shares a line with one needs its names, too."""
        while True:
            found, names = chosen(candidates, wanted | read_later(candidates, wanted))
            ids = {id(each.named.statement) for each in found}
            beside = [each for each in self._sharing_lines(ids) if id(each) not in ids]
            more = {name for each in beside for name in changes.named(each).all} - names
            if not more:
                return found, names
            wanted = wanted | more

    def _sharing_lines(self, wanted: set[int]) -> Iterator[ast.stmt]:
        """Yield the statements that share lines, of those among which one is wanted."""
        group: list[ast.stmt] = []
        for (before, code), (after, other) in pairwise(self.statements):
            if code is other and after.lineno <= (before.end_lineno or before.lineno):
                group += [after] if group else [before, after]
                continue
            if any(id(each) in wanted for each in group):
                yield from group
            group = []
        if any(id(each) in wanted for each in group):
            yield from group

    def _of_runs(self, bound: frozenset[tuple[str, int | None]], changes: Changes) -> set[str]:
        """Return the names of numbers that runs bind: ``D_value = 16`` where ``dims=`` binds D to 16.

        Whatever else a file binds to such a name is a constant of its own, as Python has it.
        """
        known = self.module.scope.names
        found = {
            f"{symbol}_value" for symbol, size in bound if size is not None and known.get(f"{symbol}_value") == size
        }
        places = Counter(name for statement, _ in self.statements for name in found & changes.bound(statement))
        return {name for name in found if places[name] == 1}

    def _candidates(self, sizes: set[str], changes: Changes, *, changed: bool) -> list[MadeNames]:
        """Return the statements that bind, or may change, what is no element function, type or size."""
        found: list[MadeNames] = []
        for statement, _ in self.statements:
            bound = changes.bound(statement)
            own = {name for name in bound if self._is_ours(name)}
            each = MadeNames(
                changes.named(statement), bound - own, changes.changed(statement) if changed else frozenset()
            )
            if each.bound - sizes or each.changed - sizes:
                found.append(each)
        return found

    def _fn_bodies(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of ``statement`` that run as part of an element function."""
        if isinstance(statement, ast.ClassDef):
            return statement.body if isinstance(self.module.scope.names.get(statement.name), FnClass) else []
        if not isinstance(statement, ast.FunctionDef) or not statement.decorator_list:
            return []
        if isinstance(self.module.scope.names.get(statement.name), FnDecl):
            return statement.body
        return [inner for inner in statement.body if isinstance(inner, ast.FunctionDef)]

    def _is_ours(self, name: str) -> bool:
        value = self.module.scope.names.get(name)
        return isinstance(value, _OURS) or (value is not None and bool(ready_made(value)))


def changes_of(statements: list[tuple[ast.stmt, Embedded]], *, are_quiet: bool) -> Changes:
    """Return what the statements of a module, each with its code, bind and change; ``are_quiet`` if all blocks are."""
    return Changes([(statement, _text(statement, code)) for statement, code in statements], are_quiet=are_quiet)


def _text(statement: ast.stmt, code: Embedded) -> str:
    """Return the lines of a statement."""
    starts, end = code.inner.line_starts, statement.end_lineno or statement.lineno
    return code.inner.text[starts[statement.lineno - 1] : starts[end] if end < len(starts) else None]


def _join_statements(wanted: set[int], statements: list[tuple[ast.stmt, Embedded]]) -> CodeBlock:
    """Return the lines of some of the statements of a file, by identity, each line once.

    With them come those that share a line with one (``n = c; c = 2``), which Python runs in turn.
    """
    pieces: list[str] = []
    offsets: list[int] = []
    for code, first, last in _line_groups(statements, wanted):
        for line in range(first - 1, last):
            text = code.inner.line_text(line)
            pieces.append(text if text.endswith(("\n", "\r")) else text + "\n")
            offsets.append(code.line_offsets[line])
    offsets.append(offsets[-1] + len(pieces[-1]))
    return CodeBlock(Embedded("".join(pieces), tuple(offsets), Span(min(offsets), max(offsets))))


def _line_groups(statements: list[tuple[ast.stmt, Embedded]], wanted: set[int]) -> Iterator[tuple[Embedded, int, int]]:
    """Yield the first and last lines of statements that share lines, of which one is wanted, with their code."""
    group: tuple[Embedded, int, int] | None = None
    is_wanted = False
    for statement, code in statements:
        decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef | ast.ClassDef) else []
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        last = statement.end_lineno or statement.lineno
        if group is not None and group[0] is code and first <= group[2]:
            group = (code, group[1], max(last, group[2]))
        else:
            if group is not None and is_wanted:
                yield group
            group, is_wanted = (code, first, last), False
        is_wanted = is_wanted or id(statement) in wanted
    if group is not None and is_wanted:
        yield group

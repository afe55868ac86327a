"""What a Python file holds for us: programs, compositions, element functions, and what these depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.frontend.values import Scope, Seen
from stepcore.graph.ir import ProgramSpec
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.text.span import Embedded, SourceFile, Span
from stepcore.types import StreamType


@dataclass(slots=True)
class PyProgram:
    """One ``@step.program`` function. ``types`` holds the type of each input, None where it cannot be read."""

    spec: ProgramSpec
    node: ast.FunctionDef
    code: Embedded
    scope: Scope
    op_module: str
    inputs: list[tuple[str, StreamType | None, Span]]
    broken: bool  # a line of it was left out
    dialect: Dialect = GENERATION_1


@dataclass(slots=True)
class PyComposition:
    """One ``@step.composition`` function. ``sizes`` are those that it binds, ``weighted``: it has ``weights=``.

    ``span`` is its name, ``extent`` all of it with its decorators.
    """

    name: str
    node: ast.FunctionDef
    code: Embedded
    sizes: dict[str, int]
    weighted: bool
    span: Span
    extent: Span
    broken: bool  # a line of it was left out
    dialect: Dialect = GENERATION_1


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What the functions of a file depend on besides the definitions that they name: all programs of the file.

    ``parameters`` are the weights of all programs, ``sizes`` what they bind by default (None where they differ),
    ``programs`` their names.
    """

    parameters: frozenset[str] = frozenset()
    sizes: frozenset[tuple[str, int | None]] = frozenset()
    programs: frozenset[str] = frozenset()

    @staticmethod
    def joined(parts: Iterable[ModuleFacts]) -> ModuleFacts:
        """Return what the programs of all parts of a file come to."""
        parts = tuple(parts)
        if len(parts) == 1:  # as of each unit of an editor's document
            return parts[0]
        parameters: set[str] = set()
        programs: set[str] = set()
        sizes: dict[str, int | None] = {}
        for part in parts:
            parameters |= part.parameters
            programs |= part.programs
            for symbol, size in part.sizes:
                sizes[symbol] = size if sizes.get(symbol, size) == size else None
        return ModuleFacts(frozenset(parameters), frozenset(sizes.items()), frozenset(programs))


@dataclass(slots=True)
class PyModule:
    """What a Python file holds for us. ``fns`` are all element functions at module level.

    ``facts`` are those of its own programs, ``others`` what was said about further programs of a file of which this
    is only a part. ``seen`` are the names that evaluation met outside of programs.
    """

    source: SourceFile
    programs: list[PyProgram] = field(default_factory=list)
    compositions: list[PyComposition] = field(default_factory=list)
    fns: list[FnDecl] = field(default_factory=list)
    scope: Scope = field(default_factory=lambda: Scope({}))
    fn_scope: FnScope = field(default_factory=FnScope)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    imports_stepcore: bool = False
    op_module: str = ""  # the name that the file gives to stepcore
    others: ModuleFacts = field(default_factory=ModuleFacts)
    seen: list[Seen] = field(default_factory=list)
    dialect: Dialect = GENERATION_1

    @property
    def facts(self) -> ModuleFacts:
        """What functions depend on in the programs of this text."""
        return ModuleFacts.joined(
            ModuleFacts(
                frozenset(port.name for port in program.spec.parameters),
                frozenset(program.spec.defaults),
                frozenset((program.node.name,)),
            )
            for program in self.programs
        )

"""Who imports whom: all modules of the tree, with imports that are deferred or for type checkers only."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
PACKAGES = {"stepcore": ROOT, "stepserver": ROOT / "server", "stepagents": ROOT / "agents", "benchmarks": ROOT}

When = Literal["import", "call", "types"]


@dataclass(frozen=True, slots=True)
class Edge:
    """``module`` imports ``target`` at ``line``: with itself, when something is called, or for type checkers only."""

    module: str
    target: str
    when: When
    line: int


def found_modules() -> dict[str, Path]:
    """Return the path of each module by its name. Folders without ``__init__.py`` hold data."""
    found = {}
    for package, base in PACKAGES.items():
        for path in sorted((base / package).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            if all((base.joinpath(*parts[:end]) / "__init__.py").exists() for end in range(1, len(parts))):
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = found_modules()


@cache
def edges() -> tuple[Edge, ...]:
    """Return all imports of the tree, whoever is imported."""
    return tuple(edge for name, path in MODULES.items() for edge in edges_of(name, path.read_text(encoding="utf-8")))


def edges_of(module: str, text: str) -> Iterator[Edge]:
    """Yield the imports of one module."""
    yield from _below(module, ast.parse(text), "import")


def _below(module: str, node: ast.AST, when: When) -> Iterator[Edge]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(module, child):
                yield Edge(module, target, when, child.lineno)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _below(module, child, "call")
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _below(module, child, "types")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _below(module, child, when)


def _targets(module: str, node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, f"{module}:{node.lineno}: relative import"
    full = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in MODULES else node.module or "" for name in full]


def circles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the sets of modules that reach each other, each sorted."""
    left = {name: set(targets) & graph.keys() - {name} for name, targets in graph.items()}
    while free := {name for name, targets in left.items() if not targets}:  # nothing that these import is in a circle
        left = {name: targets - free for name, targets in left.items() if name not in free}
    reached = {name: _reached(name, left) for name in left}
    return sorted({tuple(sorted(m for m in reached[n] if n in reached[m])) for n in left if n in reached[n]}, key=len)


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    new = graph[start]
    while new:
        found |= new
        new = {target for name in new for target in graph[name]} - found
    return found


def drawn() -> dict[str, set[str]]:
    """Return what each module of the tree imports of the tree."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for edge in edges():
        if edge.target in MODULES:
            graph[edge.module].add(edge.target)
    return graph


def group(module: str) -> str:
    """Return the name under which a module or a package lies directly in its package; empty for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def wrong_direction(
    found: Iterable[Edge], layers: Sequence[Sequence[str]], of: Callable[[str], str] = group
) -> list[str]:
    """Return the imports within one package that point up, or sideways into another group of the same layer."""
    places = {name: place for place, names in enumerate(layers) for name in names}
    wrong = []
    for edge in found:
        package = edge.module.split(".")[0]
        if edge.target in MODULES and edge.target.split(".")[0] == package:
            here, there = of(edge.module), of(edge.target)
            if here != there and places[there] >= places[here]:
                wrong.append(f"{edge.module}:{edge.line} imports {edge.target}")
    return wrong

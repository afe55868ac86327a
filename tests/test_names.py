"""One name, one thing: no two public classes of the tree share a name."""

from __future__ import annotations

import ast
from collections import defaultdict

from import_graph import MODULES


def named(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the modules that define a public class, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def shared(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the names that more than one class has."""
    return {name: modules for name, modules in named(texts).items() if len(modules) > 1}


def test_a_class_has_its_name_for_itself() -> None:
    found = shared({name: path.read_text(encoding="utf-8") for name, path in MODULES.items()})
    assert found == {}


def test_the_test_would_notice() -> None:
    assert shared({"a": "class A: ...\nclass _B: ...", "b": "class A: ...\nclass _B: ..."}) == {"A": ["a", "b"]}

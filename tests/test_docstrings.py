"""Public functions say in their docstrings what they raise, as far as their own statements tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("stepcore", "agents/stepagents", "server/stepserver")
# What nobody catches by its type: a defect, a method that a subclass has to write, the end of the command.
OWN_AFFAIR: Final = frozenset(
    {
        "AssertionError",
        "NotImplementedError",
        "StopIteration",
        "SystemExit",
        "KeyboardInterrupt",
        "Exit",
        "BadParameter",
    }
)


def raised(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The exceptions that a function makes and raises itself, where it does not catch them."""
    pending: list[tuple[ast.AST, str]] = [(node, "") for node in function.body]  # what is caught around each
    while pending:
        node, caught = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func).split(".")[-1]
            if name[:1].isupper() and name not in OWN_AFFAIR and name not in caught:
                yield name
        inside = list(node.body) if isinstance(node, ast.Try) else []
        if isinstance(node, ast.Try):
            types = " ".join(ast.unparse(item.type) for item in node.handlers if item.type is not None)
            pending += [(part, f"{caught} {types}") for part in inside]
        pending += [(part, caught) for part in ast.iter_child_nodes(node) if part not in inside]


_CODED: Final = re.compile(r"([Rr]aise|[Rr]efuse)\w* [^.]*STEP\d{3}")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Public = tuple[str, Function, str, bool]  # name, function, what module and class say, whether it may override another


def public(text: str) -> Iterator[Public]:
    """The public functions and methods of a module."""
    tree = ast.parse(text)
    pending: list[tuple[ast.Module | ast.ClassDef, str, str]] = [(tree, "", "")]
    while pending:
        owner, outer, said = pending.pop()
        said += ast.get_docstring(owner) or ""
        for node in owner.body:
            if isinstance(node, Function) and not node.name.startswith("_"):
                yield f"{outer}{node.name}", node, said, isinstance(owner, ast.ClassDef) and bool(owner.bases)
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                pending.append((node, f"{outer}{node.name}.", said))


def silent(texts: dict[str, str]) -> list[str]:
    """The public functions that raise something of which neither they nor their class or module tell, by module.

    What a method that overrides another raises may be told by a method of its name, too.
    """
    functions = [(module, *item) for module, text in texts.items() for item in public(text)]
    told: dict[str, str] = {}
    for _, _, node, _, _ in functions:
        told[node.name] = told.get(node.name, "") + (ast.get_docstring(node) or "")
    found = []
    for module, name, node, around, overrides in functions:
        said = (ast.get_docstring(node) or "") + around + (told[node.name] if overrides else "")
        by_code = _CODED.search(said) is not None  # "Raise STEP208 unless ..." is said of errors with a code
        found += [
            f"{module}: {name} raises {item}" for item in sorted({*raised(node)}) if item not in said and not by_code
        ]
    return found


def test_public_functions_say_what_they_raise() -> None:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(paths) > 300
    assert silent({str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}) == []


def test_a_silent_function_would_be_found() -> None:
    text = '''
def told():
    """Do it; ``ValueError`` where it cannot be done."""
    raise ValueError("x")
def quiet():
    """Do it."""
    if True:
        raise mine.LayoutError("x")
def _private():
    raise ValueError("x")
class Open:
    def inside(self):
        """Do it."""
        def helper():
            raise KeyError("x")
        raise self.problem
    def method(self):
        raise KeyError("x")
class Base:
    """What is asked twice is a LookupError."""
    def step(self):
        """Go on, or raise ValueError."""
    def ask(self):
        raise LookupError("x")
class Step(Base):
    def step(self):
        raise ValueError("x")
'''
    assert silent({"a.py": text}) == ["a.py: quiet raises LayoutError", "a.py: Open.method raises KeyError"]

"""Python files with many programs for tests of editor features: examples and converted tasks, one after the other."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from stepcore.conversion.to_python import task_to_python
from stepcore.frontend.yaml.tasks import read_task
from stepcore.text.span import SourceFile, Span

ROOT = Path(__file__).parents[1]
# Those that hold programs: the demo also has a PyTorch function that becomes one.
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.py") if "@step.program" in path.read_text("utf-8"))
TASKS = sorted((ROOT / "benchmarks" / "tasks").glob("*.step.yaml"))
# Their published answers hold in no buffer what waits for a sum: hardware would stop, and STEP501 warns of it.
STOPPING = {"norm_layer_scalars", "norm_rms_scalars"}
# Has findings of its own, so that it can be seen whether those stay.
WITNESS = ROOT / "examples" / "demo" / "attention_mistakes.py"


def task_name(path: Path) -> str:
    return path.name.partition(".")[0]


def warnings_of(*paths: Path) -> list[str]:
    """Return the codes of what is found in published tasks and examples as they are, but for the witness's."""
    return ["STEP501" for path in paths if task_name(path) in STOPPING]


@dataclass(frozen=True, slots=True)
class Joined:
    """A text, and which part of it came from which file."""

    text: str
    parts: tuple[Span, ...]

    def part_of(self, offset: int) -> Span:
        return next(part for part in self.parts if offset < part.end or part is self.parts[-1])


@cache
def python_text(path: Path) -> str:
    """Return an example as it is, or a task as a Python file."""
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".py" else task_to_python(read_task(text, path.name))


def join(*paths: Path) -> Joined:
    """Return one file of the programs of ``paths``; what each defines at its top level gets names of its own."""
    texts = [_renamed(_body(python_text(path)), number) for number, path in enumerate(paths)]
    ends = list(accumulate(map(len, texts)))
    return Joined("".join(texts), tuple(Span(end - len(text), end) for end, text in zip(ends, texts, strict=True)))


def _body(text: str) -> str:
    """Return a file without its docstring, which would be none in the middle of another file."""
    tree = ast.parse(text)
    first = tree.body[ast.get_docstring(tree) is not None]
    return text[SourceFile("", text).line_starts[first.lineno - 1] :].rstrip("\n") + "\n\n\n"


def _renamed(text: str, number: int) -> str:
    tree = ast.parse(text)
    names = {name for statement in tree.body for name in _bound(statement)}
    source = SourceFile("", text)
    ends = [_end(source, node) for node in ast.walk(tree) if _name(node) in names]
    for end in sorted(ends, reverse=True):
        text = f"{text[:end]}_{number}{text[end:]}"
    return text


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(name) | ast.arg(name) | ast.FunctionDef(name) | ast.ClassDef(name):
            return name
    return None


def _end(source: SourceFile, node: Any) -> int:
    """Return where the name ends that a node consists of or that it defines; all files are ASCII."""
    keyword = {ast.FunctionDef: "def ", ast.ClassDef: "class "}.get(type(node), "")
    return source.offset(node.lineno - 1, node.col_offset) + len(keyword) + len(_name(node) or "")


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if not isinstance(statement, ast.Assign):
        return []
    names = (node for target in statement.targets for node in ast.walk(target))
    return [node.id for node in names if isinstance(node, ast.Name)]


def boundaries(text: str) -> list[int]:
    """Return where tokens of a Python text begin and end."""
    source = SourceFile("", text)
    places = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip():
            places |= {source.offset(row - 1, column) for row, column in (token.start, token.end)}
    return sorted(places)

"""Where people describe a function in its file: docstrings, messages of checks, comments, each line with its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from stepagents.shapes.commented import closed_up, comments_of
from stepagents.torchfn.target import Target
from stepcore.records import Record

_LONGEST: Final = 20_000  # characters of a docstring, or of all comments together, that are read
_LONGEST_COMMENT: Final = 1_000  # characters of one message that are read


class FunctionText(Record):
    """A text with the line of each of its lines."""

    kind: str
    lines: tuple[str, ...]
    first: int
    numbers: tuple[int, ...] = ()

    def line(self, index: int) -> int:
        """Return the line of the file that line ``index`` of the text is."""
        return self.numbers[index] if self.numbers else self.first + index


class FunctionTexts:
    """The texts about one function of a file."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def all(self) -> Iterator[FunctionText]:
        """Yield docstrings, messages and comments that speak of the arguments as they are given."""
        for kind, node in self._nodes():
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                first = node.body[0].lineno
                yield FunctionText(kind, tuple(closed_up(docstring[:_LONGEST]).split("\n")), first)
        yield from self._complaints()
        # A comment speaks of what is named there until the name is bound to something else.
        yield from self._commented([number for number in self._numbers if number < self._rebound])

    def _complaints(self) -> Iterator[FunctionText]:
        """Yield what assertions and errors say: ``raise ValueError("x must be (N, C, H, W)")``."""
        for _, function in self._nodes():
            for node in ast.walk(function):
                if not isinstance(node, (ast.Assert, ast.Raise)) or node.lineno >= self._rebound:
                    continue
                said = node.msg if isinstance(node, ast.Assert) else node.exc
                strings = [each.value for each in ast.walk(said) if isinstance(each, ast.Constant)] if said else []
                text = " … ".join(each for each in strings if isinstance(each, str))[:_LONGEST_COMMENT]
                yield FunctionText("message", (closed_up(text.replace("\n", " ")),), node.lineno)

    def later_comments(self) -> Iterator[FunctionText]:
        """Yield the comments from where an argument gets another value."""
        yield from self._commented([number for number in self._numbers if number >= self._rebound])

    def _commented(self, numbers: Sequence[int]) -> Iterator[FunctionText]:
        read: list[int] = []
        room = _LONGEST
        for number in numbers:
            room -= len(self.comments[number]) + 1
            if room < 0:
                break
            read.append(number)
        if read:
            yield FunctionText("comment", tuple(self.comments[number] for number in read), 0, tuple(read))

    @cached_property
    def _numbers(self) -> list[int]:
        """The lines of the comments above and in the function."""
        return [number for number in range(self.target.above, self.target.last + 1) if number in self.comments]

    def _nodes(self) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
        for node in ast.walk(self.target.tree):
            if isinstance(node, ast.FunctionDef) and node.lineno == self.target.line:
                yield "docstring", node
        for node in self.target.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == self.target.class_name:
                yield "docstring", node

    @cached_property
    def comments(self) -> Mapping[int, str]:
        """All comments of the file by their lines."""
        return comments_of(self.target.text)

    @cached_property
    def _rebound(self) -> int:
        """Return the first line of the body that binds one of the arguments anew."""
        lines = [
            node.lineno
            for node in ast.walk(self.target.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in self.names
            and self.target.signature_end < node.lineno <= self.target.last
        ]  # fmt: skip
        return min(lines, default=self.target.last + 1)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all arguments."""
        return frozenset(item.name for item in self.target.arguments)

"""Lines of element functions that compute tiles from tiles, whatever the operations are. Loads no torch."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.parts import Blocks, Labels, TilePart
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.text.span import Embedded
from stepcore.types import Element

if TYPE_CHECKING:
    from torch.fx import Node

ATOM: Final = re.compile(r"\w+|input\[\d+\](\.T)?|[\w.]+")  # what stands in an expression without brackets


class TileText(ABC):
    """The body of an element function that computes parts from tiles; :meth:`text_of` says how each is computed.

    ``inputs`` are the parts that it reads, in the order of the input tuple: the function's own tensors, and what other
    units compute: those parts of which ``cuts`` says so. ``flops`` is about what one call computes,
    ``kept`` the numbers that its products of matrices keep on chip.
    """

    def __init__(self, blocks: Blocks, cuts: Callable[[TilePart], bool] = lambda _part: False) -> None:
        self.blocks = blocks
        self.inputs: list[TilePart] = []
        self.flops = 0
        self.kept = 0
        self.lines: list[str] = []
        self._cuts = cuts
        self._known: dict[TilePart, str] = {}
        self._kept: dict[str, str] = {}  # the names of texts: nothing is computed twice
        self._taken = {"input", "state", "torch"}

    def of(self, part: TilePart) -> str:
        """Return the text that stands for a part; what it is computed by goes into ``lines``.

        Raises:
            NoSchedule: an operation mixes blocks, or none is known for tiles.
        """
        if part not in self._known:
            is_read = part.node.op == "placeholder" or self._cuts(part)
            self._known[part] = self.reading(part) if is_read else self.keep(self.text_of(part), part.node.name)
        return self._known[part]

    @abstractmethod
    def text_of(self, part: TilePart) -> str:
        """Return the text of an operation on tiles.

        Raises:
            NoSchedule: it has none.
        """

    def argument(self, node: Node, labels: Labels) -> str:
        """Return the text that stands for a part of an argument."""
        return self.of(TilePart(node, labels))

    def know(self, part: TilePart, text: str) -> None:
        """Take ``text`` for a part."""
        self._known[part] = text

    def reading(self, part: TilePart) -> str:
        """Make a part an input, and return what stands for it."""
        self.blocks.tile(part)
        self.inputs.append(part)
        text = f"input[{len(self.inputs) - 1}]"
        self._known[part] = text
        return text

    def count(self, part: TilePart, each: int) -> None:
        """Count ``each`` FLOPs for every element of a part."""
        rows, columns = self.blocks.numbers(part)
        self.flops += each * rows * columns

    def keep(self, text: str, name: str) -> str:
        """Give a text a name of its own, or the one that it has, and return that."""
        if ATOM.fullmatch(text):
            return text
        if text in self._kept:
            return self._kept[text]
        name = self._kept[text] = fresh_name(name, self._taken)
        self.lines.append(f"{name} = {text}")
        return name

    def returning(self, result: str) -> str:
        """Return the whole body with one result; a name that is only returned is left out."""
        return returning(self.lines, result)


def returning(lines: Sequence[str], result: str) -> str:
    """Return a body of lines with one result; a name that is only returned is left out."""
    lines = list(lines)
    if lines and lines[-1].startswith(f"{result} = "):
        result = lines.pop().partition(" = ")[2]
    return "\n".join([*lines, f"return [{result}]"])


def declared(name: str, given: Element, output: Element, body: str, init: tuple[float, ...] | None = None) -> FnDecl:
    """Return an element function; one with ``init`` has a state."""
    arguments = ("input",) if init is None else ("state", "input")
    return FnDecl(name, name, given, output, CodeBlock(Embedded.whole(body), arguments), init)

"""Element functions: expressions over the elements of streams, written as short readable bodies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Final

from stepagents.lower.affine import Axis
from stepagents.lower.values import Rule
from stepcore.types import Element

_MOST_LABELS: Final = 3
_ATOM: Final = re.compile(r"[\w.]+(\[[^\[\]]*\])?|-?[\d.e+-]+")
_ALONE: Final = re.compile(r"(?:(?<=\()|(?<=, ))\{(\d+)\}(?=[,)])")
_RESERVED: Final = frozenset({"torch", "input", "state", "input_data", "ctx", "math", "step"})
# Names that the rules of folds bind.
LOCALS: Final = frozenset({"element", "element1", "top", "shift", "count", "delta", "mean", "here", "better"})


@dataclass(frozen=True, slots=True)
class Function:
    """A generated element function; ``init`` is None for functions of Map. Equal ones are written once."""

    label: str
    body: str
    input: Element
    output: Element
    init: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """An expression: ``template`` over ``args``. A leaf has a key, and ``component`` of that leaf's element."""

    template: str
    args: tuple[int, ...] = ()
    label: str = ""
    leaf: int | None = None
    component: int = 0


class Expressions:
    """A set of expressions that share their parts; nodes are numbers. ``made`` is for whoever builds them."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.made: dict[Hashable, int] = {}
        self._known: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """Return the number of ``node``, which is new only if nothing equal is here."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def labels(self, roots: Iterable[int]) -> list[str]:
        """Return what is done on the way to ``roots``, in order, each once."""
        order = self._order(roots)
        return list(dict.fromkeys(self.nodes[number].label for number in order if self.nodes[number].label))

    def write(
        self, roots: Sequence[int], leaves: dict[tuple[int, int], str], taken: set[str]
    ) -> tuple[list[str], list[str]]:
        """Return statements and the text of each root; ``leaves`` is the text of each component of each leaf."""
        order = self._order(roots)
        uses = Counter(arg for number in order for arg in self.nodes[number].args)
        uses.update(roots)
        texts: dict[int, str] = {}
        lines: list[str] = []
        for number in order:
            node = self.nodes[number]
            if node.leaf is not None:
                texts[number] = leaves[node.leaf, node.component]
                continue
            text = _filled(node.template, [texts[arg] for arg in node.args])
            if (uses[number] > 1 and not _ATOM.fullmatch(text)) or len(text) > 90:
                name = fresh_name(node.label or "value", taken)
                lines.append(f"{name} = {bare(text)}")
                text = name
            texts[number] = text
        return lines, [texts[number] for number in roots]

    def _order(self, roots: Iterable[int]) -> list[int]:
        """Numbers of all nodes below ``roots``, arguments first."""
        seen: dict[int, None] = {}
        stack = [(root, False) for root in reversed(list(roots))]
        while stack:
            number, done = stack.pop()
            if done:
                seen[number] = None
            elif number not in seen:
                stack.append((number, True))
                stack += [(arg, False) for arg in reversed(self.nodes[number].args)]
        return list(seen)


def _filled(template: str, texts: list[str]) -> str:
    """Fill in a template; what is an argument by itself needs no brackets around it."""
    alone = _ALONE.sub(lambda match: bare(texts[int(match[1])]).replace("{", "{{").replace("}", "}}"), template)
    return alone.format(*texts)


def map_function(
    lines: list[str], results: list[str], head: list[str], label: str, input_: Element, output: Element
) -> Function:
    """Return a function without a state."""
    body = "\n".join([*head, *lines, f"return [{', '.join(map(bare, results))}]"])
    return Function(label, body, input_, output)


def fold_function(
    rule: Rule, lines: list[str], results: list[str], head: list[str], label: str, input_: Element, output: Element
) -> Function:
    """Return ``rule`` applied to ``results``."""
    names = {f"s{i}": f"state[{i}]" for i in range(len(rule.components))}
    update: list[str] = []
    texts = list(rule.lines) + list(rule.results)
    for number, result in enumerate(results):
        uses = sum(len(re.findall(rf"\bx{number}\b", text)) for text in texts)
        name = f"element{number or ''}"
        if uses > 1 and not _ATOM.fullmatch(result):
            update.append(f"{name} = {bare(result)}")
        else:
            name = result
        names[f"x{number}"] = name
    texts = [re.sub(r"\b[sx]\d+\b", lambda match: names[match[0]], text) for text in texts]
    update += texts[: len(rule.lines)]
    ends = ", ".join(texts[len(rule.lines) :])
    body = "\n".join([*head, *lines, *update, f"return [{ends}]"])
    return Function(label, body, input_, output, rule.init)


def bare(text: str) -> str:
    """Return ``text`` without the brackets around all of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for position, character in enumerate(text):
            depth += (character == "(") - (character == ")")
            if depth == 0 and position < len(text) - 1:
                return text
        text = text[1:-1]
    return text


def title(labels: Sequence[str], last: str = "") -> str:
    """Return a name for a function that does all of ``labels``."""
    kept = list(labels) if len(labels) <= _MOST_LABELS else [*labels[: _MOST_LABELS - 1], labels[-1]]
    words = [*kept, *([last] if last else [])] or ["same"]
    return "_".join(dict.fromkeys(words))


def fresh_name(wanted: str, taken: set[str]) -> str:
    """Return ``wanted`` as an identifier that is not in ``taken``, and add it there."""
    base = re.sub(r"\W", "_", wanted).strip("_") or "value"
    if base[0].isdigit() or iskeyword(base) or base in _RESERVED or base.isupper() or base.endswith("_value"):
        base = f"{base.lower()}_"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}{number}", number + 1
    taken.add(name)
    return name


def broadcast(name: str, tile: Sequence[Axis], full: Sequence[Axis]) -> str:
    """Return ``name``, whose loops are ``tile``, lined up with ``full`` (both innermost first)."""
    if not tile or tuple(tile) == tuple(full[: len(tile)]):
        return name
    places = [":" if axis in tile else "None" for axis in reversed(full)]
    while places and places[0] == "None":
        places.pop(0)
    return f"{name}[{', '.join(places)}]"

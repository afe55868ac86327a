"""Element functions: expressions over the elements of streams, written as short readable bodies."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from keyword import iskeyword
from typing import Final

from stepagents.lower.values import Rule
from stepcore.printing.code_lines import spaced
from stepcore.records import Record
from stepcore.types import Element

_MOST_LABELS: Final = 3
_LONGEST: Final = 96  # of an expression: with its name and indentation it fits a line
_SHORTEST_NAMED: Final = 15  # less is not worth a name
_LONGEST_INSIDE: Final = 50  # of an element inside a rule of a fold
# A local of the name of an input is called ``..._local`` in Python files, where inputs are parameters of the program.
_LOCAL: Final = len("_local")
_PLACE: Final = re.compile(r"\{(\d+)\}")
_ATOM: Final = re.compile(r"[\w.]+(\[[^\[\]]*\])?|-?[\d.e+-]+")
_ALONE: Final = re.compile(r"(?:(?<=\()|(?<=, ))\{(\d+)\}(?=[,)])")
_RESERVED: Final = frozenset({"torch", "input", "state", "input_data", "ctx", "math", "step"})
# Names that the rules of folds bind.
LOCALS: Final = frozenset({"element", "element1", "top", "shift", "count", "delta", "mean", "here", "better"})


class Function(Record):
    """A generated element function; ``init`` is None for functions of Map. Equal ones are written once."""

    label: str
    body: str
    input: Element
    output: Element
    init: tuple[str, ...] | None = None


class ExpressionNode(Record):
    """An expression: ``template`` over ``args``. A leaf has a key, and ``component`` of that leaf's element."""

    template: str
    args: tuple[int, ...] = ()
    label: str = ""
    leaf: int | None = None
    component: int = 0


class SharedExpressions:
    """A set of expressions that share their parts; nodes are numbers.

    ``made`` is for whoever builds them; ``origins`` are the graph nodes that they compute, each once.
    """

    def __init__(self) -> None:
        self.nodes: list[ExpressionNode] = []
        self.made: dict[Hashable, int] = {}
        self.origins: dict[str, None] = {}
        self._known: dict[ExpressionNode, int] = {}

    def add(self, node: ExpressionNode) -> int:
        """Return the number of ``node``, which is new only if nothing equal is here."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def note(self, origin: str) -> None:
        """Say that a node of the graph is computed here."""
        if origin:
            self.origins[origin] = None

    def labels(self, roots: Iterable[int]) -> list[str]:
        """Return what is done on the way to ``roots``, in order, each once."""
        order = self.below(roots)
        return list(dict.fromkeys(self.nodes[number].label for number in order if self.nodes[number].label))

    def write(
        self, roots: Sequence[int], leaves: dict[tuple[int, int], str], taken: set[str]
    ) -> tuple[list[str], list[str]]:
        """Return statements and the text of each root; ``leaves`` is the text of each component of each leaf."""
        order = self.below(roots)
        uses = self._uses(order, roots)
        statements = _Statements(leaves.values(), taken)
        texts: dict[int, str] = {}
        for number in order:
            node = self.nodes[number]
            if node.leaf is not None:
                texts[number] = leaves[node.leaf, node.component]
                continue
            args = [(texts[arg], self.nodes[arg].label) for arg in node.args]
            text = statements.short(node, args)
            if uses[number] > 1 and not _ATOM.fullmatch(text):
                text = statements.named(text, node.label)
            texts[number] = text
        return statements.lines, [texts[number] for number in roots]

    def _uses(self, order: Iterable[int], roots: Iterable[int]) -> Counter[int]:
        """Return how often the text of each node is written."""
        uses = Counter(roots)
        for number in order:
            node = self.nodes[number]
            uses.update(node.args[int(place)] for place in _PLACE.findall(node.template))
        return uses

    def below(self, roots: Iterable[int]) -> list[int]:
        """Return the numbers of all nodes below ``roots``, arguments first."""
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


class _Statements:
    """Statements that name parts of an expression, because the whole is too long for a line or they are used again."""

    def __init__(self, leaves: Iterable[str], taken: set[str]) -> None:
        self.lines: list[str] = []
        self._leaves = {re.split(r"\W", text)[0] for text in leaves}
        self._taken = taken

    def named(self, text: str, label: str) -> str:
        """Return the name of ``text`` from now on."""
        name = fresh_name(label or "value", self._taken)
        self.lines.append(f"{name} = {bare(text)}")
        return name

    def short(self, node: ExpressionNode, args: Sequence[tuple[str, str]]) -> str:
        """Return ``node`` over the texts (and labels) of its arguments; the longest get names until it fits a line."""
        texts = [text for text, _ in args]
        result = _filled(node.template, texts)
        while self._is_long(result) and (long := [i for i, text in enumerate(texts) if _is_worth_naming(text)]):
            longest = max(long, key=lambda i: len(texts[i]))
            texts[longest] = self.named(texts[longest], args[longest][1])
            result = _filled(node.template, texts)
        return self._in_parts(result, node.label)

    def _in_parts(self, text: str, label: str) -> str:
        while self._is_long(text) and (place := _longest_operand(text)):
            name = self.named(self._in_parts(bare(text[place]), label), label)
            text = f"{text[: place.start]}{name}{text[place.stop :]}"
        return text

    def _is_long(self, text: str) -> bool:
        """Whether it is too long when a Python file renames all that it reads."""
        renamed = sum(word in self._leaves for word in re.findall(r"[\w.]+", text))
        return len(spaced(text)) + _LOCAL * renamed > _LONGEST


def _is_worth_naming(text: str) -> bool:
    return len(text) > _SHORTEST_NAMED and not _ATOM.fullmatch(text)


def _longest_operand(text: str) -> slice | None:
    """Return where the longest operand of an expression is that is worth a name, with the brackets around it."""
    tree = ast.parse(text, mode="eval").body
    found: list[slice] = []
    for child in ast.iter_child_nodes(tree):
        part = child.value if isinstance(child, ast.keyword) else child
        if isinstance(part, ast.BinOp | ast.Call | ast.Compare):
            source = text.encode()  # columns count bytes
            start, end = len(source[: part.col_offset].decode()), len(source[: part.end_col_offset].decode())
            if re.search(r"(?:^|[^\w)\]])\($", text[:start]) and text[end : end + 1] == ")":
                start, end = start - 1, end + 1
            found.append(slice(start, end))
    worth = [place for place in found if _is_worth_naming(text[place])]
    return max(worth, key=lambda place: place.stop - place.start, default=None)


def _filled(template: str, texts: list[str]) -> str:
    """Fill in a template; what is an argument by itself needs no brackets around it."""
    alone = _ALONE.sub(lambda match: bare(texts[int(match[1])]).replace("{", "{{").replace("}", "}}"), template)
    return alone.format(*texts)


def map_function(
    lines: list[str], results: list[str], head: list[str], label: str, input_: Element, output: Element
) -> Function:
    """Return a function without a state."""
    body = _body([*head, *lines], map(bare, results))
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
        if (uses > 1 or len(result) > _LONGEST_INSIDE) and not _ATOM.fullmatch(result):
            update.append(f"{name} = {bare(result)}")
        else:
            name = result
        names[f"x{number}"] = name
    texts = [re.sub(r"\b[sx]\d+\b", lambda match: names[match[0]], text) for text in texts]
    update += texts[: len(rule.lines)]
    body = _body([*head, *lines, *update], texts[len(rule.lines) :])
    return Function(label, body, input_, output, rule.init)


def state_function(
    lines: list[str], results: list[str], label: str, input_: Element, output: Element, init: tuple[str, ...]
) -> Function:
    """Return a function that makes a state of the last one."""
    return Function(label, _body(lines, map(bare, results)), input_, output, init)


def _body(lines: Iterable[str], results: Iterable[str]) -> str:
    return "\n".join(spaced(line) for line in (*lines, f"return [{', '.join(results)}]"))


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


def heading(label: str) -> str:
    """Return the name of a function for people: ``OnlineSoftmax`` for ``online_softmax``."""
    return "".join(word.capitalize() for word in label.split("_"))


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

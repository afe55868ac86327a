"""The line that a script runs, as it is written: so that its mistakes are told in the words of the checker.

Where Python keeps no text (``exec`` of a string, say), the call is written anew from the names and values that it has.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import FrameType, FunctionType
from typing import Any, Final

from stepcore.fn.source import node_text
from stepcore.ops.base import Operator
from stepcore.ops.calling import ParamKind, written
from stepcore.ops.miscalls import Sort, described, literal_kind
from stepcore.sizes.dim import Dim
from stepcore.sizes.foreign import is_foreign
from stepcore.surface.callers import name_of
from stepcore.text.span import Embedded
from stepcore.text.wording import what_is

_DEEPEST: Final = 4  # lists inside each other that are looked into; a list may hold itself
_MOST: Final = 100  # items of a list, and
_LONGEST: Final = 1000  # characters of a value, that are written anew


class Script:
    """What is called at ``frame``, and what names stand for there; streams are objects of ``stream``."""

    is_task = False

    def __init__(self, frame: FrameType | None, stream: type) -> None:
        self._frame, self._stream = frame, stream
        self._code = Embedded.whole("")

    # -- what is written ---------------------------------------------------------------------------------

    def call(self, function: str, given: Sequence[Any], named: Mapping[str, Any]) -> ast.Call:
        """Return the running call; where its text is not known, that of ``function`` with these arguments."""
        node = self._parsed(_segment(self._frame))
        if isinstance(node, ast.Call) and _agrees(node, given, named):
            return node
        arguments = [*map(self._expression, given), *(f"{key}={self._expression(item)}" for key, item in named.items())]
        made = self._parsed(f"{function}({', '.join(arguments)})")
        assert isinstance(made, ast.Call), "it is written here"
        return made

    def target(self, count: int) -> ast.Tuple | ast.List:
        """Return the names that take something apart; where their text is not known, ``count`` of no name."""
        node = self._parsed(_segment(self._frame))
        if not isinstance(node, ast.Tuple | ast.List):
            node = self._parsed(", ".join(["_"] * count) + ("," if count == 1 else ""))
        assert isinstance(node, ast.Tuple | ast.List), "it is written here"
        return node

    def name(self, operator: type[Operator], call: ast.Call) -> str:
        """Return the name by which ``call`` knows an operator."""
        function = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "apply" else call.func
        function = function.func if isinstance(function, ast.Call) else function
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name if name in (*operator.aliases, *operator.published) else operator.__name__

    def _parsed(self, text: str) -> ast.expr | None:
        for shown in (text, f"({text})") if text else ():  # it may have more lines than stand without brackets
            try:
                body = ast.parse(shown).body
            except (SyntaxError, ValueError, RecursionError):
                continue
            if len(body) == 1 and isinstance(body[0], ast.Expr):
                self._code = Embedded.whole(shown)
                return body[0].value
        return None

    def _expression(self, value: Any, depth: int = _DEEPEST) -> str:
        """Return an expression for ``value``: the name that it has in the script, else how it is written."""
        if isinstance(value, (self._stream, list, tuple)) and (name := self._variable(value)):
            return name
        if isinstance(value, (list, tuple)) and depth and len(value) <= _MOST:
            items = [self._expression(item, depth - 1) for item in value]
            return written(items if isinstance(value, list) else tuple(items))
        if isinstance(value, Operator) or self.sort(value) is Sort.OPERATOR:
            made = isinstance(value, Operator)
            return self.operator((type(value) if made else value).__name__) + ("()" if made else "")
        name = getattr(value, "func_name", getattr(value, "__name__", ""))
        if name == "<lambda>":
            return "lambda: ..."
        if str(name).isidentifier():
            return str(name)
        is_plain = value is None or isinstance(value, (str, int, float, dict, Dim))
        text = (str if isinstance(value, Dim) else repr)(value) if is_plain else type(value).__name__.upper()
        return text if len(text) <= _LONGEST and self._parsed(text) is not None else type(value).__name__.upper()

    def _variable(self, value: Any) -> str:
        """Return how the script knows a stream, or a list of them; an empty text where it has no name."""
        if isinstance(value, self._stream):
            stream: Any = value
            name = name_of(stream, self._frame)
            return name if self._parsed(name) is not None else ""
        local = {} if self._frame is None else self._frame.f_locals
        return next((name for name, item in local.items() if item is value and name.isidentifier()), "")

    # -- what messages need to know (:class:`stepcore.ops.miscalls.Page`) -------------------------------------

    def text(self, node: ast.AST, length: int = 40) -> str:
        """Return ``node`` as it is written, on one line and clipped."""
        return node_text(self._code, node, length)

    def what(self, node: ast.AST, value: Any) -> str:
        """Return ``x is a stream``: the text and what it stands for; a literal speaks for itself."""
        if isinstance(node, ast.Constant):
            return f"{self.text(node)} is {literal_kind(node.value)}"
        if isinstance(value, Dim) or is_foreign(value):
            return f"{self.text(node)} is a size"
        if isinstance(value, FunctionType) and isinstance(node, ast.Name) and value.__name__.isidentifier():
            return f"{node.id} is a helper function"
        if self.sort(value) is Sort.FOREIGN:
            is_own = getattr(value, "__module__", "") == "builtins"
            return f"{self.text(node)} is {'a function of Python' if is_own else 'no part of STeP'}"
        return f"{self.text(node)} is {self.describe(value)}"

    def describe(self, value: Any) -> str:
        """Return what ``value`` is."""
        match self.sort(value):
            case Sort.STREAM:
                return "a stream"
            case Sort.OPERATOR if isinstance(value, Operator):
                return f"the operator {type(value).__name__}, not applied"
            case Sort.OPERATOR:
                return f"the operator {value.__name__}, without parameters"
            case Sort.FUNCTION:
                return "an element function"
        is_list = isinstance(value, (list, tuple))
        return described(value, is_list and all(isinstance(item, self._stream) for item in value)) or what_is(value)

    def sort(self, value: Any) -> Sort:
        """Return what kind of thing ``value`` is."""
        if isinstance(value, self._stream):
            return Sort.STREAM
        if isinstance(value, Operator) or (isinstance(value, type) and issubclass(value, Operator)):
            return Sort.OPERATOR
        if ParamKind.FN.accepts(value):
            return Sort.FUNCTION
        if isinstance(value, FunctionType):
            return Sort.READY_MADE if value.__module__ == "stepcore.fn.factories" else Sort.HELPER
        if isinstance(value, type(sys)) or (callable(value) and not isinstance(value, type)):
            return Sort.FOREIGN
        return Sort.TENSOR if what_is(value) == "a tensor" else Sort.OTHER

    def operator(self, name: str) -> str:
        """Return how the script writes an operator: ``step.Map``, or ``Map`` where that name is known."""
        known = {} if self._frame is None else self._frame.f_globals
        module = sys.modules["stepcore"]
        prefix = next((key for key, value in [*known.items()] if value is module), None)
        return f"{prefix or 'step'}.{name}" if prefix or name not in known else name

    def look(self, name: str) -> Any:
        """Return what a name stands for, None where it is not known."""
        if self._frame is None:
            return None
        return self._frame.f_locals.get(name, self._frame.f_globals.get(name))

    def bound(self, size: Dim) -> int | None:
        """Return the number that a size has, which only a program's names tell."""
        value = self.look(f"{size}_value")
        return value if isinstance(value, int) else None

    def maker_of(self, value: Any) -> str:
        """Return the operator that makes a stream, or an empty text for one that the script made."""
        made_by = value.origin.operator if isinstance(value, self._stream) else None  # type: ignore[attr-defined]
        return "" if made_by is None else type(made_by).__name__

    def maker_of_all(self, values: Sequence[Any]) -> str:
        """Return the operator whose outputs in one application ``values`` are, or an empty text."""
        makers = {(id(value.origin.operator), tuple(map(id, value.origin.inputs))) for value in values}
        return self.maker_of(values[0]) if len(makers) == 1 else ""


def leaf_nodes(node: ast.expr, value: Any, depth: int = _DEEPEST) -> Iterator[tuple[ast.expr, Any]]:
    """Yield what an argument consists of, in order, each with the smallest expression that is written for it."""
    if not depth or not isinstance(value, (list, tuple)):
        yield node, value
        return
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    is_written = len(items) == len(value) and not any(isinstance(item, ast.Starred) for item in items)
    for number, item in enumerate(value):
        yield from leaf_nodes(items[number] if is_written else node, item, depth - 1)


def _agrees(node: ast.Call, given: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether a call may be the one that gives these arguments: a file may have changed since it was read."""
    keywords = [keyword.arg for keyword in node.keywords]
    if any(isinstance(item, ast.Starred) for item in node.args) or None in keywords:
        return False
    if not named and len(given) == 1 and getattr(node.func, "attr", "") == "apply":  # one input, under its name or not
        return len(node.args) + keywords.count("input") == 1 or (len(node.args) == 2 and not keywords)
    return len(node.args) == len(given) and keywords == list(named)


def _segment(frame: FrameType | None) -> str:
    """Return the text of what runs at ``frame``, as far as Python knows where it stands; else an empty text."""
    if frame is None:
        return ""
    place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    first, last, start, end = place
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if first is None or last is None or start is None or end is None or last > len(lines):
        return ""
    rows = [line.encode("utf-8", "replace") for line in lines[first - 1 : last]]
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][start:]
    return b"".join(rows).decode("utf-8", "replace")

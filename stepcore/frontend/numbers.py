"""Numbers of sizes in programs: ``M`` is a size, which stands there as a symbol, and ``M_value`` is its number.

Python never takes a symbol for its number: ``M == 5`` is false to it at all sizes, ``M < 6`` and ``xs[M]`` are errors.
So a program that writes a size where a number is needed is refused, and checking goes on with the number that is meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.frontend.values import StreamRef, Value
from stepcore.sizes.dim import Dim
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

_NAME: Final = re.compile(r"[^\W\d]\w*")
_SHOWN: Final = 60  # characters of an expression in a message


def number_of(el: Elaboration, node: ast.expr, value: Value, use: str) -> int | None:
    """Return ``value`` as an integer, None where it is none; a size is reported, and what it is bound to returned.

    ``node`` is the expression, or the call that takes it among others; ``use`` says what needs a number: ``an index``.
    """
    if not isinstance(value, Dim):
        return el.integer(value)
    report_size(el, node, value, use)
    return el.bound(value)


def report_size(el: Elaboration, node: ast.expr, size: Dim, use: str) -> None:
    """Report a size that stands where a number is needed, with the fix that writes its number."""
    text, way_out, fix = _found(el, node, size, use)
    el.report("STEP224", node, text, way_out, fix=fix)


def note_size(el: Elaboration, node: ast.expr, size: Dim, use: str) -> None:
    """Note a size that leaves open how often something is done: that is a finding of its own where no other says it."""
    if el.open_lengths:
        return
    text, way_out, fix = _found(el, node, size, use)
    el.open_lengths.append(Diagnostic("STEP224", el.span(node), f"{text}; {way_out}", fix=fix))


def _found(el: Elaboration, node: ast.expr, size: Dim, use: str) -> tuple[str, str, Fix | None]:
    is_it = el.look(node.id) == size if isinstance(node, ast.Name) else not isinstance(node, ast.Call)
    text = f"{el.text(node) if is_it else size} is a size, and {use} needs a number"
    symbols = sorted(size.symbols())
    unbound = next((name for name in symbols if name not in el.bindings), None)
    if unbound is not None:
        return text, _binding(el, unbound), None
    numbers = {name: _written(el, name) for name in symbols}
    written = _NAME.sub(lambda found: numbers.get(found[0]) or f"{found[0]}_value", str(size))
    way_out = f"write its number, {written}"
    if None in numbers.values():
        return text, f"{way_out}, which the program gets as an argument or from its inputs: E0.ctx[{symbols[0]}]", None
    edits = _renamed(el, node, numbers) if el.frame.code.verbatim else ()
    return text, way_out, Fix(f"Write {clipped(written, _SHOWN)}", edits) if edits else None


def _written(el: Elaboration, name: str) -> str | None:
    """Return how the number of a size is written: by its name in a task, in a Python file as an input has it in a run.

    ``M_value = 5`` of a Python file is a number that no run changes.
    """
    number = f"{name}_value"
    has_number = type(el.look(number)) is int
    if el.is_task or el.prints:
        return number if has_number else None
    inputs = (el.graph.streams[index].name for index in el.graph.inputs)
    own = next((each for each in inputs if el.look(each) in map(StreamRef, el.graph.inputs)), None)
    return f"{own}.ctx[{name}]" if own is not None else number if has_number else None


def _binding(el: Elaboration, name: str) -> str:
    """Return how a size gets a number that has none, or where its number is known."""
    if not name.isidentifier():
        return "only a run knows this one"
    if el.is_task:
        return f"bind one in global: {name}_value = 4; ctx[{name}] = {name}_value; and write {name}_value"
    return f"bind one: dims={{{name}: 4}}, and write E0.ctx[{name}], of an input E0"


def _is_number_already(node: ast.AST) -> bool:
    """Whether an expression is ``ctx[M]`` or ``E0.ctx[M]``, in which ``M`` stays."""
    table = node.value if isinstance(node, ast.Subscript) else None
    return getattr(table, "attr", None) == "ctx" or getattr(table, "id", None) == "ctx"


def _renamed(el: Elaboration, node: ast.expr, numbers: Mapping[str, str | None]) -> tuple[Edit, ...]:
    """Return the edits that write numbers for the symbols in ``node``; none where a size has another name there."""
    edits: list[Edit] = []
    rest: list[ast.AST] = [node]
    while rest:
        part = rest.pop()
        if not _is_number_already(part):
            rest += ast.iter_child_nodes(part)
        if isinstance(part, ast.Name) and isinstance(value := el.look(part.id), Dim):
            number = numbers.get(part.id)
            if number is None or value != Dim.symbol(part.id):
                return ()
            edits.append(Edit(el.span(part), number))
    return tuple(edits)
